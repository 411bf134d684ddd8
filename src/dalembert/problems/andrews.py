"""Andrews' squeezing mechanism: seven bodies in a plane, driven by a motor, with three closed loops.

Body k = 1..7 has mass mk and central inertia ik; the motor turns body 1 by the constant moment `mom`; a spring of
stiffness c0 and free length l0 joins body 3 to the ground point C. Angles (beta, Theta, gamma, Phi, delta, Omega,
epsilon) with six loop constraints leave one degree of freedom; within 0.03 s body 1 turns two and a half times.

The Test Set for IVP Solvers gives values at t = 0.03 that carry a phase error of about 1e-12 s, which shows in the
10th to 12th digit; those in `REFERENCE` were computed with 32 digits.
"""

from __future__ import annotations

import sympy as sp
from sympy import cos, sin

from dalembert.model.model import Model
from dalembert.problems.problem import Problem

MASSES = {"m1": 0.04325, "m2": 0.00365, "m3": 0.02373, "m4": 0.00706, "m5": 0.07050, "m6": 0.00706, "m7": 0.05498}
INERTIAS = {
    "i1": 2.194e-6, "i2": 4.410e-7, "i3": 5.255e-6, "i4": 5.667e-7, "i5": 1.169e-5, "i6": 5.667e-7, "i7": 1.912e-5,
}  # fmt: skip
GROUND = {"xa": -0.06934, "ya": -0.00227, "xb": -0.03635, "yb": 0.03273, "xc": 0.014, "yc": 0.072}
LENGTHS = {
    "d": 0.028, "da": 0.0115, "e": 0.02, "ea": 0.01421, "rr": 0.007, "ra": 0.00092, "ss": 0.035, "sa": 0.01874,
    "sb": 0.01043, "sc": 0.018, "sd": 0.02, "ta": 0.02308, "tb": 0.00916, "u": 0.04, "ua": 0.01228, "ub": 0.00449,
    "zf": 0.02, "zt": 0.04, "fa": 0.01421,
}  # fmt: skip
DRIVE = {"c0": 4530.0, "l0": 0.07785, "mom": 0.033}
START = {
    "beta": -0.0617138900142764496358948458001,
    "gamma": 0.455279819163070380255912382449,
    "phi": 0.222668390165885884674473185609,
    "delta": 0.487364979543842550225598953530,
    "omega": -0.222668390165885884674473185609,
    "epsilon": 1.23054744454982119249735015568,
}
REFERENCE = {  # at t = 0.03; the multipliers have the sign of M u' = f + A^T la
    "beta": 15.810771195153707, "theta": -15.756371058411839, "gamma": 0.0408222401196458,
    "phi": -0.534730116342079594, "delta": 0.524409965879954069, "omega": 0.534730116342079594,
    "epsilon": 1.04808074104193787,
    "beta'": 1139.920302259106, "theta'": -1424.379295177540, "gamma'": 11.03291191061859,
    "phi'": 19.29337410503204, "delta'": 0.573569914829502, "omega'": -19.29337410503204,
    "epsilon'": 0.323179149249131,
    "loop1_x": -199.1753481045386, "loop1_y": 29.75530997497176, "loop2_x": -23.06654361162215,
    "loop2_y": -31.45272527577114, "loop3_x": -22.64249478639438, "loop3_y": -11.61739235261126,
}  # fmt: skip


def build() -> Model:
    """Seven angles; the loops through B, and twice through A, closed in x and y."""
    model = Model("Andrews' squeezing mechanism")
    be, th, ga, ph, de, om, ep = model.coordinates("beta theta gamma phi delta omega epsilon")
    p = {str(s): s for s in model.parameters(**MASSES, **INERTIAS, **GROUND, **LENGTHS, **DRIVE)}
    xa, ya, xb, yb, rr, d, e, u, zt, zf = (
        p[name] for name in ("xa", "ya", "xb", "yb", "rr", "d", "e", "u", "zt", "zf")
    )
    ea, fa = e - p["ea"], zf - p["fa"]
    centres = (
        (p["ra"] * cos(be), p["ra"] * sin(be), be),
        (rr * cos(be) - p["da"] * cos(be + th), rr * sin(be) - p["da"] * sin(be + th), be + th),
        (xb + p["sa"] * sin(ga) + p["sb"] * cos(ga), yb - p["sa"] * cos(ga) + p["sb"] * sin(ga), ga),
        (xa + zt * cos(de) + ea * sin(ph + de), ya + zt * sin(de) - ea * cos(ph + de), ph + de),
        (xa + p["ta"] * cos(de) - p["tb"] * sin(de), ya + p["ta"] * sin(de) + p["tb"] * cos(de), de),
        (xa + u * sin(ep) + fa * cos(om + ep), ya - u * cos(ep) + fa * sin(om + ep), om + ep),
        (xa + p["ua"] * sin(ep) - p["ub"] * cos(ep), ya - p["ua"] * cos(ep) - p["ub"] * sin(ep), ep),
    )
    for k, (x, y, angle) in enumerate(centres, 1):
        model.body(f"K{k}", mass=p[f"m{k}"], inertia=p[f"i{k}"], position=[x, y], rotation=angle)
    D = [xb + p["sc"] * sin(ga) + p["sd"] * cos(ga), yb - p["sc"] * cos(ga) + p["sd"] * sin(ga)]
    stretch = sp.sqrt((D[0] - p["xc"]) ** 2 + (D[1] - p["yc"]) ** 2) - p["l0"]
    model.energy(potential=p["c0"] * stretch**2 / 2)
    model.generalized_force({be: p["mom"]})
    tip = [rr * cos(be), rr * sin(be)]
    X, Y = tip[0] - d * cos(be + th), tip[1] - d * sin(be + th)
    knee = [xa + zt * cos(de), ya + zt * sin(de)]
    elbow = [xa + u * sin(ep), ya - u * cos(ep)]
    ends = (
        [xb + p["ss"] * sin(ga), yb - p["ss"] * cos(ga)],
        [knee[0] + e * sin(ph + de), knee[1] - e * cos(ph + de)],
        [elbow[0] + zf * cos(om + ep), elbow[1] + zf * sin(om + ep)],
    )
    for k, (x, y) in enumerate(ends, 1):
        model.constrain(X - x, name=f"loop{k}_x")
        model.constrain(Y - y, name=f"loop{k}_y")
    model.line([[0, 0], tip, [X, Y]], name="crank and rod")
    model.line([[xb, yb], ends[0], D, [xb, yb]], name="plate")
    model.line([[p["xc"], p["yc"]], D], name="spring")
    model.line([[xa, ya], knee, ends[1]], name="upper links")
    model.line([[xa, ya], elbow, ends[2]], name="lower links")
    return model


PROBLEM = Problem(
    name="andrews",
    title="Andrews' squeezing mechanism, three closed loops driven by a motor",
    source="Schiehlen (ed.), Multibody Systems Handbook (1990); Test Set for IVP Solvers, Andrews' squeezing mechanism",
    build=build,
    given={"theta": 0.0, "theta'": 0.0},
    guess=START,
    t_end=0.03,
    reference={0.03: REFERENCE},
    tolerance=1e-6,
    note="All within 30 ms; rates reach 1400 rad/s, so that their absolute errors are larger than those of angles.",
)

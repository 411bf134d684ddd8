"""Dinh Van Phong: consistent initial conditions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import sympy as sp

import dalembert as da
from dalembert import problems
from dalembert.problems import railway_wheelset as wheelset
from row_numbers.measured import HOLDS, Measured, below


def compatibility() -> float:
    """Largest relative difference of u' between (2.38)-(2.39) and multipliers: a block that rubs, along a motion."""
    model = da.Model("block")
    x, y = model.coordinates("x y")
    P = model.particle("P", mass=2.0, position=[x, y])
    model.gravity([0.0, -9.81])
    track = model.constrain(y - x**2 / 4, name="track")
    model.nonideal(track, friction=0.2, at=P, regularisation=0.05)
    (T,) = model.unknowns("T")
    model.force([T, 0], at=P)
    model.law(T + 0.1 * track.multiplier * x.diff(model.t), determines=T)
    system = model.compile()
    motion = system.simulate(system.initial({"x": 1.0, "x'": 0.0}), 2.0)
    other = replace(motion, recipe=motion.recipe._replace(formulation=da.NullSpace()), known=None)
    return float(np.abs(other.udot - motion.udot).max() / np.abs(motion.udot).max())


def printed_start() -> float:
    """What the heading lacks at the printed start of the car, (3.13), in m; zero if it were accepted."""
    system = problems.get("car").system()
    try:
        system.initial({"x": 1.0, "phi": 0.1, "theta": 0.1, "vx": 10.0})
    except da.InitialStateError as error:
        return abs(float(error.residuals["heading"]))
    return 0.0


def diagnosis(name: str) -> da.Diagnosis:
    """What may be chosen at the start of a problem."""
    problem = problems.get(name)
    system = problem.system()
    return system.diagnose(problem.state(system))


def full_and_reduced() -> float:
    """Largest relative difference of u' between (2.12) with reactions as unknowns and without, spatial four-bar."""
    times = np.linspace(0.0, 2.0, 21)
    one, two = (
        problems.get("spatial_four_bar")
        .simulate(t_end=2.0, t_eval=times, formulation=da.NullSpace(reduced=reduced))
        .udot
        for reduced in (True, False)
    )
    return float(np.abs(one - two).max() / np.abs(one).max())


def four_bar_residuals() -> dict[str, float]:
    """What the start of the spatial four-bar leaves of (3.1), (3.3), (3.5) and (3.6), written out by hand."""
    problem = problems.get("spatial_four_bar")
    s = problem.state(problem.system())
    q1, q2, u1, u2 = (float(s[name]) for name in ("q1", "q2", "u1", "u2"))
    S1, C1, S2, C2 = np.sin(q1), np.cos(q1), np.sin(q2), np.cos(q2)
    G, m, g = np.array([8 * S1 * S2 - 4 * C1, -8 * C1 * C2]), 1.0, 9.81
    M = np.array([[4 * m / 3 + m * (1 + 4 * S2**2 / 3), m * C2], [m * C2, 4 * m / 3]])
    h = [m * S2 * (u2**2 - 8 * u1 * u2 * C2 / 3), -m * g * S2 + 4 * m * u1**2 * C2 * S2 / 3]
    bias = (8 * C1 * S2 + 4 * S1) * u1**2 + 16 * S1 * C2 * u1 * u2 + 8 * C1 * S2 * u2**2
    return {
        "3.1": float(8 - 8 * C1 * S2 - 4 * S1),
        "3.3": float(np.abs(M @ s.udot - h - G * s.multipliers[0]).max()),
        "3.5": float(G @ s.u),
        "3.6": float(G @ s.udot + bias),
    }


def moving_start() -> float:
    """What the start of a bead on a turning rod leaves of y' = w x, which is (2.37) at t = 0, in m/s."""
    model = da.Model("bead")
    x, y = model.coordinates("x y")
    model.particle("bead", mass=1.0, position=[x, y])
    model.constrain(x * sp.sin(2 * model.t) - y * sp.cos(2 * model.t), name="rod")
    return float(model.compile().initial({"x": 1.3, "x'": 0.0})["y'"]) - 2.6


def unknown_in_the_mass() -> float:
    """What p0 and q0'' of one solve leave of (2.46) and (2.47): (2 + p) x'' = -10 x - 3 p^2, p^3 + p = 1 + x/4."""
    model = da.Model("variable mass")
    (x,) = model.coordinates("x")
    (p,) = model.unknowns("p")
    model.matrices(mass=sp.Matrix([[2 + p]]), force=sp.Matrix([-10 * x - 3 * p**2]))
    model.law(p**3 + p - 1 - x / 4, determines=p)
    state = model.compile().initial({"x": 1.0, "x'": 0.0})
    p0 = float(state["p"])
    return max(abs((2 + p0) * float(state["x''"]) + 10 + 3 * p0**2), abs(p0**3 + p0 - 1.25))


def unknown_in_a_constraint() -> float:
    """Error of the reaction of an ellipse on a floor; the parameter of the point that touches is the unknown, in N."""
    model = da.Model("ellipse")
    x, y, phi = model.coordinates("x y phi")
    (p,) = model.unknowns(p=-1.5)
    model.body("disc", mass=1.5, inertia=1.875, position=[x, y], rotation=phi)
    model.gravity([0, -9.81])
    low = y + 2 * sp.cos(p) * sp.sin(phi) + sp.sin(p) * sp.cos(phi)
    model.constrain(low, name="floor")
    model.law(sp.diff(low, p), determines=p)
    state = model.compile().initial({"x": 0.0, "phi": 0.3, "x'": 0.0, "phi'": 0.5}, guess={"y": 1.0})
    h = np.sqrt(4 * np.sin(0.3) ** 2 + np.cos(0.3) ** 2)
    slope = 3 * np.sin(0.3) * np.cos(0.3) / h
    bend = (3 * np.cos(0.6) - slope**2) / h
    turning = -1.5 * slope * (9.81 + bend * 0.25) / (1.875 + 1.5 * slope**2)
    return float(state["floor"]) - 1.5 * (9.81 + slope * turning + bend * 0.25)


def wheelset_after_ten_seconds() -> float:
    """Largest error beside the printed solution of the railway wheelset at 10 s, relative to the amplitudes."""
    system = wheelset.build().compile()
    state = system.initial(wheelset.GIVEN, guess=wheelset.GUESS)
    how = {"t_eval": np.linspace(9.0, 10.0, 201), "integrator": da.DOP853(rtol=1e-10, atol=1e-13)}
    motion = system.simulate(state, 10.0, **how)
    errors = (abs(motion[k][-1] - v) / np.abs(motion[k]).max() for k, v in wheelset.REFERENCE.items())
    return float(max(errors))


def wheelset_reactions() -> float:
    """Largest relative error of both contact forces in the printed state of the railway wheelset."""
    state = wheelset.build().compile().initial(wheelset.PRINTED, guess={"y": 0.0, "phi": 0.0})
    return float(max(abs(state[k] / wheelset.REFERENCE[k] - 1) for k in ("left", "right")))


NUMBERS = (
    Measured("I1", "n_p of the spatial four-bar, (3.2)", "1", lambda: diagnosis("spatial_four_bar").position_dof, "{}",
             lambda v: v == 1),
    Measured("I1", "n_v of the spatial four-bar, (3.2)", "1", lambda: diagnosis("spatial_four_bar").dof, "{}",
             lambda v: v == 1),
    Measured("I1", "n_p of the car, (3.12)", "3", lambda: diagnosis("car").position_dof, "{}", lambda v: v == 2,
             "differs: (3.9) hides the heading, see misprints"),
    Measured("I1", "n_v of the car, (3.12)", "1", lambda: diagnosis("car").dof, "{}", lambda v: v == 1),
    Measured("I2", "u' by (2.12), full beside reduced", "(2.12)", full_and_reduced, "{:.0e}", below(1e-9), HOLDS),
    Measured("I3", "what q'', la leave of (3.3)", "0", lambda: four_bar_residuals()["3.3"], "{:.0e} N m", below(1e-11),
             "as printed, with q1'^2 in its second row"),
    Measured("I4", "what the start leaves of (2.37)", "0", moving_start, "{:.0e} m/s", below(1e-14), HOLDS),
    Measured("I6", "what p0, q0'' leave of (2.46), (2.47), s = m", "0", unknown_in_the_mass, "{:.0e} N",
             below(1e-13), HOLDS),
    Measured("I6", "reaction with an unknown in its constraint beside an exact one", "s > m", unknown_in_a_constraint,
             "{:.0e} N", below(1e-11), HOLDS),
    Measured("I7", "what the start leaves of (3.1)", "0", lambda: four_bar_residuals()["3.1"], "{:.0e} m2",
             below(1e-11)),
    Measured("I7", "what the start leaves of (3.5)", "0", lambda: four_bar_residuals()["3.5"], "{:.0e} m2/s",
             below(1e-11)),
    Measured("I7", "what the start leaves of (3.6)", "0", lambda: four_bar_residuals()["3.6"], "{:.0e} m2/s2",
             below(1e-11)),
    Measured("I5", "D1^T r = 0 and f(r) = 0 beside multipliers", "(2.38), (2.39)", compatibility, "{:.0e}",
             below(1e-10), HOLDS),
    Measured("I5", "wheelset of Simeon, Fuehrer, Rentrop: contact forces left, right", "101.24044903, 56.28563057 N",
             wheelset_reactions, "the same to {:.0e}", below(1e-7), "as printed in the Test Set for IVP Solvers"),
    Measured("I5", "the wheelset after 10 s, all 17 numbers", "x = 8.635538697 mm, ...", wheelset_after_ten_seconds,
             "the same to {:.0e} of the amplitudes", below(1e-5), "as printed in the Test Set for IVP Solvers"),
    Measured("I8", "the printed start, (3.13)", "x, phi, theta free", printed_start, "`heading` off by {:.1f} m",
             lambda v: v > 1.0, "refused by name: (3.9) hides the heading, n_p = 2"),
)  # fmt: skip

"""The railway wheelset of Simeon, Fuehrer and Rentrop with the published answer; not in the catalogue.

Two cones on one axle run along two rails with round heads; springs hold the axle to a carriage of constant speed V.
Coordinates are x (sideways), y (up) and z (forward) of the centre beside that carriage, yaw `theta`, roll `phi`, and
`beta`, which the axle turns more than V / r0 does. Each wheel touches at one point of its cone, (psi, xi): the gap is
zero and stationary there, so that psi and xi are unknowns without inertia in the constraint. Creep forces, tangential
at both points, saturate at mu N and depend on both normal forces N nonlinearly: reactions under a law f(r) = 0.

B. Simeon, C. Fuehrer, P. Rentrop, Introduction to differential-algebraic equations in vehicle system dynamics, Surv.
Math. Ind. 1 (1991) 1-37; creep forces after A. Jaschinski, DLR-FB 90-06 (1990). Equations, data and the solution at
10 s are those of problem `wheel` in the Test Set for IVP Solvers, as its Fortran file prints them, with pi =
3.1415926. That solution is of the index-2 form, where nothing closes the gaps that the printed start leaves; `GAPS`
are these. The torque of the springs about the vertical acts on the axle that turns, as printed. The only thing left
out is a factor cos(phi) on the contact force in yaw (1 - 1e-6), which the printed equations have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

import sympy as sp
from sympy import cos, sin, sqrt, tan

from dalembert.model.model import Model

if TYPE_CHECKING:
    from dalembert.model.statement import Constraint

PARAMETERS = {
    "m": 16.08, "g": 9.81, "V": 30.0, "r0": 0.1, "I1": 0.0605, "I2": 0.366, "cx": 6400.0, "cz": 6400.0, "l": 0.19,
    "mu": 0.12, "G": 7.92e10, "nu": 0.28, "E": 1.3537956, "K": 0.7115218, "c11": 4.72772197, "c22": 4.27526987,
    "c23": 1.97203505, "cone": 0.0262, "a": 0.1506, "rail": 0.06,
}  # fmt: skip
GIVEN = {"x": 0.14941e-2, "z": 0.11241e-5, "theta": -0.28573e-3, "beta": 0.0, "x'": 0, "z'": 0, "theta'": 0, "beta'": 0}
GUESS = {"y": 0.40089e-6, "phi": 0.26459e-3}
GAPS = {"left": 5.2697e-10, "right": -4.9668e-10}  # m, of the printed start
STARTS = {"psi_l": 7.5634406e-6, "xi_l": 0.14906357, "psi_r": -7.4122380e-6, "xi_r": -0.15213643}
REFERENCE = {  # at t = 10 s, by DASSL with tolerances of 1e-9; multipliers in N
    "x": 0.86355386965811e-2, "y": 0.13038281022727e-4, "z": -0.93635784016818e-4, "theta": -0.13642299804033e-1,
    "phi": 0.15292895005422e-2, "x'": -0.76985374142666e-1, "y'": -0.25151106429207e-3, "z'": 0.20541188079539e-2,
    "theta'": -0.23904837703692, "phi'": -0.13633468454173e-1, "beta'": -0.24421377661131,
    "psi_l": 0.37839614386969e-3, "xi_l": 0.14173214964613, "psi_r": -0.33666751972196e-3, "xi_r": -0.15949425684022,
    "left": -0.10124044903201e3, "right": -0.56285630573753e2,
}  # fmt: skip
DRIVEN = ("x", "z", "theta", "x'", "z'", "theta'", "beta'")
PRINTED = {name: REFERENCE[name] for name in DRIVEN} | {"beta": 0.0}  # given values for the state at t = 10 s
PI = sp.Float(3.1415926)


class Wheel(NamedTuple):
    """One wheel: side (+1 left), point of contact, radius there, place from the centre, rail, normal, multiplier."""

    side: int
    psi: sp.Expr
    xi: sp.Expr
    radius: sp.Expr
    place: sp.Matrix
    slope: sp.Expr  # of the rail
    curvature: sp.Expr  # half the sum of those of rail and wheel
    delta: sp.Expr  # angle of the plane of contact
    multiplier: sp.Symbol


def build() -> Model:
    """The wheelset with contacts `left` and `right`, normal forces `N_l`, `N_r` and creep forces `Tx_l` .. `Ty_r`."""
    model = Model("railway wheelset")
    x, y, z, theta, phi, beta = q = model.coordinates("x y z theta phi beta")
    p = {str(symbol): symbol for symbol in model.parameters(**PARAMETERS)}
    vx, vy, vz, yaw, roll, more = (coordinate.diff(model.t) for coordinate in q)
    spin = p["V"] / p["r0"] + more
    turning = p["I2"] * ((yaw * cos(phi)) ** 2 + roll**2) + p["I1"] * (spin + yaw * sin(phi)) ** 2
    springs = p["cx"] * x**2 + p["cz"] * z**2 + p["l"] ** 2 * p["cz"] * theta**2
    model.energy(kinetic=(p["m"] * (vx**2 + vy**2 + vz**2) + turning) / 2, potential=p["m"] * p["g"] * y + springs)
    model.generalized_force({beta: -2 * p["l"] ** 2 * p["cz"] * theta * sin(phi)})
    points = model.unknowns(**STARTS)
    wheels = [_touch(model, q, p, side, *points[1 - side : 3 - side]) for side in (1, -1)]
    loads = _normal_forces(model, wheels)
    for wheel, load in zip(wheels, loads, strict=True):
        _creep(model, q, p, wheel, load, spin)
    _draw(model, q, p)
    return model


def _touch(model: Model, q: tuple, p: dict, side: int, psi: sp.Expr, xi: sp.Expr) -> Wheel:
    """The contact of one wheel with its rail: a gap that is zero, and stationary in the point of the cone."""
    x, y, _, theta, phi, _ = q
    radius = p["r0"] + tan(p["cone"]) * (p["a"] - side * xi)
    steep = -side * tan(p["cone"])
    place = sp.Matrix([
        xi * cos(theta) * cos(phi) + radius * (cos(theta) * sin(phi) * cos(psi) - sin(theta) * sin(psi)),
        xi * sin(phi) - radius * cos(phi) * cos(psi),
        -xi * sin(theta) * cos(phi) - radius * (sin(theta) * sin(phi) * cos(psi) + cos(theta) * sin(psi)),
    ])  # fmt: skip
    across = side * (x + place[0]) - p["a"] - sin(p["cone"]) * p["rail"]
    height = sqrt(p["rail"] ** 2 - across**2)  # above the middle of the rail head
    name = "left" if side > 0 else "right"
    gap = height - p["r0"] - cos(p["cone"]) * p["rail"] - y - place[1] - GAPS[name]
    multiplier = cast("Constraint", model.constrain(gap, name=name, unit="m")).multiplier
    for point, where in ((psi, "around"), (xi, "across")):
        model.law(sp.diff(gap, point), determines=point, name=f"{name}_{where}")
    slope = -side * across / height
    bent = p["rail"] ** 2 / height**3 / (1 + slope**2) ** sp.Rational(3, 2)
    curvature = (1 / (radius * sqrt(1 + steep**2)) + bent) / 2
    sideways = (steep * cos(phi) - sin(phi) * cos(psi)) * cos(theta) + sin(psi) * sin(theta)
    delta = sp.atan(-side * sideways / (steep * sin(phi) + cos(psi) * cos(phi)))
    return Wheel(side, psi, xi, radius, place, slope, curvature, delta, multiplier)


def _normal_forces(model: Model, wheels: list[Wheel]) -> list[sp.Expr]:
    """Both normal forces, from sideways and upward parts of the reactions along the planes of contact."""
    left, right = wheels
    away = left.slope * left.multiplier + right.slope * right.multiplier
    up = -left.multiplier - right.multiplier
    both = sin(left.delta + right.delta)
    N_l, N_r = model.unknowns(N_l=80.0, N_r=80.0)
    model.law(N_l * both - up * sin(right.delta) + away * cos(right.delta), determines=N_l)
    model.law(N_r * both - up * sin(left.delta) - away * cos(left.delta), determines=N_r)
    return [N_l, N_r]


def _creep(model: Model, q: tuple, p: dict, wheel: Wheel, N: sp.Expr, spin: sp.Expr) -> None:
    """Creep forces mu N tanh(Kalker's linear ones / mu N), together at most mu N, at the point of contact."""
    side, psi, phi, across = wheel.side, wheel.psi, q[4], sin(wheel.delta)
    along = cos(wheel.delta)
    s, c = sin(q[3] / along), cos(q[3] / along)
    v, wr = _slip(model, q, p, wheel, spin, (s, c))
    size = (3 * sp.Abs(N) * (1 - p["nu"]) * p["E"] / (2 * PI * wheel.curvature * p["G"] * sqrt(p["K"]))) ** sp.Rational(
        1, 3
    )
    lengthways = p["c11"] * (s * v[0] + c * v[2]) / wr
    sideways = p["c22"] * (c * along * v[0] + side * across * v[1] - s * along * v[2]) / wr
    drilling = p["c23"] * size * (along * q[3].diff(model.t) - side * across * spin) / wr
    stiff, most = p["G"] * size**2, p["mu"] * N
    forward, aside = -sp.tanh(stiff * lengthways / most), -sp.tanh(stiff * (sideways + drilling) / most)
    limit = sqrt(sp.Max(1, forward**2 + aside**2, evaluate=False))  # evaluated, SymPy takes minutes to compare them
    Tx, Ty = model.unknowns("Tx_l Ty_l" if side > 0 else "Tx_r Ty_r")
    model.law(Tx - most * forward / limit, determines=Tx)
    model.law(Ty - most * aside / limit, determines=Ty)
    force = sp.Matrix([s * Tx + c * along * Ty, side * across * Ty, c * Tx - s * along * Ty])
    arms = {angle: wheel.place.diff(by) for angle, by in ((q[3], q[3]), (phi, phi), (q[5], psi))}
    moments = {angle: force.dot(arm) for angle, arm in arms.items()}
    model.generalized_force({q[0]: force[0], q[1]: force[1], q[2]: force[2], **moments})


def _slip(model: Model, q: tuple, p: dict, wheel: Wheel, spin: sp.Expr, yawed: tuple) -> tuple[list, sp.Expr]:
    """Velocity of the wheel at the point of contact (3), and the speed of rolling; `yawed` are sin and cos of yaw."""
    (s, c), psi, xi, r = yawed, wheel.psi, wheel.xi, wheel.radius
    sphi, cphi = sin(q[4]), cos(q[4])
    vx, vy, vz, yaw, roll, _ = (coordinate.diff(model.t) for coordinate in q)
    behind = r * (s * sphi * cos(psi) + c * sin(psi)) + xi * s * cphi
    beside = r * (c * sphi * cos(psi) - s * sin(psi)) + xi * c * cphi
    above = xi * sphi - r * cphi * cos(psi)
    v = [
        vx - spin * r * (s * cos(psi) + c * sphi * sin(psi)) - yaw * behind - roll * c * above,
        vy + spin * r * cphi * sin(psi) + roll * (xi * cphi + r * sphi * cos(psi)),
        vz + p["V"] - spin * r * (c * cos(psi) - s * sphi * sin(psi)) - yaw * beside + roll * s * above,
    ]
    return v, sqrt((v[0] - 2 * vx) ** 2 + (v[1] - 2 * vy) ** 2 + (v[2] - 2 * vz - 2 * p["V"]) ** 2) / 2


def _draw(model: Model, q: tuple, p: dict) -> None:
    """Axle, wheels and rails seen from behind."""
    x, y, _, _, phi, _ = q
    hubs = [[x + side * p["a"] * cos(phi), y + side * p["a"] * sin(phi)] for side in (1, -1)]
    model.line(hubs, name="axle")
    for hub, side in zip(hubs, (1, -1), strict=True):
        up = [-p["r0"] * sin(phi), p["r0"] * cos(phi)]
        ends = [[hub[0] + k * up[0], hub[1] + k * up[1]] for k in (1, -1)]
        model.line(ends, name="left wheel" if side > 0 else "right wheel")
        turns = [sp.pi * k / 8 for k in range(9)]
        middle = (side * (p["a"] + sin(p["cone"]) * p["rail"]), -p["r0"] - cos(p["cone"]) * p["rail"])
        head = [[middle[0] + p["rail"] * cos(turn), middle[1] + p["rail"] * sin(turn)] for turn in turns]
        model.line(head, name="left rail" if side > 0 else "right rail")

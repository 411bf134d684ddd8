"""The problems in formulas, once for SymPy and CasADi: points, turning bodies, potential, forces and constraints.

`m` is whatever offers `cos`, `sin` and `sqrt`, such as the modules `sympy` and `casadi`; q and u are its symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dalembert.problems.andrews import DRIVE, GROUND, INERTIAS, LENGTHS, MASSES

G = 9.81
LINKS = (0.8, 2.0, 1.0)
GROUND_LINK = 2.0
Bars = tuple[tuple[float, float, float], ...]  # mass, distance of the centre from the first joint, central inertia
PARTICLES: Bars = ((1.0, 0.8, 0.0), (1.0, 2.0, 0.0), (0.0, 0.0, 0.0))
UNIFORM: Bars = tuple((1.0, length / 2, length**2 / 12) for length in LINKS)


@dataclass(frozen=True)
class Statement:
    """What has mass, what stores energy, what pushes and what binds; expressions in q and u."""

    points: list[tuple[float, list[Any]]]  # mass, Cartesian coordinates
    turning: list[tuple[float, Any]]  # moment of inertia, angle
    potential: Any
    force: list[Any]
    position: list[Any]  # phi(q) = 0
    velocity: list[Any]  # psi(q, u) = 0


State = Callable[[Any, Sequence[Any], Sequence[Any]], Statement]


def appell_hamel(m: Any, q: Sequence[Any], u: Sequence[Any]) -> Statement:
    """Hamel's wheel: a = 1, b = 0.5, rho = 5, weight 1 kg, wheel 5 kg of inertia 1; rolling quadratic in u."""
    theta, phi, x, y, z = q
    s, c = m.sin(theta), m.cos(theta)
    return Statement(
        points=[(1.0, [x, y, z]), (5.0, [x - 5.0 * c, y - 5.0 * s])],
        turning=[(1.0, theta), (1.0, phi)],
        potential=1.0 * G * z,
        force=[0.0] * 5,
        position=[z + 0.5 * phi - 30.0],
        velocity=[
            (u[2] + 5.0 * u[0] * s) ** 2 + (u[3] - 5.0 * u[0] * c) ** 2 - u[1] ** 2,
            u[2] * s - u[3] * c + 5.0 * u[0],
        ],
    )


def four_bar(bars: Bars) -> State:
    """The linkage of LINKS in relative angles, with any distribution of mass along the bars."""

    def state(m: Any, q: Sequence[Any], u: Sequence[Any]) -> Statement:
        del u
        x = y = 0.0
        angle: Any = 0.0
        points, turning = [], []
        for turn, length, (mass, centre, inertia) in zip(q, LINKS, bars, strict=True):
            angle = angle + turn
            c, s = m.cos(angle), m.sin(angle)
            if mass:
                points.append((mass, [x + centre * c, y + centre * s]))
            if inertia:
                turning.append((inertia, angle))
            x, y = x + length * c, y + length * s
        potential = sum(mass * G * at[1] for mass, at in points)
        return Statement(points, turning, potential, [0.0] * 3, [x - GROUND_LINK, y], [])

    return state


def andrews(m: Any, q: Sequence[Any], u: Sequence[Any]) -> Statement:
    """Andrews' squeezing mechanism; names as in the Test Set for IVP Solvers."""
    del u
    be, th, ga, ph, de, om, ep = q
    sin, cos = m.sin, m.cos
    p = {**GROUND, **LENGTHS, **DRIVE}
    xa, ya, xb, yb = (p[k] for k in ("xa", "ya", "xb", "yb"))
    rr, d, e, u_, zt, zf = (p[k] for k in ("rr", "d", "e", "u", "zt", "zf"))
    ea, fa = e - p["ea"], zf - p["fa"]
    centres = [
        ([p["ra"] * cos(be), p["ra"] * sin(be)], be),
        ([rr * cos(be) - p["da"] * cos(be + th), rr * sin(be) - p["da"] * sin(be + th)], be + th),
        ([xb + p["sa"] * sin(ga) + p["sb"] * cos(ga), yb - p["sa"] * cos(ga) + p["sb"] * sin(ga)], ga),
        ([xa + zt * cos(de) + ea * sin(ph + de), ya + zt * sin(de) - ea * cos(ph + de)], ph + de),
        ([xa + p["ta"] * cos(de) - p["tb"] * sin(de), ya + p["ta"] * sin(de) + p["tb"] * cos(de)], de),
        ([xa + u_ * sin(ep) + fa * cos(om + ep), ya - u_ * cos(ep) + fa * sin(om + ep)], om + ep),
        ([xa + p["ua"] * sin(ep) - p["ub"] * cos(ep), ya - p["ua"] * cos(ep) - p["ub"] * sin(ep)], ep),
    ]
    spring = [
        xb + p["sc"] * sin(ga) + p["sd"] * cos(ga) - p["xc"],
        yb - p["sc"] * cos(ga) + p["sd"] * sin(ga) - p["yc"],
    ]
    tip = [rr * cos(be) - d * cos(be + th), rr * sin(be) - d * sin(be + th)]
    ends = [
        [xb + p["ss"] * sin(ga), yb - p["ss"] * cos(ga)],
        [xa + zt * cos(de) + e * sin(ph + de), ya + zt * sin(de) - e * cos(ph + de)],
        [xa + u_ * sin(ep) + zf * cos(om + ep), ya - u_ * cos(ep) + zf * sin(om + ep)],
    ]
    return Statement(
        points=[(mass, at) for mass, (at, _) in zip(MASSES.values(), centres, strict=True)],
        turning=[(inertia, angle) for inertia, (_, angle) in zip(INERTIAS.values(), centres, strict=True)],
        potential=p["c0"] / 2 * (m.sqrt(spring[0] ** 2 + spring[1] ** 2) - p["l0"]) ** 2,
        force=[p["mom"], 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        position=[tip[k] - end[k] for end in ends for k in (0, 1)],
        velocity=[],
    )

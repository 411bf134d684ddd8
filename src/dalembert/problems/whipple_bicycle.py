"""The Whipple bicycle in the words of `sympy.physics.mechanics`, for `dalembert.from_sympy`; not in the catalogue.

The bicycle that SymPy tests its Kane's method with, after Meijaard, Papadopoulos, Ruina and Schwab, Proc. R. Soc. A 463
(2007) 1955-1982, with the benchmark's data. Yaw q1, lean q2, pitch q4 and steer q5 are coordinates; the wheels turn
with speeds u3 (rear) and u6 (front) that no coordinate belongs to. The rear wheel rolls because its contact point has
no velocity; the front wheel by three velocity constraints, one of which repeats the holonomic one, that it touches.
"""

from __future__ import annotations

from math import acos, cos, hypot, pi, sin
from typing import Any

import sympy as sp
from sympy.physics.mechanics import KanesMethod, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia

from dalembert.dataclass import dataclass

Frames = dict[str, ReferenceFrame]
Points = dict[str, Point]


@dataclass(frozen=True)
class Bicycle:
    """A `KanesMethod` without bodies and loads, these, and values of its constants by name."""

    kane: KanesMethod
    bodies: list[RigidBody]
    loads: list[Any]
    parameters: dict[str, float]


def state_bicycle() -> Bicycle:
    """The bicycle in SymPy objects; no equation of motion is formed."""
    q1, q2, q4, q5 = q = dynamicsymbols("q1 q2 q4 q5")
    u1, u2, u3, u4, u5, u6 = dynamicsymbols("u1:7")
    frames = _frames(q, (u1, u2, u3, u4, u5, u6))
    points = _points(frames)
    N, Y = frames["N"], frames["Y"]
    touch = points["WF_cont"]
    kane = KanesMethod(
        N,
        q_ind=[q1, q2, q5],
        u_ind=[u2, u3, u5],
        kd_eqs=[q_.diff() - u for q_, u in zip(q, (u1, u2, u4, u5), strict=True)],
        q_dependent=[q4],
        configuration_constraints=[touch.pos_from(points["WR_cont"]).dot(Y.z)],
        u_dependent=[u1, u4, u6],
        velocity_constraints=[touch.vel(N).dot(axis) for axis in (Y.x, Y.y, Y.z)],
        constraint_solver="CRAMER",
    )
    bodies = _bodies(frames, points)
    g = sp.Symbol("g")
    return Bicycle(kane, bodies, [(b.masscenter, -b.mass * g * Y.z) for b in bodies], benchmark_values())


def _frames(q: Any, u: Any) -> Frames:
    """Inertial N, yaw Y, lean R, frame, fork, and the wheels, which have an angular velocity but no orientation."""
    q1, q2, q4, q5 = q
    u1, u2, u3, u4, u5, u6 = u
    tilt = sp.Symbol("htangle")
    N = ReferenceFrame("N")
    Y = N.orientnew("Y", "Axis", [q1, N.z])
    R = Y.orientnew("R", "Axis", [q2, Y.x])
    frame = R.orientnew("Frame", "Axis", [q4 + tilt, R.y])
    fork = frame.orientnew("Fork", "Axis", [q5, frame.x])
    WR, WF = ReferenceFrame("WR"), ReferenceFrame("WF")
    Y.set_ang_vel(N, u1 * Y.z)
    R.set_ang_vel(Y, u2 * R.x)
    WR.set_ang_vel(frame, u3 * frame.y)
    frame.set_ang_vel(R, u4 * frame.y)
    fork.set_ang_vel(frame, u5 * fork.x)
    WF.set_ang_vel(fork, u6 * fork.y)
    upright = {  # in which the benchmark gives the inertias of frame and fork
        "TempFrame": frame.orientnew("TempFrame", "Axis", [-tilt, frame.y]),
        "TempFork": fork.orientnew("TempFork", "Axis", [-tilt, fork.y]),
    }
    return {"N": N, "Y": Y, "R": R, "Frame": frame, "Fork": fork, "WR": WR, "WF": WF, **upright}


def _points(frames: Frames) -> Points:
    """Contacts and mass centres from the rear contact forwards, with velocities by the two-point theorem."""
    rear, front, reach, drop, along = sp.symbols("WRrad WFrad forkoffset forklength framelength")
    frame_1, frame_3, fork_1, fork_3 = sp.symbols("framecg1 framecg3 forkcg1 forkcg3")
    Y, R, frame, fork = (frames[name] for name in ("Y", "R", "Frame", "Fork"))
    down = (fork.y.dot(Y.z) * fork.y - Y.z).normalize()
    places = {  # from where, by which vector, fixed in which frame
        "WR_mc": ("WR_cont", rear * R.z, "WR"),
        "Steer": ("WR_mc", along * frame.z, "Frame"),
        "Frame_mc": ("WR_mc", -frame_1 * frame.x + frame_3 * frame.z, "Frame"),
        "Fork_mc": ("Steer", -fork_1 * fork.x + fork_3 * fork.z, "Fork"),
        "WF_mc": ("Steer", drop * fork.x + reach * fork.z, "Fork"),
        "WF_cont": ("WF_mc", front * down, "WF"),
    }
    points = {"WR_cont": Point("WR_cont")}
    points["WR_cont"].set_vel(frames["N"], 0)
    for name, (start, vector, fixed) in places.items():
        points[name] = points[start].locatenew(name, vector)
        points[name].v2pt_theory(points[start], frames["N"], frames[fixed])
    return points


def _bodies(frames: Frames, points: Points) -> list[RigidBody]:
    """Frame, fork and wheels; the inertias of the wheels are stated in the axes of frame and fork."""
    parts = {
        "Frame": ("mframe", "TempFrame", "Iframe"),
        "Fork": ("mfork", "TempFork", "Ifork"),
        "WR": ("mwr", "Frame", "Iwr"),
        "WF": ("mwf", "Fork", "Iwf"),
    }
    bodies = []
    for name, (mass, axes, I) in parts.items():
        if name in ("Frame", "Fork"):
            xx, yy, zz, zx = sp.symbols(f"{I}11 {I}22 {I}33 {I}31")
            dyadic = inertia(frames[axes], xx, yy, zz, 0, 0, zx)
        else:
            xx, yy = sp.symbols(f"{I}11 {I}22")
            dyadic = inertia(frames[axes], xx, yy, xx)
        centre = points[f"{name}_mc"]
        bodies.append(RigidBody(f"Body{name}", centre, frames[name], sp.Symbol(mass), (dyadic, centre)))
    return bodies


def benchmark_values() -> dict[str, float]:
    """The constants by name, from the data of Meijaard et al.: products of inertia change sign with the axes."""
    rear, front, base, trail, tilt = 0.3, 0.35, 1.02, 0.08, pi / 2 - pi / 10
    frame_x, frame_z, fork_x, fork_z = 0.3, 0.9, 0.9, 0.7
    rake = front * cos(tilt) - trail * sin(tilt)
    drop = base * cos(tilt) - (front - rear) * sin(tilt)
    rise = frame_z - rear - frame_x / sin(tilt) * cos(tilt)
    reach = hypot(fork_z - front, base - fork_x)
    angle = pi / 2 - tilt - acos((fork_z - front) / reach)
    return {
        "WFrad": front, "WRrad": rear, "htangle": tilt, "forkoffset": rake, "forklength": drop,
        "framelength": base * sin(tilt) - (rake - (front - rear) * cos(tilt)),
        "forkcg1": reach * cos(angle) - drop, "forkcg3": rake + reach * sin(angle),
        "framecg1": rise * sin(tilt), "framecg3": frame_x / sin(tilt) + rise * cos(tilt),
        "Iwr11": 0.0603, "Iwr22": 0.12, "Iwf11": 0.1405, "Iwf22": 0.28,
        "Ifork11": 0.05892, "Ifork22": 0.06, "Ifork33": 0.00708, "Ifork31": 0.00756,
        "Iframe11": 9.2, "Iframe22": 11.0, "Iframe33": 2.8, "Iframe31": -2.4,
        "mfork": 4.0, "mframe": 85.0, "mwf": 3.0, "mwr": 2.0, "g": 9.81,
    }  # fmt: skip

"""Ingredients of objects of `sympy.physics.mechanics`: bodies, loads, constraints. No equation of motion is formed.

All code that depends on SymPy's names of attributes, some of them private, is in this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import field
from typing import Any

import sympy as sp
from sympy.physics.mechanics import (
    KanesMethod,
    LagrangesMethod,
    Point,
    ReferenceFrame,
    System,
    Vector,
    dynamicsymbols,
)
from sympy.physics.mechanics.actuator import ActuatorBase

from dalembert.dataclass import dataclass
from dalembert.errors import ModelError
from dalembert.importers.sympy_links import joint_points

Load = tuple[Point | ReferenceFrame, Vector]


@dataclass(frozen=True)
class Ingredients:
    """Ingredients of a SymPy object. Constraints are lists of (name, expression that is zero)."""

    frame: ReferenceFrame | None
    coordinates: list[sp.Expr]
    speeds: list[sp.Expr]
    kinematics: list[sp.Expr]
    auxiliary: list[sp.Expr] = field(default_factory=list)
    position: list[tuple[str, sp.Expr]] = field(default_factory=list)
    velocity: list[tuple[str, sp.Expr]] = field(default_factory=list)
    acceleration: list[tuple[str, sp.Expr]] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)
    loads: list[Load] = field(default_factory=list)
    lagrangian: sp.Expr | None = None
    potential: sp.Expr = sp.S.Zero
    origin: Point | None = None
    links: list[tuple[Any, list[Point]]] = field(default_factory=list)  # bodies and where joints hold them


def read_ingredients(obj: Any, bodies: Iterable[Any] | None, loads: Iterable[Any] | None, name: str) -> Ingredients:
    """The ingredients of a `KanesMethod`, `LagrangesMethod` or `System`; `bodies` and `loads` go with the first."""
    if isinstance(obj, KanesMethod):
        return _read_kane(obj, bodies, loads, name)
    faults = []
    if bodies is not None or loads is not None:
        faults.append(f"bodies= and loads= go with a KanesMethod; a {type(obj).__name__} brings its own")
    if not isinstance(obj, LagrangesMethod | System):
        faults.append(
            f"a {type(obj).__name__} cannot be imported: it does not hold what equations of motion are formed from; "
            "hand in the KanesMethod, LagrangesMethod or System itself"
        )
    if faults:
        raise ModelError(name, faults)
    return _read_lagrange(obj, name) if isinstance(obj, LagrangesMethod) else _read_system(obj, name)


def _read_kane(obj: KanesMethod, bodies: Iterable[Any] | None, loads: Iterable[Any] | None, name: str) -> Ingredients:
    carried = obj.bodies if bodies is None else bodies
    faults = []
    if not obj.mass_matrix_kin:
        faults.append("the KanesMethod has no kinematical differential equations; give it kd_eqs")
    if not carried:
        faults.append("the KanesMethod has no bodies; give them to it, or here by bodies= and loads=")
    if faults:
        raise ModelError(name, faults)
    implicit = copy(obj)
    implicit.explicit_kinematics = False  # as stated: solving them for q' swells them
    u, udot = sp.Matrix(obj.u), sp.Matrix(obj.u).diff(dynamicsymbols._t)  # noqa: SLF001 - SymPy's time symbol
    kinematics = implicit.mass_matrix_kin * obj.q.diff(dynamicsymbols._t) - implicit.forcing_kin  # noqa: SLF001
    k_v, f_v, k_a, f_a = obj._k_nh, obj._f_nh, obj._k_dnh, obj._f_dnh  # noqa: SLF001 - no public spelling
    return Ingredients(
        frame=obj._inertial,  # noqa: SLF001
        coordinates=list(obj.q),
        speeds=list(obj.u),
        kinematics=list(kinematics),
        auxiliary=list(obj._uaux),  # noqa: SLF001
        position=_named("holonomic", obj._f_h),  # noqa: SLF001
        velocity=_named("velocity", k_v * u + f_v if k_v else ()),
        # Unless they were given, SymPy makes them from the velocity constraints, which say it all.
        acceleration=_named("acceleration", () if k_a is k_v or not k_a else k_a * udot + f_a),
        bodies=list(carried),
        loads=_read_loads(obj.loads if loads is None else loads, name),
    )


def _read_lagrange(obj: LagrangesMethod, name: str) -> Ingredients:
    holonomic = list(obj._hol_coneqs)  # noqa: SLF001
    loads = _read_loads(obj.forcelist, name)
    if loads and obj.inertial is None:
        raise ModelError(name, ["the LagrangesMethod has forces but no inertial frame; give it frame="])
    return Ingredients(
        frame=obj.inertial,
        coordinates=list(obj.q),
        speeds=[],
        kinematics=[],
        position=_named("holonomic", holonomic),
        velocity=_named("nonholonomic", list(obj.coneqs)[len(holonomic) :]),
        loads=loads,
        lagrangian=obj._L[0],  # noqa: SLF001
    )


def _read_system(obj: System, name: str) -> Ingredients:
    speeds = list(obj.u)
    rates = {q.diff(dynamicsymbols._t) for q in obj.q}  # noqa: SLF001
    free = [u for u in speeds if u not in rates]  # joints made for Lagrange's method have rates for speeds
    # If all are rates, Lagrange's method is meant: conservative forces then come as potential energies of bodies.
    potentials = [sp.sympify(body.potential_energy) for body in obj.bodies] if speeds and not free else []
    explicit = obj._vel_constrs  # noqa: SLF001 - None unless given, where the public attribute differentiates
    return Ingredients(
        frame=obj.frame,
        coordinates=list(obj.q),
        speeds=free,
        kinematics=[e for e in obj.kdes if e != 0],
        auxiliary=list(obj.u_aux),
        position=_named("holonomic", obj.holonomic_constraints),
        velocity=_named("nonholonomic", obj.nonholonomic_constraints)
        if explicit is None
        else _named("velocity", explicit),
        bodies=list(obj.bodies),
        loads=_read_loads([*obj.loads, *obj.actuators], name),
        potential=sp.Add(*potentials),
        origin=obj.fixed_point,
        links=joint_points(obj.joints),
    )


def _named(name: str, expressions: Sequence[sp.Expr]) -> list[tuple[str, sp.Expr]]:
    return [(f"{name}[{k}]", e) for k, e in enumerate(expressions)]


def _read_loads(loads: Iterable[Any] | None, name: str) -> list[Load]:
    """Pairs of a point and a force, or of a frame and a torque; actuators by their own loads."""
    pairs: list[Load] = []
    for k, load in enumerate(loads or ()):
        if isinstance(load, ActuatorBase):
            pairs.extend(_read_loads(load.to_loads(), name))
            continue
        place, vector = load if isinstance(load, Sequence) and len(load) == 2 else (None, None)
        if not isinstance(place, Point | ReferenceFrame) or not isinstance(vector, Vector):
            raise ModelError(
                name, [f"load {k + 1} must be a pair (point or frame, vector) or an actuator, got {load!r}"]
            )
        pairs.append((place, vector))
    return pairs

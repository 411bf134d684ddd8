"""Quantities of a motion that are read by name: outputs, motion of points and joints, efforts of force elements.

Each group is one function of (x, u', la). The function of the outputs is made at once, so that `compile` finds their
faults. The others are made when first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import prod
from typing import NamedTuple

import casadi as ca
import sympy as sp

from dalembert.equations.derive import Derivation
from dalembert.equations.functions import Stated, Summed, flat, function_of
from dalembert.equations.laws import rows_by_unknown
from dalembert.equations.lowering.lower import Lowering
from dalembert.equations.mechanics import Mechanics
from dalembert.equations.quantities import STATED, Quantity
from dalembert.model.joints import can_slide, can_turn, displacement_of
from dalembert.model.markers import angle_between, is_planar
from dalembert.model.reading import nodes
from dalembert.model.statement import Attitude, Body, Element, Joint, Particle, Statement

Graph = Callable[[], ca.SX]


class Named(NamedTuple):
    """A graph under a name, made when it is called."""

    name: str
    graph: Graph
    shape: tuple[int, ...] = ()
    labels: tuple[str, ...] = ()
    reads_rates: bool = False
    wrapped: bool = False


def derive_outputs(
    derivation: Derivation, mechanics: Mechanics | Summed
) -> tuple[tuple[Quantity, ...], dict[str, Stated]]:
    """All quantities, and the functions they are read from by group."""
    st = derivation.statement
    unknown = bool(st.unknowns)  # which may be in the effort of any element
    groups = {
        "point_motion": [n for p in st.particles if not p.part for n in _of_point(derivation, p)]
        + [n for b in st.bodies for n in (*_of_point(derivation, b), *_of_body(derivation, b))],
        "joint_motion": [n for joint in st.joints for n in _of_joint(derivation, joint)],
        "element_efforts": [n._replace(reads_rates=unknown) for e in st.elements for n in _of_element(derivation, e)],
    }
    stated = _outputs(derivation, mechanics)
    functions: dict[str, Stated] = {STATED: _function(STATED, derivation, mechanics, stated)}
    functions |= {name: partial(_function, name, derivation, mechanics, group) for name, group in groups.items()}
    found = [*_quantities(STATED, stated), *(q for name, group in groups.items() for q in _quantities(name, group))]
    return tuple(found), functions


def check_outputs(statement: Statement, kept: Sequence[str]) -> list[str]:
    """Faults of outputs with the multiplier of a constraint that is not `kept`, as the coordinates satisfy it."""
    known = {*kept}
    gone = {sp.Symbol(c.name) for c in statement.constraints if c.name not in known}
    return [
        f"output `{output.name}` contains the multiplier of `{symbol}`, but the coordinates keep this constraint by "
        "themselves, without a reaction; leave it out"
        for output in statement.outputs
        for symbol in sorted({n for e in output.expressions for n in nodes(e)} & gone, key=str)
    ]


def _function(name: str, derivation: Derivation, mechanics: Mechanics | Summed, group: Sequence[Named]) -> ca.Function:
    """The graphs of a group as one function of (x, u', la), with multipliers in the places of the unknowns."""
    y, enforced = derivation.symbols.y, rows_by_unknown(mechanics.rows)
    column = ca.vertcat(ca.SX(0, 1), *[ca.densify(named.graph()) for named in group])
    if y.shape[0]:
        column = ca.substitute(column, y, ca.vertcat(*[mechanics.la[enforced[j]] for j in range(y.shape[0])]))
    return function_of(name, mechanics.y, [column])


def _quantities(group: str, entries: Sequence[Named]) -> Iterator[Quantity]:
    start = 0
    for n in entries:
        yield Quantity(n.name, group, start, n.shape, n.labels, n.reads_rates, n.wrapped)
        start += prod(n.shape)


# -- groups -----------------------------------------------------------------------------------------------------------


def _outputs(derivation: Derivation, mechanics: Mechanics | Summed) -> list[Named]:
    """The outputs stated by `Model.output`. The symbol of a constraint's name stands for its multiplier."""
    st, s = derivation.statement, derivation.symbols
    if not st.outputs:
        return []
    atoms, solved = derivation.kinematics.atoms(st), ca.vertcat(s.ud, s.y, mechanics.la)
    atoms.add([sp.Symbol(row.name) for row in mechanics.rows], mechanics.la)
    low = Lowering(atoms)
    found = []
    for output in st.outputs:
        graph = low.vector(output.expressions)
        shape = (len(output.expressions),) if output.labels else ()
        reads = bool(ca.depends_on(graph, solved))
        found.append(Named(output.name, partial(ca.SX, graph), shape, output.labels, reads))
    return found


def _of_point(d: Derivation, point: Particle | Body) -> Iterator[Named]:
    """Position, velocity and acceleration of a particle or of a mass centre, in inertial axes."""
    xyz = (".x", ".y", ".z")
    if point.position is not None:
        yield Named(f"{point.name}.position", lambda: d.points.position(point), (3,), xyz)
    yield Named(f"{point.name}.velocity", lambda: d.points.velocity(point), (3,), xyz)
    yield Named(
        f"{point.name}.acceleration",
        lambda: d.kinematics.total_rate(d.points.velocity(point)),
        (3,),
        xyz,
        reads_rates=True,
    )


def _of_body(d: Derivation, body: Body) -> Iterator[Named]:
    """Rotation matrix, body axes as columns, and angular velocity in inertial axes, if the rotation was stated."""
    if body.attitude is Attitude.NONE:
        return
    labels = tuple(f"[{i},{k}]" for i in range(3) for k in range(3))
    yield Named(f"{body.name}.rotation", lambda: flat(d.turning.attitude(body)), (3, 3), labels)
    yield Named(
        f"{body.name}.angular_velocity",
        lambda: ca.mtimes(d.turning.attitude(body), d.turning.angular_velocity(body)), (3,), (".x", ".y", ".z"),
    )  # fmt: skip


def _of_joint(d: Derivation, joint: Joint) -> Iterator[Named]:
    """Angle and its rate, displacement and its rate, as far as the joint allows them."""
    i, j = joint.first, joint.second
    if can_turn(joint):
        wrapped = not (is_planar(i) and is_planar(j))
        yield Named(f"{joint.name}.angle", lambda: d.low(angle_between(i, j)), wrapped=wrapped)
        yield Named(f"{joint.name}.rate", lambda: d.kinematics.rate(d.low(angle_between(i, j))))
    if can_slide(joint):
        yield Named(f"{joint.name}.displacement", lambda: d.low(displacement_of(joint)))
        yield Named(f"{joint.name}.speed", lambda: d.kinematics.rate(d.low(displacement_of(joint))))


def _of_element(d: Derivation, element: Element) -> Iterator[Named]:
    """Force, length and power of an element along a line; torque and power of a torsional element."""
    if element.axis is None:
        yield Named(f"{element.name}.force", lambda: d.low(element.effort))
        yield Named(f"{element.name}.length", lambda: _length(d, element)[0])
        yield Named(f"{element.name}.power", lambda: _power(d.low(element.effort), _length(d, element)[1]))
    else:
        yield Named(f"{element.name}.torque", lambda: d.low(element.effort))
        yield Named(f"{element.name}.power", lambda: d.low(element.effort) * _turning_rate(d, element))


def _length(d: Derivation, element: Element) -> tuple[ca.SX, ca.SX]:
    """Distance between the ends of an element, and its rate."""
    gap = d.points.position(element.second) - d.points.position(element.first)
    length = ca.norm_2(gap)
    return length, ca.dot(gap, d.points.velocity(element.second) - d.points.velocity(element.first)) / length


def _power(force: ca.SX, rate: ca.SX) -> ca.SX:
    """Power of a force along a line; zero without a force, even if the ends meet and there is no line."""
    return ca.if_else(force == 0, 0, force * rate)


def _turning_rate(d: Derivation, element: Element) -> ca.SX:
    """Rate of the angle that the torque of an element works on."""
    if element.angle is not None:
        return d.kinematics.rate(d.low(element.angle))
    bodies, turning = [end.body for end in (element.first, element.second)], d.turning
    w = [ca.mtimes(turning.attitude(body), turning.angular_velocity(body)) for body in bodies]
    return ca.dot(w[1] - w[0], d.low.vector(element.axis or ()))

"""`assemble`: sorts the elements of a large statement into kinds and derives the equations of each kind once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import sympy as sp

from dalembert.equations.checks.statement import sorted_constraints
from dalembert.equations.derived import Derived, derive
from dalembert.equations.kinds.assembly import Assembly
from dalembert.equations.kinds.components import Components, explicit_rates
from dalembert.equations.kinds.elements import Element, Elements
from dalembert.equations.kinds.kind import Kind, Sizes
from dalembert.equations.kinds.shapes import NotAnElementError
from dalembert.equations.laws import Row, law_of
from dalembert.equations.symbols import Symbols
from dalembert.model.instances import difference
from dalembert.model.statement import Body, Level, Statement
from dalembert.model.vectors import ORIGIN, derivative

ASSEMBLED_FROM = 500  # speeds and constraints: smaller systems are one graph
FEWEST_INSTANCES = 8  # a shape with fewer elements is derived with all other such elements together


class Group(NamedTuple):
    """Elements of one shape, or different ones that are derived together as one instance."""

    name: str
    instances: list[list[Element]]
    alike: bool = True


def assemble(statement: Statement, progress: Callable[[str], None]) -> Assembly | None:
    """The assembly of a statement of many elements of few kinds; None for any other."""
    if len(statement.speeds) + len(statement.constraints) <= ASSEMBLED_FROM:
        return None
    return assembled(statement, progress)


def assembled(statement: Statement, progress: Callable[[str], None]) -> Assembly | None:
    """The assembly of a statement of any size; None if its elements cannot be told apart."""
    components = Components.of(statement)
    if components is None:
        return None
    try:
        groups = _sort(Elements(statement, components).all())
        parts = [_Part(statement, components, group).derived(progress) for group in groups]
    except NotAnElementError:
        return None
    return _Numbering(statement, components, parts).assembly()


def _sort(elements: Sequence[Element]) -> list[Group]:
    """Groups of equal shape, and one of all elements whose shape is rare."""
    shapes: dict[tuple[str, Hashable], list[Element]] = {}
    for element in elements:
        shapes.setdefault((element.field, element.shape.key), []).append(element)
    few = [own for own in shapes.values() if len(own) < FEWEST_INSTANCES and own[0].field != "kinematics"]
    groups = [Group(own[0].field, [[e] for e in own]) for own in shapes.values() if own not in few]
    return [*groups, Group("others", [[e for own in few for e in own]], alike=False)] if few else groups


class _Derived(NamedTuple):
    part: _Part
    equations: Derived


class _Part:
    """One kind while it is made: its first instance as a statement of its own."""

    def __init__(self, statement: Statement, components: Components, group: Group) -> None:
        self.whole, self.components, self.group = statement, components, group
        first = group.instances[0]
        self.used = list(dict.fromkeys(c for element in first for c in element.shape.components))
        self.parameters = list(dict.fromkeys(p for element in first for p in element.shape.parameters))
        self.slots = {v: sp.Dummy("number") for v in first[0].shape.numbers} if group.alike else {}

    def derived(self, progress: Callable[[str], None]) -> _Derived:
        """The equations of the first instance. Raises `NotAnElementError` if checks find something."""
        found = derive(self._statement(), progress)
        if found.faults or any(found.bends) or found.features.found:
            raise NotAnElementError
        return _Derived(self, found)

    def _statement(self) -> Statement:
        st, own = self.whole, [self.components.all[c] for c in self.used]
        q = [k for component in own for k in component.coordinates]
        u = [k for component in own for k in component.speeds]
        rates = explicit_rates(st) or []
        values = [*st.parameters.values()]
        symbols = [*st.parameters]
        content = _by_field(self.group.instances[0])
        bodies = [item for item in content.get("bodies", [])]
        if "constraints" in content:
            bodies += [_massless(b) for b in self._bodies() if not any(b is body for body in bodies)]
        return Statement(
            name=st.name,
            time=st.time,
            coordinates=[st.coordinates[k] for k in q],
            speeds=[st.speeds[k] for k in u],
            kinematics=[difference(derivative(st.coordinates[k], st.time), rates[k]) for k in q],
            parameters={symbols[k]: values[k] for k in self.parameters} | {s: v for v, s in self.slots.items()},
            gravity=st.gravity if content.keys() & {"particles", "bodies"} else ORIGIN,
            slots=self.slots,
            **{**content, "bodies": bodies},
        )

    def _bodies(self) -> list[Body]:
        """Bodies that are placed by the components of the first instance alone: joints are derived along their axes."""
        used, leaves = {*self.used}, self.components.leaves
        found = []
        for body in self.whole.bodies:
            own = (*(body.position or ()), *body.rotation, *(body.angular_velocity or ()))
            places = [leaves.get(id(e)) for e in own]
            if own and all(leaf is not None and leaf.component in used for leaf in places):
                found.append(body)
        return found


def _by_field(elements: Sequence[Element]) -> dict[str, list[Any]]:
    content: dict[str, list[Any]] = {}
    for element in elements:
        if element.field != "kinematics":
            content.setdefault(element.field, []).extend(element.content)
    return content


def _massless(body: Body) -> Body:
    return replace(body, mass=sp.S.Zero, inertia=(sp.S.Zero,) * len(body.inertia))


class _Numbering:
    """Finds what the rows and variables of all instances are in the system."""

    def __init__(self, statement: Statement, components: Components, parts: Sequence[_Derived]) -> None:
        self._statement, self._components, self._parts = statement, components, parts
        constraints = statement.constraints
        kept, fixed = set[int](), set[int]()
        for part, equations in parts:
            own = {row.name for row in equations.mechanics.rows}
            for instance in part.group.instances:
                for local, k in enumerate(_places(instance, "constraints")):
                    first = _places(part.group.instances[0], "constraints")[local]
                    (kept if constraints[first].name in own else fixed).add(k)
        order = sorted_constraints(statement)
        self._row = {k: i for i, k in enumerate(k for k in order if k in kept)}
        self._invariant = {k: len(statement.invariants) + i for i, k in enumerate(k for k in order if k in fixed)}

    def assembly(self) -> Assembly:
        """The assembly of all kinds."""
        st = self._statement
        rows = tuple(
            Row(c.name, c.level.value, law_of(st, c, bent=False), c.unit) for c in (st.constraints[k] for k in self._row)
        )
        positions, velocities = (sum(row.level == l.value for row in rows) for l in (Level.POSITION, Level.VELOCITY))
        invariants = (*(name for name, _ in st.invariants), *(st.constraints[k].name for k in self._invariant))
        whole = sum(not p.part for p in st.particles) + len(st.bodies)
        sizes = Sizes(
            q=len(st.coordinates), u=len(st.speeds), w=len(st.parameters), p=positions, v=positions + velocities,
            r=len(rows), i=len(invariants), n=3 * (whole + len(st.bodies)),
        )  # fmt: skip
        kinds = tuple(self._kind(part, equations) for part, equations in self._parts)
        s, defaults = Symbols.of(st), tuple(st.parameters.values())
        return Assembly(s, ca.SX.sym("la", len(rows)), rows, invariants, kinds, sizes, defaults)

    def _kind(self, part: _Part, equations: Derived) -> Kind:
        instances, m = part.group.instances, equations.mechanics
        alike = part.group.alike
        leaves = [e[0].shape[1:] if alike else (part.used, part.parameters, ()) for e in instances]
        every = self._components.all
        return Kind(
            name=part.group.name,
            mechanics=m,
            q=_table([[k for c in own for k in every[c].coordinates] for own, _, _ in leaves]),
            u=_table([[k for c in own for k in every[c].speeds] for own, _, _ in leaves]),
            parameters=_table([own for _, own, _ in leaves]),
            numbers=np.array([own for _, _, own in leaves], dtype=float).reshape(len(instances), -1),
            rows=_table(self._rows(part, [row.name for row in m.rows], self._row)),
            invariants=_table(self._invariants(part, equations.invariants)),
            velocities=_table([self._velocities(instance, m.velocities.shape[0]) for instance in instances]),
            kinematic=part.group.name == "kinematics",
            works=equations.works,
        )

    def _rows(self, part: _Part, names: Sequence[str], numbers: dict[int, int]) -> list[list[int]]:
        """Numbers of constraints, in the order in which the first instance has the names."""
        first = _places(part.group.instances[0], "constraints")
        local = {self._statement.constraints[k].name: i for i, k in enumerate(first)}
        return [
            [numbers[_places(instance, "constraints")[local[name]]] for name in names] for instance in part.group.instances
        ]

    def _invariants(self, part: _Part, names: Sequence[str]) -> list[list[int]]:
        """Numbers of stated invariants, then of constraints that became some, of each instance."""
        stated = len(_places(part.group.instances[0], "invariants"))
        became = self._rows(part, names[stated:], self._invariant)
        return [[*_places(i, "invariants"), *own] for i, own in zip(part.group.instances, became, strict=True)]

    def _velocities(self, instance: Sequence[Element], count: int) -> list[int]:
        """Rows of the velocities of particles and bodies: places of whole ones, then angular velocities."""
        st = self._statement
        own = np.cumsum([not p.part for p in st.particles]) - 1
        points, bodies = len(own) and int(own[-1]) + 1, _places(instance, "bodies")
        moving = [int(own[k]) for k in _places(instance, "particles") if not st.particles[k].part]
        moving += [points + k for k in bodies]
        turning = [points + len(st.bodies) + k for k in bodies]
        found = [3 * k + i for k in (*moving, *turning) for i in range(3)]
        return found if len(found) == count else [-1] * count


def _places(instance: Sequence[Element], field: str) -> list[int]:
    return [k for element in instance if element.field == field for k in element.places]


def _table(rows: Sequence[Sequence[int]]) -> np.ndarray:
    return np.array([list(row) for row in rows], dtype=np.int64).reshape(len(rows), -1)

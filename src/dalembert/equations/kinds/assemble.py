"""`assemble`: sorts the elements of a large statement into kinds and derives the equations of each kind once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import casadi as ca
import numpy as np

from dalembert.equations.checks.statement import sorted_constraints
from dalembert.equations.derived import Derived
from dalembert.equations.features import NO_FEATURES, Features
from dalembert.equations.kinds.assembly import Assembly
from dalembert.equations.kinds.components import Components
from dalembert.equations.kinds.derived_group import DerivedGroup, derive_group
from dalembert.equations.kinds.elements import ElementReader
from dalembert.equations.kinds.groups import Bundle, ElementGroup, group
from dalembert.equations.kinds.kind import ElementKind, Sizes
from dalembert.equations.kinds.shapes import NotAnElementError
from dalembert.equations.kinks import Bends
from dalembert.equations.laws import Row, law_of
from dalembert.equations.system_facts import LARGE_SYSTEM
from dalembert.model.statement import Level, Statement


class Assembled(NamedTuple):
    """An assembly, its bends and features, and the functions that locate these."""

    assembly: Assembly
    bends: Bends
    features: Features
    functions: dict[str, ca.Function]


def assemble(statement: Statement, progress: Callable[[str], None]) -> Assembled | None:
    """The assembly of a statement of many elements of few kinds; None for any other."""
    if len(statement.speeds) + len(statement.constraints) <= LARGE_SYSTEM:
        return None
    return assembled(statement, progress)


def assembled(statement: Statement, progress: Callable[[str], None]) -> Assembled | None:
    """The assembly of a statement of any size; None if it has no kinds or holds what is no element of one."""
    components = Components.of(statement)
    if components is None:
        return None
    try:
        parts = _derive(statement, components, progress)
    except NotAnElementError:
        return None
    if not any(part.group.alike for part in parts):
        return None
    assembly = _Numbering(statement, components, parts).assembly()
    if not parts[-1].group.alike:
        return _with_features(assembly, parts[-1].equations)
    instants = ca.Function("kinks", [assembly.x], [ca.SX(0, 1)])
    return Assembled(assembly, Bends([], []), NO_FEATURES, {"kinks": instants})


def _derive(statement: Statement, components: Components, progress: Callable[[str], None]) -> list[DerivedGroup]:
    """The equations of all groups; elements with features are derived with the rare ones, each by itself."""
    frequent, rare = group(ElementReader(statement, components).all())
    parts = list[DerivedGroup]()
    for one in frequent:
        part = derive_group(statement, components, one, progress)
        if part.has_features:
            rare += [element for instance in one.instances for element in instance.elements]
        else:
            parts.append(part)
    if rare:
        parts.append(derive_group(statement, components, ElementGroup([Bundle.of(rare)], alike=False), progress))
    return parts


def _with_features(a: Assembly, others: Derived) -> Assembled:
    """The assembly with the features of the rare elements, in the variables of the whole system."""
    kind, s, functions = a.kinds[-1], a.symbols, dict[str, ca.Function]()
    for name, function in others.functions().items():
        of_rates = name == "arguments"
        x = ca.vertcat(s.x, s.qd, s.ud) if of_rates else s.x
        reads = kind.reads(a.sizes, "1quwqu" if of_rates else "1quw")[0]
        functions[name] = ca.Function(function.name(), [x], [function(x[reads.tolist()])])
    return Assembled(a, others.bends, others.features, functions)


class _Numbering:
    """Finds what the rows and variables of all instances are in the system."""

    def __init__(self, statement: Statement, components: Components, parts: Sequence[DerivedGroup]) -> None:
        self._statement, self._components, self._parts = statement, components, parts
        constraints = statement.constraints
        kept, fixed = set[int](), set[int]()
        for part in parts:
            own = {row.name for row in part.equations.mechanics.rows}
            stays = [constraints[k].name in own for k in part.constraints]
            for instance in part.group.instances:
                for k, is_row in zip(instance.places("constraints"), stays, strict=True):
                    (kept if is_row else fixed).add(k)
        order = sorted_constraints(statement)
        self._row = {k: i for i, k in enumerate(k for k in order if k in kept)}
        self._invariant = {k: len(statement.invariants) + i for i, k in enumerate(k for k in order if k in fixed)}

    def assembly(self) -> Assembly:
        """The assembly of all kinds."""
        st = self._statement
        rows = tuple(
            Row(c.name, c.level.value, law_of(st, c, bent=False), c.unit)
            for c in (st.constraints[k] for k in self._row)
        )
        positions, velocities = (sum(row.level == l.value for row in rows) for l in (Level.POSITION, Level.VELOCITY))
        invariants = (*(name for name, _ in st.invariants), *(st.constraints[k].name for k in self._invariant))
        whole = sum(not p.part for p in st.particles) + len(st.bodies)
        sizes = Sizes(
            q=len(st.coordinates), u=len(st.speeds), w=len(st.parameters), p=positions, v=positions + velocities,
            r=len(rows), i=len(invariants), n=3 * (whole + len(st.bodies)),
        )  # fmt: skip
        kinds = tuple(map(self._kind, self._parts))
        return Assembly(rows, invariants, kinds, sizes, tuple(st.parameters.values()))

    def _kind(self, part: DerivedGroup) -> ElementKind:
        instances, d, every = part.group.instances, part.equations, self._components.all
        shapes = [instance.shape for instance in instances]
        q = _table([[k for c in shape.components for k in every[c].coordinates] for shape in shapes])
        own = _table([[k for c in i.places("kinematics") for k in every[c].coordinates] for i in instances])
        numbers = [shape.numbers if part.group.alike else () for shape in shapes]
        return ElementKind(
            name=part.group.name,
            mechanics=d.mechanics,
            q=q,
            u=_table([[k for c in shape.components for k in every[c].speeds] for shape in shapes]),
            parameters=_table([shape.parameters for shape in shapes]),
            numbers=np.array(numbers, dtype=float).reshape(len(instances), -1),
            rows=_table(self._rows(part, [row.name for row in d.mechanics.rows], self._row)),
            invariants=_table(self._invariants(part)),
            velocities=_table([self._velocities(instance, d.mechanics.velocities.shape[0]) for instance in instances]),
            rates=np.where((q[:, :, None] == own[:, None, :]).any(axis=2), q, -1),
            works=d.works,
        )

    def _rows(self, part: DerivedGroup, names: Sequence[str], numbers: dict[int, int]) -> list[list[int]]:
        """Numbers of the constraints of each instance, in the order in which the first one has the names."""
        place = {self._statement.constraints[k].name: i for i, k in enumerate(part.constraints)}
        order = [place[name] for name in names]
        own = (instance.places("constraints") for instance in part.group.instances)
        return [[numbers[places[i]] for i in order] for places in own]

    def _invariants(self, part: DerivedGroup) -> list[list[int]]:
        """Numbers of the stated invariants of each instance, then of its constraints that became some."""
        stated = [instance.places("invariants") for instance in part.group.instances]
        became = self._rows(part, part.equations.invariants[len(stated[0]) :], self._invariant)
        return [[*one, *other] for one, other in zip(stated, became, strict=True)]

    @cached_property
    def _points(self) -> np.ndarray:
        """Which velocity each particle has that is no part of a larger object."""
        return np.cumsum([not p.part for p in self._statement.particles], dtype=np.int64) - 1

    def _velocities(self, instance: Bundle, count: int) -> list[int]:
        """Rows of the velocities of particles and mass centres, then of the angular velocities of bodies."""
        st, bodies = self._statement, instance.places("bodies")
        points = sum(not p.part for p in st.particles)
        moving = [int(self._points[k]) for k in instance.places("particles") if not st.particles[k].part]
        axes = [None] * ((count // 3 - len(moving) - 2 * len(bodies)) // 2)  # bodies without mass, for their axes
        rows = (*moving, *(points + k for k in bodies), *axes, *(points + len(st.bodies) + k for k in bodies), *axes)
        return [-1 if k is None else 3 * k + i for k in rows for i in range(3)]


def _table(rows: Sequence[Sequence[int]]) -> np.ndarray:
    return np.array([list(row) for row in rows], dtype=np.int64).reshape(len(rows), -1)

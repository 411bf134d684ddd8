"""Elements of a statement: its items one by one, each with its shape, ready to be sorted into kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import sympy as sp

from dalembert.equations.kinds.components import Components
from dalembert.equations.kinds.shapes import NotAnElementError, Shape, ShapeReader
from dalembert.model.instances import Instance
from dalembert.model.laws import IDEAL
from dalembert.model.reading import content_key
from dalembert.model.statement import Energy, Statement


class KindElement(NamedTuple):
    """An item: the list of the statement in which it stands, what stands there, and where (of constraints: several)."""

    field: str
    content: tuple[Any, ...]
    places: tuple[int, ...]
    shape: Shape


class ElementReader:
    """Reads the elements of a statement. Raises `NotAnElementError` for what only the whole model can say."""

    def __init__(self, statement: Statement, components: Components) -> None:
        self._statement, self._components = statement, components
        self._parameters = {id(p): k for k, p in enumerate(statement.parameters)}
        self._equal = {p: k for k, p in enumerate(statement.parameters)}

    def all(self) -> list[KindElement]:
        """Every element: kinematics, inertia, forces, energies, constraints, invariants."""
        st = self._statement
        refused = (st.unknowns, st.frictions, st.matrices, st.nonideal_forces, st.nonideal_generalized)
        if any(refused) or any(c.law is not IDEAL for c in st.constraints):
            raise NotAnElementError
        found = [self._kinematic(k) for k in range(len(self._components.all))]
        found += [self._read("particles", [p], k, _particle) for k, p in enumerate(st.particles)]
        found += [self._read("bodies", [b], k, _body) for k, b in enumerate(st.bodies)]
        found += [self._read("forces", [f], k, _force) for k, f in enumerate(st.forces)]
        found += [self._read("torques", [f], k, _torque) for k, f in enumerate(st.torques)]
        entries = [{key: value} for forces in st.generalized_forces for key, value in forces.items()]
        found += [self._read("generalized_forces", [entry], k, _generalized) for k, entry in enumerate(entries)]
        found += [self._read("energies", [e], k, _energy) for k, e in enumerate(_terms(st.energies))]
        found += self._constraints()
        return found + [self._read("invariants", [h], k, _invariant) for k, h in enumerate(st.invariants)]

    def _kinematic(self, component: int) -> KindElement:
        whole = self._components.all[component]
        return KindElement(
            "kinematics", (), (component,), Shape(whole.shape, (component,), whole.parameters, (), whole.numbers)
        )

    def _constraints(self) -> Iterator[KindElement]:
        """Constraints, those of one joint together: they share their arguments."""
        constraints = self._statement.constraints
        for _, group in groupby(enumerate(constraints), key=lambda item: (content_key(item[1].stated), item[1].level)):
            places, some = zip(*group, strict=True)
            if len(some) > 1 and not isinstance(some[0].stated, Instance):
                yield from (self._read("constraints", [c], k, _constraint) for k, c in zip(places, some, strict=True))
            else:
                yield self._read("constraints", some, places, _constraint)

    def _read(
        self, field: str, content: Sequence[Any], places: int | tuple[int, ...], read: Callable[..., None]
    ) -> KindElement:
        reader = ShapeReader(self._components, self._parameters, self._equal)
        try:
            for item in content:
                read(reader, item, self._statement)
        except RecursionError:
            raise NotAnElementError from None
        return KindElement(field, tuple(content), places if isinstance(places, tuple) else (places,), reader.shape())


def _particle(reader: ShapeReader, particle: Any, statement: Statement) -> None:
    reader.tag(particle.part)
    reader.point(particle)
    reader.all((particle.mass, *statement.gravity))


def _body(reader: ShapeReader, body: Any, statement: Statement) -> None:
    reader.body(body)
    reader.all((body.mass, *body.inertia, *statement.gravity))


def _force(reader: ShapeReader, force: Any, _: Statement) -> None:
    reader.point(force.at)
    reader.all(force.vector)


def _torque(reader: ShapeReader, torque: Any, _: Statement) -> None:
    reader.body(torque.on)
    reader.all(torque.vector)


def _generalized(reader: ShapeReader, entry: Any, _: Statement) -> None:
    for key, value in entry.items():
        reader.all((key, value))


def _energy(reader: ShapeReader, energy: Any, _: Statement) -> None:
    reader.all((energy.kinetic, energy.potential))


def _constraint(reader: ShapeReader, constraint: Any, _: Statement) -> None:
    reader.tag(constraint.level)
    reader.expression(constraint.stated)


def _invariant(reader: ShapeReader, invariant: Any, _: Statement) -> None:
    reader.expression(invariant[1])


def _terms(energies: Iterable[Energy]) -> Iterator[Energy]:
    """The energies, sums term by term: Lagrange's equations are linear in them."""
    for energy in energies:
        for e in sp.Add.make_args(energy.kinetic):
            if e != 0:
                yield Energy(e, sp.S.Zero)
        for e in sp.Add.make_args(energy.potential):
            if e != 0:
                yield Energy(sp.S.Zero, e)

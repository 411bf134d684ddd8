"""Shapes of the items of a statement: what is left of their expressions when the leaves become numbered slots.

Two items of equal shape are instances of one kind. Slots are numbered as they are met: components of the kinematics,
parameters, and numbers. Equal leaves have one slot. The numbers 0, 1 and -1 and exponents belong to the shape.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import sympy as sp

from dalembert.equations.kinds.components import Components
from dalembert.model.instances import Instance
from dalembert.model.markers import Marker
from dalembert.model.statement import Attitude, Body, Particle, Point
from dalembert.model.time_symbols import is_undefined_function

LONGEST_SHAPE = 3000  # tokens; a longer expression is no element of many
UNIT_NUMBERS = frozenset({0.0, 1.0, -1.0})


class NotAnElementError(Exception):
    """An item holds what only the whole model can say, such as an unknown; for use inside this package."""


class Shape(NamedTuple):
    """Key of an item's shape, and its leaves: components, parameters and numbers, in the order of their slots.

    Numbers in `fixed` belong to the shape, wherever they occur.
    """

    key: Hashable
    components: tuple[int, ...]
    parameters: tuple[int, ...]
    numbers: tuple[float, ...]
    fixed: frozenset[float]


def join(shapes: Sequence[tuple[Hashable, Shape]]) -> Shape:
    """The shape of several items with labels: theirs, and which of their leaves are the same."""
    components, parameters, numbers = dict[int, int](), dict[int, int](), dict[float, int]()
    fixed = frozenset[float]().union(*(shape.fixed for _, shape in shapes))
    key = list[Hashable]()
    for label, shape in shapes:
        key += (label, shape.key)
        for known, leaves in ((components, shape.components), (parameters, shape.parameters)):
            key.append(tuple(known.setdefault(leaf, len(known)) for leaf in leaves))
        key.append(tuple(("=", v) if v in fixed else numbers.setdefault(v, len(numbers)) for v in shape.numbers))
    return Shape(tuple(key), tuple(components), tuple(parameters), tuple(numbers), fixed)


class ShapeReader:
    """Reads one item: call its methods for all expressions, then `shape`."""

    def __init__(self, components: Components, parameters: dict[int, int], equal: dict[sp.Basic, int]) -> None:
        self._of, self._parameter_numbers, self._equal_parameters = components, parameters, equal
        self._tokens: list[Hashable] = []
        self._components: dict[int, int] = {}
        self._parameters: dict[int, int] = {}
        self._numbers: dict[float, int] = {}
        self._fixed: set[float] = set()
        self._seen: dict[int, int] = {}  # of shared arguments of instances, by identity

    def tag(self, *tokens: Hashable) -> None:
        """Tokens that belong to the shape as they are."""
        self._tokens += tokens

    def all(self, expressions: Iterable[sp.Expr] | None) -> None:
        """Several expressions, or none where None."""
        if expressions is None:
            self._tokens.append(None)
            return
        for e in expressions:
            self.expression(e)

    def expression(self, e: sp.Expr) -> None:
        """One expression."""
        leaf = self._of.leaves.get(id(e))
        if leaf is not None:
            self._leaf(leaf.component, leaf.token, 0)
        elif isinstance(e, Instance):
            self._instance(e)
        elif not e.args:
            self._atom(e)
        elif isinstance(e, sp.Derivative) or is_undefined_function(e):
            found = self._of.leaf(e)
            if found is None:
                raise NotAnElementError
            self._leaf(found[0].component, found[0].token, found[1])
        else:
            self._node(e)
        if len(self._tokens) > LONGEST_SHAPE:
            raise NotAnElementError

    def point(self, point: Point) -> None:
        """The position and the velocity of a point, or those of the body that a marker is fixed in."""
        if isinstance(point, Marker) and point.fixed:
            self.tag("marker")
            self.all(point.place)
            self.body(point.body)
        elif isinstance(point, Body):
            self.tag("body")
            self.body(point)
        else:
            self.tag("point", isinstance(point, Particle))
            self.all(point.position)
            self.all(point.velocity)

    def body(self, body: Body) -> None:
        """How a body moves."""
        self.tag(body.attitude)
        if body.attitude is Attitude.MATRIX:  # whether it is a rotation is a matter of its numbers
            self._fixed |= {float(n) for e in body.rotation for n in e.atoms(sp.Number)}
        for vector in (body.position, body.velocity, body.rotation, body.angular_velocity, body.axes_angular_velocity):
            self.all(vector)

    def shape(self) -> Shape:
        """The shape of all that was read."""
        own = Shape(
            tuple(self._tokens), tuple(self._components), tuple(self._parameters), tuple(self._numbers),
            frozenset(self._fixed),
        )  # fmt: skip
        return join([("", own)]) if self._fixed else own

    def _leaf(self, component: int, token: str, order: int) -> None:
        slot = self._components.get(component)
        if slot is None:
            slot = self._components[component] = len(self._components)
            whole = self._of.all[component]
            self._tokens += ("component", whole.shape)
            self._fixed |= whole.numbers
            for k in whole.parameters:
                self._tokens.append(self._parameters.setdefault(k, len(self._parameters)))
        if order:
            self._tokens.append(("derivative", order))
        self._tokens += (token, slot)

    def _instance(self, e: Instance) -> None:
        shared = id(e.args)
        self._tokens += (e.template.label, e.index)
        if shared in self._seen:
            self._tokens.append(("as", self._seen[shared]))
            return
        self._seen[shared] = len(self._seen)
        for part in e.args:
            self.expression(part)

    def _atom(self, e: sp.Expr) -> None:
        if e.is_Number:
            self._number(float(e))
            return
        k = self._parameter_numbers.get(id(e), -1)
        if k < 0 and isinstance(e, sp.Symbol):
            k = self._equal_parameters.get(e, -1)
        if k >= 0:
            self._tokens += ("p", self._parameters.setdefault(k, len(self._parameters)))
        elif e == self._of.time or e.is_NumberSymbol:
            self._tokens.append(e)
        else:
            raise NotAnElementError

    def _number(self, value: float) -> None:
        if value in UNIT_NUMBERS:
            self._tokens.append(("=", value))
        else:
            self._tokens += ("n", self._numbers.setdefault(value, len(self._numbers)))

    def _node(self, e: Any) -> None:
        self._tokens.append((e.func, len(e.args)))
        if isinstance(e, sp.Pow) and e.exp.is_Number:
            self._fixed.add(float(e.exp))
            self._tokens.append(e.exp)
            self.expression(e.base)
            return
        for part in e.args:
            self.expression(part)

"""Rows of joints between free bodies, by kind: each kind is differentiated once, and its instances are filled in.

A free body has its place x and a unit quaternion as coordinates, and x' = v and its angular velocity w in body axes as
speeds. Then R' = R [w]x, whatever R is in terms of the quaternion. A row phi(x, R) of a kind has

    psi = phi_x v + phi_R R[w]x,     A = psi_(v, w),     b = -(psi_x v + psi_R R[w]x),

which are far shorter than derivatives by the quaternion: R is computed once per body and not differentiated. Gradients
by the quaternion follow from A: with e' = E w / 2 and E^T E = e.e, and as R is the same for all lengths of e,

    phi_e = 2 phi_w E^T / e.e,     phi_w = the columns of A by w.

A row psi(x, R, v, w) at velocity level has such A and b. Numbers n(t) of a kind, such as the angle of a drive, come
with their rates: phi_n n' is a part of psi, and b has the terms of n' and n'' too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import sympy as sp

from dalembert.dataclass import dataclass
from dalembert.equations.derive import Constraints, Derivation
from dalembert.equations.free_bodies import PART, SIGN, FreeBody, find_free_bodies
from dalembert.equations.lowering.lower import Lowering
from dalembert.equations.probe import Probe
from dalembert.model.instances import Instance, Template
from dalembert.model.reading import content_key, nodes
from dalembert.model.statement import Constraint, Level, Statement
from dalembert.model.time_symbols import is_undefined_function


@dataclass(frozen=True)
class KindRows:
    """Rows that were derived by kind: which of all constraints they are, and phi, G, psi, A and b of them.

    Rows at position level come first, and only they have phi and G.
    """

    rows: np.ndarray  # (n,)
    phi: ca.SX  # (np, 1)
    G: ca.SX  # (np, nq)
    psi: ca.SX  # (n, 1)
    A: ca.SX  # (n, nu)
    b: ca.SX  # (n, 1)

    @property
    def stated(self) -> ca.SX:
        """Residuals as stated, (n, 1): phi of position rows, psi of the others."""
        return ca.vertcat(self.phi, self.psi[self.phi.shape[0] :, :])

    def join(self, rest: Constraints, kept: Sequence[int]) -> Constraints:
        """These rows and the other `kept` ones, in the order of all constraints."""
        own = np.searchsorted(kept, self.rows)

        def joined(some: ca.SX, other: ca.SX) -> ca.SX:
            whole = ca.vertcat(some, other)
            places, count = own[: some.shape[0]], whole.shape[0]
            order = np.argsort(np.concatenate([places, np.setdiff1d(np.arange(count), places)]))
            return whole if np.array_equal(order, np.arange(count)) else whole[order.tolist(), :]

        return Constraints(
            joined(self.phi, rest.phi), joined(self.G, rest.G), joined(self.psi, rest.psi), rest.gamma,
            joined(self.A, rest.A), joined(self.b, rest.b),
        )  # fmt: skip


class Filled(NamedTuple):
    """One joint: its bodies, the other arguments, which of these vary in time, and which constraints its rows are."""

    bodies: tuple[FreeBody, ...]
    numbers: list[sp.Expr]
    timed: tuple[int, ...]
    rows: list[int]


class KindKey(NamedTuple):
    """Key of a kind of rows: label of the template, indices of its expressions, and which numbers vary in time."""

    label: str
    indices: tuple[int, ...]
    timed: tuple[int, ...]


def rows_by_kind(stated: Sequence[Constraint], derivation: Derivation, probe: Probe) -> KindRows | None:
    """The rows of the constraints `stated` that can be derived by kind, sorted by level; None if there are none."""
    joints = _joints(stated)
    if not joints:
        return None
    bodies = find_free_bodies(derivation.statement, derivation.kinematics, probe)
    groups: dict[KindKey, tuple[Template, list[Filled]]] = {}
    slots, variation = dict[str, Slots](), NumberVariation(derivation.statement)
    for template, arguments, indices, rows in joints:
        if template.label not in slots:
            slots[template.label] = Slots.of(template)
        filled = _fill(slots[template.label], arguments, rows, bodies, variation)
        if filled is not None:
            key = KindKey(template.label, tuple(indices), filled.timed)
            groups.setdefault(key, (template, []))[1].append(filled)
    if not groups:
        return None
    parts = [_evaluate(template, key, filled, derivation) for key, (template, filled) in groups.items()]
    parts.sort(key=lambda part: part.phi.shape[0] == 0)  # rows at velocity level after those at position level
    phi, G, psi, A, b = (ca.vertcat(*[getattr(part, name) for part in parts]) for name in ("phi", "G", "psi", "A", "b"))
    return KindRows(np.concatenate([part.rows for part in parts]), phi, G, psi, A, b)


Joint = tuple[Template, tuple[Any, ...], list[int], list[int]]


def _joints(stated: Sequence[Constraint]) -> list[Joint]:
    """Templates and arguments of joints: with them the indices of their expressions, and which rows they are."""
    found: dict[tuple[str, int], Joint] = {}
    for row, constraint in enumerate(stated):
        e = constraint.stated
        if isinstance(e, Instance) and e.template.frames and constraint.level is _level(e.template):
            key = e.template.label, content_key(e)
            if key not in found:
                found[key] = e.template, e.args, [], []
            found[key][2].append(e.index)
            found[key][3].append(row)
    return list(found.values())


def _level(template: Template) -> Level:
    """The level of the rows of a template, unless numbers among its arguments raise it."""
    return Level.VELOCITY if any(frame.rates for frame in template.frames) else Level.POSITION


class Slots(NamedTuple):
    """Roles of the arguments of a template: coordinates of bodies, angular velocities, other numbers."""

    bodies: list[list[int | sp.Expr]]  # the index of an argument, or a number that is part of the kind
    turning: list[list[int | sp.Expr]]
    numbers: list[int]

    @classmethod
    def of(cls, template: Template) -> Slots:
        places = {symbol: k for k, symbol in enumerate(template.symbols)}
        bodies = [[places.get(e, e) for e in (*frame.position, *frame.quaternion)] for frame in template.frames]
        rates = [[places.get(e, e) for e in frame.rates] for frame in template.frames]
        taken = {place for own in (*bodies, *rates) for place in own if isinstance(place, int)}
        return cls(bodies, [own[3:] for own in rates], [k for k in range(len(places)) if k not in taken])


def _fill(
    slots: Slots,
    arguments: tuple[sp.Expr, ...],
    rows: list[int],
    bodies: Mapping[tuple[int, ...], FreeBody],
    variation: NumberVariation,
) -> Filled | None:
    """A joint with its bodies, each once; None if one is not free, or if another argument varies with the motion."""

    def identities(own: list[int | sp.Expr]) -> tuple[int, ...]:
        return tuple(id(arguments[e] if isinstance(e, int) else e) for e in own)

    owners: list[FreeBody] = []
    for own, turning in zip(slots.bodies, slots.turning, strict=True):
        body = bodies.get(identities(own))
        if body is None or any(body is other for other in owners):
            return None
        if turning and identities(turning) != tuple(map(id, body.body.angular_velocity or ())):
            return None
        owners.append(body)
    numbers = [arguments[k] for k in slots.numbers]
    varying = [(k, varies) for k, number in enumerate(numbers) if (varies := variation.of(number)) is not STILL]
    if any(varies is not IN_TIME for _, varies in varying):
        return None
    return Filled(tuple(owners), numbers, tuple(k for k, _ in varying), rows)


STILL, IN_TIME, WITH_MOTION = "still", "in time", "with the motion"


class NumberVariation:
    """Decides whether expressions are constant, vary in time, or vary with the motion. Each object is read once."""

    def __init__(self, statement: Statement) -> None:
        self._time, self._parameters = statement.time, statement.parameters.keys()
        self._known: dict[int, str] = {}  # by identity of expressions that the statement keeps alive

    def of(self, value: sp.Expr) -> str:
        """Variation of an expression: constant, with time, or with the motion."""
        if value.is_Number:
            return STILL
        found = self._known.get(id(value))
        if found is None:
            found = self._known[id(value)] = self._read(value)
        return found

    def _read(self, value: sp.Expr) -> str:
        found = STILL
        for node in nodes(value):
            if is_undefined_function(node):
                return WITH_MOTION
            if isinstance(node, sp.Symbol) and node not in self._parameters:
                if node != self._time:
                    return WITH_MOTION
                found = IN_TIME
        return found


def _evaluate(template: Template, key: KindKey, joints: Sequence[Filled], derivation: Derivation) -> KindRows:
    """All joints of a kind at once; their rows follow each other."""
    kind, n, s = _kind(template, key), len(joints), derivation.symbols
    speeds, coordinates = (
        np.array([[k for body in joint.bodies for k in getattr(body, name)] for joint in joints])  # (n, 6 or 7 bodies)
        for name in ("speeds", "coordinates")
    )
    places = coordinates.reshape(n, -1, 7)
    blocks = []
    for k in range(len(template.frames)):
        turned = derivation.turning.attitudes([joint.bodies[k].body for joint in joints])
        blocks += [_gathered(s.q, places[:, k, :3]), turned]
    numbers = ca.reshape(derivation.low.vector([number for joint in joints for number in joint.numbers]), -1, n)
    column = kind.function(ca.vertcat(*blocks, _gathered(s.u, speeds), numbers, *_rates(numbers, key.timed, s.t)))
    m = len(key.indices)
    psi, b, A, phi = ca.vertsplit(column, np.cumsum([0, m, m, len(kind.partial.rows), kind.placed * m]).tolist())
    if kind.placed:
        G = kind.gradients.function(A, _gathered(s.q, places[:, :, 3:].reshape(n, -1)))
        G = kind.gradients.scattered(G, m, coordinates, s.q)
    else:
        G = ca.SX(0, s.q.shape[0])
    rows, A = np.array([joint.rows for joint in joints]).ravel(), kind.partial.scattered(A, m, speeds, s.u)
    return KindRows(rows, ca.reshape(phi, phi.numel(), 1), G, ca.vec(psi), A, ca.vec(b))


def _rates(numbers: ca.SX, timed: Sequence[int], t: ca.SX) -> list[ca.SX]:
    """The first and second derivatives by time, (k, n) each, of the k rows `timed` of numbers (m, n)."""
    if not timed:
        return []
    varying = numbers[list(timed), :]
    first = ca.jtimes(ca.vec(varying), t, ca.SX(1))
    return [ca.densify(ca.reshape(rates, *varying.shape)) for rates in (first, ca.jtimes(first, t, ca.SX(1)))]


def _gathered(column: ca.SX, places: np.ndarray) -> ca.SX:
    """Entries of a column, those at `places` (n, k) of each of n joints below each other, (k, n)."""
    return ca.reshape(column[places.ravel().tolist()], places.shape[1], places.shape[0])


class Entries(NamedTuple):
    """Nonzeros of a matrix of the rows of a joint, by columns, and the `function` that gives them.

    `rows` are those of a joint, `columns` the variables of its bodies.
    """

    function: ca.Function
    rows: np.ndarray
    columns: np.ndarray

    @classmethod
    def of(cls, function: ca.Function, pattern: ca.Sparsity) -> Entries:
        return cls(function, np.array(pattern.row(), dtype=int), np.array(pattern.get_col(), dtype=int))

    def scattered(self, values: ca.SX, m: int, places: np.ndarray, variables: ca.SX) -> ca.SX:
        """The matrix of n joints, of m rows each, with nonzeros `values` (entries, n); their variables are `places`."""
        n = len(places)
        row = (m * np.arange(n)[:, None] + self.rows).ravel()
        column = places[:, self.columns].ravel()
        order = np.lexsort((row, column))
        pattern = ca.Sparsity.triplet(m * n, variables.shape[0], row[order].tolist(), column[order].tolist())
        return ca.SX(pattern, ca.vec(values)[order.tolist()])


class Kind(NamedTuple):
    """The functions of a kind of joint, and where A and G have nonzeros.

    `function` of x and R of all bodies, their speeds, numbers, and the first and second rates of those that vary gives
    psi, b, the nonzeros of A and, of rows that are `placed` at position level, phi, one column; that of `gradients`, of
    these nonzeros and the quaternions of all bodies, gives the nonzeros of G.
    """

    placed: bool
    function: ca.Function
    partial: Entries
    gradients: Entries


_KINDS: dict[KindKey, Kind] = {}


def _kind(template: Template, key: KindKey) -> Kind:
    """A kind of rows of a template; differentiated once."""
    if key not in _KINDS:
        _KINDS[key] = _differentiate(template, key)
    return _KINDS[key]


def _differentiate(template: Template, key: KindKey) -> Kind:
    frames, atoms = template.frames, dict[sp.Basic, ca.SX]()
    moving, rates, u = [], [], ca.SX.sym("u", 6 * len(frames))
    for frame, (v, w) in zip(frames, _pairs(u), strict=True):
        x, R = ca.SX.sym("x", 3), ca.SX.sym("R", 3, 3)
        atoms |= zip((*frame.position, *frame.matrix), ca.vertsplit(ca.vertcat(x, ca.vec(R.T))), strict=True)
        atoms |= zip(frame.rates, ca.vertsplit(ca.vertcat(v, w)) if frame.rates else (), strict=True)
        moving += [x, ca.vec(R)]
        rates += [v, ca.vec(ca.mtimes(R, ca.skew(w)))]
    taken = {symbol for frame in frames for symbol in (*frame.position, *frame.quaternion, *frame.rates)}
    rest = [symbol for symbol in template.symbols if symbol not in taken]
    numbers = ca.SX.sym("numbers", len(rest))
    atoms |= {symbol: numbers[k] for k, symbol in enumerate(rest)}
    first, second = (ca.SX.sym(name, len(key.timed)) for name in ("rates", "second_rates"))
    z, rate = ca.vertcat(*moving, *(numbers[k] for k in key.timed)), ca.vertcat(*rates, first)
    stated = Lowering(atoms).vector([template.expressions[k] for k in key.indices])
    placed = _level(template) is Level.POSITION
    psi = ca.jtimes(stated, z, rate) if placed else stated
    A, b = ca.sparsify(ca.jacobian(psi, u)), -ca.jtimes(psi, ca.vertcat(z, first), ca.vertcat(rate, second))
    column = ca.densify(ca.vertcat(psi, b, ca.reshape(A.nz[:], A.nnz(), 1), *([stated] if placed else [])))
    function = ca.Function("kind", [ca.vertcat(*moving, u, numbers, first, second)], [column])
    return Kind(placed, function, Entries.of(function, A.sparsity()), _gradients(A.sparsity(), len(frames)))


def _gradients(pattern: ca.Sparsity, frames: int) -> Entries:
    """The gradients of rows in the coordinates of their bodies, from the nonzeros of A and the quaternions."""
    values, e = ca.SX.sym("A", pattern.nnz()), ca.SX.sym("e", 4, frames)
    parts = ca.horzsplit(ca.SX(pattern, values), 3)  # by v, then by w, of each body
    blocks = []
    for k, (by_v, by_w) in enumerate(zip(parts[::2], parts[1::2], strict=True)):
        E = SIGN * ca.reshape(e[PART.T.ravel().tolist(), k], 4, 3)
        blocks += [by_v, ca.mtimes(2 / ca.dot(e[:, k], e[:, k]) * by_w, E.T)]
    G = ca.sparsify(ca.horzcat(*blocks))
    function = ca.Function("gradients", [values, ca.vec(e)], [ca.reshape(G.nz[:], G.nnz(), 1)])
    return Entries.of(function, G.sparsity())


def _pairs(u: ca.SX) -> list[tuple[ca.SX, ca.SX]]:
    """The velocities v and w of each of some bodies."""
    parts = ca.vertsplit(u, 3)
    return list(zip(parts[::2], parts[1::2], strict=True))

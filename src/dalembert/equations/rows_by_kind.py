"""Rows of joints between free bodies, by kind: each kind is differentiated once, and its instances are filled in.

A free body has its place x and a unit quaternion as coordinates, and x' = v and its angular velocity w in body axes as
speeds. Then R' = R [w]x, whatever R is in terms of the quaternion. A row phi(x, R) of a kind has

    psi = phi_x v + phi_R R[w]x,     A = psi_(v, w),     b = -(psi_x v + psi_R R[w]x),

which are far shorter than derivatives by the quaternion: R is computed once per body and not differentiated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import sympy as sp

from dalembert.dataclass import dataclass
from dalembert.equations.derive import Constraints, Derivation
from dalembert.equations.free_bodies import FreeBody, find_free_bodies
from dalembert.equations.lowering.lower import Lowering
from dalembert.equations.probe import Probe
from dalembert.model.instances import Instance, Template
from dalembert.model.reading import content_key
from dalembert.model.statement import Constraint, Level, Statement


@dataclass(frozen=True)
class KindRows:
    """Position rows that were derived by kind: which of all constraints they are, and phi, psi, A and b of them."""

    rows: np.ndarray  # (n,)
    phi: ca.SX  # (n, 1)
    psi: ca.SX  # (n, 1)
    A: ca.SX  # (n, nu)
    b: ca.SX  # (n, 1)

    def join(self, rest: Constraints, kept: Sequence[int]) -> Constraints:
        """These rows and the rest of those that are `kept`, in the order of all of them."""
        own = np.searchsorted(kept, self.rows)
        order = np.argsort(np.concatenate([own, np.setdiff1d(np.arange(len(kept)), own)]))

        def joined(own: ca.SX, other: ca.SX) -> ca.SX:
            both = ca.vertcat(own, other)
            return both[order[: both.shape[0]].tolist(), :]

        return Constraints(
            joined(self.phi, rest.phi), joined(self.psi, rest.psi), rest.gamma,
            joined(self.A, rest.A), joined(self.b, rest.b),
        )  # fmt: skip


class Filled(NamedTuple):
    """One joint: its bodies, the other arguments, and which constraints its rows are."""

    bodies: tuple[FreeBody, ...]
    numbers: list[sp.Expr]
    rows: list[int]


def rows_by_kind(stated: Sequence[Constraint], derivation: Derivation, probe: Probe) -> KindRows | None:
    """What can be derived by kind of the constraints `stated`, sorted by level; None if nothing can."""
    joints = _joints(stated)
    if not joints:
        return None
    bodies = find_free_bodies(derivation.statement, derivation.kinematics, probe)
    groups: dict[tuple[str, tuple[int, ...]], tuple[Template, list[Filled]]] = {}
    for template, arguments, indices, rows in joints:
        filled = _fill(template, arguments, rows, bodies, derivation.statement)
        if filled is not None:
            groups.setdefault((template.label, tuple(indices)), (template, []))[1].append(filled)
    if not groups:
        return None
    parts = [_evaluate(template, key[1], filled, derivation) for key, (template, filled) in groups.items()]
    phi, psi, A, b = (ca.vertcat(*[getattr(part, name) for part in parts]) for name in ("phi", "psi", "A", "b"))
    return KindRows(np.concatenate([part.rows for part in parts]), phi, psi, A, b)


Joint = tuple[Template, tuple[Any, ...], list[int], list[int]]


def _joints(stated: Sequence[Constraint]) -> list[Joint]:
    """Templates and arguments of joints: with them the indices of their expressions, and which rows they are."""
    found: dict[tuple[str, int], Joint] = {}
    for row, constraint in enumerate(stated):
        e = constraint.stated
        if isinstance(e, Instance) and e.template.frames and constraint.level is Level.POSITION:
            key = e.template.label, content_key(e)
            if key not in found:
                found[key] = e.template, e.args, [], []
            found[key][2].append(e.index)
            found[key][3].append(row)
    return list(found.values())


def _fill(
    template: Template,
    arguments: tuple[sp.Expr, ...],
    rows: list[int],
    bodies: Mapping[tuple[sp.Expr, ...], FreeBody],
    statement: Statement,
) -> Filled | None:
    """A joint with its bodies; None if one is not free, or if another argument does not stay what it is."""
    values = dict(zip(template.symbols, arguments, strict=True))
    owners, taken = [], set[sp.Expr]()
    for frame in template.frames:
        own = (*frame.position, *frame.quaternion)
        body = bodies.get(tuple(values.get(symbol, symbol) for symbol in own))
        if body is None:
            return None
        owners.append(body)
        taken.update(own)
    numbers = [value for symbol, value in values.items() if symbol not in taken]
    still = all(value.is_Number or value.free_symbols <= statement.parameters.keys() for value in numbers)
    return Filled(tuple(owners), numbers, rows) if still else None


def _evaluate(
    template: Template, indices: tuple[int, ...], joints: Sequence[Filled], derivation: Derivation
) -> KindRows:
    """All joints of a kind at once; their rows follow each other."""
    kind, n, s = _kind(template, indices), len(joints), derivation.kinematics.symbols
    speeds = np.array([[k for body in joint.bodies for k in body.speeds] for joint in joints])  # (n, 6 bodies)
    blocks = []
    for k in range(len(template.frames)):
        places = np.array([joint.bodies[k].coordinates[:3] for joint in joints])
        blocks += [_gathered(s.q, places), derivation.turning.attitudes([joint.bodies[k].body for joint in joints])]
    numbers = derivation.low.vector([number for joint in joints for number in joint.numbers])
    column = kind.function(ca.vertcat(*blocks, _gathered(s.u, speeds), ca.reshape(numbers, -1, n)))
    m, entries = len(indices), len(kind.rows)
    phi, psi, b, A = (ca.vec(part) for part in ca.vertsplit(column, [0, m, 2 * m, 3 * m, 3 * m + entries]))
    row = (m * np.arange(n)[:, None] + kind.rows).ravel()
    columns = speeds[:, kind.columns].ravel()
    order = np.lexsort((row, columns))
    pattern = ca.Sparsity.triplet(m * n, s.u.shape[0], row[order].tolist(), columns[order].tolist())
    rows = np.array([joint.rows for joint in joints]).ravel()
    return KindRows(rows, phi, psi, ca.SX(pattern, A[order.tolist()]), b)


def _gathered(column: ca.SX, places: np.ndarray) -> ca.SX:
    """Entries of a column, those at `places` (n, k) of each of n joints below each other, (k, n)."""
    return ca.reshape(column[places.ravel().tolist()], places.shape[1], places.shape[0])


class Kind(NamedTuple):
    """A function of x and R of all bodies, their speeds and numbers: phi, psi, b and the nonzeros of A, one column.

    `rows` and `columns` say where these are, counted in the rows of a joint and the speeds of its bodies.
    """

    function: ca.Function
    rows: np.ndarray
    columns: np.ndarray


_KINDS: dict[tuple[str, tuple[int, ...]], Kind] = {}


def _kind(template: Template, indices: tuple[int, ...]) -> Kind:
    """The kind of rows that expressions `indices` of a template are; differentiated once."""
    key = template.label, indices
    if key not in _KINDS:
        _KINDS[key] = _differentiate(template, indices)
    return _KINDS[key]


def _differentiate(template: Template, indices: tuple[int, ...]) -> Kind:
    frames, atoms = template.frames, dict[sp.Basic, ca.SX]()
    moving, rates, u = [], [], ca.SX.sym("u", 6 * len(frames))
    for frame, (v, w) in zip(frames, _pairs(u), strict=True):
        x, R = ca.SX.sym("x", 3), ca.SX.sym("R", 3, 3)
        atoms |= zip((*frame.position, *frame.matrix), ca.vertsplit(ca.vertcat(x, ca.vec(R.T))), strict=True)
        moving += [x, ca.vec(R)]
        rates += [v, ca.vec(ca.mtimes(R, ca.skew(w)))]
    taken = {symbol for frame in frames for symbol in (*frame.position, *frame.quaternion)}
    rest = [symbol for symbol in template.symbols if symbol not in taken]
    numbers = ca.SX.sym("numbers", len(rest))
    atoms |= {symbol: numbers[k] for k, symbol in enumerate(rest)}
    z, rate = ca.vertcat(*moving), ca.vertcat(*rates)
    phi = Lowering(atoms).vector([template.expressions[k] for k in indices])
    psi = ca.jtimes(phi, z, rate)
    A, b = ca.sparsify(ca.jacobian(psi, u)), -ca.jtimes(psi, z, rate)
    column = ca.densify(ca.vertcat(phi, psi, b, ca.reshape(A.nz[:], A.nnz(), 1)))
    pattern = A.sparsity()
    function = ca.Function("kind", [ca.vertcat(z, u, numbers)], [column])
    return Kind(function, np.array(pattern.row()), np.array(pattern.get_col()))


def _pairs(u: ca.SX) -> list[tuple[ca.SX, ca.SX]]:
    """The velocities v and w of each of some bodies."""
    parts = ca.vertsplit(u, 3)
    return list(zip(parts[::2], parts[1::2], strict=True))

"""Hidden conditions of servo constraints of higher index: found by their rank, derived on the graph.

With u' = u0(q, u, t) + U y the accelerations under the ideal constraints, the servo rows at acceleration level are

    A_S u' - b_S = G + P y,     G = A_S u0 - b_S,     P = A_S U.

Where P is singular, some combination of the rows contains no unknown: n^T P = 0 leaves n^T G = 0, a condition on the
state that the constraints hide. It is stated in the place of these rows, with the combinations P^T (A_S u' - b_S) on
which the unknowns act; the rows themselves then need no reactions. The condition is differentiated in turn, until the
unknowns act on what is left: tracking by a crane or through an elastic joint has index 5, as W. Blajer and K.
Kolodziejczyk write ("A geometric approach to solving problems of control constraints", Multibody System Dynamics 11
(2004) 343-364). The rank is taken at random states: what is singular there is singular everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import casadi as ca
import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.derive import Constraints, Dynamics, derive_constraints
from dalembert.equations.laws import Implied, Law, Row
from dalembert.equations.mechanics import rows_of
from dalembert.equations.probe import Probe, vanishes
from dalembert.equations.symbols import Kinematics
from dalembert.model.statement import Level
from dalembert.solve.decompositions import determinant, least_squares
from dalembert.solve.graphs import normal_to_columns
from dalembert.solve.tolerances import UNIT_ROW_RANK
from dalembert.solve.unrolled import unroll_saddle

FURTHER_DERIVATIVES = 4  # derivatives beyond the second one that are looked into


@dataclass(frozen=True)
class RowEntry:
    """A constraint as a graph, at its level, with its row."""

    level: Level
    graph: ca.SX
    row: Row


class Split(NamedTuple):
    """Pairs of servo row and unknown that act, then the remaining rows and unknowns, all as row numbers."""

    pairs: list[tuple[int, int]]
    rows: list[int]
    unknowns: list[int]


def reveal_hidden(
    entries: list[RowEntry], constraints: Constraints, kinematics: Kinematics, dynamics: Dynamics, probe: Probe
) -> tuple[list[RowEntry], Constraints]:
    """The entries with the conditions that servo constraints hide, and all of them at acceleration level.

    `constraints` are the entries as they were stated, at acceleration level.

    Where there is no end to it, or the unknowns act on nothing, the entries stay as they were stated: initial states
    then name the unknowns that do not influence their constraints.
    """
    stated = entries, constraints
    for _ in range(FURTHER_DERIVATIVES):
        split = _split([entry.row for entry in entries], constraints, dynamics, probe)
        if split is None:
            return stated
        if not split.rows:
            return entries, constraints
        response = _respond(entries, split, constraints, dynamics, probe)
        found = None if response is None else _replaced(entries, split, response, kinematics, probe)
        if found is None:
            return stated
        entries = found
        constraints = derive_constraints([(entry.level, entry.graph) for entry in entries], kinematics)
    return stated


def _split(rows: Sequence[Row], constraints: Constraints, dynamics: Dynamics, probe: Probe) -> Split | None:
    """The servo rows that the unknowns act on independently; None if there are none, or if the probe cannot decide."""
    servos = [k for k, row in enumerate(rows) if row.law.unknown is not None]
    if not servos or not all(_is_plain(row.law) for row in rows):
        return None
    ideal = [k for k, row in enumerate(rows) if row.law.ideal]
    M, A, B = (probe(e.T).reshape(3, *e.shape) for e in (dynamics.M, constraints.A, dynamics.B))
    if not all(np.isfinite(values).all() for values in (M, A, B)):
        return None
    with np.errstate(over="ignore", invalid="ignore"):  # of numbers such as 1e200 nothing can be told
        P = np.array([_response(M[k], A[k][ideal], A[k][servos], B[k]) for k in range(3)])
    if not np.isfinite(P).all():
        return None
    P = P[:, :, _unknowns([rows[k] for k in servos])]
    left_rows, left_columns, pairs = list(range(len(servos))), list(range(len(servos))), []
    while left_rows:
        size = np.abs(P[:, left_rows][:, :, left_columns]).min(axis=0)
        i, j = np.unravel_index(int(size.argmax()), size.shape)
        if not size[i, j] > UNIT_ROW_RANK:
            break
        row, column = left_rows.pop(int(i)), left_columns.pop(int(j))
        P = P - P[:, :, column : column + 1] * P[:, row : row + 1] / P[:, row : row + 1, column : column + 1]
        pairs.append((servos[row], servos[column]))
    return Split(pairs, [servos[k] for k in left_rows], [servos[k] for k in left_columns])


def _is_plain(law: Law) -> bool:
    """Whether a row is ideal, linear in an unknown, or without a reaction."""
    return law.ideal or not law.reacts or (law.unknown is not None and not law.curved)


def _unknowns(rows: Sequence[Row]) -> list[int]:
    """The unknowns of servo rows."""
    return [row.law.unknown for row in rows if row.law.unknown is not None]


def _response(M: np.ndarray, A: np.ndarray, servo: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A_S U with unit rows of A_S and unit columns of U, (ns, ny)."""
    nu, n = len(M), len(A)
    K = np.block([[M, -A.T], [A, np.zeros((n, n))]])
    U = least_squares(K, np.vstack([B, np.zeros((n, B.shape[1]))]), 1e-12)[:nu]
    lengths = np.linalg.norm(servo, axis=1)[:, None], np.linalg.norm(U, axis=0)[None]
    scale = lengths[0] * lengths[1]
    return servo @ U / np.where(scale > 0.0, scale, 1.0)


class Influence(NamedTuple):
    """G (n, 1) and P (n, r) of servo rows `rows`, as graphs, for the unknowns that act; and their A and b."""

    rows: list[int]
    G: ca.SX
    P: ca.SX
    A: ca.SX
    b: ca.SX


def _respond(
    entries: Sequence[RowEntry], split: Split, constraints: Constraints, dynamics: Dynamics, probe: Probe
) -> Influence | None:
    """Response of servo rows to the unknowns that act, those with a pair first; None if the graph is too long."""
    ideal = [k for k, entry in enumerate(entries) if entry.row.law.ideal]
    rows, unknowns = [row for row, _ in split.pairs] + split.rows, _unknowns([entries[k].row for _, k in split.pairs])
    A, b, d = rows_of(constraints.A, rows), rows_of(constraints.b, rows), dynamics
    singular = np.isclose(determinant(probe(d.M).reshape(3, *d.M.shape)), 0.0).any()
    solved = []
    for k, f in enumerate([d.f + d.prescribed, *(d.B[:, j] for j in unknowns)]):
        right = rows_of(constraints.b, ideal) if k == 0 else ca.SX(len(ideal), 1)
        found = unroll_saddle(d.M, f, rows_of(constraints.A, ideal), right, augment=bool(singular))
        if found is None:
            return None
        solved.append(found[0])
    P = ca.horzcat(ca.SX(len(rows), 0), *(ca.mtimes(A, response) for response in solved[1:]))
    return Influence(rows, ca.mtimes(A, solved[0]) - b, P, A, b)


def _condition(r: Influence, left: int) -> ca.SX:
    """n^T G with n^T P = 0 and |n| = 1, for the rows that act and one of the remaining ones.

    Without a division, as each single pivot may vanish in some position.
    """
    acting = r.P.shape[1]
    places = [*range(acting), left]
    n = normal_to_columns(r.P[places, :])
    return ca.dot(n, r.G[places]) / ca.norm_2(n)


def _replaced(
    entries: Sequence[RowEntry], split: Split, response: Influence, kinematics: Kinematics, probe: Probe
) -> list[RowEntry] | None:
    """The entries with servo rows implied by the conditions they hide, which the unknowns left over enforce.

    None if what is hidden contains neither coordinates nor speeds, so that nothing can enforce it.
    """
    acting, r = len(split.pairs), response
    coupled = acting > 0 and not vanishes(probe(r.P[acting:, :]), float(np.abs(probe(r.P)).max()))
    implied = r.rows if coupled else split.rows
    laws = {row: entries[column].row.law for row, column in split.pairs} | dict.fromkeys(implied, Implied())
    new = [replace(e, row=replace(e.row, law=laws.get(k, e.row.law))) for k, e in enumerate(entries)]
    for place, (k, unknown) in enumerate(zip(split.rows, split.unknowns, strict=True), start=acting):
        graph = _condition(r, place) if coupled else r.G[place]
        hidden = _hidden(entries[k].row, entries[unknown].row.law, graph, kinematics, probe)
        if hidden is None:
            return None
        before = sum(list(Level).index(entry.level) <= list(Level).index(hidden.level) for entry in new)
        new.insert(before, hidden)
    if coupled:
        names = ", ".join(entries[k].row.name for k in r.rows)
        graphs = ca.mtimes(r.P.T, ca.mtimes(r.A, kinematics.symbols.ud) - r.b)
        for j, (_, column) in enumerate(split.pairs):
            name = f"along({names})" + (f"[{j}]" if acting > 1 else "")
            row = Row(name, Level.ACCELERATION.value, entries[column].row.law, behind=names)
            new.append(RowEntry(Level.ACCELERATION, graphs[j] / ca.norm_2(r.P[:, j]), row))
    return new


def _hidden(stated: Row, law: Law, graph: ca.SX, kinematics: Kinematics, probe: Probe) -> RowEntry | None:
    """The condition that the row `stated` hides, at the lowest level at which it can be stated."""
    s, values = kinematics.symbols, probe(graph)
    if not np.isfinite(values).all():
        return None
    moving, placed = (not vanishes(probe(ca.jacobian(graph, v)), float(np.abs(values).max())) for v in (s.u, s.q))
    if not moving and not placed:
        return None
    level = Level.VELOCITY if moving else Level.POSITION
    held = graph if moving else ca.substitute(graph, s.u, ca.SX.zeros(s.u.shape))
    return RowEntry(level, held, Row(f"hidden({stated.name})", level.value, law, behind=stated.behind or stated.name))

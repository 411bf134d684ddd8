"""Where the nonzeros of M and A and of the sparse factors are in memory: records, and room for them in a workspace."""

from __future__ import annotations

import numpy as np

from dalembert.native.intrinsics import record_at
from dalembert.native.jit import jit
from dalembert.native.types import Record, floats, i8, ints
from dalembert.native.workspace import Workspace
from dalembert.solve.elimination_order import SaddlePattern, SymbolicFactors

# Smaller than that of the dense solver: the longer a chain, the weaker its weakest direction. Measured on N-four-bars
# through their singular positions: 1e-9 makes as large errors as 1e-8 with fewer steps, 1e-10 larger ones.
SHIFT = 1e-9
Rows = tuple[np.ndarray, np.ndarray]
NO_ROWS: Rows = (np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64))


class SparseMatrices(Record):
    """Where M and A have nonzeros: the lower triangle of M by rows and columns, A by rows; a chain of factors.

    `diagonal` says where in mem the diagonal of M is, `soft` is 1 where M may be singular. Blocks of floats:
    reciprocal diagonal of M, squared length of the rows of A; a vector to begin iterations with and the units it is
    stretched by, of all unknowns. `shift` is E relative to the lengths, `least_pivot` is the smallest pivot over the
    largest that the last factorisation met.
    """

    _fields_ = (
        *ints("n_mass mass_rows mass_columns diagonal starts columns soft first"),
        *ints("invariant_starts invariant_columns"),
        *ints("light lengths probe stretch"),
        *floats("shift least_pivot"),
    )


class SparseFactors(Record):
    """L and D for the first `rows` constraints, as `SymbolicFactors` describes them; `next` is another one, or 0.

    n unknowns are left when `n_free` speeds are eliminated in closed form. Blocks of floats for that: reciprocal masses
    (nu,), 0 for the other speeds; -S, its diagonal first; nonzeros of A of one group; a vector (nu,); and one number, 0
    if a mass was missing and had to be replaced.
    """

    _fields_ = (
        *ints("rows n next order upper_starts upper_rows upper_sources row_starts row_columns row_places"),
        *ints("column_starts entry_rows"),
        *ints("lower pivots side scatter"),
        *ints("n_free n_groups n_schur free_speeds group_counts group_entries group_targets"),
        *ints("inverse schur group closed massive"),
    )


matrices_at = record_at(SparseMatrices)
factors_at = record_at(SparseFactors)


@jit(i8(i8, i8))
def find_factors(first, rows):
    """The address of the factors for a number of constraints, in the chain that begins at `first`."""
    address = first
    while factors_at(address).rows != rows:
        address = factors_at(address).next
    return address


def lay_out_sparse(
    work: Workspace, pattern: SaddlePattern, counts: list[int], *, soft: bool, invariants: Rows = NO_ROWS
) -> tuple[SparseMatrices, list[SparseFactors]]:
    """Room for the factors with these numbers of constraints; the records must live as long as the workspace.

    `invariants` are those of the kinematics: where their gradients have nonzeros, by rows: starts and columns.
    The blocks plan.mass and plan.jacobian hold the nonzeros of M (lower triangle) and A, as `pattern` lists them.
    """
    plan = work.plan
    matrices = SparseMatrices(n_mass=len(pattern.mass_rows), soft=int(soft), shift=SHIFT)
    diagonal = plan.mass + np.flatnonzero(pattern.mass_rows == pattern.mass_columns)
    n = pattern.nu + pattern.nc
    work.reserve(matrices, {"light": pattern.nu, "lengths": pattern.nc, "probe": n, "stretch": n})
    work.mem[matrices.probe : matrices.probe + n] = 0.5 + np.abs(np.sin(1.0 + 7.0 * np.arange(n)))
    _store(
        work, matrices, mass_rows=pattern.mass_rows, mass_columns=pattern.mass_columns, diagonal=diagonal,
        starts=pattern.starts, columns=pattern.columns,
        invariant_starts=invariants[0], invariant_columns=invariants[1],
    )  # fmt: skip
    factors = list[SparseFactors]()
    for rows in sorted(set(counts), reverse=True):
        part = pattern.first(rows)
        found = part.whole_factors if soft else part.factors
        factors.append(_lay_out_factors(work, pattern, found, rows, matrices.first))
        matrices.first = factors[-1].address
    plan.pattern = matrices.address
    return matrices, factors


def _lay_out_factors(
    work: Workspace, pattern: SaddlePattern, found: SymbolicFactors, rows: int, after: int
) -> SparseFactors:
    n, n_mass, plan, schur = len(found.order), len(pattern.mass_rows), work.plan, found.schur
    factors = SparseFactors(rows=rows, n=n, next=after)
    factors.n_free, factors.n_groups, factors.n_schur = len(schur.speeds), len(schur.row_counts), len(schur.rows)
    group = int((schur.speed_counts * schur.row_counts).max(initial=0))
    work.reserve(
        factors,
        {
            "lower": len(found.entry_rows), "pivots": n, "side": n, "scatter": n, "inverse": pattern.nu,
            "schur": len(schur.rows), "group": group, "closed": pattern.nu, "massive": 1,
        },
    )  # fmt: skip
    starts = np.array([plan.mass, plan.jacobian - n_mass, factors.schur - n_mass - len(pattern.columns)])
    kind = np.searchsorted([n_mass, n_mass + len(pattern.columns)], found.upper_sources, side="right")
    _store(
        work, factors, order=found.order, upper_starts=found.upper_starts, upper_rows=found.upper_rows,
        upper_sources=found.upper_sources + starts[kind],
        row_starts=found.row_starts, row_columns=found.row_columns, row_places=found.row_places,
        column_starts=found.column_starts, entry_rows=found.entry_rows, free_speeds=schur.speeds,
        group_counts=np.stack([schur.speed_counts, schur.row_counts], axis=1).ravel(),
        group_entries=schur.entries, group_targets=schur.targets,
    )  # fmt: skip
    return factors


def _store(work: Workspace, owner: Record, **lists: np.ndarray) -> None:
    """Integers in blocks of their own; fields of `owner` of these names become where they start."""
    work.reserve(owner, None, {name: len(values) for name, values in lists.items()})
    for name, values in lists.items():
        start = getattr(owner, name)
        work.ints[start : start + len(values)] = values

"""Layout of the nonzeros of M, A and the sparse factors in memory: records, and their blocks in a workspace."""

from __future__ import annotations

import numpy as np

from dalembert.native.intrinsics import record_at
from dalembert.native.jit import address_of, jit
from dalembert.native.types import Record, floats, i8, ints
from dalembert.native.workspace import Workspace
from dalembert.solve.elimination_order import SaddlePattern, SymbolicFactors
from dalembert.solve.short_pattern import has_short_columns, sources_of, targets_of

# Smaller than that of the dense solver: the longer a chain, the weaker its weakest direction, 4e-8 for 10,000 loops.
# Measured on N-four-bars through their singular positions: errors are the same from 1e-9 to 1e-12 for 40 to 1,000
# loops. For 10,000 the accelerations of 1e-9 are damped so much that an arc over the position has to be made twice.
SHIFT = 1e-11
Rows = tuple[np.ndarray, np.ndarray]
NO_ROWS: Rows = (np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64))


class SparseMatrices(Record):
    """Nonzeros of M and A: the lower triangle of M by rows and columns, A by rows; a chain of factors.

    All lists of indices are in one array of `n_tables` at the address `tables`, which engines share. `diagonal` says
    where in mem the diagonal of M is, `soft` is 1 where M may be singular. Blocks of floats: reciprocal diagonal of
    M, squared length of the rows of A; a vector to begin iterations with and the units it is stretched by, of all
    unknowns. `shift` is E relative to the lengths, `least_pivot` is the smallest pivot over the largest that the
    last factorisation met.
    """

    _fields_ = (
        *ints("tables n_tables"),
        *ints("n_mass mass_rows mass_columns diagonal starts columns soft first"),
        *ints("invariant_starts invariant_columns"),
        *ints("light lengths probe stretch"),
        *floats("shift least_pivot"),
    )


class SparseFactors(Record):
    """L and D for the first `rows` constraints, as `SymbolicFactors` describes them; `next` is another one, or 0.

    Where columns of L are short, `targets` and `sources` stand in the place of rows (see `short_columns`), and
    n_targets is not 0; `empty` is a zero. n unknowns are left when `n_free` speeds are eliminated in closed form.
    Blocks of floats for that: reciprocal masses (nu,), 0 for the other speeds; -S, its diagonal first; nonzeros of A of
    one group; a vector (nu,); and one number, 0 if a mass was missing and had to be replaced.
    """

    _fields_ = (
        *ints("rows n next order upper_starts upper_rows upper_sources row_starts row_columns row_places"),
        *ints("column_starts entry_rows"),
        *ints("n_targets targets sources"),
        *ints("lower pivots side scatter empty"),
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
) -> tuple[SparseMatrices, list[SparseFactors], np.ndarray]:
    """Room for the factors with these numbers of constraints.

    The records and the table of indices that come back must live as long as the workspace and its copies.

    `invariants` are those of the kinematics: where their gradients have nonzeros, by rows: starts and columns.
    The blocks plan.mass and plan.jacobian hold the nonzeros of M (lower triangle) and A, as `pattern` lists them.
    """
    plan = work.plan
    matrices = SparseMatrices(n_mass=len(pattern.mass_rows), soft=int(soft), shift=SHIFT)
    diagonal = plan.mass + np.flatnonzero(pattern.mass_rows == pattern.mass_columns)
    n = pattern.nu + pattern.nc
    work.reserve(matrices, {"light": pattern.nu, "lengths": pattern.nc, "probe": n, "stretch": n})
    work.mem[matrices.probe : matrices.probe + n] = 0.5 + np.abs(np.sin(1.0 + 7.0 * np.arange(n)))
    tables = _Tables()
    tables.put(
        matrices, mass_rows=pattern.mass_rows, mass_columns=pattern.mass_columns, diagonal=diagonal,
        starts=pattern.starts, columns=pattern.columns,
        invariant_starts=invariants[0], invariant_columns=invariants[1],
    )  # fmt: skip
    factors = list[SparseFactors]()
    for rows in sorted(set(counts), reverse=True):
        part = pattern.first(rows)
        found = part.whole_factors if soft else part.factors
        factors.append(_lay_out_factors(work, tables, pattern, found, rows, matrices.first))
        matrices.first = factors[-1].address
    indices = tables.joined()
    matrices.tables, matrices.n_tables, plan.pattern = address_of(indices), len(indices), matrices.address
    return matrices, factors, indices


def _lay_out_factors(
    work: Workspace, tables: _Tables, pattern: SaddlePattern, found: SymbolicFactors, rows: int, after: int
) -> SparseFactors:
    n, n_mass, plan, schur = len(found.order), len(pattern.mass_rows), work.plan, found.schur
    factors = SparseFactors(rows=rows, n=n, next=after)
    factors.n_free, factors.n_groups, factors.n_schur = len(schur.speeds), len(schur.row_counts), len(schur.rows)
    group = int((schur.speed_counts * schur.row_counts).max(initial=0))
    work.reserve(
        factors,
        {
            "lower": len(found.entry_rows), "pivots": n, "side": n, "scatter": n, "inverse": pattern.nu,
            "schur": len(schur.rows), "group": group, "closed": pattern.nu, "massive": 1, "empty": 1,
        },
    )  # fmt: skip
    starts = np.array([plan.mass, plan.jacobian - n_mass, factors.schur - n_mass - len(pattern.columns)])
    kind = np.searchsorted([n_mass, n_mass + len(pattern.columns)], found.upper_sources, side="right")
    sources = found.upper_sources + starts[kind]
    tables.put(
        factors, order=found.order, column_starts=found.column_starts, entry_rows=found.entry_rows,
        free_speeds=schur.speeds, group_counts=np.stack([schur.speed_counts, schur.row_counts], axis=1).ravel(),
        group_entries=schur.entries, group_targets=schur.targets,
    )  # fmt: skip
    if has_short_columns(found):
        of_entries, of_pivots = targets_of(found)
        factors.n_targets = len(of_entries)
        tables.put(
            factors,
            targets=np.where(of_entries < 0, factors.pivots + of_pivots, factors.lower + of_entries),
            sources=sources_of(found, sources, factors.empty),
        )
    else:
        tables.put(
            factors, upper_starts=found.upper_starts, upper_rows=found.upper_rows, upper_sources=sources,
            row_starts=found.row_starts, row_columns=found.row_columns, row_places=found.row_places,
        )  # fmt: skip
    return factors


class _Tables:
    """Lists of indices to be joined in one array, and where each begins."""

    def __init__(self) -> None:
        self._lists: list[np.ndarray] = []
        self._size = 0

    def put(self, owner: Record, **lists: np.ndarray) -> None:
        """Add lists; fields of `owner` of these names become where they start."""
        for name, values in lists.items():
            setattr(owner, name, self._size)
            self._lists.append(values)
            self._size += len(values)

    def joined(self) -> np.ndarray:
        """All of them one behind the other, (n,)."""
        return np.concatenate(self._lists).astype(np.uint32)

"""Writing kinds out: the one graph of a system, for features that need it."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from dalembert.equations.blocks import Block
from dalembert.equations.kinds.kind import ElementKind, Sizes
from dalembert.equations.laws import Row
from dalembert.equations.mechanics import Mechanics
from dalembert.equations.symbols import Symbols

OF_ROWS_AND_COLUMNS = (  # each graph of the mechanics, then the letters of its rows and columns
    "qdot q1", "C qu", "M uu", "f u1", "active u1", "c u1", "phi p1", "G pq", "psi v1", "A ru", "b r1", "F ru", "h i1",
    "power 11", "transport u1", "kinetic 11", "potential 11", "velocities n1", "E u1",
)  # fmt: skip
RANGES = {name: (letters[0], letters[1]) for name, letters in map(str.split, OF_ROWS_AND_COLUMNS)}


def write_out(kinds: Sequence[ElementKind], s: Symbols, la: ca.SX, rows: tuple[Row, ...], sizes: Sizes) -> Mechanics:
    """The mechanics of the sum of all instances, in the variables of `s` and la."""
    graphs = {name: ca.SX(sizes.of(r), sizes.of(c)) for name, (r, c) in RANGES.items()}
    x = ca.vertcat(s.x, s.ud, la)
    for kind in kinds:
        m = kind.mechanics
        arguments = _arguments(kind, sizes, x)
        function = ca.Function("kind", [m.y], [nonzeros_of(getattr(m, name)) for name in RANGES])
        values = dict(zip(RANGES, function.call([arguments]), strict=True))
        for name, (r, c) in RANGES.items():
            block = Block(getattr(m, name), r, c)
            at, across, _ = kind.entries(block, sizes)
            graphs[name] += _scattered(at, across, values[name], graphs[name].shape)
    return Mechanics(
        rows=rows,
        t=s.t,
        q=s.q,
        u=s.u,
        p=s.p,
        udot=s.ud,
        la=la,
        gamma=ca.SX(0, 1),
        B=ca.SX(sizes.u, s.y.shape[0]),
        **graphs,
    )


def nonzeros_of(matrix: ca.SX) -> ca.SX:
    """The nonzeros of a matrix by columns, (n, 1), also if there are none."""
    return ca.reshape(matrix.nz[:], matrix.nnz(), 1)


def _arguments(kind: ElementKind, sizes: Sizes, y: ca.SX) -> ca.SX:
    """Arguments (x, u', la) of all instances, a column each."""
    read, first = kind.reads(sizes, "1quwur"), kind.first_number
    entries = ca.reshape(y[read.ravel().tolist()], read.shape[1], kind.count)
    return ca.vertcat(entries[:first, :], ca.SX(ca.DM(kind.numbers.T)), entries[first:, :])


def _scattered(rows: np.ndarray, columns: np.ndarray, values: ca.SX, shape: tuple[int, int]) -> ca.SX:
    """The matrix with the values (nnz, n) added at rows and columns (n, nnz); -1 is nowhere."""
    kept = ((rows >= 0) & (columns >= 0)).ravel()
    i, j, number = rows.ravel()[kept], columns.ravel()[kept], np.flatnonzero(kept)
    total, dense = ca.SX(*shape), ca.densify(values)
    if shape == (1, 1):
        return ca.sum1(ca.vertcat(total, ca.vec(dense.nz[number.tolist()])))
    while len(i):  # each pass takes every place once
        _, once = np.unique(j * shape[0] + i, return_index=True)
        pattern = ca.Sparsity.triplet(*shape, i[once].tolist(), j[once].tolist())
        order = np.lexsort((i[once], j[once]))
        total += ca.SX(pattern, dense.nz[number[once][order].tolist()])
        left = np.setdiff1d(np.arange(len(i)), once)
        i, j, number = i[left], j[left], number[left]
    return total

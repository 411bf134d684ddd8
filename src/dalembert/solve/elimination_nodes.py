"""Group speeds restrained by the same constraints into supernodes; order each constraint after its speeds.

A constraint eliminated first would have only its regularisation as pivot, which is negligible beside the other entries.
Eliminated after a speed, its pivot is as large as its row, except where the row has no part along that speed.
Eliminated after all coordinates of a point, it always has a part along one of them. So speeds with equal constraints
form one node. Each constraint joins the node of one of its speeds, found by a maximum matching. Nodes are ordered by
approximate minimum degree.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np

from dalembert.dataclass import dataclass
from dalembert.distinct import distinct
from dalembert.solve.schur_pattern import SchurPattern

SPEEDS_PER_NODE = 6  # speeds of a node: those of a body in space
Entries = tuple[np.ndarray, np.ndarray]  # rows and columns of the nonzeros of a matrix


@dataclass(frozen=True, eq=False)
class EliminationNodes:
    """Nodes and the `sequence` of their elimination.

    `node` (nu + nc,) is the node of each speed and constraint, -1 for speeds in closed form: the number of its first
    speed, or nu + k for constraint k if it stands alone. `rows` and `columns` are the nonzeros of A at speeds of nodes,
    `neighbours` (2, m) are pairs of nodes that are coupled.
    """

    nu: int
    rows: np.ndarray
    columns: np.ndarray
    node: np.ndarray
    neighbours: Entries
    sequence: np.ndarray

    @property
    def unknowns(self) -> np.ndarray:
        """Speeds and constraints in the order of their elimination; in each node speeds come first."""
        rank = np.full(len(self.node), -1, dtype=np.int64)
        rank[self.sequence] = np.arange(len(self.sequence))
        kept = np.flatnonzero(self.node >= 0)
        found: np.ndarray = kept[np.lexsort((kept, rank[self.node[kept]]))]
        return found

    @property
    def backwards(self) -> EliminationNodes:
        """The same nodes, the last one first."""
        return replace(self, sequence=self.sequence[::-1])

    @property
    def from_both_ends(self) -> np.ndarray:
        """Speeds and constraints of a chain of nodes from one end and from the other in turn.

        Constraints are in the first node that can hold them.
        """
        along = self._along()
        half, sequence = (len(along) + 1) // 2, along.copy()
        sequence[::2], sequence[1::2] = along[:half], along[half:][::-1]
        nodes = replace(self, sequence=sequence).matched()
        found = nodes.unknowns
        late = np.isin(nodes.node[found], along[half:])
        turn = np.where(late, np.cumsum(late), np.cumsum(~late))
        in_turn: np.ndarray = found[np.argsort(turn, kind="stable")]
        return in_turn

    def _along(self) -> np.ndarray:
        """The nodes from one end of a chain to the other, by reversed breadth-first search (Cuthill and McKee 1969).

        To import SciPy's takes longer than the whole analysis of some hundred nodes.
        """
        n, (one, other) = len(self.node), self.neighbours
        pairs = distinct(np.concatenate([one * n + other, other * n + one]))
        of, to = np.divmod(pairs, n)
        apart = of != to
        degrees = np.bincount(of[apart], minlength=n)
        # Neighbours of a node, those with the fewest neighbours first.
        to = to[apart][np.lexsort((degrees[to[apart]], of[apart]))].tolist()
        starts = np.concatenate([[0], np.cumsum(degrees)]).tolist()
        found: list[int] = []
        seen: set[int] = set()
        for seed in self.sequence[np.argsort(degrees[self.sequence], kind="stable")].tolist():
            reached = [] if seed in seen else [seed]
            seen.add(seed)
            for at in reached:  # which grows on the way
                fresh = [k for k in to[starts[at] : starts[at + 1]] if k not in seen]
                seen.update(fresh)
                reached += fresh
            found += reached
        return np.array(found[::-1], dtype=np.int64)

    def matched(self) -> EliminationNodes:
        """Each constraint in the first node that can hold it, if all find one; otherwise as they were.

        A node holds as many constraints as it has speeds: first those that the fewest nodes behind it could hold.
        """
        nu, node = self.nu, self.node.copy()
        inside = (node[nu:] >= 0) & (node[nu:] < nu)
        pairs = np.unique(np.stack([self.node[self.columns], self.rows], axis=1)[inside[self.rows]], axis=0)
        room = np.bincount(node[:nu][node[:nu] >= 0], minlength=nu).tolist()
        behind = np.bincount(pairs[:, 1], minlength=len(inside)).tolist()
        acting: dict[int, list[int]] = {}
        for at, row in pairs.tolist():
            acting.setdefault(at, []).append(row)
        waiting = set(np.flatnonzero(inside).tolist())
        for at in self.sequence.tolist():
            rows = acting.get(at, [])
            for row in rows:
                behind[row] -= 1
            left = sorted((row for row in rows if row in waiting), key=behind.__getitem__)
            for row in left[: room[at]] if rows else ():
                waiting.remove(row)
                node[nu + row] = at
        return self if waiting else replace(self, node=node)


def order_nodes(nu: int, mass: Entries, jacobian: Entries, schur: SchurPattern) -> EliminationNodes:
    """Nodes of a saddle matrix by minimum degree; speeds of `schur` are in none. Nonzeros of A are row by row."""
    nc = len(schur.rows) - int(np.count_nonzero(schur.rows != schur.columns))
    across = ~schur.free[jacobian[1]]
    rows, columns = jacobian[0][across], jacobian[1][across]
    first = _first_of_equals(nu, rows, columns)
    partner = _partners(rows, columns, nc, nu)
    node = np.concatenate([first, np.where(partner < 0, nu + np.arange(nc), first[partner])])
    one = np.concatenate([node[mass[0]], node[nu + rows], node[nu + schur.rows]])
    other = np.concatenate([node[mass[1]], node[columns], node[nu + schur.columns]])
    n = nu + nc  # members of other nodes, and speeds in closed form, are nodes without neighbours
    pairs = distinct(np.concatenate([one * n + other, other * n + one, np.arange(n) * (n + 1)]))
    to, of = np.divmod(pairs, n)
    starts = np.concatenate([[0], np.cumsum(np.bincount(to, minlength=n))])
    found = np.array(ca.Sparsity(n, n, starts.tolist(), of.tolist()).amd(), dtype=np.int64)
    node[:nu][schur.free] = -1
    return EliminationNodes(nu, rows, columns, node, (one, other), found[np.isin(found, node)])


def _first_of_equals(nu: int, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """For each speed the first one with the same constraints, itself if there are none or too many such speeds, (nu,).

    Sets of constraints are distinguished by sums of random numbers.
    """
    tags = np.random.default_rng(0).integers(1, 2**62, int(rows.max(initial=-1)) + 1, dtype=np.uint64)
    sums = np.zeros(nu, dtype=np.uint64)
    np.add.at(sums, columns, tags[rows])
    _, first, which, counts = np.unique(sums, return_index=True, return_inverse=True, return_counts=True)
    found: np.ndarray = np.where((sums > 0) & (counts[which] <= SPEEDS_PER_NODE), first[which], np.arange(nu))
    return found


def _partners(rows: np.ndarray, columns: np.ndarray, nc: int, nu: int) -> np.ndarray:
    """A speed for each constraint, each speed for at most one, for nonzeros of A; -1 (nc,) where none is left.

    The maximum matching is the one that CasADi's block triangular form starts from (Dulmage and Mendelsohn). It lists
    rows without a partner first, columns without one last, and the pairs between them in the same order.
    """
    partner = np.full(nc, -1, dtype=np.int64)
    found = ca.Sparsity.triplet(nc, nu, rows.tolist(), columns.tolist()).btf()
    listed_rows, listed_columns, coarse_rows, coarse_columns = found[1], found[2], found[5], found[6]
    partner[listed_rows[coarse_rows[1] :]] = listed_columns[: coarse_columns[3]]
    return partner

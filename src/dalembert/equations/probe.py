"""Graph expressions at a few random points. A relation that holds there, to rounding, is taken to hold everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from dalembert.equations.symbols import Symbols
from dalembert.model.statement import Statement
from dalembert.scattered import Scattered
from dalembert.solve.tolerances import CANCELLED


class Probe:
    """Evaluates an expression at three random points, (3, size); NaN where it is not defined."""

    def __init__(self, variables: Sequence[ca.SX], points: Sequence[Sequence[np.ndarray]]) -> None:
        self._variables, self._points = [*variables], [[ca.DM(part) for part in point] for point in points]

    def __call__(self, expression: ca.SX) -> np.ndarray:
        return self._evaluate(ca.vec(expression))[0]

    def nonzeros(self, *graphs: ca.SX) -> tuple[list[np.ndarray], int]:
        """The nonzeros of graphs by columns, (3, n) each, and how many operations all of them take together."""
        column = ca.vertcat(ca.SX(0, 1), *[ca.reshape(graph.nz[:], graph.nnz(), 1) for graph in graphs])
        values, operations = self._evaluate(column)  # `vec` would need memory for all zeros
        return np.split(values, np.cumsum([graph.nnz() for graph in graphs])[:-1], axis=1), operations

    def _evaluate(self, column: ca.SX) -> tuple[np.ndarray, int]:
        f = ca.Function("probe", self._variables, [ca.densify(column)])
        return np.array([f(*point).full().ravel() for point in self._points]), int(f.n_instructions())


class Probed(NamedTuple):
    """Nonzeros by columns at three random points, (3, n) each; f with the prescribed reaction."""

    M: np.ndarray
    f: np.ndarray
    A: np.ndarray
    psi: np.ndarray


def probe_at_random(statement: Statement, s: Symbols) -> Probe:
    """The probe of a statement whose graphs are in variables `s`."""
    rng = Scattered(1743)
    nq, nu = s.q.shape[0], s.u.shape[0]
    defaults = [list(statement.parameters.values())] * 3
    arguments = [
        rng.uniform(0.1, 1.0, (3, 1)), rng.uniform(0.2, 1.2, (3, nq)), rng.uniform(-1.0, 1.0, (3, nq)),
        rng.uniform(0.3, 1.3, (3, nu)), rng.uniform(-1.0, 1.0, (3, nu)), np.reshape(defaults, (3, -1)),
        rng.uniform(-1.0, 1.0, (3, s.y.shape[0])), rng.uniform(0.5, 1.5, (3, s.n.shape[0])),
    ]  # fmt: skip
    return Probe([s.t, s.q, s.qd, s.u, s.ud, s.p, s.y, s.n], [[a[k] for a in arguments] for k in range(3)])


def vanishes(values: np.ndarray, scale: float = 1.0) -> bool:
    """Whether probed values are zero to rounding, for quantities of about `scale`."""
    return bool(np.all(np.isfinite(values)) and np.all(np.abs(values) <= CANCELLED * (1.0 + scale)))


def cancelling(probe: Probe, terms: ca.SX) -> np.ndarray:
    """Mask of the rows of `terms` (n, m) that sum to zero, (n,), up to the rounding of the terms, in any units."""
    return cancel(terms.sparsity().row(), probe(terms.nz[:]), terms.shape[0])


def cancel(rows: Sequence[int] | np.ndarray, terms: np.ndarray, n: int) -> np.ndarray:
    """Mask of the n rows whose terms sum to zero, (n,). The terms (3, m) belong to `rows` (m,)."""
    where = np.asarray(rows, dtype=int)
    sums, sizes = (np.array([np.bincount(where, row, n) for row in some]) for some in (terms, np.abs(terms)))
    return np.isfinite(sums).all(axis=0) & (np.abs(sums) <= CANCELLED * sizes).all(axis=0)

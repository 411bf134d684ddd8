"""Graph expressions at a few random points: what holds there, to rounding, is taken to hold everywhere."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np

from dalembert.equations.symbols import Symbols
from dalembert.model.statement import Statement
from dalembert.scattered import Scattered

Probe = Callable[[ca.SX], np.ndarray]
ROUNDING = 1e-10


def probe_at_random(statement: Statement, s: Symbols) -> Probe:
    """Evaluates an expression at three random points, (3, size); NaN where it is not defined."""
    rng = Scattered(1743)
    nq, nu = s.q.shape[0], s.u.shape[0]
    defaults = [list(statement.parameters.values())] * 3
    arguments = [
        rng.uniform(0.1, 1.0, (3, 1)), rng.uniform(0.2, 1.2, (3, nq)), rng.uniform(-1.0, 1.0, (3, nq)),
        rng.uniform(0.3, 1.3, (3, nu)), rng.uniform(-1.0, 1.0, (3, nu)), np.reshape(defaults, (3, -1)),
        rng.uniform(-1.0, 1.0, (3, s.y.shape[0])), rng.uniform(0.5, 1.5, (3, s.n.shape[0])),
    ]  # fmt: skip
    variables = [s.t, s.q, s.qd, s.u, s.ud, s.p, s.y, s.n]
    points = [[ca.DM(a[k]) for a in arguments] for k in range(3)]

    def evaluate(expression: ca.SX) -> np.ndarray:
        f = ca.Function("probe", variables, [ca.densify(ca.vec(expression))])
        return np.array([f(*point).full().ravel() for point in points])

    return evaluate


def vanishes(values: np.ndarray, scale: float = 1.0) -> bool:
    """Whether probed values are zero to rounding, for quantities of about `scale`."""
    return bool(np.all(np.isfinite(values)) and np.all(np.abs(values) <= ROUNDING * (1.0 + scale)))


def cancelling(probe: Probe, terms: ca.SX) -> np.ndarray:
    """Which rows of `terms` (n, m) add up to zero, to rounding beside the terms, whatever their units are, (n,)."""
    n = terms.shape[0]
    sums, sizes = np.split(probe(ca.vertcat(ca.sum2(terms), ca.sum2(ca.fabs(terms)))), [n], axis=1)
    return np.isfinite(sums).all(axis=0) & (np.abs(sums) <= ROUNDING * sizes).all(axis=0)

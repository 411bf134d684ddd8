"""Explicit Runge-Kutta methods: the native functions of a time step, made from a tableau."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dalembert.native.jit import jit
from dalembert.native.plan import estimate_type, move, step_type
from dalembert.run.evaluate import is_finite, rates
from dalembert.run.integrators.combination import combinations
from dalembert.run.integrators.error_estimate import norm_type
from dalembert.run.integrators.tableau import Tableau
from dalembert.run.time_loop.columns import Columns, column
from dalembert.run.time_loop.method import Method


class RungeKutta:
    """The native functions of a tableau; made when the value is, compiled when they are first needed."""

    def __init__(self, tableau: Tableau) -> None:
        error, dense = tableau.error, tableau.dense
        workspace = max(0 if error is None else len(error.rows), dense.workspace)
        columns = Columns(tableau.stages, dense.further, workspace)
        norm = is_sound if error is None else error.norm(columns.work)
        self.tableau, self.columns = tableau, columns
        self.step = _step(tableau, is_sound if tableau.fsal else norm)
        self.estimate = _estimate(norm, columns.end) if tableau.fsal else None
        self.prepare, self.interpolate = dense.functions(columns)

    def method(self, **settings: Any) -> Method:
        """The method with the settings of the time loop, see `Method`."""
        return Method(
            step=self.step,
            prepare=self.prepare,
            interpolate=self.interpolate,
            estimate=self.estimate,
            columns=self.columns.count,
            order=self.tableau.order,
            stability=self.tableau.stability,
            restarts=True,
            **settings,
        )


@jit(norm_type)
def is_sound(_plan, _h, _z, _stages, znew, _rtol, _atol):
    """The norm of an error that nobody estimates: 0, or NaN if the new state is not finite."""
    return 0.0 if is_finite(znew) else math.nan


def _step(tableau: Tableau, norm: Any) -> Any:
    """Native `step`: z + h sum_j b_j k_j into znew, k_j in the columns of `stages`; returns `norm`."""
    stages_in_all, nodes = tableau.stages, tableau.c
    combine = combinations(np.vstack([tableau.A, tableau.b]))

    @jit(step_type)
    def step(plan, mem, t, h, z, stages, znew, rtol, atol):
        n = z.size
        for s in range(1, stages_in_all):
            combine(s, znew, z, h, stages, n)
            rates(plan, mem, t + nodes[s] * h, znew, column(stages, s, n))
        combine(stages_in_all, znew, z, h, stages, n)
        return norm(plan, h, z, stages, znew, rtol, atol)

    return step


def _estimate(norm: Any, end: int) -> Any:
    """Native `estimate`: the norm of the error, with the rates zdot at the new state put into their column."""

    @jit(estimate_type)
    def estimate(plan, h, z, stages, znew, zdot, rtol, atol):
        n = z.size
        move(column(stages, end, n), 0, zdot, 0, n)
        return norm(plan, h, z, stages, znew, rtol, atol)

    return estimate

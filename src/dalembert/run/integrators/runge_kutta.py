"""Explicit Runge-Kutta methods: the native functions of a time step, made from a tableau."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dalembert.native.jit import jit
from dalembert.native.plan import estimate_type, move_few, step_type
from dalembert.run.evaluate import evaluate, is_finite, load_state
from dalembert.run.integrators.combination import add_last, combinations, increments
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
            explicit=True,
            inside=bool(((self.tableau.c > 0.0) & (self.tableau.c < 1.0)).any()),
            **settings,
        )


@jit(norm_type)
def is_sound(_plan, _h, _z, _stages, znew, _rtol, _atol):
    """Error norm of a method without an estimate: 0, or NaN if the new state is not finite."""
    return 0.0 if is_finite(znew) else math.nan


def _step(tableau: Tableau, norm: Any) -> Any:
    """Native `step`: z + h sum_j b_j k_j into znew, k_j in the columns of `stages`; returns `norm`.

    Rates of the last evaluation go straight to where the next one reads its state. Nothing else delays the next
    evaluation: all other rates are summed before, and coordinates, whose rates are known early, are separate from
    speeds.
    """
    stages_in_all, nodes = tableau.stages, np.append(tableau.c, 1.0)
    rows = np.vstack([tableau.A, tableau.b])
    last = np.concatenate([[0.0], np.diagonal(rows, -1)])  # the weight of the rates evaluated just before
    combine, increment = combinations(rows[:2]), increments(rows - np.diag(last[1:], -1)[:, :-1])

    @jit(step_type)
    def step(plan, mem, t, h, z, stages, znew, rtol, atol):
        n, nq, nu, carried = z.size, plan.nq, plan.nu, plan.n_variations
        combine(1, znew, z, h, stages, n)
        load_state(plan, mem, t + nodes[1] * h, znew)
        for s in range(2, stages_in_all + 1):
            evaluate(plan, mem)
            increment(s, znew, h, stages, n)
            slopes, weight = column(stages, s - 1, n), h * last[s]
            add_last(mem, plan.rates, plan.xq, znew, z, slopes, 0, nq, weight)
            add_last(mem, plan.udot, plan.xu, znew, z, slopes, nq, nu, weight)
            for i in range(nq + nu, n - carried):
                slopes[i] = mem[plan.rates + i]
                znew[i] = z[i] + (znew[i] + weight * slopes[i])
            if carried:
                add_last(mem, plan.variation_rates, plan.variations, znew, z, slopes, n - carried, carried, weight)
            mem[plan.x] = t + nodes[s] * h
        return norm(plan, h, z, stages, znew, rtol, atol)

    return step


def _estimate(norm: Any, end: int) -> Any:
    """Native `estimate`: the norm of the error, with the rates zdot at the new state put into their column."""

    @jit(estimate_type)
    def estimate(plan, h, z, stages, znew, zdot, rtol, atol):
        n = z.size
        move_few(column(stages, end, n), 0, zdot, 0, n)
        return norm(plan, h, z, stages, znew, rtol, atol)

    return estimate

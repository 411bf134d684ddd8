"""Consistent states of large systems: positions, then velocities over nonzeros, then accelerations as in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.equations.system import System
from dalembert.errors import InitialStateError, OptionError
from dalembert.initial.large_levels import position_level, velocity_level
from dalembert.initial.large_stage import LargeFound, LargeStage
from dalembert.initial.request import Task

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix

    from dalembert.run.scales import Scales


def check_possible(task: Task) -> None:
    """Raise `OptionError` if the task needs dense matrices."""
    asked = "values at acceleration level" if task.wishes.of_accelerations else "bounds" if task.bounded else ""
    if asked:
        s = task.system
        raise OptionError(
            f"`{s.name}` has {s.nu + s.nc:,} speeds and constraints; {asked} can be given for smaller systems only"
        )


def large_positions(task: Task) -> LargeStage:
    """The position constraints of a task, for q (nq,)."""
    s, nq, wished = task.system, task.system.nq, task.wishes
    required = s.count("position") + len(s.invariants)
    target, x = task.target[:nq], task.x(task.target[:nq], task.target[nq:])
    weights = None if task.weights is None else task.weights[:nq]
    scales = task.scales(target, task.target[nq:])
    return LargeStage(
        level=position_level(s, joints=bool(wished.joints)),
        x=x,
        pick=np.array([*range(required), *(required + k for k in wished.joints)], dtype=np.int64),
        wanted=np.array([0.0] * required + list(wished.joints.values())),
        target=target,
        free=_free(nq, wished.q),
        metric=lambda: _position_metric(s, x, scales, weights),
        sizes=scales.q,
        row_sizes=np.concatenate([scales.position, np.ones(len(s.invariants))]),
    )


def large_velocities(task: Task, q: np.ndarray) -> LargeStage:
    """The velocity constraints of a task at positions q, for u (nu,)."""
    s, nq, wished = task.system, task.system.nq, task.wishes
    count = s.count("position") + s.count("velocity")
    target, x = task.target[nq:], task.x(q, task.target[nq:])
    weights = None if task.weights is None else task.weights[nq:]
    scales = task.scales(q, target)
    asked = [*(count + k for k in wished.rates), *(count + nq + k for k in wished.joint_rates)]
    return LargeStage(
        level=velocity_level(s, joints=bool(wished.joint_rates)),
        x=x,
        pick=np.array([*range(count), *asked], dtype=np.int64),
        wanted=np.array([0.0] * count + [*wished.rates.values(), *wished.joint_rates.values()]),
        target=target,
        free=_free(s.nu, wished.u),
        metric=lambda: _speed_metric(s, x, scales, weights),
        sizes=scales.u,
        row_sizes=scales.velocity,
    )


def explain_large(task: Task, stage: LargeStage, found: LargeFound) -> InitialStateError:
    """Error for equations that no point satisfies. It lists the violated equations, the worst first."""
    left = {stage.level.names[stage.pick[k]]: float(found.residual[k]) for k in np.argsort(-np.abs(found.residual))}
    bad = {name: value for name, value in left.items() if abs(value) > 1e-9} or left
    shown = ", ".join(f"`{name}` {value:.3g}" for name, value in list(bad.items())[:5])
    more = f" and {len(bad) - 5:,} more" if len(bad) > 5 else ""
    return InitialStateError(
        f"`{task.system.name}`: no state near the guess satisfies all equations; left over: {shown}{more}. "
        "Change the given values or the guess of what these equations connect",
        bad,
    )


def _free(n: int, wished: dict[int, float]) -> np.ndarray:
    free = np.ones(n, dtype=bool)
    free[list(wished)] = False
    return free


def _position_metric(system: System, x: np.ndarray, scales: Scales, weights: np.ndarray | None) -> csc_matrix:
    from dalembert.initial import large_metric  # and with it SciPy, which a guess that holds does not need

    return large_metric.weighted(large_metric.position_metric(system, x, scales), weights)


def _speed_metric(system: System, x: np.ndarray, scales: Scales, weights: np.ndarray | None) -> csc_matrix:
    from dalembert.initial import large_metric

    return large_metric.weighted(large_metric.speed_metric(system, x, scales), weights)

"""Positions: phi(q, t) = 0 and the invariants of the kinematics, for coordinates that are not given (A.1, step 5)."""

from __future__ import annotations

import numpy as np

from dalembert.initial.levels import POSITION, level
from dalembert.initial.metric import position_metric, weighted
from dalembert.initial.request import Task
from dalembert.initial.stage import Stage


def position_stage(task: Task) -> Stage:
    """The position constraints of a task, for q (nq,)."""
    s, nq = task.system, task.system.nq
    made = level(s, POSITION, joints=bool(task.wishes.joints))
    target = task.target[:nq]
    free = np.ones(nq, dtype=bool)
    for k in task.wishes.q:
        free[k] = False
    x = task.x(target, task.target[nq:])
    pick, wanted = made.equations({made.required + k: value for k, value in task.wishes.joints.items()})
    weights = None if task.weights is None else task.weights[:nq]
    scales = task.scales(target, task.target[nq:])
    return Stage(
        level=made,
        x=x,
        pick=pick,
        wanted=wanted,
        target=target,
        free=free,
        metric=lambda: weighted(position_metric(s, x, scales), weights),
        sizes=scales.q,
        row_sizes=np.concatenate([scales.position, np.ones(len(s.invariants))]) if s.invariants else scales.position,
        low=task.low[:nq],
        high=task.high[:nq],
        bounded=task.bounded,
    )

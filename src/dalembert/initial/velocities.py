"""Velocities: psi(q, u, t) = 0 and given rates, for the speeds that are not given (A.2, step 6)."""

from __future__ import annotations

import numpy as np

from dalembert.initial.levels import VELOCITY, level
from dalembert.initial.metric import speed_metric, weighted
from dalembert.initial.request import Task
from dalembert.initial.stage import CONSISTENT_GUESS, Found, Stage


def agreeing_speeds(task: Task, q: np.ndarray) -> Found | None:
    """The guess of the speeds if it satisfies the constraints at positions q as it is, as rest often does; or None."""
    s, u = task.system, task.target[task.system.nq :]
    if task.wishes.rates or task.wishes.joint_rates:
        return None
    psi = s.kernel("residual")(task.x(q, u))[s.count("position") :]
    worst = float((np.abs(psi) / task.scales(q, u).velocity).max(initial=0.0)) if any(psi.tolist()) else 0.0
    return Found(u, psi, np.zeros((0, s.nu)), worst, met=True, steps=0) if worst <= CONSISTENT_GUESS else None


def velocity_stage(task: Task, q: np.ndarray) -> Stage:
    """The velocity constraints of a task at positions q, for u (nu,)."""
    s, nq, rates, of_joints = task.system, task.system.nq, task.wishes.rates, task.wishes.joint_rates
    made = level(s, VELOCITY, joints=bool(of_joints))
    target = task.target[nq:]
    count = made.required
    asked = {count + k: value for k, value in rates.items()}
    asked |= {count + nq + k: value for k, value in of_joints.items()}
    pick, wanted = made.equations(asked)
    free = np.ones(s.nu, dtype=bool)
    free[list(task.wishes.u)] = False
    x = task.x(q, target)
    weights = None if task.weights is None else task.weights[nq:]
    scales = task.scales(q, target)
    return Stage(
        level=made,
        x=x,
        pick=pick,
        wanted=wanted,
        target=target,
        free=free,
        metric=lambda: weighted(speed_metric(s, x, scales), weights),
        sizes=scales.u,
        row_sizes=scales.velocity,
        low=task.low[nq:],
        high=task.high[nq:],
        bounded=task.bounded,
    )

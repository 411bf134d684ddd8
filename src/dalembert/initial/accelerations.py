"""Accelerations, multipliers and reactions (A.3, step 7): they follow from positions and velocities, or, where values
of them are given, all levels are solved together.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.equations.system import System
from dalembert.errors import InitialStateError
from dalembert.initial.degeneracy import check_degeneracy
from dalembert.initial.joint_rows import joint_coordinates
from dalembert.initial.levels import ALL, level
from dalembert.initial.metric import position_metric, speed_metric, weighted
from dalembert.initial.request import Task
from dalembert.initial.servo import check_servos, left_open
from dalembert.initial.stage import Stage
from dalembert.motion.state import State

if TYPE_CHECKING:
    from dalembert.run.scales import Scales

FOLLOWING = 1e-6  # accelerations and multipliers count little in the distance: they follow from the rest
ACCELERATION_ERROR = 1e-6  # relative error above which no acceleration satisfies all equations


def complete_state(system: System, t: float, q: np.ndarray, u: np.ndarray, parameters: np.ndarray) -> State:
    """The state with these positions and velocities, its accelerations and multipliers solved for."""
    found = _accelerations()(system, t, q, u, parameters)
    check_degeneracy(system, t, q, u, parameters, found.sizes)
    if found.status:
        starts = np.array([row.law.start for row in system.rows])
        state = State(system, float(t), q, u, np.zeros(system.nu), starts, parameters)
        lost = left_open(state).names if system.algebraic else ()
        if lost:
            raise InitialStateError(
                f"`{system.name}` at t = {t:g}: the equations of motion, the constraints and the laws together do not "
                f"determine {', '.join(f'`{name}`' for name in lost)}; state a law that contains it, or another start"
            )
        raise InitialStateError(f"`{system.name}` at t = {t:g}: {found.status.message}")
    if not math.isfinite(found.balance):
        raise InitialStateError(
            f"`{system.name}`: the accelerations are not finite at t = {t:g}; the model is undefined in this state"
        )
    check_servos(system, t, q, u, parameters)
    state = State(system, float(t), q, u, found.udot, found.multipliers, parameters)
    left = np.abs(found.acceleration)
    if max(left.tolist(), default=0.0) > ACCELERATION_ERROR:
        bad = {system.constraint_names[k]: float(left[k]) for k in np.argsort(-left) if left[k] > ACCELERATION_ERROR}
        from dalembert.initial.diagnosis import diagnose

        conflicts = [str(conflict) for conflict in diagnose(system, state).conflicting]
        raise InitialStateError(
            f"`{system.name}`: no acceleration satisfies all constraints in this state: "
            f"{'; '.join(conflicts) or 'left over: ' + _list(bad)}. Remove or change one of them",
            bad,
        )
    if found.balance > ACCELERATION_ERROR:
        from dalembert.initial.diagnosis import describe_motions, diagnose

        massless = diagnose(system, state).massless
        which = f" ({describe_motions(massless)})" if massless else ""
        raise InitialStateError(
            f"`{system.name}`: M u' = f + r cannot be solved in this state: some motion has neither inertia nor a "
            f"constraint{which}; give every coordinate inertia or a constraint"
        )
    return state


@functools.cache
def _accelerations() -> Callable[..., Any]:
    from dalembert.run.accelerations import accelerations  # the engine is imported when it is first needed

    return accelerations


def combined_stage(task: Task) -> Stage:
    """All levels of a task, for (q, u, u', la)."""
    s, wishes = task.system, task.wishes
    nq, nu, nc = s.nq, s.nu, s.nc
    made = level(s, ALL, joints=bool(wishes.joints or wishes.joint_rates))
    always, last = made.required, 2 * nq + nu
    asked = {
        always + offset + k: value
        for offset, values in (
            (0, wishes.rates), (nq, wishes.second_rates), (2 * nq, wishes.reactions), (last, wishes.joints),
            (last + len(joint_coordinates(s)), wishes.joint_rates),
        )
        for k, value in values.items()
    }  # fmt: skip
    pick, wanted = made.equations(asked)
    target = np.concatenate([task.target, task.udot, task.la])
    free = np.ones(len(target), dtype=bool)
    for offset, values in ((0, wishes.q), (nq, wishes.u), (nq + nu, wishes.udot), (nq + 2 * nu, wishes.la)):
        free[[offset + k for k in values]] = False
    x = task.x(task.target[:nq], task.target[nq:])
    rest = np.full(nu + nc, np.inf)
    scales = task.scales(task.target[:nq], task.target[nq:])

    def metric() -> np.ndarray:
        G, M = np.zeros((len(target), len(target))), speed_metric(s, x, scales)
        both = np.zeros((nq + nu, nq + nu))
        both[:nq, :nq], both[nq:, nq:] = position_metric(s, x, scales), M
        G[: nq + nu, : nq + nu] = weighted(both, task.weights)
        G[nq + nu : nq + 2 * nu, nq + nu : nq + 2 * nu] = FOLLOWING * M
        np.fill_diagonal(G[nq + 2 * nu :, nq + 2 * nu :], FOLLOWING)
        return G

    return Stage(
        level=made,
        x=np.concatenate([x, np.zeros(nu + nc)]),
        pick=pick,
        wanted=wanted,
        target=target,
        free=free,
        metric=metric,
        sizes=np.concatenate([scales.q, scales.u, scales.rate * scales.u, _multiplier_sizes(task, scales)]),
        row_sizes=np.concatenate(
            [
                scales.position,
                np.ones(len(s.invariants)),
                scales.velocity,
                scales.rate * scales.energy / scales.u,
                scales.rate * scales.velocity,
            ]
        ),
        low=np.concatenate([task.low, -rest]),
        high=np.concatenate([task.high, rest]),
        bounded=task.bounded,
    )


def _multiplier_sizes(task: Task, scales: Scales) -> np.ndarray:
    """Sizes of multipliers: those with which rows turn over the energy in the time of the motion, (nc,)."""
    q, u = np.split(task.target, [task.system.nq])
    rows = np.abs(task.system.constraint_jacobian(task.t, q, u, task.p)) @ scales.u
    rows[: len(scales.velocity)] = scales.velocity
    return scales.rate * scales.energy / np.where(rows > 0.0, rows, 1.0)


def _list(bad: dict[str, float]) -> str:
    shown = list(bad.items())[:5]
    more = f" and {len(bad) - 5} more" if len(bad) > 5 else ""
    return ", ".join(f"`{name}` {value:.3g}" for name, value in shown) + more

"""Consistent initial states: positions, then velocities, then accelerations with multipliers, reactions and unknowns.

Algorithms A.1, A.2 and A.3 of Dinh Van Phong: what is given is met, the rest is found nearest to the guess in the mass
metric. Redundant constraints and singular positions are allowed. Where accelerations, multipliers, unknowns or
reactions are given, all levels are solved together.
"""

from __future__ import annotations

import numpy as np

from dalembert.equations.compile_progress import uncollected
from dalembert.initial.accelerations import combined_stage, complete_state
from dalembert.initial.degeneracy import check_degeneracy
from dalembert.initial.positions import position_stage
from dalembert.initial.report import Report
from dalembert.initial.request import Task
from dalembert.initial.stage import RESTARTS, Found
from dalembert.initial.velocities import agreeing_speeds, velocity_stage
from dalembert.motion.state import State

__all__ = ["complete_state", "solve_task"]


def solve_task(task: Task, *, attempts: int = RESTARTS) -> State:
    """The state of a task. Raises `InitialStateError` with the conflict if there is none."""
    if task.system.is_large:
        with uncollected():
            return _solve_large(task)
    positions = position_stage(task)
    found = positions.seek(attempts)
    if not found.met:
        from dalembert.initial.failure import explain

        raise explain(task, positions, found)
    return solve_velocities(task, found, attempts=attempts)


def _solve_large(task: Task) -> State:
    """The state of a large system, over nonzeros."""
    from dalembert.initial import large

    large.check_possible(task)
    stage = large.large_positions(task)
    positions = stage.seek()
    if not positions.met:
        raise large.explain_large(task, stage, positions)
    stage = large.large_velocities(task, positions.v)
    velocities = stage.seek()
    if not velocities.met:
        raise large.explain_large(task, stage, velocities)
    state = complete_state(task.system, task.t, positions.v, velocities.v, task.p)
    return _reported(task, state, {"position": positions.steps, "velocity": velocities.steps})


def solve_velocities(task: Task, positions: Found, *, attempts: int = RESTARTS) -> State:
    """The state with positions that were found already."""
    at_once = agreeing_speeds(task, positions.v)
    if at_once is not None:
        return finish(task, positions, at_once, attempts=attempts)
    velocities = velocity_stage(task, positions.v)
    found = velocities.seek(attempts)
    if not found.met and not task.wishes.of_accelerations:
        from dalembert.initial.failure import explain

        raise explain(task, velocities, found, q=positions.v)
    return finish(task, positions, found, attempts=attempts)


def finish(task: Task, positions: Found, velocities: Found, *, attempts: int = RESTARTS) -> State:
    """The state with positions and velocities that were found already; both may move if accelerations are given."""
    if task.wishes.of_accelerations:
        return _solve_together(task, positions, velocities, attempts)
    state = complete_state(task.system, task.t, positions.v, velocities.v, task.p)
    return _reported(task, state, {"position": positions.steps, "velocity": velocities.steps})


def _solve_together(task: Task, positions: Found, velocities: Found, attempts: int) -> State:
    """The state with values given at acceleration level, started from one without them."""
    s, nq, nu = task.system, task.system.nq, task.system.nu
    stage = combined_stage(task)
    start = np.concatenate([positions.v, velocities.v, stage.target[nq + nu :]])
    found = stage.solve(np.where(stage.free, start, stage.target))
    if not found.met:
        tried = stage.seek(attempts)
        found = tried if tried.met or stage.cost(tried) < stage.cost(found) else found
    if not found.met:
        from dalembert.initial.failure import explain

        raise explain(task, stage, found)
    q, u, udot, la = np.split(found.v, [nq, nq + nu, nq + 2 * nu])
    check_degeneracy(s, task.t, q, u, task.p)
    state = State(s, task.t, q, u, udot, la, task.p)
    return _reported(task, state, {"position": positions.steps, "velocity": velocities.steps, "all": found.steps})


def _reported(task: Task, state: State, steps: dict[str, int]) -> State:
    s, report = state, Report(state, steps, task.guess, task.wishes)
    return State(s.system, s.t, s.q, s.u, s.udot, s.multipliers, s.parameters, report=report)

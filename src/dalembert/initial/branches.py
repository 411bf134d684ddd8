"""All branches of a consistent state: assembly modes, and velocities that a nonlinear constraint leaves a choice of."""

from __future__ import annotations

import numpy as np

from dalembert.errors import InitialStateError
from dalembert.initial.failure import explain
from dalembert.initial.positions import position_stage
from dalembert.initial.request import Task
from dalembert.initial.solution import finish
from dalembert.initial.stage import Found, Stage
from dalembert.initial.velocities import velocity_stage
from dalembert.motion.state import State
from dalembert.solve.decompositions import UNIT, rank_of, unit_rows

BRANCH_STARTS = 96
# Solutions closer than this, relative to the sizes of variables, are one: at a singular position digits halve.
SAME_BRANCH = 1e-5
MOST_BRANCHES = 16  # branches where values are left free; more of them are points of a continuum
REACHES = (0.3, 1.0, 3.0, 10.0)  # how far starts lie from the guess, relative to max(1, |guess|)


def find_branches(task: Task) -> tuple[State, ...]:
    """Every state found that is locally nearest to the guess, by distance from it.

    Descents start from the guess and from points all around, the same on every call. If as many values are given as
    may be chosen, the solutions are isolated and these are the branches. If fewer are given, each connected family of
    solutions is represented by its points nearest to the guess.
    """
    positions = position_stage(task)
    ranked: list[tuple[float, State]] = []
    failures: list[InitialStateError] = []
    for place in _distinct(task, positions, None):
        velocities = velocity_stage(task, place.v)
        try:
            for speed in _distinct(task, velocities, place.v):
                state = finish(task, place, speed)
                ranked.append((positions.distance(state.q) + velocities.distance(state.u), state))
        except InitialStateError as error:
            failures.append(error)
    if not ranked:
        raise failures[0]
    states: list[State] = []
    sizes = np.concatenate([positions.sizes, velocities.sizes])
    for _, state in sorted(ranked, key=lambda pair: pair[0]):
        if not any(_same(state.z, other.z, sizes) for other in states):
            states.append(state)
    return tuple(states)


def _distinct(task: Task, stage: Stage, q: np.ndarray | None) -> list[Found]:
    """The different solutions of one level; raises if there is none, or no end of them."""
    first = stage.seek()
    if not first.met and not (q is not None and task.wishes.of_accelerations):
        raise explain(task, stage, first, q=q)
    found = [first]
    if not stage.free.any() or not len(stage.pick) or _is_linear(stage, first):
        return found
    for start in _starts(stage):
        new = stage.solve(start)
        if new.met and not any(_same(new.v, other.v, stage.sizes) for other in found):
            found.append(new)
    open_ways = _freedom(stage, first)
    if open_ways and len(found) > MOST_BRANCHES:
        names = ", ".join(np.array(stage.level.variables)[stage.free])
        raise InitialStateError(
            f"`{task.system.name}`: the {stage.level.name} constraints leave a continuum of solutions equally near to "
            f"the guess, not separate branches; give {open_ways} more of {names}, or another guess"
        )
    return found


def _starts(stage: Stage) -> list[np.ndarray]:
    rng = np.random.default_rng(2718)
    n, reach, angles = len(stage.target), np.maximum(stage.sizes, np.abs(stage.target)), stage.level.turns.astype(bool)
    found = []
    for k in range(BRANCH_STARTS):
        way = REACHES[k % len(REACHES)] * reach * rng.standard_normal(n)
        way[angles] = rng.uniform(-np.pi, np.pi, int(angles.sum()))
        point = np.where(stage.free, stage.target + way, stage.target)
        found.append(np.clip(point, stage.low, stage.high))
    return found


def _is_linear(stage: Stage, found: Found) -> bool:
    """Whether the gradients are the same elsewhere: one solution, then, or a linear family with one nearest point."""
    rng = np.random.default_rng(11)
    for _ in range(2):
        point = np.where(stage.free, found.v + stage.sizes * rng.standard_normal(len(found.v)), found.v)
        other = stage.at(point).gradients[:, stage.free]
        if not np.allclose(other, found.gradients[:, stage.free], rtol=1e-9, atol=1e-12):
            return False
    return True


def _freedom(stage: Stage, found: Found) -> int:
    """Number of directions in which a solution may still move."""
    rows = (found.gradients / np.sqrt(np.diag(stage.G)))[:, stage.free]
    return int(stage.free.sum()) - rank_of(unit_rows(rows), SAME_BRANCH, UNIT)


def _same(a: np.ndarray, b: np.ndarray, sizes: np.ndarray) -> bool:
    return bool((np.abs(a - b) <= SAME_BRANCH * np.maximum(sizes, np.abs(b))).all())

"""Solutions of all levels together: descents, trust-region steps where they stall, and starts all around a guess."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalembert.initial.request import Task
from dalembert.initial.stage import Found, Stage
from dalembert.solve.decompositions import least_squares

POLISH_RESIDUAL, POLISH_STEPS = 1e-5, 40  # residuals from which Gauss-Newton steps are tried, and how many
FURTHER_STARTS, EVALUATIONS_PER_START = 8, 100  # of trust-region searches: further starts, and evaluations of each
RANDOM_STARTS = 64
REACHES = (0.3, 1.0, 3.0)  # how far starts lie from the guess, relative to max(1, |guess|)
SAME_SOLUTION = 1e-6  # solutions closer than this, relative to max(1, |v|), are one


def search(task: Task, stage: Stage) -> Found:
    """A solution of a stage near its target, or the closest point that was found."""
    first = _polished(stage, stage.seek(0))
    return first if first.met else _sought(task, stage, first)


def search_all(task: Task, stage: Stage, first: Found, most: int) -> list[Found]:
    """The different solutions that starts all around lead to, `first` among them if it is one; up to `most` + 1."""
    found = [first] if first.met else []
    for start in _starts(task, stage):
        tried = _polished(stage, stage.solve(start))
        tried = tried if tried.met else _polished(stage, _trust_region(stage, start))
        if tried.met and not any(_same(stage, tried, other) for other in found):
            found.append(tried)
        if len(found) > most:
            break
    return sorted(found, key=lambda one: stage.distance(one.v))


def _sought(task: Task, stage: Stage, first: Found) -> Found:
    """A solution by trust-region steps from the guess, the end of a descent or from all around; or the closest."""
    tries = [first]
    for start in (stage.target, first.v, *_starts(task, stage)[:FURTHER_STARTS]):
        tried = _polished(stage, _trust_region(stage, start))
        if tried.met:
            return tried
        tries.append(tried)
    finite = [tried for tried in tries if np.isfinite(tried.residual).all()]
    return min(finite, key=stage.cost, default=first)


def _trust_region(stage: Stage, start: np.ndarray) -> Found:
    """Run SciPy's trust-region method. It scales variables by their influence, which multipliers need."""
    from scipy.optimize import least_squares

    free = np.flatnonzero(stage.free & _felt(stage, start))
    known: dict[bytes, Found] = {}

    def at(x: np.ndarray) -> Found:
        key = x.tobytes()
        if key not in known:
            known.clear()
            v = start.copy()
            v[free] = x
            known[key] = stage.at(v)
        return known[key]

    def residual(x: np.ndarray) -> np.ndarray:
        return at(x).residual

    def gradients(x: np.ndarray) -> np.ndarray:
        return at(x).gradients[:, free]

    here = stage.at(start)
    if not (np.isfinite(here.residual).all() and np.isfinite(here.gradients).all()) or not free.size:
        return here
    low, high = stage.low[free], stage.high[free]
    try:
        done = least_squares(
            residual, np.clip(start[free], low, high), gradients,
            bounds=(low, high), x_scale="jac", xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=EVALUATIONS_PER_START,
        )  # fmt: skip
    except (ValueError, np.linalg.LinAlgError):  # left the domain of the model
        return here
    return replace(at(done.x), steps=int(done.nfev))


def _felt(stage: Stage, start: np.ndarray) -> np.ndarray:
    """Mask of the variables that the equations depend on, here or elsewhere. Ignorable coordinates are left alone."""
    way = 0.1 * np.random.default_rng(5).standard_normal(len(start)) * np.maximum(1.0, np.abs(start))
    beside = stage.at(np.clip(start + np.where(stage.free, way, 0.0), stage.low, stage.high))
    size = np.abs(stage.at(start).gradients).max(axis=0, initial=0.0)
    size = size + np.abs(beside.gradients).max(axis=0, initial=0.0)
    return size > 1e-12 * size.max(initial=0.0)


def _polished(stage: Stage, found: Found) -> Found:
    """A solution met to rounding, by Gauss-Newton steps from a close one: at forks of branches descents are slow."""
    if found.met or not found.worst < POLISH_RESIDUAL:
        return found
    v, steps = found.v.copy(), found.steps
    for k in range(POLISH_STEPS):
        here = stage.at(v)
        if here.met or not np.isfinite(here.worst):
            return replace(here, steps=steps + k) if here.met else found
        step = least_squares(here.gradients[:, stage.free], -here.residual, 1e-12)
        v[stage.free] += step
    return found


def _starts(task: Task, stage: Stage) -> list[np.ndarray]:
    """Points all around the guess, the same on every call; angles anywhere on the circle, multipliers as guessed."""
    rng = np.random.default_rng(2718)
    n, nz = len(stage.target), task.system.nq + task.system.nu
    reach, angles = np.maximum(1.0, np.abs(stage.target)), stage.level.turns.astype(bool)
    reach[nz:] = 0.0
    found = []
    for k in range(RANDOM_STARTS):
        way = REACHES[k % len(REACHES)] * reach * rng.standard_normal(n)
        way[angles] = rng.uniform(-np.pi, np.pi, int(angles.sum()))
        found.append(np.clip(np.where(stage.free, stage.target + way, stage.target), stage.low, stage.high))
    return found


def _same(stage: Stage, a: Found, b: Found) -> bool:
    """Whether two solutions are one; angles may differ by turns."""
    nz = len(stage.level.turns)
    gap = np.abs(a.v - b.v)
    turns = stage.level.turns.astype(bool)
    gap[turns] = np.abs(np.angle(np.exp(1j * gap[turns])))
    free = stage.free.copy()
    free[nz:] = False
    return bool((gap <= SAME_SOLUTION * np.maximum(1.0, np.abs(b.v)))[free].all())

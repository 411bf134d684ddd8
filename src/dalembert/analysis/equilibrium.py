"""Equilibria and steady motions: states with u' = 0, at rest or with constant speeds.

All levels are solved together for (q, u, la) with the accelerations given as zero, by the descents that consistent
states are found with: what is given is met, the rest is nearest to the guess. Accelerations and multipliers are then
solved for independently. A steady motion is followed for a while: u' = 0 at one instant is not enough.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.equations.naming import name_of
from dalembert.equations.system import System
from dalembert.errors import Closest, InitialStateError, OptionError, UnknownNameError
from dalembert.initial.accelerations import combined_stage, complete_state
from dalembert.initial.report import Report
from dalembert.initial.request import Task, Values, read_task
from dalembert.initial.solution import solve_task
from dalembert.initial.stage import Found, Stage
from dalembert.motion.state import State

AT_ONCE = 1e-12  # accelerations below this, relative to the largest speed and at least 1, are zero
CLOSE, POLISH = 1e-5, 40  # residuals from which Gauss-Newton steps are tried, and how many
RESTARTS, EVALUATIONS = 8, 100  # of trust-region searches: further starts, and evaluations of each
STARTS = 64
REACHES = (0.3, 1.0, 3.0)  # how far starts lie from the guess, relative to max(1, |guess|)
SAME = 1e-6  # states closer than this, relative to max(1, |v|), are one
MOST = 24  # branches; more of them are points of a continuum
STILL = 1e-7  # rates below this, relative to the largest terms, are zero
WAY = 0.3  # how far coordinates go while a steady motion is followed, relative to max(1, |q|)
STEPS = 24  # of the classical Runge-Kutta method on that way; its error is below 1e-7
CHANGED = 1e-5  # of a speed on that way, relative to the largest, above which the motion is not steady


def find_equilibrium(
    system: System,
    given: Values | None = None,
    *,
    guess: Values | State | None = None,
    hold: Any = None,
    bounds: Mapping[Any, tuple[float, float]] | None = None,
    t0: float | None = None,
    parameters: Values | None = None,
    all_branches: bool = False,
) -> State | tuple[State, ...]:
    """A state at rest; see `System.equilibrium`."""
    task = read_task(system, given, guess=guess, hold=hold, bounds=bounds, t0=t0, parameters=parameters)
    moving = [system.speeds[k] for k, value in task.wishes.u.items() if value]
    if moving:
        raise OptionError(f"`{system.name}` is not at rest with {', '.join(moving)} other than 0; call system.steady")
    task = _with_constants(task, range(system.nu), at_rest=True)
    return _solve(task, "equilibrium", all_branches=all_branches)


def find_steady(
    system: System,
    given: Values | None = None,
    *,
    guess: Values | State | None = None,
    constant: Sequence[Any] | None = None,
    hold: Any = None,
    bounds: Mapping[Any, tuple[float, float]] | None = None,
    t0: float | None = None,
    parameters: Values | None = None,
    all_branches: bool = False,
) -> State | tuple[State, ...]:
    """A state of a motion with constant speeds; see `System.steady`."""
    task = read_task(system, given, guess=guess, hold=hold, bounds=bounds, t0=t0, parameters=parameters)
    task = _with_constants(task, _read_speeds(system, constant), at_rest=False)
    return _solve(task, "steady motion", all_branches=all_branches)


def _read_speeds(system: System, constant: Sequence[Any] | None) -> Sequence[int]:
    if constant is None:
        return range(system.nu)
    if isinstance(constant, str) or not isinstance(constant, Sequence):
        raise OptionError(f"constant must be a list of speeds of `{system.name}`, got {constant!r}")
    found = []
    for key in constant:
        if name_of(key) not in system.speeds:
            raise UnknownNameError(name_of(key), system.speeds, f"the speeds of `{system.name}`")
        found.append(system.speeds.index(name_of(key)))
    return found


def _with_constants(task: Task, speeds: Sequence[int], *, at_rest: bool) -> Task:
    """The task with accelerations of some speeds zero, and all speeds too if `at_rest`."""
    nq, udot, target, w = task.system.nq, task.udot.copy(), task.target.copy(), task.wishes
    udot[list(speeds)] = 0.0
    u = w.u
    if at_rest:
        target[nq:], u = 0.0, dict.fromkeys(range(task.system.nu), 0.0)
    wishes = replace(w, u=u, udot={**w.udot, **dict.fromkeys(speeds, 0.0)})
    return replace(task, wishes=wishes, udot=udot, target=target)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # trials may leave the domain of the model
def _solve(task: Task, what: str, *, all_branches: bool) -> State | tuple[State, ...]:
    at_once = None if all_branches else _at_once(task, what)
    if at_once is not None:
        return at_once
    stage = combined_stage(task)
    first = _polished(stage, stage.seek(0))
    if not first.met:
        first = _sought(task, stage, first)
    if not all_branches:
        if not first.met:
            raise _failure(task, stage, first, what)
        return _finish(task, first, what)
    found = [first] if first.met else []
    for start in _starts(task, stage):
        tried = _polished(stage, stage.solve(start))
        tried = tried if tried.met else _polished(stage, _trust_region(stage, start))
        if tried.met and not any(_same(stage, tried, other) for other in found):
            found.append(tried)
        if len(found) > MOST:
            raise InitialStateError(
                f"`{task.system.name}`: more than {MOST} different states qualify as {what}, so they are probably a "
                "continuum; give more values"
            )
    states = []
    for tried in sorted(found, key=lambda f: stage.distance(f.v)):
        try:
            states.append(_finish(task, tried, what))
        except InitialStateError:  # at rest for an instant only, or singular
            continue
    if not states:
        raise _failure(task, stage, first, what)
    return tuple(states)


def _at_once(task: Task, what: str) -> State | None:
    """The consistent state nearest to the guess if it is steady already, as straight running is; None if not."""
    loose = replace(task, wishes=replace(task.wishes, udot={}))
    if loose.wishes.of_accelerations:
        return None
    try:
        state = solve_task(loose, attempts=0)
        off = max((abs(state.udot[k] - value) for k, value in task.wishes.udot.items()), default=0.0)
        if off > AT_ONCE * max(1.0, np.abs(state.u).max(initial=0.0)):
            return None
        return _checked(task, state, what)
    except InitialStateError:
        return None


def _sought(task: Task, stage: Stage, first: Found) -> Found:
    """A solution by trust-region steps from the guess, from where a descent ended and from all around; or the closest."""
    tries = [first]
    for start in (stage.target, first.v, *_starts(task, stage)[:RESTARTS]):
        tried = _polished(stage, _trust_region(stage, start))
        if tried.met:
            return tried
        tries.append(tried)
    finite = [tried for tried in tries if np.isfinite(tried.residual).all()]
    return min(finite, key=stage.cost, default=first)


def _trust_region(stage: Stage, start: np.ndarray) -> Found:
    """Where SciPy's trust-region method ends: it scales variables by their influence, which multipliers need."""
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

    here = stage.at(start)
    if not (np.isfinite(here.residual).all() and np.isfinite(here.gradients).all()) or not free.size:
        return here
    low, high = stage.low[free], stage.high[free]
    try:
        done = least_squares(
            lambda x: at(x).residual, np.clip(start[free], low, high), lambda x: at(x).gradients[:, free],
            bounds=(low, high), x_scale="jac", xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=EVALUATIONS,
        )  # fmt: skip
    except (ValueError, np.linalg.LinAlgError):  # left the domain of the model
        return here
    return replace(at(done.x), steps=int(done.nfev))


def _felt(stage: Stage, start: np.ndarray) -> np.ndarray:
    """Variables that the equations depend on, here or elsewhere: ignorable coordinates are better left alone."""
    way = 0.1 * np.random.default_rng(5).standard_normal(len(start)) * np.maximum(1.0, np.abs(start))
    beside = stage.at(np.clip(start + np.where(stage.free, way, 0.0), stage.low, stage.high))
    size = np.abs(stage.at(start).gradients).max(axis=0, initial=0.0)
    size = size + np.abs(beside.gradients).max(axis=0, initial=0.0)
    return size > 1e-12 * size.max(initial=0.0)


def _polished(stage: Stage, found: Found) -> Found:
    """A solution met to rounding, by Gauss-Newton steps from a close one: at forks of branches descents are slow."""
    if found.met or not found.worst < CLOSE:
        return found
    v, steps = found.v.copy(), found.steps
    for k in range(POLISH):
        here = stage.at(v)
        if here.met or not np.isfinite(here.worst):
            return replace(here, steps=steps + k) if here.met else found
        step = np.linalg.lstsq(here.gradients[:, stage.free], -here.residual, rcond=1e-12)[0]
        v[stage.free] += step
    return found


def _finish(task: Task, found: Found, what: str) -> State:
    """The state, its accelerations solved for again and checked."""
    s, nq, nu = task.system, task.system.nq, task.system.nu
    q, u = found.v[:nq], found.v[nq : nq + nu]
    state = _checked(task, complete_state(s, task.t, q, u, task.p), what)
    return replace(state, report=Report(state, {"all": found.steps}, task.guess))


def _checked(task: Task, state: State, what: str) -> State:
    """The state if its accelerations are as wanted and it stays at rest, or steady."""
    s, q, u, nu = task.system, state.q, state.u, task.system.nu
    wanted = np.array([task.wishes.udot.get(k, np.nan) for k in range(nu)])
    terms = np.abs(s.mass_matrix(task.t, q, u, task.p)) @ np.ones(nu)
    force = np.abs(s.forces(task.t, q, u, task.p)).max(initial=0.0)
    scale = 1.0 + force / max(terms.max(initial=0.0), 1e-300)
    off = np.nan_to_num(np.abs(state.udot - wanted))
    if off.max(initial=0.0) > STILL * scale:
        k = int(np.argmax(off))
        raise InitialStateError(
            f"`{s.name}`: no {what} here: `{s.speeds[k]}'` is {state.udot[k]:.3g}, as the accelerations are not unique or "
            "the constraints are singular in this state; give another guess",
            {f"{s.speeds[k]}'": float(off[k])},
            closest=Closest(q, u),
        )
    if what == "equilibrium":
        _check_rest(state)
    else:
        _check_steady(state, sorted(task.wishes.udot))
    return state


def _check_rest(state: State) -> None:
    s = state.system
    rates = s.coordinate_rates(state.t, state.q, state.u, state.parameters)
    if np.abs(rates).max(initial=0.0) > STILL:
        k = int(np.argmax(np.abs(rates)))
        raise InitialStateError(
            f"`{s.name}` has no equilibrium: with all speeds zero `{s.coordinates[k]}` still moves at {rates[k]:.3g}, as "
            "the kinematics depend on time",
            closest=Closest(state.q, state.u),
        )


def _check_steady(state: State, constant: Sequence[int]) -> None:
    """Follow the motion until coordinates have moved clearly, and see whether the speeds are still the same."""
    s, z = state.system, state.z
    nq = s.nq
    rates = s.coordinate_rates(state.t, state.q, state.u, state.parameters)
    fastest = (np.abs(rates) / np.maximum(1.0, np.abs(state.q))).max(initial=0.0)
    if not fastest > STILL:
        return
    span = WAY / fastest
    end = _follow(state, span)
    change = np.abs(end[nq:] - z[nq:])[list(constant)]
    if not change.max(initial=0.0) <= CHANGED * max(1.0, np.abs(state.u).max(initial=0.0)):
        k = list(constant)[int(np.argmax(np.nan_to_num(change, nan=np.inf)))]
        moving = [s.coordinates[j] for j in np.flatnonzero(np.abs(rates) > STILL * max(1.0, np.abs(rates).max()))]
        raise InitialStateError(
            f"`{s.name}`: u' = 0 holds for an instant only: after {span:.3g} s `{s.speeds[k]}` has gone from {state.u[k]:.6g} "
            f"to {end[nq + k]:.6g}, as {', '.join(moving)} move. Give rates that must be zero, or another guess; speeds that "
            "change in a steady motion (such as x' of a circle) are left out by constant=[...]",
            {f"{s.speeds[k]}'": float(np.max(change))},
            closest=Closest(state.q, state.u),
        )


def _follow(state: State, span: float) -> np.ndarray:
    """(q, u) after a time `span`, by the classical Runge-Kutta method."""
    from dalembert.run.accelerations import accelerations

    s, p = state.system, state.parameters

    def rate(t: float, z: np.ndarray) -> np.ndarray:
        q, u = z[: s.nq], z[s.nq :]
        return np.concatenate([s.coordinate_rates(t, q, u, p), accelerations(s, t, q, u, p).udot])

    z, h = state.z, span / STEPS
    for k in range(STEPS):
        t = state.t + k * h
        k1 = rate(t, z)
        k2 = rate(t + h / 2, z + h / 2 * k1)
        k3 = rate(t + h / 2, z + h / 2 * k2)
        k4 = rate(t + h, z + h * k3)
        z = z + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return z


# -- several of them --------------------------------------------------------------------------------------------------


def _starts(task: Task, stage: Stage) -> list[np.ndarray]:
    """Points all around the guess, the same on every call; angles anywhere on the circle, multipliers as guessed."""
    rng = np.random.default_rng(2718)
    n, nz = len(stage.target), task.system.nq + task.system.nu
    reach, angles = np.maximum(1.0, np.abs(stage.target)), stage.level.turns.astype(bool)
    reach[nz:] = 0.0
    found = []
    for k in range(STARTS):
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
    return bool((gap <= SAME * np.maximum(1.0, np.abs(b.v)))[free].all())


def _failure(task: Task, stage: Stage, found: Found, what: str) -> InitialStateError:
    """What is left over at the closest state that was found."""
    s, nq = task.system, task.system.nq
    size = np.where(np.isfinite(found.residual), np.abs(found.residual), np.inf)
    order = [k for k in np.argsort(-size) if size[k] > 1e-5 * size.max(initial=0.0)]
    left = {stage.labels[k]: float(size[k]) for k in order}
    said = ", ".join(f"`{name}` {value:.3g}" for name, value in list(left.items())[:5])
    names = (*s.coordinates, *s.speeds)
    wished = (*task.wishes.q, *((nq + k for k in task.wishes.u) if what != "equilibrium" else ()))
    given = ", ".join(f"{names[k]} = {task.target[k]:.6g}" for k in wished)
    place = ", ".join(f"{name} = {value:.4g}" for name, value in list(zip(s.coordinates, found.v, strict=False))[:6])
    return InitialStateError(
        f"`{s.name}`: no {what} was found{' with ' + given if given else ''}; closest: {said} left over at {place}. Release a "
        "given value, change a parameter, or give a guess closer to it",
        left,
        closest=Closest(found.v[:nq], found.v[nq : nq + s.nu]),
        conflicting=list(left),
    )

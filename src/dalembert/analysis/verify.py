"""A second, independent run of a motion and the differences from it: an estimate of the error.

The second run uses another formulation, another method and far tighter tolerances, so that the difference is the error
of the first up to what both have in common: the equations and the initial state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from dalembert.analysis.verdict import verdict_of
from dalembert.errors import DalembertError, PairingError
from dalembert.initial.accelerations import complete_state
from dalembert.motion.motion import Motion
from dalembert.motion.sequence import MotionSequence
from dalembert.motion.state import State
from dalembert.motion.tables import check_sampled
from dalembert.motion.verification import Deviation, Verification
from dalembert.run.drift.projection import Projection
from dalembert.run.formulations.lagrange_multipliers import LagrangeMultipliers
from dalembert.run.formulations.null_space import NullSpace
from dalembert.run.formulations.udwadia_kalaba import UdwadiaKalaba
from dalembert.run.integrators.automatic import Automatic
from dalembert.run.integrators.dop853 import DOP853
from dalembert.run.integrators.radau import Radau
from dalembert.run.integrators.tsit5 import Tsit5
from dalembert.run.recipe import Recipe
from dalembert.run.simulate import simulate

MOST = 10_000  # samples compared
RTOL, ATOL = 1e-13, 1e-14  # of the second run, where an explicit method can reach them
TIGHTER = 100.0  # how much an implicit method must be tighter than the first run
PATIENCE, AT_LEAST = 200, 100_000  # explicit steps tried for each step of the first run, and in any case


def verify(motion: Motion | MotionSequence, events: Iterable[Any] = ()) -> Verification:
    """The estimated error of a motion; with events, pass them again."""
    check_sampled(motion)
    recipe, start = _origin(motion)
    watched = tuple(events)
    if motion.events.watched and not watched:
        raise DalembertError(
            "this motion was made with events; pass them again, motion.verify(events=[...]), or call "
            "simulate(..., verify=True)"
        )
    span, times = (start.t, _end(motion, start)), _times(motion)
    failed: list[str] = []
    best: Motion | MotionSequence | None = None
    for second in _second_recipes(recipe, motion.stats, large=start.system.is_large):
        try:
            other = simulate(start.system, start, span, t_eval=times, events=watched, **second._asdict())
        except PairingError:  # not every formulation can state every system
            continue
        if best is None or _reached(other) > _reached(best):
            best = other
        verdict = verdict_of(other)
        if not verdict:
            break
        failed.append(
            f"{_named(second)} is {verdict}" if other.success else f"{_named(second)} ended early: {other.message}"
        )
    return _compared(motion, best, times, failed)


def _reached(motion: Motion | MotionSequence) -> tuple[bool, bool, float]:
    """How far a motion got: to its end, and with an ok certificate, or else to its last sample."""
    return motion.success, not verdict_of(motion), float(motion.t[-1]) if len(motion) else -np.inf


def _origin(motion: Motion | MotionSequence) -> tuple[Recipe, State]:
    """What made the motion, and the state it started from."""
    first = motion.segments[0]
    if first.recipe is None or first.facts is None:
        raise DalembertError("this motion was loaded from a file and cannot be verified; verify it before it is saved")
    t, z = first.facts.origin
    for o in motion.events:
        if o.t == t:  # a clock that ticked at the start
            return first.recipe, o.state
    nq, nu = first.system.nq, first.system.nu
    return first.recipe, complete_state(first.system, t, z[:nq], z[nq : nq + nu], first.parameters)


def _end(motion: Motion | MotionSequence, start: State) -> float:
    end = float(motion.t[-1])
    if not end > start.t:
        raise DalembertError("the motion has no sample after its start; there is nothing to verify")
    return end


def _times(motion: Motion | MotionSequence) -> np.ndarray:
    """The times compared: up to `MOST` samples, without those at changes, where both runs differ by a moment."""
    inner = [m.t if len(motion.segments) == 1 else m.t[1:-1] for m in motion.segments]
    times = np.unique(np.concatenate([*inner, motion.t[-1:]]))
    return times[np.unique(np.linspace(0, len(times) - 1, MOST).astype(int))]


def _second_recipes(recipe: Recipe, stats: dict[str, int], *, large: bool) -> Iterator[Recipe]:
    """Ways to run again, the most independent first: another formulation and method; for stiff motions tighter."""
    implicit = "njev" in stats or not recipe.integrator.explicit
    explicit = isinstance(recipe.integrator, Automatic | DOP853)
    most = max(PATIENCE * stats.get("steps", 0), AT_LEAST)
    if not ("njev" in stats and explicit):  # Automatic has found it stiff
        method = (Tsit5 if explicit else DOP853)(rtol=RTOL, atol=ATOL, max_steps=most)
        others = () if large else (NullSpace(), UdwadiaKalaba(), LagrangeMultipliers())  # those are dense
        for formulation in others:
            if type(formulation) is not type(recipe.formulation) or implicit:
                yield Recipe(formulation, Projection(), method)
        yield Recipe(LagrangeMultipliers(), Projection(), method)
    tight = max((getattr(recipe.integrator, "rtol", None) or 1e-8) / TIGHTER, 1e-12)
    yield Recipe(LagrangeMultipliers(), Projection(), Radau(rtol=tight, atol=0.01 * tight))


def _compared(
    motion: Motion | MotionSequence, other: Motion | MotionSequence | None, times: np.ndarray, failed: Sequence[str]
) -> Verification:
    """The differences at the times that both have; of nothing if there are none."""
    if other is None or not np.isin(times, other.t).any():
        return Verification((), (), (), (), "none", 0, float(motion.t[0]), tuple(failed))
    common = np.intersect1d(times, other.t)
    mine, theirs = (np.searchsorted(m.t, common) for m in (motion, other))
    system = motion.system
    large = system.is_large  # what is unique among so many takes too long to find out
    loose = [] if large else [name for name in motion.constraint_names if not _is_unique(motion, name)]
    names = [] if large else [name for name in motion.constraint_names if name not in loose]
    remarks = [*failed, *_occurrences_differ(motion, other)]
    if large:
        remarks.append("multipliers were not compared in a system of this size")
    if loose:
        remarks.append(f"not compared, as they are not unique: multipliers of {', '.join(loose)}")

    def deviations(columns: Iterable[str]) -> tuple[Deviation, ...]:
        found = []
        for name in columns:
            gap = np.abs(motion[name][mine] - other[name][theirs])
            k = int(np.argmax(np.where(np.isnan(gap), np.inf, gap)))
            found.append(Deviation(name, float(gap[k]), float(common[k])))
        return tuple(found)

    return Verification(
        coordinates=deviations(system.coordinates),
        speeds=deviations(system.speeds),
        multipliers=deviations(names),
        sizes=tuple(float(np.abs(column).max()) for column in motion.q.T),
        method=other.method,
        samples=len(common),
        until=float(common[-1]),
        remarks=tuple(remarks),
    )


def _is_unique(motion: Motion | MotionSequence, name: str) -> bool:
    return all(m.unique[name] for m in motion.segments[:1] if name in m.constraint_names)


def _occurrences_differ(motion: Motion | MotionSequence, other: Motion | MotionSequence) -> list[str]:
    """How occurrences of events differ: in number, else the largest difference in time."""
    lines = []
    for name in motion.events.watched:
        mine, theirs = ([o.t for o in m.events[name]] for m in (motion, other))
        if len(mine) != len(theirs):
            lines.append(f"event `{name}` occurred {len(mine)} times, in the second run {len(theirs)} times")
        elif mine:
            shift = np.abs(np.subtract(mine, theirs))
            lines.append(f"event `{name}`: times differ by up to {shift.max():.1e}")
    return lines


def _named(recipe: Recipe) -> str:
    return f"{type(recipe.formulation).__name__} with {type(recipe.integrator).__name__}"

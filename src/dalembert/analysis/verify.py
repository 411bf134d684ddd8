"""A second, independent run of a motion and the differences from it: an estimate of the error.

The second run uses another formulation, another method, far tighter tolerances and other, shorter steps, so that the
difference is the error of the first up to what both have in common: the equations and the initial state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.analysis.verdict import verdict_of
from dalembert.equations.system import System
from dalembert.errors import DalembertError
from dalembert.initial.accelerations import complete_state
from dalembert.motion.motion import Motion
from dalembert.motion.motion_outputs import MotionOutputs
from dalembert.motion.sequence import MotionSequence
from dalembert.motion.state import State
from dalembert.motion.tables import check_sampled
from dalembert.motion.verification import Deviation, SecondRun, Verification, joined
from dalembert.run.drift.projection import Projection
from dalembert.run.event_checks import list_events
from dalembert.run.events import Event
from dalembert.run.formulations.lagrange_multipliers import LagrangeMultipliers
from dalembert.run.formulations.minimal_state import MinimalState
from dalembert.run.formulations.null_space import NullSpace
from dalembert.run.formulations.udwadia_kalaba import UdwadiaKalaba
from dalembert.run.ingredients import Formulation
from dalembert.run.integrators.dop853 import DOP853
from dalembert.run.integrators.radau import Radau
from dalembert.run.integrators.tsit5 import Tsit5
from dalembert.run.recipe import Recipe
from dalembert.run.simulate import simulate

TIGHTER = 100.0  # how much an implicit method must be tighter than the first run
IMPLICIT = ("Radau", "GeneralizedAlpha", "StateSpaceSVD", "IDA")
COMPARED_SAMPLES = 10_000
EXPLICIT_STEPS, AT_LEAST = 200, 100_000  # explicit steps tried for each step of the first run, and in any case
BEYOND = 1e-3  # of the time of a run that an event ended: where the second run, which goes on, may find the event
EVENT_MARGIN = 1e-6  # of the time of a run: events this close to its ends may lie on the other side in the second run
NOT_AGAIN = "events were not looked for again, as nothing tells their expressions: pass them, verify(events=[...])"
Some = Motion | MotionSequence | MotionOutputs


def verify(motion: Some, events: Any = (), second: SecondRun | None = None) -> Verification:
    """Estimated error of a motion. `events` are those of its run, if the motion does not hold them.

    Without them the parts between changes are run again, each from its own start.
    """
    check_sampled(motion)
    second = SecondRun() if second is None else second
    watched = list_events(events) or motion.events.stated
    if watched or len(motion.segments) == 1:
        remarks = () if watched or not motion.events.watched else (NOT_AGAIN,)
        return _verified(motion, watched, second, remarks)
    parts = [part for part in motion.segments if len(part) > 1 and part.t[-1] > part.t[0]]
    return joined([_verified(part, (), second, ()) for part in parts], (NOT_AGAIN,))


def _verified(motion: Some, events: Sequence[Any], second: SecondRun, remarks: Sequence[str]) -> Verification:
    """Estimated error by the first second run that held. Failures of earlier attempts become remarks."""
    start, times = _start(motion), _times(motion)
    if not times.size or not times[-1] > start.t:
        raise DalembertError("the motion has no sample after its start; there is nothing to verify")
    stopped = _stopped(motion, events)
    end, failed = float(motion.t[-1]), list[str]()
    span = start.t, end + BEYOND * (end - start.t) if stopped else end
    watched = [replace(event, terminal=False) if event in stopped else event for event in events]
    best: Motion | MotionSequence | None = None
    for recipe in _second_recipes(motion, second, span, start.system):
        try:
            other = simulate(start.system, start, span, t_eval=times, events=watched, **recipe._asdict())
        except DalembertError as error:  # not every formulation can state every system
            failed.append(f"{_named(recipe)}: {error}")
            continue
        if best is None or _reached(other) > _reached(best):
            best = other
        verdict = verdict_of(other)
        if not verdict:
            failed = [line for line in failed if " is NOT OK" in line or " ended early" in line]
            break
        failed.append(
            f"{_named(recipe)} is {verdict}" if other.success else f"{_named(recipe)} ended early: {other.message}"
        )
    return _compared(motion, best, times, [*remarks, *failed], [event.name for event in stopped])


def _reached(motion: Motion | MotionSequence) -> tuple[bool, bool, float]:
    """Progress of a motion: whether it reached its end, whether its certificate is ok, the time of its last sample."""
    return motion.success, not verdict_of(motion), float(motion.t[-1]) if len(motion) else -np.inf


def _first(motion: Some) -> Motion:
    """The motion that holds recipe and facts of the start: the last sample of outputs, else the first segment."""
    return motion.end if isinstance(motion, MotionOutputs) else motion.segments[0]


def _start(motion: Some) -> State:
    """The state a motion started from; of one that was read from a file, the state at its first sample."""
    first = _first(motion)
    nq, nu = first.system.nq, first.system.nu
    if first.facts is None:
        return complete_state(first.system, float(first.t[0]), first.q[0], first.u[0], first.parameters)
    t, z = first.facts.origin
    for o in motion.events:
        if o.t == t and motion.segments[0] is first:  # a clock that ticked at the start
            return o.state
    return complete_state(first.system, t, z[:nq], z[nq : nq + nu], first.parameters)


def _stopped(motion: Some, events: Sequence[Any]) -> list[Event]:
    """The events that ended a motion."""
    last = {o.name for o in motion.events if o.t == motion.t[-1]}
    return [event for event in events if isinstance(event, Event) and event.terminal and event.name in last]


def _times(motion: Some) -> np.ndarray:
    """The times compared: at most `COMPARED_SAMPLES`, without those at changes, where both runs differ by a moment."""
    inner = [m.t if len(motion.segments) == 1 else m.t[1:-1] for m in motion.segments]
    times = np.unique(np.concatenate([*inner, motion.t[-1:]]))
    return times[np.unique(np.linspace(0, len(times) - 1, COMPARED_SAMPLES).astype(int))]


def _other_formulations(motion: Some, system: System) -> Sequence[Formulation]:
    """Formulations that eliminate reactions, the cheaper one first; partitions do not last through singular positions.

    The null space costs about nu^3 operations beside those of the equations.
    """
    if system.nu**3 > system.functions["dynamics"].n_instructions() and not motion.certificate.passages:
        return MinimalState(), NullSpace(), UdwadiaKalaba()
    return NullSpace(), UdwadiaKalaba()


def _second_recipes(motion: Some, second: SecondRun, span: tuple[float, float], system: System) -> Iterator[Recipe]:
    """Ways to run again, the most independent first: another formulation and method; for stiff motions tighter.

    The first run tells what it was made by, in words if it was read from a file.
    """
    made, steps = motion.method, motion.stats.get("steps", 0)
    implicit = [name for name in IMPLICIT if f"{name}(" in made and "Automatic(" not in made]
    stiff = "njev" in motion.stats and not implicit  # Automatic has found it so
    longest = (span[1] - span[0]) / (second.finer * steps) if steps else np.inf
    recipe = _first(motion).recipe
    first_rtol = (recipe and getattr(recipe.integrator, "rtol", None)) or 1e-8
    if not stiff:
        most, high = (
            max(EXPLICIT_STEPS * steps, AT_LEAST),
            bool(implicit) or not ("DOP853" in made or "Automatic" in made),
        )
        method = (DOP853 if high else Tsit5)(rtol=second.rtol, max_steps=most, max_step=longest)
        for formulation in () if system.is_large else _other_formulations(motion, system):  # those are dense
            if f"{type(formulation).__name__}(" not in made:
                yield Recipe(formulation, Projection(), method)
        yield Recipe(LagrangeMultipliers(), Projection(), method)
    tight = max(first_rtol / TIGHTER, 1e-12)
    yield Recipe(LagrangeMultipliers(), Projection(), Radau(rtol=tight, max_step=longest))


def _compared(
    motion: Some,
    other: Motion | MotionSequence | None,
    times: np.ndarray,
    remarks: Sequence[str],
    stopped: Sequence[str],
) -> Verification:
    """Differences at the times that both motions have; empty if there are none. Events `stopped` ended the motion."""
    if other is None or not np.isin(times, other.t).any():
        return Verification((), (), (), (), "none", 0, float(motion.t[0]), tuple(remarks))
    common = np.intersect1d(times, other.t)
    mine, theirs = (np.searchsorted(m.t, common) for m in (motion, other))

    def deviations(names: Sequence[str], keys: Sequence[Any]) -> tuple[Deviation, ...]:
        found = []
        for name, key in zip(names, keys, strict=True):
            gap = np.abs(motion[key][mine] - other[key][theirs]).reshape(len(common), -1).max(axis=1, initial=0.0)
            k = int(np.argmax(np.where(np.isnan(gap), np.inf, gap)))
            found.append(Deviation(name, float(gap[k]), float(common[k])))
        return tuple(found)

    differing, shifts = _occurrences_differ(motion, other, stopped)
    told = other.method, len(common), float(common[-1])
    if isinstance(motion, MotionOutputs):
        sizes = tuple(float(np.abs(motion[key]).max(initial=0.0)) for key in motion.keys)
        kept = deviations(motion.outputs, motion.keys)
        return Verification(kept, (), (), sizes, *told, (*remarks, *shifts), differing)
    sizes = tuple(float(np.abs(column).max()) for column in motion.q.T)
    names, left_out = _multipliers(motion)
    coordinates, speeds = motion.system.coordinates, motion.system.speeds
    compared = deviations(coordinates, coordinates), deviations(speeds, speeds), deviations(names, names)
    return Verification(*compared, sizes, *told, (*remarks, *shifts, *left_out), differing)


def _multipliers(motion: Motion | MotionSequence) -> tuple[list[str], list[str]]:
    """Names of the multipliers to compare, and remarks on the others."""
    if motion.system.is_large:  # finding the unique ones among so many takes too long
        return [], ["multipliers were not compared in a system of this size"]
    loose = [name for name in motion.constraint_names if not _is_unique(motion, name)]
    told = [f"not compared, as they are not unique: multipliers of {', '.join(loose)}"] if loose else []
    return [name for name in motion.constraint_names if name not in loose], told


def _is_unique(motion: Motion | MotionSequence, name: str) -> bool:
    """Whether the multiplier of a constraint is; that of a law is the unknown that it determines."""
    return all(m.unique.get(name, True) for m in motion.segments[:1])


def _occurrences_differ(
    motion: Some, other: Motion | MotionSequence, stopped: Sequence[str]
) -> tuple[tuple[str, ...], list[str]]:
    """Events that occurred another number of times, and by how much the times of others differ."""
    begin, end = (float(motion.t[k]) for k in (0, -1))
    edge = EVENT_MARGIN * (end - begin)
    differing, shifts = [], []
    for name in other.events.watched:
        mine, theirs = ([o.t for o in m.events[name]] for m in (motion, other))
        if name in stopped:
            theirs = theirs[: len(mine)]
        inner = [sum(begin + edge < t < end - edge for t in times) for times in (mine, theirs)]
        if len(mine) == len(theirs):
            shifts += [f"event `{name}`: times differ by up to {max(map(_apart, mine, theirs)):.1e}"] if mine else []
        elif name in stopped or inner[0] != inner[1]:
            differing.append(f"event `{name}` occurred {len(mine)} times, in the second run {len(theirs)} times")
    return tuple(differing), shifts


def _apart(a: float, b: float) -> float:
    return abs(a - b)


def _named(recipe: Recipe) -> str:
    return f"{type(recipe.formulation).__name__} with {type(recipe.integrator).__name__}"

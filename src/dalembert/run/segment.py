"""One system moving for a while: from a state and chosen ingredients to a `Motion`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dalembert.equations.observation import Observation, observer_of
from dalembert.motion.derivatives import Derivatives
from dalembert.motion.motion import Motion
from dalembert.motion.state import State
from dalembert.run.events import NONE_OCCURRED, Doubt, Event, Occurrence, Occurrences
from dalembert.run.outcome import ending
from dalembert.run.recipe import Recipe
from dalembert.run.scales import Scales
from dalembert.run.status import Status
from dalembert.run.storage import IN_MEMORY, Storage

if TYPE_CHECKING:
    from dalembert.run.engine import Engine
    from dalembert.run.time_loop.event_watch import Watch
    from dalembert.run.time_loop.march import Samples

Progress = Callable[[float], None]  # is told how far a run has come


class Past(NamedTuple):
    """Memory of the events of the segment before: `fresh` ones have just occurred, `signs` are those of the others.

    `slacks` are the values up to which the functions of the system count as zero at the start, empty if unknown.
    """

    fresh: tuple[str, ...] = ()
    signs: Mapping[str, float] = MappingProxyType({})
    slacks: tuple[float, ...] = ()


NO_PAST = Past()
Left = tuple[Mapping[str, float], Mapping[str, float], Mapping[str, Doubt]]
NOTHING_LEFT: Left = ({}, {}, {})  # by a run without events
SLACK = 1e-12  # of the size of an event function, or of 1 if it has none


class Segment(NamedTuple):
    """A motion and how it ended; the signs of event functions there and their first ones, by name; their slacks."""

    motion: Motion
    status: Status
    signs: Mapping[str, float]
    first_signs: Mapping[str, float]
    slacks: tuple[float, ...]


def run_segment(
    recipe: Recipe,
    engine: Engine,
    state: State,
    z0: np.ndarray,
    span: tuple[float, float],
    t_eval: np.ndarray | None,
    progress: Progress | None = None,
    events: Sequence[Event] = (),
    past: Past = NO_PAST,
    derivatives: Derivatives | None = None,
    storage: Storage = IN_MEMORY,
) -> Segment:
    """Motion of the system of `state`, in `engine`, over `span`, as far as it goes, and how it ended.

    z0 = (q, u) are the values of the state in one array. Events that do not concern the system are left out.
    `derivatives` are those at the start, one sample of them, if the engine carries any along. Samples are kept
    in `storage`.
    """
    system, p = state.system, state.parameters
    start = padded_start(engine, z0, derivatives) if derivatives is not None and engine.columns else z0
    watched = [event for event in events if event.concerns(system)] if events else []
    watch = _watch(engine, state, watched, past) if watched else None
    engine.begin_with(span[0], z0, state.udot, state.multipliers)
    table = storage.begin(lambda t, z: _underway(recipe, engine, state, (span[0], z0), t, z))
    if watch is None:
        samples = recipe.integrator.run(engine, start, span, t_eval, progress, table)
    else:
        with watch.over(engine):
            samples = recipe.integrator.run(engine, start, span, t_eval, progress, table)
    signs, first_signs, doubts = _left(engine, watched) if watched else NOTHING_LEFT
    nq, size, status = system.nq, engine.size, samples.status
    message = ending(engine, samples, span[0], z0)
    facts = engine.facts((span[0], z0))
    passages = facts.passages
    motion = Motion(
        system=system,
        parameters=p,
        t=samples.t,
        q=samples.z[:, :nq],
        u=samples.z[:, nq:size],
        work=samples.z[:, size] if system.works else np.zeros(len(samples.t)),
        success=status == 0,
        message=message,
        stats=samples.stats | {"passages": len(passages)} if passages else samples.stats,
        recipe=recipe,
        storage=storage,
        scales=engine.scales,
        passages=passages,
        energies=samples.energies,
        facts=facts,
        events=_occurrences(engine, watched, samples.events, events, doubts) if events else NONE_OCCURRED,
        derivatives=None if derivatives is None else _derivatives(recipe, engine, samples, state, span[0], derivatives),
    )
    return Segment(storage.end(table, motion), status, signs, first_signs, watch.slacks if watch else ())


def _underway(
    recipe: Recipe, engine: Engine, state: State, origin: tuple[float, np.ndarray], t: np.ndarray, z: np.ndarray
) -> Motion:
    """The motion at some samples, t (n,) and z (n, nz), of a run from `origin` that goes on in `engine`."""
    system, facts = state.system, engine.facts(origin)
    nq, size = system.nq, engine.size
    steps = math.ceil((t[-1] - t[0]) / facts.step) if facts.step > 0.0 else 0
    return Motion(
        system=system, parameters=state.parameters, t=t, q=z[:, :nq], u=z[:, nq:size],
        work=z[:, size] if system.works else np.zeros(len(t)), success=False, message="the run goes on",
        stats={"steps": steps}, recipe=recipe, scales=engine.scales, facts=facts,
    )  # fmt: skip


def padded_start(engine: Engine, z0: np.ndarray, derivatives: Derivatives) -> np.ndarray:
    """(q, u, work, derivatives) at the start, (nz,), with zero work."""
    return np.concatenate([z0, np.zeros(engine.plain - engine.size), derivatives.S[-1].ravel()])


def carried_columns(recipe: Recipe, derivatives: Derivatives | None) -> tuple[int, ...]:
    """The columns that an engine carries along: none if an integrator has derivatives of its steps instead."""
    return () if derivatives is None or not recipe.integrator.explicit else derivatives.columns


def _derivatives(
    recipe: Recipe, engine: Engine, samples: Samples, state: State, t: float, start: Derivatives
) -> Derivatives:
    if not recipe.integrator.explicit:
        from dalembert.run.implicit_variations import carry_by_steps

        return replace(start, S=carry_by_steps(recipe, state, t, samples.t, start, engine.scales))
    S = samples.z[:, engine.plain :].reshape(len(samples.t), len(start.names), engine.size)
    return replace(start, S=S)


def _watch(engine: Engine, state: State, events: Sequence[Event], past: Past) -> Watch:
    """The event functions of a run from a state as native code."""
    from dalembert.run.time_loop.event_watch import Watch

    system = state.system
    observation = observer_of(system).observe(
        [event.expression(system) for event in events], f"events of `{system.name}`"
    )
    return Watch(
        kernel=system.passing_kernel(observation.name, lambda: observation.function),
        tape=observation.tape,
        directions=tuple(event.direction for event in events),
        stops=tuple(event.stops for event in events),
        fresh=tuple(event.name in past.fresh for event in events),
        signs=tuple(past.signs.get(event.name, 0.0) for event in events),
        slacks=past.slacks or slacks_of(engine.scales, state, observation),
        reads_rates=observation.reads_rates,
    )


def slacks_of(scales: Scales | None, state: State, observation: Observation) -> tuple[float, ...]:
    """Zero tolerances of functions at the start: a part of their sizes, from the sizes of coordinates and speeds."""
    if scales is None:
        return (SLACK,) * observation.function.size1_out(0)
    sizes = observation.sizes(state.t, state.q, state.u, state.parameters, (scales.q, scales.u))
    return tuple(SLACK * size if 0.0 < size < np.inf else SLACK for size in sizes.tolist())


def _left(engine: Engine, events: Sequence[Event]) -> Left:
    """By name, the signs of the event functions at the end of a run, the first ones, and the steps in doubt."""
    from dalembert.run.time_loop.event_watch import doubts, first_signs, signs

    names = [event.name for event in events]
    doubted = {name: Doubt(*doubt) for name, doubt in zip(names, doubts(engine), strict=True) if doubt[0]}
    last, first = (dict(zip(names, values(engine), strict=True)) for values in (signs, first_signs))
    return last, first, doubted


def _occurrences(
    engine: Engine,
    watched: Sequence[Event],
    found: list[tuple[int, float, np.ndarray]],
    events: Sequence[Event],
    doubts: Mapping[str, Doubt],
) -> Occurrences:
    """Occurrences, with complete states, from the zeros `found` of the `watched` events. `events` are all of a run."""
    states = states_of(engine, np.array([t for _, t, _ in found]), np.array([z for _, _, z in found])) if found else []
    named = tuple(Occurrence(watched[which].name, s.t, s) for (which, _, _), s in zip(found, states, strict=True))
    return Occurrences(named, tuple(event.name for event in events), doubts)


def states_of(engine: Engine, times: np.ndarray, z: np.ndarray) -> list[State]:
    """Complete states at times (n,) from z = (q, u, work) (n, nz)."""
    e, system = engine.evaluate(times, z), engine.system
    return [
        State(system, float(t), row[: system.nq], row[system.nq : engine.size], e.udot[k], e.multipliers[k],
              engine.parameters)
        for k, (t, row) in enumerate(zip(times, z, strict=True))
    ]  # fmt: skip

"""One system moving for a while: from a state and chosen ingredients to a `Motion`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.ending import ending
from dalembert.equations.observation import observer_of
from dalembert.equations.system import System
from dalembert.events import Event, Occurrence, Occurrences
from dalembert.motion import Motion
from dalembert.numerics.status import Status
from dalembert.state import State

if TYPE_CHECKING:
    from dalembert.numerics.engine import Drift, Engine, Fallbacks, Formulation, Integrator
    from dalembert.numerics.integrators.crossing import Watch
    from dalembert.numerics.integrators.march import Samples


class Ingredients(NamedTuple):
    """What a run is made with, and who is told how far it has come."""

    formulation: Formulation
    drift: Drift
    integrator: Integrator
    progress: Callable[[float], None] | None = None

    def engine(self, state: State) -> Engine:
        """The system of a state, with its parameter values, ready to run."""
        return _engine_type()(state.system, state.parameters, self.formulation, self.drift)


@functools.cache
def _engine_type() -> type[Engine]:
    from dalembert.numerics.engine import Engine

    return Engine


def run_segment(
    made_with: Ingredients,
    engine: Engine,
    state: State,
    span: tuple[float, float],
    t_eval: np.ndarray | None,
    events: Sequence[Event] = (),
    fresh: Sequence[str] = (),
) -> tuple[Motion, Status]:
    """The motion of the system of `state`, in `engine`, from there over `span`, as far as it gets, and how it ended.

    Events that do not concern the system are left out; those whose names are in `fresh` have just occurred.
    """
    system, p, z0 = state.system, state.parameters, state.z
    watched = [event for event in events if event.concerns(system)]
    with _watch(system, watched, fresh).over(engine) if watched else nullcontext():
        samples = made_with.integrator.run(engine, z0, span, t_eval, made_with.progress)
    fallbacks = engine.fallbacks  # of the run alone; what is asked of the motion later adds to them
    nq, size, status = system.nq, engine.size, samples.status
    motion = Motion(
        system=system,
        parameters=p,
        t=samples.t,
        q=samples.z[:, :nq],
        u=samples.z[:, nq:size],
        work=samples.z[:, size] if system.works else np.zeros(len(samples.t)),
        success=status == 0,
        message=ending(engine, samples, span[0], z0),
        stats=samples.stats,
        told=functools.partial(_tell, made_with, engine, samples, span[0], fallbacks),
        events=_occurrences(engine, watched, samples.events, tuple(event.name for event in events)),
        engine=engine,
        integrator=made_with.integrator,
    )
    return motion, status


def _watch(system: System, events: Sequence[Event], fresh: Sequence[str]) -> Watch:
    """The event functions of a run as native code."""
    from dalembert.numerics.integrators.crossing import Watch

    observation = observer_of(system).observe(
        [event.expression(system) for event in events], f"events of `{system.name}`"
    )
    return Watch(
        kernel=system.derived_kernel(observation.name, lambda: observation.function),
        directions=tuple(event.direction for event in events),
        stops=tuple(event.stops for event in events),
        fresh=tuple(event.name in fresh for event in events),
        reads_rates=observation.reads_rates,
    )


def _occurrences(
    engine: Engine, events: Sequence[Event], found: list[tuple[int, float, np.ndarray]], names: tuple[str, ...]
) -> Occurrences:
    """Occurrences with complete states."""
    if not found:
        return Occurrences((), names)
    times, z = np.array([t for _, t, _ in found]), np.array([state for _, _, state in found])
    e, system = engine.evaluate(times, z), engine.system
    states = [
        State(system, float(t), row[: system.nq], row[system.nq : engine.size], e.udot[k], e.multipliers[k],
              engine.parameters)
        for k, (t, row) in enumerate(zip(times, z, strict=True))
    ]  # fmt: skip
    return Occurrences(
        tuple(Occurrence(events[which].name, s.t, s) for (which, _, _), s in zip(found, states, strict=True)), names
    )


def _tell(made_with: Ingredients, engine: Engine, samples: Samples, start: float, fallbacks: Fallbacks) -> str:
    """The ingredients, what the drift control has to say, and the choices of the formulation."""
    mean_step = (samples.t[-1] - start) / max(samples.stats.get("steps", 0), 1) if len(samples.t) else 0.0
    ingredients = (made_with.formulation, made_with.drift, made_with.integrator)
    remark = made_with.drift.remark(engine.system, engine.started, mean_step)
    notes = "".join(f"; {note}" for note in dict.fromkeys(engine.notes))
    made = ", ".join(_described(value) for value in ingredients)
    return made + remark + notes + _choices(engine.system, engine) + _fallbacks(fallbacks, samples)


def _described(ingredient: Any) -> str:
    """The ingredient with its tolerances and every option that was changed."""
    shown = [
        f
        for f in fields(ingredient)
        if getattr(ingredient, f.name) is not None
        and (f.name in ("rtol", "atol", "tolerance") or getattr(ingredient, f.name) != f.default)
    ]
    return f"{type(ingredient).__name__}({', '.join(f'{f.name}={getattr(ingredient, f.name)!r}' for f in shown)})"


def _choices(system: System, engine: Engine) -> str:
    """The independent speeds a partition used, and when it was made again."""
    made = [(t, c.independent(system.nu)) for t, c in engine.choices if c is not None and c.dependent]
    if not made:
        return ""
    parts = [f"{', '.join(system.speeds[k] for k in chosen)} (from t = {t:.4g})" for t, chosen in made[:4]]
    more = f" and {len(made) - 4} more" if len(made) > 4 else ""
    return f"; independent speeds {'; '.join(parts)}{more}"


def _fallbacks(fallbacks: Fallbacks, samples: Samples) -> str:
    """The evaluations that the formulation did not do itself."""
    count, first, last = fallbacks
    if not count:
        return ""
    begin, end = f"{first:.4g}", f"{last:.4g}"
    when = f"near t = {begin}" if begin == end else f"between t = {begin} and {end}"
    return f"; {count:,} of {samples.stats['nfev']:,} evaluations by the pivoted saddle solve, {when}"

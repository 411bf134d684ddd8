"""`simulate`: from a consistent state to a motion, with any formulation, drift control and integrator."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import free_memory
from dalembert.equations.naming import real_numbers
from dalembert.equations.system import System
from dalembert.errors import ArrayError, InconsistentStateError, OptionError, PairingError, SimulationInterrupt
from dalembert.exports import every
from dalembert.initial.degeneracy import check_degeneracy
from dalembert.motion.derivatives import Derivatives
from dalembert.motion.motion import Motion
from dalembert.motion.state import State
from dalembert.run.events import Event
from dalembert.run.progress import Progress
from dalembert.run.recipe import Recipe
from dalembert.run.scales import Scales
from dalembert.run.segment import carried_columns, run_segment
from dalembert.run.state_changes import REPAIRABLE
from dalembert.run.status import Status
from dalembert.run.storage import IN_MEMORY, Storage

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dalembert.motion.sequence import MotionSequence
    from dalembert.run.every import Every
    from dalembert.run.ingredients import Drift, Formulation
    from dalembert.run.integrators.explicit import Explicit
    from dalembert.run.integrators.integrator import Integrator
    from dalembert.run.integrators.radau import Radau


def simulate(
    system: System,
    state: State,
    t_end: float | tuple[float, float],
    *,
    t_eval: ArrayLike | None = None,
    parameters: Mapping[Any, float] | None = None,
    formulation: Formulation | None = None,
    drift: Drift | None = None,
    integrator: Integrator | None = None,
    events: Iterable[Event | Every] = (),
    verify: bool = False,
    sensitivities: Sequence[Any] = (),
    store: str | Path | None = None,
    outputs: Sequence[Any] | None = None,
) -> Motion | MotionSequence:
    """The motion from `state` to `t_end`, or over `(t0, t_end)`; `System.simulate` describes the options.

    With `outputs` it is `MotionOutputs`, which the overloads there tell.
    """
    formulation, drift, integrator = pair(formulation, drift, integrator)
    if not isinstance(state, State):
        raise PairingError(f"simulate needs a State, got {type(state).__name__}; call system.initial(...) for one")
    span, times = check_times(state.t, t_end, t_eval)
    if times is not None and store is None and outputs is None:
        _check_room(system, len(times))
    values = _parameters(system, state, parameters)
    if not integrator.explicit:
        from dalembert.run.implicit_size import check_implicit_size

        check_implicit_size(system, integrator, sensitivities)
    known = state.report is not None and state.system is system and not parameters  # checked by `initial` already
    if state.system is not system or parameters:
        state = replace(state, system=system, parameters=values)
    looked_for = _checked(state, events) if events else ()
    if looked_for and any(isinstance(event, Event) for event in looked_for):
        from dalembert.run.event_checks import check_locates

        check_locates(integrator)
    storage: Storage = IN_MEMORY
    if store is not None or outputs is not None:
        from dalembert.run.storage_choice import Asked, choose_storage

        asked = Asked(drift, integrator, looked_for, sensitivities)
        storage = choose_storage(state, times, asked, store, outputs)
    motion: Motion | MotionSequence
    with Progress(system.name, span) as progress:
        derivatives = start_of(state, span[0], sensitivities)
        recipe = Recipe(formulation, drift, integrator if derivatives is None else differentiable(integrator))
        motion, status = run_from(
            recipe, state, span, times, looked_for, progress, known=known, derivatives=derivatives, storage=storage
        )
    _ended(motion, status)
    if derivatives is not None:
        _check_derivatives(motion)
    if verify:
        try:
            motion.verify()
        except KeyboardInterrupt as interruption:
            raise SimulationInterrupt(f"`{system.name}`: the second run was interrupted", motion) from interruption
    return motion


def _ended(motion: Motion | MotionSequence, status: Status) -> None:
    """Note on disk how a run ended, if its samples are there; raise `SimulationInterrupt` if that was Ctrl-C."""
    if isinstance(motion, Motion) and motion.storage is not IN_MEMORY:
        from dalembert.motion.store import end_store

        end_store(motion)
    if status == Status.INTERRUPTED:
        raise SimulationInterrupt(f"`{motion.system.name}`: {motion.message}", motion)


def _check_room(system: System, count: int) -> None:
    """Raise `OutOfMemoryError` if the motion at so many times does not fit."""
    if (needed := 8 * count * (1 + system.nq + 2 * system.nu + system.nc)) > free_memory.NEGLIGIBLE:
        what = f"the motion of `{system.name}` at {count} times"
        remedy = "give fewer times in t_eval=, what to keep of it in outputs=, or a folder on disk in store="
        free_memory.check_memory(needed, what, remedy)


def run_from(
    recipe: Recipe,
    state: State,
    span: tuple[float, float],
    times: np.ndarray | None,
    events: Sequence[Event | Every],
    progress: Callable[[float], None] | None,
    *,
    known: bool,
    derivatives: Derivatives | None = None,
    storage: Storage = IN_MEMORY,
) -> tuple[Motion | MotionSequence, Status]:
    """The motion from a state and how it ended; every option has been checked.

    `known` says that the state comes from `initial`, which has looked for degenerate constraints. `derivatives` are
    those of the start, to be carried along. Samples are kept in `storage`.
    """
    system = state.system
    engine = recipe.engine(system, state.parameters, carried_columns(recipe, derivatives))
    z0 = state.z
    if not engine.measure(span, z0) <= REPAIRABLE:
        raise _inconsistent(state, span[0], Scales.read(engine.work, system).rows, known=known)
    if not known:
        check_degeneracy(system, span[0], state.q, state.u, state.parameters)
    if events:
        from dalembert.run.hybrid import follow_events

        return follow_events(recipe, state, span, times, events, progress, derivatives, storage)
    segment = run_segment(recipe, engine, state, z0, span, times, progress, derivatives=derivatives, storage=storage)
    return segment.motion, segment.status


def _checked(state: State, events: Iterable[Event | Every]) -> tuple[Event | Every, ...]:
    """The events of a run, checked."""
    from dalembert.run.event_checks import check_events

    return check_events(state, events)


def differentiable(integrator: Integrator) -> Explicit | Radau:
    """The integrator, if it can carry derivatives along: an explicit one or Radau; `Automatic` begins with DOP853."""
    from dalembert.run.integrators.automatic import Automatic
    from dalembert.run.integrators.dop853 import DOP853
    from dalembert.run.integrators.explicit import Explicit
    from dalembert.run.integrators.radau import Radau

    if isinstance(integrator, Automatic):
        return DOP853(rtol=integrator.rtol, atol=integrator.atol, max_step=integrator.max_step)
    if not isinstance(integrator, Explicit | Radau):
        raise PairingError(
            f"{type(integrator).__name__} does not support sensitivities; use an explicit integrator such as DOP853(), "
            "or Radau() for stiff systems"
        )
    return integrator


def start_of(state: State, t: float, keys: Sequence[Any]) -> Derivatives | None:
    """The derivatives of the start in parameters and start values, None if none are asked for; raises without any."""
    if isinstance(keys, (tuple, list)) and not keys:
        return None
    from dalembert.initial.start_derivatives import read_columns, start_derivatives
    from dalembert.run.jumps import check_differentiable

    names, columns = read_columns(state.system, keys)
    check_differentiable(state.system)
    return Derivatives(names, columns, start_derivatives(state, t, names)[None])


def _check_derivatives(motion: Motion | MotionSequence) -> None:
    """Raise `PairingError` if the derivatives of a motion lack a jump of the accelerations."""
    from dalembert.run.jumps import check_crossed

    for part in motion.segments:
        if part.derivatives is not None:
            check_crossed(part)


def _inconsistent(state: State, t: float, sizes: np.ndarray, *, known: bool) -> InconsistentStateError:
    """Error for a state that violates position or velocity constraints, of these sizes, at time t.

    A state that comes from `initial` (`known`) can only violate constraints whose gradients vanish where they hold.
    """
    system, names = state.system, state.system.constraint_names
    out = system.evaluate("residual", t, state.q, state.u, state.parameters)
    phi, psi = np.split(out, [system.count("position")])
    residuals = {("position", names[k]): float(v) for k, v in enumerate(phi)}
    residuals |= {("velocity", names[k]): float(v) for k, v in enumerate(psi)}
    shares = dict(zip(residuals, np.abs(out) / sizes, strict=True))
    bad = {key: value for key, value in residuals.items() if not shares[key] <= REPAIRABLE}
    (level, name), worst = max(bad.items(), key=lambda item: shares[item[0]])
    remedy = "call system.initial(...) for a consistent state"
    if known:
        remedy = (
            "where it holds its gradient vanishes, so that no state nearby satisfies it better, and it cannot keep a "
            "motion; state it in another way, or give parameters that leave it a gradient"
        )
    return InconsistentStateError(
        f"the state violates {len(bad)} of {len(residuals)} constraints of `{system.name}` at t = {t:g} "
        f"(worst: {level} of `{name}`, {worst:.3g}); {remedy}",
        bad,
    )


def pair(
    formulation: Formulation | None, drift: Drift | None, integrator: Integrator | None
) -> tuple[Formulation, Drift, Integrator]:
    """Ingredients of a run, with defaults. Raises `PairingError` if they do not fit together."""
    if formulation is not None and callable(getattr(formulation, "settled", None)):
        raise PairingError(
            f"formulation={formulation!r} is a residual form F(t, y, y') = 0, not a formulation of accelerations; it "
            f"is for a DAE solver: leave `formulation` out and pass integrator=IDA(form={formulation!r}) or "
            "Radau(form=...)"
        )
    if formulation is not None:
        _check_one("formulation", formulation, "accelerators")
    if drift is not None:
        _check_one("drift", drift, "corrector")
    if integrator is not None:
        _check_one("integrator", integrator, "run")
    usual = _usual()
    if integrator is not None and not integrator.explicit:
        _check_implicit(formulation, drift, type(integrator).__name__)
    return formulation or usual[0], drift or usual[1], integrator or usual[2]


def _check_one(what: str, value: Any, verb: str) -> None:
    """Raise `PairingError` if a value is no formulation, drift control or integrator: it lacks the `verb` of one."""
    if isinstance(value, type) or not callable(getattr(value, verb, None)):
        raise PairingError(_not_one(what, value))


def _not_one(what: str, value: Any) -> str:
    """Message for a value that is no formulation, drift control or integrator, with the remedy."""
    name = {"drift": "a drift control", "integrator": "an integrator"}.get(what, f"a {what}")
    if isinstance(value, type):
        return f"{what}={value.__name__} is a class; make a value of it: {what}=da.{value.__name__}()"
    if what == "drift" and value is False:
        return "drift=False: to correct nothing, pass drift=da.NoCorrection()"
    known = every({"formulation": "formulations", "integrator": "integrators"}.get(what, what))
    return (
        f"{what}={value!r} is not {name}; pass a value such as {what}=da.{_EXAMPLES[what]}. Known: {', '.join(known)}"
    )


@functools.cache
def _usual() -> tuple[Formulation, Drift, Integrator]:
    """Default formulation, drift control and integrator."""
    from dalembert.run.drift.projection import Projection
    from dalembert.run.formulations.lagrange_multipliers import LagrangeMultipliers
    from dalembert.run.integrators.automatic import Automatic

    return LagrangeMultipliers(), Projection(), Automatic()


def _check_implicit(formulation: Formulation | None, drift: Drift | None, name: str) -> None:
    """Raise `PairingError` for options of tasks that an implicit integrator does by itself."""
    from dalembert.run.drift.no_correction import NoCorrection
    from dalembert.run.drift.projection import Projection
    from dalembert.run.formulations.lagrange_multipliers import LagrangeMultipliers

    if not isinstance(formulation, LagrangeMultipliers | None):
        raise PairingError(
            f"{name} solves the equations of motion with their multipliers itself and does not use {formulation!r}; "
            "leave `formulation` out, or use an explicit integrator such as DOP853()"
        )
    if not isinstance(drift, NoCorrection | Projection | None):
        raise PairingError(
            f"{name} keeps the constraints itself, {drift!r} would disturb it; leave `drift` out, or take an explicit "
            "integrator such as DOP853()"
        )


_EXAMPLES = {"formulation": "LagrangeMultipliers()", "drift": "Projection()", "integrator": "DOP853()"}


def check_times(
    start: float, t_end: float | tuple[float, float], t_eval: ArrayLike | None
) -> tuple[tuple[float, float], np.ndarray | None]:
    """The interval from `start`, or as `t_end` gives it, and the times to sample; raises if they cannot be."""
    plain = isinstance(t_end, (float, int)) and not isinstance(t_end, bool)
    t0, t1 = (float(start), float(t_end)) if plain else _interval(start, t_end)  # type: ignore[arg-type]
    if not (math.isfinite(t0) and math.isfinite(t1)):
        raise OptionError(f"the interval {t0} .. {t1} is not finite")
    if not t1 > t0:
        raise OptionError(f"t_end = {t1:g} is not after t0 = {t0:g}; motions run forward in time")
    if t_eval is None:
        return (t0, t1), None
    times = real_numbers(t_eval, "the times in t_eval", f"t_eval=np.linspace({t0:g}, {t1:g}, 101)")
    if times.ndim == 1 and times.size and t0 <= times[0] and times[-1] <= t1 and _is_increasing(times):
        return (t0, t1), times
    if times.ndim != 1 or times.size == 0 or not np.isfinite(times).all():
        raise ArrayError(f"t_eval must be a non-empty list of finite times, got shape {times.shape}")
    if not _is_increasing(times):
        raise ArrayError("t_eval must be strictly increasing")
    raise ArrayError(f"t_eval reaches from {times[0]:g} to {times[-1]:g}, beyond the interval {t0:g} .. {t1:g}")


def _interval(start: float, t_end: Any) -> tuple[float, float]:
    """The interval from `start` to an end that is no float, or as an end (t0, t_end) gives it."""
    ends = real_numbers(t_end, "t_end", "a number such as 10.0, or (t0, t_end)")
    if ends.shape not in ((), (2,)):
        raise ArrayError(
            f"t_end is a number or (t0, t_end), got shape {ends.shape}; times of samples are t_eval=..., as in "
            "system.simulate(state, times[-1], t_eval=times)"
        )
    t0, t1 = ends.tolist() if ends.ndim else (start, float(ends))
    return float(t0), float(t1)


def _is_increasing(times: np.ndarray) -> bool:
    return len(times) == 1 or bool((times[1:] > times[:-1]).all())


def _parameters(system: System, state: State, changes: Mapping[Any, float] | None) -> np.ndarray:
    if state.system is not system and state.system.coordinates != system.coordinates:
        raise PairingError(f"the state belongs to `{state.system.name}`, not to `{system.name}`")
    if state.system is system and not changes and math.isfinite(state.parameters.dot(state.parameters)):
        return state.parameters  # by name it takes 70 us for 40 parameters
    if changes and not isinstance(changes, Mapping):
        raise OptionError(f"parameters={changes!r} is no mapping; write parameters={{name: value}}")
    carried = dict(zip(system.parameters, state.parameters, strict=True))
    return system.parameter_values(changes, carried)

"""Choice of the storage of a run: the options `store=` and `outputs=`, checked before the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca
import numpy as np

from dalembert import free_memory
from dalembert.equations.system import System
from dalembert.errors import PairingError
from dalembert.motion.keeping import read_outputs
from dalembert.motion.state import State
from dalembert.motion.store import begin_store
from dalembert.run.event_checks import check_locates
from dalembert.run.integrators.integrator import Integrator, Marching
from dalembert.run.storage import Storage

if TYPE_CHECKING:
    from dalembert.run.events import Event
    from dalembert.run.every import Every
    from dalembert.run.ingredients import Drift


class Asked(NamedTuple):
    """Ingredients, events and sensitivities of a run, on which its storage depends."""

    drift: Drift
    integrator: Integrator
    events: Sequence[Event | Every]
    sensitivities: Sequence[Any]

    @property
    def changing(self) -> str:
        """Names of the events that make a sequence of motions."""
        return ", ".join(f"`{event.name}`" for event in self.events if event.then is not None)


def choose_storage(
    state: State, times: np.ndarray | None, asked: Asked, store: str | Path | None, outputs: Sequence[Any] | None
) -> Storage:
    """Storage for the samples of a run from a state, at `times` if given. Raises an error for options that conflict."""
    if outputs is None and store is not None:
        check_storable(asked)
        return begin_store(store, state.system, state.parameters, None if times is None else len(times))
    faults = [*_against_outputs(state.system, asked, store)]
    if faults:
        raise PairingError(f"outputs= forgets samples as the motion runs, and {'; '.join(faults)}")
    kept = read_outputs(state, outputs)
    if times is not None:  # blocks of values are joined in the end
        needed, what = 16 * len(times) * kept.size, f"the outputs of `{state.system.name}` at {len(times)} times"
        free_memory.check_memory(needed, what, "give fewer times in t_eval=, or fewer outputs=")
    return kept


def check_storable(asked: Asked) -> None:
    """Raise `PairingError` if a run does not store its samples as it proceeds, or is not one motion."""
    if asked.changing:
        raise PairingError(
            f"store= keeps one motion, and event {asked.changing} makes a sequence of motions; leave `store` out, or "
            "run from event to event with terminal events and a store for each"
        )
    if asked.sensitivities:
        raise PairingError("store= does not keep sensitivities; leave one of the two out")
    check_locates(asked.integrator, "store")


def _against_outputs(system: System, asked: Asked, store: str | Path | None) -> Iterator[str]:
    """Options that conflict with `outputs`, as messages with the remedy."""
    name = type(asked.integrator).__name__
    if store is not None:
        yield "store= keeps all of them on disk: leave one of the two out"
    if asked.sensitivities:
        yield "sensitivities= belong to all of them: leave one of the two out"
    if asked.changing:
        yield (
            f"event {asked.changing} makes a sequence of motions: leave outputs= out, or run from event to event with "
            "terminal events"
        )
    if not isinstance(asked.integrator, Marching):
        yield f"{name} hands them over at its end: use an integrator such as DOP853(), or leave outputs= out"
    elif asked.integrator.method().adaptive and _reads_step(system, asked.drift):
        yield (
            f"the gains of {type(asked.drift).__name__} follow the steps of {name}, so that multipliers are known at "
            "its end: give gains, use Projection(), or leave outputs= out"
        )


def _reads_step(system: System, drift: Drift) -> bool:
    """True if the feedback of a drift control depends on the length of the step at hand."""
    feedback = drift.feedback(system)
    if feedback is None:
        return False
    tail = feedback.tail()
    return bool(ca.depends_on(feedback.change(system.mechanics, tail[0], tail[1:]), tail[0]))

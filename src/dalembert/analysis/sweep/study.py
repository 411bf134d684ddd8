"""`Study`: the specification of the runs of a sweep, as data that can be sent to any process."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from dalembert.analysis.sweep.followed import Followed
from dalembert.analysis.sweep.reading import Reading
from dalembert.analysis.sweep.reductions import Reduction
from dalembert.analysis.verdict import verdict_of
from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.errors import DalembertError, InitialStateError
from dalembert.motion.motion import Motion
from dalembert.motion.sequence import MotionSequence
from dalembert.motion.state import State
from dalembert.run.event_checks import check_events
from dalembert.run.recipe import Recipe
from dalembert.run.simulate import run_from
from dalembert.run.status import Status

OK, NOT_HELD, NO_START, REFUSED, ERROR = "ok", "not held", "no initial state", "refused", "error"
TOLERANCES = ("rtol", "atol")
Kind = TypeVar("Kind")


class RunRecord(NamedTuple):
    """Record of one run: reductions (n,), samples (nt, m), its status, and a message if something is wrong."""

    values: np.ndarray
    samples: np.ndarray
    status: str
    message: str


@dataclass(frozen=True, eq=False)
class Study:
    """One system, one recipe, one start; `names` vary.

    `sampled` are read at `t_eval`, `reduced` from every step of the motion: of each, the reading and what is kept.
    `guess` may be a State, then `given` is met nearest to it, or `Followed`, then on its branch. `span` is (t0, t_end).
    """

    system: System
    names: tuple[str, ...]
    recipe: Recipe
    span: tuple[float, float]
    given: Mapping[str, float]
    guess: Any
    parameters: Mapping[str, float]
    t_eval: np.ndarray | None = None
    sampled: tuple[Reading, ...] = ()
    reduced: tuple[tuple[Reduction, Reading], ...] = ()
    events: tuple[Any, ...] = ()
    verify: bool = False  # whether a second run estimates the error of each

    def __getstate__(self) -> dict[str, Any]:
        """The study, with the symbols that its events are stated in; a System alone is pickled without them."""
        statements = [system.statement for system in self._systems] if self.events else []
        return {**self.__dict__, "statements": statements}

    def __setstate__(self, state: dict[str, Any]) -> None:
        statements = state.pop("statements")
        self.__dict__.update(state)
        for system, statement in zip(self._systems, statements, strict=False):
            system.__dict__["statement"] = statement

    @property
    def _systems(self) -> list[System]:
        """The system, and the systems that its events lead to."""
        return [self.system, *(event.then for event in self.events if isinstance(event.then, System))]

    @functools.cached_property
    def kinds(self) -> tuple[str, ...]:
        """Kind of each of `names`: "parameter", "tolerance" or "given"."""
        return tuple(
            "parameter" if n in self.system.parameters else "tolerance" if n in TOLERANCES else "given"
            for n in self.names
        )

    @property
    def widths(self) -> tuple[int, tuple[int, int]]:
        """Shape of a record: number of reductions and error estimates, and shape of samples, times by components."""
        times = 0 if self.t_eval is None else len(self.t_eval)
        return (
            sum(len(reading.labels) for _, reading in self.reduced) + self.verify,
            (times, sum(len(reading.labels) for reading in self.sampled)),
        )

    def request(self, row: Sequence[float]) -> tuple[dict[str, float], dict[str, Any]]:
        """Arguments of `System.initial` for the run with these values of `names`: given values, and options."""
        changes: dict[str, dict[str, float]] = {"parameter": {}, "given": {}, "tolerance": {}}
        for name, kind, value in zip(self.names, self.kinds, row, strict=True):
            changes[kind][name] = float(value)
        t0 = None if isinstance(self.guess, State | Followed) else self.span[0]
        parameters = {**self.parameters, **changes["parameter"]}
        return {**self.given, **changes["given"]}, {"guess": self.guess, "parameters": parameters, "t0": t0}

    def start(self, row: Sequence[float]) -> State:
        """The initial state of the run with these values of `names`."""
        given, options = self.request(row)
        if isinstance(self.guess, Followed):
            return self.guess.reach(given, options["parameters"])
        unchanged = not (given or options["parameters"])
        if isinstance(self.guess, State) and self.guess.system is self.system and unchanged:
            return self.guess
        return self.system.initial(given, **options)

    def method(self, row: Sequence[float]) -> Recipe:
        """The recipe of the run with these values of `names`."""
        tolerances = {n: float(v) for n, k, v in zip(self.names, self.kinds, row, strict=True) if k == "tolerance"}
        if not tolerances:
            return self.recipe
        return self.recipe._replace(integrator=replace(self.recipe.integrator, **tolerances))  # type: ignore[type-var]

    def begin(self, row: Sequence[float]) -> State | RunRecord:
        """The initial state of the run with these values of `names`, or the record of a run that has none."""
        return self._guarded(lambda: self.start(row))

    def run(
        self, row: Sequence[float], state: State | RunRecord, progress: Callable[[float], None] | None = None
    ) -> RunRecord:
        """Run with these values of `names` from a state, and return its record. Errors go into the record."""
        if isinstance(state, RunRecord):
            return state
        return self._guarded(lambda: self._run(state, self.method(row), progress))

    def _guarded(self, action: Callable[[], Kind]) -> Kind | RunRecord:
        """Call an action and return its result, or the record of a failed run if it raises."""
        try:
            return action()
        except InitialStateError as error:
            return self._failed(NO_START, str(error))
        except DalembertError as error:
            return self._failed(REFUSED, str(error))
        except Exception as error:  # noqa: BLE001 - the other runs go on, and this one is named
            return self._failed(ERROR, f"{type(error).__name__}: {error}")

    def knows(self, state: State) -> bool:
        """True if `initial` has already looked for degenerate constraints in a state."""
        return state.report is not None and state.system is self.system

    def _run(self, state: State, recipe: Recipe, progress: Callable[[float], None] | None) -> RunRecord:
        """Simulate the motion, at every step for reductions and at `t_eval` for samples, and return its record."""
        (n, shape), verdict, error = self.widths, "", np.nan
        values, samples = np.zeros(n - self.verify), np.full(shape, np.nan)
        asked: list[np.ndarray | None] = [None] if self.reduced else []
        for times in asked + ([self.t_eval] if self.sampled else []):
            events = check_events(state, self.events) if self.events else ()
            motion, status = run_from(recipe, state, self.span, times, events, progress, known=self.knows(state))
            if status == Status.INTERRUPTED:
                raise KeyboardInterrupt
            if not motion.success:
                return self._failed(status.name.lower().replace("_", " "), motion.message)
            if self.verify and np.isnan(error):
                error = motion.verify().worst.error
            verdict = verdict or verdict_of(motion)
            if times is None:
                values = np.array([x for how, what in self.reduced for x in _reduced(how, what, motion)])
            else:
                samples = self._sampled(motion)
        values = np.append(values, error) if self.verify else values
        return RunRecord(values, samples, NOT_HELD if verdict else OK, verdict)

    def _sampled(self, motion: Motion | MotionSequence) -> np.ndarray:
        """The values at `t_eval`, NaN after the end of the motion, (nt, m)."""
        times = np.asarray(self.t_eval)
        columns = np.concatenate([reading.values(motion) for reading in self.sampled], axis=1)
        if len(motion.t) == len(times) and len(motion.segments) == 1:
            return columns
        k = np.searchsorted(motion.t, times, side="right") - 1  # of two samples at one time that after the change
        there = (k >= 0) & (motion.t[k] == times)
        return np.where(there[:, None], columns[k], np.nan)

    def _failed(self, status: str, message: str) -> RunRecord:
        n, shape = self.widths
        return RunRecord(np.full(n, np.nan), np.full(shape, np.nan), status, message)


def _reduced(how: Reduction, what: Reading, motion: Any) -> list[float]:
    return [how.reduce(curves) for curves in what.curves(motion)]

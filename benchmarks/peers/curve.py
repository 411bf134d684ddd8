"""Work-precision curves: every route at its ladder of settings, timed in turns."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from benchmarks.peers.cases import Case
from benchmarks.peers.route import CannotStateError, Route, Solver

ROUNDS = 3
LONGEST = 2.5  # seconds; a ladder ends with the first run that is longer
SHORT = 0.02  # seconds of repeats in each round for runs shorter than that
ENOUGH = 20.0  # a ladder ends this far below the strictest bound


@dataclass
class Rung:
    """One setting: least processor seconds of a run and its error."""

    setting: float
    seconds: float
    error: float


@dataclass
class Curve:
    """A route on a case; no rungs if `note` says why."""

    route: Route
    setting: str = ""
    preparation: float = 0.0  # seconds on the clock to derive, compile (PyDy: in another process) and load
    rungs: list[Rung] = field(default_factory=list)
    note: str = ""

    def reaching(self, bound: float) -> int | None:
        """Index of the loosest rung from which on all errors stay within the bound; None if there is none."""
        found = None
        for k in reversed(range(len(self.rungs))):
            if not self.rungs[k].error <= bound:
                break
            found = k
        return found

    def seconds_at(self, bound: float) -> float | None:
        """Seconds at the bound, interpolated in logarithms between the rungs on either side; None if not reached."""
        k = self.reaching(bound)
        if k is None:
            return None
        inside = self.rungs[k]
        outside = self.rungs[k - 1] if k else None
        if outside is None or not np.isfinite(outside.error):
            return inside.seconds
        part = np.log(bound / inside.error) / np.log(outside.error / inside.error)
        between = (1 - part) * np.log(inside.seconds) + part * np.log(outside.seconds)
        return float(min(np.exp(between), inside.seconds))

    @property
    def best(self) -> Rung:
        """The rung of least error."""
        return min(self.rungs, key=lambda rung: rung.error)


def measure(case: Case, routes: Sequence[Route]) -> list[Curve]:
    """A curve for each route: first every ladder is climbed once, then all rungs are timed again in turns."""
    climbed = [_climb(case, route) for route in routes]
    for number in range(ROUNDS):
        print(f"  round {number + 1} of {ROUNDS}", file=sys.stderr, flush=True)
        for curve, solver in climbed:
            for rung in curve.rungs:
                rung.seconds = min(rung.seconds, _best(solver, rung))
    return [curve for curve, _ in climbed]


def _climb(case: Case, route: Route) -> tuple[Curve, Solver | None]:
    curve = Curve(route)
    if route.missing:
        curve.note = f"not installed: {', '.join(route.missing)}"
        return curve, None
    print(f"  {route.name}", file=sys.stderr, flush=True)
    begin = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            solver = route.prepare(case)
    except CannotStateError as reason:
        curve.note = str(reason)
        return curve, None
    except Exception as error:  # noqa: BLE001 - one peer that cannot be set up must not cost the others
        curve.note = f"failed: {type(error).__name__}: {str(error).splitlines()[0]}"
        return curve, None
    curve.preparation, curve.setting = time.perf_counter() - begin, solver.setting
    for setting in solver.ladder:
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                seconds, q = _timed(lambda x=setting: solver.solve(x))
        except Exception as error:  # noqa: BLE001 - the end of what the peer can do
            said = (str(error).strip().splitlines() or ["no message"])[-1]
            curve.note = f"stops at {solver.setting} {setting:.0e}: {said}"
            break
        error = case.error(q)
        if np.isfinite(error):
            curve.rungs.append(Rung(setting, seconds, error))
        if seconds > LONGEST or error < min(case.bounds) / ENOUGH:
            break
    return curve, solver


def _best(solver: Solver, rung: Rung) -> float:
    count = 1 + int(SHORT / rung.seconds)
    return min(_timed(lambda: solver.solve(rung.setting))[0] for _ in range(count))


def _timed(action: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    """Seconds of processor time, which other work on the machine does not lengthen as it does the time on the clock."""
    begin = time.process_time()
    result = action()
    return time.process_time() - begin, result

"""The choice of an integrator while running: explicit as long as that pays, implicit where the motion is stiff.

A motion is stiff where an explicit method takes steps far shorter than anything of interest moves: tied to a fast rate
that is not excited, or to round-off in large forces that nearly cancel. Where the rates hardly change over a step, and
more work lies ahead than the preparation of an implicit method, that method is tried for some steps. It takes over if
it needs less work for the same stretch of time. Work is counted, not timed, so that a run is the same every time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.run.integrators.dop853 import DOP853
from dalembert.run.integrators.explicit import method_of
from dalembert.run.integrators.options import check_length, check_tolerances
from dalembert.run.status import PAUSED, TOO_MANY_STEPS
from dalembert.run.storage import Continuation, MemoryTable, SampleTable
from dalembert.run.time_loop.march import Samples, march
from dalembert.run.time_loop.method import Method

if TYPE_CHECKING:
    from dalembert.run.engine import Engine
    from dalembert.run.integrators.radau import Radau
    from dalembert.run.time_loop.march import March

FIRST_LOOK = 500  # accepted steps before the first look; each look comes after twice as many
WORTH = 5e5  # evaluations ahead that take as long as the compilation of Jacobians, for 20 to 3,000 instructions
# Relative change of u' over a step; at rtol 1e-13, steps of DOP853 tied to accuracy make it 0.15.
CHANGE_PER_STEP = 0.03
FAST_RATE_ERROR = 10.0  # tolerances: what fast rates, h |lambda| < 7, make in a step of an error within the tolerance
TRIAL = 40  # steps it is tried for
EVALUATIONS_PER_STEP = 12.5  # of explicit methods
JACOBIAN = 4.0  # evaluations that a Jacobian is worth
IMPLICIT_ADVANTAGE = 2.0  # by which the implicit method must be cheaper


@dataclass(frozen=True)
class Automatic:
    """The default: `DOP853(rtol, atol)`, changing to `Radau(rtol, atol)` where the motion turns out to be stiff.

    The certificate says which was used and why. `max_step` bounds the length of a step: without it, a force that acts
    for a moment can be stepped over unseen.
    """

    rtol: float = 1e-10
    atol: float | None = None
    max_step: float | None = None

    def __post_init__(self) -> None:
        check_tolerances("Automatic", self.rtol, 1.0 if self.atol is None else self.atol)
        if self.max_step is not None:
            check_length("Automatic", "max_step", self.max_step, endless=True)

    @property
    def explicit(self) -> bool:
        """True: it integrates the u' of any formulation as long as it is explicit."""
        return True

    def method(self) -> Method:
        """The method it begins with."""
        return DOP853(rtol=self.rtol, atol=self.atol, max_step=self.max_step).method()

    def run(
        self,
        engine: Engine,
        z0: np.ndarray,
        span: tuple[float, float],
        t_eval: np.ndarray | None = None,
        progress: Callable[[float], None] | None = None,
        table: SampleTable | None = None,
    ) -> Samples:
        """Samples of the motion from z0 over `span`."""
        review, table = Review(self.rtol), MemoryTable() if table is None else table
        looked = review if engine.allows_implicit else None
        parts = [march(engine, method_of(self), z0, span, t_eval, progress, looked, table)]
        while parts[-1].status == PAUSED:
            t, z = parts[-1].end
            rest, more = None if t_eval is None else _later(t_eval, t), Continuation(table, t)
            if self._pays(engine, t, z, span[1], review):
                engine.notes.append(
                    f"stiff (explicit steps of {review.step:.1g}), so DOP853 until t = {t:.4g}, then Radau"
                )
                parts.append(self._implicit().run(engine, z, (t, span[1]), rest, progress, more))
            else:
                review.resume()
                step = DOP853(rtol=self.rtol, atol=self.atol, first_step=review.step, max_step=self.max_step)
                parts.append(march(engine, step.method(), z, (t, span[1]), rest, progress, review, more))
        if not engine.notes:
            steps = sum(part.stats["steps"] for part in parts)
            told = review.told(len(parts) - 1) if looked else "the system is too large to try an implicit method"
            engine.notes.append(f"DOP853 throughout, {steps:,} steps; {told}")
        return parts[0] if len(parts) == 1 else joined(parts)

    def _implicit(self, max_steps: int | None = None) -> Radau:
        from dalembert.run.integrators.radau import Radau  # half a minute of compilation, once, if it is needed

        return Radau(rtol=self.rtol, atol=self.atol, max_step=self.max_step, max_steps=max_steps)

    def _pays(self, engine: Engine, t: float, z: np.ndarray, t_end: float, review: Review) -> bool:
        """Whether an implicit method needs less work from here on, by a trial."""
        trial = self._implicit(TRIAL).run(engine, z, (t, t_end))
        if trial.status not in (0, TOO_MANY_STEPS) or len(trial.t) < 2:
            return False
        s = engine.system
        n = s.nu + s.nc + s.count("position")
        factorisation = 10.0 / 3.0 * n**3 / (2.0 * engine.instructions)  # one real and one complex LU
        work = trial.stats["nfev"] + JACOBIAN * trial.stats["njev"] + factorisation * trial.stats["nlu"]
        tail = len(trial.t) // 2  # the first steps are short
        share = (trial.t[-1] - trial.t[tail]) / (len(trial.t) - 1 - tail) * (len(trial.t) - 1)
        return bool(IMPLICIT_ADVANTAGE * work / share < EVALUATIONS_PER_STEP / review.step)


class Review:
    """Reviews a march from time to time, and stops it if it seems stiff with much work ahead."""

    def __init__(self, rtol: float) -> None:
        self.due, self.accepted, self.rtol = FIRST_LOOK, 0, rtol
        self.t: float | None = None
        self.step, self.looked = 0.0, False

    def __call__(self, run: March) -> bool:
        """Whether another method should be tried; called when `due` steps were accepted."""
        t, accepted = run.t, run.accepted
        since = run.t_start if self.t is None or self.t < run.t_start else self.t
        self.step = (t - since) / max(accepted - self.accepted, 1)
        self.accepted, self.t, self.due = accepted, t, 2 * accepted
        if not (run.t_end - t) / self.step * EVALUATIONS_PER_STEP > WORTH:
            return False
        self.looked = True
        return self._seems_stiff(run.engine, t, run.z)

    def resume(self) -> None:
        """Go on with a new march, whose steps are counted from zero."""
        self.accepted = 0

    def _seems_stiff(self, engine: Engine, t: float, z: np.ndarray) -> bool:
        """True if u' hardly changes over a step, relative to itself or to the tolerance."""
        nq, size, h = engine.system.nq, engine.size, self.step
        sizes, first = engine.mem[engine.plan.sizes + nq : engine.plan.sizes + size], engine.rates(t, z)
        change = engine.rates(t + h, z + h * first) - first
        moved, bent = (float(np.linalg.norm(h * rates[nq:size] / sizes)) for rates in (first, change))
        return bent < max(CHANGE_PER_STEP * moved, FAST_RATE_ERROR * self.rtol)

    def told(self, trials: int) -> str:
        """Clause for the notes of a run that stayed explicit: the number of implicit trials, if any, and the reason."""
        if not self.looked:
            return "too little work to try an implicit method, so stiffness was not looked for"
        if not trials:
            return "its steps follow the motion, which is not stiff"
        return f"Radau, tried {trials} times, needed no less work from there on"


def _later(times: np.ndarray, t: float) -> np.ndarray:
    """The times after t. If there are none, an unreachable time, since no times would mean every step."""
    rest = times[times > t]
    return rest if rest.size else np.array([np.inf])


def joined(parts: list[Samples]) -> Samples:
    """Parts of one run after each other, whose samples are all in the table of the last: costs add up."""
    energies = parts[0].energies
    for part in parts[1:]:
        if energies is not None and part.energies is not None:
            energies = energies.joined(part.energies, off=part.energies.start - energies.start)
    stats: dict[str, int] = {}
    for part in parts:
        for name, count in part.stats.items():
            stats[name] = stats.get(name, 0) + count
    last = parts[-1]
    events = [event for part in parts for event in part.events]
    return Samples(last.t, last.z, last.status, stats, events, parts[0].begin, last.end, energies)

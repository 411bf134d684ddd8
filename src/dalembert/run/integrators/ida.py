"""`IDA`: SUNDIALS' variable-order BDF method on a residual form F(t, y, y') = 0 of the equations of motion.

A. C. Hindmarsh et al., "SUNDIALS: Suite of Nonlinear and Differential/Algebraic Equation Solvers", ACM TOMS 31 (2005).
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.instants import instants
from dalembert.errors import OptionError, PairingError
from dalembert.native.jit import address_of
from dalembert.run.integrators.ida_solver import Quiet, Solver, SolverPoint
from dalembert.run.integrators.options import check_limits, check_tolerances, settle_atol
from dalembert.run.residuals.form import POOR, ResidualForm, SettledForm
from dalembert.run.residuals.hiller_anantharaman import HillerAnantharaman
from dalembert.run.status import Status
from dalembert.run.time_loop.energy import Weighed, begin_weighing, energies_of, weigh
from dalembert.run.time_loop.march import SLICE, Samples
from dalembert.run.time_loop.step_budget import FIRST, WINDOW, StepBudget
from dalembert.run.time_loop.unpassed import Unpassed

if TYPE_CHECKING:
    from dalembert.run.engine import Engine
    from dalembert.run.storage import SampleTable

PATIENCE = 50  # steps before static choices are questioned again: the order has then recovered from a new beginning

CRAWL = 10  # steps of round-off size in a row after which the run has come to its end
LOST = 1e-4  # quality at which a partition that was given and cannot change is given up

# What SUNDIALS' flags mean here; Newton's method fails (-4) also where values are not finite.
FLAGS = {
    -2: Status.TOO_ACCURATE,
    -3: Status.STEP_COLLAPSE,
    -4: Status.NOT_CONVERGED,
    -6: Status.SINGULAR,
    -7: Status.SINGULAR,
    -17: Status.NOT_CONVERGED,
}


@dataclass(frozen=True)
class IDA:
    """BDF of order 1 to `max_order`; error per step below atol + rtol |y| (root mean square over q, u and work).

    Constraints pass the errors of large values on to small ones, so `atol` should not be far below rtol times the usual
    size of coordinates and speeds: the step of a chain of ten links collapses to 1e-6 s with atol = rtol / 100. Without
    it, it is 1e-8 of these sizes, less if rtol is.
    `form` says how constraints enter: `HillerAnantharaman()`, `PseudoSpeeds()` or `GearGuptaLeimkuhler()`. Multipliers
    are not part of the error test. The constraints hold to about the tolerances; `drift=Projection()`, the default,
    moves the samples - not the integration - onto them, `NoCorrection()` leaves them as they are.
    """

    rtol: float = 1e-8
    atol: float | None = None
    form: ResidualForm = field(default_factory=HillerAnantharaman)
    first_step: float | None = None
    max_step: float | None = None
    max_steps: int | None = None
    max_order: int = 5

    def __post_init__(self) -> None:
        check_tolerances("IDA", self.rtol, 1.0 if self.atol is None else self.atol, least=1e-14)
        check_limits("IDA", self.first_step, self.max_step, self.max_steps)
        if self.max_order not in range(1, 6):
            raise OptionError(f"IDA: max_order is {self.max_order}; it must be between 1 and 5")
        if isinstance(self.form, type) or not callable(getattr(self.form, "settled", None)):
            raise PairingError(
                f"IDA: form={self.form!r} is not a residual form; pass HillerAnantharaman(), PseudoSpeeds() or "
                "GearGuptaLeimkuhler()"
            )

    @property
    def explicit(self) -> bool:
        """It solves the equations with their constraints itself."""
        return False

    def run(
        self,
        engine: Engine,
        z0: np.ndarray,
        span: tuple[float, float],
        t_eval: np.ndarray | None = None,
        progress: Callable[[float], None] | None = None,
        table: SampleTable | None = None,
    ) -> Samples:
        """Samples of the motion from z0 over `span`: at `t_eval`, or at every step."""
        run = _Run(self, engine, z0, span, t_eval)
        with redirect_stdout(Quiet()):
            samples = run.finish(run.march(progress))
        if table is not None:
            table.put(0, samples.t, samples.z)
            samples.t, samples.z = table.joined()
        return samples

    def options(self) -> dict[str, Any]:
        """The settings in SUNDIALS' words."""
        return {
            "rtol": self.rtol,
            "atol": settle_atol(self.rtol, self.atol, (1e-8, 1e-8))[0],
            "first_step": self.first_step or 0.0,
            "max_step": 0.0 if self.max_step in (None, math.inf) else self.max_step,
            "max_order": self.max_order,
        }


class Interruption:
    """Ctrl-C as a question between steps: an exception inside a callback of SUNDIALS would be lost."""

    def __init__(self) -> None:
        self.asked = False
        self._usual: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._usual = signal.signal(signal.SIGINT, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        if self._usual is not None:
            signal.signal(signal.SIGINT, self._usual)

    def _ask(self, _number: int, _frame: Any) -> None:
        self.asked = True


class _Run:
    """The explicit state of one integration."""

    def __init__(
        self, ida: IDA, engine: Engine, z0: np.ndarray, span: tuple[float, float], t_eval: np.ndarray | None
    ) -> None:
        self.ida, self.engine, self.t_end, self.wanted = ida, engine, span[1], t_eval
        self.t, self.z = span[0], np.zeros(engine.nz)
        self.z[: engine.size] = z0[: engine.size]  # the work done starts at zero
        if engine.scales is None:
            engine.measure(span[0], self.z[: engine.size], span[1] - span[0])
        engine.set_units(absolute=ida.atol is not None)
        self.solvers: dict[str, Solver] = {}
        self.form: SettledForm | None = None
        self.steps = self.since = self.next = self.looked = 0
        self.allowed = FIRST if ida.max_steps is None else ida.max_steps
        engine.budget = StepBudget(*span)
        self.quality, self.away, self.tiny = 1.0, False, 0
        self.stops = [float(t) for t in instants(engine.system, engine.parameters, span)]
        self.gap = 4.0 * np.finfo(float).eps * max(abs(span[0]), abs(span[1]))
        self.h_min = 16.0 * np.finfo(float).eps * max(abs(span[0]), abs(span[1]))
        self.followed = Unpassed(engine, "IDA", self.t, self.z)
        self.weighed = Weighed()
        begin_weighing(engine.plan, engine.mem, self.weighed.address, self.t, self.z)
        self.ts: list[float] = []
        self.zs: list[np.ndarray] = []
        asked = t_eval is None
        while t_eval is not None and self.next < len(t_eval) and t_eval[self.next] <= self.t:
            self.next, asked = self.next + 1, True
        if asked:
            self._keep(self.t, self.z)
        if self.stops and self.stops[0] <= self.t + self.gap:
            self.t = self.stops.pop(0) + self.gap

    def march(self, progress: Callable[[float], None] | None) -> Status:
        """Step to the end, making static choices anew where they degrade; how it ended."""
        if self.t_end - self.t <= self.h_min:
            return self._hop()
        shown = time.perf_counter()
        with Interruption() as interruption:
            self._begin(self.ida.form.settled(self.engine, self.t, self.z))
            while self.t < self.t_end:
                if self.steps >= self.allowed and not self._goes_on():
                    return Status.TOO_MANY_STEPS if self.ida.max_steps else Status.COLLAPSED
                if interruption.asked:
                    return Status.INTERRUPTED
                status = self._step()
                if status != Status.OK:
                    return status
                if progress is not None and time.perf_counter() - shown > SLICE:
                    shown = time.perf_counter()
                    progress(self.t)
        return Status.OK

    def _goes_on(self) -> bool:
        """Whether a run without a given number of steps gets on; if so, more steps are allowed."""
        budget = self.engine.budget
        if self.ida.max_steps is not None or budget.is_spent(self.t, self.steps - self.looked):
            return False
        self.looked, self.allowed = self.steps, self.steps + WINDOW
        return True

    def _hop(self) -> Status:
        """An interval too short for a first step: along the tangent."""
        z = self.z + (self.t_end - self.t) * self.engine.rates(self.t, self.z)
        if self.wanted is None or self.next < len(self.wanted):
            self._keep(self.t_end, z)
        return Status.OK

    def _begin(self, form: SettledForm) -> None:
        """Begin at the present state with a form whose choices were made there."""
        if form.key not in self.solvers:
            self.solvers[form.key] = Solver(self.engine, form, self.ida.options())
        self.form, self.solver, self.since, self.away = form, self.solvers[form.key], 0, False
        self.solver.begin(form, self.t, self.z)
        if form.partition is not None:
            self.engine.partitions.append((self.t, form.partition))

    def _step(self) -> Status:
        """One step and the samples in it, never across an instant at which an expression of time bends or jumps."""
        limit = min(self.t_end, self.stops[0] - self.gap) if self.stops else self.t_end
        point = self.solver.step(limit)
        if point.flag < 0:
            return self._failure(point.flag)
        if self.away and point.t == self.t:  # back from an interpolated sample
            self.away = False
            return Status.OK
        self.tiny = self.tiny + 1 if point.t - self.t < self.h_min else 0
        if self.tiny > CRAWL:  # steps of round-off size: the error test has failed for good
            return self._failure(-3)
        z, self.quality = self.solver.output(point)
        if not math.isfinite(z.sum()):
            return Status.NOT_FINITE
        self.steps, self.since = self.steps + 1, self.since + 1
        self._sample(point, z)
        self.t, self.z = point.t, z
        self.followed.step(point.t, z)
        settled = self.engine.corrected(point.t, z)[0]  # as samples are in the end
        numbers = self.engine.work.numbers
        weigh.call(*numbers, self.weighed.address, point.t, address_of(settled), settled.size)
        if self.stops and point.t >= limit:
            self.t = self._pass(z)
            return Status.OK
        if self.quality < POOR and self.since >= PATIENCE and not self._choose_anew() and self._lost():
            return Status.PARTITION
        return Status.OK

    def _pass(self, z: np.ndarray) -> float:
        """Begin anew beyond an instant; the time there."""
        t = min(self.stops.pop(0) + self.gap, self.t_end)
        if self.t_end - t > self.h_min:
            self.t = t
            self._begin(self.ida.form.settled(self.engine, t, z))
            return t
        return self.t_end

    def _sample(self, point: SolverPoint, z: np.ndarray) -> None:
        """Keep what is asked for up to the point: interpolated, or the point itself."""
        landed = bool(self.stops) and point.t >= self.stops[0] - self.gap
        after = self.stops[0] if landed else point.t
        if self.wanted is None:
            self._keep(after, z)
            return
        while self.next < len(self.wanted) and self.wanted[self.next] <= after:
            t = float(self.wanted[self.next])
            self.away = self.away or t < point.t
            self._keep(t, z if t >= point.t else self.solver.output(self.solver.at(t))[0])
            self.next += 1

    def _keep(self, t: float, z: np.ndarray) -> None:
        self.ts.append(t)
        self.zs.append(z)

    def _choose_anew(self) -> bool:
        """Whether other static choices are better here; if so, the run has begun again with them."""
        self.since = 0
        try:
            form = self.ida.form.settled(self.engine, self.t, self.z)
        except OptionError:  # a partition that the user fixed; it may still carry on
            return False
        if self.form is not None and form.choices == self.form.choices:
            return False
        self._begin(form)
        return True

    def _fixed(self) -> bool:
        return self.form is not None and self.form.fixed

    def _lost(self) -> bool:
        """Whether a partition that must not change has become so bad that steps are wasted on it."""
        return self.quality < LOST and self._fixed()

    def _failure(self, flag: int) -> Status:
        """OK if the run goes on with other choices, else why the solver gave up."""
        if self.quality < POOR and self.since > 0:
            if self._choose_anew():
                return Status.OK
            if self._fixed():
                return Status.PARTITION
        zdot = self.engine.rates(self.t, self.z)
        if not np.isfinite(zdot).all():
            return self.engine.unsolved or Status.NOT_FINITE
        return FLAGS.get(flag, Status.REFUSED)

    def finish(self, status: Status) -> Samples:
        """All samples - moved onto the constraints if that is asked for - and the cost."""
        ts, zs = np.array(self.ts), np.array(self.zs).reshape(-1, self.engine.nz)
        fresh = np.diff(ts, prepend=-np.inf) > 0.0  # steps of round-off size may not move t
        ts, zs = ts[fresh], zs[fresh]
        for k in range(1, len(ts)):
            zs[k], how = self.engine.corrected(ts[k], zs[k])
            if how != Status.OK:
                self.t, self.z, ts, zs, status = float(ts[k]), zs[k], ts[:k], zs[:k], how
                break
        spent = [solver.spent for solver in self.solvers.values()]
        stats = {"steps": self.steps, "nfev": sum(s[0] for s in spent), "njev": sum(s[1] for s in spent)}
        return Samples(ts, zs, status, stats, end=(self.t, self.z), energies=energies_of(self.weighed))

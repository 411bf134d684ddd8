"""`IDA`: SUNDIALS' variable-order BDF method on a residual form F(t, y, y') = 0 of the equations of motion.

A. C. Hindmarsh et al., "SUNDIALS: Suite of Nonlinear and Differential/Algebraic Equation Solvers", ACM TOMS 31 (2005).
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from dataclasses import field

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.errors import OptionError, PairingError
from dalembert.run.engine import Engine
from dalembert.run.integrators.ida_solver import Solver
from dalembert.run.integrators.ida_step import (
    BEGIN,
    COLUMNS,
    REVIEW,
    IdaWork,
    ida_interpolate,
    ida_prepare,
    ida_stride,
)
from dalembert.run.integrators.options import check_limits, check_tolerances, settle_atol
from dalembert.run.integrators.sundials import ERROR_TEST_FAILED, sundials
from dalembert.run.residuals.form import POOR, ResidualForm, SettledForm
from dalembert.run.residuals.hiller_anantharaman import HillerAnantharaman
from dalembert.run.status import Status
from dalembert.run.storage import SampleTable
from dalembert.run.time_loop.march import Samples, march
from dalembert.run.time_loop.method import Method

LOST_QUALITY = 1e-4  # quality at which a partition that was given and cannot change is given up

# What SUNDIALS' flags mean here; Newton's method fails (-4) also where values are not finite.
FLAGS = {
    -2: Status.TOO_ACCURATE,
    ERROR_TEST_FAILED: Status.STEP_COLLAPSE,
    -4: Status.NOT_CONVERGED,
    -6: Status.SINGULAR,
    -7: Status.SINGULAR,
    -17: Status.NOT_CONVERGED,
}

_ATTEND = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_double)


@dataclass(frozen=True)
class IDA:
    """BDF of order 1 to `max_order`; error per step below atol + rtol |y| (root mean square over q, u and work).

    Constraints pass the errors of large values on to small ones, so `atol` should not be far below rtol times the usual
    size of coordinates and speeds: the step of a chain of ten links collapses to 1e-6 s with atol = rtol / 100. Without
    it, it is rtol times these sizes, at most 1e-8 of them.
    `form` says how constraints enter: `HillerAnantharaman()`, `PseudoSpeeds()` or `GearGuptaLeimkuhler()`. Multipliers
    are not part of the error test. The constraints hold to about the tolerances; `drift=Projection()`, the default,
    moves the samples - not the integration - onto them, `NoCorrection()` leaves them as they are.
    """

    rtol: float = 1e-10
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
        """False: it solves the equations with their constraints itself."""
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
        """Samples of the motion from z0 over `span`; `stats` counts residuals F (nfev) and Jacobians (njev)."""
        attendant = Attendant(self, engine)
        samples = march(engine, self.method(), z0, span, t_eval, progress, table=table)
        if attendant.raised is not None:
            raise attendant.raised
        samples.stats |= attendant.counts()
        return samples

    def method(self) -> Method:
        """Native functions and settings for the time loop; `run` lays out their workspace."""
        return Method(
            stride=ida_stride,
            prepare=ida_prepare,
            interpolate=ida_interpolate,
            columns=COLUMNS,
            order=self.max_order,
            adaptive=True,
            first_step=self.first_step or 0.0,
            rtol=self.rtol,
            atol=self.settled_atol,
            absolute=self.atol is not None,
            max_steps=self.max_steps,
            name="IDA",
            restarts=True,
            inside=False,
        )

    @property
    def settled_atol(self) -> float:
        """atol as given, else relative to the sizes of coordinates and speeds."""
        return settle_atol(self.rtol, self.atol, (1e-8, 1e-8))[0]


class Attendant:
    """Callback of native code between steps of IDA: begins a run, renews static choices, and explains failures.

    Errors cannot be raised through native code. The run ends instead, and the error to raise then is in `raised`.
    """

    def __init__(self, ida: IDA, engine: Engine) -> None:
        self.ida, self.engine = ida, engine
        self.solvers: dict[str, Solver] = {}
        self.form: SettledForm | None = None
        self.raised: Exception | None = None
        self._called = _ATTEND(self._attend)  # good as long as this object lives
        lib, work = sundials(), engine.work
        self.work, _ = work.part("step_work", IdaWork, {"state": engine.nz}, {})
        self.work.solve, self.work.set_stop, self.work.interpolate = (
            lib.address(name) for name in ("IDASolve", "IDASetStopTime", "IDAGetDky")
        )
        self.work.attend = int(ctypes.cast(self._called, ctypes.c_void_p).value or 0)
        self.work.at, self.work.quality = math.nan, 1.0

    def counts(self) -> dict[str, int]:
        """Cost of the run by name: rejected steps, residuals and Jacobians."""
        every = [solver.counts() for solver in self.solvers.values()]
        nfev, njev, errors, unsolved = (
            sum(counts[name] for counts in every) for name in ("nfev", "njev", "errors", "unsolved")
        )
        return {"rejected": errors + unsolved, "nfev": nfev, "njev": njev}

    def _attend(self, reason: int, flag: int, t: float) -> int:
        state = self.work.state
        z = self.engine.mem[state : state + self.engine.nz].copy()
        try:
            if reason == BEGIN:
                self._begin(self.ida.form.settled(self.engine, t, z), t, z)
                return Status.OK
            return self._review(t, z) if reason == REVIEW else self._explain(flag, t, z)
        except KeyboardInterrupt:
            return Status.INTERRUPTED
        except Exception as error:  # noqa: BLE001 - raised when native code has returned
            self.raised = error
            return Status.REFUSED

    def _begin(self, form: SettledForm, t: float, z: np.ndarray) -> None:
        """Begin at a state with a form whose choices were made there."""
        if form.key not in self.solvers:
            self.solvers[form.key] = Solver(
                self.engine, form, self.ida.rtol, self.ida.settled_atol,
                first_step=self.ida.first_step or 0.0,
                max_step=0.0 if self.ida.max_step in (None, math.inf) else self.ida.max_step,
                order=self.ida.max_order,
            )  # fmt: skip
        self.form = form
        self.solvers[form.key].begin(form, t, z, self.work)
        if form.partition is not None:
            self.engine.partitions.append((t, form.partition))

    def _review(self, t: float, z: np.ndarray) -> int:
        """Begin again if other static choices are better; PARTITION if those that must not change are too bad."""
        if not self._choose_anew(t, z) and self.work.quality < LOST_QUALITY and self._is_fixed:
            return Status.PARTITION
        return Status.OK

    def _choose_anew(self, t: float, z: np.ndarray) -> bool:
        """Whether other static choices are better here; if so, the run has begun again with them."""
        self.work.since = 0
        try:
            form = self.ida.form.settled(self.engine, t, z)
        except OptionError:  # a partition that the user fixed; it may still carry on
            return False
        if self.form is not None and form.choices == self.form.choices:
            return False
        self._begin(form, t, z)
        return True

    @property
    def _is_fixed(self) -> bool:
        return self.form is not None and self.form.fixed

    def _explain(self, flag: int, t: float, z: np.ndarray) -> int:
        """OK if the run goes on with other choices, else why the solver gave up."""
        if self.work.quality < POOR and self.work.since > 0:
            if self._choose_anew(t, z):
                return Status.OK
            if self._is_fixed:
                return Status.PARTITION
        zdot = self.engine.rates(t, z)
        if not np.isfinite(zdot).all():
            return self.engine.unsolved or Status.NOT_FINITE
        return FLAGS.get(flag, Status.REFUSED)

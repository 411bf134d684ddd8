"""`Radau`: the implicit Runge-Kutta method RadauIIA of order 5, for stiff mechanisms and their constraints.

E. Hairer, G. Wanner, "Solving Ordinary Differential Equations II", 2nd ed., sec. IV.8; E. Hairer, C. Lubich, M. Roche,
"The numerical solution of differential-algebraic systems by Runge-Kutta methods" (1989).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cached_property, partial

import casadi as ca
import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.instants import seen_from_before
from dalembert.equations.system import System
from dalembert.errors import PairingError
from dalembert.native.kernel import Kernel
from dalembert.native.precision import EPSILON
from dalembert.run.engine import Engine
from dalembert.run.integrators.options import check_tolerances, settle_atol
from dalembert.run.integrators.radau_step import COLUMNS, radau_interpolate, radau_prepare, radau_step, settle
from dalembert.run.integrators.radau_workspace import RadauWork, lay_out
from dalembert.run.integrators.stepping import Stepping
from dalembert.run.residuals.form import Residual, SettledForm
from dalembert.run.residuals.gear_gupta_leimkuhler import GearGuptaLeimkuhler
from dalembert.run.residuals.linearisation import Linearisation
from dalembert.run.status import Status
from dalembert.run.storage import MemoryTable, SampleTable
from dalembert.run.time_loop.march import Samples, march
from dalembert.run.time_loop.method import Method
from dalembert.solve.sparse_newton import SparseNewton
from dalembert.solve.static_elimination import StaticElimination

NONZEROS_FROM = 700  # variables of a Newton matrix that is factorised over its nonzeros
SETTLING_STEP = 0.01  # of the time in which the motion changes: a step as which states are settled


@dataclass(frozen=True, kw_only=True)
class Radau(Stepping):
    """Error per step about atol + rtol |z| (root mean square over coordinates and speeds), or fixed steps.

    Position and velocity constraints hold to round-off at every step. `form` is the way to write F(t, y, y') = 0; its
    variables must be z = (q, u, work) followed by multipliers. `step` fixes the length of the steps; the tolerances
    then say how far the equations of a step are solved. Coordinates and speeds converge with order 5, multipliers
    within a step with order 3 (Hairer, Lubich and Roche, index 2).
    """

    rtol: float = 1e-8
    atol: float | None = None
    form: SettledForm = field(default_factory=GearGuptaLeimkuhler)

    def __post_init__(self) -> None:
        self.check_lengths()
        check_tolerances("Radau", self.rtol, 1.0 if self.atol is None else self.atol, least=2.3e-15)
        if isinstance(self.form, type) or not callable(getattr(self.form, "residual", None)):
            raise PairingError(
                f"Radau: form={self.form!r} is not a residual form; pass one such as GearGuptaLeimkuhler()"
            )

    @property
    def explicit(self) -> bool:
        """False: it solves the equations of motion with their constraints itself."""
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
        """Samples of the motion from z0 over `span`; `stats` counts Jacobians (njev) and factorisations (nlu) too."""
        work, newton = self.laid_out(engine)
        if t_eval is not None:
            table = Settling(MemoryTable() if table is None else table, self, (engine, newton), (span[0], z0))
        samples = march(engine, self.method(), z0, span, t_eval, progress, table=table)
        samples.stats["njev"], samples.stats["nlu"] = work.n_jacobians, work.n_factors
        if _is_interrupted(newton):
            samples.status = Status.INTERRUPTED
            return samples
        if samples.status == Status.EVENT and t_eval is None:
            self.settle_states(engine, samples.t[-1:], samples.z[-1:])
        for _, t, z in samples.events:
            self.settle_states(engine, np.array([t]), z[None])
        return samples

    def laid_out(self, engine: Engine) -> tuple[RadauWork, StaticElimination | SparseNewton]:
        """Workspace of the native functions, filled in, and the factorisation, which must live as long as they run."""
        linearisation, elimination, rows = self._prepared(engine.system)
        newton = elimination or linearisation.sparse_newton
        return self._lay_out(engine, linearisation, newton, rows), newton

    def settle_states(self, engine: Engine, t: np.ndarray, z: np.ndarray) -> None:
        """Move interpolated states z (n, nz), in place, onto the constraints, which hold to the tolerance only there.

        These are the samples at times asked for, and the states where events occurred.
        """
        rate, work = 1.0 if engine.scales is None else engine.scales.rate, engine.work.parts["step_work"]
        counted = work.n_jacobians, work.n_factors  # of the steps
        settle(engine.plan, engine.mem, self.step or SETTLING_STEP / rate, t, z.reshape(-1), np.zeros(engine.nz))
        work.n_jacobians, work.n_factors = counted

    def method(self) -> Method:
        """The native functions and the settings of the time loop; `run` lays out the workspace they need."""
        return Method(
            step=radau_step,
            prepare=radau_prepare,
            interpolate=radau_interpolate,
            columns=COLUMNS,
            order=4,  # of the error estimate: it is proportional to h^4
            restarts=True,
            **self.settings(*self._tolerances, absolute=self.atol is not None),
        )

    @property
    def _tolerances(self) -> tuple[float, float]:
        """Tolerances (rtol, atol) of the error estimate.

        The estimate is of order 3. With the tolerances as given, steps would be far shorter than the method of order 5
        needs. Hairer and Wanner change them likewise in their code.
        """
        rtol = 0.1 * self.rtol ** (2.0 / 3.0)
        return rtol, rtol * settle_atol(self.rtol, self.atol, (1e-8, 1e-10))[0] / self.rtol

    def _lay_out(
        self,
        engine: Engine,
        linearisation: Linearisation,
        elimination: StaticElimination | SparseNewton,
        rows: Sequence[int],
    ) -> RadauWork:
        """Lists and settings where the native functions find them."""
        kernels = self._kernels(engine.system)
        work = lay_out(engine.work, kernels, linearisation, elimination, rows)
        work.rtol, work.atol = self._tolerances
        # As in the code of Hairer and Wanner: what iterations leave has the same sign in every step, and adds up.
        work.newton_tolerance = max(10.0 * EPSILON / work.rtol, math.sqrt(work.rtol))
        work.keep_jacobian, work.fixed = _worth_keeping(kernels), float(self.step is not None)
        work.iterations = 10.0 if self.step is None else 50.0  # a fixed step cannot be cut instead
        return work

    def _prepared(self, system: System) -> tuple[Linearisation, StaticElimination | None, list[int]]:
        """Derivatives, order of elimination (None: over the nonzeros), rows of `_multiplier_rows`; found once."""
        return system.kept(("Radau", self.form), lambda: _prepare(self.form, system))

    def _kernels(self, system: System) -> tuple[Kernel, ...]:
        linearisation = self._prepared(system)[0]
        return tuple(
            system.derived_kernel(f"Radau {function.name()} {self.form.key}", partial(_itself, function))
            for function in linearisation.functions
        )


def _prepare(form: SettledForm, system: System) -> tuple[Linearisation, StaticElimination | None, list[int]]:
    residual = form.residual(system)
    _check_form(form, residual, system)
    linearisation = Linearisation.of(residual)
    elimination = linearisation.elimination if residual.size < NONZEROS_FROM else None
    return linearisation, elimination, _multiplier_rows(residual, system)


def _multiplier_rows(residual: Residual, system: System) -> list[int]:
    """For each variable after z, the row of the system whose multiplier it is; -1 if it is none."""
    rows = {la.element_hash(): row for row, la in enumerate(ca.vertsplit(system.mechanics.la))}
    return [rows.get(y.element_hash(), -1) for y in ca.vertsplit(residual.y)[residual.state.shape[0] :]]


class Settling:
    """A table that moves rows at requested times onto the constraints before it passes them to another table.

    The block that came last waits until the next one comes, or until the run is over and its engine is free. Blocks
    before it are settled by an engine of their own. The given state is left as it is.
    """

    def __init__(
        self,
        table: SampleTable,
        radau: Radau,
        running: tuple[Engine, StaticElimination | SparseNewton],
        origin: tuple[float, np.ndarray],
    ) -> None:
        self._table, self._radau, self._running, self._origin = table, radau, running, origin
        self._last: tuple[int, np.ndarray, np.ndarray] | None = None

    @cached_property
    def _second(self) -> tuple[Engine, StaticElimination | SparseNewton]:
        """Engine that continues from the choices of the running one, and its factorisation."""
        running = self._running[0]
        engine = Engine(running.system, running.parameters, running.formulation, running.drift, running.columns)
        engine.resume(running.facts(self._origin))
        return engine, self._radau.laid_out(engine)[1]

    def put(self, first: int, *blocks: np.ndarray) -> None:
        """Take a block of rows."""
        if self._last is not None and self._last[0] < first:
            engine, newton = self._second
            self._hand_on(engine)
            if _is_interrupted(newton):  # before the block was put away: it will be put here again
                del self._second
                raise KeyboardInterrupt
        self._last = first, blocks[0], blocks[1]

    def _hand_on(self, engine: Engine) -> None:
        """Settle the last block by an engine, and pass it to the table."""
        if self._last is None:
            return
        first, t, z = self._last
        given = int(np.searchsorted(t, self._origin[0], side="right"))
        if given < len(t):
            states = z[given:].copy()
            times = seen_from_before(engine.system, engine.parameters, self._origin[0], t[given:])
            self._radau.settle_states(engine, times, states)
            z = np.concatenate([z[:given], states])
        self._table.put(first, t, z)

    def joined(self) -> tuple[np.ndarray, ...]:
        """The rows that are there; the run is over."""
        engine, newton = self._running
        if not _is_interrupted(newton):
            self._hand_on(engine)
        if self._last is not None and _is_interrupted(newton):
            self._table.put(*self._last)
        self._last = None
        return self._table.joined()

    def __len__(self) -> int:
        return len(self._table)


def _is_interrupted(newton: StaticElimination | SparseNewton) -> bool:
    """True if Ctrl-C came during a factorisation; results computed with it are NaN."""
    return isinstance(newton, SparseNewton) and newton.interrupted


def _itself(function: ca.Function) -> ca.Function:
    return function


def _worth_keeping(kernels: tuple[Kernel, ...]) -> float:
    """Rate of convergence up to which an old Jacobian serves: more if a new one costs many iterations."""
    cost = [k.instructions * (1.0 if k.backend == "native" else 10.0) for k in kernels]
    return 0.1 if cost[1] > 10.0 * cost[0] else 1e-3


def _check_form(form: SettledForm, residual: Residual, system: System) -> None:
    """Raise `PairingError` if y does not start with z = (q, u, work), all of it differential, all else algebraic."""
    nz = system.nq + system.nu + int(system.works)
    leading = residual.state.shape[0] == nz and all(
        ca.is_equal(residual.state[k], residual.y[k]) for k in range(nz)
    )  # fmt: skip
    if not (leading and (residual.differential == (np.arange(residual.size) < nz)).all()):
        raise PairingError(
            f"Radau cannot use form={form!r}: its variables are not (q, u, work) followed by multipliers; use "
            "GearGuptaLeimkuhler(), or another integrator for this form"
        )

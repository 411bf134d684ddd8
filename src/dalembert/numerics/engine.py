"""Runs native loops for one system: lays out the arrays, composes the ingredients, hands chunks of output to Python."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

import casadi as ca
import numpy as np

from dalembert.equations.native import Kernel
from dalembert.equations.system import System
from dalembert.errors import OptionError
from dalembert.numerics import layout
from dalembert.numerics.drift.no_correction import leave
from dalembert.numerics.equations import Equations, motion_function
from dalembert.numerics.evaluate import rates, sample
from dalembert.numerics.formulations.choice import Choice
from dalembert.numerics.formulations.lagrange_multipliers import LagrangeMultipliers, accelerate_pivoted
from dalembert.numerics.integrators import advance as loop
from dalembert.numerics.integrators.method import Method
from dalembert.numerics.link import address_of
from dalembert.numerics.status import MORE, OK, Status

CHUNK = 4096  # samples per buffer when every step is stored
MOST_STEPS = 10_000_000  # per slice, however fast they are
PATIENCE = 200  # steps before a choice that could not be bettered is questioned again
SLICE = 0.05  # seconds of native work between two looks at the clock and at Ctrl-C


class Formulation(Protocol):
    """A way of writing the equations: gives the native function that finds the accelerations."""

    def choose(self, system: System, M: np.ndarray, A: np.ndarray) -> Choice | None: ...

    def unroll(self, equations: Equations, choice: Any) -> tuple[ca.SX, ca.SX, ca.SX] | None: ...

    def workspace(self, nu: int, nc: int) -> int: ...

    def accelerator(self, *, ideal: bool, unrolled: bool) -> Any: ...


class Drift(Protocol):
    """A way of keeping the constraints: feedback into b before a solve, correction of a state after a step."""

    @property
    def options(self) -> np.ndarray: ...

    def kernels(self, system: System) -> dict[int, Kernel | None]: ...

    def feedback(self) -> Any: ...

    def corrector(self) -> Any: ...


class Integrator(Protocol):
    """A way of stepping through time."""

    def method(self) -> Method: ...


@dataclass
class Samples:
    """What a run leaves: times (nt,), states z = (q, u, work) (nt, nz), how it ended and what it cost."""

    t: np.ndarray
    z: np.ndarray
    status: Status
    stats: dict[str, int]


@dataclass(frozen=True)
class Evaluation:
    """Everything computed at samples: u' (nt, nu), la (nt, nc), residuals by level, energies, solve quality (nt,)."""

    udot: np.ndarray
    multipliers: np.ndarray
    phi: np.ndarray
    psi: np.ndarray
    acceleration: np.ndarray
    kinetic: np.ndarray
    potential: np.ndarray
    balance: np.ndarray
    condition: np.ndarray


class Engine:
    """One system with parameter values, a formulation and a drift control, ready to run. Not shared between threads."""

    def __init__(self, system: System, parameters: np.ndarray, formulation: Formulation, drift: Drift) -> None:
        self.system, self.parameters = system, parameters
        self.size = system.nq + system.nu
        self.nz = self.size + int(system.works)
        sizes = {
            "nq": system.nq, "nu": system.nu, "np": system.count("position"), "nv": system.count("velocity"),
            "nc": system.nc, "ni": len(system.invariants), "works": int(system.works), "ideal": int(system.ideal),
            "friction": int(system.friction), "curved": system.curved,
        }  # fmt: skip
        self.plan, self.mem = layout.lay_out(sizes, len(parameters), system.kernel("dynamics").n_out, drift.options)
        for key, name in (
            (layout.DYNAMICS, "dynamics"), (layout.RESIDUAL, "residual"), (layout.DISPLACEMENT, "displacement"),
            (layout.INVARIANT, "invariant"), (layout.ENERGY, "energy"),
        ):  # fmt: skip
            self.plan[key] = system.kernel(name).address
        self.plan[layout.NEWTON] = system.kernel("newton").address if system.curved else 0
        self.plan[layout.WORK] = len(self.mem)
        self.mem = np.concatenate([self.mem, np.zeros(formulation.workspace(system.nu, system.nc))])
        for key, kernel in drift.kernels(system).items():
            self.plan[key] = 0 if kernel is None else kernel.address
        first = self.plan[layout.XU] + system.nu
        self.mem[first : first + len(parameters)] = parameters
        self.formulation, self.drift = formulation, drift
        self.choice: Choice | None = None
        self.choices: list[tuple[float, Choice | None]] = []
        self.correct = drift.corrector()
        for key, function in (
            (layout.ACCELERATE, formulation.accelerator(ideal=system.ideal, unrolled=False)),
            (layout.FEEDBACK, drift.feedback()),
            (layout.CORRECT, self.correct),
        ):
            self.plan[key] = address_of(function)

    def choose(self, t: float, z: np.ndarray) -> None:
        """Make the static choices of the formulation at a state, and the motion kernel that goes with them."""
        system = self.system
        self.plan[layout.STALE] = -PATIENCE
        if not system.ideal:
            return
        out = system.evaluate("dynamics", t, z[: system.nq], z[system.nq : self.size], self.parameters)
        parts = system.parts
        M, A = (out[parts[name][0]].reshape(parts[name][1]) for name in ("mass_matrix", "constraint_jacobian"))
        if not (np.isfinite(M).all() and np.isfinite(A).all()):
            return
        choice = self.formulation.choose(system, M, A)
        if choice == self.choice and self.choices:
            return
        self.plan[layout.STALE], self.choice = 0, choice
        self.choices.append((t, choice))
        motion = None
        if self.drift.feedback() is leave:
            motion = system.derived_kernel(
                f"motion {self.formulation!r} {choice!r}",
                lambda: motion_function(system, self.formulation.unroll, choice),
            )
        self.plan[layout.MOTION] = 0 if motion is None else motion.address
        self.plan[layout.ACCELERATE] = address_of(
            self.formulation.accelerator(ideal=system.ideal, unrolled=motion is not None)
        )

    @property
    def substituted(self) -> bool:
        """Whether the formulation is too long to unroll here, so that the pivoted saddle solve stands in for it."""
        pivoted = self.plan[layout.ACCELERATE] == address_of(accelerate_pivoted)
        return bool(pivoted and not isinstance(self.formulation, LagrangeMultipliers))

    @property
    def unsolved(self) -> Status:
        """Why the last evaluation found no accelerations; OK if it did."""
        return Status(int(self.plan[layout.UNSOLVED]))

    def rates(self, t: float, z: np.ndarray) -> np.ndarray:
        """(q', u', power) at one state, (nz,)."""
        if not self.choices:
            self.choose(t, z)
        zdot = np.zeros(self.nz)
        rates(self.plan, self.mem, t, np.ascontiguousarray(z, dtype=float), zdot)
        return zdot

    def corrected(self, t: float, z: np.ndarray) -> tuple[np.ndarray, Status]:
        """The state brought onto the constraints by the drift control, and how that went."""
        moved = np.array(z, dtype=float)
        return moved, Status(self.correct(self.plan, self.mem, t, moved))

    def evaluate(self, t: np.ndarray, z: np.ndarray) -> Evaluation:
        """Accelerations, multipliers, residuals and energies at samples t (nt,), z (nt, nz)."""
        s = self.system
        if not self.choices and len(t):
            self.choose(float(t[0]), z[0])
        n_p, n_v = s.count("position"), s.count("velocity")
        widths = [s.nu, s.nc, n_p, n_p + n_v, s.nc, 1, 1, 1, 1]
        out = np.zeros((len(t), sum(widths)))
        flat = np.ascontiguousarray(z, dtype=float).ravel()
        times = np.ascontiguousarray(t, dtype=float)
        used = self.plan[layout.ACCELERATE]
        if self.choice is not None and len(self.choice.rows) < s.nc:  # redundant: the least multipliers, not any
            self.plan[layout.ACCELERATE] = address_of(accelerate_pivoted)
        sample(self.plan, self.mem, times, flat, out.reshape(-1))
        self.plan[layout.ACCELERATE] = used
        blocks = np.split(out, np.cumsum(widths)[:-1], axis=1)
        return Evaluation(*blocks[:5], *(b[:, 0] for b in blocks[5:]))

    def run(
        self,
        z0: np.ndarray,
        span: tuple[float, float],
        integrator: Integrator,
        t_eval: np.ndarray | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Samples:
        """Integrate from z0 over `span`; stores `t_eval`, or every step. Ctrl-C keeps what is there."""
        method = integrator.method()
        if not self.choices:
            self.choose(span[0], z0)
        for key, function in (
            (layout.STEP, method.step),
            (layout.PREPARE, method.prepare),
            (layout.INTERPOLATE, method.interpolate),
        ):
            self.plan[key] = address_of(function)
        run = _Run(self, method, z0, span, t_eval)
        self.plan[layout.UNSOLVED] = 0
        status = run.start()
        try:
            while status == MORE:
                status = run.slice()
                if self.plan[layout.STALE] > 0:
                    # A partition given by the user may fail on the way: the pivoted solve carries on.
                    with suppress(OptionError):
                        self.choose(float(run.clock[loop.T]), run.z)
                if progress is not None:
                    progress(float(run.clock[loop.T]))
        except KeyboardInterrupt:
            run.collect()
            status = Status.INTERRUPTED
        if status == Status.NOT_FINITE and self.unsolved:
            status = self.unsolved
        return run.finish(status)


class _Run:
    """The explicit state of one integration."""

    def __init__(
        self, engine: Engine, method: Method, z0: np.ndarray, span: tuple[float, float], t_eval: np.ndarray | None
    ) -> None:
        self.engine, self.method = engine, method
        self.z, self.znew, self.zdot, self.stages = (
            np.zeros(columns * engine.nz + layout.LANES)[: columns * engine.nz] for columns in (1, 1, 1, method.stages)
        )
        self.z[: engine.size] = z0[: engine.size]  # the work done starts at zero
        self.clock, self.count = np.zeros(loop.CLOCK_SIZE), np.zeros(loop.COUNT_SIZE, dtype=np.int64)
        t0, t1 = span
        self.clock[[loop.T, loop.T_START, loop.T_END]] = t0, t0, t1
        self.clock[[loop.H, loop.RTOL, loop.ATOL]] = method.first_step, method.rtol, method.atol
        self.clock[loop.H_MAX] = min(method.max_step, t1 - t0)
        self.clock[loop.H_MIN] = 16.0 * np.finfo(float).eps * max(abs(t0), abs(t1))
        self.clock[[loop.EXPONENT, loop.LAST_ERROR]] = 1.0 / method.order, 1.0
        self.count[[loop.ALLOWED, loop.ADAPTIVE]] = method.max_steps, int(method.adaptive)
        self.t_eval = np.zeros(0) if t_eval is None else np.ascontiguousarray(t_eval, dtype=float)
        capacity = CHUNK if t_eval is None else len(self.t_eval)
        self.ts, self.zs = np.zeros(capacity), np.zeros(capacity * engine.nz)
        self.chunks: list[tuple[np.ndarray, np.ndarray]] = []
        self.budget = 64
        self._keep_start()

    def _keep_start(self) -> None:
        """The first sample is the given state itself, if it is asked for."""
        wanted = len(self.t_eval) == 0
        while self.count[loop.NEXT] < len(self.t_eval) and self.t_eval[self.count[loop.NEXT]] <= self.clock[loop.T]:
            self.count[loop.NEXT] += 1
            wanted = True
        if wanted:
            self.chunks.append((self.clock[[loop.T]].copy(), self.z[None].copy()))

    def start(self) -> int:
        """Rates at the start and the first step length; MORE if there is something to do."""
        e = self.engine
        e.plan[layout.NFEV] = 0
        status = loop.start(
            e.plan, e.mem, self.clock, self.count, self.z, self.znew, self.zdot, self.stages, e.size, self.method.order,
        )  # fmt: skip
        return MORE if status == OK else status

    def slice(self) -> int:
        """Advance for about `SLICE` seconds, or until the buffer is full; collects what was stored."""
        e = self.engine
        begin = time.perf_counter()
        status = loop.advance(
            e.plan, e.mem, self.clock, self.count, self.z, self.znew, self.zdot, self.stages, self.t_eval, self.ts,
            self.zs, self.budget,
        )  # fmt: skip
        seconds = time.perf_counter() - begin
        self.budget = int(np.clip(self.budget * SLICE / max(seconds, 1e-6), 16, min(4 * self.budget, MOST_STEPS)))
        self.collect()
        return int(status)

    def collect(self) -> None:
        """Copy stored samples out of the buffer."""
        n = int(self.count[loop.STORED])
        if n:
            self.chunks.append((self.ts[:n].copy(), self.zs[: n * self.engine.nz].reshape(n, -1).copy()))
        self.count[loop.STORED] = 0

    def finish(self, status: int) -> Samples:
        """All samples and the cost."""
        stats = {
            "steps": int(self.count[loop.ACCEPTED]),
            "rejected": int(self.count[loop.REJECTED]),
            "nfev": int(self.engine.plan[layout.NFEV]),
        }
        empty = (np.zeros(0), np.zeros((0, self.engine.nz)))
        t, z = (np.concatenate(parts) for parts in zip(empty, *self.chunks, strict=True))
        fresh = np.diff(t, prepend=-np.inf) > 0.0  # Ctrl-C can make a chunk be collected twice
        return Samples(t[fresh], z[fresh], Status(status), stats)

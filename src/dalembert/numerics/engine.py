"""One system ready for native code: the arrays laid out, a formulation and a drift control composed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable
from weakref import WeakKeyDictionary

import casadi as ca
import numpy as np

from dalembert.equations.native import Kernel
from dalembert.equations.system import System
from dalembert.errors import ArrayError
from dalembert.native.workspace import Workspace
from dalembert.numerics.drift.start import Start
from dalembert.numerics.equations import Equations, Feedback, feedback_function, motion_function
from dalembert.numerics.evaluate import feed_back, leave, rates, sample, violation
from dalembert.numerics.formulations.choice import RECHOOSE, Choice
from dalembert.numerics.formulations.lagrange_multipliers import LagrangeMultipliers, accelerate_pivoted
from dalembert.numerics.integrators.march import Samples
from dalembert.numerics.integrators.method import Method
from dalembert.numerics.layout import lay_out
from dalembert.numerics.status import Status

PATIENCE = 200  # steps before a choice that could not be bettered is questioned again


class Formulation(Protocol):
    """A way of writing the equations: gives the native function that finds the accelerations."""

    def choose(self, system: System, M: np.ndarray, A: np.ndarray) -> Choice | None: ...

    def unroll(self, equations: Equations, choice: Any) -> tuple[ca.SX, ca.SX, ca.SX] | None: ...

    def workspace(self, nu: int, nc: int) -> int: ...

    def accelerator(self, *, ideal: bool, unrolled: bool) -> Any: ...


class Drift(Protocol):
    """A way of keeping the constraints: feedback into b before a solve, correction of a state after a step.

    `options` are numbers for native code, always as many; `start` is None before a run is known. `kernels` go to the
    fields of the plan of their names, `workspace` floats are found at plan.work. `feedback` is a graph, made part of
    the motion kernel and of a kernel for solves that are not unrolled. `corrector` is a native function. `remark` is
    what the certificate should add to the options given by the user, such as numbers chosen by itself.
    """

    def options(self, system: System, start: Start | None) -> np.ndarray: ...

    def kernels(self, system: System) -> dict[str, Kernel | None]: ...

    def workspace(self, system: System) -> int: ...

    def feedback(self, system: System) -> Feedback | None: ...

    def corrector(self) -> Any: ...

    def remark(self, system: System, start: Start | None, mean_step: float) -> str: ...


class Integrator(Protocol):
    """A way through time. `explicit`: it integrates u' as any formulation gives it, with any drift control.

    Others solve the equations with their constraints by themselves and keep them; see `simulate.pair`.
    """

    @property
    def explicit(self) -> bool: ...

    def run(
        self,
        engine: Engine,
        z0: np.ndarray,
        span: tuple[float, float],
        t_eval: np.ndarray | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Samples: ...


@runtime_checkable
class OneStep(Integrator, Protocol):
    """An integrator whose `run` is `march` with its `method`; only these look out for events."""

    def method(self) -> Method: ...


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


@dataclass
class Blueprint:
    """What all engines of one system, formulation and drift control have in common: the arrays as laid out, addresses.

    `choice`, with the addresses that go with it, is the last static choice with every constraint in it; the next engine
    starts from it, since a motion mostly starts where the last one did, and makes another if it is not good there.
    """

    work: Workspace
    correct: Any
    feedback: Any
    choice: tuple[Choice | None, int, int] | None = None


_BLUEPRINTS: WeakKeyDictionary[System, dict[Any, Blueprint]] = WeakKeyDictionary()


def blueprint_of(system: System, formulation: Formulation, drift: Drift) -> Blueprint:
    """The blueprint, drawn when first asked for."""
    drawn = _BLUEPRINTS.setdefault(system, {})
    key = (formulation, drift)
    try:
        found = drawn.get(key)
    except TypeError:  # options that are lists or arrays cannot be looked up
        return _draw(system, formulation, drift)
    if found is None:
        found = drawn[key] = _draw(system, formulation, drift)
    return found


def _draw(system: System, formulation: Formulation, drift: Drift) -> Blueprint:
    sizes = {
        "nq": system.nq, "nu": system.nu, "np": system.count("position"), "nv": system.count("velocity"),
        "nc": system.nc, "ni": len(system.invariants), "works": int(system.works), "ideal": int(system.ideal),
        "friction": int(system.friction), "curved": system.curved,
    }  # fmt: skip
    options = drift.options(system, None)
    n_out = system.kernel("dynamics").n_out
    work = lay_out(sizes, len(system.parameters), n_out, options)
    plan = work.plan
    for name in ("dynamics", "residual", "displacement", "invariant", "energy"):
        setattr(plan, name, system.kernel(name).address)
    plan.newton = system.kernel("newton").address if system.curved else 0
    room = max(formulation.workspace(system.nu, system.nc), drift.workspace(system))  # never in use together
    work.reserve(plan, {"work": room})
    for name, kernel in drift.kernels(system).items():
        setattr(plan, name, 0 if kernel is None else kernel.address)
    correct, feedback = drift.corrector(), drift.feedback(system)
    if feedback is not None:
        reading = system.derived_kernel(f"feedback {feedback.name}", lambda: feedback_function(system, feedback))
        plan.feedback_kernel = reading.address
    plan.accelerate = formulation.accelerator(ideal=system.ideal, unrolled=False).address
    plan.feedback = (leave if feedback is None else feed_back).address
    plan.correct = correct.address
    return Blueprint(work, correct, feedback)


class Engine:
    """One system with parameter values, a formulation and a drift control, ready to run. Not shared between threads."""

    def __init__(self, system: System, parameters: np.ndarray, formulation: Formulation, drift: Drift) -> None:
        self.system, self.parameters = system, parameters
        self.size = system.nq + system.nu
        self.nz = self.size + int(system.works)
        self.formulation, self.drift = formulation, drift
        self.blueprint = blueprint_of(system, formulation, drift)
        self.work = self.blueprint.work.copied()
        self.plan = self.work.plan
        self.correct, self.feedback = self.blueprint.correct, self.blueprint.feedback
        first = self.plan.xu + system.nu
        self.mem[first : first + len(parameters)] = parameters
        self.choice: Choice | None = None
        self.choices: list[tuple[float, Choice | None]] = []
        self.started: Start | None = None
        self.notes: list[str] = []  # what was chosen on the way, and why

    def begin(self, t: float, z: np.ndarray, **stepping: Any) -> None:
        """Tell the drift control where and how a run starts, see `Start`; it may refuse."""
        q, u = z[: self.system.nq], z[self.system.nq : self.size]
        self.started = Start(t, q, u, self.parameters, **stepping)
        options = self.drift.options(self.system, self.started)
        first = self.plan.options
        self.mem[first : first + len(options)] = options
        self.plan.unsolved = 0

    def choose(self, t: float, z: np.ndarray) -> None:
        """Make the static choices of the formulation at a state, and the motion kernel that goes with them."""
        system = self.system
        self.plan.stale = -PATIENCE
        if not system.ideal or self._recall(t, z):
            return
        out = system.evaluate("dynamics", t, z[: system.nq], z[system.nq : self.size], self.parameters)
        parts = system.parts
        M, A = (out[parts[name][0]].reshape(parts[name][1]) for name in ("mass_matrix", "constraint_jacobian"))
        if not (np.isfinite(M).all() and np.isfinite(A).all()):
            return
        choice = self.formulation.choose(system, M, A)
        if choice == self.choice and self.choices:
            return
        self.plan.stale, self.choice = 0, choice
        self.choices.append((t, choice))
        with_feedback = "" if self.feedback is None else f" {self.feedback.name}"
        motion = system.optional_kernel(
            f"motion {self.formulation!r} {choice!r}{with_feedback}",
            lambda: motion_function(system, self.formulation.unroll, choice, self.feedback),
        )
        self.plan.motion = 0 if motion is None else motion.address
        self.plan.accelerate = self.formulation.accelerator(ideal=system.ideal, unrolled=motion is not None).address
        if motion is not None and (choice is None or len(choice.rows) == system.nc):
            self.blueprint.choice = choice, int(self.plan.motion), int(self.plan.accelerate)

    def _recall(self, t: float, z: np.ndarray) -> bool:
        """Start from the last choice that was made with this blueprint, if it is a good one here."""
        if self.choices or self.blueprint.choice is None:
            return False
        choice, motion, accelerate = self.blueprint.choice
        usual = self.plan.accelerate
        self.plan.motion, self.plan.accelerate = motion, accelerate
        rates(self.plan, self.mem, t, np.ascontiguousarray(z, dtype=float), np.zeros(self.nz))
        if not self.mem[self.plan.quality] > RECHOOSE:
            self.plan.motion, self.plan.accelerate = 0, usual
            return False
        self.plan.stale, self.choice = 0, choice
        self.choices.append((t, choice))
        return True

    @property
    def mem(self) -> np.ndarray:
        """The floats native code works on."""
        return self.work.mem

    @property
    def substituted(self) -> bool:
        """Whether the formulation is too long to unroll here, so that the pivoted saddle solve stands in for it."""
        pivoted = self.plan.accelerate == accelerate_pivoted.address
        return bool(pivoted and not isinstance(self.formulation, LagrangeMultipliers))

    @property
    def unsolved(self) -> Status:
        """Why the last evaluation found no accelerations; OK if it did."""
        return Status(int(self.plan.unsolved))

    def rates(self, t: float, z: np.ndarray) -> np.ndarray:
        """(q', u', power) at one state, (nz,)."""
        if not self.choices:
            self.choose(t, z)
        zdot = np.zeros(self.nz)
        rates(self.plan, self.mem, t, np.ascontiguousarray(z, dtype=float), zdot)
        return zdot

    def violation(self, t: float, z: np.ndarray) -> float:
        """The largest residual of a position or velocity constraint at one state."""
        if z.shape != (self.size,):
            raise ArrayError(f"a state of `{self.system.name}` holds {self.size} values (q, u), got shape {z.shape}")
        return float(violation(self.plan, self.mem, t, np.ascontiguousarray(z, dtype=float)))

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
        used = self.plan.accelerate
        if self.choice is not None and len(self.choice.rows) < s.nc:  # redundant: the least multipliers, not any
            self.plan.accelerate = accelerate_pivoted.address
        sample(self.plan, self.mem, times, flat, out.reshape(-1))
        self.plan.accelerate = used
        blocks = np.split(out, np.cumsum(widths)[:-1], axis=1)
        return Evaluation(*blocks[:5], *(b[:, 0] for b in blocks[5:]))

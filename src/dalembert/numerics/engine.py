"""One system ready for native code: the arrays laid out, a formulation and a drift control composed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable
from weakref import WeakKeyDictionary

import casadi as ca
import numpy as np

from dalembert.equations.native import Kernel
from dalembert.equations.system import System
from dalembert.errors import ArrayError
from dalembert.numerics import layout
from dalembert.numerics.drift.start import Start
from dalembert.numerics.equations import Equations, Feedback, feedback_function, motion_function
from dalembert.numerics.evaluate import feed_back, leave, rates, sample, violation
from dalembert.numerics.formulations.choice import RECHOOSE, Choice
from dalembert.numerics.formulations.lagrange_multipliers import accelerate_pivoted
from dalembert.numerics.integrators.march import Samples
from dalembert.numerics.integrators.method import Method
from dalembert.numerics.link import address_of
from dalembert.numerics.status import Status

PATIENCE = 200  # steps before a choice that could not be bettered is questioned again
# How far ahead to look, relative to q, where constraints are dependent. In a singular position pivots grow with the
# distance, beyond RANK_TOLERANCE; those of redundant constraints with its square, as a straight step leaves them.
AHEAD = 1e-5


class Formulation(Protocol):
    """A way of writing the equations: how u' and la follow from M, f, A, b.

    1. `choose` makes the static choice at a state, from numbers; None if there is nothing to choose.
    2. `unroll` writes u', la and the quality of the solve as graphs for that choice; None if they would be too long.
    3. `accelerator` is the native function that leaves q', u', power, la and quality in mem: where `unrolled` it calls
       the motion kernel made of the graphs, else it does the same in loops, which read the choice from plan. It raises
       `PairingError` if it cannot do that, or if reactions are not `ideal` and it needs them to be.
    4. `workspace` says how many floats, found at plan[WORK], and integers, at plan[WORK_INTS], the loops need.
    """

    def choose(self, system: System, M: np.ndarray, A: np.ndarray) -> Choice | None: ...

    def unroll(self, equations: Equations, choice: Any) -> tuple[ca.SX, ca.SX, ca.SX] | None: ...

    def workspace(self, nu: int, nc: int) -> tuple[int, int]: ...

    def accelerator(self, *, ideal: bool, unrolled: bool) -> Any: ...


class Drift(Protocol):
    """A way of keeping the constraints: feedback into b before a solve, correction of a state after a step.

    `options` are numbers for native code, always as many; `start` is None before a run is known. `kernels` go to their
    places in plan, `workspace` floats are found at plan[WORK]. `feedback` is a graph, made part of the motion kernel
    and of a kernel for solves that are not unrolled. `corrector` is a native function. `remark` is what the
    certificate should add to the options given by the user, such as numbers chosen by itself.
    """

    def options(self, system: System, start: Start | None) -> np.ndarray: ...

    def kernels(self, system: System) -> dict[int, Kernel | None]: ...

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


class Fallbacks(NamedTuple):
    """Evaluations that the pivoted saddle solve did in the place of the formulation: how many, and between when."""

    evaluations: int
    first: float
    last: float


@dataclass
class Blueprint:
    """What all engines of one system, formulation and drift control have in common: the arrays as laid out, addresses.

    `choice`, with the addresses that go with it, is the last static choice with every constraint in it; the next engine
    starts from it, since a motion mostly starts where the last one did, and makes another if it is not good there.
    """

    plan: np.ndarray
    mem: np.ndarray
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
    plan, mem = layout.lay_out(sizes, len(system.parameters), n_out, options)
    for key, name in (
        (layout.DYNAMICS, "dynamics"), (layout.RESIDUAL, "residual"), (layout.DISPLACEMENT, "displacement"),
        (layout.INVARIANT, "invariant"), (layout.ENERGY, "energy"),
    ):  # fmt: skip
        plan[key] = system.kernel(name).address
    plan[layout.NEWTON] = system.kernel("newton").address if system.curved else 0
    plan[layout.WORK] = len(mem)
    plan[layout.WORK_INTS] = len(plan)
    floats, ints = formulation.workspace(system.nu, system.nc)
    mem = np.concatenate([mem, np.zeros(max(floats, drift.workspace(system)))])  # never in use together
    plan = np.concatenate([plan, np.zeros(ints, dtype=plan.dtype)])
    for key, kernel in drift.kernels(system).items():
        plan[key] = 0 if kernel is None else kernel.address
    correct, feedback = drift.corrector(), drift.feedback(system)
    if feedback is not None:
        reading = system.derived_kernel(f"feedback {feedback.name}", lambda: feedback_function(system, feedback))
        plan[layout.FEEDBACK_KERNEL] = reading.address
    for key, function in (
        # Until a choice is made, see `Engine.choose`; there is none if reactions are not ideal.
        (
            layout.ACCELERATE,
            accelerate_pivoted if system.ideal else formulation.accelerator(ideal=False, unrolled=False),
        ),
        (layout.FEEDBACK, leave if feedback is None else feed_back),
        (layout.CORRECT, correct),
    ):
        plan[key] = address_of(function)
    return Blueprint(plan, mem, correct, feedback)


class Engine:
    """One system with parameter values, a formulation and a drift control, ready to run. Not shared between threads."""

    def __init__(self, system: System, parameters: np.ndarray, formulation: Formulation, drift: Drift) -> None:
        self.system, self.parameters = system, parameters
        self.size = system.nq + system.nu
        self.nz = self.size + int(system.works)
        self.formulation, self.drift = formulation, drift
        self.blueprint = blueprint_of(system, formulation, drift)
        self.plan, self.mem = self.blueprint.plan.copy(), self.blueprint.mem.copy()
        self.correct, self.feedback = self.blueprint.correct, self.blueprint.feedback
        first = self.plan[layout.XU] + system.nu
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
        first = self.plan[layout.OPTIONS]
        self.mem[first : first + len(options)] = options
        self.plan[layout.UNSOLVED] = 0

    def choose(self, t: float, z: np.ndarray) -> None:
        """Make the static choices of the formulation at a state, and the motion kernel that goes with them."""
        system = self.system
        self.plan[layout.STALE] = -PATIENCE
        if not system.ideal or self._recall(t, z):
            return
        M, A = self._matrices(t, z)
        if not (np.isfinite(M).all() and np.isfinite(A).all()):
            return
        choice = self.formulation.choose(system, M, A)
        if choice is not None and len(choice.rows) < system.nc:
            choice = self._chosen_ahead(choice, t, z)
        if choice == self.choice and self.choices:
            return
        with_feedback = "" if self.feedback is None else f" {self.feedback.name}"
        motion = system.optional_kernel(
            f"motion {self.formulation!r} {choice!r}{with_feedback}",
            lambda: motion_function(system, self.formulation.unroll, choice, self.feedback),
        )
        accelerate = address_of(self.formulation.accelerator(ideal=system.ideal, unrolled=motion is not None))
        made = choice, 0 if motion is None else motion.address, accelerate
        self._use(t, *made)
        if choice is None or len(choice.rows) == system.nc:
            self.blueprint.choice = made

    def _matrices(self, t: float, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """M (nu, nu) and A (nc, nu) at a state."""
        s, parts = self.system, self.system.parts
        out = s.evaluate("dynamics", t, z[: s.nq], z[s.nq : self.size], self.parameters)
        M, A = (out[parts[name][0]].reshape(parts[name][1]) for name in ("mass_matrix", "constraint_jacobian"))
        return M, A

    def _chosen_ahead(self, here: Choice, t: float, z: np.ndarray) -> Choice:
        """The choice a little further along the motion, if more constraints are independent there; else `here`.

        Constraints left out in a singular position, where a motion may start, would be missed as soon as it is left.
        """
        nq, zdot = self.system.nq, np.zeros(self.nz)
        ahead = np.array(z, dtype=float)
        for _ in range(2):  # from rest the second direction is that of the accelerations
            rates(self.plan, self.mem, t, ahead, zdot)
            ahead[nq : self.size] += AHEAD * zdot[nq : self.size]
        length = float(np.linalg.norm(zdot[:nq]))
        if not 0.0 < length < np.inf:
            return here
        ahead[:nq] = z[:nq] + AHEAD * (1.0 + float(np.linalg.norm(z[:nq]))) / length * zdot[:nq]
        M, A = self._matrices(t, ahead)
        if not (np.isfinite(M).all() and np.isfinite(A).all()):
            return here
        there = self.formulation.choose(self.system, M, A)
        return there if there is not None and len(there.rows) > len(here.rows) else here

    def _use(self, t: float, choice: Choice | None, motion: int, accelerate: int) -> None:
        """Go on from time t with a choice, the motion kernel and the accelerator that go with it."""
        self._install(choice, motion, accelerate)
        self.plan[layout.STALE], self.choice = 0, choice
        self.choices.append((t, choice))

    def _install(self, choice: Choice | None, motion: int, accelerate: int) -> None:
        self.plan[layout.MOTION], self.plan[layout.ACCELERATE] = motion, accelerate
        if choice is not None:
            choice.write(self.plan, self.system.nu)

    def _recall(self, t: float, z: np.ndarray) -> bool:
        """Start from the last choice that was made with this blueprint, if it is a good one here."""
        if self.choices or self.blueprint.choice is None:
            return False
        usual = int(self.plan[layout.ACCELERATE])
        self._install(*self.blueprint.choice)
        rates(self.plan, self.mem, t, np.ascontiguousarray(z, dtype=float), np.zeros(self.nz))
        good = self.fallbacks.evaluations == 0 and self.mem[self.plan[layout.QUALITY]] > RECHOOSE
        self.plan[layout.FALLBACKS] = 0
        if not good:
            self._install(None, 0, usual)
            return False
        self._use(t, *self.blueprint.choice)
        return True

    def reserve(self, floats: int, ints: int) -> None:
        """Make room at the ends of mem and plan for the workspace of an integrator: STEP_FLOATS, STEP_INTS."""
        if not (floats or ints):
            return
        for key, count, name in ((layout.STEP_FLOATS, floats, "mem"), (layout.STEP_INTS, ints, "plan")):
            array = getattr(self, name)
            if not self.plan[key]:
                self.plan[key] = len(array)
            lacking = int(self.plan[key]) + count - len(array)
            if lacking > 0:
                setattr(self, name, np.concatenate([array, np.zeros(lacking, dtype=array.dtype)]))

    @property
    def fallbacks(self) -> Fallbacks:
        """What the pivoted saddle solve did in the place of the formulation, since the engine was made."""
        first, last = self.mem[self.plan[layout.FALLBACK_TIMES] :][:2]
        return Fallbacks(int(self.plan[layout.FALLBACKS]), float(first), float(last))

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
        used = self.plan[layout.ACCELERATE]
        if self.choice is not None and len(self.choice.rows) < s.nc:  # redundant: the least multipliers, not any
            self.plan[layout.ACCELERATE] = address_of(accelerate_pivoted)
        sample(self.plan, self.mem, times, flat, out.reshape(-1))
        self.plan[layout.ACCELERATE] = used
        blocks = np.split(out, np.cumsum(widths)[:-1], axis=1)
        return Evaluation(*blocks[:5], *(b[:, 0] for b in blocks[5:]))

"""One system ready for native code: the arrays laid out, a formulation and a drift control composed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

import casadi as ca
import numpy as np

from dalembert.equations.system import System
from dalembert.errors import ArrayError, PairingError
from dalembert.native.jit import address_of
from dalembert.native.kernel import Kernel
from dalembert.native.plan import lay_out
from dalembert.native.types import Record
from dalembert.native.workspace import Workspace
from dalembert.run.drift.start import Start
from dalembert.run.evaluate import feed_back, leave, rates, sample, violation
from dalembert.run.formulations.choice import RECHOOSE, Choice
from dalembert.run.formulations.lagrange_multipliers import accelerate_pivoted, accelerate_sparse
from dalembert.run.formulations.law_graphs import Iteration
from dalembert.run.measure import measure
from dalembert.run.right_hand_side import Equations, Feedback, feedback_function, motion_function
from dalembert.run.run_facts import NO_FALLBACKS, Fallbacks, Passage, RunFacts
from dalembert.run.scales import Scales
from dalembert.run.sizing import lay_out_sizing
from dalembert.run.solver_choice import LARGEST_DENSE, is_sparse
from dalembert.run.status import Status
from dalembert.run.variations import (
    Columns,
    accelerate_varied,
    correct_varied,
    sides_function,
    tangent_function,
    varied_motion_function,
)
from dalembert.solve.dense import DENSE
from dalembert.solve.sparse import SPARSE
from dalembert.solve.sparse_layout import lay_out_sparse
from dalembert.solve.unsymmetric import UNSYMMETRIC

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
    4. `workspace` says how many floats, found at plan.work, and integers, at plan.work_ints, the loops need.
    """

    def choose(self, system: System, M: np.ndarray, A: np.ndarray) -> Choice | None: ...

    def unroll(self, equations: Equations, choice: Any) -> tuple[ca.SX, ca.SX, ca.SX] | None: ...

    def workspace(self, nu: int, nc: int) -> tuple[int, int]: ...

    def accelerator(self, *, ideal: bool, unrolled: bool) -> Any: ...


@runtime_checkable
class Iterating(Formulation, Protocol):
    """A formulation that solves for reactions of any law; `iteration` is its graph, None where none is needed."""

    def iteration(self, system: System) -> Iteration | None: ...


@runtime_checkable
class Eliminating(Formulation, Protocol):
    """A formulation that integrates the independent speeds only; the others follow from them and the constraints.

    `eliminator` is the native function that makes them follow, in x, at every evaluation; `corrector` is called in the
    place of that of the drift control, and calls it. They read the static choice, which is made for reactions of every
    kind; where these are not ideal, no graph is asked for.
    """

    def eliminator(self) -> Any: ...

    def corrector(self) -> Any: ...


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


class Solve(NamedTuple):
    """The addresses that go with a static choice: of the motion kernel (0 if there is none) and of the accelerator."""

    motion: int
    accelerate: int


@dataclass
class Blueprint:
    """What all engines of one system, formulation and drift control have in common: the arrays as laid out, addresses.

    `feedback` names the feedback of the drift control, empty if there is none. `solves` are known by choice. `whole` is
    the choice of all constraints and no partition, with its solve, once that was made. Where it is good it would be
    chosen anyway, so the next engine starts from it without asking. No other choice is taken over from run to run.
    """

    work: Workspace
    correct: Any
    feedback: str
    ones: np.ndarray  # sizes that an absolute atol is relative to
    records: tuple[Record, ...] = ()  # what the plan refers to by address
    solves: dict[Choice | None, Solve] = field(default_factory=dict)
    whole: tuple[Choice, Solve] | None = None


def blueprint_of(system: System, formulation: Formulation, drift: Drift, columns: Columns = ()) -> Blueprint:
    """The blueprint, drawn when first asked for and kept with the system."""
    key = (formulation, drift, columns) if columns else (formulation, drift)
    try:
        found = system.kernels.known(key)
    except TypeError:  # options that are lists or arrays cannot be looked up
        return _draw(system, formulation, drift, columns)
    return found or system.kept(key, lambda: _draw(system, formulation, drift, columns))


def _draw(system: System, formulation: Formulation, drift: Drift, columns: Columns) -> Blueprint:
    sizes = {
        "nq": system.nq, "nu": system.nu, "np": system.count("position"), "nv": system.count("velocity"),
        "nc": system.nc, "ni": len(system.invariants), "works": int(system.works), "ideal": int(system.ideal),
        "friction": int(system.friction), "curved": system.curved, "columns": len(columns),
    }  # fmt: skip
    options = drift.options(system, None)
    sparse = is_sparse(system, formulation, drift)
    if sparse:
        pattern = system.mechanics.saddle_pattern
        along = system.mechanics.invariant_gradients.T.sparsity()
        sizes |= {"mass": len(pattern.mass_rows), "jacobian": len(pattern.columns), "gradients": along.nnz()}
    dynamics = system.kernel("sparse_dynamics" if sparse else "dynamics")
    work = lay_out(sizes, len(system.parameters), dynamics.n_out, options)
    plan = work.plan
    plan.dynamics = dynamics.address
    plan.invariant = system.kernel("sparse_invariant" if sparse else "invariant").address
    for name in ("residual", "displacement", "energy"):
        setattr(plan, name, system.kernel(name).address)
    plan.newton = system.kernel("newton").address if system.curved and not system.algebraic else 0
    floats, ints = formulation.workspace(system.nu, system.nc)
    work.reserve(plan, {"work": max(floats, drift.workspace(system))}, {"work_ints": ints})  # never in use together
    for name, kernel in ({} if sparse else drift.kernels(system)).items():  # sparse: its kernels are unrolled solves
        setattr(plan, name, 0 if kernel is None else kernel.address)
    correct, feedback = drift.corrector(), drift.feedback(system)
    if feedback is not None:
        reading = system.derived_kernel(f"feedback {feedback.name}", lambda: feedback_function(system, feedback))
        plan.feedback_kernel = reading.address
    if not system.ideal:
        work.reserve(plan, ints={"implied_rows": len(system.implied)})
        work.ints[plan.implied_rows :][: len(system.implied)] = system.implied
        plan.implied = len(system.implied)
        _iterate(system, formulation, work)
    # Until a choice is made, see `Engine.choose`; there is none if reactions are not ideal.
    first = accelerate_pivoted if system.ideal else formulation.accelerator(ideal=False, unrolled=False)
    records: list[Record] = [lay_out_sizing(system, work, sparse=sparse)]
    if sparse:
        first, counts = accelerate_sparse, [sizes["np"], sizes["np"] + sizes["nv"], sizes["nc"]]
        rows = np.array(along.colind(), dtype=np.int64), np.array(along.row(), dtype=np.int64)
        records += lay_out_sparse(work, pattern, counts, soft=system.singular_mass, invariants=rows)
    plan.accelerate, plan.correct = first.address, correct.address
    plan.feedback = (leave if feedback is None else feed_back).address
    solver = DENSE if system.ideal else UNSYMMETRIC
    plan.factor, plan.solve = solver.factor.address, solver.solve.address
    metric = SPARSE if sparse else DENSE
    plan.factor_metric, plan.solve_metric = metric.factor.address, metric.solve.address
    if isinstance(formulation, Eliminating):
        correct = _eliminate(system, formulation, work)
    if columns:
        _carry_along(system, work, drift, columns)
    ones = np.ones(system.nq + system.nu + 1)
    plan.units = address_of(ones)
    return Blueprint(work, correct, "" if feedback is None else feedback.name, ones, tuple(records))


def _iterate(system: System, formulation: Formulation, work: Workspace) -> None:
    """Have native code solve by Newton's method where laws or the formulation ask for it."""
    form = formulation.iteration(system) if isinstance(formulation, Iterating) else None
    if form is None:
        if system.algebraic:
            formulation.accelerator(ideal=False, unrolled=False)  # refuses, saying why
            raise PairingError(
                f"{type(formulation).__name__} does not solve laws such as those of `{system.name}`; use "
                "LagrangeMultipliers()"
            )
        return
    kernel = system.derived_kernel(f"iteration {type(formulation).__name__}", form.function)
    plan, n = work.plan, form.w.shape[0]
    plan.iteration, plan.unknowns = kernel.address, n
    sizes = {"in": kernel.n_in, "out": kernel.n_out, "matrix": n * n, "scale": 2 * n, "step": n}
    work.reserve(plan, {f"iteration_{name}": size for name, size in sizes.items()}, {"iteration_order": n})


def _eliminate(system: System, formulation: Eliminating, work: Workspace) -> Any:
    """Have native code eliminate speeds; returns the corrector."""
    plan, speeds, correct = work.plan, system.kernel("speeds"), formulation.corrector()
    work.reserve(plan, {"speed_rows": speeds.n_out})
    plan.speeds, plan.eliminate = speeds.address, formulation.eliminator().address
    plan.correct_drift, plan.correct = plan.correct, correct.address
    return correct


def _carry_along(system: System, work: Workspace, drift: Drift, columns: Columns) -> None:
    """Have the workspace of an engine carry derivatives along: their kernels, and the correction onto the tangents."""
    plan, feedback, options = work.plan, drift.feedback(system), len(drift.options(system, None))
    name = f"{columns} {options}"
    plan.sides_kernel = system.derived_kernel(
        f"variation sides {name} {feedback and feedback.name}",
        lambda: sides_function(system, columns, feedback, options),
    ).address
    tangent = system.optional_kernel(f"variation tangent {name}", lambda: tangent_function(system, columns, options))
    plan.onto_tangent = 0 if tangent is None else tangent.address
    plan.plain_correct, plan.correct = plan.correct, correct_varied.address


class Engine:
    """One system with parameter values, a formulation and a drift control, ready to run. Not shared between threads.

    With `columns` it carries derivatives along (see `run.variations`): a state is then (q, u, work, derivatives).
    """

    def __init__(
        self,
        system: System,
        parameters: np.ndarray,
        formulation: Formulation,
        drift: Drift,
        columns: Columns = (),
    ) -> None:
        self.system, self.parameters = system, parameters
        self.size = system.nq + system.nu
        self.plain = self.size + int(system.works)
        self.nz = self.plain + len(columns) * self.size
        self.formulation, self.drift, self.columns = formulation, drift, columns
        self.blueprint = blueprint_of(system, formulation, drift, columns)
        self.work = self.blueprint.work.copied()
        self.plan = self.work.plan
        self.correct = self.blueprint.correct
        first = self.plan.xu + system.nu
        self.mem[first : first + len(parameters)] = parameters
        self.choice: Choice | None = None
        self.choices: list[tuple[float, Choice | None]] = []
        self.partitions: list[tuple[float, Choice | None]] = []  # of a residual form
        self.started: Start | None = None
        self.scales: Scales | None = None
        self.units = self.blueprint.ones  # sizes that atol is relative to, see `set_units`
        self.budget: Any = None  # of steps, see `time_loop.step_budget`; made when a run starts that has none given
        self.notes: list[str] = []  # what was chosen on the way, and why
        self.passages: list[Passage] = []  # singular positions on the way
        self.worst = (math.inf, math.nan)  # the worst conditioning of an accepted step, and when
        if columns:
            self._use(Solve(0, self.plan.accelerate))

    def begin(self, t: float, z: np.ndarray, span: float = 0.0, **stepping: Any) -> None:
        """Tell the drift control where and how a run of length `span` starts, see `Start`; it may refuse."""
        q, u = z[: self.system.nq], z[self.system.nq : self.size]
        if self.scales is None:
            self.measure(t, z[: self.size], span)
        self._tell_drift(Start(t, q, u, self.parameters, **stepping))
        self.plan.unsolved = 0

    def measure(self, t: float, z: np.ndarray, span: float) -> float:
        """Find the sizes of coordinates, speeds and rows in the state z = (q, u) a run of length `span` starts from.

        Returns the largest residual of a position or velocity constraint there, relative to the size of its row.
        """
        state = self._checked(z)
        violation = measure.call(*self.work.numbers, t, address_of(state), state.size, span)
        self.scales = Scales.read(self.work, self.system)
        return violation

    def take_scales(self, scales: Scales | None) -> None:
        """Go by sizes found before."""
        self.scales = scales
        if scales is not None:
            self.mem[self.plan.sizes : self._sizes_end] = scales.values

    @property
    def _sizes_end(self) -> int:
        plan = self.plan
        return plan.row_sizes + 2 * plan.np + plan.nv + 1

    @property
    def _rate(self) -> float:
        return float(self.mem[self._sizes_end - 1])

    def set_units(self, *, absolute: bool) -> None:
        """Have atol be taken as it is (`absolute`), or relative to the sizes of coordinates and speeds."""
        self.units = self.blueprint.ones if absolute or self.scales is None else self.scales.values
        self.plan.units = address_of(self.units)

    def _tell_drift(self, start: Start) -> None:
        self.started = start
        options = self.drift.options(self.system, start)
        first = self.plan.options
        self.mem[first : first + len(options)] = options

    def facts(self, mean_step: float, origin: tuple[float, np.ndarray]) -> RunFacts:
        """What a run that began at `origin` leaves besides its samples."""
        return RunFacts(
            self.started, float(self.mem[self.plan.step_length]), mean_step, tuple(self.choices),
            tuple(self.partitions), self._notes(), self.fallbacks, origin, tuple(self.passages), self.worst,
            self.scales,
        )  # fmt: skip

    def _notes(self) -> tuple[str, ...]:
        """What was chosen on the way, and where dependent speeds had to be integrated."""
        if not self.plan.integrated:
            return tuple(self.notes)
        why = f"all speeds integrated {self.plan.integrated:,} times, where the constraints hardly determine them"
        return (*self.notes, why)

    def resume(self, facts: RunFacts) -> None:
        """Take up drift control, step length and choices as a run left them, to evaluate its samples."""
        if facts.started is not None:
            self._tell_drift(facts.started)
        self.take_scales(facts.scales)
        self.mem[self.plan.step_length] = facts.step
        self.choices = list(facts.choices)
        if self.choices:
            self._take(self.choices[-1][1])

    def start_from(self, facts: RunFacts, t: float) -> None:
        """Start, at time t of a run, from the choice that served there, so that it goes on as it did."""
        self.take_scales(facts.scales)
        for made, choice in facts.choice_at(t):
            self.choices = [(made, choice)]
            self._take(choice)

    def choose(self, t: float, z: np.ndarray) -> None:
        """Make the static choices of the formulation at a state, and the motion kernel that goes with them."""
        system = self.system
        self.plan.stale = -PATIENCE
        if self.plan.pattern or not (system.ideal or isinstance(self.formulation, Eliminating)):
            return
        M, A = self.matrices(t, z)
        if not (np.isfinite(M).all() and np.isfinite(A).all()):
            return
        choice = self.formulation.choose(system, M, A)
        if choice is not None and len(choice.rows) < system.nc:
            choice = self._chosen_ahead(choice, t, z)
        if choice == self.choice and self.choices:
            return
        solve = self._take(choice)
        self.choices.append((t, choice))
        if solve.motion and choice == Choice(tuple(range(system.nc)), ()):
            choice.write(self.blueprint.work, system.nu)
            self.blueprint.whole = choice, solve

    def note_conditioning(self, quality: float, t: float) -> None:
        """Keep the worst quality of a solve that a run has met, and when."""
        self.worst = min(self.worst, (quality, t))

    def matrices(self, t: float, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
            ahead[nq : self.size] += AHEAD / self._rate * zdot[nq : self.size]
        sizes = self.mem[self.plan.sizes : self.plan.sizes + nq]
        length = float(np.linalg.norm(zdot[:nq] / sizes))
        if not 0.0 < length < np.inf:
            return here
        ahead[:nq] = z[:nq] + AHEAD * (1.0 + float(np.linalg.norm(z[:nq] / sizes))) / length * zdot[:nq]
        M, A = self.matrices(t, ahead)
        if not (np.isfinite(M).all() and np.isfinite(A).all()):
            return here
        there = self.formulation.choose(self.system, M, A)
        return there if there is not None and len(there.rows) > len(here.rows) else here

    def _solve(self, choice: Choice | None) -> Solve:
        """The solve that goes with a choice, compiled when first asked for."""
        solves, system = self.blueprint.solves, self.system
        if choice not in solves:
            motion = self._motion(choice)
            accelerate = self.formulation.accelerator(ideal=system.ideal, unrolled=motion is not None)
            solves[choice] = Solve(0 if motion is None else motion.address, accelerate.address)
        return solves[choice]

    def _motion(self, choice: Choice | None) -> Kernel | None:
        """The whole right-hand side as one kernel; None if it would be too long."""
        system, feedback = self.system, self.blueprint.feedback
        name = f"motion {self.formulation!r} {choice!r}{feedback and ' ' + feedback}"
        if not system.ideal:
            return None
        if not self.columns:
            return system.optional_kernel(
                name, lambda: motion_function(system, self.formulation.unroll, choice, self.drift.feedback(system))
            )
        if choice is None:
            return None
        options = len(self.drift.options(system, None))
        return system.optional_kernel(
            f"{name} along {self.columns} {options}",
            lambda: varied_motion_function(
                system, self.formulation.unroll, choice, self.drift.feedback(system), self.columns, options
            ),
        )

    def _use(self, solve: Solve) -> None:
        """Have native code solve by this kernel and this accelerator, derivatives carried along if there are any."""
        self.plan.motion, self.plan.accelerate = solve
        if self.columns:
            self.plan.plain_accelerate, self.plan.accelerate = solve.accelerate, accelerate_varied.address

    def _take(self, choice: Choice | None) -> Solve:
        """Solve by this choice from now on."""
        solve = self._solve(choice)
        self.choice, self.plan.stale = choice, 0
        self._install(choice, solve)
        return solve

    def _install(self, choice: Choice | None, solve: Solve) -> None:
        """Have native code solve in this way."""
        self._use(solve)
        if choice is not None:
            choice.write(self.work, self.system.nu)

    def recall(self, t: float) -> bool:
        """Start with all constraints and no partition if that was made before; whether it is good shows afterwards."""
        if self.choices or self.blueprint.whole is None or not self.system.ideal:
            return False
        choice, solve = self.blueprint.whole
        self._use(solve)  # the choice itself is in the blueprint
        self.choice = choice
        self.choices.append((t, choice))
        return True

    @property
    def is_sound(self) -> bool:
        """Whether the last evaluation shows a good choice: the formulation solved it itself, by good pivots."""
        return self.plan.fallbacks == 0 and bool(self.mem[self.plan.quality] > RECHOOSE)

    def choose_anew(self, t: float, z: np.ndarray) -> None:
        """Make a choice at a state where the one recalled is not good."""
        self._use(Solve(0, self.blueprint.work.plan.accelerate))
        self.plan.fallbacks, self.choice = 0, None
        self.choices.clear()
        self.choose(t, z)

    @property
    def mem(self) -> np.ndarray:
        """The floats native code works on."""
        return self.work.mem

    @property
    def is_sparse(self) -> bool:
        """Whether it works on the nonzeros of M and A."""
        return bool(self.plan.pattern)

    @property
    def allows_implicit(self) -> bool:
        """Whether the dense Newton matrices of implicit methods are of a size that can be dealt with."""
        return self.system.nu + self.system.nc <= LARGEST_DENSE

    @property
    def instructions(self) -> int:
        """The length of the tape of the equations of motion: what an evaluation costs besides the solve."""
        return int(self.system.kernel("sparse_dynamics" if self.is_sparse else "dynamics").instructions)

    @property
    def fallbacks(self) -> Fallbacks:
        """What the pivoted saddle solve did in the place of the formulation, since the engine was made."""
        plan = self.plan
        return Fallbacks(plan.fallbacks, plan.first_fallback, plan.last_fallback) if plan.fallbacks else NO_FALLBACKS

    @property
    def unsolved(self) -> Status:
        """Why the last evaluation found no accelerations; OK if it did."""
        return Status(int(self.plan.unsolved))

    def rates(self, t: float, z: np.ndarray) -> np.ndarray:
        """(q', u', power) at one state, (nz,)."""
        recalled, zdot = self.recall(t), np.zeros(self.nz)
        if not self.choices:
            self.choose(t, z)
        self._evaluate(t, z, zdot)
        if recalled and not (self.is_sound and math.isfinite(zdot.dot(zdot))):
            self.choose_anew(t, z)
            self._evaluate(t, z, zdot)
        return zdot

    def _evaluate(self, t: float, z: np.ndarray, zdot: np.ndarray) -> None:
        """The rates at one state into zdot (nz,)."""
        state = np.ascontiguousarray(z, dtype=float)
        rates.call(*self.work.numbers, t, address_of(state), state.size, address_of(zdot), zdot.size)

    def violation(self, t: float, z: np.ndarray) -> float:
        """The largest residual of a position or velocity constraint at one state, relative to the size of its row."""
        state = self._checked(z)
        return violation.call(*self.work.numbers, t, address_of(state), state.size)

    def _checked(self, z: np.ndarray) -> np.ndarray:
        """A state as native code takes it, (nq + nu,)."""
        if z.shape != (self.size,):
            raise ArrayError(f"a state of `{self.system.name}` holds {self.size} values (q, u), got shape {z.shape}")
        state = np.zeros(self.nz)
        state[: self.size] = z
        return state

    def corrected(self, t: float, z: np.ndarray) -> tuple[np.ndarray, Status]:
        """The state brought onto the constraints by the drift control, and how that went."""
        moved = np.array(z, dtype=float)
        return moved, Status(self.correct(self.plan, self.mem, t, moved))

    def evaluate(self, t: np.ndarray, z: np.ndarray) -> Evaluation:
        """Accelerations, multipliers, residuals and energies at samples t (nt,), z (nt, nz).

        Each sample is solved with the static choice that served at its time.
        """
        s = self.system
        if self.scales is None and len(t):
            self.measure(float(t[0]), z[0, : self.size], float(t[-1] - t[0]))
        if not self.choices and len(t):
            self.choose(float(t[0]), z[0])
        n_p, n_v = s.count("position"), s.count("velocity")
        widths = [s.nu, s.nc, n_p, n_p + n_v, s.nc, 1, 1, 1, 1]
        out = np.zeros((len(t), sum(widths)))
        used = Solve(self.plan.motion, self.plan.plain_accelerate if self.columns else self.plan.accelerate)
        if len(self.choices) < 2:
            self._sample(self.choices[0][1] if self.choices else None, t, z, out)
        else:
            served = np.searchsorted([made for made, _ in self.choices[1:]], t, side="right")
            for k in np.unique(served):
                rows = served == k
                part = out[rows]
                self._sample(self.choices[k][1], t[rows], z[rows], part)
                out[rows] = part
        self._install(self.choice, used)
        self.work.check_guards()
        blocks = np.split(out, np.cumsum(widths)[:-1], axis=1)
        return Evaluation(*blocks[:5], *(b[:, 0] for b in blocks[5:]))

    def _sample(self, choice: Choice | None, t: np.ndarray, z: np.ndarray, out: np.ndarray) -> None:
        """Everything at samples by one choice, into the rows of `out`."""
        if self.choices:
            self._install(choice, self._solve(choice))
        redundant = choice is not None and len(choice.rows) < self.system.nc
        if redundant and self.system.ideal:  # the least multipliers, not any
            self.plan.accelerate = accelerate_pivoted.address
        flat = np.ascontiguousarray(z, dtype=float).ravel()
        sample(self.plan, self.mem, np.ascontiguousarray(t, dtype=float), flat, out.reshape(-1))

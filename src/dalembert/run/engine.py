"""One system with parameter values, a formulation and a drift control, ready to run in native code."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.equations.maps import maps_of
from dalembert.equations.system import System
from dalembert.errors import ArrayError
from dalembert.native.jit import address_of
from dalembert.native.kernel import Kernel
from dalembert.native.workspace import NOTHING
from dalembert.run.blueprint import Solve, blueprint_of
from dalembert.run.branch_memory import anchors_of, give, take_anchors
from dalembert.run.drift.start import Start
from dalembert.run.evaluate import rates, sample, violation
from dalembert.run.evaluation import Evaluation
from dalembert.run.formulations.accelerators import accelerator_of
from dalembert.run.formulations.choice import RECHOOSE, Choice
from dalembert.run.formulations.lagrange_multipliers import accelerate_pivoted
from dalembert.run.ingredients import Drift, Formulation
from dalembert.run.measure import measure
from dalembert.run.right_hand_side import motion_function
from dalembert.run.run_facts import NO_FALLBACKS, Fallbacks, Passage, RunFacts
from dalembert.run.run_maps import RunMaps
from dalembert.run.scales import Scales
from dalembert.run.solver_choice import LARGEST_DENSE
from dalembert.run.status import Status, status_of
from dalembert.run.variations import CarriedColumns, accelerate_varied, varied_motion_function

CHOICE_PATIENCE = 200  # steps before a choice that could not be bettered is questioned again
# How far ahead to look, relative to q, where constraints are dependent. In a singular position pivots grow with the
# distance, beyond UNIT_ROW_RANK; those of redundant constraints with its square, as a straight step leaves them.
CHOICE_STEP = 1e-5


class Engine:
    """One system with parameter values, a formulation and a drift control, ready to run. Not shared between threads.

    With `columns` it carries derivatives along (see `run.variations`): a state is then (q, u, work, derivatives).
    """

    choice: Choice | None = None
    started: Start | None = None
    scales: Scales | None = None
    maps: RunMaps | None = None  # of functions with features; laid when a run starts
    budget: Any = None  # of steps, see `time_loop.step_budget`; made when a run starts that has none given
    worst = (math.inf, math.nan)  # the worst conditioning of an accepted step, and when

    def __init__(
        self,
        system: System,
        parameters: np.ndarray,
        formulation: Formulation,
        drift: Drift,
        columns: CarriedColumns = (),
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
        self.work.mem[first : first + len(parameters)] = parameters
        self.choices: list[tuple[float, Choice | None]] = []
        self.partitions: list[tuple[float, Choice | None]] = []  # of a residual form
        self.units = self.blueprint.ones  # sizes that atol is relative to, see `set_units`
        self.notes: list[str] = []  # choices made during the run, and why
        self.passages: list[Passage] = []  # singular positions on the way
        if columns:
            self._use(Solve(0, self.plan.accelerate))

    def begin(self, span: tuple[float, float], z: np.ndarray, stepping: tuple[Any, ...]) -> None:
        """Tell the drift control where and how a run over `span` starts, see `Start`; it may refuse."""
        q, u = z[: self.system.nq], z[self.system.nq : self.size]
        if self.scales is None:
            self.measure(span, z[: self.size])
        start = Start(span[0], q, u, self.parameters, self._rate, *stepping)
        self._lay_maps(span, start.tolerance)
        self._tell_drift(start)
        self.plan.unsolved = 0

    def measure(self, span: tuple[float, float], z: np.ndarray) -> float:
        """Find the sizes of coordinates, speeds and rows in the state z = (q, u) that a run over `span` starts from.

        Returns the largest residual of a position or velocity constraint there, relative to the size of its row.
        """
        state = self._checked(z)
        self._lay_maps(span)
        violation = measure.call(*self.work.numbers, span[0], address_of(state), state.size, span[1] - span[0])
        self.scales = Scales.read(self.work, self.system)
        return violation

    def _lay_maps(self, span: tuple[float, float], tolerance: float = 0.0) -> None:
        """Lay the cells of functions with features over the span of a run with a relative tolerance (0: none known)."""
        record = self.blueprint.maps
        if record is None or not span[1] > span[0]:
            return
        known = maps_of(self.system, self.parameters, tolerance)
        if self.maps is None or self.maps.span != span or self.maps.known is not known:
            self.maps = RunMaps(record.copied(), self.work, known, span)

    def take_scales(self, scales: Scales | None) -> None:
        """Use sizes found before."""
        self.scales = scales
        if scales is not None:
            self.mem[self.plan.sizes : self.plan.x] = scales.values

    @property
    def _rate(self) -> float:
        return float(self.mem[self.plan.x - 1])

    def set_units(self, *, absolute: bool, follow: bool) -> None:
        """Have atol be taken as it is (`absolute`), or relative to the sizes of coordinates and speeds.

        Errors of steps count beside how far each quantity has come, if `follow` asks for that.
        """
        self.units = self.blueprint.ones if absolute or self.scales is None else self.scales.values
        self.reached = np.empty(self.size + 1) if follow else self.units
        self.plan.units, self.plan.reached = address_of(self.units), address_of(self.reached)
        self.plan.follows = follow

    def _tell_drift(self, start: Start) -> None:
        self.started = start
        options = self.drift.options(self.system, start)
        first = self.plan.options
        self.mem[first : first + len(options)] = options

    def facts(self, origin: tuple[float, np.ndarray]) -> RunFacts:
        """Facts of a run that began at `origin`: its choices, notes, passages and sizes, as these have grown."""
        if self.scales is not None:
            self.scales = self.scales.copied()
        return RunFacts(
            self.started, float(self.mem[self.plan.step_length]), tuple(self.choices),
            tuple(self.partitions), self._notes(), self.fallbacks, origin, tuple(self.passages), self.worst,
            self.scales, anchors_of(self.work),
        )  # fmt: skip

    def _notes(self) -> tuple[str, ...]:
        """Notes on the choices of a run, on integration of dependent speeds, and on jumps of u'."""
        notes, plan = list(self.notes), self.plan
        if plan.integrated:
            notes.append(
                f"all speeds integrated {plan.integrated:,} times, where the constraints hardly determine them"
            )
        if plan.leaps:
            notes.append(
                "u' jumped to another solution of the constraints nonlinear in u' or of the laws "
                f"{plan.leaps:,} times, first at t = {plan.first_leap:.6g}"
            )
        return tuple(notes)

    def begin_with(self, t: float, z: np.ndarray, udot: np.ndarray, multipliers: np.ndarray) -> None:
        """Have a run begin on the branch of a state (q, u) with (u', la), where there are several."""
        unknowns = self.blueprint.given
        if self.plan.iteration:
            known = np.concatenate([udot, multipliers])
            known = known if unknowns is None else unknowns(np.concatenate([[t], z, self.parameters, known]))
            give(self.work, known)

    def resume(self, facts: RunFacts) -> None:
        """Take over drift control, step length and choices of an earlier run, to evaluate its samples."""
        if facts.started is not None:
            self._tell_drift(facts.started)
        self.take_scales(facts.scales)
        take_anchors(self.work, facts.anchors)
        self.mem[self.plan.step_length] = facts.step
        self.choices = list(facts.choices)
        if self.choices:
            self._take(self.choices[-1][1])

    def start_from(self, facts: RunFacts, t: float) -> None:
        """Start, at time t of a run, from the choice that served there, so that the run is reproduced."""
        self.take_scales(facts.scales)
        for made, choice in facts.choice_at(t):
            self.choices = [(made, choice)]
            self._take(choice)

    def choose(self, t: float, z: np.ndarray) -> None:
        """Make the static choices of the formulation at a state, and the motion kernel that goes with them."""
        system = self.system
        self.plan.stale = -CHOICE_PATIENCE
        if self.is_sparse:
            return
        M, A = self.matrices(t, z)
        if not (np.isfinite(M).all() and np.isfinite(A).all()):
            return
        choice = self.formulation.choose(system, M, A)
        if self.plan.iteration and not self.plan.oriented:  # it was a check
            return
        if choice is not None and len(choice.rows) < system.nc:
            choice = self._chosen_ahead(choice, t, z)
        if choice == self.choice and self.choices:
            return
        solve = self._take(choice)
        self.choices.append((t, choice))
        if (solve.motion or not system.ideal) and choice == Choice(tuple(range(system.nc)), ()):
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
            ahead[nq : self.size] += CHOICE_STEP / self._rate * zdot[nq : self.size]
        sizes = self.mem[self.plan.sizes : self.plan.sizes + nq]
        length = float(np.linalg.norm(zdot[:nq] / sizes))
        if not 0.0 < length < np.inf:
            return here
        ahead[:nq] = z[:nq] + CHOICE_STEP * (1.0 + float(np.linalg.norm(z[:nq] / sizes))) / length * zdot[:nq]
        M, A = self.matrices(t, ahead)
        if not (np.isfinite(M).all() and np.isfinite(A).all()):
            return here
        there = self.formulation.choose(self.system, M, A)
        return there if there is not None and len(there.rows) > len(here.rows) else here

    def _solve(self, choice: Choice | None) -> Solve:
        """The solve for a choice, compiled at the first request."""
        solves = self.blueprint.solves
        if choice not in solves:
            motion = self._motion(choice)
            accelerate = accelerator_of(self.formulation, self.system, motion)
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
        if self.choices or self.blueprint.whole is None:
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
        return self.blueprint.metric.over_nonzeros

    @property
    def allows_implicit(self) -> bool:
        """Whether the dense Newton matrices of implicit methods are of a size that can be dealt with."""
        return self.system.nu + self.system.nc <= LARGEST_DENSE

    @property
    def instructions(self) -> int:
        """Length of the tape of the equations of motion: the cost of an evaluation without the solve."""
        return int(self.system.kernel("sparse_dynamics" if self.is_sparse else "dynamics").instructions)

    @property
    def fallbacks(self) -> Fallbacks:
        """Evaluations that the pivoted saddle solve did in place of the formulation, since the engine was made."""
        plan = self.plan
        return Fallbacks(plan.fallbacks, plan.first_fallback, plan.last_fallback) if plan.fallbacks else NO_FALLBACKS

    @property
    def unsolved(self) -> Status:
        """Why the last evaluation found no accelerations; OK if it did."""
        return status_of(self.plan.unsolved)

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
        """A state (nq + nu,) as native code takes it, with zeros for derivatives if there are any."""
        if z.shape != (self.size,):
            raise ArrayError(f"a state of `{self.system.name}` holds {self.size} values (q, u), got shape {z.shape}")
        if not self.columns:
            return np.ascontiguousarray(z, dtype=float)
        state = np.zeros(self.nz)
        state[: self.size] = z
        return state

    def corrected(self, t: float, z: np.ndarray) -> tuple[np.ndarray, Status]:
        """The state brought onto the constraints by the drift control, and how that went."""
        moved = np.array(z, dtype=float)
        return moved, status_of(self.correct.call(*self.work.numbers, t, address_of(moved), moved.size))

    def evaluate(self, t: np.ndarray, z: np.ndarray, *given: np.ndarray) -> Evaluation:
        """Accelerations, multipliers, residuals and energies at samples t (nt,), z (nt, nz).

        Each sample is solved with the static choice that served at its time. Accelerations (nt, nu) and multipliers
        (nt, nc) that are `given` take the place of the solution, and the residuals are theirs; of ideal systems only.
        """
        s = self.system
        if self.scales is None and len(t):
            self.measure((float(t[0]), float(t[-1])), z[0, : self.size])
        if not self.choices and len(t):
            self.choose(float(t[0]), z[0])
        n_p, n_v = s.count("position"), s.count("velocity")
        widths = [s.nu, s.nc, n_p, n_p + n_v, s.nc, 1, 1, 1, 1]
        out = np.zeros((len(t), sum(widths)))
        used = Solve(self.plan.motion, self.plan.plain_accelerate if self.columns else self.plan.accelerate)
        if len(self.choices) < 2:
            self._sample(self.choices[0][1] if self.choices else None, t, z, given, out)
        else:
            served = np.searchsorted([made for made, _ in self.choices[1:]], t, side="right")
            for k in np.unique(served):
                rows = served == k
                part = out[rows]
                self._sample(self.choices[k][1], t[rows], z[rows], [values[rows] for values in given], part)
                out[rows] = part
        self._install(self.choice, used)
        self.work.check_guards()
        blocks = np.split(out, np.cumsum(widths)[:-1], axis=1)
        return Evaluation(*blocks[:5], *(b[:, 0] for b in blocks[5:]))

    def _sample(
        self, choice: Choice | None, t: np.ndarray, z: np.ndarray, given: Sequence[np.ndarray], out: np.ndarray
    ) -> None:
        """Evaluate samples with one choice, into the rows of `out`."""
        if self.choices:
            self._install(choice, self._solve(choice))
        if choice is not None and len(choice.rows) < self.system.nc:  # the least multipliers, not any
            self.plan.chosen = self.system.nc  # samples tell whether any constraint depends on others
            if self.system.ideal:
                self.plan.accelerate = accelerate_pivoted.address
        flat = np.ascontiguousarray(z, dtype=float).ravel()
        solved = np.hstack(given).ravel() if given else NOTHING
        sample(self.plan, self.mem, np.ascontiguousarray(t, dtype=float), flat, solved, out.reshape(-1))

"""`Motion`: the result of a simulation - samples by name, reactions, energies and the certificate."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.instants import seen_from_before
from dalembert.equations.system import System
from dalembert.errors import DalembertError
from dalembert.listed import unlisted
from dalembert.motion.certificate import Certificate, Tolerances
from dalembert.motion.certification import certified
from dalembert.motion.derivatives import Derivatives
from dalembert.motion.files import array_shapes, identity, packed, packed_passages
from dalembert.motion.outputs import values_in_blocks
from dalembert.motion.reactions import Reacting, constraint_power, reactions_of
from dalembert.motion.recorded import Recorded, one_time, times_within
from dalembert.motion.state import State
from dalembert.motion.tables import check_sampled
from dalembert.motion.tally import EnergyTally, tally_of
from dalembert.motion.verification import Verification
from dalembert.native.precision import RESOLVED
from dalembert.run.events import Occurrences
from dalembert.run.recipe import Recipe, describe
from dalembert.run.run_facts import Energies
from dalembert.run.status import Status
from dalembert.run.storage import IN_MEMORY, Storage
from dalembert.stages import stage

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dalembert.run.engine import Engine
    from dalembert.run.evaluation import Evaluation
    from dalembert.run.run_facts import Passage, RunFacts
    from dalembert.run.scales import Scales

USUAL = Tolerances()


@unlisted(
    "as_close_as_steps can_continue columns continued ending energies energies_met evaluated facts kind known only "
    "recipe segments sizes storage stored told with_facts"
)
@dataclass(frozen=True, eq=False, repr=False)
class Motion(Recorded, Reacting):
    """Samples of a motion: t (nt,), q (nt, nq), u (nt, nu), and the work (nt,) done on the system.

    `events` are the occurrences of events, in order; `events["bounce"]` those of one event.
    `motion["x"]` or `motion[x]` is one coordinate, speed, unknown, multiplier or parameter over time, (nt,);
    `motion[x + y]` an expression, `motion["tip"]` an output, `motion["hinge.angle"]` a quantity of a joint, point or
    force element; a list or matrix of them has more axes, (nt, n). It is data: it can be pickled and read by several
    threads; `recipe` and `facts` say how it was made and let it be evaluated and continued.
    """

    kind: ClassVar[str] = "motion"  # of its files

    system: System
    parameters: np.ndarray
    t: np.ndarray
    q: np.ndarray
    u: np.ndarray
    work: np.ndarray
    success: bool
    message: str
    stats: dict[str, int]
    recipe: Recipe | None = None  # None: read from a file
    facts: RunFacts | None = None  # data of the run besides its samples
    told: str = ""  # description of the method, for a motion from a file
    events: Occurrences = field(default_factory=Occurrences)
    tolerances: Tolerances = USUAL
    passages: tuple[Passage, ...] = ()  # positions in which constraints became dependent
    verification: Verification | None = None  # by a second run, see `verify`
    scales: Scales | None = None  # the sizes its tolerances are relative to
    energies: Energies | None = None  # along the run; those of the samples if not known
    derivatives: Derivatives | None = None  # of q and u, see `sensitivity`
    storage: Storage = IN_MEMORY  # where its samples are
    known: Evaluation | None = None  # from a file or another motion; otherwise evaluated when first asked for

    # -- values ----------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> np.ndarray:
        return values_in_blocks([*self._blocks()], key)

    def __len__(self) -> int:
        return len(self.t)

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """Names of the constraints, in the order of the multipliers."""
        return self.system.constraint_names

    @property
    def segments(self) -> tuple[Motion, ...]:
        """The motion itself; a `MotionSequence` has several segments."""
        return (self,)

    @cached_property
    def evaluation(self) -> Evaluation:
        """Accelerations, multipliers, residuals and energies at the samples, computed when first asked for."""
        if self.known is not None:
            return self.known
        if self.recipe is None or self.facts is None:
            from dalembert.run.accelerations import solver_engine

            return self.evaluated(solver_engine(self.system, self.parameters))
        engine = self.recipe.engine(self.system, self.parameters)
        engine.resume(self.facts)
        return self.evaluated(engine)

    def evaluated(self, engine: Engine, *given: np.ndarray) -> Evaluation:
        """Evaluate the samples by an engine, block by block. u' (nt, nu) and la (nt, nc) are used if they are given."""
        table = self.storage.table()
        begin = self.facts.origin[0] if self.facts else float(self.t[0]) if len(self) else 0.0
        for rows in self.storage.slices(len(self), engine.nz + 2 * self.system.nu + 4 * self.system.nc):
            t = seen_from_before(self.system, self.parameters, begin, self.t[rows])
            found = engine.evaluate(t, self._samples(rows), *(values[rows] for values in given))
            table.put(rows.start, *vars(found).values())
        return replace(found, **dict(zip(vars(found), table.joined(), strict=True)))

    def _blocks(self) -> Iterator[Motion]:
        """The motion in parts that are read at once, each from the last sample of the one before it on."""
        if self.storage is IN_MEMORY:
            yield self
            return
        steps = self.stats.get("steps", 0) / max(len(self), 1)
        for rows in self.storage.slices(len(self), self.q.shape[1] + self.system.nu):
            part = slice(max(rows.start - 1, 0), rows.stop)
            kept = {name: getattr(self, name)[part] for name in ("t", "q", "u", "work")}
            stats = {"steps": int(steps * len(kept["t"]))}
            yield replace(self, derivatives=None, storage=IN_MEMORY, known=None, stats=stats, **kept)

    def _samples(self, rows: slice) -> np.ndarray:
        """Integrated variables at some samples, (n, nz): (q, u), and the work if the system has sources of work."""
        parts = [self.q[rows], self.u[rows]]
        return np.hstack([*parts, self.work[rows, None]] if self.system.works else parts)

    @property
    def udot(self) -> np.ndarray:
        """Accelerations u', (nt, nu)."""
        return self.evaluation.udot

    @property
    def multipliers(self) -> np.ndarray:
        """Lagrange multipliers, (nt, nc), in the order of `system.constraint_names`."""
        return self.evaluation.multipliers

    @cached_property
    def method(self) -> str:
        """Formulation, drift control and integrator with their options, and the choices of the run."""
        if self.recipe is None or self.facts is None:
            return self.told
        return describe(self.system, self.recipe, self.facts, self.stats.get("nfev", 0))

    @cached_property
    def reactions(self) -> np.ndarray:
        """Generalised reactions r of M u' = f + r, (nt, nu)."""
        return reactions_of(self)

    @property
    def gauss_measure(self) -> np.ndarray:
        """Gauss's measure of constraint, (nt,): see `System.gauss_measure`."""
        return self.system.gauss_measure(self.t, self.q, self.u, self.udot, self.parameters)

    def constraint_power(self, constraint: Any) -> np.ndarray:
        """Power of one constraint, or of all stated in one list under this name, (nt,)."""
        return constraint_power(self, constraint)

    @property
    def energy(self) -> np.ndarray:
        """Kinetic plus potential energy, (nt,)."""
        return self.evaluation.kinetic + self.evaluation.potential

    @property
    def energy_balance(self) -> np.ndarray:
        """Change of energy minus the work of non-conservative and rheonomic parts, (nt,); zero for an exact motion."""
        start = self.energy[:1] - self.work[:1] if self.energies is None else self.energies.start
        return self.energy - start - self.work

    @cached_property
    def energies_met(self) -> Energies:
        """Energies at the samples and along the run between, with the largest imbalance."""
        e = self.evaluation
        return EnergyTally.of(self.t, e.kinetic, e.potential, self.work).met(self.energies)

    @property
    def violation(self) -> dict[str, dict[str, np.ndarray]]:
        """Residuals over time by level and constraint: `violation["position"]["loop"]` is (nt,)."""
        names, e = self.system.constraint_names, self.evaluation
        columns = {"position": e.phi, "velocity": e.psi, "acceleration": e.acceleration}
        return {
            level: {names[k]: values[:, k] for k in range(values.shape[1])}
            for level, values in columns.items()
            if values.shape[1]
        }

    @cached_property
    def unique(self) -> dict[str, bool]:
        """Whether the reaction of each constraint and group is unique, by name, at the first sample."""
        check_sampled(self)
        first = State(self.system, self.t[0], self.q[0], self.u[0], self.udot[0], self.multipliers[0], self.parameters)
        return dict(self.system.diagnose(first).unique)

    @cached_property
    def certificate(self) -> Certificate:
        """The certificate: residuals of constraints and equations, and energy balance. Print it, or ask `.ok`."""
        return certified(self, tally_of(self) if len(self) else None)

    @cached_property
    def sizes(self) -> Scales:
        """The sizes the run went by; if it is not known, those at the first sample."""
        if self.scales is not None:
            return self.scales
        from dalembert.run.accelerations import measured

        span = float(self.t[-1] - self.t[0])
        return measured(self.system, float(self.t[0]), self.q[0], self.u[0], self.parameters, span)

    # -- other times -----------------------------------------------------------------------------------------------

    def at(self, t: float) -> State:
        """The state at any time of the motion, integrated from the sample before it: as accurate as the samples."""
        t = one_time(t)
        m = self.resampled([t])
        return State(self.system, t, m.q[0], m.u[0], m.udot[0], m.multipliers[0], self.parameters)

    def resampled(self, times: ArrayLike) -> Motion:
        """The same motion at other times (increasing), integrated from the samples before them.

        Several times between two samples are found in one run with dense output, as `t_eval` is.
        """
        self._origin("continued between its samples")
        ts = times_within(self, times)
        before = np.searchsorted(self.t, ts, side="right") - 1
        rows = np.concatenate([self.q[before], self.u[before], self.work[before, None]], axis=1)
        since = ts - self.t[before]
        between = np.flatnonzero(since > RESOLVED * np.maximum(np.abs(ts), np.abs(ts - since)))  # steps are not shorter
        between = between[np.argsort(before[between], kind="stable")]
        for group in np.split(between, np.flatnonzero(np.diff(before[between])) + 1) if len(between) else ():
            once, back = np.unique(ts[group], return_inverse=True)
            rows[group] = self._integrated(int(before[group[0]]), once)[back]
        nq, size = self.system.nq, self.system.nq + self.system.nu
        q, u, work = rows[:, :nq], rows[:, nq:size], rows[:, size]
        return replace(self, t=ts, q=q, u=u, work=work, derivatives=None, storage=IN_MEMORY, known=None)

    @cached_property
    def as_close_as_steps(self) -> Motion:
        """The motion with at least as many samples as its integrator took steps, if it can be continued."""
        count = self.stats.get("steps", 0) + 1
        if not self.can_continue or not 1 < len(self) < count:
            return self
        return self.resampled(np.union1d(self.t, np.linspace(self.t[0], self.t[-1], count)))

    def continued(self, k: int, times: np.ndarray) -> Motion:
        """The motion at increasing times after sample k, integrated from there in one go, with dense output."""
        rows = self._integrated(k, times)
        nq, size = self.system.nq, self.system.nq + self.system.nu
        q, u, work = rows[:, :nq], rows[:, nq:size], rows[:, size]
        return replace(self, t=times, q=q, u=u, work=work, storage=IN_MEMORY, known=None)

    def _integrated(self, k: int, times: np.ndarray) -> np.ndarray:
        """(q, u, work) at increasing times after sample k, by a run of their own from there, (n, nq + nu + 1)."""
        recipe, facts = self._origin("continued between its samples")
        engine, begin = recipe.engine(self.system, self.parameters), float(self.t[k])
        engine.start_from(facts, begin)
        start = np.concatenate([self.q[k], self.u[k]])
        samples = recipe.integrator.run(engine, start, (begin, float(times[-1])), times)
        _check_continued(samples.status, float(times[-1]))
        done = samples.z[:, engine.size] if self.system.works else np.zeros(len(times))
        return np.column_stack([samples.z[:, : engine.size], self.work[k] + done])

    @property
    def can_continue(self) -> bool:
        """Whether states between the samples can be found: not if it was read from a file."""
        return self.recipe is not None

    def _origin(self, done: str) -> tuple[Recipe, RunFacts]:
        """Recipe and facts of the run that made this motion.

        Raises `DalembertError` if they are unknown; `done` completes the message: the motion "cannot be `done`".
        """
        if self.recipe is None or self.facts is None:
            raise DalembertError(f"this motion was loaded from a file and cannot be {done}")
        return self.recipe, self.facts

    def with_facts(self, **facts: Any) -> Motion:
        """The motion with other facts of its run, such as `message`."""
        return replace(self, **facts)

    def only(self, samples: np.ndarray) -> Motion:
        """The motion with some of its samples, chosen by a mask or indices (nt,)."""
        kept: dict[str, Any] = {name: getattr(self, name)[samples] for name in ("t", "q", "u", "work")}
        if self.derivatives is not None:
            kept["derivatives"] = replace(self.derivatives, S=self.derivatives.S[samples])
        return replace(
            self,
            known=replace(self.evaluation, **{k: v[samples] for k, v in vars(self.evaluation).items()}),
            storage=IN_MEMORY,
            **kept,
        )

    # -- files ------------------------------------------------------------------------------------------------------

    @staticmethod
    def load(path: str | Path, system: System) -> Motion:
        """A motion written by `save`, or kept by `simulate(store=...)`, for the same system.

        It can be read, but not continued between its samples. Raises `FileError` if the file is damaged or holds
        something else. Residuals, energies and conditioning are evaluated again with the equations of `system`, so
        that the certificate is about these.
        """
        return stage("Motion.load")(path, system)

    def stored(self) -> dict[str, np.ndarray]:
        """Contents of a file as arrays by name; the facts are JSON."""
        arrays = {name: getattr(self, name) for name in array_shapes(self.system, len(self))}
        outputs = {f"o_{output.name}": self[output.name] for output in self.system.outputs}  # for other readers
        return {**arrays, "facts": np.array(json.dumps(self.ending())), **outputs}

    def ending(self) -> dict[str, Any]:
        """Facts of the run for a file, as plain values: status, cost, method, names, events, passages and energies."""
        facts = {"success": self.success, "message": self.message, "stats": self.stats, "method": self.method}
        facts |= {"system": identity(self.system), "names": [*self.system.coordinates, *self.system.speeds]}
        facts |= {"events": packed(self.events), "passages": packed_passages(self.passages)}
        return facts | {"scales": self.sizes.values.tolist() if len(self) else [], "energies": self.energies}


def _check_continued(status: Status, t: float) -> None:
    """Raise if a run between the samples did not reach time t."""
    if status == Status.INTERRUPTED:
        raise KeyboardInterrupt
    if status != 0:
        raise DalembertError(f"the motion cannot be continued to t = {t:g}: {status.message}")

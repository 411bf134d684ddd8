"""`Motion`: what a simulation returns - samples by name, reactions, energies and the certificate."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.errors import DalembertError, FileError
from dalembert.listed import unlisted
from dalembert.motion.archive import facts_in, floats_in, read_archive, reading
from dalembert.motion.certificate import (
    DEPENDENT,
    DEPENDENT_AMONG_MANY,
    Certificate,
    Power,
    Tolerances,
    energy_finding,
    worst_of,
)
from dalembert.motion.control import lost_controls
from dalembert.motion.derivatives import Derivatives
from dalembert.motion.equation_residuals import equation_residuals
from dalembert.motion.files import energies_in, identity, packed, packed_passages, passages_in, system_of, unpacked
from dalembert.motion.outputs import values_of
from dalembert.motion.prescribed_jumps import prescribed_jumps
from dalembert.motion.reactions import (
    Wrench,
    constraint_power,
    constraint_reaction,
    joint_reaction,
    largest_powers,
    reaction_on,
)
from dalembert.motion.recorded import Recorded, check_sampled, one_time, times_within
from dalembert.motion.row_sizes import row_sizes
from dalembert.motion.state import State, reactions_of, unknowns_of
from dalembert.motion.verification import Verification
from dalembert.run.events import Occurrences
from dalembert.run.recipe import Recipe, describe
from dalembert.run.run_facts import Energies
from dalembert.run.status import Status

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dalembert.run.engine import Evaluation
    from dalembert.run.run_facts import Passage, RunFacts
    from dalembert.run.scales import Scales

USUAL = Tolerances()
RESOLVED = 16.0 * float(np.finfo(float).eps)  # relative difference of times below which they are one


@unlisted(
    "can_continue continued energies energies_met evaluated_again facts kind known only recipe restored segments "
    "stored told"
)
@dataclass(frozen=True, eq=False, repr=False)
class Motion(Recorded):
    """Samples of a motion: t (nt,), q (nt, nq), u (nt, nu), work (nt,) done on the system, and what follows.

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
    facts: RunFacts | None = None  # what the run left besides its samples
    told: str = ""  # what made it in words, if that is all a file says
    events: Occurrences = field(default_factory=Occurrences)
    tolerances: Tolerances = USUAL
    passages: tuple[Passage, ...] = ()  # positions in which constraints became dependent
    verification: Verification | None = None  # what a second run said, see `verify`
    scales: Scales | None = None  # the sizes its tolerances are relative to
    energies: Energies | None = None  # along the run; those of the samples if not known
    derivatives: Derivatives | None = None  # of q and u, see `sensitivity`
    known: Evaluation | None = None  # what a file or another motion holds; otherwise evaluated when first asked for

    # -- values ----------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> np.ndarray:
        return np.asarray(values_of(self, key))

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
        recipe, facts = self._origin("evaluated")
        engine = recipe.engine(self.system, self.parameters)
        engine.resume(facts)
        return engine.evaluate(self.t, self._samples())

    def _samples(self) -> np.ndarray:
        """What a run integrates, at the samples: (q, u), and the work if something can do any, (nt, nz)."""
        return np.hstack([self.q, self.u, self.work[:, None]] if self.system.works else [self.q, self.u])

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
        """Formulation, drift control and integrator with their options, and what they chose."""
        if self.recipe is None or self.facts is None:
            return self.told
        return describe(self.system, self.recipe, self.facts, self.stats.get("nfev", 0))

    @cached_property
    def reactions(self) -> np.ndarray:
        """Generalised reactions r of M u' = f + r, (nt, nu)."""
        return reactions_of(self)

    def reaction(self, constraint: Any) -> np.ndarray:
        """Generalised force of one constraint, or of all stated in one list under this name, (nt, nu)."""
        return constraint_reaction(self, constraint)

    def reaction_on(self, item: Any) -> Wrench:
        """Force (nt, 3) and torque (nt, 3) that constraints exert on a particle or body.

        m a - m g - the forces applied at it, and likewise for the torque about its mass centre, both in inertial axes;
        see `dalembert.motion.reactions.reaction_on` for forces that cannot be separated.
        """
        return reaction_on(self, item)

    def joint_reaction(self, joint: Any) -> Wrench:
        """Force (nt, 3) and torque (nt, 3) of a joint on its second body, at its marker, in inertial axes."""
        return joint_reaction(self, joint)

    @property
    def gauss_measure(self) -> np.ndarray:
        """Gauss's measure of constraint, (nt,): see `System.gauss_measure`."""
        return self.system.gauss_measure(self.t, self.q, self.u, self.udot, self.parameters)

    def constraint_power(self, constraint: Any) -> np.ndarray:
        """Power of one constraint, or of all stated in one list under this name, (nt,)."""
        return constraint_power(self, constraint)

    @property
    def unknowns(self) -> np.ndarray:
        """Values of the unknowns, (nt, ny)."""
        return unknowns_of(self.system, self.multipliers)

    @property
    def energy(self) -> np.ndarray:
        """Kinetic plus potential energy, (nt,)."""
        return self.evaluation.kinetic + self.evaluation.potential

    @property
    def energy_balance(self) -> np.ndarray:
        """Change of energy minus the work of non-conservative and rheonomic parts, (nt,); zero for an exact motion."""
        start = self.energy[:1] - self.work[:1] if self.energies is None else self.energies.start
        return self.energy - start - self.work

    @property
    def energies_met(self) -> Energies:
        """Energies at the samples and along the run between, with the largest imbalance."""
        e = self.evaluation
        met = Energies.at(self.t, (e.kinetic, e.potential, self.work), self.energy_balance)
        return met if self.energies is None else met.joined(self.energies)

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
        """How well constraints, equations and energy balance held; print it, or ask `.ok`."""
        facts = Certificate(
            title=self.system.name,
            success=self.success,
            message=self.message,
            method=self.method,
            stats=self.stats,
            least=self.system.ideal,
            events=self.events.remarks,
            verification=self.verification,
            passages=self.passages,
        )
        if not len(self):
            return facts
        e, allowed = self.evaluation, self.tolerances
        large = self.system.is_large
        dependent = e.condition < (DEPENDENT_AMONG_MANY if large else DEPENDENT)
        # Where constraints are dependent for an instant, A u' = b is not determined; what counts is that positions and
        # velocities hold there, and that is judged at every sample. Nothing else judges rows of accelerations.
        judged = np.ones_like(dependent) if dependent.all() else ~dependent
        kept = self.system.count("position") + self.system.count("velocity")
        sizes = {"acceleration": np.ones(self.system.nc), **row_sizes(self, self._scales)}
        findings = [
            worst_of(level, name, self.t,
                     np.where(judged, values, 0.0) if level == "acceleration" and k < kept else values,
                     getattr(allowed, level), float(sizes[level][k]))
            for level, columns in self.violation.items()
            for k, (name, values) in enumerate(columns.items())
        ]  # fmt: skip
        met = self.energies_met
        findings += prescribed_jumps(
            self.system, met.begin, self.t, (self.q, self.u), self.parameters, self._scales.rows, allowed
        )
        findings.append(worst_of("solve", "M u' - f - r", self.t, e.balance, allowed.solve))
        findings.append(energy_finding("E - E0 - W", met, allowed.energy))
        k = int(np.argmin(e.condition))
        worst = min((float(e.condition[k]), float(self.t[k])), self.facts.worst if self.facts else (np.inf, np.nan))
        return replace(
            facts,
            findings=tuple(findings),
            energy_error=met.off,
            condition=worst[0],
            condition_t=worst[1],
            dependent=tuple(float(t) for t in self.t[dependent]),
            span=(float(self.t[0]), float(self.t[-1])),
            powers=tuple(Power(*values) for values in largest_powers(self)),
            lost_controls=lost_controls(self.system, self.t, self.q, self.u, self.parameters),
            not_unique=self._not_unique() if dependent.all() and not large else (),  # by dense decompositions
        )

    @cached_property
    def _scales(self) -> Scales:
        """The sizes the run went by; if it is not known, those at the first sample."""
        if self.scales is not None:
            return self.scales
        from dalembert.run.accelerations import measured

        span = float(self.t[-1] - self.t[0])
        return measured(self.system, float(self.t[0]), self.q[0], self.u[0], self.parameters, span)

    def _not_unique(self) -> tuple[str, ...]:
        return tuple(name for name in self.system.constraint_names if not self.unique[name])

    # -- other times -----------------------------------------------------------------------------------------------

    def at(self, t: float) -> State:
        """The state at any time of the motion, integrated from the sample before it: as accurate as the samples."""
        t = one_time(t)
        m = self.resampled([t])
        return State(self.system, t, m.q[0], m.u[0], m.udot[0], m.multipliers[0], self.parameters)

    def resampled(self, times: ArrayLike) -> Motion:
        """The same motion at other times (increasing), each integrated from the sample before it."""
        self._origin("continued between its samples")
        ts = times_within(self, times)
        rows = np.array([self._continued(float(t)) for t in ts])
        nq, size = self.system.nq, self.system.nq + self.system.nu
        q, u, work = rows[:, :nq], rows[:, nq:size], rows[:, size]
        return replace(self, t=ts, q=q, u=u, work=work, derivatives=None, known=None)

    def continued(self, k: int, times: np.ndarray) -> Motion:
        """The motion at increasing times after sample k, integrated from there in one go, with dense output."""
        recipe, facts = self._origin("continued between its samples")
        engine, begin = recipe.engine(self.system, self.parameters), float(self.t[k])
        engine.start_from(facts, begin)
        start = np.concatenate([self.q[k], self.u[k]])
        samples = recipe.integrator.run(engine, start, (begin, float(times[-1])), times)
        _check_continued(samples.status, float(times[-1]))
        nq, size, works = self.system.nq, engine.size, self.system.works
        work = self.work[k] + (samples.z[:, size] if works else np.zeros(len(times)))
        z = samples.z
        return replace(self, t=samples.t, q=z[:, :nq], u=z[:, nq:size], work=work, known=None)

    def _continued(self, t: float) -> np.ndarray:
        """(q, u, work) at time t, by a run of its own from the sample before it."""
        k = int(np.searchsorted(self.t, t, side="right")) - 1
        start = np.concatenate([self.q[k], self.u[k], self.work[k : k + 1]])
        if not t - self.t[k] > RESOLVED * max(abs(t), abs(float(self.t[k]))):  # no step is that short
            return start
        recipe, facts = self._origin("continued between its samples")
        engine = recipe.engine(self.system, self.parameters)
        engine.start_from(facts, float(self.t[k]))
        samples = recipe.integrator.run(engine, start[:-1], (float(self.t[k]), t), np.array([t]))
        _check_continued(samples.status, t)
        z = samples.z[-1]
        return np.concatenate([z[: engine.size], start[-1:] + (z[-1] if self.system.works else 0.0)])

    @property
    def can_continue(self) -> bool:
        """Whether states between the samples can be found: not if it was read from a file."""
        return self.recipe is not None

    def _origin(self, done: str) -> tuple[Recipe, RunFacts]:
        """What made this motion; raises if that is not known, saying what cannot be done."""
        if self.recipe is None or self.facts is None:
            raise DalembertError(f"this motion was loaded from a file and cannot be {done}")
        return self.recipe, self.facts

    def only(self, samples: np.ndarray) -> Motion:
        """The motion with some of its samples, chosen by a mask or indices (nt,)."""
        kept: dict[str, Any] = {name: getattr(self, name)[samples] for name in ("t", "q", "u", "work")}
        if self.derivatives is not None:
            kept["derivatives"] = replace(self.derivatives, S=self.derivatives.S[samples])
        return replace(
            self,
            known=replace(self.evaluation, **{k: v[samples] for k, v in vars(self.evaluation).items()}),
            **kept,
        )

    # -- files ------------------------------------------------------------------------------------------------------

    @staticmethod
    def load(path: str | Path, system: System) -> Motion:
        """A motion written by `save`, for the same system; it can be read, but not continued between its samples.

        Raises `FileError` if the file is damaged or holds something else. Residuals, energies and conditioning are
        evaluated again with the equations of `system`, so that the certificate is about these.
        """
        data = read_archive(path, Motion.kind)
        with reading(path, Motion.kind):
            return Motion.restored(data, [system], str(path))

    def stored(self) -> dict[str, np.ndarray]:
        """Everything a file needs, as arrays by name; the facts are JSON."""
        facts = {"success": self.success, "message": self.message, "stats": self.stats, "method": self.method}
        facts |= {"system": identity(self.system), "names": [*self.system.coordinates, *self.system.speeds]}
        facts |= {"events": packed(self.events), "passages": packed_passages(self.passages)}
        facts |= {"scales": self._scales.values.tolist() if len(self) else [], "energies": self.energies}
        arrays = {name: getattr(self, name) for name in _shapes(self.system, len(self))}
        outputs = {f"o_{output.name}": self[output.name] for output in self.system.outputs}  # for other readers
        return {**arrays, "facts": np.array(json.dumps(facts)), **outputs}

    @staticmethod
    def restored(data: Mapping[str, np.ndarray], systems: Sequence[System], source: str) -> Motion:
        """The motion of `stored` arrays, of one of the systems; `source` says where they come from."""
        facts = facts_in(data, "facts")
        system = system_of(facts["system"], systems)
        if facts["names"] != [*system.coordinates, *system.speeds]:
            raise FileError(
                f"{source} holds a motion of `{facts['system'][0]}` ({facts['names']}), not of `{system.name}`"
            )
        arrays = floats_in(data, _shapes(system, len(data["t"])))
        solved = {name: arrays.pop(name) for name in ("udot", "multipliers")}
        motion = Motion(
            system=system,
            success=facts["success"] is True,
            message=str(facts["message"]),
            stats={str(what): int(count) for what, count in facts["stats"].items()},
            told=str(facts["method"]),
            events=unpacked(facts["events"], systems),
            scales=_read_scales(system, facts.get("scales", [])),
            passages=passages_in(facts),
            energies=energies_in(facts),
            **arrays,
        )
        return replace(motion, known=motion.evaluated_again(**solved))

    def evaluated_again(self, udot: np.ndarray, multipliers: np.ndarray) -> Evaluation:
        """What follows from the samples and these accelerations (nt, nu) and multipliers (nt, nc), if they are right.

        They are put into the equations; how far these are off is in the residuals.
        """
        from dalembert.run.accelerations import evaluate_samples

        fresh = evaluate_samples(self.system, self.parameters, self.t, self._samples())
        motion = replace(self, known=replace(fresh, udot=udot, multipliers=multipliers))
        if not len(motion):
            return motion.evaluation
        acceleration, balance = equation_residuals(motion, motion._scales)  # noqa: SLF001
        return replace(motion.evaluation, acceleration=acceleration, balance=balance)


def _read_scales(system: System, values: list[float]) -> Scales | None:
    """The sizes a file holds; None if it has none, or they are not those of the system."""
    from dalembert.run.scales import Scales

    n_p, n_v = system.count("position"), system.count("velocity")
    sizes = np.array(values, dtype=float)
    fits = sizes.shape == (system.nq + system.nu + 2 * n_p + n_v + 2,) and (sizes > 0.0).all()
    return Scales(sizes, system.nq, system.nu, n_p) if fits and np.isfinite(sizes).all() else None


def _check_continued(status: Status, t: float) -> None:
    """Raise if a run between the samples did not reach time t."""
    if status == Status.INTERRUPTED:
        raise KeyboardInterrupt
    if status != 0:
        raise DalembertError(f"the motion cannot be continued to t = {t:g}: {status.message}")


def _shapes(system: System, samples: int) -> dict[str, tuple[int, ...]]:
    """The arrays a file holds of a motion by name, with their shapes."""
    nt, nu = samples, system.nu
    return {
        "parameters": (len(system.parameters),), "t": (nt,), "q": (nt, system.nq), "u": (nt, nu), "work": (nt,),
        "udot": (nt, nu), "multipliers": (nt, system.nc),
    }  # fmt: skip

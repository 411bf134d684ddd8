"""`MotionSequence`: a motion with changes at events, read like one motion."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import sympy as sp

from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.errors import FileError, UnknownNameError
from dalembert.model.reading import listed
from dalembert.model.time_symbols import function_of_time
from dalembert.motion.archive import facts_in, floats_in, read_archive, reading
from dalembert.motion.certificate import Certificate, combine, energy_finding
from dalembert.motion.files import packed, unpacked
from dalembert.motion.motion import Motion
from dalembert.motion.outputs import is_expression, spelling
from dalembert.motion.reactions import Wrench
from dalembert.motion.recorded import Recorded, one_time, times_within
from dalembert.motion.saved import restored
from dalembert.motion.state import State
from dalembert.motion.turns import join_turns
from dalembert.motion.verification import Verification
from dalembert.run.events import Occurrences
from dalembert.run.run_facts import Energies

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def _joined(name: str, says: str) -> cached_property[np.ndarray]:
    """A property of a sequence: the values of this name of all segments, one after the other."""

    def values(sequence: MotionSequence) -> np.ndarray:
        return np.concatenate([getattr(motion, name) for motion in sequence.segments])

    values.__doc__ = says
    return cached_property(values)


@dataclass(frozen=True, eq=False, repr=False)
class MotionSequence(Recorded):
    """Successive motions, `segments`, joined where `events` changed the state, parameters or system.

    Reads like a `Motion`: arrays over all samples, values by name or expression. The time of a change has two samples,
    the last of one segment and the first of the next. Where a constraint does not exist its multiplier, reaction and
    violation are zero; where an output or a parameter does not exist it is not a number.
    `system` is the first one; systems and parameters of the others are in `segments`.
    """

    kind: ClassVar[str] = "sequence"  # of its files

    segments: tuple[Motion, ...]
    events: Occurrences
    before: tuple[tuple[float, float], ...] = ()  # work done and energy lost before each segment; found if not given
    verification: Verification | None = None  # by a second run, see `verify`

    def __post_init__(self) -> None:
        if self.before:
            return
        work, lost, carried = 0.0, 0.0, []
        last: Motion | None = None  # of the segments that have samples
        for motion in self.segments:
            if last is not None and len(motion):
                work, lost = work + float(last.work[-1]), lost + float(last.energy[-1] - motion.energy[0])
            carried.append((work, lost))
            last = motion if len(motion) else last
        object.__setattr__(self, "before", tuple(carried))

    # -- values ----------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> np.ndarray:
        entries = listed(key)
        if entries is not None:
            return np.stack([self[entry] for entry in entries], axis=1)
        if is_expression(key):
            return np.concatenate([motion[key.xreplace(self._zeros(motion))] for motion in self.segments])
        name, quantities = spelling(key), [motion.system.named_quantities for motion in self.segments]
        parts = self._where_known(lambda motion: motion[name], 0.0 if name in self._forces else np.nan)
        wrapped = any(name in known and known[name][0].wrapped for known in quantities)
        return np.concatenate(join_turns(parts) if wrapped else parts)

    def __len__(self) -> int:
        return sum(map(len, self.segments))

    @property
    def system(self) -> System:
        """The system at the start."""
        return self.segments[0].system

    t = _joined("t", "Times, (nt,), not decreasing: the time of a change is there twice.")
    q = _joined("q", "Coordinates, (nt, nq).")
    u = _joined("u", "Speeds, (nt, nu).")
    udot = _joined("udot", "Accelerations, (nt, nu).")
    gauss_measure = _joined("gauss_measure", "Gauss's measure of constraint, (nt,).")

    @cached_property
    def constraint_names(self) -> tuple[str, ...]:
        """Names of the constraints of all systems, in the order of the multipliers."""
        return tuple(dict.fromkeys(name for motion in self.segments for name in motion.constraint_names))

    @cached_property
    def multipliers(self) -> np.ndarray:
        """Lagrange multipliers, (nt, nc), in the order of `constraint_names`; zero where one does not exist."""
        columns = [self[name] for name in self.constraint_names]
        return np.stack(columns, axis=-1) if columns else np.zeros((len(self), 0))

    @cached_property
    def unknowns(self) -> np.ndarray:
        """Values of the unknowns of all systems, (nt, ny); zero where one does not exist."""
        names = dict.fromkeys(name for motion in self.segments for name in motion.system.unknowns)
        return np.stack([self[name] for name in names], axis=-1) if names else np.zeros((len(self), 0))

    reactions = _joined("reactions", "Generalised reactions, (nt, nu).")

    def reaction(self, constraint: Any) -> np.ndarray:
        """Generalised force of one constraint or group, (nt, nu); zero where it does not exist."""
        return np.concatenate(self._where_known(lambda motion: motion.reaction(constraint)))

    def reaction_on(self, item: Any) -> Wrench:
        """Force (nt, 3) and torque (nt, 3) that constraints exert on a particle or body; impulses are not in it."""
        parts = [motion.reaction_on(item) for motion in self.segments]
        return Wrench(np.concatenate([w.force for w in parts]), np.concatenate([w.torque for w in parts]))

    def joint_reaction(self, joint: Any) -> Wrench:
        """Force (nt, 3) and torque (nt, 3) of a joint on its second body, at its marker; zero where it does not exist.

        Impulses are not in it.
        """
        both = np.concatenate(self._where_known(lambda motion: np.hstack(motion.joint_reaction(joint))))
        return Wrench(both[:, :3], both[:, 3:])

    def constraint_power(self, constraint: Any) -> np.ndarray:
        """Power of one constraint or group, (nt,); zero where it does not exist."""
        return np.concatenate(self._where_known(lambda motion: motion.constraint_power(constraint)))

    energy = _joined("energy", "Kinetic plus potential energy, (nt,).")

    @cached_property
    def work(self) -> np.ndarray:
        """Work done on the system since the start, (nt,), without that of changes."""
        return np.concatenate([m.work + work for m, (work, _) in zip(self.segments, self.before, strict=True)])

    @cached_property
    def energy_lost(self) -> np.ndarray:
        """Energy lost in changes since the start, (nt,)."""
        return np.concatenate([np.full(len(m), lost) for m, (_, lost) in zip(self.segments, self.before, strict=True)])

    @property
    def energy_balance(self) -> np.ndarray:
        """Change of energy minus the work done plus the energy lost in changes, (nt,); zero for an exact motion."""
        kept = self.energy - self.work + self.energy_lost
        first = next((motion.energy_balance[:1] for motion in self.segments if len(motion)), 0.0)
        return kept - kept[:1] + first

    @property
    def energies_met(self) -> Energies:
        """Energies at the samples and along the run between, with the largest imbalance."""
        kinetic = np.concatenate([motion.evaluation.kinetic for motion in self.segments])
        balance, at = self.energy_balance, 0
        met = Energies.at(self.t, (kinetic, self.energy - kinetic, self.work), balance)
        for motion, (work, _) in zip(self.segments, self.before, strict=True):
            if len(motion) and motion.energies is not None:
                off = float(balance[at] - motion.energy_balance[0])  # where the segment began
                met = met.joined(motion.energies, done=work, off=off)
            at += len(motion)
        return met

    @cached_property
    def violation(self) -> dict[str, dict[str, np.ndarray]]:
        """Residuals over time by level and constraint, (nt,) each; zero where a constraint does not exist."""
        parts = [motion.violation for motion in self.segments]
        levels = {level: None for part in parts for level in part}
        return {
            level: {
                name: np.concatenate(
                    [
                        part.get(level, {}).get(name, np.zeros(len(m)))
                        for part, m in zip(parts, self.segments, strict=True)
                    ]
                )
                for name in dict.fromkeys(name for part in parts for name in part.get(level, {}))
            }
            for level in levels
        }

    # -- how it went -----------------------------------------------------------------------------------------------

    @property
    def success(self) -> bool:
        """Whether the motion reached its end, or an event that ends it."""
        return self.segments[-1].success

    @property
    def message(self) -> str:
        """Message on how the run ended."""
        return self.segments[-1].message

    @property
    def stats(self) -> dict[str, int]:
        """The cost of all segments together."""
        return self.certificate.stats

    @property
    def method(self) -> str:
        """Formulation, drift control and integrator."""
        return self.certificate.method

    @cached_property
    def certificate(self) -> Certificate:
        """The worst of all segments; the energy is judged as a whole, including the losses in changes."""
        parts = [motion.certificate for motion in self.segments]
        told = {"events": self.events.remarks, "missed": self.events.missed, "verification": self.verification}
        if not len(self):
            return combine(parts, **told)
        met = self.energies_met
        size = max(met.size_beside(motion.sizes, float(self.t[-1])) for motion in self.segments if len(motion))
        energy = energy_finding("E - E0 - W + lost", met, size, self.segments[0].tolerances.energy)
        combined = combine(parts, energy_error=met.off, **told)
        return replace(combined, findings=(*(f for f in combined.findings if f.level != "energy"), energy))

    # -- other times -----------------------------------------------------------------------------------------------

    def at(self, t: float) -> State:
        """The state at any time of the motion; at the time of a change, the state after it."""
        return self.resampled([one_time(t)]).segments[0].at(t)

    def resampled(self, times: ArrayLike) -> MotionSequence:
        """The same motion at other times (increasing); at the time of a change, after it."""
        ts = times_within(self, times)
        sampled = [(motion, before) for motion, before in zip(self.segments, self.before, strict=True) if len(motion)]
        which = np.searchsorted([motion.t[0] for motion, _ in sampled], ts, side="right") - 1
        kept = [(motion.resampled(ts[which == k]), b) for k, (motion, b) in enumerate(sampled) if k in which]
        return MotionSequence(tuple(motion for motion, _ in kept), self.events, tuple(before for _, before in kept))

    # -- files ------------------------------------------------------------------------------------------------------

    def stored(self) -> dict[str, np.ndarray]:
        """Contents of a file as arrays by name, those of each segment after its number; the facts are JSON."""
        arrays = {f"{k} {name}": a for k, motion in enumerate(self.segments) for name, a in motion.stored().items()}
        facts = {"segments": len(self.segments), "events": packed(self.events)}
        return {"sequence": np.array(json.dumps(facts)), "before": np.array(self.before), **arrays}

    @staticmethod
    def load(path: str | Path, *systems: System) -> MotionSequence:
        """A sequence written by `save`, for the same systems; see `Motion.load`."""
        arrays = read_archive(path, MotionSequence.kind)
        with reading(path, MotionSequence.kind):
            facts = facts_in(arrays, "sequence")
            parts: list[dict[str, np.ndarray]] = [{} for _ in range(facts["segments"])]
            for name, array in arrays.items():
                number, _, rest = name.partition(" ")
                if rest:
                    parts[int(number)][rest] = array
            before = floats_in(arrays, {"before": (len(parts), 2)})["before"]
            segments = tuple(restored(part, systems, str(path)) for part in parts)
            if not segments:
                raise FileError(f"{path} holds no segments")
            events = unpacked(facts["events"], systems)
        return MotionSequence(segments, events, tuple((float(w), float(e)) for w, e in before))

    # -- inside ----------------------------------------------------------------------------------------------------

    @cached_property
    def _forces(self) -> tuple[str, ...]:
        """Names of the constraints and unknowns of all systems: zero where they do not exist."""
        unknowns = dict.fromkeys(name for motion in self.segments for name in motion.system.unknowns)
        return (*self.constraint_names, *unknowns)

    def _zeros(self, motion: Motion) -> dict[Any, Any]:
        """Substitutions of zero for the multipliers and unknowns that a segment does not have."""
        known = {*motion.constraint_names, *motion.system.unknowns}
        missing = [name for name in self._forces if name not in known]
        return {f(name): sp.S.Zero for name in missing for f in (sp.Symbol, function_of_time)}

    def _where_known(self, values: Callable[[Motion], np.ndarray], absent: float = 0.0) -> list[np.ndarray]:
        """Values of each segment, `absent` in segments without the quantity. Raises if no segment has it."""
        parts: list[np.ndarray | None] = []
        errors: list[UnknownNameError] = []
        for motion in self.segments:
            try:
                parts.append(values(motion))
            except UnknownNameError as error:
                errors.append(error)
                parts.append(None)
        shapes = [part.shape[1:] for part in parts if part is not None]
        if not shapes:
            raise errors[0]
        return [
            np.full((len(motion), *shapes[0]), absent) if part is None else part
            for motion, part in zip(self.segments, parts, strict=True)
        ]

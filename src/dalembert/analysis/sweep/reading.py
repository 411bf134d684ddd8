"""`Reading`: a quantity to be read from every run, known by name or by a function that needs no symbols."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from dalembert.analysis.sweep.curve import Curve, Sampler
from dalembert.dataclass import dataclass
from dalembert.equations.observation import Observation
from dalembert.equations.system import System
from dalembert.errors import OptionError
from dalembert.model.reading import listed
from dalembert.motion.motion import Motion
from dalembert.motion.outputs import is_expression, known_names, observation_of, observed_values, spelling, values_of
from dalembert.motion.state import State

ENERGY = "energy"  # kinetic plus potential, unless the model has something of this name


@dataclass(frozen=True, eq=False)
class Reading:
    """A quantity with the `labels` of its components: a name, or an expression that was read in advance."""

    labels: tuple[str, ...]
    name: str = ""
    observation: Observation | None = field(default=None, repr=False)

    def values(self, motion: Any) -> np.ndarray:
        """The values along a motion, (nt, components)."""
        parts = [self._along(segment) for segment in motion.segments] if self._is_apart else [self._named(motion)]
        return np.concatenate([part.reshape(len(part), -1) for part in parts])

    @property
    def _is_apart(self) -> bool:
        return self.observation is not None

    def _along(self, motion: Motion) -> np.ndarray:
        system, made = motion.system, self.observation
        system.passing_kernel(made.name, lambda: made.function)  # type: ignore[union-attr]
        return observed_values(motion, made)  # type: ignore[arg-type]

    def _named(self, motion: Any) -> np.ndarray:
        return motion.energy if self.is_energy(motion.system) else motion[self.name]

    def is_energy(self, system: System) -> bool:
        """Whether it is kinetic plus potential energy."""
        return self.name == ENERGY and not _has(system, ENERGY)

    def curves(self, motion: Any) -> list[list[Curve]]:
        """The curves of every component: one for each smooth stretch of the motion."""
        t, values = motion.t, self.values(motion)
        if len(motion.segments) == 1:
            return [[Curve(t, values[:, k], self._sampler(motion, k))] for k in range(values.shape[1])]
        stretches = np.split(np.arange(len(t)), np.cumsum([len(segment.t) for segment in motion.segments])[:-1])
        return [
            [Curve(t[s], values[s, k], self._sampler(motion.segments[j], k)) for j, s in enumerate(stretches)]
            for k in range(values.shape[1])
        ]

    def _sampler(self, segment: Motion, component: int) -> Sampler:
        """The values after a sample of a segment, integrated in one go."""
        return lambda k, times: self.values(segment.continued(k, times))[:, component]


def read_key(system: System, key: Any) -> Reading:
    """The reading of a name, a symbol or an expression; raises if the system does not know it."""
    if listed(key) is not None:
        raise OptionError("an output is a name or one expression; pass the entries of a list as outputs of their own")
    if is_expression(key):
        return Reading((str(key).replace("(t)", ""),), observation=observation_of(system, key))
    name = spelling(key)
    if name == ENERGY and not _has(system, ENERGY):
        return Reading((ENERGY,), name)
    if name in system.named_quantities and system.named_quantities[name][1] is None:
        return Reading(system.named_quantities[name][0].columns, name)
    q, u, udot, la, p = (np.zeros(n) for n in (system.nq, system.nu, system.nu, system.nc, len(system.parameters)))
    probe = State(system, 0.0, q, u, udot, la, p)
    values_of(probe, name)  # raises if the name is not known
    return Reading((name,), name)


def _has(system: System, name: str) -> bool:
    return name in known_names(system)

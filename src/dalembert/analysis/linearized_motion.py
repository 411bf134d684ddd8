"""`LinearizedMotion`: x' = A(t) x + B(t) w, y = C(t) x + D(t) w along a motion, and its Floquet multipliers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.analysis.floquet import check_periodic, multipliers_of
from dalembert.analysis.transition import carry, changes_along, recipe_of
from dalembert.analysis.verdict import Judged, check_held
from dalembert.dataclass import dataclass
from dalembert.errors import LinearizationError, PairingError
from dalembert.motion.motion import Motion
from dalembert.motion.sequence import MotionSequence
from dalembert.motion.state import State


@dataclass(frozen=True, eq=False)
class LinearizedMotion(Judged):
    """Small changes x (n,) of `states`, w of `inputs` and y of `outputs` about `motion`, at its samples `t` (nt,).

    A (nt, n, n), B (nt, n, inputs), C (nt, outputs, n), D (nt, outputs, inputs). `basis` (nt, nq + nu, n): changes of
    all coordinates and speeds are basis @ x.
    """

    motion: Motion
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    basis: np.ndarray

    @property
    def t(self) -> np.ndarray:
        """Times of the samples, (nt,)."""
        return self.motion.t

    @cached_property
    def transition(self) -> np.ndarray:
        """State transition matrices (nt, n, n): x(t) = transition(t) x(t0), from the variational equations."""
        s, motion = self.motion.system, self.motion
        names = (*s.coordinates, *s.speeds)
        rows = [names.index(name) for name in self.states]
        start = State(s, float(motion.t[0]), motion.q[0], motion.u[0], motion.udot[0], motion.multipliers[0],
                      motion.parameters)  # fmt: skip
        carried = carry(recipe_of(motion), start, float(motion.t[-1]), self.basis[0].T, t_eval=motion.t)
        check_held(carried, "the transition matrix")
        return changes_along(carried.segments[0])[:, :, rows].transpose(0, 2, 1)

    @property
    def monodromy(self) -> np.ndarray:
        """The transition matrix over one period, (n, n); raises `LinearizationError` if the motion is not periodic."""
        check_periodic(self.motion)
        return self.transition[-1]

    @cached_property
    def multipliers(self) -> np.ndarray:
        """Floquet multipliers of a periodic motion, (n,) complex, the largest first."""
        return multipliers_of(self.monodromy)

    @property
    def exponents(self) -> np.ndarray:
        """Floquet exponents log(multipliers) / period in 1/s, (n,) complex."""
        return np.log(self.multipliers) / float(self.t[-1] - self.t[0])

    def __repr__(self) -> str:
        parts = "".join(
            f"\n  {what:<9}{', '.join(names)}"
            for what, names in (("states", self.states), ("inputs", self.inputs), ("outputs", self.outputs))
            if names
        )
        span = f"t = {self.t[0]:g} .. {self.t[-1]:g}, {len(self.t)} samples"
        doubt = "" if self.success else f"\n  the motion is {self.message}"
        return f"LinearizedMotion of {self.motion.system.name!r}, {span}{parts}{doubt}"


def linearize_along(
    linearize: Any,
    motion: Motion | MotionSequence,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    states: Sequence[Any] | None,
) -> LinearizedMotion:
    """The equations linearised, by `linearize`, at every sample of a motion, in the same states everywhere."""
    if not isinstance(motion, Motion):
        raise PairingError(
            f"the motion of `{motion.system.name}` has {len(motion.segments)} segments, between which events change "
            "it; linearise them one by one: [system.linearize(part) for part in motion.segments]"
        )
    found = []
    for k, t in enumerate(motion.t):
        here = (motion.q[k], motion.u[k], motion.udot[k], motion.multipliers[k], motion.parameters)
        try:
            one = linearize(State(motion.system, float(t), *here), inputs=inputs, outputs=outputs, states=states)
        except LinearizationError as error:
            raise LinearizationError(f"at t = {t:g}: {error}", error.directions) from error
        found.append(one)
        states = one.states
    A, B, C, D, basis = (np.array([getattr(one, name) for one in found]) for name in ("A", "B", "C", "D", "basis"))
    return LinearizedMotion(motion, found[0].states, found[0].inputs, found[0].outputs, A, B, C, D, basis)

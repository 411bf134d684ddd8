"""Baumgarte's stabilisation: feedback of the violations into the constraints at acceleration level.

J. Baumgarte, "Stabilization of constraints and integrals of motion in dynamical systems", Computer Methods in Applied
Mechanics and Engineering 1 (1972) 1-16; Bajodah, Hodges, Chen, eq. (104)-(113):

    phi'' + Gamma1 phi' + Gamma2 phi = 0   (position constraints),     psi' + Gamma psi = 0   (velocity constraints),

with the opposite sign of Gamma in that paper. Nothing else changes: the feedback is added to b of A u' = b, for every
formulation and for reactions of every kind. Constraints on accelerations hold as they are and need none.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

import casadi as ca
import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.mechanics import Mechanics
from dalembert.equations.system import System
from dalembert.errors import OptionError
from dalembert.native.kernel import Kernel
from dalembert.run.drift import gains
from dalembert.run.drift.gains import Gain
from dalembert.run.drift.no_correction import keep
from dalembert.run.drift.start import Start
from dalembert.run.right_hand_side import Feedback

# s h where gains are not given: the decay of violations within one step. The textbook's s = 1/h costs accuracy: stages
# lie O(h^2) off the constraints, gains of 1/h^2 make accelerations of O(1) of it, and violations shrink with h^2 only.
FIXED_RATE = 0.05  # measured: a smaller one lets violations grow at coarse steps, a larger one at fine steps
# With adapted steps s must not follow the step: the error estimate would see the effect above and shrink the steps,
# which would raise the gains, and so on.
ADAPTED_RATE = 0.5  # times the rate of the motion; measured: twice of it costs more and holds no better


@dataclass(frozen=True)
class Baumgarte:
    """phi'' + gamma1 phi' + gamma2 phi = 0 and psi' + gamma psi = 0; positive gains damp.

    Each gain is a number, a sequence or a mapping by name (one per constraint of its level), or a matrix. Gains that
    are not given are gamma1 = 2 s and gamma2 = s^2 (critical damping), gamma = s, with s = 0.05 / h for fixed steps h
    and half the rate of the motion at its start (`motion.scales.rate`) for adapted ones. Gains that do not depend on
    the step keep the order of the integrator. Gains of 0.05 / h do not, as they grow while h shrinks: motions then
    converge with h^2. Gains that let violations grow, or that are too stiff for a fixed step, raise an `OptionError`.
    """

    gamma1: Gain | None = None
    gamma2: Gain | None = None
    gamma: Gain | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        for name in ("gamma1", "gamma2", "gamma"):
            object.__setattr__(self, name, gains.frozen(name, getattr(self, name)))
        if (self.gamma1 is None) != (self.gamma2 is None):
            given, lacking = ("gamma1", "gamma2") if self.gamma2 is None else ("gamma2", "gamma1")
            raise OptionError(
                f"Baumgarte: {given} is given but {lacking} is not; give both, with gamma2 = gamma1^2 / 4 for critical "
                "damping"
            )
        if isinstance(self.gamma1, float) and isinstance(self.gamma2, float):
            values = gains.eigenvalues(np.array([self.gamma1]), np.array([self.gamma2]))
            gains.check_stable(f"gamma1 = {self.gamma1:g}, gamma2 = {self.gamma2:g}", values)
        if isinstance(self.gamma, float):
            gains.check_stable(f"gamma = {self.gamma:g}", np.array([-self.gamma + 0j]))

    def options(self, system: System, start: Start | None) -> np.ndarray:
        """Numbers for native code: s h or s, one of them 0, then the gains that are given, row by row."""
        positions, velocities = self._expanded(system)
        for what, values in (
            ("gamma1, gamma2", gains.eigenvalues(*positions) if positions else np.zeros(0)),
            ("gamma", np.linalg.eigvals(-gains.matrix(velocities[0])) + 0j if velocities else np.zeros(0)),
        ):
            gains.check_stable(what, values)
            if start is not None and len(values):
                gains.check_not_stiff(what, values, start)
        return np.concatenate([_rates(start), *(gain.ravel() for gain in (*positions, *velocities))])

    def kernels(self, _system: System) -> dict[str, Kernel | None]:
        """Kernels of its own: none, the engine makes that of the feedback."""
        return {}

    def workspace(self, _system: System) -> int:
        """Floats of workspace: none."""
        return 0

    def feedback(self, system: System) -> Feedback | None:
        """-(Gamma1 phi' + Gamma2 phi) and -Gamma psi for the rows of A u' = b."""
        positions, velocities = self._expanded(system)
        n_p, n_v = system.count("position"), system.count("velocity")
        if not n_p + n_v:
            return None
        shapes = [gain.shape for gain in (*positions, *velocities)]

        def change(m: Mechanics, h: ca.SX, options: ca.SX) -> ca.SX:
            # Before the first step there is none, and no gain; s stays finite so that the product is zero, not NaN.
            s = options[0] / ca.fmax(h, 1e-300) * (h > 0) + options[1]
            given = _unpacked(options[2:], shapes)
            gamma1, gamma2 = given[:2] if positions else (2 * s, s * s)
            gamma = given[-1] if velocities else s
            rate, psi = m.psi[:n_p, :], m.psi[n_p:, :]
            rows = [-ca.mtimes(gamma1, rate) - ca.mtimes(gamma2, m.phi), -ca.mtimes(gamma, psi)]
            return ca.vertcat(*rows, ca.SX(system.nc - n_p - n_v, 1))

        size = 2 + sum(int(np.prod(shape)) for shape in shapes)
        return Feedback(f"Baumgarte {shapes} {bool(positions)} {bool(velocities)}", size, change)

    def corrector(self) -> Any:
        """Native correction: none, states stay as they are."""
        return keep

    def remark(self, system: System, start: Start | None) -> str:
        """Remark on the gains that were chosen by default, and on their origin."""
        chosen = []
        if system.count("position") and self.gamma1 is None:
            chosen += ["gamma1 = 2 s", "gamma2 = s^2"]
        if system.count("velocity") and self.gamma is None:
            chosen += ["gamma = s"]
        if start is None or not chosen:
            return ""
        by_step, s = _rates(start)
        if start.step is None:
            return f"; {', '.join(chosen)}, s = {s:.4g}, half the rate of the motion at its start"
        return f"; {', '.join(chosen)}, s = {by_step:.3g}/h with h = {start.step:.4g}: s = {by_step / start.step:.4g}"

    def _expanded(self, system: System) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """(gamma1, gamma2) of the position rows and (gamma,) of the velocity rows; empty if not given or not needed."""
        n_p, n_v = system.count("position"), system.count("velocity")
        for level, n, given, other in (
            ("position", n_p, self.gamma1, "gamma= for velocity constraints"),
            ("velocity", n_v, self.gamma, "gamma1, gamma2 for position constraints"),
        ):
            if given is not None and not n:
                raise OptionError(
                    f"Baumgarte: gains are given for {level} constraints, but `{system.name}` has none; use {other}"
                )
        positions, velocities = range(n_p), range(n_p, n_p + n_v)
        return (
            []
            if self.gamma1 is None
            else [
                gains.expanded("gamma1", self.gamma1, system, positions),
                gains.expanded("gamma2", self.gamma2, system, positions),
            ],
            [] if self.gamma is None else [gains.expanded("gamma", self.gamma, system, velocities)],
        )


def _rates(start: Start | None) -> tuple[float, float]:
    """s h and s, one of them 0, of the rate s at which violations decay where gains are not given."""
    if start is None:
        return 0.0, 0.0
    return (0.0, ADAPTED_RATE * start.rate) if start.step is None else (FIXED_RATE, 0.0)


def _unpacked(numbers: ca.SX, shapes: list[tuple[int, ...]]) -> list[ca.SX]:
    """Gains as matrices (n, n), diagonal where there is a number per row."""
    out, at = [], 0
    for shape in shapes:
        size = int(np.prod(shape))
        block = numbers[at : at + size]
        out.append(ca.diag(block) if len(shape) == 1 else ca.reshape(block, *shape).T)
        at += size
    return out

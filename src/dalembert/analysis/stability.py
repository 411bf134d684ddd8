"""`Stability`: what the linearisation says about an equilibrium or a steady motion."""

from __future__ import annotations

import numpy as np

from dalembert.analysis.linearize import linearize_at
from dalembert.dataclass import dataclass
from dalembert.errors import LinearizationError
from dalembert.motion.state import State

UNCERTAIN = 1e-6  # real parts below this fraction of the largest eigenvalue are not told from zero


@dataclass(frozen=True, eq=False)
class Stability:
    """`verdict` is "stable" (all changes decay), "unstable" (one grows) or "marginal" (the linearisation cannot tell).

    `eigenvalues` (n,) are those of the states that are not ignorable, the largest real part first; `growth` is that.
    """

    verdict: str
    eigenvalues: np.ndarray
    states: tuple[str, ...]
    ignorable: tuple[str, ...]

    @property
    def growth(self) -> float:
        """The largest real part in 1/s; minus infinity if there are no states."""
        return float(self.eigenvalues.real.max(initial=-np.inf))

    def __str__(self) -> str:
        if not len(self.eigenvalues):
            return "stable: nothing can move"
        frequency = float(np.abs(self.eigenvalues.imag[np.argmax(self.eigenvalues.real)]))
        how = f"growth rate {self.growth:.6g} 1/s" + (f" at {frequency:.6g} rad/s" if frequency else "")
        if self.verdict == "marginal":
            margin = UNCERTAIN * np.abs(self.eigenvalues).max()
            zeros = int((np.abs(self.eigenvalues) <= margin).sum())
            waves = int((np.abs(self.eigenvalues.real) <= margin).sum()) - zeros
            rest = len(self.eigenvalues) - zeros - waves
            return f"marginal: of {len(self.eigenvalues)} eigenvalues {zeros} are zero, {waves} imaginary, {rest} decay"
        return f"{self.verdict}: {how}"

    __repr__ = __str__


def stability_of(state: State) -> Stability:
    """The stability of the steady motion through a state; raises `LinearizationError` if it is not steady."""
    lin = linearize_at(state.system, state)
    if not lin.steady:
        moving = [name for name, rate in zip(lin.states, lin.rates, strict=True) if abs(rate) > UNCERTAIN]
        raise LinearizationError(
            f"`{state.system.name}`: this state is no equilibrium and not on a steady motion: {', '.join(moving)} "
            "change and the motion depends on them; get it from system.equilibrium or system.steady. If a body turns "
            "in a unit quaternion, state it in angles, or take the Floquet multipliers of system.linearize(motion)",
            moving,
        )
    kept = [k for k, name in enumerate(lin.states) if name not in lin.ignorable]
    values = np.linalg.eigvals(lin.A[np.ix_(kept, kept)]).astype(complex)
    values = values[np.argsort(-values.real)]
    largest = float(values.real.max(initial=-1.0))
    margin = UNCERTAIN * float(np.abs(values).max(initial=0.0))
    verdict = "unstable" if largest > margin else "stable" if largest < -margin else "marginal"
    return Stability(verdict, values, tuple(lin.states[k] for k in kept), lin.ignorable)

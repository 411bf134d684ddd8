"""Floquet multipliers: the factors by which perturbations of a periodic motion grow in one period.

The monodromy matrix takes changes of the independent coordinates and speeds over one period; its eigenvalues are the
multipliers. Along the motion itself, if the equations do not contain the time, the multiplier is 1.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.analysis.derivatives import EquationDerivatives, differentiate
from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.errors import LinearizationError
from dalembert.motion.motion import Motion
from dalembert.motion.sequence import MotionSequence
from dalembert.motion.state import State

PERIOD_DIFFERENCE = 1e-6  # difference of states and equations after a period, relative to the largest, at least this
LOOKED_AT = 9  # samples at which the equations are compared with those a period later
MARGINAL = 1e-5  # multipliers whose size differs from 1 by less are not told from 1: a double one is known to the root


@dataclass(frozen=True, eq=False)
class OrbitalStability:
    """`verdict` is "stable" (all changes decay), "unstable" (one grows) or "marginal" (multipliers do not decide).

    `multipliers` (n,) are those that count, the largest first: that of the motion along itself is left out if the
    equations do not contain the time, and one for each coordinate that may advance by any amount.
    """

    verdict: str
    multipliers: np.ndarray

    @property
    def growth(self) -> float:
        """Largest absolute Floquet multiplier; 0 if there is none."""
        return float(np.abs(self.multipliers).max(initial=0.0))

    def __str__(self) -> str:
        if self.verdict == "marginal":
            count = int((np.abs(np.abs(self.multipliers) - 1.0) <= MARGINAL).sum())
            return f"marginal: of {len(self.multipliers)} multipliers {count} have size 1, the others are smaller"
        return f"{self.verdict}: the largest multiplier has size {self.growth:.6g}"

    __repr__ = __str__


def multipliers_of(monodromy: np.ndarray) -> np.ndarray:
    """Eigenvalues of a monodromy matrix, (n,) complex, the largest first."""
    values = np.linalg.eigvals(monodromy).astype(complex)
    return values[np.lexsort((values.imag, -np.round(np.abs(values), 12)))]


def orbital_stability(multipliers: np.ndarray, trivial: int) -> OrbitalStability:
    """The stability that multipliers speak of, `trivial` of them being 1 in any case."""
    left = multipliers[np.sort(np.argsort(np.abs(multipliers - 1.0), kind="stable")[trivial:])]
    largest = float(np.abs(left).max(initial=0.0))
    verdict = "unstable" if largest > 1 + MARGINAL else "stable" if largest < 1 - MARGINAL else "marginal"
    return OrbitalStability(verdict, left)


def depends_on_time(system: System) -> bool:
    """Whether the equations contain the time."""

    def look() -> bool:
        m = system.mechanics
        graph = ca.vertcat(m.balance, m.acceleration, m.qdot, m.phi, m.psi)
        return bool(ca.depends_on(graph, m.t))

    return bool(system.kept("depends on time", look))


def check_periodic(motion: Motion | MotionSequence) -> None:
    """Raise `LinearizationError` unless a motion ends as it began and its equations are the same a period later.

    Coordinates may differ by an amount that the equations do not see, such as a full turn.
    """
    first, last = motion.segments[0], motion.segments[-1]
    period = float(last.t[-1] - first.t[0])
    if depends_on_time(first.system):
        for part in motion.segments:
            for k in np.unique(np.linspace(0, len(part) - 1, LOOKED_AT).astype(int)):
                _check_repeated(_state(part, int(k)), period)
    _check_ends(_state(first, 0), _state(last, len(last) - 1))


def _state(motion: Motion, k: int) -> State:
    return State(motion.system, float(motion.t[k]), motion.q[k], motion.u[k], motion.udot[k], motion.multipliers[k],
                 motion.parameters)  # fmt: skip


def _check_ends(start: State, end: State) -> None:
    s = start.system
    off = np.abs(np.concatenate([end.u - start.u, end.udot - start.udot]))
    size = np.concatenate([np.full(s.nu, np.abs(v).max(initial=1.0)) for v in (start.u, start.udot)])
    a, b = differentiate(start), differentiate(end)
    moved = _differs(_gradients(a), _gradients(b))
    if end.system is s and (off <= PERIOD_DIFFERENCE * size).all() and not moved:
        return
    k = int((off / size).argmax())
    name, values = s.speeds[k % s.nu], (start.u, end.u) if k < s.nu else (start.udot, end.udot)
    what = f"`{name}`" if k < s.nu else f"`{name}'`"
    raise LinearizationError(
        f"`{s.name}`: the motion from t = {start.t:g} to {end.t:g} is not periodic: {what} begins at "
        f"{values[0][k % s.nu]:.6g} and ends at {values[1][k % s.nu]:.6g}; find a periodic motion with "
        "system.periodic(...)",
        [name],
    )


def _check_repeated(state: State, period: float) -> None:
    """Raise if the equations at a state are others a period later."""
    s = state.system
    later = State(s, state.t + period, state.q, state.u, state.udot, state.multipliers, state.parameters)
    a, b = differentiate(state), differentiate(later)
    off = np.abs(a.values - b.values)
    if _differs(_gradients(a), _gradients(b)) or off.max(initial=0.0) > PERIOD_DIFFERENCE * max(
        1.0, np.abs(a.values).max()
    ):
        label = a.labels[int(off.argmax())]
        raise LinearizationError(
            f"`{s.name}`: the equations do not repeat after {period:g}: `{label}` differs between "
            f"t = {state.t:g} and t = {later.t:g}; the period must be a multiple of that of the drive",
            [label],
        )


def _gradients(d: EquationDerivatives) -> np.ndarray:
    """Gradients in coordinates, speeds, accelerations and multipliers: those in parameters may grow with the time."""
    return np.hstack([d.gradients[:, d.columns[name]] for name in ("q", "u", "udot", "la")])


def _differs(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.abs(a - b).max(initial=0.0) > PERIOD_DIFFERENCE * max(1.0, np.abs(a).max(initial=0.0)))

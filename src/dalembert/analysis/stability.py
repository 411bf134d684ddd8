"""`Stability`: the verdict of the linearisation on an equilibrium or a steady motion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.analysis.comoving import Comoving, comoving, is_alike
from dalembert.analysis.linearization import Linearization
from dalembert.analysis.linearize import linearize_at
from dalembert.analysis.steady_check import WAITS
from dalembert.dataclass import dataclass
from dalembert.errors import DalembertError, LinearizationError
from dalembert.motion.state import State

UNCERTAIN = 1e-6  # real parts below this fraction of the largest eigenvalue are not told from zero


@dataclass(frozen=True, eq=False)
class Stability:
    """`verdict` is "stable" (all changes decay), "unstable" (one grows) or "marginal" (linearisation does not decide).

    `eigenvalues` (n,) are those of the states that are not ignorable, the largest real part first; `growth` is that.
    In a steady motion of bodies that turn, a shift or turn of everything and the spins of bodies are left out alike.
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
    seen = comoving(lin)
    if not seen.steady:
        raise LinearizationError(f"`{state.system.name}`: this state is no equilibrium and not on a steady motion")
    found = _judge(lin, seen, lin.ignorable)
    if found.verdict == "stable" and lin.ignorable and seen.L is None:
        return _judge(lin, seen, [name for name in lin.ignorable if _runs_on(lin, name)])
    return found


def _judge(lin: Linearization, seen: Comoving, ignorable: Sequence[str]) -> Stability:
    """Stability with respect to all changes but ignorable ones."""
    kept = np.eye(len(lin.A))[:, [k for k, name in enumerate(lin.states) if name not in ignorable]]
    if seen.L is not None:
        kept = seen.felt
    values = np.linalg.eigvals(kept.T @ seen.A @ kept).astype(complex)
    values = values[np.argsort(-values.real)]
    largest = float(values.real.max(initial=-1.0))
    margin = UNCERTAIN * float(np.abs(values).max(initial=0.0))
    verdict = "unstable" if largest > margin else "stable" if largest < -margin else "marginal"
    felt = np.abs(kept).max(axis=1, initial=0.0) > UNCERTAIN
    states, rest = (tuple(n for n, own in zip(lin.states, felt, strict=True) if own == side) for side in (True, False))
    return Stability(verdict, values, states, rest)


def _runs_on(lin: Linearization, name: str) -> bool:
    """True if the same motion exists, to first order, at other values of an ignorable coordinate."""
    place = {key: lin.state[key] for key in lin.states}
    try:
        beside = [lin.state.with_({**place, name: place[name] + step}) for step in WAITS]
        found = [lin.state.system.linearize(state, states=lin.states) for state in beside]
    except DalembertError:
        return False
    size = UNCERTAIN * max(1.0, np.abs(lin.rates).max())
    return all(is_alike(one.A, lin.A) and np.abs(one.rates - lin.rates).max() <= size for one in found)

"""`EquationDerivatives`: exact gradients of the equations at one state, and of the accelerations and multipliers.

The equations R(q, u, u', la, p, t) = 0, balance and acceleration rows, determine u' and la. Along changes dq, du, dp

    K (du', dla) = -(R_q dq + R_u du + R_p dp),    K = dR/d(u', la)

(the implicit function theorem). K is singular where constraints are redundant: then du' is unique all the same if the
changes keep the constraints, and dla is not.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.kernels import PROMPT_FUNCTION
from dalembert.equations.system import System
from dalembert.errors import LinearizationError
from dalembert.initial.dependence import INVOLVED
from dalembert.motion.state import State
from dalembert.native.kernel import Kernel, compile_kernel
from dalembert.solve.decompositions import decompose
from dalembert.solve.decompositions import inverse as invert
from dalembert.solve.tolerances import RANK_TOLERANCE

INTERPRETED = 200_000  # instructions up to which an interpreter answers before equal pieces of a tape are found
REGULAR_CONDITION = 1e-9  # reciprocal condition number above which K counts as regular
UNBALANCED_PART = 1e-6  # part of a right-hand side, relative to its size, that no acceleration takes up


class Response(NamedTuple):
    """Changes of u' (nu, n) and la (nc, n); `loose` (nc, k) spans the multipliers that are not unique."""

    udot: np.ndarray
    la: np.ndarray
    loose: np.ndarray


@dataclass(frozen=True, eq=False)
class EquationDerivatives:
    """Values (n,) of all equations at y = (t, q, u, p, u', la), and their gradients (n, size of y).

    Rows by name: "position" (phi and invariants), "velocity" (psi), "balance", "acceleration", "rates" (q').
    Columns by name: "t", "q", "u", "p", "udot", "la".
    """

    system: System
    y: np.ndarray
    values: np.ndarray
    gradients: np.ndarray

    @cached_property
    def rows(self) -> dict[str, slice]:
        """Rows of each group of equations, by name."""
        s = self.system
        n_p, n_v = s.count("position"), s.count("velocity")
        sizes = (n_p + len(s.invariants), n_p + n_v, s.nu, s.nc, s.nq)
        return _slices(("position", "velocity", "balance", "acceleration", "rates"), sizes)

    @cached_property
    def columns(self) -> dict[str, slice]:
        """Columns of each group of variables, by name."""
        s = self.system
        return _slices(("t", "q", "u", "p", "udot", "la"), (1, s.nq, s.nu, len(s.parameters), s.nu, s.nc))

    def of(self, rows: str, columns: str) -> np.ndarray:
        """The gradient of some equations in some variables, such as `of("balance", "q")`."""
        return self.gradients[self.rows[rows], self.columns[columns]]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Names of the equations in messages, in the order of the rows."""
        s = self.system
        n_p, n_pv, names = s.count("position"), s.count("position") + s.count("velocity"), s.constraint_names
        return (
            *names[:n_p], *s.invariants, *[f"rate of {name}" for name in names[:n_p]], *names[n_p:n_pv],
            *[f"balance of {name}" for name in s.speeds], *[f"acceleration of {name}" for name in names],
            *[f"{name}'" for name in s.coordinates],
        )  # fmt: skip

    def response(self, changes: np.ndarray, freed: tuple[int, ...] = (), pushed: np.ndarray | None = None) -> Response:
        """du' and dla for `changes` of (q, u, p), (nq + nu + np, n), that keep the constraints.

        Constraint rows in `freed` are not enforced: their multipliers are inputs, with changes `pushed` (nc, n).
        Raises `LinearizationError` if the accelerations have no unique change.
        """
        s = self.system
        kept = [k for k in range(s.nc) if k not in freed]
        lines = [self.rows["balance"].start + k for k in (*range(s.nu), *(s.nu + k for k in kept))]
        solved = [self.columns["udot"].start + k for k in (*range(s.nu), *(s.nu + k for k in kept))]
        known = slice(self.columns["q"].start, self.columns["p"].stop)
        K = self.gradients[np.ix_(lines, solved)]
        rhs = -self.gradients[lines, known] @ changes
        if pushed is not None:
            rhs -= self.gradients[lines, self.columns["la"]] @ pushed
        x, null = _solve(K, rhs, [self.labels[k] for k in lines], s)
        la = np.zeros((s.nc, x.shape[1])) if pushed is None else pushed.copy()
        loose = np.zeros((s.nc, null.shape[1]))
        la[kept], loose[kept] = x[s.nu :], null[s.nu :]
        return Response(x[: s.nu], la, loose)


def differentiate(state: State) -> EquationDerivatives:
    """The derivatives of the equations at a state."""
    s = state.system
    y = np.concatenate([(state.t,), state.q, state.u, state.parameters, state.udot, state.multipliers])
    out = _kernel(s)(y)
    n = len(out) // (1 + len(y))
    return EquationDerivatives(s, y, out[:n], out[n:].reshape(n, len(y)))


def _kernel(system: System) -> Kernel:
    """The equations and their gradients; interpreted where machine code would take a noticeable time to make."""
    name = "equation_derivatives"
    return system.kept(
        name, lambda: compile_kernel(system.functions[name], native_limit=PROMPT_FUNCTION, loops_from=INTERPRETED)
    )


def _slices(names: tuple[str, ...], sizes: tuple[int, ...]) -> dict[str, slice]:
    ends = np.cumsum((0, *sizes)).tolist()
    return {name: slice(a, b) for name, (a, b) in zip(names, pairwise(ends), strict=True)}


def _solve(K: np.ndarray, rhs: np.ndarray, labels: list[str], system: System) -> tuple[np.ndarray, np.ndarray]:
    """Minimum-norm solution of K x = rhs, and a basis of the null space of K, (n, k)."""
    n = len(K)
    if not (np.isfinite(K).all() and np.isfinite(rhs).all()):
        raise LinearizationError(f"`{system.name}`: a derivative of the equations is not finite in this state")
    if not n:
        return np.zeros_like(rhs), np.zeros((0, 0))
    left, right = _equilibrate(K)
    scaled, b = K * left[:, None] * right, rhs * left[:, None]
    inverse = _inverse(scaled)
    if inverse is not None:
        x = inverse @ b
        for _ in range(2):
            x += inverse @ (b - scaled @ x)
        return x * right[:, None], np.zeros((n, 0))
    found = decompose(scaled, RANK_TOLERANCE)
    _check_unique(found.null[: system.nu], system)
    _check_solvable(found.lost, b, labels, system)
    return found.solve(b) * right[:, None], found.null * right[:, None]


def _inverse(K: np.ndarray) -> np.ndarray | None:
    """K^-1, None if K is not regular."""
    try:
        inverse = invert(K)
    except np.linalg.LinAlgError:
        return None
    condition = np.abs(K).sum(axis=0).max() * np.abs(inverse).sum(axis=0).max()
    return inverse if condition * REGULAR_CONDITION < 1.0 else None


def _equilibrate(K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Factors of rows and columns that bring the largest entries of all of them near 1 (Ruiz, 2001)."""
    left, right = np.ones(len(K)), np.ones(len(K))
    size = np.abs(K)
    for _ in range(4):
        rows, columns = size.max(axis=1, initial=0.0), size.max(axis=0, initial=0.0)
        rows, columns = (1.0 / np.sqrt(np.where(v > 0.0, v, 1.0)) for v in (rows, columns))
        size = size * rows[:, None] * columns
        left, right = left * rows, right * columns
    return left, right


def _check_unique(null: np.ndarray, system: System) -> None:
    share = np.abs(null).max(axis=1, initial=0.0)
    loose = [f"{system.speeds[k]}'" for k in np.flatnonzero(share > INVOLVED)]
    if loose:
        raise LinearizationError(
            f"`{system.name}`: the accelerations {', '.join(loose)} are not unique in this state: some motion has "
            "neither inertia nor a constraint; give every coordinate inertia or a constraint",
            loose,
        )


def _check_solvable(lost: np.ndarray, b: np.ndarray, labels: list[str], system: System) -> None:
    """Redundant rows must stay redundant along the changes: else the state is a singular one."""
    excess = lost.T @ b
    if not excess.size or np.abs(excess).max() <= UNBALANCED_PART * max(np.abs(b).max(), 1.0):
        return
    worst = lost @ decompose(excess, 0.0).left[:, 0]
    rows = [labels[k] for k in np.argsort(-np.abs(worst)) if abs(worst[k]) > 1e-3]
    raise LinearizationError(
        f"`{system.name}`: no linearisation exists in this state: {', '.join(f'`{row}`' for row in rows[:6])} are "
        "dependent here but not beside it, so that the mechanism may go on in more than one way (a dead point or "
        "bifurcation); linearise at a state next to it",
        rows,
    )

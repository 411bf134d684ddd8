"""The partition u = (u_I, u_D) of Bajodah, Hodges and Chen, eq. (16)-(22), as graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.mechanics import rows_of
from dalembert.equations.naming import name_of
from dalembert.equations.system import System
from dalembert.errors import OptionError, UnknownNameError
from dalembert.run.formulations.choice import Choice, choose
from dalembert.run.right_hand_side import Equations
from dalembert.solve.decompositions import decompose
from dalembert.solve.elimination import solve_in_order


@dataclass(frozen=True)
class Partition:
    """A = -J2^-1 J1 (r, p), B = J2^-1 b (r, 1); u' = Z u_I' + c; the quality of J2."""

    choice: Choice
    A: ca.SX
    B: ca.SX
    Z: ca.SX
    c: ca.SX
    quality: ca.SX

    @classmethod
    def of(cls, equations: Equations, choice: Choice) -> Partition:
        """The graphs for one choice of dependent speeds."""
        nu = equations.M.shape[0]
        rows, dep, ind = list(choice.rows), list(choice.dependent), list(choice.independent(nu))
        J = rows_of(equations.A, rows)
        solved, quality = solve_in_order(J[:, dep], ca.horzcat(-J[:, ind], rows_of(equations.b, rows)))
        A, B = solved[:, : len(ind)], solved[:, len(ind) :]
        Z, c = ca.SX(nu, len(ind)), ca.SX(nu, 1)
        for k, i in enumerate(ind):
            Z[i, k] = 1
        for k, i in enumerate(dep):
            Z[i, :] = A[k, :]
            c[i] = B[k]
        return cls(choice, A, B, Z, c, ca.fmin(quality, _moderation(equations.M, A, dep, ind)))

    def multipliers(self, equations: Equations, udot: ca.SX) -> ca.SX:
        """la (nc, 1) from J2^T la = (M u' - f)_D; zero for constraints that repeat others."""
        e, rows, dep = equations, list(self.choice.rows), list(self.choice.dependent)
        r = ca.mtimes(e.M, udot) - e.f
        found, _ = solve_in_order(e.A[rows, dep].T, r[dep])  # the pivots of J2^T are those of J2
        la = ca.SX(e.A.shape[0], 1)
        for k, row in enumerate(rows):
            la[row] = found[k]
        return la


def _moderation(M: ca.SX, A: ca.SX, dep: list[int], ind: list[int]) -> ca.SX:
    """1 while no dependent speed outruns the independent ones, in the mass metric; small where one does."""
    worst = ca.SX(1)
    for k, d in enumerate(dep):
        for j, i in enumerate(ind):
            if A[k, j].nnz():
                known = M[d, d].nnz() and M[i, i].nnz()
                worst = ca.fmax(worst, A[k, j] ** 2 * (M[d, d] / M[i, i] if known else 1))
    return 1 / ca.sqrt(worst)


def check_names(u_ind: Sequence[Any] | None) -> tuple[str, ...] | None:
    """Names of the independent speeds, from names or symbols."""
    if u_ind is None:
        return None
    if isinstance(u_ind, str):
        raise OptionError(f"u_ind is {u_ind!r}; give a list of speeds, such as [{u_ind!r}]")
    return tuple(name_of(key) for key in u_ind)


def choose_partition(
    system: System, M: np.ndarray, A: np.ndarray, u_ind: tuple[str, ...] | None, leading: int = 0
) -> Choice:
    """The partition at a state; raises `OptionError` naming the speeds if the given one cannot work.

    The `leading` rows come first, see `choose`.
    """
    best = choose(M, A, leading=leading)
    if u_ind is None:
        return best
    for name in u_ind:
        if name not in system.speeds:
            raise UnknownNameError(name, system.speeds, f"the speeds of `{system.name}`")
    wanted = system.nu - len(best.rows)
    suggestion = ", ".join(system.speeds[k] for k in best.independent(system.nu))
    if len(u_ind) != wanted or len(set(u_ind)) != wanted:
        raise OptionError(
            f"u_ind has {len(set(u_ind))} speeds ({', '.join(u_ind)}) but `{system.name}` has {wanted} degrees of "
            f"freedom; give {wanted}, such as {suggestion}"
        )
    dependent = [k for k, name in enumerate(system.speeds) if name not in u_ind]
    choice = choose(M, A, dependent, leading)
    if len(choice.rows) == len(best.rows):
        return choice
    raise OptionError(
        f"u_ind = ({', '.join(u_ind)}) cannot be independent in this state: the constraints tie "
        f"{_tied(system, A, best, u_ind)} together, so the other speeds do not follow; choose for example {suggestion}"
    )


def _tied(system: System, A: np.ndarray, best: Choice, u_ind: tuple[str, ...]) -> str:
    """The chosen speeds that the constraints relate among themselves."""
    ind = [system.speeds.index(name) for name in u_ind]
    dep = [k for k in range(system.nu) if k not in ind]
    rows = A[list(best.rows)]
    left = decompose(rows[:, dep], 0.0).left[:, -1]  # the combination of constraints that does not contain the others
    weights = np.abs(left @ rows[:, ind])
    return ", ".join(f"`{u_ind[k]}`" for k in np.flatnonzero(weights > 1e-9 * weights.max(initial=0.0)))

"""Principle of compatibility: reactions do no work on admissible motions, D^T r = 0 with A D = 0.

Dinh Van Phong, eq. (2.1)-(2.3), (2.12), with D from an orthogonal factorisation of A^T. The full form keeps the
reactions as unknowns, the reduced one does not.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from dalembert.dataclass import dataclass
from dalembert.equations.laws import implied_rows
from dalembert.equations.mechanics import Mechanics, rows_of
from dalembert.equations.system import System
from dalembert.errors import PairingError
from dalembert.run.formulations.accelerators import Accelerators
from dalembert.run.formulations.choice import Choice, choose
from dalembert.run.formulations.fall_back import accelerate_rechosen
from dalembert.run.formulations.law_graphs import Iteration, staged_rows
from dalembert.run.formulations.nonideal import accelerate_nonideal
from dalembert.run.formulations.null_space_loops import accelerate_full, accelerate_reduced, room
from dalembert.run.right_hand_side import Equations
from dalembert.solve.elimination import householder, solve_in_order
from dalembert.solve.unrolled import LIMIT


@dataclass(frozen=True)
class NullSpace:
    """D^T M u' = D^T f and A u' = b (reduced), or M u' - r = f, A u' = b, D^T r = 0 (full, eq. 2.12)."""

    reduced: bool = True

    def choose(self, system: System, M: Any, A: Any) -> Choice:
        """The independent constraints at a state; where reactions are not ideal, all of them have to be."""
        rows = choose(M, A).rows
        if not system.ideal:
            _check_independent(system, len(rows))
        return Choice(rows, ())

    def unroll(self, equations: Equations, choice: Choice) -> tuple[ca.SX, ca.SX, ca.SX] | None:
        """u', la and quality as a graph."""
        e, nu, rank = equations, equations.M.shape[0], len(choice.rows)
        if 3 * nu**3 > LIMIT:
            return None
        entries = e.A.sparsity().T  # of each row
        rows = sorted(choice.rows, key=lambda row: entries.colind(row + 1) - entries.colind(row))
        A, b = rows_of(e.A, rows), rows_of(e.b, rows)
        Q, R, quality = householder(A.T)
        Y, D = Q[:, :rank], Q[:, rank:]
        particular = ca.mtimes(Y, solve_in_order(R.T, b)[0])
        # Most of f may be normal to the constraints, and A D = 0 holds to round-off only: that is taken off before.
        normal, _ = solve_in_order(R, ca.mtimes(Y.T, e.f - ca.mtimes(e.M, particular)))
        solve = _solve_reduced if self.reduced else _solve_full
        udot, r, inner = solve(e.M, e.f - ca.mtimes(A.T, normal), particular, D)
        upper, _ = solve_in_order(R, ca.mtimes(Y.T, r))
        la = ca.SX(e.A.shape[0], 1)
        for k, row in enumerate(rows):
            la[row] = upper[k] - normal[k]
        return udot, la, ca.fmin(quality, inner)

    def workspace(self, nu: int, _nc: int) -> tuple[int, int]:
        """Floats and integers the native function works in."""
        return room(nu, reduced=self.reduced)

    def iteration(self, system: System) -> Iteration | None:
        """The graph of Newton's method for reactions that are not ideal, (2.38) and (2.39); they need the full form."""
        if system.ideal:
            return None
        if 3 * system.nu**3 > LIMIT:
            raise PairingError(
                f"NullSpace solves reactions that are not ideal by a graph, and that would be too long for the "
                f"{system.nu} speeds of `{system.name}`; use LagrangeMultipliers()"
            )
        _check_independent(system, system.nu)
        return _with_reactions(system.mechanics)

    def accelerators(self) -> Accelerators:
        """The native functions that find the accelerations."""
        loops = accelerate_reduced if self.reduced else accelerate_full
        return Accelerators(accelerate_rechosen, loops, accelerate_nonideal)


def _check_independent(system: System, most: int) -> None:
    """Raise PairingError if more than `most` constraints, all that can be independent, have multipliers."""
    known = system.nc - system.curved - len(system.implied)
    if known > most:
        raise PairingError(
            f"NullSpace finds the multipliers of `{system.name}` from its reactions, and {known - most} of "
            f"its {known} constraints are redundant; use LagrangeMultipliers()"
        )


def _solve_reduced(M: ca.SX, f: ca.SX, particular: ca.SX, D: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
    """u', r and quality from u' = Y y + D z and D^T M u' = D^T f, with the particular solution Y y."""
    rest, MD = f - ca.mtimes(M, particular), ca.mtimes(M, D)
    z, quality = solve_in_order(ca.tril2symm(ca.tril(ca.mtimes(D.T, MD))), ca.mtimes(D.T, rest))
    return particular + ca.mtimes(D, z), ca.mtimes(MD, z) - rest, quality


def _solve_full(M: ca.SX, f: ca.SX, particular: ca.SX, D: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
    """u', r and quality from equations (2.12), unknowns ordered (r, z) so that every pivot is a good one."""
    nu, free = D.shape
    K = ca.vertcat(ca.horzcat(-ca.SX.eye(nu), ca.mtimes(M, D)), ca.horzcat(D.T, ca.SX(free, free)))
    solution, _ = solve_in_order(K, ca.vertcat(f - ca.mtimes(M, particular), ca.SX(free, 1)))
    return particular + ca.mtimes(D, solution[nu:]), solution[:nu], ca.SX(1)


def _with_reactions(m: Mechanics) -> Iteration:
    """Unknowns (u', r, y): M u' - r - B y = f + friction, A u' = b, D1^T r = 0 (2.39) and the laws f(r) = 0 (2.38).

    D1 spans what the directions W of the multipliers do not: W D1 = 0. The multipliers follow from r = W^T la, and
    friction and laws from these. y are the unknowns of laws and the multipliers of curved acceleration rows.
    """
    nu, first = m.u.shape[0], len(m.rows) - m.curved
    known = [k for k in range(first) if k not in implied_rows(m.rows)]
    stage, b = ca.SX.sym("stage"), ca.SX.sym("b", len(m.rows))
    r, y = ca.SX.sym("r", nu), ca.SX.sym("y", m.curved)
    Q, upper, _ = householder(rows_of(m.W, known).T)
    la = ca.vertcat(ca.SX.zeros(first), y)
    if known:
        la[known] = solve_in_order(upper, ca.mtimes(Q[:, : len(known)].T, r))[0]
    rest = m.balance + ca.mtimes(m.W[:first, :].T, m.la[:first, :])  # without the reactions that r stands for
    R = ca.vertcat(
        ca.substitute(rest, m.la, la) - r,
        ca.mtimes(rows_of(m.A, known), m.udot) - rows_of(b, known),
        ca.mtimes(Q[:, len(known) :].T, r),
        ca.substitute(staged_rows(m, stage), m.la, la),
    )
    given = ca.vertcat(m.udot, ca.mtimes(rows_of(m.W, known).T, rows_of(m.la, known)), m.la[first:, :])
    return Iteration(m, ca.vertcat(m.udot, r, y), stage, b, R, m.udot, la, given)

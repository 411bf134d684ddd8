"""Functions that kernels compute of the mechanics, as blocks: graphs that say what their rows and columns belong to.

Every function takes one column and returns one. Those in `OF_STATE` read x = (t, q, u, p), those in `OF_MOTION` read
(x, u', la). A block of a kind of elements is added into the same block of the whole system, instance by instance.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import NamedTuple

import casadi as ca

from dalembert.equations.laws import have_friction
from dalembert.equations.mechanics import Mechanics
from dalembert.solve.elimination_order import lower_triangle


class Form(enum.Enum):
    """How a matrix is written into a column: all entries by rows, nonzeros by rows, or as `LOWER`.

    LOWER are the nonzeros of the lower triangle, by columns, with all of the diagonal.
    """

    FLAT = "flat"
    BY_ROWS = "by rows"
    LOWER = "lower"


FLAT, BY_ROWS, LOWER = Form


class Block(NamedTuple):
    """A matrix of a function's result. `rows` and `columns` name the ranges that its rows and columns consist of.

    A letter is a range: q coordinates, u speeds, w parameters, p position rows, v position and velocity rows, r all
    rows, i invariants, n velocities, 1 a single entry such as the time or an energy.
    """

    graph: ca.SX
    rows: str = "1"
    columns: str = "1"
    form: Form = FLAT

    @property
    def column(self) -> ca.SX:
        """The block as it stands in the result, (n, 1)."""
        if self.form is FLAT:
            return ca.vec(self.graph.T)
        if self.form is BY_ROWS:
            return nonzeros(self.graph)
        return ca.project(self.graph, lower_triangle(self.graph.sparsity())).nz[:]


def nonzeros(matrix: ca.SX) -> ca.SX:
    """The nonzeros of a matrix by rows, (n, 1), also if there are none."""
    return ca.reshape(matrix.T.nz[:], matrix.nnz(), 1)


def dynamics(m: Mechanics) -> list[Block]:
    """q', M, f + c, A, b, then W if reactions are not ideal, F if there is friction, power, transport, c.

    See `System.parts`. Curved rows are empty: they need u'.
    """
    return [
        Block(m.qdot, "q"), Block(m.M, "u", "u"), Block(m.f + m.c, "u"), Block(m.known(m.A), "r", "u"), Block(m.b, "r"),
        *([] if m.ideal else [Block(m.known(m.W), "r", "u")]),
        *([Block(m.F, "r", "u")] if have_friction(m.rows) else []),
        Block(m.power), Block(m.transport, "u"), Block(m.c, "u"),
    ]  # fmt: skip


def sparse_dynamics(m: Mechanics) -> list[Block]:
    """Like `dynamics`, but only nonzeros: of the lower triangle of M, by columns, and of A, by rows.

    M has all of its diagonal. Reactions are ideal. `Mechanics.saddle_pattern` says where the nonzeros belong.
    """
    return [
        Block(m.qdot, "q"), Block(m.M, "u", "u", LOWER), Block(m.f + m.c, "u"), Block(m.known(m.A), "r", "u", BY_ROWS),
        Block(m.b, "r"), Block(m.power), Block(m.transport, "u"), Block(m.c, "u"),
    ]  # fmt: skip


def residual(m: Mechanics) -> list[Block]:
    """phi, psi."""
    return [Block(m.phi, "p"), Block(m.psi, "v")]


def row_rates(m: Mechanics) -> list[Block]:
    """A u by rows, (nc), then the sums of |A_kj u_j|, (nc); curved rows are empty."""
    A = m.known(m.A)
    terms = A @ ca.diag(m.u) if m.u.shape[0] else A
    return [Block(ca.densify(ca.sum2(terms)), "r"), Block(ca.densify(ca.sum2(ca.fabs(terms))), "r")]


def assembly(m: Mechanics) -> list[Block]:
    """phi and the invariants, and their gradients in q."""
    return _with_gradient(ca.vertcat(m.phi, m.h), "pi", m.q, "q")


def geometry(m: Mechanics) -> list[Block]:
    """phi and the invariants, the nonzeros of their gradients in q, by rows, and those of C, by rows."""
    return [
        Block(m.phi, "p"), Block(m.h, "i"), Block(m.position_gradients, "pi", "q", BY_ROWS),
        Block(m.C, "q", "u", BY_ROWS),
    ]  # fmt: skip


def speeds(m: Mechanics) -> list[Block]:
    """psi and q', and their gradients in u."""
    return [
        Block(m.psi, "v"), Block(m.qdot, "q"), Block(ca.vertcat(m.A[: m.psi.shape[0], :], m.C), "vq", "u")
    ]  # fmt: skip


def displacement(m: Mechanics) -> list[Block]:
    """C s, with s in the place of u."""
    return [Block(ca.mtimes(m.C, m.u), "q")]


def invariant(m: Mechanics) -> list[Block]:
    """The invariants and their gradients in q."""
    return _with_gradient(m.h, "i", m.q, "q")


def sparse_invariant(m: Mechanics) -> list[Block]:
    """The invariants and the nonzeros of their gradients in q, by rows."""
    return [Block(m.h, "i"), Block(m.invariant_gradients, "i", "q", BY_ROWS)]


def energy(m: Mechanics) -> list[Block]:
    """T, V."""
    return [Block(m.kinetic), Block(m.potential)]


def active_forces(m: Mechanics) -> list[Block]:
    """The active forces in f."""
    return [Block(m.active, "u")]


def partial_velocities(m: Mechanics) -> list[Block]:
    """Gradients of all velocities in u."""
    return [Block(ca.jacobian(m.velocities, m.u), "n", "u")]


def position_with_parameters(m: Mechanics) -> list[Block]:
    """phi and the invariants, and their gradients in (q, p)."""
    return _with_gradient(ca.vertcat(m.phi, m.h), "pi", ca.vertcat(m.q, m.p), "qw")


def velocity_with_parameters(m: Mechanics) -> list[Block]:
    """psi and q', and their gradients in (u, p)."""
    return _with_gradient(ca.vertcat(m.psi, m.qdot), "vq", ca.vertcat(m.u, m.p), "uw")


def level_derivatives(m: Mechanics) -> list[Block]:
    """phi, invariants; psi; q': their values and gradients in (q, u, p)."""
    return _with_gradient(ca.vertcat(m.phi, m.h, m.psi, m.qdot), "pivq", ca.vertcat(m.q, m.u, m.p), "quw")


def reaction(m: Mechanics) -> list[Block]:
    """Reaction forces of the multipliers, W^T la - F^T |la| (nu), and prescribed reaction c (nu); r is their sum."""
    return [Block(m.multiplier_forces, "u"), Block(m.c, "u")]


def linearised(m: Mechanics) -> list[Block]:
    """A (nc, nu) and b (nc) of A u' = b, curved rows linearised at u'; W - sign(la) F (nc, nu)."""
    W = m.W
    if have_friction(m.rows):
        W -= ca.repmat(ca.sign(m.la), 1, m.u.shape[0]) * m.F
    return [Block(m.A, "r", "u"), Block(m.linearised_bias, "r"), Block(W, "r", "u")]


def remainder(m: Mechanics) -> list[Block]:
    """M u' - f - r (nu) and A u' - b (nc), the curved rows as they are stated."""
    return [Block(m.balance, "u"), Block(m.acceleration, "r")]


def second_rates(m: Mechanics) -> list[Block]:
    """q'' (nq)."""
    return [Block(m.second_rates, "q")]


def all_levels(m: Mechanics) -> list[Block]:
    """Every level at once, and the gradients in (q, u, u', la).

    Rows: phi, invariants; psi; M u' - f - r (nu); acceleration rows (nc); q' (nq); q'' (nq); r (nu).
    """
    rows = [m.phi, m.h, m.psi, m.balance, m.acceleration, m.qdot, m.second_rates, m.reaction]
    return _with_gradient(ca.vertcat(*rows), "pivurqqu", ca.vertcat(m.q, m.u, m.udot, m.la), "quur")


def equation_derivatives(m: Mechanics) -> list[Block]:
    """phi, invariants; psi; M u' - f - r; A u' - b; q': their values and gradients in all of (t, q, u, p, u', la).

    `analysis.derivatives` names the blocks, and solves for the derivatives of u' and la.
    """
    rows = [m.phi, m.h, m.psi, m.balance, m.acceleration, m.qdot]
    return _with_gradient(ca.vertcat(*rows), "pivurq", m.y, "1quwur")


def _with_gradient(h: ca.SX, rows: str, variables: ca.SX, columns: str) -> list[Block]:
    """A column h (n, 1) and its gradients, flat."""
    return [Block(h, rows), Block(ca.jacobian(h, variables), rows, columns)]


Make = Callable[[Mechanics], list[Block]]
OF_STATE: dict[str, Make] = {
    make.__name__: make
    for make in (
        dynamics, sparse_dynamics, residual, row_rates, assembly, geometry, speeds, displacement, invariant,
        sparse_invariant, energy,
        active_forces, partial_velocities, position_with_parameters, velocity_with_parameters, level_derivatives,
    )
}  # fmt: skip
OF_MOTION: dict[str, Make] = {
    make.__name__: make for make in (reaction, linearised, remainder, second_rates, all_levels, equation_derivatives)
}


def blocks_of(m: Mechanics, name: str) -> list[Block]:
    """The blocks of the function of this name."""
    return OF_STATE[name](m) if name in OF_STATE else OF_MOTION[name](m)

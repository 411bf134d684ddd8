"""Functions of a system, from which its kernels are made: each is built from its `Mechanics` on demand.

Every function takes one column and returns one; matrices lie in it row by row. Those in `OF_STATE` read x = (t, q, u,
p), those in `OF_MOTION` read (x, u', la).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import casadi as ca

from dalembert.equations.laws import have_friction
from dalembert.equations.mechanics import Mechanics
from dalembert.solve.elimination_order import lower_triangle

_MAKING = threading.RLock()


def dynamics(m: Mechanics) -> list[ca.SX]:
    """q', M, f + c, A, b, then W if reactions are not ideal, F if there is friction, power, transport, c.

    See `System.parts`. Curved rows are empty: they need u'.
    """
    return [
        m.qdot, flat(m.M), m.f + m.c, flat(m.known(m.A)), m.b,
        *([] if m.ideal else [flat(m.known(m.W))]),
        *([flat(m.F)] if have_friction(m.rows) else []),
        m.power, m.transport, m.c,
    ]  # fmt: skip


def sparse_dynamics(m: Mechanics) -> list[ca.SX]:
    """Like `dynamics`, but only nonzeros: of the lower triangle of M, by columns, and of A, by rows.

    M has all of its diagonal. Reactions are ideal. `Mechanics.saddle_pattern` says where the nonzeros belong.
    """
    low = ca.project(m.M, lower_triangle(m.M.sparsity()))
    return [m.qdot, low.nz[:], m.f + m.c, nonzeros(m.known(m.A)), m.b, m.power, m.transport, m.c]


def residual(m: Mechanics) -> list[ca.SX]:
    """phi, psi."""
    return [m.phi, m.psi]


def row_rates(m: Mechanics) -> list[ca.SX]:
    """A u by rows, (nc), then the sums of |A_kj u_j|, (nc); curved rows are empty."""
    A = m.known(m.A)
    terms = A @ ca.diag(m.u) if m.u.shape[0] else A
    return [ca.densify(ca.sum2(terms)), ca.densify(ca.sum2(ca.fabs(terms)))]


def assembly(m: Mechanics) -> list[ca.SX]:
    """phi and the invariants, and their gradients in q."""
    return _with_gradient(ca.vertcat(m.phi, m.h), m.q)


def geometry(m: Mechanics) -> list[ca.SX]:
    """phi and the invariants, the nonzeros of their gradients in q, by rows, and those of C, by rows."""
    return [m.phi, m.h, nonzeros(m.position_gradients), nonzeros(m.C)]


def speeds(m: Mechanics) -> list[ca.SX]:
    """psi and q', and their gradients in u."""
    return [m.psi, m.qdot, flat(ca.vertcat(m.A[: m.psi.shape[0], :], m.C))]


def displacement(m: Mechanics) -> list[ca.SX]:
    """C s, with s in the place of u."""
    return [ca.mtimes(m.C, m.u)]


def invariant(m: Mechanics) -> list[ca.SX]:
    """The invariants and their gradients in q."""
    return _with_gradient(m.h, m.q)


def sparse_invariant(m: Mechanics) -> list[ca.SX]:
    """The invariants and the nonzeros of their gradients in q, by rows."""
    return [m.h, ca.densify(m.invariant_gradients.T.nz[:])]


def energy(m: Mechanics) -> list[ca.SX]:
    """T, V."""
    return [m.kinetic, m.potential]


def active_forces(m: Mechanics) -> list[ca.SX]:
    """The active forces in f."""
    return [m.active]


def partial_velocities(m: Mechanics) -> list[ca.SX]:
    """Gradients of all velocities in u."""
    return [flat(ca.jacobian(m.velocities, m.u))]


def position_with_parameters(m: Mechanics) -> list[ca.SX]:
    """phi and the invariants, and their gradients in (q, p)."""
    return _with_gradient(ca.vertcat(m.phi, m.h), ca.vertcat(m.q, m.p))


def velocity_with_parameters(m: Mechanics) -> list[ca.SX]:
    """psi and q', and their gradients in (u, p)."""
    return _with_gradient(ca.vertcat(m.psi, m.qdot), ca.vertcat(m.u, m.p))


def level_derivatives(m: Mechanics) -> list[ca.SX]:
    """phi, invariants; psi; q': their values and gradients in (q, u, p)."""
    return _with_gradient(ca.vertcat(m.phi, m.h, m.psi, m.qdot), ca.vertcat(m.q, m.u, m.p))


def reaction(m: Mechanics) -> list[ca.SX]:
    """Reaction forces of the multipliers, W^T la - F^T |la| (nu), and prescribed reaction c (nu); r is their sum."""
    return [m.multiplier_forces, m.c]


def linearised(m: Mechanics) -> list[ca.SX]:
    """A (nc, nu) and b (nc) of A u' = b, curved rows linearised at u'; W - sign(la) F (nc, nu)."""
    W = m.W
    if have_friction(m.rows):
        W -= ca.repmat(ca.sign(m.la), 1, m.u.shape[0]) * m.F
    return [flat(m.A), m.linearised_bias, flat(W)]


def remainder(m: Mechanics) -> list[ca.SX]:
    """M u' - f - r (nu) and A u' - b (nc), the curved rows as they are stated."""
    return [m.balance, m.acceleration]


def second_rates(m: Mechanics) -> list[ca.SX]:
    """q'' (nq)."""
    return [m.second_rates]


def all_levels(m: Mechanics) -> list[ca.SX]:
    """Every level at once, and the gradients in (q, u, u', la).

    Rows: phi, invariants; psi; M u' - f - r (nu); acceleration rows (nc); q' (nq); q'' (nq); r (nu).
    """
    rows = [m.phi, m.h, m.psi, m.balance, m.acceleration, m.qdot, m.second_rates, m.reaction]
    return _with_gradient(ca.vertcat(*rows), ca.vertcat(m.q, m.u, m.udot, m.la))


def equation_derivatives(m: Mechanics) -> list[ca.SX]:
    """phi, invariants; psi; M u' - f - r; A u' - b; q': their values and gradients in all of (t, q, u, p, u', la).

    `analysis.derivatives` names the blocks, and solves for the derivatives of u' and la.
    """
    return _with_gradient(ca.vertcat(m.phi, m.h, m.psi, m.balance, m.acceleration, m.qdot), m.y)


Make = Callable[[Mechanics], list[ca.SX]]
Stated = ca.Function | Callable[[], ca.Function]
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


class Functions(Mapping[str, ca.Function]):
    """Functions of a system by name: those above, and the `stated` ones, such as inertias, drawing and outputs.

    A system pickles its graphs in this form: the mechanics, recorded as one function, and the stated functions as they
    are. A stated function may be given as a callable, called at the first access or when pickled. After unpickling,
    functions stay text until the first access.
    """

    def __init__(self, mechanics: Mechanics, stated: Mapping[str, Stated]) -> None:
        self._rows = mechanics.rows
        self._stated = tuple(stated)
        self._kept: dict[str, Stated | str] = {"mechanics": mechanics.to_function, **stated}
        self._texts: dict[str, str] = {}
        self._made: dict[str, ca.Function] = {}
        self._mechanics: Mechanics | None = mechanics

    @property
    def mechanics(self) -> Mechanics:
        """The graphs. After unpickling, they are rebuilt from the recorded function on demand."""
        if self._mechanics is None:
            with _MAKING:  # a second thread must find the same variables
                if self._mechanics is None:
                    self._mechanics = Mechanics.from_function(self._restored("mechanics"), self._rows)
        return self._mechanics

    def __getitem__(self, name: str) -> ca.Function:
        if name in self._stated:
            return self._restored(name)
        if name not in self._made:
            self._made[name] = make_function(self.mechanics, name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*OF_STATE, *OF_MOTION, *self._stated))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def texts(self) -> dict[str, str]:
        """The functions serialised as text, by name. Each is serialised once."""
        for name, kept in list(self._kept.items()):
            if name not in self._texts:
                self._texts[name] = kept if isinstance(kept, str) else self._restored(name).serialize()
        return self._texts

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": dict(self.texts()), "_texts": {}, "_made": {}, "_mechanics": None}

    def _restored(self, name: str) -> ca.Function:
        kept = self._kept[name]
        if isinstance(kept, str):
            self._texts[name] = kept
            kept = self._kept[name] = ca.Function.deserialize(kept)
        if not isinstance(kept, ca.Function):
            with _MAKING:  # its graphs are shared with the others that are still to be made
                kept = self._kept[name] = kept()
        return kept


def make_function(m: Mechanics, name: str) -> ca.Function:
    """The function of this name, made of the mechanics."""
    if name in OF_STATE:
        return function_of(name, m.x, OF_STATE[name](m))
    return function_of(name, m.y, OF_MOTION[name](m))


def function_of(name: str, x: ca.SX, columns: Sequence[ca.SX]) -> ca.Function:
    """The function that maps x to columns, one below the other."""
    return ca.Function(name, [x], [ca.sparsify(ca.vertcat(ca.SX(0, 1), *columns))])


def flat(matrix: ca.SX) -> ca.SX:
    """Row-major column of a matrix (CasADi is column-major)."""
    return ca.vec(matrix.T)


def nonzeros(matrix: ca.SX) -> ca.SX:
    """The nonzeros of a matrix by rows, (n, 1), also if there are none."""
    return ca.reshape(matrix.T.nz[:], matrix.nnz(), 1)


def _with_gradient(h: ca.SX, variables: ca.SX) -> list[ca.SX]:
    """A column h (n, 1) and its gradients, flat."""
    return [h, flat(ca.jacobian(h, variables))]

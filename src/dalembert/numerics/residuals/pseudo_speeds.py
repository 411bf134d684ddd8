"""The lecture's equations: pseudo generalised speeds u_r eliminated, constraints as algebraic rows; 2n + M equations.

J. K. Moore, "Learn Multibody Dynamics", Equations of Motion with Holonomic Constraints: with n independent and M
dependent coordinates q, q_r, the unknowns are y = (q, q_r, u); u_r and u_r' follow from the differentiated
constraints. Velocity constraints are eliminated in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from dalembert.equations.system import System
from dalembert.errors import OptionError, PairingError
from dalembert.numerics.formulations.choice import Choice, choose
from dalembert.numerics.formulations.partition import check_names, choose_partition
from dalembert.numerics.linear.elimination import solve_in_order
from dalembert.numerics.residuals.consistency import (
    carried_multipliers,
    consistent,
    geometry,
    independent_rows,
    matrices,
    weights,
)
from dalembert.numerics.residuals.form import Mechanics, Residual, resolve

if TYPE_CHECKING:
    from dalembert.numerics.engine import Engine

MOST = 16  # eliminated speeds; twenty make a million operations and take twenty seconds to derive


@dataclass(frozen=True)
class PseudoSpeeds:
    """f_k: q' = C u + D of the independent coordinates, f_d: n projected dynamic equations, f_h: phi = 0.

    `u_ind` names the independent speeds (the same coordinates are then independent, if every speed is the rate of
    one), and they stay so: a run ends where they fail. None chooses them by pivoting, and again when they degrade.
    """

    u_ind: Sequence[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "u_ind", check_names(self.u_ind))

    def settled(self, engine: Engine, t: float, z: np.ndarray) -> Partitioned:
        """The equations for one partition, the best at this state or the given one."""
        system = engine.system
        M, A = matrices(engine, t, z)
        rows = [row for row in independent_rows(system, M, A) if system.rows[row].level != "acceleration"]
        if len(rows) > MOST:
            raise PairingError(
                f"PseudoSpeeds would eliminate {len(rows)} speeds of `{system.name}` symbolically, the limit is "
                f"{MOST}; use HillerAnantharaman() or GearGuptaLeimkuhler()"
            )
        speeds = choose_partition(system, M, A[rows], check_names(self.u_ind))
        C, phi_q = geometry(engine, t, z)
        mass, inertia = weights(M, C)
        held = [k for k, row in enumerate(range(system.count("position"))) if row in rows]
        phi_q = phi_q[held + list(range(system.count("position"), len(phi_q)))]
        allowed = None
        if self.u_ind is not None and _plain(C):
            tied = [k for k in range(system.nq) if np.flatnonzero(C[k])[0] in speeds.dependent]
            allowed = tied if len(tied) >= len(phi_q) else None
        coordinates = choose(np.diag(inertia**2), phi_q, allowed)
        if len(coordinates.rows) < len(phi_q):
            raise OptionError(
                f"u_ind = ({', '.join(self.u_ind or ())}): the position constraints do not determine the other "
                f"coordinates of `{system.name}` in this state; leave u_ind out or choose others"
            )
        later = tuple(row for row in independent_rows(system, M, A) if system.rows[row].level == "acceleration")
        return Partitioned(
            system, tuple(rows), later, speeds, coordinates, tuple(mass), tuple(inertia), self.u_ind is not None
        )


@dataclass(frozen=True, eq=False)
class Partitioned:
    """The equations of `PseudoSpeeds` for one partition, y = (q, q_r, u, work).

    The partition enters the graph as data - permutations of speeds and coordinates - so that another one needs no
    other machine code. `rows` are the eliminated constraints, `later` those on accelerations, whose multipliers stay
    in y. So do those of all constraints if reactions are not ideal, and u_r if a velocity constraint is not linear.
    """

    system: System
    rows: tuple[int, ...]
    later: tuple[int, ...]
    speeds: Choice
    coordinates: Choice
    mass: tuple[float, ...]
    inertia: tuple[float, ...]
    fixed: bool

    @property
    def key(self) -> str:
        """Name of the graph, which is the same for all partitions of one size."""
        return f"PseudoSpeeds rows={self.rows} later={self.later}"

    @property
    def choices(self) -> tuple[Choice, Choice]:
        """The eliminated speeds and coordinates."""
        return self.speeds, self.coordinates

    @property
    def partition(self) -> Choice:
        """The eliminated constraints and the dependent speeds."""
        return Choice(tuple(self.rows[k] for k in self.speeds.rows), self.speeds.dependent)

    def parameters(self, engine: Engine) -> np.ndarray:
        """Those of the system, the permutations and the weights."""
        s = self.system
        orders = (
            _selection(self.speeds.dependent + self.speeds.independent(s.nu), s.nu),
            _selection(self.speeds.rows, len(self.rows)),
            _selection(self.coordinates.dependent + self.coordinates.independent(s.nq), s.nq),
            _selection(self.coordinates.rows, len(self.coordinates.rows)),
        )
        return np.concatenate(
            [engine.parameters, *(order.ravel(order="F") for order in orders), self.mass, self.inertia]
        )

    def residual(self, system: System) -> Residual:
        """F(t, y, y') and its variables."""
        m = Mechanics.of(system, self.rows + self.later)
        r, h, later = len(self.rows), len(self.coordinates.rows), len(self.later)
        nq, nu, n = system.nq, system.nu, system.nu - len(self.rows)
        P, R, Pq, Rq = (ca.SX.sym(s, k, k) for s, k in (("P", nu), ("R", r), ("Pq", nq), ("Rq", h)))
        mass, inertia = ca.SX.sym("mass", nu), ca.SX.sym("inertia", nq)
        psi, A = m.constraints[:r, :], m.A[:r, :]
        linear = not ca.depends_on(ca.jacobian(psi, m.u), m.u) if r else True

        # y and y': dependent parts of q and u come after the independent ones; `kept` are multipliers that stay.
        symbol = {name: ca.SX.sym(name, size) for name, size in (
            ("q", nq - h), ("qr", h), ("u", n), ("ur", 0 if linear else r), ("work", int(system.works)),
            ("kept", later if system.ideal else r + later),
        )}  # fmt: skip
        y, ydot = ca.vertcat(*symbol.values()), ca.SX.sym("ydot", sum(v.shape[0] for v in symbol.values()))
        ends = np.cumsum([0, *(v.shape[0] for v in symbol.values())])
        rate = {name: ydot[int(a) : int(b)] for name, a, b in zip(symbol, ends[:-1], ends[1:], strict=True)}

        # Mechanics is a graph of q, u, u', la; each follows from y, y' and those before it.
        A_r = ca.mtimes([R, A, P[:r, :].T])
        alone, alone_dot = (ca.mtimes(P[r:, :].T, part) for part in (symbol["u"], rate["u"]))
        if linear:
            ur, _ = solve_in_order(A_r, -ca.mtimes(R, ca.substitute(psi, m.u, ca.densify(alone))))
        else:
            ur = symbol["ur"]
        udot_r, quality = solve_in_order(A_r, ca.mtimes(R, m.b[:r, :] - ca.mtimes(A, alone_dot)))
        stages = [
            (m.q, ca.mtimes(Pq.T, ca.vertcat(symbol["qr"], symbol["q"]))),
            (m.u, alone + ca.mtimes(P[:r, :].T, ur)),
            (m.udot, alone_dot + ca.mtimes(P[:r, :].T, udot_r)),
        ]
        free = ca.SX.sym("free", nu)  # M u' - f without the reactions of the eliminated constraints, if they are ideal
        if system.ideal:  # those follow: free_r = A_r^T la
            la = ca.vertcat(ca.SX.zeros(r), symbol["kept"])
            found, _ = solve_in_order(A_r.T, ca.mtimes(P[:r, :], free))
            stages.append((free, ca.substitute(m.balance, m.la, la)))
            stages.append((m.la, ca.vertcat(ca.mtimes(R.T, found), symbol["kept"])))
            projected = ca.mtimes(P[r:, :], free - ca.mtimes(A.T, m.la[:r, :]))
        else:
            stages += [(m.la, symbol["kept"]), (free, m.balance)]
            projected = free
        stages = [(symbols, ca.densify(value)) for symbols, value in stages if symbols.shape[0]]
        held = ca.vertcat(m.phi, m.invariants)
        staged = ca.vertcat(
            rate["q"] - ca.mtimes(Pq[h:, :], m.qdot),
            ca.mtimes(Rq, held),
            projected,
            *([] if linear else [ca.mtimes(R, psi)]),
            *([rate["work"] - m.power] if system.works else []),
            m.constraints[r:, :],
        )
        quality = ca.fmin(quality, _moderation(ca.mtimes([R, A, P.T]), ca.mtimes(P, mass), r))
        held_q = ca.mtimes([Rq, ca.jacobian(held, m.q), Pq.T])
        quality = ca.fmin(quality, _moderation(held_q, ca.mtimes(Pq, inertia), h))
        where = {name: np.arange(a, b) for name, a, b in zip(symbol, ends[:-1], ends[1:], strict=True)}
        differential, tested = np.zeros(y.shape[0], dtype=bool), np.zeros(y.shape[0], dtype=bool)
        differential[np.concatenate([where[name] for name in ("q", "u", "work")])] = True
        tested[np.concatenate([where[name] for name in ("q", "qr", "u", "ur")])] = True
        settled = tuple(stages)
        return Residual(
            m.t, y, ydot,
            p=ca.vertcat(m.p, *(ca.vec(order) for order in (P, R, Pq, Rq)), mass, inertia),
            F=ca.densify(resolve(staged, settled)),
            state=ca.densify(resolve(ca.vertcat(m.q, m.u, symbol["work"]), settled)),
            differential=differential,
            tested=tested,
            quality=resolve(quality, settled),
            stages=settled,
            staged=staged,
        )  # fmt: skip

    def start(self, engine: Engine, t: float, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """y and y' at a consistent state z."""
        s = self.system
        z = consistent(engine, t, z)
        zdot = engine.rates(t, z)
        kept = self.later if s.ideal else self.rows + self.later
        la = carried_multipliers(engine, t, z, zdot[s.nq : engine.size], self.rows + self.later)
        la = la[len(self.rows) + len(self.later) - len(kept) :]
        c, u = list(self.coordinates.dependent), list(self.speeds.dependent)
        order = [*self.coordinates.independent(s.nq), *c]
        order += [s.nq + k for k in (*self.speeds.independent(s.nu), *(u if self._curved_speeds() else ()))]
        order += [engine.size] * int(s.works)
        return np.concatenate([z[order], la]), np.concatenate([zdot[order], np.zeros(len(la))])

    def _curved_speeds(self) -> bool:
        """Whether an eliminated constraint is not linear in the speeds."""
        m = Mechanics.of(self.system, self.rows)
        return bool(self.rows) and ca.depends_on(ca.jacobian(m.constraints, m.u), m.u)


def _moderation(J: ca.SX, weight: ca.SX, r: int) -> ca.SX:
    """1 while no dependent variable outruns the independent ones, by their weights; small where one does."""
    if r == 0 or r == J.shape[1]:
        return ca.SX(1)
    ratio, quality = solve_in_order(J[:, :r], J[:, r:])
    ratio = ca.fabs(ratio) * ca.mtimes(weight[:r], 1 / weight[r:].T)
    return ca.fmin(quality, 1 / ca.fmax(1, ca.mmax(ratio)))


def _selection(order: Sequence[int], size: int) -> np.ndarray:
    """The matrix that puts entries into this order, (size, size)."""
    return np.eye(size)[list(order)]


def _plain(C: np.ndarray) -> bool:
    """Whether every coordinate rate is one speed, up to a factor."""
    return C.shape[0] == C.shape[1] and bool(
        (np.count_nonzero(C, axis=0) == 1).all() and (np.count_nonzero(C, axis=1) == 1).all()
    )

"""The lecture's equations: pseudo generalised speeds u_r eliminated, constraints as algebraic rows; 2n + M equations.

J. K. Moore, "Learn Multibody Dynamics", Equations of Motion with Holonomic Constraints: with n independent and M
dependent coordinates q, q_r, the unknowns are y = (q, q_r, u); u_r and u_r' follow from the differentiated
constraints. Velocity constraints are eliminated in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.mechanics import Mechanics
from dalembert.equations.system import System
from dalembert.errors import OptionError, PairingError
from dalembert.run.formulations.choice import Choice, choose
from dalembert.run.formulations.partition import check_names, choose_partition
from dalembert.run.residuals.consistency import (
    carried_multipliers,
    consistent,
    geometry,
    independent_rows,
    matrices,
    needs_share,
    share_of,
    weights,
)
from dalembert.run.residuals.form import Residual, resolve
from dalembert.solve.elimination import solve_in_order

if TYPE_CHECKING:
    from dalembert.run.engine import Engine

MOST_ELIMINATED = 16  # eliminated speeds; twenty make a million operations and take twenty seconds to derive


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
        if len(rows) > MOST_ELIMINATED:
            raise PairingError(
                f"PseudoSpeeds would eliminate {len(rows)} speeds of `{system.name}` symbolically, the limit is "
                f"{MOST_ELIMINATED}; use HillerAnantharaman() or GearGuptaLeimkuhler()"
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
        kept, borne = (*rows, *later), np.zeros((0, 0))
        if needs_share(system, kept):
            borne = share_of(engine, t, z, kept)
        return Partitioned(
            system, tuple(rows), later, speeds, coordinates, tuple(mass), tuple(inertia), self.u_ind is not None,
            tuple(borne.ravel(order="F").tolist()),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Partitioned:
    """The equations of `PseudoSpeeds` for one partition, y = (q, q_r, u, work).

    The partition enters the graph as data - permutations of speeds and coordinates - so that another one needs no other
    machine code. `rows` are the eliminated constraints, `later` those on accelerations, whose multipliers stay in y.
    The multipliers of all constraints stay in y if reactions are not ideal. u_r stays if a velocity constraint is not
    linear.
    """

    system: System
    rows: tuple[int, ...]
    later: tuple[int, ...]
    speeds: Choice
    coordinates: Choice
    mass: tuple[float, ...]
    inertia: tuple[float, ...]
    fixed: bool
    borne: tuple[float, ...] = field(default=(), repr=False, compare=False)  # see `share_of`, by columns

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

    def order(self, engine: Engine) -> list[int]:
        """q, q_r, u, and u_r if it is not eliminated."""
        s = self.system
        dependent = self.speeds.dependent if _curved(s.mechanics.keeping(self.rows), len(self.rows)) else ()
        order = [*self.coordinates.independent(s.nq), *self.coordinates.dependent]
        order += [s.nq + k for k in (*self.speeds.independent(s.nu), *dependent)]
        return order + [engine.size] * int(s.works)

    def parameters(self, engine: Engine) -> np.ndarray:
        """Kernel parameters: the system's own, then permutations, then weights, then the share matrix."""
        s = self.system
        orders = (
            _selection(self.speeds.dependent + self.speeds.independent(s.nu), s.nu),
            _selection(self.speeds.rows, len(self.rows)),
            _selection(self.coordinates.dependent + self.coordinates.independent(s.nq), s.nq),
            _selection(self.coordinates.rows, len(self.coordinates.rows)),
        )
        return np.concatenate(
            [engine.parameters, *(order.ravel(order="F") for order in orders), self.mass, self.inertia, self.borne]
        )

    def residual(self, system: System) -> Residual:
        """F(t, y, y') and its variables."""
        kept, share = self.rows + self.later, ca.SX(0, 0)
        m = system.mechanics.keeping(kept)
        if needs_share(system, kept):
            share = ca.SX.sym("share", system.nc, len(kept))
            m = system.mechanics.sharing(kept, share)
        r, h, later, works = len(self.rows), len(self.coordinates.rows), len(self.later), int(system.works)
        v = SplitUnknowns.of(
            q=system.nq - h, qr=h, u=system.nu - r, ur=r if _curved(m, r) else 0, work=works,
            kept=later if system.ideal else r + later,
        )  # fmt: skip
        o = Orders.of(system, r, h)
        stages, projected, quality = _eliminate(m, v, o, ideal=system.ideal)
        held = ca.vertcat(m.phi, m.h)
        staged = ca.vertcat(
            v.rate["q"] - ca.mtimes(o.Pq[h:, :], m.qdot),
            ca.mtimes(o.Rq, held),
            projected,
            *([ca.mtimes(o.R, m.constraints[:r, :])] if v.symbol["ur"].shape[0] else []),
            *([v.rate["work"] - m.total_power] if works else []),
            m.constraints[r:, :],
        )
        quality = ca.fmin(quality, _moderation(ca.mtimes([o.R, m.A[:r, :], o.P.T]), ca.mtimes(o.P, o.mass), r))
        held_q = ca.mtimes([o.Rq, ca.jacobian(held, m.q), o.Pq.T])
        quality = ca.fmin(quality, _moderation(held_q, ca.mtimes(o.Pq, o.inertia), h))
        return Residual(
            m.t, v.y, v.ydot,
            p=ca.vertcat(m.p, *(ca.vec(order) for order in (o.P, o.R, o.Pq, o.Rq)), o.mass, o.inertia, ca.vec(share)),
            F=ca.densify(resolve(staged, stages)),
            state=ca.densify(resolve(ca.vertcat(m.q, m.u, v.symbol["work"]), stages)),
            differential=v.among("q", "u", "work"),
            tested=v.among("q", "qr", "u", "ur"),
            quality=resolve(quality, stages),
            stages=stages,
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
        order = self.order(engine)
        return np.concatenate([z[order], la]), np.concatenate([zdot[order], np.zeros(len(la))])


@dataclass(frozen=True)
class SplitUnknowns:
    """y and y' by name, in order: q, q_r, u, u_r and work, then `kept`, the multipliers that stay."""

    symbol: dict[str, ca.SX]
    ydot: ca.SX

    @classmethod
    def of(cls, **sizes: int) -> SplitUnknowns:
        """Symbols of these sizes."""
        return cls({name: ca.SX.sym(name, n) for name, n in sizes.items()}, ca.SX.sym("ydot", sum(sizes.values())))

    @property
    def y(self) -> ca.SX:
        """All of them, (ny, 1)."""
        return ca.vertcat(*self.symbol.values())

    @property
    def rate(self) -> dict[str, ca.SX]:
        """The parts of y' by name."""
        ends = np.cumsum([0, *(v.shape[0] for v in self.symbol.values())])
        return {name: self.ydot[int(a) : int(b)] for name, a, b in zip(self.symbol, ends[:-1], ends[1:], strict=True)}

    def among(self, *names: str) -> np.ndarray:
        """Mask of the variables with these names, (ny,)."""
        return np.repeat([name in names for name in self.symbol], [v.shape[0] for v in self.symbol.values()])


@dataclass(frozen=True)
class Orders:
    """The partition as data: P, Pq put dependent speeds and coordinates first, R, Rq order constraints like these.

    `mass` (nu, 1) and `inertia` (nq, 1) weigh speeds and coordinates.
    """

    P: ca.SX
    R: ca.SX
    Pq: ca.SX
    Rq: ca.SX
    mass: ca.SX
    inertia: ca.SX

    @classmethod
    def of(cls, system: System, r: int, h: int) -> Orders:
        """Symbols for r eliminated speeds and h dependent coordinates."""
        sym, nq, nu = ca.SX.sym, system.nq, system.nu
        P, R, Pq, Rq = sym("P", nu, nu), sym("R", r, r), sym("Pq", nq, nq), sym("Rq", h, h)
        return cls(P, R, Pq, Rq, sym("mass", nu), sym("inertia", nq))


def _eliminate(
    m: Mechanics, v: SplitUnknowns, o: Orders, *, ideal: bool
) -> tuple[tuple[tuple[ca.SX, ca.SX], ...], ca.SX, ca.SX]:
    """Stages that give q, u, u', la of the mechanics from y, y' and those before; projected dynamics; quality."""
    nu, r = m.u.shape[0], o.R.shape[0]
    psi, A, kept = m.constraints[:r, :], m.A[:r, :], v.symbol["kept"]
    A_r = ca.mtimes([o.R, A, o.P[:r, :].T])
    alone, alone_dot = (ca.mtimes(o.P[r:, :].T, part) for part in (v.symbol["u"], v.rate["u"]))
    if v.symbol["ur"].shape[0]:
        ur = v.symbol["ur"]
    else:
        ur, _ = solve_in_order(A_r, -ca.mtimes(o.R, ca.substitute(psi, m.u, ca.densify(alone))))
    udot_r, quality = solve_in_order(A_r, ca.mtimes(o.R, m.b[:r, :] - ca.mtimes(A, alone_dot)))
    stages = [
        (m.q, ca.mtimes(o.Pq.T, ca.vertcat(v.symbol["qr"], v.symbol["q"]))),
        (m.u, alone + ca.mtimes(o.P[:r, :].T, ur)),
        (m.udot, alone_dot + ca.mtimes(o.P[:r, :].T, udot_r)),
    ]
    free = ca.SX.sym("free", nu)  # M u' - f without the reactions of the eliminated constraints, if they are ideal
    if ideal:  # those follow: free_r = A_r^T la
        found, _ = solve_in_order(A_r.T, ca.mtimes(o.P[:r, :], free))
        stages.append((free, ca.substitute(m.balance, m.la, ca.vertcat(ca.SX.zeros(r), kept))))
        stages.append((m.la, ca.vertcat(ca.mtimes(o.R.T, found), kept)))
        projected = ca.mtimes(o.P[r:, :], free - ca.mtimes(A.T, m.la[:r, :]))
    else:
        stages += [(m.la, kept), (free, m.balance)]
        projected = free
    return tuple((symbols, ca.densify(value)) for symbols, value in stages if symbols.shape[0]), projected, quality


def _curved(m: Mechanics, r: int) -> bool:
    """Whether one of the first r constraints is not linear in the speeds."""
    return r > 0 and ca.depends_on(ca.jacobian(m.constraints[:r, :], m.u), m.u)


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

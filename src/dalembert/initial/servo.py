"""Whether the unknowns of servo constraints and of laws are determined in a state."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np

from dalembert.equations.functions import flat
from dalembert.equations.laws import rows_by_unknown
from dalembert.equations.system import System
from dalembert.errors import InitialStateError
from dalembert.initial.dependence import INVOLVED, scale
from dalembert.initial.hidden_position import hidden_position
from dalembert.motion.state import State
from dalembert.solve.decompositions import decompose, null_space

SINGULAR_CONDITION = 1e-13  # reciprocal condition of the scaled equations below which they have no unique solution


def check_servos(system: System, t: float, q: np.ndarray, u: np.ndarray, parameters: np.ndarray) -> None:
    """Raise `InitialStateError` naming servo constraints that their unknowns cannot influence.

    They show in the null vectors of [M -W^T; A 0], on either side; redundant constraints with ideal reactions have null
    vectors too, but the servo constraints take no part in those. For regular M it is A M^-1 W^T that is singular.
    """
    if not system.unknowns:
        return
    rows = [k for k in range(system.nc - system.curved) if k not in system.implied]
    n, names = len(rows), [system.rows[k].name for k in rows]
    enforced = {k: system.unknowns[j] for j, k in rows_by_unknown([system.rows[row] for row in rows]).items()}
    servos = sorted(enforced)
    if not servos:
        return
    A = system.constraint_jacobian(t, q, u, parameters)[rows]
    W = system.directions(t, q, u, parameters)[rows]
    scaled = scale(system.mass_matrix(t, q, u, parameters), A, W)
    K = np.block([[scaled.M, -scaled.W.T], [scaled.A, np.zeros((n, n))]])
    found = decompose(K, SINGULAR_CONDITION)
    share = np.abs(np.hstack([found.lost, found.null]))[system.nu :].max(axis=1, initial=0.0)
    bad = [k for k in servos if share[k] > INVOLVED]
    if not bad:
        return
    constraints = ", ".join(f"`{names[k]}`" for k in bad)
    unknowns = ", ".join(f"`{enforced[k]}`" for k in bad)
    who = (
        f"servo constraint {constraints}: its unknown {unknowns} does not influence it"
        if len(bad) == 1
        else f"servo constraints {constraints}: their unknowns {unknowns} do not influence them independently"
    )
    hidden = hidden_position(system, t, q, parameters, tuple(names[k] for k in bad))
    raise InitialStateError(
        f"`{system.name}`: {who} in this state (the matrix A M^-1 B is singular, reciprocal condition "
        f"{found.values[-1] / found.values[0]:.1e}); {hidden or 'choose another unknown or state'}"
    )


class LeftOpen(NamedTuple):
    """Variables that balance, constraints and laws do not determine near a state: multipliers, unknowns, speeds.

    `names` are the names of all of them, `rows` the indices of the rows among them. `moves` is True if accelerations
    are undetermined. `shared` is True if redundant rows are the only reason: then only the sharing of their load is
    undetermined.
    """

    names: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()
    moves: bool = False
    shared: bool = False


def left_open(state: State) -> LeftOpen:
    """Variables that balance, constraints and laws together do not determine near a state."""
    system = state.system
    n = system.nu + system.nc
    x = np.concatenate([[state.t], state.q, state.u, state.parameters, state.udot, state.multipliers])
    J = system.derived_kernel("gradients of laws", lambda: _gradients(system))(x).reshape(n, n)
    if not np.isfinite(J).all():
        return LeftOpen()
    for axis in (1, 0):  # free of units: unit rows, then unit columns
        length = np.abs(J).max(axis=axis, keepdims=True)
        J = J / np.where(length > 0.0, length, 1.0)
    open_ways = np.abs(null_space(J, SINGULAR_CONDITION))
    share = open_ways.max(axis=1, initial=0.0)
    repeated = [system.nu + k for k, row in enumerate(system.rows) if row.law.ideal or row.law.rubs]
    unknown = {k: system.unknowns[j] for j, k in rows_by_unknown(system.rows).items()}
    names = [*(f"{u}'" for u in system.speeds), *(unknown.get(k, row.name) for k, row in enumerate(system.rows))]
    return LeftOpen(
        tuple(name for name, part in zip(names, share, strict=True) if part > INVOLVED),
        tuple(np.flatnonzero(share[system.nu :] > INVOLVED).tolist()),
        bool((share[: system.nu] > INVOLVED).any()),
        bool((open_ways[repeated].max(axis=0, initial=0.0) > INVOLVED).all()),
    )


def _gradients(system: System) -> ca.Function:
    """d(balance, acceleration rows)/d(u', la), flat, as a function of (x, u', la)."""
    m = system.mechanics
    J = ca.jacobian(ca.vertcat(m.balance, m.acceleration), ca.vertcat(m.udot, m.la))
    return ca.Function("gradients", [m.y], [ca.densify(flat(J))])

"""Consistent states of large systems: positions, then velocities over nonzeros, then accelerations as in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csc_matrix, diags, identity
from scipy.sparse.csgraph import connected_components

from dalembert.equations.system import System
from dalembert.errors import InitialStateError, OptionError
from dalembert.initial.large_levels import kinematics_of, position_level, velocity_level
from dalembert.initial.large_stage import LargeFound, LargeStage
from dalembert.initial.metric import LIGHT, SOFT
from dalembert.initial.request import Task

if TYPE_CHECKING:
    from dalembert.run.scales import Scales


def check_possible(task: Task) -> None:
    """Raise `OptionError` if something is asked for that needs dense matrices."""
    asked = "values at acceleration level" if task.wishes.of_accelerations else "bounds" if task.bounded else ""
    if asked:
        s = task.system
        raise OptionError(
            f"`{s.name}` has {s.nu + s.nc:,} speeds and constraints; {asked} can be given for smaller systems only"
        )


def large_positions(task: Task) -> LargeStage:
    """The position constraints of a task, for q (nq,)."""
    s, nq, wished = task.system, task.system.nq, task.wishes
    required = s.count("position") + len(s.invariants)
    target, x = task.target[:nq], task.x(task.target[:nq], task.target[nq:])
    weights = None if task.weights is None else task.weights[:nq]
    scales = task.scales(target, task.target[nq:])
    return LargeStage(
        level=position_level(s, joints=bool(wished.joints)),
        x=x,
        pick=np.array([*range(required), *(required + k for k in wished.joints)], dtype=np.int64),
        wanted=np.array([0.0] * required + list(wished.joints.values())),
        target=target,
        free=_free(nq, wished.q),
        metric=lambda: _weighted(_position_metric(s, x, scales), weights),
        sizes=scales.q,
        row_sizes=np.concatenate([scales.position, np.ones(len(s.invariants))]),
    )


def large_velocities(task: Task, q: np.ndarray) -> LargeStage:
    """The velocity constraints of a task at positions q, for u (nu,)."""
    s, nq, wished = task.system, task.system.nq, task.wishes
    count = s.count("position") + s.count("velocity")
    target, x = task.target[nq:], task.x(q, task.target[nq:])
    weights = None if task.weights is None else task.weights[nq:]
    scales = task.scales(q, target)
    asked = [*(count + k for k in wished.rates), *(count + nq + k for k in wished.joint_rates)]
    return LargeStage(
        level=velocity_level(s, joints=bool(wished.joint_rates)),
        x=x,
        pick=np.array([*range(count), *asked], dtype=np.int64),
        wanted=np.array([0.0] * count + [*wished.rates.values(), *wished.joint_rates.values()]),
        target=target,
        free=_free(s.nu, wished.u),
        metric=lambda: _weighted(_speed_metric(s, x, scales), weights),
        sizes=scales.u,
        row_sizes=scales.velocity,
    )


def explain_large(task: Task, stage: LargeStage, found: LargeFound) -> InitialStateError:
    """What to say where no point meets the equations: those that are left, the worst first."""
    left = {stage.level.names[stage.pick[k]]: float(found.residual[k]) for k in np.argsort(-np.abs(found.residual))}
    bad = {name: value for name, value in left.items() if abs(value) > 1e-9} or left
    shown = ", ".join(f"`{name}` {value:.3g}" for name, value in list(bad.items())[:5])
    more = f" and {len(bad) - 5:,} more" if len(bad) > 5 else ""
    return InitialStateError(
        f"`{task.system.name}`: no state near the guess satisfies all equations; left over: {shown}{more}. "
        "Change the given values or the guess of what these equations connect",
        bad,
    )


def _free(n: int, wished: dict[int, float]) -> np.ndarray:
    free = np.ones(n, dtype=bool)
    free[list(wished)] = False
    return free


def _weighted(G: csc_matrix, weights: np.ndarray | None) -> csc_matrix:
    if weights is None:
        return G
    root = diags(np.sqrt(weights))
    return csc_matrix(root @ G @ root)


def _speed_metric(system: System, x: np.ndarray, scales: Scales) -> csc_matrix:
    """M (nu, nu) at x, made positive definite where it is not; as `metric.speed_metric`."""
    pattern, nq, n = system.mechanics.saddle_pattern, system.nq, system.nu
    values = system.kernel("sparse_dynamics")(x)[nq : nq + len(pattern.mass_rows)]
    if not np.isfinite(values).all():
        return csc_matrix(identity(n))
    low = csc_matrix((values, (pattern.mass_rows, pattern.mass_columns)), shape=(n, n))
    M = csc_matrix(low + low.T - diags(low.diagonal()))
    energies = np.abs(M.diagonal()) * scales.u**2
    typical = energies.max(initial=0.0) or 1.0
    light = energies <= LIGHT * typical
    if not (system.singular_mass or light.any()):
        return M
    return csc_matrix(M + diags(np.where(light, typical, SOFT * energies) / scales.u**2))


def _position_metric(system: System, x: np.ndarray, scales: Scales) -> csc_matrix:
    """G (nq, nq) of the distance of coordinates; as `metric.position_metric`, part by part of the kinematics."""
    M = _speed_metric(system, x, scales)
    if system.trivial_kinematics:
        return M
    pattern, nq, nu = system.mechanics.C.sparsity(), system.nq, system.nu
    C = csc_matrix((kinematics_of(system)(x), pattern.row(), pattern.colind()), shape=(nq, nu))
    if not np.isfinite(C.data).all():
        return csc_matrix(identity(nq))
    Q, U = diags(1.0 / scales.q), diags(scales.u)
    C = csc_matrix(Q @ C @ U)  # in units of the sizes
    back = _pseudo_inverse(C)
    G = back.T @ (U @ M @ U) @ back
    off = identity(nq) - C @ back
    typical = float(G.diagonal().sum()) / max(nu, 1) or 1.0
    return csc_matrix(Q @ (G + typical * (off.T @ off) + SOFT * typical * identity(nq)) @ Q)


def _pseudo_inverse(C: csc_matrix) -> csc_matrix:
    """The pseudo-inverse (nu, nq) of a matrix that falls into small parts, by parts."""
    nq, nu = C.shape
    coo = C.tocoo()
    links = csc_matrix((np.ones(coo.nnz), (coo.row, nq + coo.col)), shape=(nq + nu, nq + nu))
    count, label = connected_components(links, directed=False)
    order = np.argsort(label, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(label, minlength=count))[:-1])
    data, rows, columns = list[np.ndarray](), list[np.ndarray](), list[np.ndarray]()
    by_row = C.tocsr()
    for part in parts:
        q, u = part[part < nq], part[part >= nq] - nq
        if len(q) and len(u):
            back = np.linalg.pinv(by_row[q][:, u].toarray())
            data.append(back.ravel())
            rows.append(np.repeat(u, len(q)))
            columns.append(np.tile(q, len(u)))
    found = (np.concatenate(data), (np.concatenate(rows), np.concatenate(columns)))
    return csc_matrix(found, shape=(nu, nq))

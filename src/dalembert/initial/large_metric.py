"""Metrics of large systems: those of `metric`, over nonzeros."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix, diags, identity
from scipy.sparse.csgraph import connected_components

from dalembert.equations.system import System
from dalembert.initial.large_levels import kinematics_of
from dalembert.initial.metric import DIAGONAL_SHIFT, LIGHT
from dalembert.solve.decompositions import pseudo_inverse

if TYPE_CHECKING:
    from dalembert.run.scales import Scales


def weighted(G: csc_matrix, weights: np.ndarray | None) -> csc_matrix:
    """A metric G (n, n) with each move counted by the root of its weight (n,)."""
    if weights is None:
        return G
    root = diags(np.sqrt(weights))
    return csc_matrix(root @ G @ root)


def speed_metric(system: System, x: np.ndarray, scales: Scales) -> csc_matrix:
    """M (nu, nu) at x, made positive definite where it is not; as `metric.speed_metric`."""
    pattern, nq, n = system.structure.saddle_pattern, system.nq, system.nu
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
    return csc_matrix(M + diags(np.where(light, typical, DIAGONAL_SHIFT * energies) / scales.u**2))


def position_metric(system: System, x: np.ndarray, scales: Scales) -> csc_matrix:
    """G (nq, nq) of the distance of coordinates; as `metric.position_metric`, part by part of the kinematics."""
    M = speed_metric(system, x, scales)
    if system.trivial_kinematics:
        return M
    across, nq, nu = system.structure.kinematic_pattern, system.nq, system.nu
    C = csc_matrix(csr_matrix((kinematics_of(system)(x), across.row(), across.colind()), shape=(nq, nu)))
    if not np.isfinite(C.data).all():
        return csc_matrix(identity(nq))
    Q, U = diags(1.0 / scales.q), diags(scales.u)
    C = csc_matrix(Q @ C @ U)  # in units of the sizes
    back = _pseudo_inverse(C)
    G = back.T @ (U @ M @ U) @ back
    off = identity(nq) - C @ back
    typical = float(G.diagonal().sum()) / max(nu, 1) or 1.0
    return csc_matrix(Q @ (G + typical * (off.T @ off) + DIAGONAL_SHIFT * typical * identity(nq)) @ Q)


def _pseudo_inverse(C: csc_matrix) -> csc_matrix:
    """The pseudo-inverse (nu, nq) of a matrix that falls into small parts, those of one shape together."""
    nq, nu = C.shape
    pattern = C.tocoo()
    links = csc_matrix((np.ones(C.nnz), (pattern.row, nq + pattern.col)), shape=(nq + nu, nq + nu))
    count, label = connected_components(links, directed=False)
    heights, widths = (np.bincount(some, minlength=count) for some in (label[:nq], label[nq:]))
    place = np.concatenate([_ranks(label[:nq], heights), _ranks(label[nq:], widths)])  # within the part
    found = csc_matrix((nu, nq))
    for height, width in np.unique(np.stack([heights, widths])[:, (heights > 0) & (widths > 0)], axis=1).T:
        alike = np.flatnonzero((heights == height) & (widths == width))
        number = np.full(count, -1)
        number[alike] = np.arange(len(alike))
        here = number[label[pattern.row]] >= 0
        i, j = pattern.row[here], pattern.col[here]
        blocks = np.zeros((len(alike), height, width))
        blocks[number[label[i]], place[i], place[nq + j]] = pattern.data[here]
        q, u = (np.argsort(number[some], kind="stable") for some in (label[:nq], label[nq:]))
        q, u = q[-len(alike) * height :].reshape(-1, 1, height), u[-len(alike) * width :].reshape(-1, width, 1)
        back = pseudo_inverse(blocks)  # (parts, width, height)
        rows, columns = np.broadcast_to(u, back.shape), np.broadcast_to(q, back.shape)
        found = found + csc_matrix((back.ravel(), (rows.ravel(), columns.ravel())), shape=(nu, nq))
    return found


def _ranks(label: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Number of entries before each one that have the same label, (n,)."""
    order = np.argsort(label, kind="stable")
    ranks = np.empty(len(label), dtype=np.int64)
    ranks[order] = np.arange(len(label)) - np.repeat(np.cumsum(counts) - counts, counts)
    return ranks

"""Gauss collocation: one long step whose stages keep away from its ends and, with an even number, from its middle.

The rates are a polynomial through the stages, F(theta) = sum a_k P_k(2 theta - 1) with Legendre polynomials P_k, and
the state is its integral. Stages are moved onto the constraints in every sweep (fixed-point iteration), so that what is
amplified near a singular position is round-off only.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dalembert.native.jit import jit
from dalembert.native.plan import LANES, interpolate_type, prepare_type
from dalembert.run.time_loop.columns import padded

SWEEPS = 60
ROUND_OFF = 1e-14  # a sweep that changes states by less, relative to their size, was the last
ENOUGH = 1e-4  # of the tolerance: so was one that changes them by less than this
STALLED = 1e-7  # below this a change that hardly shrinks is round-off; what it does to the end, two arcs tell

Rates = Callable[[float, np.ndarray], np.ndarray]
Move = Callable[[float, np.ndarray], np.ndarray]


class GaussRule(NamedTuple):
    """Nodes (s,), coefficients a_k of rates at the nodes (s, s), and integrals up to the nodes (s, s)."""

    nodes: np.ndarray
    spectrum: np.ndarray
    integrals: np.ndarray


@functools.cache
def gauss(s: int) -> GaussRule:
    """The rule of s stages on 0 .. 1."""
    x, w = np.polynomial.legendre.leggauss(s)
    degrees = np.arange(s)
    values = np.polynomial.legendre.legvander(x, s - 1)
    spectrum = (2 * degrees[:, None] + 1) * values.T * (w / 2)
    return GaussRule((x + 1) / 2, spectrum, integrated((x + 1) / 2, s) @ spectrum)


def integrated(theta: np.ndarray, count: int) -> np.ndarray:
    """The integrals of P_0 .. P_(count-1) from 0 to each theta, (n, count)."""
    P = np.polynomial.legendre.legvander(2 * theta - 1, count)
    parts = [(P[..., 1] + 1) / 2]
    parts += [(P[..., k + 1] - P[..., k - 1]) / (2 * (2 * k + 1)) for k in range(1, count)]
    return np.stack(parts, axis=-1)


class Arc(NamedTuple):
    """A stretch of motion: from state z (nz,) at time t over a length, by the coefficients (s, nz) of its rates."""

    t: float
    length: float
    z: np.ndarray
    coefficients: np.ndarray

    def at(self, t: float) -> np.ndarray:
        """The state (nz,) at a time of the arc."""
        theta = (t - self.t) / self.length
        x, weights = 2.0 * theta - 1.0, [theta]
        before, now = 1.0, x
        for k in range(1, len(self.coefficients)):  # as `integrated`, without arrays
            after = ((2 * k + 1) * x * now - k * before) / (k + 1)
            weights.append((after - before) / (2 * (2 * k + 1)))
            before, now = now, after
        return self.z + self.length * (np.array(weights) @ self.coefficients)

    def until(self, t: float) -> Arc:
        """The part of the arc that ends at time t."""
        share, s = (t - self.t) / self.length, len(self.coefficients)
        rule = gauss(s)
        F = np.polynomial.legendre.legvander(2 * share * rule.nodes - 1, s - 1) @ self.coefficients
        return self._replace(length=t - self.t, coefficients=rule.spectrum @ F)

    @property
    def columns(self) -> np.ndarray:
        """The coefficients as native code reads them, flat and padded."""
        s, nz = self.coefficients.shape
        flat = np.zeros((s, padded(nz)))
        flat[:, :nz] = self.coefficients
        return flat.reshape(-1)


def collocate(
    rates: Rates,
    move: Move,
    guess: Callable[[float], np.ndarray],
    t: float,
    z: np.ndarray,
    length: float,
    stages: int,
    sizes: np.ndarray,
    tolerance: float,
) -> Arc | None:
    """The arc of one step from z at t; None if the iteration does not contract.

    `move` brings states onto the constraints, `guess` gives states to begin with; changes are relative to `sizes`.
    `tolerance` is that of the step.
    """
    rule = gauss(stages)
    times = t + length * rule.nodes
    Z = np.array([move(at, guess(at)) for at in times])
    last = np.inf
    for sweep in range(SWEEPS):
        F = np.array([rates(at, state) for at, state in zip(times, Z, strict=True)])
        new = z + length * (rule.integrals @ F)
        moved = np.array([move(at, state) for at, state in zip(times, new, strict=True)])
        change, Z = float(np.max(np.abs(moved - Z) / sizes)), moved
        if not change < min(10.0 * last, 10.0):
            return None
        if change < max(ROUND_OFF, ENOUGH * tolerance) or (sweep > 2 and change < STALLED and change > 0.3 * last):
            F = np.array([rates(at, state) for at, state in zip(times, Z, strict=True)])
            return Arc(t, length, z, rule.spectrum @ F) if np.isfinite(F).all() else None
        last = change
    return None


@jit(prepare_type)
def nothing_to_prepare(_plan, _mem, _t, _h, _z, _stages, _znew, _zdot):
    """The coefficients are there."""
    return 0


@jit(interpolate_type)
def interpolate_arc(theta, h, z, stages, _znew, place):
    """The state at t + theta h of an arc whose coefficients stand in the columns of `stages`."""
    n = z.size
    width = (n + LANES - 1) // LANES * LANES
    x = 2.0 * theta - 1.0
    for i in range(n):
        place[i] = z[i] + h * theta * stages[i]
    before, now = 1.0, x
    for k in range(1, stages.size // width):
        after = ((2 * k + 1) * x * now - k * before) / (k + 1)
        weight = h * (after - before) / (2 * (2 * k + 1))
        for i in range(n):
            place[i] += weight * stages[k * width + i]
        before, now = now, after
    return 0

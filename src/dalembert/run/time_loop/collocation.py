"""Gauss collocation: one long step whose stages keep away from its ends and, with an even number, from its middle.

The rates are a polynomial through the stages, F(theta) = sum a_k P_k(2 theta - 1) with Legendre polynomials P_k, and
the state is its integral. It is found by sweeps over the stages, each of which moves them onto the constraints, so that
what is amplified near a singular position is round-off only. A sweep takes the stages one after the other: new rates
count for the next stage at once (Gauss-Seidel, as in spectral deferred corrections: Dutt, Greengard, Rokhlin, BIT 40,
2000), and so does what new speeds mean for positions. The number of stages rises with the sweeps: how many sweeps there
were decides about the error, and more stages are of no use before the first ones are nearly right.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dalembert.native.jit import jit
from dalembert.native.plan import (
    LANES,
    Floats,
    Plan,
    call_correct,
    call_kernel,
    f8,
    i8,
    interpolate_type,
    move,
    prepare_type,
)
from dalembert.run.evaluate import is_finite, rates
from dalembert.run.time_loop.columns import padded
from dalembert.solve.rows import FUSED, clear_row

if TYPE_CHECKING:
    from dalembert.run.engine import Engine

SWEPT_STAGES = (2, 4, 6, 6, 8, 10)  # of the sweeps; even numbers: none is in the middle
AGAIN = 6  # stages that are swept twice, unless the next number of stages may do
FEWEST_STAGES = 8  # stages of an arc that is taken
SWEEPS = 40  # over all stages, at most
INSIDE = 0.02  # gain of the last two stages between the ends, where arcs have lower order
BETWEEN = np.array([0.1, 0.25, 0.4, 0.6, 0.75, 0.9, 1.0])  # where arcs are compared
# A sweep tells the error of the arc it began with. That of the new one is smaller by what sweeps gain: on the mean what
# the last two did, as one that gains much is often followed by one that gains little. The gain is taken times CAUTION,
# as BEST_GAIN at the most, and not below BELIEVED: round-off, amplified near a singular position, does not fall with
# it.
CAUTION, BEST_GAIN, BELIEVED = 3.0, 0.01, 1e-8
CONSTRAINT_ACCURACY = 1e-6  # of the last change: accuracy to which stages are brought onto the constraints
ACCELERATION_ACCURACY = 1e-5  # of the last change: to what accelerations are refined where the solve is sparse
MIDDLE_GAP = 0.14  # of half the arc: no stage is nearer to its middle
LAST_CHANGE = 0.1  # of the error sought: sweeps that change less are the last
STALLED = 0.5  # so are those that hardly change less than the one before: round-off, or they do not contract
MOST_STAGES = SWEPT_STAGES[-1]
# Where things are in the table of a rule that native code reads: integrals up to its nodes and its spectrum, rows one
# behind the other; values of P_0 .. P_(MOST_STAGES-1) at its nodes, rows of MOST_STAGES.
INTEGRALS, SPECTRUM, VALUES, RULE = (MOST_STAGES + k * MOST_STAGES * MOST_STAGES for k in range(4))
# Of the workspace.
F_ROWS, W_ROWS, Z_ROWS, SPARE_ROWS, ROOM_ROWS = 0, MOST_STAGES, 2 * MOST_STAGES, 3 * MOST_STAGES, 3 * MOST_STAGES + 2
TILE = 128  # entries of rows that are combined at a time: those of all rows stay in the cache


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
    """The integrals of P_0 .. P_(count-1) from 0 to each theta, (..., count)."""
    x, parts = 2.0 * theta - 1.0, [theta]
    before, now = np.ones_like(theta), x
    for k in range(1, count):
        after = ((2 * k + 1) * x * now - k * before) / (k + 1)
        parts.append((after - before) / (2 * (2 * k + 1)))
        before, now = now, after
    return np.stack(parts, axis=-1)


class Arc(NamedTuple):
    """A stretch of motion: from state z (nz,) at time t over a length, by the coefficients (s, nz) of its rates."""

    t: float
    length: float
    z: np.ndarray
    coefficients: np.ndarray

    def at(self, t: np.ndarray) -> np.ndarray:
        """The states (..., nz) at times (...) of the arc."""
        thetas, states = (np.reshape(t, -1) - self.t) / self.length, np.empty((*t.shape, len(self.z)))
        follow_arc(thetas, self.length, self.z, self.coefficients.reshape(-1), states.reshape(-1))
        return states

    def rates(self, t: np.ndarray) -> np.ndarray:
        """The rates (n, nz) of the states at times (n,)."""
        x = 2.0 * (t - self.t) / self.length - 1.0
        return np.polynomial.legendre.legvander(x, len(self.coefficients) - 1) @ self.coefficients

    def until(self, t: float) -> Arc:
        """The part of the arc that ends at time t."""
        length, rule = t - self.t, gauss(len(self.coefficients))
        return self._replace(length=length, coefficients=rule.spectrum @ self.rates(self.t + length * rule.nodes))

    def since(self, t: float) -> Arc:
        """The part of the arc that begins at time t."""
        length, rule = self.t + self.length - t, gauss(len(self.coefficients))
        return Arc(t, length, self.at(np.array(t)), rule.spectrum @ self.rates(t + length * rule.nodes))

    @property
    def columns(self) -> np.ndarray:
        """The coefficients as native code reads them, flat and padded."""
        s, nz = self.coefficients.shape
        flat = np.zeros((s, padded(nz)))
        flat[:, :nz] = self.coefficients
        return flat.reshape(-1)


@functools.cache
def _tables() -> tuple[np.ndarray, np.ndarray]:
    """The rules of all numbers of stages, and the integrals of P_0 .. up to where arcs are compared, all flat."""
    rules = np.zeros((MOST_STAGES // 2, RULE))
    for half, table in enumerate(rules, 1):
        rule = gauss(2 * half)
        values = np.polynomial.legendre.legvander(2 * rule.nodes - 1, MOST_STAGES - 1)
        parts = (0, rule.nodes), (INTEGRALS, rule.integrals), (SPECTRUM, rule.spectrum), (VALUES, values)
        for at, part in parts:
            table[at : at + part.size] = part.ravel()
    return rules.reshape(-1), integrated(BETWEEN, MOST_STAGES).reshape(-1)


def collocate(engine: Engine, guess: Arc, sizes: np.ndarray, enough: float) -> tuple[Arc, float]:
    """The arc over the time of `guess`, and its estimated error relative to `sizes` (nz,), infinite if there is none.

    The number of stages rises until the error is small `enough`. If it is not with all of them, sweeps go on until they
    would change nothing any more, and what the last two stages gain is the error.
    """
    t, length, z, known = guess
    found, outcome = np.zeros((MOST_STAGES, len(z))), np.array([math.inf, len(known)])
    found[: len(known)] = known
    find_arc(
        engine.plan, engine.mem, t, length, *_tables(), z, sizes, found.reshape(-1), np.empty(ROOM_ROWS * len(z)),
        enough, outcome,
    )  # fmt: skip
    error, stages = outcome.tolist()
    return guess._replace(coefficients=found[: int(stages)]), error


@jit(i8(Floats, f8, Floats), fastmath=FUSED)
def _add(to, factor, source):
    """to += factor * source, over the entries of `source`."""
    for i in range(source.size):
        to[i] += factor * source[i]
    return 0


@jit(i8(Floats, f8, Floats, f8, Floats), fastmath=FUSED)
def _add_two(to, factor, source, other_factor, other):
    """to += factor * source + other_factor * other, over the entries of `to`."""
    for i in range(to.size):
        to[i] += factor * source[i] + other_factor * other[i]
    return 0


@jit(i8(Floats, Floats, Floats))
def _subtract(one, other, to):
    """The difference of two rows, over the entries of `to`."""
    for i in range(to.size):
        to[i] = one[i] - other[i]
    return 0


@jit(i8(Plan, Floats, f8, f8, Floats, Floats, Floats, Floats))
def _displace(plan, mem, t, length, weights, place, Z, W):
    """Displacement of a stage by new speeds, written to plan.shift: C times the integral of W - Z up to the stage.

    C is evaluated at this stage, at `place`. Its values at the other stages do not change the limit of the sweeps.
    """
    n, nq, xu, nu = place.size, plan.nq, plan.xu, plan.nu
    clear_row(mem, xu, nu)
    for j in range(weights.size):
        u, weight = j * n + nq, length * weights[j]
        _add_two(mem[xu : xu + nu], weight, W[u : u + nu], -weight, Z[u : u + nu])
    mem[plan.x] = t
    move(mem, plan.xq, place, 0, nq)
    call_kernel(plan.displacement, mem, plan.x, plan.shift)
    return 0


@jit(i8(Plan, Floats, f8, Floats, Floats))
def _change_rates(plan, mem, t, stage, reached):
    """Change of the rates q' of a stage by the speeds u of `reached`, C (u - u_stage), written to plan.shift."""
    nq = plan.nq
    mem[plan.x] = t
    move(mem, plan.xq, stage, 0, nq)
    _subtract(reached[nq:], stage[nq:], mem[plan.xu : plan.xu + plan.nu])
    call_kernel(plan.displacement, mem, plan.x, plan.shift)
    return 0


@jit(i8(Plan, Floats, f8, f8, Floats, Floats, Floats, Floats, Floats, Floats, f8))
def sweep(plan, mem, t, length, nodes, integrals, Z, F, W, spare, change):
    """One sweep over s stages; all arrays flat. The drift control is a projection; `change` is that of the last sweep.

    F (s, n) are rates at the states Z (s, n), W (s, n) = z + length * integrals F; `spare` (2 n). Changes Z, F and W.
    The speeds in Z are those before they are brought onto the constraints: what they have changed by since tells how
    the rates of q will change, and comes to nothing in the end.
    """
    s, n, nq = nodes.size, spare.size // 2, plan.nq
    tolerated, enough = mem[plan.options], mem[plan.options + 1]
    mem[plan.options], mem[plan.options + 1] = (
        max(tolerated, CONSTRAINT_ACCURACY * change),
        max(enough, 0.1 * CONSTRAINT_ACCURACY * change),
    )
    plan.accuracy = ACCELERATION_ACCURACY * change
    place, fresh, shift = spare[:n], spare[n:], mem[plan.shift : plan.shift + nq]
    for k in range(s):
        row, at = k * n, t + length * nodes[k]
        move(place, 0, W, row, n)
        _displace(plan, mem, at, length, integrals[k * s : (k + 1) * s], place, Z, W)
        _add(place, 1.0, shift)
        move(Z, row + nq, W, row + nq, n - nq)
        call_correct(plan.correct, (plan, mem, at, place))
        rates(plan, mem, at, place, fresh)
        _subtract(fresh, F[row:], F[row : row + n])  # change of the rates of the stage
        for j in range(s):
            _add(W[j * n :], length * integrals[j * s + k], F[row : row + n])
        move(Z, row, place, 0, nq)
        move(F, row, fresh, 0, n)
    for j in range(s):
        _change_rates(plan, mem, t + length * nodes[j], Z[j * n : (j + 1) * n], W[j * n : (j + 1) * n])
        _add(F[j * n :], 1.0, shift)
    mem[plan.options], mem[plan.options + 1], plan.accuracy = tolerated, enough, 0.0
    return 0


@jit(i8(Floats, i8, i8, i8, f8, Floats, Floats, i8))
def _add_products(weights, apart, rows, columns, factor, source, to, n):
    """to (rows, n) += factor * weights (rows, columns) source (columns, n), flat; rows of weights are `apart`.

    The number of columns is even.
    """
    for start in range(0, n, TILE):
        stop = min(start + TILE, n)
        for r in range(rows):
            place, w = to[r * n + start : r * n + stop], r * apart
            for c in range(0, columns, 2):
                at, next_at = c * n, c * n + n
                _add_two(
                    place, factor * weights[w + c], source[at + start : at + stop],
                    factor * weights[w + c + 1], source[next_at + start : next_at + stop],
                )  # fmt: skip
    return 0


@jit(i8(Floats, f8, Floats))
def _raise(to, factor, source):
    """to = max(to, factor * |source|), over the entries of `to`."""
    for i in range(to.size):
        to[i] = max(to[i], factor * abs(source[i]))
    return 0


@jit(f8(Floats, Floats))
def _largest_ratio(values, sizes):
    """The largest of values over sizes."""
    largest = 0.0
    for i in range(values.size):
        largest = max(largest, values[i] / sizes[i])
    return largest


@jit(f8(Floats, i8, Floats, Floats, Floats))
def _largest_change(places, rows, change, sizes, spare):
    """The largest change of an arc relative to `sizes`, of length 1, for changes (rows, n) of its coefficients.

    `places` are integrals of P_0 .. up to where it is looked at; between the ends changes count less.
    """
    n, largest = sizes.size, 0.0
    for start in range(0, n, TILE):
        count = min(TILE, n - start)
        worst, here = spare[:count], spare[n : n + count]
        clear_row(worst, 0, count)
        for k in range(places.size // MOST_STAGES):
            clear_row(here, 0, count)
            for c in range(0, rows, 2):
                at, next_at, w = c * n + start, c * n + n + start, k * MOST_STAGES + c
                _add_two(
                    here, places[w], change[at : at + count], places[w + 1], change[next_at : next_at + count]
                )  # fmt: skip
            _raise(worst, INSIDE if (k + 1) * MOST_STAGES < places.size else 1.0, here)
        largest = max(largest, _largest_ratio(worst, sizes[start : start + count]))
    return largest


@jit(f8(Plan, Floats, f8, f8, Floats, Floats, Floats, Floats, Floats, Floats, i8, i8, f8))
def _swept(plan, mem, t, length, rules, places, z, sizes, found, room, count, stages, gap):
    """Change of an arc with `count` coefficients `found` by a sweep over `stages` stages; infinite if it is lost.

    The new coefficients are left in Z, the changes in F; `gap` is what the sweep before changed.
    """
    n, rule = z.size, rules[(stages // 2 - 1) * RULE : stages // 2 * RULE]
    F, W = room[F_ROWS * n : W_ROWS * n], room[W_ROWS * n : Z_ROWS * n]
    Z, spare = room[Z_ROWS * n : SPARE_ROWS * n], room[SPARE_ROWS * n : ROOM_ROWS * n]
    clear_row(F, 0, stages * n)
    _add_products(rule[VALUES:], MOST_STAGES, stages, count, 1.0, found, F, n)
    clear_row(W, 0, stages * n)
    _add_products(rule[INTEGRALS:], stages, stages, stages, length, F, W, n)
    for k in range(stages):
        _add(W[k * n :], 1.0, z)  # last, so that it is rounded once
    move(Z, 0, W, 0, stages * n)
    integrals = rule[INTEGRALS : INTEGRALS + stages * stages]
    sweep(plan, mem, t, length, rule[:stages], integrals, Z, F, W, spare, min(gap, 1.0))
    clear_row(Z, 0, stages * n)
    _add_products(rule[SPECTRUM:], stages, stages, stages, 1.0, F, Z, n)
    if not is_finite(Z[: stages * n]):
        return math.inf
    rows = max(stages, count)
    clear_row(Z, stages * n, (rows - stages) * n)
    _subtract(Z, found, F[: rows * n])
    change = length * _largest_change(places, rows, F, sizes, spare)
    return change if math.isfinite(change) else math.inf


@jit(i8(Plan, Floats, f8, f8, Floats, Floats, Floats, Floats, Floats, Floats, f8, Floats))
def find_arc(plan, mem, t, length, rules, places, z, sizes, found, room, enough, outcome):
    """The coefficients of an arc, from those `found` (MOST_STAGES, nz) on, see `collocate`.

    `outcome` is the error and the number of coefficients, given: of those there are.
    """
    gap, before, gain, n, count = math.inf, 1.0, 1.0, z.size, 2 * math.ceil(0.5 * outcome[1])
    new = room[Z_ROWS * n : SPARE_ROWS * n]
    for stages in SWEPT_STAGES:
        if stages == AGAIN and count == AGAIN and CAUTION * before * gain * gap <= enough:
            continue
        last, gap = gap, _swept(plan, mem, t, length, rules, places, z, sizes, found, room, count, stages, gap)
        move(found, 0, new, 0, stages * n)
        count = outcome[1] = stages
        if gap == math.inf:
            outcome[0] = math.inf
            return 0
        # Where the first arc is the motion itself, nothing is left.
        before, gain = gain, gap / last if last > 0.0 else 1.0
        outcome[0] = min(gap, max(CAUTION * math.sqrt(before * gain) * gap, BEST_GAIN * gap, BELIEVED))
        if stages >= FEWEST_STAGES and outcome[0] <= enough:
            return 0
    left = gap
    for _ in range(SWEEPS):
        last, gap = (
            gap,
            _swept(plan, mem, t, length, rules, places, z, sizes, found, room, MOST_STAGES, MOST_STAGES, gap),
        )
        move(found, 0, new, 0, MOST_STAGES * n)
        falls = gap < STALLED * last
        left = gap * gap / last if falls and gap > BELIEVED else gap  # expected change of the next sweep
        if left < LAST_CHANGE * enough or not falls:
            break
    fewer = _swept(plan, mem, t, length, rules, places, z, sizes, found, room, MOST_STAGES, MOST_STAGES - 2, gap)
    outcome[0] = max(left, fewer)
    return 0


@jit(prepare_type)
def nothing_to_prepare(_plan, _mem, _t, _h, _z, _stages, _znew, _zdot):
    """Do nothing: the coefficients are ready."""
    return 0


@jit(i8(f8, f8, Floats, Floats, i8, Floats))
def _integrate(theta, h, z, coefficients, width, place):
    """The state at t + theta h of an arc into `place` (n,); coefficients are rows of so many floats, flat."""
    n, x = z.size, 2.0 * theta - 1.0
    move(place, 0, z, 0, n)
    _add(place, h * theta, coefficients[:n])
    before, now = 1.0, x
    for k in range(1, coefficients.size // width):
        after = ((2 * k + 1) * x * now - k * before) / (k + 1)
        weight = h * (after - before) / (2 * (2 * k + 1))
        _add(place, weight, coefficients[k * width : k * width + n])
        before, now = now, after
    return 0


@jit(i8(Floats, f8, Floats, Floats, Floats))
def follow_arc(thetas, h, z, coefficients, states):
    """The states (nt, n) at times t + theta h of an arc, flat."""
    n = z.size
    for row in range(thetas.size):
        _integrate(thetas[row], h, z, coefficients, n, states[row * n : (row + 1) * n])
    return 0


@jit(interpolate_type)
def interpolate_arc(theta, h, z, stages, _znew, place):
    """The state at t + theta h of an arc whose coefficients stand in the columns of `stages`."""
    return _integrate(theta, h, z, stages, (z.size + LANES - 1) // LANES * LANES, place)

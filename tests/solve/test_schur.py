"""Speeds in closed form: against NumPy and the factors without, what is eliminated, and how much work it is."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dalembert.solve.elimination_order import SaddlePattern
from dalembert.solve.schur_pattern import CONSTRAINTS_PER_SPEED
from dalembert.solve.sparse_layout import SHIFT
from dalembert.solve.sparse_system import SparseSaddle


def sparsity(matrix):
    return ca.sparsify(ca.DM(matrix)).sparsity()


def saddle_of(M, A):
    pattern = SaddlePattern.of(sparsity(M), sparsity(A))
    saddle = SparseSaddle(pattern)
    saddle.factor(M[pattern.mass_rows, pattern.mass_columns], A[pattern.rows, pattern.columns])
    return saddle


def multipliers(saddle):
    plan = saddle.work.plan
    return saddle.work.mem[plan.rhs + saddle.pattern.nu :][: saddle.pattern.nc].copy()


def random_problem(seed, nu, nc, coupled):
    """M with unequal masses, of which the first `coupled` are coupled, and rows with about three nonzeros."""
    rng = np.random.default_rng(seed)
    M = np.diag(10.0 ** rng.uniform(-2, 2, nu))
    J = rng.standard_normal((coupled, coupled))
    M[:coupled, :coupled] = J.T @ J + np.eye(coupled)
    A = rng.standard_normal((nc, nu)) * (rng.random((nc, nu)) < min(1.0, 3 / nu))
    return M, A, rng.standard_normal(nu), rng.standard_normal(nc)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000), nu=st.integers(1, 14), data=st.data())
def test_a_regular_system_is_solved_to_round_off(seed, nu, data):
    nc, coupled = data.draw(st.integers(0, nu)), data.draw(st.integers(0, nu))
    M, A, f, b = random_problem(seed, nu, nc, coupled)
    # For unit masses and rows, as the shift is relative to these; a row without nonzeros has no solution.
    lengths = np.sqrt((A**2 / np.diag(M)).sum(axis=1))
    assume((lengths > 0.0).all())
    K = np.block([[M, A.T], [A, np.zeros((nc, nc))]])
    unit = 1.0 / np.concatenate([np.sqrt(np.diag(M)), lengths])
    condition, eps = np.linalg.cond(unit[:, None] * K * unit), np.finfo(float).eps
    assume(condition < 1e4)
    saddle = saddle_of(M, A)
    udot = saddle.solve(f, b, refined=True)
    x, found = np.linalg.solve(K, np.concatenate([f, b])) / unit, np.concatenate([udot, -multipliers(saddle)]) / unit
    assert np.linalg.norm(found - x) < 10 * (nu + nc) * eps * condition * np.linalg.norm(x)


def test_groups_of_any_size_make_the_schur_complement():
    """One row on 1, 2, .. 5 speeds each, and a second row on all of them: solved without refinement as NumPy does."""
    A = np.zeros((6, 15))
    for k in range(5):
        A[k, k * (k + 1) // 2 : (k + 1) * (k + 2) // 2] = np.arange(1, k + 2)
    A[5] = np.linspace(-1.0, 1.0, 15) + 0.03
    M = np.diag(np.linspace(0.5, 2.0, 15))
    saddle = saddle_of(M, A)
    assert saddle.pattern.factors.schur.free.all()
    b = np.arange(6.0)
    S = A @ np.linalg.inv(M) @ A.T
    expected = np.linalg.solve(S + SHIFT * np.diag(np.diag(S)), b)
    np.testing.assert_allclose(saddle.solve_rows(b)[0], expected, rtol=1e-12)


def test_redundant_rows_get_the_least_multipliers():
    M, A, f, b = random_problem(4, 9, 3, 0)
    mix = np.array([[1.0, -2.0, 0.5], [0.3, 0.3, 1.0]])
    rows, right = np.vstack([A, mix @ A]), np.concatenate([b, mix @ b])
    saddle = saddle_of(M, rows)
    udot = saddle.solve(f, right, refined=True)
    expected = saddle_of(M, A).solve(f, b, refined=True)
    np.testing.assert_allclose(udot, expected, rtol=1e-10, atol=1e-10)
    unit = np.diag(1 / np.linalg.norm(rows / np.sqrt(np.diag(M)), axis=1))
    least = unit @ np.linalg.pinv((unit @ rows).T) @ (M @ expected - f)
    bound = 100 * np.finfo(float).eps / SHIFT * np.abs(least).max()
    np.testing.assert_allclose(multipliers(saddle), least, rtol=0, atol=bound)


@pytest.mark.parametrize("coupled", [0, 4])
def test_a_speed_whose_mass_is_gone_is_solved_for_by_its_constraints(coupled):
    """The last speed has no mass, and a row of its own: the equations stay regular."""
    M, A, f, b = random_problem(2, 8, 4, coupled)
    A[:, -1] = 0.0
    A[-1] = 0.0
    A[-1, -1] = 2.0
    pattern = SaddlePattern.of(sparsity(M), sparsity(A))
    M[-1, -1] = 0.0
    saddle = SparseSaddle(pattern)
    assert saddle.factor(M[pattern.mass_rows, pattern.mass_columns], A[pattern.rows, pattern.columns]) == 0.0
    udot = saddle.solve(f, b, refined=True)
    assert udot[-1] == pytest.approx(b[-1] / 2.0, rel=1e-12)
    assert 2.0 * multipliers(saddle)[-1] == pytest.approx(-f[-1], rel=1e-9)


def test_what_masses_couple_and_what_holds_too_many_rows_stays_in_the_factors():
    n = CONSTRAINTS_PER_SPEED + 1
    A = np.zeros((n, n + 2))
    A[:, 0] = 1.0  # a hub that every row holds
    A[np.arange(n), 1 + np.arange(n)] = 1.0
    M = np.eye(n + 2)
    M[-1, -2] = M[-2, -1] = 0.5
    factors = SaddlePattern.of(sparsity(M), sparsity(A)).factors
    expected = np.ones(n + 2, dtype=bool)
    expected[[0, -1, -2]] = False
    assert (factors.schur.free == expected).all()
    assert set(factors.order) == {0, n, n + 1, *range(n + 2, 2 * n + 2)}
    assert factors.work < n**2


def test_a_grid_takes_a_fraction_of_the_work_and_of_the_fill():
    """Knots in space joined by rods, n x n: each row holds six speeds, each speed up to four rows."""
    n = 12
    knots = np.arange(n * n).reshape(n, n)
    along = np.stack([knots[:-1].ravel(), knots[1:].ravel()], axis=1)
    across = np.stack([knots[:, :-1].ravel(), knots[:, 1:].ravel()], axis=1)
    pairs = np.concatenate([along, across])
    rows = np.repeat(np.arange(len(pairs)), 6).tolist()
    columns = (3 * pairs[:, :, None] + np.arange(3)).ravel().tolist()
    pattern = SaddlePattern.of(ca.Sparsity.diag(3 * n * n), ca.Sparsity.triplet(len(pairs), 3 * n * n, rows, columns))
    assert pattern.factors.schur.free.all()
    assert 2 * pattern.factors.work < pattern.whole_factors.work
    assert 2 * len(pattern.factors.entry_rows) < len(pattern.whole_factors.entry_rows)
    degrees = np.bincount(columns)
    assert pattern.factors.schur.work == (degrees * (degrees + 3) // 2).sum()


def test_a_chain_is_eliminated_from_both_ends():
    """Links of coordinates x, y, which masses couple with the next link's, a crank c and a coupler p to the next link.

    Eliminated link by link, x, y, c, p have 4 (y, c, p, x'), 4 (c, p, x', y'), 3 (p, x', y') and 2 entries below: 13.
    Only where both ends meet do unknowns of one half wait for those of the other.
    """
    n = 50
    k, both = np.arange(n - 1), np.arange(2)
    coordinates = 2 * np.arange(n)[:, None] + both
    M = ca.Sparsity.triplet(2 * n, 2 * n, coordinates[1:].ravel().tolist(), coordinates[:-1].ravel().tolist())
    cranks = np.repeat(np.arange(n), 2)
    couplers = np.repeat(n + k, 4)
    columns = np.concatenate([coordinates.ravel(), np.hstack([coordinates[:-1], coordinates[1:]]).ravel()])
    A = ca.Sparsity.triplet(2 * n - 1, 2 * n, [*cranks.tolist(), *couplers.tolist()], columns.tolist())
    factors = SaddlePattern.of(M, A).factors
    assert len(factors.entry_rows) <= 13 * n
    assert factors.height <= 4 * (n // 2 + 2)
    places = {unknown: k for k, unknown in enumerate(factors.order.tolist())}
    for link in range(n):  # a crank has both coordinates before it, so that its pivot is its whole length
        assert places[2 * n + link] > max(places[2 * link], places[2 * link + 1])

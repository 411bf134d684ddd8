"""Saddle-point systems against NumPy, in the cases mechanisms produce: singular mass, redundant rows, wild scales."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dalembert.native import plan as layout
from dalembert.solve.dense import PROXIMAL, factor_saddle, solve_saddle
from dalembert.solve.refinement import refine_saddle
from dalembert.solve.unsymmetric import factor_general, solve_general


def laid_out(M, A, W=None):
    nc, nu = A.shape
    sizes = {"nq": nu, "nu": nu, "np": nc, "nv": 0, "nc": nc, "ni": 0, "works": 0, "ideal": int(W is None)}
    n_out = nu + nu * nu + nu + nc * nu + nc + (0 if W is None else nc * nu) + 1 + nu
    work = layout.lay_out(sizes, 0, n_out, np.zeros(0))
    plan, mem = work.plan, work.mem
    mem[plan.mass :][: nu * nu] = M.ravel()
    mem[plan.jacobian :][: nc * nu] = A.ravel()
    if W is not None:
        mem[plan.direction :][: nc * nu] = W.ravel()
    return work


def solve_ideal(M, A, f, b):
    work = laid_out(M, A)
    plan, mem = work.plan, work.mem
    n = len(f) + len(b)
    mem[plan.force :][: len(f)], mem[plan.bias :][: len(b)] = f, b
    plan.solve = solve_saddle.address
    assert factor_saddle(plan, mem, len(b)) == n
    refine_saddle(plan, mem, len(b))
    where = plan.rhs
    return mem[where : where + len(f)].copy(), mem[where + len(f) : where + n].copy(), mem[plan.quality]


def random_problem(seed, nu, nc, rank_of_mass):
    rng = np.random.default_rng(seed)
    J = rng.standard_normal((rank_of_mass, nu))
    return J.T @ J, rng.standard_normal((nc, nu)), rng.standard_normal(nu), rng.standard_normal(nc)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000), nu=st.integers(1, 12), data=st.data())
def test_regular_saddle_is_solved_also_with_a_singular_mass_matrix(seed, nu, data):
    nc = data.draw(st.integers(0, nu))
    M, A, f, b = random_problem(seed, nu, nc, data.draw(st.integers(nu - nc, nu)))
    K = np.block([[M, A.T], [A, np.zeros((nc, nc))]])
    condition, n, eps = np.linalg.cond(K), nu + nc, np.finfo(float).eps
    assume(condition < 1e4)  # PROXIMAL * 1e4 = 1e-4, so three refinements leave 1e-16 of the shift; beyond, see below
    udot, la, _ = solve_ideal(M, A, f, b)
    x = np.linalg.solve(K, np.concatenate([f, b]))
    found = np.concatenate([udot, -la])
    # A backward stable solve: forward error of order n eps cond(K), residual of order n eps |K| |x| (Higham, 12).
    assert np.linalg.norm(found - x) < 10 * n * eps * condition * np.linalg.norm(x)
    residual = K @ found - np.concatenate([f, b])
    assert np.linalg.norm(residual) < 10 * n * eps * np.linalg.norm(K) * np.linalg.norm(x)


@pytest.mark.parametrize("seed", range(20))
def test_redundant_rows_leave_the_acceleration_unique(seed):
    M, A, f, b = random_problem(seed, 6, 3, 6)
    M += np.eye(6)
    expected, _, quality = solve_ideal(M, A, f, b)
    assert quality > 1e-4
    mix = np.random.default_rng(seed).standard_normal((2, 3))
    rows = np.vstack([A, mix @ A])
    udot, la, quality = solve_ideal(M, rows, f, np.concatenate([b, mix @ b]))
    assert quality < 10 * PROXIMAL
    np.testing.assert_allclose(udot, expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(rows.T @ la, M @ udot - f, rtol=1e-9, atol=1e-9)
    # The least multipliers per row of unit length, speeds scaled to unit masses; the shift lets round-off grow by its
    # reciprocal in the directions that do not act.
    unit = np.diag(1 / np.linalg.norm(rows / np.sqrt(np.diag(M)), axis=1))
    least = unit @ np.linalg.pinv((unit @ rows).T) @ (M @ expected - f)
    np.testing.assert_allclose(la, least, rtol=0, atol=100 * np.finfo(float).eps / PROXIMAL * np.abs(least).max())


@pytest.mark.parametrize("ideal", [True, False])
@pytest.mark.parametrize("seed", range(10))
def test_redundant_rows_do_not_count_in_the_quality_but_a_lower_rank_does(seed, ideal):
    M, A, _, _ = random_problem(seed, 6, 3, 6)
    M += np.eye(6)
    mix = np.random.default_rng(seed).standard_normal((2, 3))

    def quality(rows, independent):
        work = laid_out(M, rows, None if ideal else rows)
        work.plan.chosen = independent
        (factor_saddle if ideal else factor_general)(work.plan, work.mem, len(rows))
        return work.mem[work.plan.quality]

    redundant = np.vstack([A, mix @ A])
    assert quality(redundant, 3) > 1e-2 * quality(A, 3)
    assert quality(redundant, 0) < 10 * PROXIMAL  # which of them are independent is not known
    A[2] = A[0] - A[1]
    assert quality(np.vstack([A, mix @ A]), 3) < 10 * PROXIMAL


def test_units_do_not_matter():
    M, A, f, b = random_problem(3, 5, 2, 5)
    M += np.eye(5)
    expected, la, _ = solve_ideal(M, A, f, b)
    scale = np.diag([1e-4, 1e3, 1.0, 1e-6, 1e2])  # speeds in other units: u = scale w
    rows = np.diag([1e5, 1e-5])
    w, mu, _ = solve_ideal(scale @ M @ scale, rows @ A @ scale, scale @ f, rows @ b)
    np.testing.assert_allclose(scale @ w, expected, rtol=1e-10)
    np.testing.assert_allclose(rows @ mu, la, rtol=1e-10)


@pytest.mark.parametrize("seed", range(10))
def test_servo_directions(seed):
    M, A, f, b = random_problem(seed, 6, 3, 6)
    M += np.eye(6)
    W = np.random.default_rng(seed + 100).standard_normal((3, 6))
    work = laid_out(M, A, W)
    plan, mem = work.plan, work.mem
    where = plan.rhs
    mem[where : where + 9] = np.concatenate([f, b])
    assert factor_general(plan, mem, plan.nc) == 9
    solve_general(plan, mem, plan.nc, where)
    K = np.block([[M, -W.T], [A, np.zeros((3, 3))]])
    np.testing.assert_allclose(mem[where : where + 9], np.linalg.solve(K, np.concatenate([f, b])), rtol=1e-8, atol=1e-9)


def test_a_servo_without_influence_lowers_the_rank():
    M, A = np.eye(3), np.array([[1.0, 0.0, 0.0]])
    work = laid_out(M, A, np.array([[0.0, 1.0, 0.0]]))
    plan, mem = work.plan, work.mem
    assert factor_general(plan, mem, plan.nc) == 3

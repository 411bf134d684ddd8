"""The sparse saddle solve against NumPy and the dense one: random patterns, singular mass, redundant rows, units."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import structural_rank

import dalembert as da
from dalembert.native import plan as layout
from dalembert.problems.n_four_bar import n_four_bar
from dalembert.solve.dense import DENSE
from dalembert.solve.elimination_nodes import _partners
from dalembert.solve.elimination_order import SaddlePattern, lower_triangle
from dalembert.solve.sparse import SPARSE, factor_sparse, judge_sparse, solve_sparse
from dalembert.solve.sparse_layout import SHIFT, lay_out_sparse
from dalembert.solve.sparse_refinement import refine_sparse


def laid_out(M, A, counts=None, *, soft=False):
    """A workspace with the nonzeros of M and A, and the records it refers to."""
    nc, nu = A.shape
    mass, across = ca.sparsify(ca.DM(M)).sparsity(), ca.sparsify(ca.DM(A)).sparsity()
    pattern = SaddlePattern.of(mass, across)
    sizes = {"nq": nu, "nu": nu, "np": nc, "nv": 0, "nc": nc, "ni": 0, "works": 0, "ideal": 1}
    sizes |= {"mass": len(pattern.mass_rows), "jacobian": len(pattern.columns)}
    work = layout.lay_out(sizes, 0, 3 * nu + nc + 1 + sizes["mass"] + sizes["jacobian"], np.zeros(0))
    records = lay_out_sparse(work, pattern, counts or [nc], soft=soft)
    plan, mem = work.plan, work.mem
    mem[plan.mass :][: sizes["mass"]] = M[pattern.mass_rows, pattern.mass_columns]
    mem[plan.jacobian :][: sizes["jacobian"]] = A[pattern.rows, pattern.columns]
    return work, records


def solved(M, A, f, b, *, soft=False):
    work, records = laid_out(M, A, soft=soft)
    plan, mem, nu, nc = work.plan, work.mem, len(f), len(b)
    mem[plan.force :][:nu], mem[plan.bias :][:nc] = f, b
    assert factor_sparse(plan, mem, nc) == nu + nc
    refine_sparse(plan, mem, nc)
    found = mem[plan.rhs :][: nu + nc].copy()
    judge_sparse(plan, mem, nc)
    work.check_guards()
    assert records
    return found[:nu], found[nu:], mem[plan.quality]


def random_problem(seed, nu, nc, density=0.4):
    """M positive definite and A, both with random zeros; f, b."""
    rng = np.random.default_rng(seed)
    J = rng.standard_normal((nu, nu)) * (rng.random((nu, nu)) < density)
    A = rng.standard_normal((nc, nu)) * (rng.random((nc, nu)) < density)
    return J.T @ J + np.eye(nu), A, rng.standard_normal(nu), rng.standard_normal(nc)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000), nu=st.integers(1, 14), data=st.data())
def test_a_regular_system_is_solved_to_round_off(seed, nu, data):
    nc = data.draw(st.integers(0, nu))
    M, A, f, b = random_problem(seed, nu, nc)
    K = np.block([[M, A.T], [A, np.zeros((nc, nc))]])
    condition, n, eps = np.linalg.cond(K), nu + nc, np.finfo(float).eps
    assume(condition < 1e4)  # SHIFT * 1e4 = 1e-5, so three refinements leave nothing of the shift
    udot, la, _ = solved(M, A, f, b)
    x = np.linalg.solve(K, np.concatenate([f, b]))
    # A backward stable solve: forward error of order n eps cond(K) (Higham, 12).
    assert np.linalg.norm(np.concatenate([udot, -la]) - x) < 10 * n * eps * condition * np.linalg.norm(x)


@pytest.mark.parametrize("width", range(1, 7))
def test_columns_of_any_length_are_eliminated(width):
    """A band of masses has columns of `width` entries and, at its end, of each shorter length."""
    n, rng = 4 * width + 4, np.random.default_rng(width)
    M = np.tril(np.triu(rng.standard_normal((n, n)), -width), width)
    M = M + M.T + 4.0 * (width + 1) * np.eye(n)
    _, (_, factors, _) = laid_out(M, np.zeros((0, n)))
    lengths = np.diff(SaddlePattern.of(ca.sparsify(ca.DM(M)).sparsity(), ca.Sparsity(0, n)).factors.column_starts)
    assert factors[0].n_targets > 0  # products are listed, see `short_columns`
    assert set(lengths) == set(range(width + 1))
    f = rng.standard_normal(n)
    np.testing.assert_allclose(solved(M, np.zeros((0, n)), f, [])[0], np.linalg.solve(M, f), rtol=0, atol=1e-14)


@pytest.mark.parametrize("seed", range(10))
def test_redundant_rows_leave_the_acceleration_unique_and_the_multipliers_least(seed):
    M, A, f, b = random_problem(seed, 8, 3, density=0.7)
    expected, _, quality = solved(M, A, f, b)
    assert quality > 1e-4
    mix = np.random.default_rng(seed).standard_normal((2, 3))
    rows = np.vstack([A, mix @ A])
    udot, la, quality = solved(M, rows, f, np.concatenate([b, mix @ b]))
    assert quality < 10 * SHIFT
    np.testing.assert_allclose(udot, expected, rtol=1e-10, atol=1e-10)
    unit = np.diag(1 / np.linalg.norm(rows / np.sqrt(np.diag(M)), axis=1))
    least = unit @ np.linalg.pinv((unit @ rows).T) @ (M @ expected - f)
    np.testing.assert_allclose(la, least, rtol=0, atol=100 * np.finfo(float).eps / SHIFT * np.abs(least).max())


def test_a_mass_matrix_without_some_of_its_diagonal_is_solved_with():
    M, A, f, b = random_problem(5, 6, 3, density=1.0)
    M[:2], M[:, :2] = 0.0, 0.0  # two speeds without inertia, held by three constraints
    K = np.block([[M, A.T], [A, np.zeros((3, 3))]])
    assert np.linalg.cond(K) < 1e3
    udot, la, _ = solved(M, A, f, b, soft=True)
    x = np.linalg.solve(K, np.concatenate([f, b]))
    np.testing.assert_allclose(np.concatenate([udot, -la]), x, rtol=0, atol=1e-11 * np.linalg.norm(x))


def test_units_do_not_matter():
    M, A, f, b = random_problem(3, 5, 2, density=1.0)
    expected, la, _ = solved(M, A, f, b)
    scale, rows = np.diag([1e-4, 1e3, 1.0, 1e-6, 1e2]), np.diag([1e5, 1e-5])
    w, mu, _ = solved(scale @ M @ scale, rows @ A @ scale, scale @ f, rows @ b)
    np.testing.assert_allclose(scale @ w, expected, rtol=1e-10)
    np.testing.assert_allclose(rows @ mu, la, rtol=1e-10)


def test_fewer_constraints_have_factors_of_their_own():
    M, A, f, b = random_problem(11, 9, 6)
    work, records = laid_out(M, A, [2, 4, 6])
    plan, mem = work.plan, work.mem
    for count in (4, 6, 2):
        where = plan.rhs
        mem[where : where + 9 + count] = np.concatenate([f, b[:count]])
        factor_sparse(plan, mem, count)
        solve_sparse(plan, mem, count, where)
        lengths = (A[:count] ** 2 / np.diag(M)).sum(axis=1)
        shift = np.diag(SHIFT * np.where(lengths > 0, lengths, 1.0))
        K = np.block([[M, A[:count].T], [A[:count], -shift]])
        x = np.linalg.solve(K, np.concatenate([f, b[:count]]))
        np.testing.assert_allclose(mem[where : where + 9 + count], [*x[:9], *-x[9:]], rtol=1e-7, atol=1e-7)
    assert len(records[1]) == 3


@given(
    nc=st.integers(0, 8), nu=st.integers(1, 8), places=st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)))
)  # fmt: skip
@settings(deadline=None)
def test_partners_are_a_maximum_matching_of_constraints_and_speeds(nc, nu, places):
    nonzeros = sorted((i, j) for i, j in places if i < nc and j < nu)
    rows, columns = np.array(nonzeros, dtype=np.int64).reshape(-1, 2).T
    partner = _partners(rows, columns, nc, nu)
    matched = [(i, j) for i, j in enumerate(partner.tolist()) if j >= 0]
    assert len(partner) == nc
    assert set(matched) <= set(nonzeros)
    assert len({j for _, j in matched}) == len(matched)
    matrix = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(nc, nu))
    assert len(matched) == (structural_rank(matrix) if len(rows) else 0)


def test_the_factor_of_a_chain_grows_with_its_length():
    def work(n):
        i = np.arange(n - 1)
        M = lower_triangle(ca.Sparsity.triplet(n, n, (i + 1).tolist(), i.tolist()))
        A = ca.Sparsity.triplet(n - 1, n, [*i, *i], [*i, *(i + 1)])
        return SaddlePattern.of(M, A).factors.work

    assert work(2000) < 2.1 * work(1000)


@pytest.mark.parametrize("n", [2, 8])
def test_sparse_and_dense_give_one_motion(n):
    """Up to the first singular position, which the dense solver passes by a step of its own."""
    problem = n_four_bar(n)
    system = problem.system()
    state = problem.state(system)
    runs = [
        system.simulate(
            state, 0.6, t_eval=np.linspace(0, 0.6, 7), integrator=da.DOP853(rtol=1e-9, atol=1e-9),
            formulation=da.LagrangeMultipliers(solver=solver),
        )
        for solver in (SPARSE, DENSE)
    ]  # fmt: skip
    for motion in runs:
        assert motion.certificate.ok, motion.certificate
        assert "saddle solver" in motion.certificate.method
    for name in ("q", "u", "udot", "reactions", "energy"):
        one, other = (getattr(motion, name) for motion in runs)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-10 * max(1.0, np.abs(other).max()))

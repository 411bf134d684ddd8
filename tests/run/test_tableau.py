"""Tableaus: order conditions of all four, what is refused, and methods added by a table alone."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

import dalembert as da
from dalembert import problems
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, i8
from dalembert.run.integrators import dop853, kutta_merson, rk4, tsit5
from dalembert.run.integrators.combination import combinations, increments
from dalembert.run.integrators.dense_output import ContinuousWeights, CubicHermite, DormandPrinceInterpolant
from dalembert.run.integrators.error_estimate import EmbeddedError
from dalembert.run.integrators.explicit import Adaptive, FixedStep
from dalembert.run.integrators.runge_kutta import RungeKutta
from dalembert.run.integrators.tableau import Tableau, lower_triangle
from dalembert.run.time_loop.columns import allocate, column, divided

TABLEAUS = [rk4.TABLEAU, kutta_merson.TABLEAU, tsit5.TABLEAU, dop853.TABLEAU]


def conditions(A, b, c, order):
    """Residuals of all order conditions (rooted trees) up to order 5, from the textbook's table II.2.1."""
    ac, ac2, aac = A @ c, A @ c**2, A @ (A @ c)
    trees = {
        1: [b.sum() - 1],
        2: [b @ c - 1 / 2],
        3: [b @ c**2 - 1 / 3, b @ ac - 1 / 6],
        4: [b @ c**3 - 1 / 4, b @ (c * ac) - 1 / 8, b @ ac2 - 1 / 12, b @ aac - 1 / 24],
        5: [
            b @ c**4 - 1 / 5,
            b @ (c**2 * ac) - 1 / 10,
            b @ (c * ac2) - 1 / 15,
            b @ (c * aac) - 1 / 30,
            b @ ac**2 - 1 / 20,
            b @ (A @ c**3) - 1 / 20,
            b @ (A @ (c * ac)) - 1 / 40,
            b @ (A @ ac2) - 1 / 60,
            b @ (A @ aac) - 1 / 120,
        ],
    }
    return np.array([r for k in range(1, order + 1) for r in trees[k]])


def with_end(tableau):
    """A, b and c with the rates at the new state as one more stage."""
    s = tableau.stages
    A = np.zeros((s + 1, s + 1))
    A[:s, :s], A[s, :s] = tableau.A, tableau.b
    return A, np.append(tableau.b, 0.0), np.append(tableau.c, 1.0)


@pytest.mark.parametrize("tableau", TABLEAUS, ids=lambda t: t.name)
def test_every_tableau_meets_the_conditions_of_its_order(tableau):
    A, b, c = tableau.A, tableau.b, tableau.c
    np.testing.assert_allclose(A.sum(axis=1), c, atol=1e-14)
    assert np.abs(conditions(A, b, c, min(tableau.order, 5))).max() < 1e-14
    exact = 1 / np.cumprod([1, *range(1, tableau.order + 1)])
    np.testing.assert_allclose(tableau.stability[: tableau.order + 1], exact, rtol=1e-9)


@pytest.mark.parametrize("tableau", [rk4.TABLEAU, kutta_merson.TABLEAU], ids=lambda t: t.name)
def test_methods_of_order_four_are_of_no_higher_order(tableau):
    assert np.abs(conditions(tableau.A, tableau.b, tableau.c, 5)).max() > 1e-4


def test_dop853_meets_the_quadrature_conditions_of_order_eight():
    b, c = dop853.TABLEAU.b, dop853.TABLEAU.c
    for k in range(8):
        assert b @ c**k == pytest.approx(1 / (k + 1), abs=1e-14)


def test_merson_s_comparison_solution_is_of_order_three_and_differs_by_five_estimates():
    t = kutta_merson.TABLEAU
    embedded = t.b + 5 * t.error.weights
    assert np.abs(conditions(t.A, embedded, t.c, 3)).max() < 1e-15
    np.testing.assert_allclose(t.stability, [1, 1, 1 / 2, 1 / 6, 1 / 24, 1 / 144], rtol=1e-14)


def test_tsit5_s_comparison_solution_and_interpolant_are_of_order_four():
    A, b, c = with_end(tsit5.TABLEAU)
    assert np.abs(conditions(A, b + tsit5.TABLEAU.error.weights, c, 4)).max() < 1e-13
    np.testing.assert_allclose(tsit5.DENSE.sum(axis=1), b, atol=1e-13)  # theta = 1
    for theta in (0.37, 0.5, 0.8):  # smaller ones magnify round-off
        weights = tsit5.DENSE @ theta ** np.arange(5) / theta
        assert np.abs(conditions(A / theta, weights, c / theta, 4)).max() < 1e-12


def test_estimates_of_dop853_compare_with_solutions_of_orders_five_and_three():
    t = dop853.TABLEAU
    assert np.abs(conditions(t.A, t.b - t.error.fifth, t.c, 5)).max() < 1e-13
    assert np.abs(conditions(t.A, t.b - t.error.third, t.c, 3)).max() < 1e-13


# -- what is refused ---------------------------------------------------------------------------------------------------

SHORT = ContinuousWeights(tsit5.DENSE[:6])
TILTED = ContinuousWeights(1.01 * tsit5.DENSE)
ASKEW = replace(dop853.TABLEAU.dense, c=dop853.TABLEAU.dense.c + 0.01)
NARROW = replace(dop853.TABLEAU.dense, D=dop853.TABLEAU.dense.D[:, :12])


@pytest.mark.parametrize(
    ("tableau", "changed", "words"),
    [
        (rk4.TABLEAU, {"c": [0, 1 / 2, 1]}, r"c \(3,\); give A as \(4, 4\)"),
        (rk4.TABLEAU, {"A": rk4.TABLEAU.A.T}, "not explicit"),
        (rk4.TABLEAU, {"c": [0, 1 / 2, 1 / 3, 1]}, "do not sum up to c, by 1.7e-01"),
        (rk4.TABLEAU, {"order": 5}, "not of order 5, it misses the conditions of order 5"),
        (rk4.TABLEAU, {"b": [1 / 4, 1 / 4, 1 / 4, 1 / 4]}, "misses the conditions of order 3"),
        (rk4.TABLEAU, {"error": EmbeddedError([1.0, -1.0])}, "2 weights; it must have 4, or 5"),
        (rk4.TABLEAU, {"error": EmbeddedError([0.1, 0, 0, 0])}, "sum up to 1.0e-01, not to zero"),
        (tsit5.TABLEAU, {"dense": SHORT}, r"are \(6, 5\); they must have 7 rows"),
        (tsit5.TABLEAU, {"dense": TILTED}, "theta only within 1.0e-02"),
        (dop853.TABLEAU, {"dense": ASKEW}, "rows of A of dense output miss their sums by 1.0e-02"),
        (dop853.TABLEAU, {"dense": NARROW}, r"D of dense output is \(4, 12\); it must be \(4, 16\)"),
    ],
)
def test_tables_that_cannot_be_are_refused(tableau, changed, words):
    with pytest.raises(da.OptionError, match=words):
        replace(tableau, **changed)


# -- columns -----------------------------------------------------------------------------------------------------------

WEIGHTS = np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.25, -1.5, 0.0]])
combine, increment = combinations(WEIGHTS), increments(WEIGHTS)


@jit(i8(i8, Floats, Floats, Floats))
def sum_up(k, z, znew, stages):
    """z + h sum into znew and h sum into column 1, for h = 2."""
    n = z.size
    combine(k, znew, z, 2.0, stages, n)
    increment(k, column(stages, 1, n), 2.0, stages, n)
    return 0


@pytest.mark.parametrize("n", range(1, 10))
@pytest.mark.parametrize("k", [1, 2])
def test_a_sum_of_columns_leaves_its_neighbours_alone(n, k):
    z, znew, zdot, stages = divided(allocate(n, 3), n)
    rows = stages.reshape(3, -1)
    rows[:, :n] = np.random.default_rng(n).normal(size=(3, n))
    z[:], zdot[:] = 1.0, 7.0
    before, total = rows.copy(), 2.0 * WEIGHTS[k] @ rows
    sum_up(k, z, znew, stages)
    np.testing.assert_allclose(znew, 1.0 + total[:n], rtol=1e-14)
    np.testing.assert_allclose(rows[1], total, rtol=1e-14)
    np.testing.assert_array_equal(rows[[0, 2]], before[[0, 2]])
    np.testing.assert_array_equal(z, 1.0)
    np.testing.assert_array_equal(zdot, 7.0)


# -- methods added -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Heun(FixedStep):
    """Heun's method of order 2."""

    scheme: ClassVar[RungeKutta] = RungeKutta(
        Tableau(name="Heun", order=2, A=lower_triangle([1]), b=[1 / 2, 1 / 2], c=[0, 1], dense=CubicHermite())
    )


@dataclass(frozen=True, kw_only=True)
class DormandPrince5(Adaptive):
    """Dormand and Prince's pair of orders 5(4) with its interpolant of order 4 (Hairer et al., table II.5.2, II.6)."""

    scheme: ClassVar[RungeKutta] = RungeKutta(
        Tableau(
            name="DormandPrince5",
            order=5,
            A=lower_triangle(
                [1 / 5],
                [3 / 40, 9 / 40],
                [44 / 45, -56 / 15, 32 / 9],
                [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
                [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
            ),
            b=[35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
            c=[0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1],
            error=EmbeddedError([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40]),
            dense=DormandPrinceInterpolant(
                D=np.array([[
                    -12715105075 / 11282082432, 0, 87487479700 / 32700410799, -10690763975 / 1880347072,
                    701980252875 / 199316789632, -1453857185 / 822651844, 69997945 / 29380423,
                ]]),
                A=np.zeros((0, 7)),
                c=np.zeros(0),
            ),
        )
    )  # fmt: skip


def start(name):
    problem = problems.get(name)
    system = problem.system()
    return system, problem.state(system)


@pytest.fixture(scope="module", params=["pendulum", "four_bar"])
def mechanism(request):
    """States of 4 entries, which fill a vector of native code, and of 6."""
    return start(request.param)


@pytest.mark.parametrize("drift", [da.Projection(), da.NoCorrection()])
@pytest.mark.parametrize(("integrator", "order"), [(Heun, 2), (DormandPrince5, 5)])
def test_a_method_added_by_its_table_has_its_order(mechanism, integrator, order, drift):
    system, state = mechanism
    times, errors = np.linspace(0, 1, 81), []
    fine = system.simulate(state, 1.0, t_eval=times, integrator=da.DOP853(rtol=1e-14, atol=1e-15))
    for h in (1 / 80, 1 / 160):
        motion = system.simulate(state, 1.0, t_eval=times, integrator=integrator(step=h), drift=drift)
        errors.append(np.abs(motion.q - fine.q).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.4)


def test_an_interpolant_without_further_stages_has_its_order():
    system, state = start("appell_hamel")
    errors = []
    for h in (0.1, 0.05):  # in one step, where nothing but the interpolant is O(h^5)
        fine = system.simulate(state, h, t_eval=[0.4 * h], integrator=da.DOP853(rtol=1e-14, atol=1e-15))
        motion = system.simulate(state, h, t_eval=[0.4 * h], integrator=DormandPrince5(step=h))
        errors.append(np.abs(motion.q - fine.q).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(5, abs=0.4)


def test_steps_of_a_method_added_by_its_table_adapt(mechanism):
    system, state = mechanism
    fine = system.simulate(state, 2.0, t_eval=[2.0], integrator=da.DOP853(rtol=1e-13, atol=1e-14))
    for rtol in (1e-5, 1e-8):
        motion = system.simulate(state, 2.0, t_eval=[2.0], integrator=DormandPrince5(rtol=rtol, atol=rtol))
        assert np.abs(motion.q - fine.q).max() < 100 * rtol
        stats = motion.stats
        assert stats["nfev"] <= 6 * (stats["steps"] + stats["rejected"]) + 2  # the last stage is the first of the next


def test_steps_without_an_error_estimate_cannot_adapt():
    @dataclass(frozen=True, kw_only=True)
    class Classical(Adaptive):
        scheme: ClassVar[RungeKutta] = da.RK4.scheme

    assert Classical(step=0.1).step == 0.1
    with pytest.raises(da.OptionError, match="Classical has no error estimate to adapt steps to; give step="):
        Classical(rtol=1e-6)

"""The minimal state: only independent speeds are integrated, the others follow; velocities stay on the constraints."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert import problems
from dalembert.run.formulations.choice import choose

ROUND_OFF = 1e-13  # of psi beside the speeds: a solve with pivots above 0.05 and a few sums
TIGHT = da.DOP853(rtol=1e-13, atol=1e-13)
# Speeds NonminimalKane solves for come close to singular, and how many digits are lost depends on where steps fall.
NEARLY_SINGULAR = {"closed_chain_5"}
COARSE = {"drift": da.NoCorrection(), "integrator": da.RK4(step=0.005)}
SINGULAR = {"n_four_bar": 0.7}  # seconds until the rods lie in line, where a motion may leave on another branch


def largest(values):
    return np.abs(values).max(initial=0.0)


@pytest.fixture(scope="module")
def four_bar():
    problem = problems.get("four_bar")
    system = problem.system()
    return system, problem.state(system)


class TestLecture:
    """RK4 with steps of 5 ms over 30 s and no correction: 2n + M = 4 ordinary differential equations."""

    @pytest.mark.parametrize("u_ind", [None, ["u1"]])
    def test_the_loop_stays_closed_to_the_error_of_q(self, four_bar, u_ind):
        system, state = four_bar
        motion = system.simulate(state, 30.0, formulation=da.MinimalState(u_ind=u_ind), **COARSE)
        assert motion.success
        assert largest(motion.evaluation.phi) < 1e-8
        assert largest(motion.evaluation.psi) < ROUND_OFF * largest(motion.u)

    def test_all_speeds_integrated_open_it_a_thousand_times_as_much(self, four_bar):
        system, state = four_bar
        motion = system.simulate(state, 30.0, formulation=da.MinimalKane(), **COARSE)
        assert largest(motion.evaluation.phi) > 1e-6
        assert largest(motion.evaluation.psi) > 1e-8

    def test_it_is_the_ode_of_the_lecture(self, four_bar):
        """One step of RK4 on (q, u1), with u2, u3 and u1' written by hand from the loop."""
        system, state = four_bar
        start = system.simulate(state, 0.5, t_eval=[0.5], integrator=TIGHT).at(0.5)
        dep, h = [1, 2], 0.05

        def rates(y):
            q, u = y[:3], np.array([y[3], 0.0, 0.0])
            A = system.constraint_jacobian(0.0, q, u)
            ratio = -np.linalg.solve(A[:, dep], A[:, [0]])
            u[dep] = ratio[:, 0] * y[3]
            b = system.constraint_bias(0.0, q, u)
            A2, c = np.vstack([[1.0], ratio]), np.append(0.0, np.linalg.solve(A[:, dep], b))
            M, f = system.mass_matrix(0.0, q, u), system.forces(0.0, q, u)
            return np.append(u, np.linalg.solve(A2.T @ M @ A2, A2.T @ (f - M @ c)))

        y = np.append(start.q, start.u[0])
        k1 = rates(y)
        k2 = rates(y + 0.5 * h * k1)
        k3 = rates(y + 0.5 * h * k2)
        k4 = rates(y + h * k3)
        expected = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        how = {"drift": da.NoCorrection(), "integrator": da.RK4(step=h)}
        motion = system.simulate(start, start.t + h, formulation=da.MinimalState(u_ind=["u1"]), **how)
        np.testing.assert_allclose(np.append(motion.q[-1], motion.u[-1, 0]), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("problem", problems.all(), ids=lambda p: p.name)
def test_minimal_and_nonminimal_agree_on_the_catalogue(problem):
    system = problem.system()
    state, end = problem.state(system), SINGULAR.get(problem.name, min(problem.t_end, 3.0))
    how = {"t_eval": np.linspace(0.0, end, 21), "drift": da.NoCorrection(), "integrator": TIGHT}
    other_speeds = system.ideal and problem.name not in NEARLY_SINGULAR
    usual = da.NonminimalKane() if other_speeds else da.LagrangeMultipliers()
    one = system.simulate(state, end, formulation=usual, **how)
    other = system.simulate(state, end, formulation=da.MinimalState(), **how)
    assert one.success
    assert other.success
    for values, beside in ((other.q, one.q), (other.u, one.u)):
        assert largest(values - beside) < 1e-9 * max(1.0, largest(beside))
    assert largest(other.evaluation.psi) < 1e-12 * max(1.0, largest(other.u))


@pytest.mark.parametrize(
    "integrator",
    [da.RK4(step=0.01), da.KuttaMerson(step=0.01), da.KuttaMerson(), da.Tsit5(), da.DOP853(), da.Automatic()],
    ids=repr,
)
@pytest.mark.parametrize("drift", [da.NoCorrection(), da.Baumgarte(), da.Projection(), da.Blajer()], ids=repr)
def test_constraints_nonlinear_in_the_speeds_hold_by_construction(integrator, drift):
    problem = problems.get("appell_hamel")
    system = problem.system()
    motion = system.simulate(
        problem.state(system), 2.0, formulation=da.MinimalState(), integrator=integrator, drift=drift
    )
    assert motion.success
    assert largest(motion.evaluation.psi) < ROUND_OFF * largest(motion.u)


def test_steps_of_half_the_length_have_a_sixteenth_of_the_error(four_bar):
    system, state = four_bar
    ends = {}
    for h in (0.02, 0.01, 0.0005):
        how = {"drift": da.NoCorrection(), "integrator": da.RK4(step=h), "t_eval": [1.0]}
        ends[h] = system.simulate(state, 1.0, formulation=da.MinimalState(u_ind=["u1"]), **how).q[0]
    ratio = largest(ends[0.02] - ends[0.0005]) / largest(ends[0.01] - ends[0.0005])
    assert 12 < ratio < 20


def test_the_partition_is_chosen_again_and_named():
    problem = problems.get("pendulum")
    motion = problem.simulate(t_end=3.0, formulation=da.MinimalState(), drift=da.NoCorrection())
    assert len(motion.facts.choices) > 2
    assert "independent speeds" in str(motion.certificate)
    assert largest(motion.evaluation.psi) < ROUND_OFF * largest(motion.u)


def test_a_singular_position_is_passed_and_that_is_said():
    problem = problems.get("n_four_bar")
    times = np.linspace(0.0, 3.0, 31)
    motion = problem.simulate(t_end=3.0, t_eval=times, formulation=da.MinimalState(), integrator=da.DOP853())
    for name in motion.system.coordinates:
        assert largest(motion[name] - problem.exact(times)[name]) < problem.tolerance
    assert motion.certificate.ok
    assert [passage.obstacle for passage in motion.passages] == ["", "", ""]


def rubbing_bead():
    """A bead on a parabola with friction."""
    model = da.Model("bead")
    x, y = model.coordinates("x y")
    P = model.particle("P", mass=1.0, position=[x, y])
    model.gravity([0, -9.81])
    track = model.constrain(y - x**2, name="track")
    model.nonideal(track, friction=0.2, at=P, regularisation=1e-2)
    return model


def pulled_skate():
    """A skate whose rotation is given as an acceleration, while its blade is a velocity constraint."""
    model = da.Model("skate")
    x, y, a = model.coordinates("x y a")
    model.body("skate", mass=2.0, inertia=0.3, position=[x, y], rotation=a)
    model.generalized_force({x: 1.0})
    model.constrain(y.diff() * sp.cos(a) - x.diff() * sp.sin(a), name="blade")
    model.constrain(a.diff(model.t, 2) + sp.sin(a), name="turn")
    return model


def bent_skate():
    """The same with an acceleration constraint that is not linear in the accelerations."""
    model = da.Model("bent skate")
    x, y, a = model.coordinates("x y a")
    model.body("skate", mass=2.0, inertia=0.3, position=[x, y], rotation=a)
    model.generalized_force({x: 1.0})
    model.constrain(y.diff() * sp.cos(a) - x.diff() * sp.sin(a), name="blade")
    alpha = a.diff(model.t, 2)
    model.constrain(alpha + alpha**3 / 10 + sp.sin(a), name="turn")
    return model


@pytest.mark.parametrize(
    ("build", "given"),
    [
        (rubbing_bead, {"x": 1.0, "x'": 0.0}),
        (pulled_skate, {"x": 0.0, "y": 0.0, "a": 0.3, "x'": 1.0, "a'": 2.0}),
        (bent_skate, {"x": 0.0, "y": 0.0, "a": 0.3, "x'": 1.0, "a'": 2.0}),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_reactions_and_levels_of_every_kind(build, given):
    system = build().compile()
    state = system.initial(given)
    how = {"t_eval": np.linspace(0.0, 2.0, 21), "drift": da.NoCorrection(), "integrator": da.DOP853(rtol=1e-12)}
    one = system.simulate(state, 2.0, **how)
    other = system.simulate(state, 2.0, formulation=da.MinimalState(), **how)
    assert largest(other.q - one.q) < 1e-9
    assert largest(other.multipliers - one.multipliers) < 1e-7
    assert largest(other.evaluation.psi) < ROUND_OFF * largest(other.u)


def test_rows_that_give_speeds_come_before_those_on_accelerations():
    rng = np.random.default_rng(3)
    A = rng.standard_normal((4, 6)) * np.array([[1e-3], [1.0], [1.0], [1e3]])
    chosen = choose(np.eye(6), A, leading=2)
    assert set(chosen.rows[:2]) == {0, 1}
    assert sorted(chosen.rows) == [0, 1, 2, 3]
    assert abs(np.linalg.det(A[np.ix_(chosen.rows[:2], chosen.dependent[:2])])) > 0


@pytest.mark.parametrize("seed", range(8))
def test_the_rows_chosen_are_a_basis(seed):
    """Of a matrix of known rank, with rows and speeds of any size; the speeds follow from them."""
    rng = np.random.default_rng(seed)
    rows, speeds = rng.integers(1, 7, 2)
    rank = int(rng.integers(0, min(rows, speeds) + 1))
    A = rng.standard_normal((rows, rank)) @ rng.standard_normal((rank, speeds)) * 10.0 ** rng.integers(-3, 4, (rows, 1))
    chosen = choose(np.diag(10.0 ** rng.uniform(-2, 2, speeds)), A, leading=int(rng.integers(0, rows)))
    assert len(chosen.rows) == len(chosen.dependent) == rank
    pivots = A[list(chosen.rows)] / np.linalg.norm(A[list(chosen.rows)], axis=1)[:, None]
    assert np.linalg.matrix_rank(pivots[:, list(chosen.dependent)]) == rank


def test_samples_between_steps_and_events_have_speeds_that_follow(four_bar):
    system, state = four_bar
    how = {"formulation": da.MinimalState(), "drift": da.NoCorrection(), "integrator": da.RK4(step=0.01)}
    event = da.Event("u1", name="turn", terminal=True)
    motion = system.simulate(state, 5.0, t_eval=np.linspace(0.0, 5.0, 777), events=[event], **how)
    assert largest(motion.evaluation.psi) < ROUND_OFF * largest(motion.u)
    middle = system.simulate(state, 1.0, **how).at(0.7312)
    assert largest(system.evaluate("residual", middle.t, middle.q, middle.u, middle.parameters)[2:]) < 1e-12


def test_implicit_integrators_and_wrong_speeds_are_refused(four_bar):
    system, state = four_bar
    with pytest.raises(da.PairingError, match="MinimalState"):
        system.simulate(state, 1.0, formulation=da.MinimalState(), integrator=da.Radau())
    with pytest.raises(da.OptionError, match="degrees of freedom"):
        system.simulate(state, 1.0, formulation=da.MinimalState(u_ind=["u1", "u2"]))

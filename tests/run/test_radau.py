"""Radau: its tableau, its linear algebra, orders, stiff forces, constraints of every kind, and what it refuses."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert import problems
from dalembert.native.plan import Plan
from dalembert.native.workspace import Workspace
from dalembert.problems import andrews, car_axis, four_bar, knife_edge, spatial_four_bar
from dalembert.problems.closed_chain import closed_chain
from dalembert.problems.n_four_bar import n_four_bar
from dalembert.run.integrators import radau_coefficients as tableau
from dalembert.run.residuals.linearisation import Linearisation
from dalembert.solve.complex_newton_matrix import factor_complex_newton, solve_complex_newton
from dalembert.solve.newton_matrix import factor_newton, solve_newton
from dalembert.solve.static_elimination import NewtonMatrix

ANGLES = ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")


def pendulum(*rods):
    """A pendulum under gravity with the rods r -> 0 given, one by default."""
    model = da.Model("pendulum")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1, position=[x, y])
    model.gravity([0, -9.81])
    for k, rod in enumerate(rods or (lambda x, y: x**2 + y**2 - 1,)):
        model.constrain(rod(x, y), name=f"rod{k}")
    system = model.compile()
    return system, system.initial({"x": 0.6}, guess={"y": -0.8})


def of(problem):
    system = problem.system()
    return system, problem.state(system)


def compare(system, state, t_end, integrator=None, samples=21):
    """Motions by Radau and by the default at the same times."""
    times = np.linspace(0, t_end, samples)
    motion = system.simulate(state, t_end, t_eval=times, integrator=integrator or da.Radau())
    assert motion.success, motion.message
    return motion, system.simulate(state, t_end, t_eval=times)


# -- coefficients ------------------------------------------------------------------------------------------------------


def test_tableau_satisfies_its_order_conditions_and_transformation():
    A, c = tableau.MATRIX, tableau.NODES
    for k in range(1, 6):  # the weights are the last row: B(5); stages are exact to degree 3: C(3)
        assert A[2] @ c ** (k - 1) == pytest.approx(1 / k, abs=1e-15)
        if k <= 3:
            np.testing.assert_allclose(A @ c ** (k - 1), c**k / k, atol=1e-15)
    blocks = np.zeros((3, 3))
    blocks[0, 0] = tableau.GAMMA
    blocks[1:, 1:] = [[tableau.ALPHA, -tableau.BETA], [tableau.BETA, tableau.ALPHA]]
    np.testing.assert_allclose(tableau.BACK @ tableau.INVERSE @ tableau.T, blocks, atol=1e-13)
    s = 0.37
    powers = np.array([s, s**2, s**3])
    for cubic in (lambda x: x, lambda x: x**2 - x, lambda x: x**3 + 2 * x):
        assert (tableau.LAGRANGE @ powers) @ cubic(c) == pytest.approx(cubic(s), abs=1e-14)


# -- linear algebra ----------------------------------------------------------------------------------------------------


class Newton:
    """F_y and F_y' of a system at a state, and the arrays native code factorises them in."""

    def __init__(self, system, state):
        self.linearisation = Linearisation.of(da.GearGuptaLeimkuhler().residual(system))
        self.elimination = self.linearisation.elimination
        self.n = n = len(self.elimination.row_at)
        self.work, self.matrix = Workspace(Plan()), NewtonMatrix()
        self.elimination.place(self.work, self.matrix)
        x = np.zeros(self.linearisation.residual.size1_in(0))
        x[1 : 1 + system.nq], x[1 + 2 * n :] = state.q, state.parameters
        x[1 + system.nq : 1 + system.nq + system.nu] = np.linspace(-1, 2, system.nu)
        x[1 + n : 1 + n + system.nq] = 0.3
        values = np.array(self.linearisation.jacobian(x)).ravel()
        self.work.mem[self.matrix.nonzeros :][: len(values)] = values
        count = self.elimination.counts[0]
        self.F_y, self.F_rate = np.zeros((n, n)), np.zeros((n, n))
        self.F_y[tuple(self.linearisation.state_places.T)] = values[:count]
        self.F_rate[tuple(self.linearisation.rate_places.T)] = values[count:]

    def solve(self, s, right):
        n, ints, matrix = self.n, self.work.ints, self.matrix
        mem = np.concatenate([self.work.mem, np.real(right), np.imag(right)])
        at = len(self.work.mem)
        if isinstance(s, complex):
            assert factor_complex_newton(ints, mem, matrix, s.real, s.imag)
            solve_complex_newton(ints, mem, matrix, at, at + n)
            return mem[at : at + n] + 1j * mem[at + n :]
        assert factor_newton(ints, mem, matrix, s)
        solve_newton(ints, mem, matrix, at)
        return mem[at : at + n].copy()


@pytest.mark.parametrize("s", [800.0, 500.0 + 700.0j])
@pytest.mark.parametrize("problem", [andrews.PROBLEM, closed_chain(5), spatial_four_bar.PROBLEM], ids=lambda p: p.name)
def test_newton_matrices_are_solved_as_numpy_solves_them(problem, s):
    newton = Newton(*of(problem))
    right = np.cos(np.arange(newton.n)) + (1j * np.sin(np.arange(newton.n)) if isinstance(s, complex) else 0)
    K = newton.F_y + s * newton.F_rate
    x = newton.solve(s, right)
    np.testing.assert_allclose(K @ x, right, atol=1e-9 * np.abs(K).max() * np.abs(x).max())
    expected = np.linalg.solve(K, right)
    np.testing.assert_allclose(x, expected, atol=1e-9 * np.abs(expected).max())
    assert len(newton.elimination.below) >= problem.system().nq  # coordinates never reach the dense part


@pytest.mark.parametrize("s", [30.0, 20.0 + 40.0j])
def test_redundant_constraints_leave_a_solution_of_all_equations(s):
    newton = Newton(*pendulum(lambda x, y: x**2 + y**2 - 1, lambda x, y: 3 * (x**2 + y**2) - 3))
    K = newton.F_y + s * newton.F_rate
    assert np.linalg.matrix_rank(K, tol=1e-10) == newton.n - 2
    right = K @ np.arange(1.0, newton.n + 1)
    np.testing.assert_allclose(K @ newton.solve(s, right), right, atol=1e-12 * np.abs(right).max())


# -- order -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "t_end", "steps"),
    [
        (pendulum, 2.0, (20, 40, 80)),
        (lambda: of(knife_edge.PROBLEM), 2.0, (20, 40, 80)),
        (lambda: of(four_bar.PROBLEM), 1.0, (50, 100, 200)),
    ],
    ids=["pendulum", "knife edge", "four-bar"],
)
def test_order_is_five_at_steps_and_between_them(start, t_end, steps):
    system, state = start()
    times = np.linspace(0, t_end, 401)[1:]
    exact = system.simulate(state, t_end, t_eval=times, integrator=da.DOP853(rtol=1e-13, atol=1e-14))
    errors = []
    for n in steps:
        fixed = da.Radau(rtol=1e-13, atol=1e-14, step=t_end / n)
        motion = system.simulate(state, t_end, t_eval=times, integrator=fixed)
        assert motion.stats["steps"] == n
        z, reference = np.hstack([motion.q, motion.u]), np.hstack([exact.q, exact.u])
        errors.append([np.abs(z[-1] - reference[-1]).max(), np.abs(z - reference).max()])
    at_steps, between = np.log2(np.array(errors[-2]) / errors[-1])
    assert at_steps == pytest.approx(5.0, abs=0.2)
    assert between > 4.6  # the largest error of a mix of order 5 and, smaller, 6


def test_error_follows_the_tolerance():
    system, state = pendulum()
    times = np.linspace(0, 2, 21)
    exact = system.simulate(state, 2.0, t_eval=times, integrator=da.DOP853(rtol=1e-13, atol=1e-14))
    errors = [
        np.abs(system.simulate(state, 2.0, t_eval=times, integrator=da.Radau(rtol=r, atol=r)).q - exact.q).max()
        for r in (1e-5, 1e-7, 1e-9, 1e-11)
    ]
    assert all(error < 100 * r for error, r in zip(errors, (1e-5, 1e-7, 1e-9, 1e-11), strict=True))
    assert errors[0] > 1e3 * errors[2]


# -- reference mechanisms ----------------------------------------------------------------------------------------------


def test_andrews_to_1e_8_of_the_values_with_32_digits():
    motion = andrews.PROBLEM.simulate(integrator=da.Radau(rtol=1e-10, atol=1e-12), t_eval=[0.03])
    assert motion.success
    assert max(abs(motion[name][-1] - andrews.REFERENCE[name]) for name in ANGLES) < 1e-8
    assert motion.stats["steps"] < 700
    assert motion.stats["nlu"] <= motion.stats["steps"] + motion.stats["rejected"] + 2


def test_car_axis_to_1e_8_of_the_values_with_32_digits():
    motion = car_axis.PROBLEM.simulate(integrator=da.Radau(rtol=1e-10, atol=1e-12), t_eval=[3.0])
    assert max(abs(motion[name][-1] - value) for name, value in car_axis.REFERENCE.items()) < 1e-8
    assert np.abs(motion.evaluation.phi).max() < 1e-12


def through_singular_positions(n, rtol):
    """The motion of n four-bars, and its largest error in the coordinates beside the exact solution."""
    problem = n_four_bar(n)
    motion = problem.simulate(integrator=da.Radau(rtol=rtol, atol=rtol / 100))
    exact = problem.exact(motion.t)
    return motion, max(np.abs(motion[name] - exact[name]).max() for name in motion.system.coordinates)


@pytest.mark.parametrize("n", [2, 10])
def test_steps_longer_than_the_neighbourhood_of_a_singular_position_pass_it(n):
    motion, error = through_singular_positions(n, 1e-7)
    assert motion.success, motion.message
    assert motion.t[-1] == 10.0
    assert (np.diff(np.sign(motion["y0"])) != 0).sum() >= 6  # it lay in line that often
    assert error < 3e3 * 1e-7


@pytest.mark.parametrize(("n", "rtol"), [(2, 1e-9), *((2, k * 1e-11) for k in range(7, 15)), (10, 1e-9), (10, 1e-10)])
def test_short_steps_that_end_close_to_a_singular_position_leave_it(n, rtol):
    motion, error = through_singular_positions(n, rtol)
    assert motion.success, motion.message
    assert motion.t[-1] == 10.0
    assert error < 5e3 * rtol


# -- stiff forces ------------------------------------------------------------------------------------------------------


def spring_pendulum(stiffness, damping):
    model = da.Model("stiff spring")
    x, y = model.coordinates("x y")
    k, c = model.parameters(k=stiffness, c=damping)
    model.particle("P", mass=1, position=[x, y])
    model.gravity([0, -9.81])
    length = sp.sqrt(x**2 + y**2)
    model.energy(potential=k * (length - 1) ** 2 / 2)
    rate = (x * x.diff() + y * y.diff()) / length
    model.generalized_force({x: -c * rate * x / length, y: -c * rate * y / length})
    system = model.compile()
    held = 1 + 9.81 * np.cos(1.0) / stiffness
    return system, system.initial({"x": held * np.sin(1.0), "y": -held * np.cos(1.0), "x'": 0.0, "y'": 0.0})


@pytest.mark.parametrize(("stiffness", "damping"), [(1e8, 0.0), (1e6, 1e4)], ids=["spring", "spring and damper"])
def test_stiff_forces_cost_an_explicit_method_ten_times_more(stiffness, damping):
    system, state = spring_pendulum(stiffness, damping)
    motion = system.simulate(state, 2.0, t_eval=[2.0], integrator=da.Radau(rtol=1e-6, atol=1e-8))
    explicit = system.simulate(state, 2.0, t_eval=[2.0], integrator=da.DOP853(rtol=1e-6, atol=1e-8))
    np.testing.assert_allclose(motion.q, explicit.q, atol=1e-5)
    assert explicit.stats["nfev"] > 10 * motion.stats["nfev"]


def test_dense_output_is_not_spoiled_by_stiff_forces():
    system, state = spring_pendulum(1e10, 1e6)
    times = np.linspace(0, 2, 57)
    motion = system.simulate(state, 2.0, t_eval=times, integrator=da.Radau(rtol=1e-8, atol=1e-10))
    rigid, start = pendulum()
    start = rigid.initial({"x": np.sin(1.0), "x'": 0.0}, guess={"y": -np.cos(1.0)})
    exact = rigid.simulate(start, 2.0, t_eval=times)
    np.testing.assert_allclose(motion.q, exact.q, atol=1e-7)  # the spring gives by some 1e-9
    np.testing.assert_allclose(motion.u, exact.u, atol=1e-6)


# -- constraints of every kind -----------------------------------------------------------------------------------------


def test_velocity_constraints_hold_to_round_off():
    motion, usual = compare(*of(knife_edge.PROBLEM), 5.0)
    np.testing.assert_allclose(motion.q, usual.q, atol=1e-6)
    assert np.abs(motion.evaluation.psi).max() < 1e-12
    assert motion.certificate.ok


def test_interpolated_samples_satisfy_the_constraints():
    motion, usual = compare(*of(four_bar.PROBLEM), 2.0, samples=157)
    np.testing.assert_allclose(motion.q, usual.q, atol=1e-6)
    assert np.abs(motion.evaluation.phi).max() < 1e-12
    assert np.abs(motion.evaluation.psi).max() < 1e-11


def test_redundant_constraints_change_nothing():
    system, state = pendulum(lambda x, y: x**2 + y**2 - 1, lambda x, y: sp.sqrt(x**2 + y**2) - 1)
    motion, usual = compare(system, state, 3.0)
    np.testing.assert_allclose(motion.q, usual.q, atol=1e-6)
    np.testing.assert_allclose(motion.multipliers, usual.multipliers, atol=1e-5)


def test_overbraced_parallelogram():
    model = da.Model("three cranks, three couplers")
    q = model.coordinates("x0 y0 x1 y1 x2 y2")
    for k in range(3):
        model.particle(f"P{k}", mass=1, position=[q[2 * k], q[2 * k + 1]])
        model.constrain((q[2 * k] - k) ** 2 + q[2 * k + 1] ** 2 - 1, name=f"crank{k}")
    for i, j in ((0, 1), (1, 2), (0, 2)):
        length = (q[2 * i] - q[2 * j]) ** 2 + (q[2 * i + 1] - q[2 * j + 1]) ** 2
        model.constrain(length - (i - j) ** 2, name=f"coupler{i}{j}")
    model.gravity([0, -9.81])
    system = model.compile()
    guess = {"y0": -0.8, "x1": 1.6, "y1": -0.8, "x2": 2.6, "y2": -0.8}
    motion, usual = compare(system, system.initial({"x0": 0.6, "x0'": 0.0}, guess=guess), 1.0)
    np.testing.assert_allclose(motion.q, usual.q, atol=1e-7)
    assert np.abs(motion.evaluation.phi).max() < 1e-12


def test_friction_that_depends_on_the_reaction():
    model = da.Model("block on a track")
    x, y = model.coordinates("x y")
    block = model.particle("block", mass=1, position=[x, y])
    model.gravity([0, -9.81])
    track = model.constrain(y - x**2 / 2, name="track")
    model.nonideal(track, friction=0.1, at=block)
    system = model.compile()
    motion, usual = compare(system, system.initial({"x": 1.0, "x'": 0.0}, guess={"y": 0.5}), 3.0)
    np.testing.assert_allclose(motion.q, usual.q, atol=1e-6)
    assert motion.energy[-1] < motion.energy[0] - 0.5
    assert motion.certificate.ok


def test_servo_constraint_and_the_work_of_its_force():
    model = da.Model("servo")
    x, y = model.coordinates("x y")
    (force,) = model.unknowns("F")
    model.particle("P", mass=2, position=[x, y])
    model.gravity([0, -9.81])
    model.generalized_force({x: force, y: force / 2 - 3 * y})
    model.constrain(y - sp.sin(model.t), name="program", servo=force)
    system = model.compile()
    motion, usual = compare(system, system.initial({"x": 0.0, "x'": 0.0}), 5.0)
    np.testing.assert_allclose(motion["F"], 2 * (2 * (9.81 - np.sin(motion.t)) + 3 * np.sin(motion.t)), rtol=1e-9)
    np.testing.assert_allclose(motion.q, usual.q, rtol=1e-7, atol=1e-7)
    assert motion.certificate.ok


@pytest.mark.parametrize("curved", [False, True])
def test_acceleration_constraints(curved):
    model = da.Model("acceleration")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1, position=[x, y])
    model.gravity([0, -9.81])
    ax, ay = x.diff(model.t, 2), y.diff(model.t, 2)
    model.constrain(ax**2 + ay**2 - 150 - x if curved else ax - ay * sp.cos(model.t) - x, name="law")
    system = model.compile()
    motion, usual = compare(system, system.initial({"x": 0.1, "y": 0.0, "x'": 1.0, "y'": 0.3}), 1.0)
    np.testing.assert_allclose(motion.q, usual.q, atol=1e-6)


# -- continuation and refusals -----------------------------------------------------------------------------------------


def test_motion_continues_between_its_samples_and_from_other_states():
    system, state = pendulum()
    motion = system.simulate(state, 2.0, integrator=da.Radau())
    exact = system.simulate(state, 2.0, t_eval=[0.777, 1.5])
    np.testing.assert_allclose(motion.resampled([0.777, 1.5]).q, exact.q, atol=1e-7)
    later = system.simulate(motion.at(1.5), (1.5, 2.0), integrator=da.Radau())
    np.testing.assert_allclose(later.q[-1], motion.q[-1], atol=1e-7)


def test_forces_that_are_not_finite_end_the_run_with_words():
    model = da.Model("well")
    (x,) = model.coordinates("x")
    model.particle("P", mass=1, position=[x, 0])
    model.generalized_force({x: -1 / sp.sqrt(x)})
    system = model.compile()
    motion = system.simulate(system.initial({"x": 0.1, "x'": 0.0}), 5.0, integrator=da.Radau())
    assert not motion.success
    assert np.isfinite(motion.q).all()
    assert "not finite" in motion.message or "collapsed" in motion.message


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: da.Radau(rtol=-1e-6), "rtol=-1e-06"),
        (lambda: da.Radau(rtol=1e-16), "rtol=1e-16 is below round-off .* at least 2.3e-15"),
        (lambda: da.Radau(atol=0.0), "atol > 0"),
        (lambda: da.Radau(max_step=0.0), "max_step is 0.0"),
        (lambda: da.Radau(first_step=-1.0), "first_step is -1.0"),
        (lambda: da.Radau(step=float("inf")), "step is inf; it must be positive and finite"),
        (lambda: da.Radau(step=0.1, first_step=0.1), "first_step=0.1 adapts"),
    ],
)
def test_options_that_cannot_work_are_refused(make, words):
    with pytest.raises(da.OptionError, match=words):
        make()


def test_pairings_that_make_no_sense_are_refused():
    system, state = pendulum()
    with pytest.raises(da.PairingError, match="GearGuptaLeimkuhler"):
        da.Radau(form=da.GearGuptaLeimkuhler)
    with pytest.raises(da.PairingError, match="leave `formulation` out"):
        system.simulate(state, 1.0, integrator=da.Radau(), formulation=da.MinimalKane())


def test_events_are_found_on_the_dense_output():
    system, state = pendulum()
    lowest = da.Event("x", name="lowest")
    motion = system.simulate(state, 2.0, integrator=da.Radau(rtol=1e-10, atol=1e-12), events=lowest)
    usual = system.simulate(state, 2.0, events=lowest)
    times = [[o.t for o in m.events["lowest"]] for m in (motion, usual)]
    assert len(times[0]) == 2
    np.testing.assert_allclose(times[0], times[1], atol=1e-8)
    last = system.simulate(state, 2.0, integrator=da.Radau(), events=da.Event("x", terminal=True))
    assert abs(last["x"][-1]) < 1e-9
    assert np.abs(last.evaluation.phi[-1]).max() < 1e-12


def test_samples_right_after_a_jump_of_the_force_are_as_good_as_others():
    """x'' = sign(t - 1) cos(t): the rates that dense output starts from are those beyond the jump."""
    model = da.Model("jump")
    (x,) = model.coordinates("x")
    model.particle("P", mass=1, position=[x, 0])
    model.generalized_force({x: sp.sign(model.t - 1) * sp.cos(model.t)})
    system = model.compile()
    times = np.linspace(0, 3, 301)
    motion = system.simulate(system.initial({x: 0.0, x.diff(): 0.0}), 3.0, integrator=da.Radau(step=0.2), t_eval=times)
    speed = np.where(times < 1, -np.sin(times), np.sin(times) - 2 * np.sin(1))
    assert np.abs(motion.u[:, 0] - speed).max() < 1e-6  # the interpolation is of order 5: 0.2^6 / 720 = 9e-8


def test_multipliers_begin_with_those_of_their_own_rows():
    """The path of the car is implied by its heading and has no multiplier; the others are not those of the rows before.

    Newton's matrix is taken there. With the wrong ones its steps were 0.1 ms: 10,073 of them, 6,715 rejected.
    """
    problem = problems.get("car")
    motion = problem.simulate(t_end=2.0, integrator=da.Radau())
    assert motion.certificate.ok, motion.certificate
    explicit = problem.simulate(t_end=2.0, t_eval=[2.0])
    np.testing.assert_allclose(motion.q[-1], explicit.q[-1], atol=1e-7)
    assert motion.stats["steps"] < 300
    assert motion.stats["rejected"] < 10

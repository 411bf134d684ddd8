"""Blajer's and Yoon's corrections: directions, rates of convergence, energy, redundant constraints."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert import problems
from dalembert.run.engine import Engine


def two_masses(*, twice=False):
    """A rod between unlike masses, a skate, and a constraint nonlinear in the speeds; the rod stated twice if asked."""
    model = da.Model("two masses")
    x1, y1, x2, y2 = model.coordinates("x1 y1 x2 y2")
    model.particle("A", mass=1.0, position=[x1, y1])
    model.particle("B", mass=9.0, position=[x2, y2])
    model.gravity([0, -9.81])
    model.constrain((x2 - x1) ** 2 + (y2 - y1) ** 2 - 4, name="rod")
    if twice:
        model.constrain(3 * sp.sqrt((x2 - x1) ** 2 + (y2 - y1) ** 2) - 6, name="rod_again")
    model.constrain(x1.diff() ** 2 + y1.diff() ** 2 - 1, name="pace")
    return model.compile()


@pytest.fixture(scope="module", params=[False, True], ids=["independent", "redundant"])
def system(request):
    return two_masses(twice=request.param)


@pytest.fixture(scope="module")
def state(system):
    return system.initial({"x1": 0.0, "y1": 0.0}, guess={"x2": 1.5, "y2": 1.2, "x1_dot": 0.9, "y2_dot": 0.4})


def corrected(system, state, drift, size, seed=1):
    """A state off the constraints by `size`, and where the drift control moves it."""
    rng = np.random.default_rng(seed)
    engine = Engine(system, state.parameters, da.LagrangeMultipliers(), drift)
    engine.begin((0.0, 0.0), state.z, ("none", 1, None, 1e-6, ()))  # name, order, step, tolerance, stability
    off = np.append(state.z + size * rng.standard_normal(8), np.zeros(int(system.works)))
    on, status = engine.corrected(0.0, off)
    assert status == 0
    return off[:8], on[:8]


def violation(system, z):
    return np.abs(system.evaluate("residual", 0.0, z[:4], z[4:])).max()


@pytest.mark.parametrize("drift", [da.Blajer(), da.Yoon(), da.Yoon(energy=False)], ids=repr)
def test_one_correction_is_right_to_first_order(system, state, drift):
    left = [violation(system, corrected(system, state, drift, size)[1]) for size in (1e-2, 1e-3, 1e-4)]
    assert np.diff(np.log10(left)) == pytest.approx([-2, -2], abs=0.15)


@pytest.mark.parametrize("drift", [da.Blajer(corrections=4), da.Yoon(corrections=5)], ids=repr)
def test_more_corrections_reach_round_off(system, state, drift):
    assert violation(system, corrected(system, state, drift, 1e-2)[1]) < 1e-13


def test_blajer_moves_along_the_constraint_forces_in_the_metric_of_the_masses(system, state):
    off, on = corrected(system, state, da.Blajer(), 1e-3)
    M, A = system.mass_matrix(0.0, off[:4], off[4:]), system.constraint_jacobian(0.0, off[:4], off[4:])
    n = system.count("position")
    lever = A[:n].T @ np.linalg.pinv(A[:n] @ np.linalg.solve(M, A[:n].T))
    expected = -np.linalg.solve(M, lever @ system.position_residual(0.0, off[:4]))
    # Redundant residuals contradict each other to second order; an independent set of them is obeyed, not their mean.
    close = {"rtol": 1e-7, "atol": 1e-12} if n == 1 else {"rtol": 1e-3, "atol": 1e-7}
    np.testing.assert_allclose(on[:4] - off[:4], expected, **close)
    A = system.constraint_jacobian(0.0, on[:4], off[4:])
    inner = np.linalg.pinv(A @ np.linalg.solve(M, A.T), rcond=1e-9)
    expected = -np.linalg.solve(M, A.T @ inner @ system.velocity_residual(0.0, on[:4], off[4:]))
    np.testing.assert_allclose(on[4:] - off[4:], expected, **close)


def numerical_gradients(system, z, energy):
    """Residuals (phi, psi, E) and their gradients by central differences."""

    def g(z):
        parts = system.evaluate("residual", 0.0, z[:4], z[4:])
        return np.append(parts, system.energy(0.0, z[:4], z[4:])) if energy else parts

    steps = 1e-6 * np.eye(8)
    return g(z), np.array([(g(z + d) - g(z - d)) / 2e-6 for d in steps]).T


@pytest.mark.parametrize("energy", [True, False])
def test_yoon_takes_the_shortest_way_in_the_whole_state(energy):
    system = two_masses()
    state = system.initial({"x1": 0.0, "y1": 0.0}, guess={"x2": 1.5, "y2": 1.2, "x1_dot": 0.9, "y2_dot": 0.4})
    off, on = corrected(system, state, da.Yoon(energy=energy), 1e-3)
    g, G = numerical_gradients(system, off, energy)
    if energy:
        g[-1] -= system.energy(0.0, state.q, state.u)
    np.testing.assert_allclose(on - off, -np.linalg.pinv(G) @ g, atol=1e-10)


def test_yoon_with_redundant_constraints_takes_the_pseudo_inverse():
    system = two_masses(twice=True)
    state = system.initial({"x1": 0.0, "y1": 0.0}, guess={"x2": 1.5, "y2": 1.2, "x1_dot": 0.9, "y2_dot": 0.4})
    off, on = corrected(system, state, da.Yoon(energy=False), 1e-4)
    g, G = numerical_gradients(system, off, energy=False)
    np.testing.assert_allclose(on - off, -np.linalg.pinv(G, rcond=1e-6) @ g, atol=1e-8)


def test_yoon_restores_the_energy_and_counts_the_work_done():
    model = da.Model("damped pendulum")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1.0, position=[x, y])
    model.gravity([0, -9.81])
    model.generalized_force({x: -0.3 * x.diff(), y: -0.3 * y.diff()})
    model.constrain(x**2 + y**2 - 1, name="rod")
    system = model.compile()
    state = system.initial({x: 0.8}, guess={y: -0.6})
    coarse = da.RK4(0.02)
    free, held = (system.simulate(state, 10.0, drift=drift, integrator=coarse) for drift in (da.Blajer(), da.Yoon()))
    assert held.work[-1] < -1.0
    assert np.abs(held.energy_balance).max() < 1e-10
    assert np.abs(free.energy_balance).max() > 1e-8


def test_yoon_leaves_the_energy_alone_in_equilibrium():
    problem = problems.get("pendulum")
    system = problem.system()
    state = system.initial({"x": 0.0, "vx": 0.0}, guess={"y": -1.0})
    motion = system.simulate(state, 5.0, drift=da.Yoon(), integrator=da.RK4(0.01))
    assert motion.success
    np.testing.assert_allclose(motion.q, np.broadcast_to(state.q, motion.q.shape), atol=1e-12)


def test_unit_quaternions_stay_of_unit_length():
    problem = problems.get("asymmetric_top")
    for drift in (da.Blajer(), da.Yoon()):
        motion = problem.simulate(t_end=2.0, drift=drift, integrator=da.DOP853(rtol=1e-9))
        assert motion.success
        residual = motion.system.evaluate("invariant", motion.t, motion.q, motion.u)[:, 0]
        assert np.abs(residual).max() < 1e-12


def test_projection_of_every_step_goes_to_round_off():
    problem = problems.get("sliding_particle")
    settings = {"t_end": 5.0, "integrator": da.KuttaMerson(step=1e-3)}
    lazy, eager = (problem.simulate(drift=da.Projection(every_step=e), **settings) for e in (False, True))
    worst = [np.abs(m.violation["position"]["track"]).max() for m in (lazy, eager)]
    assert 1e-14 < worst[0] <= 1e-12
    assert worst[1] < 1e-15
    assert "every_step=True" in eager.method


@pytest.mark.parametrize("drift", [da.Blajer, da.Yoon])
@pytest.mark.parametrize("corrections", [0, -1, 1.5, True])
def test_numbers_of_corrections_are_checked(drift, corrections):
    with pytest.raises(da.OptionError, match="positive integer"):
        drift(corrections=corrections)

"""Projection: idempotent, least in the mass metric, and without effect on the order."""

import numpy as np
import pytest

import dalembert as da
from dalembert.native.plan import count_sizes
from dalembert.run.drift.projection import least_move, least_moves, onto_positions, onto_velocities
from dalembert.run.engine import Engine


@pytest.fixture(scope="module")
def system():
    model = da.Model("two masses on a rod")
    x1, y1, x2, y2 = model.coordinates("x1 y1 x2 y2")
    m1, m2, L = model.parameters(m1=1.0, m2=9.0, L=2.0)
    model.particle("A", mass=m1, position=[x1, y1])
    model.particle("B", mass=m2, position=[x2, y2])
    model.gravity([0, -9.81])
    model.constrain((x2 - x1) ** 2 + (y2 - y1) ** 2 - L**2, name="rod")
    model.constrain(x1.diff() * (y2 - y1) - y1.diff() * (x2 - x1), name="skate")
    return model.compile()


@pytest.mark.parametrize("seed", range(10))
def test_projection_is_idempotent_and_minimal(system, seed):
    rng = np.random.default_rng(seed)
    state = system.initial(
        {"x1": 0.1, "y1": 0.2}, guess={"x2": rng.uniform(1, 2), "y2": 1.0, "x2_dot": 0.3, "y2_dot": 1.0}
    )
    engine = Engine(system, state.parameters, da.LagrangeMultipliers(), da.Projection())
    off = np.append(state.z + 1e-4 * rng.standard_normal(8), np.zeros(int(system.works)))
    on, status = engine.corrected(0.0, off)
    assert status == 0
    q, u = on[:4], on[4:8]
    assert np.abs(system.position_residual(0.0, q)).max() < 1e-13
    assert np.abs(system.velocity_residual(0.0, q, u)).max() < 1e-13
    np.testing.assert_array_equal(engine.corrected(0.0, on)[0], on)
    # The displacement is normal to the constraint in the mass metric: M dq is a combination of constraint gradients.
    M, A = system.mass_matrix(0.0, q, u), system.constraint_jacobian(0.0, q, u)
    for move, rows in ((on[:4] - off[:4], A[:1]), (on[4:8] - off[4:8], A)):
        left = M @ move - rows.T @ np.linalg.lstsq(rows.T, M @ move, rcond=None)[0]
        assert np.abs(left).max() < 1e-3 * np.abs(M @ move).max()


def test_without_correction_constraints_drift_and_with_it_they_do_not(system):
    state = system.initial({"x1": 0.0, "y1": 0.0, "x2_dot": 1.0}, guess={"x2": 2.0, "y2": 0.5})
    coarse = da.RK4(0.01)
    loose = system.simulate(state, 5.0, integrator=coarse, drift=da.NoCorrection())
    tight = system.simulate(state, 5.0, integrator=coarse)
    assert np.abs(loose.violation["position"]["rod"]).max() > 1e-8
    assert np.abs(tight.violation["position"]["rod"]).max() < 1e-11
    assert not loose.certificate.ok
    assert loose.certificate.failures[0].name == "rod"
    assert "not held" in str(loose.certificate)


def pendulum_on_a_sphere():
    """A rigid body on a ball joint in Euler parameters, position constraints only: C is not the identity."""
    model = da.Model("top")
    model.gravity([0, 0, -9.81])
    body = model.body("B", mass=2.0, inertia=[0.1, 0.2, 0.3])
    model.joints.spherical("J", model.marker(model.ground, [0, 0, 0]), model.marker(body, [0, 0, -0.5]))
    return model.compile()


def test_one_kernel_serves_positions_and_velocities_without_velocity_constraints(system):
    top = pendulum_on_a_sphere()
    assert list(least_moves(top)) == ["least_move"]
    assert set(least_moves(system)) == {"onto_positions", "onto_velocities"}
    rng = np.random.default_rng(3)
    q, u = rng.uniform(0.2, 1.0, top.nq), rng.uniform(-1.0, 1.0, top.nu)
    x = np.concatenate([[0.0], q, u, top.parameter_values()])
    phi, psi = top.position_residual(0.0, q), top.velocity_residual(0.0, q, u)
    sizes = np.full(count_sizes(top.nq, top.nu, len(phi), 0), np.nan)  # between r and x, not read
    one, nq, nu = least_move(top), top.nq, top.nu
    assert one.nnz_in() == len(phi) + len(sizes) + len(x)
    of_positions, of_velocities = (
        one(np.concatenate([r, sizes, x])).full().ravel() for r in (phi, psi)
    )  # fmt: skip
    apart = onto_positions(top)(x).full().ravel(), onto_velocities(top)(x).full().ravel()
    np.testing.assert_allclose(of_positions[:nq], apart[0][:nq], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(of_velocities[nq : nq + nu], apart[1][:nu], rtol=1e-12, atol=1e-14)
    assert of_positions[-1] == pytest.approx(apart[0][-1])


def test_a_body_on_a_ball_joint_comes_back_onto_its_constraints():
    top = pendulum_on_a_sphere()
    state = top.initial(guess={top.coordinates[2]: 0.5})
    engine = Engine(top, state.parameters, da.LagrangeMultipliers(), da.Projection())
    assert engine.plan.least_move
    assert not engine.plan.onto_positions
    off = np.append(state.z + 1e-4 * np.random.default_rng(1).standard_normal(len(state.z)), np.zeros(int(top.works)))
    on, status = engine.corrected(0.0, off)
    assert status == 0
    q, u = on[: top.nq], on[top.nq : top.nq + top.nu]
    assert np.abs(top.position_residual(0.0, q)).max() < 1e-13
    assert np.abs(top.velocity_residual(0.0, q, u)).max() < 1e-13
    pivoted = Engine(top, state.parameters, da.LagrangeMultipliers(), da.Projection())
    pivoted.plan.least_move = 0  # as where its quality cannot be trusted
    np.testing.assert_allclose(pivoted.corrected(0.0, off)[0], on, atol=1e-7)  # factors of the first iteration

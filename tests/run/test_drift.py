"""Projection: idempotent, least in the mass metric, and without effect on the order."""

import numpy as np
import pytest

import dalembert as da
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

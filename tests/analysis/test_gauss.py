"""Gauss's measure of constraint: known values, and the principle itself."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert import problems

IDEAL = [p.name for p in problems.all() if p.system().ideal and not p.system().singular_mass and p.system().nc]


@pytest.mark.parametrize("name", IDEAL)
def test_the_true_accelerations_make_it_least(name):
    """Every admissible u' + D w with A D = 0 costs (D w)^T M (D w) more, (13): nothing else changes."""
    problem, rng = problems.get(name), np.random.default_rng(1)
    system = problem.system()
    state = problem.state(system)
    at = (state.t, state.q, state.u)
    M = system.mass_matrix(*at, state.parameters)
    A = system.constraint_jacobian(*at, state.parameters)
    D = np.linalg.svd(A)[2][np.linalg.matrix_rank(A) :].T
    least = state.gauss_measure
    for _ in range(20):
        w = D @ rng.standard_normal(D.shape[1])
        other = system.gauss_measure(*at, state.udot + w, state.parameters)
        assert other > least
        np.testing.assert_allclose(other - least, w @ M @ w, rtol=1e-6, atol=1e-9 * least)


def test_pendulum_by_hand():
    """The rod's tension alone constrains: N^2 / m with N = m (v^2 / l + g cos(angle))."""
    system = problems.get("pendulum").system()
    motion = problems.get("pendulum").simulate(t_end=2.0)
    p = dict(zip(system.parameters, motion.parameters, strict=True))
    force = np.linalg.norm(motion.reactions, axis=1)
    np.testing.assert_allclose(motion.gauss_measure, force**2 / p["m"], rtol=1e-9)
    assert motion.gauss_measure.shape == motion.t.shape


def test_motions_in_segments_have_it_too():
    model = da.Model("ball")
    (y,), (v,) = model.coordinates("y"), model.speeds("v")
    model.particle("P", mass=2.0, position=[0, y])
    model.gravity([0, -9.81])
    system = model.compile()
    bounce = da.Event(y, name="bounce", direction=-1, then={v: -0.8 * v})
    motion = system.simulate(system.initial({y: 1.0}), 1.0, events=[bounce])
    np.testing.assert_allclose(motion.gauss_measure, 0.0, atol=1e-20)
    assert motion.gauss_measure.shape == motion.t.shape


def test_a_prescribed_part_counts_as_a_known_force():
    """The least is that of the ideal part, whatever is prescribed beside it."""
    model = da.Model("rubbed")
    x, y = model.coordinates("x y")
    P = model.particle("P", mass=3.0, position=[x, y])
    model.gravity([0, -10.0])
    model.constrain(y, name="floor")
    model.nonideal(vector=[-4.0, 0], at=P)
    state = model.compile().initial({"x": 0.0})
    assert state["x''"] == pytest.approx(-4 / 3)
    assert state.gauss_measure == pytest.approx(30.0**2 / 3)


def test_a_singular_mass_matrix_is_refused():
    model = da.Model("massless")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1.0, position=[x, 0])
    model.constrain(y - sp.sin(x), name="follow")
    system = model.compile()
    with pytest.raises(da.PairingError, match="singular mass matrix"):
        system.gauss_measure(0.0, [0, 0], [0, 0], [0, 0])


def test_feedback_and_feed_forward_along_a_motion():
    """(nt, nu) each; their sum is the reaction, and only the feed-forward part knows of the programme."""
    motion = problems.get("duffing_tracking").simulate(t_eval=np.linspace(0.0, 2.0, 21), t_end=2.0)
    split = da.UdwadiaKalaba().split_force
    feedback, feed_forward = split(motion.system, motion.t, motion.q, motion.u, motion.parameters)
    assert feedback.shape == feed_forward.shape == motion.u.shape
    np.testing.assert_allclose(feedback + feed_forward, motion.reactions, atol=1e-9)
    one = split(motion.system, motion.t[7], motion.q[7], motion.u[7], motion.parameters)
    np.testing.assert_allclose(one, [feedback[7], feed_forward[7]], atol=1e-12)
    other = motion.system.parameter_values({"omega": 3.0})
    faster = split(motion.system, motion.t, motion.q, motion.u, other)
    np.testing.assert_array_equal(faster[0], feedback)
    assert np.abs(faster[1] - feed_forward).max() > 0.1

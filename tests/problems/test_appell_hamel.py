"""Appell-Hamel against its two-degree-of-freedom equations, derived by hand and integrated by SciPy.

With rolling, T = [(I + M a^2 + m a^2 + m b^2) phi'^2 + (I + m rho^2) theta'^2]/2 in quasi-velocities; the moving axes
of the weight give the gyroscopic terms m a rho theta'^2 and -m a rho theta' phi'.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from dalembert import problems

a, b, rho, m, M, I, g, z0 = 1.0, 0.5, 5.0, 1.0, 5.0, 1.0, 9.81, 30.0
TIMES = np.linspace(0.0, 10.0, 51)


def planar_velocity(theta, w, v):
    x = a * v * np.cos(theta) - rho * w * np.sin(theta)
    y = a * v * np.sin(theta) + rho * w * np.cos(theta)
    return x, y


def rates(_, state):
    theta, _, _, _, w, v = state
    w_dot = -m * rho * a * w * v / (I + m * rho**2)
    v_dot = (m * a * rho * w**2 + m * g * b) / (I + M * a**2 + m * a**2 + m * b**2)
    return [w, v, *planar_velocity(theta, w, v), w_dot, v_dot]


@pytest.fixture(scope="module")
def reference():
    """Coordinates and speeds (51, 10), in the order of the model."""
    found = solve_ivp(rates, (0, 10), [0, 0, 0, 0, 1, 1], method="DOP853", rtol=1e-13, atol=1e-13, t_eval=TIMES)
    theta, phi, x, y, w, v = found.y
    return np.array([theta, phi, x, y, z0 - b * phi, w, v, *planar_velocity(theta, w, v), -b * v]).T


@pytest.mark.parametrize("name", ["appell_hamel", "appell_hamel_linear"])
def test_coordinates_and_speeds(name, reference):
    motion = problems.get(name).simulate(t_eval=TIMES)
    np.testing.assert_allclose(np.hstack([motion.q, motion.u]), reference, rtol=0, atol=1e-8)


def test_published_initial_state():
    problem = problems.get("appell_hamel")
    state = problem.state(problem.system())
    np.testing.assert_allclose(state.q, [0, 0, 0, 0, 30], atol=1e-14)
    np.testing.assert_allclose(state.u, [1, 1, 1, 5, -0.5], atol=1e-12)


def test_reactions_agree_between_the_constraint_models():
    one, other = (problems.get(name).simulate(t_eval=TIMES) for name in ("appell_hamel", "appell_hamel_linear"))
    np.testing.assert_allclose(one.reactions, other.reactions, rtol=0, atol=1e-7)

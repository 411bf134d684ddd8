"""The stories run as notebooks do, cell after cell, and reach what their models are known for."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from dalembert.problems.benchmark_bicycle import C1, K0, K2, M

FOLDER = Path(__file__).parents[2] / "examples" / "stories"


@pytest.fixture(scope="module")
def told():
    """What a story leaves behind, by name."""
    done = {}

    def tell(name):
        if name not in done:
            done[name] = runpy.run_path(str(FOLDER / f"coming_from_{name}.py"))
        return done[name]

    return tell


def test_cart_pendulum_accelerates_as_sympy_says(told):
    names = told("sympy")
    motion = names["pendulum"]
    np.testing.assert_allclose(motion.udot[0], names["by_sympy"], rtol=1e-12)
    assert motion.certificate.ok
    np.testing.assert_allclose(motion["tip"][:, 0], motion["x"] + 0.5 * np.sin(motion["a"]), atol=1e-12)
    momentum = 1.3 * motion["v"] + 0.3 * 0.5 * np.cos(motion["a"]) * motion["w"]  # nothing pushes along the rail
    np.testing.assert_allclose(momentum, 0.0, atol=1e-8)


def test_disc_rolls_without_loss(told):
    motion = told("sympy")["rolling"]
    u1, u2, u3 = (motion[name] for name in ("u1", "u2", "u3"))
    energy = 0.5 * 2.0 * 0.25 * (1.25 * u1**2 + 1.5 * u2**2 + 0.25 * u3**2) + 2.0 * 9.81 * 0.5 * np.cos(motion["q2"])
    np.testing.assert_allclose(energy, energy[0], rtol=1e-9)


def test_linkage_stays_closed(told):
    motion = told("sympy")["linkage"]
    assert motion.certificate.ok
    angles = [motion[name] for name in ("th1", "th2", "th3")]
    reach = sum(length * np.exp(1j * angle) for length, angle in zip((0.8, 2.0, 1.0), angles, strict=True))
    np.testing.assert_allclose(reach, 2.0, atol=1e-11)
    np.testing.assert_allclose(motion.energy, motion.energy[0], atol=1e-7)


def test_bicycle_rights_itself(told):
    """It leans less and less, as the published equations are stable at this speed."""
    motion = told("sympy")["riding"]
    stiffness = 9.81 * K0 + 4.6**2 * K2
    rates = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, stiffness), -np.linalg.solve(M, 4.6 * C1)]])
    assert np.linalg.eigvals(rates).real.max() < 0
    assert motion.certificate.ok
    lean = np.abs(motion["q2"])
    assert lean[motion.t > 4].max() < 0.5 * lean[motion.t < 2].max()


def test_slider_crank_is_driven_by_its_table(told):
    """Work of the motor, less what friction takes, is the change of energy."""
    names = told("scipy")
    motion = names["driven"]
    assert motion.certificate.ok
    a, x = motion["crank_a"], motion["slider_x"]
    np.testing.assert_allclose(x, 0.1 * np.cos(a) + np.sqrt(0.3**2 - (0.1 * np.sin(a)) ** 2), atol=1e-10)
    np.testing.assert_allclose(motion["stroke"], x - 0.3, atol=1e-12)
    np.testing.assert_allclose(names["frame"]["main.angle"], a, atol=1e-12)
    torque = np.interp(motion.t, names["times"], [0.0, 0.0, 0.5, 0.5, -0.2, -0.2])
    np.testing.assert_allclose(names["frame"]["motor.power"], torque * motion["crank_w"], atol=1e-9)


def test_controller_holds_the_crank_where_its_torques_balance(told):
    motion = told("scipy")["held"]
    assert len(motion.events["controller"]) == 300
    assert abs(motion["crank_w"][-1]) < 1e-2
    assert abs(motion["crank_a"][-1] - np.radians(120)) < np.radians(15)


def test_stop_throws_the_crank_back(told):
    events = told("scipy")["stopped"].events
    assert len(events) >= 1
    for event in events:
        assert event.state["crank_a"] == pytest.approx(-np.radians(100), abs=1e-9)
        assert event.after["crank_w"] == pytest.approx(-0.3 * event.state["crank_w"], rel=1e-9)


def test_friction_is_found_again(told):
    """By both ways the same, and within four of its standard deviations from the truth."""
    names = told("scipy")
    assert names["fit"].x[0] == pytest.approx(4.0, abs=4 * names["sigma"])
    assert names["exact"]["c"] == pytest.approx(names["fit"].x[0], abs=0.1 * names["sigma"])

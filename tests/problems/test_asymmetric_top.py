"""The torque-free top: conserved quantities from quaternion and angular velocity by hand."""

import numpy as np
import pytest

import dalembert as da
from dalembert import problems

INERTIA = np.array([1.0, 2.0, 3.0])


def turned(e, vector):
    """Body components (nt, 3) in space, by v + 2 e0 (e x v) + 2 e x (e x v)."""
    scalar, axis = e[:, :1], e[:, 1:]
    cross = np.cross(axis, vector)
    return vector + 2 * scalar * cross + 2 * np.cross(axis, cross)


@pytest.mark.parametrize(
    ("integrator", "kept"),
    [(None, 1e-8), (da.DOP853(rtol=1e-12, atol=1e-13), 1e-10)],
    ids=["default", "tight"],
)
def test_energy_and_angular_momentum_over_a_hundred_turns(integrator, kept):
    motion = problems.get("asymmetric_top").simulate(integrator=integrator)
    energy = (INERTIA * motion.u**2).sum(axis=1) / 2
    momentum = turned(motion.q, INERTIA * motion.u)
    lost = np.linalg.norm(momentum - momentum[0], axis=1) / np.linalg.norm(momentum[0])
    assert np.abs(energy / energy[0] - 1).max() < kept
    assert lost.max() < kept
    assert np.abs((motion.q**2).sum(axis=1) - 1).max() < 1e-14


def test_runs_for_a_hundred_turns():
    """The angular velocity along L is 2T/L; it fixes what a turn is."""
    motion = problems.get("asymmetric_top").simulate()
    momentum = INERTIA * motion.u[0]
    rate = (momentum @ motion.u[0]) / np.linalg.norm(momentum)
    assert rate * motion.t[-1] == pytest.approx(200 * np.pi)

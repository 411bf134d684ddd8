"""Servo constraints past the point where their unknown has no effect: the certificate or the message names the loss."""

import numpy as np
import pytest
from sympy import cos, sin

import dalembert as da


def slide(rate):
    """A particle driven along x = t + rate t^2 by a force that acts by its component F cos x."""
    model = da.Model("slide")
    (x,) = model.coordinates("x")
    (F,) = model.unknowns("F")
    model.particle("P", mass=1, position=[x, 0])
    model.generalized_force({x: F * cos(x)})
    model.constrain(x - model.t - rate * model.t**2, name="drive", servo=F)
    system = model.compile()
    return system, system.initial()


def arm():
    """Two links; a torque at the first one is to turn the second one evenly, by the inertia between them alone."""
    model = da.Model("arm")
    a, b = model.coordinates("a b")
    (M,) = model.unknowns("M")
    model.particle("P", mass=1, position=[cos(a), sin(a)])
    model.particle("Q", mass=1, position=[cos(a) + cos(b), sin(a) + sin(b)])
    model.gravity([0, -9.81])
    model.generalized_force({a: M})
    model.constrain(b - 0.5 * model.t - 1, name="drive", servo=M)
    system = model.compile()
    return system, system.initial({a: 0.3}, guess={b: 1.0})


@pytest.mark.parametrize("times", [None, np.linspace(0.0, 3.0, 7)], ids=["every step", "samples"])
def test_a_loss_that_is_stepped_over_is_named_with_its_time(times):
    system, state = slide(0.1)
    motion = system.simulate(state, 3.0, t_eval=times)
    (lost,) = motion.certificate.lost_controls
    assert (lost.unknowns, lost.rows) == (("F",), ("drive",))
    moment = (np.sqrt(1 + 0.2 * np.pi) - 1) / 0.2  # x = pi / 2
    assert lost.begin < moment < lost.end
    assert "`F` no longer acts on what `drive` asks for" in str(motion.certificate)


def test_control_that_lasts_is_not_called_lost():
    system, state = slide(0.1)
    assert system.simulate(state, 1.3).certificate.lost_controls == ()


@pytest.mark.parametrize("integrator", [da.DOP853(), da.Radau()])
def test_a_run_that_ends_where_control_is_lost_says_so(integrator):
    system, state = arm()
    motion = system.simulate(state, 2.0, integrator=integrator)
    assert not motion.success
    assert "control is lost there: `M` no longer acts on what `drive` asks for" in motion.message
    a, b = motion.q[-1]
    assert abs(cos(a - b)) < 1e-3  # the inertia by which the first link moves the second

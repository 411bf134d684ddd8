"""Motions that begin late, as by a clock that counts from 1970: rounding of times must not add up."""

import numpy as np
import pytest
from sympy.physics.mechanics import dynamicsymbols

import dalembert as da

LATE = 2.0**36  # s; to a clock that shows it, the shortest time is 1.5e-5 s
SPAN = 10.0


@pytest.fixture(scope="module")
def pendulum():
    model = da.Model("pendulum")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1, position=[x, y])
    model.gravity([0, -9.81])
    model.constrain(x**2 + y**2 - 1, name="rod")
    return model.compile()


@pytest.mark.parametrize(
    "integrator", [da.DOP853(), da.Tsit5(), da.Radau(), da.GeneralizedAlpha(), da.RK4(1e-2), da.IDA()]
)
def test_a_motion_without_time_in_its_equations_is_the_same_at_any_time(pendulum, integrator):
    state = pendulum.initial({"x": 0.6}, guess={"y": -1})
    early = pendulum.simulate(state, SPAN, integrator=integrator)
    late = pendulum.simulate(state, (LATE, LATE + SPAN), integrator=integrator)
    assert late.t[-1] == LATE + SPAN
    shortest_way = np.spacing(LATE) * np.abs(early.u).max()  # in the shortest time that the clock can show
    assert np.abs(late.q[-1] - early.q[-1]).max() < shortest_way


def linear_response(times, values, z):
    """x and x' at the end of x'' + x = f(t), f linear between the values: exact from kink to kink."""
    for h, f, rise in zip(np.diff(times), values[:-1], np.diff(values), strict=True):
        slope = rise / h
        c, s = z[0] - f, z[1] - slope
        z = (f + rise + c * np.cos(h) + s * np.sin(h), slope - c * np.sin(h) + s * np.cos(h))
    return np.array(z)


@pytest.mark.parametrize(("begin", "span", "count"), [(2.0**20, 10.0, 200), (0.0, 1000.0, 20_000)])
def test_gaps_at_the_kinks_of_a_table_do_not_add_up(begin, span, count):
    times, values = begin + np.linspace(0.0, span, count + 1), np.cos(7.0 * np.arange(count + 1.0))
    model = da.Model("driven")
    (x,) = model.coordinates("x")
    drive = model.table("drive", times, values, kind="linear")
    model.particle("P", mass=1, position=[x, 0])
    model.generalized_force({x: drive(dynamicsymbols._t) - x})
    system = model.compile()
    motion = system.simulate(system.initial({x: 0.0, "x_dot": 1.0}), (begin, begin + span))
    assert motion.certificate.ok
    exact = linear_response(times, values, (0.0, 1.0))
    # By one kink, if the times before it and beyond it are as exact as they can be.
    lost = 2 * np.spacing(begin + span) * np.abs(motion.u).max()
    inside = (motion.stats["steps"] - count) * 1e-10 * np.abs(motion.q).max()  # by steps that end at no kink
    assert abs(motion.q[-1, 0] - exact[0]) < count * lost + inside


@pytest.mark.parametrize("integrator", [da.Automatic(), da.Tsit5(), da.Radau(), da.StateSpaceSVD()], ids=repr)
def test_a_first_step_that_a_late_clock_cannot_show(integrator):
    """Beside 0.5 nm, a fall begins within 1e-8 s, less than a step of a clock that shows 1e9 s may be."""
    model = da.Model("fall")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1, position=[x, y])
    model.gravity([0, -9.81])
    system = model.compile()
    state = system.initial({x: 5e-10, y: 0.0, "x_dot": 0.0, "y_dot": 0.0}, t0=1e9)
    motion = system.simulate(state, 1e9 + SPAN, integrator=integrator)
    assert motion.certificate.ok, motion.certificate
    assert motion["y"][-1] == pytest.approx(-9.81 * SPAN**2 / 2, rel=1e-8)

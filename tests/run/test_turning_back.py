"""Impacts with little or no rebound: bounces too low to be seen must not let a ball fall through its floor."""

import numpy as np
import pytest

import dalembert as da

G = 9.81
FALL = np.sqrt(2.0 / G)  # time in which the ball falls from a height of 1


def drop(e, then, unit=1.0, **options):
    """The motion of a ball that is dropped from a height of 1, in lengths of 1/unit, with a change where y = 0."""
    model = da.Model("ball")
    (y,) = model.coordinates("y")
    (v,) = model.speeds("v")
    rebound, g = model.parameters(e=e, g=G * unit)
    model.particle("ball", mass=1, position=[0, y])
    model.gravity([0, -g])
    system = model.compile()
    event = da.Event(y, direction=-1, then=then(v, rebound), name="floor")
    return system.simulate(system.initial({y: unit, v: 0.0}), 2.0, events=[event], **options)


@pytest.mark.parametrize("e", [0.5, 0.1, 1e-2, 1e-3, 1e-6, 1e-12, 0.0])
@pytest.mark.parametrize("integrator", [da.DOP853(), da.RK4(0.01)], ids=["adaptive", "fixed"])
def test_a_ball_that_hardly_bounces_does_not_fall_through_the_floor(e, integrator):
    motion = drop(e, lambda v, rebound: {v: -rebound * v}, integrator=integrator)
    assert not motion.success
    assert not motion.certificate.ok
    assert "`floor`: changes follow each other ever faster" in motion.message
    assert motion["y"].min() > -1e-12
    rest = FALL * (1 + 2 * e / (1 - e))  # when all of the bounces have happened
    left = 2 * FALL * e ** len(motion.events) / (1 - e)  # what those to come would take
    np.testing.assert_allclose(motion.t[-1], rest - left, rtol=0, atol=1e-9)


@pytest.mark.parametrize("unit", [2.0**-60, 2.0**-40, 2.0**40])
@pytest.mark.parametrize("e", [0.0, 0.5, 0.9])
def test_other_units_change_neither_bounces_nor_verdict(e, unit):
    here, there = (drop(e, lambda v, rebound: {v: -rebound * v}, one) for one in (1.0, unit))
    assert [event.t for event in there.events] == [event.t for event in here.events]
    assert there.message == here.message
    np.testing.assert_array_equal(there["y"] / unit, here["y"])


def test_what_a_change_does_not_turn_back_goes_on_through_zero():
    motion = drop(0.1, lambda v, rebound: {v: rebound * v})  # into water
    assert motion.certificate.ok
    after = 2.0 - FALL
    assert abs(motion["y"][-1] + 0.1 * G * FALL * after + G / 2 * after**2) < 1e-9


def test_what_is_stopped_and_stays_does_not_end_a_motion():
    motion = drop(0.0, lambda v, _: {v: 0, "g": 0})  # caught
    assert motion.certificate.ok
    assert motion.t[-1] == 2.0
    assert abs(motion["y"][-1]) < 1e-12


@pytest.mark.parametrize("integrator", [da.DOP853(), da.Tsit5(), da.KuttaMerson()])
def test_a_motion_goes_on_from_rest_next_to_zero(integrator):
    motion = drop(0.0, lambda v, _: {v: 0, "g": -G}, integrator=integrator)  # y is round-off, from which steps start
    assert motion.certificate.ok
    assert abs(motion["y"][-1] - G / 2 * (2.0 - FALL) ** 2) < 1e-9


def test_ticks_of_a_clock_do_not_hide_it():
    model = da.Model("ball")
    (y,) = model.coordinates("y")
    (v,) = model.speeds("v")
    (wind,) = model.parameters(wind=0.0)
    model.particle("ball", mass=1, position=[0, y])
    model.gravity([0, -G])
    system = model.compile()
    floor = da.Event(y, direction=-1, then={v: 0}, name="floor")
    clock = da.Every(0.01, then={wind: 0.0}, name="clock")
    motion = system.simulate(system.initial({y: 1.0, v: 0.0}), 2.0, events=[floor, clock])
    assert not motion.success
    assert motion["y"].min() > -1e-12

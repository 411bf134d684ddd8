"""Runs that would not end do, and say why; regular ones, however long, are left alone."""

import numpy as np
import pytest
import sympy as sp
from one_mass import moved_by

import dalembert as da
from dalembert.run.time_loop.step_budget import FIRST_LOOK, WINDOW, StepBudget

ADAPTIVE = [da.Automatic(), da.DOP853(), da.Tsit5(), da.KuttaMerson(), da.Radau(), da.StateSpaceSVD(), da.IDA()]


@pytest.mark.parametrize("integrator", ADAPTIVE, ids=lambda i: type(i).__name__)
def test_chattering_ends_the_run_and_names_the_speed(integrator):
    system = moved_by(lambda _, v: -sp.sign(v))
    motion = system.simulate(system.initial({"x": 0.0, "v": 1.0}), 10.0, integrator=integrator)
    assert not motion.success
    assert "chattering: the rate of `v` jumps between -1 and 1" in motion.message
    assert motion.t[-1] == pytest.approx(1.0, abs=2e-2)  # friction has stopped it
    assert motion.stats["steps"] <= FIRST_LOOK + 4 * WINDOW


def test_a_pole_is_named_with_its_rate():
    system = moved_by(lambda _, v: v**2)  # v = 1 / (1 - t)
    motion = system.simulate(system.initial({"x": 0.0, "v": 1.0}), 10.0)
    assert not motion.success
    assert "`v` grows without bound" in motion.message
    assert motion.t[-1] == pytest.approx(1.0, abs=1e-6)


def test_max_steps_that_are_given_are_made():
    system = moved_by(lambda _, v: -sp.sign(v))
    motion = system.simulate(system.initial({"x": 0.0, "v": 1.0}), 10.0, integrator=da.DOP853(max_steps=30_000))
    assert motion.stats["steps"] == 30_000
    assert "raise `max_steps`" in motion.message


def test_long_regular_runs_reach_their_end():
    system = moved_by(lambda x, _: -x)
    t_end = 4e4 * np.pi
    motion = system.simulate(system.initial({"x": 1.0, "v": 0.0}), t_end, integrator=da.Tsit5(), t_eval=[t_end])
    assert motion.success
    assert motion.stats["steps"] > 10 * WINDOW


def test_a_run_that_slows_down_to_a_new_regular_pace_goes_on():
    budget = StepBudget(0.0, 100.0)
    assert not budget.is_spent(5.0, FIRST_LOOK)  # steps of 1e-2
    assert not budget.is_spent(5.5, WINDOW)  # of 5e-5: two million ahead, but not a thousandth
    assert budget.is_spent(5.5 + 1e-2, WINDOW)  # of 1e-6: a hundred million ahead


def test_few_short_steps_before_the_end_are_made():
    budget = StepBudget(0.0, 10.0)
    assert not budget.is_spent(5.0, FIRST_LOOK)
    assert not budget.is_spent(10.0 - 1e-3, FIRST_LOOK)
    assert not budget.is_spent(10.0 - 0.9e-3, WINDOW)  # of 1e-8, ninety thousand ahead


def test_automatic_takes_a_longest_step_and_sees_a_pulse():
    model = da.Model("pulse")
    (x,) = model.coordinates("x")
    (v,) = model.speeds("v")
    point = model.particle("P", mass=1.0, position=[x, 0])
    t = sp.Symbol("t")
    model.force([1000 * sp.exp(-(((t - 5) / 1e-3) ** 2)), 0], at=point)
    system = model.compile()
    state = system.initial({x: 0.0, v: 0.0})
    seen = system.simulate(state, 10.0, integrator=da.Automatic(max_step=1e-3))
    assert seen["v"][-1] == pytest.approx(np.sqrt(np.pi), rel=1e-8)
    assert np.diff(seen.t).max() <= 1e-3 * (1 + 1e-9)
    with pytest.raises(da.OptionError, match="max_step"):
        da.Automatic(max_step=-1.0)


def test_what_was_looked_at_for_stiffness_is_what_is_told():
    system = moved_by(lambda x, _: -x)
    motion = system.simulate(system.initial({"x": 1.0, "v": 0.0}), 1.0)
    assert f"DOP853 throughout, {motion.stats['steps']} steps" in motion.method
    assert "was not looked for" in motion.method

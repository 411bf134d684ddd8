"""Clocks against exact discrete-time solutions: no tick is missed, none drifts, functions cannot spoil the run."""

import math
from functools import cache

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.run.every import Every, Schedule

MASS, KP, KD = 2.0, 30.0, 4.0
ONE_STEP = [
    da.Automatic(),
    da.DOP853(),
    da.Tsit5(),
    da.KuttaMerson(),
    da.RK4(step=0.0015),
    da.Radau(),
    da.StateSpaceSVD(),
    da.GeneralizedAlpha(),
]
T = sp.Symbol("t")


@cache
def driven():
    """A mass pushed by the parameter F, and its symbols."""
    model = da.Model("driven mass")
    (x,) = model.coordinates("x")
    (v,) = model.speeds("v")
    m, F, kp, kd = model.parameters(m=MASS, F=0.0, kp=KP, kd=KD)
    point = model.particle("P", mass=m, position=[x, 0])
    model.force([F, 0], at=point)
    system = model.compile()
    return system, system.initial({x: 1.0, v: 0.0}), F, -kp * x - kd * v


def sampled(dt, count):
    """x, v (count,) at the ticks of a controller whose force is held in between: exact up to round-off."""
    states = [(1.0, 0.0)]
    for _ in range(count - 1):
        x, v = states[-1]
        a = (-KP * x - KD * v) / MASS
        states.append((x + dt * v + 0.5 * dt * dt * a, v + dt * a))
    return np.array(states).T


@pytest.mark.parametrize("integrator", ONE_STEP, ids=lambda i: type(i).__name__)
def test_no_tick_is_missed_and_a_sampled_controller_has_its_exact_motion(integrator):
    system, state, F, force = driven()
    clock = da.Every(0.002, then={F: force}, name="controller")
    motion = system.simulate(state, 5.0, integrator=integrator, events=[clock], t_eval=[5.0])
    ticks = motion.events["controller"]
    assert [o.t for o in ticks] == [k * 0.002 for k in range(2500)]
    x, v = sampled(0.002, 2500)
    # Constant acceleration: methods of order two and more err by round-off only, of 2500 ticks with damped errors.
    np.testing.assert_allclose([o.state["x"] for o in ticks], x, rtol=0, atol=1e-13)
    np.testing.assert_allclose([o.state["v"] for o in ticks], v, rtol=0, atol=1e-12)
    assert motion.success
    assert motion.t[-1] == 5.0


def test_a_solver_of_several_steps_takes_clocks_too():
    system, state, F, force = driven()
    motion = system.simulate(state, 1.0, integrator=da.IDA(), events=[da.Every(0.1, then={F: force}, name="pd")])
    np.testing.assert_allclose([o.state["x"] for o in motion.events["pd"]], sampled(0.1, 10)[0], atol=1e-6)


def test_a_function_can_return_values_by_name_or_a_state():
    system, state, F, force = driven()
    x, _ = sampled(0.1, 20)
    for then in (
        {F: force},
        lambda s: {"F": -KP * s["x"] - KD * s["v"]},
        lambda s: {F: -KP * s["x"] - KD * s["v"]},
        lambda s: s.with_({"F": -KP * s["x"] - KD * s["v"]}, x=s["x"], v=s["v"]),
    ):
        motion = system.simulate(state, 2.0, events=[da.Every(0.1, then=then, name="pd")])
        np.testing.assert_allclose([o.state["x"] for o in motion.events["pd"]], x, atol=1e-12)


def test_ticks_are_counted_from_the_start_that_is_given():
    system, state, F, force = driven()
    for start, expected in ((None, [0.5, 0.8]), (0.0, [0.6, 0.9]), (0.7, [0.7]), (2.0, []), (0.2, [0.5, 0.8])):
        clock = da.Every(0.3, then={F: force}, start=start, name="pd")
        motion = system.simulate(state, (0.5, 1.0), events=[clock])
        assert [o.t for o in motion.events["pd"]] == pytest.approx(expected, abs=1e-15)


def test_clocks_at_the_same_time_tick_together_in_their_order():
    system, state, _, _ = driven()
    order = []

    def note(name):
        def then(before):
            order.append((round(before.t, 9), name))
            return {"F": 0.0}

        return then

    clocks = [da.Every(0.1, then=note("slow"), name="slow"), da.Every(0.02, then=note("fast"), name="fast")]
    motion = system.simulate(state, 0.3, events=clocks)
    assert len(motion.segments) == 15
    assert [n for t, n in order if t in (0.0, 0.1, 0.2)] == ["slow", "fast"] * 3
    assert [t for t, n in order if n == "fast"] == pytest.approx([k * 0.02 for k in range(15)])


def test_schedules_neither_lose_nor_repeat_ticks():
    rng = np.random.default_rng(5)
    for _ in range(200):
        dt, t0 = 10.0 ** rng.uniform(-4, 0), rng.uniform(-5, 5)
        start, count = rng.integers(-50, 15) * dt + t0, 0
        schedule = Schedule([Every(dt, then=_same, start=start)], (t0, t0 + 20 * dt))
        ticks = []
        while schedule.next < t0 + 20.5 * dt:
            ticks.append(schedule.next)
            assert len(schedule.due(ticks[-1])) == 1
            count += 1
        assert ticks[0] == pytest.approx(max(t0, start), abs=1e-12)
        np.testing.assert_allclose(np.diff(ticks), dt, rtol=0, atol=1e-12)


def _same(state):
    return state


def test_samples_are_those_asked_for_and_both_sides_of_every_tick():
    system, state, F, force = driven()
    clock = da.Every(0.25, then={F: force}, name="pd")
    motion = system.simulate(state, 1.0, events=[clock], t_eval=[0.1, 0.25, 0.6, 1.0])
    assert motion.t.tolist() == [0.1, 0.25, 0.25, 0.5, 0.5, 0.6, 0.75, 0.75, 1.0]


def test_an_event_at_a_tick_is_neither_lost_nor_seen_twice():
    system, state, F, force = driven()
    zero = da.Event(sp.sin(sp.pi * T / 0.02), name="zero")
    motion = system.simulate(state, 5.0, events=[da.Every(0.02, then={F: force}, name="pd"), zero])
    assert [o.t for o in motion.events["zero"]] == pytest.approx([0.02 * k for k in range(1, 251)], abs=1e-12)
    assert len(motion.events["pd"]) == 250


# -- events that steps do not resolve --------------------------------------------------------------------------------


@pytest.mark.parametrize("wave", [0.01, 0.05, 0.2, 1.0, 3.0])
def test_zeros_are_found_though_steps_do_not_resolve_them(wave):
    system, state, _, _ = driven()
    motion = system.simulate(state, 5.0, events=[da.Event(sp.sin(T / wave + 0.3), name="w")], integrator=da.Tsit5())
    assert len(motion.events) == math.floor((5.0 / wave + 0.3) / math.pi)
    assert motion.certificate.ok


def test_plain_events_are_not_doubted():
    model = da.Model("ball")
    (y,) = model.coordinates("y")
    (v,) = model.speeds("v")
    model.particle("P", mass=1.0, position=[0, y])
    model.gravity([0, -9.81])
    system = model.compile()
    events = [da.Event(y, direction=-1, then={v: -0.8 * v}, name="bounce"), da.Event(v, name="turn")]
    motion = system.simulate(system.initial({y: 1, v: 0}), 3.0, events=events)
    assert len(motion.events["bounce"]) == 6
    assert not motion.events.doubts


# -- refused -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dt": 0.0}, "dt is 0.0"),
        ({"dt": math.inf}, "positive and finite"),
        ({"then": None}, "use t_eval"),
        ({"then": {}}, "is empty"),
        ({"start": math.nan}, "start is nan"),
        ({"dt": "0.1"}, "dt is '0.1'; it must be positive and finite, such as"),
        ({"dt": None}, "dt is None"),
        ({"dt": 1j}, "dt is 1j"),
        ({"start": "0"}, "start is '0'; it must be a finite time, or left out"),
    ],
)
def test_clocks_that_cannot_tick_are_refused(options, message):
    _, _, F, force = driven()
    settings = {"dt": 0.1, "then": {F: force}, **options}
    with pytest.raises(da.OptionError, match=message):
        da.Every(settings.pop("dt"), **settings)


def test_clocks_that_do_not_fit_a_run_are_refused():
    system, state, F, force = driven()
    with pytest.raises(da.OptionError, match="cannot resolve"):
        system.simulate(state, (1e6, 1e6 + 1e-5), events=[da.Every(1e-10, then={F: force})])
    with pytest.raises(da.OptionError, match=r"which makes 5e\+09 ticks from t = 0 to 5; use at least 5e-06"):
        system.simulate(state, 5.0, events=[da.Every(1e-9, then={F: force})])


def test_the_state_that_a_function_gets_cannot_be_changed():
    system, state, _, _ = driven()
    refused, given = [], []

    def spoil(before):
        for array in (before.q, before.u, before.udot, before.multipliers, before.parameters):
            try:
                array[...] = 7.0
            except ValueError:
                refused.append(array)
        return {"F": -KP * before["x"] - KD * before["v"]}

    def keep(before):
        after = before.with_({"F": -KP * before["x"] - KD * before["v"]}, x=before["x"], v=before["v"])
        for earlier in given:
            earlier.q[:], earlier.parameters[:] = 7.0, 7.0  # arrays of its own, handed over before
        given.append(after)
        return after

    x, _ = sampled(0.1, 20)
    for then in (spoil, keep):
        motion = system.simulate(state, 2.0, events=[da.Every(0.1, then=then, name="pd")])
        np.testing.assert_allclose([o.state["x"] for o in motion.events["pd"]], x, atol=1e-12)
    assert len(refused) == 20 * 5


@pytest.mark.parametrize("returned", ["a", None, 1j, np.array([1.0, 2.0]), math.nan])
def test_what_a_function_returns_must_be_numbers(returned):
    system, state, _, _ = driven()
    with pytest.raises(da.DalembertError, match=r"what the function of event `pd` returned for `F`"):
        system.simulate(state, 2.0, events=[da.Every(0.1, then=lambda _: {"F": returned}, name="pd")])
    with pytest.raises(da.UnknownNameError, match="G"):
        system.simulate(state, 1.0, events=[da.Every(0.1, then={sp.Symbol("G"): 1})])
    with pytest.raises(da.UnknownNameError, match="G"):
        system.simulate(state, 1.0, events=[da.Every(0.1, then=lambda _: {"G": 1})])


def test_what_a_function_returns_is_checked_on_the_way():
    system, state, _, _ = driven()
    clock = da.Every(0.1, then=lambda s: {"F": math.nan if s.t > 0.55 else 1.0}, name="pd")
    motion = system.simulate(state, 1.0, events=[clock])
    assert not motion.success
    assert "is nan; it must be finite" in motion.message
    assert motion.t[-1] == pytest.approx(0.6)

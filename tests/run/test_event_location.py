"""Zeros of events: none is missed however narrow or close to others, poles are none, and doubts are not OK."""

from functools import cache

import numpy as np
import pytest
import sympy as sp

import dalembert as da

ALL = [da.Automatic(), da.DOP853(), da.Tsit5(), da.KuttaMerson(), da.RK4(step=0.1), da.Radau(), da.GeneralizedAlpha(),
       da.IDA()]  # fmt: skip


@cache
def free():
    """A free particle that moves at 1 m/s from x = 0, its coordinate, and time."""
    model = da.Model("free")
    (x,) = model.coordinates("x")
    (v,) = model.speeds("v")
    model.particle("P", mass=1.0, position=[x, 0])
    system = model.compile()
    return system, system.initial({x: 0.0, v: 1.0}), x, model.t


@cache
def swing():
    model = da.Model("swing")
    x, y = model.coordinates("x y")
    model.speeds("vx vy")
    model.particle("P", mass=1.0, position=[x, y])
    model.gravity([0, -9.81])
    model.constrain(x**2 + y**2 - 1, name="rod")
    system = model.compile()
    return system, system.initial({x: 1.0, "vx": 0.0, "vy": 0.0}, guess={y: 0.0}), x, y


def times(expression, t_end=10.0, **options):
    """When an expression is zero along the way of the free particle."""
    system, state, _, _ = free()
    motion = system.simulate(state, t_end, events=[da.Event(expression, name="e")], **options)
    assert motion.certificate.ok
    return [o.t for o in motion.events]


@pytest.mark.parametrize("integrator", ALL, ids=lambda i: type(i).__name__)
def test_a_narrow_peg_is_met(integrator):
    system, state, x, _ = free()
    for width in (1e-2, 1e-4, 1e-6):
        for peg in (sp.exp(-(((x - 5) / width) ** 2)) - 0.5, sp.Abs(x - 5) - width):
            motion = system.simulate(
                state, 10.0, integrator=integrator, events=[da.Event(peg, terminal=True, name="peg")]
            )
            half = width * (np.sqrt(np.log(2.0)) if peg.has(sp.exp) else 1.0)
            assert [o.t for o in motion.events] == pytest.approx([5.0 - half], abs=1e-9)
            assert motion.t[-1] == motion.events[0].t
            assert motion.certificate.ok


def test_a_narrow_window_of_a_change_is_not_passed():
    system, state, x, _ = free()
    back = da.Event(1e-5 - sp.Abs(x - 5), direction=1, then={x: 0}, name="back")
    motion = system.simulate(state, 12.0, events=[back])
    assert [o.t for o in motion.events] == pytest.approx([5.0 - 1e-5, 2 * (5.0 - 1e-5)], abs=1e-9)
    assert motion["x"][-1] == pytest.approx(12.0 - 2 * (5.0 - 1e-5), abs=1e-9)


def test_all_zeros_of_a_wave_are_found_though_steps_are_longer():
    system, state, x, t = free()
    assert system.simulate(state, 10.0).stats["steps"] < 10
    np.testing.assert_allclose(times(sp.sin(sp.pi * t / 0.05) - 0.3, integrator=da.Tsit5())[::2],
                               0.05 / np.pi * (np.arcsin(0.3) + 2 * np.pi * np.arange(100)), atol=1e-12)  # fmt: skip
    np.testing.assert_allclose(times(sp.cos(50 * x)), np.pi / 50 * (0.5 + np.arange(159)), atol=1e-12)


def test_two_zeros_next_to_each_other_are_two():
    _, _, x, _ = free()
    for gap in (1e-2, 1e-4, 1e-5):
        assert times((x - 5) ** 2 - gap**2) == pytest.approx([5 - gap, 5 + gap], abs=gap * 1e-3)
    assert times((x - 5) ** 2 + 1e-16) == []


def test_poles_are_no_zeros():
    _, _, x, _ = free()
    assert times(sp.tan(x)) == pytest.approx(np.pi * np.arange(1, 4), abs=1e-12)
    assert times(sp.tan(x - sp.Rational(1, 3))) == pytest.approx(1 / 3 + np.pi * np.arange(4), abs=1e-12)
    assert times(sp.cos(x) / sp.sin(x)) == pytest.approx(np.pi * (0.5 + np.arange(3)), abs=1e-12)
    assert times(1 / (x - 5)) == []
    assert times(1 / (x - 5) - 1) == pytest.approx([6.0], abs=1e-12)
    assert times(1 / (x - 5) ** 3) == []


def test_jumps_over_zero_are_zeros():
    _, _, x, _ = free()
    for jump in (sp.sign(x - 5), sp.Heaviside(x - 5) - 0.5, sp.floor(x) - 4.5, sp.Piecewise((1, x < 5), (-2, True))):
        assert times(jump) == pytest.approx([5.0], abs=1e-12)


def test_turning_points_and_multipliers_of_a_swing_are_not_doubted():
    """What is smooth and ordinary is never in doubt, at tight and at loose tolerances."""
    system, state, x, y = swing()
    events = [
        "x",
        "vx",
        da.Event("rod", direction=1, name="slack"),
        y + sp.Rational(1, 2),
        x.diff(system.statement.time, 2),
    ]
    watched = [e if isinstance(e, da.Event) else da.Event(e) for e in events]
    for integrator in (da.Automatic(), da.DOP853(rtol=1e-5, atol=1e-7), da.Tsit5(rtol=1e-4, atol=1e-6), da.Radau()):
        motion = system.simulate(state, 10.0, events=watched, integrator=integrator)
        assert not motion.events.doubts, integrator
        lows, turns = motion.events["x"], motion.events["vx"]
        assert abs(len(lows) - len(turns)) <= 1 + len(lows)
        assert len(lows) == len([t for t in np.diff(np.sign(motion["x"])) if t]) == 8


def test_a_particle_at_rest_on_an_event_is_not_doubted():
    system, _, x, _ = free()
    still = system.initial({x: 0.0, "v": 0.0})
    motion = system.simulate(still, 10.0, events=[da.Event(x), da.Event("v"), da.Event(x**2 - x, name="both")])
    assert motion.certificate.ok
    assert not motion.events


WILD = 10**6


def test_events_in_doubt_are_not_ok_wherever_they_are_asked_for(tmp_path):
    system, state, x, _ = free()
    wild = da.Event(sp.sin(WILD * x), name="wild")
    motion = system.simulate(state, 10.0, events=[wild])
    outputs = system.simulate(state, 10.0, events=[wild], outputs=["x"])
    loaded = da.Motion.load(motion.save(tmp_path / "m.npz"), system)
    kept = system.simulate(state, 10.0, events=[wild], store=tmp_path / "kept")
    opened = da.Motion.load(tmp_path / "kept", system)
    sequence = system.simulate(state, 10.0, events=[wild, da.Every(4.0, then={"v": 1}, name="clock")])
    assert len(sequence.segments) > 1
    for one in (motion, outputs, loaded, kept, opened, sequence):
        assert not one.certificate.ok
        first = one.events.doubts["wild"].t
        assert f"event `wild` MAY HAVE BEEN MISSED from t = {first:.6g} on" in one.certificate.verdict
        assert "max_step" in one.certificate.verdict
    runs = system.sweep({"v": [1.0, 2.0]}, 10.0, state=state, outputs=["x"], events=[wild])
    assert not runs.ok.values.any()
    assert all("`wild` MAY HAVE BEEN MISSED" in message for message in runs.message.values)


def test_shorter_steps_take_the_doubt():
    system, state, x, _ = free()
    fast = da.Event(sp.sin(5000 * x), name="fast")
    assert not system.simulate(state, 10.0, events=[fast]).certificate.ok
    motion = system.simulate(state, 10.0, events=[fast], integrator=da.DOP853(max_step=0.02))
    assert motion.certificate.ok
    assert len(motion.events) == int(10.0 * 5000 / np.pi)


def test_a_singularity_without_end_is_in_doubt():
    system, state, x, _ = free()
    motion = system.simulate(state, 10.0, events=[da.Event(sp.sin(1 / (x - 5)), name="e")])
    assert not motion.certificate.ok
    assert motion.events.doubts["e"].t == pytest.approx(5.0, abs=1e-2)


def test_a_pole_that_is_passed_slowly_is_not_doubted():
    """The argument of one tangent is rounded, so that its pole cannot be located to the last bit of a step."""
    model = da.Model("oscillators")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1, position=[x, y])
    model.generalized_force({x: -4 * x, y: -9 * y})
    system = model.compile()
    state = system.initial({"x": 1.0, "y": 0.3, "x_dot": 0.0, "y_dot": 2.0})
    sum_of_tangents = sp.tan(1.156 * x * y + sp.sin(y)) + sp.tan(1.455 * x + 0.37 * y) + 0.189
    motion = system.simulate(state, 10.0, events=[da.Event(sum_of_tangents, name="e")])
    assert motion.certificate.ok
    times = np.linspace(0.0, 10.0, 100_001)
    values = sp.lambdify((x, y), sum_of_tangents)(
        np.cos(2 * times), 0.3 * np.cos(3 * times) + np.sin(3 * times) * 2 / 3
    )
    changes = np.flatnonzero((values[1:] * values[:-1] < 0) & (np.abs(np.diff(values)) < 1))
    assert len(motion.events) == len(changes)

"""Events against exact solutions: times, jumps, latches, lift-off, and what is refused."""

import json
import pickle
import re
from functools import cache

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import brentq
from scipy.special import ellipk

import dalembert as da
from dalembert.problems import pendulum

G = 9.81
TIGHT = da.DOP853(rtol=1e-13, atol=1e-14)


def judgements(motion):
    """What the certificate says, without numbers that are round-off."""
    c = motion.certificate
    return c.verdict, c.events, c.method, c.stats, [(f.level, f.name, f.allowed, f.ok) for f in c.findings]


@cache
def ball():
    """A particle in free fall and its symbols."""
    model = da.Model("ball")
    x, y = model.coordinates("x y")
    vx, vy = model.speeds("vx vy")
    g, e = model.parameters(g=G, e=0.8)
    model.particle("P", mass=2.0, position=[x, y])
    model.gravity([0, -g])
    return model.compile(), x, y, vx, vy, e


def bounce(**options):
    _, _, y, _, vy, e = ball()
    return da.Event(y, direction=-1, then={vy: -e * vy}, name="bounce", **options)


@cache
def swing():
    problem = pendulum.PROBLEM
    system = problem.build().compile()
    return system, system.initial(problem.given, guess=problem.guess)


def bounce_times(count, height=1.0, e=0.8):
    first = np.sqrt(2 * height / G)
    return first + np.concatenate([[0.0], np.cumsum(2 * first * e ** np.arange(1, count))])


# -- jumps of the state ----------------------------------------------------------------------------------------------


def test_bouncing_ball_has_the_exact_times_heights_and_losses():
    system, x, y, vx, vy, _ = ball()
    motion = system.simulate(system.initial({x: 0, y: 1, vx: 0.5, vy: 0}), 3.0, events=[bounce()], integrator=TIGHT)
    assert isinstance(motion, da.MotionSequence)
    assert len(motion.segments) == 7
    times = bounce_times(6)
    assert [o.t for o in motion.events["bounce"]] == pytest.approx(times, abs=1e-12)
    for k, o in enumerate(motion.events):
        assert o.after[vy] == pytest.approx(-0.8 * o.state[vy], rel=1e-14)
        assert (o.after[y], o.after[vx]) == (o.state[y], o.state[vx])
        assert o.energy_lost == pytest.approx(2.0 * G * 0.64**k * 0.36, rel=1e-11)
    for k in range(5):  # heights between bounces
        top = motion.at(0.5 * (times[k] + times[k + 1]))
        assert top[y] == pytest.approx(0.64 ** (k + 1), abs=1e-12)
    assert motion["x"][-1] == pytest.approx(1.5, abs=1e-13)
    assert np.abs(motion.energy_balance).max() < 1e-11
    assert motion.certificate.ok
    assert "`bounce` occurred 6 times" in str(motion.certificate)


def test_both_samples_are_kept_at_a_change():
    system, x, y, vx, vy, _ = ball()
    motion = system.simulate(system.initial({x: 0, y: 1, vx: 0, vy: 0}), 1.0, events=[bounce()])
    (k,) = np.flatnonzero(np.diff(motion.t) == 0.0)
    assert motion["vy"][k + 1] == pytest.approx(-0.8 * motion["vy"][k], rel=1e-14)
    assert motion.at(motion.t[k])[vy] == motion["vy"][k + 1]
    assert motion.t[k] == motion.events[0].t


def test_samples_asked_for_across_changes():
    system, x, y, vx, vy, _ = ball()
    wanted = np.linspace(0.0, 1.5, 16)
    state = system.initial({x: 0, y: 1, vx: 0, vy: 0})
    motion = system.simulate(state, 1.5, events=[bounce()], t_eval=wanted, integrator=TIGHT)
    assert np.isin(wanted, motion.t).all()
    assert len(motion.t) == len(wanted) + 2 * len(motion.events) == 20
    first, second = bounce_times(2)
    for t in wanted:
        (k,) = np.flatnonzero(motion.t == t)
        start, speed = (0.0, 0.0) if t < first else (first, 0.8 * np.sqrt(2 * G))
        start, speed = (second, 0.64 * np.sqrt(2 * G)) if t > second else (start, speed)
        height = (1.0 if t < first else 0.0) + speed * (t - start) - G / 2 * (t - start) ** 2
        assert motion["y"][k] == pytest.approx(height, abs=1e-12)


def test_a_spring_that_breaks():
    model = da.Model("spring")
    (x,) = model.coordinates("x")
    (v,) = model.speeds("v")
    m, k = model.parameters(m=2.0, k=50.0)
    model.particle("P", mass=m, position=[x, 0])
    model.energy(potential=k * x**2 / 2)
    system = model.compile()
    snap = da.Event(x - sp.Rational(3, 10), direction=1, then={k: 0}, name="snap")
    motion = system.simulate(system.initial({x: 0.5, v: 0}), 3.0, events=[snap], integrator=TIGHT)
    at = (2 * np.pi - np.arccos(0.6)) / 5.0  # x = 0.5 cos 5 t is 0.3 and rises, as sin 5 t = -0.8
    assert [o.t for o in motion.events] == pytest.approx([at], abs=1e-12)
    assert motion["x"][-1] == pytest.approx(0.3 + 0.5 * 5.0 * 0.8 * (3.0 - at), abs=1e-11)
    assert motion.events[0].energy_lost == pytest.approx(50.0 * 0.09 / 2, rel=1e-11)
    assert [part.parameters[1] for part in motion.segments] == [50.0, 0.0]
    assert motion.certificate.ok


def test_pendulum_caught_by_a_peg_swings_with_the_mean_of_both_periods():
    model = da.Model("pegged pendulum")
    x, y = model.coordinates("x y")
    model.speeds("vx vy")
    c, L = model.parameters(c=0.0, L=1.0)
    model.particle("P", mass=1.0, position=[x, y])
    model.gravity([0, -G])
    model.constrain(x**2 + (y - c) ** 2 - L**2, name="string")
    system = model.compile()
    angle = np.pi / 4
    state = system.initial({x: -np.sin(angle)}, guess={y: -1})
    events = [
        da.Event(x, direction=1, then={c: sp.Rational(-1, 2), L: sp.Rational(1, 2)}, name="caught"),
        da.Event(x, direction=-1, then={c: 0, L: 1}, name="freed"),
        da.Event("vx", direction=-1, name="turn"),
    ]
    motion = system.simulate(state, 4.0, events=events, integrator=TIGHT)
    drop = 1 - np.cos(angle)
    long = 4 * np.sqrt(1.0 / G) * ellipk(drop / 2.0)
    short = 4 * np.sqrt(0.5 / G) * ellipk(drop / 2.0 / 0.5)
    caught = [o.t for o in motion.events["caught"]]
    assert caught == pytest.approx(long / 4 + (long + short) / 2 * np.arange(len(caught)), abs=1e-10)
    assert len(caught) == 2
    assert motion.events["freed"][0].t == pytest.approx(long / 4 + short / 2, abs=1e-10)
    assert motion.events["turn"][0].t == pytest.approx((long + short) / 4, abs=1e-9)
    assert motion.events["turn"][0].state["y"] == pytest.approx(-np.cos(angle), abs=1e-9)  # Galileo
    assert np.abs([o.energy_lost for o in motion.events]).max() < 1e-11
    assert motion.certificate.ok


# -- sudden constraints ----------------------------------------------------------------------------------------------


def shafts(*, latched):
    """A disc, and an arm pinned at its end by constraints, about one axis; a spring pulls at the arm if `latched`."""
    model = da.Model("latched" if latched else "free")
    a, b, x, y = model.coordinates("a b x y")
    model.speeds("wa wb vx vy")
    model.body("disc", mass=3.0, inertia=0.7, position=[0, 0], rotation=a)
    model.body("arm", mass=2.0, inertia=0.1, position=[x, y], rotation=b)
    pin = model.constrain([x - sp.cos(b) / 2, y - sp.sin(b) / 2], name="pin")
    if latched:
        model.constrain(a - b, name="latch")
    return model.compile(), pin


DISC, ARM = 0.7, 0.1 + 2.0 * 0.25  # moments of inertia about the axis


def angular_momentum(motion):
    spin = DISC * motion["wa"] + 0.1 * motion["wb"]
    return spin + 2.0 * (motion["x"] * motion["vy"] - motion["y"] * motion["vx"])


@pytest.mark.parametrize("spelling", ["system", "speeds"])
def test_a_latch_keeps_angular_momentum_and_loses_the_energy_of_a_plastic_impact(spelling):
    free, _ = shafts(latched=False)
    wa, wb = sp.Function("wa")(free.statement.time), sp.Function("wb")(free.statement.time)
    together = (DISC * wa + ARM * wb) / (DISC + ARM)
    then = shafts(latched=True)[0] if spelling == "system" else {"wa": together, "wb": together}
    latch = da.Event(sp.Function("a")(free.statement.time) - sp.Function("b")(free.statement.time), 1, then=then)
    state = free.initial({"a": 0.0, "b": 1.0, "wa": 3.0, "wb": -0.5}, guess={"x": 0.3, "y": 0.4})
    motion = free.simulate(state, 1.0, events=[latch], integrator=TIGHT)
    (caught,) = motion.events
    assert caught.t == pytest.approx(1.0 / 3.5, abs=1e-12)
    momentum = angular_momentum(motion)
    assert momentum[0] == pytest.approx(DISC * 3.0 - ARM * 0.5, rel=1e-14)
    assert np.ptp(momentum) < 1e-12
    reduced = DISC * ARM / (DISC + ARM)
    assert caught.energy_lost == pytest.approx(reduced * 3.5**2 / 2, rel=1e-12)
    assert motion["wa"][-1] == pytest.approx((DISC * 3.0 - ARM * 0.5) / (DISC + ARM), rel=1e-12)
    assert motion["wb"][-1] == pytest.approx(motion["wa"][-1], rel=1e-12)
    assert motion.certificate.ok
    if spelling == "system":
        assert caught.impulses["latch"] == pytest.approx(-reduced * 3.5, rel=1e-12)
        assert "continues as `latched` after impulses that keep momentum" in str(motion.certificate)
        assert motion.constraint_names == ("pin[0]", "pin[1]", "latch")
        before = motion.t < caught.t
        assert not motion["latch"][before].any()
        assert not motion.violation["position"]["latch"][before].any()
        assert [part.system.name for part in motion.segments] == ["free", "latched"]


def test_the_impulse_is_the_one_of_newton_and_euler():
    """A rod in free flight caught at its end: the end stops, the pin pushes by m (v+ - v-)."""

    def rod(*, pinned):
        model = da.Model("pinned rod" if pinned else "free rod")
        x, y, th = model.coordinates("x y th")
        model.speeds("vx vy w")
        model.body("rod", mass=3.0, inertia=0.25, position=[x, y], rotation=th)
        if pinned:
            model.constrain([x - sp.cos(th) / 2, y - sp.sin(th) / 2], name="pin")
        return model.compile(), y - sp.sin(th) / 2

    free, end = rod(pinned=False)
    state = free.initial({"x": 0.5, "y": 1.0, "th": 0.0, "vx": 0.0, "vy": -2.0, "w": 0.0})
    motion = free.simulate(state, 1.0, events=[da.Event(end, -1, then=rod(pinned=True)[0], name="caught")])
    spin = 3.0 * 2.0 * 0.5 / (0.25 + 3.0 * 0.25) * -1.0  # angular momentum about the end is kept
    (caught,) = motion.events
    assert caught.t == pytest.approx(0.5, abs=1e-12)
    assert caught.after["w"] == pytest.approx(spin, rel=1e-12)
    assert caught.after["vy"] == pytest.approx(spin / 2, rel=1e-12)
    assert caught.impulses["pin[0]"] == pytest.approx(0.0, abs=1e-12)
    assert caught.impulses["pin[1]"] == pytest.approx(3.0 * (spin / 2 + 2.0), rel=1e-12)
    assert caught.energy_lost == pytest.approx(3.0 * 4.0 / 2 - spin**2 / 2, rel=1e-12)


def test_a_particle_leaves_a_sphere_where_the_normal_force_ends():
    def on(*, sphere):
        model = da.Model("sliding" if sphere else "flying")
        x, z = model.coordinates("x z")
        model.speeds("vx vz")
        model.particle("P", mass=1.5, position=[x, 0, z])
        model.gravity([0, 0, -G])
        if sphere:
            model.constrain(x**2 + z**2 - 1, name="sphere")
        return model.compile()

    sliding, flying = on(sphere=True), on(sphere=False)
    state = sliding.initial({"x": np.sin(0.2), "vx": 0.0}, guess={"z": 1.0})
    lift = da.Event("sphere", direction=-1, then=flying, name="lift-off")
    motion = sliding.simulate(state, 2.0, events=[lift], integrator=TIGHT)
    (left,) = motion.events
    assert left.state["z"] == pytest.approx(2 / 3 * np.cos(0.2), abs=1e-10)
    assert left.energy_lost == pytest.approx(0.0, abs=1e-12)
    later = motion.t > left.t
    flight = motion.t[later] - left.t
    assert motion["x"][later] == pytest.approx(left.state["x"] + left.state["vx"] * flight, abs=1e-10)
    assert not motion["sphere"][later].any()
    assert motion.certificate.ok


def test_a_mass_on_a_shaking_table_lifts_off_and_lands_again():
    A, w = 0.02, 30.0

    def particle(*, carried):
        model = da.Model("carried" if carried else "in flight")
        (y,) = model.coordinates("y")
        model.speeds("v")
        model.particle("P", mass=0.4, position=[0, y])
        model.gravity([0, -G])
        table = A * sp.sin(w * model.t)
        if carried:
            model.constrain(y - table, name="table")
        return model.compile(), y - table

    carried, gap = particle(carried=True)
    flying, _ = particle(carried=False)
    lift = da.Event("table", direction=-1, then=flying, name="lift")
    land = da.Event(gap, direction=-1, then=carried, name="land")
    motion = carried.simulate(carried.initial(), 0.5, events=[lift, land], integrator=TIGHT)
    up = np.arcsin(G / (A * w**2)) / w  # the table falls faster than g from here on
    y0, v0 = A * np.sin(w * up), A * w * np.cos(w * up)
    down = brentq(lambda t: y0 + v0 * (t - up) - G / 2 * (t - up) ** 2 - A * np.sin(w * t), up + 0.02, up + 0.25)
    speed = v0 - G * (down - up)
    first, second = motion.events[:2]
    assert (first.name, second.name) == ("lift", "land")
    assert first.t == pytest.approx(up, abs=1e-11)
    assert second.t == pytest.approx(down, abs=1e-11)
    assert second.after["v"] == pytest.approx(A * w * np.cos(w * down), abs=1e-11)
    assert second.impulses["table"] == pytest.approx(0.4 * (A * w * np.cos(w * down) - speed), abs=1e-10)
    assert len(motion.events) >= 4
    assert [o.name for o in motion.events] == (["lift", "land"] * len(motion.events))[: len(motion.events)]
    assert motion["table"].min() > -1e-9
    assert motion.certificate.ok


def test_a_blade_that_drops_onto_the_ice():
    """A velocity constraint that begins suddenly: the blade stops moving sideways, by an impulse at its point."""
    m, inertia, a = 4.0, 0.5, 0.3

    def sleigh(*, cutting):
        model = da.Model("cutting" if cutting else "gliding")
        x, y, th = model.coordinates("x y th")
        vx, vy, w = model.speeds("vx vy w")
        model.body("sleigh", mass=m, inertia=inertia, position=[x, y], rotation=th)
        if cutting:
            model.constrain(-vx * sp.sin(th) + vy * sp.cos(th) - a * w, name="blade")
        return model.compile()

    gliding, cutting = sleigh(cutting=False), sleigh(cutting=True)
    drop = da.Event(gliding.statement.time - 0.5, then=cutting, name="drop")
    state = gliding.initial({"x": 0, "y": 0, "th": 0.2, "vx": 1.0, "vy": 2.0, "w": -1.5})
    motion = gliding.simulate(state, 1.0, events=[drop], integrator=TIGHT)
    (o,) = motion.events
    th = o.state["th"]
    along = np.array([np.cos(th), np.sin(th)])
    across = np.array([-np.sin(th), np.cos(th)])
    v = np.array([1.0, 2.0])
    push = -(v @ across - a * -1.5) / (1 / m + a**2 / inertia)
    assert o.impulses["blade"] == pytest.approx(push, rel=1e-12)
    after = np.array([o.after["vx"], o.after["vy"]])
    assert after @ along == pytest.approx(v @ along, rel=1e-12)
    assert after @ across == pytest.approx(v @ across + push / m, rel=1e-11)
    assert o.after["w"] == pytest.approx(-1.5 - a * push / inertia, rel=1e-12)
    assert motion.certificate.ok


def test_a_bob_that_hits_a_wall_keeps_to_its_rod():
    system, state = swing()
    x = system.statement.coordinates[0]
    wall = da.Event(x - sp.Rational(1, 2), then={x.diff(): -x.diff() / 2}, name="wall")
    motion = system.simulate(state, 1.5, events=[wall], integrator=TIGHT)
    hit = motion.events[0]
    assert hit.after["vx"] == pytest.approx(-hit.state["vx"] / 2, rel=1e-12)
    assert hit.after["vy"] == pytest.approx(-hit.state["vy"] / 2, rel=1e-12)  # both belong to one angular velocity
    assert hit.energy_lost == pytest.approx(0.75 * G * np.sqrt(0.75), rel=1e-10)
    assert motion.certificate.ok


def test_work_and_losses_add_up_over_changes():
    model = da.Model("ball in air")
    (y,) = model.coordinates("y")
    (v,) = model.speeds("v")
    model.particle("P", mass=1.0, position=[0, y])
    model.gravity([0, -G])
    model.generalized_force({y: -0.3 * v})
    system = model.compile()
    events = [da.Event(y, -1, then={v: -v * 0.9}, name="bounce")]
    motion = system.simulate(system.initial({y: 1, v: 0}), 2.0, events=events, integrator=TIGHT)
    assert len(motion.segments) >= 3
    assert (np.diff(motion.work) <= 0.0).all()
    assert (np.diff(motion.energy_lost) >= 0.0).all()
    assert motion.work[-1] < -0.5
    assert np.abs(motion.energy_balance).max() < 1e-11
    assert motion.energy[-1] == pytest.approx(motion.energy[0] + motion.work[-1] - motion.energy_lost[-1], rel=1e-10)
    asked = system.simulate(system.initial({y: 1, v: 0}), 2.0, events=events, integrator=TIGHT, t_eval=[0.0, 1.7])
    assert motion.resampled([0.3, 1.7]).work[-1] == pytest.approx(asked.work[asked.t == 1.7][0], rel=1e-10)


@pytest.mark.parametrize(
    ("formulation", "drift"),
    [(da.MinimalKane(), None), (da.NonminimalKane(), None), (da.NullSpace(), None), (da.UdwadiaKalaba(), None),
     (None, da.NoCorrection())],
)  # fmt: skip
def test_events_do_not_depend_on_the_formulation(formulation, drift):
    system, state = swing()
    events = [da.Event("x", direction=1, name="x"), da.Event(sp.Symbol("rod") + 10, name="rod")]
    options = {"events": events, "integrator": TIGHT}
    expected = system.simulate(state, 2.0, **options).events
    found = system.simulate(state, 2.0, formulation=formulation, drift=drift, **options).events
    assert [o.name for o in found] == [o.name for o in expected]
    assert len(expected) == 5
    assert [o.t for o in found] == pytest.approx([o.t for o in expected], abs=1e-11)


# -- where and when --------------------------------------------------------------------------------------------------


def test_pendulum_passes_the_bottom_at_quarter_periods():
    system, state = swing()
    motion = system.simulate(state, 10.0, events=[da.Event("x")], integrator=TIGHT)
    assert isinstance(motion, da.Motion)
    quarter = np.sqrt(1.0 / G) * ellipk(0.5)
    times = np.array([o.t for o in motion.events])
    assert times == pytest.approx(quarter * (2 * np.arange(8) + 1), abs=1e-10)
    for o in motion.events:
        assert abs(o.state["x"]) < 1e-13
        assert o.state["y"] == pytest.approx(-1.0, abs=1e-12)  # the constraint holds at the event
        assert o.after is None
    assert len(system.simulate(state, 10.0).t) == len(system.simulate(state, 10.0, events=[da.Event("x")]).t)


def test_directions():
    system, state = swing()
    found = [
        [o.t for o in system.simulate(state, 10.0, events=[da.Event("x", direction=d)]).events] for d in (-1, 0, 1)
    ]
    assert [len(times) for times in found] == [4, 8, 4]
    assert sorted(found[0] + found[2]) == pytest.approx(found[1], abs=1e-12)
    assert found[2][0] < found[0][0]


def test_terminal_event_ends_the_motion_there():
    system, state = swing()
    motion = system.simulate(state, 10.0, events=[da.Event("x", direction=-1, terminal=True, name="bottom")])
    assert motion.success
    assert motion.message.startswith("ended by event `bottom` at t = 1.77588146")
    assert motion.t[-1] == motion.events[0].t == pytest.approx(3 * np.sqrt(1.0 / G) * ellipk(0.5), abs=1e-8)
    assert abs(motion["x"][-1]) < 1e-12
    assert motion.certificate.ok


def test_accelerations_rates_and_time_in_events():
    system, state = swing()
    rod, t = sp.Symbol("rod"), system.statement.time
    y = system.statement.coordinates[1]
    events = [da.Event("vx'", name="a"), da.Event(y.diff(t), name="v"), da.Event(t - 0.7, name="t"),
              da.Event(rod - 5, name="la")]  # fmt: skip
    motion = system.simulate(state, 1.2, events=events, integrator=TIGHT)
    assert [o.name for o in motion.events["t"]] == ["t"]
    assert motion.events["t"][0].t == pytest.approx(0.7, abs=1e-15)
    quarter = np.sqrt(1.0 / G) * ellipk(0.5)
    assert [o.t for o in motion.events["v"]] == pytest.approx([quarter, 2 * quarter], abs=1e-10)
    assert min(abs(o.t - quarter) for o in motion.events["a"]) < 1e-10
    # The tension is 3 m g cos(theta) = 2 |la| L, so that |la| = 5 where y = -10 / (3 g).
    for o in motion.events["la"]:
        assert abs(o.state["rod"]) == pytest.approx(5.0, abs=1e-9)
        assert o.state["y"] == pytest.approx(-10 / (3 * G), abs=1e-9)
    assert [o.t for o in motion.events] == sorted(o.t for o in motion.events)


def test_fixed_steps_locate_as_accurately_as_their_dense_output():
    system, state = swing()
    quarter = np.sqrt(1.0 / G) * ellipk(0.5)

    def error(step):
        motion = system.simulate(state, 5.0, events=[da.Event("x")], integrator=da.RK4(step))
        return np.abs([o.t - (2 * k + 1) * quarter for k, o in enumerate(motion.events)]).max()

    errors = [error(step) for step in (0.01, 0.005, 0.0025)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (orders > 3.6).all()
    assert errors[-1] < 1e-8


def test_many_occurrences_are_all_kept():
    system, state = swing()
    t = system.statement.time
    motion = system.simulate(
        state, 10.0, events=[da.Event(sp.sin(300 * t), name="tick")], integrator=da.DOP853(max_step=0.01)
    )
    times = np.array([o.t for o in motion.events])
    assert times == pytest.approx(np.pi / 300 * np.arange(1, len(times) + 1), abs=1e-13)
    assert len(times) == int(3000 / np.pi)


def test_two_crossings_within_one_step_are_seen():
    system, x, y, vx, vy, _ = ball()
    state = system.initial({x: 0, y: 0, vx: 0, vy: G / 2})  # back at t = 1; y = G/2 t (1 - t)
    level = da.Event(y - G / 10, name="level")
    motion = system.simulate(state, 1.0, events=[level], integrator=da.DOP853(first_step=1.0))
    assert motion.stats["steps"] == 1
    assert [o.t for o in motion.events] == pytest.approx([(1 - 0.2**0.5) / 2, (1 + 0.2**0.5) / 2], abs=1e-14)


def test_an_event_at_the_start_does_not_occur_there():
    system, x, y, vx, vy, _ = ball()
    state = system.initial({x: 0, y: 0, vx: 1, vy: 3})
    events = [da.Event(x, name="x"), da.Event(y, name="y")]
    motion = system.simulate(state, 1.0, events=events, integrator=TIGHT)
    assert [(o.name, o.t) for o in motion.events] == [("y", pytest.approx(6.0 / G, abs=1e-13))]


def test_simultaneous_changes_all_happen():
    model = da.Model("two balls")
    a, b = model.coordinates("a b")
    va, vb = model.speeds("va vb")
    model.particle("A", mass=1.0, position=[0, a])
    model.particle("B", mass=3.0, position=[1, b])
    model.gravity([0, -G])
    system = model.compile()
    events = [
        da.Event(b, -1, then={vb: -vb / 2}, name="b"),
        da.Event(a, -1, then={va: -va}, name="a"),
        da.Event(a - b, name="level"),
        da.Event(a + b, -1, name="sum"),
    ]
    state = system.initial({a: 1, b: 1, va: 0, vb: 0})
    motion = system.simulate(state, 1.0, events=events, integrator=TIGHT)
    first = [o for o in motion.events if o.t < 0.46]
    assert [o.name for o in first] == ["b", "a", "sum"]
    assert [o.t for o in first] == pytest.approx([np.sqrt(2 / G)] * 3, abs=1e-13)
    assert len({o.t for o in first}) == 1
    assert first[2].state["va"] == first[0].state["va"] < 0.0  # recorded as it was before the changes
    after = motion.segments[1]
    assert len(after.t) > 1
    assert after["va"][0] == pytest.approx(np.sqrt(2 * G), rel=1e-12)
    assert after["vb"][0] == pytest.approx(np.sqrt(2 * G) / 2, rel=1e-12)
    assert motion.at(1.0)[a] == pytest.approx(
        np.sqrt(2 * G) * (1 - np.sqrt(2 / G)) - G / 2 * (1 - np.sqrt(2 / G)) ** 2, abs=1e-11
    )


@pytest.mark.parametrize("integrator", [da.DOP853(), da.RK4(1e-2)])
def test_changes_without_end_are_noticed(integrator):
    system, x, y, vx, vy, e = ball()
    state = system.initial({x: 0, y: 1, vx: 0, vy: 0}, parameters={e: 0.5})
    motion = system.simulate(state, 10.0, events=[bounce()], integrator=integrator)
    assert not motion.success
    assert "ever faster" in motion.message
    assert motion.t[-1] == pytest.approx(3 * np.sqrt(2 / G), abs=1e-4)
    assert motion["y"].min() > -1e-12
    assert len(motion.segments) < 30
    assert not motion.certificate.ok


def test_changes_by_a_function():
    system, x, y, vx, vy, _ = ball()

    def elastic(state):
        return system.initial({x: state[x], y: 0, vx: state[vx], vy: -state[vy]}, t0=state.t)

    state = system.initial({x: 0, y: 1, vx: 0, vy: 0})
    motion = system.simulate(state, 3.0, events=[da.Event(y, -1, then=elastic)], integrator=TIGHT)
    first = np.sqrt(2 / G)
    assert [o.t for o in motion.events] == pytest.approx(first * np.array([1, 3, 5]), abs=1e-11)

    def interrupted(_):
        raise KeyboardInterrupt

    with pytest.raises(da.SimulationInterrupt) as caught:
        system.simulate(state, 3.0, events=[da.Event(y, -1, then=interrupted)])
    kept = caught.value.motion
    assert kept.message.startswith("interrupted from the keyboard")
    assert kept.t[-1] == pytest.approx(first)
    wrong = system.simulate(state, 3.0, events=[da.Event(y, -1, then=lambda _: None)])
    assert not wrong.success
    assert "returned NoneType, not a State" in wrong.message


# -- reading a sequence ----------------------------------------------------------------------------------------------


def test_a_sequence_reads_like_a_motion(tmp_path):
    free, pin = shafts(latched=False)
    latched, _ = shafts(latched=True)
    latch = da.Event(
        sp.Function("a")(free.statement.time) - sp.Function("b")(free.statement.time), then=latched, name="L"
    )
    state = free.initial({"a": 0.0, "b": 1.0, "wa": 3.0, "wb": -0.5}, guess={"x": 0.3, "y": 0.4})
    motion = free.simulate(state, 1.0, events=[latch, da.Event("b", name="b")])
    n = len(motion)
    assert motion.q.shape == motion.u.shape == motion.udot.shape == motion.reactions.shape == (n, 4)
    assert motion.multipliers.shape == (n, 3)
    assert motion.energy.shape == motion.work.shape == motion.energy_balance.shape == (n,)
    assert motion.reaction("latch").shape == motion.reaction(pin).shape == (n, 4)
    assert motion.constraint_power("latch").shape == (n,)
    assert motion.reaction_on("arm").force.shape == (n, 3)
    assert motion.stats["steps"] == sum(part.stats["steps"] for part in motion.segments)
    assert set(motion.to_pandas().columns) >= {"a", "wb", "la(latch)", "energy"}
    assert motion.to_xarray().sizes["constraint"] == 3
    assert motion.resampled([0.1, 0.2, 0.9])["a"] == pytest.approx([motion.at(t)["a"] for t in (0.1, 0.2, 0.9)])
    assert np.abs(motion.resampled([0.1, 0.9]).energy_balance).max() < 1e-9
    with pytest.raises(da.ArrayError, match=r"times must increase, but 0.2 follows 0.9; .* motion.sample"):
        motion.resampled([0.9, 0.2])  # they came back in another order
    coordinates, *_ = motion.plot(tmp_path / "motion.png").axes
    assert [line.get_label() for line in coordinates.lines] == ["a", "b", "x", "y"]
    assert np.isin(motion["a"], coordinates.lines[0].get_ydata()).all()
    page = motion.animate(tmp_path / "motion.html").read_text(encoding="utf-8")
    scene = json.loads(re.search(r"<script[^>]*>(.*?)</script>", page, re.DOTALL)[1])
    assert [track["name"] for track in scene["tracks"]] == ["disc", "arm"]
    centre = motion.resampled(scene["t"])
    np.testing.assert_allclose(np.array(scene["tracks"][1]["positions"])[:, 0], centre["x"], atol=1e-6)
    with pytest.raises(da.UnknownNameError, match="nothing"):
        motion["nothing"]
    with pytest.raises(da.ArrayError, match="within the motion"):
        motion.resampled([2.0])
    again = da.MotionSequence.load(motion.save(tmp_path / "motion.npz"), free, latched)
    assert np.array_equal(again.multipliers, motion.multipliers)
    assert np.array_equal(again.energy_balance, motion.energy_balance)
    assert judgements(again) == judgements(motion)
    assert again.events["L"][0].impulses == motion.events["L"][0].impulses
    again.animate(tmp_path / "again.html")
    with pytest.raises(da.DalembertError, match=r"`latched` with the constraints .* which is not among the systems"):
        da.MotionSequence.load(tmp_path / "motion.npz", free, shafts(latched=False)[0], swing()[0])


def test_a_motion_with_events_is_saved_with_them(tmp_path):
    system, state = swing()
    motion = system.simulate(state, 2.0, events=[da.Event("x"), da.Event("y", name="top")])
    again = da.Motion.load(motion.save(tmp_path / "m.npz"), system)
    assert [(o.name, o.t, o.state["vx"]) for o in again.events] == [(o.name, o.t, o.state["vx"]) for o in motion.events]
    assert judgements(again) == judgements(motion)


def test_events_that_do_not_occur_are_noted():
    system, state = swing()
    motion = system.simulate(state, 1.0, events=[da.Event(system.statement.coordinates[0] - 5, name="far")])
    assert len(motion.events) == 0
    assert "event `far` did not occur" in str(motion.certificate)
    assert motion.certificate.ok


# -- what is refused -------------------------------------------------------------------------------------------------


def test_a_constraint_that_does_not_hold_is_not_imposed():
    free, _ = shafts(latched=False)
    early = da.Event(free.statement.time - 0.1, then=shafts(latched=True)[0], name="early")
    state = free.initial({"a": 0.0, "b": 1.0, "wa": 3.0, "wb": -0.5}, guess={"x": 0.3, "y": 0.4})
    motion = free.simulate(state, 1.0, events=[early])
    assert not motion.success
    assert motion.t[-1] == pytest.approx(0.1)
    assert "event `early` at t = 0.1: the position constraint `latch` of `latched` is off by -0.65" in motion.message


def test_faulty_events():
    _, x, y, vx, _, _ = ball()
    for arguments, message in (
        ((sp.Integer(3),), "3 is a constant"),
        (([x, y],), "must be a scalar|must be a SymPy expression"),
        ((sp.Matrix([x]),), "must be a scalar"),
        ((None,), "SymPy expression"),
        ((x, 2), "direction is 2; it must be -1, 0 or 1"),
        ((x, True), "direction is True"),
        ((x, 0, 1), "terminal is 1"),
        ((x, 0, True, {vx: 0}), "drop one"),
        ((x, 0, False, {}), "`then` is empty"),
        ((x, 0, False, {vx: "fast"}), "new value of `vx`"),
    ):
        with pytest.raises(da.OptionError, match=message):
            da.Event(*arguments)
    with pytest.raises(da.PairingError, match="neither a mapping"):
        da.Event(x, then=3)


def test_events_that_do_not_fit_the_system():
    system, x, y, vx, vy, e = ball()
    state = system.initial({x: 0, y: 1, vx: 0, vy: 0})
    other = sp.Function("wheel")(system.statement.time)
    for events, error, message in (
        ([da.Event(x - other)], da.UnknownNameError, "`wheel` is not known in event `-wheel \\+ x` of `ball`"),
        ([da.Event("yy")], da.UnknownNameError, "did you mean `y`"),
        ([da.Event(e - 1)], da.OptionError, "constant during a motion"),
        ([da.Event(x), da.Event(x, 1)], da.OptionError, "2 events are called `x`"),
        ([da.Event(x, then={"z": 0})], da.UnknownNameError, "`z` is not known in what event `x` changes"),
        ([da.Event(x, then={vx: other})], da.UnknownNameError, "the new value of `vx`, event `x`"),
        ([da.Event(x, then=swing()[0]), da.Event(x, then=shafts(latched=False)[0])], da.OptionError, "2 events"),
        ([da.Event(x, then=shafts(latched=False)[0])], da.PairingError, "has the coordinates a, b, x, y, not x, y"),
        ([x], da.PairingError, "not an Event"),
    ):
        with pytest.raises(error, match=message):
            system.simulate(state, 1.0, events=events)
    with pytest.raises(da.DalembertError, match="no longer knows its symbols"):
        pickle.loads(pickle.dumps(system)).simulate(state, 1.0, events=[da.Event("x")])


def test_multipliers_in_events_must_be_unique():
    model = da.Model("two rods")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1.0, position=[x, y])
    model.constrain([x**2 + y**2 - 1, 2 * (x**2 + y**2 - 1)], name="rod")
    system = model.compile()
    state = system.initial({x: 1, x.diff(): 0, y.diff(): 1})
    assert len(system.simulate(state, 4.0, events=[da.Event(y)]).events) == 1
    with pytest.raises(da.OptionError, match=r"the multiplier of `rod\[0\]` is not unique"):
        system.simulate(state, 4.0, events=[da.Event("rod[0]")])


def test_integrators_that_do_not_march_have_no_events():
    class Own:
        explicit = True

        def run(self, engine, z0, span, t_eval=None, progress=None):
            raise NotImplementedError

    system, state = swing()
    with pytest.raises(da.PairingError, match=r"Own does not support `events`; .* DOP853"):
        system.simulate(state, 1.0, integrator=Own(), events=[da.Event("x")])


def test_reaction_of_a_joint_that_breaks():
    """A rod pendulum let go at the height of its pivot is pulled with 3 m g at the lowest point; cut there, no more."""
    systems = []
    for held in (True, False):
        model = da.Model("held" if held else "free")
        x, y = model.coordinates("x y")
        P = model.particle("P", mass=2.0, position=[x, y])
        model.gravity([0, -G])
        if held:
            model.joints.rod("R", model.marker(model.ground, [0, 0]), P, length=1.5)
        systems.append(model.compile())
    held, free = systems
    state = held.initial({"x": -1.5, "x'": 0.0, "y'": 0.0}, guess={"y": 0.0})
    motion = held.simulate(state, 1.5, events=[da.Event("x", then=free, name="cut")], integrator=TIGHT)
    force, torque = motion.joint_reaction("R")
    before = len(motion.segments[0])
    assert force.shape == torque.shape == (len(motion), 3)
    np.testing.assert_allclose(force[before - 1], [0, 3 * 2.0 * G, 0], atol=1e-9)
    np.testing.assert_allclose(force[:before], motion.reaction_on("P").force[:before], atol=1e-9)
    assert not force[before:].any()
    assert not torque.any()
    with pytest.raises(da.UnknownNameError, match="`S` is not known"):
        motion.joint_reaction("S")

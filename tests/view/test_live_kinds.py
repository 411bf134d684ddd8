"""Live pages with servo constraints, friction, laws, tables, events and clocks: the native motion over 10 s."""

import numpy as np
import pytest
from browser import Browser
from live_kinds import KINDS
from test_live import computed, difference, needs_node

import dalembert as da
from dalembert import problems

FINE = da.DOP853(rtol=1e-12, atol=1e-13)


def native_rows(motion, times):
    """States (nt, nq + nu) at the times that were reached; those before a change."""
    t, first = np.unique(motion.t, return_index=True)
    return np.hstack([motion.q, motion.u])[first[np.isin(t, times)]]


@needs_node
@pytest.mark.parametrize("name", KINDS)
def test_the_page_computes_the_native_motion(name, tmp_path):
    """The goal of the page: 1e-9 over 10 s, and the same events at the same times."""
    system, state, events = KINDS[name]()
    path = system.live(tmp_path / "live.html", state, t_end=10.0, events=events)
    assert path.stat().st_size < 1_000_000
    times = np.linspace(0.0, 10.0, 101)
    found = computed(path, times)
    assert (found["stuck"], found["problem"]) == ("", "")
    motion = system.simulate(state, 10.0, t_eval=times, integrator=FINE, events=events)
    wanted = native_rows(motion, times)
    assert len(found["rows"]) == len(wanted)
    assert difference(found["rows"], wanted) < 1e-9
    stops = {event.name for event in events if isinstance(event, da.Every) or event.stops}
    happened = [o for o in motion.events if o.name in stops]
    assert [o["name"] for o in found["happened"]] == [o.name for o in happened]
    assert len(happened) > 0 or not events
    np.testing.assert_allclose([o["t"] for o in found["happened"]], [o.t for o in happened], atol=1e-9, rtol=0)


@needs_node
def test_a_moved_parameter_changes_the_events_as_in_the_native_motion(tmp_path):
    system, state, events = KINDS["bounce"]()
    path = system.live(tmp_path / "live.html", state, sliders=["e"], t_end=3.0, events=events)
    times = np.linspace(0.0, 3.0, 31)
    found = computed(path, times, {system.parameters.index("e"): 0.7})
    motion = system.simulate(state, 3.0, t_eval=times, parameters={"e": 0.7}, integrator=FINE, events=events)
    assert difference(found["rows"], native_rows(motion, times)) < 1e-9


@needs_node
def test_bounces_that_come_ever_faster_end_the_motion(tmp_path):
    """At e = 0.4 they accumulate after sqrt(2 h / g) (1 + e) / (1 - e) = 1.05 s."""
    system, state, events = KINDS["bounce"]()
    path = system.live(tmp_path / "live.html", state, sliders=["e"], t_end=3.0, events=events)
    found = computed(path, np.linspace(0.0, 3.0, 31), {system.parameters.index("e"): 0.4})
    assert found["problem"] == "events come ever faster"
    assert len(found["rows"]) == 11


def ball_that_stops(g=9.81, height=1.0):
    """A ball on a floor that throws it back by e; at e = 0 it must not fall through."""
    model = da.Model("ball")
    (y,) = model.coordinates("y")
    (v,) = model.speeds("v")
    e, weight = model.parameters(e=0.8, g=g)
    model.particle("ball", mass=1, position=[y, 0])
    model.gravity([-weight, 0])
    system = model.compile()
    return system, system.initial({y: height, v: 0.0}), [da.Event(y, direction=-1, then={v: -e * v}, name="floor")]


@needs_node
@pytest.mark.parametrize("size", [1.0, 1e-9, 1e9])
def test_a_ball_that_is_not_thrown_back_does_not_fall_through_the_floor(size, tmp_path):
    """It ends at sqrt(2 h / g) = 0.45 s, as the native motion does, in any unit of length."""
    system, state, events = ball_that_stops(9.81 * size, size)
    path = system.live(tmp_path / "live.html", state, sliders=["e"], t_end=2.0, events=events)
    times = np.linspace(0.0, 2.0, 41)
    found = computed(path, times, {system.parameters.index("e"): 0.0})
    motion = system.simulate(state, 2.0, t_eval=times, parameters={"e": 0.0}, integrator=FINE, events=events)
    assert not motion.success
    assert "ever faster" in motion.message
    assert found["problem"] == "events come ever faster"
    assert [o["name"] for o in found["happened"]] == [o.name for o in motion.events] == ["floor"]
    assert len(found["rows"]) == len(native_rows(motion, times)) == 10
    assert np.abs(np.array(found["rows"]) - native_rows(motion, times)).max() < 1e-9 * size


def test_instants_that_a_page_cannot_find_are_refused_by_name(tmp_path):
    system, state, _ = KINDS["switched"]()
    with pytest.raises(da.PairingError, match=r"where `.*t\*\*2.*` passes a value, at a time that changes with `h`"):
        system.live(tmp_path / "x.html", state, sliders=["h"])
    assert system.live(tmp_path / "x.html", state, sliders={"h": (1.5, 3.0)}, t_end=1.2).exists()  # sooner


def test_what_events_cannot_do_in_a_page_is_refused_by_name(tmp_path):
    system, state, _ = KINDS["bounce"]()
    with pytest.raises(da.PairingError, match=r"event `mine` changes the motion by a Python function"):
        system.live(tmp_path / "x.html", state, events=[da.Every(0.1, then=lambda _: {"g": 1.0}, name="mine")])
    other = da.Model("moon")
    x, y = other.coordinates("x y")
    other.speeds("vx vy")
    other.particle("ball", mass=0.1, position=[x, y])
    with pytest.raises(da.PairingError, match=r"event `away` leads to `moon`, whose parameters .* \(see e, g\)"):
        system.live(tmp_path / "x.html", state, events=[da.Event("y", then=other.compile(), name="away")])
    several = problems.get("n_four_bar")
    system = several.system()
    with pytest.raises(da.DalembertError, match=r"comes to a singular position at t = .* choose an earlier t_end"):
        system.live(tmp_path / "x.html", several.state(system))
    model = da.Model("long")
    (x,) = model.coordinates("x")
    push = model.table("push", np.arange(6000.0), np.sin(np.arange(6000.0)))
    model.particle("P", mass=1.0, position=[x, 0])
    model.generalized_force({x: push(model.t)})
    long = model.compile()
    with pytest.raises(da.DalembertError, match=r"a table of 6,001 points is too long for it \(at most 5,000\)"):
        long.live(tmp_path / "x.html", long.initial({"x": 0.0, "x'": 0.0}))
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def browser():
    chromium = Browser()
    yield chromium
    chromium.close()


@pytest.mark.parametrize("name", ["servo", "friction", "table", "stop", "lift_off", "clock", "plastic"])
def test_the_page_in_a_browser(browser, name, tmp_path):
    """It checks itself, moves with a slider, and fits a telephone; nothing is written to the console."""
    system, state, events = KINDS[name]()
    slider = system.parameters[0]
    page = system.live(tmp_path / "live.html", state, sliders=[slider], t_end=10.0, events=events)
    browser.open(page)
    assert browser.run("byId('check').textContent").startswith("Agrees with the native engine to")
    before = np.array(browser.run("[...now.run.at(frames[8]).z]"))
    browser.run(
        "facts.sliders[0].box.value = 1.1 * facts.p[0]; facts.sliders[0].box.dispatchEvent(new Event('change'))"
    )
    assert np.abs(np.array(browser.run("[...now.run.at(frames[8]).z]")) - before).max() > 1e-6
    ended = browser.run("byId('message').textContent")
    assert ("ended by" in ended) == (name == "lift_off")
    browser.open(page, 390, 800)
    assert browser.run("document.documentElement.scrollWidth") <= 390
    assert browser.errors == []
    assert len(browser.requests) == 1


def test_a_slider_that_makes_a_stop_plastic_ends_the_motion_in_a_browser(browser, tmp_path):
    """As the native motion: where the ball lies still, with the reason."""
    system, state, events = ball_that_stops()
    browser.open(system.live(tmp_path / "live.html", state, sliders={"e": (0.0, 1.0)}, t_end=2.0, events=events))
    assert browser.run("byId('check').textContent").startswith("Agrees with the native engine to")
    browser.run("facts.sliders[0].box.value = 0; facts.sliders[0].box.dispatchEvent(new Event('change'))")
    assert "ever faster" in browser.run("byId('message').textContent")
    lowest, reached = browser.run(
        "[Math.min(...now.run.pieces.flatMap(({nodes}) => nodes.map(({z}) => z[0]))), now.run.reached]"
    )
    motion = system.simulate(state, 2.0, parameters={"e": 0.0}, integrator=FINE, events=events)
    assert reached == pytest.approx(motion.t[-1], abs=1e-9)
    assert lowest > -1e-9
    assert browser.errors == []


def test_a_ball_is_seen_to_touch_the_floor(browser, tmp_path):
    """The moment of a bounce lies between two pictures; it is one of its own."""
    system, state, events = KINDS["bounce"]()
    browser.open(system.live(tmp_path / "live.html", state, t_end=5.0, events=events))
    t, low = browser.run("(() => { const y = scene.tracks[0].positions.map((p) => p[1]); return [scene.t, y]; })()")
    assert np.diff(t).min() >= 0  # a bounce has two samples: before and after
    first = int(np.argmin(np.abs(np.array(t) - np.sqrt(2 / 9.81))))
    assert t[first] == pytest.approx(np.sqrt(2 / 9.81), abs=1e-9)
    assert low[first] == pytest.approx(0.0, abs=1e-9)
    assert browser.errors == []

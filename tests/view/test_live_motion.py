"""A live page shows the motion itself between its steps, on the screen and in numbers; and what follows a slider."""

import numpy as np
import pytest
import sympy as sp
from browser import Browser

import dalembert as da
from dalembert.cli_new import write_new

RADIUS, END = 0.1, 3.0


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    """The model of `dalembert new` under a torque: 36 turns in 3 s, ten of them in the last half second."""
    file = da.from_toml(write_new(str(tmp_path_factory.mktemp("engine") / "engine"), None))
    system = file.model.compile()
    return system, system.initial(file.given, guess=file.guess, parameters={"torque": 0.6})


@pytest.fixture(scope="module")
def page(engine, tmp_path_factory):
    system, state = engine
    return system.live(tmp_path_factory.mktemp("page") / "engine.html", state, sliders={"r": (0.05, 0.2)}, t_end=END)


@pytest.fixture(scope="module")
def browser():
    chromium = Browser()
    yield chromium
    chromium.close()


def test_numbers_and_pictures_are_those_of_the_motion(browser, page, engine):
    """At any time, paused or not; the page and the native motion are both within 1e-9 of the exact one."""
    system, state = engine
    browser.open(page)
    motion = system.simulate(state, END, integrator=da.DOP853(rtol=1e-12, atol=1e-13))
    times = np.random.default_rng(1).uniform(0.0, END, 20)
    shown = browser.run(
        f"{times.tolist()}.map((t) => {{ seek(t); const at = present(state.t), stroke = scene.traces[0];"
        "return [stroke.name, valueAt(stroke.values, at), ...positionAt(scene.tracks[1], at)]; })"
    )
    assert {row[0] for row in shown} == {"stroke"}
    found = np.array([row[1:] for row in shown])
    wanted = np.column_stack([motion.sample(name, times) for name in ("stroke", "rod_x", "rod_y")])
    np.testing.assert_allclose(found[:, :3], wanted, atol=1e-8)


def test_curves_and_trails_are_those_of_the_motion(browser, page):
    """A pixel is a thousandth of the picture, 0.0005 m: circles are round, the slider keeps its pin and its stroke."""
    browser.open(page)
    crank, pin, stroke = np.array(
        browser.run(
            "Array.from({length: 4000}, (_, k) => { const at = locate(facts.t_end * k / 4000);"
            "const [crank, rod] = scene.lines.map((line) => pointsAt(line, at));"
            "return [Math.hypot(...crank[1]), Math.hypot(rod[1][0] - rod[0][0], rod[1][1] - rod[0][1]),"
            "valueAt(scene.traces[0].values, at)]; })"
        )
    ).T
    np.testing.assert_allclose(crank, RADIUS, atol=5e-4)
    np.testing.assert_allclose(pin, 3 * RADIUS, atol=5e-4)
    trail = np.array(browser.run("fineOf(scene.tracks[0]).map(({p}) => Math.hypot(p[0], p[1]))"))
    np.testing.assert_allclose(trail, RADIUS / 2, atol=5e-4)
    assert stroke.max() == pytest.approx(RADIUS, abs=5e-4)
    assert stroke.min() == pytest.approx(-RADIUS, abs=5e-4)


def test_agreement_is_that_of_what_is_shown(browser, page):
    """A page that showed its motion a microsecond late would not agree."""
    browser.open(page)
    assert browser.run("byId('check').textContent").startswith("Agrees with the native engine to")
    assert browser.run("compare()") < 1e-9
    late = browser.run("(() => { const at = now.run.at; now.run.at = (t) => at(t + 1e-6); return compare(); })()")
    assert late > 1e-6
    assert browser.run("byId('check').className") == "bad"


def test_a_parameter_in_terms_of_a_slider_follows(browser, page, engine):
    """The rod is three times as long as the crank."""
    system, _ = engine
    browser.open(page)
    browser.run("facts.sliders[0].box.value = 0.15; facts.sliders[0].box.dispatchEvent(new Event('change'))")
    p = dict(zip(system.parameters, browser.run("[...now.p]"), strict=True))
    assert p["l"] == pytest.approx(0.45, rel=1e-14)
    start = dict(zip((*system.coordinates, *system.speeds), browser.run("[...now.z]"), strict=True))
    assert 2 * np.hypot(start["crank_x"], start["crank_y"]) == pytest.approx(0.15, rel=1e-9)
    ends = [start["rod_x"] + 0.225 * np.cos(start["rod_a"]), start["rod_y"] + 0.225 * np.sin(start["rod_a"])]
    np.testing.assert_allclose(ends, [start["slider_x"], 0.0], atol=1e-9)
    assert browser.run("byId('message').textContent") == ""


def test_samples_are_as_many_as_rates_need_not_as_steps(browser, tmp_path):
    """Eighty turns of a rotor in 2 s: its angle is a parabola, for which steps are as long as they may be."""
    model = da.Model("rotor")
    (a,) = model.coordinates("a")
    (torque,) = model.parameters(torque=80 * np.pi)
    model.particle("P", mass=1.0, position=[sp.cos(a), sp.sin(a)])
    model.generalized_force({a: torque})
    model.output("height", sp.sin(a))
    system = model.compile()
    browser.open(system.live(tmp_path / "rotor.html", system.initial({"a": 0.0, "a'": 0.0}), t_end=2.0))
    radii, count = browser.run("[fineOf(scene.tracks[0]).map(({p}) => Math.hypot(...p)), count]")
    np.testing.assert_allclose(radii, 1.0, atol=2e-3)
    assert 12 * 80 < count < 40 * 80
    assert browser.run("coarse.size") == 0
    shown = browser.run(
        "scene.traces[0].values.slice(0, count).map((v, k) => v - Math.sin(40 * Math.PI * times[k] ** 2))"
    )
    np.testing.assert_allclose(shown, 0.0, atol=1e-9)
    assert browser.errors == []

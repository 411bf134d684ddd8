"""Frames are the motion at their times, and curves through them are the motion to a pixel."""

import json
import re

import numpy as np
import pytest
import sympy as sp
from browser import Browser
from mechanisms import bouncing, mechanism
from PIL import Image

import dalembert as da
from dalembert import problems
from dalembert.view import frames
from dalembert.view.overview import panels_of, scene_of

TURNS = 80


@pytest.fixture(scope="module")
def rotor():
    """A disc on an arm that turns ever faster, 80 times in 2 s; a t_eval of few times."""
    model = da.Model("rotor")
    (a,) = model.coordinates("a")
    model.particle("P", mass=1.0, position=[sp.cos(a), sp.sin(a)])
    model.generalized_force({a: 2 * np.pi * TURNS / 2})
    model.line([[0, 0], [sp.cos(a), sp.sin(a)]], name="arm")
    model.output("height", sp.sin(a))
    system = model.compile()
    return system.simulate(system.initial({"a": 0.0, "a'": 0.0}), 2.0, t_eval=np.linspace(0.0, 2.0, 41))


def height(t):
    return np.sin(np.pi * TURNS * t**2 / 2)


@pytest.fixture(scope="module")
def browser():
    chromium = Browser()
    yield chromium
    chromium.close()


@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "asymmetric_top", "andrews", "rattleback"])
def test_curves_through_frames_are_the_motion(name):
    """At any time between; here and in pictures a pixel is a thousandth of their size."""
    if name == "slider_crank":
        system, state = mechanism(name)
        motion = system.simulate(state, 5.0)
    else:
        problem = problems.get(name)
        motion = problem.simulate(t_end=min(problem.t_end, 2.0))
    for curves in (frames.CUBIC, frames.LINEAR):
        (part,), coarse = frames.frames_of(motion, (), curves)
        assert coarse == ()
        at = np.sort(np.random.default_rng(0).uniform(part.t[0], part.t[-1], 300))
        there = motion.resampled(at)
        picture = [m.system.evaluate("drawing", m.t, m.q, m.u, m.parameters) for m in (part, there)]
        d = motion.system.drawing
        places = np.delete(np.arange(picture[0].shape[1]), np.arange(9 * len(d.bodies)) + 3 * len(d.points))
        size = max(np.ptp(picture[1][:, places][:, axis::3]) for axis in range(3)) if len(places) else 1.0
        off = np.abs(curves.values(part.t, picture[0], at) - picture[1])[:, places].max(initial=0.0)
        assert off < 1.1e-3 * size  # the picture of these times may be a little smaller than that of the motion


def test_an_animation_is_the_motion_at_its_frames(rotor):
    scene = scene_of(rotor)
    values = next(trace.values for trace in scene.traces if trace.name == "height")
    np.testing.assert_allclose(values, height(scene.t), atol=1e-6)
    np.testing.assert_allclose(scene.tracks[0].positions[:, 1], height(scene.t), atol=1e-6)
    between = np.linspace(0.0, 2.0, 3001)
    circle = frames.CUBIC.values(scene.t, scene.tracks[0].positions, between)
    np.testing.assert_allclose(np.hypot(circle[:, 0], circle[:, 1]), 1.0, atol=2e-3)
    np.testing.assert_allclose(circle[:, 1], height(between), atol=2.5e-3)


def test_plots_are_dense_where_samples_are_not(rotor):
    panels = panels_of(rotor)
    np.testing.assert_allclose(panels.groups["outputs"]["height"], height(panels.t), atol=1e-6)
    between = np.linspace(0.0, 2.0, 3001)
    np.testing.assert_allclose(
        np.interp(between, panels.t, panels.groups["outputs"]["height"]), height(between), atol=3e-3
    )
    assert np.isin(rotor.t, panels.t).all()


def test_a_page_that_stands_still_shows_a_frame(browser, rotor, tmp_path):
    """Its clock, its picture and its numbers are those of the motion at that time."""
    browser.open(rotor.animate(tmp_path / "rotor.html"))
    for wanted in (0.5, 1.2345, 1.9):
        browser.run(f"pause(); seek({wanted}); paint()")
        t, y, value = browser.run(
            "[state.t, positionAt(scene.tracks[0], present(state.t))[1],"
            "valueAt(scene.traces.find(({name}) => name === 'height').values, present(state.t))]"
        )
        assert t == pytest.approx(wanted, abs=0.003)
        assert (y, value) == (pytest.approx(height(t), abs=1e-6), pytest.approx(height(t), abs=1e-6))
    browser.run("seek(0); stepBy(1e-9)")
    assert browser.run("state.t") > 0.0  # the next frame
    radii = browser.run("fineOf(scene.tracks[0]).map(({p}) => Math.hypot(...p))")
    np.testing.assert_allclose(radii, 1.0, atol=2e-3)
    assert browser.errors == []


def test_nothing_is_drawn_between_frames_that_are_too_few(browser, rotor, tmp_path):
    """A motion out of a file has its 41 samples: they are shown, and not joined where rates tell of turns between."""
    rotor.save(tmp_path / "m.npz")
    loaded = da.Motion.load(tmp_path / "m.npz", rotor.system)
    scene = scene_of(loaded)
    np.testing.assert_array_equal(scene.t, rotor.t)
    assert set(range(5, 40)) <= set(scene.coarse)
    browser.open(loaded.animate(tmp_path / "loaded.html"))
    browser.run("pause(); seek(1.52); paint()")
    assert browser.run("state.t") == pytest.approx(1.5)
    assert browser.run("positionAt(scene.tracks[0], locate(1.52))[1]") == pytest.approx(height(1.5), abs=1e-6)
    assert browser.run("fineOf(scene.tracks[0]).filter(({apart}) => apart).length") >= 35
    assert browser.errors == []


def test_more_turns_than_frames_are_left_open(rotor):
    found, coarse = frames.resolved(rotor, rotor.t, 100, frames.CUBIC)
    assert len(found) <= 41 + 100
    assert len(coarse) > 0


def test_a_change_has_two_frames(tmp_path):
    """Before and after: the ball is seen on the floor, and its speed is not drawn as a slope."""
    motion = bouncing()
    page = motion.report(tmp_path / "r.html").read_text(encoding="utf-8")
    scene, groups = (
        json.loads(text) for text in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    )
    speed = next(c["values"] for g in groups if g["name"] == "speeds" for c in g["channels"])
    (start, *_) = scene["starts"]
    t = np.sqrt(2 / 9.81)
    assert scene["t"][start - 1] == scene["t"][start] == pytest.approx(t, rel=1e-9)
    assert scene["tracks"][0]["positions"][start][2] == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(speed[start - 1 : start + 1], [-9.81 * t, 0.8 * 9.81 * t], rtol=1e-5)


def test_a_film_shows_the_motion_at_its_times(rotor, tmp_path):
    """The blue disc is where the motion is: at most 2 of 640 pixels away, in every fifth frame."""
    with Image.open(rotor.animate(tmp_path / "rotor.gif")) as film:
        count, heights = film.n_frames, []
        for k in range(0, film.n_frames, 5):
            film.seek(k)
            picture = np.asarray(film.convert("RGB"), dtype=int)
            rows, _ = np.nonzero(np.abs(picture - (0x2F, 0x6D, 0xB3)).max(axis=2) < 24)
            heights.append(0.5 * (rows.min() + rows.max()))
    wanted = height(np.linspace(0.0, 2.0, count)[::5])
    slope, offset = np.polyfit(wanted, heights, 1)
    assert np.abs(slope * wanted + offset - heights).max() <= 2.0

"""The animation in a headless Chromium: a hundred bodies play, and what a crowd would hide is not drawn."""

import numpy as np
import pytest
from browser import Browser

from dalembert.view.animation import Polyline, Scene, Track, write_animation

TRAIL_STRENGTHS = 7  # of a trail in a crowd: six pieces and where it begins


@pytest.fixture(scope="module")
def browser():
    chromium = Browser()
    yield chromium
    chromium.close()


def crowd(count, *, planar):
    """Bodies on circles of radius 0.3 around the points of a lattice, each with a link."""
    t = np.linspace(0.0, 10.0, 301)
    tracks, lines = [], []
    for k in range(count):
        a = 2 * t + 0.3 * k
        centre = np.array([k % 10, k // 10, 0.0 if planar else 0.5])
        c, s, zero, one = np.cos(a), np.sin(a), np.zeros_like(a), np.ones_like(a)
        positions = centre + 0.3 * np.stack([c, s, zero if planar else s], axis=1)
        rotations = np.moveaxis(np.array([[c, -s, zero], [s, c, zero], [zero, zero, one]]), -1, 0)
        tracks.append(Track(f"body {k}", "body", positions, rotations))
        links = np.stack([np.broadcast_to(centre, positions.shape), positions], axis=1)
        lines.append(Polyline(f"link {k}", links))
    return Scene("crowd", t, planar, tuple(tracks), tuple(lines))


def strokes_of_trails(browser):
    """How many strokes the trails of one picture take, and how many colours tracks have."""
    browser.run("pause(), seek(6), paint()")
    return browser.run(
        "(() => { const stroke = ink.stroke.bind(ink); let count = 0; ink.stroke = () => { count++; stroke(); };"
        "drawTrails(locate(state.t)); delete ink.stroke;"
        "return [count, Math.min(colours.track.length, scene.tracks.length)]; })()"
    )


@pytest.mark.parametrize("planar", [True, False])
def test_a_hundred_bodies_play(browser, planar, tmp_path):
    browser.open(write_animation(tmp_path / "crowd.html", crowd(100, planar=planar)))
    browser.wait_for("state.t > 0.3")
    assert browser.run("byId('clock').textContent").startswith("t = ")
    strokes, colours = strokes_of_trails(browser)
    assert colours <= strokes <= TRAIL_STRENGTHS * colours  # not a hundred times as many
    assert browser.errors == []


def test_few_bodies_have_trails_of_fine_strength(browser, tmp_path):
    browser.open(write_animation(tmp_path / "few.html", crowd(4, planar=True)))
    strokes, colours = strokes_of_trails(browser)
    assert strokes > 2 * TRAIL_STRENGTHS * colours


def test_box_and_axes_are_drawn_where_the_centre_does_not_cover_them(browser, tmp_path):
    """A body is 0.06 m wide here: in a picture of 10 m it is a dot, and from near it has its box and its axes."""
    browser.open(write_animation(tmp_path / "crowd.html", crowd(100, planar=True)))
    faces = (
        "(() => { const kept = drawFace; let count = 0; drawFace = (...a) => { count++; kept(...a); };"
        "paint(); drawFace = kept; return count; })()"
    )
    assert browser.run(f"pause(), seek(6), {faces}") == 0
    assert browser.run(f"view.scale(4, width / 2, height / 2), {faces}") == 100

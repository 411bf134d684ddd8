"""The report and the animation in a headless Chromium: playing, scrubbing, curves, hover values, zoom, telephone."""

import numpy as np
import pytest
from browser import Browser
from mechanisms import jointed

import dalembert as da
from dalembert.view.animation import Polyline, Scene, Track, write_animation

CURVES = "charts[0].element.toDataURL()"


@pytest.fixture(scope="module")
def browser():
    chromium = Browser()
    yield chromium
    chromium.close()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return jointed().report(tmp_path_factory.mktemp("report") / "report.html")


def opened(browser, page, **size):
    browser.open(page, **size)
    browser.run("pause(); seek(0.5); paint()")


def position(browser, chart, t):
    """Where a time is in a chart, on the screen."""
    return browser.run(
        f"(() => {{ const c = charts[{chart}], b = c.element.getBoundingClientRect();"
        f"return [b.x + c.left + (c.right - c.left) * ({t} - zoom.from) / (zoom.to - zoom.from), b.y + 60]; }})()"
    )


def test_it_plays_scrubs_and_asks_for_nothing(browser, page):
    browser.open(page)
    browser.wait_for("state.t > 0.1")
    browser.press(" ", "Space", " ")
    assert browser.run("state.playing") is False
    before = browser.run("canvas.toDataURL()")
    browser.run("byId('seek').value = 1.5; byId('seek').dispatchEvent(new Event('input'))")
    browser.wait_for("byId('clock').textContent.startsWith('t = 1.5')")
    assert browser.run("canvas.toDataURL()") != before
    assert browser.errors == []
    assert len(browser.requests) == 1


def test_a_click_hides_and_shows_a_curve(browser, page):
    opened(browser, page)
    both = browser.run(CURVES)
    chip = "document.querySelector('.chips button')"
    browser.run(f"{chip}.click()")
    assert browser.run(f"{chip}.getAttribute('aria-pressed')") == "false"
    assert browser.run(CURVES) != both
    browser.run(f"{chip}.click()")
    assert browser.run(CURVES) == both
    browser.run("charts.find((c) => c.group.name === 'multipliers').curves[0].button.click()")
    assert (
        browser.run("charts.find((c) => c.group.name === 'multipliers').element.getBoundingClientRect().height") > 100
    )


def test_values_under_the_pointer_are_those_of_the_motion(browser, page):
    opened(browser, page)
    browser.run("byId('charts').scrollIntoView()")
    browser.mouse("mouseMoved", *position(browser, 0, 1.2))
    t = browser.run("zoom.pointer")
    assert t == pytest.approx(1.2, abs=0.01)
    shown = browser.run("charts[0].curves[0].value.textContent").replace("\u2212", "-")
    assert float(shown) == pytest.approx(float(jointed().sample("crank_x", t)), abs=2e-4)  # linear between frames


def test_dragging_zooms_all_plots_and_a_click_moves_the_picture(browser, page):
    opened(browser, page)
    browser.run("byId('charts').scrollIntoView()")
    start, end = position(browser, 0, 0.4), position(browser, 0, 0.8)
    browser.mouse("mousePressed", *start, button="left", clickCount=1, buttons=1)
    browser.mouse("mouseMoved", *end, button="left", buttons=1)
    browser.mouse("mouseReleased", *end, button="left", clickCount=1)
    np.testing.assert_allclose(browser.run("[zoom.from, zoom.to]"), [0.4, 0.8], atol=0.01)
    click = position(browser, 1, 0.6)
    browser.mouse("mousePressed", *click, button="left", clickCount=1, buttons=1)
    browser.mouse("mouseReleased", *click, button="left", clickCount=1)
    assert browser.run("state.t") == pytest.approx(0.6, abs=0.01)
    browser.run("byId('whole').click()")
    assert browser.run("[zoom.from, zoom.to]") == [0, 2]
    assert browser.errors == []


def test_the_keyboard_does_it_all(browser, page):
    opened(browser, page)
    browser.run("charts[0].element.focus()")
    browser.press("+")
    assert browser.run("zoom.to - zoom.from") < 2
    browser.press("0")
    assert browser.run("zoom.to - zoom.from") == 2
    browser.press("ArrowRight")
    assert browser.run("state.t") == pytest.approx(0.52)
    browser.run("document.querySelector('.chips button').focus()")
    browser.press("Enter", text="\r")
    assert browser.run("document.querySelector('.chips button').getAttribute('aria-pressed')") == "false"
    unreachable = (
        "[...document.querySelectorAll('button, a, select, input, summary')].filter((e) => e.tabIndex < 0).length"
    )
    assert browser.run(unreachable) == 0


def test_forces_and_the_camera_that_follows(browser, page):
    opened(browser, page)
    plain = browser.run("canvas.toDataURL()")
    browser.run("byId('forces').click(); paint()")
    assert browser.run("canvas.toDataURL()") != plain
    browser.run("byId('follow').click(); paint()")
    offset = "(() => { const at = locate(state.t), p = view.project(centreAt(at)); return [p[0], p[1]]; })()"
    first = browser.run(offset)
    browser.run("seek(1.3); paint()")
    np.testing.assert_allclose(browser.run(offset), first, atol=1e-6)  # it stays where it is on the screen
    assert browser.errors == []


def test_it_fits_a_telephone(browser, page):
    opened(browser, page, width=390)
    assert browser.run("document.documentElement.scrollWidth") <= 390
    assert browser.run("charts[0].element.getBoundingClientRect().width") > 300
    assert browser.errors == []


def test_a_trail_is_round_between_coarse_frames(browser, tmp_path):
    """Twelve frames a turn of a unit circle: the trail keeps to the circle, where chords would leave it by 3 %."""
    t = np.linspace(0.0, 2.0, 25)
    turn = np.array([np.cos(2 * np.pi * t), np.sin(2 * np.pi * t), np.zeros_like(t)]).T
    browser.open(
        write_animation(tmp_path / "circle.html", Scene("circle", t, planar=True, tracks=(Track("P", "point", turn),)))
    )
    radii = browser.run(
        "Array.from({length: 101}, (_, k) => Math.hypot(...positionAt(scene.tracks[0], locate(0.5 + k / 100))))"
    )
    # A cubic Hermite curve is off by h^4 / 384; slopes of parabolas are off by h^2 / 6, which counts h / 4 at most.
    h = 2 * np.pi / 12
    assert np.abs(np.array(radii) - 1.0).max() < h**3 / 24 + h**4 / 384
    assert browser.run("bendsAt(scene.tracks[0].positions, 8)") > 5
    assert browser.errors == []


def test_a_hoop_is_round_and_other_outlines_keep_their_corners(browser, tmp_path):
    """A rim of 24 corners with a spoke becomes a circle; a closed outline of unequal edges stays as it is."""
    angles = np.linspace(0.0, 2 * np.pi, 25)
    rim = np.array([np.cos(angles), np.sin(angles), 0 * angles]).T
    box = np.array([[x, y, 0.0] for x, y in [(0, 0), *[(k / 3, 0) for k in range(1, 10)], (3, 1), (0, 1), (0, 0)]])
    lines = (Polyline("wheel", np.stack([[*rim, [0, 0, 0]]] * 3)), Polyline("box", np.stack([box] * 3)))
    browser.open(write_animation(tmp_path / "hoop.html", Scene("hoop", np.arange(3.0), planar=True, lines=lines)))
    assert browser.run("scene.lines.map((line) => line.hoop)") == [24, 0]
    drawn = np.array(browser.run("roundedHoop(scene.lines[0].points[0], 24)"))
    np.testing.assert_allclose(np.linalg.norm(drawn[:-1], axis=1), 1.0, atol=1e-3)
    np.testing.assert_allclose(drawn[-1], 0.0)
    assert browser.errors == []


def test_a_picture_of_nothing_says_so(browser, tmp_path):
    model = da.Model("oscillator")
    (x,) = model.coordinates("x")
    model.energy(kinetic=x.diff() ** 2 / 2, potential=x**2 / 2)
    system = model.compile()
    motion = system.simulate(system.initial({"x": 1.0, "x'": 0.0}), 0.1)
    browser.open(motion.animate(tmp_path / "nothing.html"))
    browser.run("pause(); var said = []; ink.fillText = (text) => said.push(text); paint();")
    assert any("nothing to draw" in text for text in browser.run("said"))

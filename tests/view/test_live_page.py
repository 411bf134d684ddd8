"""The live page in a headless Chromium: sliders, pulling at the mechanism, playing, on a screen and on a telephone."""

import numpy as np
import pytest
from browser import Browser
from mechanisms import mechanism


@pytest.fixture(scope="module")
def browser():
    chromium = Browser()
    yield chromium
    chromium.close()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    system, state = mechanism("four_bar")
    return system.live(tmp_path_factory.mktemp("live") / "four bar.html", state, sliders=["la", "q1"], t_end=10.0)


def centre_of(browser, selector):
    """The middle of an element on the screen."""
    box = browser.run(f"Object.values(document.querySelector('{selector}').getBoundingClientRect().toJSON())")
    return box[0] + box[2] / 2, box[1] + box[3] / 2


def drag(browser, start, end, steps=8):
    """Press, move in steps and release; the latest motion is there when this returns."""
    browser.mouse("mousePressed", *start, button="left", clickCount=1, buttons=1)
    for k in range(1, steps + 1):
        x, y = (a + (b - a) * k / steps for a, b in zip(start, end, strict=True))
        browser.mouse("mouseMoved", x, y, button="left", buttons=1)
    browser.mouse("mouseReleased", *end, button="left", clickCount=1)
    browser.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")


def rows(browser):
    return np.array(browser.run("frames.map((t) => [...now.run.at(t).z])"))


def test_the_page_checks_itself_and_asks_for_nothing(browser, page):
    browser.open(page)
    text = browser.run("byId('check').textContent")
    assert text.startswith("Agrees with the native engine to"), text
    assert browser.run("compare()") < 1e-9
    assert browser.errors == []
    assert [url for url in browser.requests if not url.startswith("file:")] == []
    assert len(browser.requests) == 1


def test_a_difference_from_the_native_engine_is_not_called_agreement(browser, page):
    browser.open(page)
    assert browser.run("facts.native.rows[30][0] += 1e-7, compare()") == pytest.approx(1e-7 / 3.6, rel=0.2)
    text = browser.run("byId('check').textContent")
    assert text.startswith("Differs from the native engine")
    assert "from t = 5 s on" in text
    browser.run("facts.native.rows[2][1] = NaN, compare()")
    assert browser.run("byId('check').className") == "bad"
    browser.run("now.run.problem = 'it took too long', compare()")
    assert browser.run("byId('check').textContent").startswith("Not compared: this page stops")


def test_it_plays_and_scrubs(browser, page):
    browser.open(page)
    browser.wait_for("state.t > 0.2")
    browser.press(" ", "Space", " ")
    assert browser.run("state.playing") is False
    browser.press("Home")
    assert browser.run("state.t") == 0.0
    browser.run("byId('seek').value = 5; byId('seek').dispatchEvent(new Event('input'))")
    browser.wait_for("byId('clock').textContent.startsWith('t = 5.0')")
    assert browser.errors == []


def test_a_dragged_slider_changes_the_motion_to_the_native_one(browser, page):
    browser.open(page)
    x, y = centre_of(browser, "#sliders label:nth-child(1) input[type=range]")
    width = browser.run("facts.sliders[0].range.getBoundingClientRect().width")
    at = browser.run("(facts.sliders[0].value - facts.sliders[0].low) / (facts.sliders[0].high - facts.sliders[0].low)")
    thumb = (x - width / 2 + 8 + at * (width - 16), y)
    drag(browser, thumb, (thumb[0] - 12, y))
    value = browser.run("facts.sliders[0].value")
    assert 0.5 < value < 0.79
    assert browser.run("byId('message').textContent") == ""
    system, state = mechanism("four_bar")
    start = system.initial({"q1": state["q1"], "u1": 0.0}, guess=state, parameters={"la": value})
    native = system.simulate(start, 10.0, t_eval=np.linspace(0.0, 10.0, browser.run("frames.length")))
    np.testing.assert_allclose(rows(browser), np.hstack([native.q, native.u]), atol=1e-7, rtol=0)
    assert browser.errors == []


def test_pulling_at_a_point_turns_the_mechanism(browser, page):
    """The crank's end follows the pointer; the start stays closed and at rest."""
    browser.open(page)
    browser.press(" ", "Space", " ")
    browser.press("Home")
    place = """(() => {{
        const box = canvas.getBoundingClientRect(), p = view.project([0.8 * Math.cos({0}), 0.8 * Math.sin({0}), 0]);
        return [box.x + p[0], box.y + p[1]];
    }})()"""
    start, end = browser.run(place.format(float(np.deg2rad(10.0)))), browser.run(place.format(0.5))
    drag(browser, start, end, steps=15)
    angle = browser.run("facts.sliders[1].value")
    assert angle == pytest.approx(0.5, abs=0.02)  # the circle is pulled at by pixels, 200 a metre
    first = rows(browser)[0]
    _, state = mechanism("four_bar")
    np.testing.assert_allclose(first, state.with_(q1=angle, u1=0.0).z, atol=1e-9)
    assert browser.errors == []


def test_values_that_leave_no_start_keep_the_motion_and_say_why(browser, page):
    browser.open(page)
    before = rows(browser)
    browser.run("facts.sliders[0].box.value = 1.99; facts.sliders[0].box.dispatchEvent(new Event('change'))")
    browser.run("facts.sliders[1].box.value = 3.1; facts.sliders[1].box.dispatchEvent(new Event('change'))")
    assert browser.run("byId('message').textContent").startswith("No consistent start")
    browser.run("byId('reset').click()")
    assert browser.run("byId('message').textContent") == ""
    np.testing.assert_array_equal(rows(browser), before)


def test_it_fits_a_telephone(browser, page):
    browser.open(page, 390, 800)
    assert browser.run("document.documentElement.scrollWidth") <= 390
    assert browser.run("byId('view').getBoundingClientRect().height") > 200
    assert browser.run("byId('controls').getBoundingClientRect().bottom") < 800  # within reach without scrolling
    assert browser.errors == []

"""The runs of a sweep in a live page: a click on a point shows that run move, and says whether it is the same."""

import numpy as np
import pytest
from browser import Browser

import dalembert as da
from dalembert import problems
from dalembert.view.run_points import read_runs

LENGTHS, GRAVITIES = np.linspace(0.7, 0.9, 5), [1.62, 9.81]


@pytest.fixture(scope="module")
def swept():
    """A system, its start, and a sweep of it."""
    problem = problems.get("four_bar")
    system = problem.system()
    outputs = [da.Final("q1"), da.Maximum("u1"), "q2"]
    runs = system.sweep(
        {"la": LENGTHS, "g": GRAVITIES}, 3.0, given=problem.given, guess=problem.guess, outputs=outputs,
        t_eval=np.linspace(0, 3, 4),
    )  # fmt: skip
    return system, problem.state(system), runs


@pytest.fixture(scope="module")
def browser():
    chromium = Browser()
    yield chromium
    chromium.close()


def test_points_are_the_runs(swept):
    system, _, runs = swept
    points = read_runs(system, runs)
    assert points["varied"] == ["la", "g"]
    assert points["outputs"] == ["q1_final", "u1_max"]  # "q2" depends on time
    assert points["finals"] == {"q1_final": 0}
    assert list(zip(points["columns"]["la"], points["columns"]["g"], strict=True)) == [
        (length, g) for length in LENGTHS for g in GRAVITIES
    ]
    assert points["columns"]["u1_max"] == runs["u1_max"].to_numpy().ravel().tolist()


def click(browser, k):
    """Click at point k of the scatter and wait for its motion."""
    x, y = browser.run(
        f"(() => {{ const b = byId('scatter').getBoundingClientRect(), p = cloud.places[{k}]; "
        "return [b.x + p[0], b.y + p[1]]; })()"
    )
    for kind in ("mousePressed", "mouseReleased"):
        browser.mouse(kind, x, y, button="left", clickCount=1)


def test_a_click_shows_the_run(browser, swept, tmp_path):
    system, state, runs = swept
    page = system.live(tmp_path / "runs.html", state, runs=runs)
    browser.open(page)
    assert [option["name"] for option in browser.run("facts.sliders.map(({name}) => ({name}))")] == ["la", "g"]
    click(browser, 3)  # la = 0.75, g = 9.81
    text = browser.run("byId('picked').textContent")
    assert text.startswith("Run 4 of 10: la = 0.75, g = 9.81, q1_final =")
    assert "This page ends where the run did, to" in text
    last = browser.run("[...now.run.at(facts.t_end).z]")
    assert last[0] == pytest.approx(runs["q1_final"].sel(la=0.75, g=9.81, method="nearest").item(), abs=1e-7)
    browser.run("byId('scatter').focus()")
    browser.press("ArrowRight")
    assert browser.run("byId('picked').textContent").startswith("Run 5 of 10")
    browser.open(page, 390, 800)
    assert browser.run("document.documentElement.scrollWidth") <= 390
    assert browser.errors == []
    assert len(browser.requests) == 1


def test_runs_from_elsewhere_are_not_called_the_same(browser, swept, tmp_path):
    system, state, runs = swept
    browser.open(system.live(tmp_path / "runs.html", state.with_(q1=0.4), runs=runs))
    click(browser, 3)
    assert "does NOT end where the run did" in browser.run("byId('picked').textContent")


def test_what_is_no_sweep_of_the_system_is_refused(swept, tmp_path):
    system, state, runs = swept
    with pytest.raises(da.PairingError, match="the runs are of `other`, not of `planar four-bar`"):
        system.live(tmp_path / "x.html", state, runs=runs.assign_attrs(system="other"))
    with pytest.raises(da.PairingError, match="`rtol` varied among the runs"):
        system.live(tmp_path / "x.html", state, runs=runs.rename(g="rtol"))
    with pytest.raises(da.OptionError, match="there are 0 runs"):
        system.live(tmp_path / "x.html", state, runs=runs.isel(la=slice(0)))

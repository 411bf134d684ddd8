"""Mechanisms drawn at a few instants."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert import problems


def test_a_four_bar_at_given_times():
    motion = problems.get("four_bar").simulate(t_end=2.0)
    axes = da.plot_snapshots(motion, [0.0, 1.0])
    *links, ground = [line for line in axes.lines if len(line.get_xdata()) > 1]
    np.testing.assert_allclose(ground.get_xdata(), [0.0, 2.0])
    assert len(links) == 2  # one for each time
    for line, t in zip(links, (0.0, 1.0), strict=True):
        q1 = motion.at(t)["q1"]
        np.testing.assert_allclose(line.get_xydata()[1], [0.8 * np.cos(q1), 0.8 * np.sin(q1)], atol=1e-9)
    assert axes.get_xlabel() == "x [m]"
    assert [text.get_text() for text in axes.legend().get_texts()] == ["t = 0 s", "t = 1 s"]


def test_a_spatial_mechanism_is_seen_from_the_side():
    motion = problems.get("spatial_four_bar").simulate(t_end=1.0)
    axes = da.plot_snapshots(motion)
    assert axes.get_ylabel() == "up [m]"
    moving = [line for line in axes.lines if line.get_alpha() == 1.0 and len(line.get_xdata()) == 2]
    assert len(moving) == 3  # two bars and the rod, at the end


def test_no_times_are_refused():
    motion = problems.get("pendulum").simulate(t_end=0.1)
    with pytest.raises(da.OptionError, match="shows nothing"):
        da.plot_snapshots(motion, [])


def test_lines_say_when_there_are_no_bodies():
    model = da.Model("pointer")
    (a,) = model.coordinates("a")
    model.energy(kinetic=a.diff() ** 2 / 2)
    model.line([[0, 0], [sp.cos(a), sp.sin(a)]], name="pointer")
    model.line([[0, 0], [2 * sp.cos(a), 2 * sp.sin(a)]], name="longer")
    state = model.compile().initial({"a": 0.0, "a'": 1.0})
    axes = da.plot_snapshots(state.system.simulate(state, 1.0), [0.0, 0.5])
    assert [text.get_text() for text in axes.legend().get_texts()] == ["t = 0 s", "t = 0.5 s"]

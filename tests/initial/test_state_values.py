"""A State is a value: changed copies, tables, files, and a guess for the next."""

import re

import numpy as np
import pytest

import dalembert as da
from dalembert import problems


@pytest.fixture(scope="module")
def four_bar():
    problem = problems.get("four_bar")
    system = problem.system()
    return system, problem.state(system)


def test_changed_copies_are_consistent(four_bar, checked):
    _system, state = four_bar
    before = state.q.copy()
    other = checked(state.with_(q1=0.3, u1=2.0))
    assert (other["q1"], other["u1"]) == (0.3, 2.0)
    longer = checked(other.with_({"ln": 2.1, "q1": 0.3}, t=1.5))
    assert (longer.t, longer.parameters[3], longer["q1"]) == (1.5, 2.1, 0.3)
    assert longer.with_(q1=0.31).parameters[3] == 2.1
    np.testing.assert_array_equal(state.q, before)
    with pytest.raises(da.UnknownNameError):
        state.with_(q9=1.0)


def test_a_state_is_a_guess(four_bar, checked):
    system, state = four_bar
    again = system.initial({}, guess=state)
    np.testing.assert_array_equal(again.q, state.q)
    assert again.report.iterations == 0
    shorter = checked(system.initial({}, guess=state, parameters={"lb": 1.9}))
    assert np.abs(shorter.q - state.q).max() < 0.25
    kicked = da.State(system, 0.2, state.q, np.array([1.0, 2.0, 3.0]), state.udot, state.multipliers, state.parameters)
    after = checked(system.initial({}, guess=kicked))  # after an event that changed the speeds
    assert after.t == 0.2
    assert np.abs(after.u - kicked.u).max() > 0.1
    with pytest.raises(da.PairingError, match="not of `planar four-bar`"):
        system.initial({}, guess=problems.get("pendulum").state(problems.get("pendulum").system()))


def test_tables_for_terminal_and_notebook(four_bar):
    _system, state = four_bar
    text = repr(state)
    for words in ("coordinate", "rate", "acceleration", "multiplier", "loop_y", "reaction"):
        assert words in text
    assert re.search(r"q3 +-2\.64214284 ", text)
    html = state._repr_html_()
    assert html.count("<table>") == 4
    assert "<td>loop_x</td>" in html
    assert state["q1''"] == state["u1'"]
    assert state["reaction(u1)"] == state.reactions[0]


def test_saved_and_loaded(four_bar, tmp_path):
    system, state = four_bar
    path = state.with_(u1=1.0).save(tmp_path / "state.npz")
    loaded = da.State.load(path, system)
    np.testing.assert_array_equal(loaded.z, state.with_(u1=1.0).z)
    assert loaded["u1"] == 1.0
    assert system.simulate(loaded, 0.1).success
    with pytest.raises(da.DalembertError, match="holds a state of `planar four-bar`"):
        da.State.load(path, problems.get("pendulum").system())
    broken = da.State(system, 0.0, state.q + 0.1, state.u, state.udot, state.multipliers, state.parameters)
    with pytest.raises(da.InconsistentStateError, match="position of `loop_"):
        da.State.load(broken.save(tmp_path / "broken.npz"), system)
    (tmp_path / "no.npz").write_text("nothing")
    with pytest.raises(da.DalembertError, match="not a file written by"):
        da.State.load(tmp_path / "no.npz", system)


def test_residuals_by_level(four_bar):
    system, state = four_bar
    assert list(state.residuals) == ["position", "velocity", "acceleration", "balance"]
    assert list(state.residuals["velocity"]) == ["loop_x", "loop_y"]
    moved = da.State(system, 0.0, state.q + 0.1, state.u, state.udot, state.multipliers, state.parameters)
    np.testing.assert_allclose(list(moved.residuals["position"].values()), system.position_residual(0, moved.q))

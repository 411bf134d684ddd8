"""`Followed`: starts on the branch of a state, the same whatever is run beside them."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da


@pytest.fixture(scope="module")
def dial():
    """A hand with cos(angle - p) = 0: the branch through p + pi/2 goes round with p, others lie half a turn beside."""
    model = da.Model("dial")
    th, x = model.coordinates("th x")
    p, m = model.parameters(p=0.0, m=1.0)
    model.energy(kinetic=m * (th.diff() ** 2 + x.diff() ** 2) / 2, potential=m * x**2 / 2)
    model.constrain(sp.cos(th - p), name="catch")
    return model.compile()


@pytest.fixture(scope="module")
def begin(dial):
    return dial.initial({"th": np.pi / 2, "x": 0.1})


def test_starts_go_round_with_the_branch_where_nearest_ones_jump(dial, begin):
    turns = np.linspace(-4.0, 4.0, 9)
    options = {"outputs": ["th"], "t_eval": [0.0]}
    followed = dial.sweep({"p": turns}, 0.1, state=da.Followed(begin), **options)
    assert followed["th"].values[:, 0] == pytest.approx(np.pi / 2 + turns, abs=1e-12)
    nearest = dial.sweep({"p": turns}, 0.1, state=begin, **options)
    assert np.abs(nearest["th"].values[:, 0] - np.pi / 2).max() < 2.0  # at most a quarter of a turn, and a little


def test_given_values_follow_after_parameters_and_threads_change_nothing(dial, begin):
    values = {"p": np.linspace(0.0, 4.0, 5), "x": [0.1, 0.3]}
    options = {"state": da.Followed(begin), "outputs": ["th", "x", da.Maximum("x'")]}
    runs = dial.sweep(values, 2.0, threads=1, **options)
    assert runs.identical(dial.sweep(values, 2.0, threads=3, **options))
    state = begin.follow("p", [3.0])[0].follow("x", [0.3])[0]
    motion = dial.simulate(state, 2.0)
    assert runs["th_final"].sel(p=3.0, x=0.3) == motion["th"][-1]
    assert (dial.replay(runs.sel(p=3.0, x=0.3)).q == motion.q).all()


def test_a_branch_that_ends_is_a_run_without_a_start():
    model = da.Model("elbow")
    a, b = model.coordinates("a b")
    X, m = model.parameters(X=1.0, m=1.0)
    model.energy(kinetic=m * (a.diff() ** 2 + b.diff() ** 2) / 2)
    model.constrain([sp.cos(a) + sp.cos(b) - X, sp.sin(a) + sp.sin(b)], name="closure")
    system = model.compile()
    begin = system.initial({}, guess={"a": 1.0, "b": -1.0})
    runs = system.sweep({"X": [0.5, 1.5, 2.5]}, 0.1, state=da.Followed(begin), outputs=["a"])
    assert list(runs["status"].values) == ["ok", "ok", "no initial state"]
    assert (runs["a_final"].values[:2] > 0.0).all()
    with pytest.raises(da.PairingError, match="Followed needs a State, got dict"):
        da.Followed({"a": 1.0})

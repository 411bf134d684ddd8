"""Branches: all of them found, in order of distance, and followed to where they end."""

import numpy as np
import pytest
from sympy import cos, sin

import dalembert as da
from dalembert import problems


@pytest.fixture(scope="module")
def four_bar():
    problem = problems.get("four_bar")
    system = problem.system()
    return system, problem.state(system)


def test_a_particle_on_a_sphere_given_two_coordinates(checked):
    model = da.Model("sphere")
    x, y, z = model.coordinates("x y z")
    model.particle("P", mass=1, position=[x, y, z])
    model.constrain(x**2 + y**2 + z**2 - 9, name="sphere")
    system = model.compile()
    below, above = (checked(s) for s in system.initial({x: 1, y: 2}, guess={z: -0.3}, all_branches=True))
    assert (below["z"], above["z"]) == pytest.approx((-2.0, 2.0), abs=1e-14)
    (single,) = system.initial({}, guess={x: 1.0}, all_branches=True)  # nearest of a continuum
    np.testing.assert_allclose(single.q, [3, 0, 0], atol=1e-9)
    with pytest.raises(da.InitialStateError, match="continuum of solutions equally near"):
        system.initial({}, all_branches=True)  # from the centre every point is as near
    with pytest.raises(da.InitialStateError, match="cannot all be met"):
        system.initial({x: 3, y: 1}, all_branches=True)


def test_four_modes_of_two_dyads(checked):
    """Two independent pairs of links between pins: 2 x 2 assemblies."""
    model = da.Model("dyads")
    angles = model.coordinates("a b c d")
    for k, (p, r) in enumerate((angles[:2], angles[2:])):
        model.particle(f"P{k}", mass=1, position=[cos(p), sin(p)])
        model.particle(f"Q{k}", mass=1, position=[cos(p) + cos(r), sin(p) + sin(r)])
        model.constrain([cos(p) + cos(r) - 1, sin(p) + sin(r)], name=f"pin{k}")
    found = model.compile().initial({}, guess={"a": 1.0, "c": 1.0}, all_branches=True)
    assert len(found) == 4
    modes = {tuple(np.sign(np.sin(checked(s).q)).astype(int)) for s in found}
    assert modes == {(a, -a, c, -c) for a in (1, -1) for c in (1, -1)}
    assert found[0]["a"] == pytest.approx(np.pi / 3)


def test_the_crank_is_followed_through_a_revolution(four_bar, checked):
    """la = 0.8 is the shortest link and Grashof's rule holds for 0.8, 2, 1, 2: 0.8 + 2 <= 1 + 2."""
    _system, state = four_bar
    values = state["q1"] + np.linspace(0.0, 2 * np.pi, 41)[1:]
    states = state.follow("q1", values)
    for s, value in zip(states, values, strict=True):
        assert checked(s)["q1"] == value
    ways = np.diff([state.q, *[s.q for s in states]], axis=0)
    assert np.abs(ways).max() < 0.6
    np.testing.assert_allclose(states[-1].q[1:] % (2 * np.pi), (state.q[1:] - [2 * np.pi, 0]) % (2 * np.pi), atol=1e-9)


def test_a_limit_is_reported_with_the_states_before_it(four_bar):
    """With la = 1.8 and lb = 1 links b and c stretch out at cos(q1) = 0.45."""
    system, _ = four_bar
    state = system.initial({"q1": 0.5}, guess={"q2": 0.5, "q3": -2.0}, parameters={"la": 1.8, "lb": 1.0})
    with pytest.raises(da.InitialStateError, match=r"cannot be followed along `q1` beyond 1\.104") as caught:
        state.follow("q1", [0.7, 0.9, 1.0, 1.2])
    assert [round(s["q1"], 12) for s in caught.value.states] == [0.7, 0.9, 1.0]
    (back,) = caught.value.states[-1].follow("q1", [0.5])
    np.testing.assert_allclose(back.q, state.q, atol=1e-9)


def test_parameters_and_time_are_followed(four_bar, checked):
    _system, state = four_bar
    states = state.follow("ln", [2.2, 2.5, 2.2, 2.0], hold=["q1"])
    assert [checked(s).parameters[3] for s in states] == [2.2, 2.5, 2.2, 2.0]
    np.testing.assert_allclose(states[-1].q, state.q, atol=1e-12)
    model = da.Model("driven")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1, position=[x, y])
    model.constrain(x - sin(model.t), name="drive")
    model.constrain(x**2 + y**2 - 4, name="rod")
    path = model.compile().initial({}, guess={y: 2.0}).follow("t", [0.5, 1.0])
    assert path[-1].t == 1.0
    assert checked(path[-1])["y"] == pytest.approx(np.sqrt(4 - np.sin(1.0) ** 2), abs=1e-14)
    with pytest.raises(da.UnknownNameError):
        state.follow("qq", [1.0])
    with pytest.raises(da.ArrayError):
        state.follow("q1", [float("nan")])

"""Equilibria and steady motions against closed forms, and what is refused."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da

G = 9.81


def governor():
    """A bead on a hoop of radius l that turns at a constant rate W about its vertical diameter."""
    model = da.Model("governor")
    (a,) = model.coordinates("a")
    W, l, g, m = model.parameters(W=5.0, l=1.0, g=G, m=1.5)
    model.energy(kinetic=m * l**2 / 2 * (a.diff() ** 2 + W**2 * sp.sin(a) ** 2), potential=-m * g * l * sp.cos(a))
    return model


@pytest.fixture(scope="module")
def hoop():
    return governor().compile()


def test_all_equilibria_of_a_governor_with_their_stability(hoop):
    """Bottom, top, and cos a = g / (W^2 l) on either side, which oscillates with W sin a."""
    found = {round(state["a"], 9): state for state in hoop.equilibrium(all_branches=True)}
    tilt = np.arccos(G / 25.0)
    assert sorted(abs(a) for a in found) == pytest.approx([0.0, tilt, tilt, np.pi], abs=1e-9)
    for a, state in found.items():
        verdict = "marginal" if abs(abs(a) - tilt) < 1e-6 else "unstable"
        assert state.stability.verdict == verdict
        if verdict == "marginal":
            assert np.abs(state.stability.eigenvalues.imag) == pytest.approx(5.0 * np.sin(tilt), abs=1e-9)
    assert "2 imaginary" in str(state.stability) or "growth rate" in str(state.stability)


def test_the_bottom_loses_its_stability_at_the_critical_rate(hoop):
    lin = hoop.linearize(hoop.equilibrium({"a": 0.0}, parameters={"W": 1.0}))
    (critical,) = lin.sweep("W", [1.0, 2.0, 4.0, 5.0], hold="a").crossings()
    assert critical.value == pytest.approx(np.sqrt(G), abs=1e-9)
    assert critical.growing


def test_a_steady_turn_of_a_conical_pendulum():
    """In constraints: x, y, z on a sphere, turning at W about the vertical: z = -g / W^2."""
    model = da.Model("conical pendulum")
    r, turn, z = model.coordinates("r turn z")
    model.speeds("vr W vz")
    model.particle("P", mass=2.0, position=[r * sp.cos(turn), r * sp.sin(turn), z])
    model.gravity([0, 0, -G])
    rod = model.constrain(r**2 + z**2 - 1, name="rod")
    system = model.compile()
    state = system.steady({"W": 4.0, "turn": 0.0}, guess={"r": 0.8, "z": -0.6})
    assert state["z"] == pytest.approx(-G / 16, abs=1e-10)
    assert state["r"] == pytest.approx(np.sqrt(1 - state["z"] ** 2), abs=1e-10)
    assert state.reaction(rod)[0] == pytest.approx(-2.0 * 16 * state["r"], abs=1e-9)
    # Small oscillations: w^2 = W^2 (1 + 3 cos^2), and what of W is left open by the angular momentum.
    lin = system.linearize(state, states=["r", "vr", "W"])
    w = 4.0 * np.sqrt(1 + 3 * state["z"] ** 2)
    assert np.sort(lin.eigenvalues.imag) == pytest.approx([-w, 0.0, w], abs=1e-8)
    assert state.stability.ignorable == ("turn",)


def test_what_is_given_is_held():
    """Two springs and a weight: y given, the weight being a parameter that does not fit, and then one that does."""
    model = da.Model("hung")
    (y,) = model.coordinates("y")
    m, k = model.parameters(m=1.0, k=G)
    model.particle("P", mass=m, position=[0, y])
    model.gravity([0, -G])
    model.generalized_force({y: -k * y})
    system = model.compile()
    assert system.equilibrium()["y"] == pytest.approx(-1.0, abs=1e-12)
    assert system.equilibrium({"y": -2.0}, parameters={m: 2.0})["y"] == -2.0
    with pytest.raises(
        da.InitialStateError, match=r"no equilibrium was found with y = -2; closest: `balance of y_dot` 9.81"
    ):
        system.equilibrium({"y": -2.0})


def test_no_equilibrium_gives_the_nearest_residual():
    model = da.Model("pushed")
    (x,) = model.coordinates("x")
    model.particle("P", mass=1.0, position=[x, 0])
    model.generalized_force({x: 3 + (x - 2) ** 2})
    with pytest.raises(da.InitialStateError, match="no equilibrium") as caught:
        model.compile().equilibrium()
    assert caught.value.residuals["balance of x_dot"] == pytest.approx(3.0, abs=1e-6)
    assert caught.value.closest.q == pytest.approx([2.0], abs=1e-3)


def test_an_instant_without_acceleration_is_not_steady(hoop):
    with pytest.raises(da.InitialStateError, match="for an instant only"):
        hoop.steady({"a_dot": 1.0, "a": 0.0})
    with pytest.raises(da.LinearizationError, match="not on a steady motion"):
        hoop.initial({"a": 0.3, "a_dot": 1.0}).stability  # noqa: B018
    with pytest.raises(da.OptionError, match="is not at rest"):
        hoop.equilibrium({"a_dot": 1.0})
    with pytest.raises(da.UnknownNameError):
        hoop.steady(constant=["nothing"])


def test_a_force_that_comes_later_is_no_equilibrium():
    model = da.Model("later")
    (x,) = model.coordinates("x")
    model.particle("P", mass=1.0, position=[x, 0])
    model.generalized_force({x: -x + sp.sin(model.t) ** 2})
    with pytest.raises(da.InitialStateError, match="depends on time"):
        model.compile().equilibrium()


def test_a_continuum_of_equilibria_is_represented_or_refused():
    """A particle on a plane may rest anywhere: the point nearest to the guess represents them."""
    model = da.Model("plane")
    x, y, z = model.coordinates("x y z")
    model.particle("P", mass=1.0, position=[x, y, z])
    model.gravity([0, 0, -G])
    model.constrain(z - x / 2, name="plane")
    model.generalized_force({x: -z})
    system = model.compile()
    with pytest.raises(da.InitialStateError, match="no equilibrium was found with x = 1"):
        system.equilibrium({"x": 1.0})
    rest = system.equilibrium(guess={"y": 0.7})
    assert rest["y"] == pytest.approx(0.7, abs=1e-9)
    assert rest["x"] == pytest.approx(-G, abs=1e-9)  # the slope bears N; along it m g sin = z cos
    assert rest.stability.ignorable == ("y",)


def test_a_hanging_chain_bears_its_weight():
    """Static reactions: the top rod of a chain of particles bears all of them."""
    model = da.Model("chain")
    above = (sp.Integer(0), sp.Integer(0))
    for k in range(4):
        x, y = model.coordinates(f"x{k} y{k}")
        model.particle(f"P{k}", mass=1.0 + k, position=[x, y])
        model.constrain(sp.sqrt((x - above[0]) ** 2 + (y - above[1]) ** 2) - 0.5, name=f"rod{k}")
        above = x, y
    model.gravity([0, -G])
    system = model.compile()
    state = system.equilibrium(guess={f"{c}{k}": v for k in range(4) for c, v in (("x", 0.1), ("y", -0.4 * (k + 1)))})
    assert state["y3"] == pytest.approx(-2.0, abs=1e-10)
    assert np.abs(state.multipliers) == pytest.approx(G * np.array([10, 9, 7, 4]), rel=1e-9)


@pytest.mark.parametrize("length", [1.0, 1e-6, 100.0])
@pytest.mark.parametrize("force", [lambda s: -sp.exp(-s), lambda s: 1 / (1 + s**4)], ids=["exponential", "power"])
def test_a_force_that_only_fades_has_no_equilibrium(force, length):
    """Whatever the unit of x, and however small the force has become where the search, or the guess, ends."""
    model = da.Model("fading")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1.0, position=[x, y])
    model.generalized_force({x: force(x / length), y: -1e4 * (y - 1)})
    system = model.compile()
    for guess in (None, {x: 0.7 * length}, {x: 4.0 * length}):
        with pytest.raises(da.InitialStateError, match="no equilibrium was found") as caught:
            system.equilibrium(guess=guess)
        assert "x_dot" in str(caught.value)


@pytest.mark.parametrize("force", [lambda x: 1e-13 + 0 * x, lambda x: 1e-13 * (1 + x**2)], ids=["constant", "bowl"])
def test_a_force_that_is_small_and_nowhere_zero_has_no_equilibrium(force):
    """Beside it there are large forces: small is what it is to itself."""
    model = da.Model("pushed gently")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1.0, position=[x, y])
    model.generalized_force({x: force(x), y: -1e4 * (y - 1)})
    system = model.compile()
    for guess in (None, {x: 0.5}):
        with pytest.raises(da.InitialStateError, match="is left on `x_dot`"):
            system.equilibrium(guess=guess)


@pytest.mark.parametrize(
    ("force", "places"),
    [
        (lambda x: -(x**3), (0.0,)),
        (lambda x: -((x - 2) ** 5), (2.0,)),
        (lambda x: -x * sp.exp(-(x**2)), (0.0,)),
        (sp.sin, (0.0, np.pi, 2 * np.pi)),
        (lambda x: 1e-12 - 1e-12 * x, (1.0,)),
        (lambda x: 0 * x, (0.5,)),
    ],
)
def test_an_equilibrium_that_is_multiple_weak_or_one_of_many_is_found(force, places):
    model = da.Model("held")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1.0, position=[x, y])
    model.generalized_force({x: force(x), y: -1e4 * (y - 1)})
    system = model.compile()
    for guess in places:
        found = system.equilibrium(guess={x: guess + 0.1 if len(places) > 1 else guess})
        assert found[x] == pytest.approx(guess, abs=0.02)
        assert found[y] == pytest.approx(1.0, abs=1e-12)

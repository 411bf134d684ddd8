"""Values of every kind, wishes soft and hard, bounds, and what is said when they cannot be."""

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


@pytest.fixture(scope="module")
def particle():
    """A particle in the plane on a circle of radius 2, and one in a plane of its own."""
    model = da.Model("circle")
    x, y, z = model.coordinates("x y z")
    model.speeds("vx vy vz")
    m, g = model.parameters(m=1.0, g=9.81)
    model.particle("P", mass=m, position=[x, y])
    model.particle("Q", mass=3, position=[z, 0])
    model.gravity([0, -g])
    model.constrain(x**2 + y**2 - 4, name="rod", unit="m^2")
    return model.compile()


def test_the_rest_is_nearest_to_the_guess(particle, checked):
    state = checked(particle.initial({}, guess={"x": 3.0, "y": 1.0, "z": 0.4, "vx": 1.0, "vy": 2.0}))
    along = np.array([3.0, 1.0]) / np.sqrt(10)
    np.testing.assert_allclose(state.q, [*2 * along, 0.4], atol=1e-12)
    across = np.array([-along[1], along[0]])
    np.testing.assert_allclose(state.u[:2], across * (across @ [1.0, 2.0]), atol=1e-12)
    assert state.report.moved.keys() == {"x", "y", "vx", "vy"}
    assert (state.report.n_p, state.report.n_v, state.report.s_p) == (2, 2, 1)
    assert "n_p = 2 positions" in str(state.report)


def test_a_free_value_is_not_dragged_along():
    """Without a constraint a given value moves nothing else, although the mass matrix is full."""
    model = da.Model("pendulum on a cart")
    x, a = model.coordinates("x a")
    model.particle("C", mass=1, position=[x, 0])
    model.particle("P", mass=5, position=[x + sin(a), -cos(a)])
    state = model.compile().initial({"x": 3.0}, guess={"a": 0.3})
    assert state["a"] == 0.3


def test_weights_hold_and_bounds(particle, checked):
    guess = {"x": 1.0, "y": 1.0}
    plain = particle.initial({}, guess=guess)
    assert plain["x"] == pytest.approx(plain["y"])
    soft = checked(particle.initial({}, guess=guess, weights={"x": 1e8}))
    assert soft["x"] == pytest.approx(1.0, abs=1e-6)
    hard = checked(particle.initial({}, guess=guess, hold="x"))
    assert hard["x"] == 1.0
    assert hard["y"] == pytest.approx(np.sqrt(3), abs=1e-14)
    bounded = checked(particle.initial({}, guess=guess, bounds={"x": (0.0, 1.2)}))
    assert bounded["x"] == pytest.approx(1.2, abs=1e-9)
    inside = checked(particle.initial({}, guess={"x": 3.0, "y": 0.5}, bounds={"x": (-2.0, 0.5), "y": (-5.0, 0.0)}))
    assert -2.0 <= inside["x"] <= 0.5
    assert inside["y"] <= 0.0
    slow = checked(particle.initial({"x": 0.0}, guess={"y": 2.0, "vx": 3.0}, bounds={"vx": (-1, 1)}))
    assert slow["vx"] == pytest.approx(1.0)


def test_multipliers_and_reactions_are_met(particle, checked):
    """Rod force: la 2 (x, y) = -m (g_n + v^2/r); the speed that gives a wanted one is found."""
    state = checked(particle.initial({"x": 0.0, "rod": -10.0, "z": 0.0}, guess={"y": -2.0, "vx": 1.0}))
    assert state["rod"] == -10.0
    # At the bottom, tension 2 |la| r = 40 = m g + m v^2 / 2.
    assert state["vx"] ** 2 == pytest.approx(2 * (40 - 9.81), rel=1e-12)
    again = checked(particle.initial({"x": 0.0, "reaction(vy)": 40.0}, guess={"y": -2.0, "vx": 1.0}))
    assert again["vx"] == pytest.approx(state["vx"], rel=1e-12)
    assert again["reaction(vy)"] == pytest.approx(40.0, rel=1e-13)
    rod = particle.statement.constraints[0]
    assert particle.initial({rod: -10.0, "x": 0}, guess={"y": -2.0, "vx": 1.0})[rod] == -10.0


def test_equilibrium_from_rest(four_bar, checked):
    """All speeds and accelerations zero: the linkage hangs; its potential energy is stationary along the loop."""
    system, start = four_bar
    still = {f"u{k}": 0.0 for k in (1, 2, 3)} | {f"u{k}'": 0.0 for k in (1, 2, 3)}
    state = checked(system.initial(still, guess=start))
    step = state.follow("q1", [state["q1"] + 1e-3, state["q1"] - 1e-3])
    energies = [float(system.energy(0, s.q, np.zeros(3))) for s in step]
    assert energies[0] == pytest.approx(energies[1], abs=1e-7)
    with pytest.raises(da.InitialStateError, match="q1") as caught:
        system.initial({**still, "q1": 0.3}, guess=start)
    assert caught.value.remedies


def test_accelerations_in_general_kinematics(checked):
    model = da.Model("spinning top")
    e = model.quaternion("e", speeds="wx wy wz")
    model.body("B", mass=1, inertia=[1, 2, 3], position=[0, 0, 0], rotation=e)
    system = model.compile()
    state = checked(system.initial({"e1": 0.3, "wx": 1.0, "e2'": 0.2}, guess={"e2": 0.4, "e0": 2.0}))
    assert state["e1"] == 0.3
    assert state["e2'"] == pytest.approx(0.2, abs=1e-13)
    assert np.linalg.norm(state.q) == pytest.approx(1.0, abs=1e-15)
    second = checked(system.initial({"e0": 1.0, "e3''": 0.5}, guess={"wx": 1.0, "wy": 1.0}))
    assert second["e3''"] == pytest.approx(0.5, abs=1e-12)


def test_constraint_not_linear_in_accelerations(checked):
    model = da.Model("thrust")
    x, y = model.coordinates("x y")
    vx, vy = model.speeds("vx vy")
    model.particle("P", mass=1, position=[x, y])
    model.gravity([0, -9.81])
    model.constrain(vx.diff() ** 2 + vy.diff() ** 2 - 400, name="thrust")
    system = model.compile()
    assert checked(system.initial({}))["vy'"] == pytest.approx(-20.0)
    tilted = checked(system.initial({}, guess={"vx": 1.0}))
    assert np.hypot(*tilted.udot) == pytest.approx(20.0, rel=1e-13)


def test_servo_unknown_by_name_and_friction(checked):
    problem = problems.get("car")
    system = problem.system()
    moment = system.initial({"x": 0, "y": 0, "phi": 0, "vx": 6.0})["Md"]
    state = checked(system.initial({"x": 0, "y": 0, "phi": 0, "Md": moment}, guess={"vx": 5.0}))
    assert state["Md"] == moment
    assert state["vx"] == pytest.approx(6.0, abs=1e-9)
    model = da.Model("sled")
    x, y = model.coordinates("x y")
    vx, _ = model.speeds("vx vy")
    P = model.particle("P", mass=2, position=[x, y])
    model.gravity([0, -10])
    floor = model.constrain(y, name="floor")
    model.nonideal(floor, friction=0.3, at=P)
    sled = model.compile().initial({vx: 1.0})
    assert sled["vx'"] == pytest.approx(-3.0, rel=1e-6)
    faster = model.compile().initial({"vx'": -1.5}, guess={vx: 1e-4})  # creeping, where friction depends on the speed
    assert faster["vx'"] == -1.5
    assert 0 < faster["vx"] < 1e-4


def test_singular_positions_are_reached(checked):
    """Stretched out, the double pendulum on a pin has one solution, a double root."""
    model = da.Model("stretched")
    a, b = model.coordinates("a b")
    model.particle("P", mass=1, position=[cos(a), sin(a)])
    model.particle("Q", mass=1, position=[cos(a) + cos(b), sin(a) + sin(b)])
    model.constrain([cos(a) + cos(b) - 2, sin(a) + sin(b)], name="pin")
    state = model.compile().initial({}, guess={a: 0.5, b: -0.4})
    assert max(abs(v) for v in state.residuals["position"].values()) <= 1e-12
    assert np.abs(state.q).max() < 1e-5


def test_unreachable_values_come_with_the_nearest_that_works(four_bar):
    system, _ = four_bar
    short = {"la": 1.8, "lb": 1.0}
    with pytest.raises(da.InitialStateError, match=r"q1 held at 3\.1.*q1 = 1\.1 rather than 3\.1 would work") as caught:
        system.initial({"q1": 3.1}, parameters=short)
    error = caught.value
    assert set(error.conflicting) == {"loop_x", "loop_y"}
    assert error.closest.q[0] == 3.1
    left = system.position_residual(0, error.closest.q, system.parameter_values(short))
    assert np.abs(left).max() == pytest.approx(max(error.residuals.values()))
    limit = np.arccos((1.8**2 + 4 - 4) / (2 * 1.8 * 2))  # links b and c stretched
    assert error.remedies["q1"] == pytest.approx(limit, abs=0.01)
    assert error.remedies["q1"] <= limit
    system.initial({"q1": error.remedies["q1"]}, parameters=short)
    with pytest.raises(da.InitialStateError, match=r"parameter ln = 3\.8 instead of 5 would work"):
        system.initial({}, parameters={"ln": 5.0})


def test_dependent_speeds_are_named(four_bar):
    system, state = four_bar
    with pytest.raises(da.InitialStateError, match=r"u1 and u2 are tied by `rate of loop_x`, `rate of loop_y`"):
        system.initial({"u1": 0.0, "u2": 1.0}, guess=state)
    everything = {name: state[name] for name in (*system.coordinates, *system.speeds)}
    assert system.initial(everything).report.iterations == 0  # dependent, but they agree


def test_independent_values_are_suggested(four_bar):
    system, state = four_bar
    choice = system.suggest_independent(state)
    assert len(choice.coordinates) == len(choice.speeds) == 1
    car = problems.get("car")
    c = car.system()
    chosen = c.suggest_independent(car.state(c))
    assert len(chosen.coordinates) == 2
    assert len(chosen.speeds) == 1
    found = c.initial({name: car.state(c)[name] for name in (*chosen.coordinates, *chosen.speeds)})
    np.testing.assert_allclose(found.q, car.state(c).q, atol=1e-12)
    loose = c.initial({"x": 0.0, "phi": 0.0})
    assert c.suggest_independent(loose).coordinates  # at rest as well
    with pytest.raises(da.PairingError):
        system.suggest_independent(car.state(c))


@pytest.mark.parametrize(
    ("given", "options", "error", "words"),
    [
        ({"x": 1.0}, {"bounds": {"x": (2, 3)}}, da.InitialStateError, "`x` = 1 is outside its bounds 2 .. 3"),
        ({}, {"bounds": {"x": (3, 2)}}, da.OptionError, "bounds of `x` are 3 .. 2"),
        ({}, {"bounds": {"x": 3}}, da.OptionError, "must be a pair"),
        ({}, {"bounds": {"rod": (0, 1)}}, da.OptionError, "bounds are for coordinates and speeds"),
        ({}, {"bounds": {"x": (3, 4)}}, da.InitialStateError, "`x` at its bound 3"),
        ({"x": 1.0, "x'": 0.0, "vx": 1.0}, {}, da.InitialStateError, "same quantity"),
        ({"x": 1.0}, {"hold": ["x"], "guess": {"x": 0.5}}, da.InitialStateError, "held at its guess 0.5"),
        ({}, {"hold": ["rod"]}, da.OptionError, "cannot be held"),
        ({}, {"hold": ["xx"]}, da.UnknownNameError, "held values"),
        ({}, {"weights": {"x": -1}}, da.OptionError, "weight of `x` is -1"),
        ({}, {"weights": {"q": 1}}, da.UnknownNameError, "weighted values"),
        ({}, {"guess": {"x": 1j}}, da.ArrayError, "guess value of `x` must be a real number"),
        ({}, {"guess": {"reaction(vx)": 1.0}}, da.OptionError, "a guess may hold"),
        ({}, {"guess": 3.0}, da.PairingError, "guess must be a mapping"),
        ({"reaction(x)": 1.0}, {}, da.UnknownNameError, "given values"),
    ],
)
def test_bad_wishes(particle, given, options, error, words):
    before = {k: dict(v) if isinstance(v, dict) else v for k, v in options.items()}
    with pytest.raises(error, match=words):
        particle.initial(given, **options)
    assert options == before

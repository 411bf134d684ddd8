"""Driven mechanisms and the forces of wanted motions, against closed forms and simulations."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da

TIMES = np.linspace(0.0, 2.0, 41)


@pytest.fixture(scope="module")
def pendulum():
    model = da.Model("pendulum")
    (a,) = model.coordinates("a")
    l, m, g, tau = model.parameters(l=0.8, m=2.0, g=9.81, tau=0.0)
    model.particle("P", mass=m, position=[l * sp.sin(a), -l * sp.cos(a)])
    model.gravity([0, -g])
    model.generalized_force({a: tau})
    return model.compile()


@pytest.mark.parametrize("actuators", [None, ["tau"]], ids=["generalised", "parameter"])
def test_torque_of_a_wanted_swing(pendulum, actuators):
    t = sp.Symbol("t")
    found = pendulum.inverse_dynamics({"a": sp.sin(2 * t)}, TIMES, actuators=actuators)
    a = np.sin(2 * TIMES)
    torque = 2.0 * 0.8**2 * (-4 * a) + 2.0 * 9.81 * 0.8 * np.sin(a)
    np.testing.assert_allclose(found["effort(a)" if actuators is None else "tau"], torque, atol=1e-10)
    np.testing.assert_allclose(found["a'"], 2 * np.cos(2 * TIMES), atol=1e-12)
    assert len(found) == len(TIMES)
    assert "driven by" in repr(found)


def test_a_table_and_the_way_back(pendulum):
    """The torque of a wanted motion, put into a simulation, gives that motion."""
    knots = np.linspace(0.0, 2.0, 201)
    found = pendulum.inverse_dynamics({"a": (knots, 0.3 * np.sin(knots) ** 2)}, TIMES, actuators=["tau"])
    model = da.Model("driven")
    (a,) = model.coordinates("a")
    model.particle("P", mass=2.0, position=[0.8 * sp.sin(a), -0.8 * sp.cos(a)])
    model.gravity([0, -9.81])
    w = 0.3 * sp.sin(model.t) ** 2
    model.generalized_force({a: 1.28 * w.diff(model.t, 2) + 15.696 * sp.sin(w)})
    system = model.compile()
    motion = system.simulate(system.initial({"a": 0.0, "a_dot": 0.0}), 2.0, t_eval=TIMES)
    np.testing.assert_allclose(found["a"], motion["a"], atol=1e-6)
    exact = 1.28 * 0.6 * np.cos(2 * TIMES) + 15.696 * np.sin(0.3 * np.sin(TIMES) ** 2)
    np.testing.assert_allclose(found["tau"], exact, atol=1e-3)  # second differences of a cubic spline: O(h^2)


@pytest.fixture(scope="module")
def slider_crank():
    model = da.Model("slider-crank")
    x, y, s = model.coordinates("x y s")
    model.particle("pin", mass=1.0, position=[x, y])
    model.particle("slider", mass=2.0, position=[s, 0])
    model.gravity([0, -9.81])
    model.constrain(x - sp.cos(3 * model.t), name="drive_x")
    model.constrain(y - sp.sin(3 * model.t), name="drive_y")
    model.constrain((s - x) ** 2 + y**2 - 4, name="rod")
    return model.compile()


def test_a_driven_slider_crank(slider_crank):
    motion = slider_crank.kinematics(TIMES, guess={"x": 1, "s": 3})
    a = 3 * TIMES
    root = np.sqrt(4 - np.sin(a) ** 2)
    np.testing.assert_allclose(motion["s"], np.cos(a) + root, atol=1e-12)
    np.testing.assert_allclose(motion["s'"], -3 * np.sin(a) - 3 * np.sin(a) * np.cos(a) / root, atol=1e-11)
    simulated = slider_crank.simulate(slider_crank.initial({}, guess={"x": 1, "s": 3}), 2.0, t_eval=TIMES)
    np.testing.assert_allclose(motion.multipliers, simulated.multipliers, atol=1e-8)
    np.testing.assert_allclose(motion.reactions, simulated.reactions, atol=1e-8)
    np.testing.assert_allclose(motion.reaction_on("slider").force, simulated.reaction_on("slider").force, atol=1e-8)
    np.testing.assert_allclose(motion.at(5).udot, simulated.udot[5], atol=1e-8)


def test_a_servo_of_a_wanted_motion_is_the_effort(pendulum):
    """The same torque as the unknown that enforces the motion as a constraint."""
    model = da.Model("servo")
    (a,) = model.coordinates("a")
    (tau,) = model.unknowns("tau")
    model.particle("P", mass=2.0, position=[0.8 * sp.sin(a), -0.8 * sp.cos(a)])
    model.gravity([0, -9.81])
    model.generalized_force({a: tau})
    model.constrain(a - sp.sin(2 * model.t), servo=tau, name="wanted")
    servo = model.compile().kinematics(TIMES)
    effort = pendulum.inverse_dynamics({"a": sp.sin(2 * model.t)}, TIMES)
    np.testing.assert_allclose(servo["tau"], effort["effort(a)"], atol=1e-9)


def test_what_cannot_be_is_refused(pendulum, slider_crank):
    with pytest.raises(da.InitialStateError, match="leave 1 motions free"):
        pendulum.kinematics(TIMES)
    with pytest.raises(da.InitialStateError, match="cannot bring about"):
        pendulum.inverse_dynamics({"a": sp.Symbol("t") ** 2}, TIMES, actuators=["g"])
    with pytest.raises(da.OptionError, match="2 actuators cannot make 1"):
        pendulum.inverse_dynamics({"a": 0.1}, TIMES, actuators=["tau", "m"])
    with pytest.raises(da.OptionError, match="t and numbers only, not b"):
        pendulum.inverse_dynamics({"a": sp.Symbol("b")}, TIMES)
    with pytest.raises(da.OptionError, match=r"spans t = 0 \.\. 1"):
        pendulum.inverse_dynamics({"a": ([0, 0.5, 1], [0, 0, 0])}, TIMES)
    with pytest.raises(da.ArrayError, match="in one axis"):
        pendulum.inverse_dynamics({"a": 0.1}, [])
    with pytest.raises(da.InitialStateError):
        slider_crank.inverse_dynamics({"s": 0.5}, TIMES)


STEWART_BASE = np.deg2rad([10.0, 110.0, 130.0, 230.0, 250.0, 350.0])
STEWART_PLATE = np.deg2rad([50.0, 70.0, 170.0, 190.0, 290.0, 310.0])


def stewart_platform():
    """A plate on six legs without mass, which push with F0 .. F5; the places of its hinges on the ground and on it."""
    base = np.stack([np.cos(STEWART_BASE), np.sin(STEWART_BASE), 0 * STEWART_BASE], axis=1)
    plate = 0.6 * np.stack([np.cos(STEWART_PLATE), np.sin(STEWART_PLATE), 0 * STEWART_PLATE], axis=1)
    model = da.Model("Stewart platform")
    body = model.body("P", mass=50.0, inertia=[3.0, 3.5, 5.0])
    model.gravity([0, 0, -9.81])
    pushes = model.parameters(**{f"F{k}": 0.0 for k in range(6)})
    for k, push in enumerate(pushes):
        ends = model.marker(model.ground, base[k].tolist()), model.marker(body, plate[k].tolist())
        model.elements.actuator(f"leg{k}", *ends, force=push)
    return model, body, pushes, base, plate


def test_forces_in_the_legs_of_a_stewart_platform():
    """By hand: the wrench of unit pushes in the legs is that of m (a - g) and I w' for a roll about x."""
    model, body, pushes, base, plate = stewart_platform()
    system, t = model.compile(), model.t
    roll = 0.3 * sp.sin(2 * t)
    place = [0.1 * sp.sin(3 * t), 0.05 * sp.cos(2 * t), 1 + 0.1 * sp.sin(t)]
    turn = [sp.cos(roll / 2), sp.sin(roll / 2), 0, 0]
    times = np.linspace(0.0, 2.0, 41)
    wanted = {**dict(zip(body.position, place, strict=True)), **dict(zip(body.rotation, turn, strict=True))}
    with pytest.raises(da.OptionError, match="want three components, the fourth follows"):
        system.inverse_dynamics(wanted, times, actuators=pushes)
    del wanted[body.rotation[0]]
    found = system.inverse_dynamics(wanted, times, actuators=pushes)
    numbers = sp.lambdify(t, [roll, roll.diff(t, 2), *place, *(c.diff(t, 2) for c in place)])
    for k, time in enumerate(times):
        angle, turned, x, y, z, ax, ay, az = numbers(time)
        c, s = np.cos(angle), np.sin(angle)
        arms = plate @ np.array([[1, 0, 0], [0, c, -s], [0, s, c]]).T
        legs = np.array([x, y, z]) + arms - base
        legs /= np.linalg.norm(legs, axis=1, keepdims=True)
        wrench = np.concatenate([50.0 * np.array([ax, ay, az + 9.81]), [3.0 * turned, 0.0, 0.0]])
        exact = np.linalg.solve(np.vstack([legs.T, np.cross(arms, legs).T]), wrench)
        np.testing.assert_allclose([found[push][k] for push in pushes], exact, rtol=0, atol=1e-9 * np.abs(exact).max())

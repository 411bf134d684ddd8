"""Constraints of third and fourth order in time: exact programs, and what is refused."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.errors import ModelError

FINE = da.DOP853(rtol=1e-12, atol=1e-13)


def cart(program, *, servo=True):
    """A cart of 2 kg with a pendulum of 1 kg and 0.5 m, moved by a force along its track."""
    model = da.Model("cart")
    x, a = model.coordinates("x a")
    (F,) = model.unknowns("F") if servo else (0,)
    cart = model.particle("cart", mass=2.0, position=[x, 0])
    model.particle("bob", mass=1.0, position=[x + sp.sin(a) / 2, -sp.cos(a) / 2])
    model.gravity([0, -9.81])
    model.force([F - 3 * x, 0], at=cart)
    model.constrain(program(x, a, model.t), name="program", servo=F if servo else None)
    return model


@pytest.mark.parametrize("servo", [True, False], ids=["by a force", "by an ideal reaction"])
def test_a_prescribed_jerk(servo):
    """x''' = 6 from x = 0, x' = 1, x'' = -2: x = t - t^2 + t^3."""
    system = cart(lambda x, _a, t: x.diff(t, 3) - 6, servo=servo).compile()
    state = system.initial({"x": 0.0, "a": 0.3, "x'": 1.0, "a'": 0.0, "x_ddot": -2.0})
    assert state["x''"] == pytest.approx(-2.0, rel=1e-12)
    motion = system.simulate(state, 2.0, t_eval=[1.0, 2.0], integrator=FINE)
    np.testing.assert_allclose(motion["x"], [1.0, 6.0], atol=1e-10)
    assert motion.certificate.ok, motion.certificate


def test_the_force_of_a_prescribed_jerk():
    """F = 2 x'' + 3 x + (force on the bob along x), of which the pendulum's motion is that under a moving pivot."""
    system = cart(lambda x, _a, t: x.diff(t, 3) - 6).compile()
    state = system.initial({"x": 0.5, "a": 0.3, "x'": 1.0, "a'": 0.7, "x_ddot": -2.0})
    turning = -(9.81 * np.sin(0.3) + (-2.0) * np.cos(0.3)) / 0.5
    assert state["a''"] == pytest.approx(turning, rel=1e-12)
    along = -2.0 + 0.5 * (turning * np.cos(0.3) - 0.49 * np.sin(0.3))
    assert state["F"] == pytest.approx(2.0 * (-2.0) + 3.0 * 0.5 + along, rel=1e-11)
    assert abs(state["program(program)"]) < 1e-12


def test_a_program_of_fourth_order():
    """x'''' + 5 x'' + 4 x = 0: frequencies 1 and 2; x = cos t + sin 2t."""
    system = cart(lambda x, _a, t: x.diff(t, 4) + 5 * x.diff(t, 2) + 4 * x).compile()
    given = {"x": 1.0, "x'": 2.0, "x_ddot": -1.0, "x_ddot'": -8.0, "a": 0.1, "a'": 0.0}
    motion = system.simulate(system.initial(given), 3.0, t_eval=[3.0], integrator=FINE)
    assert motion["x"][0] == pytest.approx(np.cos(3.0) + np.sin(6.0), abs=1e-9)


def test_the_rate_of_an_acceleration_by_speeds():
    """u'' = -u, stated in a speed u with x' = 2 u: u = sin t."""
    model = da.Model("speed")
    (x,) = model.coordinates("x")
    u = sp.Function("u")(model.t)
    model.speeds([u], kinematics={x: 2 * u})
    model.particle("P", mass=1.0, position=[x, 0])
    model.constrain(u.diff(model.t, 2) + u, name="program")
    system = model.compile()
    motion = system.simulate(system.initial({"x": 0.0, "u": 0.0, "u_dot": 1.0}), 2.0, t_eval=[2.0], integrator=FINE)
    assert motion["u"][0] == pytest.approx(np.sin(2.0), abs=1e-10)


@pytest.mark.parametrize(
    "program",
    [lambda x, a, t: x.diff(t, 3) + a.diff(t, 3), lambda x, a, t: x.diff(t, 3) + a.diff(t, 2)],
    ids=["of two coordinates", "with another acceleration"],
)
def test_what_is_not_of_one_coordinate_is_refused_with_what_to_write(program):
    with pytest.raises(ModelError, match=r"constraint `program` contains .* beyond accelerations; .* new coordinates"):
        cart(program).compile()


def test_the_advice_works():
    """x''' + a''' = 6: x'' + a'' = s and s' = 6, short of 60 degrees, where F does not act on x + a."""
    model = cart(lambda x, a, t: x.diff(t, 2) + a.diff(t, 2) - sp.Function("s")(t))
    (s,) = model.coordinates("s")
    model.constrain(s.diff(model.t) - 6, name="jerk")
    system = model.compile()
    state = system.initial({"x": 0.0, "a": 0.0, "x'": 0.0, "a'": 0.0, "s": 1.0})
    motion = system.simulate(state, 0.2, t_eval=[0.2], integrator=FINE)
    assert motion["x"][0] + motion["a"][0] == pytest.approx(0.02 + 0.008, abs=1e-11)

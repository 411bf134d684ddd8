"""Angles, displacements and rates of joints as given values: met exactly, or refused in words."""

import functools

import numpy as np
import pytest

import dalembert as da

GUESS = {"A_y": 0.5, "B_x": 1.0, "B_y": 1.0, "C_x": 2.0, "C_y": 1.0, "C_a": 1.5}


@functools.cache
def four_bar():
    model = da.Model("four-bar")
    a, b, c = (model.body(name, mass=1.0, inertia=0.1) for name in "ABC")
    ground = model.ground
    model.joints.revolute("OA", model.marker(ground, [0, 0]), model.marker(a, [-0.5, 0]))
    model.joints.revolute("AB", model.marker(a, [0.5, 0]), model.marker(b, [-1, 0]))
    model.joints.revolute("BC", model.marker(b, [1, 0]), model.marker(c, [0.75, 0]))
    model.joints.revolute("CO", model.marker(ground, [2, 0]), model.marker(c, [-0.75, 0]))
    return model.compile()


def test_an_angle_between_two_moving_bodies_and_its_rate_are_met():
    state = four_bar().initial({"AB.angle": 0.3, "AB.rate": -2.0}, guess=GUESS)
    assert state["B_a"] - state["A_a"] == pytest.approx(0.3, abs=1e-12)
    assert state["B_w"] - state["A_w"] == pytest.approx(-2.0, abs=1e-11)
    assert max(abs(v) for v in state.residuals["position"].values()) < 1e-12
    assert max(abs(v) for v in state.residuals["velocity"].values()) < 1e-11


def test_an_angle_is_met_together_with_an_acceleration():
    state = four_bar().initial({"OA.angle": 0.9, "OA.rate": 1.0, "A_w": 1.0}, guess=GUESS)
    other = four_bar().initial({"OA.angle": 0.9, "B_w'": 2.0}, guess=state)
    assert (other["A_a"], other["B_w'"]) == pytest.approx((0.9, 2.0), abs=1e-10)


def test_too_many_angles_are_named_with_a_value_that_fits():
    with pytest.raises(da.InitialStateError, match=r"OA.angle and AB.angle are tied by .*give one of them") as caught:
        four_bar().initial({"OA.angle": 0.9, "AB.angle": 0.9}, guess=GUESS)
    fits = caught.value.remedies["OA.angle"]
    state = four_bar().initial({"OA.angle": fits, "AB.angle": 0.9}, guess=GUESS)
    assert state["AB.angle"] == pytest.approx(0.9, abs=1e-9)


def test_a_guess_and_unknown_names_are_refused():
    with pytest.raises(da.OptionError, match="values of joints belong to the given values"):
        four_bar().initial({}, guess={"OA.angle": 0.3})
    with pytest.raises(da.UnknownNameError, match=r"did you mean `OA\.angle`"):
        four_bar().initial({"OA.angel": 0.3})


def test_a_cylindrical_joint_in_space_takes_both_values():
    model = da.Model("piston")
    body = model.body("B", mass=1.0, inertia=[1.0, 1.0, 1.0])
    model.joints.cylindrical("tube", model.marker(model.ground, [0, 0, 0.5], axis=[1, 0, 0]), body)
    system = model.compile()
    given = {"tube.angle": 2 * np.pi + 1.0, "tube.rate": 3.0, "tube.displacement": 0.7, "tube.speed": -1.0}
    state = system.initial(given, guess={"B_e0": 0.7, "B_e2": 0.7})
    np.testing.assert_allclose(state.position("B"), [0.7, 0.0, 0.5], atol=1e-11)
    np.testing.assert_allclose(state.velocity("B"), [-1.0, 0.0, 0.0], atol=1e-11)
    np.testing.assert_allclose(state.angular_velocity("B"), [3.0, 0.0, 0.0], atol=1e-10)
    assert state.joint("tube").angle == pytest.approx(1.0, abs=1e-11)  # in space it is known up to turns

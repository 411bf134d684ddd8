"""Position conditions that velocity constraints hide, on a manifold where their rank drops: named with their rows."""

import re

import numpy as np
import pytest
from sympy import cos, sin

import dalembert as da
from dalembert import problems

LENGTH, BEHIND, RADIUS = 2.5, 1.3, 20.0


def car_as_printed(*, servo=True):
    """The car of Dinh Van Phong with the path itself as the program constraint of the steering moment, (3.9)."""
    model = da.Model("car as printed")
    x, y, phi, theta = model.coordinates("x y phi theta")
    vx, vy, w, _ = model.speeds("vx vy w steering")
    (moment,) = model.unknowns("Md") if servo else (0,)
    front = [x + 1.2 * cos(phi), y + 1.2 * sin(phi)]
    model.body("body", mass=1200.0, inertia=1800.0, position=[x, y], rotation=phi)
    model.body("axle", mass=0, inertia=30.0, position=front, rotation=phi + theta)
    model.generalized_force({theta: moment})
    model.constrain(-vx * sin(phi) + vy * cos(phi) - BEHIND * w, name="rear")
    model.constrain(-vx * sin(phi + theta) + vy * cos(phi + theta) + 1.2 * cos(theta) * w, name="front")
    model.constrain(x**2 + (y - RADIUS) ** 2 - RADIUS**2, name="path", **({"servo": moment} if servo else {}))
    return model.compile()


def heading(x, y, phi, theta):
    """The hidden condition by hand: the mass centre heads along the circle."""
    along, across = LENGTH * np.cos(theta), BEHIND * np.sin(theta)
    return (
        x * (along * np.cos(phi) - across * np.sin(phi))
        + (y - RADIUS) * (along * np.sin(phi) + across * np.cos(phi))
    ) / LENGTH  # fmt: skip


def told(error):
    """The position a message says meets the condition, and its gradient by coordinate."""
    met = re.search(r"met at (x = .*?);", str(error)).group(1)
    terms = re.search(r"with the gradient (.*?), met", str(error)).group(1)
    gradient = {name: float(sign + size) for sign, size, name in re.findall(r"([+-]) (\S+) d(\w+)", terms)}
    return [float(part.split("=")[1]) for part in met.split(",")], gradient


@pytest.mark.parametrize(
    ("given", "guess"),
    [
        ({"x": 0.0, "phi": 0.0, "vx": 10.0}, {"y": 0.0, "theta": 0.0}),  # heads along the circle: it may move
        ({"x": 1.0, "phi": 0.1, "theta": 0.1, "vx": 1.0}, {}),  # the printed start, which does not
        ({"x": 5.0, "phi": -0.2, "vx": 3.0}, {"theta": 0.1}),
    ],
)
def test_the_car_as_printed_names_the_heading_it_hides(given, guess):
    with pytest.raises(da.InitialStateError, match=r"hidden condition, hidden\(path\)") as caught:
        car_as_printed().initial(given, guess=guess)
    assert "only where `path`, `rear` and `front` are dependent" in str(caught.value)
    q, gradient = told(caught.value)
    assert abs(q[0] ** 2 + (q[1] - RADIUS) ** 2 - RADIUS**2) < 1e-3  # six digits are told
    assert abs(heading(*q)) < 1e-4
    step = 1e-6 * np.eye(4)
    slopes = np.array([(heading(*(q + h)) - heading(*(q - h))) / 2e-6 for h in step])
    path = np.array([2 * q[0], 2 * (q[1] - RADIUS), 0.0, 0.0])
    found = np.array([gradient.get(name, 0.0) for name in ("x", "y", "phi", "theta")])
    both = [v - (v @ path) / (path @ path) * path for v in (slopes, found)]  # along the circle
    assert abs(both[0] @ both[1]) == pytest.approx(np.linalg.norm(both[0]) * np.linalg.norm(both[1]), rel=1e-3)


def test_it_is_the_condition_of_the_catalogue_that_the_car_then_runs_with():
    with pytest.raises(da.InitialStateError) as caught:
        car_as_printed().initial({"x": 1.0, "phi": 0.1, "theta": 0.1, "vx": 1.0})
    q, _ = told(caught.value)
    state = problems.get("car").system().initial({"x": q[0], "phi": q[2], "vx": 5.0}, guess={"y": q[1], "theta": q[3]})
    np.testing.assert_allclose(state.q, q, atol=1e-4)


def test_an_unknown_that_acts_nowhere_hides_nothing():
    model = da.Model("two carts")
    x, y = model.coordinates("x y")
    (F,) = model.unknowns("F")
    model.particle("a", mass=1.0, position=[x, 0])
    model.particle("b", mass=1.0, position=[0, y])
    model.generalized_force({x: F})
    model.constrain(y - sin(model.t), name="other", servo=F)
    with pytest.raises(da.InitialStateError, match="choose another unknown or state") as caught:
        model.compile().initial({x: 0.0})
    assert "hidden" not in str(caught.value)


def test_rows_that_leave_no_motion_anywhere_hide_nothing():
    model = da.Model("stuck")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1.0, position=[x, y])
    model.constrain(x, name="wall")
    model.constrain(y, name="floor")
    with pytest.raises(da.InitialStateError) as caught:
        model.compile().initial({"x'": 1.0})
    assert "hidden" not in str(caught.value)


def test_a_dead_centre_hides_nothing():
    """A slider cannot move while crank and rod are in line, but the crank can."""
    model = da.Model("slider-crank")
    a, b, x = model.coordinates("a b x")
    model.speeds("wa wb v")
    model.matrices(mass=np.eye(3).tolist(), force=[0, 0, 0])
    model.constrain(cos(a) + 2 * cos(b) - x, name="along")
    model.constrain(sin(a) + 2 * sin(b), name="across")
    with pytest.raises(da.InitialStateError, match="cannot all be met with") as caught:
        model.compile().initial({"a": 0.0, "v": 1.0}, guess={"x": 3.0, "b": 0.0})
    assert "hidden" not in str(caught.value)

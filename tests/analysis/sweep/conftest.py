"""A particle on a parabola in the plane: one position constraint, cheap runs, and starts that cannot be reached."""

import pytest
import sympy as sp

import dalembert as da


@pytest.fixture(scope="session")
def track():
    """The compiled system; the equations are not finite after t = `r`."""
    model = da.Model("track")
    x, y = model.coordinates("x y")
    vx, _ = model.speeds("vx vy")
    a, m, g, c, r = model.parameters(a=1.0, m=1.0, g=9.81, c=0.0, r=100.0)
    model.particle("P", mass=m, position=[x, y])
    model.gravity([0, -g])
    model.generalized_force({x: -c * vx + c * sp.sqrt(r - model.t)})
    model.constrain(y - a * x**2, name="track")
    model.output("tip", [x + y, x - y])
    return model.compile()


@pytest.fixture(scope="session")
def start(track):
    return track.initial({"x": 0.5, "vx": 0.0})

"""The smallest system that tests of runs share."""

import dalembert as da


def moved_by(force):
    """A unit mass on a line, moved by force(x, v)."""
    model = da.Model("mass")
    (x,) = model.coordinates("x")
    (v,) = model.speeds("v")
    model.particle("P", mass=1.0, position=[x, 0])
    model.generalized_force({x: force(x, v)})
    return model.compile()

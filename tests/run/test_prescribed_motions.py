"""Motions that constraints prescribe altogether: positions are exact whatever the step, so the work alone decides."""

import numpy as np
import pytest
from sympy import cos, sin

import dalembert as da

IMPLICIT = [da.Radau(), da.GeneralizedAlpha()]


def prescribed(rows, damping=0.0):
    model = da.Model("prescribed")
    x, y = model.coordinates("x y")
    bead = model.particle("bead", mass=1, position=[x, y])
    model.gravity([0, -9.81])
    model.force([-damping * x.diff(), 0], at=bead)
    for row in rows(x, y, model.t):
        model.constrain(row)
    system = model.compile()
    return system, system.initial(guess={x: 0.0, y: -1.0})


ROWS = {
    "path": lambda x, y, t: (x - sin(3 * t), y - cos(2 * t)),
    "pendulum": lambda x, y, t: (x**2 + y**2 - 1, x - sin(sin(2 * t))),
    "speeds": lambda x, y, t: (x.diff() - 3 * cos(3 * t), y.diff() + 2 * sin(2 * t)),
    "away": lambda x, y, t: (x - sin(3 * t), y - t**2 - x**2),
}


# Where speeds are prescribed, positions are integrated: a method of order 2 is wrong there, and says so.
CASES = [(i, name) for i in IMPLICIT for name in ROWS if name != "speeds" or isinstance(i, da.Radau)]


@pytest.mark.parametrize("damping", [0.0, 0.3])
@pytest.mark.parametrize(("integrator", "name"), CASES, ids=lambda v: v if isinstance(v, str) else type(v).__name__)
def test_a_motion_without_freedom_is_no_false_alarm(integrator, name, damping):
    system, state = prescribed(ROWS[name], damping)
    assert system.simulate(state, 5.0, integrator=integrator).certificate.ok


def errors_of_work(method, steps):
    """Largest errors of W = E(t) - E(0) of x = sin 3 t, y = cos 2 t, for numbers of steps."""
    system, state = prescribed(ROWS["path"])
    found = []
    for n in steps:
        motion = system.simulate(state, 5.0, integrator=method(step=5.0 / n))
        t = motion.t
        energy = (9 * np.cos(3 * t) ** 2 + 4 * np.sin(2 * t) ** 2) / 2 + 9.81 * np.cos(2 * t)
        found.append(np.abs(motion.work - (energy - energy[0])).max())
    return np.array(found)


@pytest.mark.parametrize(("method", "order"), [(da.Radau, 5), (da.GeneralizedAlpha, 4)])
def test_the_order_of_the_work(method, order):
    """Quadrature by three nodes of Radau, and by the cubic through four powers."""
    errors = errors_of_work(method, [50, 100, 200, 400])
    assert np.log2(errors[:-1] / errors[1:]).min() > order - 0.3


def test_a_step_over_a_jump_does_not_collapse():
    """No step makes the work of an impulse accurate; that there was one is said by its name."""
    system, state = prescribed(lambda x, y, t: (x - abs(t - 1), y + 1))
    for integrator in (*IMPLICIT, da.StateSpaceSVD()):
        motion = system.simulate(state, 2.0, integrator=integrator)
        assert motion.success
        assert "`jump of" in motion.certificate.verdict

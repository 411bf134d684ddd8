"""A row whose own gradient vanishes: sin a + sin b = 0 for two bars of length 1, where both are upright.

The bars fold onto each other there: b = -a goes on, and b = a + pi begins. On b = -a a pin of mass 1 at the end of the
first bar and a slider of mass 1 at that of the second have T = a'^2 (1 + 4 sin^2 a) / 2 and V = G sin a.
"""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from sympy import cos, sin

import dalembert as da

G, START, RATE = 9.81, 0.7, 5.0
TIMES = np.linspace(0.0, 4.0, 9)
BRANCH = 1e-3  # far above the errors of the methods below, far below what the other branch makes


@cache
def slider_crank(longer=0.0):
    """The system with a second bar of length 1 + longer, and its state at the start."""
    model = da.Model("slider-crank")
    a, b = model.coordinates("a b")
    length = 1.0 + longer
    model.particle("pin", mass=1.0, position=[cos(a), sin(a)])
    model.particle("slider", mass=1.0, position=[cos(a) + length * cos(b), sin(a) + length * sin(b)])
    model.gravity([0, -G])
    model.constrain(sin(a) + length * sin(b), name="way")
    system = model.compile()
    angle = -np.arcsin(np.sin(START) / length)
    return system, system.initial({a: START, a.diff(): RATE}, guess={b: angle, b.diff(): -RATE})


@cache
def upright_at():
    """The angle (nt,) at the times, and when bars are upright."""

    def rates(_, z):
        s, c = np.sin(z[0]), np.cos(z[0])
        return [z[1], -(4 * s * c * z[1] ** 2 + G * c) / (1 + 4 * s * s)]

    found = solve_ivp(
        rates, (0.0, TIMES[-1]), [START, RATE], "DOP853", TIMES, events=lambda _, z: np.cos(z[0]), rtol=1e-13,
        atol=1e-13,
    )  # fmt: skip
    return found.y[0], found.t_events[0]


def error(motion):
    return np.abs(motion["a"] - upright_at()[0][: len(motion)]).max()


def test_positions_are_passed_at_all_tolerances():
    system, state = slider_crank()
    errors = []
    for rtol in (1e-6, 1e-8, 1e-10, 1e-12):
        integrator = da.DOP853(rtol=rtol, atol=rtol / 100)
        motion = system.simulate(state, TIMES[-1], t_eval=TIMES, integrator=integrator)
        np.testing.assert_allclose([p.t for p in motion.passages], upright_at()[1], rtol=0, atol=1e3 * rtol + 1e-6)
        assert all(passage.passed for passage in motion.passages)
        assert rtol > 1e-7 or motion.certificate.ok, motion.certificate  # 1e-6 may lose more energy than allowed
        errors.append(error(motion))
    assert all(later < max(0.3 * sooner, 1e-9) for sooner, later in pairwise(errors)), errors


WAYS = {
    "UdwadiaKalaba": {"formulation": da.UdwadiaKalaba()},
    "NonminimalKane": {"formulation": da.NonminimalKane()},
    "MinimalKane": {"formulation": da.MinimalKane()},
    "NullSpace": {"formulation": da.NullSpace()},
    "Tsit5": {"integrator": da.Tsit5()},
    "RK4": {"integrator": da.RK4(1e-3)},
    "Radau": {"integrator": da.Radau()},
    "StateSpaceSVD": {"integrator": da.StateSpaceSVD()},
    "GeneralizedAlpha": {"integrator": da.GeneralizedAlpha(step=1e-3)},
    "IDA": {"integrator": da.IDA()},
    "NoCorrection": {"drift": da.NoCorrection()},
    "Baumgarte": {"drift": da.Baumgarte(20, 100)},
}


@pytest.mark.parametrize("name", WAYS)
def test_every_way_is_right_or_not_ok(name):
    system, state = slider_crank()
    motion = system.simulate(state, TIMES[-1], t_eval=TIMES, **WAYS[name])
    assert len(motion.passages) == len(upright_at()[1])
    right = len(motion) == len(TIMES) and error(motion) < BRANCH
    assert right or not motion.certificate.ok, motion.certificate


def test_a_longer_bar_has_no_such_position():
    """Of (cos a, (1 + longer) cos b) one entry is left where the other vanishes."""
    system, state = slider_crank(0.3)
    motion = system.simulate(state, TIMES[-1])
    assert motion.passages == ()
    assert motion.certificate.ok, motion.certificate

"""Rows whose own gradient vanishes in systems solved over their nonzeros: sixty equal slider-cranks.

Each has the equations of `test_vanishing_gradients`: on b = -a, (1 + 4 sin^2 a) a'' + 4 sin a cos a a'^2 + G cos a = 0.
"""

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from sympy import cos, sin

import dalembert as da
from dalembert.problems.n_four_bar import n_four_bar
from dalembert.solve.sparse import SPARSE

G, START, RATE, COUNT = 9.81, 0.7, 5.0, 60
TIMES = np.linspace(0.0, 2.0, 5)
OVER_NONZEROS = da.LagrangeMultipliers(solver=SPARSE)


@cache
def slider_cranks():
    model = da.Model("slider-cranks")
    for k in range(COUNT):
        a, b = model.coordinates(f"a{k} b{k}")
        model.particle(f"pin{k}", mass=1.0, position=[cos(a), sin(a)])
        model.particle(f"slider{k}", mass=1.0, position=[cos(a) + cos(b), sin(a) + sin(b)])
        model.constrain(sin(a) + sin(b), name=f"way{k}")
    model.gravity([0, -G])
    return model.compile()


def started(rates):
    """The state with the cranks at START, turning at these rates."""
    system, given, guess = slider_cranks(), {}, {}
    for k, rate in enumerate(rates):
        given |= {f"a{k}": START, system.speeds[2 * k]: rate}
        guess |= {f"b{k}": -START, system.speeds[2 * k + 1]: -rate}
    return system.initial(given, guess=guess)


@cache
def crank(rate):
    """The angle (nt,) at the times, and when bars are upright."""

    def rates(_, z):
        s, c = np.sin(z[0]), np.cos(z[0])
        return [z[1], -(4 * s * c * z[1] ** 2 + G * c) / (1 + 4 * s * s)]

    found = solve_ivp(
        rates, (0.0, TIMES[-1]), [START, rate], "DOP853", TIMES, events=lambda _, z: np.cos(z[0]), rtol=1e-13,
        atol=1e-13,
    )  # fmt: skip
    return found.y[0], found.t_events[0]


def error(motion, rates):
    return max(np.abs(motion[f"a{k}"] - crank(r)[0][: len(motion)]).max() for k, r in enumerate(rates))


@pytest.mark.parametrize("rtol", [1e-6, 1e-8, 1e-10])
def test_rows_that_vanish_together_are_passed_by_name(rtol):
    rates, integrator = [RATE] * COUNT, da.DOP853(rtol=rtol, atol=rtol / 100)
    motion = slider_cranks().simulate(
        started(rates), TIMES[-1], t_eval=TIMES, formulation=OVER_NONZEROS, integrator=integrator
    )
    upright = crank(RATE)[1]
    np.testing.assert_allclose([p.t for p in motion.passages], upright, rtol=0, atol=1e3 * rtol + 1e-6)
    assert all(passage.passed and len(passage.rows) == COUNT for passage in motion.passages)
    assert rtol > 1e-7 or motion.certificate.ok, motion.certificate  # 1e-6 may lose more energy than allowed
    assert error(motion, rates) < max(1e3 * rtol, 1e-8)


@pytest.mark.parametrize("spread", [1e-6, 1e-3, 1e-2, 0.1])
def test_rows_that_vanish_one_after_the_other_are_right_or_not_ok(spread):
    rates = [RATE + spread * k for k in range(COUNT)]
    motion = slider_cranks().simulate(started(rates), TIMES[-1], t_eval=TIMES, formulation=OVER_NONZEROS)
    right = len(motion) == len(TIMES) and error(motion, rates) < 1e-5
    assert right or not motion.certificate.ok, motion.certificate


def test_a_row_that_vanishes_among_others_is_named():
    """One crank turns upright, the others swing below."""
    rates = [RATE, *[-0.1] * (COUNT - 1)]
    motion = slider_cranks().simulate(started(rates), 0.3, t_eval=[0.3], formulation=OVER_NONZEROS)
    (passage,) = motion.passages
    assert passage.rows == ("way0",)
    assert passage.t == pytest.approx(crank(RATE)[1][0], abs=1e-6)
    assert motion.certificate.ok, motion.certificate


def test_an_implicit_method_passes_positions_over_nonzeros():
    problem = n_four_bar(40)
    system, exact = problem.system(), problem.exact(np.array([1.0]))
    errors = []
    for step in (5e-3, 1.25e-3):
        alpha = da.GeneralizedAlpha(step=step)
        motion = system.simulate(problem.state(system), 1.0, t_eval=[1.0], formulation=OVER_NONZEROS, integrator=alpha)
        assert [passage.passed for passage in motion.passages] == [True]
        errors.append(max(abs(motion[name][0] - value[0]) for name, value in exact.items() if name[0] in "xy"))
    assert errors[0] > 4.0**1.5 * errors[1]  # order 2, and not yet small steps

"""Two parallelograms that fold at nearly the same time: passed with an error that falls with the tolerance, or not OK.

Each moves as one bar, b = 0 and c = a with 2 a'' = -g cos a, integrated by SciPy; it folds where a is n pi.
"""

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import dalembert as da

G, T_END, SPEED = 3.0, 4.0, 3.0
APART = [0.01, 1e-3, 1e-4, 1e-6, 0.0]  # seconds at the first fold
ELSEWHERE = [0.3, 0.2, 0.1, 0.07, 0.05, 0.03, 0.02]  # about a step
TOLERANCES = [1e-6, 1e-8, 1e-10, 1e-12]
ALLOWED = 1e3  # tolerances: eight passages with ten each, and what the motion makes of them


@pytest.fixture(scope="module")
def linkage():
    model = da.Model("two parallelograms")
    q = model.coordinates("a1 b1 c1 a2 b2 c2")
    for k, (a, b, c) in enumerate((q[:3], q[3:])):
        model.energy(kinetic=(a.diff() ** 2 + 4 * b.diff() ** 2 + c.diff() ** 2) / 2, potential=G * sp.sin(a))
        model.constrain(sp.cos(a) + 2 * sp.cos(b) - sp.cos(c) - 2, name=f"x{k}")
        model.constrain(sp.sin(a) + 2 * sp.sin(b) - sp.sin(c), name=f"y{k}")
    return model.compile()


def angle(first, t):
    found = solve_ivp(
        lambda _, y: [y[1], -G / 2 * np.cos(y[0])], (0.0, t), [first, SPEED], method="DOP853", rtol=3e-14, atol=1e-14
    )
    return found.y[0, -1]


def run(linkage, apart, rtol):
    """The motion and its error."""
    starts = 1.0, 1.0 - SPEED * apart
    given = {"a1": starts[0], "a1'": SPEED, "a2": starts[1], "a2'": SPEED}
    state = linkage.initial(given, guess={"b1": 0.0, "c1": 1.0, "b2": 0.0, "c2": 1.0})
    motion = linkage.simulate(state, T_END, integrator=da.DOP853(rtol=rtol))
    t = float(motion.t[-1])
    return motion, max(
        abs(motion[name][-1] - angle(first, t)) for name, first in zip(("a1", "a2"), starts, strict=True)
    )


@pytest.mark.parametrize("rtol", TOLERANCES)
@pytest.mark.parametrize("apart", APART)
def test_folds_close_together_are_passed(linkage, apart, rtol):
    motion, error = run(linkage, apart, rtol)
    assert motion.certificate.ok
    assert len(motion.passages) >= 4
    assert error < ALLOWED * rtol


@pytest.mark.parametrize("rtol", TOLERANCES)
@pytest.mark.parametrize("apart", ELSEWHERE)
def test_folds_as_far_apart_as_steps_are_long_are_passed_or_not_ok(linkage, apart, rtol):
    motion, error = run(linkage, apart, rtol)
    assert error < ALLOWED * rtol or not motion.certificate.ok


def test_a_motion_that_an_arc_meets_exactly_is_passed():
    """Without gravity speeds are constant: the first guess of the arc is the motion, and nothing is left to improve."""
    model = da.Model("parallelogram")
    a, b, c = model.coordinates("a b c")
    model.energy(kinetic=(a.diff() ** 2 + 4 * b.diff() ** 2 + c.diff() ** 2) / 2)
    model.constrain(sp.cos(a) + 2 * sp.cos(b) - sp.cos(c) - 2)
    model.constrain(sp.sin(a) + 2 * sp.sin(b) - sp.sin(c))
    system = model.compile()
    state = system.initial({a: 1.0, a.diff(): 2.0}, guess={b: 0.0, c: 1.0})
    for rtol in TOLERANCES:
        motion = system.simulate(state, 4.0, integrator=da.DOP853(rtol=rtol))
        assert abs(motion["a"][-1] - 9.0) < 1e-9 or not motion.certificate.ok

"""Generalized-alpha steps with Newton matrices over their nonzeros, against the dense way and at size."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.problems.beam import STRIKE, beam, frequency
from dalembert.problems.n_four_bar import n_four_bar
from dalembert.run.integrators import generalized_alpha


def falling_chain(n):
    """n bodies in space on revolute joints about y, stretched out at rest: coordinates that are not rates of speeds."""
    model = da.Model("chain")
    model.gravity([0.0, 0.0, -9.81])
    before = model.marker(model.ground, [0.0, 0.0, 0.0], axis=[0.0, 1.0, 0.0])
    for k in range(n):
        body = model.body(f"B{k}", mass=1.0, inertia=[0.01, 0.1, 0.1])
        model.joints.revolute(f"J{k}", before, model.marker(body, [-0.5, 0.0, 0.0], axis=[0.0, 1.0, 0.0]))
        before = model.marker(body, [0.5, 0.0, 0.0], axis=[0.0, 1.0, 0.0])
    return model.compile().initial(guess={f"B{k}_x": k + 0.5 for k in range(n)})


def rolling_train():
    """Two knife edges, one drawn by the other: velocity rows."""
    model = da.Model("train")
    x, y, a, b = model.coordinates("x y a b")
    model.particle("P", mass=1.0, position=[x, y])
    model.generalized_force({a: 1.0 - a, b: 0.0})
    model.energy(kinetic=(a.diff() ** 2 + b.diff() ** 2) / 2)
    model.constrain(x.diff() * sp.sin(a) - y.diff() * sp.cos(a), name="edge")
    model.constrain(x.diff() * sp.sin(b) - y.diff() * sp.cos(b) - b.diff(), name="drawn")
    return model.compile().initial({"x_dot": 1.0, "a": 0.0, "b": 0.1, "a_dot": 0.2})


STARTS = {
    "beam": (lambda: beam(4).state(beam(4).build().compile()), 0.01, 40),
    "four_bars": (lambda: n_four_bar(3).state(n_four_bar(3).build().compile()), 0.4, 80),
    "chain": (lambda: falling_chain(3), 0.2, 40),
    "train": (rolling_train, 0.5, 40),
}


@pytest.mark.parametrize("name", STARTS)
def test_steps_over_nonzeros_are_the_dense_ones(monkeypatch, name):
    start, t_end, steps = STARTS[name]
    motions = []
    for least in (10**9, 0):
        monkeypatch.setattr(generalized_alpha, "NONZEROS_FROM", least)
        state = start()
        assert generalized_alpha.works_on_nonzeros(state.system) == (least == 0)
        integrator = da.GeneralizedAlpha(step=t_end / steps)
        motions.append(state.system.simulate(state, t_end, t_eval=[0.0, t_end], integrator=integrator))
    dense, sparse = motions
    assert dense.success
    assert dense.stats["steps"] == sparse.stats["steps"] == steps
    assert np.abs(dense.q - sparse.q).max() <= 1e-10
    assert np.abs(dense.u - sparse.u).max() <= 1e-10 * (1.0 + np.abs(dense.u).max())


def test_error_control_over_nonzeros_meets_the_tolerance(monkeypatch):
    monkeypatch.setattr(generalized_alpha, "NONZEROS_FROM", 0)
    state = falling_chain(2)
    rtol, t_end = 1e-5, 0.3
    exact = state.system.simulate(state, t_end, t_eval=[0.0, t_end], integrator=da.DOP853(rtol=1e-10))
    found = state.system.simulate(state, t_end, t_eval=[0.0, t_end], integrator=da.GeneralizedAlpha(rtol=rtol))
    # Each step adds an error of about rtol, and what it moves grows at most linearly over less than a swing.
    assert np.abs(found.q - exact.q).max() <= rtol * found.stats["steps"]


def test_a_beam_too_large_for_dense_matrices_swings_as_euler_and_bernoulli_say():
    problem, n, t_end = beam(800), 800, 0.2
    system = problem.build().compile()
    assert system.nu + system.nc > 3000
    integrator = da.GeneralizedAlpha(step=0.005, rho_inf=0.5)
    motion = system.simulate(problem.state(system), t_end, t_eval=[0.0, t_end], integrator=integrator)
    exact = STRIKE * np.sin(frequency() * t_end) / frequency()
    # Order 2: the phase of a swing is off by about (w h)^2 / 12 of it, and here by a few times that for rho_inf < 1.
    assert abs(motion[f"beam_y{n}"][-1] - exact) <= (frequency() * 0.005) ** 2 * STRIKE / frequency()
    assert np.abs([motion["beam_x0"], motion["beam_y0"], motion["beam_sy0"]]).max() <= 1e-12

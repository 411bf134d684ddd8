"""Radau with Newton matrices over their nonzeros, against the dense way and with constraints that repeat others."""

import ctypes

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import PairingError
from dalembert.problems.beam import STRIKE, beam, frequency
from dalembert.problems.n_four_bar import n_four_bar
from dalembert.problems.rope import rope
from dalembert.run.integrators import radau
from dalembert.solve.sparse_newton import SparseNewton


def places(pattern):
    return np.argwhere(pattern).astype(np.int64)


def called(newton, which, *arrays):
    """Call one of the functions by its address, as native code does."""
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(newton._addresses[which])
    function(arrays[0].ctypes.data, arrays[-1].ctypes.data)


def factored(newton, s, F_y, F_rate):
    request = np.concatenate([[s.real, s.imag], F_y[F_y != 0], F_rate[F_rate != 0]])
    answer = np.full(1, -1.0)
    called(newton, 0, request, answer)
    return answer[0]


@pytest.mark.parametrize("s", [complex(3.0), 2.0 + 5.0j])
def test_factors_solve_badly_scaled_equations(s):
    rng = np.random.default_rng(3)
    n = 30
    F_rate = np.diag(10.0 ** rng.uniform(-6, 6, n))
    F_y = rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.1) * np.sqrt(np.outer(F_rate.diagonal(), F_rate.diagonal()))
    newton = SparseNewton(n, places(F_y), places(F_rate), 0)
    assert factored(newton, s, F_y, F_rate) == 1.0
    K, x = F_y + s * F_rate, rng.normal(size=n)
    re, im = x.copy(), np.zeros(n)
    called(newton, 2 if s.imag else 1, re, im if s.imag else re)
    # Scaled to entries of size 1, the residual is round-off of its terms.
    found = re + 1j * im
    assert (np.abs(K @ found - x) <= 1e-13 * (np.abs(K) @ np.abs(found) + np.abs(x))).all()


def test_rows_that_repeat_others_and_empty_rows_are_told():
    F_rate, F_y = np.diag([1.0, 1.0, 0.0, 0.0]), np.zeros((4, 4))
    F_y[2, 0] = F_y[3, 0] = 1.0
    F_y[0, 2] = F_y[0, 3] = -1.0
    newton = SparseNewton(4, places(F_y), places(F_rate), 2)
    assert factored(newton, complex(2.0), F_y, F_rate) == 2.0
    x = np.array([0.0, 4.0, 1.0, 1.0])
    called(newton, 1, x)
    np.testing.assert_allclose(x[:2], [1.0, 2.0], rtol=1e-6)
    assert factored(newton, complex(0.0), F_y, F_rate) == 0.0


def test_after_an_interruption_nothing_is_solved():
    F_rate = np.eye(2)
    newton = SparseNewton(2, np.zeros((0, 2), dtype=np.int64), places(F_rate), 0)
    assert factored(newton, complex(2.0), np.zeros((2, 2)), F_rate) == 1.0
    newton.interrupted = True
    x = np.ones(2)
    called(newton, 1, x)
    assert np.isnan(x).all()
    assert factored(newton, complex(2.0), np.zeros((2, 2)), F_rate) == 0.0


def both(monkeypatch, problem, t_end, integrator):
    """The motion with dense matrices and that over nonzeros."""
    motions = []
    for least in (10**9, 0):
        monkeypatch.setattr(radau, "NONZEROS_FROM", least)
        system = problem.build().compile()
        state = problem.state(system)
        motions.append(system.simulate(state, t_end, t_eval=[0.0, t_end], integrator=integrator))
    return motions


@pytest.mark.parametrize(
    ("problem", "t_end", "steps"), [(beam(4), 0.01, 40), (rope(4), 0.1, 20), (n_four_bar(3), 0.4, 40)]
)
def test_steps_over_nonzeros_are_the_dense_ones(monkeypatch, problem, t_end, steps):
    dense, sparse = both(monkeypatch, problem, t_end, da.Radau(step=t_end / steps, rtol=1e-12))
    assert dense.stats["steps"] == sparse.stats["steps"] == steps
    scale = 1.0 + np.abs(dense.u).max()
    assert np.abs(dense.q - sparse.q).max() <= 1e-10
    assert np.abs(dense.u - sparse.u).max() <= 1e-10 * scale
    assert sparse.certificate.ok


@pytest.mark.parametrize("least", [10**9, 0])
def test_a_finer_beam_takes_no_shorter_steps(monkeypatch, least):
    """Rounding alone makes elements vibrate, n^2 as fast: eps q/h in the speeds, the more the shorter the steps."""
    monkeypatch.setattr(radau, "NONZEROS_FROM", least)
    t_end, steps = 0.05, []
    for n in (10, 40):
        problem = beam(n)
        system = problem.build().compile()
        motion = system.simulate(problem.state(system), t_end, t_eval=[0.0, t_end], integrator=da.Radau())
        assert motion.certificate.ok
        exact = STRIKE * np.sin(frequency() * t_end) / frequency()
        # Euler and Bernoulli leave out what shear-free elements change, of the order of their size to the fourth.
        assert abs(motion[f"beam_y{n}"][-1] - exact) <= 10 * exact * n**-4.0
        steps.append(motion.stats["steps"])
    assert steps[1] <= 2 * steps[0]


def test_redundant_constraints_leave_the_motion_as_it_is(monkeypatch):
    monkeypatch.setattr(radau, "NONZEROS_FROM", 0)
    model = da.Model("pendulum with its rod twice")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1.0, position=[x, y])
    model.gravity([0, -9.81])
    model.constrain(x**2 + y**2 - 1, name="rod")
    model.constrain(3 * x**2 + 3 * y**2 - 3, name="rod_again")
    system = model.compile()
    motion = system.simulate(system.initial({x: 1.0}, guess={y: 0.0}), 1.0, integrator=da.Radau(rtol=1e-10))
    energy = 0.5 * (motion.u**2).sum(axis=1) + 9.81 * motion["y"]
    assert np.abs(energy).max() <= 1e-7
    assert np.abs(motion["x"] ** 2 + motion["y"] ** 2 - 1).max() <= 1e-12


@pytest.fixture(scope="module")
def hanging():
    """A chain of 610 bodies on revolute joints in the plane, stretched out at rest: 3,050 speeds and constraints."""
    n = 610
    model = da.Model("chain")
    model.gravity([0.0, -9.81])
    before = model.marker(model.ground, [0.0, 0.0])
    for k in range(n):
        body = model.body(f"B{k}", mass=1.0, inertia=1 / 12)
        model.joints.revolute(f"J{k}", before, model.marker(body, [-0.5, 0.0]))
        before = model.marker(body, [0.5, 0.0])
    system = model.compile()
    return system.initial(guess={f"B{k}_x": k + 0.5 for k in range(n)})


def test_a_system_too_large_for_dense_matrices_moves_as_an_explicit_method_has_it(hanging):
    system, rtol = hanging.system, 1e-8
    implicit, explicit = (
        system.simulate(hanging, 0.02, t_eval=[0.02], integrator=integrator)
        for integrator in (da.Radau(rtol=rtol), da.DOP853(rtol=1e-11))
    )
    assert implicit.certificate.ok
    assert np.abs(implicit.q - explicit.q).max() <= rtol * np.abs(explicit.q).max()
    # Some tens of steps, each with an error of about rtol relative to sizes and speeds, which are not above 1.
    assert np.abs(implicit.u - explicit.u).max() <= 100 * rtol * (1.0 + np.abs(explicit.u).max())


@pytest.mark.parametrize("integrator", [da.IDA(), da.StateSpaceSVD()])
def test_dense_implicit_integrators_are_refused_with_one_that_works(hanging, integrator):
    with pytest.raises(PairingError, match=r"3,050 speeds and constraints, at most 3,000\); use Radau\(\)"):
        hanging.system.simulate(hanging, 0.01, integrator=integrator)


def test_derivatives_by_dense_matrices_are_refused(hanging):
    with pytest.raises(PairingError, match=r"Radau finds derivatives of a motion by dense matrices.*use an explicit"):
        hanging.system.simulate(hanging, 0.01, integrator=da.Radau(), sensitivities=["B0_phi"])

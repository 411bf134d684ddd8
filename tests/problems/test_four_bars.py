"""The planar four-bar of the lecture and the N-four-bar of IFToMM, judged by hand-written geometry and energy."""

import numpy as np
import pytest

import dalembert as da
from dalembert import problems
from dalembert.problems import n_four_bar as a02

LA, LB, LC, LN, MASS, G = 0.8, 2.0, 1.0, 2.0, 1.0, 9.81


@pytest.fixture(scope="module")
def motion():
    return problems.get("four_bar").simulate()


def test_initial_angles():
    problem = problems.get("four_bar")
    state = problem.state(problem.system())
    np.testing.assert_allclose(np.rad2deg(state.q), [10.0, 6.57526576, -151.3836336], rtol=0, atol=6e-8)


def test_angles_after_one_second(motion):
    np.testing.assert_allclose(motion.at(1.0).q, [-1.5400437477, 2.4096047900, -1.6856468380], rtol=0, atol=1e-9)


def test_loop_stays_closed(motion):
    a, b, c = np.cumsum(motion.q, axis=1).T
    x = LA * np.cos(a) + LB * np.cos(b) + LC * np.cos(c) - LN
    y = LA * np.sin(a) + LB * np.sin(b) + LC * np.sin(c)
    assert motion.t[-1] == 30.0
    assert max(np.abs(x).max(), np.abs(y).max()) < 1e-10


def test_energy_is_kept(motion):
    (a, b, _), (wa, wb, _) = np.cumsum(motion.q, axis=1).T, np.cumsum(motion.u, axis=1).T
    fast, slow = LB * wb, LA * wa
    twice = slow**2 + (slow**2 + fast**2 + 2 * slow * fast * np.cos(a - b))
    energy = MASS * twice / 2 + MASS * G * (2 * LA * np.sin(a) + LB * np.sin(b))
    assert np.ptp(energy) < 1e-6


def test_n_four_bar_published_end_point():
    """EXUDYN's generalised-alpha run with h = 1.25e-4, converging with h^2 to the exact B0 at t = 10 s."""
    end = problems.get("n_four_bar").exact(np.array([10.0]))
    found = [end[name][0] for name in ("x0", "y0", "vx0", "vy0")]
    np.testing.assert_allclose(found, [0.3284573768, 0.9445187937, 1.423050003, -0.4948670827], rtol=0, atol=3e-6)


def test_n_four_bar_stays_on_its_branch():
    motion = problems.get("n_four_bar").simulate()
    exact = problems.get("n_four_bar").exact(motion.t)
    miss = np.hypot(motion["x0"] - exact["x0"], motion["y0"] - exact["y0"])
    assert motion.success
    assert motion.t[-1] == 10.0
    assert miss.max() < 1e-4


@pytest.mark.parametrize("n", [1, 3, 5])
def test_other_numbers_of_loops_agree_until_the_first_singular_position(n):
    problem = a02.n_four_bar(n)
    motion = problem.simulate(t_end=0.6)
    for name, values in problem.exact(motion.t).items():
        np.testing.assert_allclose(motion[name], values, rtol=0, atol=1e-8, err_msg=name)


def test_n_four_bar_passes_singular_positions_at_tight_tolerance():
    motion = problems.get("n_four_bar").simulate(integrator=da.DOP853(rtol=1e-12, atol=1e-14))
    assert motion.success, motion.message


def test_n_four_bar_passes_singular_positions_from_neighbouring_starts():
    problem = problems.get("n_four_bar")
    system = problem.system()
    for speed in np.linspace(0.9, 1.1, 200):
        state = system.initial({**problem.given, "x0'": speed}, guess=problem.guess)
        motion = system.simulate(state, 10.0)
        assert motion.success, f"{speed}: {motion.message}"

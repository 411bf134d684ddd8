"""Arcs over a singular position of a parallelogram of rods, which moves as a pendulum: their error, as estimated."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from dalembert.problems.n_four_bar import n_four_bar
from dalembert.run.drift.projection import Projection
from dalembert.run.engine import Engine
from dalembert.run.formulations.lagrange_multipliers import LagrangeMultipliers
from dalembert.run.time_loop.collocation import TILE, Arc, _add_products, collocate

KAPPA = 9.81 * 2 / (2 / 3 + 1)  # of angle'' = KAPPA sin(angle), from the upright
ROUND_OFF = 1e-11  # amplified by the inverse square of the distance of stages from the position, some hundredths


def angle_and_rate(time):
    """Those of the cranks at a time before or after they lie in line, where they turn at the rate 3."""
    found = solve_ivp(
        lambda _, z: [z[1], KAPPA * np.sin(z[0])], (0.0, time), [np.pi / 2, 3.0], "DOP853", rtol=1e-13, atol=1e-14
    )
    return found.y[:, -1]


def state_at(system, time):
    """(q, u) of two cranks and a coupler of length 1."""
    angle, rate = angle_and_rate(time)
    s, c = np.sin(angle), np.cos(angle)
    values = {f"x{k}": k + s for k in (0, 1)} | {f"y{k}": c for k in (0, 1)}
    values |= {f"vx{k}": rate * c for k in (0, 1)} | {f"vy{k}": -rate * s for k in (0, 1)}
    return np.array([values[str(name)] for name in (*system.coordinates, *system.speeds)])


def arc_over(half, enough):
    """The arc of twice that length with the position in its middle, its estimated and its true error at the end."""
    system = n_four_bar(1).system()
    engine = Engine(system, system.parameter_values(None), LagrangeMultipliers(), Projection(1e-14))
    z = np.zeros(engine.nz)
    z[: engine.size] = state_at(system, -half)
    guess = Arc(-half, 2 * half, z, engine.rates(-half, z)[None, :])
    arc, error = collocate(engine, guess, np.ones(engine.nz), enough)
    end = engine.corrected(half, arc.at(np.array(half)))[0]
    return arc, error, np.abs(end[: engine.size] - state_at(system, half)).max()


@pytest.mark.parametrize("enough", [1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10])
@pytest.mark.parametrize("half", [0.02, 0.05, 0.1])
def test_the_estimate_covers_the_error(half, enough):
    _, estimate, error = arc_over(half, enough)
    assert error < estimate + ROUND_OFF


def test_more_stages_are_taken_where_less_error_is_sought():
    lengths = [len(arc_over(0.05, enough)[0].coefficients) for enough in (1e-4, 1e-10)]
    assert lengths == [8, 10]


def test_an_arc_that_is_too_long_has_no_small_error():
    _, estimate, error = arc_over(1.0, 1e-8)
    assert estimate > 1e-4
    assert error < estimate


@pytest.mark.parametrize("share", [0.25, 0.8])
def test_a_part_of_an_arc_is_the_arc(share):
    """The rates are the same polynomial, so both agree up to the round-off of its coefficients."""
    arc, _, _ = arc_over(0.05, 1e-8)
    end = arc.t + share * arc.length
    part = arc.until(end)
    times = np.linspace(arc.t, end, 7)
    np.testing.assert_allclose(part.at(times), arc.at(times), rtol=0, atol=1e-13)


@pytest.mark.parametrize("n", [1, TILE - 1, TILE, 2 * TILE + 3])
def test_rows_longer_than_a_tile_are_combined_throughout(n):
    rng = np.random.default_rng(n)
    weights, source, to = rng.standard_normal((3, 5)), rng.standard_normal((4, n)), rng.standard_normal((3, n))
    wanted = to + 0.7 * weights[:, :4] @ source
    _add_products(weights.reshape(-1), 5, 3, 4, 0.7, source.reshape(-1), to.reshape(-1), n)
    np.testing.assert_allclose(to, wanted, rtol=0, atol=1e-14)

"""Runs that last many periods: sizes are those of the mechanism, not of a free fall for hours."""

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import dalembert as da

G = 9.81


def pendulum(row):
    """A particle that `row(x, y)` keeps at a distance of 1 from the origin, at rest at x = 0.1."""
    model = da.Model("pendulum")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1.0, position=[x, y])
    model.gravity([0, -G])
    model.constrain(row(x, y), name="rod")
    system = model.compile()
    return system, system.initial({x: 0.1, x.diff(): 0.0}, guess={y: -1.0})


def swing(t):
    """x at the times t: sin(angle / 2) = k sn(w t + K)."""
    angle, w = np.arcsin(0.1), np.sqrt(G)
    k = np.sin(angle / 2)
    quarter = ellipk(k * k)
    return np.sin(2 * np.arcsin(k * ellipj(np.mod(w * t + quarter, 4 * quarter), k * k)[0]))


ROWS = {"square": lambda x, y: x**2 + y**2 - 1, "root": lambda x, y: (x**2 + y**2) ** 0.5 - 1}


@pytest.mark.parametrize("name", ROWS)
def test_a_pendulum_that_swings_for_hours_is_right(name):
    """To a thousandth of the amplitude; with tolerances for the way of a free fall it is off by twice the amplitude."""
    system, state = pendulum(ROWS[name])
    times = np.linspace(0.0, 2e4, 11)
    motion = system.simulate(state, 2e4, t_eval=times)
    assert motion.certificate.ok, motion.certificate
    np.testing.assert_allclose(motion["x"], swing(times), rtol=0, atol=1e-4)


@pytest.mark.parametrize("span", [1.0, 1e3, 2e4, 1e6])
@pytest.mark.parametrize("name", ROWS)
def test_sizes_of_a_pendulum_do_not_grow_with_the_run(name, span):
    system, state = pendulum(ROWS[name])
    scales = [system.simulate(state, t, t_eval=[0.0], integrator=da.RK4(t)).scales.q for t in (1.0, span)]
    np.testing.assert_allclose(scales[1], scales[0], rtol=1e-12)


def test_sizes_of_an_orbit_do_not_grow_with_the_run():
    """A circle of radius 1 and period 2 pi: forces turn the particle back."""
    model = da.Model("orbit")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1.0, position=[x, y])
    model.energy(potential=-1 / (x**2 + y**2) ** 0.5)
    system = model.compile()
    state = system.initial({x: 1.0, y: 0.0, x.diff(): 0.0, y.diff(): 1.0})
    motion = system.simulate(state, 1e6, t_eval=[0.0], integrator=da.RK4(1e6))
    assert np.all(motion.scales.q < 10.0)


def test_a_block_on_a_table_does_not_fall():
    """On a plane at height 2, beside a spring: its place counts, not how far it would fall in a day."""
    model = da.Model("block")
    x, z = model.coordinates("x z")
    model.particle("P", mass=1.0, position=[x, 0, z])
    model.gravity([0, 0, -G])
    model.energy(potential=2 * x**2)
    model.constrain(z - 2, name="table")
    system = model.compile()
    state = system.initial({x: 1.0, x.diff(): 0.0})
    motion = system.simulate(state, 1e5, t_eval=[0.0], integrator=da.RK4(1e5))
    assert np.all(motion.scales.q < 10.0)


def test_a_free_fall_is_as_large_as_its_way():
    model = da.Model("stone")
    (y,) = model.coordinates("y")
    model.particle("P", mass=1.0, position=[0, y])
    model.gravity([0, -G])
    system = model.compile()
    state = system.initial({y: 0.0, y.diff(): 0.0})
    fallen = system.simulate(state, 1e3, t_eval=[0.0], integrator=da.RK4(1e3)).scales.q[0]
    assert 1e-2 * G * 1e6 < fallen < G * 1e6

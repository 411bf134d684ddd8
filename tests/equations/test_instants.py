"""Instants at which an expression of time bends or jumps, found beforehand."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.equations.instants import instants

WAVES = {
    "square wave": (lambda t: sp.sign(sp.sin(2 * t)), lambda t: np.sin(2 * t)),
    "pulses of a sine": (lambda t: sp.Heaviside(3 * sp.sin(2 * t + 1) - 1), lambda t: 3 * np.sin(2 * t + 1) - 1),
    "pulses of a cosine": (lambda t: sp.Max(0, sp.cos(t / 2) + 0.3), lambda t: np.cos(t / 2) + 0.3),
    "below a level": (lambda t: sp.Piecewise((1, sp.sin(-t) < 0.9), (0, True)), lambda t: np.sin(-t) - 0.9),
    "saw": (lambda t: sp.Abs(sp.Mod(t, 3) - 1), lambda t: t % 3 - 1),
}


def forced(force):
    model = da.Model("forced")
    (x,) = model.coordinates("x")
    model.particle("P", mass=1, position=[x, 0])
    model.generalized_force({x: force(model.t)})
    return model.compile()


@pytest.mark.parametrize("name", WAVES)
def test_zeros_of_waves_are_found(name):
    force, argument = WAVES[name]
    found = instants(forced(force), np.zeros(0), (0.0, 20.0))
    times = np.linspace(0.0, 20.0, 200_001)
    signs = np.sign(argument(times))
    changes = times[1:][signs[1:] * signs[:-1] < 0]  # every change of sign lies within a grid step of an instant
    assert len(changes) >= 3
    assert all(np.abs(found - t).min() < 2e-4 for t in changes)


def test_a_wave_that_does_not_reach_its_level_has_no_instants():
    assert instants(forced(lambda t: sp.Heaviside(sp.sin(t) - 2)), np.zeros(0), (0.0, 20.0)).size == 0

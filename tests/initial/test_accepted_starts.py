"""`simulate` accepts whatever `initial` returns: random sizes, units, drives, disturbances and times of start.

Lengths, masses and times of 1e-6 to 1e6, rows in units 1e-12 to 1e12 times as large, disturbances from 1e-17 of the
length on, drives that begin long after the start, clocks that show 1e9 s.
"""

import numpy as np
import pytest
import sympy as sp

import dalembert as da

SHAPES = [
    lambda s: 1 / (1 + sp.exp(-s)), lambda s: sp.exp(-(s**2)), sp.tanh, sp.sin, lambda s: s, lambda s: s**3,
    lambda s: sp.Max(0, s) ** 2, lambda s: 1 / (1 + s**2), sp.atan, lambda s: sp.exp(s / 10), lambda s: sp.cos(s) - 1,
    lambda s: sp.Piecewise((0, s < 0), (s**3, True)),
]  # fmt: skip
TRACKS = {
    "parabola": lambda x, y, L, c: y - c * x**2 / L,
    "circle": lambda x, y, L, _: x**2 + y**2 - L**2,
    "sine": lambda x, y, L, _: y - L * sp.sin(x / L),
    "line": lambda x, y, _, c: y - c * x,
}


def build(rng):
    """A random model, its given start and guess, the time of the start and the length of the run."""
    power = lambda low, high: float(10.0 ** rng.uniform(low, high))  # noqa: E731
    model, L, T, n = da.Model("random start"), power(-6, 6), power(-4, 4), int(rng.integers(1, 4))
    begin = float(rng.choice([0.0, 0.0, 0.0, 1.0, -5 * T, 1e3 * T, 1e9]))
    q = model.coordinates(" ".join(f"{c}{k}" for k in range(n) for c in "xy"))
    if rng.random() < 0.7:
        model.gravity([0, -power(-2, 3)])
    given, guess, small = {}, {}, L * power(-17, 0)
    for k in range(n):
        x, y, unit = q[2 * k], q[2 * k + 1], power(-12, 12)
        model.particle(f"P{k}", mass=power(-6, 6), position=[x, y])
        shape, width = SHAPES[int(rng.integers(len(SHAPES)))], T * power(-6, 0.5)
        drive = L * shape((model.t - sp.Float(begin + T * rng.uniform())) / sp.Float(width))
        kind = str(rng.choice([*TRACKS, "rod", "position", "velocity", "free"]))
        if kind in TRACKS:
            model.constrain(unit * TRACKS[kind](x, y, L, power(-2, 1)), name=f"track{k}")
            given[x], guess[y] = small, -L if kind == "circle" else 0.0
        elif kind == "rod" and k:
            model.constrain(unit * ((x - q[2 * k - 2]) ** 2 + (y - q[2 * k - 1]) ** 2 - L**2), name=f"rod{k}")
            given[x], guess[y] = small, -2 * L
        elif kind == "position":
            model.constrain(unit * (x - drive), name=f"drive{k}")
            given |= {y: small, f"y{k}_dot": 0.0}
        elif kind == "velocity":
            model.constrain(unit * (x.diff() - drive / T), name=f"drive{k}")
            given |= {x: small, y: 0.0, f"y{k}_dot": 0.0}
        else:
            given |= {x: small, y: 0.0, f"x{k}_dot": 0.0, f"y{k}_dot": 0.0}
        if kind in TRACKS and rng.random() < 0.5:
            given[f"x{k}_dot"] = L / T * power(-9, 0)
    return model, given, guess, begin, T


def begin_to_move(seed):
    """Whether there was a start: random rods do not reach everywhere."""
    model, given, guess, begin, T = build(np.random.default_rng(seed))
    system = model.compile()
    try:
        state = system.initial(given, guess=guess, t0=begin)
    except da.InitialStateError:
        return False
    motion = system.simulate(state, (begin, begin + T), integrator=da.DOP853(max_steps=30))
    if 1e-6 * begin < T:  # a clock that shows 1e9 s does not resolve a millionth of less
        assert motion.stats["steps"] > 0, (seed, motion.message)
    return True


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_a_start_that_was_found_is_accepted(first):
    assert sum(begin_to_move(seed) for seed in range(first, first + 20)) >= 18


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 2000, 250))
def test_a_thousand_starts_that_were_found_are_accepted(first):
    assert sum(begin_to_move(seed) for seed in range(first, first + 250)) >= 235

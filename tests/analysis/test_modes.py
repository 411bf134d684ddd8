"""Eigenvalues of large systems by sparse iterations: closed forms of chains, the dense linearisation, refusals."""

from itertools import pairwise

import numpy as np
import pytest
import sympy as sp
from scipy.linalg import eigh_tridiagonal

import dalembert as da

G = 9.81


def hanging_chain(count):
    """Beads on rods of length 1, in natural coordinates, at rest."""
    model = da.Model("chain")
    model.gravity([0, -G])
    last = (0, 0)
    for k in range(count):
        x, y = model.coordinates(f"x{k} y{k}")
        model.particle(f"P{k}", mass=2.0, position=[x, y])
        model.constrain((x - last[0]) ** 2 + (y - last[1]) ** 2 - 1, name=f"rod{k}")
        last = (x, y)
    system = model.compile()
    return system, system.initial({}, guess={f"y{k}": -(k + 1.0) for k in range(count)})


def frequencies_of_a_hanging_chain(count):
    """w^2 = g / l times the zeros of the Laguerre polynomial, the eigenvalues of its Jacobi matrix."""
    zeros = eigh_tridiagonal(2 * np.arange(count) + 1.0, np.arange(1.0, count))[0]
    return np.sqrt(G * np.sort(zeros))


@pytest.mark.parametrize("count", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_hanging_chain_has_the_zeros_of_laguerre_polynomials(count):
    system, state = hanging_chain(count)
    modes = system.modes(state, k=10)
    want = np.repeat(frequencies_of_a_hanging_chain(count)[:5], 2)
    np.testing.assert_allclose(modes.frequencies, want, rtol=1e-9)
    np.testing.assert_allclose(modes.eigenvalues.real, 0.0, atol=1e-9)
    shape = modes.mode_shape(0)
    assert shape[f"x{count - 1}"] == pytest.approx(1.0)  # the free end moves most
    assert abs(shape[f"y{count - 1}"]) < 1e-9


def string_of_beads(count, damping=0.0):
    """Unit masses between fixed ends, springs of stiffness 1: w_j = 2 sin(j pi / (2 (count + 1)))."""
    model = da.Model("beads")
    x = [0, *model.coordinates(" ".join(f"x{k}" for k in range(count))), 0]
    for k in range(1, count + 1):
        model.energy(kinetic=x[k].diff() ** 2 / 2)
        model.generalized_force({x[k]: -damping * x[k].diff()})
    for k in range(count + 1):
        model.energy(potential=(x[k + 1] - x[k]) ** 2 / 2)
    system = model.compile()
    return system, system.initial()


def test_a_string_of_beads_near_any_frequency():
    count = 300
    system, state = string_of_beads(count)
    every = 2 * np.sin(np.arange(1, count + 1) * np.pi / (2 * (count + 1)))
    np.testing.assert_allclose(system.modes(state, k=6).frequencies[::2], every[:3], rtol=1e-9)
    near = system.modes(state, k=5, near=1.2345j).eigenvalues
    want = every[np.argsort(np.abs(every - 1.2345))[:5]]
    np.testing.assert_allclose(near, 1j * want, atol=1e-10)


def test_modes_are_those_of_the_linearisation():
    """Joints, damping, gravity; every eigenvalue that is asked for is one of the dense ones, and the nearest."""
    model = da.Model("bodies")
    above = model.ground
    c, angle = 0.3, []
    for k in range(4):
        body = model.body(f"B{k}", mass=1.0 + k, inertia=0.2)
        joint = model.joints.revolute(f"hinge{k}", above, model.marker(body, [0, 0.5, 0]))
        angle.append(joint)
        above = model.marker(body, [0, -0.5, 0])
    model.gravity([0, -G])
    x0 = next(iter(model.statement.coordinates))
    model.generalized_force({x0: -c * x0.diff()})
    system = model.compile()
    state = system.equilibrium(guess={f"B{k}_y": -(k + 0.5) for k in range(4)})
    dense = system.linearize(state).eigenvalues
    for near in (0.0, 2.0 + 5j):
        found = system.modes(state, k=4, near=near).eigenvalues
        gap = np.abs(dense[:, None] - found)
        assert gap.min(axis=0).max() < 1e-9
        np.testing.assert_allclose(np.sort(np.abs(found - near)), np.sort(np.abs(dense - near))[:4], atol=1e-9)


def test_a_free_body_has_zero_eigenvalues():
    """The shift 0 is an eigenvalue itself: two free masses with a spring; w^2 = 2 k / m."""
    model = da.Model("free")
    xs = model.coordinates("a b c d e f")
    for x in xs:
        model.energy(kinetic=x.diff() ** 2 / 2)
    for x, other in pairwise(xs):
        model.energy(potential=2 * (x - other) ** 2)
    system = model.compile()
    found = system.modes(system.initial(), k=4)
    want = 4 * np.sin(np.pi / 12)  # w = 2 sqrt(k / m) sin(j pi / (2 n))
    np.testing.assert_allclose(
        found.frequencies, [0.0, 0.0, want, want], atol=1e-6
    )  # a double zero is known to the root


def test_what_cannot_be_is_refused_by_name():
    system, state = string_of_beads(20)
    with pytest.raises(da.OptionError, match="k = 0"):
        system.modes(state, k=0)
    with pytest.raises(da.OptionError, match="nearly all"):
        system.modes(state, k=38)
    with pytest.raises(da.LinearizationError, match="not at rest"):
        system.modes(system.initial({"x3": 1.0}))
    with pytest.raises(da.OptionError, match="mode 6 does not exist"):
        system.modes(state, k=6).mode_shape(6)
    assert "the 6 nearest to 0" in repr(system.modes(state, k=6))
    _, rest = hanging_chain(2)
    with pytest.raises(da.PairingError, match="a State of `beads`"):
        system.modes(rest)
    model = da.Model("twice")
    xs = model.coordinates("a b c d e f")
    for x in xs:
        model.energy(kinetic=x.diff() ** 2 / 2, potential=x**2)
    model.constrain(xs[0] - xs[1], name="first")
    model.constrain(sp.sin(xs[0] - xs[1]), name="second")
    doubled = model.compile()
    with pytest.raises(da.LinearizationError, match="constraints depend on each other"):
        doubled.modes(doubled.initial(), k=2)

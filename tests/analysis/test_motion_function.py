"""Outputs of a motion as a function: values, exact Jacobian, and the same through JAX where it is installed."""

import numpy as np
import pytest

import dalembert as da

FINE = da.DOP853(rtol=1e-12, atol=1e-13)


@pytest.fixture(scope="module")
def oscillator():
    """x = x0 cos(w t), w = sqrt(k / m), at three times, with x^2 beside it."""
    model = da.Model("oscillator")
    (x,) = model.coordinates("x")
    m, k = model.parameters(m=2.0, k=8.0)
    model.energy(kinetic=m * x.diff() ** 2 / 2, potential=k * x**2 / 2)
    system = model.compile()
    state = system.initial({x: 1.5, x.diff(): 0.0})
    return system.function([x, x**2], state, 2.0, to=[k, x], t_eval=[0.5, 1.0, 2.0], integrator=FINE)


def exact(values):
    """Values (3, 2) and derivatives in (k, x0), (3, 2, 2)."""
    (k, x0), t = values, np.array([0.5, 1.0, 2.0])
    w = np.sqrt(k / 2.0)
    x = x0 * np.cos(w * t)
    slope = np.stack([-x0 * t * np.sin(w * t) / (4.0 * w), np.cos(w * t)], axis=1)
    return np.stack([x, x**2], axis=1), np.stack([slope, 2 * x[:, None] * slope], axis=1)


def test_values_and_jacobian(oscillator):
    np.testing.assert_array_equal(oscillator.first, [8.0, 1.5])
    values = [6.0, 0.7]
    y, J = exact(values)
    np.testing.assert_allclose(oscillator(values), y, atol=1e-9)
    found, slopes = oscillator.with_jacobian(values)
    np.testing.assert_allclose(found, y, atol=1e-9)
    np.testing.assert_allclose(slopes, J, atol=1e-8)


def test_the_end_is_the_usual_time():
    model = da.Model("rod")
    x, y = model.coordinates("x y")
    (L,) = model.parameters(L=1.0)
    model.particle("bob", mass=1.0, position=[x, y])
    model.gravity([0, -9.81])
    model.constrain(x**2 + y**2 - L**2, name="rod")
    system = model.compile()
    state = system.initial({x: 0.6}, guess={y: -0.8})
    f = system.function(["y"], state, 0.7, to=["L"], integrator=FINE)
    h = 1e-3
    slope = (8 * (f([1 + h]) - f([1 - h])) - (f([1 + 2 * h]) - f([1 - 2 * h]))) / (12 * h)
    np.testing.assert_allclose(f.with_jacobian([1.0])[1][0], slope, atol=1e-8)


def test_bad_requests_say_what_to_do(oscillator):
    system, state = oscillator.system, oscillator.state
    with pytest.raises(da.ArrayError, match=r"2 finite numbers \(k, x\)"):
        oscillator([1.0])
    with pytest.raises(da.OptionError, match="outputs must be a list"):
        system.function("x", state, 1.0, to=["k"])
    with pytest.raises(da.OptionError, match="chooses `sensitivities` itself"):
        system.function(["x"], state, 1.0, to=["k"], sensitivities=["m"])
    with pytest.raises(da.UnknownNameError):
        system.function(["x"], state, 1.0, to=["c"])


def test_jax(oscillator):
    jax = pytest.importorskip("jax")
    with jax.enable_x64(False), pytest.raises(da.OptionError, match="32-bit"):
        oscillator.to_jax()
    with jax.enable_x64(True):
        f, values = oscillator.to_jax(), jax.numpy.array([6.0, 0.7])
        y, J = exact([6.0, 0.7])
        np.testing.assert_allclose(jax.jit(f)(values), y, atol=1e-9)
        np.testing.assert_allclose(jax.jacrev(f)(values), J, atol=1e-8)
        np.testing.assert_allclose(jax.jacfwd(f)(values), J, atol=1e-8)
        cost = jax.grad(lambda v: (f(2 * v) ** 2).sum())
        y, J = exact([12.0, 1.4])
        np.testing.assert_allclose(cost(values), 4 * np.einsum("ij,ijk->k", y, J), atol=1e-7)
        both = jax.vmap(f)(jax.numpy.array([[6.0, 0.7], [8.0, 1.5]]))
        np.testing.assert_allclose(both[1], exact([8.0, 1.5])[0], atol=1e-9)


def test_torch(oscillator):
    torch = pytest.importorskip("torch")
    f, values = oscillator.to_torch(), torch.tensor([6.0, 0.7], dtype=torch.float64, requires_grad=True)
    y, J = exact([6.0, 0.7])
    np.testing.assert_allclose(f(values).detach().numpy(), y, atol=1e-9)
    np.testing.assert_allclose(f(values.detach()).numpy(), y, atol=1e-9)
    np.testing.assert_allclose(torch.autograd.functional.jacobian(f, values.detach()).numpy(), J, atol=1e-8)
    (f(2 * values) ** 2).sum().backward()
    y, J = exact([12.0, 1.4])
    np.testing.assert_allclose(values.grad.numpy(), 4 * np.einsum("ij,ijk->k", y, J), atol=1e-7)
    with pytest.raises(da.OptionError, match="double"):
        f(values.detach().float())

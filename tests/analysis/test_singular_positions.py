"""Analyses of motions through singular positions: right, or refused by name.

A crank and a rod of length 1, their angles a and b, fold onto each other where the crank is upright: sin a + sin b = 0
holds with b = -a and with b = a + pi. With friction at the slider, reactions and so the friction grow without bound
towards that position.
"""

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from sympy import cos, sin

import dalembert as da

G, START, RATE = 9.81, 0.7, 5.0
TIMES = np.linspace(0.0, 0.5, 6)


@cache
def slider_crank(kind):
    """The system, "ideal" or with "friction" at its slider, and a state with the crank at 0.7."""
    model = da.Model("slider-crank")
    a, b = model.coordinates("a b")
    mu = model.parameters(mu=0.0)[0]
    model.particle("pin", mass=1.0, position=[cos(a), sin(a)])
    slider = model.particle("slider", mass=1.0, position=[cos(a) + cos(b), sin(a) + sin(b)])
    model.gravity([0, -G])
    model.constrain(sin(a) + sin(b), name="way")
    if kind == "friction":
        model.nonideal("way", friction=mu, at=slider)
    else:
        model.generalized_force({a: -mu * a.diff()})
    system = model.compile()
    return system, system.initial({a: START, a.diff(): RATE}, guess={b: -START, b.diff(): -RATE})


def crank_angle(times):
    """T = a'^2 (1 + 4 sin^2 a) / 2 and V = G sin a on the branch b = -a, (nt,)."""

    def rates(_, z):
        s, c = np.sin(z[0]), np.cos(z[0])
        return [z[1], -(4 * s * c * z[1] ** 2 + G * c) / (1 + 4 * s * s)]

    return solve_ivp(rates, (0.0, times[-1]), [START, RATE], "DOP853", times, rtol=1e-12, atol=1e-12).y[0]


def swept(kind, friction, **options):
    system, state = slider_crank(kind)
    return system.sweep({"mu": friction}, TIMES[-1], state=state, outputs=["a"], t_eval=TIMES, **options)


def test_a_sweep_passes_as_a_run_does():
    runs = swept("ideal", [0.0])
    assert runs["ok"].all()
    np.testing.assert_allclose(runs["a"].values[0], crank_angle(TIMES), rtol=0, atol=1e-8)


@pytest.mark.parametrize("mu", [0.0, 1e-6, 1e-4, 1e-3, 1e-2, 0.1, 0.5])
def test_friction_is_not_carried_past_the_position(mu):
    system, state = slider_crank("friction")
    motion = system.simulate(state, TIMES[-1], t_eval=TIMES, parameters={"mu": mu})
    turned = np.abs(motion["a"]).max() < np.pi / 2  # friction may stop the crank before
    assert turned or not motion.certificate.ok, motion.certificate


def test_a_sweep_says_what_the_certificate_says():
    """Without friction at hand every residual holds; what was not passed is the only thing wrong."""
    runs = swept("friction", [0.0])
    assert not runs["ok"].any()
    assert "reactions are not ideal" in runs["message"].values[0]


def test_gradients_are_refused_past_the_position():
    system, state = slider_crank("ideal")
    before = system.gradient(da.Final("a"), state, 0.1, to=["mu"])
    assert before.motion.certificate.ok
    with pytest.raises(da.DalembertError, match=r"`way` became dependent at t = 0\.2.*end the motion before"):
        system.gradient(da.Final("a"), state, TIMES[-1], to=["mu"])


def test_jacobians_are_refused_past_the_position():
    system, state = slider_crank("ideal")
    function = system.function(["a"], state, TIMES[-1], to=["mu"], t_eval=TIMES)
    np.testing.assert_allclose(function([0.0])[:, 0], crank_angle(TIMES), rtol=0, atol=1e-8)
    with pytest.raises(da.DalembertError, match="derivatives are not carried through singular positions"):
        function.with_jacobian([0.0])

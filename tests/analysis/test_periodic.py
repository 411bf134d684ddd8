"""Periodic motions: elliptic integrals, SciPy's integrator, harmonic balance, and failures by name."""

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp
from scipy.optimize import minimize_scalar
from scipy.special import ellipk
from sympy.physics.mechanics import dynamicsymbols

import dalembert as da

TIME = dynamicsymbols._t
G = 9.81


def pendulum(*, constrained=True, friction=0.0):
    model = da.Model("pendulum")
    if constrained:
        x, y = model.coordinates("x y")
        model.constrain(x**2 + y**2 - 1, name="rod")
        position = [x, y]
    else:
        (a,) = model.coordinates("a")
        position = [sp.sin(a), -sp.cos(a)]
        model.generalized_force({a: -friction * a.diff()})
    model.particle("bob", mass=1.0, position=position)
    model.gravity([0, -G])
    return model.compile()


def swing(amplitude):
    """The period of a pendulum of length 1."""
    return 4 / np.sqrt(G) * ellipk(np.sin(amplitude / 2) ** 2)


def van_der_pol():
    model = da.Model("van der Pol")
    (x,) = model.coordinates("x")
    (mu,) = model.parameters(mu=1.0)
    model.energy(kinetic=x.diff() ** 2 / 2, potential=x**2 / 2)
    model.generalized_force({x: mu * (1 - x**2) * x.diff()})
    return model.compile()


def cycle_by_scipy(mu):
    """Period and amplitude of van der Pol's limit cycle from SciPy's integrator: times between maxima, once settled."""

    def at_rest(_, z):
        return z[1]

    at_rest.direction = -1
    run = solve_ivp(
        lambda _, z: [z[1], mu * (1 - z[0] ** 2) * z[1] - z[0]], (0.0, 150.0), [2.0, 0.0],
        method="DOP853", rtol=1e-13, atol=1e-14, events=at_rest,
    )  # fmt: skip
    return run.t_events[0][-1] - run.t_events[0][-2], run.y_events[0][-1][0]


@pytest.mark.parametrize("amplitude", [0.3, 1.5, 2.8])
def test_pendulum_swings_with_the_elliptic_integral(amplitude):
    """A family of motions: the given start stays, the period alone is found; both multipliers are 1."""
    found = pendulum().periodic(
        {"x": np.sin(amplitude), "x'": 0.0}, guess={"y": -np.cos(amplitude)}, period=0.9 * swing(amplitude)
    )
    assert found.period == pytest.approx(swing(amplitude), abs=1e-10)
    np.testing.assert_allclose(np.poly(found.monodromy), [1.0, -2.0, 1.0], atol=1e-9)
    assert found.stability.verdict == "marginal"
    assert found.motion.certificate.ok


def test_pendulum_turns_over_the_top():
    """T = 4 / w ellipk(4 g / w^2) for the rate w at the bottom (length 1): half of it is one half turn."""
    w = 8.0
    want = 4 / w * ellipk(4 * G / w**2)
    found = pendulum(constrained=False).periodic({"a": 0.0, "a'": w}, period=1.0, advance={"a": 2 * np.pi})
    assert found.period == pytest.approx(want, abs=1e-10)
    loop = pendulum().periodic({"x": 0.0, "x'": w}, guess={"y": -1.0}, period=1.0)  # closes without `advance`
    assert loop.period == pytest.approx(want, abs=1e-10)
    with pytest.raises(da.InitialStateError, match="no periodic motion was found with a, a_dot given"):
        pendulum(constrained=False).periodic({"a": 0.0, "a'": w}, period=1.0)


def test_ignorable_coordinates_may_advance_by_any_amount():
    """A conical motion disturbed: the azimuth of the spherical pendulum gains what it gains."""
    model = da.Model("spherical pendulum")
    a, turn = model.coordinates("a turn")
    model.energy(kinetic=(a.diff() ** 2 + sp.sin(a) ** 2 * turn.diff() ** 2) / 2, potential=-G * sp.cos(a))
    system = model.compile()
    given = {"a": 0.8, "a'": 0.0, "turn": 0.0, "turn'": 3.0}
    found = system.periodic(given, period=1.0, advance={turn: None})
    angle = found["a"]
    # E = a'^2/2 + p^2 / (2 sin^2 a) - g cos a has the same value at both turning points, at half of the period too.
    p = 3.0 * np.sin(0.8) ** 2
    energy = p**2 / (2 * np.sin(0.8) ** 2) - G * np.cos(0.8)
    half = found.motion.at(found.period / 2)["a"]
    assert p**2 / (2 * np.sin(half) ** 2) - G * np.cos(half) == pytest.approx(energy, abs=1e-9)
    assert angle[-1] == pytest.approx(0.8, abs=1e-10)
    assert found["turn"][-1] > 1.0


def test_van_der_pol_has_the_cycle_that_scipy_settles_on():
    """The second multiplier is exp(int tr A dt)."""
    system = van_der_pol()
    period, amplitude = cycle_by_scipy(1.0)
    found = system.periodic(guess={"x": 2.0}, period=6.0)
    assert found.period == pytest.approx(period, abs=1e-10)
    turning = system.periodic({"x'": 0.0}, guess={"x": 2.0}, period=6.0)  # a given value instead of the phase
    assert turning.state["x"] == pytest.approx(amplitude, abs=1e-10)
    assert found.amplitude("x") == pytest.approx(amplitude, abs=1e-7)  # parabolas leave the third order
    assert found.stability.verdict == "stable"
    times = np.linspace(0.0, found.period, 401)
    x = system.simulate(found.state, found.period, t_eval=times, integrator=da.DOP853(rtol=1e-12))["x"]
    divergence = np.mean(1 - x[:-1] ** 2) * found.period  # the trapezoidal rule is spectral here
    np.testing.assert_allclose(found.multipliers, [1.0, np.exp(divergence)], atol=1e-10)
    np.testing.assert_allclose(found.exponents[1].real, divergence / found.period, atol=1e-6)


def test_van_der_pol_along_its_parameter():
    branch = van_der_pol().periodic(guess={"x": 2.0}, period=6.6).branch("mu", (0.5, 4.0))
    assert branch.complete
    assert branch.values[-1] == pytest.approx(4.0, abs=1e-9)
    assert branch.periods[-1] == pytest.approx(cycle_by_scipy(4.0)[0], abs=1e-9)
    assert not branch.folds
    assert all(one.verdict == "stable" for one in branch.stability)


def test_pendulum_along_its_amplitude():
    """A start value as the key: the other one is given and stays."""
    first = pendulum(constrained=False).periodic({"a": 0.5, "a'": 0.0}, period=2.0)
    branch = first.branch("a", (0.4, 2.5), step=0.1)
    assert branch.complete
    np.testing.assert_allclose(branch.periods, swing(branch.values), atol=1e-9)


# -- forced ------------------------------------------------------------------------------------------------------------

C, K3, FORCE = 0.1, 1.0, 0.3


def duffing():
    """x'' + c x' + x + k x^3 = f cos(W t)."""
    model = da.Model("Duffing")
    (x,) = model.coordinates("x")
    W, c, k, f = model.parameters(W=0.6, c=C, k=K3, f=FORCE)
    model.energy(kinetic=x.diff() ** 2 / 2, potential=x**2 / 2 + k * x**4 / 4)
    model.generalized_force({x: -c * x.diff() + f * sp.cos(W * TIME)})
    return model.compile(), W


POINTS = 64
ANGLES = 2 * np.pi * np.arange(POINTS) / POINTS
WAVES = np.fft.fftfreq(POINTS, 1 / POINTS)
FIRST, SECOND = (
    np.fft.ifft(np.fft.fft(np.eye(POINTS), axis=0) * ((1j * WAVES) ** k)[:, None], axis=0).real for k in (1, 2)
)


def balanced(amplitude, x, W, phase):
    """Points, frequency and phase of the motion whose first harmonic is amplitude * cos(W t), by Newton's method.

    The equation holds at points of one period, with derivatives by Fourier series; the force is ahead by the phase.
    """
    for _ in range(20):
        left = W**2 * SECOND @ x + C * W * FIRST @ x + x + K3 * x**3 - FORCE * np.cos(ANGLES + phase)
        by_x = W**2 * SECOND + C * W * FIRST + np.diag(1 + 3 * K3 * x**2)
        by_W = 2 * W * SECOND @ x + C * FIRST @ x
        harmonic = np.array([np.cos(ANGLES), np.sin(ANGLES)]) * 2 / POINTS
        J = np.block([[by_x, by_W[:, None], FORCE * np.sin(ANGLES + phase)[:, None]], [harmonic, np.zeros((2, 2))]])
        residual = np.concatenate([left, harmonic @ x - [amplitude, 0.0]])
        step = np.linalg.solve(J, -residual)
        x, W, phase = x + step[:POINTS], W + step[-2], phase + step[-1]
    assert np.abs(residual).max() < 1e-11
    return x, W, phase


def test_duffing_resonance_against_harmonic_balance():
    """The curve bends over and has two folds; there, and only there, a multiplier is 1."""
    system, W = duffing()
    branch = system.periodic(guess={"x": 0.4}, period=2 * sp.pi / W).branch(W, (0.3, 3.0), step=0.03)
    assert branch.complete
    assert len(branch.folds) == 2
    for fold in branch.folds:
        assert np.abs(fold.multipliers - 1.0).min() < 1e-5
    # the lower fold: the least frequency over the amplitudes of the first harmonic
    low = branch.folds[1]
    times = low.period * np.arange(1, POINTS) / POINTS
    x = system.simulate(low.state, low.period, t_eval=times, integrator=da.DOP853(rtol=1e-12))["x"]
    X = np.fft.fft(np.append(low.state["x"], x))
    size, ahead = 2 / POINTS * abs(X[1]), np.angle(X[1])
    guess = (np.fft.ifft(X * np.exp(-1j * WAVES * ahead)).real, low.state["W"], -ahead)
    best = minimize_scalar(lambda a: balanced(a, *guess)[1], bracket=(0.97 * size, size, 1.03 * size), tol=1e-9)
    assert low.state["W"] == pytest.approx(best.fun, abs=1e-9)
    unstable = np.array([one.verdict == "unstable" for one in branch.stability])
    turned = np.flatnonzero(np.diff(branch.values) < 0)
    inner = unstable[turned[0] + 1 : turned[-1] + 1]
    assert inner.all()
    assert not unstable[: turned[0]].any()
    assert not unstable[turned[-1] + 2 :].any()


def test_duffing_branch_figure(tmp_path):
    system, W = duffing()
    branch = system.periodic(guess={"x": 0.4}, period=2 * sp.pi / W).branch(W, (0.3, 0.9), step=0.1)
    axes = branch.plot("x", tmp_path / "resonance.png").axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("W", "amplitude of x")
    assert (tmp_path / "resonance.png").exists()
    assert "0 folds" in repr(branch)


def test_linear_resonance_has_the_closed_form():
    """With a constraint, two coordinates and a drive: the amplitude is f / |k - m W^2 + i c W|."""
    model = da.Model("driven")
    x, y = model.coordinates("x y")
    W, k, c = model.parameters(W=1.3, k=4.0, c=0.5)
    model.particle("P", mass=2.0, position=[x, y])
    model.constrain(y - 2 * x, name="slope")
    model.generalized_force({x: -k * x - c * x.diff() + sp.cos(W * TIME)})
    found = model.compile().periodic(period=2 * sp.pi / W)
    mass = 2.0 * 5
    assert found.amplitude(x) == pytest.approx(1 / abs(4.0 - mass * 1.3**2 + 0.5j * 1.3), rel=1e-8)
    roots = np.roots([mass, 0.5, 4.0])
    want = np.exp(roots * found.period)
    np.testing.assert_allclose(np.sort_complex(found.multipliers), np.sort_complex(want), atol=1e-10)
    assert found.stability.verdict == "stable"


def test_a_ball_bounces_on_and_on():
    """An elastic floor: T = 2 sqrt(2 h / g), through the saltation matrix; both multipliers are 1."""
    model = da.Model("ball")
    (h,) = model.coordinates("h")
    model.particle("ball", mass=1.0, position=[0, h])
    model.gravity([0, -G])
    floor = da.Event(h, then={h.diff(): -h.diff()}, name="floor", direction=-1)
    found = model.compile().periodic({h: 1.5, h.diff(): 0.0}, period=1.0, events=[floor])
    assert found.period == pytest.approx(2 * np.sqrt(2 * 1.5 / G), abs=1e-9)
    np.testing.assert_allclose(np.poly(found.monodromy), [1.0, -2.0, 1.0], atol=1e-7)


# -- failures ----------------------------------------------------------------------------------------------------------


def test_failures_say_what_is_missing():
    damped = pendulum(constrained=False, friction=0.2)
    with pytest.raises(da.InitialStateError, match=r"state of rest|no periodic motion was found"):
        damped.periodic(guess={"a": 0.5}, period=2.0)
    with pytest.raises(da.InitialStateError, match=r"no periodic motion was found with a, a_dot given.*`a") as caught:
        damped.periodic({"a": 0.5, "a'": 0.0}, period=2.0)
    assert set(caught.value.residuals) == {"a", "a_dot"}
    assert caught.value.closest is not None
    system, W = duffing()
    with pytest.raises(da.InitialStateError, match="do not repeat after 3"):
        system.periodic(period=3.0)
    with pytest.raises(da.OptionError, match="not positive"):
        system.periodic(period=-2 * sp.pi / W)
    with pytest.raises(da.UnknownNameError, match="the parameters of `Duffing`"):
        system.periodic(period=2 * sp.pi / sp.Symbol("w"))
    with pytest.raises(da.UnknownNameError, match="the coordinates of `Duffing`"):
        system.periodic(period=2 * sp.pi / W, advance={"z": 1.0})
    found = system.periodic(period=2 * sp.pi / W)
    with pytest.raises(da.OptionError, match="outside the span"):
        found.branch("W", (1.0, 2.0))
    with pytest.raises(da.OptionError, match="first must be less"):
        found.branch("W", (2.0, 1.0))
    with pytest.raises(da.UnknownNameError):
        found.branch("w", (0.5, 1.0))


def test_a_family_without_a_given_value_has_no_single_branch():
    model = da.Model("spring")
    (x,) = model.coordinates("x")
    (k,) = model.parameters(k=1.0)
    model.energy(kinetic=x.diff() ** 2 / 2, potential=k * x**2 / 2 + x**4 / 4)
    found = model.compile().periodic(guess={x: 1.0}, period=5.0)
    with pytest.raises(da.LinearizationError, match=r"2 directions are open here .*x.*keeps its energy"):
        found.branch("k", (0.5, 2.0))

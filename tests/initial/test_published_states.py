"""States of the literature: from what the papers give, everything they leave to be solved for."""

import numpy as np
import pytest
from sympy import cos, sin

import dalembert as da
from dalembert import problems
from dalembert.problems.andrews import START
from dalembert.problems.closed_chain import closed_chain

DEGREES = np.pi / 180.0


def test_four_bar_and_its_other_assembly(checked):
    problem = problems.get("four_bar")
    system = problem.system()
    state = checked(problem.state(system))
    np.testing.assert_allclose(state.q / DEGREES, [10.0, 6.57526576, -151.3836336], atol=5e-8)
    first, second = system.initial({"q1": 10 * DEGREES}, guess=problem.guess, all_branches=True)
    np.testing.assert_allclose(first.q, state.q, atol=1e-14)
    # Mirrored at the line from the end of link a to the far pin, the links b and c close the loop again.
    to_pin = np.arctan2(-0.8 * np.sin(10 * DEGREES), 2.0 - 0.8 * np.cos(10 * DEGREES))
    angle_b = 2 * to_pin - (state["q1"] + state["q2"])
    assert (second["q1"] + second["q2"] - angle_b + np.pi) % (2 * np.pi) - np.pi == pytest.approx(0.0, abs=1e-12)
    for found in (first, second):
        checked(found)
        assert np.abs(found.q - [0, problem.guess["q2"], problem.guess["q3"]])[1:].max() <= np.pi
    assert first.report.n_p == first.report.n_v == 1


@pytest.mark.parametrize(("q1", "u1"), [(0.3, 1.0), (0.1, -2.0), (0.8, 0.5)])
def test_spatial_four_bar(q1, u1, checked):
    """Dinh Van Phong (3.1)-(3.6), solved here by hand: asin, a division and a 3 x 3 system."""
    problem = problems.get("spatial_four_bar")
    system = problem.system()
    state = checked(system.initial({"q1": q1, "u1": u1}, guess={"q2": 1.0}))
    q2 = np.arcsin((8 - 4 * np.sin(q1)) / (8 * np.cos(q1)))  # (3.1)
    G = np.array([8 * np.sin(q1) * np.sin(q2) - 4 * np.cos(q1), -8 * np.cos(q1) * np.cos(q2)])
    u2 = -G[0] * u1 / G[1]  # (3.5)
    M = np.array([[4 / 3 + 1 + 4 / 3 * np.sin(q2) ** 2, np.cos(q2)], [np.cos(q2), 4 / 3]])
    f = [
        np.sin(q2) * (u2**2 - 8 / 3 * u1 * u2 * np.cos(q2)),
        -9.81 * np.sin(q2) + 4 / 3 * u1**2 * np.sin(q2) * np.cos(q2),
    ]
    bias = -(
        (8 * np.cos(q1) * np.sin(q2) + 4 * np.sin(q1)) * u1**2
        + 16 * np.sin(q1) * np.cos(q2) * u1 * u2
        + 8 * np.cos(q1) * np.sin(q2) * u2**2
    )  # (3.6)
    K = np.block([[M, G[:, None]], [G[None], np.zeros((1, 1))]])
    a1, a2, la = np.linalg.solve(K, [*f, bias])
    expected = [q1, q2, u1, u2, a1, a2, -la]  # (3.3) has la with the opposite sign
    found = [*state.q, *state.u, *state.udot, state["rod"]]
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
    report = state.report
    assert (report.n_p, report.n_v, report.s_p, report.s_v, report.s_a) == (1, 1, 1, 0, 0)  # (3.2)


def test_car_from_its_independent_values(checked):
    """x, phi and x' are given; y, theta, y', phi', theta', the accelerations and Md follow."""
    system = problems.get("car").system()
    given = {"x": 1.5, "phi": 0.1, "vx": 10.0}
    state = checked(system.initial(given))
    assert all(state[name] == value for name, value in given.items())
    report = state.report
    assert (report.n_p, report.n_v) == (2, 1)  # (3.12) counts 3 and 1, without the heading that (3.9) hides
    a, b = 1.2, 1.3
    vx, vy, w, phi, theta = (state[n] for n in ("vx", "vy", "w", "phi", "theta"))
    assert -vx * np.sin(phi) + vy * np.cos(phi) - b * w == pytest.approx(0.0, abs=1e-12)  # (3.7)
    front = -vx * np.sin(phi + theta) + vy * np.cos(phi + theta) + a * np.cos(theta) * w
    assert front == pytest.approx(0.0, abs=1e-12)  # (3.8)
    assert state["Md"] == pytest.approx(30.0 * (state["w'"] + state["steering'"]), rel=1e-12)  # (3.11)
    assert state["Md"] == state["heading"]


def test_car_both_x_and_y_refused():
    system = problems.get("car").system()
    with pytest.raises(da.InitialStateError, match=r"x and y are tied by `path`; give one of them") as caught:
        system.initial({"x": 1.0, "y": 0.5, "phi": 0.1})
    assert caught.value.conflicting == ("path",)
    assert caught.value.remedies["y"] == pytest.approx(20 - np.sqrt(399), abs=1e-9)


@pytest.fixture(scope="module")
def printed_car():
    """The car with the path (3.9) itself for Md to enforce, as printed."""
    model = da.Model("car as printed")
    x, y, phi, theta = model.coordinates("x y phi theta")
    vx, vy, w, _ = model.speeds("vx vy w steering")
    a, b, R, m0, I0, I = model.parameters(a=1.2, b=1.3, R=20.0, m0=1200.0, I0=1800.0, I=30.0)
    (Md,) = model.unknowns("Md")
    model.body("body", mass=m0, inertia=I0, position=[x, y], rotation=phi)
    model.body("axle", mass=0, inertia=I, position=[x + a * cos(phi), y + a * sin(phi)], rotation=phi + theta)
    model.generalized_force({theta: Md})
    model.constrain(-vx * sin(phi) + vy * cos(phi) - b * w, name="rear")
    model.constrain(-vx * sin(phi + theta) + vy * cos(phi + theta) + a * cos(theta) * w, name="front")
    model.constrain(x**2 + (y - R) ** 2 - R**2, name="path", servo=Md, unit="m^2")
    return model.compile()


def test_printed_car_refuses_x_and_y_by_name(printed_car):
    given = {"x": 3.0, "y": 1.0, "phi": 0.1, "theta": 0.07}
    with pytest.raises(
        da.InitialStateError,
        match=r"`path` 30 m\^2 left over\. x and y are tied by `path`; give one of them, e\.g\. x, and leave y free",
    ) as caught:
        printed_car.initial(given)
    assert caught.value.conflicting == ("path",)
    assert caught.value.remedies["y"] == pytest.approx(20 - np.sqrt(391), abs=1e-9)
    assert not {"phi", "theta"} & set(caught.value.remedies)


def test_printed_car_cannot_move_with_phi_and_theta_free(printed_car):
    """Why the catalogue's car differs: (3.7), (3.8) and (3.14) are homogeneous in x', y', phi'."""
    with pytest.raises(
        da.InitialStateError, match="velocity constraints cannot all be met with vx held at 10"
    ) as caught:
        printed_car.initial({"x": 1.5, "phi": 0.1, "theta": 0.07, "vx": 10.0})
    assert caught.value.remedies["vx"] == pytest.approx(0.0, abs=1e-9)


def test_andrews_from_theta_zero(checked):
    """Reference of the Test Set for IVP Solvers; its multipliers have the opposite sign."""
    problem = problems.get("andrews")
    system = problem.system()
    rng = np.random.default_rng(1)
    guess = {name: value + 0.2 * rng.standard_normal() for name, value in START.items()}
    given = {"theta": 0.0, **{f"{q}'": 0.0 for q in system.coordinates}}
    state = checked(system.initial(given, guess=guess))
    for name, value in START.items():
        assert state[name] == pytest.approx(value, rel=1e-12)
    a0 = [14222.4439199541138705911625887, -10666.8329399655854029433719415, 0, 0, 0, 0, 0]
    la0 = [98.5668703962410896057654982170, -6.12268834425566265503114393122, 0, 0, 0, 0]
    np.testing.assert_allclose(state.udot, a0, rtol=1e-12, atol=1e-12 * 14222)
    np.testing.assert_allclose(state.multipliers, -np.array(la0), rtol=1e-12, atol=1e-12 * 99)


def test_appell_hamel_both_velocities_and_the_papers_values(checked):
    problem = problems.get("appell_hamel")
    system = problem.system()
    forward, backward = system.initial(problem.given, guess=problem.guess, all_branches=True)
    # (57), (58) at theta = 0 with u1 = u2 = 1: u4 = rho u1 = 5 and u3 = +-a u2.
    np.testing.assert_allclose(forward.u, [1, 1, 1, 5, -0.5], atol=1e-14)
    np.testing.assert_allclose(backward.u, [1, 1, -1, 5, -0.5], atol=1e-14)
    for state in (forward, backward):
        checked(state)
    paper = {"theta": 0, "phi": 0, "x": 0, "y": 0, "z": 30, "u1": 1, "u2": 1, "u3": 1, "u4": 5, "u5": -0.5}
    confirmed = system.initial(paper)  # every value given: accepted because they agree
    assert confirmed.report.iterations == 0
    assert {name: confirmed[name] for name in paper} == paper
    with pytest.raises(da.InitialStateError, match="velocity constraints cannot all be met"):
        system.initial({**paper, "u3": 1.01})


@pytest.mark.parametrize("n", [4, 5, 10, 50])
def test_closed_chains_from_rough_guesses(n, checked):
    problem = closed_chain(n)
    system = problem.system()
    rng = np.random.default_rng(n)
    guess = {name: value + 0.5 * rng.standard_normal() for name, value in problem.guess.items()}
    state = system.initial(problem.given, guess=guess)
    if n <= 10:
        checked(state)
    joints = np.cumsum(np.exp(1j * state.q))
    assert abs(joints[-1] - 0.6 * n) < 1e-12 * n
    assert np.abs(state.q - [guess[f"a{k}"] for k in range(n)]).max() <= np.pi
    # Nearest: the way from the guess is normal to all constraints, G d = J^T y.
    start = np.array([guess[f"a{k}"] for k in range(n)])
    G = system.mass_matrix(0.0, start, np.zeros(n))
    J = np.array([-np.sin(state.q), np.cos(state.q)])
    pull = G @ (state.q - start)
    y = np.linalg.lstsq(J.T, pull, rcond=None)[0]
    assert np.abs(J.T @ y - pull).max() < 1e-6 * np.abs(pull).max()


def test_slider_crank_rheonomic_at_t0(checked):
    """A crank driven by t: at t0 = 0.7 its rate and acceleration come from the time alone."""
    model = da.Model("driven crank")
    a, s = model.coordinates("a s")
    (r, l) = model.parameters(r=0.3, l=1.0)
    model.particle("S", mass=2, position=[s, 0])
    model.body("crank", mass=1, inertia=0.1, position=[r * cos(a) / 2, r * sin(a) / 2], rotation=a)
    model.constrain((s - r * cos(a)) ** 2 + (r * sin(a)) ** 2 - l**2, name="rod")
    model.constrain(a - 3 * model.t - model.t**2, name="drive")
    state = checked(model.compile().initial({}, guess={s: 1.0}, t0=0.7))
    assert state["a"] == pytest.approx(3 * 0.7 + 0.49, abs=1e-14)
    assert state["a'"] == pytest.approx(3 + 1.4, abs=1e-13)
    assert state["a''"] == pytest.approx(2.0, abs=1e-12)

"""Partial velocities, generalised active and inertia forces: the paper's own, and what must hold for every system."""

import numpy as np
import pytest
import sympy as sp
from sympy import cos, sin

import dalembert as da
from dalembert import problems

IDEAL = [p.name for p in problems.all() if p.name != "car"]  # its steering moment is no ideal reaction


@pytest.fixture(scope="module")
def wheel():
    return problems.get("appell_hamel").system()


def random_state(system, seed):
    rng = np.random.default_rng(seed)
    return rng.uniform(0.1, 0.9), rng.uniform(0.2, 1.2, system.nq), rng.uniform(-1.0, 1.0, system.nu)


def admissible(name, seed):
    """A state near a random one that satisfies every constraint."""
    problem, rng = problems.get(name), np.random.default_rng(seed)
    system = problem.system()
    start = problem.state(system)
    near = dict(zip(system.speeds, start.u + rng.uniform(-0.3, 0.3, system.nu), strict=True))
    return system, system.initial({}, guess={**dict(zip(system.coordinates, start.q, strict=True)), **near})


class TestAppellHamel:
    """Equations (77)-(98) of Bajodah, Hodges and Chen, whose speeds are the rates of theta, phi, x, y, z."""

    def test_holonomic_partial_velocities(self, wheel):
        t, q, u = random_state(wheel, 1)
        c, s = np.cos(q[0]), np.sin(q[0])
        V, W = wheel.partial_velocities(t, q, u), wheel.partial_angular_velocities(t, q, u)
        np.testing.assert_allclose(V["P"], np.eye(5)[2:], atol=1e-15)  # (77)
        np.testing.assert_allclose(V["W"], [[5 * s, 0, 1, 0, 0], [-5 * c, 0, 0, 1, 0], [0] * 5], atol=1e-15)  # (84)
        np.testing.assert_allclose(W["W"], [[0, -s, 0, 0, 0], [0, c, 0, 0, 0], [1, 0, 0, 0, 0]], atol=1e-15)  # (82)

    def test_nonholonomic_partial_velocities(self, wheel):
        """(34) with A of (71): on a wheel that rolls the load moves by rho along the axle and a along the heading."""
        state = wheel.initial({"theta": 0.4, "u1": 0.7, "u2": 1.3}, guess={"z": 30.0, "u3": 1.0, "u4": 3.0})
        c, s = np.cos(0.4), np.sin(0.4)
        V = wheel.partial_velocities(state.t, state.q, state.u, u_ind=("u2", "u1"))  # columns as asked for
        np.testing.assert_allclose(V["P"], [[c, -5 * s], [s, 5 * c], [-0.5, 0]], atol=1e-12)
        np.testing.assert_allclose(V["W"], [[c, 0], [s, 0], [0, 0]], atol=1e-12)

    def test_forces(self, wheel):
        t, q, u = random_state(wheel, 2)
        a1, a2, a3, a4, a5 = udot = np.random.default_rng(3).standard_normal(5)
        c, s = np.cos(q[0]), np.sin(q[0])
        F = wheel.generalized_active_forces(t, q, u)
        np.testing.assert_allclose(F, [0, 0, 0, 0, -9.81], atol=1e-14)  # (80)
        expected = [
            -5 * (25 * a1 + 5 * a3 * s - 5 * a4 * c) - a1,  # (93)
            -a2,  # (94)
            -a3 - 5 * (a3 + 5 * a1 * s + 5 * u[0] ** 2 * c),  # (81), (95)
            -a4 - 5 * (a4 - 5 * a1 * c + 5 * u[0] ** 2 * s),  # (81), (96)
            -a5,  # (81), (97)
        ]
        np.testing.assert_allclose(wheel.generalized_inertia_forces(t, q, u, udot), expected, rtol=1e-13)

    def test_symbolic(self, wheel):
        equations = wheel.equations(da.MinimalKane(u_ind=("u1", "u2")))
        theta, u1 = equations.coordinates[0], equations.speeds[0]
        a1, a2, a3, a4, a5 = equations.speeds.diff(equations.time)
        m, M, inertia, rho, g = (sp.Symbol(name) for name in ("m", "M", "I", "rho", "g"))
        assert equations["F"] == sp.Matrix([0, 0, 0, 0, -g * m])
        expected = sp.Matrix(
            [
                -M * (rho**2 * a1 + rho * a3 * sin(theta) - rho * a4 * cos(theta)) - inertia * a1,
                -inertia * a2,
                -m * a3 - M * (a3 + rho * a1 * sin(theta) + rho * u1**2 * cos(theta)),
                -m * a4 - M * (a4 - rho * a1 * cos(theta) + rho * u1**2 * sin(theta)),
                -m * a5,
            ]
        )
        assert sp.simplify(equations["Fstar"] - expected).is_zero_matrix
        spin = wheel.equations().partial_angular_velocities["W"]
        assert spin == sp.Matrix([[0, -sin(theta), 0, 0, 0], [0, cos(theta), 0, 0, 0], [1, 0, 0, 0, 0]])  # (82)
        assert "A2 Fstar = - A2 F" in str(equations)
        assert r"A_2 \, F^* &= - \, A_2 \, F" in equations.latex()


def test_sliding_particle_is_131_to_137():
    system = problems.get("sliding_particle").system()
    equations = system.equations(da.MinimalKane(u_ind=("u1",)))
    x, (u1, u2), l0 = equations.coordinates[0], equations.speeds, sp.Symbol("l0")
    assert sp.simplify(equations.partial_velocities["P"] - sp.Matrix([1, -2 * x / l0, 0])).is_zero_matrix  # (131)
    t, m, g = equations.time, sp.Symbol("m"), sp.Symbol("g")
    A2, F, Fstar = (equations[name] for name in ("A2", "F", "Fstar"))
    assert sp.simplify((A2 * F)[0] + 2 * m * g * x / l0) == 0  # (133)
    along = {u2.diff(t): -2 * (u1**2 + x * u1.diff(t)) / l0}  # (116), (117)
    inertia = -m * (u1.diff(t) + 2 * x / l0 * (2 * u1**2 + 2 * x * u1.diff(t)) / l0)
    assert sp.simplify((A2 * Fstar)[0].subs(along) - inertia) == 0  # (135)


@pytest.mark.parametrize("name", [p.name for p in problems.all()])
def test_active_and_inertia_forces_make_up_the_reaction(name):
    """F + F* = -r in the state of each problem, and F* is linear in u' with the matrix -M."""
    problem = problems.get(name)
    system = problem.system()
    state = problem.state(system)
    at, p = (state.t, state.q, state.u), state.parameters
    F, Fstar = system.generalized_active_forces(*at, p), system.generalized_inertia_forces(*at, state.udot, p)
    size = 1.0 + np.abs(F).max() + np.abs(Fstar).max()
    np.testing.assert_allclose(F + Fstar, -state.reactions, atol=1e-9 * size)
    rest = system.generalized_inertia_forces(*at, np.zeros(system.nu), p)
    np.testing.assert_allclose(F + rest, system.forces(*at, p), atol=1e-12 * size)
    np.testing.assert_allclose(Fstar - rest, -system.mass_matrix(*at, p) @ state.udot, atol=1e-12 * size)


@pytest.mark.parametrize("name", IDEAL)
@pytest.mark.parametrize("seed", [1, 2])
def test_kane_s_equations_hold_along_admissible_directions(name, seed):
    """A2 (F + F*) = 0, (39), at random admissible states."""
    system, state = admissible(name, seed)
    if not system.ideal:
        pytest.skip("its reactions are not ideal")
    at = (state.t, state.q, state.u)
    free = system.suggest_independent(state).speeds
    F = system.generalized_active_forces(*at, state.parameters, u_ind=free)
    Fstar = system.generalized_inertia_forces(*at, state.udot, state.parameters, u_ind=free)
    assert F.shape == (len(free),)
    size = 1.0 + np.abs(system.generalized_inertia_forces(*at, state.udot, state.parameters)).max()
    np.testing.assert_allclose(F + Fstar, 0.0, atol=1e-8 * size)


@pytest.mark.parametrize("name", ["appell_hamel", "four_bar", "asymmetric_top", "vertical_disk"])
def test_partial_velocities_are_those_of_the_drawn_points(name):
    """Points move by v dt along a displacement q' dt; central differences of 1e-6 s leave 1e-9 and some."""
    system, state = admissible(name, 5)
    at, dt = (state.t, state.q, state.u, state.parameters), 1e-6
    V = system.partial_velocities(*at)
    step = dt * system.coordinate_rates(*at)
    ahead, behind = (
        system.evaluate("drawing", state.t, state.q + sign * step, state.u, state.parameters) for sign in (1, -1)
    )
    moved = (ahead - behind) / (2 * dt)
    for k, point in enumerate(system.drawing.points):
        np.testing.assert_allclose(V[point] @ state.u, moved[3 * k : 3 * k + 3], atol=1e-6)


def test_leading_axes_are_kept(wheel):
    states = [wheel.initial({"u1": w, "u2": 1.3}, guess={"z": 30.0, "u3": 1.0, "u4": 3.0}) for w in (0.4, 0.5, 0.7)]
    q, u, udot = (np.array([getattr(s, name) for s in states]) for name in ("q", "u", "udot"))
    free = ("u1", "u2")
    assert wheel.partial_velocities(0.0, q, u)["P"].shape == (3, 3, 5)
    assert wheel.partial_angular_velocities(0.0, q, u, u_ind=free)["W"].shape == (3, 3, 2)
    F = wheel.generalized_active_forces(0.0, q, u, u_ind=free)
    Fstar = wheel.generalized_inertia_forces(0.0, q, u, udot, u_ind=free)
    assert F.shape == Fstar.shape == (3, 2)
    np.testing.assert_allclose(F + Fstar, 0.0, atol=1e-10)


def test_speeds_that_cannot_be_independent_are_explained(wheel):
    state = problems.get("appell_hamel").state(wheel)
    with pytest.raises(da.OptionError, match="2 degrees of freedom"):
        wheel.partial_velocities(state.t, state.q, state.u, u_ind=["u1"])
    with pytest.raises(da.OptionError, match="`u2`, `u5`"):
        wheel.generalized_active_forces(state.t, state.q, state.u, u_ind=["u2", "u5"])
    with pytest.raises(da.OptionError, match="list of speeds"):
        wheel.generalized_active_forces(state.t, state.q, state.u, u_ind="u1")


def test_curved_rows_leave_no_independent_speeds():
    model = da.Model("curved")
    x, y = model.coordinates("x y")
    vx, vy = model.speeds("vx vy")
    model.particle("P", mass=1.0, position=[x, y])
    model.constrain(vx.diff() ** 2 + vy.diff() - 1, name="bend")
    system = model.compile()
    np.testing.assert_array_equal(system.generalized_inertia_forces(0.0, [0, 0], [0, 0], [1, 2]), [-1, -2])
    with pytest.raises(da.PairingError, match="not linear in the accelerations"):
        system.generalized_active_forces(0.0, [0, 0], [0, 0], u_ind=["vx"])

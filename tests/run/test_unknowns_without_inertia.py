"""Unknowns without inertia in masses, forces and constraints (Dinh Van Phong, 2.46 and 2.47), against closed forms."""

import numpy as np
import pytest
import sympy as sp
from formulation_models import solve
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.errors import InitialStateError, ModelError

G = 9.81
FINE = da.DOP853(rtol=1e-12, atol=1e-13)


def reference(rates, t_end, start):
    """The state of an ordinary differential equation at the end, by SciPy."""
    return solve_ivp(rates, (0.0, t_end), start, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]


# -- in the mass matrix and nonlinearly in the forces, s = m -----------------------------------------------------------


def variable_mass(stated):
    """(2 + p) x'' = -10 x - 3 p^2 with p^3 + p = 1 + sin(t) + x/4, stated by a particle or by matrices."""
    model = da.Model("variable mass")
    (x,) = model.coordinates("x")
    (p,) = model.unknowns("p")
    if stated == "particle":
        P = model.particle("P", mass=2 + p, position=[x, 0])
        model.force([-10 * x - 3 * p**2, 0], at=P)
    else:
        model.matrices(mass=sp.Matrix([[2 + p]]), force=sp.Matrix([-10 * x - 3 * p**2]))
    model.law(p**3 + p - 1 - sp.sin(model.t) - x / 4, determines=p, name="g")
    return model.compile()


def cubic_root(c):
    """The real root of p^3 + p = c (Cardano)."""
    root = np.sqrt(c**2 / 4 + 1 / 27)
    return np.cbrt(c / 2 + root) + np.cbrt(c / 2 - root)


@pytest.mark.parametrize("stated", ["particle", "matrices"])
def test_the_mass_depends_on_the_unknown(stated):
    system = variable_mass(stated)
    state = system.initial({"x": 1.0, "x'": 0.0})
    p = cubic_root(1.25)
    assert state["p"] == pytest.approx(p, rel=1e-12)
    assert state["x''"] == pytest.approx((-10 - 3 * p**2) / (2 + p), rel=1e-12)

    def rates(t, z):
        p = cubic_root(1 + np.sin(t) + z[0] / 4)
        return [z[1], (-10 * z[0] - 3 * p**2) / (2 + p)]

    motion = system.simulate(state, 3.0, t_eval=[3.0], integrator=FINE)
    np.testing.assert_allclose([motion["x"][0], motion["x'"][0]], reference(rates, 3.0, [1.0, 0.0]), atol=1e-10)
    assert motion.certificate.ok, motion.certificate


@pytest.mark.parametrize(
    "integrator", [da.Radau(rtol=1e-9, atol=1e-11), da.IDA(rtol=1e-9), da.GeneralizedAlpha(rtol=1e-8)], ids=repr
)
def test_implicit_integrators_with_an_unknown_in_the_mass(integrator):
    system = variable_mass("particle")
    state = system.initial({"x": 1.0, "x'": 0.0})
    motion = system.simulate(state, 1.0, t_eval=[1.0], integrator=integrator)
    expected = system.simulate(state, 1.0, t_eval=[1.0], integrator=FINE)
    assert motion.success, motion.message
    np.testing.assert_allclose(motion.q, expected.q, atol=1e-5)


def test_an_unknown_that_depends_on_the_accelerations():
    """p = 1 + x''^2 / 100 stands in the mass: p0 and x''0 follow from one solve, m(p) x'' = -k."""
    model = da.Model("added mass")
    (x,) = model.coordinates("x")
    (p,) = model.unknowns(p=1.0)
    P = model.particle("P", mass=1 + p, position=[x, 0])
    model.force([-6, 0], at=P)
    model.law(p - 1 - x.diff(model.t, 2) ** 2 / 100, determines=p)
    state = model.compile().initial({"x": 0.0, "x'": 0.0})
    a = [r.real for r in np.roots([1 / 100, 0, 2, 6]) if abs(r.imag) < 1e-12]  # (2 + a^2/100) a = -6
    assert state["x''"] == pytest.approx(a[0], rel=1e-12)
    assert state["p"] == pytest.approx(1 + a[0] ** 2 / 100, rel=1e-12)


def rotating_arm():
    """Two coupled coordinates with a constraint, p in the off-diagonal of M, in the weight and squared in a torque."""
    model = da.Model("coupled")
    x, y, a = model.coordinates("x y a")
    p, s = model.unknowns("s", p=0.5)[::-1]
    M = sp.Matrix([[3 + p**2, 0, p], [0, 3, 0], [p, 0, 2]])
    model.matrices(mass=M, force=sp.Matrix([s * p - x, -G * (1 + p), s**2 - sp.sin(a)]))
    track = model.constrain(y - x**2 / 3 - a / 5, name="track")
    model.law(p + p**3 - sp.cos(x) - model.t / 9, determines=p)
    model.law(s + s**3 / 7 - a.diff(model.t) / 2 - track.multiplier / 50, determines=s)
    return model.compile()


@pytest.mark.parametrize("formulation", [da.NullSpace(), da.NullSpace(reduced=False)], ids=repr)
def test_compatibility_gives_what_multipliers_give(formulation):
    system = rotating_arm()
    rng = np.random.default_rng(3)
    for _ in range(20):
        z = 0.3 + 0.5 * rng.standard_normal(system.nq + system.nu)
        p = system.parameter_values(None)
        one, other = (solve(system, p, f, 0.3, z) for f in (da.LagrangeMultipliers(), formulation))
        assert np.isfinite(one.udot).all()
        for left, right in ((other.udot, one.udot), (other.multipliers, one.multipliers)):
            assert np.abs(left - right).max() < 1e-10 * (1.0 + np.abs(right).max())


def test_the_stated_equations_hold_at_the_solution():
    """M(p) u' = h(p) + A^T la, written out by hand."""
    system = rotating_arm()
    state = system.initial({"x": 0.4, "a": 0.2, "x'": 0.3, "a'": -0.5})
    x, a, p, s = (state[name] for name in ("x", "a", "p", "s"))
    M = np.array([[3 + p**2, 0, p], [0, 3, 0], [p, 0, 2]])
    h = np.array([s * p - x, -G * (1 + p), s**2 - np.sin(a)])
    A = np.array([-2 * x / 3, 1.0, -0.2])
    la = state["track"]
    assert p + p**3 == pytest.approx(np.cos(x), rel=1e-12)
    assert s + s**3 / 7 == pytest.approx(-0.25 + la / 50, rel=1e-12)
    np.testing.assert_allclose(M @ state.udot, h + A * la, rtol=0.0, atol=1e-11)


# -- in constraints with reactions, s > m ------------------------------------------------------------------------------

LONG, SHORT, MASS = 2.0, 1.0, 1.5
INERTIA = MASS * (LONG**2 + SHORT**2) / 4


def ellipse():
    """An elliptic disc on a smooth floor; p is the parameter of the point that touches."""
    model = da.Model("ellipse")
    x, y, phi = model.coordinates("x y phi")
    (p,) = model.unknowns(p=-np.pi / 2)
    model.body("disc", mass=MASS, inertia=INERTIA, position=[x, y], rotation=phi)
    model.gravity([0, -G])
    low = y + LONG * sp.cos(p) * sp.sin(phi) + SHORT * sp.sin(p) * sp.cos(phi)
    model.constrain(low, name="floor")
    model.law(sp.diff(low, p), determines=p, name="tangent")
    return model


def test_an_ellipse_rocks_on_a_floor():
    """With the height h(phi) = sqrt(a^2 sin^2 + b^2 cos^2): (I + m h'^2) phi'' = -m h' (g + h'' phi'^2)."""
    system = ellipse().compile()
    state = system.initial({"x": 0.0, "phi": 0.3, "x'": 0.0, "phi'": 0.5}, guess={"y": 1.0})

    def height(f):
        h = np.sqrt(LONG**2 * np.sin(f) ** 2 + SHORT**2 * np.cos(f) ** 2)
        first = (LONG**2 - SHORT**2) * np.sin(f) * np.cos(f) / h
        return h, first, ((LONG**2 - SHORT**2) * np.cos(2 * f) - first**2) / h

    def rates(_t, z):
        _, first, second = height(z[0])
        return [z[1], -MASS * first * (G + second * z[1] ** 2) / (INERTIA + MASS * first**2)]

    h, first, second = height(0.3)
    turning = rates(0.0, [0.3, 0.5])[1]
    assert state["y"] == pytest.approx(h, rel=1e-12)
    assert state["p"] == pytest.approx(np.arctan2(-SHORT * np.cos(0.3), -LONG * np.sin(0.3)), rel=1e-12)
    assert state["floor"] == pytest.approx(MASS * (G + first * turning + second * 0.25), rel=1e-11)
    assert abs(state["tangent"]) < 1e-12  # no reaction: at the point that touches the height does not depend on p
    motion = system.simulate(state, 3.0, t_eval=[3.0], integrator=FINE)
    np.testing.assert_allclose([motion["phi"][0], motion["phi'"][0]], reference(rates, 3.0, [0.3, 0.5]), atol=1e-10)
    assert motion.certificate.ok, motion.certificate


@pytest.mark.parametrize("formulation", [da.UdwadiaKalaba(), da.NonminimalKane(), da.NullSpace()], ids=repr)
def test_every_formulation_takes_unknowns_of_constraints(formulation):
    system = ellipse().compile()
    state = system.initial({"x": 0.0, "phi": 0.3, "x'": 0.0, "phi'": 0.5}, guess={"y": 1.0})
    one, other = (
        system.simulate(state, 1.0, t_eval=[1.0], formulation=f, integrator=FINE)
        for f in (da.LagrangeMultipliers(), formulation)
    )
    np.testing.assert_allclose(other.q, one.q, atol=1e-9)


def test_reactions_act_along_what_both_groups_admit():
    """x + 2 p = 1 with the law p = y^2 restrains x + 2 y^2: the reaction is along (1, 4 y)."""
    model = da.Model("bead")
    x, y = model.coordinates("x y")
    (p,) = model.unknowns("p")
    model.particle("P", mass=2.0, position=[x, y])
    model.gravity([0, -G])
    model.constrain(x + 2 * p - 1, name="wire")
    model.law(p - y**2, determines=p, name="g")
    state = model.compile().initial({"y": 0.5, "y'": -1.0})
    w = 4 * 0.5
    la = 2.0 * (w * G - 4.0) / (1 + w**2)  # from x'' + 4 y y'' + 4 y'^2 = 0
    assert state["x"] == pytest.approx(0.5, rel=1e-12)
    np.testing.assert_allclose(state.reactions[:2], [la, w * la], rtol=1e-12)
    assert state["g"] == pytest.approx(-2 * la, rel=1e-12)


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_an_unknown_of_a_constraint_needs_a_law_in_coordinates():
    with pytest.raises(ModelError, match="constraint `floor` contains the unknown `p"):
        _with_law(lambda model, p: p - model.statement.coordinates[0].diff(model.t)).compile()


def _with_law(law):
    model = da.Model("refused")
    x, y = model.coordinates("x y")
    (p,) = model.unknowns("p")
    model.particle("P", mass=1.0, position=[x, y])
    model.constrain(y - p, name="floor")
    model.law(law(model, p), determines=p, name="g")
    return model


def test_a_servo_unknown_in_a_constraint_is_refused():
    model = da.Model("servo")
    x, y = model.coordinates("x y")
    (F,) = model.unknowns("F")
    P = model.particle("P", mass=1.0, position=[x, y])
    model.force([F, 0], at=P)
    model.constrain(x - sp.sin(model.t), servo=F)
    model.constrain(y - F, name="floor")
    with pytest.raises(ModelError, match="which no law determines"):
        model.compile()


def test_a_servo_unknown_must_push_plainly():
    model = da.Model("servo")
    (x,) = model.coordinates("x")
    (F,) = model.unknowns("F")
    P = model.particle("P", mass=1.0, position=[x, 0])
    model.force([F**3, 0], at=P)
    model.constrain(x - sp.sin(model.t), servo=F)
    with pytest.raises(ModelError, match=r"not linear in the servo unknown `F\(t\)`"):
        model.compile()


def test_an_unknown_has_no_kinetic_energy():
    """(2.46) has no p', which d/dt of dT/dx' would bring: refused, with what to write instead."""
    model = da.Model("energy")
    (x,) = model.coordinates("x")
    (p,) = model.unknowns("p")
    model.energy(kinetic=(1 + p) * x.diff(model.t) ** 2 / 2)
    model.law(p - x, determines=p)
    with pytest.raises(ModelError, match=r"kinetic energy contains `p\(t\)`.*whose rate .* model\.matrices\(mass="):
        model.compile()


def test_what_the_laws_leave_open_is_named():
    """p^2 = x at x = 0: the law does not determine p there."""
    model = da.Model("fold")
    (x,) = model.coordinates("x")
    (p,) = model.unknowns("p")
    model.particle("P", mass=1 + p**2, position=[x, 0])
    model.law(p**2 - x, determines=p)
    with pytest.raises(InitialStateError, match="do not determine `p`"):
        model.compile().initial({"x": 0.0, "x'": 0.0})


def test_reactions_and_power_with_an_unknown_that_starts_elsewhere():
    """r is what M u' = f(p*) + r leaves, of a constraint W^T la; the energy balance of a run closes."""
    system = rotating_arm()
    state = system.initial({"x": 0.4, "a": 0.2, "x'": 0.3, "a'": -0.5})
    motion = system.simulate(state, 2.0, integrator=FINE)
    track = motion.reaction("track")
    x = motion["x"]
    A = np.stack([-2 * x / 3, np.ones_like(x), np.full_like(x, -0.2)], axis=-1)
    np.testing.assert_allclose(track, A * motion["track"][:, None], atol=1e-11)
    assert motion.certificate.ok, motion.certificate
    np.testing.assert_allclose(motion.energy_balance, 0.0, atol=1e-8)


# -- what else is asked of a system ------------------------------------------------------------------------------------


def test_linearised_with_an_unknown_in_the_mass():
    """(2 + p) x'' = -10 x - 3 p^2 with p^3 + p = 1 + x/4 about the x at rest: one real number, the stiffness."""
    model = da.Model("variable mass")
    (x,) = model.coordinates("x")
    (p,) = model.unknowns("p")
    model.matrices(mass=sp.Matrix([[2 + p]]), force=sp.Matrix([-10 * x - 3 * p**2]))
    model.law(p**3 + p - 1 - x / 4, determines=p)
    system = model.compile()
    state = system.equilibrium({}, guess={"x": -0.1})
    p0 = cubic_root(1 + state["x"] / 4)
    assert 10 * state["x"] == pytest.approx(-3 * p0**2, rel=1e-9)
    slope = 1 / 4 / (3 * p0**2 + 1)
    squared = (10 + 6 * p0 * slope) / (2 + p0)
    eigenvalues = np.asarray(system.linearize(state).eigenvalues)
    np.testing.assert_allclose(np.sort(eigenvalues.imag), [-np.sqrt(squared), np.sqrt(squared)], rtol=1e-9)


def test_sensitivities_with_an_unknown_in_the_mass():
    """dx/dk of (1 + p + p^2) x'' = -k x with p = k x / 9, beside a difference quotient."""
    model = da.Model("sensitive")
    (x,) = model.coordinates("x")
    (p,) = model.unknowns("p")
    (k,) = model.parameters(k=3.0)
    P = model.particle("P", mass=1 + p + p**2, position=[x, 0])
    model.force([-k * x, 0], at=P)
    model.law(p - k * x / 9, determines=p)
    system = model.compile()
    how = {"t_eval": [1.5], "integrator": FINE}
    motion = system.simulate(system.initial({"x": 1.0, "x'": 0.0}), 1.5, sensitivities=["k"], **how)
    ends = [
        system.simulate(system.initial({"x": 1.0, "x'": 0.0}, parameters={"k": 3.0 + h}), 1.5, **how)["x"][0]
        for h in (-1e-4, 1e-4)
    ]
    assert motion.sensitivity("x", "k")[0] == pytest.approx((ends[1] - ends[0]) / 2e-4, rel=1e-6)


def test_sensitivities_with_a_plain_law():
    """x'' = -k x by a law: dx/dk = -t sin(w t) / (2 w), w^2 = k."""
    model = da.Model("plain law")
    (x,) = model.coordinates("x")
    (T,) = model.unknowns("T")
    (k,) = model.parameters(k=3.0)
    P = model.particle("P", mass=1.0, position=[x, 0])
    model.force([T, 0], at=P)
    model.law(T + k * x, determines=T)
    system = model.compile()
    state = system.initial({"x": 1.0, "x'": 0.0})
    motion = system.simulate(state, 1.5, sensitivities=["k"], t_eval=[1.5], integrator=FINE)
    w = np.sqrt(3.0)
    assert motion.sensitivity("x", "k")[0] == pytest.approx(-1.5 * np.sin(1.5 * w) / (2 * w), rel=1e-10)
    with pytest.raises(da.PairingError, match="use LagrangeMultipliers"):
        system.simulate(state, 1.5, sensitivities=["k"], formulation=da.NullSpace())


def test_what_needs_the_mass_matrix_is_refused():
    system = variable_mass("particle")
    state = system.initial({"x": 1.0, "x'": 0.0})
    with pytest.raises(da.PairingError, match="Gauss's measure of `variable mass` needs its mass matrix"):
        system.gauss_measure(0.0, state.q, state.u, state.udot)


def test_model_files_hold_unknowns_of_constraints(tmp_path):
    model = ellipse()
    model.to_toml(tmp_path / "ellipse.toml")
    again = da.from_toml(tmp_path / "ellipse.toml").model.compile()
    given = {"x": 0.0, "phi": 0.3, "x'": 0.0, "phi'": 0.5}
    one, other = (system.initial(given, guess={"y": 1.0}) for system in (model.compile(), again))
    np.testing.assert_allclose(other.udot, one.udot, rtol=1e-12)

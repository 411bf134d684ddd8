"""Laws f(r, q, u, t) = 0 of reactions and other unknowns, against closed forms and each other."""

import numpy as np
import pytest
import sympy as sp
from formulation_models import solve
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert import problems
from dalembert.errors import InitialStateError, ModelError

G = 9.81
COMPATIBILITY = [da.NullSpace(), da.NullSpace(reduced=False)]


def block(law, *, push=0.0, slope=0.0, **starts):
    """A block on a plane, pushed along it; the force T along it follows from `law(T, N, x, v, a)`."""
    model = da.Model("block")
    x, y = model.coordinates("x y")
    P = model.particle("P", mass=2.0, position=[x, y])
    model.gravity([G * sp.sin(slope), -G * sp.cos(slope)])
    model.force([push, 0], at=P)
    floor = model.constrain(y, name="floor")
    (T,) = model.unknowns("", **starts) if starts else model.unknowns("T")
    model.force([T, 0], at=P)
    v = x.diff(model.t)
    model.law(law(T, floor.multiplier, x, v, v.diff(model.t)), determines=T, name="rub")
    return model.compile()


def stick(mu, mass=2.0, settling=1e-3):
    """Coulomb friction that sticks: T = the force in [-mu N, mu N] nearest to the one that stops the block."""
    return lambda T, N, _x, v, a: T - sp.Max(-mu * N, sp.Min(mu * N, T - mass * (a + v / settling)))


def test_viscous_drag():
    system = block(lambda T, _N, _x, v, _a: T + 3.0 * v)
    motion = system.simulate(system.initial({"x": 0.0, "x'": 1.0}), 2.0, t_eval=[2.0])
    assert motion["x'"][0] == pytest.approx(np.exp(-3.0), rel=1e-9)
    assert motion["T"][0] == pytest.approx(-3.0 * np.exp(-3.0), rel=1e-9)


@pytest.mark.parametrize("slope", [0.2, 0.5])
def test_a_block_on_an_inclined_plane_sticks_up_to_the_angle_of_friction(slope):
    mu = 0.4  # arctan(0.4) = 0.381 rad
    system = block(stick(mu), slope=slope)
    motion = system.simulate(system.initial({"x": 0.0, "x'": 0.0}), 1.0, t_eval=[1.0])
    pull = 2.0 * G * np.sin(slope)
    if np.tan(slope) < mu:
        assert abs(motion["x'"][0]) < 1e-12
        assert motion["T"][0] == pytest.approx(-pull, rel=1e-12)
    else:
        expected = G * (np.sin(slope) - mu * np.cos(slope))
        assert motion["x'"][0] == pytest.approx(expected, rel=1e-9)
        assert motion["T"][0] == pytest.approx(-mu * 2.0 * G * np.cos(slope), rel=1e-12)


def test_a_sliding_block_comes_to_rest_and_stays():
    """v = v0 - mu g t, then it stays where it is, at v0^2 / (2 mu g)."""
    system = block(stick(0.4))
    motion = system.simulate(system.initial({"x": 0.0, "x'": 2.0}), 2.0, t_eval=[0.3, 2.0], integrator=da.DOP853())
    assert motion["x'"][0] == pytest.approx(2.0 - 0.4 * G * 0.3, rel=1e-9)
    settled = 0.4 * G * 1e-3  # the speed from which the block is stopped, within 1e-3 s
    assert motion["x"][1] == pytest.approx(4.0 / (0.8 * G), abs=settled * 1e-3)
    assert abs(motion["x'"][1]) < 1e-10
    assert abs(motion["T"][1]) < 1e-6


def test_friction_as_a_law_is_the_built_in_one():
    """A bead on a parabola: T along the track by a law, and by nonideal(friction=)."""
    mu, v0, motions = 0.3, 1e-2, []
    for stated in (True, False):
        model = da.Model("bead")
        x, y = model.coordinates("x y")
        P = model.particle("P", mass=1.3, position=[x, y])
        model.gravity([0, -G])
        track = model.constrain(y - x**2, name="track")
        if stated:
            (T,) = model.unknowns("T")
            length = sp.sqrt(1 + 4 * x**2)
            along = (x.diff(model.t) + 2 * x * y.diff(model.t)) / length
            model.force([T / length, 2 * x * T / length], at=P)
            normal = sp.Abs(track.multiplier) * length
            model.law(T + mu * normal * along / sp.sqrt(along**2 + v0**2), determines=T)
        else:
            model.nonideal(track, friction=mu, at=P, regularisation=v0)
        system = model.compile()
        times = np.linspace(0.0, 3.0, 31)
        how = {"t_eval": times, "integrator": da.DOP853(rtol=1e-12, atol=1e-13)}
        motions.append(system.simulate(system.initial({"x": 1.0, "x'": 0.0}), 3.0, **how))
    np.testing.assert_allclose(motions[0].q, motions[1].q, atol=1e-9)
    np.testing.assert_allclose(motions[0]["track"], motions[1]["track"], atol=1e-7)


# -- the rod of Painleve -----------------------------------------------------------------------------------------------


def rod():
    """A slender rod of mass m and length 2 l whose lower end slides on a rough floor; a is its angle."""
    model = da.Model("rod of Painleve")
    x, y, a = model.coordinates("x y a")
    m, length, mu = model.parameters(m=1.0, l=0.5, mu=0.5)
    body = model.body("rod", mass=m, inertia=m * length**2 / 3, position=[x, y], rotation=a)
    tip = [x - length * sp.cos(a), y - length * sp.sin(a)]
    model.gravity([0, -G])
    floor = model.constrain(tip[1], name="floor")
    (T,) = model.unknowns("T")
    model.force([T, 0], at=model.marker(body, [-length, 0]))
    model.law(T - mu * floor.multiplier, determines=T, name="sliding")  # the tip slides to the left
    return model.compile()


def test_the_rod_of_painleve():
    """N (1 + 3 cos a (cos a - mu sin a)) = m (g - l a'^2 sin a): Genot and Brogliato (1999), eq. (2)-(4)."""
    system = rod()
    for a, w, mu in [(1.2, 0.5, 0.3), (0.9, -1.0, 1.2), (1.5, 2.0, 0.8), (1.1, 0.0, 1.3)]:
        state = system.initial({"x": 0.0, "a": a, "x'": -3.0, "a'": w}, parameters={"mu": mu})
        factor = 1 + 3 * np.cos(a) * (np.cos(a) - mu * np.sin(a))
        N = (G - 0.5 * w**2 * np.sin(a)) / factor
        assert state["floor"] == pytest.approx(N, rel=1e-10)


def test_paradoxes_begin_at_a_coefficient_of_four_thirds():
    """The least mu with N -> infinity somewhere is 4/3, at tan a = 2 (Painleve; Genot and Brogliato, section 2)."""
    system, a = rod(), np.arctan(2.0)
    for gap in (1e-3, 1e-6):
        state = system.initial({"x": 0.0, "a": a, "x'": -3.0, "a'": 0.0}, parameters={"mu": 4 / 3 - gap})
        assert state["floor"] == pytest.approx(G / (1.2 * gap), rel=1e-6)
    with pytest.raises(InitialStateError, match="do not determine"):
        system.initial({"x": 0.0, "a": a, "x'": -3.0, "a'": 0.0}, parameters={"mu": 4 / 3})


# -- creep of a wheelset -----------------------------------------------------------------------------------------------


def wheelset():
    """A conical wheelset on rails at speed V, free in y, z, yaw and roll; creep after Vermeulen and Johnson.

    Each contact pushes with mu N (1 - (1 - c/3)^3), c = k N^(2/3) creepage / (mu N), which is nonlinear in N.
    """
    model = da.Model("wheelset")
    y, z, psi, phi = model.coordinates("y z psi phi")
    V, r, half, cone, mu, k = model.parameters(V=2.0, r=0.45, half=0.75, cone=0.05, mu=0.3, k=2000.0)
    M = sp.diag(1200, 1200, 700, 700)
    model.matrices(mass=M, force=sp.Matrix([0, -1200 * G, 0, 0]))
    t = model.t
    contacts = {}
    for side, sign in (("left", 1), ("right", -1)):
        contacts[side] = model.constrain(z - sign * half * phi - sign * cone * y, name=side).multiplier
    names = "Lx Ly Rx Ry"
    Lx, Ly, Rx, Ry = model.unknowns(names)
    for side, sign, along, across in (("left", 1, Lx, Ly), ("right", -1, Rx, Ry)):
        N, creep_x = contacts[side], -sign * (cone * y / r + half * psi.diff(t) / V)
        creep_y = y.diff(t) / V - psi
        size = sp.sqrt(creep_x**2 + creep_y**2 + 1e-30)
        c = sp.Min(k * N ** sp.Rational(2, 3) * size / (mu * N), 3)
        push = mu * N * (1 - (1 - c / 3) ** 3) / size
        model.law(along + push * creep_x, determines=along)
        model.law(across + push * creep_y, determines=across)
        model.generalized_force({y: across, psi: -sign * half * along})
    return model.compile()


def test_a_wheelset_hunts_with_klingel_s_wavelength():
    """2 pi sqrt(r b / cone) (Klingel 1883) at low speed, where inertia does not matter: 16.3 m."""
    system = wheelset()
    state = system.initial({"y": 1e-4, "psi": 0.0, "y'": 0.0, "psi'": 0.0}, guess={"left": 6000.0, "right": 6000.0})
    assert state["left"] + state["right"] == pytest.approx(1200 * G, rel=1e-12)
    motion = system.simulate(state, 20.0, t_eval=np.linspace(0.0, 20.0, 4001))
    assert motion.certificate.ok
    y, t = motion["y"], motion.t
    zeros = t[:-1][np.diff(np.sign(y)) != 0]
    wavelength = 2.0 * np.diff(zeros).mean() * 2.0
    assert wavelength == pytest.approx(2 * np.pi * np.sqrt(0.45 * 0.75 / 0.05), rel=0.02)


# -- all formulations --------------------------------------------------------------------------------------------------


def mixed():
    """A rod on a rough track, driven by a servo, with creep at its other end."""
    model = da.Model("mixed")
    x, y, a = model.coordinates("x y a")
    body = model.body("rod", mass=1.5, inertia=0.2, position=[x, y], rotation=a)
    model.gravity([0.3, -G])
    track = model.constrain(y - x**2 / 4, name="track")
    model.nonideal(track, friction=0.2, at=body, regularisation=0.05)
    F, T = model.unknowns("F T")
    model.generalized_force({a: F + 0.3 * x * F})
    model.constrain(a - sp.sin(model.t) - x / 5, name="program", servo=F)
    model.force([T, T / 3], at=[x + sp.cos(a), y + sp.sin(a)])
    N = track.multiplier
    model.law(T + T**3 / 50 + 0.1 * sp.sqrt(1 + N**2) * x.diff(model.t) + 0.01 * F, determines=T)
    return model.compile()


@pytest.mark.parametrize("build", [mixed, rod, lambda: problems.get("car").system()], ids=["mixed", "rod", "car"])
@pytest.mark.parametrize("formulation", COMPATIBILITY, ids=repr)
def test_compatibility_gives_what_multipliers_give(build, formulation):
    system = build()
    rng = np.random.default_rng(5)
    p = system.parameter_values(None)
    for _ in range(20):
        z = 0.3 + 0.5 * rng.standard_normal(system.nq + system.nu)
        one, other = (solve(system, p, f, 0.3, z) for f in (da.LagrangeMultipliers(), formulation))
        assert np.isfinite(one.udot).all()
        for left, right in ((other.udot, one.udot), (other.multipliers, one.multipliers)):
            assert np.abs(left - right).max() < 1e-10 * (1.0 + np.abs(right).max())


def test_friction_and_servo_move_alike_by_compatibility():
    system = mixed()
    state = system.initial({"x": 0.5, "x'": 1.0})
    how = {"t_eval": np.linspace(0.0, 2.0, 21), "integrator": da.DOP853(rtol=1e-12, atol=1e-13)}
    one = system.simulate(state, 2.0, **how)
    for formulation in (da.NullSpace(), da.MinimalState()):
        other = system.simulate(state, 2.0, formulation=formulation, **how)
        np.testing.assert_allclose(other.q, one.q, atol=1e-9)
        np.testing.assert_allclose(other["T"], one["T"], atol=1e-8)
    assert one.certificate.ok
    with pytest.raises(da.PairingError, match="LagrangeMultipliers"):
        system.simulate(state, 1.0, formulation=da.UdwadiaKalaba())


@pytest.mark.parametrize("drift", [da.Baumgarte(20, 100), da.Projection(), da.Blajer()], ids=repr)
def test_drift_controls_with_laws(drift):
    system = mixed()
    state = system.initial({"x": 0.5, "x'": 1.0})
    motion = system.simulate(state, 1.0, drift=drift, integrator=da.DOP853(rtol=1e-10))
    reference = system.simulate(state, 1.0, integrator=da.DOP853(rtol=1e-12, atol=1e-13))
    np.testing.assert_allclose(motion.q[-1], reference.q[-1], atol=1e-7)


@pytest.mark.parametrize(
    "integrator", [da.Radau(rtol=1e-9, atol=1e-11), da.GeneralizedAlpha(rtol=1e-6), da.IDA(rtol=1e-8)], ids=repr
)
def test_implicit_integrators_with_laws(integrator):
    system = mixed()
    state = system.initial({"x": 0.5, "x'": 1.0})
    motion = system.simulate(state, 1.0, t_eval=[1.0], integrator=integrator)
    reference = system.simulate(state, 1.0, t_eval=[1.0], integrator=da.DOP853(rtol=1e-12, atol=1e-13))
    assert motion.success, motion.message
    np.testing.assert_allclose(motion.q, reference.q, atol=1e-5)


# -- unknowns that are no reactions ------------------------------------------------------------------------------------


def test_an_unknown_from_its_own_equation_that_acts_nonlinearly():
    """(2.46), (2.47), s = m: g = p^3 + p - x - t = 0 gives p, and x'' = -x - p^2; p0 follows from the same solve."""
    model = da.Model("valve")
    (x,) = model.coordinates("x")
    P = model.particle("P", mass=1.0, position=[x, 0])
    p, F = model.unknowns("p F")
    model.force([F - x, 0], at=P)
    model.law(p**3 + p - x - model.t, determines=p, name="g")
    model.law(F + p**2, determines=F)
    system = model.compile()
    state = system.initial({"x": 2.0, "x'": 0.0})
    assert state["p"] == pytest.approx(1.0, rel=1e-12)  # 1 + 1 = 2
    assert state["F"] == pytest.approx(-1.0, rel=1e-12)

    def rates(t, z):
        c = z[0] + t
        root = np.cbrt(c / 2 + np.sqrt(c**2 / 4 + 1 / 27)) + np.cbrt(c / 2 - np.sqrt(c**2 / 4 + 1 / 27))
        return [z[1], -z[0] - root**2]

    expected = solve_ivp(rates, (0.0, 2.0), [2.0, 0.0], method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    motion = system.simulate(state, 2.0, t_eval=[2.0], integrator=da.DOP853(rtol=1e-11))
    np.testing.assert_allclose([motion["x"][0], motion["x'"][0]], expected, atol=1e-9)


# -- starts and refusals -----------------------------------------------------------------------------------------------


def test_the_start_says_which_solution_is_found():
    """T^2 = 4: Newton's method finds the root on the side where it starts."""
    for start in (1.0, -1.0):
        system = block(lambda T, *_: T**2 - 4.0, T=start)
        assert system.initial({"x": 0.0, "x'": 0.0})["T"] == pytest.approx(2.0 * start, rel=1e-12)


@pytest.mark.parametrize("formulation", [da.LagrangeMultipliers(), da.NullSpace()], ids=repr)
def test_a_law_need_not_be_defined_where_an_unknown_is_zero(formulation):
    """T - 6 / T = 1 has the roots 3 and -2; at T = 0, where nothing is known yet, it has no value."""
    for start, root in ((1.0, 3.0), (-1.0, -2.0)):
        system = block(lambda T, *_: T - 6.0 / T - 1.0, T=start)
        state = system.initial({"x": 0.0, "x'": 0.0})
        assert state["T"] == pytest.approx(root, rel=1e-12)
        motion = system.simulate(state, 0.1, formulation=formulation)
        assert motion.certificate.ok
        np.testing.assert_allclose(motion["T"], root, rtol=1e-12)


def test_laws_without_a_solution_are_refused():
    system = block(lambda T, _N, x, *_: T**2 + 1.0 + x, T=1.0)
    with pytest.raises(InitialStateError, match="Newton's method found no accelerations and reactions"):
        system.initial({"x": 0.0, "x'": 0.0})


def test_what_no_law_determines_is_named():
    model = da.Model("two forces")
    (x,) = model.coordinates("x")
    P = model.particle("P", mass=1.0, position=[x, 0])
    S, T = model.unknowns("S T")
    model.force([S + T, 0], at=P)
    model.law(S + T - 1, determines=S)
    model.law(2 * S + 2 * T - 2, determines=T)
    with pytest.raises(InitialStateError, match="do not determine `S`, `T`"):
        model.compile().initial({"x": 0.0, "x'": 0.0})


def test_faults_of_laws_are_listed():
    model = da.Model("faulty")
    (x,) = model.coordinates("x")
    model.particle("P", mass=1.0, position=[x, 0])
    (T,) = model.unknowns("T")
    model.law(T - sp.Symbol("nothing"), determines=T, name="first")
    model.law(T, determines=T, name="second")
    model.law(T, determines=x, name="third")
    with pytest.raises(ModelError) as found:
        model.compile()
    words = str(found.value)
    assert "law `first` contains `nothing`" in words
    assert "`T(t)` serves 2 constraints" in words
    assert "law `third`: `x(t)` is not among model.unknowns" in words


def test_a_law_is_no_constraint_in_the_diagnosis():
    system = rod()
    diagnosis = system.diagnose(system.initial({"x": 0.0, "a": 1.0, "x'": -3.0}))
    assert diagnosis.ok
    assert "sliding" not in str(diagnosis)

"""Five ways of writing the equations, one motion: agreement to round-off is the strongest test there is."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert import problems
from dalembert.numerics.engine import Engine

FORMULATIONS = [
    da.LagrangeMultipliers(),
    da.UdwadiaKalaba(),
    da.NonminimalKane(),
    da.MinimalKane(),
    da.NullSpace(),
    da.NullSpace(reduced=False),
]
EVERY = pytest.mark.parametrize("problem", problems.all(), ids=lambda p: p.name)
IDS = [type(f).__name__ + ("" if getattr(f, "reduced", True) else "_full") for f in FORMULATIONS]


def solved(system, parameters, formulation, t, z):
    engine = Engine(system, parameters, formulation, da.NoCorrection())
    full = np.append(z, np.zeros(int(system.works)))
    found = engine.evaluate(np.array([t]), full[None])
    return engine.rates(t, full)[system.nq : system.nq + system.nu], found.multipliers[0]


@EVERY
def test_all_formulations_agree_at_random_states(problem):
    system = problem.system()
    if not system.ideal:
        pytest.skip("servo or friction reactions are for LagrangeMultipliers")
    start = problem.state(system)
    rng = np.random.default_rng(7)
    for _ in range(5):
        z = start.z + 0.1 * rng.standard_normal(len(start.z))
        q, u = z[: system.nq], z[system.nq :]
        M, f = system.mass_matrix(0.3, q, u), system.forces(0.3, q, u)
        A, b = system.constraint_jacobian(0.3, q, u), system.constraint_bias(0.3, q, u)
        admissible = np.linalg.svd(A)[2][np.linalg.matrix_rank(A) :] if system.nc else np.eye(system.nu)
        reference, _ = solved(system, start.parameters, FORMULATIONS[0], 0.3, z)
        scale = np.abs(reference).max() + 1.0
        for formulation in FORMULATIONS:
            udot, la = solved(system, start.parameters, formulation, 0.3, z)
            assert np.abs(udot - reference).max() < 1e-10 * scale, formulation
            r = M @ udot - f
            assert np.abs(admissible @ r).max(initial=0.0) < 1e-9 * (np.abs(r).max() + np.abs(f).max() + 1.0)
            assert np.abs(A @ udot - b).max(initial=0.0) < 1e-10 * (np.abs(A).max(initial=0.0) * scale + 1.0)
            np.testing.assert_allclose(A.T @ la, r, atol=1e-8 * (np.abs(r).max() + 1.0))


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=IDS)
@pytest.mark.parametrize("integrator", [da.DOP853(), da.RK4(1e-3)], ids=["DOP853", "RK4"])
def test_every_formulation_runs_with_every_integrator(formulation, integrator):
    problem = problems.get("appell_hamel")
    motion = problem.simulate(t_end=1.0, t_eval=[1.0], formulation=formulation, integrator=integrator)
    reference = problem.simulate(t_end=1.0, t_eval=[1.0])
    assert motion.certificate.ok, motion.certificate
    np.testing.assert_allclose(motion.q, reference.q, atol=1e-9)


def redundant_four_bar(extra):
    """The four-bar of the catalogue with loop closure stated again: repeated, and as a combination of both rows."""
    model = problems.get("four_bar").build()
    first, second = (c.expression for c in model.statement.constraints)
    if extra:
        model.constrain(first, name="again")
        model.constrain(2 * first - 3 * second, name="mixed")
    return model.compile()


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=IDS)
def test_redundant_constraints_change_nothing(formulation):
    plain, redundant = redundant_four_bar(extra=False), redundant_four_bar(extra=True)
    problem = problems.get("four_bar")
    state = problem.state(plain)
    expected, _ = solved(plain, state.parameters, formulation, 0.0, state.z)
    udot, la = solved(redundant, state.parameters, formulation, 0.0, state.z)
    np.testing.assert_allclose(udot, expected, atol=1e-10 * np.abs(expected).max())
    motion = redundant.simulate(problem.state(redundant), 2.0, t_eval=[2.0], formulation=formulation)
    assert motion.success
    np.testing.assert_allclose(motion.q, plain.simulate(state, 2.0, t_eval=[2.0]).q, atol=1e-8)
    # Least multipliers: nothing in the null space of A^T, up to the scaling of the rows.
    assert np.abs(la).max() < 100.0


def test_the_partition_follows_a_full_turn_and_says_so():
    model = da.Model("spinning pendulum")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1, position=[x, y])
    model.gravity([0, -9.81])
    model.constrain(x**2 + y**2 - 1, name="rod")
    system = model.compile()
    state = system.initial({x: 0.0, y: -1.0, "x_dot": 8.0})
    reference = system.simulate(state, 5.0, t_eval=[5.0])
    for formulation in (da.NonminimalKane(), da.MinimalKane()):
        motion = system.simulate(state, 5.0, formulation=formulation)
        assert motion.certificate.ok, motion.certificate
        np.testing.assert_allclose(motion.q[-1], reference.q[-1], atol=1e-8)
        assert "independent speeds x_dot (from t = 0); y_dot (from t = 0." in str(motion.certificate)


def test_a_given_partition_is_used_and_a_wrong_one_is_explained():
    problem = problems.get("appell_hamel")
    system = problem.system()
    state = problem.state(system)
    names = system.speeds
    motion = system.simulate(state, 1.0, formulation=da.NonminimalKane(u_ind=names[:2]))
    assert f"independent speeds {names[0]}, {names[1]}" in motion.certificate.method
    z_speed = names[4]
    with pytest.raises(da.OptionError, match=rf"the constraints tie `{names[1]}`, `{z_speed}` together"):
        system.simulate(state, 1.0, formulation=da.NonminimalKane(u_ind=[names[1], z_speed]))
    with pytest.raises(da.OptionError, match="has 2 degrees of freedom; give 2"):
        system.simulate(state, 1.0, formulation=da.MinimalKane(u_ind=names[:1]))
    with pytest.raises(da.UnknownNameError, match="w9"):
        system.simulate(state, 1.0, formulation=da.MinimalKane(u_ind=["w9", names[0]]))
    with pytest.raises(da.OptionError, match="give a list"):
        da.NonminimalKane(u_ind="u1")


def right_inverse(D):
    """A g-inverse other than Moore-Penrose's: weighted by 1, 2, 3, ..."""
    W = np.diag(np.arange(1.0, D.shape[1] + 1.0))
    return W @ D.T @ np.linalg.inv(D @ W @ D.T)


def skewed_least_squares(H):
    """A least-squares g-inverse other than Moore-Penrose's: with an arbitrary part in the null space of H."""
    P = np.linalg.pinv(H, 1e-10)
    return P + (np.eye(H.shape[1]) - P @ H) @ np.ones((H.shape[1], H.shape[0]))


def transpose(D):
    return np.ascontiguousarray(D.T)


def not_symmetric(H):
    P = np.linalg.pinv(H, 1e-10)
    return P + P @ np.ones((H.shape[0], H.shape[0])) @ (np.eye(H.shape[0]) - H @ P)


def test_any_g_inverse_gives_the_same_motion_and_false_ones_are_refused():
    problem = problems.get("appell_hamel_linear")
    reference = problem.simulate(t_end=1.0, t_eval=[1.0])
    other = da.UdwadiaKalaba(g_inverse=right_inverse, least_squares_inverse=skewed_least_squares)
    motion = problem.simulate(t_end=1.0, t_eval=[1.0], formulation=other)
    np.testing.assert_allclose(motion.q, reference.q, atol=1e-9)
    np.testing.assert_allclose(motion.reactions, reference.reactions, atol=1e-7)
    with pytest.raises(da.OptionError, match=r"g_inverse fails its defining relation D D\^- D = D \(20\)"):
        problem.simulate(t_end=1.0, formulation=da.UdwadiaKalaba(g_inverse=transpose))
    with pytest.raises(da.OptionError, match=r"least_squares_inverse fails .* \(26\)"):
        problem.simulate(t_end=1.0, formulation=da.UdwadiaKalaba(least_squares_inverse=not_symmetric))


def test_constraint_force_splits_into_feedback_and_feed_forward():
    problem = problems.get("appell_hamel")
    system = problem.system()
    state = problem.state(system)
    parts = da.UdwadiaKalaba().split_force(system, 0.0, state.q, state.u)
    np.testing.assert_allclose(parts[0] + parts[1], state.reactions, atol=1e-10)


@pytest.mark.parametrize("formulation", FORMULATIONS[1:], ids=IDS[1:])
def test_servo_constraints_are_for_lagrange_multipliers(formulation):
    model = da.Model("cart")
    (x,) = model.coordinates("x")
    (F,) = model.unknowns("F")
    cart = model.particle("cart", mass=2, position=[x, 0])
    model.force([F, 0], at=cart)
    model.constrain(x - sp.sin(model.t), name="program", servo=F)
    system = model.compile()
    with pytest.raises(da.PairingError, match="use LagrangeMultipliers"):
        system.simulate(system.initial(), 1.0, formulation=formulation)


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=IDS)
def test_acceleration_constraints_in_every_formulation(formulation):
    model = da.Model("pushed")
    x, y = model.coordinates("x y")
    model.particle("P", mass=2, position=[x, y])
    model.gravity([0, -9.81])
    model.constrain(x.diff(model.t, 2) - y.diff(model.t, 2) - sp.cos(model.t), name="push")
    system = model.compile()
    motion = system.simulate(system.initial(), 1.0, formulation=formulation, t_eval=[0.0, 1.0])
    # x'' - y'' = cos t with equal masses: the mean acceleration stays -g/2 along (1, 1).
    np.testing.assert_allclose(motion["x"] + motion["y"], [0.0, -9.81 / 2], atol=1e-9)
    np.testing.assert_allclose(motion["x"] - motion["y"], [0.0, 1.0 - np.cos(1.0)], atol=1e-9)

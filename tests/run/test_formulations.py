"""Five ways of writing the equations, one motion: agreement to round-off is the strongest test there is."""

import re
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
import sympy as sp
from formulation_models import LARGE, InLoops, regular_state, solve
from scipy.optimize import brentq

import dalembert as da
from dalembert import problems
from dalembert.native.types import Record, ints
from dalembert.problems.closed_chain import closed_chain
from dalembert.problems.n_four_bar import exact, n_four_bar
from dalembert.run.engine import Engine
from dalembert.run.formulations.accelerators import Accelerators
from dalembert.run.formulations.fall_back import accelerate_rechosen
from dalembert.solve.dense import PROXIMAL

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


def check_agreement(system, parameters, t, z):
    """Every formulation, by itself, gives the same u' as the first, and a reaction that is ideal."""
    q, u = z[: system.nq], z[system.nq :]
    at = (t, q, u, parameters)
    M, f = system.mass_matrix(*at), system.forces(*at)
    A, b = system.constraint_jacobian(*at), system.constraint_bias(*at)
    admissible = np.linalg.svd(A)[2][np.linalg.matrix_rank(A) :] if system.nc else np.eye(system.nu)
    reference = solve(system, parameters, FORMULATIONS[0], t, z).udot
    scale = np.abs(reference).max() + 1.0
    for formulation in FORMULATIONS:
        found = solve(system, parameters, formulation, t, z)
        assert found.fallbacks == 0, formulation
        assert np.abs(found.udot - reference).max() < 1e-10 * scale, formulation
        r = M @ found.udot - f
        assert np.abs(admissible @ r).max(initial=0.0) < 1e-9 * (np.abs(r).max() + np.abs(f).max() + 1.0)
        assert np.abs(A @ found.udot - b).max(initial=0.0) < 1e-10 * (np.abs(A).max(initial=0.0) * scale + 1.0)
        np.testing.assert_allclose(A.T @ found.multipliers, r, atol=1e-8 * (np.abs(r).max() + 1.0))


@EVERY
def test_all_formulations_agree_at_random_states(problem):
    system = problem.system()
    if not system.ideal:
        pytest.skip("servo or friction reactions are for LagrangeMultipliers")
    start = problem.state(system)
    rng = np.random.default_rng(7)
    for _ in range(5):
        check_agreement(system, start.parameters, 0.3, start.z + 0.1 * rng.standard_normal(len(start.z)))


@pytest.mark.parametrize("name", LARGE)
def test_all_formulations_agree_on_large_systems(name):
    system = LARGE[name]().compile()
    assert 30 <= system.nu <= 60
    rng = np.random.default_rng(7)
    for _ in range(3):
        check_agreement(system, system.parameter_values(None), 0.3, regular_state(system, rng))


@EVERY
@pytest.mark.parametrize("formulation", FORMULATIONS[2:], ids=IDS[2:])
def test_loops_do_what_the_unrolled_code_does(problem, formulation):
    system = problem.system()
    if not system.ideal:
        pytest.skip("servo or friction reactions are for LagrangeMultipliers")
    start = problem.state(system)
    rng = np.random.default_rng(11)
    for _ in range(5):
        at = (0.3, start.z + 0.1 * rng.standard_normal(len(start.z)))
        unrolled = solve(system, start.parameters, formulation, *at)
        looped = solve(system, start.parameters, InLoops(formulation), *at)
        assert unrolled.fallbacks == looped.fallbacks == 0
        for one, other in ((unrolled.udot, looped.udot), (unrolled.multipliers, looped.multipliers)):
            np.testing.assert_allclose(other, one, rtol=0, atol=1e-12 * (1.0 + np.abs(one).max(initial=0.0)))


class Behind(Record):
    """What lies behind the workspace of a formulation."""

    _fields_ = ints("floats ints")


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=IDS)
@pytest.mark.parametrize("name", ["four_bar_often_repeated", "repeated_rows_15", "train_12"])
def test_loops_stay_in_their_workspace(name, formulation):
    system = LARGE[name]().compile() if name in LARGE else often_repeated(20).compile()
    engine = Engine(system, system.parameter_values(None), InLoops(formulation), da.NoCorrection())
    ends = len(engine.work.ints), len(engine.mem)
    engine.work.reserve(Behind(), {"floats": 100}, {"ints": 100})
    engine.work.ints[ends[0] :], engine.mem[ends[1] :] = 77, 77.0
    engine.rates(0.3, np.append(regular_state(system, np.random.default_rng(7)), np.zeros(int(system.works))))
    assert (engine.work.ints[ends[0] :] == 77).all()
    assert (engine.mem[ends[1] :] == 77.0).all()


@pytest.fixture(scope="module")
def chain():
    """A closed chain of 30 links, its start, and where it is after a second."""
    problem = closed_chain(30)
    system = problem.system()
    state = problem.state(system)
    return system, state, system.simulate(state, 1.0, t_eval=[1.0], integrator=da.DOP853()).q


@pytest.mark.parametrize("formulation", FORMULATIONS[1:], ids=IDS[1:])
def test_a_chain_of_thirty_links_moves_alike_in_every_formulation(formulation, chain):
    system, state, expected = chain
    motion = system.simulate(state, 1.0, t_eval=[1.0], formulation=formulation, integrator=da.DOP853())
    assert motion.certificate.ok, motion.certificate
    assert "pivoted" not in motion.certificate.method
    np.testing.assert_allclose(motion.q, expected, rtol=0, atol=1e-8)


class GraphOnly(InLoops):
    """A formulation that has no loops to run in."""

    def accelerators(self):
        return Accelerators(accelerate_rechosen)


def test_a_formulation_without_loops_is_refused_where_it_is_too_long(chain):
    system, state, _ = chain
    with pytest.raises(da.PairingError, match="GraphOnly is written as a graph only"):
        system.simulate(state, 1.0, formulation=GraphOnly(da.MinimalKane()))


def singular_start(n):
    """The N-four-bar at the first instant at which all its rods lie in line, after the exact solution."""
    system = n_four_bar(n).system()
    t = brentq(lambda t: exact(n, np.array([t]))["y0"][0], 0.1, 0.8, xtol=1e-15)
    values = dict.fromkeys((*system.coordinates, *system.speeds), 0.0)
    speed = float(exact(n, np.array([t]))["vy0"][0])
    values |= {f"x{k}": k + 1.0 for k in range(n + 1)} | {f"vy{k}": speed for k in range(n + 1)}
    q, u = (np.array([values[name] for name in names]) for names in (system.coordinates, system.speeds))
    return da.State(system, t, q, u, np.zeros(system.nu), np.zeros(system.nc), system.parameter_values(None))


@pytest.mark.parametrize("formulation", [FORMULATIONS[0], *FORMULATIONS[2:]], ids=[IDS[0], *IDS[2:]])
@pytest.mark.parametrize("n", [2, 15])
def test_a_singular_start_is_left_with_every_constraint_and_told(n, formulation):
    state = singular_start(n)
    t_end = state.t + 1.0
    motion = state.system.simulate(state, t_end, t_eval=[t_end], formulation=formulation, integrator=da.DOP853())
    assert motion.success, motion.message
    expected = exact(n, np.array([t_end]))
    np.testing.assert_allclose(motion.q[0], [expected[name][0] for name in state.system.coordinates], atol=1e-8)
    told = re.search(
        r"([\d,]+) of ([\d,]+) evaluations by the pivoted saddle solve, near t = ([\d.]+)", str(motion.certificate)
    )
    if isinstance(formulation, da.LagrangeMultipliers):  # the same equations, however they are factorised
        assert told is None
        return
    count, total = (int(number.replace(",", "")) for number in told.groups()[:2])
    assert 0 < count < total == motion.stats["nfev"]
    assert float(told[3]) == pytest.approx(state.t, abs=1e-3)


@pytest.mark.parametrize("n", [2, 15])
def test_how_a_singular_start_is_left_does_not_depend_on_round_off(n):
    """Neighbouring tolerances change the last digits of every step, and nothing else, until the rods fold again."""
    state = singular_start(n)
    t_end = state.t + 0.5
    expected = [exact(n, np.array([t_end]))[name][0] for name in state.system.coordinates]
    for k in range(140 if n > 2 else 40):
        integrator = da.DOP853(rtol=1e-10 * (1.0 + 1e-3 * k))
        motion = state.system.simulate(
            state, t_end, t_eval=[t_end], formulation=da.NonminimalKane(), integrator=integrator
        )
        assert motion.certificate.ok, motion.certificate
        assert motion.passages[0].t == state.t
        np.testing.assert_allclose(motion.q[0], expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("formulation", [FORMULATIONS[0], *FORMULATIONS[2:]], ids=[IDS[0], *IDS[2:]])
def test_rest_in_a_singular_position_has_more_than_one_future(formulation):
    state = singular_start(2)
    state = replace(state, u=0.0 * state.u)
    motion = state.system.simulate(state, state.t + 0.5, formulation=formulation)
    assert not motion.certificate.ok
    if isinstance(formulation, da.LagrangeMultipliers):  # with a partition no step at all can be made
        assert "the motion starts there, and more than one may go on from it" in motion.certificate.verdict


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=IDS)
@pytest.mark.parametrize("integrator", [da.DOP853(), da.RK4(1e-3)], ids=["DOP853", "RK4"])
def test_every_formulation_runs_with_every_integrator(formulation, integrator):
    problem = problems.get("appell_hamel")
    motion = problem.simulate(t_end=1.0, t_eval=[1.0], formulation=formulation, integrator=integrator)
    reference = problem.simulate(t_end=1.0, t_eval=[1.0])
    assert motion.certificate.ok, motion.certificate
    np.testing.assert_allclose(motion.q, reference.q, atol=1e-9)


def often_repeated(times):
    """The four-bar of the catalogue, one of whose speeds has no mass, with far more rows than speeds."""
    model = problems.get("four_bar").build()
    first, second = (c.expression for c in model.statement.constraints)
    for k in range(times):
        model.constrain(first + k * second, name=f"again{k}")
    return model


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
    expected = solve(plain, state.parameters, formulation, 0.0, state.z).udot
    for one in (formulation, InLoops(formulation)):
        found = solve(redundant, state.parameters, one, 0.0, state.z)
        assert found.fallbacks == 0
        np.testing.assert_allclose(found.udot, expected, atol=1e-10 * np.abs(expected).max())
    motion = redundant.simulate(problem.state(redundant), 2.0, t_eval=[2.0], formulation=formulation)
    assert motion.success
    np.testing.assert_allclose(motion.q, plain.simulate(state, 2.0, t_eval=[2.0]).q, atol=1e-8)


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=IDS)
def test_samples_have_the_least_multipliers_of_redundant_constraints(formulation):
    redundant = redundant_four_bar(extra=True)
    state = problems.get("four_bar").state(redundant)
    engine = Engine(redundant, state.parameters, formulation, da.NoCorrection())
    la = engine.evaluate(np.array([0.0]), np.append(state.z, np.zeros(int(redundant.works)))[None]).multipliers[0]
    M, A = redundant.mass_matrix(0.0, state.q, state.u), redundant.constraint_jacobian(0.0, state.q, state.u)
    if not isinstance(formulation, da.UdwadiaKalaba):  # least per row of unit length, speeds scaled to unit masses
        mass = np.diag(M)  # one of the speeds has none
        length = np.linalg.norm(A / np.sqrt(np.where(mass > 0.0, mass, mass.max())), axis=1)
        A, la = A / length[:, None], la * length
    null = np.linalg.svd(A.T)[2][np.linalg.matrix_rank(A) :]
    assert len(null) == 2
    # Directions that do not act have nothing in them but round-off, which the proximal shift lets grow.
    assert np.abs(null @ la).max() < 100 * np.finfo(float).eps / PROXIMAL * np.abs(la).max()


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


@pytest.mark.parametrize("inverse", [np.linalg.pinv, scipy.linalg.pinv, lambda A: np.linalg.pinv(A).tolist()])
def test_any_python_function_serves_as_an_inverse(inverse):
    problem = problems.get("appell_hamel_linear")
    reference = problem.simulate(t_end=1.0, t_eval=[1.0])
    way = da.UdwadiaKalaba(g_inverse=inverse)
    motion = problem.simulate(t_end=1.0, t_eval=[1.0], formulation=way)
    assert motion.certificate.ok, motion.certificate
    np.testing.assert_allclose(motion.q, reference.q, atol=1e-9)
    np.testing.assert_allclose(motion.reactions, reference.reactions, atol=1e-7)


def test_an_inverse_serves_where_the_mass_matrix_is_singular():
    """Two masses and three angles: M has rank 2, and only with the constraints it determines the accelerations."""
    problem = problems.get("four_bar")
    reference = problem.simulate(t_end=1.0, t_eval=[1.0])
    motion = problem.simulate(t_end=1.0, t_eval=[1.0], formulation=da.UdwadiaKalaba(g_inverse=np.linalg.pinv))
    assert motion.certificate.ok, motion.certificate
    np.testing.assert_allclose(motion.q, reference.q, atol=1e-9)
    np.testing.assert_allclose(motion.reactions, reference.reactions, atol=1e-7)
    system, state = motion.system, problem.state(motion.system)
    parts = da.UdwadiaKalaba().split_force(system, state.t, state.q, state.u)
    first = problem.simulate(t_end=0.1, t_eval=[0.0]).reactions[0]
    np.testing.assert_allclose(sum(parts), first, atol=1e-9)


def test_an_inverse_where_nothing_determines_the_motion_is_refused():
    model = da.Model("a point without mass")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1, position=[x, 0])
    model.particle("Q", mass=0, position=[0, y])
    model.constrain(x - model.t, name="drive")
    system = model.compile()
    state = system.initial({y: 0.0, "y_dot": 0.0})
    with pytest.raises(da.OptionError, match="determine all accelerations"):
        system.simulate(state, 1.0, formulation=da.UdwadiaKalaba(g_inverse=np.linalg.pinv))


@pytest.mark.parametrize(
    ("inverse", "why"),
    [
        (lambda _: 1 / 0, r"g_inverse raised ZeroDivisionError for a matrix of shape \(3, 5\): division by zero"),
        (lambda _: 3.0, r"g_inverse gave shape \(\) for a matrix of shape \(3, 5\); need \(5, 3\)"),
        (5, "g_inverse=5 is not a function"),
        (np.linalg.inv, "g_inverse raised LinAlgError"),
        (lambda A: 2.0 * np.linalg.pinv(A), r"g_inverse fails its defining relation D D\^- D = D \(20\) by 1"),
    ],
)
def test_what_is_no_inverse_is_refused_with_the_reason(inverse, why):
    problem = problems.get("appell_hamel_linear")
    with pytest.raises(da.OptionError, match=why):
        problem.simulate(t_end=1.0, formulation=da.UdwadiaKalaba(g_inverse=inverse))


def test_an_inverse_that_fails_on_the_way_ends_the_run_and_is_named():
    calls = []

    def fails_late(D):
        calls.append(len(calls))
        if len(calls) > 60:
            raise RuntimeError("enough")
        return np.linalg.pinv(D)

    motion = problems.get("appell_hamel_linear").simulate(t_end=1.0, formulation=da.UdwadiaKalaba(g_inverse=fails_late))
    assert not motion.success
    assert "`g_inverse` or `least_squares_inverse` of UdwadiaKalaba raised an error" in motion.message


def test_constraint_force_splits_into_feedback_and_feed_forward():
    problem = problems.get("appell_hamel")
    system = problem.system()
    state = problem.state(system)
    parts = da.UdwadiaKalaba().split_force(system, 0.0, state.q, state.u)
    np.testing.assert_allclose(parts[0] + parts[1], state.reactions, atol=1e-10)


@pytest.mark.parametrize("formulation", FORMULATIONS[1:4], ids=IDS[1:4])
def test_servo_constraints_are_for_lagrange_multipliers_and_compatibility(formulation):
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


@pytest.mark.parametrize(
    "formulation",
    [
        da.LagrangeMultipliers(),
        da.NullSpace(),
        da.NullSpace(reduced=False),
        InLoops(da.NullSpace()),
        InLoops(da.NullSpace(reduced=False)),
        da.UdwadiaKalaba(),
        da.MinimalState(),
        da.MinimalKane(),
        da.NonminimalKane(),
    ],
    ids=repr,
)
def test_what_is_left_where_forces_balance_is_as_exact_as_the_motion(formulation):
    """A bead at rest in a bowl, started 6e-17 m from the bottom: gravity and reaction cancel to 1e-16 of each."""
    model = da.Model("bowl")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1, position=[x, y])
    model.gravity([0, -9.81])
    model.constrain(y - x**2, name="bowl")
    system = model.compile()
    motion = system.simulate(system.initial({x: 6e-17}), 10.0, formulation=formulation)
    assert motion.certificate.ok, motion.certificate
    exact = 6e-17 * np.cos(np.sqrt(2 * 9.81) * motion.t)
    assert np.abs(motion["x"] - exact).max() < 1e-8 * 6e-17

"""Reactions by constraint and by body against Newton's law, by hand and by finite differences; and their power."""

import pickle

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert import problems

G = 9.81


@pytest.fixture(scope="module")
def pendulum():
    return problems.get("pendulum").simulate(t_end=2.0, parameters={"m": 2.0, "L": 1.0})


def test_rod_force_of_the_pendulum(pendulum):
    x, y, m, L = pendulum["x"], pendulum["y"], 2.0, 1.0
    tension = m * ((pendulum["vx"] ** 2 + pendulum["vy"] ** 2) / L + G * (-y) / L)
    towards = -np.column_stack([x, y]) / L
    force, torque = pendulum.reaction_on("bob")
    np.testing.assert_allclose(force[:, :2], tension[:, None] * towards, atol=1e-9)
    np.testing.assert_allclose(pendulum.reaction("rod"), tension[:, None] * towards, atol=1e-9)
    assert not force[:, 2].any()
    assert not torque.any()
    assert force.shape == torque.shape == (len(pendulum), 3)


def test_states_answer_as_motions_do(pendulum):
    state = pendulum.at(1.0)
    nearby = pendulum.resampled([1.0])
    for one, other in zip(state.reaction_on("bob"), nearby.reaction_on("bob"), strict=True):
        np.testing.assert_allclose(one, other[0], rtol=1e-13)
    np.testing.assert_allclose(state.reaction("rod"), state.reactions)
    assert state.constraint_power("rod") == pytest.approx(0.0, abs=1e-10)


def test_four_bar_particles_obey_newton_by_finite_differences():
    problem = problems.get("four_bar")
    h = 1e-4
    times = np.sort(np.concatenate([k + h * np.arange(-2, 3) for k in (0.5, 1.3, 2.2)]))
    motion = problem.simulate(t_end=3.0, t_eval=times, integrator=da.DOP853(rtol=1e-13, atol=1e-14))
    a, b, _ = np.cumsum(motion.q, axis=1).T
    P2 = np.column_stack([0.8 * np.cos(a), 0.8 * np.sin(a)])
    P3 = P2 + np.column_stack([2 * np.cos(b), 2 * np.sin(b)])
    for name, place in (("P2", P2), ("P3", P3)):
        groups = place.reshape(3, 5, 2)
        weights = np.array([-1, 16, -30, 16, -1]) / (12 * h**2)
        acceleration = np.einsum("k,gkc->gc", weights, groups)
        force = motion.reaction_on(name).force.reshape(3, 5, 3)[:, 2, :2]
        np.testing.assert_allclose(force, acceleration + np.array([0, G]), atol=1e-5)
    rows = motion.reaction("loop_x") + motion.reaction("loop_y")
    np.testing.assert_allclose(rows, motion.reactions, atol=1e-10)


def test_side_force_of_the_knife_edge():
    problem = problems.get("knife_edge")
    motion = problem.simulate()
    exact = problem.exact(motion.t)
    side = exact["edge"][:, None] * np.column_stack([np.sin(exact["phi"]), -np.cos(exact["phi"])])
    force, torque = motion.reaction_on("skate")
    np.testing.assert_allclose(force[:, :2], side, atol=1e-7)
    np.testing.assert_allclose(torque, 0.0, atol=1e-9)  # the edge acts at the mass centre
    np.testing.assert_allclose(motion.reaction("edge")[:, :2], side, atol=1e-7)
    np.testing.assert_allclose(motion.constraint_power("edge"), 0.0, atol=1e-9)


@pytest.fixture(scope="module")
def hanging():
    """A brick on a spherical joint at the origin, its mass centre at R (0, 0, -arm); coordinates of both kinds."""
    model = da.Model("brick")
    x, y, z = model.coordinates("x y z")
    model.speeds("vx vy vz")
    turn = model.quaternion("e", speeds="wx wy wz")
    m, arm, g = model.parameters(m=3.0, arm=0.7, g=G)
    body = model.body("B", mass=m, inertia=[0.2, 0.3, 0.15], position=[x, y, z], rotation=turn)
    model.gravity([0, 0, -g])
    hook = turn.matrix * sp.Matrix([0, 0, arm])
    joint = model.constrain([x + hook[0], y + hook[1], z + hook[2]], name="joint")
    model.force([1.5, 0, 0.5], at=body)
    model.torque([0.1, 0.2, -0.3], on=body)
    system = model.compile()
    state = system.initial({"wx": 1.0, "wy": 2.0, "wz": 5.0, "e1": 0.4, "e2": 0.1, "e3": 0.2}, guess={"z": -0.7})
    return system.simulate(state, 1.0), body, joint


def test_spherical_joint(hanging):
    motion, body, joint = hanging
    force, torque = motion.reaction_on(body)
    acceleration = motion.udot[:, :3]
    np.testing.assert_allclose(force, 3.0 * (acceleration + np.array([0, 0, G])) - [1.5, 0, 0.5], atol=1e-10)
    centre = motion.q[:, :3]  # the joint is at the origin: its force has no moment about it
    np.testing.assert_allclose(torque + np.cross(centre, force), 0.0, atol=1e-8)
    np.testing.assert_allclose(motion.reaction("joint")[:, :3], force, atol=1e-9)
    np.testing.assert_allclose(motion.reaction(joint), motion.reactions, atol=1e-10)
    np.testing.assert_allclose(motion.constraint_power("joint"), 0.0, atol=1e-8)
    assert motion.certificate.powers == ()
    assert "power of constraints: none" in str(motion.certificate)


def test_a_drive_changes_the_energy_by_its_power():
    model = da.Model("driven pendulum")
    x, y, s = model.coordinates("x y s")
    model.particle("bob", mass=1.0, position=[x, y])
    model.particle("slider", mass=2.0, position=[s, 0])
    model.gravity([0, -G])
    model.constrain((x - s) ** 2 + y**2 - 1, name="rod")
    model.constrain(s - 0.1 * sp.sin(5 * model.t), name="drive")
    system = model.compile()
    state = system.initial({"x": 0.5}, guess={"y": -1.0})
    motion = system.simulate(state, 2.0, t_eval=np.linspace(0, 2, 2001))
    power = motion.constraint_power("drive")
    rate = np.gradient(motion.energy, motion.t, edge_order=2)
    np.testing.assert_allclose(rate[1:-1], power[1:-1], atol=2e-3 * np.abs(power).max())
    np.testing.assert_allclose(motion.constraint_power("rod") + power, np.sum(motion.reactions * motion.u, axis=1))
    (found,) = [p for p in motion.certificate.powers if p.name == "drive"]
    assert found.kind == "rheonomic"
    assert found.worst == pytest.approx(np.abs(power).max(), rel=1e-2)
    assert all(p.name != "rod" for p in motion.certificate.powers)  # its own rate does not depend on time
    assert "`drive`" in str(motion.certificate)
    assert motion.certificate.ok


def test_a_treadmill_is_acatastatic_and_a_servo_is_a_servo():
    model = da.Model("treadmill")
    x, y = model.coordinates("x y")
    (pull,) = model.unknowns("pull")
    P = model.particle("P", mass=1.0, position=[x, y])
    model.gravity([0, -G])
    model.force([0, pull], at=P)
    model.constrain(x.diff() - 2 - y, name="belt")
    model.constrain(y - model.t**2, name="lift", servo=pull)
    system = model.compile()
    motion = system.simulate(system.initial(), 1.0)
    kinds = {p.name: p.kind for p in motion.certificate.powers}
    assert kinds == {"belt": "acatastatic", "lift": "servo"}
    force = motion.reaction_on("P").force  # the pull is an applied force; what stays is the belt
    np.testing.assert_allclose(force[:, 0], motion["belt"], atol=1e-10)
    np.testing.assert_allclose(force[:, 1], 0.0, atol=1e-10)


def test_groups_sum_their_rows(hanging):
    motion, _, joint = hanging
    total = sum(motion.reaction(row) for row in joint)
    np.testing.assert_allclose(motion.reaction("joint"), total, atol=1e-12)
    power = sum(motion.constraint_power(f"joint[{k}]") for k in range(3))
    np.testing.assert_allclose(motion.constraint_power("joint"), power, atol=1e-9)


def test_what_is_not_there_is_said(pendulum):
    with pytest.raises(da.UnknownNameError, match=r"constraints of `pendulum`.*`rod`"):
        pendulum.reaction("rood")
    with pytest.raises(da.UnknownNameError, match=r"particles and bodies of `pendulum`.*known: bob"):
        pendulum.reaction_on("wheel")
    problem = problems.get("n_four_bar")
    state = problem.state(problem.system())
    with pytest.raises(da.DalembertError, match=r"neither particles nor bodies.*crank0"):
        state.reaction_on("crank0")


def test_systems_still_pickle(pendulum):
    system = pickle.loads(pickle.dumps(pendulum.system))
    state = problems.get("pendulum").state(system)
    np.testing.assert_allclose(state.reaction_on("bob").force, 0.0, atol=1e-12)  # released at rest, rod horizontal


def test_friction_is_part_of_the_reaction_and_its_power_is_lost():
    model = da.Model("block")
    x, y = model.coordinates("x y")
    block = model.particle("block", mass=2.0, position=[x, y])
    model.gravity([0, -G])
    floor = model.constrain(y, name="floor")
    model.nonideal(floor, friction=0.3, at=block)
    system = model.compile()
    motion = system.simulate(system.initial({"x_dot": 4.0}), 1.0)
    normal = 2.0 * G
    np.testing.assert_allclose(motion.reaction_on("block").force, [[-0.3 * normal, normal, 0]] * len(motion), rtol=1e-7)
    np.testing.assert_allclose(motion.reaction("floor"), [[-0.3 * normal, normal]] * len(motion), rtol=1e-7)
    np.testing.assert_allclose(motion.constraint_power("floor"), -0.3 * normal * motion["x_dot"], rtol=1e-7)
    (found,) = motion.certificate.powers
    assert (found.name, found.kind) == ("floor", "non-ideal")

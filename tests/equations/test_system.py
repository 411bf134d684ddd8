"""Compiled systems against hand-derived twins, and one statement of a mechanism against another."""

import dataclasses
import pickle

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from sympy.physics.mechanics import dynamicsymbols

import dalembert as da
from dalembert.model.quaternion import rotation_matrix
from dalembert.native.kernel import compile_kernel
from dalembert.native.object_cache import ObjectCache

t = dynamicsymbols._t
SEEDS = range(5)


def accelerations(system, time, q, u):
    """u' and multipliers by a dense solve of M u' = f + W^T la, A u' = b."""
    M, f = system.mass_matrix(time, q, u), system.forces(time, q, u)
    A, b = system.constraint_jacobian(time, q, u), system.constraint_bias(time, q, u)
    W = A if system.ideal else system._part("directions", time, q, u, None)
    n, m = system.nu, system.nc
    solution = np.linalg.solve(np.block([[M, -W.T], [A, np.zeros((m, m))]]), np.concatenate([f, b]))
    return solution[:n], solution[n:]


def close(actual, desired, tolerance=1e-12):
    np.testing.assert_allclose(actual, desired, rtol=tolerance, atol=tolerance)


# -- particles ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pendulum():
    model = da.Model("pendulum")
    x, y = model.coordinates("x y")
    model.speeds("vx vy")
    m, g, L = model.parameters(m=2.0, g=9.81, L=1.5)
    P = model.particle("P", mass=m, position=[x, y])
    model.gravity([0, -g])
    model.constrain(x**2 + y**2 - L**2, name="rod")
    model.line([[0, 0], P])
    return model.compile()


numbers = st.floats(-3, 3, allow_subnormal=False)


@settings(max_examples=40, deadline=None)
@given(state=st.tuples(numbers, numbers, numbers, numbers))
def test_a_pendulum_in_cartesian_coordinates(pendulum, state):
    x, y, vx, vy = state
    at = (0.3, [x, y], [vx, vy])
    close(pendulum.mass_matrix(*at), 2.0 * np.eye(2))
    close(pendulum.forces(*at), [0.0, -2.0 * 9.81])
    close(pendulum.coordinate_rates(*at), [vx, vy])
    close(pendulum.constraint_jacobian(*at), [[2 * x, 2 * y]])
    close(pendulum.constraint_bias(*at), [-2 * (vx**2 + vy**2)])
    close(pendulum.position_residual(0.3, [x, y]), [x**2 + y**2 - 1.5**2])
    close(pendulum.velocity_residual(*at), [2 * (x * vx + y * vy)])
    close(pendulum.energy(*at), vx**2 + vy**2 + 2.0 * 9.81 * y)
    close(pendulum.energy(*at, {"g": 1.0, "m": 3.0}), 1.5 * (vx**2 + vy**2) + 3.0 * y)


def double_pendulum(way):
    """Absolute angles a, b; masses 1.3 and 0.7 at lengths 0.9 and 1.4."""
    model = da.Model(f"double pendulum by {way}")
    a, b = model.coordinates("a b")
    wa, wb = model.speeds("wa wb")
    m1, m2, l1, l2, g = model.parameters(m1=1.3, m2=0.7, l1=0.9, l2=1.4, g=9.81)
    first = sp.Matrix([l1 * sp.sin(a), -l1 * sp.cos(a)])
    second = first + sp.Matrix([l2 * sp.sin(b), -l2 * sp.cos(b)])
    potential = g * (m1 * first[1] + m2 * second[1])
    coupling = m2 * l1 * l2
    if way == "particle":
        model.particle("P1", mass=m1, position=first)
        model.particle("P2", mass=m2, position=second)
        model.gravity([0, -g])
    elif way == "velocity":
        v1 = sp.Matrix([l1 * wa * sp.cos(a), l1 * wa * sp.sin(a)])
        P1 = model.particle("P1", mass=m1, velocity=v1)
        P2 = model.particle("P2", mass=m2, velocity=v1 + sp.Matrix([l2 * wb * sp.cos(b), l2 * wb * sp.sin(b)]))
        model.force([0, -m1 * g], at=P1)
        model.force([0, -m2 * g], at=P2)
    elif way == "energy":
        v1, v2 = first.diff(t), second.diff(t)
        model.energy(kinetic=(m1 * v1.dot(v1) + m2 * v2.dot(v2)) / 2, potential=potential)
    elif way == "energy in speeds":
        kinetic = (m1 + m2) * l1**2 * wa**2 / 2 + m2 * l2**2 * wb**2 / 2 + coupling * wa * wb * sp.cos(a - b)
        model.energy(kinetic=kinetic)
        model.energy(potential=potential)
    else:
        mass = [[(m1 + m2) * l1**2, coupling * sp.cos(a - b)], [coupling * sp.cos(a - b), m2 * l2**2]]
        force = [-coupling * sp.sin(a - b) * wb**2, coupling * sp.sin(a - b) * wa**2]
        model.matrices(mass=mass, force=force)
        model.generalized_force({a: -(m1 + m2) * g * l1 * sp.sin(a), "wb": -m2 * g * l2 * sp.sin(b)})
    return model.compile()


@pytest.mark.parametrize("way", ["particle", "velocity", "energy", "energy in speeds", "matrices"])
def test_a_double_pendulum_by_every_way_of_stating_it(way):
    system = double_pendulum(way)
    (m1, m2, l1, l2, g), rng = system.parameter_defaults, np.random.default_rng(2)
    for q, u in rng.uniform(-3, 3, (20, 2, 2)):
        (a, b), (wa, wb) = q, u
        coupling = m2 * l1 * l2
        M = [[(m1 + m2) * l1**2, coupling * np.cos(a - b)], [coupling * np.cos(a - b), m2 * l2**2]]
        f = [
            -coupling * np.sin(a - b) * wb**2 - (m1 + m2) * g * l1 * np.sin(a),
            coupling * np.sin(a - b) * wa**2 - m2 * g * l2 * np.sin(b),
        ]
        close(system.mass_matrix(0.0, q, u), M, 1e-13)
        close(system.forces(0.0, q, u), f, 1e-13)
        if way not in ("matrices", "velocity"):  # these state no potential
            V = -g * ((m1 + m2) * l1 * np.cos(a) + m2 * l2 * np.cos(b))
            close(system.energy(0.0, q, u), u @ np.array(M) @ u / 2 + V)


def test_a_point_that_moves_by_itself():
    model = da.Model("pendulum on a shaker")
    (th,) = model.coordinates("th")
    m, g, l, a, w = model.parameters(m=0.5, g=9.81, l=0.8, a=0.1, w=7.0)
    P = model.particle("P", mass=m, position=[a * sp.sin(w * t) + l * sp.sin(th), -l * sp.cos(th)])
    model.gravity([0, -g])
    model.force([2.0 * t, 0], at=P)
    system = model.compile()
    for time, q, u in np.random.default_rng(3).uniform(-2, 2, (10, 3)):
        pivot, swing = 0.7 * np.cos(7.0 * time), 0.8 * u  # velocity of the pivot; of the bob relative to it
        f = -0.5 * 9.81 * 0.8 * np.sin(q) + 0.5 * 0.8 * np.cos(q) * 4.9 * np.sin(7 * time) + 2 * time * 0.8 * np.cos(q)
        close(system.mass_matrix(time, [q], [u]), [[0.5 * 0.8**2]])
        close(system.forces(time, [q], [u]), [f])
        kinetic = 0.25 * ((pivot + swing * np.cos(q)) ** 2 + (swing * np.sin(q)) ** 2)
        close(system.energy(time, [q], [u]), kinetic - 0.5 * 9.81 * 0.8 * np.cos(q))


X, V = dynamicsymbols("x v")
FORCES = {
    "piecewise": sp.Piecewise((X**2, X < 0), (sp.sqrt(X), True)),
    "abs": sp.Abs(X) * V,
    "sign": -3 * sp.sign(V),
    "min": sp.Min(X, V, 1),
    "max": sp.Max(X, V, -1),
    "atan2": sp.atan2(X, V),
    "tanh": sp.tanh(V / sp.Float(0.1)),
    "exp": sp.exp(-(X**2)),
    "log": sp.log(1 + X**2),
    "sqrt": sp.sqrt(1 + V**2),
    "powers": (1 + X**2) ** sp.Rational(-3, 2) + X**7 / V**2,
    "contact": sp.Max(-X, 0) ** sp.Rational(3, 2),
}


def forces_by_hand(x, v):
    return {
        "piecewise": x**2 if x < 0 else x**0.5,
        "abs": abs(x) * v,
        "sign": -3 * np.sign(v),
        "min": min(x, v, 1),
        "max": max(x, v, -1),
        "atan2": np.arctan2(x, v),
        "tanh": np.tanh(v / 0.1),
        "exp": np.exp(-(x**2)),
        "log": np.log(1 + x**2),
        "sqrt": np.sqrt(1 + v**2),
        "powers": (1 + x**2) ** -1.5 + x**7 / v**2,
        "contact": max(-x, 0) ** 1.5,
    }


@pytest.mark.parametrize("name", FORCES)
def test_functions_in_forces(name):
    model = da.Model(name)
    (x,) = model.coordinates("x")
    model.speeds("v")
    model.force([FORCES[name], 0], at=model.particle("P", mass=1, position=[x, 0]))
    system = model.compile()
    for q, u in np.random.default_rng(4).uniform(-2, 2, (20, 2)):
        close(system.forces(0.0, [q], [u]), [forces_by_hand(q, u)[name]])


# -- bodies ------------------------------------------------------------------------------------------------------------

INERTIA = ((2.0, 0.1, -0.2), (0.1, 3.0, 0.3), (-0.2, 0.3, 4.0))
ARM = sp.Matrix([0.3, -0.2, 0.5])  # of the force, in body axes


def loaded_model(model, r, rotation, matrix):
    """A body of mass 1.7 under gravity, a torque, and a force that acts off its mass centre."""
    B = model.body("B", mass=1.7, inertia=INERTIA, position=r, rotation=rotation)
    model.gravity([0, 0, -9.81])
    model.torque([1.0, -2.0, 3.0 * r[0]], on=B)
    model.force([0.5, r[1], -1.0], at=sp.Matrix(r) + matrix * ARM)
    return model


def euler_matrix(angles):
    """Rotations about z, then the new y, then the new x."""
    a, b, c = angles
    return sp.rot_ccw_axis3(a) * sp.rot_ccw_axis2(b) * sp.rot_ccw_axis1(c)


@pytest.fixture(scope="module")
def by_angles():
    model = da.Model("by Euler angles")
    *r, a, b, c = model.coordinates("x y z a b c")
    R = euler_matrix((a, b, c))
    return loaded_model(model, r, R, R).compile()


@pytest.fixture(scope="module")
def by_quaternion():
    model = da.Model("by quaternion")
    r = model.coordinates("x y z")
    model.speeds("vx vy vz")
    e = model.quaternion("e", speeds="wx wy wz")
    return loaded_model(model, r, e, e.matrix).compile()


@pytest.fixture(scope="module")
def by_four_coordinates():
    model = da.Model("by four coordinates")
    *r, e0, e1, e2, e3 = model.coordinates("x y z e0 e1 e2 e3")
    e = (e0, e1, e2, e3)
    return loaded_model(model, r, e, rotation_matrix(e)).compile()


def omega_and_rate():
    """Angular velocity in body axes and its rate, as functions of Euler angles and their first two rates."""
    angles, rates, seconds = (sp.symbols(f"{n}:3") for n in "abc")
    moving = dynamicsymbols("a b c")
    R = euler_matrix(moving)
    S = R.T * R.diff(t)
    w = sp.Matrix([S[2, 1], S[0, 2], S[1, 0]])
    known = {
        **{q.diff(t, 2): s for q, s in zip(moving, seconds, strict=True)},
        **{q.diff(t): s for q, s in zip(moving, rates, strict=True)},
        **dict(zip(moving, angles, strict=True)),
    }
    return sp.lambdify([angles, rates, seconds], [list(e.subs(known)) for e in (w, w.diff(t))], "numpy")


@pytest.fixture(scope="module")
def omega():
    return omega_and_rate()


@pytest.mark.parametrize("seed", SEEDS)
def test_angles_quaternion_and_four_coordinates_give_one_motion(
    by_angles, by_quaternion, by_four_coordinates, omega, seed
):
    rng = np.random.default_rng(seed)
    r, v, angles, rates = rng.uniform(-1, 1, (4, 3))
    q, u = np.concatenate([r, angles]), np.concatenate([v, rates])
    udot, _ = accelerations(by_angles, 0.0, q, u)
    w, wdot = omega(angles, rates, udot[3:])
    e = Rotation.from_euler("ZYX", angles).as_quat(scalar_first=True)

    qe, uw = np.concatenate([r, e]), np.concatenate([v, w])
    close(by_quaternion.energy(0.0, qe, uw), by_angles.energy(0.0, q, u))
    found, _ = accelerations(by_quaternion, 0.0, qe, uw)
    close(found, np.concatenate([udot[:3], wdot]), 1e-11)

    edot = by_quaternion.coordinate_rates(0.0, qe, uw)[3:]
    ue = np.concatenate([v, edot])
    assert by_four_coordinates.constraint_names == ("|B|",)
    close(by_four_coordinates.position_residual(0.0, qe), [0.0])
    close(by_four_coordinates.energy(0.0, qe, ue), by_angles.energy(0.0, q, u))
    found, _ = accelerations(by_four_coordinates, 0.0, qe, ue)
    close(found[:3], udot[:3], 1e-11)
    e0, vec, edd = e[0], e[1:], found[3:]
    close(2 * (e0 * edd[1:] - edd[0] * vec - np.cross(vec, edd[1:])), wdot, 1e-11)


@pytest.mark.parametrize("seed", SEEDS)
def test_euler_and_newton_for_a_free_body(by_quaternion, seed):
    r, v, w, axis = np.random.default_rng(seed).uniform(-1, 1, (4, 3))
    turn, J = Rotation.from_rotvec(axis), np.array(INERTIA)
    e, R = turn.as_quat(scalar_first=True), turn.as_matrix()
    at = (0.0, np.concatenate([r, e]), np.concatenate([v, w]))
    force, arm = np.array([0.5, r[1], -1.0]), np.array(ARM.tolist(), dtype=float).ravel()
    gravity = np.array([0.0, 0.0, -9.81])
    moment = R.T @ [1.0, -2.0, 3.0 * r[0]] + np.cross(arm, R.T @ force)
    close(by_quaternion.mass_matrix(*at), np.block([[1.7 * np.eye(3), np.zeros((3, 3))], [np.zeros((3, 3)), J]]))
    close(by_quaternion.forces(*at), [*(force + 1.7 * gravity), *(moment - np.cross(w, J @ w))])
    close(by_quaternion.energy(*at), 0.85 * v @ v + w @ J @ w / 2 + 1.7 * 9.81 * r[2])


@pytest.mark.parametrize("seed", SEEDS)
def test_a_planar_body_is_a_spatial_one_that_stays_in_the_plane(seed):
    systems = []
    for spatial in (False, True):
        model = da.Model("spatial" if spatial else "planar")
        x, y, a = model.coordinates("x y a")
        rotation, inertia = (sp.rot_ccw_axis3(a), [0.3, 0.2, 0.4]) if spatial else (a, 0.4)
        B = model.body("B", mass=2, inertia=inertia, position=[x + sp.cos(a), y + sp.sin(a)], rotation=rotation)
        model.gravity([0, -9.81])
        model.torque([0, 0, x] if spatial else x, on=B)
        systems.append(model.compile())
    planar, spatial = systems
    q, u = np.random.default_rng(seed).uniform(-2, 2, (2, 3))
    close(planar.mass_matrix(0.0, q, u), spatial.mass_matrix(0.0, q, u))
    close(planar.forces(0.0, q, u), spatial.forces(0.0, q, u))
    close(planar.energy(0.0, q, u), spatial.energy(0.0, q, u))
    a, w = q[2], u[2]
    M = 2.0 * np.array([[1, 0, -np.sin(a)], [0, 1, np.cos(a)], [-np.sin(a), np.cos(a), 1.2]])
    close(planar.mass_matrix(0.0, q, u), M)
    weight = 2 * 9.81
    f = [2 * np.cos(a) * w**2, 2 * np.sin(a) * w**2 - weight, q[0] - weight * np.cos(a)]
    close(planar.forces(0.0, q, u), f)


def test_a_constant_quaternion_is_no_constraint():
    model = da.Model()
    (x,) = model.coordinates("x")
    model.body("B", mass=1, inertia=[1, 1, 1], position=[x, 0], rotation=[1, 0, 0, 0])
    assert model.compile().nc == 0


def test_drawings_know_if_they_are_planar(pendulum, by_angles):
    assert pendulum.drawing.planar
    assert not by_angles.drawing.planar


# -- speeds ------------------------------------------------------------------------------------------------------------


def sled(way):
    """A planar body with a side force: speeds along its own axes, or the rates of its coordinates."""
    model = da.Model(f"sled, {way}")
    x, y, a = model.coordinates("x y a")
    u1, u2, u3 = dynamicsymbols("u1 u2 u3")
    drift = sp.sin(t) + x / 3
    rates = {x: u1 * sp.cos(a) - u2 * sp.sin(a) + drift, y: u1 * sp.sin(a) + u2 * sp.cos(a), a: u3 * (2 + sp.cos(a))}
    if way == "mapping":
        model.speeds("u1 u2 u3", kinematics=rates)
    elif way == "equations":
        forward, sideways = sp.Matrix([sp.cos(a), sp.sin(a)]), sp.Matrix([-sp.sin(a), sp.cos(a)])
        v = sp.Matrix([x.diff() - drift, y.diff()])
        model.speeds(
            "u1 u2 u3", kinematics=[u1 - v.dot(forward), v.dot(sideways) - u2, a.diff() / (2 + sp.cos(a)) - u3]
        )
    B = model.body("B", mass=3, inertia=0.7, position=[x + sp.cos(a) / 2, y + sp.sin(a) / 2], rotation=a)
    model.force([x * y, sp.cos(t)], at=B)
    model.torque(-a.diff(), on=B)
    model.generalized_force({y: x - 1})
    model.constrain(y.diff() * sp.cos(a) - x.diff() * sp.sin(a) - t, name="skate")
    return model.compile(), rates


def second_rates(rates):
    """q'' from u' for given rates of the coordinates, as a function of (t, q, u, u')."""
    q, u = list(rates), dynamicsymbols("u1 u2 u3")
    plain = dict(zip([*q, *u], sp.symbols("q:3 u:3"), strict=True))
    udot = sp.symbols("d:3")
    r = sp.Matrix(list(rates.values())).subs(plain)
    qs, us = [plain[k] for k in q], [plain[k] for k in u]
    qdd = r.jacobian(qs) * r + r.jacobian(us) * sp.Matrix(udot) + r.diff(t)
    return sp.lambdify([t, qs, us, udot], list(qdd), "numpy")


@pytest.mark.parametrize("way", ["mapping", "equations"])
def test_general_speeds_give_the_motion_of_the_default_speeds(way):
    plain, rates = sled("default")
    general, _ = sled(way)
    qdd = second_rates(rates)
    for seed in SEEDS:
        time, *values = np.random.default_rng(seed).uniform(-1, 1, 7)
        q, u = np.array(values[:3]), np.array(values[3:])
        qdot = general.coordinate_rates(time, q, u)
        udot, la = accelerations(general, time, q, u)
        expected, la_expected = accelerations(plain, time, q, qdot)
        close(qdd(time, q, u, udot), expected, 1e-11)
        close(la, la_expected, 1e-11)
        close(general.energy(time, q, u), plain.energy(time, q, qdot))
        close(general.velocity_residual(time, q, u), plain.velocity_residual(time, q, qdot))


def test_speeds_may_be_declared_one_at_a_time():
    model = da.Model()
    x, y = model.coordinates("x y")
    u, w = dynamicsymbols("u w")
    model.speeds("u", kinematics=[x.diff() + y.diff() - u])
    model.speeds("w", kinematics=[x.diff() - y.diff() - w])
    model.particle("P", mass=1, position=[x, y])
    close(model.compile().coordinate_rates(0.0, [0, 0], [3.0, 1.0]), [2.0, 1.0])


# -- unknowns ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def driven_cart():
    model = da.Model("driven cart")
    (x,) = model.coordinates("x")
    (F,) = model.unknowns("F")
    m, c = model.parameters(m=2.0, c=0.6)
    model.force([F - c * x.diff(), 0], at=model.particle("cart", mass=m, position=[x, 0]))
    model.constrain(x - sp.sin(t), name="program", servo=F)
    return model.compile()


def test_the_force_that_drives_a_program(driven_cart):
    for time in (0.0, 0.7, 2.0):
        at = (time, [np.sin(time)], [np.cos(time)])
        udot, la = accelerations(driven_cart, *at)
        close(udot, [-np.sin(time)])
        close(la, [-2.0 * np.sin(time) + 0.6 * np.cos(time)])
    state = driven_cart.initial(t0=0.7)
    close(state["F"], -2.0 * np.sin(0.7) + 0.6 * np.cos(0.7))
    motion = driven_cart.simulate(state, 3.0)
    np.testing.assert_allclose(motion["F"], -2.0 * np.sin(motion.t) + 0.6 * np.cos(motion.t), atol=1e-8)


def test_a_servo_that_acts_elsewhere_than_its_constraint():
    """A force on the cart keeps the pendulum at a given angle a: the cart accelerates with g tan(a)."""
    model = da.Model("balanced pendulum")
    x, th = model.coordinates("x th")
    (F,) = model.unknowns("F")
    model.force([F, 0], at=model.particle("cart", mass=3, position=[x, 0]))
    model.particle("bob", mass=1, position=[x + sp.sin(th), sp.cos(th)])
    model.gravity([0, -9.81])
    model.constrain(th - 0.2, name="lean", servo=F)
    system = model.compile()
    assert not system.ideal
    udot, la = accelerations(system, 0.0, [0.0, 0.2], [1.0, 0.0])
    close(udot, [9.81 * np.tan(0.2), 0.0])
    close(la, [4 * 9.81 * np.tan(0.2)])


# -- the System itself -------------------------------------------------------------------------------------------------


def test_a_system_is_frozen(pendulum):
    with pytest.raises(dataclasses.FrozenInstanceError):
        pendulum.name = "other"


def test_a_system_survives_pickling(pendulum, by_quaternion, driven_cart):
    for system in (pendulum, by_quaternion, driven_cart):
        again = pickle.loads(pickle.dumps(system))
        rng = np.random.default_rng(6)
        q, u = rng.uniform(-1, 1, system.nq), rng.uniform(-1, 1, system.nu)
        assert repr(again) == repr(system)
        assert again.rows == system.rows
        known = 1 + system.nq + system.nu + len(system.parameters)
        for name, function in system.functions.items():
            more = rng.uniform(-1, 1, function.size1_in(0) - known)
            one, other = (s.evaluate(name, 0.5, q, u, more=more) for s in (again, system))
            np.testing.assert_array_equal(one, other)


def test_repr_tells_sizes_and_names(pendulum, driven_cart):
    text = repr(pendulum)
    for word in ("'pendulum'", "2: x, y", "2: vx, vy", "1 (1 position): rod", "m=2", "g=9.81", "L=1.5"):
        assert word in text
    assert "unknowns     F" in repr(driven_cart)


def test_leading_axes_are_kept(pendulum):
    rng = np.random.default_rng(7)
    time, q, u = np.linspace(0, 1, 5), rng.uniform(-1, 1, (5, 2)), rng.uniform(-1, 1, (5, 2))
    shapes = {"mass_matrix": (2, 2), "forces": (2,), "coordinate_rates": (2,)}
    shapes |= {"constraint_jacobian": (1, 2), "constraint_bias": (1,), "velocity_residual": (1,), "energy": ()}
    for name, shape in shapes.items():
        evaluate = getattr(pendulum, name)
        values = evaluate(time, q, u)
        assert values.shape == (5, *shape)
        np.testing.assert_array_equal(values[3], evaluate(time[3], q[3], u[3]))
        assert evaluate(0.0, q[:, None], u[None]).shape == (5, 5, *shape)
    assert pendulum.position_residual(time, q).shape == (5, 1)
    assert pendulum.forces(0.0, np.zeros((0, 2)), np.zeros((0, 2))).shape == (0, 2)


@pytest.mark.parametrize(("q", "u"), [([1.0], [0, 0]), ([1, 2, 3], [0, 0]), ([1, 2], [0]), (1.0, [0, 0]), ([], [0, 0])])
def test_arrays_of_the_wrong_shape(pendulum, q, u):
    with pytest.raises(da.ArrayError, match="last axis must be 2 for `pendulum`"):
        pendulum.forces(0.0, q, u)


def test_parameters_by_symbol_and_name(pendulum):
    close(pendulum.parameter_values({sp.Symbol("m"): 5, "L": 2}), [5.0, 9.81, 2.0])
    with pytest.raises(da.UnknownNameError, match=r"`gg` is not known .* did you mean `g`"):
        pendulum.forces(0.0, [1, 0], [0, 0], {"gg": 1.0})
    with pytest.raises(da.ArrayError, match="parameter `m` is nan"):
        pendulum.parameter_values({"m": np.nan})


def test_interpreter_and_native_code_agree(by_quaternion, by_angles, pendulum, tmp_path):
    empty = ObjectCache(tmp_path)  # an entry of the usual cache would be preferred to the interpreter
    rng = np.random.default_rng(8)
    for system in (by_quaternion, by_angles, pendulum):
        x = np.concatenate([rng.uniform(0.5, 1, 1 + system.nq + system.nu), system.parameter_defaults])
        for name, function in system.functions.items():
            native, interpreted = (
                system.kernel(name),
                compile_kernel(function, native_limit=0, loops_from=10**6, cache=empty),
            )
            assert native.backend == "native"
            assert interpreted.backend == "interpreter" or not function.n_instructions()
            full = np.concatenate([x, rng.uniform(0.5, 1, native.n_in - len(x))])
            close(native(full), interpreted(full), 1e-13)


# -- energy ------------------------------------------------------------------------------------------------------------


def damped():
    model = da.Model("damped oscillator")
    (x,) = model.coordinates("x")
    k, c = model.parameters(k=9.0, c=0.4)
    model.particle("P", mass=1, position=[x, 0])
    model.energy(potential=k * x**2 / 2)
    model.generalized_force({x: -c * x.diff()})
    return model, {"x": 1.0}


def shaken():
    model = da.Model("pendulum on a moving pivot")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1, position=[x, y])
    model.gravity([0, -9.81])
    model.constrain((x - sp.sin(3 * t) / 5) ** 2 + y**2 - 1, name="rod")
    return model, {"x": 0.3}


def shaken_by_angle():
    model = da.Model("the same in its angle")
    (th,) = model.coordinates("th")
    model.particle("P", mass=1, position=[sp.sin(3 * t) / 5 + sp.sin(th), -sp.cos(th)])
    model.gravity([0, -9.81])
    return model, {"th": 0.3}


def pushed():
    model = da.Model("time-dependent force")
    (x,) = model.coordinates("x")
    model.force([sp.cos(2 * t) * 3, 0], at=model.particle("P", mass=2, position=[x, 0]))
    model.gravity([sp.sin(t), 0])
    return model, {"x": 0.0}


def accelerated():
    model = da.Model("acceleration constraint")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1, position=[x, y])
    model.gravity([0, -9.81])
    model.constrain(x.diff(t, 2) + y * x.diff() - sp.cos(t), name="thrust")
    return model, {"x": 0.0, "y": 1.0, "x'": 0.5, "y'": 0.0}


def servo():
    model = da.Model("servo")
    x, th = model.coordinates("x th")
    (F,) = model.unknowns("F")
    model.force([F, 0], at=model.particle("cart", mass=3, position=[x, 0]))
    model.particle("bob", mass=1, position=[x + sp.sin(th), -sp.cos(th)])
    model.gravity([0, -9.81])
    model.constrain(x - sp.sin(t), name="program", servo=F)
    return model, {"th": 0.4}


def belt():
    model = da.Model("speed relative to a belt that speeds up")
    (x,) = model.coordinates("x")
    (u,) = model.speeds("u", kinematics={x: dynamicsymbols("u") + sp.sin(t)})
    model.particle("P", mass=2, position=[x, 0])
    model.energy(potential=5 * x**2)
    model.generalized_force({u: -u / 2})
    return model, {"x": 0.2}


def constant_speed():
    model = da.Model("a constraint that is not linear in velocities")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1, position=[x, y])
    model.gravity([0, -9.81])
    model.constrain(x.diff() ** 2 + y.diff() ** 2 - (1 + t / 4) ** 2, name="pace")
    return model, {"x": 0.0, "y": 0.0, "y'": 0.1}


def tumbling():
    model = da.Model("tumbling body")
    r = model.coordinates("x y z")
    model.speeds("vx vy vz")
    e = model.quaternion("e", speeds="wx wy wz")
    return loaded_model(model, r, e, e.matrix), {"wx": 1.0, "wy": 2.0}


@pytest.mark.parametrize(
    "build", [damped, shaken, shaken_by_angle, pushed, accelerated, servo, belt, constant_speed, tumbling]
)
def test_energy_changes_by_the_work_done(build):
    model, given_values = build()
    system = model.compile()
    guess = {shaken: {"y": -1.0}, constant_speed: {"x'": 1.0, "x_dot": 1.0}}.get(build)
    motion = system.simulate(system.initial(given_values, guess=guess), 4.0)
    assert motion.success
    assert np.ptp(motion.energy) > 1e-2  # there is something to balance
    assert np.abs(motion.energy_balance).max() < 1e-8 * max(np.ptp(motion.energy), 1.0)


def test_work_matches_hand_calculation():
    model, start = damped()
    system = model.compile()
    motion = system.simulate(system.initial(start), 2.0)
    w, d = np.sqrt(9.0 - 0.04), 0.2  # x = exp(-d t) (cos w t + d/w sin w t)
    x = np.exp(-d * motion.t) * (np.cos(w * motion.t) + d / w * np.sin(w * motion.t))
    np.testing.assert_allclose(motion["x"], x, atol=1e-8)
    np.testing.assert_allclose(motion.energy[-1] - motion.energy[0], motion.work[-1] - motion.work[0], atol=1e-8)


@pytest.mark.parametrize("where", ["later", "further"])
def test_a_constraint_that_restrains_nothing_here_is_no_constant(where):
    """What vanishes at a few points may hold elsewhere: a row must not be taken for one that is kept by itself."""
    model = da.Model("late")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1, position=[x, y])
    model.constrain(sp.Max(0, (model.t if where == "later" else x) - 5) ** 3 * y, name="gate")
    with pytest.raises(da.ModelError, match="`gate` does not restrain any speed"):
        model.compile()

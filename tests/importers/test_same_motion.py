"""The same mechanism from SymPy and stated raw: the same motion to 1e-8, the same reactions on its bodies."""

import joint_models
import kane_models
import numpy as np
import pytest
import sympy as sm
import sympy.physics.mechanics as me
from sympy import cos, sin

import dalembert as da

SHARP = da.DOP853(rtol=1e-12, atol=1e-13)
TIMES = np.linspace(0.0, 2.0, 21)


def run(model, given, guess=None):
    system = model.compile()
    motion = system.simulate(system.initial(given, guess=guess), TIMES[-1], t_eval=TIMES, integrator=SHARP)
    assert motion.certificate.ok, motion.certificate
    return motion


def same(a, b, tolerance=1e-8):
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance)


def same_force(first, second, name):
    """Forces in inertial axes, and torques about z, which all planar axes share."""
    a, b = (motion.reaction_on(name) for motion in (first, second))
    same(a.force, b.force, 1e-7)
    if a.torque is not None and b.torque is not None:
        same(a.torque[:, 2], b.torque[:, 2], 1e-7)


def test_double_pendulum():
    """Joints and relative angles against Cartesian coordinates with two rods."""
    values = {"m": 0.7, "l": 1.1, "g": 9.81}
    obj, _, _ = joint_models.double_pendulum()
    joints = run(da.from_sympy(obj, parameters=values), {"q1": 1.0, "q2": -0.4, "u1": 0.5, "u2": 1.0})

    raw = da.Model("double pendulum")
    x1, y1, x2, y2 = raw.coordinates("x1 y1 x2 y2")
    m, l, g = raw.parameters(**values)
    raw.particle("P_body", mass=m, position=[x1, y1])
    raw.particle("R_body", mass=m, position=[x2, y2])
    raw.gravity([g, 0])
    raw.constrain([x1**2 + y1**2 - l**2, (x2 - x1) ** 2 + (y2 - y1) ** 2 - l**2], name="rod")
    a, b, wa, wb = 1.0, 0.6, 0.5, 1.5
    first = [1.1 * np.cos(a), 1.1 * np.sin(a), -1.1 * wa * np.sin(a), 1.1 * wa * np.cos(a)]
    second = [1.1 * np.cos(b), 1.1 * np.sin(b), -1.1 * wb * np.sin(b), 1.1 * wb * np.cos(b)]
    names = ("x1", "y1", "x1_dot", "y1_dot"), ("x2", "y2", "x2_dot", "y2_dot")
    start = dict(zip(names[0], first, strict=True)) | dict(zip(names[1], np.add(first, second), strict=True))
    rods = run(raw, {}, start)

    q1, q2 = joints["q1"], joints["q1"] + joints["q2"]
    same(rods["x1"], 1.1 * np.cos(q1))
    same(rods["y2"], 1.1 * (np.sin(q1) + np.sin(q2)))
    same(rods.energy, joints.energy)  # positions were found, so that gravity has a potential
    for sympy_name, name in (("P", "P_body"), ("R", "R_body")):
        same(joints.reaction_on(sympy_name).force, rods.reaction_on(name).force, 1e-7)


def planar_link(model, name, mass, length, position, angle):
    model.body(name, mass=mass, inertia=mass * length**2 / 12, position=position, rotation=angle)


def test_four_bar():
    values = {"l1": 0.13, "l2": 0.24, "l3": 0.21, "l4": 0.34, "rho": 997.0}
    given, guess = {"q1": 2.1, "u1": 3.0}, {"q2": 0.6, "q3": 2.5}
    obj, _, _ = joint_models.four_bar()
    joints = run(da.from_sympy(obj, parameters=values), given, guess)

    raw = da.Model("four-bar")
    q = raw.coordinates("q1 q2 q3")
    raw.speeds("u1 u2 u3")
    l1, l2, l3, l4, rho = raw.parameters(**values)
    x, y, angle = l1 / 2, sm.S.Zero, sm.S.Zero
    for k, (turn, l) in enumerate(zip(q, (l2, l3, l4), strict=True), 2):
        angle += turn
        centre = [x + l / 2 * cos(angle), y + l / 2 * sin(angle)]
        planar_link(raw, f"Link{k}", rho * l, l, centre, angle)
        x, y = x + l * cos(angle), y + l * sin(angle)
    raw.constrain([x + l1 / 2, y], name="loop")
    stated = run(raw, given, guess)
    for name in ("q1", "q2", "q3", "u1", "u2", "u3"):
        same(joints[name], stated[name], 1e-8 * max(1.0, np.abs(stated[name]).max()))
    same(joints.reactions, stated.reactions, 1e-6)
    for name in ("Link2", "Link3", "Link4"):
        same_force(joints, stated, name)


def test_slider_crank():
    """Crank, rod and slider by joints in a loop, against absolute coordinates of all three."""
    values = {"a": 0.3, "b": 0.8, "m1": 1.2, "m2": 0.9, "m3": 2.0, "g": 9.81}
    a, b, m1, m2, m3, g = sm.symbols("a b m1 m2 m3 g", positive=True)
    q1, q2, s, u1, u2, v = me.dynamicsymbols("q1 q2 s u1 u2 v")
    ground, crank, rod, slider = (
        me.RigidBody(name, mass=mass) for name, mass in (("ground", 1), ("crank", m1), ("rod", m2), ("slider", m3))
    )
    for body, length in ((crank, a), (rod, b)):
        body.central_inertia = me.inertia(body.frame, 0, 0, body.mass * length**2 / 12)
    system = me.System.from_newtonian(ground)
    system.add_joints(
        me.PinJoint("main", ground, crank, q1, u1, joint_axis=ground.z, child_point=-a / 2 * crank.x),
        me.PinJoint(
            "big", crank, rod, q2, u2, joint_axis=crank.z, parent_point=a / 2 * crank.x, child_point=-b / 2 * rod.x
        ),
        me.PrismaticJoint("way", ground, slider, s, v, joint_axis=ground.x),
    )
    gap = rod.masscenter.pos_from(ground.masscenter) + b / 2 * rod.x - slider.masscenter.pos_from(ground.masscenter)
    system.add_holonomic_constraints(gap.dot(ground.x), gap.dot(ground.y))
    system.q_ind, system.q_dep = [q1], [q2, s]
    system.u_ind, system.u_dep = [u1], [u2, v]
    system.apply_uniform_gravity(-g * ground.y)
    joints = run(da.from_sympy(system, parameters=values), {"q1": 0.5, "u1": 4.0}, {"q2": -0.7, "s": 1.0})

    raw = da.Model("slider-crank")
    x1, y1, p1, x2, y2, p2, x3, y3 = raw.coordinates("x1 y1 p1 x2 y2 p2 x3 y3")
    a, b, m1, m2, m3, g = raw.parameters(**values)
    planar_link(raw, "crank", m1, a, [x1, y1], p1)
    planar_link(raw, "rod", m2, b, [x2, y2], p2)
    raw.particle("slider", mass=m3, position=[x3, y3])
    raw.gravity([0, -g])
    raw.constrain([x1 - a / 2 * cos(p1), y1 - a / 2 * sin(p1)], name="main")
    raw.constrain([x2 - b / 2 * cos(p2) - a * cos(p1), y2 - b / 2 * sin(p2) - a * sin(p1)], name="big")
    raw.constrain([x2 + b / 2 * cos(p2) - x3, y2 + b / 2 * sin(p2) - y3, y3], name="small")
    stated = run(raw, {"p1": 0.5, "p1_dot": 4.0}, {"p2": -0.2, "x3": 1.0})
    same(joints["q1"], stated["p1"])
    same(joints["q1"] + joints["q2"], stated["p2"])
    same(joints["s"], stated["x3"])
    same(joints["v"], stated["x3_dot"])
    for name in ("crank", "rod"):
        same_force(joints, stated, name)
    same(joints.reaction_on("slider").force, stated.reaction_on("slider").force, 1e-7)


@pytest.mark.parametrize("kind", ["rest", "auxiliary"])
def test_rolling_disc(kind):
    """Contact of no velocity against five coordinates and two velocity constraints."""
    values = {"m": 2.0, "r": 0.5, "g": 9.81}
    obj, options = kane_models.rolling_disc(kind)
    options.pop("specified", None)
    loads = options["loads"][:1]
    model = da.from_sympy(obj, bodies=options["bodies"], loads=loads, parameters=values)
    rolled = run(model, {"q1": 0.2, "q2": 0.3, "q3": 0.0, "u1": 0.1, "u2": 8.0, "u3": 0.7})
    assert rolled.system.drawing.points == ()  # the contact point moves: nothing is fixed to measure from

    raw = da.Model("rolling disc")
    x, y, q1, q2, q3 = raw.coordinates("x y q1 q2 q3")
    m, r, g = raw.parameters(**values)
    yaw, lean, spin = sm.rot_ccw_axis3(q1), sm.rot_ccw_axis1(q2), sm.rot_ccw_axis2(q3)
    up = yaw * lean * sm.Matrix([0, 0, 1])
    w = q1.diff() * sm.Matrix([0, 0, 1]) + q2.diff() * yaw[:, 0] + q3.diff() * (yaw * lean)[:, 1]
    I = m * r**2 / 4
    raw.body("disc", mass=m, inertia=[I, 2 * I, I], position=[x, y, r * cos(q2)], rotation=yaw * lean * spin)
    raw.gravity([0, 0, -g])
    slip = sm.Matrix([x.diff(), y.diff(), -r * sin(q2) * q2.diff()]) - w.cross(r * up)
    raw.constrain(list(slip[:2]), name="rolling")
    first = dict(
        zip(rolled.system.coordinates, rolled.system.coordinate_rates(0.0, rolled.q[0], rolled.u[0]), strict=True)
    )
    start = {"x": 0.0, "y": 0.0, "q1": 0.2, "q2": 0.3, "q3": 0.0} | {f"{k}_dot": v for k, v in first.items()}
    stated = run(raw, start)
    for name in ("q1", "q2", "q3"):
        same(rolled[name], stated[name])
    same(rolled.reaction_on("disc").force, stated.reaction_on("disc").force, 1e-7)  # of the ground on the disc

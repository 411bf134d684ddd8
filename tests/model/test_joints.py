"""Joints: the freedom they leave, and reactions that obey Newton's and Euler's laws."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da

SPATIAL = {  # kind: degrees of freedom it leaves to a free body
    "revolute": 1, "prismatic": 1, "cylindrical": 2, "spherical": 3, "universal": 2, "planar": 3, "fixed": 0,
    "point_on_line": 4,
}  # fmt: skip
PLANAR = {"revolute": 1, "prismatic": 1, "spherical": 1, "fixed": 0, "point_on_line": 2}
ARM = np.array([0.3, -0.2, 0.1])


def spatial(kind, **options):
    """A heavy body held to the ground by one joint, off its mass centre; its axes are those of the ground at first."""
    model = da.Model(kind)
    (m,) = model.parameters(m=2.0)
    body = model.body("B", mass=m, inertia=[[0.3, 0.02, 0], [0.02, 0.4, 0.01], [0, 0.01, 0.5]])
    axis, across = [1, 2, 2], [0, 1, -1]
    first = model.marker(model.ground, [0, 0, 0], axis=axis, across=across)
    turned = (across, axis) if kind == "universal" else (axis, across)
    second = model.marker(body, list(ARM), axis=turned[0], across=turned[1])
    joint = getattr(model.joints, kind)("J", first, second, **options)
    model.gravity([1.0, -2.0, -9.81])
    model.force([3.0, sp.sin(5 * model.t), 1.0], at=body)
    model.torque([0.1, 0.2, -0.4], on=body)
    return model, joint


def start(system, **speeds):
    guess = {"B_x": -ARM[0], "B_y": -ARM[1], "B_z": -ARM[2], **speeds}
    return system.initial({}, guess=guess)


def check_newton_euler(motion, name="J", arm=ARM):
    """The joint exerts exactly what the body needs: force, and torque about the mass centre."""
    needed, joint = motion.reaction_on("B"), motion.joint_reaction(name)
    e = np.stack([motion[f"B_e{k}"] for k in range(4)], axis=-1)
    lever = np.array([rotate(q, arm) for q in e])
    scale = np.abs(needed.force).max()
    np.testing.assert_allclose(joint.force, needed.force, atol=1e-8 * scale)
    np.testing.assert_allclose(joint.torque + np.cross(lever, joint.force), needed.torque, atol=1e-8 * scale)


def rotate(e, v):
    w, r = e[0], e[1:]
    return v + 2 * np.cross(r, np.cross(r, v) + w * v) / (e @ e)


@pytest.mark.parametrize("kind", SPATIAL)
def test_freedom_and_reaction_in_space(kind):
    model, _ = spatial(kind)
    system = model.compile()
    state = start(system, B_wx=0.5, B_wy=-0.8, B_wz=1.1, B_vx=0.2, B_vy=0.4)
    found = system.diagnose(state)
    assert found.dof == SPATIAL[kind]
    assert not found.redundant
    motion = system.simulate(state, 0.5)
    assert motion.certificate.ok, motion.certificate
    check_newton_euler(motion)


@pytest.mark.parametrize("kind", PLANAR)
def test_freedom_in_the_plane(kind):
    model = da.Model(kind)
    body = model.body("B", mass=1, inertia=0.1)
    axis = [1, 1] if kind in ("prismatic", "point_on_line") else None
    ends = model.marker(model.ground, [0, 0], axis=axis), model.marker(body, [0.2, 0.1], axis=axis)
    getattr(model.joints, kind)("J", *ends)
    model.gravity([0, -9.81])
    system = model.compile()
    state = system.initial({}, guess={"B_x": -0.2, "B_y": -0.1, "B_w": 1.0})
    assert system.diagnose(state).dof == PLANAR[kind]
    assert system.simulate(state, 0.5).certificate.ok


def test_rod_multiplier_is_its_force():
    model = da.Model("rod pendulum")
    x, y = model.coordinates("x y")
    P = model.particle("P", mass=2.0, position=[x, y])
    model.joints.rod("R", model.marker(model.ground, [0, 0]), P, length=1.5)
    model.gravity([0, -9.81])
    system = model.compile()
    state = system.initial({x: 0.0, y: -1.5, x.diff(): 2.0})
    pull = 2.0 * (9.81 + 2.0**2 / 1.5)  # weight and centripetal force
    np.testing.assert_allclose(state.joint_reaction("R").force, [0, pull, 0], atol=1e-9)
    assert state["R"] == pytest.approx(-pull)


def test_screw_advances_by_its_pitch():
    model, _ = spatial("screw", pitch=0.05)
    system = model.compile()
    axis = np.array([1, 2, 2]) / 3
    state = start(system, B_wx=axis[0], B_wy=axis[1], B_wz=axis[2])
    assert system.diagnose(state).dof == 1
    motion = system.simulate(state, 1.0)
    assert motion.certificate.ok
    check_newton_euler(motion)
    e = np.stack([motion[f"B_e{k}"] for k in range(4)], axis=-1)
    origin = np.stack([motion[f"B_{c}"] for c in "xyz"], axis=-1) + np.array([rotate(q, ARM) for q in e])
    turned = 2 * np.unwrap(np.arctan2(e[:, 1:] @ axis, e[:, 0]))
    np.testing.assert_allclose(origin @ axis, 0.05 / (2 * np.pi) * turned, atol=1e-9)


def test_point_on_surface_is_a_bead_on_a_bowl():
    model = da.Model("bead in a bowl")
    q = model.coordinates("x y z")
    P = model.particle("P", mass=1.0, position=q)
    bowl = model.marker(model.ground, [0, 0, 0])
    model.joints.point_on_surface("S", bowl, P, lambda x, y, z: x**2 + y**2 + z**2 - 4)
    model.gravity([0, 0, -9.81])
    system = model.compile()
    radius, height = np.sqrt(3.0), -1.0  # a conical pendulum: w^2 = g / |z|
    state = system.initial({"x": radius, "y": 0.0, "x_dot": 0.0, "y_dot": radius * np.sqrt(9.81)}, guess={"z": -1.0})
    motion = system.simulate(state, 5.0)
    np.testing.assert_allclose(motion["z"], height, atol=1e-8)
    np.testing.assert_allclose(motion["x"], radius * np.cos(np.sqrt(9.81) * motion.t), atol=1e-8)


def test_gear_shares_inertia():
    """Two wheels with ratio -2 driven by a torque on the first: I1 + 4 I2 resist it."""
    model = da.Model("gear")
    first, second = (model.body(n, mass=1, inertia=I) for n, I in (("A", 0.5), ("B", 0.25)))
    hinges = [
        model.joints.revolute(f"hinge_{b.name}", model.marker(model.ground, [k, 0]), b)
        for k, b in enumerate((first, second))
    ]
    model.joints.gear("mesh", *hinges, ratio=-2, phase=0)
    model.elements.motor("motor", model.ground, first, torque=3.0)
    system = model.compile()
    motion = system.simulate(system.initial({"A_a": 0.0, "A_w": 0.0}, guess={"B_x": 1.0}), 1.0)
    np.testing.assert_allclose(motion["A_a"], 0.5 * 3.0 / (0.5 + 4 * 0.25) * motion.t**2, atol=1e-9)
    np.testing.assert_allclose(motion["B_a"], -2 * motion["A_a"], atol=1e-9)
    spin = 3.0 / (0.5 + 4 * 0.25)  # of the first wheel; the mesh accelerates the second one at -2 times it
    np.testing.assert_allclose(motion.joint_reaction("mesh").torque[:, 2], -2 * 0.25 * spin, atol=1e-9)


def test_belt_in_space_ties_rates_about_each_axis():
    """Two discs about different axes: the ratio holds between turns about them, whatever their directions."""
    model = da.Model("belt")
    axes = ([0, 0, 1], [1, 0, 0])
    hinges = []
    for name, place, axis in zip("AB", ([0, 0, 0], [1, 0, 0]), axes, strict=True):
        body = model.body(name, mass=1, inertia=[0.5, 0.5, 0.5])
        ends = model.marker(model.ground, place, axis=axis), model.marker(body, [0, 0, 0], axis=axis)
        hinges.append(model.joints.revolute(f"hinge_{name}", *ends))
    model.joints.gear("belt", *hinges, ratio=3)
    model.elements.motor("motor", model.ground, hinges[0].second, torque=2.0)
    system = model.compile()
    state = system.initial({"A_wz": 0.0}, guess={"B_x": 1.0})
    assert system.diagnose(state).dof == 1
    motion = system.simulate(state, 1.0)
    np.testing.assert_allclose(motion["B_wx"], 3 * 2.0 / (0.5 + 9 * 0.5) * motion.t, atol=1e-8)
    np.testing.assert_allclose(motion["B_wx"], 3 * motion["A_wz"], atol=1e-9)


def test_rows_that_the_coordinates_keep_are_left_out():
    """A spatial body stated in one plane needs two of the five rows of a hinge; one hinge it has by construction."""
    model = da.Model("planar motion in space")
    x, y, a = model.coordinates("x y a")
    body = model.body("B", mass=1, inertia=[1, 1, 1], position=[x, y, 0], rotation=sp.rot_ccw_axis3(a))
    hinge = model.joints.revolute("hinge", model.ground, model.marker(body, [0.5, 0, 0]))
    assert hinge.rows == ("hinge[0]", "hinge[1]")
    model.joints.planar("table", model.ground, body)
    with pytest.raises(da.ModelError, match="joint `table` already holds by the choice of coordinates"):
        model.compile()


def test_driven_slide_and_turn_of_a_cylindrical_joint():
    model, joint = spatial("cylindrical")
    t = model.t
    model.joints.drive("slide", joint, displacement=0.1 * sp.sin(t))
    model.joints.drive("turn", joint, angle=t**2)
    system = model.compile()
    state = start(system)
    assert system.diagnose(state).dof == 0
    motion = system.simulate(state, 1.0)
    axis = np.array([1, 2, 2]) / 3
    e = np.stack([motion[f"B_e{k}"] for k in range(4)], axis=-1)
    origin = np.stack([motion[f"B_{c}"] for c in "xyz"], axis=-1) + np.array([rotate(q, ARM) for q in e])
    np.testing.assert_allclose(origin @ axis, 0.1 * np.sin(motion.t), atol=1e-9)
    np.testing.assert_allclose(2 * np.arctan2(e[:, 1:] @ axis, e[:, 0]), motion.t**2, atol=1e-9)
    total = [sum(motion.joint_reaction(n)[k] for n in ("J", "slide", "turn")) for k in (0, 1)]
    needed = motion.reaction_on("B")
    np.testing.assert_allclose(total[0], needed.force, atol=1e-8 * np.abs(needed.force).max())
    lever = np.array([rotate(q, ARM) for q in e])
    np.testing.assert_allclose(total[1] + np.cross(lever, total[0]), needed.torque, atol=1e-7)


def test_drive_turns_as_told_and_its_torque_is_euler_s():
    model = da.Model("driven hinge")
    body = model.body("B", mass=1, inertia=0.5)
    hinge = model.joints.revolute("hinge", model.marker(model.ground, [0, 0]), body)
    model.joints.drive("drive", hinge, angle=model.t**3)
    system = model.compile()
    motion = system.simulate(system.initial({}), 1.2)
    np.testing.assert_allclose(motion["B_a"], motion.t**3, atol=1e-9)
    np.testing.assert_allclose(motion.joint_reaction("drive").torque[:, 2], 0.5 * 6 * motion.t, atol=1e-7)


class TestElements:
    def test_spring_and_damper_are_a_damped_oscillator(self):
        model = da.Model("oscillator")
        body = model.body("B", mass=2.0, inertia=0.1)
        rail = model.marker(model.ground, [0, 0], axis=[1, 0])
        model.joints.prismatic("slide", rail, model.marker(body, [0, 0], axis=[1, 0]))
        wall = model.marker(model.ground, [-1, 0])
        model.elements.spring("spring", wall, body, stiffness=50.0, length=1.0)
        model.elements.damper("damper", wall, body, coefficient=4.0)
        system = model.compile()
        motion = system.simulate(system.initial({"B_x": 0.2, "B_vx": 0.0}), 3.0)
        decay, w = 1.0, np.sqrt(25.0 - 1.0)
        exact = 0.2 * np.exp(-decay * motion.t) * (np.cos(w * motion.t) + decay / w * np.sin(w * motion.t))
        np.testing.assert_allclose(motion["B_x"], exact, atol=1e-9)
        assert motion.certificate.ok

    def test_torsion_spring_and_damper(self):
        model = da.Model("torsion")
        body = model.body("B", mass=1.0, inertia=0.5)
        model.joints.revolute("hinge", model.marker(model.ground, [0, 0]), body)
        model.elements.torsion_spring("spring", model.ground, body, stiffness=8.0, angle=0.1)
        model.elements.torsion_damper("damper", model.ground, body, coefficient=0.6)
        system = model.compile()
        motion = system.simulate(system.initial({"B_a": 0.4, "B_w": 0.0}), 2.0)
        decay = 0.6
        w = np.sqrt(16.0 - decay**2)
        swing = np.exp(-decay * motion.t) * (np.cos(w * motion.t) + decay / w * np.sin(w * motion.t))
        np.testing.assert_allclose(motion["B_a"], 0.1 + 0.3 * swing, atol=1e-9)

    def test_torsion_spring_in_space(self):
        model = da.Model("torsion in space")
        body = model.body("B", mass=1.0, inertia=[0.5, 0.5, 0.5])
        axis = {"axis": [1, 2, 2], "across": [0, 1, -1]}
        ends = model.marker(model.ground, [0, 0, 0], **axis), model.marker(body, [0, 0, 0], **axis)
        model.joints.revolute("hinge", *ends)
        model.elements.torsion_spring("spring", *ends, stiffness=8.0, angle=0.1)
        system = model.compile()
        motion = system.simulate(system.initial({}, guess={"B_wx": 0.0}), 2.0)
        e = np.stack([motion[f"B_e{k}"] for k in range(4)], axis=-1)
        turned = 2 * np.arctan2(e[:, 1:] @ np.array([1, 2, 2]) / 3, e[:, 0])
        np.testing.assert_allclose(turned, 0.1 * (1 - np.cos(4.0 * motion.t)), atol=1e-9)

    def test_actuator_may_be_an_unknown(self):
        model = da.Model("servo slide")
        (F,) = model.unknowns("F")
        body = model.body("B", mass=2.0, inertia=0.1)
        rail = model.marker(model.ground, [0, 0], axis=[1, 0])
        model.joints.prismatic("slide", rail, model.marker(body, [0, 0], axis=[1, 0]))
        model.elements.actuator("ram", model.marker(model.ground, [-1, 0]), body, force=F)
        model.constrain(body.position[0] - sp.sin(model.t), name="program", servo=F)
        system = model.compile()
        motion = system.simulate(system.initial({}), 1.0)
        np.testing.assert_allclose(motion[F], -2.0 * np.sin(motion.t), atol=1e-8)


class TestContacts:
    def test_ball_on_a_turntable_runs_in_circles_at_two_sevenths(self):
        model = da.Model("turntable")
        m, r, W = model.parameters(m=1.0, r=0.1, W=1.4)
        ball = model.body("B", mass=m, inertia=[2 * m * r**2 / 5] * 3)
        (a,) = model.coordinates("a")
        table = model.body("T", mass=1, inertia=[1, 1, 1], position=[0, 0, 0], rotation=sp.rot_ccw_axis3(a))
        model.constrain(a - W * model.t, name="drive")
        model.contacts.sphere("C", ball, radius=r, plane=model.marker(table, [0, 0, 0]))
        model.gravity([0, 0, -9.81])
        system = model.compile()
        state = system.initial({"B_x": 1.0, "B_y": 0.0, "B_z": 0.1, "B_vx": 0.0, "B_vy": 0.3, "B_wz": 0.0})
        motion = system.simulate(state, 20.0)
        w = 2 / 7 * 1.4
        radius = 0.3 / w
        np.testing.assert_allclose(motion["B_x"], 1 - radius + radius * np.cos(w * motion.t), atol=1e-8)
        np.testing.assert_allclose(motion["B_y"], radius * np.sin(w * motion.t), atol=1e-8)
        np.testing.assert_allclose(motion.joint_reaction("C").force[:, 2], 9.81, atol=1e-8)

    @pytest.mark.parametrize("tube", [0.0, 0.05])
    def test_disc_keeps_turning_steadily(self, tube):
        """Lean theta, heading rate W, spin s relative to the lean frame; the moment balance of steady motion.

        With the disc axis at angle theta from the vertical, hub height h = r sin(theta) + tube and the hub moving on a
        circle of radius rho, Euler's equation about the horizontal diameter fixes the heading rate.
        """
        m, r, g, theta = 1.0, 0.5, 9.81, np.deg2rad(70.0)
        I, C = m * r**2 / 4, m * r**2 / 2
        model = da.Model("disc")
        disc = model.body("D", mass=m, inertia=[I, I, C])
        model.contacts.disc("C", disc, radius=r, tube=tube)
        model.gravity([0, 0, -g])
        system = model.compile()
        # The axis a after a rotation by theta about x, and the way d from the hub to the contact.
        a = np.array([0.0, -np.sin(theta), np.cos(theta)])
        d = -r * (np.array([0, 0, 1.0]) - np.cos(theta) * a) / np.sin(theta) - np.array([0, 0, tube])
        w_axis = 4.0  # total spin about the disc axis
        W = _steady_heading(m, I, C, g, a, d, w_axis)
        w = W * (np.array([0, 0, 1.0]) - np.cos(theta) * a) + w_axis * a  # W across the axis, w_axis along it
        turn = np.array([[1, 0, 0], [0, np.cos(theta), -np.sin(theta)], [0, np.sin(theta), np.cos(theta)]])
        wx, wy, wz = turn.T @ w
        given = {"D_e0": np.cos(theta / 2), "D_e1": np.sin(theta / 2), "D_e2": 0.0, "D_e3": 0.0, "D_x": 0.0, "D_y": 0.0}
        state = system.initial({**given, "D_wx": wx, "D_wy": wy, "D_wz": wz}, guess={"D_z": -d[2]})
        motion = system.simulate(state, 5.0)
        assert motion.certificate.ok, motion.certificate
        np.testing.assert_allclose(motion["D_z"], -d[2], atol=1e-8)
        speed = np.linalg.norm(np.cross(w, -d))
        centre = np.array([0.0, 0.0]) + np.array([0, 1]) * (speed / W) * np.sign(np.cross(w, -d)[0])
        radius = np.hypot(motion["D_x"] - centre[0], motion["D_y"] - centre[1])
        np.testing.assert_allclose(radius, abs(speed / W), atol=1e-8)


def _steady_heading(m, I, C, g, a, d, w_axis):
    """The heading rate W at which dH/dt = W e_z x H equals the moment of the contact force about the hub."""
    ez = np.array([0, 0, 1.0])
    cos = a @ ez

    def unbalanced(W):
        w = W * (ez - cos * a) + w_axis * a
        H = I * W * (ez - cos * a) + C * w_axis * a
        force = m * W * np.cross(ez, np.cross(w, -d)) + np.array([0, 0, m * g])
        return (W * np.cross(ez, H) - np.cross(d, force))[0]

    from scipy.optimize import brentq

    return (
        brentq(unbalanced, -30.0, -0.05)
        if unbalanced(-30.0) * unbalanced(-0.05) < 0
        else brentq(unbalanced, 0.05, 30.0)
    )


class TestBadInput:
    def test_all_faults_of_joints_at_once(self):
        model = da.Model("faulty")
        body = model.body("B", mass=1, inertia=0.1)
        other = model.body("S", mass=1, inertia=[1, 1, 9])
        model.joints.revolute("self", model.marker(body, [0, 0]), model.marker(body, [1, 0]))
        model.marker(body, [0, 0], axis=[0, 0, 0])
        model.marker(body, [0, 0, 0], axis=[1, 0, 0], across=[2, 0, 0])
        model.joints.universal("cross", model.ground, body)
        model.joints.spherical("nothing", 3, body)
        model.elements.spring("zero", body, body, stiffness=1.0)
        model.contacts.skate("no blade", "B")
        assert other.name == "S"
        with pytest.raises(da.ModelError) as error:
            model.compile()
        text = str(error.value)
        for words in (
            "joint `self` ties `B` to itself", "must have a length", "not be parallel",
            "needs bodies that move in space", "joint `nothing` holds markers", "element `zero`", "contact `no blade`",
        ):  # fmt: skip
            assert words in text

    def test_axes_that_do_not_fit(self):
        model = da.Model("faulty")
        x, y, z = model.coordinates("x y z")
        wx, wy, wz = (x.diff(), y.diff(), z.diff())
        body = model.body("B", mass=1, inertia=0.1)
        P = model.particle("P", mass=1, position=[x, y, z])
        loose = model.body("L", mass=1, inertia=[1, 1, 1], position=[x, y, z], angular_velocity=[wx, wy, wz])
        hinge = model.joints.revolute("hinge", model.ground, body)
        model.joints.prismatic("slide", model.ground, body)
        model.joints.revolute("lying", model.ground, model.marker(body, [0, 0], axis=[1, 0]))
        model.joints.cylindrical("rod", model.ground, P)
        model.marker(loose, [1, 0, 0])
        model.joints.drive("drive", hinge, displacement=1.0)
        model.joints.drive("both", hinge)
        model.joints.gear("mesh", hinge, "other", ratio=1)
        model.elements.damper("text", "B", body, coefficient=1.0)
        model.elements.motor("self", body, body, torque=1.0)
        model.elements.torsion_spring("loose", model.ground, P, stiffness=1.0)
        model.contacts.sphere("ball", P, radius=1.0)
        with pytest.raises(da.ModelError) as error:
            model.compile()
        text = str(error.value)
        for words in (
            "joint `slide`: its axis must lie in the plane", "joint `lying`: its axis must be normal to the plane",
            "joint `rod` needs axes on `P`", "marker on `L`: the body has no rotation",
            "drive `drive`: the revolute joint `hinge` has no displacement", "drive `both` needs one of",
            "gear `mesh` acts on joints", "element `text` joins markers", "element `self` turns `B` against itself",
            "element `loose` turns bodies with a rotation", "contact `ball` needs a marker or a body with axes",
        ):  # fmt: skip
            assert words in text, words

    def test_frame_that_is_not_orthonormal(self):
        model = da.Model("faulty")
        place = model.coordinates("x y z")
        skew = [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]
        body = model.body("skewed", mass=1, inertia=[1, 1, 1], position=place, rotation=skew)
        model.joints.spherical("J", model.ground, model.marker(body, [0, 0, 1]))
        with pytest.raises(da.ModelError, match="rotation of body `skewed` is not orthonormal"):
            model.compile()

    def test_inertia_that_no_body_has(self):
        model = da.Model("faulty")
        model.body("S", mass=-1, inertia=[1, 1, 9])
        with pytest.raises(da.ModelError, match=r"(?s)mass of `S` is -1.*principal moments 1, 1, 9"):
            model.compile()

    def test_velocity_that_does_not_fit(self):
        model = da.Model("faulty")
        x, y = model.coordinates("x y")
        model.particle("P", mass=1, position=[x, y], velocity=[2 * x.diff(), y.diff()])
        with pytest.raises(da.ModelError, match="velocity of `P` contradicts the stated position"):
            model.compile()

    def test_velocity_may_use_what_a_constraint_says(self):
        model = da.Model("rolling wheel")
        x, a = model.coordinates("x a")
        model.particle("P", mass=1, position=[x, 0], velocity=[-a.diff() / 2, 0])
        model.constrain(x.diff() + a.diff() / 2, name="roll")
        assert model.compile().nc == 1

    def test_unknown_joint(self):
        model, _ = spatial("fixed")
        with pytest.raises(da.UnknownNameError, match="joints"):
            start(model.compile()).joint_reaction("K")

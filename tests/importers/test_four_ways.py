"""Mechanisms stated four ways - raw coordinates, bodies and joints, energy, SymPy: one motion, the same reactions."""

from types import MappingProxyType

import joint_models
import kane_models
import numpy as np
import pytest
import sympy as sm
import sympy.physics.mechanics as me
from scipy.spatial.transform import Rotation
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
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(1.0, np.abs(b).max()))


def same_force(first, second, name):
    """Forces in inertial axes, and torques about z, which all planar axes share."""
    a, b = (motion.reaction_on(name) for motion in (first, second))
    same(a.force, b.force)
    same(a.torque[:, 2], b.torque[:, 2])


class TestDoublePendulum:
    """Two particles at relative angles by SymPy's joints; elsewhere in Cartesian coordinates with two rods."""

    VALUES = MappingProxyType({"m": 0.7, "l": 1.1, "g": 9.81})
    START = MappingProxyType(
        {
            f"{axis}{k}{suffix}": value
            for k, turns in ((1, [(1.0, 0.5)]), (2, [(1.0, 0.5), (0.6, 1.5)]))
            for axis, suffix, value in (
                ("x", "", sum(1.1 * np.cos(a) for a, _ in turns)),
                ("y", "", sum(1.1 * np.sin(a) for a, _ in turns)),
                ("x", "_dot", sum(-1.1 * w * np.sin(a) for a, w in turns)),
                ("y", "_dot", sum(1.1 * w * np.cos(a) for a, w in turns)),
            )
        }
    )

    @pytest.fixture(scope="class")
    @classmethod
    def sympy(cls):
        obj, _, _ = joint_models.double_pendulum()
        return run(da.from_sympy(obj, parameters=cls.VALUES), {"q1": 1.0, "q2": -0.4, "u1": 0.5, "u2": 1.0})

    def cartesian(self):
        model = da.Model("double pendulum")
        q = model.coordinates("x1 y1 x2 y2")
        return model, q, model.parameters(**self.VALUES)

    def check(self, motion, sympy):
        q1, q2 = sympy["q1"], sympy["q1"] + sympy["q2"]
        same(motion["x1"], 1.1 * np.cos(q1))
        same(motion["y2"], 1.1 * (np.sin(q1) + np.sin(q2)))
        same(motion.energy, sympy.energy)

    def test_raw(self, sympy):
        model, (x1, y1, x2, y2), (m, l, g) = self.cartesian()
        model.particle("P", mass=m, position=[x1, y1])
        model.particle("R", mass=m, position=[x2, y2])
        model.gravity([g, 0])
        model.constrain([x1**2 + y1**2 - l**2, (x2 - x1) ** 2 + (y2 - y1) ** 2 - l**2], name="rod")
        motion = run(model, {}, self.START)
        self.check(motion, sympy)
        for name in ("P", "R"):
            same(motion.reaction_on(name).force, sympy.reaction_on(name).force)

    def test_joints(self, sympy):
        model, (x1, y1, x2, y2), (m, l, g) = self.cartesian()
        P = model.particle("P", mass=m, position=[x1, y1])
        R = model.particle("R", mass=m, position=[x2, y2])
        model.gravity([g, 0])
        model.joints.rod("upper", model.ground, P, length=l)
        model.joints.rod("lower", P, R, length=l)
        motion = run(model, {}, self.START)
        self.check(motion, sympy)
        upper, lower = (motion.joint_reaction(name).force for name in ("upper", "lower"))
        same(lower, sympy.reaction_on("R").force)
        same(upper - lower, sympy.reaction_on("P").force)

    def test_energy(self, sympy):
        model, (x1, y1, x2, y2), (m, l, g) = self.cartesian()
        model.energy(
            kinetic=m * (x1.diff() ** 2 + y1.diff() ** 2 + x2.diff() ** 2 + y2.diff() ** 2) / 2,
            potential=-m * g * (x1 + x2),
        )
        model.constrain([x1**2 + y1**2 - l**2, (x2 - x1) ** 2 + (y2 - y1) ** 2 - l**2], name="rod")
        motion = run(model, {}, self.START)
        self.check(motion, sympy)
        same(motion.reactions[:, :2], sympy.reaction_on("P").force[:, :2])
        same(motion.reactions[:, 2:], sympy.reaction_on("R").force[:, :2])


def pinned_chain(model, links, pins):
    """Bodies with joints: `links` (name, mass, length) from pin to pin, the last one pinned to the ground again."""
    before, last = (model.marker(model.ground, pin) for pin in pins)
    for k, (name, mass, length) in enumerate(links):
        body = model.body(name, mass=mass, inertia=mass * length**2 / 12)
        model.joints.revolute(f"pin{k}", before, model.marker(body, [-length / 2, 0]))
        before = model.marker(body, [length / 2, 0])
    model.joints.revolute(f"pin{len(links)}", before, last)


def rods(model, links):
    """Coordinates x, y, a of rods with their energies; gives (x, y, a, length) of each."""
    out = []
    for name, mass, length in links:
        x, y, a = model.coordinates(f"{name}_x {name}_y {name}_a")
        model.energy(kinetic=mass * (x.diff() ** 2 + y.diff() ** 2 + length**2 / 12 * a.diff() ** 2) / 2)
        out.append((x, y, a, length))
    return out


def tip(rod, side):
    x, y, a, length = rod
    return sm.Matrix([x + side * length / 2 * cos(a), y + side * length / 2 * sin(a)])


def planar_link(model, name, mass, length, position, angle):
    model.body(name, mass=mass, inertia=mass * length**2 / 12, position=position, rotation=angle)


class TestFourBar:
    """Relative angles with a closed loop by SymPy and raw, absolute coordinates by joints and by energy."""

    VALUES = MappingProxyType({"l1": 0.13, "l2": 0.24, "l3": 0.21, "l4": 0.34, "rho": 997.0})
    GIVEN, GUESS = MappingProxyType({"q1": 2.1, "u1": 3.0}), MappingProxyType({"q2": 0.6, "q3": 2.5})
    NAMES = ("Link2", "Link3", "Link4")

    @pytest.fixture(scope="class")
    @classmethod
    def sympy(cls):
        obj, _, _ = joint_models.four_bar()
        return run(da.from_sympy(obj, parameters=cls.VALUES), cls.GIVEN, cls.GUESS)

    def start(self, sympy):
        """Places and angles of the links at first."""
        at, angle, guess = np.array([self.VALUES["l1"] / 2, 0.0]), 0.0, {}
        for name, q in zip(self.NAMES, ("q1", "q2", "q3"), strict=True):
            angle += sympy[q][0]
            along = self.VALUES[f"l{name[-1]}"] * np.array([np.cos(angle), np.sin(angle)])
            guess |= dict(zip((f"{name}_x", f"{name}_y", f"{name}_a"), (*(at + along / 2), angle), strict=True))
            at = at + along
        return guess

    def check(self, motion, sympy):
        for k, name in enumerate(self.NAMES):
            same(motion[f"{name}_a"], sum(sympy[f"q{j + 1}"] for j in range(k + 1)))

    def test_raw(self, sympy):
        model = da.Model("four-bar")
        q = model.coordinates("q1 q2 q3")
        model.speeds("u1 u2 u3")
        l1, l2, l3, l4, rho = model.parameters(**self.VALUES)
        x, y, angle = l1 / 2, sm.S.Zero, sm.S.Zero
        for k, (turn, l) in enumerate(zip(q, (l2, l3, l4), strict=True), 2):
            angle += turn
            planar_link(model, f"Link{k}", rho * l, l, [x + l / 2 * cos(angle), y + l / 2 * sin(angle)], angle)
            x, y = x + l * cos(angle), y + l * sin(angle)
        model.constrain([x + l1 / 2, y], name="loop")
        motion = run(model, self.GIVEN, self.GUESS)
        for name in ("q1", "q2", "q3", "u1", "u2", "u3"):
            same(motion[name], sympy[name])
        same(motion.reactions, sympy.reactions)
        for name in self.NAMES:
            same_force(motion, sympy, name)

    def test_joints(self, sympy):
        model = da.Model("four-bar")
        l1, l2, l3, l4, rho = model.parameters(**self.VALUES)
        links = [(name, rho * l, l) for name, l in zip(self.NAMES, (l2, l3, l4), strict=True)]
        pinned_chain(model, links, ([l1 / 2, 0], [-l1 / 2, 0]))
        motion = run(model, {"Link2_a": 2.1, "Link2_w": 3.0}, self.start(sympy))
        self.check(motion, sympy)
        for k, name in enumerate(self.NAMES):
            same_force(motion, sympy, name)
            before, after = (motion.joint_reaction(f"pin{j}").force for j in (k, k + 1))
            same(before - after, sympy.reaction_on(name).force)

    def test_energy(self, sympy):
        model = da.Model("four-bar")
        l1, l2, l3, l4, rho = model.parameters(**self.VALUES)
        a, b, c = rods(model, [(name, rho * l, l) for name, l in zip(self.NAMES, (l2, l3, l4), strict=True)])
        model.constrain(list(tip(a, -1) - sm.Matrix([l1 / 2, 0])), name="pin0")
        model.constrain(list(tip(b, -1) - tip(a, 1)), name="pin1")
        model.constrain(list(tip(c, -1) - tip(b, 1)), name="pin2")
        model.constrain(list(sm.Matrix([-l1 / 2, 0]) - tip(c, 1)), name="pin3")
        motion = run(model, {"Link2_a": 2.1, "Link2_a_dot": 3.0}, self.start(sympy))
        self.check(motion, sympy)
        for k, name in enumerate(self.NAMES):
            expected = sympy.reaction_on(name)
            same(motion.reactions[:, 3 * k : 3 * k + 2], expected.force[:, :2])
            same(motion.reactions[:, 3 * k + 2], expected.torque[:, 2])


class TestSliderCrank:
    """Crank, rod and slider under gravity: a loop of SymPy's joints against absolute coordinates of all three."""

    VALUES = MappingProxyType({"a": 0.3, "b": 0.8, "m1": 1.2, "m2": 0.9, "m3": 2.0, "g": 9.81})

    @pytest.fixture(scope="class")
    @classmethod
    def sympy(cls):
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
        return run(da.from_sympy(system, parameters=cls.VALUES), {"q1": 0.5, "u1": 4.0}, {"q2": -0.7, "s": 1.0})

    def check(self, motion, sympy):
        same(motion["crank_a"], sympy["q1"])
        same(motion["rod_a"], sympy["q1"] + sympy["q2"])
        same(motion["slider_x"], sympy["s"])

    def test_raw(self, sympy):
        model = da.Model("slider-crank")
        names = [f"{name}_{c}" for name in ("crank", "rod") for c in "xya"] + ["slider_x", "slider_y"]
        x1, y1, p1, x2, y2, p2, x3, y3 = model.coordinates(" ".join(names))
        a, b, m1, m2, m3, g = model.parameters(**self.VALUES)
        planar_link(model, "crank", m1, a, [x1, y1], p1)
        planar_link(model, "rod", m2, b, [x2, y2], p2)
        model.particle("slider", mass=m3, position=[x3, y3])
        model.gravity([0, -g])
        model.constrain([x1 - a / 2 * cos(p1), y1 - a / 2 * sin(p1)], name="main")
        model.constrain([x2 - b / 2 * cos(p2) - a * cos(p1), y2 - b / 2 * sin(p2) - a * sin(p1)], name="big")
        model.constrain([x2 + b / 2 * cos(p2) - x3, y2 + b / 2 * sin(p2) - y3, y3], name="small")
        motion = run(model, {"crank_a": 0.5, "crank_a_dot": 4.0}, {"rod_a": -0.2, "slider_x": 1.0})
        self.check(motion, sympy)
        same(motion["slider_x_dot"], sympy["v"])
        for name in ("crank", "rod"):
            same_force(motion, sympy, name)
        same(motion.reaction_on("slider").force, sympy.reaction_on("slider").force)

    def test_joints(self, sympy):
        model = da.Model("slider-crank")
        a, b, m1, m2, m3, g = model.parameters(**self.VALUES)
        crank, rod = (
            model.body(name, mass=m, inertia=m * l**2 / 12) for name, m, l in (("crank", m1, a), ("rod", m2, b))
        )
        slider = model.body("slider", mass=m3, inertia=1.0)
        model.joints.revolute("main", model.ground, model.marker(crank, [-a / 2, 0]))
        model.joints.revolute("big", model.marker(crank, [a / 2, 0]), model.marker(rod, [-b / 2, 0]))
        model.joints.revolute("small", model.marker(rod, [b / 2, 0]), slider)
        rail = model.marker(model.ground, [0, 0], axis=[1, 0])
        model.joints.prismatic("way", rail, model.marker(slider, [0, 0], axis=[1, 0]))
        model.gravity([0, -g])
        motion = run(model, {"crank_a": 0.5, "crank_w": 4.0}, {"rod_a": -0.2, "slider_x": 1.0})
        self.check(motion, sympy)
        for name in ("crank", "rod"):
            same_force(motion, sympy, name)
        forces = {name: motion.joint_reaction(name).force for name in ("main", "big", "small", "way")}
        same(forces["main"] - forces["big"], sympy.reaction_on("crank").force)
        same(forces["big"] - forces["small"], sympy.reaction_on("rod").force)
        same(forces["small"] + forces["way"], sympy.reaction_on("slider").force)
        same(forces["way"][:, 0], np.zeros_like(motion.t))  # a slide pushes across its axis only

    def test_energy(self, sympy):
        model = da.Model("slider-crank")
        a, b, m1, m2, m3, g = model.parameters(**self.VALUES)
        crank, rod = rods(model, [("crank", m1, a), ("rod", m2, b)])
        (s,) = model.coordinates("slider_x")
        model.energy(kinetic=m3 * s.diff() ** 2 / 2, potential=g * (m1 * crank[1] + m2 * rod[1]))
        model.constrain(list(tip(crank, -1)), name="main")
        model.constrain(list(tip(rod, -1) - tip(crank, 1)), name="big")
        model.constrain(list(tip(rod, 1) - sm.Matrix([s, 0])), name="small")
        motion = run(model, {"crank_a": 0.5, "crank_a_dot": 4.0}, {"rod_a": -0.2, "slider_x": 1.0})
        self.check(motion, sympy)
        for k, name in enumerate(("crank", "rod")):
            same(motion.reactions[:, 3 * k : 3 * k + 2], sympy.reaction_on(name).force[:, :2])
        same(motion.reactions[:, 6], sympy.reaction_on("slider").force[:, 0])


class TestRollingDisc:
    """A contact point of no velocity by SymPy; five coordinates and two velocity constraints; a body with a contact."""

    VALUES = MappingProxyType({"m": 2.0, "r": 0.5, "g": 9.81})

    @classmethod
    def roll(cls, kind):
        obj, options = kane_models.rolling_disc(kind)
        model = da.from_sympy(obj, bodies=options["bodies"], loads=options["loads"][:1], parameters=cls.VALUES)
        return run(model, {"q1": 0.2, "q2": 0.3, "q3": 0.0, "u1": 0.1, "u2": 8.0, "u3": 0.7})

    @pytest.fixture(scope="class")
    @classmethod
    def sympy(cls):
        motion = cls.roll("rest")
        assert motion.system.drawing.points == ()  # the contact point moves: nothing is fixed to measure from
        return motion

    @staticmethod
    def rates(sympy):
        system = sympy.system
        return dict(zip(system.coordinates, system.coordinate_rates(0.0, sympy.q[0], sympy.u[0]), strict=True))

    def start(self, sympy):
        rates = {f"{name}_dot": rate for name, rate in self.rates(sympy).items()}
        return {"x": 0.0, "y": 0.0, "q1": 0.2, "q2": 0.3, "q3": 0.0} | rates

    def coordinates(self, name):
        model = da.Model(name)
        x, y, q1, q2, q3 = model.coordinates("x y q1 q2 q3")
        m, r, g = model.parameters(**self.VALUES)
        yaw, lean, spin = sm.rot_ccw_axis3(q1), sm.rot_ccw_axis1(q2), sm.rot_ccw_axis2(q3)
        up = yaw * lean * sm.Matrix([0, 0, 1])
        w = q1.diff() * sm.Matrix([0, 0, 1]) + q2.diff() * yaw[:, 0] + q3.diff() * (yaw * lean)[:, 1]
        slip = sm.Matrix([x.diff(), y.diff(), -r * sin(q2) * q2.diff()]) - w.cross(r * up)
        model.constrain(list(slip[:2]), name="rolling")
        return model, (x, y, q2), (m, r, g), yaw * lean * spin, w

    def test_auxiliary_speeds_change_nothing(self, sympy):
        motion = self.roll("auxiliary")
        for name in ("q1", "q2", "q3"):
            same(motion[name], sympy[name])

    def test_raw(self, sympy):
        model, (x, y, q2), (m, r, g), R, _ = self.coordinates("rolling disc")
        I = m * r**2 / 4
        model.body("disc", mass=m, inertia=[I, 2 * I, I], position=[x, y, r * cos(q2)], rotation=R)
        model.gravity([0, 0, -g])
        motion = run(model, self.start(sympy))
        for name in ("q1", "q2", "q3"):
            same(motion[name], sympy[name])
        same(motion.reaction_on("disc").force, sympy.reaction_on("disc").force)  # of the ground on the disc

    def test_energy(self, sympy):
        model, (x, y, q2), (m, r, g), R, w = self.coordinates("rolling disc")
        v, own = sm.Matrix([x, y, r * cos(q2)]).diff(model.t), R.T * w
        spin = m * r**2 / 4 * (own[0] ** 2 + 2 * own[1] ** 2 + own[2] ** 2)
        model.energy(kinetic=(m * v.dot(v) + spin) / 2, potential=m * g * r * cos(q2))
        motion = run(model, self.start(sympy))
        for name in ("q1", "q2", "q3"):
            same(motion[name], sympy[name])
        same(motion.reactions[:, :2], sympy.reaction_on("disc").force[:, :2])

    def test_contact(self, sympy):
        model = da.Model("rolling disc")
        m, r, g = model.parameters(**self.VALUES)
        I = m * r**2 / 4
        disc = model.body("disc", mass=m, inertia=[I, 2 * I, I])
        model.contacts.disc("contact", model.marker(disc, [0, 0, 0], axis=[0, 1, 0]), radius=r)
        model.gravity([0, 0, -g])
        turn = Rotation.from_euler("ZXY", [0.2, 0.3, 0.0])
        rates = self.rates(sympy)
        yaw = Rotation.from_euler("z", 0.2).as_matrix()
        w = rates["q1"] * np.array([0, 0, 1]) + rates["q2"] * yaw[:, 0] + rates["q3"] * turn.as_matrix()[:, 1]
        given = {"disc_x": 0.0, "disc_y": 0.0}
        given |= {f"disc_e{k}": v for k, v in enumerate(turn.as_quat(scalar_first=True))}
        given |= {f"disc_w{axis}": v for axis, v in zip("xyz", turn.as_matrix().T @ w, strict=True)}
        motion = run(model, given, {"disc_z": 0.5 * np.cos(0.3)})
        angles = np.stack([sympy[name] for name in ("q1", "q2", "q3")], axis=-1)
        e = np.stack([motion[f"disc_e{k}"] for k in range(4)], axis=-1)
        turned = Rotation.from_quat(e, scalar_first=True).as_matrix()
        same(turned, Rotation.from_euler("ZXY", angles).as_matrix())
        same(motion.joint_reaction("contact").force, sympy.reaction_on("disc").force)
        same(motion.reaction_on("disc").force, sympy.reaction_on("disc").force)

"""Bodies, joints and contacts against exact motions: tops, sleighs, wheels, and an overconstrained four-bar."""

import numpy as np
import pytest

import dalembert as da
from dalembert.problems import chaplygin_sleigh

SHARP = da.DOP853(rtol=1e-12, atol=1e-13)


class TestHeavyTop:
    """A symmetric top on a spherical joint at the ground; I about the fixed point, a the axis of the top."""

    M, ARM, I, C, G = 2.0, 0.3, 0.1, 0.05, 9.81
    TILT = 0.6

    def top(self):
        model = da.Model("heavy top")
        body = model.body("T", mass=self.M, inertia=[self.I, self.I, self.C])
        model.joints.spherical("tip", model.ground, model.marker(body, [0, 0, -self.ARM]))
        model.gravity([0, 0, -self.G])
        return model.compile()

    def start(self, system, across, spin):
        """Tilted about x, with angular velocity `across` about the body y axis and `spin` about its own axis."""
        half = self.TILT / 2
        given = {"T_e0": np.cos(half), "T_e1": np.sin(half), "T_e2": 0.0, "T_e3": 0.0, "T_wx": 0.0}
        place = {"T_y": -self.ARM * np.sin(self.TILT), "T_z": self.ARM * np.cos(self.TILT)}
        return system.initial({**given, "T_wy": across, "T_wz": spin}, guess=place)

    @pytest.mark.parametrize("sign", [-1, 1], ids=["slow", "fast"])
    def test_steady_precession(self, sign):
        """I' W^2 cos(tilt) - C s W + m g l = 0 with I' about the fixed point and the spin s about the axis."""
        spin, about = 60.0, self.I + self.M * self.ARM**2
        b, a = self.C * spin, about * np.cos(self.TILT)
        W = (b + sign * np.sqrt(b**2 - 4 * a * self.M * self.G * self.ARM)) / (2 * a)
        system = self.top()
        state = self.start(system, W * np.sin(self.TILT), spin)
        motion = system.simulate(state, 2.0, t_eval=np.linspace(0, 2, 41), integrator=SHARP)
        assert motion.certificate.ok, motion.certificate
        radius = self.ARM * np.sin(self.TILT)
        exact = [radius * np.sin(W * motion.t), -radius * np.cos(W * motion.t), 0 * motion.t + self.ARM * np.cos(0.6)]
        for name, values in zip(("T_x", "T_y", "T_z"), exact, strict=True):
            np.testing.assert_allclose(motion[name], values, atol=1e-8)
        force = motion.joint_reaction("tip").force
        np.testing.assert_allclose(force[:, 2], self.M * self.G, atol=1e-6)
        np.testing.assert_allclose(force[:, 0], -self.M * W**2 * exact[0], atol=1e-6 * W**2)

    def test_nutation_conserves_spin_momentum_and_energy(self):
        """Let go without precession it nods between the cup and the depth that Lagrange's cubic gives."""
        spin, about = 60.0, self.I + self.M * self.ARM**2
        system = self.top()
        motion = system.simulate(self.start(system, 0.0, spin), 2.0, t_eval=np.linspace(0, 2, 401), integrator=SHARP)
        np.testing.assert_allclose(motion["T_wz"], spin, rtol=1e-9)
        np.testing.assert_allclose(motion.energy, motion.energy[0], rtol=1e-9)
        e = np.stack([motion[f"T_e{k}"] for k in range(4)], axis=-1)
        up = np.stack(
            [2 * (e[:, 1] * e[:, 3] - e[:, 0] * e[:, 2]), 2 * (e[:, 2] * e[:, 3] + e[:, 0] * e[:, 1]),
             1 - 2 * (e[:, 1] ** 2 + e[:, 2] ** 2)], axis=-1,
        )  # fmt: skip
        momentum = about * (motion["T_wx"] * up[:, 0] + motion["T_wy"] * up[:, 1]) + self.C * spin * up[:, 2]
        np.testing.assert_allclose(momentum, self.C * spin * np.cos(self.TILT), rtol=1e-9)
        # With z = cos(tilt), beta = C s / I': z'^2 / (z0 - z) = 2 m g l / I' (1 - z^2) - beta^2 (z0 - z), 0 at depth.
        lam, beta, z0 = 2 * self.M * self.G * self.ARM / about, self.C * spin / about, np.cos(self.TILT)
        depth = np.roots([lam, -(beta**2), beta**2 * z0 - lam])
        lowest = depth[(depth > -1) & (depth < 1)][0]
        height = motion["T_z"] / self.ARM
        assert height.max() <= z0 + 1e-9
        assert height.min() >= lowest - 1e-9
        assert height.min() == pytest.approx(lowest, abs=2e-4 * (z0 - lowest) + 1e-4)


def test_chaplygin_sleigh_from_a_body_and_a_skate():
    model = da.Model("sleigh")
    a = chaplygin_sleigh.OFFSET
    body = model.body("S", mass=chaplygin_sleigh.MASS, inertia=chaplygin_sleigh.INERTIA)
    model.contacts.skate("blade", model.marker(body, [-a, 0]))
    system = model.compile()
    given = {"S_x": a, "S_y": 0.0, "S_a": 0.0, "S_vx": chaplygin_sleigh.FORWARD, "S_w": chaplygin_sleigh.TURNING}
    motion = system.simulate(system.initial(given), 6.0, t_eval=np.linspace(0, 6, 61), integrator=SHARP)
    exact = chaplygin_sleigh.exact(motion.t)
    np.testing.assert_allclose(motion["S_a"], exact["phi"], atol=1e-8)
    np.testing.assert_allclose(motion["S_w"], exact["w"], atol=1e-8)
    forward = motion["S_vx"] * np.cos(exact["phi"]) + motion["S_vy"] * np.sin(exact["phi"])
    np.testing.assert_allclose(forward, exact["v"], atol=1e-8)
    across = np.stack([-np.sin(exact["phi"]), np.cos(exact["phi"]), 0 * motion.t], axis=-1)
    np.testing.assert_allclose(motion.joint_reaction("blade").force, exact["blade"][:, None] * across, atol=1e-8)


class TestWheels:
    """A wheel with a spin of its own under a body in the plane, driven by a torque."""

    MASS, SPIN, RADIUS, TORQUE = 2.0, 0.3, 0.5, 1.2

    def vehicle(self):
        model = da.Model("wheel")
        (turn,) = model.coordinates("turn")
        body = model.body("B", mass=self.MASS, inertia=0.4)
        model.energy(kinetic=self.SPIN * turn.diff() ** 2 / 2)
        model.generalized_force({turn: self.TORQUE})
        return model, body, turn

    def roll(self, model):
        system = model.compile()
        given = {"B_x": 0.0, "B_y": 0.0, "B_a": 0.3, "B_w": 0.0, "turn": 0.0, "turn_dot": 0.5}
        return system.simulate(system.initial(given, guess={"B_vx": 0.2, "B_vy": 0.1}), 3.0, integrator=SHARP)

    def distance(self, t):
        rate = self.TORQUE * self.RADIUS / (self.SPIN + self.MASS * self.RADIUS**2)
        return 0.5 * self.RADIUS * t + rate * t**2 / 2

    def test_wheel_advances_and_pushes(self):
        model, body, turn = self.vehicle()
        model.contacts.wheel("W", body, radius=self.RADIUS, spin=turn.diff())
        motion = self.roll(model)
        np.testing.assert_allclose(motion["B_x"], np.cos(0.3) * self.distance(motion.t), atol=1e-8)
        np.testing.assert_allclose(motion["B_y"], np.sin(0.3) * self.distance(motion.t), atol=1e-8)
        push = self.MASS * self.TORQUE * self.RADIUS / (self.SPIN + self.MASS * self.RADIUS**2)
        np.testing.assert_allclose(motion.joint_reaction("W").force[:, 0], np.cos(0.3) * push, atol=1e-8)

    def test_one_nonlinear_constraint_and_a_skate_are_the_same(self):
        model, body, turn = self.vehicle()
        model.contacts.skate("blade", body)
        model.contacts.speed_of_rolling("roll", body, radius=self.RADIUS, spin=turn.diff())
        motion = self.roll(model)
        np.testing.assert_allclose(motion["B_x"], np.cos(0.3) * self.distance(motion.t), atol=1e-8)


class TestOverconstrainedFourBar:
    """Three links on four parallel hinges in space: Gruebler counts 3 * 6 - 4 * 5 = -2, and yet it moves."""

    LENGTHS, PINS = (0.5, 1.2, 0.9), ([0, 0, 0], [1.1, 0, 0])
    GUESS = (1.0, 0.3, 4.2)

    def build(self, *, spatial):
        model = da.Model("four-bar")
        before, last = (model.marker(model.ground, pin) for pin in self.PINS)
        for k, length in enumerate(self.LENGTHS):
            moment = length**2 / 12
            body = model.body(f"L{k}", mass=1.0, inertia=[0.01, moment, moment] if spatial else moment)
            model.joints.revolute(f"J{k}", before, model.marker(body, [-length / 2, 0, 0]))
            before = model.marker(body, [length / 2, 0, 0])
        model.joints.revolute("J3", before, last)
        model.gravity([0, -9.81, 0])
        return model.compile()

    def angles_at_first(self):
        system = self.build(spatial=False)
        at, guess = np.zeros(2), {}
        for k, (a, length) in enumerate(zip(self.GUESS, self.LENGTHS, strict=True)):
            along = length * np.array([np.cos(a), np.sin(a)])
            guess |= {f"L{k}_x": at[0] + along[0] / 2, f"L{k}_y": at[1] + along[1] / 2, f"L{k}_a": a}
            at = at + along
        return system, system.initial({"L0_a": 1.0, "L0_w": 2.0}, guess=guess)

    def test_motion_is_that_of_the_plane_and_redundancy_is_named(self):
        plane, first = self.angles_at_first()
        times = np.linspace(0, 2, 21)
        flat = plane.simulate(first, 2.0, t_eval=times, integrator=SHARP)
        system = self.build(spatial=True)
        given = {}
        for k in range(3):
            a = first[f"L{k}_a"]
            given |= {f"L{k}_{c}": first[f"L{k}_{c}"] for c in ("x", "y", "vx", "vy")}
            given |= {f"L{k}_z": 0.0, f"L{k}_vz": 0.0, f"L{k}_wx": 0.0, f"L{k}_wy": 0.0, f"L{k}_wz": first[f"L{k}_w"]}
            given |= {f"L{k}_e0": np.cos(a / 2), f"L{k}_e1": 0.0, f"L{k}_e2": 0.0, f"L{k}_e3": np.sin(a / 2)}
        state = system.initial(given)
        found = system.diagnose(state)
        assert system.nu - system.nc == -2
        assert found.dof == 1
        assert len(found.redundant) == 3
        assert found.ok
        for redundancy in found.redundant:  # heights and tilts, never what happens in the plane
            assert redundancy.name.split("[")[1] in ("2]", "3]", "4]")
        in_plane = [f"J{k}[{row}]" for k in range(4) for row in (0, 1)]
        assert all(found.unique[name] for name in in_plane)
        assert not any(found.unique[f"J{k}"] for k in range(4))  # a hinge as a whole shares tilting moments
        motion = system.simulate(state, 2.0, t_eval=times, integrator=SHARP)
        assert motion.certificate.ok, motion.certificate
        assert {"J0[2]", "J3[4]"} <= set(motion.certificate.not_unique)
        assert not set(in_plane) & set(motion.certificate.not_unique)
        for k in range(3):
            np.testing.assert_allclose(motion[f"L{k}_x"], flat[f"L{k}_x"], atol=1e-8)
            np.testing.assert_allclose(motion[f"L{k}_wz"], flat[f"L{k}_w"], atol=1e-7)
        for k in range(4):
            a, b = (m.joint_reaction(f"J{k}").force for m in (motion, flat))
            np.testing.assert_allclose(a[:, :2], b[:, :2], atol=1e-7 * np.abs(b).max())

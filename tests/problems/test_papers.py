"""Examples of the source papers against references derived by hand or integrated by SciPy."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert import problems

ACCURATE = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-13}


class TestDuffing:
    """Kalaba and Udwadia, example 3; the reactions cancel in the sum, so x2 follows a forced Duffing equation."""

    m1, m2, k1, k2, e1, e2, c1, c2, A, omega = 2.0, 1.0, 10.0, 12.0, 1.0, 2.0, 0.1, 0.15, 1.0, 2 * np.pi

    def track(self, t, alpha):
        """s, s', s''."""
        decay, wave, slope = self.A * np.exp(-alpha * t), np.sin(self.omega * t), np.cos(self.omega * t)
        first = decay * (self.omega * slope - alpha * wave)
        second = decay * ((alpha**2 - self.omega**2) * wave - 2 * alpha * self.omega * slope)
        return decay * wave, first, second

    def motion(self, alpha, **options):
        integrator = da.DOP853(rtol=1e-10)
        return problems.get("duffing_tracking").simulate(parameters={"alpha": alpha}, integrator=integrator, **options)

    @pytest.mark.parametrize("alpha", [4.0, 0.4])
    @pytest.mark.parametrize("drift", [da.Projection(), da.NoCorrection()], ids=["projection", "as published"])
    def test_tracks(self, alpha, drift):
        motion = self.motion(alpha, drift=drift)
        s, rate, _ = self.track(motion.t, alpha)
        np.testing.assert_allclose(motion["x1"] - motion["x2"], s, rtol=0, atol=1e-9)
        np.testing.assert_allclose(motion["v1"] - motion["v2"], rate, rtol=0, atol=1e-9)

    @pytest.mark.parametrize("alpha", [4.0, 0.4])
    def test_motion(self, alpha):
        def rates(t, state):
            x, v = state
            pull = self.m1 * self.track(t, alpha)[2] + self.c2 * v + self.k2 * x + self.e2 * x**3
            return [v, -pull / (self.m1 + self.m2)]

        times = np.linspace(0.0, 10.0, 51)
        reference = solve_ivp(rates, (0, 10), [1.0, 2.0], t_eval=times, **ACCURATE).y
        motion = self.motion(alpha, t_eval=times)
        np.testing.assert_allclose([motion["x2"], motion["v2"]], reference, rtol=0, atol=1e-8)

    @pytest.mark.parametrize("alpha", [4.0, 0.4])
    def test_control_forces(self, alpha):
        """m x'' minus the given forces, from the motion alone, and from the track alone for the first mass."""
        motion = self.motion(alpha)
        x1, x2, v1, v2 = (motion[name] for name in ("x1", "x2", "v1", "v2"))
        spring = self.k1 * (x1 - x2) + self.c1 * (v1 - v2) + self.e1 * (x1 - x2) ** 3
        first = self.m1 * motion["v1'"] + spring
        second = self.m2 * motion["v2'"] + self.k2 * x2 + self.c2 * v2 + self.e2 * x2**3 - spring
        np.testing.assert_allclose(motion.reactions, np.column_stack([first, second]), rtol=0, atol=1e-11)
        np.testing.assert_allclose(motion["track"], first, rtol=0, atol=1e-11)
        s, rate, change = self.track(motion.t, alpha)
        pull = -(self.k2 * x2 + self.c2 * v2 + self.e2 * x2**3 + self.m1 * change) / (self.m1 + self.m2)
        by_hand = self.m1 * (pull + change) + self.k1 * s + self.c1 * rate + self.e1 * s**3
        np.testing.assert_allclose(motion["track"], by_hand, rtol=0, atol=1e-8)

    def test_published_start(self):
        problem = problems.get("duffing_tracking")
        state = problem.state(problem.system())
        np.testing.assert_allclose([*state.q, *state.u], [1, 1, 2 + 2 * np.pi, 2], atol=1e-12)


class TestNonlinearPendulum:
    """Kalaba and Udwadia, example 2."""

    L, g = 20.0, 4 * np.pi

    def run(self, a, mu, **options):
        problem = problems.get("nonlinear_pendulum")
        system = problem.system()
        state = system.initial({**problem.given, "vx": a}, guess=problem.guess, parameters={"mu": mu})
        return system.simulate(state, 10.0, **options)

    def test_constant_length_is_a_pendulum_in_its_angle(self):
        times = np.linspace(0.0, 10.0, 51)

        def rates(_, state):
            return [state[1], -self.g / self.L * np.sin(state[0])]

        angle, rate = solve_ivp(rates, (0, 10), [0.0, 20.0 / self.L], t_eval=times, **ACCURATE).y
        motion = self.run(20.0, 0.0, t_eval=times)
        expected = [self.L * np.sin(angle), self.L * np.cos(angle)]
        expected += [self.L * rate * np.cos(angle), -self.L * rate * np.sin(angle)]
        found = [motion[name] for name in ("x", "y", "vx", "vy")]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)
        tension = -self.g * np.cos(angle) - self.L * rate**2  # along the rod, outwards
        np.testing.assert_allclose(2 * self.L * motion["length"], tension, rtol=0, atol=1e-7)
        dense = self.run(20.0, 0.0)
        assert np.rad2deg(np.arctan2(dense["x"], dense["y"]).max()) == pytest.approx(78.2, abs=0.5)  # "about 80"

    @pytest.mark.parametrize("a", [0.5, 1.0, 2.0, 4.0])
    def test_varying_length(self, a):
        """Figures 2 and 3: held to the curve, and as fast as the fall from its start allows."""
        motion = self.run(a, -0.1)
        assert motion.certificate.ok, motion.certificate
        x, y, vx, vy = (motion[name] for name in ("x", "y", "vx", "vy"))
        np.testing.assert_allclose(x**2 + y**2, self.L**2 * (1 + 0.1 * np.sin(x**2)), rtol=0, atol=1e-9)
        np.testing.assert_allclose(vx**2 + vy**2, a**2 + 2 * self.g * (y - self.L), rtol=0, atol=1e-6)


class TestSpatialFourBar:
    """Dinh Van Phong, (3.1)-(3.6), with q1'^2 in the second row of (3.3) and his sign of la."""

    m1, m2, g = 1.3, 0.7, 9.81

    def reference(self, q, u):
        (s1, s2), (c1, c2), (u1, u2), m2 = np.sin(q), np.cos(q), u, self.m2
        G = np.array([8 * s1 * s2 - 4 * c1, -8 * c1 * c2])
        K = np.zeros((3, 3))
        K[:2, :2] = [[4 * self.m1 / 3 + m2 * (1 + 4 * s2**2 / 3), m2 * c2], [m2 * c2, 4 * m2 / 3]]
        K[2, :2] = K[:2, 2] = G
        k = [
            m2 * s2 * (u2**2 - 8 * u1 * u2 * c2 / 3),
            -m2 * self.g * s2 + 4 * m2 * u1**2 * c2 * s2 / 3,
            -((8 * c1 * s2 + 4 * s1) * u1**2 + 16 * s1 * c2 * u1 * u2 + 8 * c1 * s2 * u2**2),
        ]
        return np.linalg.solve(K, k), G

    def test_consistent_start(self):
        problem = problems.get("spatial_four_bar")
        state = problem.state(problem.system(), {"m1": self.m1, "m2": self.m2})
        q1, q2 = state.q
        assert q1 == 0.3
        assert q2 == pytest.approx(np.arcsin((2 - np.sin(q1)) / (2 * np.cos(q1))), abs=1e-12)  # (3.1)
        (a1, a2, la), G = self.reference(state.q, state.u)
        assert G @ state.u == pytest.approx(0, abs=1e-12)  # (3.5)
        np.testing.assert_allclose(state.udot, [a1, a2], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(state.multipliers, [-la], rtol=1e-12, atol=1e-12)

    def test_motion(self):
        motion = problems.get("spatial_four_bar").simulate(parameters={"m1": self.m1, "m2": self.m2})
        assert motion.certificate.ok, motion.certificate
        for q, u, udot, la in zip(motion.q, motion.u, motion.udot, motion.multipliers, strict=True):
            expected, _ = self.reference(q, u)
            np.testing.assert_allclose([*udot, -la[0]], expected, rtol=1e-10, atol=1e-10)


class TestCar:
    """Dinh Van Phong, (3.7)-(3.17), with the sign of (3.7) corrected."""

    a, b, R, m0, I0, I, F0, k1, k2 = 1.2, 1.3, 20.0, 1200.0, 1800.0, 30.0, 600.0, 5.0, 100.0

    @pytest.fixture(scope="class")
    @staticmethod
    def manoeuvre():
        return problems.get("car").simulate()

    def residuals(self, motion):
        """(3.10), (3.11), (3.15) and the derivatives of (3.7), (3.8), each relative to the size of its terms."""
        x, y, phi, theta = motion.q.T
        vx, vy, w, n = motion.u.T
        ax, ay, e, k = motion.udot.T
        a, b, R, L, Md = self.a, self.b, self.R, self.a + self.b, motion["Md"]
        s, c, st, ct = np.sin(phi), np.cos(phi), np.sin(theta), np.cos(theta)
        sf, cf = np.sin(phi + theta), np.cos(phi + theta)
        rows = {
            "3.10": [
                self.m0 * (L * ct * c - b * st * s) * ax,
                self.m0 * (L * ct * s + b * st * c) * ay,
                (self.I0 + self.I) * st * e + self.I * st * k,
                -(self.F0 - self.k1 * (vx**2 + vy**2)) * L * ct,
                self.k2 * st * w**2,
            ],
            "3.11": [self.I * e, self.I * k, -Md],
            "3.15": [vx**2, x * ax, vy**2, (y - R) * ay],
            "3.7 differentiated": [-s * ax, c * ay, -b * e, -(vx * c + vy * s) * w],
            "3.8 differentiated": [-sf * ax, cf * ay, a * ct * e, -(vx * cf + vy * sf) * (w + n), -a * st * n * w],
        }
        return {name: np.abs(sum(terms)) / sum(np.abs(term) for term in terms) for name, terms in rows.items()}

    def test_satisfies_its_five_equations(self, manoeuvre):
        for name, residual in self.residuals(manoeuvre).items():
            assert residual.max() < 1e-12, name

    def test_goes_once_round_the_circle(self, manoeuvre):
        assert manoeuvre.certificate.ok, manoeuvre.certificate
        assert manoeuvre["phi"][-1] > 2 * np.pi
        radius = np.hypot(manoeuvre["x"], manoeuvre["y"] - self.R)
        np.testing.assert_allclose(radius, self.R, rtol=0, atol=1e-9)

    def test_wheels_carry_the_car(self, manoeuvre):
        """Without redundancy the side forces of the wheels are unique: Newton's law for the mass centre."""
        m, s = manoeuvre, manoeuvre["phi"] + manoeuvre["theta"]
        drive = self.F0 - self.k1 * (m["vx"] ** 2 + m["vy"] ** 2)
        fx = drive * np.cos(m["phi"]) - m["rear"] * np.sin(m["phi"]) - m["front"] * np.sin(s)
        fy = drive * np.sin(m["phi"]) + m["rear"] * np.cos(m["phi"]) + m["front"] * np.cos(s)
        np.testing.assert_allclose(self.m0 * m.udot[:, :2], np.column_stack([fx, fy]), rtol=0, atol=1e-8)

    def test_slip_angle_follows_from_the_arc(self, manoeuvre):
        """beta_s = 1/R - sin(beta)/b from beta = 0: with z = tan(beta/2), z_s = (1 + z^2)/(2 R) - z/b, by parts."""
        m, b, R = manoeuvre, self.b, self.R
        arc = R * np.unwrap(np.arctan2(m["x"], R - m["y"]))
        root = np.sqrt(R**2 / b**2 - 1)
        z1, z2 = R / b - root, R / b + root  # zeros of z^2 - 2 R z/b + 1
        decay = np.exp(-arc * root / R)
        z = z1 * z2 * (1 - decay) / (z2 - z1 * decay)
        steering = np.arctan((self.a + b) / b * np.tan(2 * np.arctan(z)))
        np.testing.assert_allclose(m["theta"], steering, rtol=0, atol=1e-8)
        assert m["theta"][-1] == pytest.approx(np.arctan((self.a + b) / np.sqrt(R**2 - b**2)), abs=1e-9)

    def test_steady_circle(self):
        """Started with sin(beta) = b/R the steering stays; J v' = F - K v^2 gives v by tanh, and Md = I v'/R."""
        system = problems.get("car").system()
        beta = np.arcsin(self.b / self.R)
        given = {"x": 0.0, "phi": -beta, "vx": 10.0}
        state = system.initial(given, guess={"y": 0.0, "theta": 0.1})
        assert state["steering"] == pytest.approx(0.0, abs=1e-12)
        motion = system.simulate(state, 10.0)
        assert motion.certificate.ok, motion.certificate
        J = self.m0 + (self.I0 + self.I) / self.R**2
        F, K = self.F0 * np.cos(beta), self.k1 * np.cos(beta) + self.k2 / self.R**3
        final = np.sqrt(F / K)
        v = final * np.tanh(np.sqrt(F * K) / J * motion.t + np.arctanh(10.0 / final))
        np.testing.assert_allclose(np.hypot(motion["vx"], motion["vy"]), v, rtol=0, atol=1e-8)
        np.testing.assert_allclose(motion["Md"], self.I * (F - K * v**2) / J / self.R, rtol=0, atol=1e-7)
        np.testing.assert_allclose(motion["theta"], motion["theta"][0], rtol=0, atol=1e-9)

    def test_counts(self, manoeuvre):
        """Path and heading tie positions, rear and front add one independent rate: n_p = 2, n_v = 1."""
        report = problems.get("car").state(manoeuvre.system).report
        assert (report.n_p, report.n_v) == (2, 1)
        assert manoeuvre.system.constraint_names == ("path", "heading", "rear", "front")
        assert not np.abs(manoeuvre["path"]).any()  # it has no reaction

    def test_the_printed_start_is_refused_by_name(self):
        """x = 1, phi = theta = 0.1 and x' = 10 (3.13) do not head along the circle."""
        system = problems.get("car").system()
        with pytest.raises(da.InitialStateError, match="x, phi and theta are tied by `path`, `heading`") as caught:
            system.initial({"x": 1.0, "phi": 0.1, "theta": 0.1, "vx": 10.0})
        assert caught.value.remedies
        with pytest.raises(da.InitialStateError, match="x and y are tied by `path`"):
            system.initial({"x": 1.0, "y": -1.044, "vx": 10.0})

    def test_the_published_count_cannot_hold(self):
        """x, phi, theta and x' given, as (3.13) has it: y' and phi' would have to satisfy three equations."""
        phi, theta, x, y = 0.1, 0.1, 1.0, self.R - np.sqrt(self.R**2 - 1.0)
        G = np.array(
            [
                [-np.sin(phi), np.cos(phi), -self.b],
                [-np.sin(phi + theta), np.cos(phi + theta), self.a * np.cos(theta)],
                [x, y - self.R, 0.0],
            ]
        )
        assert abs(np.linalg.det(G)) > 0.1  # so that only x' = y' = phi' = 0 is possible

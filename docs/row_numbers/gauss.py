"""Kalaba, Udwadia: Gauss's principle."""

from __future__ import annotations

import numpy as np
import sympy as sp

import dalembert as da
from dalembert import problems
from row_numbers.measured import HOLDS, Measured, below


def amplitude() -> float:
    """Largest angle of the plain pendulum of example 2, in degrees."""
    system = problems.get("nonlinear_pendulum").system()
    state = system.initial({"x": 0.0, "vx": 20.0}, guess={"y": 20.0}, parameters={"mu": 0.0})
    motion = system.simulate(state, 10.0)
    return float(np.rad2deg(np.arctan2(np.abs(motion["x"]), motion["y"]).max()))


def tracking_error(alpha: float) -> float:
    """Largest error of the Duffing oscillators at a tolerance of 1e-10 without correction, in m."""
    how = {"formulation": da.UdwadiaKalaba(), "drift": da.NoCorrection()}
    method = da.KuttaMerson(rtol=1e-10, atol=1e-10)
    motion = problems.get("duffing_tracking").simulate(parameters={"alpha": alpha}, integrator=method, **how)
    return float(np.abs(motion.violation["position"]["track"]).max())


def other_inverses() -> float:
    """Largest relative difference of u' with other g-inverses than Moore-Penrose's, Appell-Hamel over 1 s."""
    problem, times = problems.get("appell_hamel_linear"), np.linspace(0.0, 1.0, 11)
    other = da.UdwadiaKalaba(g_inverse=_weighted_inverse, least_squares_inverse=_skewed_inverse)
    one, two = (problem.simulate(t_end=1.0, t_eval=times, formulation=f) for f in (da.UdwadiaKalaba(), other))
    return float(np.abs(one.udot - two.udot).max() / np.abs(one.udot).max())


def _weighted_inverse(D: np.ndarray) -> np.ndarray:
    W = np.diag(np.arange(1.0, D.shape[1] + 1.0))
    return W @ D.T @ np.linalg.inv(D @ W @ D.T)


def _skewed_inverse(H: np.ndarray) -> np.ndarray:
    P = np.linalg.pinv(H, 1e-10)
    return P + (np.eye(H.shape[1]) - P @ H) @ np.ones((H.shape[1], H.shape[0]))


def split_force() -> float:
    """Largest difference of feedback + feed-forward to the control force along a motion, in N."""
    m = problems.get("duffing_tracking").simulate()
    back, forward = da.UdwadiaKalaba().split_force(m.system, m.t, m.q, m.u, m.parameters)
    return float(np.abs(back + forward - m.reactions).max())


def least_measure() -> float:
    """Least increase of Gauss's measure (16) over 1000 random admissible accelerations of the Duffing oscillators."""
    m, rng = problems.get("duffing_tracking").simulate(t_end=1.0), np.random.default_rng(7)
    at = (float(m.t[-1]), m.q[-1], m.u[-1])
    least = m.system.gauss_measure(*at, m.udot[-1], m.parameters)
    others = [m.system.gauss_measure(*at, m.udot[-1] + w, m.parameters) for w in rng.uniform(-9.0, 9.0, 1000)]
    return float(min(others) - least)


def dependent_rows() -> float:
    """Largest difference of u' between a pendulum with its rod stated once and twice, in m/s2."""
    found = []
    for copies in (1, 2):
        model = da.Model("pendulum")
        x, y = model.coordinates("x y")
        model.particle("bob", mass=1.0, position=[x, y])
        model.gravity([0, -9.81])
        for k in range(copies):
            model.constrain(x**2 + y**2 - 1, name=f"rod{k}")
        state = model.compile().initial({"x": 0.6, "x'": 1.0}, guess={"y": -1.0})
        found.append(
            state.system.simulate(state, 1.0, t_eval=np.linspace(0, 1, 11), formulation=da.UdwadiaKalaba()).udot
        )
    return float(np.abs(found[0] - found[1]).max())


def driven(expression: str) -> float:
    """Largest relative error of a bead, |r| = cosh(2 t), on a rod that turns: rheonomic, or stated by velocities."""
    model = da.Model("bead")
    x, y = model.coordinates("x y")
    model.particle("bead", mass=1.0, position=[x, y])
    rod = x * sp.sin(2 * model.t) - y * sp.cos(2 * model.t)
    model.constrain(rod if expression == "rheonomic" else sp.diff(rod, model.t), name="rod")
    state = model.compile().initial({"x": 1.0, "y": 0.0, "x'": 0.0})
    m = state.system.simulate(state, 1.5, integrator=da.DOP853(rtol=1e-11, atol=1e-12))
    return float(np.abs(np.hypot(m["x"], m["y"]) / np.cosh(2 * m.t) - 1).max())


def equation_38() -> float:
    """Terms in the difference of the derived u' to (38)."""
    equations = problems.get("kalaba_udwadia_particle").system().equations(da.UdwadiaKalaba()).in_rates()
    (x, _, z), t = equations.coordinates, equations.time
    printed = z.diff(t) * x.diff(t) / (1 + z**2) * sp.Matrix([-z, 1, 0])
    return float(sum(entry != 0 for entry in sp.simplify(equations.udot - printed)))


def in_the_angle() -> float:
    """Largest difference of x of example 2, mu = 0, by (31) and by its equation in the angle, in m."""
    system = problems.get("nonlinear_pendulum").system()
    state = system.initial({"x": 0.0, "vx": 20.0}, guess={"y": 20.0}, parameters={"mu": 0.0})
    motion = system.simulate(state, 10.0, formulation=da.UdwadiaKalaba(), integrator=da.DOP853(rtol=1e-11))
    model = da.Model("pendulum in its angle")
    (theta,) = model.coordinates("theta")
    model.energy(kinetic=200 * theta.diff() ** 2, potential=-80 * np.pi * sp.cos(theta))
    start = model.compile().initial({theta: 0.0, theta.diff(): 1.0})
    angle = start.system.simulate(start, 10.0, t_eval=motion.t, integrator=da.DOP853(rtol=1e-12))["theta"]
    return float(np.abs(motion["x"] - 20 * np.sin(angle)).max())


NUMBERS = (
    Measured("G1", "u' by (30) with other g-inverses", "(30)", other_inverses, "{:.0e}", below(1e-8), HOLDS),
    Measured("G2", "feedback + feed-forward - force (32), along a motion", "(32)", split_force, "{:.0e} N", below(1e-9),
             HOLDS),
    Measured("G2", "increase of Gauss's measure (16), 1000 other u'", "least, (16)", least_measure,
             "{:.0e} N2/kg and more", lambda v: v > 0.0),
    Measured("G3", "u' with a rod stated twice, rank p1 < p", "unique", dependent_rows, "{:.0e} m/s2", below(1e-8)),
    Measured("G4", "bead on a turning rod beside cosh(2 t), rheonomic", "rheonomic", lambda: driven("rheonomic"),
             "{:.0e}", below(1e-9), HOLDS),
    Measured("G4", "bead on a turning rod beside cosh(2 t), by velocities", "acatastatic", lambda: driven("velocity"),
             "{:.0e}", below(1e-9), HOLDS),
    Measured("G5", "terms in which u' differs from (38)", "none", equation_38, "{:.0f}", lambda v: v == 0.0),
    Measured("G6", "x by (31) beside the angle, figure 1", "the same", in_the_angle, "{:.0e} m", below(1e-7)),
    Measured("G6", "largest angle, example 2", "about 80 deg", amplitude, "{:.1f} deg", lambda v: abs(v - 80) < 3),
    Measured("G7", "tracking error, alpha = 4", "about 1e-9 m", lambda: tracking_error(4.0), "{:.1e} m",
             lambda v: 1e-10 < v < 5e-9),
    Measured("G7", "tracking error, alpha = 0.4", "about 1e-9 m", lambda: tracking_error(0.4), "{:.1e} m",
             lambda v: 1e-10 < v < 5e-9),
)  # fmt: skip

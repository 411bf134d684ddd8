"""Bajodah, Hodges, Chen: nonminimal Kane, nonlinear nonholonomic constraints."""

from __future__ import annotations

import numpy as np

import dalembert as da
from dalembert import problems
from row_numbers.measured import HOLDS, Measured, below

DAMPED = da.Baumgarte(20, 100)


def uncorrected_energy(name: str) -> np.ndarray:
    """E - E(0) of Appell-Hamel without correction by Kutta-Merson at 0.01 s, (nt,)."""
    how = {"formulation": da.NonminimalKane(u_ind=["u1", "u2"]), "drift": da.NoCorrection()}
    energy = problems.get(name).simulate(integrator=da.KuttaMerson(step=0.01), **how).energy
    return energy - energy[0]


def track_violation(drift: object, step: float) -> float:
    """Largest |phi| of the sliding particle over 500 s, in m."""
    how = {"formulation": da.NonminimalKane(u_ind=["u1"]), "integrator": da.KuttaMerson(step=step)}
    motion = problems.get("sliding_particle").simulate(t_end=500.0, drift=drift, **how)
    return float(np.abs(motion.violation["position"]["track"]).max())


def settled_rate() -> float:
    """theta' of the Appell-Hamel mechanism after 10 s, in rad/s."""
    return float(problems.get("appell_hamel").simulate()["theta'"][-1])


def kane_balance() -> float:
    """Largest entry of A2 (F + F*) along the Appell-Hamel mechanism, in N m."""
    m = problems.get("appell_hamel").simulate()
    at, free = (m.t, m.q, m.u), ("u1", "u2")
    F = m.system.generalized_active_forces(*at, u_ind=free)
    return float(np.abs(F + m.system.generalized_inertia_forces(*at, m.udot, u_ind=free)).max())


def eliminated(problem: str, level: str, **how: object) -> float:
    """Largest violation at a level with the minimal state and no correction, RK4 at 5 ms."""
    how = {"formulation": da.MinimalState(), "drift": da.NoCorrection(), "integrator": da.RK4(step=0.005)} | how
    values = problems.get(problem).simulate(**how).violation[level]
    return float(max(np.abs(value).max() for value in values.values()))


def chosen_speeds() -> float:
    """Largest error of four coordinates driven by three speeds, a torque-free top over ten turns, in rad/s."""
    problem = problems.get("asymmetric_top")
    motion = problem.simulate(t_end=problem.t_end / 10, integrator=da.DOP853(rtol=1e-11, atol=1e-12))
    return float(max(np.abs(motion[name] - values).max() for name, values in problem.exact(motion.t).items()))


def constraint_models() -> float:
    """Largest difference of coordinates between the nonlinear and the linear constraints, in m and rad."""
    times = np.linspace(0.0, 10.0, 101)
    one, other = (problems.get(name).simulate(t_eval=times) for name in ("appell_hamel", "appell_hamel_linear"))
    return float(np.abs(one.q - other.q).max())


def partitioned() -> float:
    """Largest relative difference of u' between T u' = V, (44), and multipliers along the Appell-Hamel mechanism."""
    motion = problems.get("appell_hamel").simulate(formulation=da.NonminimalKane(u_ind=["u1", "u2"]))
    saddle = [_multipliers(motion.system, *at) for at in zip(motion.t, motion.q, motion.u, strict=True)]
    return float(np.abs(np.array(saddle) - motion.udot).max() / np.abs(motion.udot).max())


def _multipliers(system: da.System, t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    """u' (nu,) from [M -A^T; A 0]."""
    M, A = system.mass_matrix(t, q, u), system.constraint_jacobian(t, q, u)
    K = np.block([[M, -A.T], [A, np.zeros((len(A), len(A)))]])
    return np.linalg.solve(K, np.append(system.forces(t, q, u), system.constraint_bias(t, q, u)))[: len(M)]


def price_of_damping() -> float:
    """Energy error of the damped equations beside that of the plain ones, dt = 0.001 s, 500 s (figures 17, 14)."""
    errors = []
    for drift in (DAMPED, da.NoCorrection()):
        how = {"formulation": da.NonminimalKane(u_ind=["u1"]), "integrator": da.KuttaMerson(step=1e-3)}
        energy = problems.get("sliding_particle").simulate(t_end=500.0, drift=drift, **how).energy
        errors.append(np.abs(energy - energy[0]).max())
    return float(errors[0] / errors[1])


def merson_order() -> float:
    """The order of Kutta-Merson's method, by halving the step on the four-bar over 1 s.

    On the sliding particle two parts of the error cancel at such steps, and halving them shows no order.
    """
    problem, at = problems.get("four_bar"), {"t_end": 1.0, "t_eval": [1.0]}
    exact = problem.simulate(integrator=da.DOP853(rtol=1e-13, atol=1e-14), **at).q
    errors = [
        np.abs(problem.simulate(drift=da.NoCorrection(), integrator=da.KuttaMerson(step=h), **at).q - exact).max()
        for h in (0.01, 0.005)
    ]
    return float(np.log2(errors[0] / errors[1]))


NUMBERS = (
    Measured("K1", "four coordinates, three speeds beside Euler's solution", "q' = C u + D, (1)", chosen_speeds,
             "{:.0e} rad/s", below(1e-8), HOLDS),
    Measured("K2", "motion by nonlinear and by linear constraints, section 2.5", "not different", constraint_models,
             "{:.0e} m", below(1e-7)),
    Measured("K3", "u' by T u' = V beside multipliers", "(44)", partitioned, "{:.0e}", below(1e-11), HOLDS),
    Measured("K5", "energy error with gains beside without, figures 17, 14", "deterioration", price_of_damping,
             "{:.0f} times", lambda v: v > 1.0),
    Measured("K6", "order of Kutta-Merson, four-bar", "method used", merson_order, "{:.2f}", lambda v: 3.8 < v < 4.2,
             HOLDS),
    Measured("K4", "A2 (F + F*) along a motion, (38)", "0", kane_balance, "{:.0e} N m", lambda v: v < 1e-9),
    Measured("K8", "theta' settles, figures 2, 4", "0", settled_rate, "{:.1e} rad/s", lambda v: abs(v) < 1e-3),
    Measured("K8", "energy error NC, figure 9", "subdued", lambda: uncorrected_energy("appell_hamel")[-1],
             "{:.1e} J", lambda v: abs(v) < 1e-9, "as printed for I = 0.1 to 2 kg m²; I is not given"),
    Measured("K8", "energy error LC, figure 9", "grows", lambda: uncorrected_energy("appell_hamel_linear")[-1],
             "{:.1e} J", lambda v: v < -1e-9),
    Measured("K9", "phi with gains, dt = 0.001 s, figure 15", "< 2.0e-11 m", lambda: track_violation(DAMPED, 1e-3),
             "{:.2e} m", lambda v: v < 2e-11),
    Measured("K9", "phi with gains, dt = 0.01 s, figure 18", "the least", lambda: track_violation(DAMPED, 0.01),
             "{:.1e} m", lambda v: v < 1e-6, "differs: Blajer's is less, see misprints"),
    Measured("K7", "phi after Blajer's correction, figure 18", "more than Baumgarte's",
             lambda: track_violation(da.Blajer(), 0.01), "{:.1e} m", lambda v: v < 1e-13,
             "differs: round-off; 6.0e-8 m before correction"),
    Measured("K4", "velocity constraints with (q, u_I)", "(39)", lambda: eliminated("appell_hamel", "velocity"),
             "{:.0e} m/s", lambda v: v < 1e-13, HOLDS),
)  # fmt: skip

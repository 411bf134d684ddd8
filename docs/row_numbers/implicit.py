"""Wu, Zhang, Guo, Li: state space by singular values; and Moore's lecture on holonomic constraints."""

from __future__ import annotations

import numpy as np

import dalembert as da
from dalembert import problems
from dalembert.problems import flexible_pendulum
from row_numbers.measured import HOLDS, Measured, below


def loop_violation(**how: object) -> float:
    """Largest |phi| of the lecture's four-bar over 30 s, in m."""
    return float(np.abs(problems.get("four_bar").simulate(**how).evaluation.phi).max())


def held(problem: str, level: str) -> float:
    """Largest violation with StateSpaceSVD, whose own iteration solves the constraints, over 2 s."""
    motion = problems.get(problem).simulate(t_end=2.0, integrator=da.StateSpaceSVD(step=0.01))
    return float(max(np.abs(values).max() for values in motion.violation[level].values()))


def beam_runs() -> float:
    """Largest difference of the end of the flexible pendulum between StateSpaceSVD and an explicit run, 1.2 s, in m."""
    system = flexible_pendulum.build().compile()
    state, times = problems.get("flexible_pendulum").state(system), np.linspace(0.0, 1.2, 25)
    methods = da.StateSpaceSVD(rtol=1e-7, atol=1e-9), da.DOP853(rtol=1e-9, atol=1e-11)
    one, two = (flexible_pendulum.end_of(system.simulate(state, 1.2, t_eval=times, integrator=m)) for m in methods)
    return float(np.abs(one - two).max())


def ida_residual(tolerance: float) -> float:
    """Largest |phi| of raw samples of the lecture's four-bar by IDA over 5 s, in m."""
    method = da.IDA(rtol=tolerance, atol=tolerance, form=da.PseudoSpeeds())
    times = np.linspace(0.0, 5.0, 101)
    return loop_violation(t_end=5.0, t_eval=times, integrator=method, drift=da.NoCorrection())


def lecture_start() -> float:
    """What is left of the loop, its rate and its second rate at the start, in m, m/s and m/s2."""
    problem = problems.get("four_bar")
    residuals = problem.state(problem.system()).residuals
    levels = ("position", "velocity", "acceleration")
    return float(max(abs(value) for level in levels for value in residuals[level].values()))


def eliminated_loop() -> float:
    """Largest |phi| of the lecture's four-bar over 30 s with u_r eliminated, RK4 at 5 ms, no correction, in m."""
    how = {"formulation": da.MinimalState(u_ind=["u1"]), "drift": da.NoCorrection()}
    return loop_violation(integrator=da.RK4(step=0.005), **how)


NUMBERS = (
    Measured("S1", "velocity constraint of a knife edge, one loop", "solved", lambda: held("knife_edge", "velocity"),
             "{:.0e} m/s", below(1e-12), HOLDS),
    Measured("S2", "position constraint of a pendulum, holonomic only", "solved", lambda: held("pendulum", "position"),
             "{:.0e} m2", below(1e-12), HOLDS),
    Measured("S3", "end of the beam beside explicit Runge-Kutta, 1.2 s", "compared", beam_runs, "{:.0e} m", below(2e-4),
             HOLDS),
    Measured("L1", "loop with u_r eliminated, RK4, 5 ms, 30 s", "2n + M ODEs", eliminated_loop, "{:.1e} m", below(1e-8),
             HOLDS),
    Measured("L2", "phi by IDA, tolerance 1e-6", "small", lambda: ida_residual(1e-6), "{:.0e} m", below(1e-4), HOLDS),
    Measured("L2", "phi by IDA, tolerance 1e-9", "smaller", lambda: ida_residual(1e-9), "{:.0e} m", below(1e-7),
             HOLDS),
    Measured("L3", "what q0, u0, u0' leave of the loop", "satisfied", lecture_start, "{:.0e} m", below(1e-11), HOLDS),
    Measured("L4", "loop without drift control, 30 s", "drifts", lambda: loop_violation(drift=da.NoCorrection()),
             "{:.1e} m", lambda v: v > 1e-10),
    Measured("L4", "loop with drift control, 30 s", "closed", lambda: loop_violation(drift=da.Projection()), "{:.1e} m",
             lambda v: v < 2e-12),
)  # fmt: skip

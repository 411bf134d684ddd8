"""What tests of implicit integrators measure: violations, and errors beside explicit runs at the smallest tolerance."""

import numpy as np

import dalembert as da
from dalembert import problems

TIGHT = da.DOP853(rtol=1e-13, atol=1e-14)


def worst(motion):
    """The largest violation of a position or velocity constraint at the samples."""
    return max(np.abs(motion.evaluation.phi).max(initial=0.0), np.abs(motion.evaluation.psi).max(initial=0.0))


def errors_by_step(name, end, methods):
    """Errors of q and u at the end of a problem, (n, 2), by methods of fixed steps that keep the constraints."""
    problem = problems.get(name)
    system = problem.system()
    state = problem.state(system)
    true = system.simulate(state, end, t_eval=[end], integrator=TIGHT)
    errors = []
    for method in methods:
        motion = system.simulate(state, end, integrator=method, drift=da.NoCorrection())
        assert motion.success, motion.message
        assert worst(motion) < 1e-11
        errors.append([np.abs(motion.q[-1] - true.q[-1]).max(), np.abs(motion.u[-1] - true.u[-1]).max()])
    return np.array(errors)


def errors_by_tolerance(method, tolerances):
    """Errors of q at samples between the steps of the four-bar, (n,), which keep the constraints."""
    problem = problems.get("four_bar")
    system = problem.system()
    state, times = problem.state(system), np.linspace(0, 2, 41)
    true = system.simulate(state, 2.0, t_eval=times, integrator=TIGHT)
    errors = []
    for rtol in tolerances:
        motion = system.simulate(state, 2.0, t_eval=times, integrator=method(rtol=rtol, atol=rtol / 100))
        assert worst(motion) < 1e-10
        errors.append(np.abs(motion.q - true.q).max())
    return np.array(errors)

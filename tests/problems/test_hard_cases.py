"""The cases users fail on: closed chains, singular positions, and stiff references, by every integrator."""

import numpy as np
import pytest

import dalembert as da
from dalembert import problems
from dalembert.problems.closed_chain import closed_chain
from dalembert.problems.n_four_bar import n_four_bar


@pytest.mark.parametrize("n", [4, 5, 10, 20])
def test_closed_chains_swing_for_half_a_minute(n):
    motion = closed_chain(n).simulate()
    assert motion.certificate.ok, motion.certificate
    assert max(np.abs(v).max() for v in motion.violation["position"].values()) < 1e-11
    assert np.abs(motion.energy_balance).max() < 1e-8 * np.ptp(motion.evaluation.kinetic)


IMPLICIT = {  # and the part of the energy turned over that each may lose in half a minute
    "Radau": (da.Radau(), 5e-6),
    "StateSpaceSVD": (da.StateSpaceSVD(rtol=1e-6, atol=1e-8), 5e-4),
    "GeneralizedAlpha": (da.GeneralizedAlpha(rtol=1e-4, atol=1e-6), 5e-2),
    "GeneralizedAlpha, fixed steps": (da.GeneralizedAlpha(step=2e-3), 5e-2),
    "IDA, PseudoSpeeds": (da.IDA(1e-6, 1e-6, da.PseudoSpeeds()), 1e-2),
    "IDA, HillerAnantharaman": (da.IDA(1e-5, 1e-5, da.HillerAnantharaman()), 1e-2),
    "IDA, GearGuptaLeimkuhler": (da.IDA(1e-5, 1e-5, da.GearGuptaLeimkuhler()), 1e-2),
}


@pytest.mark.parametrize("name", IMPLICIT)
@pytest.mark.parametrize("n", [4, 5, 10, 20])
def test_closed_chains_swing_for_half_a_minute_by_every_implicit_method(n, name):
    integrator, lost = IMPLICIT[name]
    motion = closed_chain(n).simulate(t_eval=np.linspace(0.0, 30.0, 301), integrator=integrator)
    assert motion.success, motion.message
    assert motion.t[-1] == 30.0
    for level in ("position", "velocity"):
        assert max(np.abs(v).max() for v in motion.violation[level].values()) < 1e-9
    assert np.abs(motion.energy_balance).max() < lost * np.ptp(motion.evaluation.kinetic)


@pytest.mark.parametrize("n", [2, 10])
def test_many_four_bars_pass_their_singular_positions(n):
    problem = n_four_bar(n)
    times = np.linspace(0.0, 10.0, 101)[1:]
    motion = problem.simulate(t_eval=times)
    assert motion.certificate.ok, motion.certificate
    for name, values in problem.exact(times).items():
        if name[0] in "xy":
            np.testing.assert_allclose(motion[name], values, atol=1e-6, err_msg=name)


INTEGRATORS = {  # largest error of a coordinate, Andrews' mechanism and the car axis
    "default": (None, 1e-9, 1e-9),
    "DOP853": (da.DOP853(rtol=1e-11, atol=1e-13), 1e-10, 1e-10),
    "Tsit5": (da.Tsit5(rtol=1e-11, atol=1e-13), 1e-10, 1e-10),
    "KuttaMerson": (da.KuttaMerson(rtol=1e-11, atol=1e-13), 1e-9, 1e-9),
    "Radau": (da.Radau(rtol=1e-10, atol=1e-12), 1e-8, 1e-8),
    "StateSpaceSVD": (da.StateSpaceSVD(rtol=1e-9, atol=1e-11), 1e-8, 2e-8),
    "IDA": (da.IDA(rtol=1e-11, atol=1e-11), 1e-7, 1e-7),
}


@pytest.mark.parametrize("name", INTEGRATORS)
@pytest.mark.parametrize("problem", ["andrews", "car_axis"])
def test_references_of_32_digits(problem, name):
    integrator, *bounds = INTEGRATORS[name]
    p = problems.get(problem)
    motion = p.simulate(t_eval=[p.t_end], integrator=integrator)
    assert motion.success, motion.message
    bound = bounds[problem == "car_axis"]
    for coordinate in motion.system.coordinates:
        assert abs(motion[coordinate][-1] - p.reference[p.t_end][coordinate]) < bound, coordinate

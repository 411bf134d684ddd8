"""Estimated errors against true ones on every problem of the catalogue and every mechanism of the docs (slow).

The true error is the distance from the exact solution where there is one, else from a third run: Lagrange multipliers
and DOP853 at 1e-13, which no second run of `verify` is made of.
"""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert import problems

MODELS = sorted((Path(__file__).parents[2] / "docs" / "models").glob("*.toml"))
FACTOR = 10.0
FLOOR = 1e-10  # of a coordinate's size: below it the second and the third run themselves are not exact
INTEGRATORS = [
    lambda _: da.Automatic(),
    lambda _: da.DOP853(rtol=1e-6, atol=1e-8),
    lambda _: da.Tsit5(rtol=1e-6, atol=1e-8),
    lambda span: da.RK4(step=span / 4000),
    lambda span: da.KuttaMerson(step=span / 4000),
    lambda _: da.Radau(),
    lambda _: da.StateSpaceSVD(),
    lambda _: da.GeneralizedAlpha(),
    lambda _: da.IDA(),
]


def cases():
    """(name, system, state, end, exact solution or None) of each problem, at most 5 s long."""
    for problem in problems.all():
        system = problem.system()
        yield problem.name, system, problem.state(system), min(problem.t_end, 5.0), problem.exact
    for path in MODELS:
        file = da.from_toml(path)
        system = file.model.compile()
        yield path.name, system, system.initial(file.given, guess=file.guess), min(file.t_end, 5.0), None


def true_values(system, state, times, exact):
    """The coordinates and speeds of the true motion by name, (nt,) each."""
    if exact is not None:
        found = exact(times)
        return {name: found[name] for name in (*system.coordinates, *system.speeds) if name in found}
    third = system.simulate(state, times[-1], t_eval=times, integrator=da.DOP853(rtol=1e-13, atol=1e-14))
    assert third.success, third.message
    return {name: third[name] for name in system.coordinates}


def factor(motion, verified, true):
    """How far the estimate is from the true error: the factor between both, that of the largest true error."""
    errors = {name: np.abs(motion[name] - values).max() for name, values in true.items()}
    sizes = {name: FLOOR * max(np.abs(values).max(), 1e-3) for name, values in true.items()}
    name = max(errors, key=lambda n: errors[n] / sizes[n])
    estimate, error = max(verified[name].error, sizes[name]), max(errors[name], sizes[name])
    return max(estimate / error, error / estimate)


@pytest.mark.slow
def test_estimates_are_within_a_factor_of_ten_of_the_true_errors(capsys):
    factors, names = defaultdict(list), set()
    for name, system, state, end, exact in cases():
        names.add(name)
        times = np.linspace(0.0, end, 40) + state.t
        true = true_values(system, state, times, exact)
        for make in INTEGRATORS:
            motion = system.simulate(state, times[-1], t_eval=times, integrator=make(end))
            assert motion.success, (name, motion.method, motion.message)
            factors[type(make(end)).__name__].append((factor(motion, motion.verify(), true), name))
    with capsys.disabled():
        for kind, found in factors.items():
            values, (worst, where) = [value for value, _ in found], max(found)
            within = np.mean(np.array(values) <= FACTOR)
            print(f"{kind:18}{len(found):3} runs, {within:.1%} within {FACTOR:g}, worst {worst:.3g} ({where})")  # noqa: T201
    assert len(names) >= 30
    assert np.mean([value <= FACTOR for found in factors.values() for value, _ in found]) >= 0.95

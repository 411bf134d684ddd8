"""Random pushes, ramps, bursts, steps and tables on mechanisms at rest, falling, driven and nonholonomic.

The ends of the motions are compared with minimal coordinates, integrated by hand-written equations in short steps.
"""

import numpy as np
import pytest
import sympy as sp
from push_mechanisms import MECHANISMS, random_case

import dalembert as da
from dalembert.errors import DalembertError

RIGHT = 1e-7  # of the size of the motion, where it does not amplify errors: a thousand times the rtol of a run
CHAOTIC = 1e4  # a motion that amplifies errors so much is not judged


def judged(name, seed):
    """What became of a case: "ok", "wrong ok", "not ok", "refused", "" if it is not judged."""
    case = random_case(name, seed)
    z, far = case.reference()
    change = 1e-8
    growth = np.abs(case.reference(change)[0] - z).max() / change
    size = max(far.max(), case.fastest) or 1.0  # of a motion in closed form: angles
    allowed = RIGHT * size * max(1.0, growth / 10)
    if growth > CHAOTIC or np.abs(case.reference(rtol=1e-10)[0] - z).max() > 0.1 * allowed:
        return ""
    try:
        system = case.model.compile()
        motion = system.simulate(system.initial(case.given, guess=case.guess), case.t_end)
    except DalembertError:
        return "refused"
    if not motion.certificate.ok:
        return "not ok"
    error = max(abs(motion[key][-1] - value) for key, value in case.ends(z).items())
    return "ok" if error < allowed else "wrong ok"


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_random_push(name):
    assert judged(name, 0) == "ok"


@pytest.mark.slow
def test_three_hundred_random_pushes():
    found = {(name, seed): judged(name, seed) for name in MECHANISMS for seed in range(1, 26)}
    verdicts = [verdict for verdict in found.values() if verdict]
    assert len(verdicts) > 290
    assert not [case for case, verdict in found.items() if verdict == "wrong ok"]
    bad = {case: verdict for case, verdict in found.items() if verdict in ("refused", "not ok")}
    assert len(bad) < 0.01 * len(verdicts), bad


t = da.Model("of time").t
OVERFLOWING = {
    "1/cosh": 1 / sp.cosh((t - 5) / sp.Float(1e-3)),
    "logistic": 1 / (1 + sp.exp(-(t - 5) / sp.Float(1e-3))),
}


@pytest.mark.parametrize("name", OVERFLOWING)
def test_a_push_whose_exponential_overflows(name):
    model = da.Model("particle")
    (x,) = model.coordinates("x")
    model.particle("P", mass=1.0, position=[x, 0])
    model.generalized_force({x: OVERFLOWING[name]})
    system = model.compile()
    motion = system.simulate(system.initial({x: 0.0, x.diff(t): 0.0}), 10.0)
    assert motion.certificate.ok
    speed = {"1/cosh": np.pi * 1e-3, "logistic": 5.0}[name]
    assert motion.u[-1, 0] == pytest.approx(speed, rel=1e-8)

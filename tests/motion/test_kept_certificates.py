"""`outputs=`: the certificate judges the whole motion, as if all samples had been kept."""

import numpy as np
import pytest
from kept_motions import certificates_agree, stiff_pair
from sympy import cos, sin
from test_control import slide
from test_motion_is_data import pendulum, start
from test_prescribed_jumps import DRIVES, SMOOTH, driven_cart

import dalembert as da
from dalembert import problems
from dalembert.motion import keeping
from dalembert.problems.n_four_bar import n_four_bar
from dalembert.run.integrators import automatic

pytestmark = pytest.mark.usefixtures("small_blocks")


# -- the certificate ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", problems.all(), ids=lambda p: p.name)
def test_every_problem_is_judged_as_a_whole_motion_is(problem):
    whole = problem.simulate()
    s = whole.system
    keys = [*s.coordinates, *s.speeds, *s.constraint_names, *s.unknowns, *(output.name for output in s.outputs)]
    kept = problem.simulate(outputs=keys)
    certificates_agree(kept, whole)
    for key in keys:
        np.testing.assert_array_equal(kept[key], whole[key], err_msg=key)
    assert kept.passages == whole.passages


def test_passages_are_judged_alike():
    problem = n_four_bar(2)
    system = problem.build().compile()
    whole = system.simulate(problem.state(system), 5.0)
    kept = system.simulate(problem.state(system), 5.0, outputs=[system.coordinates[0]])
    assert kept.stats["passages"] == len(kept.passages) > 2
    certificates_agree(kept, whole)


def test_constraints_that_drift_off_are_not_ok():
    system = pendulum()
    options = {"drift": da.NoCorrection(), "integrator": da.RK4(step=0.05)}
    whole = system.simulate(start(system), 20.0, **options)
    kept = system.simulate(start(system), 20.0, outputs=["x"], **options)
    assert not kept.certificate.ok
    assert kept.success
    certificates_agree(kept, whole)


def test_a_run_that_fails_tells_why_and_where():
    model = da.Model("pole")
    (x,) = model.coordinates("x")
    model.particle("P", mass=1.0, position=[x, 0])
    model.generalized_force({x: 3 * x**2})
    system = model.compile()
    state = system.initial({x: 1.0, x.diff(): 1.0})
    whole, kept = (system.simulate(state, 10.0, **more) for more in ({}, {"outputs": ["x"]}))
    assert not kept.success
    assert kept.message == whole.message
    np.testing.assert_array_equal(kept["x"], whole["x"])
    certificates_agree(kept, whole)


def test_a_run_without_samples_is_not_ok(swung):
    system, state = swung
    options = {"t_eval": [3.9], "integrator": da.DOP853(max_steps=3)}
    whole, kept = (system.simulate(state, 4.0, **options, **more) for more in ({}, {"outputs": ["B_x", "swing"]}))
    assert (len(kept), kept["swing"].shape) == (0, (0, 2))
    assert str(kept.certificate) == str(whole.certificate)
    assert "no samples" in repr(kept)


@pytest.mark.parametrize("name", ["square wave", "path that jumps"])
@pytest.mark.parametrize("times", [None, np.linspace(0.0, 4.0, 401)], ids=["every step", "samples"])
def test_drives_that_jump_are_seen_where_blocks_meet(name, times, monkeypatch):
    monkeypatch.setattr(keeping, "BLOCK", 1)  # two samples: jumps are at the ends of blocks, too
    system, state = driven_cart(DRIVES[name])
    whole, kept = (system.simulate(state, 4.0, t_eval=times, **more) for more in ({}, {"outputs": ["x"]}))
    assert not kept.certificate.ok
    jumps = [[(f.name, f.worst) for f in one.certificate.findings if "jump" in f.name] for one in (kept, whole)]
    assert [name for name, _ in jumps[0]] == [name for name, _ in jumps[1]] != []
    np.testing.assert_allclose([worst for _, worst in jumps[0]], [worst for _, worst in jumps[1]], rtol=1e-9)


def test_drives_that_bend_are_no_jumps():
    system, state = driven_cart(SMOOTH["speed that bends"])
    assert system.simulate(state, 2.0, outputs=["x"]).certificate.ok


def test_control_that_is_lost_between_blocks_is_told(monkeypatch):
    monkeypatch.setattr(keeping, "BLOCK", 1)
    system, state = slide(0.1)
    whole, kept = (system.simulate(state, 3.0, **more) for more in ({}, {"outputs": ["F"]}))
    assert kept.certificate.lost_controls == whole.certificate.lost_controls
    assert len(kept.certificate.lost_controls) == 1


def test_redundant_constraints_are_told_alike():
    model = da.Model("two rods")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1.0, position=[x, y])
    model.constrain([x**2 + y**2 - 1, 2 * (x**2 + y**2 - 1)], name="rod")
    system = model.compile()
    state = system.initial({x: 1, x.diff(): 0, y.diff(): 1})
    whole, kept = (system.simulate(state, 4.0, **more) for more in ({}, {"outputs": ["x"]}))
    assert kept.certificate.not_unique == whole.certificate.not_unique == ("rod[0]", "rod[1]")
    certificates_agree(kept, whole)


def dry_slope():
    """A particle that slides on a parabola with Coulomb friction."""
    model = da.Model("dry slope")
    x, y = model.coordinates("x y")
    P = model.particle("P", mass=1.0, position=[x, y])
    model.gravity([0, -9.81])
    slope = model.constrain(y - x**2 / 4, name="slope")
    model.nonideal(slope, friction=0.2, at=P, regularisation=1e-2)
    system = model.compile()
    return system, system.initial({x: -2.0, x.diff(): 0.0}, guess={y: 1.0})


def driven():
    """Two links, the second of which is turned evenly by a torque at both."""
    model = da.Model("driven")
    a, b = model.coordinates("a b")
    (M,) = model.unknowns("M")
    model.particle("P", mass=1, position=[cos(a), sin(a)])
    model.particle("Q", mass=1, position=[cos(a) + cos(b), sin(a) + sin(b)])
    model.gravity([0, -9.81])
    model.generalized_force({a: -M, b: M})
    model.constrain(b - model.t, name="drive", servo=M)
    system = model.compile()
    return system, system.initial({a: -1.5, a.diff(): 0.0})


@pytest.mark.parametrize("reaction", ["friction", "servo"])
def test_reactions_that_are_not_ideal_are_judged_alike(reaction):
    system, state = (dry_slope if reaction == "friction" else driven)()
    keys = [*system.unknowns, *system.constraint_names]
    for times in (None, np.linspace(0.0, 2.0, 401)):
        whole, kept = (system.simulate(state, 2.0, t_eval=times, **more) for more in ({}, {"outputs": keys}))
        for key in keys:
            size = np.abs(whole[key]).max()
            np.testing.assert_allclose(kept[key], whole[key], rtol=0, atol=1e-13 * size)
        certificates_agree(kept, whole)


def test_a_stiff_run_that_changes_its_method(monkeypatch):
    monkeypatch.setattr(automatic, "WORTH", 1e3)  # short runs are looked at, too
    system, state = stiff_pair()
    for times in (None, np.linspace(0.0, 20.0, 2001), np.array([0.0, 0.01])):
        whole, kept = (system.simulate(state, 20.0, t_eval=times, **more) for more in ({}, {"outputs": ["x"]}))
        assert "then Radau" in kept.method
        assert times is None or len(kept) == len(times)
        np.testing.assert_array_equal(kept["x"], whole["x"])
        certificates_agree(kept, whole)

"""A run that fails before the first time asked for: a motion without samples that can still be read, kept and asked."""

import re
import warnings
from functools import cache

import numpy as np
import pytest
import sympy as sp

import dalembert as da

INTEGRATORS = [None, da.DOP853(), da.Radau(), da.IDA()]
NAMES = ["default", "DOP853", "Radau", "IDA"]
LEAVES = 1.0  # time after which the force is not a real number


@cache
def fading():
    """A particle on a parabola, pushed by sqrt(1 - t): undefined after t = 1."""
    model = da.Model("fading")
    x, y = model.coordinates("x y")
    P = model.particle("P", mass=1, position=[x, y])
    model.force([sp.sqrt(LEAVES - model.t), 0], at=P)
    model.constrain(y - x**2 / 2, name="track")
    system = model.compile()
    return system, system.initial({"x": 0.0, "x'": 1.0})


@cache
def sampled_too_late(k):
    system, state = fading()
    return system.simulate(state, 3.0, t_eval=[2.0, 2.5], integrator=INTEGRATORS[k])


@pytest.fixture(params=range(len(NAMES)), ids=NAMES)
def motion(request):
    return sampled_too_late(request.param)


def reached(message):
    """The time a message names."""
    return float(message.rpartition("(t = ")[2].split(";")[0].rstrip(")"))


def test_it_is_a_motion_that_says_when_and_why(motion):
    assert isinstance(motion, da.Motion)
    assert len(motion) == 0
    assert not motion.success
    assert "not finite" in motion.message
    assert reached(motion.message) == pytest.approx(LEAVES, abs=1e-6)
    assert repr(motion).startswith("Motion of 'fading': no samples; NOT OK: ")


def test_values_have_their_shapes(motion):
    assert motion.q.shape == motion.u.shape == motion.udot.shape == motion.reactions.shape == (0, 2)
    assert motion.multipliers.shape == (0, 1)
    for name in ("x", "x'", "x''", "y'", "track", "reaction(x_dot)"):
        assert motion[name].shape == (0,)
    for values in (motion.t, motion.energy, motion.energy_balance, motion.work, motion.constraint_power("track")):
        assert values.shape == (0,)
    assert motion.reaction("track").shape == (0, 2)
    assert motion.reaction_on("P").force.shape == (0, 3)
    assert motion.violation["position"]["track"].shape == (0,)
    with pytest.raises(da.UnknownNameError):
        motion["z"]


def test_the_certificate_is_not_ok_and_prints(motion):
    certificate = motion.certificate
    assert not certificate.ok
    assert certificate.findings == certificate.failures == ()
    assert np.isnan([certificate.condition, certificate.energy_error, *certificate.span]).all()
    text = str(certificate)
    assert "no samples" in text
    assert motion.message in text
    assert f"{motion.stats['steps']:,} steps" in text
    assert not re.search(r"\bnan\b", text)


def test_tables_are_empty_with_all_columns(motion):
    table, dataset = motion.to_pandas(), motion.to_xarray()
    assert list(table.columns) == ["x", "y", "x_dot", "y_dot", "la(track)", "energy"]
    assert len(table) == 0
    assert dataset.sizes == {"t": 0, "coordinate": 2, "speed": 2, "constraint": 1}
    assert dataset.attrs["certificate"].startswith("NOT OK")


def test_what_needs_samples_says_that_there_are_none(motion, tmp_path):
    for asked in (
        motion.plot,
        lambda: motion.animate(tmp_path / "motion.html"),
        lambda: motion.at(0.5),
        lambda: motion.resampled([0.5]),
        lambda: motion.unique,
    ):
        with pytest.raises(da.DalembertError, match=r"the motion has no samples: .*not finite.*`t_eval`"):
            asked()
    assert not list(tmp_path.iterdir())


def test_it_can_be_kept_and_chosen_from(motion, tmp_path):
    again = da.Motion.load(motion.save(tmp_path / "motion.npz"), motion.system)
    assert (len(again), again.success, again.message, again.stats) == (0, False, motion.message, motion.stats)
    assert again["track"].shape == (0,)
    assert str(again.certificate) == str(motion.certificate)
    assert len(motion.only(np.zeros(0, dtype=bool))) == 0
    assert [len(part) for part in motion.segments] == [0]


@pytest.mark.parametrize("k", range(len(NAMES)), ids=NAMES)
def test_samples_before_the_failure_are_kept_and_the_message_tells_when_it_was(k):
    system, state = fading()
    motion = system.simulate(state, 3.0, t_eval=[0.25, 0.5, 2.0], integrator=INTEGRATORS[k])
    np.testing.assert_array_equal(motion.t, [0.25, 0.5])
    assert not motion.success
    assert reached(motion.message) == pytest.approx(LEAVES, abs=1e-6)  # not the last sample, t = 0.5
    assert not motion.certificate.ok
    assert np.abs(motion.energy_balance).max() < 1e-6


def test_no_samples_of_a_motion_that_succeeded_prove_nothing():
    system, state = fading()
    motion = system.simulate(state, 0.5)
    assert motion.certificate.ok
    nothing = motion.only(np.zeros(len(motion), dtype=bool))
    assert nothing.success
    assert not nothing.certificate.ok
    assert nothing.certificate.verdict == "NOT OK: there are no samples to judge"
    with pytest.raises(da.ArrayError, match=r"t = 0 \.\. 0\.5"):
        motion.resampled([])


# -- with events -------------------------------------------------------------------------------------------------------


def kick(at):
    return da.Event(sp.Symbol("t") - at, then={"x'": 2.0}, name="kick")


@pytest.mark.parametrize("integrator", INTEGRATORS[:3], ids=NAMES[:3])
def test_a_failure_before_the_first_change_leaves_a_motion_with_its_events(integrator):
    system, state = fading()
    passing = da.Event("x", name="start again")
    late = da.Event(sp.Symbol("t") - 2, name="late")
    motion = system.simulate(state, 3.0, t_eval=[2.0], integrator=integrator, events=[passing, late])
    assert isinstance(motion, da.Motion)
    assert len(motion) == len(motion.events) == 0
    assert not motion.success
    assert "event `late` did not occur" in str(motion.certificate)


@pytest.mark.parametrize("integrator", INTEGRATORS[:3], ids=NAMES[:3])
def test_a_failure_in_a_later_segment_keeps_both_samples_of_the_change(integrator, tmp_path):
    system, state = fading()
    motion = system.simulate(state, 3.0, t_eval=[2.0], integrator=integrator, events=[kick(0.5)])
    assert isinstance(motion, da.MotionSequence)
    np.testing.assert_allclose(motion.t, [0.5, 0.5], atol=1e-12)
    assert motion["x'"][1] == pytest.approx(2.0, abs=1e-12)
    assert not motion.success
    assert "not finite" in motion.message
    assert reached(motion.message) == pytest.approx(LEAVES, abs=1e-6)
    assert not motion.certificate.ok
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        motion.plot(tmp_path / "motion.png")  # a span of no length
        motion.animate(tmp_path / "motion.html")
    assert motion.at(0.5)["x'"] == pytest.approx(2.0, abs=1e-12)


@pytest.fixture
def whole():
    """Two segments with samples: before and after a kick at t = 0.5."""
    system, state = fading()
    return system.simulate(state, 0.9, t_eval=[0.0, 0.25, 0.75, 0.9], events=[kick(0.5)])


@pytest.mark.parametrize("where", ["first", "between", "last"])
def test_a_segment_without_samples_changes_nothing_of_the_others(whole, where, tmp_path):
    nothing, (one, other) = sampled_too_late(0), whole.segments
    order = {"first": (nothing, one, other), "between": (one, nothing, other), "last": (one, other, nothing)}[where]
    motion = da.MotionSequence(order, whole.events)
    for name in ("t", "q", "u", "udot", "multipliers", "reactions", "energy", "work", "energy_lost", "energy_balance"):
        np.testing.assert_array_equal(getattr(motion, name), getattr(whole, name))
    np.testing.assert_array_equal(motion["track"], whole["track"])
    assert motion.certificate.findings == whole.certificate.findings
    assert motion.certificate.span == (0.0, 0.9)
    assert motion.certificate.condition == whole.certificate.condition
    assert motion.success is (where != "last")
    assert motion.certificate.ok is (where != "last")
    assert "3 segments, 6 samples, t = 0 .. 0.9" in repr(motion)
    np.testing.assert_array_equal(motion.resampled([0.1, 0.6]).q, whole.resampled([0.1, 0.6]).q)
    np.testing.assert_array_equal(motion.at(0.6).q, whole.at(0.6).q)
    assert motion.to_pandas().equals(whole.to_pandas())
    assert motion.to_xarray().equals(whole.to_xarray())
    motion.plot()
    motion.animate(tmp_path / "motion.html")
    again = da.MotionSequence.load(motion.save(tmp_path / "motion.npz"), motion.system)
    np.testing.assert_array_equal(again.energy_balance, whole.energy_balance)
    again.plot()
    again.animate(tmp_path / "again.html")


def test_a_sequence_of_nothing_but_empty_segments(tmp_path):
    nothing = sampled_too_late(0)
    motion = da.MotionSequence((nothing, nothing), nothing.events)
    assert repr(motion).startswith("MotionSequence of 'fading': 2 segments, no samples; NOT OK: ")
    assert "no samples" in str(motion.certificate)
    assert motion.stats["steps"] == 2 * nothing.stats["steps"]
    assert motion["x"].shape == motion.energy_balance.shape == (0,)
    assert len(motion.to_pandas()) == motion.to_xarray().sizes["t"] == 0
    again = da.MotionSequence.load(motion.save(tmp_path / "motion.npz"), motion.system)
    assert str(again.certificate) == str(motion.certificate)
    for asked in (motion.plot, lambda: motion.at(0.5), lambda: motion.resampled([0.5]), lambda: motion.animate("x")):
        with pytest.raises(da.DalembertError, match="the motion has no samples"):
            asked()

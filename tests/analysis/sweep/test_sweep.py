"""`sweep`: every run is that of `simulate`, labelled; what fails is named and does not stop the others."""

import _thread
import threading

import numpy as np
import pandas as pd
import pytest
import sympy as sp
import xarray as xr
from sympy.physics.mechanics import dynamicsymbols

import dalembert as da
from dalembert import problems

T = 2.0
TIMES = np.linspace(0.0, T, 9)
x, vx = dynamicsymbols("x vx")


def same(first, second):
    """Whether two results hold the same bits under the same labels."""
    xr.testing.assert_identical(first, second)
    return all(
        first[name].values.tobytes() == second[name].values.tobytes() for name in first if first[name].dtype != object
    )


def test_samples_and_finals_are_those_of_simulate_to_the_last_bit(track, start):
    masses, starts = [0.5, 1.0, 2.0], [0.3, 0.7]
    outputs = ["x", vx, "tip", x * sp.cos(vx), "track", da.Final("x"), da.Final("energy"), da.Final(x**2)]
    runs = track.sweep({"a": masses, "x": starts}, T, state=start, outputs=outputs, t_eval=TIMES)
    assert dict(runs.sizes) == {"a": 3, "x": 2, "t": 9}
    for a in masses:
        for x0 in starts:
            begin = start.with_({"x": x0, "a": a})
            motion, whole = track.simulate(begin, T, t_eval=TIMES), track.simulate(begin, T)
            one = runs.sel(a=a, x=x0)
            assert (one["x(t)"].values == motion["x"]).all()
            assert (one["vx"].values == motion["vx"]).all()
            assert (np.stack([one["tip[0]"], one["tip[1]"]], axis=1) == motion["tip"]).all()
            assert (one["track"].values == motion["track"]).all()
            assert (one["x*cos(vx)"].values == motion[x * sp.cos(vx)]).all()
            assert one["x_final"] == whole["x"][-1]
            assert one["energy_final"] == whole.energy[-1]
            assert one["x**2_final"] == whole[x**2][-1]
            assert one["ok"] == motion.certificate.ok == whole.certificate.ok


def test_the_same_bits_whatever_the_number_of_threads(track, start):
    values = {"a": np.linspace(0.5, 2.0, 40)}
    options = {"state": start, "outputs": ["x", da.Maximum("vx"), da.Mean("y")], "t_eval": TIMES}
    alone = track.sweep(values, T, threads=1, **options)
    assert same(alone, track.sweep(values, T, threads=5, **options))


def test_runs_that_are_ok_share_one_text(track, start):
    """A million runs would otherwise hold a million strings beside their results."""
    runs = track.sweep({"a": np.linspace(0.5, 2.0, 50)}, 0.1, state=start, outputs=["x"])
    assert len({id(text) for text in runs["status"].values}) == 1
    assert len({id(text) for text in runs["message"].values}) == 1


def test_given_values_and_a_guess_are_those_of_initial():
    problem = problems.get("four_bar")
    system = problem.system()
    lengths = [0.7, 0.9]
    runs = system.sweep({"la": lengths}, 1.0, given=problem.given, guess=problem.guess, outputs=["q1", "u3"])
    for la in lengths:
        motion = system.simulate(system.initial(problem.given, guess=problem.guess, parameters={"la": la}), 1.0)
        assert runs["q1_final"].sel(la=la) == motion["q1"][-1]
        assert runs["u3_final"].sel(la=la) == motion["u3"][-1]


def test_tolerances_vary_and_a_state_without_changes_is_taken_as_it_is(track, start):
    runs = track.sweep({"rtol": [1e-4, 1e-9]}, T, state=start, outputs=["x"], integrator=da.DOP853())
    for rtol in (1e-4, 1e-9):
        motion = track.simulate(start, T, integrator=da.DOP853(rtol=rtol))
        assert runs["x_final"].sel(rtol=rtol) == motion["x"][-1]
    assert runs["x_final"][0] != runs["x_final"][1]


def test_events_of_a_run_are_those_of_simulate(track, start):
    events = [da.Event("vx", direction=-1, then={vx: 0.5}, name="kick"), da.Event("x", direction=-1, terminal=True)]
    runs = track.sweep({"a": [0.8, 1.0]}, T, state=start, outputs=["x", da.Final("t")], t_eval=TIMES, events=events)
    for a in (0.8, 1.0):
        begin = start.with_({"a": a})
        motion = track.simulate(begin, T, t_eval=TIMES, events=events)
        there = np.isin(TIMES, motion.t)
        found = runs["x"].sel(a=a).values
        assert there.sum() < len(TIMES)
        assert np.isnan(found[~there]).all()
        assert not np.isnan(found[there]).any()
        assert runs["t_final"].sel(a=a) == motion.t[-1]


# -- what varies ------------------------------------------------------------------------------------------------------


def test_names_that_share_a_dimension_go_together_and_others_multiply(track, start):
    values = {"a": ("case", [0.5, 1.0, 2.0]), "m": ("case", [1.0, 2.0, 3.0]), "g": [1.62, 9.81], "c": 0.1}
    runs = track.sweep(values, T, state=start, outputs=["x"])
    assert dict(runs.sizes) == {"case": 3, "g": 2}
    assert runs["m"].dims == ("case",)
    motion = track.simulate(start.with_({"a": 2.0, "m": 3.0, "g": 1.62, "c": 0.1}), T)
    assert runs["x_final"].isel(case=2).sel(g=1.62) == motion["x"][-1]


def test_a_dict_a_dataset_and_a_frame_say_the_same(track, start):
    columns = {"a": [0.5, 1.0], "m": [1.0, 2.0]}
    options = {"state": start, "outputs": ["x"]}
    by_dict = track.sweep({name: ("run", column) for name, column in columns.items()}, T, **options)
    by_frame = track.sweep(pd.DataFrame(columns), T, **options)
    by_dataset = track.sweep(xr.Dataset({name: ("run", column) for name, column in columns.items()}), T, **options)
    assert same(by_dict, by_dataset)
    assert (by_frame["x_final"].values == by_dict["x_final"].values).all()
    assert list(by_frame["run"].values) == [0, 1]


def test_labels_units_and_attributes_make_xarray_work(track, start):
    runs = track.sweep({"a": [0.5, 1.0, 2.0], "m": [1.0, 2.0]}, T, state=start, outputs=["x", "y"], t_eval=TIMES,
                       units={"x": "m", "y": "m", "m": "kg"})  # fmt: skip
    assert runs["x"].attrs["units"] == "m"
    assert runs["m"].attrs["units"] == "kg"
    assert runs["t"].attrs["units"] == "s"
    assert runs.attrs["system"] == "track"
    assert "Projection" in runs.attrs["method"]
    assert runs.sel(a=0.6, method="nearest")["x"].dims == ("m", "t")
    frame = runs.to_dataframe()
    assert list(frame.index.names) == ["a", "m", "t"]
    assert len(frame) == 3 * 2 * 9
    assert runs["x"].isel(t=-1).plot() is not None


def test_one_run_without_dimensions(track, start):
    runs = track.sweep({"a": 0.5}, T, state=start, outputs=["x"])
    assert runs["x_final"].shape == ()
    assert runs["x_final"] == track.simulate(start.with_({"a": 0.5}), T)["x"][-1]


# -- what fails --------------------------------------------------------------------------------------------------------


def test_failed_runs_are_named_and_all_others_complete(track):
    count, bad = 300, {17: ("y", -1.0), 130: ("m", -1.0), 271: ("r", 1.0)}
    values = {
        "a": np.linspace(0.5, 2.0, count),
        "m": np.ones(count),
        "r": np.full(count, 100.0),
        "y": np.full(count, 0.25),
    }
    values["c"] = np.full(count, 1e-3)
    for k, (name, value) in bad.items():
        values[name][k] = value
    runs = track.sweep({name: ("run", column) for name, column in values.items()}, T, given={"vx": 0.0},
                       guess={"x": 0.4}, outputs=["x", da.Maximum("vx")])  # fmt: skip
    failed = np.flatnonzero(~runs["ok"].values)
    assert list(failed) == list(bad)
    assert [str(runs["status"].values[k]) for k in bad] == ["no initial state", "refused", "not finite"]
    for k, word in zip(bad, ("track", "mass", "not finite"), strict=True):
        assert word in str(runs["message"].values[k])
        assert np.isnan(runs["x_final"].values[k])
        assert np.isnan(runs["vx_max"].values[k])
    others = np.delete(np.arange(count), failed)
    assert (runs["status"].values[others] == "ok").all()
    assert np.isfinite(runs["vx_max"].values[others]).all()


def test_a_run_that_ends_early_is_named_after_what_happened(track, start):
    steps = track.simulate(start, T, integrator=da.DOP853(rtol=1e-8)).stats["steps"]
    limited = da.DOP853(max_steps=steps + 5)
    runs = track.sweep({"rtol": [1e-8, 1e-13]}, T, state=start, outputs=["x"], integrator=limited)
    assert list(runs["status"].values) == ["ok", "too many steps"]
    assert "max_steps" in str(runs["message"].values[1])


def test_a_run_whose_certificate_is_not_ok_keeps_its_numbers_and_says_so(track, start):
    options = {"integrator": da.RK4(0.05), "drift": da.NoCorrection()}
    runs = track.sweep({"a": [0.5, 1.0]}, T, state=start, outputs=["x"], **options)
    for a in (0.5, 1.0):
        motion = track.simulate(start.with_({"a": a}), T, **options)
        assert not motion.certificate.ok
        one = runs.sel(a=a)
        assert (bool(one["ok"]), str(one["status"].values)) == (False, "not held")
        assert str(one["message"].values) == motion.certificate.verdict
        assert one["x_final"] == motion["x"][-1]


@pytest.mark.parametrize(
    ("values", "options", "error", "words"),
    [
        ({"q": [1.0]}, {}, da.UnknownNameError, "varied values of `track`"),
        ({"a": ("run", [1.0, 2.0]), "m": ("run", [1.0])}, {}, da.ArrayError, "`a` has 2 values along `run` and"),
        ({"a": []}, {}, da.ArrayError, "no values"),
        ({}, {}, da.OptionError, "empty"),
        ([1.0], {}, da.OptionError, "list"),
        ({"a": ["one"]}, {}, da.ArrayError, "must be numbers"),
        ({"a": [1.0]}, {"outputs": []}, da.OptionError, "`outputs` is empty"),
        ({"a": [1.0]}, {"outputs": ["z"]}, da.UnknownNameError, "`z` is not known"),
        ({"a": [1.0]}, {"outputs": [dynamicsymbols("w") ** 2]}, da.UnknownNameError, "`w` is not known"),
        ({"a": [1.0]}, {"outputs": ["x", da.Final("x")]}, da.OptionError, "two results would be called `x_final`"),
        ({"a": [1.0]}, {"outputs": [da.Final("x")], "t_eval": TIMES}, da.OptionError, "no output is sampled"),
        ({"a": [1.0]}, {"t_eval": [3.0]}, da.ArrayError, "beyond the interval"),
        ({"a": [1.0]}, {"given": {"x": 1.0}}, da.PairingError, "either `state`"),
        ({"a": [1.0]}, {"units": {"z": "m"}}, da.OptionError, "units are given for z"),
        ({"rtol": [1e-3]}, {"integrator": da.RK4(0.1)}, da.OptionError, "RK4 has no `rtol`"),
        ({"a": [1.0]}, {"executor": 3}, da.PairingError, "has no `submit`"),
        ({"a": [1.0]}, {"threads": 0}, da.OptionError, "threads=0"),
    ],
)  # fmt: skip
def test_wrong_input_is_refused_before_anything_runs(track, start, values, options, error, words):
    with pytest.raises(error) as caught:
        track.sweep(values, T, **{"state": start, "outputs": ["x"], **options})
    assert words in str(caught.value)


def test_interrupt_keeps_what_is_done(track, start):
    threading.Timer(0.6, _thread.interrupt_main).start()
    with pytest.raises(da.SimulationInterrupt) as caught:
        track.sweep({"a": np.linspace(0.5, 2.0, 200_000)}, T, state=start, outputs=["x"], threads=1)
    runs = caught.value.runs
    done = runs["status"].values != ""
    assert 0 < done.sum() < 200_000
    assert np.isfinite(runs["x_final"].values[done]).all()
    assert np.isnan(runs["x_final"].values[~done]).all()

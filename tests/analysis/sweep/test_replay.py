"""`replay`: the motion behind one run of a sweep, to the last bit, from the result alone."""

import numpy as np
import pytest
import xarray as xr
from sympy.physics.mechanics import dynamicsymbols

import dalembert as da
from dalembert import problems

T = 2.0
vx = dynamicsymbols("vx")


def test_the_motion_of_a_run_is_made_again_to_the_last_bit(track, start):
    runs = track.sweep({"a": [0.5, 1.0], "x": [0.3, 0.7]}, T, state=start, outputs=["y", da.Maximum("vx")])
    for a in (0.5, 1.0):
        run = runs.sel(a=a, x=0.7)
        motion = track.replay(run)
        same = track.simulate(start.with_({"a": a, "x": 0.7}), T)
        assert (motion.q == same.q).all()
        assert run["y_final"] == motion["y"][-1]


def test_a_result_from_a_file_with_given_values_and_tolerances(tmp_path):
    problem = problems.get("four_bar")
    system = problem.system()
    values = {"la": ("run", [0.75, 0.8, 0.85]), "rtol": ("run", [1e-6, 1e-7, 1e-8])}
    runs = system.sweep(values, 1.0, given=problem.given, guess=problem.guess, outputs=["q1"], integrator=da.DOP853())
    runs.drop_vars(["message", "status"]).to_netcdf(tmp_path / "runs.nc")
    with xr.open_dataset(tmp_path / "runs.nc") as opened:
        for k in range(3):
            motion = system.replay(opened.isel(run=k), integrator=da.DOP853())
            assert motion["q1"][-1] == runs["q1_final"].values[k]


def test_events_are_given_again(track, start):
    events = [da.Event("x", direction=-1, terminal=True, name="middle")]
    runs = track.sweep({"a": [0.8, 1.0]}, T, state=start, outputs=[da.Final("t")], events=events)
    motion = track.replay(runs.isel(a=0), events=events)
    assert motion.t[-1] == runs["t_final"].values[0] < T
    with pytest.raises(da.PairingError, match="the events middle, not with none"):
        track.replay(runs.isel(a=0))


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (
            da.Event(vx, direction=-1, terminal=True, name="middle"),
            r": x falling, terminal; not with vx\(t\) fal",
        ),
        (da.Event("x", direction=1, terminal=True, name="middle"), "not with x rising, terminal;"),
        (da.Event("x", direction=-1, name="middle"), "not with x falling;"),
        (da.Event("x", direction=-1, name="middle", then={vx: 0}), r"not with x falling, then \{vx: 0\};"),
        (da.Every(0.5, name="middle", then=lambda state: state), "not with every 0.5, then a function;"),
    ],
)
def test_events_of_the_same_name_that_are_others_are_refused(track, start, event, words):
    events = [da.Event("x", direction=-1, terminal=True, name="middle")]
    runs = track.sweep({"a": [0.8, 1.0]}, T, state=start, outputs=[da.Final("t")], events=events)
    with pytest.raises(da.PairingError, match=words):
        track.replay(runs.isel(a=0), events=[event])


def test_samples_at_the_times_asked_for(track, start):
    times = np.linspace(0.0, T, 5)
    runs = track.sweep({"a": [0.8, 1.0]}, T, state=start, outputs=["x"], t_eval=times)
    assert (track.replay(runs.isel(a=1), t_eval=times)["x"] == runs["x"].values[1]).all()


def test_what_cannot_be_made_again_is_refused(track, start):
    runs = track.sweep({"a": [0.8, 1.0]}, T, state=start, outputs=["x"])
    with pytest.raises(da.ArrayError, match=r"`a` has 2 values; select one run, such as runs.isel\(a=0\)"):
        track.replay(runs)
    with pytest.raises(da.PairingError, match=r"the sweep was made with .*Automatic"):
        track.replay(runs.isel(a=0), integrator=da.RK4(0.1))
    with pytest.raises(da.PairingError, match="another model than `planar"):
        problems.get("four_bar").system().replay(runs.isel(a=0))
    with pytest.raises(da.PairingError, match="one run selected"):
        track.replay(xr.Dataset())


def test_a_run_that_has_no_start_raises_what_the_sweep_says(track):
    runs = track.sweep({"y": [0.25, -1.0]}, T, given={"vx": 0.0}, guess={"x": 0.4}, outputs=["x"])
    with pytest.raises(da.InitialStateError) as caught:
        track.replay(runs.isel(y=1))
    assert str(caught.value) == str(runs["message"].values[1])

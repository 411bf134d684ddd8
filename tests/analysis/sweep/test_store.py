"""Stores: the same numbers as in memory, continued wherever they were left, refused for anything else."""

import errno
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
import sympy as sp
import xarray as xr
from sympy.physics.mechanics import dynamicsymbols

import dalembert as da
from dalembert.analysis.sweep import store as stores
from dalembert.analysis.sweep import sweep as verb

zarr = pytest.importorskip("zarr")

T = 1.0
VALUES = {"a": np.linspace(0.5, 2.0, 7), "m": [1.0, 2.0, 3.0], "x": [0.3, 0.6]}
OUTPUTS = ["y", da.Maximum("vx"), da.Final("x")]
TIMES = np.linspace(0.0, T, 4)
x, vx = dynamicsymbols("x vx")


def sweep(track, start, values=None, **options):
    return track.sweep(values or VALUES, T, **{"state": start, "outputs": OUTPUTS, "t_eval": TIMES, **options})


def same(first, second):
    """Whether two results hold the same bits."""
    assert set(first.variables) == set(second.variables)
    for name in first.variables:
        a, b = first[name], second[name]
        assert a.dims == b.dims
        assert (a.values.tobytes() if a.dtype.kind == "f" else a.values.tolist()) == (
            b.values.tobytes() if b.dtype.kind == "f" else b.values.tolist()
        )
    return True


@pytest.fixture
def small_chunks(monkeypatch):
    """Chunks of five runs at most, however fast they are."""
    monkeypatch.setattr(verb, "measured_size", lambda *_: 5)


def test_a_store_holds_what_memory_holds_and_opens_in_a_new_process(track, start, tmp_path, small_chunks):
    path = tmp_path / "runs.zarr"
    runs = sweep(track, start, store=path, units={"y": "m"})
    assert same(runs, sweep(track, start))
    code = (
        "import sys, warnings; warnings.simplefilter('error'); import xarray as xr;"
        "runs = xr.open_zarr(sys.argv[1], chunks=None);"
        "print(float(runs['x_final'].sel(a=2.0, m=3.0, x=0.6)), runs['y'].attrs['units'], len(runs.to_dataframe()),"
        "bool(runs['ok'].all()), runs.attrs['system'])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    value = float(runs["x_final"].sel(a=2.0, m=3.0, x=0.6))
    assert done.stdout.split() == [repr(value), "m", str(7 * 3 * 2 * 4), "True", "track"]


def test_the_same_call_continues_and_repeats_nothing(track, start, tmp_path, small_chunks, monkeypatch):
    path, ran = tmp_path / "runs.zarr", []

    def stop_after_four(store, study, first, rows, stop=None):
        if len(ran) == 4:
            raise KeyboardInterrupt
        ran.append(first)
        return stores.run_into(store, study, first, rows, stop)

    monkeypatch.setattr(verb, "run_into", stop_after_four)
    with pytest.raises(da.SimulationInterrupt) as caught:
        sweep(track, start, store=path, threads=1)
    assert (caught.value.runs["status"] != "").sum() > 0
    before = {file: file.stat().st_mtime_ns for file in path.rglob("c/*") if file.is_file()}
    again = []
    monkeypatch.setattr(verb, "run_into", lambda *args: again.append(args[2]) or stores.run_into(*args))
    runs = sweep(track, start, store=path)
    assert not set(ran) & set(again)
    assert set(ran) | set(again) == {first for first, _ in verb.spans_of((7, 3, 2), (1, 2, 2))}
    assert {file: file.stat().st_mtime_ns for file in before} == before
    assert same(runs, sweep(track, start))
    again.clear()
    assert same(sweep(track, start, store=path), runs)
    assert not again


def test_a_store_of_anything_else_is_refused(track, start, tmp_path):
    path = tmp_path / "runs.zarr"
    values = {"a": [0.5, 1.0]}
    sweep(track, start, values, store=path)
    changes = {
        "values": {"values": {"a": [0.5, 1.1]}},
        "start": {"state": start.with_({"x": 0.4})},
        "t_eval": {"t_eval": [0.0, 0.5]},
        "method": {"integrator": da.DOP853(rtol=1e-9)},
        "outputs": {"outputs": ["y", da.CrossingTime("x", level=0.1)]},
    }
    for name, options in changes.items():
        with pytest.raises(da.FileError, match=rf"another sweep \({name}: "):
            sweep(track, start, **{"values": values, "store": path, **options})
    other = da.Model("track")
    p, q = other.coordinates("x y")
    other.speeds("vx vy")
    a, m = other.parameters(a=1.0, m=1.0)
    other.particle("P", mass=m, position=[p, q])
    other.constrain(q - a * p**2, name="track")
    system = other.compile()
    with pytest.raises(da.FileError, match=r"another sweep \(model: "):
        sweep(system, system.initial({"x": 0.5, "vx": 0.0}), values, store=path)
    (tmp_path / "notes").mkdir()
    with pytest.raises(da.FileError, match="not the store of a sweep"):
        sweep(track, start, values, store=tmp_path / "notes")


def test_a_full_disk_stops_the_sweep_and_keeps_what_is_stored(track, start, tmp_path, small_chunks, monkeypatch):
    path, put = tmp_path / "runs.zarr", stores.Store.write
    written = []

    def write(store, block):
        if len(written) == 3:
            with stores.writing(store.path):
                raise OSError(errno.ENOSPC, "No space left on device")
        written.append(block.start)
        put(store, block)

    monkeypatch.setattr(stores.Store, "write", write)
    with pytest.raises(da.FileError, match=r"No space left on device; .* kept; make room and call sweep again"):
        sweep(track, start, store=path, threads=1)
    monkeypatch.setattr(stores.Store, "write", put)
    assert same(sweep(track, start, store=path), sweep(track, start))


def test_an_executor_of_processes_gives_the_same_bits(track, start, tmp_path, small_chunks):
    values = {"a": np.linspace(0.5, 2.0, 12)}
    options = {"outputs": ["y", da.Maximum(x * sp.cos(vx)), vx + x], "guess": start, "state": None}
    alone = sweep(track, start, values, **options)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert same(sweep(track, start, values, executor=pool, **options), alone)
        assert same(sweep(track, start, values, executor=pool, store=tmp_path / "runs.zarr", **options), alone)


def test_events_go_to_other_processes_where_they_pickle(track, start, small_chunks):
    values, kick = {"a": np.linspace(0.5, 2.0, 12)}, da.Event(x, direction=-1, name="kick", then={vx: 2 * vx})
    stop = da.Event(x * vx - sp.Rational(1, 2), terminal=True, name="stop")
    options = {"outputs": [da.Final("t"), da.Maximum("vx")], "events": [kick, stop], "t_eval": None}
    alone = sweep(track, start, values, **options)
    assert (alone["t_final"] < T).any()
    function = da.Event(x, name="function", then=lambda state: state)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert same(sweep(track, start, values, executor=pool, **options), alone)
        with pytest.raises(da.PairingError, match=r"cannot be sent to other processes .*lambda"):
            sweep(track, start, values, executor=pool, **{**options, "events": [function]})


SCRIPT = """
import sys, numpy as np, dalembert as da
from dalembert import problems
from dalembert.analysis.sweep import sweep as verb
verb.measured_size = lambda *_: 20
problem = problems.get("pendulum")
system = problem.system()
system.sweep({"m": np.linspace(0.5, 2.0, 100), "g": np.linspace(1.0, 10.0, 100)}, 2.0, state=problem.state(system),
             outputs=["x", da.Maximum("vx")], t_eval=[0.5, 2.0], store=sys.argv[1])
"""


@pytest.mark.slow
def test_a_sweep_killed_at_any_moment_goes_on_and_ends_the_same(tmp_path):
    path, rng = tmp_path / "runs.zarr", random.Random(7)
    whole = tmp_path / "whole.zarr"
    subprocess.run([sys.executable, "-c", SCRIPT, str(whole)], check=True)
    for _ in range(20):
        process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(path)])
        begin, early = time.monotonic(), rng.random() < 0.2
        while not early and not path.exists() and time.monotonic() - begin < 60:
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 0.5))
        assert process.poll() is None
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        if path.exists():
            xr.open_zarr(path, chunks=None).load()  # readable at any moment
    subprocess.run([sys.executable, "-c", SCRIPT, str(path)], check=True)
    assert same(xr.open_zarr(path, chunks=None), xr.open_zarr(whole, chunks=None))


def test_a_store_takes_events_and_refuses_others(track, start, tmp_path, small_chunks):
    def kick(speed):
        return [da.Event("vx", direction=-1, then={vx: speed}, name="kick"), da.Every(0.3, then={vx: vx / 2})]

    path, values = tmp_path / "runs.zarr", {"a": np.linspace(0.5, 2.0, 7)}
    runs = sweep(track, start, values, store=path, events=kick(0.5))
    assert same(runs, sweep(track, start, values, events=kick(0.5)))
    assert same(runs, sweep(track, start, values, store=path, events=kick(0.5)))
    for other in (kick(0.6), kick(0.5)[:1], ()):
        with pytest.raises(da.FileError, match=r"holds another sweep .*events"):
            sweep(track, start, values, store=path, events=other)
    function = [da.Event("vx", direction=-1, then=lambda _: {"vx": 0.5}, name="kick")]
    with pytest.raises(da.PairingError, match="`kick` changes the motion by a function"):
        sweep(track, start, values, store=tmp_path / "other.zarr", events=function)

"""Motions kept in a folder while they run: the same motions, in bounded memory, whole or told to be otherwise."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from kept_motions import Elsewhere, stiff_pair, swung_bar
from test_motion_is_data import compile_pendulum, pendulum

import dalembert as da
from dalembert.problems.n_four_bar import n_four_bar
from dalembert.run import storage
from dalembert.run.integrators import automatic
from dalembert.run.storage import FileTable, Folder, MemoryTable

TIMES = np.linspace(0.0, 4.0, 1001)
ARRAYS = ("t", "q", "u", "udot", "multipliers", "reactions", "work", "energy", "energy_balance")


@pytest.fixture(scope="module")
def state():
    return swung_bar()[1]


@pytest.fixture(scope="module")
def system(state):
    return state.system


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(storage, "BLOCK", 4096)  # bytes: tens of samples


@pytest.mark.parametrize("times", [TIMES, None], ids=["times asked for", "every step"])
@pytest.mark.parametrize(
    "integrator",
    [None, da.DOP853(), da.RK4(step=1e-3), da.Radau(), da.GeneralizedAlpha(step=1e-3), da.IDA()],
    ids=lambda i: type(i).__name__,
)
def test_it_is_the_motion_in_memory_to_the_bit(system, state, integrator, times, tmp_path, small_blocks):
    there = system.simulate(state, 4.0, t_eval=times, integrator=integrator)
    here = system.simulate(state, 4.0, t_eval=times, integrator=integrator, store=tmp_path / "m")
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(here, name), getattr(there, name))
    assert str(here.certificate) == str(there.certificate)
    assert sorted(file.name for file in (tmp_path / "m").iterdir()) == ["0.t.npy", "0.z.npy", "motion.json"]
    np.testing.assert_array_equal(np.load(tmp_path / "m" / "0.t.npy"), there.t)


@pytest.mark.parametrize("times", [TIMES, TIMES[::50]], ids=["close samples", "sparse samples"])
def test_values_are_those_of_the_motion_in_memory(system, state, times, tmp_path, small_blocks):
    there = system.simulate(state, 4.0, t_eval=times)
    here = system.simulate(state, 4.0, t_eval=times, store=tmp_path / "m")
    x = here.system.coordinates[0]
    for key in (x, f"{x}'", "hinge.angle", "hinge.rate", "B.position", ["B_x", "B_z"], "t"):
        np.testing.assert_allclose(here[key], there[key], rtol=0, atol=1e-12, err_msg=str(key))
    assert np.abs(there["hinge.angle"]).max() > 2 * np.pi  # turns were counted
    assert here.at(1.2345).q.tolist() == there.at(1.2345).q.tolist()
    np.testing.assert_array_equal(here.resampled([0.5, 1.5]).q, there.resampled([0.5, 1.5]).q)


def test_a_stiff_run_changes_its_method_on_disk_as_in_memory(tmp_path, small_blocks, monkeypatch):
    monkeypatch.setattr(automatic, "WORTH", 1e3)  # short runs are looked at, too
    system, state = stiff_pair()
    there = system.simulate(state, 20.0)
    here = system.simulate(state, 20.0, store=tmp_path / "m")
    assert "then Radau" in there.method  # parts of a run are joined
    np.testing.assert_array_equal(here.q, there.q)
    np.testing.assert_array_equal(here.work, there.work)
    assert len([*(tmp_path / "m").iterdir()]) == 3  # its parts are gone


def test_it_is_read_back_and_judged_anew(system, state, tmp_path):
    motion = system.simulate(state, 4.0, t_eval=TIMES, store=tmp_path / "m")
    again = da.Motion.load(tmp_path / "m", system)
    for name in ("t", "q", "u", "work"):
        np.testing.assert_array_equal(getattr(again, name), getattr(motion, name))
    np.testing.assert_allclose(again.multipliers, motion.multipliers, rtol=1e-9, atol=1e-9)
    assert (again.certificate.ok, again.message, again.stats) == (True, motion.message, motion.stats)
    assert again.method == motion.method
    with pytest.raises(da.DalembertError, match="loaded from a file"):
        again.at(1.0)


def test_what_was_altered_is_refused_or_not_ok(system, state, tmp_path):
    folder = tmp_path / "m"
    system.simulate(state, 4.0, t_eval=TIMES, store=folder)
    z = np.load(folder / "0.z.npy")
    np.save(folder / "0.z.npy", 3.0 * z)
    with pytest.raises(da.FileError, match="SHA-256"):
        da.Motion.load(folder, system)
    note = json.loads((folder / "motion.json").read_text())
    del note["files"]  # as if it had been killed: no checksum, but then no success either
    (folder / "motion.json").write_text(json.dumps(note))
    assert not da.Motion.load(folder, system).certificate.ok
    np.save(folder / "0.z.npy", z[:, :3])
    with pytest.raises(da.FileError, match="do not fit together"):
        da.Motion.load(folder, system)
    (folder / "motion.json").write_text("{")
    with pytest.raises(da.FileError, match=r"not a folder written by simulate"):
        da.Motion.load(folder, system)
    shutil.rmtree(folder)
    folder.mkdir()
    with pytest.raises(da.FileError, match="nor a folder written by"):
        da.Motion.load(folder, system)


def test_the_motion_of_another_system_is_refused(system, state, tmp_path):
    system.simulate(state, 0.1, store=tmp_path / "m")
    with pytest.raises(da.FileError, match="not of `"):
        da.Motion.load(tmp_path / "m", pendulum())


def test_a_motion_there_is_replaced_and_anything_else_is_left_alone(system, state, tmp_path):
    first = system.simulate(state, 0.2, store=tmp_path / "m")
    kept = first.q.copy()
    second = system.simulate(state, 0.1, store=tmp_path / "m")
    np.testing.assert_array_equal(first.q, kept)  # it is still mapped
    assert second.t[-1] == 0.1
    (tmp_path / "m" / "thesis.tex").write_text("years of work")
    for place in (tmp_path / "m", tmp_path / "m" / "thesis.tex"):
        with pytest.raises(da.FileError, match="choose another name"):
            system.simulate(state, 0.1, store=place)
    assert (tmp_path / "m" / "thesis.tex").read_text() == "years of work"


def test_a_full_disk_is_told_beforehand(system, state, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**9, 10**9, 1000))
    with pytest.raises(da.FileError, match=r"1,001 samples of `swung over` need .* GB on disk"):
        system.simulate(state, 4.0, t_eval=TIMES, store=tmp_path / "m")


def test_what_is_not_one_motion_is_refused_by_name(system, state, tmp_path):
    refused = (
        ({"events": [da.Every(0.1, then=lambda s: s, name="tick")]}, "event `tick` makes a sequence"),
        ({"sensitivities": ["B_wy"]}, "does not keep sensitivities"),
        ({"integrator": Elsewhere()}, "Elsewhere does not support `store`"),
    )
    for options, message in refused:
        with pytest.raises(da.PairingError, match=message):
            system.simulate(state, 1.0, store=tmp_path / "m", **options)
    assert not (tmp_path / "m").exists()


def test_a_terminal_event_ends_it(system, state, tmp_path):
    event = da.Event("B_z", name="level", terminal=True)
    there, here = (system.simulate(state, 4.0, events=[event], **more) for more in ({}, {"store": tmp_path / "m"}))
    assert here.message == there.message
    np.testing.assert_array_equal(here.q, there.q)
    assert [o.t for o in da.Motion.load(tmp_path / "m", system).events] == [o.t for o in there.events]


def test_ctrl_c_leaves_what_was_there(tmp_path):
    script = f"""
import os, pathlib, signal, threading, time, dalembert as da
from test_motion_is_data import pendulum, start

def interrupt():
    file = pathlib.Path({str(tmp_path / "m" / "0.z.npy")!r})
    while not (file.exists() and file.stat().st_size > 100_000):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Thread(target=interrupt, daemon=True).start()
try:
    pendulum().simulate(start(pendulum()), 1e7, integrator=da.DOP853(), store={str(tmp_path / "m")!r})
except KeyboardInterrupt as interruption:
    print(len(interruption.motion))
"""
    count = int(_run(script).communicate(timeout=120)[0])
    again = da.Motion.load(tmp_path / "m", compile_pendulum())
    assert len(again) == count > 100
    assert not again.success
    assert "interrupted" in again.message


@pytest.mark.parametrize(
    ("where", "cut"),
    [("memory", "before"), ("memory", "after"), ("folder", "before"), ("folder", "within"), ("folder", "after")],
)
def test_ctrl_c_while_samples_are_put_away_counts_none_twice(system, state, tmp_path, monkeypatch, where, cut):
    more = {"integrator": da.RK4(step=1e-3), "events": [da.Event("B_x", name="through")]}
    whole, calls = system.simulate(state, 4.0, **more), []
    table = MemoryTable if where == "memory" else FileTable
    put = table.put

    def cut_short(self, first, *blocks):
        calls.append(first)
        if len(calls) != 3:
            return put(self, first, *blocks)
        if cut == "within":
            self._columns[0].put(first, blocks[0])
        if cut == "after":
            put(self, first, *blocks)
        raise KeyboardInterrupt

    monkeypatch.setattr(table, "put", cut_short)
    monkeypatch.setattr("dalembert.run.time_loop.march.SAMPLES_PER_BUFFER", 700)
    with pytest.raises(da.SimulationInterrupt) as caught:
        system.simulate(state, 4.0, **more, **({"store": tmp_path / "m"} if where == "folder" else {}))
    motion = caught.value.motion
    assert calls[2] == calls[3] > 0
    assert len(motion) > calls[2]
    np.testing.assert_array_equal(motion.q, whole.q[: len(motion)])
    found = [o.t for o in motion.events]
    assert found == [o.t for o in whole.events][: len(found)]
    assert len(found) == sum(o.t <= motion.t[-1] for o in whole.events)
    if where == "folder":
        again = da.Motion.load(tmp_path / "m", system)
        np.testing.assert_array_equal(again.t, motion.t)
        np.testing.assert_array_equal(again.q, motion.q)


def test_ctrl_c_while_files_are_opened_loses_none(tmp_path, monkeypatch):
    table, opened = Folder(tmp_path).table("t", "z"), Path.open

    def cut_short(path, mode):
        monkeypatch.setattr(Path, "open", opened)
        path.open(mode).close()
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "open", cut_short)
    block = np.arange(3.0), np.ones((3, 2))
    with pytest.raises(KeyboardInterrupt):
        table.put(0, *block)
    table.put(0, *block)
    assert [a.tolist() for a in table.joined()] == [a.tolist() for a in block]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["0.t.npy", "0.z.npy"]


def test_a_killed_run_leaves_its_samples(tmp_path):
    script = f"""
from test_motion_is_data import pendulum, start
pendulum().simulate(start(pendulum()), 1e7, parameters=dict(c=1e-6), store={str(tmp_path / "m")!r})
"""
    process, deadline = _run(script), time.monotonic() + 60.0
    while time.monotonic() < deadline and sum(f.stat().st_size for f in (tmp_path / "m").glob("*.z.npy")) < 500_000:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    again = da.Motion.load(tmp_path / "m", compile_pendulum())
    assert (np.diff(again.t) > 0.0).all()
    assert len(again) > 1000
    assert again.certificate.verdict.startswith("NOT OK: the run did not end by itself")
    assert not again.certificate.failures


@pytest.mark.parametrize("rows", [None, 0, 30])
def test_what_was_killed_while_a_block_was_written_is_read_up_to_there(system, state, tmp_path, rows):
    """A second table has 50 times, and an empty file, or one with fewer states."""
    folder = tmp_path / "m"
    motion = system.simulate(state, 4.0, t_eval=TIMES, store=folder)
    note, q = json.loads((folder / "motion.json").read_text()), np.array(motion.q)
    (folder / "motion.json").write_text(json.dumps({k: v for k, v in note.items() if k not in ("files", "success")}))
    table = Folder(folder).table("t", "z")
    table.put(0, np.arange(5.0, 55.0), np.ones((rows or 0, np.load(folder / "0.z.npy").shape[1])))
    if rows is None:
        (folder / "1.z.npy").write_bytes(b"")
    again = da.Motion.load(folder, system)
    assert len(again) == len(q) + (rows or 0)
    np.testing.assert_array_equal(again.q[: len(q)], q)
    assert not again.success


def test_what_was_killed_between_its_parts_is_put_together(system, state, tmp_path):
    """`Automatic` goes on in a table of its own where it changes or tries a method, and joins them at the end."""
    folder = tmp_path / "m"
    motion = system.simulate(state, 4.0, t_eval=TIMES, store=folder)
    t, z, q, work = (np.array(a) for a in (motion.t, np.load(folder / "0.z.npy"), motion.q, motion.work))
    for number, rows in enumerate([slice(0, 400), slice(399, 900), slice(0, 300)]):  # the last joins the others
        np.save(folder / f"{number}.t.npy", t[rows])
        np.save(folder / f"{number}.z.npy", z[rows])
    note = json.loads((folder / "motion.json").read_text())
    (folder / "motion.json").write_text(json.dumps({k: v for k, v in note.items() if k not in ("files", "success")}))
    again = da.Motion.load(folder, system)
    np.testing.assert_array_equal(again.q, q[:900])
    np.testing.assert_array_equal(again.work, work[:900])
    assert not again.success


def _run(script):
    places = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": places}
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env=environment, text=True)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_does_not_grow_with_the_samples(tmp_path):
    script = f"""
import re, pathlib, numpy as np, dalembert as da
from test_motion_is_data import pendulum, start

def private():  # memory that is not that of files, MB
    return int(re.search(r"RssAnon:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1]) / 1024

system = pendulum()
run = lambda n: system.simulate(start(system), n * 1e-3, integrator=da.RK4(step=1e-3), store={str(tmp_path / "m")!r})
run(1000).certificate
before, motion = private(), run(1_500_000)
size = sum(a.nbytes for a in (motion.t, motion.q, motion.u, *vars(motion.evaluation).values())) / 2**20
print(motion.certificate.success, private() - before, size, np.ptp(motion["x"]))
"""
    success, grown, size, _ = _run(script).communicate(timeout=300)[0].split()
    assert success == "True"
    assert float(size) > 150.0
    assert float(grown) < 0.5 * float(size)  # t, energies and verdicts are (nt,) each; blocks are 32 MB


def test_a_large_motion_is_read_back_over_its_nonzeros(tmp_path):
    problem = n_four_bar(300)  # matrices of all samples would take 130 MB each
    system = problem.build().compile()
    motion = system.simulate(problem.state(system), 0.05, t_eval=np.linspace(0.0, 0.05, 11))
    again = da.Motion.load(motion.save(tmp_path / "m.npz"), system)
    assert again.certificate.ok
    np.testing.assert_allclose(again.evaluation.acceleration, motion.evaluation.acceleration, rtol=0, atol=1e-14)
    np.testing.assert_allclose(again.evaluation.balance, motion.evaluation.balance, rtol=0, atol=1e-14)


def test_a_folder_of_another_program_is_left_alone(system, state, tmp_path):
    """Even if its files have the names of those of a motion."""
    for note in ('{"kind": "film", "version": 1}', "[]", "no JSON"):
        (tmp_path / "motion.json").write_text(note)
        (tmp_path / "0.t.npy").write_text("frames")
        with pytest.raises(da.FileError, match="choose another name"):
            system.simulate(state, 0.1, store=tmp_path)
        assert (tmp_path / "0.t.npy").read_text() == "frames"
        assert (tmp_path / "motion.json").read_text() == note
    (tmp_path / "m" / "0.t.npy").mkdir(parents=True)
    (tmp_path / "m" / "motion.json").write_text('{"kind": "stored motion", "version": 1}')
    with pytest.raises(da.FileError, match="choose another name"):
        system.simulate(state, 0.1, store=tmp_path / "m")


@pytest.mark.parametrize("name", [os.devnull, "/dev/zero", "../secret", "motion.json", "1.t.npy"])
def test_a_note_that_names_other_files_is_refused_before_they_are_read(system, state, tmp_path, name, bounded):
    system.simulate(state, 0.1, store=tmp_path / "m")
    (tmp_path / "secret").write_text("read by nobody")
    note = json.loads((tmp_path / "m" / "motion.json").read_text())
    note["files"][name] = "0" * 64
    (tmp_path / "m" / "motion.json").write_text(json.dumps(note))
    with bounded(), pytest.raises(da.FileError, match="names files that are not of a motion"):
        da.Motion.load(tmp_path / "m", system)


@pytest.mark.skipif(not Path("/dev/zero").is_char_device(), reason="needs a file without an end")
def test_a_note_without_an_end_is_refused(system, state, tmp_path, bounded):
    (tmp_path / "motion.json").symlink_to("/dev/zero")
    with bounded(), pytest.raises(da.FileError, match="not a regular file"):
        da.Motion.load(tmp_path, system)
    with bounded(), pytest.raises(da.FileError, match="choose another name"):
        system.simulate(state, 0.1, store=tmp_path)


@pytest.mark.parametrize("wrong", [np.nan, -1.0])
def test_times_that_are_none_or_out_of_order_are_refused(system, state, tmp_path, wrong):
    system.simulate(state, 0.1, store=tmp_path)
    t = np.load(tmp_path / "0.t.npy", mmap_mode="r+")
    t[len(t) // 2] = wrong
    t.flush()
    note = json.loads((tmp_path / "motion.json").read_text())
    note["files"]["0.t.npy"] = hashlib.sha256((tmp_path / "0.t.npy").read_bytes()).hexdigest()
    (tmp_path / "motion.json").write_text(json.dumps(note))
    with pytest.raises(da.FileError, match="not finite or not in order"):
        da.Motion.load(tmp_path, system)

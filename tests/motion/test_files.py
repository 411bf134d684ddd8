"""Files of motions, sequences and states: whole or refused, and judged by what is in them."""

import hashlib
import io
import json
import os
import random
import signal
import subprocess
import sys
import time
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from test_motion_is_data import bounces, compile_pendulum, pendulum, start, swing

import dalembert as da
from dalembert.motion.archive import read_archive, write_archive

KINDS = ("motion", "sequence", "state")


def object_of(kind):
    return {"motion": lambda: swing("default"), "sequence": bounces, "state": lambda: start(pendulum())}[kind]()


def load(kind, path):
    system = bounces().system if kind == "sequence" else pendulum()
    return {"motion": da.Motion, "sequence": da.MotionSequence, "state": da.State}[kind].load(path, system)


def rewritten(kind, path, **changes):
    """The file written again with other arrays, as a program would that knows the format; None leaves one out."""
    arrays = {**read_archive(path, kind), **changes}
    return write_archive(path, kind, {name: array for name, array in arrays.items() if array is not None})


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def path(kind, tmp_path):
    return object_of(kind).save(tmp_path / "saved.npz")


# -- what comes back ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["default", "partition", "feedback", "implicit"])
def test_a_motion_comes_back_to_the_bit_and_is_judged_alike(name, tmp_path):
    motion = swing(name)
    again = da.Motion.load(motion.save(tmp_path / "m.npz"), pendulum())
    for array in ("t", "q", "u", "udot", "multipliers", "reactions", "work", "energy"):
        np.testing.assert_array_equal(getattr(again, array), getattr(motion, array))
    here, there = motion.certificate, again.certificate
    assert (there.ok, there.title, there.method, there.stats) == (here.ok, here.title, here.method, here.stats)
    for one, other in zip(here.findings, there.findings, strict=True):
        assert (one.level, one.name, one.ok) == (other.level, other.name, other.ok)
        assert other.worst == pytest.approx(one.worst, rel=1e-6, abs=1e-13)  # another order of summation


def test_arrays_can_be_read_without_the_library(path, kind):
    with np.load(path, allow_pickle=False) as data:
        name = "0 q" if kind == "sequence" else "q"
        assert data[name].size


# -- never a wrong OK --------------------------------------------------------------------------------------------------


def test_tripled_coordinates_do_not_load_as_ok(tmp_path):
    motion = swing("default")
    path = motion.save(tmp_path / "m.npz")
    again = load("motion", rewritten("motion", path, q=3.0 * motion.q))
    assert not again.certificate.ok
    assert "position `rod`" in again.certificate.verdict


@pytest.mark.parametrize("array", ["u", "udot", "multipliers", "work", "parameters"])
def test_every_array_of_a_motion_is_judged(array, tmp_path):
    motion = swing("default")
    path = motion.save(tmp_path / "m.npz")
    changed = getattr(motion, array) * (1.0 + 1e-5 * np.arange(len(getattr(motion, array)))).reshape(
        -1, *[1] * (getattr(motion, array).ndim - 1)
    )
    assert not load("motion", rewritten("motion", path, **{array: changed})).certificate.ok


@pytest.mark.parametrize("array", ["q", "u", "udot", "multipliers", "parameters"])
def test_every_array_of_a_state_is_judged(array, tmp_path):
    state = swing("default").at(0.3)
    path = state.save(tmp_path / "s.npz")
    with pytest.raises(da.InconsistentStateError, match=r"saved for other equations"):
        load("state", rewritten("state", path, **{array: 1.001 * getattr(state, array)}))


def test_a_motion_of_other_equations_is_not_ok(tmp_path):
    """Twice the damping, the same names: constraints hold, and so does the energy balance with the work of the file."""
    path = swing("default").save(tmp_path / "m.npz")
    model = da.Model("pendulum")
    x, y = model.coordinates("x y")
    model.speeds("vx vy")
    L, m, g, c = model.parameters(L=1.0, m=2.0, g=9.81, c=0.1)
    model.particle("P", mass=m, position=[x, y])
    model.gravity([0, -g])
    model.generalized_force({x: -2 * c * x.diff(), y: -2 * c * y.diff()})
    model.constrain(x**2 + y**2 - L**2, name="rod")
    certificate = da.Motion.load(path, model.compile()).certificate
    assert not certificate.ok
    assert {f.level for f in certificate.failures} == {"solve"}


def test_a_run_that_failed_stays_so(tmp_path):
    motion = replace(swing("default"), success=False, message="the step became too small")
    again = load("motion", motion.save(tmp_path / "m.npz"))
    assert (again.success, again.certificate.ok) == (False, False)


# -- what is no such file ----------------------------------------------------------------------------------------------


def test_every_truncation_is_refused(path, kind):
    content = path.read_bytes()
    for end in sorted({*np.linspace(0, len(content) - 1, 60).astype(int), *range(len(content) - 130, len(content))}):
        path.write_bytes(content[: max(end, 0)])
        with pytest.raises(da.FileError, match=r"saved\.npz"):
            load(kind, path)


def test_every_altered_byte_is_refused(path, kind):
    content, rng = path.read_bytes(), random.Random(7)
    places = [*rng.sample(range(len(content)), 80), *range(len(content) - 110, len(content))]
    for place in places:
        altered = bytearray(content)
        altered[place] ^= 1 << rng.randrange(8)
        path.write_bytes(altered)
        with pytest.raises(da.FileError, match=r"saved\.npz"):
            load(kind, path)


def test_another_version_is_refused_by_its_number(path, kind):
    content = path.read_bytes()[:-64].replace(f"dalembert {kind} 1 ".encode(), f"dalembert {kind} 7 ".encode())
    path.write_bytes(content + hashlib.sha256(content).hexdigest().encode())
    with pytest.raises(da.FileError, match="version 7 of the format, and this dalembert reads version 1"):
        load(kind, path)


def test_a_file_without_a_version_is_said_to_have_none(path, kind):
    arrays = read_archive(path, kind)
    np.savez(path, **arrays)
    with pytest.raises(da.FileError, match="no format version and no checksum"):
        load(kind, path)


def test_other_files_are_refused(tmp_path, kind):
    path = tmp_path / "other.npz"
    np.savez(path, q=np.zeros(3))
    with pytest.raises(da.FileError, match="it has no format version"):
        load(kind, path)
    for content in (b"", b"nothing", b"PK\x03\x04", bytes(5000), json.dumps({"q": 1}).encode()):
        path.write_bytes(content)
        with pytest.raises(da.FileError, match="is not a file written by"):
            load(kind, path)
    with pytest.raises(da.FileError, match="No such file"):
        load(kind, tmp_path / "missing.npz")
    with pytest.raises(da.FileError, match="not a regular file"):
        load(kind, tmp_path)


def test_the_class_that_reads_a_file_is_named(path, kind):
    for other in {*KINDS} - {kind}:
        with pytest.raises(
            da.FileError, match=rf"holds a {kind}, not a {other}; read it by {type(object_of(kind)).__name__}"
        ):
            load(other, path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("q", np.zeros((3, 7))),
        ("q", np.array(["one", "two"])),
        ("q", None),
        ("udot", None),
        ("facts", None),
        ("facts", np.array("{")),
        ("facts", np.array("[1]")),
        ("facts", np.array("{}")),
        ("facts", np.array("[" * 5000)),
    ],
)
def test_content_that_does_not_fit_is_refused(path, kind, name, value):
    key = f"0 {name}" if kind == "sequence" else name
    with pytest.raises(da.FileError, match=r"saved\.npz"):
        load(kind, rewritten(kind, path, **{key: value}))


def test_pickles_are_never_opened(tmp_path, kind):
    buffer = io.BytesIO()
    np.savez(buffer, q=np.array([{"a": 1}], dtype=object))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.comment = f"dalembert {kind} 1 sha256 ".encode() + b"0" * 64
    content = buffer.getvalue()[:-64]
    path = tmp_path / "saved.npz"
    path.write_bytes(content + hashlib.sha256(content).hexdigest().encode())
    with pytest.raises(da.FileError, match="allow_pickle=False"):
        load(kind, path)


def test_other_systems_are_refused_by_their_names(tmp_path):
    path = swing("default").save(tmp_path / "m.npz")
    with pytest.raises(da.FileError, match=r"holds a motion of `pendulum` .*not of `ball`"):
        da.Motion.load(path, bounces().system)


# -- writing -----------------------------------------------------------------------------------------------------------


def test_what_cannot_be_written_leaves_the_old_file(path, kind, monkeypatch):
    old = path.read_bytes()

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(da.FileError, match="cannot be written: No space left"):
        object_of(kind).save(path)
    assert path.read_bytes() == old
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    with pytest.raises(da.FileError, match="cannot be written: No such file"):
        object_of(kind).save(path.parent / "nowhere" / "saved.npz")


def test_only_regular_files_are_replaced(tmp_path):
    with pytest.raises(da.FileError, match="not a regular file"):
        start(pendulum()).save(tmp_path)
    link = tmp_path / "link.npz"
    link.symlink_to(tmp_path / "real.npz")
    start(pendulum()).save(link)
    assert link.is_symlink()
    assert load("state", tmp_path / "real.npz")["x"] == 0.8


def test_remains_of_killed_writers_are_removed_later(tmp_path):
    old, recent, other = (tmp_path / f".{name}.partial" for name in ("s[1].npz.aa", "s[1].npz.bb", "s1.npz.cc"))
    for file in (old, recent, other):
        file.write_bytes(b"half")
    for file in (old, other):
        os.utime(file, (time.time() - 7200.0,) * 2)
    start(pendulum()).save(tmp_path / "s[1].npz")
    assert not old.exists()
    assert recent.exists()
    assert other.exists()


SAVING = """
from dalembert.motion.archive import read_archive, write_archive
kept = [read_archive(name, "motion") for name in {sources!r}]
print("ready", flush=True)
while True:
    for arrays in kept:
        write_archive({target!r}, "motion", arrays)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes are killed by SIGKILL")
@pytest.mark.parametrize("kills", [8, pytest.param(50, marks=pytest.mark.slow)])
def test_a_killed_writer_leaves_the_old_or_the_new_file(kills, tmp_path):
    system = compile_pendulum()
    times = [np.linspace(0.0, 2.0, n) for n in (3000, 4000)]
    motions = [system.simulate(start(system), 2.0, t_eval=t) for t in times]
    sources = [str(motion.save(tmp_path / f"{k}.npz")) for k, motion in enumerate(motions)]
    target = motions[0].save(tmp_path / "saved.npz")
    script = SAVING.format(sources=sources, target=str(target))
    rng, met = random.Random(3), set()
    for _ in range(kills):
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            time.sleep(rng.uniform(0.0, 0.1))
            process.kill()
        met.add(len(da.Motion.load(target, system)))
    assert met <= {3000, 4000}


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -1.0])
def test_times_that_are_none_or_out_of_order_are_refused(path, kind, wrong):
    arrays = read_archive(path, kind)
    name = next(name for name in arrays if name in ("t", "0 t"))
    t = np.atleast_1d(np.array(arrays[name], dtype=float))
    t[len(t) // 2] = wrong
    if kind == "state" and wrong == -1.0:
        return  # one time is in order
    with pytest.raises(da.FileError, match="not finite or not in order"):
        load(kind, rewritten(kind, path, **{name: t.reshape(arrays[name].shape)}))

"""Files of every kind are the old or the new one, and a full disk is told with the name of the file."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import dalembert as da
from dalembert.file_writing import replacing, write_file

WRITERS = """
import resource, signal, sys
from pathlib import Path
import numpy as np
import dalembert as da
from dalembert import problems
from dalembert.analysis.compare import compare
problem = problems.get("pendulum")
model, system = problem.build(), problem.system()
state = problem.state(system, {})
motion = system.simulate(state, 2.0)
motion.certificate
lin = system.linearize(system.equilibrium({}, guess={"x": 0.0, "y": -1.0}))
comparison = compare(system, state, 0.5, formulations=[da.LagrangeMultipliers()], integrators=[da.DOP853()])
writers = {
    "m.npz": motion.save, "m.csv": motion.to_csv, "m.png": motion.plot, "m.pdf": motion.plot, "m.svg": motion.plot,
    "m.gif": motion.animate, "m.html": motion.animate, "r.html": motion.report, "s.npz": state.save,
    "p.toml": lambda path: model.to_toml(path), "c.png": comparison.save,
    "l.html": lambda path: system.live(path, state, sliders=[], t_end=1.0),
    "g.png": lin.sweep("g", np.linspace(1.0, 2.0, 3)).plot_root_locus,
}
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200, -1))
for name, write in writers.items():
    path = Path(sys.argv[1], name)
    path.write_text("old")
    try:
        write(path)
    except da.FileError as error:
        assert str(error).startswith(f"{path} cannot be written: "), error
        assert "make room" in str(error), error
        print(name)
resource.setrlimit(resource.RLIMIT_FSIZE, (8000, -1))
try:
    system.simulate(state, 200.0, store=Path(sys.argv[1], "store"))
except da.FileError as error:
    assert "0.z.npy cannot be written" in str(error), error
    print("store", da.Motion.load(Path(sys.argv[1], "store"), system).t[-1] > 1.0)
resource.setrlimit(resource.RLIMIT_FSIZE, (200, -1))
try:
    system.sweep({"g": [1.0, 2.0]}, 0.1, state=state, outputs=["x"], store=Path(sys.argv[1], "runs.zarr"))
except da.FileError as error:
    print("zarr")
"""


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="needs a limit of the size of files")
def test_a_full_disk_leaves_every_old_file_and_is_told(tmp_path):
    found = subprocess.run([sys.executable, "-c", WRITERS, str(tmp_path)], capture_output=True, text=True, check=False)
    told = found.stdout.split("\n")
    assert told[-4:] == ["g.png", "store True", "zarr", ""], found.stderr
    assert "Exception ignored" not in found.stderr  # as when a file is closed whose buffer cannot be written
    names = told[:-3]
    assert len(names) == 13
    assert {file.name for file in tmp_path.iterdir()} == {*names, "store"}
    for name in names:
        assert (tmp_path / name).read_text() == "old", name


def test_what_was_interrupted_leaves_the_old_file(tmp_path):
    path = write_file(tmp_path / "a.txt", "old")

    def interrupted():
        with replacing(path) as partial:
            partial.write_text("new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert [*tmp_path.iterdir()] == [path]


def test_the_mode_of_the_old_file_stays(tmp_path):
    path = write_file(tmp_path / "a.txt", "old")
    path.chmod(0o640)
    write_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(not Path(os.devnull).is_char_device(), reason="needs a device that takes everything")
def test_a_device_is_written_and_a_folder_refused(tmp_path):
    write_file(os.devnull, "gone")
    assert Path(os.devnull).is_char_device()
    with pytest.raises(da.FileError, match="not a regular file"):
        write_file(tmp_path, "text")
    with pytest.raises(da.FileError, match="cannot be written: No such file"):
        write_file(tmp_path / "nowhere" / "a.txt", "text")

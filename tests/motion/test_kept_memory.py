"""`outputs=`: Ctrl-C leaves what there is, and memory does not grow with the samples."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_motion_is_data import pendulum, start

import dalembert as da
from dalembert import free_memory
from dalembert.motion import keeping

pytestmark = pytest.mark.usefixtures("small_blocks")


# -- Ctrl-C ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", ["before", "within", "after"])
def test_ctrl_c_while_samples_are_read_counts_none_twice(swung, monkeypatch, cut):
    system, state = swung
    more = {"integrator": da.RK4(step=1e-3), "outputs": ["B_x", "hinge.angle"]}
    monkeypatch.setattr("dalembert.run.time_loop.march.SAMPLES_PER_BUFFER", 200)
    whole, calls = system.simulate(state, 4.0, **more), []
    read = keeping.OutputTable._read_block

    def cut_short(self, *arguments):
        calls.append(self._kept.samples)
        if len(calls) != 5:
            return read(self, *arguments)
        if cut == "within":
            monkeypatch.setattr(keeping, "Kept", _interrupt)
        if cut != "before":
            read(self, *arguments)
        raise KeyboardInterrupt

    def _interrupt(*_):
        monkeypatch.setattr(keeping, "Kept", kept_type)
        raise KeyboardInterrupt

    kept_type = keeping.Kept
    monkeypatch.setattr(keeping.OutputTable, "_read_block", cut_short)
    with pytest.raises(da.SimulationInterrupt) as caught:
        system.simulate(state, 4.0, **more)
    motion = caught.value.motion
    assert isinstance(motion, da.MotionOutputs)
    assert len(calls) > 5
    assert calls[5] == (calls[4] if cut != "after" else calls[4] + calls[1] - calls[0])
    assert 0 < len(motion) < len(whole)
    for key in ("t", "B_x", "hinge.angle"):
        np.testing.assert_array_equal(motion[key], whole[key][: len(motion)])
    assert "interrupted" in motion.certificate.verdict


def test_ctrl_c_after_the_last_step_keeps_all(swung, monkeypatch):
    system, state = swung
    whole, read, calls = system.simulate(state, 4.0, outputs=["B_x"]), keeping.OutputTable._read_block, []

    def cut_short(self, *arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return read(self, *arguments)

    monkeypatch.setattr(keeping.OutputTable, "_read_block", cut_short)
    monkeypatch.setattr(keeping.OutputTable, "put", keep_waiting)
    with pytest.raises(da.SimulationInterrupt, match="interrupted") as caught:
        system.simulate(state, 4.0, outputs=["B_x"])
    np.testing.assert_array_equal(caught.value.motion["B_x"], whole["B_x"])
    assert not caught.value.motion.certificate.ok


def keep_waiting(table, first, *block):
    """Take a block of samples and read none."""
    table._waiting[first] = block


def test_ctrl_c_leaves_what_was_there():
    script = """
import os, signal, threading, time, dalembert as da
from test_motion_is_data import pendulum, start

def interrupt():
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
system = pendulum()
state = start(system)
system.simulate(state, 0.1, outputs=["x"])
threading.Thread(target=interrupt, daemon=True).start()
try:
    system.simulate(state, 1e7, parameters={"c": 0.0}, integrator=da.DOP853(), outputs=["x"])
except da.SimulationInterrupt as interruption:
    motion = interruption.motion
    print(len(motion) > 1000, len(motion["x"]) == len(motion), motion.certificate.verdict)
"""
    said = _run(script).communicate(timeout=120)[0]
    assert said.startswith("True True NOT OK: ")
    assert "interrupted" in said


# -- memory ------------------------------------------------------------------------------------------------------------


def _run(script):
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    }
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env=environment, text=True)


def test_room_is_asked_for_what_is_kept(monkeypatch):
    system, count = pendulum(), 500_000  # a whole sample has 8 numbers, 32 MB; one output and its time 16 MB
    monkeypatch.setattr(free_memory, "free_memory", lambda: 20_000_000)
    times = np.linspace(0.0, 1.0, count)
    with pytest.raises(da.OutOfMemoryError, match="what to keep of it in outputs="):
        system.simulate(start(system), 1.0, t_eval=times)
    with pytest.raises(da.OutOfMemoryError, match=r"the outputs of `pendulum` at 500000 times .* fewer outputs="):
        system.simulate(start(system), 1.0, t_eval=times, outputs=["x", "y", "rod", "x'"])
    kept = system.simulate(start(system), 1.0, t_eval=times, integrator=da.RK4(step=0.01), outputs=["x"])
    assert len(kept) == count


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("asked", ["t_eval=np.linspace(0, 0.2, 20_001)", "integrator=da.RK4(step=1e-5)"])
def test_memory_does_not_grow_with_the_samples(asked):
    """A buffer of samples has 16 MB and a block of them 4 MB; up to six and eight of each are there at a time."""
    script = f"""
import re, pathlib, threading, time, numpy as np, dalembert as da
from dalembert.problems.n_four_bar import n_four_bar

def private():  # memory that is not that of files, MB
    return int(re.search(r"RssAnon:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1]) / 1024

peak, problem = 0.0, n_four_bar(200)
system = problem.build().compile()
state, names = problem.state(system), [system.coordinates[k] for k in (0, -1)]
system.simulate(state, 1e-3, {asked.replace("0.2, 20_001", "1e-3, 101")}, outputs=names).certificate

def watch():
    global peak
    while True:
        peak = max(peak, private())
        time.sleep(0.005)

before = private()
threading.Thread(target=watch, daemon=True).start()
motion = system.simulate(state, 0.2, {asked}, outputs=names)
whole = 8e-6 * len(motion) * (1 + system.nq + 2 * system.nu + system.nc)
print(motion.certificate.ok, len(motion), peak - before, whole)
"""
    ok, count, grown, size = _run(script).communicate(timeout=300)[0].split()
    assert (ok, count) == ("True", "20001")
    assert float(size) > 240.0
    assert float(grown) < 6 * 16.8 + 8 * 4.2

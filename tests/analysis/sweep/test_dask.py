"""A Dask cluster of processes: the same bits, also when a worker is killed while it runs."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import dalembert as da
from dalembert.analysis.sweep import sweep as verb

distributed = pytest.importorskip("distributed")


@pytest.mark.slow
@pytest.mark.parametrize("stored", [False, True])
def test_a_killed_worker_costs_time_only(track, start, tmp_path, monkeypatch, stored):
    values = {"a": np.linspace(0.5, 2.0, 600)}
    options = {"state": start, "outputs": ["x", da.Maximum("vx")]}
    alone = track.sweep(values, 20.0, **options)
    monkeypatch.setattr(verb, "measured_size", lambda *_: 20)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        before = set(client.run(os.getpid).values())
        killed = []

        def kill():
            """Kill one worker as soon as some runs are under way."""
            while not any(client.processing().values()):
                time.sleep(0.01)
            time.sleep(0.5)
            killed.append(min(before))
            os.kill(killed[0], signal.SIGKILL)

        thread = threading.Thread(target=kill)
        thread.start()
        store = {"store": tmp_path / "runs.zarr"} if stored else {}
        runs = track.sweep(values, 20.0, executor=client, **options, **store)
        thread.join()
        client.wait_for_workers(2)
        assert killed[0] not in client.run(os.getpid).values()
    for name in ("x_final", "vx_max"):
        assert runs[name].values.tobytes() == alone[name].values.tobytes()
    assert runs["ok"].values.all()

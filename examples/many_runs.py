"""Many runs on a cluster
======================

A four-bar whose three lengths are known to a centimetre: 200 Latin-hypercube samples, run on a Dask cluster of two
processes, kept in a Zarr store.

What to see: the lengths shift the motion little by little, so the envelope of the crank angle widens with time, while
its largest speed varies by a few per cent only. Run it again with the same folder: nothing is computed a second time.
On a real cluster only the line that makes the client changes.

Run ``python examples/many_runs.py [folder]``; the figure and the store are saved there (default: out).
"""

import sys
from pathlib import Path

import numpy as np
import xarray as xr
from distributed import Client, LocalCluster
from matplotlib.figure import Figure
from scipy import stats

import dalembert as da
from dalembert import problems

SPREAD = 0.01  # standard deviation of the lengths in metres
RUNS = 200
T_END = 6.0


def sweep(folder: Path) -> xr.Dataset:
    """The runs, from the store in `folder` as far as they are there."""
    problem = problems.get("four_bar")
    system = problem.system()
    lengths = {name: stats.norm(length, SPREAD) for name, length in (("la", 0.8), ("lb", 2.0), ("lc", 1.0))}
    sample = da.latin_hypercube(lengths, RUNS, seed=1)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        return system.sweep(
            sample,
            T_END,
            given=problem.given,
            guess=problem.guess,
            outputs=["q1", da.Final("q1"), da.Maximum("u1")],
            t_eval=np.linspace(0.0, T_END, 301),
            units={"la": "m", "lb": "m", "lc": "m", "q1": "rad", "u1": "rad/s"},
            store=folder / "four_bar_lengths.zarr",
            executor=client,
        ).load()


def main(folder: Path) -> xr.Dataset:
    """Print what came out and save a figure of it."""
    folder.mkdir(parents=True, exist_ok=True)
    runs = sweep(folder)
    print(runs)
    print(f"{int(runs['ok'].sum())} of {runs.sizes['run']} runs are ok")
    figure = Figure(figsize=(13, 6), layout="constrained")
    (envelope, histogram, drawn), (scatter, speed, lengths) = figure.subplots(2, 3)
    da.plot_envelope(runs, "q1", axes=envelope)
    histogram.hist(runs["q1_final"], bins=20)
    histogram.set(title="final angle", xlabel="q1 [rad]", ylabel="runs [1]")
    scatter.plot(runs["la"], runs["q1_final"], ".")
    scatter.set(title="what the crank does to it", xlabel="la [m]", ylabel="q1 [rad]")
    speed.plot(runs["la"], runs["u1_max"], ".")
    speed.set(title="largest speed", xlabel="la [m]", ylabel="u1 [rad/s]")
    da.plot_snapshots(problems.get("four_bar").simulate(t_end=T_END), [0.0, 0.5, 1.0, 1.5], axes=drawn)
    drawn.legend(fontsize="small")
    for name in ("la", "lb", "lc"):
        lengths.hist(1e3 * (runs[name] - float(runs[name].mean())), bins=15, histtype="step", label=name)
    lengths.set(title="the sample", xlabel="length - mean [mm]", ylabel="runs [1]")
    lengths.legend()
    figure.savefig(folder / "many_runs.png", dpi=130)
    return runs


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))

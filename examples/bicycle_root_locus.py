"""Root locus of a bicycle
=======================

Eigenvalues of the Carvallo-Whipple bicycle over its speed, with the data of Meijaard, Papadopoulos, Ruina and Schwab
(2007). The model is four bodies and two rolling discs: two position and four velocity constraints, linearised about
upright straight running.

What to see: at rest the bicycle falls (two real pairs). The two growing real eigenvalues meet and become the weave
oscillation, which decays above 4.29 m/s. Above 6.02 m/s the capsize eigenvalue is slightly positive. In between the
bicycle is stable by itself. The circles are the published eigenvalues.

Run ``python examples/bicycle_root_locus.py [folder]``; the figure is saved there (default: out).
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dalembert as da
from dalembert.analysis.root_locus import RootLocus
from dalembert.problems import benchmark_bicycle as bicycle


def main(folder: Path) -> RootLocus:
    """Draw the figure into `folder`; returns the root locus."""
    system = bicycle.build().compile()
    state = system.steady(bicycle.straight(0.0), guess=bicycle.GUESS)
    lin = system.linearize(state, states=bicycle.STATES)
    speeds = np.linspace(0.0, 10.0, 101)
    locus = lin.sweep("rear_rate", speeds / bicycle.REAR_RADIUS)
    figure = Figure(figsize=(13, 5.5), layout="constrained")
    axes, drawn = figure.subplots(1, 2, width_ratios=(1.6, 1))
    for k, branch in enumerate(locus.eigenvalues.T):
        axes.plot(speeds, branch.real, "C0.", ms=3, label=None if k else "real part")
        waves = np.where(branch.imag > 1e-6, branch.imag, np.nan)
        axes.plot(speeds, waves, "C1.", ms=3, label=None if k else "imaginary part")
    for k, (v, weave, wave, capsize, caster) in enumerate(bicycle.EIGENVALUES):
        published = {"label": None if k else "published", "mfc": "none", "mec": "0.3"}
        axes.plot([v] * 4, [weave, wave, capsize, caster], "o", **published)
    for crossing in locus.crossings():
        v = crossing.value * bicycle.REAR_RADIUS
        axes.axvline(v, color="0.5", lw=0.8)
        axes.annotate(f"{v:.5f} m/s", (v, -10.5), rotation=90, ha="right", va="bottom", fontsize="small")
    axes.axvspan(bicycle.WEAVE_SPEED, bicycle.CAPSIZE_SPEED, color="C2", alpha=0.15, label="stable")
    axes.axhline(0.0, color="0.3", lw=0.8)
    axes.set(xlabel="speed [m/s]", ylabel="eigenvalue [1/s]", ylim=(-11, 11), title="Carvallo-Whipple bicycle")
    axes.legend(loc="lower right")
    ride = system.simulate(system.steady(bicycle.straight(5.0), guess=bicycle.GUESS), 0.6)
    da.plot_snapshots(ride, [0.0, 0.6], axes=drawn).legend(fontsize="small")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "bicycle_root_locus.png", dpi=110)
    return locus


if __name__ == "__main__":
    for crossing in main(Path(sys.argv[1] if len(sys.argv) > 1 else "out")).crossings():
        print(f"{crossing.value * bicycle.REAR_RADIUS:.10f} m/s, eigenvalue {crossing.eigenvalue:.6f}")

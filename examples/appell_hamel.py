"""Appell-Hamel mechanism
======================

Figures 2-9 of Bajodah, Hodges and Chen: the Appell-Hamel mechanism with a nonlinear nonholonomic constraint.

A load that hangs beside a wheel sinks and makes it roll on a plane. What to see: theta settles while the wheel rolls
faster and faster (2-6), so that the path of the load becomes straight (7) as it sinks (8). Figure 9 compares the
energy error of the nonlinear constraint model (NC) with that of the linear one (LC). The paper finds NC to subdue its
growth; here both stay below 5e-9 J, and LC is the smaller one.

Run ``python examples/appell_hamel.py [folder]``; the figures are saved there (default: out).
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dalembert as da
from dalembert import problems

PANELS = {  # figure of the paper: abscissa, ordinate
    "2": ("t", "theta"),
    "3": ("t", "phi"),
    "4": ("t", "theta'"),
    "5": ("t", "phi'"),
    "6": ("phi", "theta'"),
    "7": ("x", "y"),
    "8": ("t", "z"),
}


def simulate(name: str, t_end: float = 10.0) -> da.Motion:
    """The motion of one constraint model: "appell_hamel" (nonlinear) or "appell_hamel_linear"."""
    times = np.linspace(0.0, t_end, 501)
    return problems.get(name).simulate(t_end=t_end, t_eval=times, formulation=da.NonminimalKane())


def main(folder: Path) -> dict[str, da.Motion]:
    """Draw the figures into `folder`; returns the motions of both constraint models."""
    runs = {"NC": simulate("appell_hamel"), "LC": simulate("appell_hamel_linear")}
    nonlinear = runs["NC"]
    figure = Figure(figsize=(10, 8), layout="constrained")
    axes = figure.subplots(3, 3).ravel()
    for panel, (number, (x, y)) in zip(axes, PANELS.items(), strict=False):
        panel.plot(nonlinear.t if x == "t" else nonlinear[x], nonlinear[y])
        panel.set(title=f"Figure {number}: {y} over {x}", xlabel=x, ylabel=y)
    for label, motion in runs.items():
        axes[7].plot(motion.t, motion.energy - motion.energy[0], label=label)
    axes[7].set(title="Figure 9: energy error", xlabel="t", ylabel="energy - its first value [J]")
    axes[7].legend()
    axes[8].axis("off")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "appell_hamel.png", dpi=110)
    return runs


if __name__ == "__main__":
    for label, motion in main(Path(sys.argv[1] if len(sys.argv) > 1 else "out")).items():
        print(label, motion.certificate, sep="\n")

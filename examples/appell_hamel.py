"""Appell-Hamel mechanism
======================

Figures 2-9 of Bajodah, Hodges and Chen: the Appell-Hamel mechanism with a nonlinear nonholonomic constraint.

A load that hangs beside a wheel sinks and makes it roll on a plane. What to see: theta settles while the wheel rolls
faster and faster (2-6), so that the path of the load becomes straight (7) as it sinks (8). Figure 9 is about equations
that nothing corrects, by Kutta-Merson at 0.01 s: the energy error of the linear constraint model (LC) grows steadily to
-2.0e-9 J, that of the nonlinear one (NC) turns back and ends at -2.2e-10 J, as the paper says. The paper does not give
the moment of inertia I, and the last panel shows that the claim depends on it: NC is the better one for I = 0.1 to
2 kg m2, the worse one for 5.

Run ``python examples/appell_hamel.py [folder]``; the figures are saved there (default: out).
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dalembert as da
from dalembert import problems

AXES = {
    "t": "t [s]", "theta": "theta [rad]", "phi": "phi [rad]", "theta'": "theta' [rad/s]", "phi'": "phi' [rad/s]",
    "x": "x [m]", "y": "y [m]", "z": "z [m]",
}  # fmt: skip
PANELS = {  # figure of the paper: abscissa, ordinate
    "2": ("t", "theta"), "3": ("t", "phi"), "4": ("t", "theta'"), "5": ("t", "phi'"), "6": ("phi", "theta'"),
    "7": ("x", "y"), "8": ("t", "z"),
}  # fmt: skip
MODELS = {"NC": "appell_hamel", "LC": "appell_hamel_linear"}
INERTIAS = (0.1, 0.5, 1.0, 2.0, 5.0)
UNCORRECTED = {
    "formulation": da.NonminimalKane(u_ind=["u1", "u2"]),
    "drift": da.NoCorrection(),
    "integrator": da.KuttaMerson(step=0.01),
}


def main(folder: Path) -> dict[tuple[str, float], da.Motion]:
    """Draw the figures into `folder`; returns the uncorrected motions by constraint model and moment of inertia."""
    runs = {
        (model, inertia): problems.get(name).simulate(parameters={"I": inertia}, **UNCORRECTED)
        for inertia in INERTIAS
        for model, name in MODELS.items()
    }
    figure = Figure(figsize=(18, 7), layout="constrained")
    *panels, energy, inertias, drawn = figure.subplots(2, 5).ravel()
    motion = runs["NC", 1.0]
    for panel, (number, (x, y)) in zip(panels, PANELS.items(), strict=True):
        panel.plot(motion.t if x == "t" else motion[x], motion[y])
        panel.set(title=f"Figure {number}: {y} over {x}", xlabel=AXES[x], ylabel=AXES[y])
    for model, style in zip(MODELS, ("-", "--"), strict=True):
        error = runs[model, 1.0].energy - runs[model, 1.0].energy[0]
        energy.plot(motion.t, error, style, label=f"{model}, ends at {error[-1]:.1e} J")
        worst = [np.abs(runs[model, i].energy - runs[model, i].energy[0]).max() for i in INERTIAS]
        inertias.semilogx(INERTIAS, worst, f"o{style}", label=model)
    energy.set(title="Figure 9: energy error, I = 1 kg m2", xlabel="t [s]", ylabel="E - E(0) [J]", ylim=(-2.5e-9, 3e-9))
    inertias.set(title="Figure 9 for other I", xlabel="I [kg m2]", ylabel="largest |E - E(0)| [J]", ylim=(0, 3.5e-9))
    for axes in (energy, inertias):
        axes.legend(loc="upper left", fontsize="small")
    da.plot_snapshots(motion, [0.0, 1.0, 2.0, 3.0], axes=drawn).legend(fontsize="small")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "appell_hamel.png", dpi=110)
    return runs


if __name__ == "__main__":
    runs = main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
    turn = abs(runs["NC", 1.0]["theta'"][-1])
    print(f"theta' at 10 s {turn:.1e} rad/s; paper: settles to 0; {'as printed' if turn < 1e-3 else 'DIFFERS'}")
    ends = [abs(runs[model, 1.0].energy[-1] - runs[model, 1.0].energy[0]) for model in MODELS]
    print(f"|dE| at 10 s, NC beside LC; paper: NC subdued; {'as printed' if ends[0] < ends[1] else 'DIFFERS'}")
    for (model, inertia), motion in runs.items():
        error = motion.energy - motion.energy[0]
        print(f"{model}, I = {inertia:g}: largest |dE| = {np.abs(error).max():.2e} J, at the end {error[-1]:.2e} J")

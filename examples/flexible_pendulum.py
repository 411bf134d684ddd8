"""Flexible pendulum
=================

Figures 3 and 4 of Wu, Zhang, Guo and Li: the end of a flexible beam that falls from rest, pinned at its start.

Their state-space method (singular value decomposition, implicit) runs beside an explicit Runge-Kutta method, for a beam
as soft as rubber and for one as stiff as aluminium. What to see: the curves of both methods coincide. The soft beam
costs them about the same; on the stiff one the explicit method follows axial vibrations that nobody looks at and needs
more than ten times the evaluations.

Run ``python examples/flexible_pendulum.py [folder]``; the figure is saved there (default: out).
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dalembert as da
from dalembert.problems import flexible_pendulum as problem

BEAMS = {"soft, E = 0.7e6 Pa": problem.SOFT, "stiff, E = 0.7e11 Pa": problem.STIFF}
METHODS = {"explicit RK": da.DOP853(rtol=1e-5, atol=5e-8), "state space SVD": da.StateSpaceSVD(rtol=1e-5, atol=5e-8)}


def main(folder: Path) -> dict[tuple[str, str], da.Motion]:
    """Draw the figure into `folder`; returns the motions by beam and method."""
    times = np.linspace(0.0, 1.2, 241)
    system = problem.build().compile()
    runs = {
        (beam, name): system.simulate(
            system.initial({}, parameters={"E": E}), times[-1], t_eval=times, integrator=method
        )
        for beam, E in BEAMS.items()
        for name, method in METHODS.items()
    }
    figure = Figure(figsize=(15, 7), layout="constrained")
    grid = figure.add_gridspec(2, 3)
    panels = np.array([[figure.add_subplot(grid[row, column]) for column in (0, 1)] for row in (0, 1)])
    for (beam, name), motion in runs.items():
        column = list(BEAMS).index(beam)
        style = {"ls": "-" if name == "explicit RK" else "--", "lw": 1 if name == "explicit RK" else 2}
        label = f"{name}, {motion.stats['nfev']:,} evaluations"
        panels[0, column].plot(motion.t, problem.end_of(motion)[:, 1], label=label, **style)
        panels[1, column].plot(motion.t, problem.deformation_of(motion), label=label, **style)
        panels[0, column].set(title=beam, ylabel="displacement of the end [m]" if not column else None)
        panels[1, column].set(xlabel="t [s]", ylabel="transverse deformation [m]" if not column else None)
        panels[1, column].legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), fontsize="small")  # beside the curves
    for row, beam in enumerate(BEAMS):
        drawn = da.plot_snapshots(
            runs[beam, "explicit RK"], [0.0, 0.2, 0.4, 0.6], axes=figure.add_subplot(grid[row, 2])
        )
        drawn.set_title(beam)
        drawn.legend(fontsize="small")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "flexible_pendulum.png", dpi=110)
    return runs


if __name__ == "__main__":
    for (beam, name), motion in main(Path(sys.argv[1] if len(sys.argv) > 1 else "out")).items():
        print(f"{beam}, {name}: {motion.stats['nfev']:,} evaluations; {motion.certificate.verdict}")

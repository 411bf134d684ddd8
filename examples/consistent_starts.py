"""Consistent initial conditions
=============================

Both examples of Dinh Van Phong: consistent initial conditions of a spatial four-bar mechanism and of a car.

The first gives q1 and q1' of the mechanism; (3.1)-(3.6) give everything else, as printed below, and it swings about
its lowest position. The second gives x, phi and x' of a car that has to follow a circle, with two nonholonomic
constraints and an unknown steering moment (3.7)-(3.17), and drives once round. What to see: heading along the circle
with straight wheels it needs -106 N m at the start, then it settles to the steady turn, theta = 0.125 rad.

Run ``python examples/consistent_starts.py [folder]``; figures and animations are saved there (default: out).
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dalembert as da
from dalembert import problems


def main(folder: Path) -> dict[str, da.Motion]:
    """Draw the motions into `folder`; returns them by name."""
    bars, car = problems.get("spatial_four_bar"), problems.get("car")
    runs = {}
    for problem in (bars, car):
        system = problem.system()
        state = problem.state(system)
        print(state)
        runs[problem.name] = system.simulate(state, problem.t_end, t_eval=np.linspace(0.0, problem.t_end, 601))
    folder.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(12, 6), layout="constrained")
    top, bottom = ([figure.add_subplot(2, 4, 4 * row + k) for k in (1, 2, 3)] for row in (0, 1))
    m = runs["spatial_four_bar"]
    quantities = {
        "angle [rad]": ["q1", "q2"],
        "angular velocity [rad/s]": ["u1", "u2"],
        "multiplier of (3.1) [N/m]": ["rod"],
    }
    for axes, (ylabel, names) in zip(top, quantities.items(), strict=True):
        for name, style in zip(names, ("-", "--"), strict=False):
            axes.plot(m.t, m[name], style, label=name)
        axes.set(title=f"spatial four-bar: {', '.join(names)}", xlabel="t [s]", ylabel=ylabel)
        axes.margins(y=0.25)
        axes.legend(loc="upper right", ncols=2)
    m = runs["car"]
    bottom[0].plot(m["x"], m["y"])
    bottom[0].set(title="car: path", xlabel="x [m]", ylabel="y [m]", aspect="equal")
    bottom[1].plot(m.t, m["theta"])
    bottom[1].set(title="steering angle", xlabel="t [s]", ylabel="theta [rad]")
    bottom[2].plot(m.t, m["Md"])
    bottom[2].set(title="steering moment", xlabel="t [s]", ylabel="Md [N m]")
    for place, (name, times) in {4: ("spatial_four_bar", (0.0, 0.4, 0.8)), 8: ("car", (0.0, 2.0, 4.0))}.items():
        da.plot_snapshots(runs[name], times, axes=figure.add_subplot(2, 4, place)).legend(fontsize="small")
    figure.savefig(folder / "consistent_starts.png", dpi=110)
    return runs


if __name__ == "__main__":
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    for label, motion in main(out).items():
        print(motion.certificate)
        choice, printed = motion.system.diagnose(motion.at(0.0)), {"spatial_four_bar": (1, 1), "car": (3, 1)}[label]
        verdict = "as printed" if (choice.position_dof, choice.dof) == printed else "differs: (3.9) hides the heading"
        print(f"{label}: n_p, n_v = {choice.position_dof}, {choice.dof}; document: {printed}; {verdict}")
        motion.animate(out / f"{label}.html")

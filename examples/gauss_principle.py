"""Gauss's principle
=================

Figures 1-5 and equation (38) of Kalaba and Udwadia. What to see: example 1 prints the explicit acceleration of a
particle with y' = z x'. Example 2 is a pendulum, plain (figure 1) and with a length that varies with x (2, 3): it
starts on a hill between two valleys; as in the paper nothing holds the constraint, so its error grows and the
certificate says NOT OK. Example 3 makes two Duffing oscillators track a relative motion (the second one dashed); the
reactions are the control forces (4), and the error stays below 1e-9 (5).

Run ``python examples/gauss_principle.py [folder]``; the figures are saved there (default: out).
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dalembert as da
from dalembert import problems

HOW = {"formulation": da.UdwadiaKalaba(), "drift": da.NoCorrection(), "t_eval": np.linspace(0.0, 10.0, 4001)}


def pendulum(a: float, mu: float) -> da.Motion:
    """Example 2 from the lowest point of the circle with x' = a."""
    system = problems.get("nonlinear_pendulum").system()
    state = system.initial({"x": 0.0, "vx": a}, guess={"y": 20.0}, parameters={"mu": mu})
    return system.simulate(state, 10.0, **HOW)


def save(path: Path, title: str, panels: list[tuple]) -> None:
    """One figure with a panel for each (x, y, label, label); the first of two curves is solid, the second dashed."""
    figure = Figure(figsize=(10, 1.2 + 2.0 * ((len(panels) + 1) // 2)), layout="constrained")
    figure.suptitle(title)
    for k, (x, y, xlabel, ylabel) in enumerate(panels, 1):
        axes = figure.add_subplot((len(panels) + 1) // 2, 2, k, xlabel=xlabel, ylabel=ylabel)
        for curve, style in zip(np.atleast_2d(y.T), ("-", "--"), strict=False):
            axes.plot(x, curve, style, lw=0.9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def main(folder: Path) -> dict[str, da.Motion]:
    """Draw the figures into `folder`; returns the motions by figure."""
    runs = {"1": pendulum(20.0, 0.0)} | {f"3, a={a:g}": pendulum(a, -0.1) for a in (0.5, 1.0, 2.0, 4.0)}
    for number, m in {"1": runs["1"], "2": runs["3, a=4"]}.items():
        panels = [(m.t, m[name], "t", name) for name in ("x", "vx", "y", "vy")]
        panels += [(m["x"], m["vx"], "x", "vx"), (m["y"], m["vy"], "y", "vy")]
        panels += [(m.t, m.violation["position"]["length"], "t", "error")]
        save(folder / f"kalaba_udwadia_{number}.png", f"Figure {number}", panels)
    phases = []
    for name, m in list(runs.items())[1:]:
        phases += [(m["x"], m["vx"], "x", f"vx, {name[3:]}"), (m["y"], m["vy"], "y", f"vy, {name[3:]}")]
    save(folder / "kalaba_udwadia_3.png", "Figure 3: phase plots from different speeds a", phases)
    for alpha in (4.0, 0.4):
        m = runs[f"4, alpha={alpha:g}"] = problems.get("duffing_tracking").simulate(parameters={"alpha": alpha}, **HOW)
        panels = [(m.t, m.q, "t", "x1, x2"), (m.t, m.u, "t", "v1, v2"), (m.t, m.reactions, "t", "f1, f2")]
        panels += [(m.t, m["x1"] - m["x2"], "t", "x1 - x2"), (m.t, m.violation["position"]["track"], "t", "error")]
        save(folder / f"kalaba_udwadia_4_{alpha:g}.png", f"Figures 4, 5: alpha = {alpha:g}", panels)
    return runs


if __name__ == "__main__":
    print(problems.get("kalaba_udwadia_particle").system().equations(da.UdwadiaKalaba()))  # (38)
    for label, motion in main(Path(sys.argv[1] if len(sys.argv) > 1 else "out")).items():
        print(f"figure {label}: {motion.certificate.verdict}")

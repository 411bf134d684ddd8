"""Gauss's principle
=================

Figures 1-5 and equation (38) of Kalaba and Udwadia, with a Runge-Kutta method of order 4 and a tolerance of 1e-10.

What to see: example 1 prints the explicit acceleration of a particle with y' = z x'. Example 2 is a pendulum, plain
(figure 1) and with a length that varies with x (2, 3). The plain one agrees with the equation in its angle, dashed in
the first panel, to within the tolerance; the others start on a hill between two valleys. As in the paper nothing holds
the constraint, so its error grows and the certificate says NOT OK. Example 3 makes two Duffing oscillators track a
relative motion. The reactions are the control forces (4), here split into feedback and feed-forward, and the error is
of the order of 1e-9 m (5). Of all accelerations that track, the true ones have the least measure of Gauss (last panel).

Run ``python examples/gauss_principle.py [folder]``; the figures are saved there (default: out).
"""

import sys
from pathlib import Path

import numpy as np
import sympy as sp
from matplotlib.figure import Figure

import dalembert as da
from dalembert import problems

METHOD = da.KuttaMerson(rtol=1e-10, atol=1e-10)
HOW = {"formulation": da.UdwadiaKalaba(), "drift": da.NoCorrection(), "integrator": METHOD}
UNITS = {"t": "t [s]", "x": "x [m]", "y": "y [m]", "vx": "x' [m/s]", "vy": "y' [m/s]"}


def pendulum(a: float, mu: float) -> da.Motion:
    """Example 2 from the lowest point of the circle with x' = a."""
    system = problems.get("nonlinear_pendulum").system()
    state = system.initial({"x": 0.0, "vx": a}, guess={"y": 20.0}, parameters={"mu": mu})
    return system.simulate(state, 10.0, **HOW)


def in_angle(times: np.ndarray) -> np.ndarray:
    """x of the plain pendulum from its equation in the angle, theta'' = -(g/L) sin(theta) with theta' = a/L, (nt,)."""
    model = da.Model("pendulum in its angle")
    (theta,), (L, g) = model.coordinates("theta"), model.parameters(L=20.0, g=4 * np.pi)
    model.energy(kinetic=(L * theta.diff()) ** 2 / 2, potential=-g * L * sp.cos(theta))
    state = model.compile().initial({theta: 0.0, theta.diff(): 1.0})
    return 20 * np.sin(state.system.simulate(state, 10.0, t_eval=times, integrator=da.DOP853(rtol=1e-12))["theta"])


def save(path: Path, title: str, panels: list[tuple], motion: da.Motion) -> None:
    """One figure with a panel for each (x, curves by label, x label, y label), and the mechanism in the last one."""
    rows = len(panels) // 2 + 1
    figure = Figure(figsize=(10, 1.0 + 2.2 * rows), layout="constrained")
    figure.suptitle(title)
    for k, (x, curves, xlabel, ylabel) in enumerate(panels, 1):
        axes = figure.add_subplot(rows, 2, k, xlabel=xlabel, ylabel=ylabel)
        for (label, curve), style in zip(curves.items(), ("-", "--", ":"), strict=False):
            axes.plot(x, curve, style, lw=0.9, label=label)
        if len(curves) > 1:
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small")
    drawn = da.plot_snapshots(motion, [0.0, 0.5, 1.0, 1.5], axes=figure.add_subplot(rows, 2, len(panels) + 1))
    drawn.invert_yaxis()  # gravity along +y
    drawn.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def tracking(m: da.Motion) -> list[tuple]:
    """Panels of figures 4 and 5, of the two parts of the control force, and of Gauss's measure beside two others."""
    at, t = (m.system, m.t, m.q, m.u, m.parameters), "t [s]"
    force, (back, forward) = m.reactions, HOW["formulation"].split_force(*at)
    measure = {"true u'": m.gauss_measure}
    for w in (20.0, -30.0):  # both masses accelerated by w more: still tracking
        measure[f"u' {w:+g} m/s2"] = m.system.gauss_measure(*at[1:4], m.udot + w, m.parameters)
    return [
        (m.t, {"x1": m["x1"], "x2": m["x2"]}, t, "displacement [m]"),
        (m.t, {"x1'": m["v1"], "x2'": m["v2"]}, t, "velocity [m/s]"),
        (m.t, {"on mass 1": force[:, 0], "on mass 2": force[:, 1]}, t, "control force [N]"),
        (m.t, {"feedback": back[:, 0], "feed-forward": forward[:, 0]}, t, "force on mass 1 [N]"),
        (m.t, {"x1 - x2": m["x1"] - m["x2"]}, t, "x1 - x2 [m]"),
        (m.t, {"error": m.violation["position"]["track"]}, t, "tracking error [m]"),
        (m.t, measure, t, "Gauss's measure [N2/kg]"),
    ]


def main(folder: Path) -> dict[str, da.Motion]:
    """Draw the figures into `folder`; returns the motions by figure."""
    runs = {"1": pendulum(20.0, 0.0)} | {f"3, a={a:g}": pendulum(a, -0.1) for a in (0.5, 1.0, 2.0, 4.0)}
    for title, m in (("Figure 1: a = 20 m/s, mu = 0", runs["1"]), ("Figure 2: a = 4 m/s, mu = -0.1", runs["3, a=4"])):
        panels = [(m.t, {"31": m[name]}, "t [s]", UNITS[name]) for name in ("x", "vx", "y", "vy")]
        panels += [(m[p], {"31": m[v]}, UNITS[p], UNITS[v]) for p, v in (("x", "vx"), ("y", "vy"))]
        panels += [(m.t, {"31": m.violation["position"]["length"]}, "t [s]", "error of (34) [m2]")]
        if m is runs["1"]:
            x = in_angle(m.t)
            panels[0] = (m.t, {"by (31)": m["x"], "in the angle": x}, "t [s]", UNITS["x"])
            panels += [(m.t, {"31": m["x"] - x}, "t [s]", "x, (31) - angle [m]")]
        save(folder / f"kalaba_udwadia_{title[7]}.png", title, panels, m)
    phases = []
    for name, m in list(runs.items())[1:]:
        phases += [(m[p], {name: m[v]}, UNITS[p], f"{UNITS[v]}, {name[3:]}") for p, v in (("x", "vx"), ("y", "vy"))]
    save(folder / "kalaba_udwadia_3.png", "Figure 3: phase plots from different speeds a [m/s]", phases, m)
    for alpha in (4.0, 0.4):
        m = runs[f"4, alpha={alpha:g}"] = problems.get("duffing_tracking").simulate(parameters={"alpha": alpha}, **HOW)
        save(folder / f"kalaba_udwadia_4_{alpha:g}.png", f"Figures 4, 5: alpha = {alpha:g} 1/s", tracking(m), m)
    return runs


if __name__ == "__main__":
    print(problems.get("kalaba_udwadia_particle").system().equations(da.UdwadiaKalaba()))  # (38)
    runs = main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
    angle = np.rad2deg(np.arctan2(runs["1"]["x"], runs["1"]["y"]).max())
    print(f"largest angle {angle:.1f} deg; paper: about 80; {'as printed' if abs(angle - 80) < 5 else 'DIFFERS'}")
    for alpha in ("4", "0.4"):
        error = np.abs(runs[f"4, alpha={alpha}"].violation["position"]["track"]).max()
        print(f"tracking error {error:.1e} m; paper: about 1e-9; {'as printed' if error < 5e-9 else 'DIFFERS'}")
    for label, motion in runs.items():
        print(f"figure {label}: {motion.certificate.verdict}")

"""Stability map of a governor
===========================

An engine is held at its speed by a centrifugal governor: as it speeds up, the balls rise and close the steam valve, so
that the driving torque is k cos a against the load F. Maxwell (1868) and Vyshnegradskii (1876) found that such
governors hunt: without enough friction the speed oscillates, more and more.

Each point of the map is a steady motion (``system.steady``) and its eigenvalues (``state.stability``).

What to see: the black line is where the computed growth rate is zero. Vyshnegradskii's rule b J / m > 2 F / W (dashed)
leaves out the inertia of the balls and asks for more friction than is needed. Heavier loads need more friction.

Run ``python examples/governor_stability.py [folder]``; the figure is saved there (default: out).
"""

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import sympy as sp
from matplotlib.figure import Figure

import dalembert as da

m, g, J, k = 1.0, 9.81, 4.0, 20.0  # balls on rods of length 1; flywheel; torque of the open valve
FRICTIONS, LOADS = np.linspace(0.2, 3.0, 15), np.linspace(6.0, 18.0, 13)


class StabilityMap(NamedTuple):
    """Growth rates (loads, frictions) and engine speeds (loads,)."""

    growth: np.ndarray
    speeds: np.ndarray


def governor() -> da.System:
    """Angle of the balls and turn of the shaft, which is ignorable."""
    model = da.Model("governor")
    a, turn = model.coordinates("a turn")
    b, F = model.parameters(b=1.0, F=12.0)
    spin = turn.diff()
    model.energy(
        kinetic=m / 2 * (a.diff() ** 2 + spin**2 * sp.sin(a) ** 2) + J / 2 * spin**2, potential=-m * g * sp.cos(a)
    )
    for side in (1, -1):
        ball = [side * sp.sin(a) * sp.cos(turn), side * sp.sin(a) * sp.sin(turn), -sp.cos(a)]
        model.line([[0, 0, 0], ball], name=f"rod {side:+d}")
    model.line([[0, 0, 0], [0, 0, -1.2]], name="shaft")
    model.generalized_force({a: -b * a.diff(), turn: k * sp.cos(a) - F})
    return model.compile()


def main(folder: Path) -> StabilityMap:
    """Draw the figure into `folder`; returns what is in it."""
    system = governor()
    growth, speeds = np.zeros((len(LOADS), len(FRICTIONS))), np.zeros(len(LOADS))
    for i, F in enumerate(LOADS):
        lift = np.arccos(F / k)
        guess = {"a": lift, "turn'": np.sqrt(g / np.cos(lift))}
        for j, b in enumerate(FRICTIONS):
            state = system.steady({"turn": 0.0}, guess=guess, parameters={"F": F, "b": b})
            growth[i, j], speeds[i] = state.stability.growth, state["turn'"]
    figure = Figure(figsize=(12, 5), layout="constrained")
    axes, drawn = figure.subplots(1, 2, width_ratios=(1.6, 1))
    size = np.abs(growth).max()
    shades = axes.pcolormesh(FRICTIONS, LOADS, growth, cmap="RdBu_r", vmin=-size, vmax=size, shading="gouraud")
    axes.contour(FRICTIONS, LOADS, growth, levels=[0.0], colors="k")
    axes.plot(2 * LOADS / speeds * m / J, LOADS, "k--", label="Vyshnegradskii")
    axes.text(0.45, 15.5, "hunts", fontsize="large")
    axes.text(2.4, 8.5, "steady", fontsize="large")
    axes.set(xlabel="friction b [N m s]", ylabel="load F [N m]", title="governor: growth rate of the speed")
    axes.set(xlim=FRICTIONS[[0, -1]], ylim=LOADS[[0, -1]])
    axes.legend(loc="lower right")
    figure.colorbar(shades, ax=axes, label="largest real part [1/s]")
    steady = system.steady({"turn": 0.0}, guess=guess, parameters={"F": LOADS[-1], "b": FRICTIONS[-1]})
    turned = system.simulate(steady, 0.4)
    da.plot_snapshots(turned, [0.0, 0.1, 0.2], axes=drawn).legend(fontsize="small")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "governor_stability.png", dpi=110)
    return StabilityMap(growth, speeds)


if __name__ == "__main__":
    found = main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
    print(f"{(found.growth < 0).sum()} of {found.growth.size} points are stable")

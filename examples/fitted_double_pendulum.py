"""A double pendulum fitted to noisy data
======================================

The angles of a damped double pendulum are measured with noise of 0.02 rad, a stretch of the second angle is missing.
Five values are found from them: a mass, two lengths, the damping and the start angle.

What to see: the fit starts far off (dashed) and ends on the data; residuals are white and of the size of the noise. The
table compares the values with the true ones in units of their standard deviations.

Run ``python examples/fitted_double_pendulum.py [folder]``; the figure is saved there (default: out).
"""

import sys
from pathlib import Path

import numpy as np
import sympy as sp
from matplotlib.figure import Figure

import dalembert as da

TRUE = {"m2": 0.8, "L1": 1.0, "L2": 0.7, "c": 0.05, "a": 1.0}
FIRST = {"m2": 1.0, "L1": 1.1, "L2": 0.6, "c": 0.0, "a": 0.9}
NOISE = 0.02


def build() -> da.Model:
    """Two particles on rods, angles a and b against the vertical, damping in both hinges."""
    model = da.Model("double pendulum")
    a, b = model.coordinates("a b")
    m1, m2, L1, L2, g, c = model.parameters(m1=1.0, m2=0.8, L1=1.0, L2=0.7, g=9.81, c=0.05)
    x, y = L1 * sp.sin(a), -L1 * sp.cos(a)
    model.particle("P1", mass=m1, position=[x, y])
    model.particle("P2", mass=m2, position=[x + L2 * sp.sin(b), y - L2 * sp.cos(b)])
    model.line([[0, 0], [x, y], [x + L2 * sp.sin(b), y - L2 * sp.cos(b)]], name="rods")
    model.gravity([0, -g])
    model.generalized_force({a: -c * a.diff(), b: -c * b.diff()})
    return model


def main(folder: Path) -> da.Fit:
    """Draw the figure into `folder`; returns the fit."""
    system = build().compile()
    given = {"a": 1.0, "b": 1.5, "a'": 0.0, "b'": 0.0}
    state, times, rng = system.initial(given), np.linspace(0.0, 6.0, 300), np.random.default_rng(1743)
    true = system.simulate(state, 6.0, t_eval=times)
    data = {"t": times, **{key: true[key] + NOISE * rng.standard_normal(300) for key in ("a", "b")}}
    data["b"][120:180] = np.nan
    fit = system.fit(data, FIRST, state=state, sigma=NOISE)
    first = {name: value for name, value in FIRST.items() if name != "a"}
    before = system.simulate(system.initial({**given, "a": FIRST["a"]}, parameters=first), 6.0, t_eval=times)
    figure = fit.plot()
    for axes, name in zip(figure.axes[:2], ("a", "b"), strict=True):
        axes.plot(times, before[name], "--", color="0.6", lw=1.0, label="first values")
        axes.set_ylabel(f"{name} [rad]")
    figure.axes[0].legend()
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "fitted_double_pendulum.png", dpi=110)
    drawn = Figure(figsize=(5, 4), layout="constrained")
    da.plot_snapshots(fit.motion, [0.0, 0.4, 0.8, 1.2], axes=drawn.subplots()).legend(fontsize="small")
    drawn.savefig(folder / "fitted_double_pendulum_mechanism.png", dpi=110)
    return fit


if __name__ == "__main__":
    found = main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
    for name, value in TRUE.items():
        off = (found[name] - value) / found.sigma[name]
        print(f"{name:3} {found[name]:.5f} +- {found.sigma[name]:.5f}, {off:+.1f} sigma from {value}")

"""Slider-crank with the least torque
==================================

A crank turns by half a revolution in a second, from rest to rest, and pushes a heavy slider. Which torque does it with
the least effort, the integral of its square? The torque is a sum of Legendre polynomials; SciPy's SLSQP finds their
factors with the exact gradients of ``system.gradient``, one sweep back through the motion each.

What to see: for a wheel the best torque is a straight line, and the angle a cubic (dashed). Here the slider is heavy in
the middle of its stroke and light at its ends, so the best torque starts and ends harder and is nearly zero between:
the crank leaves and reaches the dead centres faster. Following the cubic is five times as costly.

Run ``python examples/minimum_torque.py [folder]``; the figure is saved there (default: out).
"""

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sympy as sp
from matplotlib.figure import Figure
from scipy.optimize import OptimizeResult, minimize

import dalembert as da

r, l, J, m = 0.3, 0.7, 0.05, 4.0  # crank, rod, inertia of the crank, mass of the slider
TERMS, END = 10, 1.0


class Optimum(NamedTuple):
    """The motion with the least effort, its torque's effort, what SLSQP says, and the effort of the cubic."""

    motion: da.Motion
    effort: float
    result: OptimizeResult
    cubic: float


def slider_crank() -> tuple[da.System, sp.Expr]:
    """Angles of crank and rod and the slider's place, with a closed loop; and the torque."""
    model = da.Model("slider-crank")
    th, ph, x = model.coordinates("th ph x")
    c = model.parameters(**{f"c{k}": 0.0 for k in range(TERMS)})
    torque = sum(c[k] * sp.legendre(k, 2 * model.t / END - 1) for k in range(TERMS))
    model.energy(kinetic=J / 2 * th.diff() ** 2 + m / 2 * x.diff() ** 2)
    model.particle("rod", mass=0.5, position=[r * sp.cos(th) + l / 2 * sp.cos(ph), -l / 2 * sp.sin(ph)])
    model.constrain([r * sp.cos(th) + l * sp.cos(ph) - x, r * sp.sin(th) + l * sp.sin(ph)], name="loop")
    model.generalized_force({th: torque})
    model.output("torque", torque)
    model.line([[0, 0], [r * sp.cos(th), r * sp.sin(th)], [x, 0]], name="crank and rod")
    return model.compile(), torque


def main(folder: Path) -> Optimum:
    """Draw the figure into `folder`; returns the optimum."""
    system, torque = slider_crank()
    given, guess = {"th": 0.0, "th'": 0.0}, {"ph": 0.0, "x": r + l}
    names, integrator = [f"c{k}" for k in range(TERMS)], da.DOP853(rtol=1e-9, atol=1e-10)

    def gradient(cost: da.Integral | da.Final, c: np.ndarray) -> da.Gradient:
        state = system.initial(given, guess=guess, parameters=dict(zip(names, c, strict=True)))
        return system.gradient(cost, state, END, to=names, integrator=integrator)

    def condition(cost: da.Final, value: float) -> dict[str, Any]:
        return {
            "type": "eq",
            "fun": lambda c: gradient(cost, c).value - value,
            "jac": lambda c: gradient(cost, c).gradient,
        }

    def effort(c: np.ndarray) -> tuple[float, np.ndarray]:
        found = gradient(da.Integral(torque**2), c)
        return found.value / 10, found.gradient / 10

    result = minimize(
        effort, -3.0 * np.eye(TERMS)[1], jac=True, method="SLSQP", options={"ftol": 1e-12, "maxiter": 300},
        constraints=[condition(da.Final("th"), np.pi), condition(da.Final("th'"), 0.0)],
    )  # fmt: skip
    values = dict(zip(names, result.x, strict=True))
    times = np.linspace(0.0, END, 201)
    motion = system.simulate(system.initial(given, guess=guess, parameters=values), END, t_eval=times)
    t = sp.Symbol("t")
    cubic = system.inverse_dynamics({"th": sp.pi * (3 * t**2 - 2 * t**3)}, times, guess=guess)
    efforts = 10 * result.fun, float(np.trapezoid(cubic["effort(th)"] ** 2, times))
    _draw(folder, motion, cubic, efforts)
    return Optimum(motion, efforts[0], result, efforts[1])


def _draw(folder: Path, motion: da.Motion, cubic: da.DrivenMotion, efforts: tuple[float, float]) -> None:
    figure = Figure(figsize=(13, 4), layout="constrained")
    left, right, drawn = figure.subplots(1, 3)
    labels = [f"{name}: {effort:.1f} N²m²s" for name, effort in zip(("least", "cubic"), efforts, strict=True)]
    for axes, best, plain, label in (
        (left, motion["torque"], cubic["effort(th)"], "torque [N m]"),
        (right, motion["th"], cubic["th"], "crank [rad]"),
    ):
        axes.plot(motion.t, best, label=labels[0])
        axes.plot(cubic.t, plain, "--", label=labels[1])
        axes.set(xlabel="t [s]", ylabel=label)
    left.legend()
    da.plot_snapshots(motion, [0.0, 0.3, 0.6, 1.0], axes=drawn).legend(fontsize="small")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "minimum_torque.png", dpi=110)


if __name__ == "__main__":
    found = main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
    print(f"effort {found.effort:.6f}, along the cubic {found.cubic:.6f}; {found.result.message}")

"""Constraint forces of every kind
===============================

What the documents say of dependent, moving and non-ideal constraints, each on the smallest mechanism that shows it.

What to see: a pendulum whose rod is stated twice (Kalaba and Udwadia, rank p1 < p) moves as before, by the principle of
compatibility (Dinh Van Phong, 2.1-2.12) with or without reactions as unknowns; only the sum of both multipliers means
anything, and a third rod of another length is refused by name. A bead on a turning rod (rheonomous terms, 2.37) runs
away as cosh(w t). A block on a slope with Coulomb friction tied to the reaction itself (2.38-2.39) slides with
x'' = g (sin - mu cos).

Run ``python examples/constraint_forces.py [folder]``; the figure is saved there (default: out).
"""

import sys
from pathlib import Path

import numpy as np
import sympy as sp
from matplotlib.figure import Figure

import dalembert as da

FORMULATIONS = {"reduced": da.NullSpace(), "with reactions": da.NullSpace(reduced=False), "(30)": da.UdwadiaKalaba()}


def pendulum(*lengths: float) -> da.System:
    """A bob on one rod for each length."""
    model = da.Model("pendulum")
    x, y = model.coordinates("x y")
    model.particle("bob", mass=1.0, position=[x, y])
    model.gravity([0, -9.81])
    for k, length in enumerate(lengths, 1):
        model.constrain(x**2 + y**2 - length**2, name=f"rod{k}")
    model.line([[0, 0], [x, y]], name="rod")
    return model.compile()


def turning_rod(w: float = 2.0) -> da.Motion:
    """A bead without gravity on a rod that turns with w in the plane: r = cosh(w t)."""
    model = da.Model("bead on a turning rod")
    x, y = model.coordinates("x y")
    model.particle("bead", mass=1.0, position=[x, y])
    model.constrain(x * sp.sin(w * model.t) - y * sp.cos(w * model.t), name="rod")
    model.line([[0, 0], [x, y]], name="rod")
    system = model.compile()
    return system.simulate(system.initial({x: 1.0, x.diff(): 0.0}), 1.5)


def slope(mu: float, angle: float = 0.6) -> da.Motion:
    """A block that slides down a slope with friction mu N: x'' = g (sin - mu cos)."""
    model = da.Model("slope")
    x, y = model.coordinates("x y")
    block = model.particle("block", mass=2.0, position=[x, y])
    model.gravity([9.81 * sp.sin(angle), -9.81 * sp.cos(angle)])
    model.constrain(y, name="ground")
    model.nonideal("ground", friction=mu, at=block)
    model.line([[0, 0], [20, 0]], name="slope")
    system = model.compile()
    return system.simulate(system.initial({x: 0.0, x.diff(): 1.0}), 2.0, t_eval=np.linspace(0.0, 2.0, 41))


def main(folder: Path) -> dict[str, object]:
    """Draw the figure into `folder`; returns the motions by name and the message that refuses a third rod."""
    start, twice = {"x": 1.0, "x'": 0.0, "y'": 0.0}, pendulum(1.0, 1.0)
    runs = {"one rod": pendulum(1.0).simulate(pendulum(1.0).initial(start), 3.0)}
    for name, formulation in FORMULATIONS.items():
        state = twice.initial(start)
        runs[name] = twice.simulate(state, 3.0, t_eval=runs["one rod"].t, formulation=formulation)
    try:
        pendulum(1.0, 1.0, 1.2).initial(start)
    except da.InitialStateError as error:
        runs["refused"] = str(error)
    runs |= {"turning rod": turning_rod()} | {f"mu = {mu:g}": slope(mu) for mu in (0.0, 0.2, 0.4)}
    figure = Figure(figsize=(13, 7.0), layout="constrained")
    (rods, turning, sliding), below = figure.subplots(2, 3)
    drawn = {"one rod": [0.0, 0.3, 0.45, 0.6], "turning rod": [0.0, 0.5, 1.0], "mu = 0.2": [0.0, 1.0, 1.5, 2.0]}
    for axes, (name, times) in zip(below, drawn.items(), strict=True):
        da.plot_snapshots(runs[name], times, axes=axes).legend(fontsize="small", loc="best")
    for name, style in zip(("one rod", *FORMULATIONS), ("-", "--", "-.", ":"), strict=True):
        motion = runs[name]
        rods.plot(motion.t, motion.multipliers.sum(axis=1), style, label=f"{name}, sum of {motion.system.nc}")
    rods.set(title="G3, I2: a rod stated twice", xlabel="t [s]", ylabel="multipliers [N/m]", ylim=(-16, 11))
    r = np.hypot(runs["turning rod"]["x"], runs["turning rod"]["y"])
    turning.plot(runs["turning rod"].t, r, label="motion")
    turning.plot(runs["turning rod"].t, np.cosh(2 * runs["turning rod"].t), "--", label="cosh(2 t)")
    turning.set(title="I4: bead on a turning rod", xlabel="t [s]", ylabel="r [m]")
    for name in ("mu = 0", "mu = 0.2", "mu = 0.4"):
        sliding.plot(runs[name].t, runs[name]["x"], label=name)
    sliding.set(title="I5: block on a slope", xlabel="t [s]", ylabel="x [m]")
    for axes in (rods, turning, sliding):
        axes.legend(fontsize="small", loc="upper left")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "constraint_forces.png", dpi=110)
    return runs


def verdicts(runs: dict[str, da.Motion]) -> dict[str, float]:
    """What the documents say, and how far the motions are from it."""
    bead, block = runs["turning rod"], runs["mu = 0.4"]
    r, fall = np.hypot(bead["x"], bead["y"]), 9.81 * (np.sin(0.6) - 0.4 * np.cos(0.6))
    return {
        "G3, I2: the motion does not change": np.abs(runs["reduced"].q - runs["one rod"].q).max(),
        "I4: r = cosh(w t)": np.abs(r / np.cosh(2 * bead.t) - 1).max(),
        "I5: x'' = g (sin - mu cos)": np.abs(block["x"] - block.t - fall * block.t**2 / 2).max(),
    }


if __name__ == "__main__":
    for statement, off in verdicts(main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))).items():
        print(f"{statement}; off by {off:.0e}; {'as the document says' if off < 1e-7 else 'DIFFERS'}")

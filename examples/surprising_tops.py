"""Rattleback and tippe top
========================

Two tops that surprise, one without and one because of friction.

A rattleback is an ellipsoid that rolls (``model.contacts.ellipsoid``) with its axes of inertia turned a little against
those of its shape. Spun the wrong way it begins to rattle, stops, and spins back, and no energy is lost: the data are
those of Kane and Levinson (1982).

A tippe top is a ball whose mass centre lies below its middle, and it slides (``model.contacts.sphere`` with friction).
Spun fast, it turns over and lifts its mass centre. Friction at one point, whatever its law, does not change Jellett's
integral: the component of the angular momentum along the line from the mass centre to the point of contact, times its
length.

What to see: the stone comes back as fast as it was; the top loses more than half of its energy and nothing of
Jellett's integral.

Run ``python examples/surprising_tops.py [folder]``; the figure is saved there (default: out).
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dalembert as da
from dalembert import problems

MASS, RADIUS, SHIFT = 0.006, 0.015, 0.3  # of the tippe top: kg, m, part of the radius
MOMENTS = np.array([131 / 350, 131 / 350, 2 / 5]) * MASS * RADIUS**2
SPIN, LEAN = 155.0, 0.1


def tippe_top() -> da.Model:
    """A ball with its mass centre below the middle, on a table with friction."""
    model = da.Model("tippe top")
    (mu,) = model.parameters(mu=0.3)
    top = model.body("top", mass=MASS, inertia=MOMENTS.tolist())
    model.gravity([0, 0, -9.81])
    centre = model.marker(top, [0, 0, SHIFT * RADIUS])
    model.contacts.sphere("table", centre, radius=RADIUS, friction=mu, regularisation=1e-2)
    return model


def turned_over() -> da.Motion:
    """The tippe top, spun fast and released with a little lean."""
    system = tippe_top().compile()
    still = dict.fromkeys(("top_x", "top_y", "top_vx", "top_vy", "top_wx", "top_wy", "top_e2", "top_e3"), 0.0)
    lean = {"top_e0": np.cos(LEAN / 2), "top_e1": np.sin(LEAN / 2)}
    return system.simulate(system.initial({**still, **lean, "top_wz": SPIN}), 6.0, t_eval=np.linspace(0.0, 6.0, 1201))


def jellett(motion: da.Motion) -> np.ndarray:
    """Jellett's integral at the samples, (nt,)."""
    R, w = motion["top.rotation"], motion["top.angular_velocity"]
    momentum = np.einsum("nij,j,nkj,nk->ni", R, MOMENTS, R, w)
    contact = SHIFT * RADIUS * R[:, :, 2] - np.array([0.0, 0.0, RADIUS])
    return np.einsum("ni,ni->n", momentum, contact)


def main(folder: Path) -> tuple[da.Motion, da.Motion]:
    """Draw the figure into `folder`; returns the motions of the rattleback and of the tippe top."""
    stone = problems.get("rattleback").simulate(t_eval=np.linspace(0.0, 10.0, 2001))
    top = turned_over()
    figure = Figure(figsize=(11, 6.5), layout="constrained")
    spin, tilt, rattle, kept = figure.subplots(2, 2).ravel()
    spin.plot(stone.t, stone["stone_wz"])
    spin.axhline(0.0, color="0.6", lw=0.8)
    spin.set(title="rattleback", ylabel="spin [rad/s]")
    rattle.plot(stone.t, stone["stone_wx"], lw=0.6)
    rattle.set(xlabel="t [s]", ylabel="rattling about its long axis [rad/s]")
    tilt.plot(top.t, np.degrees(np.arccos(top["top.rotation"][:, 2, 2])))
    tilt.set(title="tippe top", ylabel="tilt of its axis [degrees]", yticks=[0, 45, 90, 135, 180])
    kept.plot(top.t, top.energy / top.energy[0], label="energy")
    kept.plot(top.t, jellett(top) / jellett(top)[0], label="Jellett's integral")
    kept.set(xlabel="t [s]", ylabel="relative to the start")
    kept.legend()
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "surprising_tops.png", dpi=110)
    return stone, top


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))

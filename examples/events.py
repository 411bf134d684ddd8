"""Events
======

A ball that bounces, and a turning disc that catches an arm: events that change a motion.

What to see: each bounce keeps 80 % of the speed, so 64 % of the height. The latch closes where the disc has caught up
with the arm, at t = 1/3 s; angular momentum is kept, both turn at 2.1/1.3 rad/s, and the certificate counts the
energy lost.

Run ``python examples/events.py [folder]``; the figure is saved there (default: out).
"""

import sys
from pathlib import Path

import sympy as sp
from matplotlib.figure import Figure

import dalembert as da


def bouncing_ball() -> da.MotionSequence:
    """A ball dropped from 1 m that keeps 80% of its speed in every bounce."""
    model = da.Model("bouncing ball")
    x, y = model.coordinates("x y")
    vx, vy = model.speeds("vx vy")
    e, g = model.parameters(e=0.8, g=9.81)
    model.particle("ball", mass=0.1, position=[x, y])
    model.gravity([0, -g])
    system = model.compile()
    bounce = da.Event(y, direction=-1, then={vy: -e * vy}, name="bounce")
    return system.simulate(system.initial({x: 0, y: 1, vx: 0.5, vy: 0}), 3.0, events=[bounce])


def latch() -> da.MotionSequence:
    """A disc turning at 3 rad/s that catches an arm at rest, 1 rad ahead, on the same axis."""
    model = da.Model("disc and arm")
    a, b = model.coordinates("a b")
    model.speeds("wa wb")
    model.body("disc", mass=3, inertia=0.7, position=[0, 0], rotation=a)
    model.body("arm", mass=2, inertia=0.6, position=[0, 0], rotation=b)
    for name, angle, length in (("disc", a, 0.3), ("arm", b, 0.5)):
        model.line([[0, 0], [length * sp.cos(angle), length * sp.sin(angle)]], name=f"{name} pointer")
    free = model.compile()
    model.constrain(a - b, name="latch")
    caught = da.Event(a - b, direction=1, then=model.compile(), name="caught")
    return free.simulate(free.initial({"b": 1.0, "wa": 3.0, "wb": 0.0}), 1.0, events=[caught])


def main(folder: Path) -> Path:
    """Print what happened and save a figure of both motions."""
    ball, shafts = bouncing_ball(), latch()
    print(ball.certificate, shafts.certificate, sep="\n")
    figure = Figure(figsize=(13, 3.5), layout="constrained")
    left, right, drawn = figure.subplots(1, 3)
    fine = ball.resampled([ball.t[-1] * k / 600 for k in range(601)])
    left.plot(fine["x"], fine["y"])
    left.set(title="bouncing ball", xlabel="x [m]", ylabel="y [m]")
    for name, label, style in (("wa", "disc", "-"), ("wb", "arm", "--")):
        right.plot(shafts.t, shafts[name], style, label=label)
    right.set(title="disc catches arm", xlabel="t [s]", ylabel="speed [rad/s]")
    right.legend()
    da.plot_snapshots(shafts, [0.0, 0.2, 0.4, 0.6], axes=drawn).legend(fontsize="small")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "events.png", dpi=130)
    return folder / "events.png"


if __name__ == "__main__":
    print(main(Path(sys.argv[1] if len(sys.argv) > 1 else "out")))

"""Railway wheelset
================

The wheelset of Simeon, Fuehrer and Rentrop: creep forces at two contacts follow from both normal forces, nonlinearly.

The points of contact are unknowns without inertia in the constraints (Dinh Van Phong, 2.46-2.47), the creep forces obey
laws f(r) = 0 of the reactions (2.38-2.39). What to see: at 30 m/s the wheelset hunts. A small offset grows within a
second and settles to a limit cycle of 9 mm, in which the load swings from one wheel to the other and the creep force
turns at the limit of friction. The rings are the solution printed in the Test Set for IVP Solvers at 10 s.

Run ``python examples/railway_wheelset.py [folder]``; the figure is saved there (default: out).
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dalembert as da
from dalembert.problems import railway_wheelset as wheelset


def main(folder: Path) -> da.Motion:
    """Draw the figure into `folder`; returns the motion."""
    system = wheelset.build().compile()
    state = system.initial(wheelset.GIVEN, guess=wheelset.GUESS)
    times = np.linspace(0.0, 10.0, 5001)
    motion = system.simulate(state, 10.0, t_eval=times, integrator=da.Radau(rtol=1e-8, atol=1e-11))
    figure = Figure(figsize=(16, 4), layout="constrained")
    drawn, grows, loads, creeps = figure.subplots(1, 4)
    da.plot_snapshots(motion, [9.84, 9.89, 9.94], axes=drawn).legend(fontsize="small", loc="upper center")
    drawn.set_title("seen from behind")
    grows.plot(times, 1e3 * motion["x"], lw=0.5, label="x, computed")
    grows.plot(10.0, 1e3 * wheelset.REFERENCE["x"], "ko", mfc="none", label="printed")
    grows.set(title="sideways", xlabel="t [s]", ylabel="x [mm]")
    last = times >= 9.5
    for side, style in (("left", "C0-"), ("right", "C1--")):
        loads.plot(times[last], -motion[side][last], style, label=side)
        loads.plot(10.0, -wheelset.REFERENCE[side], "ko", mfc="none", label="printed" if side == "right" else None)
    loads.set(title="contact forces", xlabel="t [s]", ylabel="-multiplier [N]")
    for name, label, style in (("Tx_l", "along", "C0-"), ("Ty_l", "across", "C1--")):
        creeps.plot(times[last], motion[name][last], style, label=label)
    limit = wheelset.PARAMETERS["mu"] * motion["N_l"][last]
    creeps.fill_between(times[last], -limit, limit, color="0.9", label="up to mu N")
    creeps.set(title="creep of the left wheel", xlabel="t [s]", ylabel="force [N]")
    for axes in (grows, loads, creeps):
        axes.margins(y=0.2)
        axes.legend(fontsize="small", loc="upper left", ncols=3)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "railway_wheelset.png", dpi=110)
    return motion


if __name__ == "__main__":
    motion = main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
    for name, printed in wheelset.REFERENCE.items():
        off = abs(motion[name][-1] - printed) / np.abs(motion[name][motion.t > 9]).max()
        verdict = "agrees" if off < 1e-5 else "DIFFERS"
        print(f"{name:7} {motion[name][-1]: .10e}, printed {printed: .10e}: {verdict}, {off:.0e}")
    print(motion.certificate.verdict)

"""Sliding particle
================

Figures 11-18 of Bajodah, Hodges and Chen: a particle on the track y = l0 - x^2/l0, gravity along +y, by Kutta-Merson.

What to see: without correction (N) the violation phi and the energy error grow (11-14); with gains -20 and -100 (DN)
phi stays below 2e-11 m (15), but energy is lost (17). After an hour at dt = 0.1 s (16) the damped particle keeps to
its track and has lost most of its swing, which the paper does not say; the minimal equation (137) still has it (M),
and the uncorrected particle is 67 km away. Figure 18 does not come out as printed: one correction of Blajer or of Yoon,
Howe and Greenwood after each step leaves phi at round-off; even before it phi is 6.0e-8 m, Baumgarte has 2.1e-7 m.

Run ``python examples/sliding_particle.py [folder]``; the figures are saved there (default: out).
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dalembert as da
from dalembert import problems

DRIFTS = {"N": da.NoCorrection(), "DN": da.Baumgarte(20, 100), "Blajer": da.Blajer(), "Yoon": da.Yoon()}
HOUR = 3600.0
GEOMETRIC = ("DN 0.01", "Blajer 0.01", "Yoon 0.01")
FIGURES = {  # quantity, runs (name and step in s), seconds shown at the end, logarithmic
    "Figure 11": ("phi", ("N 0.01",), 500, False), "Figure 12": ("phi", ("N 0.001",), 500, False),
    "Figure 13": ("dE", ("N 0.01",), 500, False), "Figure 14": ("dE", ("N 0.001",), 500, False),
    "Figure 15": ("phi", ("DN 0.001",), 10, False), "Figure 17": ("dE", ("DN 0.001",), 500, False),
    "Figure 16": ("y", ("M 0.1", "DN 0.1"), 20, False), "Figure 16, N": ("y", ("N 0.1",), HOUR, False),
    "Figure 18": ("phi", GEOMETRIC, 10, True), "Figure 18, before correction": ("before", GEOMETRIC, 10, True),
}  # fmt: skip
AXES = {"phi": "phi [m]", "dE": "E - E(0) [J]", "y": "y [m]"}


def simulate(name: str, dt: float) -> dict[str, np.ndarray]:
    """Times, phi, y and change of energy: (121)-(122) with a drift control, or the minimal equation "M" (137)."""
    if name == "M":
        model = da.Model("minimal equation (137)")
        (x,), (u,), (l0, m, g) = model.coordinates("x"), model.speeds("u1"), model.parameters(l0=1.0, m=1.0, g=9.81)
        model.energy(kinetic=m * (1 + 4 * x**2 / l0**2) * u**2 / 2, potential=-m * g * (l0 - x**2 / l0))
        state = model.compile().initial({x: 1.0})
        motion = state.system.simulate(state, HOUR, integrator=da.KuttaMerson(step=dt))
        return {"t": motion.t, "y": 1 - motion["x"] ** 2, "dE": motion.energy - motion.energy[0]}
    how = {"formulation": da.NonminimalKane(u_ind=["u1"]), "integrator": da.KuttaMerson(step=dt)}
    end = HOUR if dt == 0.1 else 500.0
    motion = problems.get("sliding_particle").simulate(t_end=end, drift=DRIFTS[name], **how)
    phi = motion.violation["position"]["track"]
    run = {"t": motion.t, "phi": phi, "before": phi.copy(), "y": motion["y"], "dE": motion.energy - motion.energy[0]}
    if name in ("Blajer", "Yoon"):  # the last 10 s again: one step from each corrected state, not corrected
        for k in range(len(phi) - 1000, len(phi)):
            span, state = tuple(motion.t[k - 1 : k + 1]), motion.at(motion.t[k - 1])
            run["before"][k] = motion.system.simulate(state, span, drift=da.NoCorrection(), **how).evaluation.phi[-1, 0]
    return run


def main(folder: Path) -> dict[str, dict[str, np.ndarray]]:
    """Draw the figures into `folder`; returns the runs by name and step: N not damped, DN damped, M minimal, ..."""
    labels = dict.fromkeys(label for figure in FIGURES.values() for label in figure[1])
    runs = {label: simulate(label.split()[0], float(label.split()[1])) for label in labels}
    folder.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(7, 3.2), layout="constrained")
    axes = da.plot_snapshots(
        problems.get("sliding_particle").simulate(t_end=1.0), [0, 0.2, 0.4, 0.6], axes=figure.subplots()
    )
    axes.invert_yaxis()  # gravity along +y
    axes.set_title("Figure 10: the particle on its track, y downwards")
    axes.legend(fontsize="small")
    figure.savefig(folder / "figure_10.png", dpi=110)
    for title, (what, shown, last, log) in FIGURES.items():
        figure = Figure(figsize=(7, 3.2), layout="constrained")
        scale = {"ylabel": "|phi| [m]", "yscale": "log"} if log else {"ylabel": AXES[what]}
        axes = figure.add_subplot(xlabel="t [s]", title=title, **scale)
        for k, label in enumerate(shown):
            t, values = (runs[label][key][runs[label]["t"] > runs[label]["t"][-1] - last] for key in ("t", what))
            thin = slice(None, None, 1 + len(t) // 50_000)
            drawn = np.ma.masked_equal(abs(values), 0.0) if log else values  # zero has no place on a logarithmic axis
            style = {"marker": ".", "ms": 4 - 1.3 * k, "ls": "none"} if log else {"lw": 0.8}  # none covers the others
            axes.plot(t[thin], drawn[thin], label=f"{label} s", **style)
        figure.legend(loc="outside right upper", markerscale=3)
        figure.savefig(folder / f"{title.lower().replace(',', '').replace(' ', '_')}.png", dpi=110)
    return runs


if __name__ == "__main__":
    runs = main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
    phi = abs(runs["DN 0.001"]["phi"]).max()
    print(f"phi with gains, dt = 0.001 s: {phi:.2e} m; paper: < 2e-11 m; {'as printed' if phi < 2e-11 else 'DIFFERS'}")
    for label, run in runs.items():
        largest = (f"max |{what}| = {abs(run[what]).max():8.2e}" for what in ("phi", "dE") if what in run)
        print(f"{label:<12}", *largest)

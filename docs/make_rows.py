"""Measure what the five documents print and write it beside their numbers into rows.md: python docs/make_rows.py.

A row holds if its `holds` is true for what was measured; its verdict is then `as printed`, or what is known to differ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import dalembert as da
from dalembert import problems

PAGE = Path(__file__).parent / "rows.md"
BEGIN, END = "<!-- measured by docs/make_rows.py -->\n", "<!-- end of what was measured -->\n"


@dataclass(frozen=True)
class Measured:
    """One number of a document: what is printed, how it is measured here, and what may be said of it."""

    row: str
    what: str
    printed: str
    measure: Callable[[], float]
    shown: str  # format of the number, with its unit
    holds: Callable[[float], bool]
    verdict: str = "as printed"

    def line(self) -> str:
        """The row of the table; says NOT REPRODUCED where the number does not hold."""
        value = self.measure()
        verdict = self.verdict if self.holds(value) else "NOT REPRODUCED"
        return f"| {self.what} | {self.row} | {self.printed} | {self.shown.format(value)} | {verdict} |"


def uncorrected_energy(name: str) -> np.ndarray:
    """E - E(0) of Appell-Hamel without correction by Kutta-Merson at 0.01 s, (nt,)."""
    how = {"formulation": da.NonminimalKane(u_ind=["u1", "u2"]), "drift": da.NoCorrection()}
    energy = problems.get(name).simulate(integrator=da.KuttaMerson(step=0.01), **how).energy
    return energy - energy[0]


def track_violation(drift: object, step: float) -> float:
    """Largest |phi| of the sliding particle over 500 s, in m."""
    how = {"formulation": da.NonminimalKane(u_ind=["u1"]), "integrator": da.KuttaMerson(step=step)}
    motion = problems.get("sliding_particle").simulate(t_end=500.0, drift=drift, **how)
    return float(np.abs(motion.violation["position"]["track"]).max())


def settled_rate() -> float:
    """theta' of the Appell-Hamel mechanism after 10 s, in rad/s."""
    return float(problems.get("appell_hamel").simulate()["theta'"][-1])


def kane_balance() -> float:
    """Largest entry of A2 (F + F*) along the Appell-Hamel mechanism, in N m."""
    m = problems.get("appell_hamel").simulate()
    at, free = (m.t, m.q, m.u), ("u1", "u2")
    F = m.system.generalized_active_forces(*at, u_ind=free)
    return float(np.abs(F + m.system.generalized_inertia_forces(*at, m.udot, u_ind=free)).max())


def amplitude() -> float:
    """Largest angle of the plain pendulum of example 2, in degrees."""
    system = problems.get("nonlinear_pendulum").system()
    state = system.initial({"x": 0.0, "vx": 20.0}, guess={"y": 20.0}, parameters={"mu": 0.0})
    motion = system.simulate(state, 10.0)
    return float(np.rad2deg(np.arctan2(np.abs(motion["x"]), motion["y"]).max()))


def tracking_error(alpha: float) -> float:
    """Largest error of the Duffing oscillators at a tolerance of 1e-10 without correction, in m."""
    how = {"formulation": da.UdwadiaKalaba(), "drift": da.NoCorrection()}
    method = da.KuttaMerson(rtol=1e-10, atol=1e-10)
    motion = problems.get("duffing_tracking").simulate(parameters={"alpha": alpha}, integrator=method, **how)
    return float(np.abs(motion.violation["position"]["track"]).max())


def loop_violation(**how: object) -> float:
    """Largest |phi| of the lecture's four-bar over 30 s, in m."""
    return float(np.abs(problems.get("four_bar").simulate(**how).evaluation.phi).max())


def eliminated(problem: str, level: str, **how: object) -> float:
    """Largest violation at a level with the minimal state and no correction, RK4 at 5 ms."""
    how = {"formulation": da.MinimalState(), "drift": da.NoCorrection(), "integrator": da.RK4(step=0.005)} | how
    values = problems.get(problem).simulate(**how).violation[level]
    return float(max(np.abs(value).max() for value in values.values()))


def compatibility() -> float:
    """Largest relative difference of u' between (2.38)-(2.39) and multipliers: a block that rubs, along a motion."""
    model = da.Model("block")
    x, y = model.coordinates("x y")
    P = model.particle("P", mass=2.0, position=[x, y])
    model.gravity([0.0, -9.81])
    track = model.constrain(y - x**2 / 4, name="track")
    model.nonideal(track, friction=0.2, at=P, regularisation=0.05)
    (T,) = model.unknowns("T")
    model.force([T, 0], at=P)
    model.law(T + 0.1 * track.multiplier * x.diff(model.t), determines=T)
    system = model.compile()
    motion = system.simulate(system.initial({"x": 1.0, "x'": 0.0}), 2.0)
    other = replace(motion, recipe=motion.recipe._replace(formulation=da.NullSpace()), known=None)
    return float(np.abs(other.udot - motion.udot).max() / np.abs(motion.udot).max())


def printed_start() -> float:
    """What the heading lacks at the printed start of the car, (3.13), in m; zero if it were accepted."""
    system = problems.get("car").system()
    try:
        system.initial({"x": 1.0, "phi": 0.1, "theta": 0.1, "vx": 10.0})
    except da.InitialStateError as error:
        return abs(float(error.residuals["heading"]))
    return 0.0


DAMPED = da.Baumgarte(20, 100)
NUMBERS = (
    Measured("K4", "A2 (F + F*) along a motion, (38)", "0", kane_balance, "{:.0e} N m", lambda v: v < 1e-9),
    Measured("K8", "theta' settles, figures 2, 4", "0", settled_rate, "{:.1e} rad/s", lambda v: abs(v) < 1e-3),
    Measured("K8", "energy error NC, figure 9", "subdued", lambda: uncorrected_energy("appell_hamel")[-1],
             "{:.1e} J", lambda v: abs(v) < 1e-9, "as printed for I = 0.1 to 2 kg m²; I is not given"),
    Measured("K8", "energy error LC, figure 9", "grows", lambda: uncorrected_energy("appell_hamel_linear")[-1],
             "{:.1e} J", lambda v: v < -1e-9),
    Measured("K9", "phi with gains, dt = 0.001 s, figure 15", "< 2.0e-11 m", lambda: track_violation(DAMPED, 1e-3),
             "{:.2e} m", lambda v: v < 2e-11),
    Measured("K9", "phi with gains, dt = 0.01 s, figure 18", "the least", lambda: track_violation(DAMPED, 0.01),
             "{:.1e} m", lambda v: v < 1e-6, "differs: Blajer's is less, see misprints"),
    Measured("K7", "phi after Blajer's correction, figure 18", "more than Baumgarte's",
             lambda: track_violation(da.Blajer(), 0.01), "{:.1e} m", lambda v: v < 1e-13,
             "differs: round-off; 6.0e-8 m before correction"),
    Measured("G6", "largest angle, example 2", "about 80 deg", amplitude, "{:.1f} deg", lambda v: abs(v - 80) < 3),
    Measured("G7", "tracking error, alpha = 4", "about 1e-9 m", lambda: tracking_error(4.0), "{:.1e} m",
             lambda v: 1e-10 < v < 5e-9),
    Measured("G7", "tracking error, alpha = 0.4", "about 1e-9 m", lambda: tracking_error(0.4), "{:.1e} m",
             lambda v: 1e-10 < v < 5e-9),
    Measured("K4", "velocity constraints with (q, u_I), (39)", "hold", lambda: eliminated("appell_hamel", "velocity"),
             "{:.0e} m/s", lambda v: v < 1e-13),
    Measured("I5", "D1^T r = 0 and f(r) = 0 beside multipliers", "equal", compatibility, "{:.0e}", lambda v: v < 1e-10),
    Measured("I8", "the printed start, (3.13)", "x, phi, theta free", printed_start, "`heading` off by {:.1f} m",
             lambda v: v > 1.0, "refused by name: (3.9) hides the heading, n_p = 2"),
    Measured("L1", "loop with u_r eliminated, RK4, 5 ms, 30 s", "2n + M ODEs", lambda: eliminated(
             "four_bar", "position", formulation=da.MinimalState(u_ind=["u1"])), "{:.1e} m", lambda v: v < 1e-8),
    Measured("L4", "loop without drift control, 30 s", "drifts", lambda: loop_violation(drift=da.NoCorrection()),
             "{:.1e} m", lambda v: v > 1e-10),
    Measured("L4", "loop with drift control, 30 s", "closed", lambda: loop_violation(drift=da.Projection()), "{:.1e} m",
             lambda v: v < 2e-12),
)  # fmt: skip


def write() -> None:
    """Measure, and put the table into the page."""
    table = ["| number | row | document | here | verdict |", "|---|---|---|---|---|", *(n.line() for n in NUMBERS)]
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    section = BEGIN + "\n" + "\n".join(table) + "\n\n" + END
    PAGE.write_text(before + section + after, encoding="utf-8")


if __name__ == "__main__":
    write()

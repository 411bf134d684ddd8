"""Four-bar of the lecture with IDA
=================================

Moore's lecture: dependent speeds eliminated, F(t, y, y') = 0 for SUNDIALS IDA. What to see: the constraint residual
follows the tolerance; projection removes it from the samples and leaves the error of the motion as it is.
Run ``python examples/lecture_four_bar.py [folder]``; the figures are saved there (default: out).
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dalembert as da
from dalembert import problems

TOLERANCES = (1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
DRIFTS = {"raw": da.NoCorrection(), "projected": da.Projection()}


def study(t_end: float = 30.0, form: object | None = None) -> list[dict[str, float]]:
    """One row per tolerance: largest |phi| of the raw and the projected samples in m, error of q1 in rad, steps."""
    problem = problems.get("four_bar")
    system = problem.system()
    state, times = problem.state(system), np.linspace(0.0, t_end, 301)
    exact = system.simulate(state, t_end, t_eval=times, integrator=da.DOP853(rtol=1e-13, atol=1e-14))
    rows = []
    for rtol in TOLERANCES:
        row = {"rtol": rtol}
        for name, drift in DRIFTS.items():
            ida = da.IDA(rtol=rtol, atol=rtol, form=form or da.PseudoSpeeds())
            motion = system.simulate(state, t_end, t_eval=times, integrator=ida, drift=drift)
            row |= {
                f"|phi| {name}": np.abs(motion.evaluation.phi).max(),
                f"error {name}": np.abs(motion["q1"] - exact["q1"]).max(),
            }
        rows.append(row | {"steps": motion.stats["steps"]})
    return rows


def main(folder: Path) -> None:
    """Print the table; save figures of it and of the motion."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = study()
    print(" ".join(f"{name:>16}" for name in rows[0]))
    for r in rows:
        print(" ".join(f"{value:16.2g}" for value in r.values()))
    axes = (figure := Figure()).subplots()
    for name in ("|phi| raw", "|phi| projected", "error raw"):
        axes.loglog(TOLERANCES, [r[name] for r in rows], "o-", label=name)
    axes.set(xlabel="rtol = atol", ylabel="|phi| in m, error in rad")
    axes.legend()
    figure.savefig(folder / "lecture_four_bar_tolerances.png")
    problems.get("four_bar").simulate(integrator=da.IDA(form=da.PseudoSpeeds())).plot(folder / "lecture_four_bar.png")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))

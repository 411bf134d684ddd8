"""Whether the equations are smooth where they are to be differentiated: friction at a reversal and sign(0) are not."""

from __future__ import annotations

import numpy as np

from dalembert.analysis.derivatives import EquationDerivatives
from dalembert.errors import LinearizationError
from dalembert.solve.tolerances import SUM_ROUND_OFF

SIDESTEP = 1e-8  # of every variable, relative to its size, at least this
KINK = 1e-2  # deviation from the tangent, relative to the largest term, above which there is a kink

LONGER_STEP = 1e4  # times SIDESTEP: where an equation that seems to have a kink is looked at again
# Part of the deviation there; LONGER_STEP^-2 if the equation is smooth, LONGER_STEP^-1 if it has a kink.
BENT = LONGER_STEP**-1.5


def check_smooth(d: EquationDerivatives) -> None:
    """Raise `LinearizationError` naming equations that leave their tangent at once, on one side of the state or both.

    A smooth equation leaves it by O(step^2), one with a kink by O(step), one with a jump by more. Where a gradient
    vanishes the slope tells no size, so that a deviation is compared with that after a longer step too.
    """
    s = d.system
    n = d.rows["rates"].start
    rng = np.random.default_rng(1743)
    way = np.zeros(len(d.y))
    for name in ("q", "u", "la"):
        size = d.columns[name].stop - d.columns[name].start
        way[d.columns[name]] = rng.uniform(0.5, 1.0, size) * rng.choice([-1.0, 1.0], size)
    way *= SIDESTEP * np.maximum(1.0, np.abs(d.y))
    slope = d.gradients[:n] @ way
    size = np.abs(d.gradients[:n]) @ np.abs(way)
    terms = np.abs(d.gradients[:n]) @ np.abs(d.y)
    bad = np.zeros(n, dtype=bool)
    for side in (1.0, -1.0):
        left, longer = (
            np.abs(_values(d, d.y + length * way) - d.values[:n] - length * slope)
            for length in (side, LONGER_STEP * side)
        )
        small = left <= KINK * np.maximum(size, SIDESTEP * terms.max(initial=0.0)) + SUM_ROUND_OFF * np.maximum(
            terms, 1.0
        )
        bad |= ~(small | (left <= BENT * longer))
    if bad.any():
        rows = [d.labels[k] for k in np.flatnonzero(bad)]
        raise LinearizationError(
            f"`{s.name}`: the equations have a kink or a jump in this state "
            f"({', '.join(f'`{row}`' for row in rows[:6])}), so that there is no derivative: "
            "friction at a reversal, |x| or sign(x) at 0. Linearise beside it, or regularise the law",
            rows,
        )


def _values(d: EquationDerivatives, y: np.ndarray) -> np.ndarray:
    """Residuals of positions, velocities, balance and accelerations at another y."""
    s = d.system
    t, q, u, p, udot, la = (y[d.columns[name]] for name in ("t", "q", "u", "p", "udot", "la"))
    more = np.concatenate([udot, la])
    first = s.evaluate("assembly", float(t[0]), q, u, p)[: d.rows["position"].stop]
    n_pv = d.rows["velocity"].stop - d.rows["velocity"].start
    second = s.evaluate("residual", float(t[0]), q, u, p)[s.count("position") :][:n_pv]
    return np.concatenate([first, second, s.evaluate("remainder", float(t[0]), q, u, p, more=more)])

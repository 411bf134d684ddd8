"""Constraints that jump at an instant known beforehand, such as v - sign(t - 1) = 0: no motion follows them there.

Speeds, or positions, would have to jump too, by impulses that the equations do not hold. A drift control moves the
state onto the new side all the same, and every residual at the samples is small again.
"""

from __future__ import annotations

import numpy as np

from dalembert.equations.instants import GAP, has_instants, instants
from dalembert.equations.system import System
from dalembert.motion.certificate import Finding, Tolerances


def prescribed_jumps(
    system: System,
    begin: float | None,
    t: np.ndarray,
    z: tuple[np.ndarray, np.ndarray],
    parameters: np.ndarray,
    sizes: np.ndarray,
    allowed: Tolerances,
) -> list[Finding]:
    """The largest jump of each row of positions and of velocities that jumps between `begin` and the last of samples t.

    Times before `begin` do not count, as no motion comes from there. At an instant, the given state is that of the
    instant itself. Without `begin`, from the first sample on, what is before it is known. `z` are the coordinates (nt,
    nq) and speeds (nt, nu) there, `sizes` those of (phi, psi).
    """
    if not may_jump(system):
        return []
    first = float(t[0]) if begin is None else begin
    times = instants(system, parameters, (first, float(t[-1])))
    times = times[times < t[-1]]
    if not times.size:
        return []
    before = np.maximum(np.searchsorted(t, times, side="right") - 1, 0)
    gap = GAP * max(abs(first), np.abs(t).max())
    sides = times + gap * np.array([[-3.0], [-1.0], [1.0], [3.0]])
    if begin is not None:
        sides[:2, times == first] = first
    earlier, left, right, later = (
        system.evaluate("residual", side, z[0][before], z[1][before], parameters) for side in sides
    )  # fmt: skip
    # A row changes on both sides by its slopes, also where they differ, and an instant is known up to round-off.
    slopes = np.abs(left - earlier) + np.abs(later - right)
    jumps = np.maximum(np.abs(right - left) - slopes, 0.0)
    worst = jumps.argmax(axis=0)
    n_p, names = system.count("position"), system.constraint_names
    found = []
    for k, at in enumerate(worst):
        level, name = ("position", names[k]) if k < n_p else ("velocity", names[k - n_p])
        limit = float(getattr(allowed, level) * sizes[k])
        finding = Finding(level, f"jump of {name}", float(jumps[at, k]), float(times[at]), limit, float(sizes[k]))
        found += [] if finding.ok else [finding]
    return found


def may_jump(system: System) -> bool:
    """Whether there may be such instants: a constraint of positions or velocities depends on time."""
    return has_instants(system) and system.kept(
        "rows read time", lambda: 0 in system.functions["residual"].jac_sparsity(0, 0).get_triplet()[1]
    )

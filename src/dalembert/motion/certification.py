"""Judging a motion: its residuals, energy balance and conditioning, put together to its certificate."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dalembert.motion.certificate import (
    DEPENDENT,
    DEPENDENT_AMONG_MANY,
    Certificate,
    Finding,
    Power,
    energy_finding,
    worst_of,
    worst_of_each,
)
from dalembert.motion.control import lost_controls
from dalembert.motion.prescribed_jumps import prescribed_jumps
from dalembert.motion.reactions import largest_powers
from dalembert.motion.row_sizes import row_sizes

if TYPE_CHECKING:
    import dalembert as da
    from dalembert.run.scales import Scales


def certified(motion: da.Motion, scales: Scales | None) -> Certificate:
    """The certificate of a motion whose rows have these sizes; None if it has no samples to judge."""
    facts = Certificate(
        title=motion.system.name,
        success=motion.success,
        message=motion.message,
        method=motion.method,
        stats=motion.stats,
        least=motion.system.ideal,
        events=motion.events.remarks,
        verification=motion.verification,
        passages=motion.passages,
    )
    if scales is None:
        return facts
    condition, large = motion.evaluation.condition, motion.system.is_large
    dependent = condition < (DEPENDENT_AMONG_MANY if large else DEPENDENT)
    k = int(np.argmin(condition))
    worst = min((float(condition[k]), float(motion.t[k])), motion.facts.worst if motion.facts else (np.inf, np.nan))
    return replace(
        facts,
        findings=tuple(_findings(motion, scales, dependent)),
        energy_error=motion.energies_met.off,
        condition=worst[0],
        condition_t=worst[1],
        dependent=tuple(float(t) for t in motion.t[dependent]),
        span=(float(motion.t[0]), float(motion.t[-1])),
        powers=tuple(Power(*values) for values in largest_powers(motion)),
        lost_controls=lost_controls(motion.system, motion.t, motion.q, motion.u, motion.parameters),
        not_unique=_not_unique(motion) if dependent.all() and not large else (),  # by dense decompositions
    )


def _findings(motion: da.Motion, scales: Scales, dependent: np.ndarray) -> list[Finding]:
    """The worst of every residual; `dependent` (nt,) says where constraints were dependent.

    Where they are for an instant, A u' = b is not determined; what counts is that positions and velocities hold
    there, and that is judged at every sample. Nothing else judges rows of accelerations.
    """
    system, t, e, allowed = motion.system, motion.t, motion.evaluation, motion.tolerances
    everywhere = np.ones_like(dependent)
    judged = everywhere if dependent.all() else ~dependent
    names, sizes, ones = system.constraint_names, row_sizes(motion, scales), np.ones(system.nc)
    kept = system.count("position") + system.count("velocity")
    findings = [
        finding
        for level, first, values, size, where in (
            ("position", 0, e.phi, sizes["position"], everywhere),
            ("velocity", 0, e.psi, sizes["velocity"], everywhere),
            ("acceleration", 0, e.acceleration[:, :kept], ones, judged),
            ("acceleration", kept, e.acceleration[:, kept:], ones, everywhere),
        )
        for finding in worst_of_each(
            level, names[first:], t, values, where, getattr(allowed, level) * size, size,
            motion.storage.slices(*values.shape),
        )
    ]  # fmt: skip
    begin = motion.energies_met.begin
    findings += prescribed_jumps(system, begin, t, (motion.q, motion.u), motion.parameters, scales.rows, allowed)
    return [
        *findings,
        worst_of("solve", "M u' - f - r", t, e.balance, allowed.solve),
        energy_finding("E - E0 - W", motion.energies_met, allowed.energy),
    ]


def _not_unique(motion: da.Motion) -> tuple[str, ...]:
    return tuple(name for name in motion.system.constraint_names if not motion.unique[name])

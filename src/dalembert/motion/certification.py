"""Judging a motion: its residuals, energy balance and conditioning, put together to its certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dalembert.equations.laws import may_work
from dalembert.motion.certificate import Certificate, Finding, Power, Undecided, energy_finding
from dalembert.motion.inertia import are_undetermined
from dalembert.motion.protocols import EvaluatedMotion
from dalembert.motion.reactions import largest_powers
from dalembert.motion.row_sizes import row_sizes
from dalembert.motion.state import State
from dalembert.motion.tally import Spread, Tally, Worst

if TYPE_CHECKING:
    from dalembert.motion.verification import Verification
    from dalembert.run.events import Occurrences
    from dalembert.run.run_facts import Energies, Passage

DIAGNOSED_SAMPLES = 25


class JudgedMotion(EvaluatedMotion, Protocol):
    """A Motion as its certificate reads it: the input of its tally, the facts of its run, and its outcome."""

    @property
    def success(self) -> bool: ...
    @property
    def message(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def stats(self) -> dict[str, int]: ...
    @property
    def events(self) -> Occurrences: ...
    @property
    def passages(self) -> tuple[Passage, ...]: ...
    @property
    def verification(self) -> Verification | None: ...


def certified(motion: JudgedMotion, tally: Tally | None) -> Certificate:
    """Certificate of a run with this `tally` of all its samples, None if it has no samples.

    `motion` tells of the run; it may hold some of the samples only.
    """
    facts = Certificate(
        title=motion.system.name,
        success=motion.success,
        message=motion.message,
        method=motion.method,
        stats=motion.stats,
        events=motion.events.remarks,
        missed=motion.events.missed,
        verification=motion.verification,
        passages=motion.passages,
    )
    if tally is None:
        return facts
    worst = min(tally.condition, motion.facts.worst if motion.facts else (np.inf, np.nan))
    met = tally.energy.met(motion.energies)
    return replace(
        facts,
        findings=tuple(_findings(motion, tally, met)),
        energy_error=met.off,
        condition=worst[0],
        condition_t=worst[1],
        dependent=tuple(tally.dependent.tolist()),
        span=tally.span,
        powers=tuple(Power(*values) for values in largest_powers(tally.spread)),
        lost_controls=tally.lost_controls,
        undetermined=_undetermined(tally.spread),
        **_uniqueness(tally),
    )


def _findings(motion: JudgedMotion, tally: Tally, met: Energies) -> list[Finding]:
    """The worst of every residual.

    Where constraints are dependent for an instant, A u' = b is not determined; what counts is that positions and
    velocities hold there, and that is judged at every sample. Nothing else judges rows of accelerations.
    """
    system, allowed, worst = motion.system, motion.tolerances, tally.worst
    sizes, ones = row_sizes(tally.spread, motion.sizes), np.ones(system.nc)
    kept = system.count("position") + system.count("velocity")
    judged = worst["acceleration" if tally.is_dependent else "independent"]
    everywhere = worst["acceleration"]
    return [
        *_each(system.constraint_names, "position", worst["position"], allowed.position, sizes["position"]),
        *_each(system.constraint_names, "velocity", worst["velocity"], allowed.velocity, sizes["velocity"]),
        *_each(
            system.constraint_names, "acceleration",
            Worst(*(np.concatenate([some[:kept], all_[kept:]]) for some, all_ in zip(judged, everywhere, strict=True))),
            allowed.acceleration, ones,
        ),
        *tally.jumps,
        *_each(["M u' - f - r"], "solve", worst["solve"], allowed.solve, np.ones(1)),
        energy_finding("E - E0 - W", met, met.size_beside(motion.sizes, tally.span[1]), allowed.energy),
    ]  # fmt: skip


def _each(names: Sequence[str], level: str, worst: Worst, allowed: float, sizes: np.ndarray) -> list[Finding]:
    """The findings of residuals of these sizes; there may be more names and sizes than residuals."""
    n = len(worst.values)
    columns = worst.values.tolist(), worst.t.tolist(), (allowed * sizes[:n]).tolist(), sizes[:n].tolist()
    return [Finding(level, *row) for row in zip(names[:n], *columns, strict=True)]


def _uniqueness(tally: Tally) -> dict[str, Any]:
    """`not_unique` and `undecided` of a certificate. Large systems, whose reactions are ideal, are not examined."""
    spread = tally.spread
    system = spread.system
    if system.is_large or not (tally.is_dependent or (len(tally.dependent) and may_work(system.rows))):
        return {}
    lost, undecided = set[str](), None
    for k in _few(spread):
        found = system.diagnose(_state(spread, k))
        lost |= {name for name in system.constraint_names if not found.unique.get(name, True)}
        if found.deciding and undecided is None:
            undecided = Undecided(float(spread.t[k]), found.deciding)
    names = tuple(name for name in system.constraint_names if name in lost) if tally.is_dependent else ()
    return {"not_unique": names, "undecided": undecided}


def _undetermined(spread: Spread) -> tuple[str, ...]:
    """Motions that neither inertia nor a constraint determines, at more than one of several samples.

    A single one may be a singular position of the coordinates, as the pole of a sphere.
    """
    few = _few(spread)
    lost = few[are_undetermined(spread.system, spread.t[few], spread.q[few], spread.u[few], spread.parameters)]
    return spread.system.diagnose(_state(spread, lost[0])).undetermined if len(lost) > min(1, len(few) - 1) else ()


def _few(spread: Spread) -> np.ndarray:
    """Some samples whose accelerations are known, the first and the last among them; one if there are none."""
    solved = np.flatnonzero(np.isfinite(spread.udot).all(axis=1))
    return (
        solved[np.unique(np.linspace(0, len(solved) - 1, DIAGNOSED_SAMPLES).astype(int))]
        if len(solved)
        else np.zeros(1, int)
    )


def _state(spread: Spread, k: int) -> State:
    """Sample k as a state."""
    return State(
        spread.system, spread.t[k], spread.q[k], spread.u[k], spread.udot[k], spread.multipliers[k], spread.parameters
    )

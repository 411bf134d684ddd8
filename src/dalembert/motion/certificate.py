"""The certificate of a run: how well constraints, equations and energy balance held; judged and printable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.motion.control import LostControl
from dalembert.motion.verification import Deviation, Verification
from dalembert.run.run_facts import Energies, Passage
from dalembert.run.status import Status
from dalembert.text_tables import html_table

DEPENDENT_CONDITION = 1e-6  # reciprocal condition below which constraints count as dependent
PRINTED_ITEMS = 12  # passages, rows and lost controls that are listed
MOST_FINDINGS, WORST_FINDINGS = 60, 12  # findings of a level that are told; if there are more, the worst of them
DEPENDENT_AMONG_MANY = 1e-8  # the same for large systems: that of a long chain falls with the square of its length
LEVELS = ("position", "velocity", "acceleration", "solve", "energy")  # in the order they are shown


@dataclass(frozen=True)
class Tolerances:
    """Limits for the certificate, all relative: for residuals of constraints to the sizes of their rows.

    The size of a row is the largest entry of its gradient x size of the variable there, see `dalembert.run.scales`;
    that of its rate is also at least the largest sum |A_kj u_j| met.
    """

    position: float = 1e-9
    velocity: float = 1e-9
    acceleration: float = 1e-9
    solve: float = 1e-9
    energy: float = 1e-6


@dataclass(frozen=True)
class Finding:
    """Worst value of one residual, its time, the allowed value, and the size to which the residual belongs."""

    level: str
    name: str
    worst: float
    t: float
    allowed: float
    size: float = 1.0

    @property
    def ok(self) -> bool:
        """Whether it held."""
        return bool(self.worst <= self.allowed)


@dataclass(frozen=True)
class Power:
    """The largest power of one constraint and when it occurred; `kind` says why, "ideal" if there should be none."""

    name: str
    worst: float
    t: float
    kind: str

    def __str__(self) -> str:
        why = "ideal, should be none" if self.kind == "ideal" else self.kind
        return f"`{self.name}` {self.worst:.2e} at t = {self.t:.4g} ({why})"


class Undecided(NamedTuple):
    """From when on a motion is not unique: it depends on how these redundant constraints share their load."""

    t: float
    rows: tuple[str, ...]

    def __str__(self) -> str:
        rows = ", ".join(f"`{name}`" for name in self.rows[:PRINTED_ITEMS]) + (
            ", ..." if len(self.rows) > PRINTED_ITEMS else ""
        )
        return (
            f"the motion is not unique from t = {self.t:.6g} on: it depends on how {rows} share their load, which no "
            "equation says; leave redundant ones out, or make their supports elastic"
        )


@dataclass(frozen=True)
class Certificate:
    """Worst residuals by level and constraint, energy balance, conditioning and cost of a run.

    `findings` has a row per constraint and level, then "solve" (M u' - f - r, relative) and "energy" (change of energy
    minus work done, relative to the energy turned over). `condition` is the smallest reciprocal condition met in the
    constraint solve (1 is perfect, 0 singular); `dependent` are the sample times at which it was practically zero.
    `powers` are the constraints that exchange energy, at up to 201 of the samples; they do not affect `ok`.
    `lost_controls` are the unknowns of servo constraints that lost their hold between two samples.
    `passages` are the positions in which constraints became dependent; one that could not be passed is not OK.
    `events` has a line per event. `missed` tells of events whose zeros are not known in some step, which is not OK.
    `verification` is what a second run says about the error.
    `not_unique` names the constraints whose multipliers are not unique because constraints are redundant throughout.
    `undecided` says that the motion is not unique either, as the reactions of such constraints are not ideal; then the
    one is given in which multipliers are the least ones. `undetermined` are motions that neither inertia nor a
    constraint determines, as sums of speeds. `ok` is True if every finding holds, the run reached its end and nothing
    is undecided or undetermined. Without samples there are no findings, and the numbers that would follow from them
    are NaN.
    """

    title: str
    success: bool
    message: str
    method: str
    stats: dict[str, int]
    findings: tuple[Finding, ...] = ()
    energy_error: float = np.nan
    condition: float = np.nan
    condition_t: float = np.nan
    dependent: tuple[float, ...] = ()
    span: tuple[float, float] = (np.nan, np.nan)
    powers: tuple[Power, ...] = ()
    not_unique: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()
    verification: Verification | None = None
    passages: tuple[Passage, ...] = ()
    lost_controls: tuple[LostControl, ...] = ()
    undecided: Undecided | None = None
    undetermined: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True if the run reached its end and every finding held; False if there are no findings.

        A position in which constraints became dependent must have been passed by a step that is known to be accurate.
        No zero of an event may be missed. If the motion was verified, no coordinate may differ from the second run by
        more than a thousandth of its size, and events must have occurred in both alike.
        """
        wrong = self.failures or self._rough or self._lost or self.undecided or self.undetermined
        wrong = wrong or self.missed or self._differing
        return self.success and bool(self.findings) and not wrong

    @property
    def estimated_error(self) -> float:
        """The largest error of a coordinate as a second run shows it; NaN if the motion was not verified."""
        return np.nan if self.verification is None else self.verification.worst.error

    @property
    def _rough(self) -> tuple[Deviation, ...]:
        return () if self.verification is None else self.verification.rough

    @property
    def _differing(self) -> tuple[str, ...]:
        return () if self.verification is None else self.verification.differing

    @property
    def _lost(self) -> tuple[Passage, ...]:
        return tuple(passage for passage in self.passages if not passage.passed)

    @property
    def _control(self) -> str:
        """Clause naming the first lost control, a possible reason for a failure; "" if no control was lost."""
        return f"; {self.lost_controls[0]}" if self.lost_controls else ""

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The findings that did not hold."""
        return tuple(finding for finding in self.findings if not finding.ok)

    @property
    def verdict(self) -> str:
        """One line: held or not, and the worst of it."""
        if not self.success:
            return f"NOT OK: {self.message}"
        if not self.findings:
            return "NOT OK: there are no samples to judge"
        if self.undetermined:
            return f"NOT OK: {Status.UNDETERMINED.message}: {'; '.join(self.undetermined)}"
        if self._lost:
            return f"NOT OK: {self._lost[0]}; another branch starts there"
        if self.undecided:
            return f"NOT OK: {self.undecided}"
        if self.failures:
            worst = max(self.failures, key=lambda f: f.worst / f.allowed if f.worst == f.worst else np.inf)
            what = f"{worst.level} `{worst.name}` {worst.worst:.1e} at t = {worst.t:.4g}"
            return f"NOT OK: {what} (allowed {worst.allowed:.0e}){self._control}"
        if self.missed:
            return f"NOT OK: {self.missed[0]}"
        if self._rough:
            return f"NOT OK: a second run differs altogether: {', '.join(map(str, self._rough[:3]))}"
        if self._differing:
            return f"NOT OK: {self._differing[0]}"
        held = [f.worst / f.size for f in self.findings if f.level in ("position", "velocity")]
        return f"OK: constraints held to {max(held):.1e}" if held else "OK"

    def __str__(self) -> str:
        if not self.findings:
            return "\n".join([f"certificate of `{self.title}`, no samples: {self.verdict}", *self._facts()])
        shown = self._shown()
        width = max([len(f.name) for f, _ in shown] + [10])
        lines = [
            f"certificate of `{self.title}`, t = {self.span[0]:g} .. {self.span[1]:g}: {self.verdict}",
            f"  {'level':<13}{'what':<{width + 2}}{'worst':>10}  {'at t':>10}  {'allowed':>8}",
        ]
        for f, more in shown:
            mark = "" if f.ok else "  <-- not held"
            lines.append(f"  {f.level:<13}{f.name:<{width + 2}}{f.worst:>10.1e}  {f.t:>10.4g}  {f.allowed:>8.0e}{mark}")
            lines += [f"  {f.level:<13}{more}"] if more else []
        lines += [
            f"  energy change minus work done: at most {self.energy_error:.2e}",
            f"  power of constraints: {', '.join(map(str, self.powers)) or 'none'}",
            f"  conditioning of the constraint solve: at worst {self.condition:.1e} at t = {self.condition_t:.4g}",
            *self._passed(),
            *(f"  {lost}" for lost in self.lost_controls[:PRINTED_ITEMS]),
            *self._remarks(),
            *self._accuracy(),
            *self._facts(),
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [
            (f.level, f.name, f"{f.worst:.1e}", f"{f.t:.4g}", f"{f.allowed:.0e}", more or ("" if f.ok else "not held"))
            for f, more in self._shown()
        ]
        title = f"certificate of {self.title}, t = {self.span[0]:g} .. {self.span[1]:g}: {self.verdict}"
        remarks = [*self._remarks(), *self._accuracy(), *self._facts()] if self.findings else self._facts()
        notes = [(line.strip(),) for line in remarks]
        return html_table(title, [(("level", "what", "worst", "at t", "allowed", ""), rows), (("remarks",), notes)])

    def _shown(self) -> list[tuple[Finding, str]]:
        """The findings that are printed, with a note on the others after the last of each level.

        Of a level with many findings only the worst are printed, relative to the allowed value.
        """
        shown = []
        for level in LEVELS:
            found = [f for f in self.findings if f.level == level]
            if len(found) <= MOST_FINDINGS:
                shown += [(f, "") for f in found]
                continue
            found.sort(key=lambda f: -np.inf if np.isnan(f.worst) else -f.worst / f.allowed)
            failed = sum(not f.ok for f in found[WORST_FINDINGS:])
            rest = f"{failed:,} of them not held" if failed else "all held"
            note = f"and {len(found) - WORST_FINDINGS:,} more, {rest}; these are the worst"
            shown += [*((f, "") for f in found[: WORST_FINDINGS - 1]), (found[WORST_FINDINGS - 1], note)]
        return shown

    def _facts(self) -> list[str]:
        cost = ", ".join(f"{count:,} {what}" for what, count in self.stats.items())
        return [f"  {line}" for line in (*self.events, self.method, f"{cost}; {self.message}", versions())]

    def _passed(self) -> list[str]:
        if not self.passages:
            return []
        shown = [f"    {passage}" for passage in self.passages[:PRINTED_ITEMS]]
        if len(self.passages) > PRINTED_ITEMS:
            shown.append(
                f"    and {len(self.passages) - PRINTED_ITEMS} more, the last at t = {self.passages[-1].t:.6g}"
            )
        return [
            "  singular positions: constraints became dependent and another branch starts there;",
            "  the motion is the one that goes on smoothly:",
            *shown,
        ]

    def _accuracy(self) -> list[str]:
        if self.verification is None:
            return ["  judged: constraints, equations and energy, not accuracy; motion.verify() estimates the error"]
        return [f"  {line}" for line in self.verification.lines]

    def _remarks(self) -> list[str]:
        if self.not_unique:
            names = ", ".join(f"`{name}`" for name in self.not_unique)
            unique = "; the motion and the generalised reactions are unique" if self.ok else ""
            return [
                f"  constraints are redundant throughout{unique},",
                f"  multipliers of {names} are not unique; the smallest ones are given",
            ]
        if not self.dependent:
            return []
        where = f"{len(self.dependent)} samples, first at t = {self.dependent[0]:.6g}"
        return [
            f"  constraints were dependent (redundant, or a singular position) at {where}:",
            "  multipliers there are not unique; the smallest ones are given",
        ]

    __repr__ = __str__


def combine(parts: Sequence[Certificate], **whole: Any) -> Certificate:
    """One certificate from several, over time: the worst of each finding. Fields in `whole` are set as given."""
    findings: dict[tuple[str, str], Finding] = {}
    powers: dict[tuple[str, str], Power] = {}
    for part in parts:
        for f in part.findings:
            held = findings.setdefault((f.level, f.name), f)
            share = held.worst / held.allowed
            findings[f.level, f.name] = held if share >= f.worst / f.allowed or np.isnan(share) else f
        for p in part.powers:
            powers[p.name, p.kind] = max(powers.get((p.name, p.kind), p), p, key=lambda one: one.worst)
    judged = [part for part in parts if part.findings] or parts
    tightest = min(judged, key=lambda part: part.condition)
    kinds = dict.fromkeys(what for part in parts for what in part.stats)
    counts = {what: sum(part.stats.get(what, 0) for part in parts) for what in kinds}
    combined = Certificate(
        title=" -> ".join(dict.fromkeys(part.title for part in parts)),
        findings=tuple(sorted(findings.values(), key=lambda f: LEVELS.index(f.level))),
        energy_error=float(np.max([part.energy_error for part in judged])),  # NaN if one is
        condition=tightest.condition,
        condition_t=tightest.condition_t,
        dependent=tuple(t for part in parts for t in part.dependent),
        success=parts[-1].success,
        message=parts[-1].message,
        method="; then ".join(dict.fromkeys(part.method for part in parts)),
        stats=counts,
        span=(judged[0].span[0], judged[-1].span[1]),
        powers=tuple(powers.values()),
        not_unique=tuple(dict.fromkeys(name for part in parts for name in part.not_unique)),
        passages=tuple(passage for part in parts for passage in part.passages),
        undecided=next((part.undecided for part in parts if part.undecided), None),
        lost_controls=tuple(lost for part in parts for lost in part.lost_controls),
        undetermined=tuple(dict.fromkeys(what for part in parts for what in part.undetermined)),
    )
    return replace(combined, **whole)


def versions() -> str:
    """The versions a result depends on, in one line."""
    import platform
    from importlib.metadata import version

    packages = ("dalembert", "numpy", "casadi", "llvmlite")
    return ", ".join(f"{name} {version(name)}" for name in packages) + f", Python {platform.python_version()}"


def energy_finding(name: str, energies: Energies, size: float, allowed: float) -> Finding:
    """Finding of the energy balance, relative to a `size` of the energy and work turned over."""
    return Finding("energy", name, energies.off / size, energies.t, allowed)

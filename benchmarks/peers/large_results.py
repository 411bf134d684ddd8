"""What was measured of large mechanisms: runs, and the table and the plot made of them."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.peers.large_cases import FOUR_BAR, LargeCase

ERROR = 1e-6  # the largest error of a position at the end that is allowed
BETWEEN = (100, 10_000)  # loops between which the exponent is fitted
MARKS = "osD^"


@dataclass(frozen=True)
class LargeRoute:
    """A way to the motion: `module.prepare(case)` gives `solve`, which is given an effort: steps, or 1/rtol."""

    name: str
    package: str
    module: str
    first: float  # effort tried first
    factor: float  # from one effort to the next


@dataclass
class LargeRun:
    """The least processor seconds of a route at one effort, of so many runs, and the error."""

    effort: float
    seconds: float
    error: float
    repeats: int = 1


@dataclass(frozen=True)
class Measured:
    """A route on a case; `best` is None if no run went through, `note` says what the last failure was."""

    case: LargeCase
    route: LargeRoute
    best: LargeRun | None
    note: str

    @property
    def cost(self) -> float:
        """Processor seconds per simulated second at an error of at most ERROR; NaN if that was not met."""
        if self.best is None or self.best.error > ERROR:
            return math.nan
        return self.best.seconds / self.case.t_end

    def line(self, ours: float) -> str:
        """A row of the table."""
        cells = [self.case.title, f"{self.case.t_end:g}", self.route.name]
        if self.best is None:
            return _row([*cells, "-", "-", "-", "-", "-", self.note])
        met = self.best.error <= ERROR
        cost = self.best.seconds / self.case.t_end
        said = self.case.note if met else f"error not met; {self.note}".removesuffix("; ")
        ratio = f"{cost / ours:.3g}" if met else f"({cost / ours:.3g})"
        numbers = [f"{cost:.2g}", ratio, f"{self.best.error:.0e}", f"{self.best.effort:.3g}", str(self.best.repeats)]
        return _row([*cells, *numbers, said])


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def markdown(results: list[Measured], *, busy: bool) -> str:
    """The table, with the ratio to ours; in brackets where the error was not met."""
    load = "on a busy machine" if busy else "on a machine with nothing else to do"
    about = (
        f"Processor seconds per simulated second at an error of at most {ERROR:.0e} in any position at the end, one "
        f"thread, least of the runs, {load} ({os.cpu_count()} cores). Effort: steps, or 1/rtol of DOP853. "
        "The reference is exact for the N-four-bar, for the others our run at 1e-11. "
        "Written by `python -m benchmarks.peers.large`."
    )
    head = ["case", "s", "route", "s per simulated s", "times ours", "error", "effort", "runs", "note"]
    lines = ["# Many bodies beside other packages", "", about, "", _row(head), _row(["---"] * len(head))]
    ours = {r.case: r.cost for r in results if r.route.package == "dalembert"}
    lines += [result.line(ours[result.case]) for result in results]
    lines += ["", f"Exponents of cost against N, fitted from {BETWEEN[0]} to {BETWEEN[1]} where measured:", ""]
    for (route, t_end), (sizes, costs) in curves(results).items():
        power = exponent(sizes, costs)
        if math.isfinite(power):
            inside = sizes[(sizes >= BETWEEN[0]) & (sizes <= BETWEEN[1])]
            lines.append(f"- {route}, {t_end:g} s: {power:.2f} (N = {', '.join(map(str, inside.tolist()))})")
    return "\n".join(lines) + "\n"


def curves(results: list[Measured]) -> dict[tuple[str, float], tuple[np.ndarray, np.ndarray]]:
    """N and cost of the N-four-bars where the error was met, by route and span."""
    found: dict[tuple[str, float], list[tuple[int, float]]] = {}
    for r in results:
        if r.case.family == FOUR_BAR and math.isfinite(r.cost):
            found.setdefault((r.route.name, r.case.t_end), []).append((r.case.size, r.cost))
    return {key: (np.array([n for n, _ in rows]), np.array([c for _, c in rows])) for key, rows in found.items()}


def exponent(sizes: np.ndarray, costs: np.ndarray) -> float:
    """The slope of log(cost) over log(N) by least squares; NaN from fewer than two points."""
    inside = (sizes >= BETWEEN[0]) & (sizes <= BETWEEN[1])
    if inside.sum() < 2:
        return math.nan
    return float(np.polyfit(np.log(sizes[inside]), np.log(costs[inside]), 1)[0])


def plot(results: list[Measured], path: Path) -> None:
    """Cost against N, a panel for each span."""
    from matplotlib.figure import Figure

    found = curves(results)
    spans, names = sorted({t for _, t in found}), list(dict.fromkeys(name for name, _ in found))
    figure = Figure(figsize=(9.0, 4.6), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(spans), sharey=True))
    for panel, t_end in zip(panels, spans, strict=True):
        for (name, span), (sizes, costs) in found.items():
            if span == t_end:
                power = exponent(sizes, costs)
                label = f"{name}: N^{power:.2f}" if math.isfinite(power) else name
                k = names.index(name)
                panel.loglog(sizes, costs, marker=MARKS[k % len(MARKS)], color=f"C{k}", label=label)
        panel.set(xlabel="N four-bars", title=f"first {t_end:g} s")
        panel.grid(visible=True, which="major", alpha=0.3)
        panel.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.17), frameon=False)  # hides nothing
    panels[0].set_ylabel("processor s per simulated s")
    figure.savefig(path, dpi=110)

"""What a run leaves: tables (RESULTS.md), all numbers (results.json) and work-precision plots."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers.cases import Case
from benchmarks.peers.curve import Curve, Rung
from benchmarks.peers.route import ENGINE, OURS, PYTHON

COLOURS = (
    "black", "tab:orange", "tab:green", "tab:red", "tab:purple", "tab:brown", "hotpink", "dimgrey", "tab:olive",
    "tab:cyan", "tab:blue", "navy", "darkgoldenrod",
)  # fmt: skip
MARKS = "osD^v<>PXph*8d"
TARGETS = {PYTHON: 20.0, ENGINE: 10.0}


@dataclass(frozen=True)
class Standing:
    """A route at an error bound: the rung that counts, seconds at the bound, and how many times ours that is.

    If the route does not reach the bound, `seconds` is None and the ratio is taken at the best error it has.
    """

    curve: Curve
    rung: Rung
    seconds: float | None
    ratio: float | None


def standings(curves: list[Curve], bound: float) -> list[Standing]:
    """All routes with results at a bound, ours first, then by time."""
    (ours,) = (curve for curve in curves if curve.route.kind == OURS)
    found = []
    for curve in curves:
        if not curve.rungs:
            continue
        k, seconds = curve.reaching(bound), curve.seconds_at(bound)
        rung = curve.best if k is None else curve.rungs[k]
        if curve is ours:
            found.append(Standing(curve, rung, None if k is None else rung.seconds, 1.0))
            continue
        own = ours.reaching(bound if k is not None else rung.error)
        spent = rung.seconds if seconds is None else seconds
        found.append(Standing(curve, rung, seconds, None if own is None else spent / ours.rungs[own].seconds))
    return sorted(found, key=lambda s: (s.curve is not ours, s.seconds is None, s.seconds or s.rung.seconds))


def best_of(kind: str, standing: list[Standing]) -> Standing | None:
    """The fastest route of a kind that reaches the bound."""
    return next((s for s in standing if s.curve.route.kind == kind and s.seconds is not None), None)


def markdown(about: dict[str, str], results: list[tuple[Case, list[Curve]]]) -> str:
    """The tables."""
    versions = ", ".join(f"{name} {value}" for name, value in about.items() if name not in ("machine", "date"))
    lines = [
        "# dalembert beside its peers",
        "",
        "Written by `python -m benchmarks.peers`; do not edit. One run, one thread; every route climbs a ladder of",
        "tolerances or steps and each setting is timed in turns with all others, best of three rounds; processor time.",
        "How the peers are set up is told in `benchmarks/README.md`.",
        "",
        f"{about['machine']}; {versions}; {about['date']}.",
        "",
        "| problem | error within | dalembert | best Python route | fastest compiled engine |",
        "|---|---|---|---|---|",
        *(_summary(case, curves, bound) for case, curves in results for bound in case.bounds),
        "",
        "`x` is the run time in multiples of dalembert's at the same error; aims are 20 for Python routes and 10 for",
        "compiled engines. A compiled engine is one in which nothing runs in Python within a run.",
        "",
    ]
    for case, curves in results:
        lines += _section(case, curves)
    return "\n".join(lines)


def _summary(case: Case, curves: list[Curve], bound: float) -> str:
    standing = standings(curves, bound)
    cells = [case.title, f"{bound:.0e}", f"{1e3 * standing[0].rung.seconds:.3g} ms"]
    for kind, aim in TARGETS.items():
        best = best_of(kind, standing)
        if best is None or best.seconds is None or best.ratio is None:
            cells.append("none reaches it")
            continue
        met = "aim met" if best.ratio >= aim else f"**aim of {aim:g} x missed**"
        cells.append(f"{best.curve.route.name}: {1e3 * best.seconds:.3g} ms, {best.ratio:.3g} x, {met}")
    return f"| {' | '.join(cells)} |"


def _section(case: Case, curves: list[Curve]) -> list[str]:
    lines = [f"## {case.title}", "", f"Reference: {case.reference.source}, {case.reference.doubt:.0e}.", ""]
    for bound in case.bounds:
        lines += [
            f"Error within {bound:.0e}; the time at the bound is interpolated between settings, for the peers only:",
            "",
            "| route | kind | prepare s | setting | run ms | error | ms at the bound | x |",
            "|---|---|---|---|---|---|---|---|",
        ]
        for s in standings(curves, bound):
            at = "not reached" if s.seconds is None else f"{1e3 * s.seconds:.3g}"
            ratio = "-" if s.ratio is None else f"{s.ratio:.3g}" + ("" if s.seconds is not None else " at its error")
            lines.append(
                f"| {s.curve.route.name} | {s.curve.route.kind} | {s.curve.preparation:.2g} | {s.curve.setting} "
                f"{s.rung.setting:.1e} | {1e3 * s.rung.seconds:.3g} | {s.rung.error:.1e} | {at} | {ratio} |"
            )
        lines.append("")
    notes = [f"- {curve.route.name}: {curve.note}" for curve in curves if curve.note]
    return lines + (["Not measured, or not to the end:", "", *notes, ""] if notes else [])


def numbers(about: dict[str, str], results: list[tuple[Case, list[Curve]]]) -> dict[str, Any]:
    """Everything measured, for machines."""
    cases = [
        {
            "case": case.key,
            "reference": {"source": case.reference.source, "doubt": case.reference.doubt},
            "bounds": [_at_bound(curves, bound) for bound in case.bounds],
            "curves": [
                {
                    "route": c.route.name, "kind": c.route.kind, "preparation_s": c.preparation, "setting": c.setting,
                    "note": c.note, "rungs": [[r.setting, r.seconds, r.error] for r in c.rungs],
                }
                for c in curves
            ],
        }
        for case, curves in results
    ]  # fmt: skip
    return {"about": about, "cases": cases}


def _at_bound(curves: list[Curve], bound: float) -> dict[str, Any]:
    rows = [
        {"route": s.curve.route.name, "reached": s.seconds is not None, "seconds": s.seconds, "ratio": s.ratio}
        for s in standings(curves, bound)
    ]
    return {"bound": bound, "routes": rows}


def plot(case: Case, curves: list[Curve], path: Path) -> None:
    """Error against run time, a line for each route, the legend beside the axes."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(9.5, 5.2), layout="constrained")
    for k, curve in enumerate(curves):  # missing ones are counted, so that a route looks the same in every plot
        if not curve.rungs:
            continue
        ours = curve.route.kind == OURS
        axes.loglog(
            [1e3 * rung.seconds for rung in curve.rungs], [rung.error for rung in curve.rungs], label=curve.route.name,
            color=COLOURS[k % len(COLOURS)], marker=MARKS[k % len(MARKS)],
            markersize=6 if ours else 4.5, linewidth=2.4 if ours else 1.2, zorder=3 if ours else 2,
            linestyle="--" if curve.route.kind == ENGINE else "-",
        )  # fmt: skip
    for bound in case.bounds:
        axes.axhline(bound, color="grey", linewidth=0.8, linestyle=":", zorder=1)
        beside = {"ha": "left", "va": "center", "xytext": (3, 0), "textcoords": "offset points"}
        axes.annotate(f"{bound:.0e}", (1.0, bound), xycoords=("axes fraction", "data"), fontsize=8, **beside)
    axes.set(xlabel="processor time of a run, ms (one thread)", ylabel="largest error of q", title=case.title)
    axes.grid(visible=True, which="major", linewidth=0.4)
    figure.legend(loc="outside right upper", fontsize=8, title="dashed: compiled engine", title_fontsize=8)
    figure.savefig(path, dpi=120)
    plt.close(figure)

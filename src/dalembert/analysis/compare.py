"""`compare`: one model through every formulation, drift control and integrator, side by side.

Each combination runs the same motion; its samples are compared with those of the tightest run, an explicit integration
of order 8 at round-off. Combinations that do not fit together are listed with the reason instead of a number.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.analysis.verdict import verdict_of
from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.errors import DalembertError
from dalembert.exports import every, exported
from dalembert.file_writing import save_figure
from dalembert.motion.motion import Motion
from dalembert.motion.state import State
from dalembert.run.drift.projection import Projection
from dalembert.run.integrators.automatic import Automatic
from dalembert.run.integrators.dop853 import DOP853
from dalembert.run.simulate import simulate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from dalembert.run.ingredients import Drift, Formulation
    from dalembert.run.integrators.integrator import Integrator

COMPARED_TIMES = 51
REPEATS = 3  # a run is timed as often, the best counts, unless it takes long
LONG_RUN = 0.5  # seconds
ENOUGH = 1.0  # seconds: a run of a ladder that takes longer is its last; methods of low order take minutes at round-off
TIGHTEST = 1e-13
TOLERANCES = tuple(10.0**-k for k in range(4, 13, 2))  # of a work-precision diagram
COUNTS = tuple(int(300 * 10.0 ** (k / 2)) for k in range(5))  # and numbers of fixed steps over the span


@dataclass(frozen=True)
class ComparisonEntry:
    """Cost and accuracy of one combination; `reason` says why it did not fit or finish, and is empty otherwise.

    `verdict` is what the certificate finds wrong with its motion, empty if nothing.
    `seconds` is the best of a few runs; `position`, `velocity` are the largest violations of constraints at the
    samples, `energy` the largest energy error relative to the energy turned over, `difference` the largest difference
    in q and u from the tightest run.
    """

    formulation: str
    drift: str
    integrator: str
    seconds: float = np.nan
    evaluations: int = 0
    position: float = np.nan
    velocity: float = np.nan
    energy: float = np.nan
    difference: float = np.nan
    verdict: str = ""
    reason: str = ""

    @property
    def ran(self) -> bool:
        """Whether it ran to the end."""
        return not self.reason

    @property
    def ok(self) -> bool:
        """Whether it ran to the end and its certificate is ok."""
        return self.ran and not self.verdict


HEADINGS = ("formulation", "drift", "integrator", "ms", "evaluations", "|phi|", "|psi|", "energy", "difference", "")


@dataclass(frozen=True)
class Comparison:
    """Entries, the fastest first among those that ran; printable, and as a table or a work-precision diagram.

    `ladder` are the integrators at various tolerances or steps, each with the first formulation and drift control.
    """

    title: str
    t_end: float
    entries: tuple[ComparisonEntry, ...]
    ladder: tuple[ComparisonEntry, ...]
    tightest: str

    def __str__(self) -> str:
        rows = [HEADINGS, *(_cells(e) for e in self.entries if e.ran)]
        widths = [max(len(row[k]) for row in rows) for k in range(len(HEADINGS))]
        lines = [f"`{self.title}` to t = {self.t_end:g}, compared with {self.tightest}"]
        form = "  " + "  ".join(f"{{:{'<' if k < 3 else '>'}{width}}}" for k, width in enumerate(widths))
        lines += [form.format(*row).rstrip() for row in rows]
        lines += [f"  {e.formulation}, {e.drift}, {e.integrator}: {e.reason}" for e in self.entries if not e.ran]
        return "\n".join(lines)

    __repr__ = __str__

    def to_pandas(self) -> pd.DataFrame:
        """One row per entry."""
        import pandas as pd

        return pd.DataFrame([vars(e) for e in self.entries])

    def save(self, path: str | Path) -> None:
        """Write the work-precision diagram to an image file."""
        figure = self.plot().get_figure(root=True)
        if figure is not None:
            save_figure(figure, path)

    def plot(self, axes: Axes | None = None) -> Axes:
        """A work-precision diagram: difference from the tightest run over time taken, a curve per combination."""
        from dalembert.view.plots import plot_work_precision

        curves: dict[str, list[tuple[float, float]]] = {}
        for e in self.ladder:
            if e.ran:
                name = e.integrator.partition("(")[0] + ("" if e.drift == "-" else f", {e.drift}")
                curves.setdefault(name, []).append((e.seconds, e.difference))
        return plot_work_precision({k: np.array(v) for k, v in curves.items()}, title=self.title, axes=axes)


def compare(
    system: System,
    state: State,
    t_end: float,
    *,
    formulations: Iterable[Formulation] | None = None,
    drifts: Iterable[Drift] | None = None,
    integrators: Iterable[Integrator] | None = None,
    report: Callable[[str], None] | None = None,
) -> Comparison:
    """Every combination of the given methods (by default of all methods), run from `state` to `t_end`.

    Integrators that keep the constraints themselves run once each. Every integrator also runs at ever smaller
    tolerances or steps, for the work-precision diagram, until a run takes more than a second. `report` is called with
    the name of the next run.
    """
    span = t_end - state.t
    ways = list(formulations or every_formulation())
    controls = list(drifts or every_drift())
    steppers = list(integrators or every_integrator(span))
    times = np.linspace(state.t, t_end, COMPARED_TIMES)[1:]
    reference, tightest = _tightest(system, state, t_end, times)

    def measure(combination: tuple[Any, Any, Any]) -> ComparisonEntry:
        formulation, drift, integrator = combination
        entry = ComparisonEntry(_name(formulation), _name(drift), _name(integrator))
        if report is not None:
            report(f"{entry.formulation}, {entry.drift}, {entry.integrator}")

        def run() -> Motion:
            return system.simulate(
                state, t_end, t_eval=times, formulation=formulation, drift=drift, integrator=integrator
            )

        return _filled(entry, run, reference)

    entries = [measure(combination) for combination in _combinations(ways, controls, steppers)]
    entries.sort(key=lambda e: (not e.ran, e.seconds))
    ladder: list[ComparisonEntry] = []
    for integrator in steppers:
        for sharper in _ladder(integrator, span):
            rung = [measure(combination) for combination in _combinations(ways[:1], controls[:1], [sharper])]
            ladder += rung
            if any(entry.seconds > ENOUGH for entry in rung):
                break
    return Comparison(system.name, t_end, tuple(entries), tuple(ladder), tightest)


def _ladder(integrator: Any, span: float) -> list[Any]:
    """The integrator at a ladder of tolerances, or of steps if it has a fixed one; itself if it has neither."""
    if getattr(integrator, "step", None) is not None:
        return [replace(integrator, step=span / count) for count in COUNTS]
    if hasattr(integrator, "rtol"):
        return [replace(integrator, rtol=rtol, atol=rtol) for rtol in TOLERANCES]
    return [integrator]


def every_formulation() -> list[Any]:
    """All formulations that are exported, with their defaults."""
    return [exported(name)() for name in every("formulations")]


def every_drift() -> list[Any]:
    """All exported drift controls, with their defaults; the default one comes first."""
    made = [exported(name)() for name in every("drift")]
    return sorted(made, key=lambda drift: not isinstance(drift, Projection))


def every_integrator(span: float) -> list[Any]:
    """All integrators that are exported, with their defaults; those that need a step take 3000 over the span.

    `Automatic` is left out: it is one of the others.
    """
    made = [_integrator(exported(name), span / 3000.0) for name in every("integrators")]
    return [integrator for integrator in made if not isinstance(integrator, Automatic)]


def _integrator(kind: Any, step: float) -> Any:
    """An integrator of this kind, with steps of this length if it has no others."""
    must = [f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING]
    return kind(step) if must == ["step"] else kind()


def _combinations(formulations: list[Any], drifts: list[Any], integrators: list[Any]) -> list[tuple[Any, Any, Any]]:
    """Combinations: explicit integrators with all formulations and drift controls, each of the others once, alone."""
    explicit = [i for i in integrators if i.explicit]
    return [*product(formulations, drifts, explicit), *((None, None, i) for i in integrators if not i.explicit)]


def _tightest(system: System, state: State, t_end: float, times: np.ndarray) -> tuple[np.ndarray, str]:
    best = DOP853(rtol=TIGHTEST, atol=TIGHTEST)
    motion = simulate(system, state, t_end, t_eval=times, integrator=best)
    if not motion.success:
        raise DalembertError(f"the tightest run of `{system.name}` did not reach its end: {motion.message}")
    verdict = verdict_of(motion)
    doubt = f", which itself is {verdict}" if verdict else ""
    return np.hstack([motion.q, motion.u]), f"DOP853(rtol={TIGHTEST:g}, atol={TIGHTEST:g}){doubt}"


def _filled(entry: ComparisonEntry, run: Callable[[], Motion], reference: np.ndarray) -> ComparisonEntry:
    """The entry, completed with the cost and the errors of a `run`, or with the reason for its failure."""
    try:
        motion = run()  # includes compilation
    except DalembertError as error:
        return replace(entry, reason=str(error))
    if not motion.success:
        return replace(entry, reason=motion.message)
    begin = time.perf_counter()
    run()
    seconds = time.perf_counter() - begin
    for _ in range(0 if seconds > LONG_RUN else REPEATS - 1):
        begin = time.perf_counter()
        run()
        seconds = min(seconds, time.perf_counter() - begin)
    e, turned = motion.evaluation, np.ptp(motion.evaluation.kinetic) + np.ptp(motion.evaluation.potential)
    return replace(
        entry,
        seconds=seconds,
        evaluations=motion.stats["nfev"],
        position=float(np.abs(e.phi).max(initial=0.0)),
        velocity=float(np.abs(e.psi).max(initial=0.0)),
        energy=float(np.abs(motion.energy_balance).max() / max(turned, np.finfo(float).tiny)),
        difference=float(np.abs(np.hstack([motion.q, motion.u]) - reference).max()),
        verdict=verdict_of(motion),
    )


def _name(value: Any) -> str:
    if value is None:
        return "-"
    shown = {k: getattr(value, k) for k in ("step", "rtol") if getattr(value, k, None)}
    inside = ", ".join(f"{k}={v:g}" for k, v in shown.items())
    return type(value).__name__ + (f"({inside})" if inside else "")


def _cells(e: ComparisonEntry) -> tuple[str, ...]:
    errors = (e.position, e.velocity, e.energy, e.difference)
    return (
        e.formulation, e.drift, e.integrator, f"{1e3 * e.seconds:.2f}", f"{e.evaluations:,}",
        *(f"{error:.1e}" for error in errors), "NOT OK" if e.verdict else "",
    )  # fmt: skip

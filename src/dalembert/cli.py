"""The command line: `examples`; `run`, `check`, `compare`, `sweep` and `live` of a model file or example; `warmup`."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from dalembert.errors import DalembertError, OptionError, SimulationInterrupt
from dalembert.printable import printable

if TYPE_CHECKING:
    from rich.console import Console

    import dalembert
    from dalembert import problems

app = typer.Typer(
    help="Constrained mechanical systems: the motion, the reactions, and a certificate that the constraints held.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help in half the time
)


@app.command()
def examples() -> None:
    """List the mechanisms that can be run by name."""
    from rich.table import Table

    from dalembert import problems

    table = Table(box=None, pad_edge=False)
    for heading in ("name", "what it is", "t_end"):
        table.add_column(heading, overflow="fold")
    for problem in problems.all():
        table.add_row(f"[bold]{problem.name}[/]", problem.title, f"{problem.t_end:g} s")
    console = _console()
    console.print(table)
    console.print("\nRun one:  dalembert run four_bar --t-end 10 --set g=1.62 --out out")
    console.print("or a model of your own:  dalembert run pendulum.toml")


@app.command(short_help="Simulate models or examples; certificates and figures.")
def run(
    names: Annotated[
        list[str], typer.Argument(metavar="MODEL...", help="Model files (*.toml) or names from `dalembert examples`.")
    ],
    t_end: Annotated[
        float | None, typer.Option(help="End of the motion in seconds; default: that of the file or example.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter; may be repeated.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write figure, animation and data there.")] = None,
    *,
    verify: Annotated[bool, typer.Option("--verify", help="Estimate the error by a second, independent run.")] = False,
    report: Annotated[bool, typer.Option("--report", help="Write an HTML report, to DIR or here; verifies.")] = False,
) -> None:
    """Simulate model files or examples with the default settings, print their certificates, and write figures.

    For example:  dalembert run pendulum.toml --t-end 5 --set L=0.5 --out out

    Exit status 0: every certificate is ok. 1: some constraint, energy balance or run did not hold. 2: wrong input.
    130: stopped by Ctrl-C; what was reached is printed and written.
    """
    try:
        changes = _parse(settings or [])
        results = [_run_one(name, t_end, changes, out, verify=verify or report, report=report) for name in names]
    except DalembertError as error:
        _fail(error, 2)
    except KeyboardInterrupt as interruption:
        raise typer.Exit(130) from interruption
    if not all(results):
        raise typer.Exit(1)


@app.command(short_help="Compile a model, find its initial state, diagnose it.")
def check(
    name: Annotated[
        str, typer.Argument(metavar="MODEL", help="A model file (*.toml) or a name from `dalembert examples`.")
    ],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter; may be repeated.")
    ] = None,
) -> None:
    """Read a model, compile it and find its initial state; print sizes, a diagnosis and the state, or the faults.

    For example:  dalembert check pendulum.toml --set L=0.5

    Exit status 0: a motion can start there. 1: the model, its start or the input is at fault.
    """
    console = _console(highlight=False, soft_wrap=True)
    try:
        problem, _ = _problem(name)
        system = problem.system()
        console.print(printable(repr(system)), markup=False)
        state = problem.state(system, _parse(settings or []))
        diagnosis = system.diagnose(state)
    except DalembertError as error:
        _fail(error, 1)
    console.print(printable(str(diagnosis)), markup=False)
    console.print(printable(repr(state)), markup=False)
    if not diagnosis.ok:
        raise typer.Exit(1)


@app.command(short_help="Run a model through every formulation and integrator.")
def compare(
    name: Annotated[
        str, typer.Argument(metavar="MODEL", help="A model file (*.toml) or a name from `dalembert examples`.")
    ],
    t_end: Annotated[
        float | None, typer.Option(help="End of the motion in seconds; default: that of the file or example.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter; may be repeated.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write the work-precision diagram there.")] = None,
) -> None:
    """Run a model through every formulation, drift control and integrator; a table of time, drift and error.

    The difference is that of coordinates and speeds from the tightest run; |phi| and |psi| are the largest violations
    of constraints on positions and velocities; the energy error is relative to the energy turned over.
    """
    from dalembert.analysis.compare import compare as run_all

    try:
        problem, _ = _problem(name)
        system = problem.system()
        state = problem.state(system, _parse(settings or []))
        with _console(stderr=True).status("") as status:
            result = run_all(system, state, problem.t_end if t_end is None else t_end, report=status.update)
    except DalembertError as error:
        _fail(error, 2)
    console = _console(highlight=False, soft_wrap=True)
    console.print(printable(str(result)), markup=False)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        target = out / f"{problem.name}_work_precision.png"
        result.save(target)
        console.print(f"  wrote {printable(str(target))}", markup=False)


@app.command(short_help="Write a page that computes the motion while sliders move.")
def live(
    name: Annotated[
        str, typer.Argument(metavar="MODEL", help="A model file (*.toml) or a name from `dalembert examples`.")
    ],
    sliders: Annotated[
        list[str] | None,
        typer.Option("--slider", metavar="NAME", help="A parameter, coordinate or speed to move; may be repeated."),
    ] = None,
    t_end: Annotated[float, typer.Option(help="End of the motion in seconds.")] = 10.0,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter; may be repeated.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="The page; default: NAME_live.html here.")] = None,
) -> None:
    """Write a page that computes the motion itself while its sliders move; it needs no server and no network.

    For example:  dalembert live pendulum.toml --slider L --slider y --out pendulum.html
    """
    try:
        problem, _ = _problem(name)
        system = problem.system()
        state = problem.state(system, _parse(settings or []))
        page = system.live(out or f"{problem.name}_live.html", state, sliders=sliders or [], t_end=t_end)
    except DalembertError as error:
        _fail(error, 2)
    console = _console(highlight=False, soft_wrap=True)
    console.print(printable(f"  wrote {page}"), markup=False)


@app.command(short_help="Run a model many times, with values that vary.")
def sweep(
    name: Annotated[
        str, typer.Argument(metavar="MODEL", help="A model file (*.toml) or a name from `dalembert examples`.")
    ],
    vary: Annotated[
        list[str],
        typer.Option(metavar="NAME=FIRST:LAST:COUNT", help="What varies; or NAME=VALUE,VALUE. Repeat: a grid."),
    ],
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="What to keep: x, final:x, max:x, min:x, mean:x, crossing:x; may be repeated."
        ),
    ] = None,
    samples: Annotated[int, typer.Option(help="Times at which plain names are kept; 0: at the end only.")] = 0,
    t_end: Annotated[
        float | None, typer.Option(help="End of the motion in seconds; default: that of the file or example.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter; may be repeated.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="runs.zarr (goes on if it is there), .nc, .csv or .parquet.")
    ] = None,
) -> None:
    """Run a model for many values of its parameters, initial values or tolerances.

    For example:  dalembert sweep pendulum.toml --vary L=0.5:1.5:50 --keep max:vx --out runs.zarr

    Exit status 0: every run is ok. 1: some run failed or did not hold; the others are kept. 2: wrong input.
    130: stopped by Ctrl-C; a store keeps what is done and goes on when called again.
    """
    import numpy as np

    import dalembert
    from dalembert.cli_sweep import check_target, read_outputs, read_vary, summary_of, write_runs

    try:
        check_target(out)
        problem, tolerances = _problem(name)
        system = problem.system()
        end = problem.t_end if t_end is None else t_end
        runs = system.sweep(
            read_vary(vary),
            end,
            given=problem.given,
            guess=problem.guess,
            parameters=_parse(settings or []),
            outputs=read_outputs(keep or [*system.coordinates]),
            t_eval=np.linspace(0.0, end, samples) if samples else None,
            integrator=dalembert.Automatic(**tolerances) if tolerances else None,
            store=out if out is not None and out.suffix == ".zarr" else None,
        )
        if out is not None:
            write_runs(runs, out)
    except DalembertError as error:
        _fail(error, 2)
    except KeyboardInterrupt as interruption:
        raise typer.Exit(130) from interruption
    console = _console(highlight=False, soft_wrap=True)
    for line in (*summary_of(runs), *([f"wrote {out}"] if out else [])):
        console.print(printable(line), markup=False)
    if not runs["ok"].to_numpy().all():
        raise typer.Exit(1)


@app.command(short_help="Build the native engine now, not at the first run.")
def warmup() -> None:
    """Compile the native engine now instead of at the first simulation (once per installation)."""
    from dalembert.native.engine_object import engine

    begin = time.perf_counter()
    engine()
    _console().print(f"the engine is ready ({time.perf_counter() - begin:.1f} s)")


def _console(**options: Any) -> Console:
    """Where to print; what draws it is imported when something is printed."""
    from rich.console import Console

    return Console(**options)


def _parse(settings: list[str]) -> dict[str, float]:
    changes = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        try:
            changes[name.strip()] = float(value)
        except ValueError:
            equals = ""
        if not equals:
            raise OptionError(f"--set {setting!r} must read NAME=VALUE with a number, such as --set g=1.62")
    return changes


def _problem(name: str) -> tuple[problems.Problem, Mapping[str, float]]:
    """A model file, told by its ending, or an example by its name; and the tolerances it asks for."""
    from dalembert import problems
    from dalembert.importers.model_file import from_toml

    if not name.endswith(".toml"):
        return problems.get(name), {}
    file = from_toml(name)
    problem = problems.Problem(
        name=file.path.stem,
        title=file.model.name,
        source=name,
        build=lambda: file.model,
        given=file.given,
        guess=file.guess,
        t_end=file.t_end,
        note="",
    )
    return problem, file.tolerances


def _shown(text: str) -> str:
    """A text from a file, as it is printed."""
    from rich.markup import escape

    return escape(printable(text))


def _fail(error: DalembertError, status: int) -> NoReturn:
    _console(stderr=True, soft_wrap=True).print(f"[bold red]error:[/] {_shown(str(error))}", highlight=False)
    raise typer.Exit(status) from error


def _run_one(
    name: str, t_end: float | None, changes: dict[str, float], out: Path | None, *, verify: bool, report: bool
) -> bool:
    import dalembert
    from dalembert.native.engine_object import engine

    problem, tolerances = _problem(name)
    console = _console(highlight=False, soft_wrap=True)
    begin = time.perf_counter()
    system = problem.system()
    compiled = time.perf_counter()
    state = problem.state(system, changes)
    engine()
    ready = time.perf_counter()
    integrator = dalembert.Automatic(**tolerances) if tolerances else None
    try:
        motion = system.simulate(state, problem.t_end if t_end is None else t_end, integrator=integrator, verify=verify)
    except SimulationInterrupt as interruption:
        _report(console, problem, interruption.motion, out)
        raise
    done = time.perf_counter()
    _report(console, problem, motion, out)
    if report:
        source = Path(name).read_text(encoding="utf-8-sig") if name.endswith(".toml") else problem.build()
        target = motion.report((out or Path()) / f"{problem.name}_report.html", source=source)
        console.print(printable(f"  wrote {target}"), markup=False)
    console.print(f"  compiled in {compiled - begin:.2f} s, simulated in {1e3 * (done - ready):.1f} ms")
    console.print()
    return motion.certificate.ok


def _report(console: Console, problem: problems.Problem, motion: dalembert.Motion, out: Path | None) -> None:
    """Print the certificate of a motion, whole or in part, and write its files."""
    console.print(f"[bold]{_shown(problem.title)}[/] - {_shown(problem.source)}")
    if problem.note:
        console.print(problem.note, markup=False)
    console.print(printable(str(motion.certificate)), markup=False)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        motion.plot(out / f"{problem.name}.png")
        motion.animate(out / f"{problem.name}.html")
        motion.save(out / f"{problem.name}.npz")
        written = ", ".join(str(out / f"{problem.name}.{kind}") for kind in ("png", "html", "npz"))
        console.print(printable(f"  wrote {written}"), markup=False)


def main() -> None:
    """Entry point for `python -m dalembert`."""
    sys.exit(app())

"""The command line: `dalembert examples`, `run`, `check`, `compare` and `sweep` of a model or an example, `warmup`."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, NoReturn

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import dalembert
from dalembert import problems
from dalembert.cli_sweep import check_target, read_outputs, read_vary, summary_of, write_runs
from dalembert.errors import DalembertError, OptionError, SimulationInterrupt
from dalembert.importers.model_file import from_toml
from dalembert.native.engine_object import engine
from dalembert.printable import printable

app = typer.Typer(
    help="Constrained mechanical systems: the motion, the reactions, and a certificate that the constraints held.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command()
def examples() -> None:
    """List the mechanisms that can be run by name."""
    table = Table(box=None, pad_edge=False)
    for heading in ("name", "what it is", "t_end"):
        table.add_column(heading, overflow="fold")
    for problem in problems.all():
        table.add_row(f"[bold]{problem.name}[/]", problem.title, f"{problem.t_end:g} s")
    console = Console()
    console.print(table)
    console.print("\nRun one:  dalembert run four_bar --t-end 10 --set g=1.62 --out out")
    console.print("or a model of your own:  dalembert run pendulum.toml")


@app.command()
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
) -> None:
    """Simulate model files or examples with the default settings, print their certificates, and write figures.

    For example:  dalembert run pendulum.toml --t-end 5 --set L=0.5 --out out

    Exit status 0: every certificate is ok. 1: some constraint, energy balance or run did not hold. 2: wrong input.
    130: stopped by Ctrl-C; what was reached is printed and written.
    """
    try:
        changes = _parse(settings or [])
        results = [_run_one(name, t_end, changes, out, verify=verify) for name in names]
    except DalembertError as error:
        _fail(error, 2)
    except KeyboardInterrupt as interruption:
        raise typer.Exit(130) from interruption
    if not all(results):
        raise typer.Exit(1)


@app.command()
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
    console = Console(highlight=False, soft_wrap=True)
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


@app.command()
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
        with Console(stderr=True).status("") as status:
            result = run_all(system, state, problem.t_end if t_end is None else t_end, report=status.update)
    except DalembertError as error:
        _fail(error, 2)
    console = Console(highlight=False, soft_wrap=True)
    console.print(printable(str(result)), markup=False)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        target = out / f"{problem.name}_work_precision.png"
        result.save(target)
        console.print(f"  wrote {printable(str(target))}", markup=False)


@app.command()
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
    console = Console(highlight=False, soft_wrap=True)
    for line in (*summary_of(runs), *([f"wrote {out}"] if out else [])):
        console.print(printable(line), markup=False)
    if not runs["ok"].to_numpy().all():
        raise typer.Exit(1)


@app.command()
def warmup() -> None:
    """Compile the native engine now instead of at the first simulation (once per installation)."""
    begin = time.perf_counter()
    engine()
    Console().print(f"the engine is ready ({time.perf_counter() - begin:.1f} s)")


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
    return escape(printable(text))


def _fail(error: DalembertError, status: int) -> NoReturn:
    Console(stderr=True, soft_wrap=True).print(f"[bold red]error:[/] {_shown(str(error))}", highlight=False)
    raise typer.Exit(status) from error


def _run_one(name: str, t_end: float | None, changes: dict[str, float], out: Path | None, *, verify: bool) -> bool:
    problem, tolerances = _problem(name)
    console = Console(highlight=False, soft_wrap=True)
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

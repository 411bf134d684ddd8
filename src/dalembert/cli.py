"""The command line: `dalembert new`, then `check`, `run`, `live`, `sweep` or `compare` of a model or an example."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from dalembert.errors import DalembertError, SimulationInterrupt
from dalembert.loading import collection_paused
from dalembert.printable import printable

if TYPE_CHECKING:
    from rich.console import Console

    from dalembert.cli_inputs import StartedModel
    from dalembert.cli_results import Files

app = typer.Typer(
    help="Constrained mechanical systems: the motion, the reactions, and a certificate that the constraints held.",
    epilog="Exit status 0: all is well. 1: a certificate is not ok, or `check` found a fault. 2: wrong input, or a "
    "file that cannot be written. 130: stopped by Ctrl-C.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help in half the time
)

Model = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model file (*.toml) or a name from `dalembert examples`.")
]
Models = Annotated[
    list[str], typer.Argument(metavar="MODEL", help="Model files (*.toml) or names from `dalembert examples`.")
]
End = Annotated[float | None, typer.Option(help="End of the motion in seconds; default: that of the file or example.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter: g=1.62, Om=2*pi, a=30*deg; may be repeated."),
]


def _print_version(asked: bool) -> None:  # noqa: FBT001 - called so by typer
    if asked:
        from importlib.metadata import version

        typer.echo(f"dalembert {version('dalembert')}")
        raise typer.Exit


@app.callback()
def begin(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Constrained mechanical systems: the motion, the reactions, and a certificate that the constraints held."""


@app.command(short_help="Write a commented model file to begin with.")
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The file is called NAME.toml.")],
    like: Annotated[
        str | None, typer.Option(metavar="EXAMPLE", help="Begin with this one of `dalembert examples`.")
    ] = None,
) -> None:
    """Write a model file to begin with: a slider-crank with comments that say what can be written where.

    For example:  dalembert new engine;  dalembert new linkage --like four_bar

    A file that is there already is never changed.
    """
    from dalembert.cli_new import write_new

    with _failing(2):
        path = printable(str(write_new(name, like)))
    _print(f"  wrote {path}; edit it, then")
    for line in (f"dalembert check {path}", f"dalembert run {path} --report", f"dalembert live {path}"):
        _print(f"    {line}")


@app.command(short_help="Print the JSON schema of model files.")
def schema() -> None:
    """Print the JSON schema of model files, with which editors complete keys and mark mistakes.

    For example:  dalembert schema > dalembert.schema.json
    """
    from dalembert.importers.schema import json_schema

    typer.echo(json.dumps(json_schema(), indent=2))


@app.command(short_help="List the mechanisms that can be run by name.")
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
    console.print("or a model of your own:  dalembert new engine; dalembert run engine.toml")


@app.command(short_help="Simulate models or examples; certificates, figures, reports.")
def run(
    names: Models,
    t_end: End = None,
    settings: Settings = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write figure, animation and data there.")] = None,
    *,
    verify: Annotated[bool, typer.Option("--verify", help="Estimate the error by a second, independent run.")] = False,
    report: Annotated[bool, typer.Option("--report", help="Write an HTML report, to DIR or here; verifies.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Write a table of all samples, to DIR or here.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print results as JSON instead of text.")] = False,
) -> None:
    """Simulate model files or examples, print their certificates, and write figures, reports and tables.

    For example:  dalembert run pendulum.toml --t-end 5 --set L=0.5 --out out

    Faults of all files, and places where nothing can be written, are told before the first run.

    Exit status 0: every certificate is ok. 1: some constraint, energy balance or run did not hold. 2: wrong input, or
    a file that cannot be written. 130: stopped by Ctrl-C; what was reached is printed and written.
    """
    from dalembert.view.figure_process import figure_process

    with _failing(2), figure_process(needed=out is not None) as figures:
        with collection_paused():
            from dalembert.cli_results import Files  # and SymPy, while the other process imports Matplotlib

        files = Files(out, figures, report=report, csv=csv)
        starts = _started(names, settings or [])
        files.check(starts)
        results = [_run_one(one, t_end, files, verify=verify or report, quiet=as_json) for one in starts]
    if as_json:
        from importlib.metadata import version

        whole = {"dalembert": version("dalembert"), "ok": all(r["ok"] for r in results), "runs": results}
        typer.echo(json.dumps(whole, indent=2, allow_nan=False))
    if not all(result["ok"] for result in results):
        raise typer.Exit(1)


@app.command(short_help="Compile models, find their initial states, diagnose them.")
def check(names: Models, settings: Settings = None) -> None:
    """Read models, compile them and find their initial states; print sizes, a diagnosis and the state, or the faults.

    For example:  dalembert check pendulum.toml --set L=0.5

    Exit status 0: a motion can start there. 1: a model, its start or the input is at fault.
    """
    from dalembert.cli_inputs import collecting, read_request, read_settings

    errors: list[DalembertError] = []
    sound = True
    with _failing(1):
        changes = read_settings(settings or [])
        for name in names:
            with collecting(errors, name if len(names) > 1 else ""):
                request = read_request(name, changes)
                system = request.problem.system()
                system.kernels.expect_few_calls()
                _print(repr(system))
                state = request.problem.state(system, request.changes)
                diagnosis = system.diagnose(state)
                _print(str(diagnosis))
                _print(repr(state))
                sound = sound and diagnosis.ok
    if errors:
        _fail(errors, 1)
    if not sound:
        raise typer.Exit(1)


@app.command(short_help="Run a model through every formulation and integrator.")
def compare(
    name: Model,
    t_end: End = None,
    settings: Settings = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write the work-precision diagram there.")] = None,
) -> None:
    """Run a model through every formulation, drift control and integrator; a table of time, drift and error.

    The difference is that of coordinates and speeds from the tightest run; |phi| and |psi| are the largest violations
    of constraints on positions and velocities; the energy error is relative to the energy turned over. Events of a file
    are left out.
    """
    from dalembert.analysis.compare import compare as run_all
    from dalembert.cli_results import check_writable, make_folder

    with _failing(2):
        (one,) = _started([name], settings or [])
        problem = one.request.problem
        target = None if out is None else out / f"{problem.name}_work_precision.png"
        if target is not None:
            make_folder(target.parent)
            check_writable(target)
        with _console(stderr=True).status("") as status:
            result = run_all(one.system, one.state, problem.t_end if t_end is None else t_end, report=status.update)
    _print(str(result))
    if target is not None:
        result.save(target)
        _print(f"  wrote {target}")


@app.command(short_help="Write a page that computes the motion while sliders move.")
def live(
    name: Model,
    sliders: Annotated[
        list[str] | None,
        typer.Option("--slider", metavar="NAME", help="A parameter, coordinate or speed to move; may be repeated."),
    ] = None,
    t_end: End = None,
    settings: Settings = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="The page; default: NAME_live.html here.")] = None,
) -> None:
    """Write a page that computes the motion itself while its sliders move; it needs no server and no network.

    For example:  dalembert live pendulum.toml --slider L --slider y --out pendulum.html
    """
    from dalembert.cli_results import check_writable

    with _failing(2):
        (one,) = _started([name], settings or [])
        problem = one.request.problem
        target = out or Path(f"{problem.name}_live.html")
        check_writable(target)
        end = problem.t_end if t_end is None else t_end
        page = one.system.live(
            target, one.state, sliders=sliders or [], t_end=end, events=one.request.options.get("events", ())
        )
    _print(f"  wrote {page}")


@app.command(short_help="Run a model for many values of its parameters.")
def sweep(
    name: Model,
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
    t_end: End = None,
    settings: Settings = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="runs.zarr (goes on if it is there), .nc, .csv or .parquet.")
    ] = None,
) -> None:
    """Run a model for many values of its parameters, initial values or tolerances.

    For example:  dalembert sweep pendulum.toml --vary L=0.5:1.5:50 --keep max:vx --out runs.zarr

    Exit status 0: every run is ok. 1: some run failed or did not hold; the others are kept. 2: wrong input.
    130: stopped by Ctrl-C; a store keeps what is done and goes on when called again.
    """
    from dalembert.cli_inputs import read_request, read_settings
    from dalembert.cli_sweep import check_target, run_sweep, summary_of

    with _failing(2):
        check_target(out)
        request = read_request(name, read_settings(settings or []))
        runs = run_sweep(request, vary, keep or [], samples, t_end, out)
    for line in (*summary_of(runs), *([f"wrote {out}"] if out else [])):
        _print(line)
    if not runs["ok"].to_numpy().all():
        raise typer.Exit(1)


@app.command(short_help="Build the native engine now, not at the first run.")
def warmup() -> None:
    """Compile the native engine now instead of at the first simulation (once per installation)."""
    from dalembert.native.engine_object import engine

    begin = time.perf_counter()
    engine()
    _print(f"the engine is ready ({time.perf_counter() - begin:.1f} s)")


def _console(**options: Any) -> Console:
    """A console of rich, which is imported only when something is printed."""
    from rich.console import Console

    return Console(**options)


def _print(text: str) -> None:
    """Print a text as it is."""
    typer.echo(printable(text))


@contextmanager
def _failing(status: int) -> Iterator[None]:
    """Errors are printed and end the command with this status, Ctrl-C with 130."""
    try:
        yield
    except DalembertError as error:
        _fail([error], status)
    except KeyboardInterrupt as interruption:
        raise typer.Exit(130) from interruption


def _fail(errors: Sequence[DalembertError], status: int) -> NoReturn:
    for error in errors:
        typer.echo(f"{typer.style('error:', fg='red', bold=True)} {printable(str(error))}", err=True)
    raise typer.Exit(status)


def _started(names: Sequence[str], settings: Sequence[str]) -> list[StartedModel]:
    """All models with their initial states; if anything is wrong with one of them, all that is wrong is told."""
    from dalembert.cli_inputs import read_settings, start_all

    starts, errors = start_all(names, read_settings(settings))
    if errors:
        _fail(errors, 2)
    return starts


def _run_one(one: StartedModel, t_end: float | None, files: Files, *, verify: bool, quiet: bool) -> dict[str, Any]:
    """Run a model, print and write what was asked for; the result as plain values."""
    from dalembert.cli_results import summary
    from dalembert.native.engine_object import engine

    problem = one.request.problem
    engine()
    begin = time.perf_counter()
    end = problem.t_end if t_end is None else t_end
    try:
        motion = one.system.simulate(one.state, end, verify=verify, **one.request.options)
    except SimulationInterrupt as interruption:
        _tell(one, interruption.motion, files, quiet=quiet)
        raise
    seconds = time.perf_counter() - begin
    written = _tell(one, motion, files, quiet=quiet)
    if not quiet:
        _print(f"  compiled in {one.seconds:.2f} s, simulated in {1e3 * seconds:.1f} ms\n")
    return summary(motion, one, written, seconds)


def _tell(one: StartedModel, motion: Any, files: Files, *, quiet: bool) -> list[Path]:
    """Print the certificate of a motion, whole or in part, and write its files."""
    problem = one.request.problem
    files.begin(motion, one)
    if not quiet:
        title = typer.style(printable(problem.title), bold=True)
        typer.echo(f"{title} - {printable(problem.source)}")
        _print("\n".join(filter(None, (problem.note, str(motion.certificate)))))
    written = files.write(motion, one)
    if written and not quiet:
        _print(f"  wrote {', '.join(map(str, written))}")
    return written

"""The command line: `dalembert examples`, `run EXAMPLE`, `compare EXAMPLE`, `warmup`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from dalembert import problems
from dalembert.errors import DalembertError, OptionError
from dalembert.preparation import prepare, prepare_everything

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


@app.command()
def run(
    names: Annotated[list[str], typer.Argument(metavar="EXAMPLE...", help="Names from `dalembert examples`.")],
    t_end: Annotated[
        float | None, typer.Option(help="End of the motion in seconds; default: the example's own.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter; may be repeated.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write figure, animation and data there.")] = None,
) -> None:
    """Simulate examples with the default settings, print their certificates, and write figures and animations.

    Exit status 0: every certificate is ok. 1: some constraint, energy balance or run did not hold. 2: wrong input.
    """
    try:
        changes = _parse(settings or [])
        results = [_run_one(name, t_end, changes, out) for name in names]
    except DalembertError as error:
        Console(stderr=True).print(f"[bold red]error:[/] {error}", highlight=False)
        raise typer.Exit(2) from error
    if not all(results):
        raise typer.Exit(1)


@app.command()
def compare(
    name: Annotated[str, typer.Argument(metavar="EXAMPLE", help="A name from `dalembert examples`.")],
    t_end: Annotated[
        float | None, typer.Option(help="End of the motion in seconds; default: the example's own.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter; may be repeated.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write the work-precision diagram there.")] = None,
) -> None:
    """Run an example through every formulation, drift control and integrator; a table of time, drift and error.

    The difference is that of coordinates and speeds from the tightest run; |phi| and |psi| are the largest violations
    of constraints on positions and velocities; the energy error is relative to the energy turned over.
    """
    from dalembert.analysis.compare import compare as run_all

    try:
        problem = problems.get(name)
        system = problem.system()
        state = problem.state(system, _parse(settings or []))
        with Console(stderr=True).status("") as status:
            result = run_all(system, state, problem.t_end if t_end is None else t_end, report=status.update)
    except DalembertError as error:
        Console(stderr=True).print(f"[bold red]error:[/] {error}", highlight=False)
        raise typer.Exit(2) from error
    console = Console(highlight=False, soft_wrap=True)
    console.print(str(result), markup=False)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        target = out / f"{name}_work_precision.png"
        result.save(target)
        console.print(f"  wrote {target}")


@app.command()
def warmup() -> None:
    """Compile the native engine now instead of at the first simulation (once per installation)."""
    begin = time.perf_counter()
    prepare_everything()
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


def _run_one(name: str, t_end: float | None, changes: dict[str, float], out: Path | None) -> bool:
    problem = problems.get(name)
    console = Console(highlight=False, soft_wrap=True)
    begin = time.perf_counter()
    system = problem.system()
    compiled = time.perf_counter()
    state = problem.state(system, changes)
    prepare()
    ready = time.perf_counter()
    motion = system.simulate(state, problem.t_end if t_end is None else t_end)
    done = time.perf_counter()
    console.print(f"[bold]{problem.title}[/] - {problem.source}", soft_wrap=True)
    console.print(f"{problem.note}")
    console.print(str(motion.certificate), markup=False)
    console.print(f"  compiled in {compiled - begin:.2f} s, simulated in {1e3 * (done - ready):.1f} ms")
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        motion.plot(out / f"{name}.png")
        motion.animate(out / f"{name}.html")
        motion.save(out / f"{name}.npz")
        console.print(f"  wrote {', '.join(str(out / f'{name}.{kind}') for kind in ('png', 'html', 'npz'))}")
    console.print()
    return motion.certificate.ok


def main() -> None:
    """Entry point for `python -m dalembert`."""
    sys.exit(app())

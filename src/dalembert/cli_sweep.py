"""`dalembert sweep`: reading of its options, and output of the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import isfinite, prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.analysis.sweep.reductions import CrossingTime, Final, Maximum, Mean, Minimum
from dalembert.errors import FileError, OptionError
from dalembert.file_writing import replacing, writing
from dalembert.free_memory import check_memory

if TYPE_CHECKING:
    import xarray as xr

    from dalembert.cli_inputs import Request
    from dalembert.equations.system import System

REDUCTIONS = {"final": Final, "max": Maximum, "min": Minimum, "mean": Mean, "crossing": CrossingTime}
PER_RUN = 64  # bytes that a run leaves at least: its value, how it ended, and pointers to texts
WRITERS = {".nc": "to_netcdf", ".csv": "to_csv", ".parquet": "to_parquet"}  # by the ending of a file


def run_sweep(
    request: Request, vary: Sequence[str], keep: Sequence[str], samples: int, t_end: float | None, out: Path | None
) -> xr.Dataset:
    """The runs of a model for many values, written to `out`."""
    values, problem = read_vary(vary), request.problem
    if samples < 0:
        raise OptionError(f"--samples {samples} is negative; give how many times to keep, or 0 for the end only")
    check_memory(8 * samples * len(keep or "1"), f"{samples:,} samples of a run", "give a smaller number in --samples")
    system = problem.system()
    values = _with_followers(system, request.changes, values)
    end = problem.t_end if t_end is None else t_end
    runs = system.sweep(
        values,
        end,
        given=problem.given,
        guess=problem.guess,
        parameters=request.changes,
        outputs=read_outputs(keep or [*system.coordinates]),
        t_eval=np.linspace(0.0, end, samples) if samples else None,
        store=out if out is not None and out.suffix == ".zarr" else None,
        **request.options,
    )
    if out is not None:
        write_runs(runs, out)
    return runs


def _with_followers(system: System, changes: Mapping[str, float], values: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """The varied values, with those of the parameters that are expressions of them."""
    found, followers = dict[str, Any](values), system.statement.followers if system.statement else {}
    free = {p.name: e for p, e in followers.items() if p.name not in changes and p.name not in values}
    for name in free:
        along = [key for key in values if key in _needed(free, name)]
        if along:
            points = product(*(values[key].tolist() for key in along))
            place, held = (
                system.parameters.index(name),
                [{**changes, **dict(zip(along, p, strict=True))} for p in points],
            )
            column = [system.parameter_values(one)[place] for one in held]
            found[name] = (tuple(along), np.reshape(column, [len(values[key]) for key in along]))
    return found


def _needed(followers: Mapping[str, Any], name: str) -> set[str]:
    """The parameters in terms of which one is given, directly or by way of others."""
    direct = {str(symbol) for symbol in followers[name].free_symbols} if name in followers else set()
    return direct.union(*(_needed(followers, key) for key in direct))


def read_vary(settings: Sequence[str]) -> dict[str, np.ndarray]:
    """Values by name of texts such as L=0.5:1.5:50 (first:last:count) and m=1,2,5; raises if they are too many."""
    ranges: dict[str, tuple[float, float, int] | list[float]] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        try:
            ranges[name.strip()] = _range(text)
        except ValueError:
            equals = ""
        if not (equals and name.strip()):
            raise OptionError(f"--vary {setting!r} must read NAME=FIRST:LAST:COUNT or NAME=VALUE,VALUE,...")
    runs = prod(held[2] if isinstance(held, tuple) else len(held) for held in ranges.values())
    check_memory(PER_RUN * runs, f"a sweep of {runs:,} runs", "give smaller counts in --vary")
    return {name: np.linspace(*held) if isinstance(held, tuple) else np.array(held) for name, held in ranges.items()}


def _range(text: str) -> tuple[float, float, int] | list[float]:
    """First and last value with their count, or a list of values."""
    if ":" not in text:
        return [float(part) for part in text.split(",")]
    first, last, count = text.split(":")
    if int(count) < 1 or not isfinite(float(last) - float(first)):
        raise ValueError(text)
    return float(first), float(last), int(count)


def read_outputs(names: Sequence[str]) -> list[Any]:
    """Outputs of texts such as `x` (sampled, or final without samples), `max:x`, `crossing:x`."""
    outputs = []
    for name in names:
        how, colon, what = name.partition(":")
        if colon and how not in REDUCTIONS:
            raise OptionError(f"--keep {name!r}: {how!r} is not one of {', '.join(REDUCTIONS)}")
        outputs.append(REDUCTIONS[how](what) if colon else name)
    return outputs


def check_target(out: Path | None) -> None:
    """Raise if a result cannot be written to such a file."""
    if out is not None and out.suffix not in (".zarr", *WRITERS):
        raise OptionError(f"--out {out} must end in .zarr, {', '.join(WRITERS)}")


def write_runs(runs: xr.Dataset, out: Path) -> None:
    """Write a result to a file; a Zarr store has been written already."""
    if out.suffix == ".zarr":
        return
    try:
        with writing(out):
            out.parent.mkdir(parents=True, exist_ok=True)
        with replacing(out) as partial:
            getattr(runs if out.suffix == ".nc" else runs.to_dataframe(), WRITERS[out.suffix])(partial)
    except (ImportError, ValueError) as error:
        raise FileError(f"{out} cannot be written: {error}") from error


def summary_of(runs: xr.Dataset) -> list[str]:
    """Lines about the runs: how many held, and the first of those that did not."""
    ok, status, message = (runs[name].to_numpy().ravel() for name in ("ok", "status", "message"))
    lines = [f"{int(ok.sum()):,} of {ok.size:,} runs are ok"]
    for kind in dict.fromkeys(map(str, status[~ok])):
        which = np.flatnonzero(status == kind)
        lines.append(f"  {len(which):,} {kind}, first run {which[0]}: {message[which[0]]}")
    return lines

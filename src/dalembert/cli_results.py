"""Results of a run on the command line: the files asked for, and a summary as JSON."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dalembert.cli_inputs import StartedModel
from dalembert.dataclass import dataclass
from dalembert.errors import DalembertError, FileError, OptionError
from dalembert.file_writing import writing
from dalembert.motion.certificate import Certificate
from dalembert.motion.tables import columns_of, output_names
from dalembert.view.figure_process import FigureProcess
from dalembert.view.overview import panels_of

FIGURES = {"png": "plot", "html": "animate", "npz": "save"}  # files of a motion in a folder: ending and verb


@dataclass(frozen=True)
class Files:
    """The files that a run writes: figure, animation and data into `out`, a report and a table there or here.

    `figures` draws the figure while this process writes the rest.
    """

    out: Path | None
    figures: FigureProcess
    report: bool = False
    csv: bool = False

    def targets(self, name: str) -> dict[str, Path]:
        """Paths by the verb of the motion that writes them."""
        folder = self.out or Path()
        found = {verb: folder / f"{name}.{ending}" for ending, verb in FIGURES.items()} if self.out else {}
        if self.csv:
            found["to_csv"] = folder / f"{name}.csv"
        if self.report:
            found["report"] = folder / f"{name}_report.html"
        return found

    def check(self, starts: Sequence[StartedModel]) -> None:
        """Make the folder. Raises before the runs if a file could not be written after them."""
        writers: dict[Path, str] = {}
        for one in starts:
            for target in self.targets(one.request.problem.name).values():
                other = writers.setdefault(target, one.request.given)
                if other != one.request.given:
                    raise OptionError(f"{other} and {one.request.given} would both write {target}; run them one by one")
        if self.out is not None:
            make_folder(self.out)
        for target in writers:
            check_writable(target)

    def begin(self, motion: Any, one: StartedModel) -> None:
        """Have the figure of a motion drawn from now on, if another process does that."""
        picture = self.targets(one.request.problem.name).get("plot")
        if picture is not None:
            with contextlib.suppress(DalembertError):  # a motion that cannot be drawn: `write` says why
                self.figures.send(panels_of(motion), picture)

    def write(self, motion: Any, one: StartedModel) -> list[Path]:
        """Write the files of a motion that was begun, whole or in part; returns their paths."""
        targets = self.targets(one.request.problem.name)
        for verb, target in targets.items():
            if verb != "plot":
                _write(motion, verb, target, one)
        if "plot" in targets and not self.figures.has_drawn():
            _write(motion, "plot", targets["plot"], one)
        return [*targets.values()]


def _write(motion: Any, verb: str, target: Path, one: StartedModel) -> None:
    """Write one file of a motion by one of its verbs."""
    options = {"source": one.request.source} if verb == "report" else {}
    with writing(target):
        getattr(motion, verb)(target, **options)


def make_folder(folder: Path) -> None:
    """Make a folder with those above it; raises `FileError` where that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise FileError(f"--out {folder} is a file, not a folder; give the name of a folder") from None
    except OSError as error:
        raise FileError(f"--out {folder} cannot be made: {error.strerror or error}; give another folder") from error


def check_writable(target: Path) -> None:
    """Raise `FileError` if a file of this name cannot be written."""
    if target.is_dir():
        raise FileError(f"{target} is a folder, and a file of this name would be written; move it or choose another")
    folder = target.parent
    if not folder.is_dir():
        raise FileError(f"{target} cannot be written: there is no folder {folder}; make it first")
    if not os.access(target if target.exists() else folder, os.W_OK):
        raise FileError(f"{target} cannot be written: Permission denied; choose another place by --out")


def summary(motion: Any, one: StartedModel, files: Iterable[Path], seconds: float) -> dict[str, Any]:
    """A run as plain values for JSON; numbers that are not finite are None."""
    system, first, certificate = motion.system, motion.segments[0], motion.certificate
    columns = dict(zip(system.coordinates, motion.q.T, strict=True)) | dict(zip(system.speeds, motion.u.T, strict=True))
    columns |= {f"la({n})": la for n, la in zip(motion.constraint_names, motion.multipliers.T, strict=True)}
    columns |= columns_of(motion, output_names(motion))
    return _plain(
        {
            "model": one.request.problem.name,
            "title": one.request.problem.title,
            "source": one.request.problem.source,
            "ok": certificate.ok,
            "verdict": certificate.verdict,
            "t": [float(motion.t[0]), float(motion.t[-1])] if len(motion) else [],
            "parameters": dict(zip(first.system.parameters, first.parameters.tolist(), strict=True)),
            "final": {name: float(values[-1]) for name, values in columns.items()} if len(motion) else {},
            "events": [{"name": o.name, "t": o.t} for o in motion.events],
            "certificate": _judged(certificate),
            "files": [str(path) for path in files],
            "seconds": {"compile": one.seconds, "simulate": seconds},
        }
    )


def _judged(certificate: Certificate) -> dict[str, Any]:
    v = certificate.verification
    errors = [] if v is None else [*v.coordinates, *v.speeds, *v.multipliers]
    return {
        "success": certificate.success,
        "message": certificate.message,
        "findings": [{**asdict(f), "ok": f.ok} for f in certificate.findings],
        "energy_error": certificate.energy_error,
        "condition": certificate.condition,
        "method": certificate.method,
        "stats": dict(certificate.stats),
        "estimated_error": None if v is None else {d.name: d.error for d in errors},
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value

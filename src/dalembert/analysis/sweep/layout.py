"""`Layout`: the variables of a sweep's result by name - dimensions, attributes - and how blocks fill them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from math import prod
from typing import Any

import numpy as np

from dalembert.analysis.sweep.blocks import RunBlock
from dalembert.analysis.sweep.design import Design
from dalembert.analysis.sweep.replay import ABOUT, about_starts
from dalembert.analysis.sweep.study import OK, Study
from dalembert.dataclass import dataclass
from dalembert.errors import OptionError
from dalembert.free_memory import check_memory
from dalembert.run.recipe import described

TIME, ERROR = "t", "estimated_error"
OF_RUNS = ("ok", "message", "status")  # recorded for every run; a run is done when its status is there


@dataclass(frozen=True)
class Variable:
    """One result: its dimensions besides those of the runs, its placeholder value, and its attributes."""

    name: str
    dims: tuple[str, ...]
    missing: Any
    attrs: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Layout:
    """The layout of a result: dimensions, variables, coordinates and attributes, without its numbers."""

    design: Design
    study: Study
    variables: tuple[Variable, ...]
    coords: Mapping[str, tuple[tuple[str, ...], np.ndarray, Mapping[str, str]]]
    attrs: Mapping[str, Any]

    def shape(self, variable: Variable) -> tuple[int, ...]:
        """The sizes of a variable."""
        times = 0 if self.study.t_eval is None else len(self.study.t_eval)
        return (*self.design.shape, *(times for _ in variable.dims))

    def dims(self, variable: Variable) -> tuple[str, ...]:
        """The names of its dimensions."""
        return (*self.design.dims, *variable.dims)

    def empty(self) -> dict[str, np.ndarray]:
        """Arrays of all variables by name, filled with their placeholder values.

        Raises `OutOfMemoryError` if they are too large.
        """
        numbers, runs = sum(prod(self.shape(v)) for v in self.variables), self.design.count
        check_memory(8 * numbers, f"the results of {runs:,} runs", "vary fewer values, or keep them on disk by store=")
        return {
            v.name: np.full(self.shape(v), v.missing, dtype=object if v.missing == "" else None) for v in self.variables
        }

    def fill(self, arrays: Mapping[str, np.ndarray], block: RunBlock) -> None:
        """Put the values of a block in their places."""
        for variable, values in parts_of(self.variables, block):
            flat = arrays[variable.name].reshape(self.design.count, *self.shape(variable)[len(self.design.dims) :])
            flat[block.start : block.start + len(values)] = values


def parts_of(variables: Sequence[Variable], block: RunBlock) -> Iterator[tuple[Variable, np.ndarray]]:
    """The values (n, ...) of each variable for the runs of a block, the status last."""
    columns = [*block.values.T, *np.moveaxis(block.samples, 2, 0)]
    known = {"ok": block.status == OK, "message": block.message, "status": block.status}
    for k, variable in enumerate(variables):
        yield variable, known[variable.name] if variable.name in known else columns[k]


def lay_out(design: Design, study: Study, units: Mapping[str, str]) -> Layout:
    """The layout of the result of a study over a design."""
    taken = {*design.names, *design.dims, TIME, *OF_RUNS}
    variables: list[Variable] = []
    for how, reading in study.reduced:
        for k, label in enumerate(reading.labels):
            name = (how.name + (f"[{k}]" if len(reading.labels) > 1 else "")) if how.name else label + how.suffix
            told = {"long_name": f"{type(how).__name__} of {label}"}
            if type(how).__name__ != "CrossingTime":
                told |= _unit(label, units)
            variables.append(Variable(_fresh(name, taken), (), np.nan, told))
    if study.verify:
        about_error = {"long_name": "estimated error of the coordinate that is off most, by a second run"}
        variables.append(Variable(_fresh(ERROR, taken), (), np.nan, about_error))
    for reading in study.sampled:
        for label in reading.labels:
            name = f"{label}(t)" if label in taken else label
            variables.append(Variable(_fresh(name, taken), (TIME,), np.nan, {"long_name": label} | _unit(label, units)))
    about = {
        "ok": (False, "whether the run reached its end and its certificate is ok"),
        "message": ("", "what is wrong with the run; empty if nothing is"),
        "status": ("", "how the run ended"),
    }
    variables += [Variable(name, (), about[name][0], {"long_name": about[name][1]}) for name in OF_RUNS]
    labels = {label for reading in (*(r for _, r in study.reduced), *study.sampled) for label in reading.labels}
    unknown = set(units) - {*design.names, TIME, *labels}
    if unknown:
        raise OptionError(f"units are given for {', '.join(sorted(unknown))}, which neither vary nor are kept")
    return Layout(design, study, tuple(variables), _coords(design, study, units), _attrs(design, study))


def _fresh(name: str, taken: set[str]) -> str:
    if name in taken:
        raise OptionError(
            f"two results would be called `{name}`; give one of them a name, such as Final(..., name=...)"
        )
    taken.add(name)
    return name


def _unit(label: str, units: Mapping[str, str]) -> dict[str, str]:
    return {"units": units[label]} if label in units else {}


def _coords(
    design: Design, study: Study, units: Mapping[str, str]
) -> dict[str, tuple[tuple[str, ...], np.ndarray, Mapping[str, str]]]:
    kinds = dict(zip(study.names, study.kinds, strict=True))
    what = {"parameter": "parameter", "given": "initial value", "tolerance": "tolerance"}
    coords: dict[str, tuple[tuple[str, ...], np.ndarray, Mapping[str, str]]] = {
        name: (dims, values, {"long_name": f"{name}, {what[kinds[name]]}"} | _unit(name, units))
        for name, (dims, values) in design.columns.items()
    }
    coords |= {name: ((name,), values, {}) for name, values in design.index.items()}
    if study.sampled and study.t_eval is not None:
        coords[TIME] = ((TIME,), study.t_eval, {"long_name": "time"} | _unit(TIME, {TIME: "s"} | dict(units)))
    return coords


def _attrs(design: Design, study: Study) -> dict[str, Any]:
    return {
        **design.attrs,
        "system": study.system.name,
        "t_start": study.span[0],
        "t_end": study.span[1],
        "method": ", ".join(described(value) for value in study.recipe),
        "dalembert": version("dalembert"),
        ABOUT: about_starts(study, design.names),
    } | ({"events": ", ".join(event.name for event in study.events)} if study.events else {})

"""Outputs of a study in native code: how each quantity is read, and which reduction is recorded of each run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dalembert.analysis.sweep.reading import Reading
from dalembert.analysis.sweep.reductions import CrossingTime, Final, Maximum, Mean, Minimum
from dalembert.analysis.sweep.study import Study
from dalembert.equations.instants import has_instants
from dalembert.equations.kernels import PROMPT_FUNCTION
from dalembert.equations.maps import features_moved
from dalembert.run.batch.bench import Outputs
from dalembert.run.batch.readings import (
    CROSSING,
    ENERGY,
    EXPRESSION,
    FIELDS,
    FINAL,
    MAXIMUM,
    MEAN,
    MINIMUM,
    QUANTITY,
    SAMPLE,
    SOLVED,
    STATE,
    TIME,
)
from dalembert.run.drift.no_correction import NoCorrection
from dalembert.run.drift.projection import Projection
from dalembert.run.integrators.automatic import Automatic
from dalembert.run.integrators.explicit import Explicit

if TYPE_CHECKING:
    from dalembert.equations.system import System
    from dalembert.native.kernel import Kernel

_KEPT = {Final: FINAL, Maximum: MAXIMUM, Minimum: MINIMUM, Mean: MEAN, CrossingTime: CROSSING}
Way = tuple[int, int, int, int, int]  # how, entry or kernel, whether accelerations are needed, values, which of them


def outputs_of(study: Study) -> Outputs | None:
    """Outputs that native code records of each run of a study; None if its runs need more than native code does."""
    recipe, system = study.recipe, study.system
    if study.events or study.verify or has_instants(system) or features_moved(system, study.names):
        return None
    if not isinstance(recipe.drift, Projection | NoCorrection):  # others look at the start of each run
        return None
    if not isinstance(recipe.integrator, Automatic | Explicit):
        return None
    table, levels = [], []
    kernels: list[Kernel] = []
    for how, reading in (*study.reduced, *((None, reading) for reading in study.sampled)):
        kept = SAMPLE if how is None else _KEPT.get(type(how))
        for way in _ways(system, reading, kernels):
            if kept is None or way is None:
                return None
            table.append((kept, *way, how.direction if isinstance(how, CrossingTime) else 0))
            levels.append(how.level if isinstance(how, CrossingTime) else 0.0)
    times = study.t_eval if study.sampled and study.t_eval is not None else np.zeros(0)
    rows = np.array(table, dtype=np.int64).reshape(-1, FIELDS)
    return Outputs(rows, study.widths[0], times, np.array(levels), tuple(kernels))


def _ways(system: System, reading: Reading, kernels: list[Kernel]) -> Iterator[Way | None]:
    """How native code reads each component of a quantity; None where it cannot. Adds new kernels to `kernels`."""
    name, made = reading.name, reading.observation
    if made is not None:
        kernel = system.passing_kernel(made.name, lambda: made.function)
        kernels.append(kernel)
        yield EXPRESSION, kernel.address, int(made.reads_rates), kernel.n_out, 0
    elif name in (*system.unknowns, *system.parameters):
        yield None
    elif name in system.coordinates:
        yield STATE, system.coordinates.index(name), 0, 0, 0
    elif name in system.speeds:
        yield STATE, system.nq + system.speeds.index(name), 0, 0, 0
    elif name in system.constraint_names:
        yield SOLVED, system.nu + 1 + system.constraint_names.index(name), 0, 0, 0
    elif reading.is_energy(system):
        yield ENERGY, 0, 0, 0, 0
    elif name in system.named_quantities:
        yield from _quantity(system, name)
    elif name == "t":
        yield TIME, 0, 0, 0, 0
    else:
        yield _rate(system, name)


def _quantity(system: System, name: str) -> Iterator[Way | None]:
    """The components of an output of the model, or of a quantity of a point, joint or force element."""
    quantity, component = system.named_quantities[name]
    if quantity.wrapped:  # whole turns are counted along the motion
        yield None
        return
    for k in range(quantity.size) if component is None else (component,):
        yield _of_kernel(system, quantity.group, quantity.start + k, int(quantity.reads_rates))


def _rate(system: System, name: str) -> Way | None:
    """A rate of a coordinate, a second one, or that of a speed."""
    base, order = name.rstrip("'"), len(name) - len(name.rstrip("'"))
    if base in system.coordinates and order == 1:
        first = system.count("position") + system.count("velocity")
        return _of_kernel(system, "speeds", first + system.coordinates.index(base), 0)
    if base in system.coordinates and order == 2:
        return _of_kernel(system, "second_rates", system.coordinates.index(base), 1)
    return (SOLVED, system.speeds.index(base), 0, 0, 0) if base in system.speeds and order == 1 else None


def _of_kernel(system: System, group: str, entry: int, solved: int) -> Way | None:
    """One value of a function of (x, u', la); None if it is long, as it is then not evaluated by machine code."""
    if system.functions[group].n_instructions() > PROMPT_FUNCTION:
        return None
    kernel = system.kernel(group)
    return QUANTITY, kernel.address, solved, kernel.n_out, entry

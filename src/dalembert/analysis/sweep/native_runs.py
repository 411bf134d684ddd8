"""Blocks of runs in one call of native code, for the studies that allow it: the same results, to the last bit.

Runs whose starts are known are marched, judged and read by `run.batch`, without Python in between. What it hands back,
such as a run that fails or meets a singular position, is made by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dalembert.analysis.sweep.reading import ENERGY as ENERGY_NAME
from dalembert.analysis.sweep.reading import Reading
from dalembert.analysis.sweep.reductions import Final, Maximum, Minimum
from dalembert.motion.certificate import Tolerances
from dalembert.motion.state import State
from dalembert.run.batch.bench import Bench, Bounds, Outputs
from dalembert.run.batch.readings import ENERGY, EXPRESSION, FINAL, MAXIMUM, MINIMUM, SAMPLE, SOLVED, STATE, TIME
from dalembert.run.drift.no_correction import NoCorrection
from dalembert.run.drift.projection import Projection
from dalembert.run.integrators.automatic import Automatic
from dalembert.run.integrators.explicit import Explicit, method_of
from dalembert.run.simulate import CONSISTENT

if TYPE_CHECKING:
    from dalembert.analysis.sweep.study import Study
    from dalembert.equations.system import System

_KEPT = {Final: FINAL, Maximum: MAXIMUM, Minimum: MINIMUM}
_TOLERATED = Tolerances()
BOUNDS = Bounds(
    position=_TOLERATED.position, velocity=_TOLERATED.velocity, acceleration=_TOLERATED.acceleration,
    solve=_TOLERATED.solve, energy=_TOLERATED.energy, consistent=CONSISTENT,
)  # fmt: skip


def outputs_of(study: Study) -> Outputs | None:
    """What native code keeps of each run of a study; None if its runs need more than native code does."""
    recipe, system = study.recipe, study.system
    if study.events or system.kinks or "tolerance" in study.kinds:
        return None
    if not isinstance(recipe.drift, Projection | NoCorrection):  # others look at the start of each run
        return None
    if not isinstance(recipe.integrator, Automatic | Explicit) or not method_of(recipe.integrator).adaptive:
        return None
    rows = [(_KEPT.get(type(how)), _read(system, reading)) for how, reading in study.reduced]
    rows += [(SAMPLE, _read(system, reading)) for reading in study.sampled]
    table = [(kept, *read) for kept, read in rows if kept is not None and read is not None]
    if len(table) < len(rows):
        return None
    times = study.t_eval if study.sampled else None
    return Outputs(np.array(table, dtype=np.int64), len(study.reduced), np.zeros(0) if times is None else times)


def _read(system: System, reading: Reading) -> tuple[int, int, int] | None:
    """How native code reads a quantity: the way, the entry or kernel, whether accelerations are needed; or None."""
    name, made = reading.name, reading.observation
    if made is not None:
        kernel = system.derived_kernel(made.name, lambda: made.function)
        return EXPRESSION, kernel.address, int(made.reads_rates)
    if name in system.coordinates:
        return STATE, system.coordinates.index(name), 0
    if name in system.speeds:
        return STATE, system.nq + system.speeds.index(name), 0
    if name in system.constraint_names and name not in system.unknowns:
        return SOLVED, system.nu + 1 + system.constraint_names.index(name), 0
    if name.endswith("'") and name[:-1] in system.speeds:
        return SOLVED, system.speeds.index(name[:-1]), 0
    if name == ENERGY_NAME and reading.is_energy(system):
        return ENERGY, 0, 0
    return (TIME, 0, 0) if name == "t" and name not in (*system.unknowns, *system.parameters) else None


def bench_for(study: Study, state: State) -> Bench | None:
    """A bench for the runs of a study, the static choices made at a state; None if there is none for all runs."""
    outputs = outputs_of(study)
    if outputs is None or not state.system.ideal:
        return None
    recipe, integrator, span = study.recipe, study.recipe.integrator, study.span
    for _ in range(2):  # the first engine may have to make the choice that the second recalls
        engine = recipe.engine(study.system, state.parameters)
        bench = Bench(engine, integrator, state.z, span, outputs, BOUNDS)  # type: ignore[arg-type]
        if bench.is_ready:
            return bench
    return None


def run_natively(study: Study, states: Sequence[State]) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Values (n, ...), samples (n, nt, m) and codes (n,) of the runs from these states; None if it takes Python."""
    bench = bench_for(study, states[0]) if states else None
    if bench is None:
        return None
    return bench.run(np.array([state.z for state in states]), np.array([state.parameters for state in states]))

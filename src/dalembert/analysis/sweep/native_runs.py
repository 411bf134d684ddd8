"""Blocks of runs in one call of native code, for the studies that allow it: the same results, to the last bit.

Runs whose starts are known are marched, judged and read by `run.batch`, without Python in between. What it hands back,
such as a run that fails or meets a singular position, is made by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dalembert.analysis.sweep.block_starts import find_block_starts
from dalembert.analysis.sweep.reading import ENERGY as ENERGY_NAME
from dalembert.analysis.sweep.reading import Reading
from dalembert.analysis.sweep.reductions import Final, Maximum, Minimum
from dalembert.analysis.sweep.study import OK, Record, Study
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


def bench_for(study: Study, outputs: Outputs, z: np.ndarray, parameters: np.ndarray) -> Bench | None:
    """A bench for the runs of a study, the static choices made at a start (q, u); None if there is none for all."""
    for _ in range(2):  # the first engine may have to make the choice that the second recalls
        engine = study.recipe.engine(study.system, parameters)
        bench = Bench(engine, study.recipe.integrator, z, study.span, outputs, BOUNDS)  # type: ignore[arg-type]
        if bench.is_ready:
            return bench
    return None


def run_natively(study: Study, rows: np.ndarray, look: Callable[[float], None]) -> dict[int, Record | State]:
    """The records of the runs with these values that native code makes, by number; of others a start, if it is known.

    `look` is called before each start that is found in Python, and may raise.
    """
    outputs = outputs_of(study)
    if outputs is None or not study.system.ideal:
        return {}
    starts, known = find_block_starts(study, rows), dict[int, Record | State]()
    for k in np.flatnonzero(starts.codes).tolist():
        look(0.0)
        known[k] = state = study.begin(rows[k])
        if isinstance(state, State) and study.knows(state):
            starts.z[k], starts.parameters[k], starts.codes[k] = state.z, state.parameters, 0
    ready = np.flatnonzero(starts.codes == 0)
    bench = bench_for(study, outputs, starts.z[ready[0]], starts.parameters[ready[0]]) if ready.size else None
    if bench is not None:
        values, samples, codes = bench.run(starts.z[ready], starts.parameters[ready])
        known |= {int(ready[j]): Record(values[j], samples[j], OK, "") for j in np.flatnonzero(codes == 0)}
    return known

"""Blocks of runs in one call of native code, for the studies that allow it: the same results, to the last bit.

Runs whose starts are known are marched, judged and read by `run.batch`, without Python in between. A run that is handed
back, because it fails or meets a singular position, is made by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dalembert.analysis.sweep.block_starts import find_block_starts
from dalembert.analysis.sweep.native_outputs import outputs_of
from dalembert.analysis.sweep.study import RunRecord, Study
from dalembert.errors import OptionError
from dalembert.motion.certificate import Tolerances
from dalembert.motion.inertia import are_undetermined
from dalembert.motion.state import State
from dalembert.run.batch.bench import Bench, Bounds, Outputs
from dalembert.run.integrators.explicit import method_of
from dalembert.run.integrators.options import check_span
from dalembert.run.recipe import Recipe
from dalembert.run.state_changes import REPAIRABLE

_TOLERATED = Tolerances()
BOUNDS = Bounds(
    position=_TOLERATED.position, velocity=_TOLERATED.velocity, acceleration=_TOLERATED.acceleration,
    solve=_TOLERATED.solve, energy=_TOLERATED.energy, consistent=REPAIRABLE,
)  # fmt: skip


def bench_for(study: Study, recipe: Recipe, outputs: Outputs, z: np.ndarray, parameters: np.ndarray) -> Bench | None:
    """A bench for runs of a study, the static choices made at a start (q, u); None if there is none for all."""
    for _ in range(2):  # the first engine may have to make the choice that the second recalls
        engine = recipe.engine(study.system, parameters)
        bench = Bench(engine, recipe.integrator, z, study.span, outputs, BOUNDS)  # type: ignore[arg-type]
        if bench.is_ready:
            return bench
    return None


def _recipe(study: Study, row: Sequence[float]) -> Recipe | None:
    """The recipe of the run with these values; None if its integrator refuses them."""
    try:
        recipe = study.method(row)
        method = method_of(recipe.integrator)  # type: ignore[arg-type]
        if not method.adaptive:
            check_span(method.name, method.first_step, study.span, method.max_steps)
    except OptionError:
        return None
    return recipe


class Made(NamedTuple):
    """Results of n runs in native code: values (n, ...), samples (n, nt, m), and which runs are `done` (n,).

    `begun` holds, by number, the initial states found for the other runs, or the record of a run that has none.
    """

    values: np.ndarray
    samples: np.ndarray
    done: np.ndarray
    begun: Mapping[int, RunRecord | State]


def run_natively(study: Study, rows: np.ndarray, look: Callable[[float], None]) -> Made:
    """The runs with these values that native code makes; NaN for the others.

    `look` is called before each start that is found in Python, and may raise.
    """
    n, (width, shape), begun = len(rows), study.widths, dict[int, RunRecord | State]()
    made = Made(np.full((n, width), np.nan), np.full((n, *shape), np.nan), np.zeros(n, dtype=bool), begun)
    outputs = outputs_of(study)
    if outputs is None or not study.system.ideal:
        return made
    starts = find_block_starts(study, rows)
    for k in np.flatnonzero(starts.codes).tolist():
        look(0.0)
        begun[k] = state = study.begin(rows[k])
        if isinstance(state, State) and study.knows(state):
            starts.z[k], starts.parameters[k], starts.codes[k] = state.z, state.parameters, 0
    q, u = np.split(starts.z, [study.system.nq], axis=1)
    lost = are_undetermined(study.system, study.span[0], q, u, starts.parameters)
    ready = np.flatnonzero((starts.codes == 0) & ~lost)
    for alike in _groups(study, rows, ready):
        first, recipe = alike[0], _recipe(study, rows[alike[0]].tolist())
        bench = recipe and bench_for(study, recipe, outputs, starts.z[first], starts.parameters[first])
        if not bench:
            continue
        values, samples, codes = bench.run(starts.z[alike], starts.parameters[alike])
        sure, kept = codes == 0, alike[codes == 0]
        made.values[kept], made.samples[kept], made.done[kept] = values[sure], samples[sure], True
    return made


def _groups(study: Study, rows: np.ndarray, ready: np.ndarray) -> list[np.ndarray]:
    """The runs `ready` (n,) by number, those with the same tolerances together."""
    columns = [k for k, kind in enumerate(study.kinds) if kind == "tolerance"]
    if not columns or not ready.size:
        return [ready] if ready.size else []
    _, which = np.unique(rows[ready][:, columns], axis=0, return_inverse=True)
    return [ready[which.ravel() == k] for k in range(int(which.max()) + 1)]

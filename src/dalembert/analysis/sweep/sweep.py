"""`sweep`: many runs of one system, as one labelled Dataset."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.analysis.sweep.blocks import RunBlock, chunk_of, run_block, spans_of
from dalembert.analysis.sweep.cost import measured_size
from dalembert.analysis.sweep.design import read_design
from dalembert.analysis.sweep.facts import facts_of
from dalembert.analysis.sweep.layout import Layout, lay_out
from dalembert.analysis.sweep.pool import cores, run_all, workers_of
from dalembert.analysis.sweep.request import read_study
from dalembert.analysis.sweep.store import create_store, find_store, run_into
from dalembert.analysis.sweep.study import Study
from dalembert.analysis.sweep.sweep_progress import SweepProgress
from dalembert.analysis.sweep.tables import import_xarray
from dalembert.errors import OptionError, PairingError, SimulationInterrupt

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import ArrayLike

    from dalembert.analysis.sweep.followed import Followed
    from dalembert.equations.system import System
    from dalembert.motion.state import State
    from dalembert.run.ingredients import Drift, Formulation
    from dalembert.run.integrators.integrator import Integrator

# Seconds that a block takes at most: in memory, in a store, in another process.
BLOCK_IN_MEMORY, BLOCK_IN_STORE, BLOCK_IN_PROCESS = 0.2, 0.5, 1.0
# Seconds below which a block is not cut, so that Python between blocks stays below a few per cent.
SHORTEST_BLOCK = 0.05
SHARES = 32  # blocks per thread, so that no thread waits long for the last one
MOST_CHUNKS = 10_000  # of a store


def sweep(
    system: System,
    values: Any,
    t_end: float | tuple[float, float],
    *,
    state: State | Followed | None = None,
    given: Mapping[Any, float] | None = None,
    guess: Any = None,
    parameters: Mapping[Any, float] | None = None,
    outputs: Sequence[Any],
    t_eval: ArrayLike | None = None,
    formulation: Formulation | None = None,
    drift: Drift | None = None,
    integrator: Integrator | None = None,
    events: Iterable[Any] = (),
    verify: bool = False,
    units: Mapping[str, str] | None = None,
    store: str | Path | None = None,
    executor: Any = None,
    threads: int | None = None,
) -> xr.Dataset:
    """Outputs of many runs as an `xarray.Dataset`, labelled by the varied values.

    `values` maps names to lists, each a dimension of a grid, or to ("dimension", list): names that share a dimension go
    together. A Dataset, a pandas frame or a sample (`latin_hypercube`, `monte_carlo`) does as well. Names are those of
    parameters, of what `System.initial` takes as given, or "rtol" and "atol". Each run starts from a consistent state
    of its own: `System.initial(given, guess=guess)` with its values, or the one nearest to `state`, or with
    `state=Followed(state)` the one on the same branch of the mechanism.

    `outputs` are names and expressions, sampled at `t_eval` (nt,) or, without it, at the end; and the reductions
    `Final`, `Maximum`, `Minimum`, `Mean`, `CrossingTime`, taken from every step. `ok` tells whether the certificate of
    the run is ok, `status` how it ended, `message` what is wrong. A failed run is NaN. The certificate is that of the
    run at `t_eval`, and at every step if there are reductions. Motions are those of `System.simulate`, bit for bit.
    With `verify=True` a second run of each, see `Motion.verify`, gives `estimated_error`: of the coordinate that is off
    most; where both runs differ altogether, the run is not ok.

    The runs are computed by `threads` threads, by default as many as there are cores, or by an `executor`: one of
    concurrent.futures, or a Dask client. With `store`, the path of a Zarr directory, they are written as they finish;
    the same call goes on where it was interrupted. `units` by name become attributes. Ctrl-C raises
    `SimulationInterrupt`, whose `.runs` are those done.
    """
    import_xarray()
    design = read_design(values)
    study = read_study(
        system, design.names, t_end, state=state, given=given, guess=guess, parameters=parameters, outputs=outputs,
        t_eval=t_eval, ingredients=(formulation, drift, integrator), events=events, verify=verify,
    )  # fmt: skip
    layout = lay_out(design, study, {str(key): str(unit) for key, unit in (units or {}).items()})
    if threads is not None and threads < 1:
        raise OptionError(f"threads={threads} must be at least 1")
    if store is None:
        return _run_in_memory(layout, executor, threads)
    return _run_in_store(layout, str(store), executor, threads)


def _run_in_memory(layout: Layout, executor: Any, threads: int | None) -> xr.Dataset:
    design, study, arrays = layout.design, layout.study, layout.empty()
    size = measured_size(study, design, BLOCK_IN_MEMORY if executor is None else BLOCK_IN_PROCESS)
    if executor is None:
        size = max(
            min(size, design.count // (SHARES * (threads or cores()))), int(size * SHORTEST_BLOCK / BLOCK_IN_MEMORY), 1
        )
    spans = list(spans_of(design.shape, chunk_of(design.shape, size)))

    def keep(block: RunBlock | None) -> int:
        if block is not None:
            layout.fill(arrays, block)
        return 0 if block is None else len(block.status)

    with _interruptible(layout, lambda: to_dataset(layout, arrays)):
        _run_spans(layout, executor, threads, spans, (run_block,), keep)
    return to_dataset(layout, arrays)


def _run_in_store(layout: Layout, path: str, executor: Any, threads: int | None) -> xr.Dataset:
    facts = facts_of(layout)
    store = find_store(path, layout, facts)
    if store is None:
        size = measured_size(layout.study, layout.design, BLOCK_IN_STORE if executor is None else BLOCK_IN_PROCESS)
        store = create_store(path, layout, facts, max(size, layout.design.count // MOST_CHUNKS))
    with _interruptible(layout, store.open):
        _run_spans(layout, executor, threads, list(store.missing()), (run_into, store), int)
    return store.open()


def _run_spans(
    layout: Layout,
    executor: Any,
    threads: int | None,
    spans: Sequence[tuple[int, int]],
    function: tuple[Any, ...],
    keep: Callable[[Any], int],
) -> None:
    """Run all spans by `function` on the workers, and pass each result to `keep`, which returns its number of runs."""
    design, study = layout.design, layout.study
    if executor is not None and study.events:
        _check_sendable(study)
    done = design.count - sum(b - a for a, b in spans)
    bar = SweepProgress(study.system.name, design.count, done)
    with workers_of(executor, threads) as (pool, ahead, stop), bar:
        last = () if stop is None else (stop,)
        tasks = ((*function, study, a, design.rows(a, b), *last) for a, b in spans)
        for result in run_all(pool, ahead, tasks):
            bar.advance(keep(result))


def _check_sendable(study: Study) -> None:
    """Raise unless the events of a study can go to another process."""
    try:
        pickle.dumps(study)
    except Exception as error:  # lambdas, deep expressions, objects of users: each raises its own kind
        raise PairingError(
            f"the events or the symbols of `{study.system.name}` cannot be sent to other processes ({error}); write "
            "then={symbol: expression}, or leave `executor` out"
        ) from error


@contextmanager
def _interruptible(layout: Layout, done: Callable[[], Any]) -> Iterator[None]:
    """Ctrl-C raises `SimulationInterrupt` with the runs that are done."""
    try:
        yield
    except KeyboardInterrupt as interruption:
        runs = done()
        count = int((runs["status"] != "").sum())
        raise SimulationInterrupt(
            f"`{layout.study.system.name}`: interrupted after {count} of {layout.design.count} runs; `.runs` has them",
            runs=runs,
        ) from interruption


def to_dataset(layout: Layout, arrays: Mapping[str, np.ndarray]) -> xr.Dataset:
    """Arrays by name as a Dataset, not copied: xarray would go through the texts of all runs in search of dates."""
    xr = import_xarray()
    data = {v.name: xr.Variable(layout.dims(v), arrays[v.name], dict(v.attrs), fastpath=True) for v in layout.variables}
    coords = {name: (dims, values, dict(attrs)) for name, (dims, values, attrs) in layout.coords.items()}
    return xr.Dataset(data, coords=coords, attrs=dict(layout.attrs))

"""`Bench`: the memory in which one thread makes run after run of a batch, and the call that does it."""

from __future__ import annotations

import ctypes
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dalembert.native.jit import address_of
from dalembert.native.types import Record
from dalembert.run.batch.fresh_march import Batch
from dalembert.run.batch.integrals import N_GAUSS
from dalembert.run.batch.readings import FIELDS, N_OUT
from dalembert.run.batch.runs import run_batch
from dalembert.run.batch.summits import FINE_NODES
from dalembert.run.integrators.automatic import EVALUATIONS_PER_STEP, WORTH, Automatic
from dalembert.run.integrators.explicit import Explicit, method_of
from dalembert.run.storage import MemoryTable
from dalembert.run.time_loop.march import March, set_out

if TYPE_CHECKING:
    from dalembert.native.kernel import Kernel
    from dalembert.run.engine import Engine

STEPS_PER_RUN, NUMBERS_PER_RUN = 65_536, 2**22  # of a run if every step is looked at; memory is taken when it is used
SURE = 0.999  # looks on the safe side


class Bounds(NamedTuple):
    """Largest allowed residuals of a run, and the largest constraint violation of its start, `consistent`."""

    position: float
    velocity: float
    acceleration: float
    solve: float
    energy: float
    consistent: float


class Outputs(NamedTuple):
    """Outputs recorded of each run: a `table` of integers (n, FIELDS), and the `times` (nt,) of samples, if any.

    The first `reduced` rows are reductions, the others are sampled. `levels` (n,) are the levels of crossings. The
    rows contain the addresses of `kernels`.
    """

    table: np.ndarray
    reduced: int
    times: np.ndarray
    levels: np.ndarray
    kernels: tuple[Kernel, ...]


class Bench:
    """The memory of one thread: an engine that recalled its choice, set out from a state, and copies of it."""

    def __init__(
        self,
        engine: Engine,
        integrator: Automatic | Explicit,
        z0: np.ndarray,
        span: tuple[float, float],
        outputs: Outputs,
        bounds: Bounds,
    ) -> None:
        method = method_of(integrator)
        self.is_ready = set_out(engine, method, z0, span)  # else there is no choice to start with
        self.engine, self.outputs = engine, outputs
        self.march = March(engine, method, z0, span, np.array([span[1]]), MemoryTable())  # its own samples are not used
        self.march.clock.recalled = 1
        if not method.absolute:  # each run measures sizes of its own
            engine.plan.units = address_of(engine.mem) + 8 * engine.plan.sizes
        reviewed = isinstance(integrator, Automatic) and engine.allows_implicit
        self.batch = Batch(
            **bounds._asdict(), t_start=span[0], t_end=span[1], max_step=method.max_step,
            ahead=SURE * WORTH / EVALUATIONS_PER_STEP if reviewed else math.inf,
            watches=int(method.max_steps is None and method.adaptive),
        )  # fmt: skip
        self._kept: list[np.ndarray] = []
        self._copy()
        self._allocate()

    def _copy(self) -> None:
        """Keep plan, mem, integers, clock and conditioning as they are before any run."""
        batch, work, march = self.batch, self.engine.work, self.march
        live = {"plan": work.plan, "clock": march.clock, "conditioning": march.conditioning}
        for name, record in live.items():
            setattr(batch, name, record.address)
        arrays = {name: _words(record) for name, record in live.items()} | {"mem": work.mem, "ints": work.ints}
        for name, array in arrays.items():
            setattr(batch, f"new_{name}", self._held(array.copy()))
            setattr(batch, f"n_{name}", array.size)
        batch.room = march.clock.z
        batch.n_room = (march.clock.stages - march.clock.z) // 8 + march.clock.n_stages

    def _allocate(self) -> None:
        """The arrays runs work in."""
        batch, system, nz, n = self.batch, self.engine.system, self.engine.nz, len(self.outputs.times)
        reads = 1 + 2 * (system.nq + system.nu) + len(system.parameters) + 1 + system.nc
        width = 2 * system.nu + 4 * (system.nc + system.count("position")) + 8
        steps, reads = (
            min(STEPS_PER_RUN, NUMBERS_PER_RUN // nz),
            reads + int(self.outputs.table[:, N_OUT].max(initial=0)),
        )
        batch.capacity, batch.n_times, batch.n_w, batch.n_row = steps, n, reads, width
        sizes = {
            "ts": steps, "zs": steps * nz, "at_ts": n + 1, "at_zs": (n + 1) * nz, "values": steps, "guesses": steps,
            "summits": steps, "fine_t": FINE_NODES, "fine_y": FINE_NODES, "fine_ts": FINE_NODES + 1,
            "fine_zs": (FINE_NODES + 1) * nz, "row": width, "w": reads, "gauss": N_GAUSS * steps,
        }  # fmt: skip
        for name, size in sizes.items():
            setattr(batch, name, self._held(np.empty(size)))
        batch.times = self._held(np.ascontiguousarray(self.outputs.times, dtype=float))
        batch.outputs = self._held(np.ascontiguousarray(self.outputs.table, dtype=np.int64))
        batch.levels = self._held(np.ascontiguousarray(self.outputs.levels, dtype=float))
        batch.n_reduced = self.outputs.reduced
        batch.n_sampled = self.outputs.table.size // FIELDS - self.outputs.reduced
        batch.n_parameters = len(system.parameters)

    def _held(self, array: np.ndarray) -> int:
        """The address of an array that lives as long as the bench."""
        self._kept.append(array)
        return address_of(array)

    def run(self, starts: np.ndarray, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Run from `starts` (n, nq + nu) with `parameters` (n, np). Returns the outputs of each run, and codes (n,).

        The outputs are values (n, reduced) and samples (n, nt, sampled). A run with a code other than 0 has to be made
        by itself.
        """
        n, batch = len(starts), self.batch
        values, samples = np.zeros((n, batch.n_reduced)), np.zeros((n, batch.n_times, batch.n_sampled))
        codes = np.zeros(n, dtype=np.int64)
        run_batch(
            self.engine.plan, self.engine.mem, self.march.clock, batch, starts.ravel(), parameters.ravel(),
            values.ravel(), samples.ravel(), codes,
        )  # fmt: skip
        self.engine.work.check_guards()
        return values, samples, codes


def _words(record: Record) -> np.ndarray:
    """A record as floats, its bits as they are."""
    return np.frombuffer(ctypes.string_at(record.address, ctypes.sizeof(record)), dtype=float)

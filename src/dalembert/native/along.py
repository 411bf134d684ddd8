"""One kernel at many points: a native loop, so that the rows of a long motion cost no Python each."""

from __future__ import annotations

import numpy as np

from dalembert.errors import ArrayError
from dalembert.native import engine_object  # noqa: F401 - brings the machine code of native functions
from dalembert.native.intrinsics import call_kernel
from dalembert.native.jit import address_of, jit
from dalembert.native.kernel import Kernel
from dalembert.native.types import Floats, i8

FEWEST_ROWS = 16  # rows below which the engine is not asked for


@jit(i8(i8, Floats, i8, i8, i8))
def map_rows(kernel, mem, n_in, n_out, rows):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """A kernel at the `rows` points in mem, (rows, n_in); values follow behind them, (rows, n_out), zeroed before."""
    first = rows * n_in
    for k in range(rows):
        call_kernel(kernel, mem, k * n_in, first + k * n_out)
    return 0


def along(kernel: Kernel, x: np.ndarray) -> np.ndarray:
    """The values of a kernel at x (nt, n_in) as a new array (nt, n_out): those of `kernel(row)` for each row."""
    rows = len(x)
    if x.shape != (rows, kernel.n_in):
        raise ArrayError(f"`x` has shape {x.shape}; this kernel takes rows of {kernel.n_in}")
    if rows < FEWEST_ROWS:
        return np.array([kernel(row) for row in x]).reshape(rows, kernel.n_out)
    both = np.zeros(rows * (kernel.n_in + kernel.n_out) + 1)
    both[: x.size] = x.ravel()
    map_rows.call(kernel.address, address_of(both), both.size, kernel.n_in, kernel.n_out, rows)
    return both[x.size : -1].reshape(rows, kernel.n_out)

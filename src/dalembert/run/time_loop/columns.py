"""The columns of `stages`, the array a method works in: their number, their contents, their padding.

Column 0 holds the rates at the start of the step, for every method; the time loop puts them there. Those of an
explicit Runge-Kutta method of s stages are

    0 ... s-1     rates of the stages
    s             rates at the new state, after the drift correction (the first stage of the next step)
    s+1 ...       rates of further stages that dense output evaluates
    then          workspace: of the error estimate during a step, of dense output after it, never of both at a time

Native sums work on LANES doubles at once. States and columns are therefore padded to whole vectors: a sum over one of
them reads and writes its padding, never its neighbour. The padding stays zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.native.intrinsics import LANES, Intrinsic


@dataclass(frozen=True)
class Columns:
    """Columns of `stages` for a method of `stages` stages, with `further` ones for dense output, and a `workspace`."""

    stages: int
    further: int = 0
    workspace: int = 0

    @property
    def end(self) -> int:
        """The column of the rates at the new state."""
        return self.stages

    @property
    def work(self) -> int:
        """The first column of the workspace."""
        return self.stages + 1 + self.further

    @property
    def count(self) -> int:
        """Columns in all."""
        return self.work + self.workspace


def padded(nz: int) -> int:
    """Floats that a column or a state of nz entries takes."""
    return -(-nz // LANES) * LANES


def allocate(nz: int, columns: int) -> np.ndarray:
    """Workspace of a march by a method with so many columns, zeroed; see `divided` for its parts."""
    return np.zeros((3 + columns) * padded(nz))


def divided(room: np.ndarray, nz: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """States z, znew and rates zdot (nz,) in a room, padded, and `stages`, flat: arrays on the same memory."""
    width = padded(nz)
    return room[:nz], room[width : width + nz], room[2 * width : 2 * width + nz], room[3 * width :]


def start_of(builder: Any, column: Any, n: Any) -> Any:
    """LLVM value of the place in `stages` where a column of n entries starts; `column` and `n` are LLVM integers."""
    width = builder.and_(builder.add(n, n.type(LANES - 1)), n.type(-LANES))
    return builder.mul(column, width)


def _define_column(c: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        whole, which, size = args
        data = context.make_array(c.Floats)(context, builder, whole).data
        start = builder.ptrtoint(builder.gep(data, [start_of(builder, which, size)]), size.type)
        return c.view(context, builder, signature.return_type, start, size)

    return c.Floats(c.Floats, c.i8, c.i8), generate


# `column(stages, index, n)`: the first n entries of a column, as an array on the same memory.
column = Intrinsic(_define_column, "column")

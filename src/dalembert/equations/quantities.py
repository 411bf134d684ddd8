"""`Quantity`: a name for values along a motion, and their place in a kernel's output."""

from __future__ import annotations

from math import prod

from dalembert.dataclass import dataclass

STATED = "outputs"  # the group of the outputs stated by `Model.output`


@dataclass(frozen=True)
class Quantity:
    """A name for entries of the column that the function `group` makes of (x, u', la), from `start` on.

    `shape` is () for one value, (3,) for a vector, (3, 3) for a matrix, row by row; `labels` follow the name in those
    of the components. `reads_rates` says whether it contains accelerations, multipliers or unknowns, `wrapped` that it
    is an angle known between -pi and pi only.
    """

    name: str
    group: str
    start: int
    shape: tuple[int, ...] = ()
    labels: tuple[str, ...] = ()
    reads_rates: bool = False
    wrapped: bool = False

    @property
    def size(self) -> int:
        """Number of entries."""
        return prod(self.shape)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the components, or the name itself if it is one value."""
        return tuple(f"{self.name}{label}" for label in self.labels) if self.shape else (self.name,)

"""`Verification`: what a second, independent run says about the error of a motion."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.dataclass import dataclass

ROUGH = 1e-3  # an error beyond this part of its size makes a coordinate wrong rather than inaccurate
SMALL = 1e-3  # sizes below this part of the largest coordinate do not make errors relatively large


class Deviation(NamedTuple):
    """The largest difference of one quantity between both runs, and when."""

    name: str
    error: float
    t: float

    def __str__(self) -> str:
        return f"`{self.name}` {self.error:.1e} at t = {self.t:.4g}"


@dataclass(frozen=True)
class Verification:
    """Estimated errors of coordinates, speeds and multipliers, in their units: the differences from a second run.

    `method` says what made that run, `samples` how many samples were compared, `until` the time up to which. `sizes`
    are the largest absolute values of the coordinates. `remarks` are other things that differ or were left out.
    """

    coordinates: tuple[Deviation, ...]
    speeds: tuple[Deviation, ...]
    multipliers: tuple[Deviation, ...]
    sizes: tuple[float, ...]
    method: str
    samples: int
    until: float
    remarks: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Deviation:
        found = {d.name: d for d in (*self.multipliers, *self.speeds, *self.coordinates)}
        return found[name]

    @property
    def worst(self) -> Deviation:
        """That of the coordinate with the largest error; NaN if nothing could be compared."""
        return _worst(self.coordinates) or Deviation("", np.nan, np.nan)

    @property
    def rough(self) -> tuple[Deviation, ...]:
        """The coordinates that both runs place differently altogether: beyond a thousandth of their size."""
        least = SMALL * max(self.sizes, default=0.0)
        return tuple(
            d for d, size in zip(self.coordinates, self.sizes, strict=True) if not d.error <= ROUGH * max(size, least)
        )

    @property
    def lines(self) -> tuple[str, ...]:
        """What the certificate says."""
        groups = (("coordinate", self.coordinates), ("speed", self.speeds), ("multiplier", self.multipliers))
        told = [f"{what} {worst}" for what, group in groups if (worst := _worst(group)) is not None]
        return (
            f"estimated error: {', '.join(told) or 'nothing could be compared'}",
            f"  from a second run at {self.samples:,} samples up to t = {self.until:.6g}: {self.method}",
            *(f"  {remark}" for remark in self.remarks),
        )

    def __str__(self) -> str:
        return "\n".join(self.lines)


def _worst(group: tuple[Deviation, ...]) -> Deviation | None:
    return max(group, key=lambda d: d.error if d.error == d.error else np.inf, default=None)

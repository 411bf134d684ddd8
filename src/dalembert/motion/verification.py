"""`Verification`: the error of a motion, estimated by a second, independent run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.errors import OptionError, UnknownNameError

ROUGH = 1e-3  # an error beyond this part of its size makes a coordinate wrong rather than inaccurate
SMALL_SIZE = 1e-3  # sizes below this part of the largest coordinate do not make errors relatively large


@dataclass(frozen=True)
class SecondRun:
    """Tolerance and steps of the second run of `verify`, which also uses another formulation and method.

    `rtol` is its tolerance where an explicit method can reach it; cells of functions are as fine as that. Its steps are
    at most the mean step of the first run divided by `finer`.
    """

    rtol: float = 1e-12
    finer: float = 2.0

    def __post_init__(self) -> None:
        if not (self.rtol > 0.0 and self.finer > 0.0):
            raise OptionError(f"SecondRun: rtol={self.rtol!r}, finer={self.finer!r}; both must be positive")


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
    are the largest absolute values of the coordinates. `remarks` are other things that differ or were left out;
    `differing` are the events that occurred another number of times. For a motion with `outputs=`, the recorded outputs
    take the place of coordinates.
    """

    coordinates: tuple[Deviation, ...]
    speeds: tuple[Deviation, ...]
    multipliers: tuple[Deviation, ...]
    sizes: tuple[float, ...]
    method: str
    samples: int
    until: float
    remarks: tuple[str, ...] = ()
    differing: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Deviation:
        found = {d.name: d for d in (*self.multipliers, *self.speeds, *self.coordinates)}
        if name not in found:
            raise UnknownNameError(name, found, "what both runs were compared by")
        return found[name]

    @property
    def worst(self) -> Deviation:
        """Deviation of the coordinate with the largest error; NaN if nothing could be compared."""
        return _worst(self.coordinates) or Deviation("", np.nan, np.nan)

    @property
    def rough(self) -> tuple[Deviation, ...]:
        """The coordinates that both runs place differently altogether: beyond a thousandth of their size."""
        least = SMALL_SIZE * max(self.sizes, default=0.0)
        return tuple(
            d for d, size in zip(self.coordinates, self.sizes, strict=True) if not d.error <= ROUGH * max(size, least)
        )

    @property
    def lines(self) -> tuple[str, ...]:
        """Lines of the certificate: the estimated errors, the second run, and remarks."""
        groups = (("coordinate", self.coordinates), ("speed", self.speeds), ("multiplier", self.multipliers))
        told = [f"{what} {worst}" for what, group in groups if (worst := _worst(group)) is not None]
        return (
            f"estimated error: {', '.join(told) or 'nothing could be compared'}",
            f"  from a second run at {self.samples:,} samples up to t = {self.until:.6g}: {self.method}",
            *(f"  {remark}" for remark in (*self.differing, *self.remarks)),
        )

    def __str__(self) -> str:
        return "\n".join(self.lines)


def joined(parts: Sequence[Verification], remarks: Sequence[str] = ()) -> Verification:
    """One verification of several parts of a motion: the worst of each name."""

    def worst(groups: Iterable[tuple[Deviation, ...]]) -> tuple[Deviation, ...]:
        found: dict[str, Deviation] = {}
        for deviation in (one for group in groups for one in group):
            found[deviation.name] = _worst((found.get(deviation.name, deviation), deviation)) or deviation
        return tuple(found.values())

    told = [part for part in parts if part.samples]
    sizes = [max(column) for column in zip(*(part.sizes for part in told), strict=True)]
    return Verification(
        coordinates=worst(part.coordinates for part in told),
        speeds=worst(part.speeds for part in told),
        multipliers=worst(part.multipliers for part in told),
        sizes=tuple(sizes),
        method="; then ".join(dict.fromkeys(part.method for part in told)) or "none",
        samples=sum(part.samples for part in told),
        until=max((part.until for part in parts), default=np.nan),
        remarks=tuple(dict.fromkeys([*remarks, *(remark for part in parts for remark in part.remarks)])),
    )


def _worst(group: tuple[Deviation, ...]) -> Deviation | None:
    return max(group, key=lambda d: d.error if d.error == d.error else np.inf, default=None)

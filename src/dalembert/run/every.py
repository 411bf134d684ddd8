"""`Every`: a clock whose ticks change a motion, for sampled controllers; `Schedule`: when the clocks of a run tick."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY

from dalembert.dataclass import dataclass
from dalembert.errors import OptionError
from dalembert.native.precision import RESOLVED
from dalembert.run.events import Change, read_change

MOST_TICKS = 1_000_000  # ticks of one clock: about 10 minutes and 6 GB


@dataclass(frozen=True, eq=False)
class Every:
    """A clock that ticks at start, start + dt, start + 2 dt, ...: at the start of the run too, not at its end.

    `then` says what a tick changes, as for `Event`: a mapping {symbol: expression}, a System, or a function of the
    State just before that returns the State after or a mapping {name: number} of new values. The force of a sampled
    controller is a parameter of the model: `Every(0.01, then={F: -kp * x - kd * v})`, or
    `Every(0.01, then=lambda state: {"F": controller(state)})`.

    `start` is that of the run if it is left out; ticks before the run do not happen. Steps end exactly on ticks, and
    ticks are counted from `start`, so that none is missed and they do not drift. To take samples at fixed times
    without a change, use `t_eval`.
    """

    dt: float
    _: KW_ONLY
    then: Change
    start: float | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if not (_is_finite(self.dt) and self.dt > 0.0):
            raise OptionError(
                f"Every: dt is {self.dt!r}; it must be positive and finite, such as Every(0.01, then=...)"
            )
        name = self.name or f"every {self.dt:g}"
        if not isinstance(name, str):
            raise OptionError(f"the name of a clock must be a string, got {name!r}")
        if self.start is not None and not _is_finite(self.start):
            raise OptionError(f"clock `{name}`: start is {self.start!r}; it must be a finite time, or left out")
        if self.then is None:
            raise OptionError(f"clock `{name}`: `then` must say what a tick changes; to take samples, use t_eval")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "then", read_change(self.then, f"clock `{name}`"))


def _is_finite(value: object) -> bool:
    try:
        return not isinstance(value, bool | str) and math.isfinite(value)  # type: ignore[arg-type]
    except TypeError:
        return False


class Schedule:
    """Next ticks of the clocks of a run; each clock keeps the number of its next tick."""

    def __init__(self, clocks: Sequence[Every], span: tuple[float, float]) -> None:
        least = RESOLVED * max(abs(span[0]), abs(span[1]))
        self.clocks, self.starts, self.numbers = tuple(clocks), [], []
        for clock in self.clocks:
            if clock.dt < least:
                raise OptionError(
                    f"clock `{clock.name}`: dt is {clock.dt:g}, which t = {span[0]:g} .. {span[1]:g} cannot resolve "
                    f"in double precision; use at least {least:.2g}"
                )
            if (ticks := (span[1] - span[0]) / clock.dt) > MOST_TICKS:
                raise OptionError(
                    f"clock `{clock.name}`: dt is {clock.dt:g}, which makes {ticks:.2g} ticks from t = {span[0]:g} to "
                    f"{span[1]:g}; use at least {(span[1] - span[0]) / MOST_TICKS:.2g}, or state what it does as part "
                    "of the equations"
                )
            start = span[0] if clock.start is None else float(clock.start)
            number = max(math.ceil((span[0] - start) / clock.dt), 0)
            if number and start + (number - 1) * clock.dt >= span[0] - least:  # the division may have rounded
                number -= 1
            self.starts.append(start)
            self.numbers.append(number)

    def _tick(self, k: int) -> float:
        """Time of the next tick of clock k."""
        return self.starts[k] + self.numbers[k] * self.clocks[k].dt

    @property
    def next(self) -> float:
        """Time of the next tick of any clock; infinity if there are no clocks."""
        return min((self._tick(k) for k in range(len(self.clocks))), default=math.inf)

    def due(self, t: float) -> list[Every]:
        """The clocks that tick at time t, in their order; their next ticks are later."""
        ticking = [k for k in range(len(self.clocks)) if _is_by(t, self._tick(k))]
        for k in ticking:
            self.numbers[k] += 1
        return [self.clocks[k] for k in ticking]


def _is_by(t: float, tick: float) -> bool:
    """Whether a tick is not later than t, up to round-off."""
    return tick <= t + RESOLVED * max(abs(t), abs(tick))

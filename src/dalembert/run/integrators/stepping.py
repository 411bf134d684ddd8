"""`Stepping`: the options of methods that make steps of one length, or of lengths adapted to the error."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

from dalembert.dataclass import dataclass
from dalembert.run.integrators.options import (
    SMALLEST_RTOL,
    check_fixed,
    check_length,
    check_limits,
    check_tolerances,
)
from dalembert.run.time_loop.method import Method


@dataclass(frozen=True, kw_only=True)
class Stepping(ABC):
    """Steps of length `step`; or, without it, of a length that keeps the error per step below atol + rtol |z|.

    An `atol` that is given is one number for all of z, in its units. Without it, atol is relative to the size of each
    coordinate and speed (see `run.scales`), so that units do not matter.
    """

    step: float | None = None
    rtol: float | None = None
    atol: float | None = None
    first_step: float | None = None
    max_step: float | None = None
    max_steps: int | None = None

    @abstractmethod
    def method(self) -> Method:
        """The native functions and the settings of the time loop."""

    def settle(self, rtol: float, atol: float, least: float = SMALLEST_RTOL) -> None:
        """Check all options; where steps are adapted, fill in the tolerances that were not given."""
        self.check_lengths(rtol=self.rtol, atol=self.atol)
        if self.step is not None:
            return
        if self.rtol is None:
            object.__setattr__(self, "rtol", rtol)
        check_tolerances(type(self).__name__, self.rtol or 0.0, atol if self.atol is None else self.atol, least)

    def check_lengths(self, **adapting: float | None) -> None:
        """Raise OptionError for lengths that cannot be, and for options of adapted steps where they are fixed.

        `adapting` are such options beside the first and the longest step.
        """
        name = type(self).__name__
        if self.step is not None:
            check_fixed(name, **adapting, first_step=self.first_step, max_step=self.max_step)
            check_length(name, "step", self.step)
        check_limits(name, self.first_step, self.max_step, self.max_steps)

    def settings(self, rtol: float | None, atol: float | None, *, absolute: bool = False) -> dict[str, Any]:
        """The settings of `Method` that follow from the options, with the tolerances that its functions are given."""
        return {
            "adaptive": self.step is None,
            "first_step": self.step or self.first_step or 0.0,
            "rtol": rtol,
            "atol": atol,
            "absolute": absolute,
            "max_step": math.inf if self.max_step is None else self.max_step,
            "max_steps": self.max_steps,
            "name": type(self).__name__,
        }

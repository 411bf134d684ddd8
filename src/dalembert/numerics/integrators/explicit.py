"""What explicit Runge-Kutta methods share: the run through time, fixed or adapted steps, and their options."""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.numerics.integrators.march import Samples, march
from dalembert.numerics.integrators.method import Method
from dalembert.numerics.integrators.options import check_span
from dalembert.numerics.integrators.stepping import Stepping

if TYPE_CHECKING:
    from dalembert.numerics.engine import Engine, OneStep

RTOL, ATOL = 1e-10, 1e-12  # where nothing is said


class Explicit(ABC):
    """A method that integrates u' as any formulation gives it, with any drift control."""

    @property
    def explicit(self) -> bool:
        """Always."""
        return True

    @abstractmethod
    def method(self) -> Method:
        """The native functions and the settings of the time loop."""

    def run(
        self,
        engine: Engine,
        z0: np.ndarray,
        span: tuple[float, float],
        t_eval: np.ndarray | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Samples:
        """Samples of the motion from z0 over `span`."""
        method = method_of(self)
        if not method.adaptive:
            check_span(method.name, method.first_step, span, method.max_steps)
        return march(engine, method, z0, span, t_eval, progress)


@functools.lru_cache(maxsize=64)
def method_of(integrator: OneStep) -> Method:
    """The method of an integrator, put together once."""
    return integrator.method()


@dataclass(frozen=True, kw_only=True)
class Adaptive(Explicit, Stepping):
    """Steps of length `step`; or, without it, of a length that keeps the error per step below atol + rtol |z|.

    The error is a root mean square over coordinates and speeds. rtol is 1e-10 and atol 1e-12 where neither is given.
    """

    def __post_init__(self) -> None:
        self.settle(RTOL, ATOL)

    def stepping(self) -> dict[str, Any]:
        """The settings of `Method` that follow from the options."""
        if self.step is not None:  # with an endless tolerance every estimate is zero
            return self.settings(rtol=0.0, atol=math.inf)
        return self.settings(self.rtol, self.atol)

"""Base classes of explicit Runge-Kutta methods: the run through time, fixed or adaptive steps, and their options."""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.errors import OptionError
from dalembert.run.integrators.options import check_length, check_limits, check_span, settle_atol
from dalembert.run.integrators.runge_kutta import RungeKutta
from dalembert.run.integrators.stepping import Stepping
from dalembert.run.time_loop.march import Samples, march
from dalembert.run.time_loop.method import Method

if TYPE_CHECKING:
    from dalembert.run.engine import Engine
    from dalembert.run.integrators.integrator import Marching
    from dalembert.run.storage import SampleTable

DEFAULT_RTOL, DEFAULT_ATOL = 1e-10, 1e-12  # where nothing is said


class Explicit(ABC):
    """A method that integrates u' as any formulation gives it, with any drift control: options, and a `scheme`."""

    scheme: ClassVar[RungeKutta]

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
        table: SampleTable | None = None,
    ) -> Samples:
        """Samples of the motion from z0 over `span`."""
        method = method_of(self)
        if not method.adaptive:
            check_span(method.name, method.first_step, span, method.max_steps)
        return march(engine, method, z0, span, t_eval, progress, table=table)


@functools.lru_cache(maxsize=64)
def method_of(integrator: Marching) -> Method:
    """The method of an integrator, put together once."""
    return integrator.method()


@dataclass(frozen=True)
class FixedStep(Explicit):
    """Steps of length `step`, at most `max_steps` of them."""

    step: float
    max_steps: int | None = None

    def __post_init__(self) -> None:
        name = type(self).__name__
        check_length(name, "step", self.step)
        check_limits(name, None, None, self.max_steps)

    def method(self) -> Method:
        """The native functions and the settings of the time loop."""
        return self.scheme.method(
            adaptive=False, first_step=self.step, max_steps=self.max_steps, name=type(self).__name__
        )


@dataclass(frozen=True, kw_only=True)
class Adaptive(Explicit, Stepping):
    """Steps of length `step`; or, without it, of a length that keeps the error per step below atol + rtol |z|.

    The error is a root mean square over coordinates and speeds. rtol is 1e-10 where it is not given, atol 1e-12 of the
    size of each coordinate and speed.
    """

    def __post_init__(self) -> None:
        if self.step is None and self.scheme.tableau.error is None:
            raise OptionError(f"{type(self).__name__} has no error estimate to adapt steps to; give step=")
        self.settle(DEFAULT_RTOL, DEFAULT_ATOL)

    def method(self) -> Method:
        """The native functions and the settings of the time loop."""
        if self.step is not None:  # with an endless tolerance every estimate is zero
            return self.scheme.method(**self.settings(rtol=0.0, atol=math.inf))
        atol, absolute = settle_atol(self.rtol or DEFAULT_RTOL, self.atol, (DEFAULT_RTOL, DEFAULT_ATOL))
        return self.scheme.method(**self.settings(self.rtol, atol, absolute=absolute))

"""`Integrator`: the interface of integrators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np

from dalembert.run.engine import Engine
from dalembert.run.storage import SampleTable
from dalembert.run.time_loop.march import Samples
from dalembert.run.time_loop.method import Method


class Integrator(Protocol):
    """A way through time. `explicit`: it integrates u' as any formulation gives it, with any drift control.

    Others solve the equations with their constraints by themselves and keep them; see `simulate.pair`. `run` puts its
    samples into a `table` if one is given, and returns those that are there in the end.
    """

    @property
    def explicit(self) -> bool: ...

    def run(
        self,
        engine: Engine,
        z0: np.ndarray,
        span: tuple[float, float],
        t_eval: np.ndarray | None = None,
        progress: Callable[[float], None] | None = None,
        table: SampleTable | None = None,
    ) -> Samples: ...


@runtime_checkable
class Marching(Integrator, Protocol):
    """An integrator whose `run` is `march` with its `method`; only these look out for events and store samples."""

    def method(self) -> Method: ...

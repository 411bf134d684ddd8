"""`Underway`: the interface of a march to code that examines the step at hand."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from dalembert.run.engine import Engine
from dalembert.run.time_loop.method import Method


class Underway(Protocol):
    """View of a march for code that examines its steps: engine, method, step at hand and start; see `march.March`."""

    engine: Engine
    method: Method
    clock: Any
    conditioning: Any
    begin: float
    first: np.ndarray
    z: np.ndarray

    @property
    def znew(self) -> np.ndarray: ...

    @property
    def zdot(self) -> np.ndarray: ...

    @property
    def stages(self) -> np.ndarray: ...

    @property
    def t(self) -> float: ...

    @property
    def t_end(self) -> float: ...

    @property
    def limit(self) -> float: ...

    def collect(self) -> None: ...

    def regauge(self) -> None: ...

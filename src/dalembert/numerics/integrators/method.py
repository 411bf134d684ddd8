"""What the time loop needs to know about a one-step method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dalembert.equations.native import Kernel
from dalembert.equations.system import System


def nothing(_system: System) -> Sequence[Kernel]:
    """The kernels of an explicit method: none of its own."""
    return ()


def no_room(_system: System) -> tuple[int, int]:
    """The workspace of an explicit method: none."""
    return 0, 0


@dataclass(frozen=True)
class Method:
    """Native functions and settings.

    An explicit Runge-Kutta method is a `Tableau`, from which `RungeKutta` makes all of this. Others: write `step`,
    `prepare` and `interpolate` with the signatures of `layout.py`; return them from the `method` of a frozen dataclass
    that holds the options. `columns` counts the state-sized columns of `stages` they work in (`columns.py`); the error
    of a step as estimated is O(h^order). A method whose estimate needs the rates at the new state, which are
    evaluated anyway, returns 0 from `step` and brings `estimate`, called after the drift correction with the rates
    there. `stability` are the coefficients of the stability polynomial, lowest first (none: it is not a polynomial). A
    method that solves equations of its own brings `kernels` (at most four, found at plan[STEP_KERNELS + k]) and
    `workspace` (numbers of floats and ints, found at mem[plan[STEP_FLOATS]] and plan[plan[STEP_INTS]]).
    """

    step: Any
    prepare: Any
    interpolate: Any
    columns: int
    order: int
    adaptive: bool
    first_step: float = 0.0  # zero: chosen by the loop
    rtol: float = 0.0
    atol: float = 0.0
    max_step: float = float("inf")
    max_steps: int = 1_000_000_000
    estimate: Any = None
    stability: Sequence[float] = ()
    name: str = "the integrator"
    kernels: Callable[[System], Sequence[Kernel]] = nothing
    workspace: Callable[[System], tuple[int, int]] = no_room

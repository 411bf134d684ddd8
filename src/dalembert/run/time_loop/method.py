"""`Method`: the interface of an integration method to the time loop."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from dalembert.dataclass import dataclass


@dataclass(frozen=True, eq=False)
class Method:
    """Native functions and settings.

    An explicit Runge-Kutta method is a `Tableau`, from which `RungeKutta` makes all of this. Others: write `step`,
    `prepare` and `interpolate` with the signatures of `native/plan.py`; return them from the `method` of a frozen
    dataclass that holds the options. `columns` counts the state-sized columns of `stages` they work in (`columns.py`);
    the error of a step as estimated is O(h^order). A method whose estimate needs the rates at the new state, which are
    evaluated anyway, returns 0 from `step` and brings `estimate`, called after the drift correction with the rates
    there. A method that goes on from a past of its own, with steps whose lengths it chooses, has `stride` instead of
    `step`, and begins anew where the time of the run is not that at which it stands. `stability` are the coefficients
    of the stability polynomial, lowest first (none: it is not a polynomial). A method that solves equations of its own
    lays out a record at plan.step_work before it marches.
    """

    prepare: Any
    interpolate: Any
    columns: int
    order: int
    adaptive: bool
    step: Any = None
    stride: Any = None
    first_step: float = 0.0  # zero: chosen by the loop
    rtol: float = 0.0
    atol: float = 0.0
    explicit: bool = False  # errors count beside how far each quantity has come, see `run.reached`
    absolute: bool = False  # atol is taken as it is, not relative to the sizes of coordinates and speeds
    max_step: float = float("inf")
    max_steps: int | None = None  # None: as long as the run gets on, see `step_budget`
    estimate: Any = None
    stability: Sequence[float] = ()
    name: str = "the integrator"
    restarts: bool = False  # whether the state may be replaced between two steps
    inside: bool = True  # whether it looks at the equations inside of a step, not at its ends alone

    @cached_property
    def addresses(self) -> tuple[int, ...]:
        """Addresses of `step`, `stride`, `prepare`, `interpolate`, `estimate` for native code; 0 if there is none."""
        estimate = self.estimate if self.adaptive else None
        parts = (self.step, self.stride, self.prepare, self.interpolate, estimate)
        return tuple(part.address if part else 0 for part in parts)

    @property
    def follows(self) -> bool:
        """True if errors of its steps are relative to the distance that each quantity has covered."""
        return self.explicit and self.adaptive and not self.absolute

    @cached_property
    def stepping(self) -> tuple[str, int, float | None, float, Sequence[float]]:
        """Fields of `run.drift.start.Start` on the stepping, from the name of the integrator on."""
        step = None if self.adaptive else self.first_step
        return self.name, self.order, step, max(self.rtol, self.atol), self.stability

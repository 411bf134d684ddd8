"""What the time loop needs to know about an explicit one-step method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Method:
    """Native functions and settings.

    To add a method: write `step`, `prepare` and `interpolate` with the signatures of `advance.py`; return them from the
    `method` of a frozen dataclass that holds the options. `stages` counts the state-sized columns they work in.
    """

    step: Any
    prepare: Any
    interpolate: Any
    stages: int
    order: int
    adaptive: bool
    first_step: float = 0.0  # zero: chosen by the loop
    rtol: float = 0.0
    atol: float = 0.0
    max_step: float = float("inf")
    max_steps: int = 1_000_000_000

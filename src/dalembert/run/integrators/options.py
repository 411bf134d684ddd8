"""Checks of the options of integrators, all in one place. Their messages give the numbers and the remedy."""

from __future__ import annotations

import math
from numbers import Integral

from dalembert.errors import OptionError
from dalembert.native.precision import RESOLVED

SMALLEST_RTOL = 5e-16
MOST_FIXED = 1_000_000_000  # steps of fixed length where `max_steps` is not given


def check_tolerances(name: str, rtol: float, atol: float, least: float = SMALLEST_RTOL) -> None:
    """Raise OptionError unless `least` <= rtol < 1, so that it can be met in double precision, and atol > 0."""
    if not (0.0 <= rtol < 1.0 and atol > 0.0 and math.isfinite(atol)):
        raise OptionError(f"{name}: rtol={rtol}, atol={atol}; need 0 <= rtol < 1 and atol > 0")
    if rtol < least:
        raise OptionError(f"{name}: rtol={rtol} is below round-off for this method; use at least {least:g}")


def settle_atol(rtol: float, atol: float | None, usual: tuple[float, float]) -> tuple[float, bool]:
    """atol, and whether it is absolute, as given; else that of the `usual` (rtol, atol), less if rtol is tighter."""
    return (usual[1] * min(1.0, rtol / usual[0]), False) if atol is None else (atol, True)


def check_length(name: str, option: str, value: float, *, endless: bool = False) -> None:
    """Raise OptionError unless a step length is positive and, if not `endless`, finite."""
    if not (value > 0.0 and (endless or math.isfinite(value))):
        raise OptionError(f"{name}: {option} is {value}; it must be positive{'' if endless else ' and finite'}")


def check_count(name: str, value: int) -> None:
    """Raise OptionError unless the number of allowed steps is a positive integer."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise OptionError(f"{name}: max_steps is {value!r}; it must be a positive integer")


def check_limits(name: str, first_step: float | None, max_step: float | None, max_steps: int | None) -> None:
    """Raise OptionError unless the first step, the longest one and the number of steps are positive, where given."""
    if first_step is not None:
        check_length(name, "first_step", first_step)
    if max_step is not None:
        check_length(name, "max_step", max_step, endless=True)
    if max_steps is not None:
        check_count(name, max_steps)


def check_fixed(name: str, **others: object) -> None:
    """Raise OptionError if options of adaptive steps are given together with a fixed step."""
    given = [f"{option}={value!r}" for option, value in others.items() if value is not None]
    if given:
        raise OptionError(
            f"{name}: step= makes steps of fixed length, {', '.join(given)} adapts them; give one of them"
        )


def check_span(name: str, step: float, span: tuple[float, float], most: int | None) -> None:
    """Raise OptionError if fixed steps cannot cross the interval: lost in round-off, or too many of them."""
    t0, t1 = span
    least = RESOLVED * max(abs(t0), abs(t1))
    if step < least:
        raise OptionError(
            f"{name}: step is {step:g}, which t = {t0:g} .. {t1:g} cannot resolve in double precision; "
            f"use at least {least:.2g}"
        )
    steps, max_steps = (t1 - t0) / step, MOST_FIXED if most is None else most
    if steps > max_steps * (1.0 + 1e-9):
        raise OptionError(
            f"{name}: {steps:.4g} steps of {step:g} from t = {t0:g} to {t1:g} are more than max_steps = {max_steps:,}; "
            f"use a step of at least {(t1 - t0) / max_steps:.4g}, or raise max_steps"
        )

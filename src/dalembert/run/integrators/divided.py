"""Fixed steps of implicit methods: a step that cannot be solved as a whole is taken in parts.

Newton's iteration converges for steps that are short compared with how fast the equations change; when a mechanism
whips through a narrow passage, a fixed step may be too long for it once in ten thousand times. Giving up there would
lose the whole run, and the parts are more accurate than the step they stand for.
"""

from __future__ import annotations

import math
from typing import Any

from dalembert.native.intrinsics import record_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_step, f8, i8, move
from dalembert.native.types import Record, ints
from dalembert.run.evaluate import is_finite, rates
from dalembert.run.integrators.dense_output import CubicHermite
from dalembert.run.integrators.options import settle_atol
from dalembert.run.integrators.stepping import Stepping
from dalembert.run.time_loop.columns import Columns
from dalembert.run.time_loop.method import Method

MOST_PARTS = 256
# The rates at the end take the fifth column: all of these methods have as many, and are done with it after a step.
keep_end_rates, hermite = CubicHermite().functions(Columns(stages=4))


class Divided(Record):
    """The step that is made in parts, its number of columns of `stages`, and whether steps are fixed.

    Records of methods whose fixed steps can be divided begin with these fields.
    """

    _fields_ = ints("inner width fixed")


divided = record_at(Divided)


@jit(i8(Plan, Floats, f8, f8, Floats, Floats, Floats, f8, f8, i8))
def _in_parts(plan, mem, t, h, z, stages, znew, rtol, atol, parts):
    """The step in equal parts; returns whether all of them succeeded."""
    I, n = divided(plan.step_work), z.size
    width = I.width
    own, state = stages[width * n : 2 * width * n], stages[2 * width * n : (2 * width + 1) * n]
    zdot = own[:n]
    move(state, 0, z, 0, n)
    for k in range(parts):
        start = t + k * h / parts
        rates(plan, mem, start, state, zdot)
        error = call_step(I.inner, (plan, mem, start, h / parts, state, own, znew, rtol, atol))
        if not (math.isfinite(error) and is_finite(zdot)):
            return 0
        move(state, 0, znew, 0, n)
    return 1


@jit(f8(Plan, Floats, f8, f8, Floats, Floats, Floats, f8, f8))
def divided_step(plan, mem, t, h, z, stages, znew, rtol, atol):
    """Take one step, regardless of its error. Returns 0, or NaN if it failed even in parts."""
    error = call_step(divided(plan.step_work).inner, (plan, mem, t, h, z, stages, znew, rtol, atol))
    parts = 1
    while not math.isfinite(error) and parts < MOST_PARTS:
        parts *= 4
        if _in_parts(plan, mem, t, h, z, stages, znew, rtol, atol, parts):
            error = 0.0
    return 0.0 * error


def divided_method(
    options: Stepping, step: Any, width: int, *, tolerance: float, usual: tuple[float, float], **more: Any
) -> Method:
    """The method of an implicit `step` that needs `width` columns of `stages`, with cubic Hermite interpolation.

    `tolerance` takes the place of rtol and atol in Newton's iteration if the steps are fixed; `usual` are those two
    where nothing is said.
    """
    adaptive = options.step is None
    return Method(
        step=step if adaptive else divided_step,
        prepare=keep_end_rates,
        interpolate=hermite,
        columns=width if adaptive else 2 * width + 1,
        **(_settings(options, usual) if adaptive else options.settings(tolerance, tolerance)),
        **more,
    )


def _settings(options: Stepping, usual: tuple[float, float]) -> dict[str, Any]:
    atol, absolute = settle_atol(options.rtol or usual[0], options.atol, usual)
    return options.settings(options.rtol, atol, absolute=absolute)

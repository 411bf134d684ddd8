"""A step of SUNDIALS IDA in native code: equations called back by address, the step, its end, its dense output.

IDA chooses the lengths of its steps. It goes on from where it is, with the past of its own; where the state of the run
is another one - at the start, beyond an instant, after a step that was made again - it begins anew, which Python does
(`IdaWork.attend`).
"""

from __future__ import annotations

import math

import numpy as np

from dalembert.native.intrinsics import c_caller, floats_at, record_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, f8, i8, interpolate_type, move, prepare_type, stride_type
from dalembert.native.precision import RESOLVED
from dalembert.native.types import Record, floats, ints
from dalembert.run.evaluate import is_finite
from dalembert.run.integrators.sundials import ERROR_TEST_FAILED, ONE_STEP
from dalembert.run.residuals.form import POOR
from dalembert.run.status import NOT_FINITE, OK
from dalembert.run.time_loop.columns import column

# Steps before static choices are questioned again: the order has then recovered from a new beginning.
STATIC_CHOICE_STEPS = 50
CRAWL = 10  # steps of round-off size in a row after which the run has come to its end
BEGIN, REVIEW, FAILED = 0, 1, 2  # requests to Python

# IDA's interpolant is a polynomial in its variables, of degree 5 at the most; the state is sampled at as many places of
# a step as determine one, Chebyshev's.
NODES = 6
COLUMNS = 1 + NODES
_PLACES = np.array([0.5 - 0.5 * math.cos(math.pi * k / (NODES - 1)) for k in range(NODES)])
_WEIGHTS = np.array([(0.5 if k in (0, NODES - 1) else 1.0) * (-1.0) ** k for k in range(NODES)])


class ResidualKernels(Record):
    """F(t, y, y') = 0 as SUNDIALS calls it."""

    _fields_ = (
        # Equations; length of the kernels' input x = (t, y, y', p, cj), and where it lies; kernels of F, of its
        # Jacobian, of the state with the quality of static choices.
        *ints("n n_inputs inputs residual jacobian output"),
        # Functions that tell where the entries of SUNDIALS' vectors and of its matrix lie.
        *ints("entries_of matrix_entries_of"),
        # When it began: SUNDIALS counts from there, as late clocks are coarse and the lengths of steps add up.
        *floats("origin"),
    )


class IdaWork(Record):
    """Workspace of a run of IDA: the workspace of its present equations, and its position in time."""

    _fields_ = (
        # The record of the equations; IDA's memory, its vectors y, y' and one for interpolated values, where the
        # entries of y and of the last lie, where it writes the time it has reached.
        *ints("kernels memory y ydot interpolated y_entries interpolated_entries reached"),
        # The state and the quality, as the kernel writes them, and their number; where z is left for Python (in mem).
        *ints("output n_output state"),
        # Functions: IDA's step, its stop time, its interpolation; the one of Python that begins, reviews, explains.
        *ints("solve set_stop interpolate attend"),
        # Steps since the last beginning, steps of round-off size in a row.
        *ints("since tiny"),
        # The end of the last step, and in IDA's own time; the time of the run at which IDA stands (NaN: nowhere), the
        # quality of static choices there.
        *floats("end own at quality"),
    )


kernels_at, ida_work = record_at(ResidualKernels), record_at(IdaWork)
_entries = c_caller("int64_t", i8)
_evaluate = c_caller("void", i8, i8)
_solve = c_caller("int", i8, f8, i8, i8, i8, i8)
_set_stop = c_caller("int", i8, f8)
_interpolated = c_caller("int", i8, f8, i8, i8)
_attend = c_caller("int64_t", i8, i8, f8)


@jit(i8(ResidualKernels, f8, i8, i8))
def _load(k, t, y, ydot):
    """Time since the beginning and variables, whose entries lie at these addresses, into the kernels' input."""
    x = floats_at(k.inputs, k.n_inputs)
    x[0] = k.origin + t
    move(x, 1, floats_at(y, k.n), 0, k.n)
    if ydot:
        move(x, 1 + k.n, floats_at(ydot, k.n), 0, k.n)
    return 0


@jit(i8(f8, i8, i8, i8, i8))
def ida_residual(t, y, ydot, F, where):
    """SUNDIALS' `IDAResFn`: F(t, y, y') into the vector F."""
    k = kernels_at(where)
    _load(k, t, _entries(k.entries_of, (y,)), _entries(k.entries_of, (ydot,)))
    _evaluate(k.residual, (k.inputs, _entries(k.entries_of, (F,))))
    return 0


@jit(i8(f8, f8, i8, i8, i8, i8, i8, i8, i8, i8))
def ida_jacobian(t, cj, y, ydot, F, J, where, spare_1, spare_2, spare_3):
    """SUNDIALS' `IDALsJacFn`: dF/dy + cj dF/dy' into the matrix J, which is zero, column by column."""
    k = kernels_at(where)
    _load(k, t, _entries(k.entries_of, (y,)), _entries(k.entries_of, (ydot,)))
    floats_at(k.inputs, k.n_inputs)[k.n_inputs - 1] = cj
    _evaluate(k.jacobian, (k.inputs, _entries(k.matrix_entries_of, (J,))))
    return 0


@jit(i8(IdaWork, f8, i8, Floats))
def _emit(w, t, y, z):
    """The state z, t after the beginning, of variables whose entries lie at y; the quality of choices is behind it."""
    k = kernels_at(w.kernels)
    _load(k, t, y, 0)
    _evaluate(k.output, (k.inputs, w.output))
    move(z, 0, floats_at(w.output, w.n_output), 0, w.n_output - 1)
    return 0


@jit(i8(Floats, IdaWork, i8, i8, f8, Floats))
def _ask(mem, w, reason, flag, t, z):
    """Have Python begin at a state, look whether other static choices are better, or say why there is no step."""
    move(mem, w.state, z, 0, z.size)
    return _attend(w.attend, (reason, flag, t))


@jit(i8(Floats, IdaWork, f8, f8, Floats))
def _advance(mem, w, t, limit, z):
    """Have IDA make a step, with other static choices if it cannot with these; OK, or why there is none.

    Leaves the time where it ends in w.end.
    """
    while True:
        status = OK
        if w.at != t:
            status = _ask(mem, w, BEGIN, 0, t, z)
        elif w.quality < POOR and w.since >= STATIC_CHOICE_STEPS:
            status = _ask(mem, w, REVIEW, 0, t, z)
        if status != OK:
            return status
        origin = kernels_at(w.kernels).origin
        last = limit - origin
        _set_stop(w.set_stop, (w.memory, last))
        flag = _solve(w.solve, (w.memory, last, w.reached, w.y, w.ydot, ONE_STEP))
        if flag >= 0:
            reached = floats_at(w.reached, 1)[0]
            w.tiny = w.tiny + 1 if reached - w.own < RESOLVED * last else 0
            w.own, w.end = reached, limit if reached >= last else origin + reached
            if w.tiny <= CRAWL:
                if w.end > t:
                    return OK
                continue  # the clock of the run is too coarse to tell this from the step before
            flag = ERROR_TEST_FAILED  # steps of round-off size: the error test has failed for good
        status = _ask(mem, w, FAILED, flag, t, z)
        if status != OK:
            return status


@jit(stride_type)
def ida_stride(plan, mem, t, limit, z, stages, znew):
    """A step from z at t, not beyond `limit`: its end in znew and its length in mem; returns a status."""
    w = ida_work(plan.step_work)
    if limit - t <= RESOLVED * max(abs(t), abs(limit)):  # too short for a first step: along the tangent
        for i in range(z.size):
            znew[i] = z[i] + (limit - t) * stages[i]
        mem[plan.step_length], w.at = limit - t, math.nan
        return OK
    status = _advance(mem, w, t, limit, z)
    if status != OK:
        return status
    _emit(w, floats_at(w.reached, 1)[0], w.y_entries, znew)
    w.quality = floats_at(w.output, w.n_output)[w.n_output - 1]
    if not is_finite(znew):
        return NOT_FINITE
    h = w.end - t
    w.at = limit if h == limit - t else t + h  # as the time loop reckons
    w.since += 1
    mem[plan.step_length] = h
    return OK


@jit(prepare_type)
def ida_prepare(plan, mem, t, h, z, stages, znew, zdot):
    """The state at Chebyshev's places of the step, a column each."""
    w, n = ida_work(plan.step_work), z.size
    for k in range(NODES):
        here, flag = column(stages, 1 + k, n), -1
        if not math.isnan(w.at):
            at = t - kernels_at(w.kernels).origin + _PLACES[k] * h
            flag = _interpolated(w.interpolate, (w.memory, at, 0, w.interpolated))
        if flag >= 0:
            _emit(w, at, w.interpolated_entries, here)
        else:  # a step along the tangent, or several that the clock of the run cannot tell apart
            for i in range(n):
                here[i] = z[i] + _PLACES[k] * (znew[i] - z[i])
    return 0


@jit(interpolate_type)
def ida_interpolate(theta, h, z, stages, znew, place):
    """The state within the step, by the polynomial through these places (barycentric formula)."""
    n, total = z.size, 0.0
    for k in range(NODES):
        away = theta - _PLACES[k]
        if away == 0.0:
            move(place, 0, column(stages, 1 + k, n), 0, n)
            return 0
        total += _WEIGHTS[k] / away
    for i in range(n):
        place[i] = 0.0
    for k in range(NODES):
        share, here = _WEIGHTS[k] / (theta - _PLACES[k]) / total, column(stages, 1 + k, n)
        for i in range(n):
            place[i] += share * here[i]
    return 0

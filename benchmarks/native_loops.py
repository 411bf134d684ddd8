"""Loops in native code around the pieces of a run, on the states that a real run went through."""

from __future__ import annotations

import numba as nb
import numpy as np
from dalembert.numerics.link import address_of

from dalembert.numerics.engine import Engine, Integrator
from dalembert.numerics.layout import (
    ACCELERATE,
    CORRECT,
    DYNAMICS,
    NQ,
    NU,
    NZ,
    OUT,
    RATES,
    XU,
    Floats,
    Ints,
    X,
    accelerate_type,
    call_accelerate,
    call_correct,
    call_kernel,
    correct_type,
    f8,
    i8,
    move,
)

# What a spying run finds at the end of `plan`: the address of the spied-on function, where its records start in mem,
# how many there are, and how many there is room for.
_SPIED, _START, _COUNT, _ROOM = -4, -3, -2, -1


@nb.njit(accelerate_type, error_model="numpy")
def _record_then_accelerate(plan, mem):
    width = plan[XU] + plan[NU] - plan[X]
    if plan[_COUNT] < plan[_ROOM]:
        move(mem, plan[_START] + plan[_COUNT] * width, mem, plan[X], width)
        plan[_COUNT] += 1
    return call_accelerate(plan[_SPIED], (plan, mem))


@nb.njit(correct_type, error_model="numpy")
def _record_then_correct(plan, mem, t, z):
    width = plan[XU] + plan[NU] - plan[X]
    if plan[_COUNT] < plan[_ROOM]:
        at = plan[_START] + plan[_COUNT] * width
        mem[at] = t
        move(mem, at + 1, z, 0, width - 1)
        plan[_COUNT] += 1
    return call_correct(plan[_SPIED], (plan, mem, t, z))


def record(
    engine: Engine, z: np.ndarray, span: tuple[float, float], integrator: Integrator, *, what: int, rows: int
) -> np.ndarray:
    """(t, q, u) at the first evaluations (`what` ACCELERATE) or drift corrections (CORRECT) of a run, (n, width)."""
    if not engine.choices:
        engine.choose(span[0], z)
    plan, mem = engine.plan, engine.mem
    width = 1 + engine.size
    engine.plan = np.concatenate([plan, [plan[what], len(mem), 0, rows]])
    engine.mem = np.concatenate([mem, np.zeros(rows * width)])
    engine.plan[what] = address_of(_record_then_accelerate if what == ACCELERATE else _record_then_correct)
    try:
        integrator.run(engine, z, span, np.array([span[1]]))
        count = int(engine.plan[_COUNT])
        return engine.mem[len(mem) : len(mem) + count * width].reshape(count, width).copy()
    finally:
        engine.plan, engine.mem = plan, mem


@nb.njit(nb.void(Ints, Floats, Floats, i8), error_model="numpy")
def accelerate_loop(plan, mem, xs, calls):
    """Evaluations of the right-hand side, and nothing else, at recorded states.

    As in a Runge-Kutta method each state waits for the rates before it (times zero, which changes nothing but the
    waiting): otherwise the processor would work on several evaluations at once, which no run can do.
    """
    size = plan[NQ] + plan[NU]
    width = 1 + size
    rows = xs.size // width
    at = 0
    x, before = plan[X] + 1, plan[RATES]
    for k in range(calls):
        at = 0 if k % rows == 0 else at + width
        mem[x - 1] = xs[at]
        for i in range(size):
            mem[x + i] = xs[at + 1 + i] + 0.0 * mem[before + i]
        call_accelerate(plan[ACCELERATE], (plan, mem))


@nb.njit(nb.void(Ints, Floats, Floats, i8), error_model="numpy")
def correct_loop(plan, mem, xs, calls):
    """Drift corrections at recorded states, each waiting for the one before."""
    size = plan[NQ] + plan[NU]
    width = 1 + size
    rows = xs.size // width
    z = np.zeros(plan[NZ])
    at = 0
    for k in range(calls):
        at = 0 if k % rows == 0 else at + width
        for i in range(size):
            z[i] = xs[at + 1 + i] + 0.0 * z[i]
        call_correct(plan[CORRECT], (plan, mem, xs[at], z))


@nb.njit(f8(Ints, Floats, Floats, i8), error_model="numpy")
def dynamics_loop(plan, mem, xs, calls):
    """Bare calls of the "dynamics" kernel (q', M, f, A, b) at recorded states, one after the other."""
    size = plan[NQ] + plan[NU]
    width = 1 + size
    rows = xs.size // width
    at = 0
    for k in range(calls):
        at = 0 if k % rows == 0 else at + width
        move(mem, plan[X], xs, at, width)
        call_kernel(plan[DYNAMICS], mem, plan[X], plan[OUT])
    return mem[plan[OUT]]

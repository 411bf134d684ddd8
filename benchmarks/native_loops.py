"""Loops in native code around the pieces of a run, on the states that a real run went through."""

from __future__ import annotations

import numpy as np

from dalembert.native.intrinsics import call_kernel, move, record_at
from dalembert.native.jit import jit
from dalembert.native.plan import Plan, accelerate_type, call_accelerate, call_correct, correct_type
from dalembert.native.types import Floats, Record, f8, i8, ints
from dalembert.run.engine import Engine
from dalembert.run.integrators.integrator import Integrator


class Spy(Record):
    """The spied-on function, where the records of its calls start, how many there are and how many may be."""

    _fields_ = ints("spied start count room")


spy_at = record_at(Spy)  # in the place of the workspace of implicit methods, which are not spied on


@jit(accelerate_type)
def _record_then_accelerate(plan, mem):
    spy, width = spy_at(plan.step_work), plan.xu + plan.nu - plan.x
    if spy.count < spy.room:
        move(mem, spy.start + spy.count * width, mem, plan.x, width)
        spy.count += 1
    return call_accelerate(spy.spied, (plan, mem))


@jit(correct_type)
def _record_then_correct(plan, mem, t, z):
    spy, width = spy_at(plan.step_work), plan.xu + plan.nu - plan.x
    if spy.count < spy.room:
        at = spy.start + spy.count * width
        mem[at] = t
        move(mem, at + 1, z, 0, width - 1)
        spy.count += 1
    return call_correct(spy.spied, (plan, mem, t, z))


_SPIES = {"accelerate": _record_then_accelerate, "correct": _record_then_correct}


def record(
    engine: Engine, z: np.ndarray, span: tuple[float, float], integrator: Integrator, *, what: str, rows: int
) -> np.ndarray:
    """(t, q, u) at the first evaluations (`what` "accelerate") or corrections ("correct") of a run, (n, width)."""
    if not engine.choices:
        engine.choose(span[0], z)
    width = 1 + engine.size
    spy, _ = engine.work.part("step_work", Spy, {"start": rows * width}, {})
    spy.spied, spy.room = getattr(engine.plan, what), rows
    setattr(engine.plan, what, _SPIES[what].address)
    try:
        integrator.run(engine, z, span, np.array([span[1]]))
        return engine.mem[spy.start : spy.start + spy.count * width].reshape(spy.count, width).copy()
    finally:
        setattr(engine.plan, what, spy.spied)


@jit(i8(Plan, Floats, Floats, i8))
def accelerate_loop(plan, mem, xs, calls):
    """Evaluations of the right-hand side, and nothing else, at recorded states.

    As in a Runge-Kutta method each state waits for the rates before it (times zero, which changes nothing but the
    waiting): otherwise the processor would work on several evaluations at once, which no run can do.
    """
    size = plan.nq + plan.nu
    width = 1 + size
    rows = xs.size // width
    at = 0
    x, before = plan.x + 1, plan.rates
    for k in range(calls):
        at = 0 if k % rows == 0 else at + width
        mem[x - 1] = xs[at]
        for i in range(size):
            mem[x + i] = xs[at + 1 + i] + 0.0 * mem[before + i]
        call_accelerate(plan.accelerate, (plan, mem))
    return 0


@jit(i8(Plan, Floats, Floats, Floats, i8))
def _correct_loop(plan, mem, xs, z, calls):
    size = plan.nq + plan.nu
    width = 1 + size
    rows = xs.size // width
    at = 0
    for k in range(calls):
        at = 0 if k % rows == 0 else at + width
        for i in range(size):
            z[i] = xs[at + 1 + i] + 0.0 * z[i]
        call_correct(plan.correct, (plan, mem, xs[at], z))
    return 0


def correct_loop(plan: Plan, mem: np.ndarray, xs: np.ndarray, calls: int) -> None:
    """Drift corrections at recorded states, each waiting for the one before."""
    _correct_loop(plan, mem, xs, np.zeros(plan.nz), calls)


@jit(f8(Plan, Floats, Floats, i8))
def dynamics_loop(plan, mem, xs, calls):
    """Bare calls of the "dynamics" kernel (q', M, f, A, b) at recorded states, one after the other."""
    size = plan.nq + plan.nu
    width = 1 + size
    rows = xs.size // width
    at = 0
    for k in range(calls):
        at = 0 if k % rows == 0 else at + width
        move(mem, plan.x, xs, at, width)
        call_kernel(plan.dynamics, mem, plan.x, plan.out)
    return mem[plan.out]

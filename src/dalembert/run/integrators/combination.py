"""Weighted sums of the columns of `stages`, one per row of a table, written out in native code.

The weights become constants and zeros are left out: a loop over the entries of a tableau costs more than the entries.
Which row is wanted may be known only while running, so that one loop serves all stages of a method.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from dalembert.native.intrinsics import LANES, Intrinsic
from dalembert.run.time_loop.columns import start_of

FUSE = ("contract",)  # a product and a sum may be rounded once
VECTOR = ir.VectorType(ir.DoubleType(), LANES)


def combinations(rows: np.ndarray) -> Intrinsic:
    """A native function `combine(k, target, base, h, stages, n)`: target = base + h sum_j rows[k, j] column j.

    `rows` is (m, number of columns), `target` and `base` are padded as `columns` says. Rows of zeros do nothing.
    """

    def define(c: Any) -> Any:
        def generate(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            k, target, base, h, stages, n = args
            there, start, columns = (_data(c, context, builder, array) for array in (target, base, stages))
            step = _broadcast(builder, h)

            def sum_up(i: Any, weights: np.ndarray) -> None:
                total = _weighted_sum(builder, columns, weights, i, n)
                value = builder.fadd(_load(builder, start, i), builder.fmul(step, total, FUSE), FUSE)
                builder.store(value, _vector_at(builder, there, i), align=8)

            _for_row(c, builder, k, n, rows, sum_up)
            return context.get_dummy_value()

        return c.types.void(c.i8, c.Floats, c.Floats, c.f8, c.Floats, c.i8), generate

    return Intrinsic(define, "combine", f"{rows.shape} {rows.tobytes().hex()}")


def increments(rows: np.ndarray) -> Intrinsic:
    """A native function `increment(k, target, h, stages, n)`: target = h sum_j rows[k, j] column j; see above."""

    def define(c: Any) -> Any:
        def generate(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            k, target, h, stages, n = args
            there, columns = (_data(c, context, builder, array) for array in (target, stages))
            step = _broadcast(builder, h)

            def sum_up(i: Any, weights: np.ndarray) -> None:
                value = builder.fmul(step, _weighted_sum(builder, columns, weights, i, n), FUSE)
                builder.store(value, _vector_at(builder, there, i), align=8)

            _for_row(c, builder, k, n, rows, sum_up)
            return context.get_dummy_value()

        return c.types.void(c.i8, c.Floats, c.f8, c.Floats, c.i8), generate

    return Intrinsic(define, "increment", f"{rows.shape} {rows.tobytes().hex()}")


def _for_row(c: Any, builder: Any, k: Any, n: Any, rows: np.ndarray, sum_up: Any) -> None:
    """Emit `sum_up(i, rows[k])` for i = 0, LANES, ... below n; a branch on k is folded away where k is a constant."""
    done = builder.append_basic_block("summed")
    switch = builder.switch(k, done)
    for which, weights in enumerate(rows):
        if weights.any():
            block = builder.append_basic_block(f"row.{which}")
            switch.add_case(k.type(which), block)
            builder.position_at_end(block)
            with c.cgutils.for_range_slice(builder, n.type(0), n, n.type(LANES)) as (i, _):
                sum_up(i, weights)
            builder.branch(done)
    builder.position_at_end(done)


def _weighted_sum(builder: Any, columns: Any, weights: np.ndarray, i: Any, n: Any) -> Any:
    """Sum of weights[j] times entries i ... i + LANES of column j."""
    total = None
    for j in np.flatnonzero(weights):
        value = _load(builder, columns, builder.add(i, start_of(builder, n.type(int(j)), n)))
        weight = ir.Constant(VECTOR, [ir.Constant(ir.DoubleType(), float(weights[j]))] * LANES)
        product = builder.fmul(value, weight, FUSE)
        total = product if total is None else builder.fadd(total, product, FUSE)
    return total


def _data(c: Any, context: Any, builder: Any, array: Any) -> Any:
    return context.make_array(c.Floats)(context, builder, array).data


def _vector_at(builder: Any, data: Any, index: Any) -> Any:
    return builder.bitcast(builder.gep(data, [index]), VECTOR.as_pointer())


def _load(builder: Any, data: Any, index: Any) -> Any:
    return builder.load(_vector_at(builder, data, index), align=8)


def _broadcast(builder: Any, value: Any) -> Any:
    lane = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(lane, lane, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))

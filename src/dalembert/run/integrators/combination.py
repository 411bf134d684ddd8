"""Weighted sums of the columns of `stages`, one per row of a table, written out in native code.

The weights become constants and zeros are left out: a loop over the entries of a tableau costs more than the entries.
The row may be chosen at run time, so that one loop serves all stages of a method.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from dalembert.native.intrinsics import LANES, Intrinsic, in_vectors
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

            def finish(i: Any, total: Any) -> Any:
                return builder.fadd(_load(builder, start, i), builder.fmul(step, total, FUSE), FUSE)

            return _write_sums(c, context, builder, (k, there, columns, n), rows, finish)

        return c.types.void(c.i8, c.Floats, c.Floats, c.f8, c.Floats, c.i8), generate

    return Intrinsic(define, "combine", _key(rows))


def increments(rows: np.ndarray) -> Intrinsic:
    """A native function `increment(k, target, h, stages, n)`: target = h sum_j rows[k, j] column j; see above.

    A row of zeros gives zeros.
    """

    def define(c: Any) -> Any:
        def generate(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            k, target, h, stages, n = args
            there, columns = (_data(c, context, builder, array) for array in (target, stages))
            step = _broadcast(builder, h)

            def finish(_i: Any, total: Any) -> Any:
                return builder.fmul(step, total, FUSE)

            return _write_sums(c, context, builder, (k, there, columns, n), rows, finish, zeros=True)

        return c.types.void(c.i8, c.Floats, c.f8, c.Floats, c.i8), generate

    return Intrinsic(define, "increment", _key(rows))


def _define_add_last(c: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        mem, source, target, *arrays, first, count, weight = args
        memory = context.make_array(c.Floats)(context, builder, mem)
        for place in (source, target):
            c.check_bounds(context, builder, place, count, memory.nitems)
        slopes, copy = builder.gep(memory.data, [source]), builder.gep(memory.data, [target])
        total, base, column = (builder.gep(_data(c, context, builder, array), [first]) for array in arrays)

        def add(at: Callable[[Any], Any], broadcast: Callable[[Any], Any]) -> None:
            slope, sum_before, start = (builder.load(at(place), align=8) for place in (slopes, total, base))
            builder.store(slope, at(column), align=8)
            whole = builder.fadd(sum_before, builder.fmul(slope, broadcast(weight), FUSE), FUSE)
            value = builder.fadd(start, whole)
            builder.store(value, at(total), align=8)
            builder.store(value, at(copy), align=8)

        in_vectors(c, builder, count, add)
        return context.get_dummy_value()

    return c.types.void(c.Floats, c.i8, c.i8, *[c.Floats] * 3, c.i8, c.i8, c.f8), generate


# `add_last(mem, source, target, total, base, column, first, count, weight)`: with slopes k in mem from `source` on, for
# `count` entries from `first` on, total = base + (total + weight k), also to mem from `target` on; k to `column`.
add_last = Intrinsic(_define_add_last, "add_last")


def _key(rows: np.ndarray) -> str:
    return f"{rows.shape} {rows.tobytes().hex()}"


def _write_sums(
    c: Any, context: Any, builder: Any, args: Any, rows: np.ndarray, finish: Callable[[Any, Any], Any], *,
    zeros: bool = False,
) -> Any:  # fmt: skip
    """Emit target = finish(i, sum of row k) for i = 0, LANES, ... below n; a constant k leaves no branch on it.

    `args` are LLVM values: k, where target and columns lie, and n. `zeros` says that rows of zeros are written too.
    """
    k, there, columns, n = args
    done = builder.append_basic_block("summed")
    switch = builder.switch(k, done)
    for which, weights in enumerate(rows):
        if weights.any() or zeros:
            block = builder.append_basic_block(f"row.{which}")
            switch.add_case(k.type(which), block)
            builder.position_at_end(block)
            with c.cgutils.for_range_slice(builder, n.type(0), n, n.type(LANES)) as (i, _):
                total = _weighted_sum(builder, columns, weights, i, n)
                builder.store(finish(i, total), _vector_at(builder, there, i), align=8)
            builder.branch(done)
    builder.position_at_end(done)
    return context.get_dummy_value()


def _weighted_sum(builder: Any, columns: Any, weights: np.ndarray, i: Any, n: Any) -> Any:
    """Sum of weights[j] times entries i ... i + LANES of column j."""
    total = None
    for j in np.flatnonzero(weights):
        value = _load(builder, columns, builder.add(i, start_of(builder, n.type(int(j)), n)))
        weight = _constant(weights[j])
        product = builder.fmul(value, weight, FUSE)
        total = product if total is None else builder.fadd(total, product, FUSE)
    return _constant(0.0) if total is None else total


def _constant(value: float) -> Any:
    return ir.Constant(VECTOR, [ir.Constant(ir.DoubleType(), float(value))] * LANES)


def _data(c: Any, context: Any, builder: Any, array: Any) -> Any:
    return context.make_array(c.Floats)(context, builder, array).data


def _vector_at(builder: Any, data: Any, index: Any) -> Any:
    return builder.bitcast(builder.gep(data, [index]), VECTOR.as_pointer())


def _load(builder: Any, data: Any, index: Any) -> Any:
    return builder.load(_vector_at(builder, data, index), align=8)


def _broadcast(builder: Any, value: Any) -> Any:
    lane = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(lane, lane, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))

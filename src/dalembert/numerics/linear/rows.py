"""Rows of matrices in `mem`: cleared, exchanged, scaled, subtracted, multiplied, in vectors of `LANES`.

What is written may reach `LANES - 1` entries beyond `count`, so that rows need as many entries of padding. Complex
rows are two real ones, the imaginary part `shift` entries behind the real part.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from dalembert.numerics.layout import FUSE, LANES, Floats, f8, i8

_VECTOR = ir.VectorType(ir.DoubleType(), LANES)


def _spread(builder: Any, value: Any) -> Any:
    """A vector with `value` in every lane."""
    lane = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(lane, lane, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


def _load(builder: Any, data: Any, index: Any, offset: Any) -> Any:
    place = builder.gep(data, [builder.add(index, offset)])
    return builder.load(builder.bitcast(place, _VECTOR.as_pointer()), align=8)


def _store(builder: Any, value: Any, data: Any, index: Any, offset: Any) -> None:
    place = builder.gep(data, [builder.add(index, offset)])
    builder.store(value, builder.bitcast(place, _VECTOR.as_pointer()), align=8)


def _total(builder: Any, vector: Any) -> Any:
    lanes = [builder.extract_element(vector, ir.Constant(ir.IntType(32), k)) for k in range(LANES)]
    while len(lanes) > 1:
        lanes = [builder.fadd(a, b) for a, b in zip(lanes[::2], lanes[1::2], strict=True)]
    return lanes[0]


def _fma(builder: Any, total: Any, a: Any, b: Any, *, minus: bool = False) -> Any:
    product = builder.fmul(a, b, FUSE)
    return builder.fsub(total, product, FUSE) if minus else builder.fadd(total, product, FUSE)


def _larger(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


def _magnitude(builder: Any, vector: Any) -> Any:
    return _larger(builder, vector, builder.fsub(ir.Constant(_VECTOR, [0.0] * LANES), vector))


@intrinsic
def clear_row(_context: Any, mem: Any, at: Any, count: Any) -> Any:
    """mem[at + j] = 0 for j < count."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        array, target, size = args
        data = context.make_array(Floats)(context, builder, array).data
        place = builder.bitcast(builder.gep(data, [target]), ir.IntType(8).as_pointer())
        cgutils.memset(builder, place, builder.mul(size, size.type(8)), 0)
        return context.get_dummy_value()

    return types.void(Floats, i8, i8), codegen


@intrinsic
def swap_rows(_context: Any, mem: Any, one: Any, other: Any, count: Any) -> Any:
    """Exchange mem[one + j] and mem[other + j] for j < count."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        array, first, second, size = args
        data = context.make_array(Floats)(context, builder, array).data
        with cgutils.for_range_slice(builder, size.type(0), size, size.type(LANES)) as (j, _):
            a, b = _load(builder, data, first, j), _load(builder, data, second, j)
            _store(builder, b, data, first, j)
            _store(builder, a, data, second, j)
        return context.get_dummy_value()

    return types.void(Floats, i8, i8, i8), codegen


@intrinsic
def largest_in_row(_context: Any, mem: Any, at: Any, count: Any) -> Any:
    """The largest |mem[at + j]| over j < count, padding included."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        array, target, size = args
        data = context.make_array(Floats)(context, builder, array).data
        top = cgutils.alloca_once_value(builder, ir.Constant(_VECTOR, [0.0] * LANES))
        with cgutils.for_range_slice(builder, size.type(0), size, size.type(LANES)) as (j, _):
            value = _magnitude(builder, _load(builder, data, target, j))
            builder.store(_larger(builder, value, builder.load(top)), top)
        lanes = [builder.extract_element(builder.load(top), ir.Constant(ir.IntType(32), k)) for k in range(LANES)]
        while len(lanes) > 1:
            lanes = [_larger(builder, a, b) for a, b in zip(lanes[::2], lanes[1::2], strict=True)]
        return lanes[0]

    return f8(Floats, i8, i8), codegen


@intrinsic
def scale_row(_context: Any, mem: Any, at: Any, factor: Any, count: Any) -> Any:
    """mem[at + j] *= factor for j < count."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        array, target, scale, size = args
        data = context.make_array(Floats)(context, builder, array).data
        scale = _spread(builder, scale)
        with cgutils.for_range_slice(builder, size.type(0), size, size.type(LANES)) as (j, _):
            _store(builder, builder.fmul(_load(builder, data, target, j), scale), data, target, j)
        return context.get_dummy_value()

    return types.void(Floats, i8, f8, i8), codegen


@intrinsic
def raise_row(_context: Any, mem: Any, to: Any, source: Any, count: Any) -> Any:
    """mem[to + j] = max(mem[to + j], |mem[source + j]|) for j < count."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        array, target, origin, size = args
        data = context.make_array(Floats)(context, builder, array).data
        with cgutils.for_range_slice(builder, size.type(0), size, size.type(LANES)) as (j, _):
            value = _magnitude(builder, _load(builder, data, origin, j))
            _store(builder, _larger(builder, value, _load(builder, data, target, j)), data, target, j)
        return context.get_dummy_value()

    return types.void(Floats, i8, i8, i8), codegen


@intrinsic
def multiply_row(_context: Any, mem: Any, to: Any, source: Any, count: Any) -> Any:
    """mem[to + j] *= mem[source + j] for j < count."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        array, target, origin, size = args
        data = context.make_array(Floats)(context, builder, array).data
        with cgutils.for_range_slice(builder, size.type(0), size, size.type(LANES)) as (j, _):
            product = builder.fmul(_load(builder, data, target, j), _load(builder, data, origin, j))
            _store(builder, product, data, target, j)
        return context.get_dummy_value()

    return types.void(Floats, i8, i8, i8), codegen


@intrinsic
def subtract_row(_context: Any, mem: Any, to: Any, source: Any, factor: Any, count: Any) -> Any:
    """mem[to + j] -= factor * mem[source + j] for j < count."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        array, target, origin, scale, size = args
        data = context.make_array(Floats)(context, builder, array).data
        scale = _spread(builder, scale)
        with cgutils.for_range_slice(builder, size.type(0), size, size.type(LANES)) as (j, _):
            there, here = _load(builder, data, target, j), _load(builder, data, origin, j)
            _store(builder, _fma(builder, there, scale, here, minus=True), data, target, j)
        return context.get_dummy_value()

    return types.void(Floats, i8, i8, f8, i8), codegen


@intrinsic
def subtract_complex_row(
    _context: Any, mem: Any, to: Any, source: Any, shift: Any, re: Any, im: Any, count: Any
) -> Any:  # fmt: skip
    """mem[to + j] -= (re + i im) mem[source + j] for j < count, all complex."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        array, target, origin, shifted, a, b, size = args
        data = context.make_array(Floats)(context, builder, array).data
        a, b = _spread(builder, a), _spread(builder, b)
        target_im, origin_im = builder.add(target, shifted), builder.add(origin, shifted)
        with cgutils.for_range_slice(builder, size.type(0), size, size.type(LANES)) as (j, _):
            x, y = _load(builder, data, origin, j), _load(builder, data, origin_im, j)
            u, v = _load(builder, data, target, j), _load(builder, data, target_im, j)
            u = _fma(builder, _fma(builder, u, a, x, minus=True), b, y)
            v = _fma(builder, _fma(builder, v, a, y, minus=True), b, x, minus=True)
            _store(builder, u, data, target, j)
            _store(builder, v, data, target_im, j)
        return context.get_dummy_value()

    return types.void(Floats, i8, i8, i8, f8, f8, i8), codegen


def _sums(context: Any, builder: Any, size: Any, count: int, term: Any) -> list[Any]:
    """`count` sums over j < size, in vectors and then one by one; `term(j, totals, vectors)` adds to them."""
    wide = [cgutils.alloca_once_value(builder, ir.Constant(_VECTOR, [0.0] * LANES)) for _ in range(count)]
    whole = builder.and_(size, size.type(~(LANES - 1)))
    with cgutils.for_range_slice(builder, size.type(0), whole, size.type(LANES)) as (j, _):
        for place, value in zip(wide, term(j, [builder.load(w) for w in wide], True), strict=True):
            builder.store(value, place)
    single = [cgutils.alloca_once_value(builder, _total(builder, builder.load(w))) for w in wide]
    with cgutils.for_range_slice(builder, whole, size, size.type(1)) as (j, _):
        for place, value in zip(single, term(j, [builder.load(s) for s in single], False), strict=True):
            builder.store(value, place)
    return [builder.load(s) for s in single]


@intrinsic
def row_product(_context: Any, mem: Any, left: Any, right: Any, count: Any) -> Any:
    """The sum of mem[left + j] mem[right + j] over j < count."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        array, first, second, size = args
        data = context.make_array(Floats)(context, builder, array).data

        def term(j: Any, totals: Any, vectors: bool) -> list[Any]:  # noqa: FBT001
            if vectors:
                a, b = _load(builder, data, first, j), _load(builder, data, second, j)
            else:
                a, b = (builder.load(builder.gep(data, [builder.add(k, j)])) for k in (first, second))
            return [_fma(builder, totals[0], a, b)]

        return _sums(context, builder, size, 1, term)[0]

    return f8(Floats, i8, i8, i8), codegen


@intrinsic
def complex_row_product(_context: Any, mem: Any, left: Any, shift: Any, right: Any, other: Any, count: Any) -> Any:
    """The sum of mem[left + j] mem[right + j] over j < count, complex with shifts `shift` and `other`: (re, im)."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array, first, shifted, second, moved, size = args
        data = context.make_array(Floats)(context, builder, array).data
        places = (first, builder.add(first, shifted), second, builder.add(second, moved))

        def term(j: Any, totals: Any, vectors: bool) -> list[Any]:  # noqa: FBT001
            if vectors:
                a, b, x, y = (_load(builder, data, k, j) for k in places)
            else:
                a, b, x, y = (builder.load(builder.gep(data, [builder.add(k, j)])) for k in places)
            re = _fma(builder, _fma(builder, totals[0], a, x), b, y, minus=True)
            return [re, _fma(builder, _fma(builder, totals[1], a, y), b, x)]

        return context.make_tuple(builder, signature.return_type, _sums(context, builder, size, 2, term))

    return types.UniTuple(f8, 2)(Floats, i8, i8, i8, i8, i8), codegen

"""Intrinsics of native functions beyond arithmetic: calls by address, copies, views of memory, weighted sums.

Each is a function that writes LLVM IR at the place of its call. They are declared here without the compiler, which asks
for `Intrinsic.definition` when it meets one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dalembert.native.types import Record, Signature, Type

LANES = 4  # doubles that native sums work on at once


class Intrinsic:
    """A function whose code is written by the compiler: `define(compiler)` gives signature and code generator.

    `define` receives what the compiler knows: LLVM and the numeric types. Intrinsics of one name that write different
    code differ in their `key`.
    """

    def __init__(self, define: Callable[[Any], tuple[Any, Callable[..., Any]]], name: str, key: str = "") -> None:
        self.define, self.__name__, self.key = define, name, f"{name} {key}"

    def __call__(self, *_arguments: Any) -> Any:
        raise TypeError(f"`{self.__name__}` can only be called from native code")


def _intrinsic(define: Callable[[Any], tuple[Any, Callable[..., Any]]]) -> Intrinsic:
    return Intrinsic(define, define.__name__)


@_intrinsic
def call_kernel(c: Any) -> Any:
    """`call_kernel(address, mem, source, target)`: a C function of two pointers, at mem[source:] and mem[target:]."""

    def generate(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        where, array, first, second = args
        pointer = c.ir.DoubleType().as_pointer()
        function = builder.inttoptr(where, c.ir.FunctionType(c.ir.VoidType(), [pointer, pointer]).as_pointer())
        data = context.make_array(c.Floats)(context, builder, array).data
        builder.call(function, [builder.gep(data, [first]), builder.gep(data, [second])])
        return context.get_dummy_value()

    return c.types.void(c.i8, c.Floats, c.i8, c.i8), generate


def _copying(c: Any, copy: Callable[[Any, Any, Any, Any], None]) -> Any:
    """Signature and code of `(target, to, source, start, count)`; `copy(builder, there, here, count)` writes the code.

    It copies source[start : start + count] to target[to:]; no views, no wrapping.
    """

    def generate(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        array, first, other, second, length = args
        make = context.make_array(c.Floats)
        to, source = make(context, builder, array), make(context, builder, other)
        c.check_bounds(context, builder, first, length, to.nitems)
        c.check_bounds(context, builder, second, length, source.nitems)
        copy(builder, builder.gep(to.data, [first]), builder.gep(source.data, [second]), length)
        return context.get_dummy_value()

    return c.types.void(c.Floats, c.i8, c.Floats, c.i8, c.i8), generate


@_intrinsic
def move(c: Any) -> Any:
    """`move(target, to, source, start, count)`: source[start : start + count] to target[to:]."""

    def copy(builder: Any, there: Any, here: Any, length: Any) -> None:
        c.cgutils.raw_memcpy(builder, there, here, length, 8)

    return _copying(c, copy)


@_intrinsic
def move_few(c: Any) -> Any:
    """Like `move`, for few numbers, in inline code: a call of the libc would take as long as the copies."""

    def copy(builder: Any, there: Any, here: Any, length: Any) -> None:
        def copy_some(at: Callable[[Any], Any], _broadcast: Callable[[Any], Any]) -> None:
            builder.store(builder.load(at(here), align=8), at(there), align=8)

        in_vectors(c, builder, length, copy_some)

    return _copying(c, copy)


def in_vectors(c: Any, builder: Any, count: Any, write: Callable[..., None]) -> None:
    """Emit `write(at, broadcast)` for vectors of LANES numbers each, and singly for those that are left.

    `at` makes a pointer to the numbers at hand of one to all of them, `broadcast` a vector of a number.
    """
    vector, lane = c.ir.VectorType(c.ir.DoubleType(), LANES), c.ir.IntType(32)
    whole, hidden = builder.and_(count, count.type(-LANES)), c.ir.FunctionType(count.type, [count.type])

    def broadcast(value: Any) -> Any:
        first = builder.insert_element(c.ir.Constant(vector, c.ir.Undefined), value, lane(0))
        return builder.shuffle_vector(first, first, c.ir.Constant(c.ir.VectorType(lane, LANES), [0] * LANES))

    with c.cgutils.for_range_slice(builder, count.type(0), whole, count.type(LANES)) as (i, _):
        write(lambda pointer: builder.bitcast(builder.gep(pointer, [i]), vector.as_pointer()), broadcast)
    with c.cgutils.for_range_slice(builder, whole, count, count.type(1)) as (i, _):
        alone = builder.asm(hidden, "", "=r,0", [i], side_effect=False)  # no instruction, and no vectors made of these
        write(lambda pointer: builder.gep(pointer, [alone]), lambda value: value)


@_intrinsic
def ints_at(c: Any) -> Any:
    """`ints_at(address, size)`: the integers there as an array."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return c.view(context, builder, signature.return_type, *args)

    return c.Ints(c.i8, c.i8), generate


@_intrinsic
def places_at(c: Any) -> Any:
    """`places_at(address, size)`: the indices there as an array, 32 bits each."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return c.view(context, builder, signature.return_type, *args)

    return c.Places(c.i8, c.i8), generate


@_intrinsic
def floats_at(c: Any) -> Any:
    """`floats_at(address, size)`: the floats there as an array."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return c.view(context, builder, signature.return_type, *args)

    return c.Floats(c.i8, c.i8), generate


def record_at(kind: type[Record]) -> Intrinsic:
    """A native function of an address that gives the record of this kind there."""

    def define(c: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

        return c.meaning(kind)(c.i8), generate

    return Intrinsic(define, f"{kind.__name__}_at", repr(kind.every_field()))


def caller(signature: Signature) -> Intrinsic:
    """A native function `call(address, (arguments...))` for native functions of this signature."""

    def define(c: Any) -> Any:
        result, arguments = c.meaning(signature.result), [c.meaning(kind) for kind in signature.arguments]

        def generate(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
            where, packed = values
            function_type = context.call_conv.get_function_type(result, arguments)
            function = builder.inttoptr(where, function_type.as_pointer())
            unpacked = c.cgutils.unpack_tuple(builder, packed, len(arguments))
            status, value = context.call_conv.call_function(builder, function, result, arguments, unpacked)
            c.hand_on(context, builder, status)
            return value

        return result(c.i8, c.types.Tuple(arguments)), generate

    return Intrinsic(define, "call", repr(signature))


def c_caller(result: str, *arguments: Type) -> Intrinsic:
    """A native function `call(address, (arguments...))` for C functions of numbers and of pointers, which are integers.

    `result` is what they return: "int", "int64_t" for pointers too, or "void".
    """

    def define(c: Any) -> Any:
        kinds = [c.meaning(kind) for kind in arguments]
        returned = {"int": c.ir.IntType(32), "int64_t": c.ir.IntType(64), "void": c.ir.VoidType()}[result]

        def generate(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
            where, packed = values
            function_type = c.ir.FunctionType(returned, [context.get_value_type(kind) for kind in kinds])
            function = builder.inttoptr(where, function_type.as_pointer())
            value = builder.call(function, c.cgutils.unpack_tuple(builder, packed, len(kinds)))
            if result == "void":
                return c.ir.IntType(64)(0)
            return builder.sext(value, c.ir.IntType(64)) if result == "int" else value

        return c.i8(c.i8, c.types.Tuple(kinds)), generate

    return Intrinsic(define, "c_call", f"{result} {arguments!r}")

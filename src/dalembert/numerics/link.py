"""Function values for native code: the address of a compiled function, and a call through such an address.

Formulations, drift controls and integrators are composed at run time, so compiled code must call functions it did not
know when it was compiled. Numba's own first-class functions do this too, but looking up their addresses costs 40 us per
argument and run - more than a whole short simulation; an address kept in `plan` costs nothing.
"""

from __future__ import annotations

import functools
from typing import Any

from numba import types
from numba.core import cgutils
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import intrinsic


@functools.cache
def address_of(function: Any) -> int:
    """Address of the machine code of a function made by `jit`."""
    with global_compiler_lock:  # LLVM is not for two threads at a time
        if not function.overloads:  # not needed before
            function.compile(None)
        (result,) = function.overloads.values()
        return int(result.library.get_pointer_to_function(result.fndesc.llvm_func_name))


def caller(signature: Any) -> Any:
    """A native function `call(address, (arguments...))` for functions of this signature."""

    @intrinsic
    def call(_context: Any, _address: Any, _arguments: Any) -> Any:
        def codegen(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
            where, packed = values
            function_type = context.call_conv.get_function_type(signature.return_type, signature.args)
            function = builder.inttoptr(where, function_type.as_pointer())
            arguments = cgutils.unpack_tuple(builder, packed, len(signature.args))
            _status, result = context.call_conv.call_function(
                builder, function, signature.return_type, signature.args, arguments
            )
            return result

        return signature.return_type(types.int64, types.Tuple(signature.args)), codegen

    return call

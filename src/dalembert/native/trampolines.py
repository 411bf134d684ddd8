"""LLVM IR of kernels that need buffers: `kernel(x, out)` takes a free one and calls a function of more arguments.

Addresses and sizes stand in a table, the global `bound`, that `bind` fills once the code is loaded. So the code is the
same for every system, and comes from the cache. There are several buffers with a flag each, as a kernel may be called
by several threads: the calling thread takes the first that is free, number k.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping, Sequence
from typing import Any

LOOPS = ("flags", "buffers", "width", "kept", "calls", "places", "constants", "count")
INTERPRETER = (
    "flags", "buffers", "width_in", "width_out", "arguments", "results", "rows", "nonzeros", "handles", "evaluate",
)  # fmt: skip


def count_buffers() -> int:
    """Number of buffers of a kernel."""
    return max(8, 2 * (os.cpu_count() or 1))


def bind(engine: Any, values: Mapping[str, int]) -> None:
    """Fill the table of loaded code, `values` in the order of its names."""
    table = (ctypes.c_int64 * len(values)).from_address(engine.get_global_value_address("bound"))
    table[:] = list(values.values())


def _head(names: Sequence[str]) -> str:
    """The table, and the first blocks of the kernel: its entries by name, and the number k of a free buffer."""
    pointers = ("flags", "calls", "places", "constants", "rows", "evaluate")
    loads = "\n".join(
        f"  %{name} = load {'ptr' if name in pointers else 'i64'}, ptr getelementptr (i64, ptr @bound, i64 {k})"
        for k, name in enumerate(names)
    )
    return f"""
@bound = global [{len(names)} x i64] zeroinitializer
define void @kernel(ptr %x, ptr %out) nounwind {{
entry:
{loads}
  br label %ask
ask:
  %k = phi i64 [ 0, %entry ], [ %other, %taken ]
  %flag = getelementptr i32, ptr %flags, i64 %k
  %answer = cmpxchg ptr %flag, i32 0, i32 1 acquire monotonic
  %free = extractvalue {{ i32, i1 }} %answer, 1
  br i1 %free, label %evaluate.buffer, label %taken
taken:
  %after = add i64 %k, 1
  %other = urem i64 %after, %buffers
  br label %ask
evaluate.buffer:
"""


def _row(name: str, array: str, width: str) -> str:
    """A pointer to row k of an array of doubles."""
    return f"""\
  %{name}.first = mul i64 %k, %{width}
  %{name}.base = inttoptr i64 %{array} to ptr
  %{name} = getelementptr double, ptr %{name}.base, i64 %{name}.first
"""


# Values that pieces of a tape pass on to others lie in the buffer.
LOOPS_KERNEL = f"""{_head(LOOPS)}{_row("own", "kept", "width")}\
  call void @body(ptr %x, ptr %out, ptr %own, ptr %calls, ptr %places, ptr %constants, i64 %count)
  store atomic i32 0, ptr %flag release, align 4
  ret void
}}
"""

# One CasADi evaluation buffer serves one thread at a time. Values are copied in and out because a buffer is bound to
# its arrays for good; results are set to NaN first, so that an evaluation that fails cannot pass off the values of the
# one before.
INTERPRETER_KERNEL = f"""
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
{_head(INTERPRETER)}{_row("argument", "arguments", "width_in")}{_row("result", "results", "width_out")}\
  %handle.base = inttoptr i64 %handles to ptr
  %place = getelementptr i64, ptr %handle.base, i64 %k
  %handle = load ptr, ptr %place
  %bytes_in = mul i64 %width_in, 8
  %bytes_out = mul i64 %nonzeros, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %argument, ptr %x, i64 %bytes_in, i1 false)
  call void @llvm.memset.p0.i64(ptr %result, i8 -1, i64 %bytes_out, i1 false)
  call void %evaluate(ptr %handle)
  br label %test
test:
  %i = phi i64 [ 0, %evaluate.buffer ], [ %next, %scatter ]
  %more = icmp ult i64 %i, %nonzeros
  br i1 %more, label %scatter, label %done
scatter:
  %p = getelementptr double, ptr %result, i64 %i
  %v = load double, ptr %p
  %r = getelementptr i64, ptr %rows, i64 %i
  %row = load i64, ptr %r
  %q = getelementptr double, ptr %out, i64 %row
  store double %v, ptr %q
  %next = add i64 %i, 1
  br label %test
done:
  store atomic i32 0, ptr %flag release, align 4
  ret void
}}
"""

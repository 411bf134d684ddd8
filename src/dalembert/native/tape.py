"""The instruction tape of a CasADi function as arrays.

CasADi hands out one instruction at a time, which takes Python some microseconds each. All of them are in a vector of
the function object, sixteen bytes each: the operation and three integers, or one integer and a double. The offset of
that vector is found once in a small function, by comparing all of its instructions; in every other function many are
compared. If any of them differs, the instructions are read one by one, as they are in untested versions of CasADi.
Reading them from the serialised text would take as long as all other work on a kernel together.
"""

from __future__ import annotations

import ctypes
import functools
import struct
import sys
from typing import Any

import casadi as ca
import numpy as np

from dalembert.dataclass import dataclass

INSTRUCTION_BYTES = 16  # bytes of an instruction
COMPARED_INSTRUCTIONS = 200
FUNCTION_BYTES, KNOWN, SYSTEM = 1856, "3.8.", "linux"  # bytes of a function in these versions of CasADi, and where


@dataclass(frozen=True)
class Tape:
    """Instructions in order, (n,) each: the operation, the target of its value, and its arguments.

    A constant reads the bits of a double, an input its index. An output reads a value; its target is a row. A missing
    argument is -1. CasADi keeps `slots` values at a time.
    """

    operations: np.ndarray
    targets: np.ndarray
    first: np.ndarray
    second: np.ndarray
    slots: int


def read_tape(function: ca.Function) -> Tape:
    """The tape of a function of one input that returns one column."""
    words = _recall(function)
    if words is None:
        words = np.frombuffer(b"".join(_instruction(function, k) for k in range(function.n_instructions())), np.int32)
    words = words.reshape(-1, 4)
    operations, targets, first, second = (words[:, k].astype(np.int64) for k in range(4))
    constant, given, result = (operations == op for op in (ca.OP_CONST, ca.OP_INPUT, ca.OP_OUTPUT))
    slots = int(targets[~result].max(initial=0)) + 1
    first[constant] = words[constant, 2:].copy().view(np.int64).ravel()
    first[given] = second[given]
    targets[result] = np.array(function.sparsity_out(0).row(), dtype=np.int64)[second[result]]
    second[constant | given | result | (_arities(function, operations)[operations] < 2)] = -1
    return Tape(operations, targets, first, second, slots)


def _arities(function: ca.Function, operations: np.ndarray) -> np.ndarray:
    """Number of values that each operation reads, by number of the operation."""
    where = np.full(int(operations.max(initial=0)) + 1, -1)
    where[operations] = np.arange(len(operations))  # one instruction of each
    return np.array([0 if k < 0 else len(function.instruction_input(k)) for k in where.tolist()], dtype=np.int64)


def _instruction(function: ca.Function, k: int) -> bytes:
    """Instruction k as CasADi writes it; the last four bytes count only if it reads two values."""
    op, reads, writes = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
    if op == ca.OP_CONST:
        return struct.pack("<iid", op, writes[0], function.instruction_constant(k))
    if op == ca.OP_OUTPUT:
        return struct.pack("<4i", op, writes[0], reads[0], writes[1])
    return struct.pack("<4i", op, writes[0], reads[0], reads[-1])


def _recall(function: ca.Function) -> np.ndarray | None:
    """The words (4 n,) of all instructions out of CasADi's memory; None if they are not found there."""
    n, place = function.n_instructions(), _place()
    if n == 0 or place is None:
        return None
    begin, end, last = (_word(_node(function) + place + 8 * k) for k in range(3))
    if end - begin != INSTRUCTION_BYTES * n or last < end:
        return None
    words = np.frombuffer(ctypes.string_at(begin, INSTRUCTION_BYTES * n), np.int32)
    samples = {*range(0, n, max(1, n // COMPARED_INSTRUCTIONS)), n - 1}
    return words if all(_is_same(function, k, words[4 * k : 4 * k + 4].tobytes()) for k in samples) else None


@functools.cache
def _place() -> int | None:
    """Offset in bytes of the vector of instructions in CasADi's function object; None if it is not found.

    A vector is three addresses: where it begins, where it ends, and where the memory for it ends.
    """
    if not ca.CasadiMeta.version().startswith(KNOWN) or sys.platform != SYSTEM:  # the object may be smaller there
        return None
    x = ca.SX.sym("x", 7)
    small = ca.Function("small", [x], [ca.sin(x) * x + 0.5 * x**2 - x[0] / x[1]])
    n, node = small.n_instructions(), _node(small)
    words = [_word(node + place) for place in range(0, FUNCTION_BYTES, 8)]
    for k, (begin, end, last) in enumerate(zip(words, words[1:], words[2:], strict=False)):
        if begin > 0 and end - begin == INSTRUCTION_BYTES * n and last >= end:
            content = ctypes.string_at(begin, INSTRUCTION_BYTES * n)
            if all(_is_same(small, i, content[INSTRUCTION_BYTES * i : INSTRUCTION_BYTES * (i + 1)]) for i in range(n)):
                return 8 * k
    return None


def _node(function: ca.Function) -> int:
    """Address of the node that a function is a handle of."""
    handle: Any = function
    return _word(int(handle.this))


def _word(address: int) -> int:
    return int(ctypes.c_int64.from_address(address).value)


def _is_same(function: ca.Function, k: int, content: bytes) -> bool:
    """Whether the bytes of instruction k are those that CasADi says of it."""
    known = 12 if _reads_one(function, k) else INSTRUCTION_BYTES
    return content[:known] == _instruction(function, k)[:known]


def _reads_one(function: ca.Function, k: int) -> bool:
    """True if instruction k reads one value, so that its last word has no meaning; for an output it is a row."""
    return bool(function.instruction_id(k) != ca.OP_OUTPUT and len(function.instruction_input(k)) == 1)

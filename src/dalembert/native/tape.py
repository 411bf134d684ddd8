"""The instruction tape of a CasADi function as arrays.

CasADi hands out one instruction at a time, which takes Python some microseconds each. All of them stand in its
serialised text, sixteen bytes each: the operation and three integers, or one integer and a double. The text is searched
for the first instruction and compared at many others; if anything differs, as it might in another version of CasADi,
the instructions are asked for one by one.
"""

from __future__ import annotations

import struct

import casadi as ca
import numpy as np

from dalembert.dataclass import dataclass

WIDTH = 16  # bytes of an instruction; a byte is two letters, the lower half first
SAMPLES = 200  # instructions that are compared
TRIES = 50  # places that may look like the first instruction


@dataclass(frozen=True)
class Tape:
    """Instructions in their order, (n,) each: the operation, where its value goes, and what it reads.

    A constant reads the bits of a double, an input its index. An output reads a value; its target is a row. Where
    nothing is read there is -1. CasADi keeps `slots` values at a time.
    """

    operations: np.ndarray
    targets: np.ndarray
    first: np.ndarray
    second: np.ndarray
    slots: int


def read_tape(function: ca.Function, text: str = "") -> Tape:
    """The tape of a function of one input that returns one column; `text` is its serialisation if there is one."""
    words = _decode(function, text)
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
    """How many values each operation reads, by its number."""
    kinds, where = np.unique(operations, return_index=True)
    arities = np.zeros(int(kinds.max(initial=0)) + 1, dtype=np.int64)
    for kind, k in zip(kinds.tolist(), where.tolist(), strict=True):
        arities[kind] = len(function.instruction_input(k))
    return arities


def _instruction(function: ca.Function, k: int) -> bytes:
    """Instruction k as CasADi writes it; the last four bytes count only if it reads two values."""
    op, reads, writes = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
    if op == ca.OP_CONST:
        return struct.pack("<iid", op, writes[0], function.instruction_constant(k))
    if op == ca.OP_OUTPUT:
        return struct.pack("<4i", op, writes[0], reads[0], writes[1])
    return struct.pack("<4i", op, writes[0], reads[0], reads[-1])


def _decode(function: ca.Function, text: str) -> np.ndarray | None:
    """The words (4 n,) of all instructions out of the serialised function; None if they are not found there."""
    n = function.n_instructions()
    if n == 0:
        return None
    text = text or function.serialize()
    expected = {k: _instruction(function, k) for k in (*range(0, n, max(1, n // SAMPLES)), n - 1)}
    known = {k: 12 if _reads_one(function, k) else WIDTH for k in expected}
    head = "".join(chr(97 + (byte & 15)) + chr(97 + (byte >> 4)) for byte in expected[0])
    at = -1
    for _ in range(TRIES):
        at = text.find(head, at + 1)
        if at < 0 or at + 2 * WIDTH * n > len(text):
            return None
        if all(_bytes(text, at + 2 * WIDTH * k, known[k]) == expected[k][: known[k]] for k in expected):
            return np.frombuffer(_bytes(text, at, WIDTH * n), np.int32)
    return None


def _bytes(text: str, at: int, count: int) -> bytes:
    """So many bytes from a place of the text on."""
    letters = np.frombuffer(text[at : at + 2 * count].encode("ascii"), np.uint8) - 97
    return (letters[0::2] | letters[1::2] << 4).tobytes()


def _reads_one(function: ca.Function, k: int) -> bool:
    """Whether instruction k reads one value, so that its last word says nothing; that of an output is a row."""
    return bool(function.instruction_id(k) != ca.OP_OUTPUT and len(function.instruction_input(k)) == 1)

"""CasADi's instruction tape in static single assignment, read one instruction at a time.

CasADi reuses the slots of its work vector, whereas a value here is written once; equal values are one. Long tapes,
which are mostly repetition, are read as arrays (`tape`).
"""

from __future__ import annotations

import struct
from dataclasses import field

import casadi as ca

from dalembert.dataclass import dataclass
from dalembert.native.lookup import PREFIX, WHOLE, Lookup, read_leaf
from dalembert.native.operations import COMMUTATIVE, COPIES, EMITTED, LEAVES, PARTS, TABLE, TURNS


class UnsupportedOperationError(Exception):
    """The tape holds an operation without native code, such as `printme`; for use inside this package."""


@dataclass(frozen=True)
class Program:
    """A tape in static single assignment: value k is `operations[k]` applied to the values `arguments[k]`.

    For a constant `arguments[k]` is (bits of the double,), for an input (index,). `order` lists the values that need
    an instruction, as they are to be computed, and `outputs[k]` the rows of the result that value k is stored to.
    """

    operations: list[int]
    arguments: list[tuple[int, ...]]
    order: list[int]
    outputs: dict[int, list[int]]
    tables: list[Lookup] = field(default_factory=list)


def read_program(function: ca.Function) -> Program:
    """The tape of `function` (one SX input, one output column) with equal values merged."""
    read = _Reading()
    slots: dict[int, int] = {}
    outputs: dict[int, list[int]] = {}
    rows = function.sparsity_out(0).row()
    nodes = None
    for k in range(function.n_instructions()):
        op, inputs = function.instruction_id(k), function.instruction_input(k)
        if op == ca.OP_OUTPUT:
            outputs.setdefault(slots[inputs[0]], []).append(rows[function.instruction_output(k)[1]])
            continue
        targets = function.instruction_output(k)
        if op == ca.OP_CALL:
            nodes = function.instructions_sx() if nodes is None else nodes
            slots.update(zip(targets, read.call(nodes[k].which_function(), slots[inputs[0]]), strict=True))
        elif op in COPIES:
            slots[targets[0]] = slots[inputs[0]]
        elif op == ca.OP_CONST:
            slots[targets[0]] = read.put(op, _bits(function.instruction_constant(k)))
        elif op == ca.OP_INPUT:
            slots[targets[0]] = read.put(op, (inputs[1],))
        elif op in EMITTED:
            slots[targets[0]] = read.put(op, tuple(slots[i] for i in inputs))
        else:
            raise UnsupportedOperationError(f"operation {op} at instruction {k} of `{function.name()}`")
    order = schedule(read.operations, read.arguments)
    if read.tables:
        order = _needed(order, read, outputs)
    return Program(read.operations, read.arguments, order, outputs, list(read.tables.values()))


def _bits(number: float) -> tuple[int, ...]:
    return struct.unpack("<Q", struct.pack("<d", number))


def _needed(order: list[int], read: _Reading, outputs: dict[int, list[int]]) -> list[int]:
    """The values of `order` on which an output depends."""
    needed, stack = set[int](), list(outputs)
    while stack:
        value = stack.pop()
        if value not in needed:
            needed.add(value)
            stack.extend(read.arguments[value] if read.operations[value] not in LEAVES else ())
    return [value for value in order if value in needed]


@dataclass
class _Reading:
    """Values as they are met in a tape, each distinct one once."""

    operations: list[int] = field(default_factory=list)
    arguments: list[tuple[int, ...]] = field(default_factory=list)
    tables: dict[str, Lookup] = field(default_factory=dict)
    known: dict[tuple[int, tuple[int, ...]], int] = field(default_factory=dict)
    wrapped: dict[int, int] = field(default_factory=dict)  # parts of pieces, by their multiples

    def put(self, op: int, values: tuple[int, ...]) -> int:
        """The value of an operation."""
        if self.tables and op in (ca.OP_FLOOR, ca.OP_MUL, ca.OP_DIV):
            part = self._unwrapped(op, values)
            if part is not None:
                return part
        if op in COMMUTATIVE:
            values = tuple(sorted(values))
        value = self.known.setdefault((op, values), len(self.operations))
        if value == len(self.operations):
            self.operations.append(op)
            self.arguments.append(values)
        return value

    def _unwrapped(self, op: int, values: tuple[int, ...]) -> int | None:
        """The part of a piece that floor(part * WHOLE) / WHOLE is, or what stands for floor(part * WHOLE) meanwhile."""
        if op == ca.OP_FLOOR:
            (v,) = values
            factors = self.arguments[v] if self.operations[v] == ca.OP_MUL else ()
            parts = [f for f in factors if self.operations[f] >= TABLE]
            scales = [f for f in factors if (self.operations[f], self.arguments[f]) == (ca.OP_CONST, _bits(WHOLE))]
            if len(parts) == len(scales) == 1:
                self.wrapped[v] = parts[0]
                return v
            return None
        held = [v for v in values if v in self.wrapped]
        scale = [v for v in values if self.operations[v] == ca.OP_CONST]
        inverse = _bits(WHOLE if op == ca.OP_DIV else 1.0 / WHOLE)
        if len(held) == len(scale) == 1 and self.arguments[scale[0]] == inverse:
            return self.wrapped[held[0]]
        return None

    def call(self, function: ca.Function, x: int) -> list[int]:
        """The values that a table returns at x."""
        name = function.name()
        if not name.startswith(PREFIX):
            raise UnsupportedOperationError(f"a call of `{name}`")
        table = self.tables.setdefault(name, read_leaf(function))
        first = TABLE + PARTS * list(self.tables).index(name)
        piece = self.put(first, (x,))
        return [self.put(first + 1 + part, (piece,)) for part in range(table.width)]


def schedule(operations: list[int], arguments: list[tuple[int, ...]]) -> list[int]:
    """Values in tape order, but sines and cosines side by side as far as they do not depend on each other.

    Those that depend on no other come first, after all that does not depend on one, and so on; of one argument they
    are neighbours.
    """
    depth = [0] * len(operations)  # sines and cosines on the way to a value
    for value, op in enumerate(operations):
        if op not in LEAVES:
            depth[value] = max((depth[argument] for argument in arguments[value]), default=0) + (op in TURNS)
    ready = [value for value, op in enumerate(operations) if op not in LEAVES]
    met: dict[int, int] = {}
    for value in ready:
        if operations[value] in TURNS:
            met.setdefault(arguments[value][0], len(met))

    def place(value: int) -> tuple[float, int]:
        if operations[value] in TURNS:
            return depth[value] - 0.5, met[arguments[value][0]]
        return depth[value], 0

    return sorted(ready, key=place)

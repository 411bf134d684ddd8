"""CasADi's instruction tape in static single assignment.

CasADi reuses the slots of its work vector, whereas a value here is written once; equal values are one.
"""

from __future__ import annotations

import struct
from dataclasses import field

import casadi as ca

from dalembert.dataclass import dataclass
from dalembert.native.lookup import PREFIX, WHOLE, Lookup, read_leaf
from dalembert.native.operations import COMMUTATIVE, COPIES, EMITTED, LEAVES, PARTS, TABLE, TURNS
from dalembert.native.tape import read_tape

BITS = 2**64 - 1  # of a double, as an integer without sign


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
    read, outputs = _Reading(), dict[int, list[int]]()
    if function.find_functions(-1):  # calls of tables
        _read_calls(function, read, outputs)
        order = _needed(schedule(read.operations, read.arguments), read, outputs)
    else:
        _read_tape(function, read, outputs)
        order = schedule(read.operations, read.arguments)
    return Program(read.operations, read.arguments, order, outputs, list(read.tables.values()))


def _read_tape(function: ca.Function, read: _Reading, outputs: dict[int, list[int]]) -> None:
    """Read a tape without calls, all at once: to ask CasADi for every instruction takes twice as long."""
    tape, slots = read_tape(function), dict[int, int]()
    instructions = zip(
        *(part.tolist() for part in (tape.operations, tape.targets, tape.first, tape.second)), strict=True
    )
    for k, (op, target, first, second) in enumerate(instructions):
        if op == ca.OP_OUTPUT:
            outputs.setdefault(slots[first], []).append(target)
        elif op in EMITTED:
            slots[target] = read.put(op, (slots[first],) if second < 0 else (slots[first], slots[second]))
        elif op in COPIES:
            slots[target] = slots[first]
        elif op in LEAVES:
            slots[target] = read.put(op, (first & BITS,))
        else:
            raise UnsupportedOperationError(f"operation {op} at instruction {k} of `{function.name()}`")


def _read_calls(function: ca.Function, read: _Reading, outputs: dict[int, list[int]]) -> None:
    """Read a tape with calls of tables, one instruction at a time."""
    slots: dict[int, int] = {}
    rows, nodes = function.sparsity_out(0).row(), function.instructions_sx()
    for k in range(function.n_instructions()):
        op, inputs = function.instruction_id(k), function.instruction_input(k)
        if op == ca.OP_OUTPUT:
            outputs.setdefault(slots[inputs[0]], []).append(rows[function.instruction_output(k)[1]])
            continue
        targets = function.instruction_output(k)
        if op == ca.OP_CALL:
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
        """Part of a piece that equals floor(part * WHOLE) / WHOLE; or floor(part * WHOLE), remembered until divided."""
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
    turned: list[dict[int, list[int]]] = [{}]  # by depth: sines and cosines by argument, as they are met
    others: list[list[int]] = [[]]
    for value, op in enumerate(operations):
        if op in LEAVES:
            continue
        deep = 0
        for argument in arguments[value]:
            deep = max(deep, depth[argument])
        if op in TURNS:
            deep += 1
            if deep == len(others):
                turned.append({})
                others.append([])
            turned[deep].setdefault(arguments[value][0], []).append(value)
        else:
            others[deep].append(value)
        depth[value] = deep
    order = list[int]()
    for turns, rest in zip(turned, others, strict=True):
        for values in turns.values():
            order += values
        order += rest
    return order

"""LLVM IR text of a CasADi instruction tape.

The tape is first brought to static single assignment: CasADi reuses the slots of its work vector, whereas a value here
is written once. Then it is cut into chunks, each one basic block in a function of its own, because LLVM's scheduler and
register allocator are superlinear in the length of a block. A value needed in a later chunk travels through a work
array on the stack of the calling thread, so a kernel may be called from several threads at once.

The text is a function of the tape alone: the object cache hashes it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import field

import casadi as ca

from dalembert.dataclass import dataclass
from dalembert.native.lookup import PREFIX, WHOLE, Lookup, read_leaf
from dalembert.native.sine_cosine import ASIDE, WIDEST, count_lanes, declare_sines, emit_sines

CHUNK = 500  # instructions per basic block; measured, see native.py
STACK_SLOTS = 8192  # 64 kB; secondary threads on macOS have 512 kB of stack in all

# Products and sums may fuse, nothing else: free reordering would break compensated sums and tests for NaN.
_ARITHMETIC = {
    ca.OP_ADD: "fadd contract double {0}, {1}",
    ca.OP_SUB: "fsub contract double {0}, {1}",
    ca.OP_MUL: "fmul contract double {0}, {1}",
    ca.OP_DIV: "fdiv contract double {0}, {1}",
    ca.OP_NEG: "fneg contract double {0}",
    ca.OP_SQ: "fmul contract double {0}, {0}",
    ca.OP_TWICE: "fadd contract double {0}, {0}",
    ca.OP_INV: "fdiv contract double 1.0, {0}",
    ca.OP_FMOD: "frem double {0}, {1}",
}
# Sine and cosine are called where the machine does not fuse products and sums (see `sine_cosine`), one sincos for one
# argument where the libm has it; the others are one or two instructions.
_INTRINSIC = {
    getattr(ca, f"OP_{name.upper()}"): f"llvm.{name}.f64"
    for name in ("sin", "cos", "sqrt", "floor", "ceil", "fabs", "copysign")
} | {ca.OP_FMIN: "llvm.minnum.f64", ca.OP_FMAX: "llvm.maxnum.f64"}
_LIBM = {
    getattr(ca, f"OP_{name.upper()}"): name
    for name in (
        *("exp", "log", "pow", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh"),
        *("atanh", "log1p", "expm1", "hypot", "erf", "remainder"),
    )
} | {ca.OP_CONSTPOW: "pow"}
_CALLS = _INTRINSIC | _LIBM
# Both kinds yield an i1 besides the double 0.0 or 1.0, so that a condition is not compared with zero again.
_COMPARISON = {ca.OP_LT: "olt", ca.OP_LE: "ole", ca.OP_EQ: "oeq", ca.OP_NE: "une"}
_LOGICAL = {ca.OP_NOT: "xor i1 {0}, true", ca.OP_AND: "and i1 {0}, {1}", ca.OP_OR: "or i1 {0}, {1}"}
_BRANCHING = (ca.OP_SIGN, ca.OP_IF_ELSE_ZERO)
COPIES = (ca.OP_ASSIGN, ca.OP_LIFT)
COMMUTATIVE = (ca.OP_ADD, ca.OP_MUL)
EMITTED = frozenset(_ARITHMETIC) | frozenset(_CALLS) | frozenset(_COMPARISON) | {*_LOGICAL, *_BRANCHING}
_LEAVES = (ca.OP_CONST, ca.OP_INPUT)
TURNS = (ca.OP_SIN, ca.OP_COS)
# Operations on table k are numbered from TABLE + k * PARTS: the number of the piece at x, then each part of a piece.
TABLE, PARTS = 1_000, 8

# What object code may refer to: beside the functions named above, those that LLVM lowers instructions to.
EXTERNAL_SYMBOLS = (
    *sorted(set(_LIBM.values())),
    *("sin", "cos", "sincos", "fmod", "floor", "ceil", "fmin", "fmax", "malloc", "free", "memcpy", "memset"),
)


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
            stack.extend(read.arguments[value] if read.operations[value] not in _LEAVES else ())
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
        if op not in _LEAVES:
            depth[value] = max((depth[argument] for argument in arguments[value]), default=0) + (op in TURNS)
    ready = [value for value, op in enumerate(operations) if op not in _LEAVES]
    met: dict[int, int] = {}
    for value in ready:
        if operations[value] in TURNS:
            met.setdefault(arguments[value][0], len(met))

    def place(value: int) -> tuple[float, int]:
        if operations[value] in TURNS:
            return depth[value] - 0.5, met[arguments[value][0]]
        return depth[value], 0

    return sorted(ready, key=place)


def assign_slots(program: Program, chunk_of: dict[int, int], chunks: int) -> tuple[dict[int, int], int]:
    """Work array index of every value that is used in a later chunk than its own, and the length of the array."""
    last_use: dict[int, int] = {}
    for value in program.order:
        for argument in program.arguments[value]:
            if chunk_of.get(argument, chunk_of[value]) != chunk_of[value]:
                last_use[argument] = max(last_use.get(argument, 0), chunk_of[value])
    expiring: list[list[int]] = [[] for _ in range(chunks)]
    slots: dict[int, int] = {}
    free: list[int] = []
    length = 0
    current = 0
    for value in program.order:
        if value not in last_use:
            continue
        # A slot is reused only after the chunk that last reads it, since loads and stores of one chunk are interleaved.
        while current < chunk_of[value]:
            free.extend(slots[v] for v in reversed(expiring[current]))
            current += 1
        if not free:
            free.append(length)
            length += 1
        slots[value] = free.pop()
        expiring[last_use[value]].append(value)
    return slots, length


@dataclass
class Block:
    """The text of one chunk as it grows, and the values it can name."""

    program: Program
    slots: dict[int, int]
    lines: list[str] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    truths: dict[int, str] = field(default_factory=dict)
    widths: set[int] = field(default_factory=set)  # of the vectors of sines and cosines
    label: str = "entry"  # of the basic block that lines are added to
    rows: dict[str, str] = field(default_factory=dict)  # of tables, by the operand that holds the piece

    def name(self, value: int) -> str:
        """The operand text of a value; emits the load if it comes from the input or from an earlier chunk."""
        known = self.names.get(value)
        if known is not None:
            return known
        op, arguments = self.program.operations[value], self.program.arguments[value]
        if op == ca.OP_CONST:
            text = f"0x{arguments[0]:016X}"
        else:
            text = f"%v{value}"
            source, index = ("x", arguments[0]) if op == ca.OP_INPUT else ("work", self.slots[value])
            self.lines.append(f"%p{value} = getelementptr double, ptr %{source}, i64 {index}")
            self.lines.append(f"{text} = load double, ptr %p{value}, align 8")
        self.names[value] = text
        return text

    def truth(self, value: int) -> str:
        """The operand text of `value != 0` as an i1; NaN is true, as in C."""
        if value not in self.truths:
            operand = self.name(value)
            self.lines.append(f"%t{value} = fcmp une double {operand}, 0.0")
            self.truths[value] = f"%t{value}"
        return self.truths[value]

    def store(self, value: int, destination: str, index: int) -> None:
        operand = self.name(value)
        self.lines.append(f"%{destination}p{index} = getelementptr double, ptr %{destination}, i64 {index}")
        self.lines.append(f"store double {operand}, ptr %{destination}p{index}, align 8")

    def compute_all(self, values: Sequence[int], *, fuses: bool) -> None:
        """Emit the instructions of values in order; sines and cosines together if the machine fuses products."""
        for k, value in enumerate(values):
            if value in self.names:
                continue
            if fuses and self.program.operations[value] in TURNS:
                self._turn(self._side_by_side(values[k:]))
            else:
                self.compute(value)

    def _side_by_side(self, values: Sequence[int]) -> list[int]:
        """The first of the values, as long as they are sines and cosines that do not depend on each other."""
        taken: dict[int, None] = {}
        for value in values:
            if self.program.operations[value] not in TURNS or self.program.arguments[value][0] in taken:
                break
            taken[value] = None
        return list(taken)

    def _turn(self, values: Sequence[int]) -> None:
        """Emit sines and cosines, as many arguments at once as there are lanes."""
        operations, arguments = self.program.operations, self.program.arguments
        distinct = list(dict.fromkeys(arguments[value][0] for value in values))
        found: dict[int, tuple[str, str]] = {}
        for k in range(0, len(distinct), WIDEST):
            group = distinct[k : k + WIDEST]
            operands = [self.name(argument) for argument in group]
            prefix = f"w{group[0]}."
            lines, names = emit_sines(prefix, operands)
            self.lines += lines
            self.label = f"{prefix}on"
            self.widths.add(count_lanes(len(group)))
            found |= dict(zip(group, names, strict=True))
        for value in values:
            self.names[value] = found[arguments[value][0]][operations[value] == ca.OP_COS]

    def compute(self, value: int) -> None:
        """Emit the instruction of a value."""
        op, arguments = self.program.operations[value], self.program.arguments[value]
        target = f"%v{value}"
        if op in _ARITHMETIC:
            self.lines.append(f"{target} = " + _ARITHMETIC[op].format(*map(self.name, arguments)))
        elif op in _CALLS:
            operands = ", ".join(f"double {self.name(a)}" for a in arguments)
            self.lines.append(f"{target} = call double @{_CALLS[op]}({operands})")
        elif op in _COMPARISON or op in _LOGICAL:
            if op in _COMPARISON:
                test = f"fcmp {_COMPARISON[op]} double {self.name(arguments[0])}, {self.name(arguments[1])}"
            else:
                test = _LOGICAL[op].format(*map(self.truth, arguments))
            self.lines += [f"%t{value} = {test}", f"{target} = uitofp i1 %t{value} to double"]
            self.truths[value] = f"%t{value}"
        elif op == ca.OP_IF_ELSE_ZERO:
            condition, operand = self.truth(arguments[0]), self.name(arguments[1])
            self.lines.append(f"{target} = select i1 {condition}, double {operand}, double 0.0")
        elif op >= TABLE:
            self._look_up(value, *divmod(op - TABLE, PARTS), self.name(arguments[0]))
        else:
            self._compute_sign(value, self.name(arguments[0]))
        self.names[value] = target

    def _look_up(self, value: int, table: int, part: int, operand: str) -> None:
        # A piece is handed on as a double, like all values: work arrays hold nothing else.
        lookup = self.program.tables[table]
        if part == 0:
            self.lines += [
                f"%i{value} = call i64 @find_{lookup.symbol}(double {operand})",
                f"%v{value} = sitofp i64 %i{value} to double",
            ]
            return
        if operand not in self.rows:
            self.rows[operand] = f"%a{value}"
            self.lines += [
                f"%i{value} = fptosi double {operand} to i64",
                f"%r{value} = mul i64 %i{value}, {lookup.width}",
                f"%a{value} = getelementptr double, ptr @{lookup.symbol}, i64 %r{value}",
            ]
        self.lines += [
            f"%q{value} = getelementptr double, ptr {self.rows[operand]}, i64 {part - 1}",
            f"%v{value} = load double, ptr %q{value}, align 8",
        ]

    def _compute_sign(self, value: int, operand: str) -> None:
        # The argument itself where it is neither positive nor negative: that keeps NaN and the sign of zero.
        self.lines += [
            f"%g{value} = fcmp ogt double {operand}, 0.0",
            f"%l{value} = fcmp olt double {operand}, 0.0",
            f"%s{value} = select i1 %g{value}, double 1.0, double {operand}",
            f"%v{value} = select i1 %l{value}, double -1.0, double %s{value}",
        ]


def _emit_chunks(program: Program, chunk: int, *, fuses: bool) -> tuple[list[Block], int]:
    """Every chunk, and the length of the work array."""
    parts = [program.order[k : k + chunk] for k in range(0, len(program.order), chunk)] or [[]]
    chunk_of = {value: c for c, part in enumerate(parts) for value in part}
    slots, length = assign_slots(program, chunk_of, len(parts))
    blocks = []
    for c, part in enumerate(parts):
        block = Block(program, slots)
        # Inputs and constants that are results themselves belong to no chunk; the first one stores them.
        leaves = [v for v in program.outputs if program.operations[v] in _LEAVES] if c == 0 else []
        block.compute_all(part, fuses=fuses)
        for value in leaves + part:
            for row in program.outputs.get(value, ()):
                block.store(value, "out", row)
            if value in slots:
                block.store(value, "work", slots[value])
        blocks.append(block)
    return blocks, length


def emit_kernel(program: Program, *, chunk: int = CHUNK, fuses: bool) -> str:
    """IR of a module that defines `void kernel(const double* x, double* out)`; x and out must not overlap.

    `chunk` is the most instructions a basic block may hold. `fuses` says that the machine has an instruction for a
    product and a sum.
    """
    blocks, length = _emit_chunks(program, chunk, fuses=fuses)
    bodies = [[ASIDE, *block.lines] if block.widths else block.lines for block in blocks]
    text = declare([program]) + declare_sines(set().union(*(block.widths for block in blocks)))
    head = "define void @kernel(ptr noalias %x, ptr noalias %out) #1 {"
    if len(bodies) == 1:
        return "\n".join([*text, head, *bodies[0], "ret void\n}\n"])
    for c, body in enumerate(bodies):
        parameters = "ptr noalias %x, ptr noalias %out, ptr noalias %work"
        text += [f"define internal void @chunk{c}({parameters}) #2 {{", *body, "ret void\n}"]
    on_stack = length <= STACK_SLOTS
    work = f"alloca double, i64 {length + 1}, align 16" if on_stack else f"call ptr @malloc(i64 {8 * length})"
    text += [head, f"%work = {work}"]
    text += [f"call void @chunk{c}(ptr %x, ptr %out, ptr %work)" for c in range(len(bodies))]
    text += [] if on_stack else ["call void @free(ptr %work)"]
    return "\n".join([*text, "ret void\n}\n"])


def declare(programs: Sequence[Program]) -> list[str]:
    """Attributes, and a declaration of every function the programs call."""
    text = [
        "attributes #0 = { nounwind willreturn memory(none) }",
        "attributes #1 = { nounwind }",
        "attributes #2 = { nounwind noinline }",
        "attributes #3 = { nounwind noinline cold }",
        '!0 = !{!"branch_weights", i32 1000000, i32 1}',
        "declare ptr @malloc(i64) #1",
        "declare void @free(ptr) #1",
    ]
    arity = {
        _CALLS[op]: len(arguments)
        for program in programs
        for op, arguments in zip(program.operations, program.arguments, strict=True)
        if op in _CALLS
    }
    text += [f"declare double @{name}({', '.join(['double'] * n)}) #0" for name, n in sorted(arity.items())]
    return text + [table.emit() for program in programs for table in program.tables]

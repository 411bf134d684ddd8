"""LLVM IR text of a CasADi instruction tape.

A `Program`, the tape in static single assignment, is cut into chunks, each one basic block in a function of its own,
because LLVM's scheduler and register allocator are superlinear in the length of a block. A value needed in a later
chunk travels through a work array on the stack of the calling thread, so a kernel may be called from several threads
at once.

The text is a function of the tape alone: the object cache hashes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import NamedTuple

import casadi as ca

from dalembert.dataclass import dataclass
from dalembert.native.operations import (
    ARITHMETIC,
    CALLS,
    COMPARISON,
    LEAVES,
    LOGICAL,
    PARTS,
    TABLE,
    TURNS,
)
from dalembert.native.program import Program
from dalembert.native.sine_cosine import ASIDE, LANES, call_sines, count_lanes, declare_sines, define_sines, emit_sines

INSTRUCTIONS_PER_BLOCK = 500  # instructions per basic block; measured, see native.py
# Arguments of sines side by side above which these have a function of their own. In line they would be a dozen blocks
# with all the results alive at their end, for which LLVM's register allocator takes longer than for all else together.
APART = 8
# Lines after which a value that lies in memory is loaded again rather than left in a register: LLVM would store it on
# the stack, after a long search for what to put there. For chains of 20 and 50 bodies anything from 30 to 120 is good.
RELOADED_AFTER = 60
STACK_SLOTS = 8192  # 64 kB; secondary threads on macOS have 512 kB of stack in all


def pointer(name: str, base: str, index: str, kind: str = "double") -> str:
    """The line of a pointer to an entry of an array."""
    return f"%{name} = getelementptr {kind}, ptr %{base}, i64 {index}"


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


def distinct_arguments(program: Program, turns: Sequence[int]) -> list[int]:
    """Arguments of sines and cosines, each once."""
    return list(dict.fromkeys(program.arguments[value][0] for value in turns))


def side_by_side(program: Program, values: Sequence[int], first: int) -> list[int]:
    """Values from `first` on, as long as they are sines and cosines that do not depend on each other."""
    taken: dict[int, None] = {}
    for k in range(first, len(values)):
        value = values[k]
        if program.operations[value] not in TURNS or program.arguments[value][0] in taken:
            break
        taken[value] = None
    return list(taken)


def place_turns(program: Program, turns: Sequence[int], first: int) -> tuple[dict[int, int], int]:
    """Slots from `first` on of sines and cosines that are found by calls, and the next free slot.

    A call takes four arguments and leaves four sines, then four cosines.
    """
    place = {}
    for k, argument in enumerate(distinct_arguments(program, turns)):
        group, lane = divmod(k, LANES)
        place[argument] = first + 2 * LANES * group + lane
    slots = {
        value: place[program.arguments[value][0]] + LANES * (program.operations[value] == ca.OP_COS) for value in turns
    }
    return slots, first + 2 * LANES * -(-len(place) // LANES)


@dataclass
class BasicBlock:
    """The text of one chunk as it grows, and the values it can name."""

    program: Program
    slots: dict[int, int]
    lines: list[str] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    truths: dict[int, str] = field(default_factory=dict)
    widths: set[int] = field(default_factory=set)  # of the vectors of sines and cosines
    last_use: dict[int, int] = field(default_factory=dict)  # line at which a value that lies in memory was last used
    apart: bool = False  # whether sines and cosines are found by calls
    label: str = "entry"  # of the basic block that lines are added to
    rows: dict[str, str] = field(default_factory=dict)  # of tables, by the operand that holds the piece

    def name(self, value: int, *, singly: bool = False) -> str:
        """The operand text of a value; emits the load if it comes from the input or from an earlier chunk.

        It emits it again if the value lies in memory and was not used for long. `singly` keeps the compiler from
        loading neighbours as a vector: that waits where they have just been written one by one, as by time loops.
        """
        known, here = self.names.get(value), len(self.lines)
        if known is not None and here - self.last_use.get(value, here) < RELOADED_AFTER:
            if value in self.last_use:
                self.last_use[value] = here
            return known
        op, arguments = self.program.operations[value], self.program.arguments[value]
        if op == ca.OP_CONST:
            text = f"0x{arguments[0]:016X}"
        else:
            again = "" if known is None else f".{here}"
            text = f"%v{value}{again}"
            source, index = ("x", arguments[0]) if op == ca.OP_INPUT else ("work", self.slots[value])
            self.lines.append(pointer(f"p{value}{again}", source, str(index)))
            load = "load volatile" if singly else "load"
            self.lines.append(f"{text} = {load} double, ptr %p{value}{again}, align 8")
            self.last_use[value] = here
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
            if value not in self.names:
                if fuses and self.program.operations[value] in TURNS:
                    self._turn(side_by_side(self.program, values, k))
                else:
                    self.compute(value)
            self.keep(value)

    def keep(self, value: int) -> None:
        """Store a value that is a result, or that a later chunk reads, as soon as it is known: it takes a register."""
        for row in self.program.outputs.get(value, ()):
            self.store(value, "out", row)
        if value in self.slots:
            self.store(value, "work", self.slots[value])
            self.last_use[value] = len(self.lines)

    def _turn(self, values: Sequence[int]) -> None:
        """Emit sines and cosines, as many arguments at once as there are lanes."""
        operations, arguments = self.program.operations, self.program.arguments
        distinct = distinct_arguments(self.program, values)
        found: dict[int, tuple[str, str]] = {}
        for k in range(0, len(distinct), LANES):
            group = distinct[k : k + LANES]
            operands = [self.name(argument, singly=True) for argument in group]
            prefix = f"w{group[0]}."
            lines, names = emit_sines(prefix, operands)
            self.lines += lines
            self.label = f"{prefix}on"
            self.widths.add(count_lanes(len(group)))
            found |= dict(zip(group, names, strict=True))
        for value in values:
            self.names[value] = found[arguments[value][0]][operations[value] == ca.OP_COS]

    def turn_apart(self, values: Sequence[int], first: int) -> None:
        """Emit calls that leave sines and cosines in the work array, from slot `first` on as `place_turns` says."""
        distinct = distinct_arguments(self.program, values)
        for k in range(0, len(distinct), LANES):
            group = distinct[k : k + LANES]
            self.lines += call_sines(f"w{group[0]}.", [self.name(argument) for argument in group], first + 2 * k)
        self.apart = True
        for value in values:
            for row in self.program.outputs.get(value, ()):
                self.store(value, "out", row)

    def compute(self, value: int) -> None:
        """Emit the instruction of a value."""
        op, arguments = self.program.operations[value], self.program.arguments[value]
        target = f"%v{value}"
        if op in ARITHMETIC:
            self.lines.append(f"{target} = " + ARITHMETIC[op].format(*map(self.name, arguments)))
        elif op in CALLS:
            operands = ", ".join(f"double {self.name(a)}" for a in arguments)
            self.lines.append(f"{target} = call double @{CALLS[op]}({operands})")
        elif op in COMPARISON or op in LOGICAL:
            if op in COMPARISON:
                test = f"fcmp {COMPARISON[op]} double {self.name(arguments[0])}, {self.name(arguments[1])}"
            else:
                test = LOGICAL[op].format(*map(self.truth, arguments))
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


def _cut(program: Program, chunk: int, *, fuses: bool) -> Iterator[tuple[list[int], bool]]:
    """Values in order, in parts of at most `chunk`; many sines side by side are a part, marked as such."""
    order, since, end = program.order, 0, 0
    for k in [k for k, value in enumerate(order) if program.operations[value] in TURNS] if fuses else []:
        if k < end:  # side by side with the one before
            continue
        turns = side_by_side(program, order, k)
        end = k + len(turns)
        if len(distinct_arguments(program, turns)) > APART:
            yield from ((order[i : min(i + chunk, k)], False) for i in range(since, k, chunk))
            yield turns, True
            since = end
    yield from ((order[i : i + chunk], False) for i in range(since, len(order), chunk))


def _emit_chunks(program: Program, chunk: int, *, fuses: bool) -> tuple[list[BasicBlock], int]:
    """Every chunk, and the length of the work array."""
    parts = list(_cut(program, chunk, fuses=fuses)) or [([], False)]
    chunk_of = {value: c for c, (part, _) in enumerate(parts) for value in part}
    slots, length = assign_slots(program, chunk_of, len(parts))
    blocks = []
    for c, (part, apart) in enumerate(parts):
        block = BasicBlock(program, slots)
        if c == 0:  # inputs and constants that are results themselves belong to no chunk
            for leaf in program.outputs:
                if program.operations[leaf] in LEAVES:
                    block.keep(leaf)
        if apart:
            own, end = place_turns(program, part, length)
            slots |= own
            block.turn_apart(part, length)
            length = end
        else:
            block.compute_all(part, fuses=fuses)
        blocks.append(block)
    return blocks, length


class Chunks(NamedTuple):
    """Functions of (x, out, work) that compute a program one after the other: their names and text.

    `allocate` is the line that makes their work array, `release` what frees it. `widths` are those of their vectors of
    sines and cosines, which are `apart` if they are found by calls.
    """

    names: list[str]
    text: list[str]
    allocate: str
    release: list[str]
    widths: set[int]
    apart: bool


def emit_chunks(program: Program, name: str, *, chunk: int = INSTRUCTIONS_PER_BLOCK, fuses: bool) -> Chunks:
    """The chunks of a program, called `name` and a number."""
    blocks, length = _emit_chunks(program, chunk, fuses=fuses)
    parameters, text = "ptr noalias %x, ptr noalias %out, ptr noalias %work", list[str]()
    for c, block in enumerate(blocks):
        body = [ASIDE, *block.lines] if block.widths else block.lines
        text += [f"define internal void @{name}{c}({parameters}) #2 {{", *body, "ret void\n}"]
    on_stack, apart = length <= STACK_SLOTS, any(block.apart for block in blocks)
    work = f"alloca double, i64 {length + 1}, align 16" if on_stack else f"call ptr @malloc(i64 {8 * length})"
    widths = set[int]().union(*(block.widths for block in blocks), {LANES} if apart else ())
    release = [] if on_stack else ["call void @free(ptr %work)"]
    return Chunks([f"{name}{c}" for c in range(len(blocks))], text, f"%work = {work}", release, widths, apart)


def emit_kernel(program: Program, *, chunk: int = INSTRUCTIONS_PER_BLOCK, fuses: bool) -> str:
    """IR of a module that defines `void kernel(const double* x, double* out)`; x and out must not overlap.

    `chunk` is the most instructions a basic block may hold. `fuses` says that the machine has an instruction for a
    product and a sum.
    """
    found = emit_chunks(program, "chunk", chunk=chunk, fuses=fuses)
    text = declare([program]) + declare_sines(found.widths)
    text += define_sines() if found.apart else []
    head = "define void @kernel(ptr noalias %x, ptr noalias %out) #1 {"
    if len(found.names) == 1 and not found.apart:
        return "\n".join([*text, head, *found.text[1:]]) + "\n"
    calls = [f"call void @{name}(ptr %x, ptr %out, ptr %work)" for name in found.names]
    return "\n".join([*text, *found.text, head, found.allocate, *calls, *found.release, "ret void\n}\n"])


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
        CALLS[op]: len(arguments)
        for program in programs
        for op, arguments in zip(program.operations, program.arguments, strict=True)
        if op in CALLS
    }
    text += [f"declare double @{name}({', '.join(['double'] * n)}) #0" for name, n in sorted(arity.items())]
    return text + [table.emit() for program in programs for table in program.tables]

"""Machine code of a sum over instances: for each term a loop that gathers arguments, computes, and adds the results.

The text is a function of the terms' graphs alone; tables say where instances read and write. So models of the same
kinds share their object code whatever their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from dalembert.native.kernel import Kernel, Use, fuses, load_bound
from dalembert.native.llvm_ir import BasicBlock, Chunks, declare, emit_chunks, pointer
from dalembert.native.object_cache import ObjectCache
from dalembert.native.program import Program, read_program
from dalembert.native.sine_cosine import ASIDE, declare_sines, define_sines

IN_REGISTERS = 500  # instructions of a term that are one basic block
TABLES = {"reads": np.int32, "writes": np.int32, "numbers": np.float64}  # of a term, behind its count in `bound`


class Term(NamedTuple):
    """A function of one column, and where its n instances read and write.

    Arguments of an instance from number `first` on are its `numbers` (n, ...), the others are read at `reads` (n, ...),
    in order. Result j is added at `writes[:, j]`; in columns that are `alone`, nothing else is added there.
    """

    function: ca.Function
    reads: np.ndarray
    numbers: np.ndarray
    first: int
    writes: np.ndarray
    alone: np.ndarray

    def arguments(self, x: np.ndarray) -> np.ndarray:
        """Arguments of all instances at x, (n_in, n)."""
        read = x[self.reads]
        return np.concatenate([read[:, : self.first], self.numbers, read[:, self.first :]], axis=1).T


def compile_sum(terms: Sequence[Term], n_in: int, n_out: int, use: Use) -> Kernel:
    """The kernel of the sum of terms: x has `n_in` entries, the result `n_out`."""
    programs = [read_program(term.function) for term in terms]
    arrays, values = [], {"n_out": n_out}
    for k, term in enumerate(terms):
        tables = {name: np.ascontiguousarray(getattr(term, name), dtype=kind) for name, kind in TABLES.items()}
        values |= {f"count{k}": len(term.reads)} | {f"{name}{k}": table.ctypes.data for name, table in tables.items()}
        arrays.append(tables)
    text = _module([*zip(programs, terms, strict=True)])
    address, engine = load_bound(text, use.level, ObjectCache(), values)
    instructions = sum(term.function.n_instructions() for term in terms)
    lookups = [lookup for program in programs for lookup in program.tables]
    return Kernel(address, n_in, n_out, "instances", instructions, (engine, arrays, lookups))


def _module(terms: Sequence[tuple[Program, Term]]) -> str:
    text, widths, apart = declare([program for program, _ in terms]), set[int](), False
    for k, (program, term) in enumerate(terms):
        if len(program.order) <= IN_REGISTERS:
            lines, own = _short(k, program, term)
        else:
            lines, own, calls = _long(k, program, term)
            apart = apart or calls
        text += lines
        widths |= own
    text += declare_sines(widths) + (define_sines() if apart else [])
    return "\n".join([*text, *_driver(len(terms))]) + "\n"


_ARGUMENTS = (
    "ptr noalias %x, ptr noalias %out, i64 %count, ptr noalias %reads, ptr noalias %writes, ptr noalias %numbers"
)


def _short(number: int, program: Program, term: Term) -> tuple[list[str], set[int]]:
    """A term whose values stay in registers; also the widths of its vectors of sines."""
    lines, names = list[str](), dict[int, str]()
    for value, op in enumerate(program.operations):
        if op == ca.OP_INPUT:
            lines += _argument(f"v{value}", program.arguments[value][0], term)
            names[value] = f"%v{value}"
    block = BasicBlock(
        Program(program.operations, program.arguments, program.order, {}), {}, lines, names, label="loop"
    )
    block.compute_all(program.order, fuses=fuses())
    for value, rows in program.outputs.items():
        for row in rows:
            lines += _write(block.name(value), row, term)
    return _loop(number, [ASIDE] if block.widths else [], lines, block.label, term), block.widths


def _long(number: int, program: Program, term: Term) -> tuple[list[str], set[int], bool]:
    """A term in several basic blocks, which read and write arrays of an instance's own; also if sines are apart."""
    chunks: Chunks = emit_chunks(program, f"term{number}.chunk", fuses=fuses())
    n_in, n_out = term.function.nnz_in(), term.function.nnz_out()
    head = [f"%{name} = alloca double, i64 {size + 1}, align 16" for name, size in (("in", n_in), ("own", n_out))]
    head.append(chunks.allocate)
    lines = list[str]()
    for k in range(n_in):
        lines += [
            *_argument(f"v{k}", k, term),
            pointer(f"ip{k}", "in", str(k)),
            f"store double %v{k}, ptr %ip{k}, align 8",
        ]
    lines += [f"call void @{name}(ptr %in, ptr %own, ptr %work)" for name in chunks.names]
    for k in range(n_out):
        lines += [
            pointer(f"rp{k}", "own", str(k)),
            f"%r{k} = load double, ptr %rp{k}, align 8",
            *_write(f"%r{k}", k, term),
        ]
    return [*chunks.text, *_loop(number, head, lines, "loop", term, chunks.release)], chunks.widths, chunks.apart


def _loop(number: int, head: list[str], body: list[str], label: str, term: Term, tail: Sequence[str] = ()) -> list[str]:
    """The function of a term: `body` for every instance."""
    widths = {"r": term.reads.shape[1], "w": term.writes.shape[1], "n": term.numbers.shape[1]}
    kinds = {"r": ("reads", "i32"), "w": ("writes", "i32"), "n": ("numbers", "double")}
    rows = []
    for key, (base, kind) in kinds.items():
        rows += [f"%{key}w = mul i64 %i, {widths[key]}", pointer(f"{key}row", base, f"%{key}w", kind)]
    return [
        f"define internal void @term{number}({_ARGUMENTS}) #2 {{", "entry:", *head, "br label %loop", "loop:",
        f"%i = phi i64 [ 0, %entry ], [ %next, %{label} ]", *rows, *body,
        "%next = add i64 %i, 1", "%more = icmp ult i64 %next, %count", "br i1 %more, label %loop, label %done",
        "done:", *tail, "ret void\n}",
    ]  # fmt: skip


def _argument(name: str, index: int, term: Term) -> list[str]:
    """Lines that load an argument of an instance."""
    many = term.numbers.shape[1]
    if term.first <= index < term.first + many:
        return [
            pointer(f"{name}.p", "nrow", str(index - term.first)),
            f"%{name} = load double, ptr %{name}.p, align 8",
        ]
    at = index if index < term.first else index - many
    return [
        pointer(f"{name}.t", "rrow", str(at), "i32"), f"%{name}.i = load i32, ptr %{name}.t, align 4",
        f"%{name}.l = zext i32 %{name}.i to i64", pointer(f"{name}.p", "x", f"%{name}.l"),
        f"%{name} = load double, ptr %{name}.p, align 8",
    ]  # fmt: skip


def _write(operand: str, row: int, term: Term) -> list[str]:
    """Lines that add a value to the result where the instance says."""
    place = [
        pointer(f"o{row}.t", "wrow", str(row), "i32"), f"%o{row}.i = load i32, ptr %o{row}.t, align 4",
        f"%o{row}.l = zext i32 %o{row}.i to i64", pointer(f"o{row}.p", "out", f"%o{row}.l"),
    ]  # fmt: skip
    if term.alone[row]:
        return [*place, f"store double {operand}, ptr %o{row}.p, align 8"]
    before = f"%o{row}.before = load double, ptr %o{row}.p, align 8"
    return [
        *place,
        before,
        f"%o{row} = fadd double %o{row}.before, {operand}",
        f"store double %o{row}, ptr %o{row}.p, align 8",
    ]


def _driver(terms: int) -> list[str]:
    """`kernel`: clears the result and lets every term add to it, with the tables that the global `bound` names."""
    size = 1 + (1 + len(TABLES)) * terms
    lines = [
        f"@bound = global [{size} x i64] zeroinitializer",
        "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
        "define void @kernel(ptr noalias %x, ptr noalias %out) #1 {",
        "%n_out = load i64, ptr @bound", "%bytes = mul i64 %n_out, 8",
        "call void @llvm.memset.p0.i64(ptr %out, i8 0, i64 %bytes, i1 false)",
    ]  # fmt: skip
    for k in range(terms):
        for j, name in enumerate(("count", *TABLES)):
            kind = "i64" if name == "count" else "ptr"
            lines.append(
                f"%{name}{k} = load {kind}, ptr getelementptr (i64, ptr @bound, i64 {1 + (1 + len(TABLES)) * k + j})"
            )
        given = f"ptr %x, ptr %out, i64 %count{k}, ptr %reads{k}, ptr %writes{k}, ptr %numbers{k}"
        lines.append(f"call void @term{k}({given})")
    return [*lines, "ret void\n}"]

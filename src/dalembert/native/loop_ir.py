"""LLVM IR of a tape in equal shapes: a loop for each shape, and tables of where its instances read and write.

The text is a function of the shapes alone, so that models of the same parts share their object code whatever their
number. `InstanceTables` hold what differs: a list of calls, and for each call the places and constants of its
instances. Slots that are the same in all instances of a run are read once, before its loop; a constant that is the same
in all runs of a shape stands in the code.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.dataclass import dataclass
from dalembert.native.llvm_ir import BasicBlock, declare, pointer
from dalembert.native.loop_turns import Turns, emit_turns, take_turns
from dalembert.native.loop_widening import widen
from dalembert.native.program import BITS, Program, schedule
from dalembert.native.repetition import CONSTANT, INPUT, LongSum, Repetition, Run, Shape, parse
from dalembert.native.sine_cosine import ASIDE, LANES, declare_sines

_LEAVES = (ca.OP_CONST, ca.OP_INPUT)
FIELDS = ("shape", "many", "first", "constant", "uniform")  # of a call; the last three say where its tables start


@dataclass(frozen=True)
class InstanceTables:
    """Calls (n, 5), places and constants of all instances, in the order they are read."""

    calls: np.ndarray
    places: np.ndarray
    constants: np.ndarray


@dataclass
class _Form:
    """A shape read back: a program of leaves and operations, and which of its slots differ between instances."""

    program: Program
    slots: list[int]  # kind of each slot, which is value k of the program
    results: list[int]  # values to store as results
    kept: list[int]  # values to keep
    varying: list[bool]  # by place: slots that are places, then results, then kept
    varying_constants: list[bool]


def emit_loops(repetition: Repetition, *, fuses: bool) -> tuple[str, InstanceTables]:
    """IR of a module that defines `void body(x, out, kept, calls, places, constants, count)`, and its tables.

    `fuses` says that the machine has an instruction for a product and a sum.
    """
    by_shape: dict[Shape, list[Run]] = {}
    runs, turns = take_turns(repetition) if fuses else (repetition.runs, [])
    runs = widen(runs)
    for run in runs:
        by_shape.setdefault(run.shape, []).append(run)
    numbers = {shape: k for k, shape in enumerate(by_shape)}
    forms = [_read(shape, runs) for shape, runs in by_shape.items()]
    text, widths = declare([form.program for form in forms]), set[int]()
    for k, form in enumerate(forms):
        lines, needed = _loop(k, form, fuses=fuses)
        text += lines
        widths |= needed
    text += declare_sines(widths | {LANES} if turns else widths)
    text += _sum_loop(len(forms))
    sources = {source: len(forms) + 1 + k for k, source in enumerate(sorted({one.source for one in turns}))}
    for source, k in sources.items():
        text += emit_turns(f"shape{k}", _SIGNATURE, source)
    text += _driver(len(forms) + 1 + len(sources))
    tables = _tabulate(runs, numbers, forms, repetition.sums, [(sources[one.source], one) for one in turns])
    return "\n".join(text) + "\n", tables


def _read(shape: Shape, runs: list[Run]) -> _Form:
    """The program of a shape; its leaves come first, slot by slot."""
    kinds, body = parse(shape)
    operations, arguments = list[int](), list[tuple[int, ...]]()
    constants = np.concatenate([run.constants for run in runs])
    varying_constants, c = list[bool](), 0
    for kind in kinds:
        if kind == CONSTANT:
            column = constants[:, c]
            varying_constants.append(bool((column != column[0]).any()))
            operations.append(ca.OP_INPUT if varying_constants[-1] else ca.OP_CONST)
            arguments.append((int(column[0]) & BITS,))
            c += 1
        else:
            operations.append(ca.OP_INPUT)
            arguments.append((0,))
    first, results, kept, named = len(kinds), list[int](), list[int](), list[int]()
    for op, codes, rows, is_kept in body:
        values = tuple(code // 4 if code % 4 else named[code // 4] for code in codes)
        if op in _LEAVES:
            value = values[0]
        else:
            value = len(operations)
            operations.append(op)
            arguments.append(values)
        named.append(value)
        results += [value] * rows
        kept += [value] * is_kept
    varying = np.zeros(first - c + len(results) + len(kept), dtype=bool)
    for run in runs:
        varying |= (run.places != run.places[0]).any(axis=0)
    varying[first - c :] = True  # output places differ between instances
    program = Program(operations, arguments, schedule(operations, arguments), {})
    return _Form(program, kinds, results, kept, varying.tolist(), varying_constants)


def _loop(number: int, form: _Form, *, fuses: bool) -> tuple[list[str], set[int]]:
    """Function of one shape: loads the values shared by all instances, then loops over the instances.

    Also returns the widths of its vectors of sines and cosines.
    """
    width, constant_width = sum(form.varying), sum(form.varying_constants)
    outer, inner, names = list[str](), list[str](), dict[int, str]()
    place = constant = shared = 0
    here = there = 0  # next place and constant of an instance
    for value, kind in enumerate(form.slots):
        if kind == CONSTANT:
            if form.varying_constants[constant]:
                inner += [pointer(f"cp{value}", "c", str(there)), f"%v{value} = load double, ptr %cp{value}, align 8"]
                names[value] = f"%v{value}"
                there += 1
            constant += 1
            continue
        base, varies = ("x" if kind == INPUT else "kept"), form.varying[place]
        lines, table, at = (inner, "p", here) if varies else (outer, "uniform", shared)
        lines += _gather(value, table, at, base)
        names[value] = f"%v{value}"
        place, here, shared = place + 1, here + varies, shared + (not varies)
    block = BasicBlock(form.program, {}, inner, names, label="loop")
    block.compute_all(form.program.order, fuses=fuses)
    for base, values in (("out", form.results), ("kept", form.kept)):
        for value in values:
            operand, k = block.name(value), here
            inner += [
                pointer(f"ip{k}", "p", str(k), "i32"), f"%is{k} = load i32, ptr %ip{k}, align 4",
                f"%il{k} = zext i32 %is{k} to i64", pointer(f"op{k}", base, f"%il{k}"),
                f"store double {operand}, ptr %op{k}, align 8",
            ]  # fmt: skip
            here += 1
    aside = [ASIDE] if block.widths else []
    return [
        f"define internal void @shape{number}({_SIGNATURE}) #2 {{", "entry:", *aside, *outer, "br label %loop", "loop:",
        f"%i = phi i64 [ 0, %entry ], [ %next, %{block.label} ]",
        f"%pw = mul i64 %i, {width}", pointer("p", "places", "%pw", "i32"),
        f"%cw = mul i64 %i, {constant_width}", pointer("c", "constants", "%cw"),
        *inner, "%next = add i64 %i, 1", "%more = icmp ult i64 %next, %count",
        "br i1 %more, label %loop, label %done", "done:", "ret void\n}",
    ], block.widths  # fmt: skip


_SIGNATURE = (
    "ptr noalias %x, ptr noalias %out, ptr noalias %kept, i64 %count, ptr noalias %places, ptr noalias %constants, "
    "ptr noalias %uniform"
)


def _gather(value: int, table: str, at: int, base: str) -> list[str]:
    return [
        pointer(f"lp{value}", table, str(at), "i32"), f"%ls{value} = load i32, ptr %lp{value}, align 4",
        f"%ll{value} = zext i32 %ls{value} to i64", pointer(f"vp{value}", base, f"%ll{value}"),
        f"%v{value} = load double, ptr %vp{value}, align 8",
    ]  # fmt: skip


def _sum_loop(number: int) -> list[str]:
    """A long sum: `count` terms; uniform are the target, the first term to subtract, the number of rows, the rows."""
    return f"""define internal void @shape{number}({_SIGNATURE}) #2 {{
entry:
  %pp = getelementptr i32, ptr %uniform, i64 1
  %ps = load i32, ptr %pp, align 4
  %positive = zext i32 %ps to i64
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %total = phi double [ 0.0, %entry ], [ %sum, %loop ]
  %ip = getelementptr i32, ptr %places, i64 %i
  %is = load i32, ptr %ip, align 4
  %il = zext i32 %is to i64
  %vp = getelementptr double, ptr %kept, i64 %il
  %v = load double, ptr %vp, align 8
  %minus = fneg double %v
  %added = icmp ult i64 %i, %positive
  %signed = select i1 %added, double %v, double %minus
  %sum = fadd double %total, %signed
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %write
write:
  %ts = load i32, ptr %uniform, align 4
  %tl = zext i32 %ts to i64
  %tp = getelementptr double, ptr %kept, i64 %tl
  store double %sum, ptr %tp, align 8
  %np = getelementptr i32, ptr %uniform, i64 2
  %ns = load i32, ptr %np, align 4
  %rows = zext i32 %ns to i64
  br label %test
test:
  %k = phi i64 [ 0, %write ], [ %after, %store ]
  %left = icmp ult i64 %k, %rows
  br i1 %left, label %store, label %done
store:
  %at = add i64 %k, 3
  %rp = getelementptr i32, ptr %uniform, i64 %at
  %rs = load i32, ptr %rp, align 4
  %rl = zext i32 %rs to i64
  %op = getelementptr double, ptr %out, i64 %rl
  store double %sum, ptr %op, align 8
  %after = add i64 %k, 1
  br label %test
done:
  ret void
}}""".splitlines()


def _driver(shapes: int) -> list[str]:
    """`body`: one call after the other, as the table says."""
    arrays = ", ".join(f"ptr noalias %{name}" for name in ("x", "out", "kept", "calls", "places", "constants"))
    lines = [
        f"define void @body({arrays}, i64 %count) #1 {{",
        "entry:", "%any = icmp ugt i64 %count, 0", "br i1 %any, label %loop, label %done", "loop:",
        "%i = phi i64 [ 0, %entry ], [ %next, %step ]",
        f"%at = mul i64 %i, {len(FIELDS)}", "%call = getelementptr i64, ptr %calls, i64 %at",
    ]  # fmt: skip
    for k, name in enumerate(FIELDS):
        lines += [pointer(f"{name}p", "call", str(k), "i64"), f"%{name} = load i64, ptr %{name}p, align 8"]
    lines += [
        pointer("pp", "places", "%first", "i32"), pointer("cp", "constants", "%constant"),
        pointer("up", "places", "%uniform", "i32"),
        f"switch i64 %shape, label %step [ {' '.join(f'i64 {k}, label %run{k}' for k in range(shapes))} ]",
    ]  # fmt: skip
    for k in range(shapes):
        given = "ptr %x, ptr %out, ptr %kept, i64 %many, ptr %pp, ptr %cp, ptr %up"
        lines += [f"run{k}:", f"call void @shape{k}({given})", "br label %step"]
    return [
        *lines, "step:", "%next = add i64 %i, 1", "%more = icmp ult i64 %next, %count",
        "br i1 %more, label %loop, label %done", "done:", "ret void\n}",
    ]  # fmt: skip


def _tabulate(
    runs: list[Run], numbers: dict[Shape, int], forms: list[_Form], sums: list[LongSum], turns: list[tuple[int, Turns]]
) -> InstanceTables:
    """The calls from the highest level down, each with its tables."""
    calls: list[tuple[int, list[int]]] = []  # level, and the call
    places: list[np.ndarray] = []
    constants: list[np.ndarray] = []
    filled = used = 0

    def put(array: np.ndarray) -> int:
        nonlocal filled
        places.append(array.ravel().astype(np.int32))
        filled += array.size
        return filled - array.size

    for run in runs:
        form, rows = forms[numbers[run.shape]], run.places
        varying = np.array(form.varying, dtype=bool)
        first, uniform = put(rows[:, varying]), put(rows[0, ~varying])
        values = run.constants[:, form.varying_constants]
        constants.append(values.ravel().view(np.float64))
        calls.append((run.level, [numbers[run.shape], len(rows), first, used, uniform]))
        used += values.size
    for number, one in turns:
        calls.append((one.level, [number, len(one.places), put(one.places), 0, 0]))
    for found in sums:
        first = put(found.terms)
        uniform = put(np.array([found.target, found.positive, len(found.rows), *found.rows]))
        calls.append((found.level, [len(forms), len(found.terms), first, 0, uniform]))
    calls.sort(key=lambda call: -call[0])
    return InstanceTables(
        np.array([call for _, call in calls], dtype=np.int64).reshape(-1, len(FIELDS)),
        np.concatenate([*places, np.zeros(1, dtype=np.int32)]),
        np.concatenate([*constants, np.zeros(1)]),
    )

"""JavaScript text of a CasADi instruction tape: one statement per instruction, for pages that compute by themselves.

The same program that becomes LLVM IR. It is cut into functions of `STATEMENTS_PER_FUNCTION` statements, because engines
do not optimise functions of more than about 60 kB of bytecode; a value needed in a later one travels through an array
`w`. Tables are arrays of their own, under the symbols of their content: `emit_tables` writes each once for all kernels.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable

import casadi as ca

from dalembert.native.llvm_ir import assign_slots
from dalembert.native.lookup import Lookup
from dalembert.native.operations import PARTS, TABLE
from dalembert.native.program import Program, UnsupportedOperationError

STATEMENTS_PER_FUNCTION = 1000  # statements per function

_ARITHMETIC = {
    ca.OP_ADD: "{0}+{1}",
    ca.OP_SUB: "{0}-{1}",
    ca.OP_MUL: "{0}*{1}",
    ca.OP_DIV: "{0}/{1}",
    ca.OP_NEG: "-{0}",
    ca.OP_SQ: "{0}*{0}",
    ca.OP_TWICE: "{0}+{0}",
    ca.OP_INV: "1/{0}",
    ca.OP_FMOD: "{0}%{1}",
    ca.OP_LT: "{0}<{1}?1:0",
    ca.OP_LE: "{0}<={1}?1:0",
    ca.OP_EQ: "{0}==={1}?1:0",
    ca.OP_NE: "{0}!=={1}?1:0",
    ca.OP_NOT: "{0}===0?1:0",
    ca.OP_AND: "{0}!==0&&{1}!==0?1:0",
    ca.OP_OR: "{0}!==0||{1}!==0?1:0",
    ca.OP_IF_ELSE_ZERO: "{0}!==0?{1}:0",
    # As C has them: a NaN beside a number gives the number.
    ca.OP_FMIN: "{1}!=={1}||{0}<={1}?{0}:{1}",
    ca.OP_FMAX: "{1}!=={1}||{0}>={1}?{0}:{1}",
    ca.OP_COPYSIGN: "({1}<0||1/{1}<0)?-Math.abs({0}):Math.abs({0})",
    ca.OP_FABS: "Math.abs({0})",
    ca.OP_CONSTPOW: "Math.pow({0},{1})",
}
_CALLS = {
    getattr(ca, f"OP_{name.upper()}"): f"Math.{name}"
    for name in (
        *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
        *("exp", "log", "pow", "sqrt", "floor", "ceil", "log1p", "expm1", "hypot", "sign"),
    )
}
_NAMES = {ca.OP_ERF: "erf", ca.OP_REMAINDER: "remainder"}

# The number of the last piece that begins at x or before; NaN counts as lying before all breaks. Row 0 repeats the
# first break.
_FIND = """function findPiece(rows,width,x){
let lo=0,hi=rows.length/width-1;
while(lo<hi){const mid=(lo+hi+1)>>1;if(rows[mid*width]<=x)lo=mid;else hi=mid-1;}
return lo;}
"""


def emit_tables(programs: Iterable[Program]) -> str:
    """Text that defines the tables of programs, each once, and how a piece of one is found; empty without tables."""
    tables = {table.symbol: table for program in programs for table in program.tables}
    rows = [
        f"const {t.symbol}=Float64Array.from([{','.join(map(repr, t.rows.ravel().tolist()))}]);\n"
        for t in tables.values()
    ]
    return _FIND + "".join(rows) if rows else ""


def emit_javascript(program: Program, name: str, *, chunk: int = STATEMENTS_PER_FUNCTION) -> str:
    """Text that defines `name(x, out)`, both Float64Array; raises `UnsupportedOperationError` for erf and remainder.

    The tables that it reads are defined by `emit_tables`.
    """
    parts = [program.order[k : k + chunk] for k in range(0, len(program.order), chunk)] or [[]]
    chunk_of = {value: c for c, part in enumerate(parts) for value in part}
    slots, length = assign_slots(program, chunk_of, len(parts))
    functions = []
    for c, part in enumerate(parts):
        leaves = [v for v in program.outputs if v not in chunk_of] if c == 0 else []
        body = "".join(_statements(program, [*leaves, *part], slots))
        functions.append(
            f"function {name}{c if len(parts) > 1 else ''}(x,out{',w' if len(parts) > 1 else ''}){{{body}}}\n"
        )
    if len(parts) == 1:
        return functions[0]
    calls = "".join(f"{name}{c}(x,out,{name}_w);" for c in range(len(parts)))
    return f"{''.join(functions)}const {name}_w=new Float64Array({length});\nfunction {name}(x,out){{{calls}}}\n"


def _statements(program: Program, part: list[int], slots: dict[int, int]) -> list[str]:
    """The statements of one function."""
    text: list[str] = []
    named: dict[int, str] = {}

    def operand(value: int) -> str:
        if value not in named:
            op, arguments = program.operations[value], program.arguments[value]
            if op == ca.OP_CONST:
                named[value] = _number(arguments[0])
            else:
                named[value] = f"v{value}"
                source = f"x[{arguments[0]}]" if op == ca.OP_INPUT else f"w[{slots[value]}]"
                text.append(f"const v{value}={source};\n")
        return named[value]

    for value in part:
        op = program.operations[value]
        if op not in (ca.OP_CONST, ca.OP_INPUT):
            operands = [operand(a) for a in program.arguments[value]]
            text.append(f"const v{value}={_expression(op, operands, program.tables)};\n")
            named[value] = f"v{value}"
        name = operand(value) if value in program.outputs or value in slots else ""
        text += [f"out[{row}]={name};\n" for row in program.outputs.get(value, ())]
        if value in slots:
            text.append(f"w[{slots[value]}]={name};\n")
    return text


def _expression(op: int, operands: list[str], tables: list[Lookup]) -> str:
    if op >= TABLE:
        table, part = divmod(op - TABLE, PARTS)
        found = tables[table]
        if part == 0:
            return f"findPiece({found.symbol},{found.width},{operands[0]})"
        return f"{found.symbol}[{operands[0]}*{found.width}+{part - 1}]"
    if op in _ARITHMETIC:
        return _ARITHMETIC[op].format(*operands)
    if op in _CALLS:
        return f"{_CALLS[op]}({','.join(operands)})"
    raise UnsupportedOperationError(f"{_NAMES.get(op, f'operation {op}')} has no counterpart in JavaScript")


def _number(bits: int) -> str:
    """A constant; negative ones in brackets, since `--1` would be read as something else."""
    value = struct.unpack("<d", struct.pack("<Q", bits))[0]
    if math.isnan(value):
        return "NaN"
    text = "Infinity" if math.isinf(value) else repr(abs(value))
    return f"(-{text})" if math.copysign(1.0, value) < 0.0 else text

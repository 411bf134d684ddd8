"""The operations of CasADi's tapes that have native code, and the LLVM IR of each."""

from __future__ import annotations

import casadi as ca

# Products and sums may fuse, nothing else: free reordering would break compensated sums and tests for NaN.
ARITHMETIC = {
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
CALLS = _INTRINSIC | _LIBM
# Both kinds yield an i1 besides the double 0.0 or 1.0, so that a condition is not compared with zero again.
COMPARISON = {ca.OP_LT: "olt", ca.OP_LE: "ole", ca.OP_EQ: "oeq", ca.OP_NE: "une"}
LOGICAL = {ca.OP_NOT: "xor i1 {0}, true", ca.OP_AND: "and i1 {0}, {1}", ca.OP_OR: "or i1 {0}, {1}"}
_BRANCHING = (ca.OP_SIGN, ca.OP_IF_ELSE_ZERO)
COPIES = (ca.OP_ASSIGN, ca.OP_LIFT)
COMMUTATIVE = (ca.OP_ADD, ca.OP_MUL)
EMITTED = frozenset(ARITHMETIC) | frozenset(CALLS) | frozenset(COMPARISON) | {*LOGICAL, *_BRANCHING}
LEAVES = (ca.OP_CONST, ca.OP_INPUT)
TURNS = (ca.OP_SIN, ca.OP_COS)
# Operations on table k are numbered from TABLE + k * PARTS: the number of the piece at x, then each part of a piece.
TABLE, PARTS = 1_000, 8

# What object code may refer to: beside the functions named above, those that LLVM lowers instructions to.
EXTERNAL_SYMBOLS = (
    *sorted(set(_LIBM.values())),
    *("sin", "cos", "sincos", "fmod", "floor", "ceil", "fmin", "fmax", "malloc", "free", "memcpy", "memset"),
)

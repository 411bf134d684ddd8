"""Equations of a system as MathML, which browsers display: the statement, and M, f, A, b if short."""

from __future__ import annotations

import html
from collections.abc import Iterable
from itertools import islice
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.printing.mathml import MathMLPresentationPrinter

from dalembert.equations.system import System
from dalembert.errors import DalembertError
from dalembert.model.statement import Statement

DERIVED_OPERATIONS = 30  # operations in the statement up to which the matrices are derived; that takes a second
TYPESET_OPERATIONS = 400  # operations of one equation beyond which it is not typeset
COUNTED_PARTS = 100_000  # parts of an expression that are counted: repeated ones may make endless texts
TIMES = '<mo>&#x2062;</mo><mspace width="0.17em"/>'  # with a thin space: "L cos q", not "Lcos q"
DOTS = {1: "&#x2D9;", 2: "&#xA8;"}  # a dot and two of them


class _Printer(MathMLPresentationPrinter):
    """Functions of time without their argument, their derivatives with dots."""

    def _print_Function(self, expr: Any) -> Any:
        if isinstance(expr, AppliedUndef):
            return self._print(sp.Symbol(expr.func.__name__))
        return super()._print_Function(expr)

    def _print_Derivative(self, expr: Any) -> Any:
        order = int(expr.derivative_count)
        if not isinstance(expr.expr, AppliedUndef) or order not in DOTS:
            return super()._print_Derivative(expr)
        over, dots = self.dom.createElement("mover"), self.dom.createElement("mo")
        dots.appendChild(self.dom.createTextNode(DOTS[order]))
        over.appendChild(self._print(expr.expr))
        over.appendChild(dots)
        return over


def mathml_of(expression: Any) -> str:
    """The inner MathML of an expression or matrix."""
    text = str(_Printer().doprint(expression))
    return text.replace("&dd;", "d").replace("<mo>&InvisibleTimes;</mo>", TIMES)


def typeset(system: System) -> str:
    """HTML of the equations: constraints, positions, energies as stated, and the matrices of short systems."""
    st = system.statement
    if st is None:
        return "<p>This system was unpickled and no longer holds its symbols, so its equations cannot be written.</p>"
    blocks = [_general(system), *_stated(st), _matrices(system, st)]
    return "\n".join(block for block in blocks if block)


def _formula(*sides: str) -> str:
    equals = "<mo>=</mo>".join(sides)
    return f'<div class="formula"><math display="block"><mrow>{equals}</mrow></math></div>'


def _general(system: System) -> str:
    dot = "<mover><mi>{}</mi><mo>&#x2D9;</mo></mover>"
    qdot, udot = dot.format("q"), dot.format("u")
    rates = _formula(qdot, "<mi>C</mi><mi>u</mi><mo>+</mo><mi>D</mi>")
    if not system.nc:
        return rates + _formula(f"<mi>M</mi>{udot}", "<mi>f</mi>")
    laws = "<msup><mi>A</mi><mi>T</mi></msup><mi>&#x3BB;</mi>" if system.ideal else "<mi>r</mi>"
    balance = _formula(f"<mi>M</mi>{udot}", f"<mi>f</mi><mo>+</mo>{laws}")
    return rates + balance + _formula(f"<mi>A</mi>{udot}", "<mi>b</mi>")


def _stated(st: Statement) -> Iterable[str]:
    """The statement, each part under a heading."""
    groups = {
        "Constraints": [(c.name, c.expression) for c in st.constraints],
        "Positions": [(p.name, sp.Matrix(p.position)) for p in (*st.particles, *st.bodies) if p.position is not None],
        "Kinetic energies": [("", e.kinetic) for e in st.energies if e.kinetic != 0],
        "Potential energies": [("", e.potential) for e in st.energies if e.potential != 0],
        "Outputs": [(o.name, sp.Matrix(o.expressions)) for o in st.outputs],
    }
    for title, entries in groups.items():
        if entries:
            yield f"<h3>{title}</h3>" + "".join(_entry(title, name, e) for name, e in entries)


def operations_of(expression: Any) -> int:
    """Number of operations of an expression written out; `COUNTED_PARTS` if there may be too many to count."""
    parts = sum(1 for _ in islice(sp.preorder_traversal(expression), COUNTED_PARTS))
    return int(sp.count_ops(expression)) if parts < COUNTED_PARTS else COUNTED_PARTS


def _entry(title: str, name: str, expression: Any) -> str:
    label = f"<code>{html.escape(name)}</code>" if name else ""
    count = operations_of(expression)
    if count > TYPESET_OPERATIONS:
        return (
            f"<p>{label} is too long to be read ({count} operations{'' if count < COUNTED_PARTS else ' or more'}).</p>"
        )
    sides = [mathml_of(expression)] + (["<mn>0</mn>"] if title == "Constraints" else [])
    return f'<div class="entry">{label}{_formula(*sides)}</div>'


def _matrices(system: System, st: Statement) -> str:
    """M, f, A and b where deriving them takes no time."""
    expressions = [c.expression for c in st.constraints] + [e.kinetic + e.potential for e in st.energies]
    expressions += [x for p in (*st.particles, *st.bodies) for x in (p.position or p.velocity or ())]
    size = sum(operations_of(sp.sympify(e)) for e in expressions)
    note = "<p>The matrices are too long for a report; <code>system.equations()</code> writes them.</p>"
    if size > DERIVED_OPERATIONS:
        return note
    try:
        equations = system.equations()
    except DalembertError:
        return note
    shown = [(name, equations[name]) for name in ("M", "f", "A", "b") if 0 not in equations[name].shape]
    return "<h3>Matrices</h3>" + "".join(_formula(f"<mi>{name}</mi>", mathml_of(m)) for name, m in shown)

"""Expressions as the text that `expression_text` reads: the way back."""

from __future__ import annotations

from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.core.relational import Relational
from sympy.printing.str import StrPrinter

from dalembert.errors import ModelError
from dalembert.importers.expression_text import FUNCTIONS, RATE
from dalembert.model.tables import Table


class ExpressionWriter(StrPrinter):
    """Writer of expressions of time `t` for a model called `name`. Raises `ModelError` for those no file can hold."""

    def __init__(self, name: str, time: sp.Symbol) -> None:
        super().__init__({"order": None, "full_prec": False})
        self._model, self._time = name, time

    def text(self, expression: Any) -> str | int | float:
        """A number as it is, anything else as text."""
        e = sp.sympify(expression)
        heads = {f.func.__name__ for f in e.atoms(sp.Function) if not isinstance(f, AppliedUndef | Table)}
        heads |= {f.func.__name__ for f in e.atoms(Table) if type(f).order}  # rates of tables have no name in files
        if not isinstance(e, sp.Expr) or heads - set(FUNCTIONS) or e.has(Relational, sp.Integral, sp.Subs, sp.I):
            raise self._refuse(expression)
        if e.is_Integer:
            return int(e)
        return float(e) if e.is_Float else str(self.doprint(e))

    def _refuse(self, expression: Any) -> ModelError:
        return ModelError(
            self._model,
            [f"`{expression}` cannot be written to a model file; files know {', '.join(FUNCTIONS)} and {RATE}"],
        )

    # SymPy's printers are found by these names.

    def _print_Symbol(self, e: sp.Symbol) -> str:
        if not e.name.isidentifier():
            raise ModelError(self._model, [f"the name `{e.name}` cannot stand in a model file; use letters and digits"])
        return str(e.name)

    def _print_Function(self, e: sp.Function) -> str:
        if isinstance(e, AppliedUndef):
            if e.args != (self._time,):
                raise self._refuse(e)
            return str(e.func.__name__)
        return f"{e.func.__name__}({self.stringify(e.args, ', ')})"

    def _print_Derivative(self, e: sp.Derivative) -> str:
        order = int(e.derivative_count)
        if e.variables[0] != self._time or order > 2 or not isinstance(e.expr, AppliedUndef):
            raise self._refuse(e)
        return f"{RATE}({self._print(e.expr)})" if order == 1 else f"{RATE}({self._print(e.expr)}, 2)"

    def _print_Float(self, e: sp.Float) -> str:
        return repr(float(e))

    def emptyPrinter(self, expr: Any) -> str:
        """Refuse an expression for which SymPy has no printer."""
        raise self._refuse(expr)

    def _print_Exp1(self, _: sp.Expr) -> str:
        return "exp(1)"

"""SymPy expressions as CasADi graphs: one memoised walk, each distinct subexpression lowered once.

Two steps, both without Python recursion, so that neither depth nor size of an expression matters:

1. *Interning.* The SymPy expression is read bottom-up into a `Graph` of elementary operations (`sympy_rules`).
2. *Emission.* Graph nodes become `casadi.SX` in topological order (`sx_emission`).
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from numbers import Real
from typing import Any, TypeAlias

import casadi
import numpy as np
import sympy

from dalembert.equations.lowering.atoms import Atoms
from dalembert.equations.lowering.expression_graph import TRUTHS, Graph
from dalembert.equations.lowering.sx_emission import Emission
from dalembert.equations.lowering.sympy_rules import NO_RULE, LoweringError, Rule, rule_of, show
from dalembert.model.instances import Instance, Template
from dalembert.model.time_symbols import is_dyadic, is_undefined_function, is_vector, time_symbol

__all__ = ["Lowering", "LoweringError", "undeclared"]

Nested: TypeAlias = Sequence[Sequence[Any]]


class Lowering:
    """SymPy expressions as `casadi.SX`, with symbols replaced by `atoms`. Calls share subexpressions.

    `atoms` maps symbols, applied undefined functions `q(t)`, and their derivatives to scalar `casadi.SX`.
    """

    def __init__(self, atoms: Mapping[sympy.Basic, casadi.SX]) -> None:
        self._atoms = atoms if isinstance(atoms, Atoms) else _read_atoms(atoms)
        self._graph = Graph()
        self._emission = Emission(self._graph, self._atoms, lower_template, as_stated=False)
        self._stated = Emission(self._graph, self._atoms, lower_template, as_stated=True)
        self._rules: dict[type, Rule] = {}
        self._atomic = Rule(self._atom)
        self._slot = Rule(lambda graph, node, parts: self._atom(graph, self._atoms.slots[float(node)], parts))
        # By identity, as comparing deep SymPy expressions is recursive; the node is kept alive beside its number.
        self._interned: dict[int, tuple[int, Any]] = {}
        self._arguments: dict[int, tuple[Sequence[int], Any]] = {}  # of instances, which the rows of a joint share

    def __call__(self, expr: sympy.Expr | float) -> casadi.SX:
        """The scalar (1, 1) of an expression or a number."""
        return self._emission.emit([self._root(expr)])[0]

    def stated(self, expr: sympy.Expr) -> casadi.SX:
        """The scalar (1, 1) of an expression for interval arithmetic: quotients as stated, whose bounds are tight."""
        return self._stated.emit([self._root(expr)])[0]

    def vector(self, exprs: Sequence[Any]) -> casadi.SX:
        """The dense column (n, 1) of n expressions."""
        if isinstance(exprs, sympy.MatrixBase) and 1 not in exprs.shape and len(exprs):
            raise LoweringError(f"a matrix of shape {exprs.shape} is not a vector; use `matrix`.", exprs)
        return self._emission.column([self._root(expr) for expr in exprs])

    def matrix(self, m: sympy.MatrixBase | Nested) -> casadi.SX:
        """The matrix (r, c); entries that are exactly zero are left out of its sparsity pattern."""
        shape, cells = _cells(m)
        entries = self._emission.emit([self._root(expr) for _, _, expr in cells])
        kept = [(col, row, entry) for (row, col, _), entry in zip(cells, entries, strict=True) if not entry.is_zero()]
        kept.sort(key=lambda cell: cell[:2])  # CasADi stores columns
        pattern = casadi.Sparsity.triplet(*shape, [row for _, row, _ in kept], [col for col, _, _ in kept])
        return casadi.SX(pattern, casadi.vertcat(*(entry for _, _, entry in kept))) if kept else casadi.SX(pattern)

    def nodes(self) -> Iterator[Any]:
        """Every subexpression that was lowered, once."""
        return (node for _, node in self._interned.values())

    def _root(self, expr: Any) -> int:
        known = self._interned.get(id(expr))
        if known is None and (not isinstance(expr, sympy.Basic) or isinstance(expr, sympy.MatrixBase)):
            return self._graph.const(_python_number(expr))
        node = self._intern(expr) if known is None else known[0]
        if node in self._graph.odd:
            what = "a condition" if self._graph.ops[node] in TRUTHS else "infinite"
            raise LoweringError(f"{show(expr)} is {what}, not a finite number.", expr)
        return node

    def _intern(self, root: sympy.Basic) -> int:
        interned, places = self._interned, self._atoms.objects
        stack: list[tuple[Any, Rule, Sequence[Any] | None]] = [(root, NO_RULE, None)]
        while stack:
            node, rule, needs = stack.pop()
            if id(node) in interned:
                continue
            if id(node) in places:  # the most frequent case in models of many bodies
                interned[id(node)] = (self._graph.put("atom", *places[id(node)]), node)
                continue
            if needs is None:
                rule = self._rule(node)
                needs = rule.needs(node)
                if id(needs) not in self._arguments:
                    missing = [need for need in needs if id(need) not in interned]
                    if missing:
                        stack.append((node, rule, needs))
                        stack.extend((need, NO_RULE, None) for need in missing)
                        continue
            interned[id(node)] = (self._build(rule, node, self._parts(node, needs)), node)
        return interned[id(root)][0]

    def _parts(self, node: Any, needs: Sequence[Any]) -> Sequence[int]:
        """Graph nodes of the parts of a node."""
        known = self._arguments.get(id(needs))
        if known is not None:
            return known[0]
        parts = [self._interned[id(need)][0] for need in needs]
        if isinstance(node, Instance):
            self._arguments[id(needs)] = parts, needs
        return parts

    def _build(self, rule: Rule, node: Any, parts: Sequence[int]) -> int:
        rule.check(self._graph, node, parts)
        try:
            return rule.build(self._graph, node, parts)
        except ZeroDivisionError:  # among the numbers of a product
            raise LoweringError(f"{show(node)} divides by zero.", node) from None

    def _rule(self, node: Any) -> Rule:
        kind = type(node)
        if is_undefined_function(node) or isinstance(node, SYMBOLS):
            return self._atomic
        if self._atoms.slots and node.is_Number and float(node) in self._atoms.slots:
            return self._slot
        if kind not in self._rules:
            self._rules[kind] = rule_of(kind)
        return self._rules[kind]

    def _atom(self, graph: Graph, node: Any, parts: Sequence[int]) -> int:
        place = self._atoms.place(node)
        if place is not None:
            return graph.put("atom", *place)
        if any(show(key) == show(node) for key in self._atoms):
            message = f"{show(node)} is undeclared: what is declared under that name has other assumptions."
            raise LoweringError(message, node)
        return rule_of(type(node)).build(graph, node, parts)


def lower_template(template: Template) -> casadi.Function:
    """The expressions of a template as one column, a function of the column of its symbols; made once."""
    function = _TEMPLATES.get(template.label)
    if function is None:
        x = casadi.SX.sym("x", len(template.symbols))
        atoms = {symbol: x[k] for k, symbol in enumerate(template.symbols)}
        rotations = template.rotations
        entries = casadi.vertsplit(Lowering(atoms).vector([*rotations.values()])) if rotations else []
        low = Lowering({**atoms, **dict(zip(rotations, entries, strict=True))})
        function = casadi.Function("template", [x], [low.vector(template.expressions)])
        _TEMPLATES[template.label] = function
    return function


_TEMPLATES: dict[str, casadi.Function] = {}
SYMBOLS = (sympy.Symbol, sympy.Derivative)


def _read_atoms(atoms: Mapping[sympy.Basic, casadi.SX]) -> Atoms:
    """The atoms that a mapping says; each is an entry of one column."""
    for key, value in atoms.items():
        _check_atom(key, value)
    read = Atoms(time_symbol())
    read.add([*atoms], casadi.vertcat(casadi.SX(0, 1), *atoms.values()))
    return read


def _check_atom(key: Any, value: Any) -> None:
    if not (is_undefined_function(key) or isinstance(key, SYMBOLS)):
        raise LoweringError(f"{show(key)} cannot stand for a value; only symbols, q(t) and its derivatives can.", key)
    if not isinstance(value, casadi.SX) or not value.is_scalar():
        raise LoweringError(f"{show(key)} must stand for a scalar casadi.SX.", key)


def _python_number(value: Any) -> float:
    if is_vector(value) or is_dyadic(value):
        raise LoweringError(f"{show(value)} is a vector; give its components, `.to_matrix(frame)`.", value)
    if isinstance(value, sympy.MatrixBase | np.ndarray | list | tuple):
        raise LoweringError("a scalar is needed here, not a matrix or a sequence; use `vector` or `matrix`.", value)
    if not isinstance(value, Real) or isinstance(value, bool):
        raise LoweringError(f"{show(value)} ({type(value).__name__}) is neither an expression nor a number.", value)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise LoweringError(f"{show(value)} is not a finite number in double precision.", value)
    return number


def _cells(m: Any) -> tuple[tuple[int, int], list[tuple[int, int, Any]]]:
    """The shape of a matrix and its entries `(row, column, expression)`, without most of the zeros."""
    if isinstance(m, sympy.MatrixBase):
        return m.shape, [(row, col, expr) for (row, col), expr in m.todok().items()]
    try:
        rows = [list(row) for row in m]
    except TypeError:
        raise LoweringError(f"{show(m)} is not a matrix: a sequence of rows is needed.", m) from None
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        raise LoweringError(f"the rows of a matrix differ in length: {sorted(widths)}.", m)
    cells = [(i, j, expr) for i, row in enumerate(rows) for j, expr in enumerate(row)]
    return (len(rows), widths.pop() if widths else 0), cells


def undeclared(exprs: Iterable[Any], atoms: Container[sympy.Basic]) -> list[sympy.Basic]:
    """The symbols, applied undefined functions and derivatives of these that are not in `atoms`, sorted by name.

    Arguments of `atoms` are not examined: if q(t) is an atom, t need not be one.
    """
    if isinstance(atoms, Sequence):
        atoms = frozenset(atoms)
    found: dict[sympy.Basic, None] = {}
    seen: dict[int, Any] = {}
    stack = list(exprs)
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen[id(node)] = node  # kept alive, or its id could be used again
        if isinstance(node, sympy.MatrixBase):
            stack.extend(node.todok().values())
        elif _is_leaf(node):
            if node not in atoms:
                found[node] = None
        elif isinstance(node, sympy.Basic) and not (isinstance(node, sympy.Derivative) and node in atoms):
            stack.extend(node.args)
    return sorted(found, key=show)


def _is_leaf(node: Any) -> bool:
    if isinstance(node, sympy.Derivative):
        return is_undefined_function(node.expr)
    return is_undefined_function(node) or isinstance(node, sympy.Symbol)

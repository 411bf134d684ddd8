"""Operations as `casadi.SX`, those inside branches guarded against infinities.

Piecewise functions need care. CasADi evaluates every branch and multiplies derivatives by the 0/1 condition; at points
where an inactive branch has an infinite slope (`sqrt(0)`, `1/0`) reverse differentiation then meets `0*inf = nan`.
So every operation that can be infinite and is *only* used inside branches gets a harmless argument while none of the
branches that use it is active (`HARMLESS`); value and derivatives of all orders stay those of the active branch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

import casadi
import sympy

from dalembert.equations.lowering.expression_graph import HARMLESS, Graph
from dalembert.model.instances import Template
from dalembert.native.lookup import evaluate

_UNARY = {
    "neg": casadi.OP_NEG,
    "sq": casadi.OP_SQ,
    "sqrt": casadi.OP_SQRT,
    "sin": casadi.OP_SIN,
    "cos": casadi.OP_COS,
    "tan": casadi.OP_TAN,
    "asin": casadi.OP_ASIN,
    "acos": casadi.OP_ACOS,
    "atan": casadi.OP_ATAN,
    "sinh": casadi.OP_SINH,
    "cosh": casadi.OP_COSH,
    "tanh": casadi.OP_TANH,
    "asinh": casadi.OP_ASINH,
    "acosh": casadi.OP_ACOSH,
    "atanh": casadi.OP_ATANH,
    "exp": casadi.OP_EXP,
    "log": casadi.OP_LOG,
    "abs": casadi.OP_FABS,
    "sign": casadi.OP_SIGN,
    "floor": casadi.OP_FLOOR,
    "ceil": casadi.OP_CEIL,
    "erf": casadi.OP_ERF,
    "not": casadi.OP_NOT,
}
_BINARY = {  # those that associate take any number of arguments
    "add": casadi.OP_ADD,
    "mul": casadi.OP_MUL,
    "div": casadi.OP_DIV,
    "pow": casadi.OP_POW,
    "atan2": casadi.OP_ATAN2,
    "min": casadi.OP_FMIN,
    "max": casadi.OP_FMAX,
    "lt": casadi.OP_LT,
    "le": casadi.OP_LE,
    "eq": casadi.OP_EQ,
    "ne": casadi.OP_NE,
    "and": casadi.OP_AND,
    "or": casadi.OP_OR,
    "xor": casadi.OP_NE,
}


def _blend(selectors: Sequence[casadi.SX], values: Sequence[casadi.SX]) -> casadi.SX:
    """The value whose selector is true; an infinite or undefined other one does not spoil it."""
    parts = map(_kept, selectors, values)
    return reduce(lambda total, part: casadi.SX.binary(casadi.OP_ADD, total, part), parts)


def _kept(condition: casadi.SX, value: casadi.SX) -> casadi.SX:
    """`value` where the condition holds and 0 elsewhere, whatever the value is there."""
    return casadi.SX.binary(casadi.OP_IF_ELSE_ZERO, condition, value)


def _both(a: casadi.SX, b: casadi.SX) -> casadi.SX:
    return casadi.SX.binary(casadi.OP_AND, a, b)


def _not(a: casadi.SX) -> casadi.SX:
    return casadi.SX.unary(casadi.OP_NOT, a)


def _any_of(conditions: Iterable[casadi.SX]) -> casadi.SX:
    return reduce(lambda a, b: casadi.SX.binary(casadi.OP_OR, a, b), conditions)


class _Uses:
    """When each node of an emission is in use: always, or under one of several conditions."""

    def __init__(self, roots: Iterable[int]) -> None:
        # Conditions are kept by identity: all arguments of one branch hold the same object, and need no `or`.
        self._conditions: dict[int, dict[int, casadi.SX] | None] = dict.fromkeys(roots)

    def __contains__(self, node: int) -> bool:
        return node in self._conditions

    def add(self, node: int, condition: casadi.SX | None) -> None:
        if condition is None:
            self._conditions[node] = None
            return
        known = self._conditions.setdefault(node, {})
        if known is not None:
            known[id(condition)] = condition

    def settle(self, node: int) -> casadi.SX | None:
        """The one condition under which the node is in use, or None for always; to be called after the last `add`."""
        known = self._conditions[node]
        if known is None:
            return None
        condition = _any_of(known.values())
        self._conditions[node] = {id(condition): condition}
        return condition


class Emission:
    """The nodes of a graph as `casadi.SX`, each emitted once; `atoms` are what its atoms stand for."""

    def __init__(
        self,
        graph: Graph,
        atoms: Mapping[sympy.Basic, casadi.SX],
        lowered: Callable[[Template], casadi.Function],
    ) -> None:
        self._graph = graph
        self._atoms = atoms
        self._lowered = lowered
        self._filled: dict[tuple[Any, ...], list[casadi.SX]] = {}  # templates with their arguments
        self._plain: dict[int, casadi.SX] = {}  # without guards: what has no branches, and conditions
        self._safe: dict[int, casadi.SX] = {}  # with branches, guarded; always in use
        self._selectors: dict[int, list[casadi.SX]] = {}

    def emit(self, roots: Sequence[int]) -> list[casadi.SX]:
        """The SX of each root."""
        branches = self._graph.branches
        self._emit_plain(root for root in roots if not branches[root])
        guarded = self._emit_guarded([root for root in roots if branches[root]], roots)
        return [guarded[root] if branches[root] else self._plain[root] for root in roots]

    def _emit_plain(self, roots: Iterable[int]) -> None:
        order = self._graph.reach(roots, self._graph.children, self._plain)
        self._fill_together(order)
        for node in order:
            self._plain[node] = self._operate(node, [self._plain[k] for k in self._graph.children(node)])

    def _emit_guarded(self, branching: Sequence[int], roots: Sequence[int]) -> Mapping[int, casadi.SX]:
        """The SX of nodes that hold branches, each possibly infinite operation guarded unless it is always in use."""
        if not branching:
            return {}
        order = self._graph.reach(roots, self._wild_children, ())
        selects = [node for node in order if self._graph.ops[node] == "select"]
        self._emit_plain(k for node in selects for k in self._graph.args[node][::2])
        uses = self._propagate(order, _Uses(roots))
        done: dict[int, casadi.SX] = {}
        for node in order:
            if node in uses:
                self._emit_used(node, uses.settle(node), done)
        return done

    def _emit_used(self, node: int, condition: casadi.SX | None, done: dict[int, casadi.SX]) -> None:
        always = condition is None
        if not self._graph.wild[node] or (always and not self._graph.branches[node]):
            self._emit_plain([node])
            done[node] = self._plain[node]
        elif always and node in self._safe:
            done[node] = self._safe[node]
        else:
            children = self._value_children(node)
            self._emit_plain(k for k in children if k not in done)
            values = [done[k] if k in done else self._plain[k] for k in children]
            done[node] = self._operate(node, self._guard(node, condition, values))
            if always:
                self._safe[node] = done[node]

    def _propagate(self, order: Sequence[int], uses: _Uses) -> _Uses:
        """`uses` completed from the roots down."""
        for node in reversed(order):
            # What is emitted already, once and for all, uses nothing anew.
            if node not in uses or (node in self._safe and uses.settle(node) is None):
                continue
            condition = uses.settle(node)
            for child, own in self._used_by(node, condition):
                uses.add(child, own)
        return uses

    def _used_by(self, node: int, condition: casadi.SX | None) -> Iterator[tuple[int, casadi.SX | None]]:
        values = self._value_children(node)
        if self._graph.ops[node] != "select":
            owns: Sequence[casadi.SX | None] = [condition] * len(values)
        elif condition is None:
            owns = self._selectors_of(node)
        else:
            owns = [_both(condition, selector) for selector in self._selectors_of(node)]
        return ((child, own) for child, own in zip(values, owns, strict=True) if self._graph.wild[child])

    def _guard(self, node: int, condition: casadi.SX | None, values: list[casadi.SX]) -> list[casadi.SX]:
        """`values`, but with a harmless one for an operation that can be infinite while `condition` does not hold."""
        op = self._graph.ops[node]
        if (
            condition is None
            or op not in HARMLESS
            or self._graph.value(self._graph.args[node][HARMLESS[op][0]]) is not None
        ):
            return values
        place, harmless = HARMLESS[op]
        guarded = _kept(condition, values[place])
        if harmless:
            instead = _not(condition) if harmless == 1 else _kept(_not(condition), casadi.SX(harmless))
            guarded = casadi.SX.binary(casadi.OP_ADD, guarded, instead)
        return [*values[:place], guarded, *values[place + 1 :]]

    def _operate(self, node: int, values: Sequence[casadi.SX]) -> casadi.SX:
        op = self._graph.ops[node]
        if op == "atom":
            return self._atoms[self._graph.args[node][0]]
        if op in _UNARY:
            return casadi.SX.unary(_UNARY[op], *values)
        if op == "select":
            # Conditions are not among the values of a guarded emission, and come first in pairs in a plain one.
            own = values if len(values) < len(self._graph.args[node]) else values[1::2]
            return _blend(self._selectors_of(node), own)
        if op in _BINARY:
            result = values[0]
            for value in values[1:]:
                result = casadi.SX.binary(_BINARY[op], result, value)
            return result
        if op in self._graph.instances:
            return self._fill(node, values)
        if op in self._graph.tables:
            leaf, order = self._graph.tables[op]
            return evaluate(leaf, order, values[0])
        return casadi.SX(self._graph.args[node][0])

    def _fill(self, node: int, values: Sequence[casadi.SX]) -> casadi.SX:
        """One expression of a template; the others come with it."""
        template, index = self._graph.instances[self._graph.ops[node]]
        key = (template.label, self._graph.args[node])
        if key not in self._filled:
            self._filled[key] = casadi.vertsplit(self._lowered(template)(casadi.vertcat(*values)))
        return self._filled[key][index]

    def _fill_together(self, order: Sequence[int]) -> None:
        """Each template once for all its instances among these nodes that have symbols and numbers as arguments."""
        if not self._graph.instances:
            return
        graph, templates = self._graph, dict[str, Template]()
        found: dict[str, dict[tuple[int, ...], None]] = {}
        for node in order:
            template, _ = graph.instances.get(graph.ops[node], (None, 0))
            arguments = graph.args[node]
            if template is None or (template.label, arguments) in self._filled:
                continue
            if not any(map(graph.children, arguments)):
                templates[template.label] = template
                found.setdefault(template.label, {})[arguments] = None
        for label, filled in found.items():
            values = [self._operate(k, ()) for arguments in filled for k in arguments]
            size, count = len(templates[label].symbols), len(templates[label].expressions)
            columns = self._lowered(templates[label])(casadi.reshape(casadi.vertcat(*values), size, len(filled)))
            entries = casadi.vertsplit(casadi.vec(columns))
            for n, arguments in enumerate(filled):
                self._filled[label, arguments] = entries[n * count : (n + 1) * count]

    def _selectors_of(self, node: int) -> list[casadi.SX]:
        """One 0/1 per branch: its condition holds and none before it does. Needs the conditions emitted."""
        if node not in self._selectors:
            selectors, rest = [], None
            for k in self._graph.args[node][::2]:
                condition, certain = self._plain[k], self._graph.ops[k] == "truth"
                selectors.append(condition if rest is None else rest if certain else _both(rest, condition))
                rest = _not(condition) if rest is None else _both(rest, _not(condition))
            self._selectors[node] = selectors
        return self._selectors[node]

    def _value_children(self, node: int) -> tuple[int, ...]:
        return self._graph.args[node][1::2] if self._graph.ops[node] == "select" else self._graph.children(node)

    def _wild_children(self, node: int) -> Iterator[int]:
        return (k for k in self._value_children(node) if self._graph.wild[k])

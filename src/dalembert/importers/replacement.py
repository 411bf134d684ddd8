"""Replacing symbols in expressions that share their parts: each distinct part is rebuilt once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import sympy as sp


class Replacement:
    """Expressions in which symbols and functions of time are replaced; time derivatives of these follow.

    `rules` may use each other's symbols; `circular` lists those that refer to themselves.
    """

    def __init__(self, rules: Mapping[sp.Expr, sp.Expr]) -> None:
        self._rules: dict[sp.Basic, sp.Expr] = {}
        self._done: dict[int, tuple[sp.Expr, sp.Basic]] = {}
        chained = dict(rules)
        for _ in rules:
            self._rules, self._done = chained, {}
            chained = {key: self(value) for key, value in rules.items()}
        self.circular = [key for key, value in chained.items() if value.atoms(sp.Symbol, sp.Function) & set(chained)]
        self._rules, self._done = chained, {}

    def __call__(self, expression: Any) -> sp.Expr:
        """The expression with everything replaced."""
        root = sp.sympify(expression)
        if not self._rules:
            return root
        stack = [root]
        while stack:
            node = stack[-1]
            missing = [] if node in self._rules else [a for a in node.args if id(a) not in self._done]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            if id(node) not in self._done:
                self._done[id(node)] = (self._rebuilt(node), node)  # kept alive, or its id could be used again
        return self._done[id(root)][0]

    def all(self, expressions: Iterable[Any]) -> list[sp.Expr]:
        """Several expressions with everything replaced."""
        return [self(e) for e in expressions]

    def _rebuilt(self, node: sp.Basic) -> sp.Expr:
        if node in self._rules:
            return self._rules[node]
        parts = [self._done[id(a)][0] for a in node.args]
        if all(new is old for new, old in zip(parts, node.args, strict=True)):
            return node
        new = node.func(*parts)
        return new.doit() if isinstance(new, sp.Derivative) else new

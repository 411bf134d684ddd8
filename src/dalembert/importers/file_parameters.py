"""Parameters of a model file, whose values may be given in terms of other parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy as sp

from dalembert.importers.expression_text import ExpressionText
from dalembert.importers.file_positions import Where
from dalembert.importers.file_values import FileValues, spelt
from dalembert.importers.limits import brief


def read_parameters(
    values: FileValues, table: Mapping[str, Any], where: Where
) -> tuple[dict[str, float], dict[str, sp.Expr]]:
    """Default values by name, and the expressions of those that depend on others."""
    names = [name for name in table if values.fits(name, where.value(brief(name)))]
    symbols = {spelt(name): sp.Symbol(name) for name in names}
    read: dict[str, sp.Expr] = {}
    for name in names:
        place = where.value(name)
        read[name] = ExpressionText(symbols, {}, values.model.t, values.fault).read(table[name], str(place))
    ring = _ring(read)
    if ring:
        shown = " -> ".join([*ring, ring[0]])
        values.fault(
            f"{where.value(ring[0])}: it is given in terms of itself ({brief(shown)}); give one of them a number"
        )
        read = {name: sp.S.One if name in ring else e for name, e in read.items()}
    numbers: dict[str, float] = {}
    for name in _sorted(read):
        known = {s: numbers[s.name] for s in read[name].free_symbols if s.name in numbers}
        unread = any(isinstance(s, sp.Dummy) for s in read[name].free_symbols)
        value = sp.sympify(read[name].xreplace(known))
        if value.is_number and not _is_real(value):
            values.fault(
                f"{where.value(name)}: `{brief(str(table[name]))}` is not a real number: it divides by zero, or "
                "takes a root or a logarithm of what has none"
            )
            unread = True
        numbers[name] = (
            0.0 if unread else values.number(float(value) if value.is_number else str(value), where.value(name))
        )
    declared = {sp.Symbol(name) for name in names}
    dependent = {name: e for name, e in read.items() if e.free_symbols and e.free_symbols <= declared}
    return {name: numbers[name] for name in read}, dependent


def _is_real(e: sp.Expr) -> bool:
    """Whether it is a number, infinity included; division by zero and roots of negative numbers give none."""
    return bool(e.is_number and sp.N(e).is_extended_real)


def _sorted(expressions: Mapping[str, sp.Expr]) -> list[str]:
    """Names such that each comes after those it depends on; there is no ring."""
    done: list[str] = []

    def visit(name: str) -> None:
        for symbol in sorted(expressions[name].free_symbols, key=str):
            if symbol.name in expressions and symbol.name not in done:
                visit(symbol.name)
        if name not in done:
            done.append(name)

    for name in expressions:
        visit(name)
    return done


def _ring(expressions: Mapping[str, sp.Expr]) -> list[str]:
    """Names each of which depends on the next one, and the last on the first; [] if there is no such ring."""
    finished: set[str] = set()

    def visit(name: str, path: list[str]) -> list[str]:
        if name in path:
            return path[path.index(name) :]
        if name in finished:
            return []
        for symbol in sorted(expressions[name].free_symbols, key=str):
            if symbol.name in expressions:
                found = visit(symbol.name, [*path, name])
                if found:
                    return found
        finished.add(name)
        return []

    return next((ring for name in expressions if (ring := visit(name, []))), [])

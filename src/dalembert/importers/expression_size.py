"""Size of an expression before it is built: operations written out, and depth of nesting."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import NamedTuple

_SUMS, _PRODUCTS = (ast.Add, ast.Sub), (ast.Mult, ast.Div)


class Size(NamedTuple):
    """Names, numbers and operations with every definition written out, and how deep they are nested."""

    operations: int
    depth: int


def measure(root: ast.expr, defined: Mapping[str, Size]) -> Size:
    """The size of an expression; terms of one sum and factors of one product are equally deep.

    Not recursive, as the tree of a long sum is as deep as the sum is long.
    """
    operations, deepest = 0, 0
    waiting: list[tuple[ast.AST, int]] = [(root, 1)]
    while waiting:
        node, depth = waiting.pop()
        if isinstance(node, ast.Name):
            known = defined.get(node.id, Size(1, 0))
            operations, deepest = operations + known.operations, max(deepest, depth + known.depth)
            continue
        if isinstance(node, ast.expr):
            operations, deepest = operations + 1, max(deepest, depth)
        parts = node.args if isinstance(node, ast.Call) else ast.iter_child_nodes(node)
        waiting.extend((part, depth + (not _continues(node, part))) for part in parts)
    return Size(operations, deepest)


def _continues(node: ast.AST, part: ast.AST) -> bool:
    """Whether an operand is only more of the same sum or product."""
    if not (isinstance(node, ast.BinOp) and isinstance(part, ast.BinOp)):
        return False
    return any(isinstance(node.op, same) and isinstance(part.op, same) for same in (_SUMS, _PRODUCTS))

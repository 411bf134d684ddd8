"""Formulas as MathML, which browsers show by themselves: the pages need neither a network nor a script."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

MATRIX = re.compile(r"<mo>&#x00028;</mo><mtable>(.*?)</mtable><mo>&#x00029;</mo>")


def written(formula: str, display: str) -> str:
    """MathML of a formula; the brackets of matrices are drawn by style/dalembert.css."""
    return MATRIX.sub(r'<mtable class="matrix">\1</mtable>', convert(formula, display=display))


def visit_inline(self: Any, node: Any) -> None:
    """A formula in a line."""
    self.body.append(written(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_block(self: Any, node: Any) -> None:
    """A formula of its own, with its number if it has one."""
    number = f'<span class="eqno">({node["number"]})</span>' if node.get("number") else ""
    self.body.append(f'<div class="math">{number}{written(node.astext(), "block")}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True}

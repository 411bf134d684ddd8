"""Docstrings for autodoc: they are plain text, so `names` become literal, indented blocks stay as they are."""

from __future__ import annotations

import re
from typing import Any

SPECIAL = re.compile(r"([*|\\])|(?<=\w)_(?=\W|$)")


def rewrite(_app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    """Make reST of the lines of a docstring, in place."""
    rewritten: list[str] = []
    block = False
    for line in lines:
        if line.startswith((" ", "\t")) and line.strip():
            if not block:
                rewritten += ["", "::", ""]
            block = True
            rewritten.append(f"    {line}")
        elif not line.strip():
            rewritten.append("")
        else:
            if block:
                rewritten.append("")
            block = False
            rewritten.append(escape(line))
    lines[:] = rewritten


def escape(line: str) -> str:
    """One line of text: what stands between backquotes is literal, nothing else is markup."""
    parts = line.split("`")
    if len(parts) % 2 == 0:  # a quotation that goes on in the next line
        return SPECIAL.sub(lambda m: "\\" + m.group(), line.replace("`", "'"))
    text = [SPECIAL.sub(lambda m: "\\" + m.group(), part) if k % 2 == 0 else part for k, part in enumerate(parts)]
    return "".join(part if k % 2 == 0 else f"``{part}``\\ " for k, part in enumerate(text))


def setup(app: Any) -> dict[str, bool]:
    """Register the rewriting."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", rewrite)
    return {"parallel_read_safe": True}

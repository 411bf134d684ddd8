"""Text from elsewhere made safe to print: a terminal would obey control characters in it."""

from __future__ import annotations

import unicodedata

_SEPARATORS = ("Zl", "Zp")  # of lines and paragraphs


def controls_in(text: str) -> list[str]:
    """The characters of a text that a terminal could obey, or that cannot be seen: controls, formats, line breaks."""
    return [c for c in text if _is_control(c)]


def printable(text: str) -> str:
    """The text with control characters written out as escapes; line breaks stay."""
    return "".join(_written(c) if c != "\n" and _is_control(c) else c for c in text)


def _is_control(character: str) -> bool:
    if character.isprintable():
        return False
    category = unicodedata.category(character)
    return category.startswith("C") or category in _SEPARATORS


def _written(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")

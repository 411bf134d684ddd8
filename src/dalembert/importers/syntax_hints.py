"""Hints for syntax errors: the corrected form for common slips in TOML files and expressions."""

from __future__ import annotations

import re
from collections.abc import Callable

from dalembert.importers.limits import brief

_PLACE = re.compile(r"at line (\d+), column (\d+)")
_PAIR = re.compile(r"\s*([^\s=\"']+|\"[^\"]*\")\s*=\s*(.*?)\s*(?:#.*)?$")
_SMART = "\u2018\u2019\u201c\u201d\u00ab\u00bb\u201e"
_UNSEEN = "\u00a0\u2007\u202f\u200b\ufeff"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2212"
_LONGEST = 500  # characters of a line that is looked at: patterns could take long for more
_ARITHMETIC = re.compile(r"[\w.+*/() -]+\Z")

_BY_ERROR = (  # messages of the parser, and the remedy for each
    ("Cannot overwrite a value", "this key is given twice in its table; remove one of them"),
    ("twice", "put all its lines under one heading; another entry of a list has a heading in double brackets"),
    ("Unclosed array", 'a list has commas between its entries and ends with a bracket: ["x", "y"]'),
    ("Invalid initial character for a key part", "a table in braces stands in one line, without a comma at its end"),
    ("Unclosed inline table", "a table in braces has commas between its entries and ends in the same line"),
    ("Illegal character '\\n'", "a text ends in the line in which it begins; close the quotes"),
    ("Unescaped '\\' in a string", "write \\\\ for a backslash in a text"),
)
_BY_VALUE: tuple[tuple[str, Callable[[re.Match[str], str], str]], ...] = (  # patterns of the text after the =
    (r"True|False", lambda m, key: f"write {key} = {m[0].lower()}"),
    (r"([-+\d.eE]+)\s*(deg|degrees|°)", lambda m, key: f'write {key} = "{m[1]}*deg"'),
    (r"([-+]?)(\.\d\S*)", lambda m, key: f"a number has a digit before its point: write {key} = {m[1]}0{m[2]}"),
    (r"([-+]?\d+\.)", lambda m, key: f"a number has a digit behind its point: write {key} = {m[1]}0"),
    (r"([-+]?)0+(\d+)", lambda m, key: f"write {key} = {m[1]}{m[2]}"),
    (r"([-+]?\d+),(\d+)", lambda m, key: f"numbers have a point: write {key} = {m[1]}.{m[2]}"),
    (r"(\S+)\s*//.*", lambda m, key: f"comments begin with #: write {key} = {m[1]}  # ..."),
    (r"([^;]+?)\s*;.*", lambda m, key: f"one pair stands in each line, without semicolons: write {key} = {m[1]}"),
    (r"([-+\d.eE]+)\s+[A-Za-z][\w/*^]*", lambda m, key: f"numbers stand without units: write {key} = {m[1]}"),
)


def hint_for(text: str, error: str) -> str:
    """`; write ...` for a fault that the parser found, or nothing."""
    found = _PLACE.search(error)
    lines = text.splitlines()
    if not found or not 0 < int(found[1]) <= len(lines):
        return ""
    line = lines[int(found[1]) - 1]
    if len(line) > _LONGEST:
        return ""
    hint = _of_characters(line, found[1]) or next((do for say, do in _BY_ERROR if say in error), "") or _of_pair(line)
    return f"; {hint}" if hint else ""


def expression_hint(text: str) -> str:
    """`; write ...` for a text that is no expression, or nothing."""
    if len(text) > _LONGEST:
        return ""
    sides = re.fullmatch(r"([^=]+)==?([^=]+)", text)
    if sides:
        left, right = (side.strip() for side in sides.groups())
        return f"; an expression has no =: write {brief(left)} - ({brief(right)}), which is to be zero"
    product = re.search(r"(?<![\w.])(\d+\.?\d*)\s*([A-Za-z_]\w*)", text)
    if product:
        return f"; a product needs its *: write {product[1]}*{product[2]}"
    call = re.search(r"\b(sin|cos|tan|exp|log|sqrt)\s+(\w+)", text)
    return f"; write {call[1]}({call[2]})" if call else ""


def _of_characters(line: str, number: str) -> str:
    """For characters that look like others."""
    for characters, what in (
        (_SMART, "write straight quotes \" or ' instead of {}"),
        (_DASHES, "write the minus sign - of the keyboard instead of {}"),
        (_UNSEEN, "there is an unseen character ({}) that is no plain blank; type the blank again"),
    ):
        found = next((c for c in line if c in characters), "")
        if found:
            shown = f"U+{ord(found):04X}" if characters == _UNSEEN else found
            return f"{what.format(shown)}, in line {number}: {brief(line.strip())}"
    return ""


def _of_pair(line: str) -> str:
    """For a line that should read name = value."""
    pair = _PAIR.match(line)
    if not pair:
        turned = re.match(r"\s*([\w.-]+)\s*:\s*(.+)", line)
        if turned:
            return f"write {brief(turned[1])} = {brief(turned[2])}"
        named = re.match(r"\s*([\w-]+(?:\s+[\w-]+)+)\s*=", line)
        return f"a name has no blanks: write {brief('_'.join(named[1].split()))} = ..." if named else ""
    key, value = brief(pair[1]), pair[2]
    if not value:
        return f"`{key}` needs a value"
    if not key.isascii() and not key.startswith('"'):
        return f'a name with other letters than a to z stands in quotes: write "{key}" = {brief(value)}'
    for pattern, do in _BY_VALUE:
        found = re.fullmatch(pattern, value)
        if found:
            return brief(do(found, key))
    if value[0] not in "\"'[{" and _ARITHMETIC.match(value):
        return f'expressions and names stand in quotes: write {key} = "{brief(value)}"'
    return ""

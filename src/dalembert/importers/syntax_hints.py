"""What to write instead, for the slips by which a file is no TOML."""

from __future__ import annotations

import re

from dalembert.importers.limits import brief

_PLACE = re.compile(r"at line (\d+), column (\d+)")
_PAIR = re.compile(r"\s*([\w.-]+|\"[^\"]*\")\s*=\s*(.*?)\s*(?:#.*)?$")
_SMART = "\u2018\u2019\u201c\u201d\u00ab\u00bb\u201e"
_ARITHMETIC = re.compile(r"[\w.+*/() -]+\Z")


def hint_for(text: str, error: str) -> str:
    """`; write ...` for a fault that the parser found, or nothing."""
    found = _PLACE.search(error)
    lines = text.splitlines()
    if not found or int(found[1]) > len(lines):
        return ""
    line = lines[int(found[1]) - 1]
    smart = next((c for c in line if c in _SMART), "")
    if smart:
        return f"; write straight quotes \" or ' instead of {smart}, in line {found[1]}: {brief(line.strip())}"
    pair = _PAIR.match(line)
    if not pair:
        return ""
    key, value = pair[1], pair[2]
    if not value:
        return f"; `{brief(key)}` needs a value"
    degrees = re.fullmatch(r"([-+\d.eE]+)\s*(deg|degrees|°)", value)
    if degrees:
        return f'; write {brief(key)} = "{degrees[1]}*deg"'
    if value[0] not in "\"'[{" and _ARITHMETIC.match(value):
        return f'; expressions and names stand in quotes: write {brief(key)} = "{brief(value)}"'
    return ""

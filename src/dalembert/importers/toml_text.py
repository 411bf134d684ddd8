"""Values as TOML text; the standard library reads TOML and does not write it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")
LINE_WIDTH = 110  # characters of a list on one line


def key_text(key: str) -> str:
    """A key, in quotes where it needs them."""
    return key if _BARE.match(key) else json.dumps(key, ensure_ascii=False)


def value_text(value: Any) -> str:
    """A text, number, truth value, list or table on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        inside = ", ".join(f"{key_text(k)} = {value_text(v)}" for k, v in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    return f"[{', '.join(map(value_text, value))}]"


def _folded(value: Any) -> str:
    """A value as `value_text`, a long list with an entry in each line."""
    line = value_text(value)
    if len(line) <= LINE_WIDTH or not isinstance(value, list):
        return line
    return "[\n" + "".join(f"    {value_text(v)},\n" for v in value) + "]"


def _number(value: float) -> str:
    if math.isfinite(value):
        text = repr(value)
        return text if any(c in text for c in ".e") else f"{text}.0"
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def pairs_text(pairs: Mapping[str, Any]) -> str:
    """Keys and values, one pair in a line."""
    return "".join(f"{key_text(key)} = {_folded(value)}\n" for key, value in pairs.items())

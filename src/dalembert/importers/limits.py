"""Limits of model files. Content beyond them is refused at once, so that files of any origin can be checked safely.

They are far beyond what people write by hand; larger models are stated in Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dalembert.errors import ModelError
from dalembert.printable import controls_in, printable

LARGEST_FILE = 200_000  # bytes
DEEPEST = 12  # lists and tables within each other
MOST_VALUES = 20_000
MOST_ENTRIES = 200  # of a list: names, particles, constraints ...
MOST_NAMES = 500  # of a table
MOST_COORDINATES = 200
MOST_FAULTS = 50
LARGEST_NUMBER = 1024  # bits of a fraction; 1e308 is the end of double precision
QUOTED_CHARACTERS = 80  # characters of a text or value in a message

_SPACED = " \t\n\r"  # may stand in expressions
# A dotted key of more parts than tables may be deep; reading one takes a time that grows with the square of the parts.
_PART = r"(?:[\w-]+|\"[^\"\n]*\"|'[^'\n]*')"
_DOTTED = re.compile(rf"(?<![\w-]){_PART}(?:[ \t]*\.[ \t]*{_PART}){{{DEEPEST},}}")


def read_text(path: Path) -> str:
    """The text of a regular file of a reasonable size; raises `ModelError`."""
    try:
        special = path.exists() and not (path.is_file() or path.is_dir())  # reading one may never end
        content = b"" if special else _beginning(path)
    except OSError as error:
        raise ModelError(str(path), [f"the file cannot be read: {error.strerror}"]) from error
    except ValueError as error:  # a name that no file can have
        raise ModelError(str(path), [f"the file cannot be read: {error}"]) from error
    if special:
        raise ModelError(str(path), ["this is not a regular file"])
    if len(content) > LARGEST_FILE:
        raise ModelError(str(path), [f"the file is larger than {LARGEST_FILE:,} bytes; state large models in Python"])
    try:
        text = content.decode("utf-8-sig")  # editors on Windows put a mark before the first character
    except UnicodeDecodeError as error:
        what = f"the file is not UTF-8 text: {error.reason} at byte {error.start}; save it as UTF-8 in your editor"
        raise ModelError(str(path), [what]) from error
    found = _DOTTED.search(text)
    if found:
        raise ModelError(str(path), [f"the name `{brief(found[0])}` has more than {DEEPEST} parts"])
    return text.replace("\r\n", "\n")


def _beginning(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(LARGEST_FILE + 1)


class Value(NamedTuple):
    """A value in a file, with its place and its depth."""

    where: str
    content: Any
    depth: int


def check_content(tables: Mapping[str, Any]) -> list[str]:
    """Faults of the values of a file, of any meaning: too many, too deep, too large, not printable."""
    faults: list[str] = []
    for count, value in enumerate(_values(tables)):
        if count > MOST_VALUES:
            return [*faults, f"the file has more than {MOST_VALUES:,} values; state large models in Python"]
        if len(faults) >= MOST_FAULTS:
            return faults
        if value.depth > DEEPEST:
            return [*faults, f"{brief(value.where)} is nested more than {DEEPEST} deep"]
        faults += _faults_of(value)
    return faults


def brief(value: Any) -> str:
    """A value as it is written, or a text as it is, shortened and safe to print."""
    text = printable(value if isinstance(value, str) else repr(value)).replace("\n", "\\n")
    return text if len(text) <= QUOTED_CHARACTERS else f"{text[: QUOTED_CHARACTERS - 4]} ..."


def _values(tables: Mapping[str, Any]) -> Iterator[Value]:
    """Every value of a file and every key, parents before children."""
    waiting = [Value("the file", tables, 0)]
    while waiting:
        value = waiting.pop()
        yield value
        if isinstance(value.content, dict):
            for key, content in value.content.items():
                yield Value(f"the name `{brief(key)}`", key, value.depth)
                where = brief(key) if value.depth == 0 else f"{value.where}.{brief(key)}"
                waiting.append(Value(where, content, value.depth + 1))
        elif isinstance(value.content, list):
            within = (Value(f"{value.where}[{k}]", item, value.depth + 1) for k, item in enumerate(value.content))
            waiting.extend(within)


def _faults_of(value: Value) -> list[str]:
    where, content = value.where, value.content
    if isinstance(content, str):
        bad = [c for c in controls_in(content) if c not in _SPACED]
        return [f"{brief(where)} has the control character {printable(bad[0])} in it"] if bad else []
    if isinstance(content, int) and content.bit_length() > LARGEST_NUMBER:
        return [f"{brief(where)} is a number of more than 300 digits; write it as 1.0e3"]
    if isinstance(content, list) and all(type(entry) in (int, float) for entry in content):
        return []  # data; `MOST_VALUES` limits them
    most = MOST_ENTRIES if isinstance(content, list) else MOST_NAMES
    if isinstance(content, list | dict) and len(content) > most:
        return [f"{brief(where)} has {len(content):,} entries; a model file may have {most}, state more in Python"]
    return []

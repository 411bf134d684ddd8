"""Positions in a TOML text, which its parser does not give: lines and columns of tables and keys."""

from __future__ import annotations

import re
from dataclasses import field

from dalembert.dataclass import dataclass

_HEADER = re.compile(r"\s*(\[\[?)\s*([\w\"'.-]+)\s*\]\]?")
_KEY = re.compile(r"\s*([\w-]+|\"[^\"]*\"|'[^']*')\s*=\s*")
_OPENINGS = ('"""', "'''", '"', "'")


@dataclass(frozen=True)
class Where:
    """A place in a file as messages name it, with its line and column if they are known."""

    text: str
    position: tuple[int, int] | None = None
    within: dict[str, tuple[int, int]] = field(default_factory=dict, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.prefix}{self.text}"

    @property
    def prefix(self) -> str:
        """Line and column, before a message."""
        return "" if self.position is None else f"line {self.position[0]}, column {self.position[1]}: "

    def key(self, name: str) -> Where:
        """The place of a key in a table or entry."""
        return Where(f"{self.text}, {name}", self.within.get(name, self.position))

    def value(self, name: str) -> Where:
        """The place of a named value in a table such as [parameters]."""
        return Where(f"{self.text} {name}", self.within.get(name, self.position))

    def part(self, text: str) -> Where:
        """A part of the value, such as an entry of a list."""
        return Where(f"{self.text}{text}", self.position)


class Positions:
    """The positions in a text: of each table by its name, or by its name and number, and of its keys."""

    def __init__(self, text: str) -> None:
        self._tables: dict[tuple[str, int], tuple[int, int]] = {}
        self._keys: dict[tuple[str, int], dict[str, tuple[int, int]]] = {("", 0): {}}
        counts: dict[str, int] = {}
        here, opened = ("", 0), _Open()
        for number, line in enumerate(text.splitlines(), 1):
            start = 0
            if not opened:
                header, key = _HEADER.match(line), _KEY.match(line)
                if header:
                    name = header[2]
                    here = name, counts.get(name, 0)
                    counts[name] = here[1] + 1
                    self._tables.setdefault(here, (number, header.start(1) + 1))
                    self._keys.setdefault(here, {})
                    continue
                if key:
                    self._keys[here].setdefault(key[1].strip("\"'"), (number, key.end() + 1))
                    start = key.end()
            opened.pass_over(line[start:])

    def starts(self) -> dict[str, tuple[int, int]]:
        """Positions of everything at the top of the file: keys and tables."""
        tables = {name: position for (name, number), position in self._tables.items() if number == 0}
        return {**tables, **self._keys["", 0]}

    def at_top(self, name: str) -> Where:
        """The place of a key before all tables."""
        return Where(name, self._keys["", 0].get(name))

    def table(self, name: str) -> Where:
        """The place of the table [name]."""
        here = (name, 0)
        top = self._keys["", 0].get(name)
        return Where(f"[{name}]", self._tables.get(here, top), self._keys.get(here, {}))

    def entry(self, name: str, number: int, label: str) -> Where:
        """The place of the table [[name]] with this number, from 0."""
        here = (name, number)
        return Where(f"[[{name}]] {label}", self._tables.get(here), self._keys.get(here, {}))


class _Open:
    """True if a value continues on the next line: a string of several lines, or an open bracket."""

    def __init__(self) -> None:
        self._quote, self._depth = "", 0

    def __bool__(self) -> bool:
        return bool(self._quote) or self._depth > 0

    def pass_over(self, text: str) -> None:
        """Go on to the end of a line."""
        at = 0
        while at < len(text):
            if self._quote:
                at = self._within_string(text, at)
                continue
            if text[at] == "#":
                break
            quote = next((mark for mark in _OPENINGS if text.startswith(mark, at)), "")
            self._quote = quote
            self._depth += (text[at] in "[{") - (text[at] in "]}")
            at += len(quote) or 1
        if len(self._quote) == 1:
            self._quote = ""  # such a string ends with its line, or is a fault

    def _within_string(self, text: str, at: int) -> int:
        if text[at] == "\\" and self._quote[0] == '"':
            return at + 2
        if text.startswith(self._quote, at):
            at += len(self._quote)
            self._quote = ""
            return at
        return at + 1

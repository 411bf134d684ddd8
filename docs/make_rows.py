"""Measure what the five documents print and write it beside their numbers into rows.md: python docs/make_rows.py.

The numbers themselves are in `row_numbers/`, a file for each document.
"""

from __future__ import annotations

from pathlib import Path

from row_numbers import gauss, implicit, kane, starts

PAGE = Path(__file__).parent / "rows.md"
BEGIN, END = "<!-- measured by docs/make_rows.py -->\n", "<!-- end of what was measured -->\n"
DOCUMENTS = (kane, gauss, starts, implicit)
NUMBERS = tuple(
    n for document in DOCUMENTS for n in sorted(document.NUMBERS, key=lambda n: ("KGISL".find(n.row[0]), n.row))
)


def write() -> None:
    """Measure, and put the table into the page."""
    table = ["| number | row | document | here | verdict |", "|---|---|---|---|---|", *(n.line() for n in NUMBERS)]
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    section = BEGIN + "\n" + "\n".join(table) + "\n\n" + END
    PAGE.write_text(before + section + after, encoding="utf-8")


if __name__ == "__main__":
    write()

"""The documents' numbers: every one is measured, holds, and stands on the page with its verdict."""

import importlib.util
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
sys.path.append(str(DOCS))  # its numbers lie beside it
SPEC = importlib.util.spec_from_file_location("make_rows", DOCS / "make_rows.py")
make_rows = sys.modules["make_rows"] = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(make_rows)


@pytest.mark.parametrize("number", make_rows.NUMBERS, ids=lambda number: f"{number.row} {number.what}")
def test_number_holds_and_is_on_the_page(number):
    line = number.line()
    assert line.endswith(f"| {number.verdict} |"), line
    page = (DOCS / "rows.md").read_text(encoding="utf-8")
    found = [
        text for text in page.splitlines() if text.startswith(f"| {number.what} | {number.row} | {number.printed} |")
    ]
    assert len(found) == 1
    assert found[0].endswith(f"| {number.verdict} |")


def test_every_row_has_a_number():
    """31 rows: K1-K9, G1-G7, I1-I8, S1-S3, L1-L4."""
    rows = {f"{letter}{k}" for letter, count in zip("KGISL", (9, 7, 8, 3, 4), strict=True) for k in range(1, count + 1)}
    assert {number.row for number in make_rows.NUMBERS} == rows

"""Mistakes people make: each ends in a message that says what to write instead, and stands on the page."""

import importlib.util
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
SPEC = importlib.util.spec_from_file_location("make_mistakes", DOCS / "make_mistakes.py")
make_mistakes = sys.modules["make_mistakes"] = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(make_mistakes)
MISTAKES = [mistake for chapter in make_mistakes.CHAPTERS.values() for mistake in chapter]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.code)
def test_mistake_is_told_what_to_write(mistake):
    message = make_mistakes.message_of(mistake)
    assert mistake.remedy in message
    page = (DOCS / "mistakes.md").read_text(encoding="utf-8")
    code = mistake.code.replace("|", "\\|")
    assert f"| `{code}` | " in page, "run docs/make_mistakes.py"


def test_there_are_sixty_of_them():
    assert len({mistake.code for mistake in MISTAKES}) >= 60

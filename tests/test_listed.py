"""What `dir()` lists: all that the pages of the documentation write, and no more than a page of names."""

import re
from pathlib import Path

import pytest

from dalembert import problems

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").rglob("*.py")]
MACHINERY = {
    "model": {"closed", "journal", "number", "scalar"},
    "system": {"kernel", "kept", "mechanics", "rows", "statement", "trivial_kinematics"},
    "motion": {"continued", "ending", "evaluated", "recipe", "segments", "storage", "told"},
}


@pytest.fixture(scope="module")
def nouns():
    problem = problems.get("sliding_particle")
    model = problem.build()
    system = model.compile()
    motion = system.simulate(problem.state(system, {}), 0.1)
    return {"model": model, "system": system, "motion": motion}


@pytest.mark.parametrize("noun", MACHINERY)
def test_dir_lists_what_pages_write(nouns, noun):
    one, text = nouns[noun], "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    written = {name for name in re.findall(rf"\b{noun}\.(\w+)\(", text) if hasattr(type(one), name)}
    assert len(written) >= 10
    assert written <= set(dir(one))


@pytest.mark.parametrize("noun", MACHINERY)
def test_dir_leaves_out_what_stages_read(nouns, noun):
    one = nouns[noun]
    assert all(hasattr(one, name) for name in MACHINERY[noun])
    assert not MACHINERY[noun] & set(dir(one))

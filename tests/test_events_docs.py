"""The page on events and its example do what they say."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_the_snippets_run():
    names = {}
    snippets = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "events.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(snippets) == 3
    for snippet in snippets:
        exec(compile(snippet, "docs/events.md", "exec"), names)
    assert names["motion"].success


def test_the_example(tmp_path):
    spec = importlib.util.spec_from_file_location("events_example", ROOT / "examples" / "events.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    shafts = example.latch()
    assert shafts["wa"][-1] == pytest.approx(0.7 * 3 / 1.3, rel=1e-12)
    assert len(example.bouncing_ball().events) == 6
    assert example.main(tmp_path).stat().st_size > 10_000

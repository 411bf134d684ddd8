"""One name, one meaning: no two classes of the library have the same name."""

import ast
from collections import defaultdict
from pathlib import Path

import dalembert


def classes(sources):
    """The places of each class, by its name, in sources by their places; classes within classes count as well."""
    found = defaultdict(list)
    for place, text in sources.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(place)
    return found


def test_class_names_are_given_once():
    root = Path(dalembert.__file__).parent
    found = classes({str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in root.rglob("*.py")})
    assert "Motion" in found
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


def test_names_given_twice_are_seen():
    assert classes({"a.py": "class Row: ...", "b.py": "if True:\n    class Row: ..."})["Row"] == ["a.py", "b.py"]

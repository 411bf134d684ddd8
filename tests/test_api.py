"""What the package promises: its names, and that importing it stays light."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dalembert as da
from dalembert.exports import PLACES
from dalembert.native.engine_object import engine


def test_the_stub_lists_each_name_once_and_is_all_there_is():
    stub = ast.parse(Path(da.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    lines = [statement for statement in stub.body if isinstance(statement, ast.ImportFrom)]
    listed = [(alias.name, alias.asname, statement.module) for statement in lines for alias in statement.names]
    assert {name: module for name, again, module in listed if again == name} == PLACES
    assert len(listed) == len(PLACES)
    assert da.__all__ == sorted(PLACES) == dir(da)


def test_every_name_can_be_imported_and_no_other():
    for name in da.__all__:
        assert getattr(da, name).__name__ == name
    names = {}
    exec("from dalembert import *", names)
    assert sorted(names.keys() - {"__builtins__"}) == sorted(da.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        da.nothing  # noqa: B018


def loaded_by(code, names):
    """Which of these modules a fresh process has loaded after running the code."""
    code += f"\nimport sys; print([name for name in {names} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip().splitlines()[-1]


def test_import_loads_no_dependency():
    assert loaded_by("import dalembert", ("numba", "matplotlib", "pandas", "scipy", "numpy", "sympy", "casadi")) == "[]"


def test_help_loads_what_prints_it_and_nothing_else():
    code = "from dalembert.cli import app\ntry: app(['--help'])\nexcept SystemExit: pass"
    assert loaded_by(code, ("numpy", "sympy", "casadi", "llvmlite", "matplotlib", "scipy")) == "[]"


def test_a_first_motion_loads_no_more_than_it_needs():
    engine()  # one that is built just now loads all that builds it
    page = (Path(da.__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n(.*?)print\(", page, re.DOTALL)[1]
    slow = ("numba", "scipy", "matplotlib", "pandas", "rich", "sympy.physics", "importlib.metadata")
    assert loaded_by(example, slow) == "[]"


def test_every_error_has_one_root_and_a_builtin():
    errors = [getattr(da, name) for name in da.__all__ if name.endswith("Error")]
    for error in errors:
        assert issubclass(error, da.DalembertError)
    builtin = ValueError | KeyError | TypeError | OSError | MemoryError
    assert all(issubclass(e, builtin) for e in errors if e is not da.DalembertError)

"""What the package promises: its names, and that importing it stays light."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dalembert as da
from dalembert.ingredients import INGREDIENTS
from dalembert.native.engine_object import engine


def imported(body):
    """The names that statements import from the library itself, with their modules."""
    froms = [statement for statement in body if isinstance(statement, ast.ImportFrom)]
    ours = [statement for statement in froms if statement.module.startswith("dalembert.")]
    return {alias.asname or alias.name: statement.module for statement in ours for alias in statement.names}


def test_all_is_exactly_what_the_package_imports():
    tree = ast.parse(Path(da.__file__).read_text(encoding="utf-8"))
    (types,) = (statement for statement in tree.body if isinstance(statement, ast.If))
    assert imported(types.body) == da._PLACES
    assert da._PLACES.items() >= INGREDIENTS.items()
    assert sorted(da.__all__) == sorted(da._PLACES) == dir(da)
    assert len(set(da.__all__)) == len(da.__all__)


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

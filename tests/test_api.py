"""What the package promises: its names, and that importing it stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import dalembert as da
from dalembert.ingredients import INGREDIENTS


def imported(body):
    """The names that statements import from the library itself, with their modules."""
    froms = [statement for statement in body if isinstance(statement, ast.ImportFrom)]
    ours = [statement for statement in froms if statement.module.startswith("dalembert.")]
    return {alias.asname or alias.name: statement.module for statement in ours for alias in statement.names}


def test_all_is_exactly_what_the_package_imports():
    tree = ast.parse(Path(da.__file__).read_text(encoding="utf-8"))
    (types,) = (statement for statement in tree.body if isinstance(statement, ast.If))
    at_once, when_asked_for = imported(tree.body), imported(types.body)
    assert when_asked_for == INGREDIENTS
    assert sorted(da.__all__) == sorted(at_once | when_asked_for) == dir(da)
    assert len(set(da.__all__)) == len(da.__all__)


def test_every_name_can_be_imported_and_no_other():
    for name in da.__all__:
        assert getattr(da, name).__name__ == name
    names = {}
    exec("from dalembert import *", names)
    assert sorted(names.keys() - {"__builtins__"}) == sorted(da.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        da.nothing  # noqa: B018


def test_import_loads_neither_numba_nor_matplotlib():
    code = "import sys, dalembert; print([m for m in ('numba', 'matplotlib', 'pandas', 'scipy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_error_has_one_root_and_a_builtin():
    errors = [getattr(da, name) for name in da.__all__ if name.endswith("Error")]
    for error in errors:
        assert issubclass(error, da.DalembertError)
    assert all(issubclass(e, ValueError | KeyError | TypeError | OSError) for e in errors if e is not da.DalembertError)

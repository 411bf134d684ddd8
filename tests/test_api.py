"""What the package promises: its names, and that importing it stays light."""

import subprocess
import sys

import pytest

import dalembert as da


def test_all_is_exactly_what_can_be_imported():
    assert sorted(da.__all__) == dir(da)
    for name in da.__all__:
        assert getattr(da, name).__name__ == name
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
    assert all(issubclass(e, ValueError | KeyError | TypeError) for e in errors if e is not da.DalembertError)

"""The cache of native functions must notice every change a compiled function depends on."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
from numba import types
from dalembert.numerics.native_cache import jit
from constants import OFFSET, helper

@jit(types.int64(types.int64))
def value(x):
    return helper(x) + OFFSET

print(value(1), sum(value.stats.cache_hits.values()))
"""
CONSTANTS = """
from numba import types
from dalembert.numerics.native_cache import jit
OFFSET = {offset}

@jit(types.int64(types.int64))
def helper(x):
    return x * {factor}
"""


def run(folder: Path, offset: int, factor: int) -> list[int]:
    (folder / "constants.py").write_text(CONSTANTS.format(offset=offset, factor=factor))
    (folder / "program.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, "-B", "program.py"], cwd=folder, capture_output=True, text=True, check=True)
    return [int(word) for word in done.stdout.split()]


def test_a_changed_constant_or_callee_in_another_module_recompiles(tmp_path):
    assert run(tmp_path, 10, 1) == [11, 0]
    assert run(tmp_path, 10, 1) == [11, 1]
    assert run(tmp_path, 20, 1)[0] == 21
    assert run(tmp_path, 20, 3)[0] == 23
    assert run(tmp_path, 10, 1)[0] == 11


TABLES = """
import numpy as np
from numba import types
from dalembert.numerics.native_cache import jit

def entry(table):
    @jit(types.float64(types.int64))
    def look_up(k):
        return table[k]
    return look_up

def after(inner, more):
    @jit(types.float64(types.int64))
    def add(k):
        return inner(k) + more
    return add

tables = ([1.0, 2.0], 0.0), ([1.0, 3.0], 0.0), ([1.0, 2.0], 5.0)
functions = [after(entry(np.array(table)), more) for table, more in tables]
print(*(int(f(1)) for f in functions), *(sum(f.stats.cache_hits.values()) for f in functions))
"""


def test_functions_made_from_tables_by_one_line_are_told_apart_and_found_again(tmp_path):
    (tmp_path / "tables.py").write_text(TABLES)
    for hits in (["0", "0", "0"], ["1", "1", "1"]):
        done = subprocess.run(
            [sys.executable, "-B", "tables.py"], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert done.stdout.split() == ["2", "3", "7", *hits]


INTRINSIC = """
from numba import types
from numba.extending import intrinsic
from dalembert.numerics.native_cache import jit

def constant(context):
    return context.get_constant(types.int64, {value})

@intrinsic
def number(_context):
    def codegen(context, _builder, _signature, _args):
        return constant(context)
    return types.int64(), codegen

@jit(types.int64())
def read():
    return number()

print(read(), sum(read.stats.cache_hits.values()))
"""


def test_a_changed_function_that_an_intrinsic_is_written_with_recompiles(tmp_path):
    for value, hits in ((3, 0), (3, 1), (4, 0)):
        (tmp_path / "program.py").write_text(INTRINSIC.format(value=value))
        done = subprocess.run(
            [sys.executable, "-B", "program.py"], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert [int(word) for word in done.stdout.split()] == [value, hits]

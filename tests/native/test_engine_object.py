"""The engine object: kept by content, never trusted blindly, never in the way; bounds checked on request."""

import os
import subprocess
import sys

import numpy as np
import pytest

from dalembert.native import engine_object, translation
from dalembert.native.jit import NATIVE, jit, made_of
from dalembert.native.object_cache import ObjectCache
from dalembert.native.types import Floats, Record, f8, floats, i8, ints, several

FACTOR = 3.0


@jit(f8(Floats, i8))
def scaled_sum(values, count):
    """FACTOR times the sum of the first entries."""
    total = 0.0
    for k in range(count):
        total += values[k]
    return FACTOR * total


class Pair(Record):
    """Two numbers of each kind."""

    _fields_ = (*ints("one other"), *floats("x y"))


@jit(several(f8, 2)(Pair))
def parts(pair):
    """The floats of a pair."""
    return pair.x, pair.y


@jit(f8(Pair))
def advance_pair(pair):
    """Count up, and return the sum of the floats."""
    x, y = parts(pair)
    pair.one += 1
    pair.other = 2 * pair.one
    return x + y


def test_a_function_of_an_extension_is_compiled_when_it_is_used():
    assert scaled_sum(np.arange(5.0), 4) == 18.0
    with pytest.raises(TypeError, match="contiguous arrays of float64"):
        scaled_sum(np.arange(5), 4)


@jit(f8(f8))
def doubled(x):
    """Twice a number."""
    return 2.0 * x


@jit(f8(f8))
def quadrupled(x):
    """Four times a number."""
    return doubled(doubled(x))


def test_an_extension_defines_what_another_process_translated_for_the_engine():
    compiler = translation.find_compiler()
    assert doubled(1.5) == 3.0  # compiled before
    share = compiler.translate([quadrupled], [doubled], checked=False)  # as where the engine is built by two processes
    assert [f.name for f in share.functions if not f.is_declaration and f.name in NATIVE] == [quadrupled.symbol]
    with pytest.raises(RuntimeError, match=r"lost .*doubled.*: called, and nowhere defined"):
        compiler.join([share])
    assert quadrupled(1.5) == 6.0


def test_records_are_shared_with_python():
    pair = Pair(one=6, x=0.5, y=0.25)
    assert advance_pair(pair) == 0.75
    assert (pair.one, pair.other) == (7, 14)


def test_the_content_of_a_function_covers_constants_and_what_it_closes_over():
    def shifted(by):
        @jit(f8(f8))
        def shift(x):
            return x + by

        return shift

    one, two = shifted(1.0), shifted(2.0)
    assert one(1.0) == 2.0
    assert two(1.0) == 3.0
    assert made_of(one).partition(" ")[2] != made_of(two).partition(" ")[2]
    assert "3.0" in made_of(scaled_sum)


def test_own_functions_have_the_same_names_in_every_process():
    names = [native.symbol for native in engine_object.own_functions()]
    assert len(set(names)) == len(names)
    program = (
        "from dalembert.native import engine_object as e; print(*(n.symbol for n in e.own_functions()), sep='\\n')"
    )
    other = "import dalembert.run.integrators.tsit5\n" + program  # another order of imports
    for text in (program, other):
        found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout.split()
        assert sorted(found) == sorted(name for name in names if name in found)
        assert set(found) >= {name for name in names if ".test_" not in name and not is_made_here(name)}


def is_made_here(name):
    """Whether tests of this process made the function, by a tableau of their own."""
    return NATIVE[name].function.__closure__ is not None


class Counted:
    """An engine that is quickly built; counts how often it is."""

    def __init__(self, monkeypatch, directory):
        self.built, self.told = 0, []
        monkeypatch.setattr(engine_object, "ObjectCache", lambda: ObjectCache(directory))
        monkeypatch.setattr(engine_object, "own_functions", lambda: [scaled_sum])
        monkeypatch.setattr(engine_object, "_tell", self.told.append)
        self.real = engine_object.build
        monkeypatch.setattr(engine_object, "build", self.build)

    def build(self, natives):
        self.built += 1
        return self.real(natives)

    def load(self):
        """The engine as a new process would get it."""
        return engine_object.engine.__wrapped__().find(scaled_sum)


def test_the_engine_is_built_once_and_found_again(monkeypatch, tmp_path):
    counted = Counted(monkeypatch, tmp_path)
    assert counted.load() is not None
    assert counted.load() is not None
    assert counted.built == 1


def test_sources_that_change_no_native_code_cost_no_build(monkeypatch, tmp_path):
    counted = Counted(monkeypatch, tmp_path)
    counted.load()
    monkeypatch.setattr(engine_object, "source_key", lambda: "0" * 64)
    counted.load()
    assert counted.built == 1


def test_sources_written_since_their_import_name_no_engine(monkeypatch, tmp_path):
    counted = Counted(monkeypatch, tmp_path)
    monkeypatch.setattr(engine_object, "are_sources_imported", lambda: False)
    counted.load()
    (kept,) = tmp_path.glob("*.object")  # the object, by what is in this process
    monkeypatch.setattr(engine_object, "are_sources_imported", lambda: True)
    counted.load()
    assert counted.built == 1
    assert {kept} < {*tmp_path.glob("*.object")}


def test_a_file_that_is_written_is_no_longer_what_was_imported(monkeypatch, tmp_path):
    source = tmp_path / "native.py"
    source.touch()
    monkeypatch.setattr(translation, "sources", lambda: [source])
    os.utime(source, (0, 0))
    assert translation.are_sources_imported()
    source.touch()
    assert not translation.are_sources_imported()


@pytest.mark.parametrize(
    "spoil", [lambda data: data[:-7], lambda data: data[:200] + b"?" + data[201:], lambda _data: b""]
)
def test_a_spoiled_object_is_built_anew(monkeypatch, tmp_path, spoil):
    counted = Counted(monkeypatch, tmp_path)
    counted.load()
    for file in tmp_path.iterdir():
        file.write_bytes(spoil(file.read_bytes()))
    assert counted.load() is not None
    assert counted.built == 2


def test_a_planted_pickle_is_never_read(monkeypatch, tmp_path):
    counted = Counted(monkeypatch, tmp_path)
    counted.load()
    mark = tmp_path.parent / "executed"
    planted = f"cposix\nsystem\n(S'touch {mark}'\ntR.".encode()
    for file in tmp_path.iterdir():
        file.write_bytes(planted)
    counted.load()
    assert counted.built == 2
    assert not mark.exists()


def test_without_a_directory_the_engine_is_built_each_time(monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("no directory")
    counted = Counted(monkeypatch, blocked / "below")
    assert counted.load() is not None
    assert counted.load() is not None
    assert counted.built == 2
    begun, not_kept, *again = counted.told
    assert begun.startswith("building the native engine")
    assert not_kept.startswith(f"the native engine cannot be kept in {blocked / 'below'}: every process will build it")
    assert again == [begun, not_kept]


CHECKED = """
import numpy as np
from dalembert.native.intrinsics import caller, move
from dalembert.native.jit import jit
from dalembert.native.types import Floats, i8
from dalembert.native.workspace import Workspace
from dalembert.native.plan import Plan

kind = i8(Floats, i8)
call = caller(kind)

@jit(kind)
def write(values, at):
    values[at] = 1.0
    return 0

@jit(i8(Floats, i8, i8))
def write_by_address(values, at, where):
    return call(where, (values, at))

@jit(kind)
def copy(values, count):
    move(values, 0, values, 2, count)
    return 0

values = np.zeros(4)
def fails(function, *arguments):
    try:
        function(*arguments)
    except IndexError:
        return True
    return False

print(fails(write, values, 3), fails(write, values, 4), fails(write_by_address, values, 9, write.address))
print(fails(copy, values, 2), fails(copy, values, 3))
plan = Plan()
work = Workspace(plan)
work.reserve(plan, {"x": 3, "rhs": 2})
work.mem[plan.x + 2] = 1.0
print(fails(work.check_guards))
work.mem[plan.x + 3] = 1.0
print(fails(work.check_guards))
"""


def test_a_checked_build_notices_what_leaves_its_array(tmp_path):
    (tmp_path / "program.py").write_text(CHECKED)
    environment = {**os.environ, "DALEMBERT_CHECKED": "1", "DALEMBERT_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True", "True", "False", "True", "False", "True"]

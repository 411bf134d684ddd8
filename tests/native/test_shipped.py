"""Engines that wheels bring: found by their manifest, refused when anything was changed, put into wheels whole."""

import hashlib
import os
import subprocess
import sys
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

from dalembert.errors import FileError
from dalembert.native import engine_object, shipped

ROOT = Path(__file__).parents[2]
PACKAGES = ("native", "run")
OBJECTS = {shipped.BASELINE: b"slow code", shipped.FAST: b"fast code"}

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.uname().machine != "x86_64", reason="wheels bring engines for Linux on x86-64 only"
)


@pytest.fixture
def installed(tmp_path):
    """A package folder with a few sources and the engines made of them."""
    for name in ("native/kernel.py", "run/steps/euler.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    folder = tmp_path / "native" / shipped.FOLDER
    folder.mkdir()
    for name, content in shipped.pack(OBJECTS, tmp_path, PACKAGES).items():
        (folder / name).write_bytes(content)
    return tmp_path


def features(monkeypatch, *, fast):
    known = dict.fromkeys(shipped._NEEDED_BY_FAST, True) | {"avx2": fast}
    monkeypatch.setattr(shipped.llvm, "get_host_cpu_features", lambda: known)


@pytest.mark.parametrize("fast", [True, False])
def test_the_best_object_for_the_processor_is_found(installed, monkeypatch, fast):
    features(monkeypatch, fast=fast)
    assert shipped.find_object(installed, PACKAGES) == OBJECTS[shipped.FAST if fast else shipped.BASELINE]


def test_other_machines_get_none(installed, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert shipped.find_object(installed, PACKAGES) is None


@pytest.mark.parametrize("change", ["edit", "swap", "add", "remove", "object", "manifest", "folder"])
def test_whatever_was_changed_is_not_used(installed, change):
    folder = installed / "native" / shipped.FOLDER
    assert shipped.find_object(installed, PACKAGES) is not None
    if change == "edit":
        (installed / "run/steps/euler.py").write_text("x = 12\n")
    elif change == "swap":
        (installed / "run/steps/euler.py").write_text("x = 2\n")
    elif change == "add":
        (installed / "run/extra.py").write_text("")
    elif change == "remove":
        (installed / "run/steps/euler.py").unlink()
    elif change == "object":
        for name in OBJECTS:
            (folder / f"{name}.o").write_bytes(b"other")
    elif change == "manifest":
        (folder / "manifest").unlink()
    else:
        folder.rename(folder.with_name("elsewhere"))
    assert shipped.find_object(installed, PACKAGES) is None


def test_a_checkout_builds_its_own():
    assert shipped.find_object(engine_object.ROOT, engine_object.PACKAGES) is None


def test_without_the_compiler_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "dalembert.native.compiler", None)
    monkeypatch.delattr("dalembert.native.compiler", raising=False)  # another test may have imported it
    with pytest.raises(FileError, match="pip install numba"):
        engine_object.build([])


def test_a_wheel_is_completed_and_its_record_is_right(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    backend = import_module("engine_wheel")
    plain, target = tmp_path / "p-1-py3-none-any.whl", tmp_path / "out.whl"
    with zipfile.ZipFile(plain, "w") as wheel:
        wheel.writestr("dalembert/a.py", "x")
        wheel.writestr("p-1.dist-info/WHEEL", "Root-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("p-1.dist-info/RECORD", "dalembert/a.py,,\n")
    backend.write_wheel(plain, target, {"manifest": b"m", "x86-64.o": b"code"})
    with zipfile.ZipFile(target) as wheel:
        names = set(wheel.namelist())
        assert names >= {"dalembert/a.py", "dalembert/native/objects/manifest", "dalembert/native/objects/x86-64.o"}
        assert "Tag: py3-none-manylinux_2_17_x86_64" in wheel.read("p-1.dist-info/WHEEL").decode()
        record = dict(line.rsplit(",", 2)[:2] for line in wheel.read("p-1.dist-info/RECORD").decode().split())
        assert record.keys() == names
        for name in names - {"p-1.dist-info/RECORD"}:
            digest = backend.base64.urlsafe_b64encode(hashlib.sha256(wheel.read(name)).digest()).decode().rstrip("=")
            assert record[name] == f"sha256={digest}"


@pytest.mark.slow
def test_a_wheel_runs_without_numba_and_without_a_home(tmp_path):
    """The wheel itself, built as pip builds it: every integrator moves, and no engine is compiled."""
    pytest.importorskip("setuptools", minversion="77")
    site = tmp_path / "site"
    build = f"import sys; sys.path.insert(0, {str(ROOT / 'packaging')!r}); import engine_wheel as e; "
    build += f"print(e.build_wheel({str(tmp_path)!r}))"
    name = subprocess.run([sys.executable, "-c", build], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    with zipfile.ZipFile(tmp_path / name.split()[-1]) as wheel:
        assert wheel.testzip() is None
        wheel.extractall(site)
    (site / "numba.py").write_text("raise ImportError('not here')\n")
    program = """
import dalembert as da
from dalembert import problems
from dalembert.exports import every
from dalembert.native import engine_object
engine_object._tell = None  # would be called before an engine is built
problem = problems.get("four_bar")
system = problem.system()
state = problem.state(system, {})
for name in every("integrators"):
    options = {"step": 0.01} if name == "RK4" else {}
    motion = system.simulate(state, 0.5, integrator=getattr(da, name)(**options))
    assert motion.success, name
print(da.__file__)
"""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(site), "HOME": "/nonexistent"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().startswith(str(site))

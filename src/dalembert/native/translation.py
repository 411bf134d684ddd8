"""The native functions of the package, translated to LLVM by as many processes as pay.

Numba takes about a tenth of a second for each function, in Python. `python -m dalembert.native.translation 1 2` writes
the second of two shares as bitcode to standard output.
"""

from __future__ import annotations

import os
import pkgutil
import sys
import time
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from llvmlite.binding import parse_bitcode

from dalembert.errors import FileError
from dalembert.native.jit import CHECKED, NATIVE, Native

if TYPE_CHECKING:
    import subprocess

ROOT = Path(__file__).parent.parent
PACKAGES = ("native", "solve", "run", "initial")  # folders whose sources make up the engine
PROCESSES = 2  # more do not pay: each has to import all it translates
FEWEST_FUNCTIONS = 50  # functions that are not worth another process
_IMPORTED = time.time()


def own_functions() -> list[Native]:
    """All native functions of the package."""
    for package in PACKAGES:
        for module in pkgutil.walk_packages([str(ROOT / package)], f"dalembert.{package}."):
            if module.name != __name__:
                import_module(module.name)
    return [native for native in NATIVE.values() if is_own(native)]


def sources() -> list[Path]:
    """The files that the engine is made of."""
    return [source for package in PACKAGES for source in sorted((ROOT / package).rglob("*.py"))]


def are_sources_imported() -> bool:
    """True if the files are those that this process has imported: none was written since."""
    return max(source.stat().st_mtime for source in sources()) < _IMPORTED


def is_own(native: Native) -> bool:
    """Whether a function belongs to this package."""
    return native.function.__module__.startswith("dalembert.")


def translate(natives: list[Native]) -> Any:
    """The module of native functions, each also as `c.symbol` for C callers: all of the package, or a few."""
    compiler = find_compiler()
    alone = len(natives) < FEWEST_FUNCTIONS or not are_sources_imported()  # another process would import something else
    count = 1 if alone else min(PROCESSES, os.cpu_count() or 1)
    others = [_start(k, count) for k in range(1, count)]
    return compiler.join([_share(compiler, natives, 0, count), *map(_received, others)])


def _start(which: int, count: int) -> subprocess.Popen[bytes]:
    """Another process that translates a share, with the modules of this one."""
    import subprocess  # takes as long to import as a small model to run

    path = os.pathsep.join(place or str(Path.cwd()) for place in sys.path)
    return subprocess.Popen(  # noqa: S603 - this Python, this module, two numbers
        [sys.executable, "-m", __name__, str(which), str(count)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )


def find_compiler() -> ModuleType:
    """The compiler; it needs Numba."""
    try:
        from dalembert.native import compiler
    except ImportError as error:
        raise FileError(
            f"this installation has no machine code for these native functions on {sys.platform}; to compile them "
            "Numba is needed: pip install numba"
        ) from error
    return compiler


def _share(compiler: ModuleType, natives: list[Native], which: int, count: int) -> Any:
    """The module of one of `count` shares; the functions are dealt out by length, the longest first."""
    dealt = sorted(natives, key=lambda native: (-len(native.function.__code__.co_code), native.symbol))
    mine = dealt[which::count]
    elsewhere = [native for k in range(count) if k != which for native in dealt[k::count]]
    return compiler.translate(mine, elsewhere, checked=CHECKED)


def _received(process: subprocess.Popen[bytes]) -> Any:
    code, _ = process.communicate()
    if process.returncode:
        raise FileError(f"a process that compiles native code ended with exit code {process.returncode}")
    return parse_bitcode(code)


if __name__ == "__main__":
    sys.stdout.buffer.write(_share(find_compiler(), own_functions(), int(sys.argv[1]), int(sys.argv[2])).as_bitcode())
    sys.stdout.buffer.flush()
    os._exit(0)  # to take the objects of the compiler apart one by one takes a second

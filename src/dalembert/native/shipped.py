"""Engine objects that a wheel brings: compiled when the wheel was made, for a family of processors each.

`manifest` in the folder `objects` has the SHA-256 of the sources that they were made of, and of each object. An
installation whose sources were changed, or an object that was, does not use them.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import llvmlite.binding as llvm

FOLDER = "objects"
BASELINE, FAST = "x86-64", "x86-64-v3"  # names of processors to LLVM; the second has AVX2 and FMA
_NEEDED_BY_FAST = ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")


def find_object(root: Path, packages: tuple[str, ...]) -> bytes | None:
    """The object for this machine among those in `root`; None if there is none that belongs to the sources there."""
    folder = root / "native" / FOLDER
    processor = _processor()
    if processor is None:
        return None
    try:
        lines = (folder / "manifest").read_text(encoding="utf-8").splitlines()
        code = (folder / f"{processor}.o").read_bytes()
    except OSError:
        return None
    known = dict(line.split() for line in lines)
    if known.get("sources") != _digest(root, packages) or known.get(processor) != hashlib.sha256(code).hexdigest():
        return None
    return code


def pack(objects: Mapping[str, bytes], root: Path, packages: tuple[str, ...]) -> dict[str, bytes]:
    """The files of the folder `objects`, by name, for objects by processor made of the sources in `root`."""
    lines = [f"sources {_digest(root, packages)}"]
    lines += [f"{processor} {hashlib.sha256(code).hexdigest()}" for processor, code in objects.items()]
    files = {f"{processor}.o": code for processor, code in objects.items()}
    return {**files, "manifest": ("\n".join(lines) + "\n").encode()}


def _processor() -> str | None:
    """The best family that this processor belongs to; None if wheels contain no code for it."""
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        return None
    features = llvm.get_host_cpu_features()
    return FAST if all(features.get(name) for name in _NEEDED_BY_FAST) else BASELINE


def _digest(root: Path, packages: tuple[str, ...]) -> str:
    """SHA-256 of the names and contents of the sources."""
    digest = hashlib.sha256()
    for path in sorted(path for package in packages for path in (root / package).rglob("*.py")):
        digest.update(f"{path.relative_to(root).as_posix()} {path.stat().st_size}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()

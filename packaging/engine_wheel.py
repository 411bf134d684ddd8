"""The build backend: setuptools, and wheels for Linux on x86-64 with the native engine inside.

The engine is compiled once per family of processors and added to the wheel that setuptools makes; nothing is left in
the checkout. On other platforms, and with `DALEMBERT_NO_ENGINE=1`, the wheel has no engine and compiles it when it is
first used, with Numba.
"""

from __future__ import annotations

import base64
import hashlib
import os
import platform
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

ROOT = Path(__file__).parents[1]
PLATFORM = "manylinux_2_17_x86_64"  # object code calls libm and libc only, by names that are older
FOLDER = "dalembert/native/objects"
prepare_metadata_for_build_wheel = build_meta.prepare_metadata_for_build_wheel


def brings_engine() -> bool:
    """Whether wheels made here have the engine inside."""
    here = sys.platform == "linux" and platform.machine() == "x86_64"
    return here and os.environ.get("DALEMBERT_NO_ENGINE", "") in ("", "0")


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """What setuptools needs, and to compile the engine all that the package needs to run."""
    needed = list(build_meta.get_requires_for_build_wheel(config_settings))
    if brings_engine():
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        needed += [*project["dependencies"], *project["optional-dependencies"]["build"]]
    return needed


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """A wheel of any Python 3, for this platform if the engine is in it."""
    name = build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)
    if not brings_engine():
        return name
    plain = Path(wheel_directory) / name
    renamed = plain.with_name(name.replace("-none-any", f"-none-{PLATFORM}"))
    write_wheel(plain, renamed, engine_files())
    plain.unlink()
    return renamed.name


def engine_files() -> dict[str, bytes]:
    """The engine for each family of processors, compiled from the sources of the checkout; files by name."""
    sys.path.insert(0, str(ROOT / "src"))
    from dalembert.native import engine_object, shipped

    objects = engine_object.build_for((shipped.BASELINE, shipped.FAST))
    return shipped.pack(objects, engine_object.ROOT, engine_object.PACKAGES)


def write_wheel(plain: Path, target: Path, files: dict[str, bytes]) -> None:
    """Copy a wheel with the engine's files added, its tag changed and its record completed."""
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        entries = {name: old.read(name) for name in old.namelist()}
        (record,) = (name for name in entries if name.endswith(".dist-info/RECORD"))
        del entries[record]
        (tags,) = (name for name in entries if name.endswith(".dist-info/WHEEL"))
        text = entries[tags].decode().replace("-none-any", f"-none-{PLATFORM}")
        entries[tags] = text.replace("Root-Is-Purelib: true", "Root-Is-Purelib: false").encode()
        entries |= {f"{FOLDER}/{name}": content for name, content in files.items()}
        lines = [f"{name},sha256={_digest(content)},{len(content)}" for name, content in entries.items()]
        entries[record] = "\n".join([*lines, f"{record},,", ""]).encode()
        for name, content in entries.items():
            new.writestr(name, content)


def _digest(content: bytes) -> str:
    """The SHA-256 as records of wheels have it."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()

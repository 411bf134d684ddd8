"""The native engine is compiled once per installation; this says so, instead of leaving the user to wonder."""

from __future__ import annotations

import functools
import hashlib
import sys
from contextlib import suppress
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from dalembert.equations.object_cache import default_directory

ENGINE = "dalembert.numerics.engine"
PARTS = (
    ENGINE,
    "dalembert.numerics.formulations.lagrange_multipliers",
    "dalembert.numerics.formulations.fall_back",
    "dalembert.numerics.formulations.udwadia_kalaba",
    "dalembert.numerics.drift.projection",
    "dalembert.numerics.instant",
    "dalembert.numerics.nearest",
    "dalembert.numerics.drift.blajer",
    "dalembert.numerics.drift.yoon",
    "dalembert.numerics.integrators.automatic",
    "dalembert.numerics.integrators.dop853",
    "dalembert.numerics.integrators.generalized_alpha",
    "dalembert.numerics.integrators.kutta_merson",
    "dalembert.numerics.integrators.radau",
    "dalembert.numerics.integrators.rk4",
    "dalembert.numerics.integrators.state_space_svd",
    "dalembert.numerics.integrators.tsit5",
)


@functools.cache
def prepare() -> None:
    """Import the native engine, once; if it was never compiled here, announce that it is being compiled."""
    if all(part in sys.modules for part in PARTS):
        return
    directory = default_directory()
    marker = None if directory is None else directory.parent / f"engine-{_stamp()}"
    if marker is None or not marker.exists():
        from rich.console import Console

        Console(stderr=True).print("dalembert: preparing the engine, once per installation (about half a minute) ...")
    for part in PARTS:
        import_module(part)
    if marker is not None:
        with suppress(OSError):  # a read-only home: the announcement comes again, nothing else
            marker.parent.mkdir(parents=True, exist_ok=True)
            marker.touch()


def _stamp() -> str:
    """Digest of the installation: where it is, what it contains, and the compiler's version."""
    root = Path(__file__).parent / "numerics"
    digest = hashlib.sha256(f"{root} {version('numba')} {sys.version}".encode())
    for source in sorted(root.rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:24]

"""Fingerprint of a system, the same in every process."""

from __future__ import annotations

from dalembert.equations.system import System


def fingerprint(system: System) -> str:
    """A digest of all that a system computes."""
    return str(system.__getstate__()["kernels"][0])

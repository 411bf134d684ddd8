"""What tells one system from another, whatever process it is in."""

from __future__ import annotations

from dalembert.equations.system import System


def fingerprint(system: System) -> str:
    """A digest of all that a system computes."""
    return str(system.__getstate__()["kernels"][0])

"""Reference mechanisms with published or analytic answers, for tests, documentation and benchmarks.

`all()` lists them, `get(name)` finds one; `problem.simulate()` runs it. Stating a problem is cheap: models are built
and compiled only when asked for.
"""

from __future__ import annotations

import functools
from importlib import import_module

from dalembert.errors import UnknownNameError
from dalembert.problems.problem import Problem

__all__ = ["Problem", "all", "get"]

_CATALOGUE = (  # modules of this package, imported with the catalogue, and the name of the problem in each
    ("pendulum", "PROBLEM"),
    ("sliding_particle", "PROBLEM"),
    ("four_bar", "PROBLEM"),
    ("n_four_bar", "PROBLEM"),
    ("knife_edge", "PROBLEM"),
    ("chaplygin_sleigh", "PROBLEM"),
    ("vertical_disk", "PROBLEM"),
    ("appell_hamel", "NONLINEAR"),
    ("appell_hamel", "LINEAR"),
    ("asymmetric_top", "PROBLEM"),
    ("rattleback", "PROBLEM"),
    ("kalaba_udwadia_particle", "PROBLEM"),
    ("nonlinear_pendulum", "PROBLEM"),
    ("duffing_tracking", "PROBLEM"),
    ("spatial_four_bar", "PROBLEM"),
    ("car", "PROBLEM"),
    ("andrews", "PROBLEM"),
    ("car_axis", "PROBLEM"),
    ("closed_chain", "PROBLEM"),
    ("flexible_pendulum", "PROBLEM"),
    ("flexible_pendulum", "FLOATING"),
)


@functools.cache
def all() -> tuple[Problem, ...]:  # noqa: A001 - read as problems.all()
    """Every problem of the catalogue."""
    return tuple(getattr(import_module(f"{__name__}.{module}"), name) for module, name in _CATALOGUE)


def get(name: str) -> Problem:
    """The problem called `name`; raises `UnknownNameError` with suggestions."""
    found = {problem.name: problem for problem in all()}
    if name not in found:
        raise UnknownNameError(name, found, "the problem catalogue")
    return found[name]

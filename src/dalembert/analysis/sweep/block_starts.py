"""The starts of a block of runs, found in one call of native code where they can be."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dalembert.analysis.sweep.followed import Followed
from dalembert.equations.checks.inertia import Inertias
from dalembert.errors import DalembertError
from dalembert.initial.request import Task, find_name, read_task
from dalembert.initial.start_batch import StartBatch, is_plain

if TYPE_CHECKING:
    from dalembert.analysis.sweep.study import Study

LEFT = 1  # to be found by `System.initial`


class BlockStarts(NamedTuple):
    """(q, u) (n, nq + nu), parameter values (n, np), and codes (n,): 0 where the start was found."""

    z: np.ndarray
    parameters: np.ndarray
    codes: np.ndarray


def find_block_starts(study: Study, rows: np.ndarray) -> BlockStarts:
    """Starts of the runs with these values. `System.initial` finds those that native code does not."""
    system, n = study.system, len(rows)
    nothing = BlockStarts(
        np.zeros((n, system.nq + system.nu)), np.zeros((n, len(system.parameters))), np.full(n, LEFT)
    )  # fmt: skip
    kinds = dict(zip(study.names, study.kinds, strict=True))
    places = [find_name(system, name, "varied") for name in study.names if kinds[name] == "given"]
    if isinstance(study.guess, Followed) or any(kind not in ("q", "u") for kind, _ in places):
        return nothing
    task = _first_task(study, rows)
    if task is None or not is_plain(task):
        return nothing
    targets, parameters = np.tile(task.target, (n, 1)), np.tile(task.p, (n, 1))
    given, varied = iter(places), list[int]()
    for column, name in zip(rows.T, study.names, strict=True):
        if kinds[name] == "parameter":
            parameters[:, system.parameters.index(name)] = column
            varied.append(system.parameters.index(name))
        elif kinds[name] == "given":
            kind, k = next(given)
            targets[:, k + (system.nq if kind == "u" else 0)] = column
    if system.followers:
        varied += map(system.parameters.index, study.parameters)
        parameters = np.array([system.followed(task.p, row, varied) for row in parameters])
    found, codes = StartBatch(task).find(targets, parameters)
    codes[~_allowed(study, rows, parameters)] = LEFT
    return BlockStarts(found, parameters, codes)


def _first_task(study: Study, rows: np.ndarray) -> Task | None:
    """The request of the first run that can be read."""
    for row in rows:
        given, options = study.request(row)
        try:
            return read_task(study.system, given, **options)
        except DalembertError:
            continue
    return None


def _allowed(study: Study, rows: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """Mask of the runs that have finite values and no negative mass, (n,)."""
    system, allowed = study.system, np.isfinite(rows).all(axis=1)
    inertias = Inertias(system.carriers, system.functions["inertias"], system.parameters)
    of_masses = system.kept("parameters of masses", lambda: {system.parameters[k] for k in inertias.reads})
    if not of_masses & set(study.names):
        return allowed
    defaults = np.array(system.parameter_defaults, dtype=float)
    for k in np.flatnonzero(allowed):
        try:
            inertias.check(defaults, parameters[k])
        except DalembertError:
            allowed[k] = False
    return allowed

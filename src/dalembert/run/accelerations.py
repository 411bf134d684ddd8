"""Accelerations and multipliers at one state, without the machine code a whole run would be worth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.equations.system import System
from dalembert.native.jit import address_of
from dalembert.native.workspace import Workspace
from dalembert.run.drift.no_correction import NoCorrection
from dalembert.run.engine import Blueprint, Engine, Evaluation, blueprint_of
from dalembert.run.evaluate import complete
from dalembert.run.formulations.lagrange_multipliers import LagrangeMultipliers
from dalembert.run.measure import measure
from dalembert.run.scales import Scales
from dalembert.run.status import Status

SOLVED_BY = LagrangeMultipliers(), NoCorrection()


class Accelerations(NamedTuple):
    """u' (nu,), la (nc,), A u' - b (nc,) relative to its terms, the relative error of the balance, status and sizes.

    The error of the balance is not finite where u', la, M, f or A is not, nor is anything else to be believed then.
    """

    udot: np.ndarray
    multipliers: np.ndarray
    acceleration: np.ndarray
    balance: float
    status: Status
    scales: Scales


def evaluate_samples(system: System, parameters: np.ndarray, t: np.ndarray, z: np.ndarray) -> Evaluation:
    """Everything at samples t (nt,), z (nt, nz), whatever made them: solved by LagrangeMultipliers."""
    return Engine(system, parameters, *SOLVED_BY).evaluate(t, z)


def measured(system: System, t: float, q: np.ndarray, u: np.ndarray, parameters: np.ndarray, span: float) -> Scales:
    """The sizes of coordinates, speeds and rows in a state; `span` is the length of the run, 0 if there is none."""
    spare = system.kept("workspaces to measure in", list)
    try:
        work = spare.pop()  # nobody else has it then
    except IndexError:
        work = _blueprint(system).work.copied()
    z = np.concatenate([q, u])
    _set_parameters(work, system, parameters)
    measure.call(*work.numbers, t, address_of(z), z.size, span)
    found = Scales.read(work, system)
    spare.append(work)
    return found


def _blueprint(system: System) -> Blueprint:
    return system.kept("accelerations", lambda: blueprint_of(system, *SOLVED_BY))


def _set_parameters(work: Workspace, system: System, parameters: np.ndarray) -> None:
    first = work.plan.xu + system.nu
    work.mem[first : first + len(parameters)] = parameters


def accelerations(system: System, t: float, q: np.ndarray, u: np.ndarray, parameters: np.ndarray) -> Accelerations:
    """What follows from positions and velocities; redundant constraints get the least multipliers."""
    work = _blueprint(system).work.copied()
    _set_parameters(work, system, parameters)
    nu, nc = system.nu, system.nc
    out = np.zeros(nu + 2 * nc + 1)
    z = np.concatenate([q, u])
    measure.call(*work.numbers, t, address_of(z), z.size, 0.0)
    scales = Scales.read(work, system)
    complete.call(*work.numbers, t, address_of(z), z.size, address_of(out), out.size)
    status = Status(int(work.plan.unsolved))
    return Accelerations(out[:nu], out[nu : nu + nc], out[nu + nc : -1], float(out[-1]), status, scales)

"""Accelerations and multipliers at one state, without the machine code a whole run would be worth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.equations.system import System
from dalembert.native.jit import address_of
from dalembert.native.workspace import Workspace
from dalembert.run.drift.no_correction import NoCorrection
from dalembert.run.engine import Engine, Evaluation, blueprint_of
from dalembert.run.evaluate import complete
from dalembert.run.formulations.lagrange_multipliers import LagrangeMultipliers
from dalembert.run.scales import Scales, measure
from dalembert.run.status import Status

SOLVED_BY = LagrangeMultipliers(), NoCorrection()


class Accelerations(NamedTuple):
    """u' (nu,), la (nc,), A u' - b (nc,) relative to its terms, the relative error of the balance, and the status.

    The error of the balance is not finite where u', la, M, f or A is not, nor is anything else to be believed then.
    """

    udot: np.ndarray
    multipliers: np.ndarray
    acceleration: np.ndarray
    balance: float
    status: Status


def evaluate_samples(system: System, parameters: np.ndarray, t: np.ndarray, z: np.ndarray) -> Evaluation:
    """Everything at samples t (nt,), z (nt, nz), whatever made them: solved by LagrangeMultipliers."""
    return Engine(system, parameters, *SOLVED_BY).evaluate(t, z)


def measured(system: System, t: float, q: np.ndarray, u: np.ndarray, parameters: np.ndarray, span: float) -> Scales:
    """The sizes of coordinates, speeds and rows in a state; `span` is the length of the run, 0 if there is none."""
    work, z = _workspace(system, parameters), np.concatenate([q, u])
    measure.call(*work.numbers, t, address_of(z), z.size, span)
    return Scales.read(work, system)


def _workspace(system: System, parameters: np.ndarray) -> Workspace:
    work = system.kept("accelerations", lambda: blueprint_of(system, *SOLVED_BY)).work.copied()
    first = work.plan.xu + system.nu
    work.mem[first : first + len(parameters)] = parameters
    return work


def accelerations(system: System, t: float, q: np.ndarray, u: np.ndarray, parameters: np.ndarray) -> Accelerations:
    """What follows from positions and velocities; redundant constraints get the least multipliers."""
    work = _workspace(system, parameters)
    nu, nc = system.nu, system.nc
    out = np.zeros(nu + 2 * nc + 1)
    z = np.concatenate([q, u])
    measure.call(*work.numbers, t, address_of(z), z.size, 0.0)
    complete.call(*work.numbers, t, address_of(z), z.size, address_of(out), out.size)
    return Accelerations(
        out[:nu], out[nu : nu + nc], out[nu + nc : -1], float(out[-1]), Status(int(work.plan.unsolved))
    )

"""Accelerations and multipliers at one state, without the machine code a whole run would be worth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.equations.system import System
from dalembert.native.jit import address_of
from dalembert.native.workspace import Workspace
from dalembert.run.blueprint import blueprint_of
from dalembert.run.drift.no_correction import NoCorrection
from dalembert.run.engine import Engine, Evaluation
from dalembert.run.evaluate import complete
from dalembert.run.formulations.lagrange_multipliers import LagrangeMultipliers
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


def accelerations_workspace(system: System) -> Workspace:
    """A workspace for `complete`, without parameter values."""
    return system.kept("accelerations", lambda: blueprint_of(system, *SOLVED_BY)).work.copied()


def accelerations(system: System, t: float, q: np.ndarray, u: np.ndarray, parameters: np.ndarray) -> Accelerations:
    """What follows from positions and velocities; redundant constraints get the least multipliers."""
    work = accelerations_workspace(system)
    plan, mem = work.plan, work.mem
    first = plan.xu + system.nu
    mem[first : first + len(parameters)] = parameters
    nu, nc = system.nu, system.nc
    out = np.zeros(nu + 2 * nc + 1)
    z = np.concatenate([q, u])
    complete.call(*work.numbers, t, address_of(z), z.size, address_of(out), out.size)
    return Accelerations(out[:nu], out[nu : nu + nc], out[nu + nc : -1], float(out[-1]), Status(plan.unsolved))

"""Accelerations and multipliers at one instant, without the machine code a whole run would be worth."""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from dalembert.equations.system import System
from dalembert.numerics.drift.no_correction import NoCorrection
from dalembert.numerics.engine import Engine
from dalembert.numerics.evaluate import complete
from dalembert.numerics.formulations.lagrange_multipliers import LagrangeMultipliers
from dalembert.numerics.status import Status

_ENGINES: WeakKeyDictionary[System, Engine] = WeakKeyDictionary()  # never run: their arrays are copied


class Instant(NamedTuple):
    """u' (nu,), la (nc,), A u' - b (nc,) relative to its terms, the relative error of the balance, and the status."""

    udot: np.ndarray
    multipliers: np.ndarray
    acceleration: np.ndarray
    balance: float
    status: Status


def accelerations(system: System, t: float, q: np.ndarray, u: np.ndarray, parameters: np.ndarray) -> Instant:
    """What follows from positions and velocities; redundant constraints get the least multipliers."""
    engine = _ENGINES.get(system)
    if engine is None:
        engine = _ENGINES[system] = Engine(system, parameters, LagrangeMultipliers(), NoCorrection())
    work = engine.work.copied()
    plan, mem = work.plan, work.mem
    first = plan.xu + system.nu
    mem[first : first + len(parameters)] = parameters
    plan.unsolved = 0
    nu, nc = system.nu, system.nc
    out = np.zeros(nu + 2 * nc + 1)
    complete(plan, mem, t, np.concatenate([q, u]), out)
    status = Status(int(plan.unsolved))
    return Instant(out[:nu], out[nu : nu + nc], out[nu + nc : -1], float(out[-1]), status)

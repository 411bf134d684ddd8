"""Accelerations and multipliers at one state, without the machine code a whole run would be worth."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.equations.system import System
from dalembert.native.jit import address_of
from dalembert.native.workspace import Workspace
from dalembert.run.blueprint import blueprint_of
from dalembert.run.drift.no_correction import NoCorrection
from dalembert.run.engine import Engine
from dalembert.run.formulations.lagrange_multipliers import LagrangeMultipliers
from dalembert.run.measure import complete, measure
from dalembert.run.scales import Scales
from dalembert.run.status import Status, status_of

SOLVED_BY = LagrangeMultipliers(), NoCorrection()


class Accelerations(NamedTuple):
    """u' (nu,), la (nc,), A u' - b (nc,) relative to its terms, the relative error of the balance, the status.

    `sizes` (nq + nu,) are those of coordinates and speeds in the state.

    The error of the balance is not finite where u', la, M, f or A is not, nor is anything else to be believed then.
    """

    udot: np.ndarray
    multipliers: np.ndarray
    acceleration: np.ndarray
    balance: float
    status: Status
    sizes: np.ndarray


def solver_engine(system: System, parameters: np.ndarray) -> Engine:
    """Engine that evaluates samples of any origin, with LagrangeMultipliers."""
    return Engine(system, parameters, *SOLVED_BY)


def measured(system: System, t: float, q: np.ndarray, u: np.ndarray, parameters: np.ndarray, span: float) -> Scales:
    """The sizes of coordinates, speeds and rows in a state; `span` is the length of the run, 0 if there is none."""
    free = system.kept("benches", list)
    bench = _taken(free, system)
    measure.call(*bench.loaded(t, q, u, parameters), span)
    found = Scales(bench.sizes.copy(), *bench.shape)
    free.append(bench)
    return found


def accelerations_workspace(system: System) -> Workspace:
    """A workspace for `measure` and `complete`, without parameter values."""
    return system.kept("accelerations", lambda: blueprint_of(system, *SOLVED_BY)).work.copied()


def accelerations(system: System, t: float, q: np.ndarray, u: np.ndarray, parameters: np.ndarray) -> Accelerations:
    """Solve for accelerations and multipliers. Redundant constraints get the minimum-norm multipliers."""
    free = system.kept("benches", list)
    bench = _taken(free, system)
    nu, nc = len(u), system.nc
    out = np.zeros(nu + 2 * nc + 1)
    bench.plan.unsolved = 0
    complete.call(*bench.loaded(t, q, u, parameters), address_of(out), out.size)
    status, sizes = status_of(bench.plan.unsolved), bench.sizes[: len(q) + nu].copy()
    if system.ideal:  # other laws start from the solution found last, which must not matter here
        free.append(bench)
    return Accelerations(out[:nu], out[nu : nu + nc], out[nu + nc : -1], float(out[-1]), status, sizes)


class _Bench:
    """A workspace for one state at a time, with its `sizes`. One user at a time takes it."""

    def __init__(self, system: System) -> None:
        self._work = accelerations_workspace(system)
        self.plan, mem = self._work.plan, self._work.mem
        first, self.shape = self.plan.xu + system.nu, (system.nq, system.nu, self.plan.np)
        self.sizes = mem[self.plan.sizes : self.plan.x]
        self._parameters = mem[first : first + len(system.parameters)]
        self._z = np.zeros(system.nq + system.nu)
        self._q, self._u = self._z[: system.nq], self._z[system.nq :]
        self._numbers, self._state = self._work.numbers, (address_of(self._z), self._z.size)

    def loaded(self, t: float, q: np.ndarray, u: np.ndarray, parameters: np.ndarray) -> tuple[Any, ...]:
        """Plan, mem, t and z of a state, as native functions take them."""
        self._q[:], self._u[:], self._parameters[:] = q, u, parameters
        return *self._numbers, t, *self._state


def _taken(free: list[_Bench], system: System) -> _Bench:
    try:
        return free.pop()
    except IndexError:
        return _Bench(system)

"""Accelerations and multipliers at one state, without the machine code a whole run would be worth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.equations.system import System
from dalembert.native.jit import address_of
from dalembert.run.blueprint import blueprint_of
from dalembert.run.drift.no_correction import NoCorrection
from dalembert.run.engine import Engine, Evaluation
from dalembert.run.formulations.lagrange_multipliers import LagrangeMultipliers
from dalembert.run.measure import complete, measure
from dalembert.run.scales import Scales
from dalembert.run.status import Status

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


def evaluate_samples(system: System, parameters: np.ndarray, t: np.ndarray, z: np.ndarray) -> Evaluation:
    """Everything at samples t (nt,), z (nt, nz), whatever made them: solved by LagrangeMultipliers."""
    return Engine(system, parameters, *SOLVED_BY).evaluate(t, z)


def measured(system: System, t: float, q: np.ndarray, u: np.ndarray, parameters: np.ndarray, span: float) -> Scales:
    """The sizes of coordinates, speeds and rows in a state; `span` is the length of the run, 0 if there is none."""
    bench = _Bench.take(system)
    bench.load(q, u, parameters)
    measure.call(*bench.state(t), span)
    found = bench.scales()
    bench.put_back(system)
    return found


def accelerations(system: System, t: float, q: np.ndarray, u: np.ndarray, parameters: np.ndarray) -> Accelerations:
    """What follows from positions and velocities; redundant constraints get the least multipliers."""
    bench = _Bench.take(system)
    bench.load(q, u, parameters)
    nu, nc = system.nu, system.nc
    out = np.zeros(nu + 2 * nc + 1)
    bench.plan.unsolved = 0
    complete.call(*bench.state(t), address_of(out), out.size)
    status, sizes = Status(bench.plan.unsolved), bench.sizes[: system.nq + nu].copy()
    if system.ideal:  # other laws begin with what they found last, which must not matter here
        bench.put_back(system)
    return Accelerations(out[:nu], out[nu : nu + nc], out[nu + nc : -1], float(out[-1]), status, sizes)


class _Bench:
    """A workspace for one state at a time; whoever has taken it has it alone."""

    def __init__(self, system: System) -> None:
        self.work = system.kept("accelerations", lambda: blueprint_of(system, *SOLVED_BY)).work.copied()
        self.plan, mem = self.work.plan, self.work.mem
        first, self.shape = self.plan.xu + system.nu, (system.nq, system.nu, self.plan.np)
        self._parameters = mem[first : first + len(system.parameters)]
        self.sizes = mem[self.plan.sizes : self.plan.row_sizes + 2 * self.plan.np + self.plan.nv + 1]
        self._z = np.zeros(system.nq + system.nu)
        self._state = address_of(self._z), self._z.size

    @classmethod
    def take(cls, system: System) -> _Bench:
        try:
            found: _Bench = system.kept("benches", list).pop()
        except IndexError:
            return cls(system)
        return found

    def put_back(self, system: System) -> None:
        system.kept("benches", list).append(self)

    def load(self, q: np.ndarray, u: np.ndarray, parameters: np.ndarray) -> None:
        nq = len(q)
        self._z[:nq], self._z[nq:] = q, u
        self._parameters[:] = parameters

    def state(self, t: float) -> tuple[int, int, int, float, int, int]:
        """Plan, mem, t and z, as native functions take them."""
        return *self.work.numbers, t, *self._state

    def scales(self) -> Scales:
        return Scales(self.sizes.copy(), *self.shape)

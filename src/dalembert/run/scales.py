"""`Scales`: sizes of coordinates, speeds and constraint rows in one state, to which tolerances are relative.

Angles and quaternions have size 1. All other coordinates share one energy, inertia x size^2, as nobody says which
units they have: that of the largest of their values, of the lever arms at which angles move them, and of the ways to
where the constraints hold. Speeds are sizes of coordinates times a rate: that at which forces or constraints change the
motion, sqrt(force x size / energy). A row has the size that the largest entry of its gradient, times the size of the
variable there, gives it. So other units, or a row multiplied by a number, multiply the sizes and change nothing else.

The block `sizes` of mem holds q (nq), u (nu), the energy; from `row_sizes` phi (np) and psi (np + nv); then the
rate. The block ends where x begins.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.equations.system import System
from dalembert.native.workspace import Workspace


class Scales(NamedTuple):
    """The sizes of a system in a state, as native code lays them out; `nq`, `nu`, `n_p` say where parts begin."""

    values: np.ndarray
    nq: int
    nu: int
    n_p: int

    @staticmethod
    def read(work: Workspace, system: System) -> Scales:
        """The sizes in a workspace. Those of rows may grow in a run (see `run.rounded_rows`), and these with them."""
        plan = work.plan
        return Scales(work.mem[plan.sizes : plan.x], system.nq, system.nu, plan.np)

    def copied(self) -> Scales:
        """The same sizes, which stay as they are."""
        return Scales(self.values.copy(), self.nq, self.nu, self.n_p)

    @property
    def q(self) -> np.ndarray:
        """Sizes of coordinates, (nq,)."""
        return self.values[: self.nq]

    @property
    def u(self) -> np.ndarray:
        """Sizes of speeds, (nu,)."""
        return self.values[self.nq : self.nq + self.nu]

    @property
    def rows(self) -> np.ndarray:
        """Sizes of (phi, psi), as the kernel "residual" gives them, (2 np + nv,)."""
        return self.values[self.nq + self.nu + 1 : -1]

    @property
    def position(self) -> np.ndarray:
        """Sizes of phi, (np,)."""
        first = self.nq + self.nu + 1
        return self.values[first : first + self.n_p]

    @property
    def velocity(self) -> np.ndarray:
        """Sizes of psi, (np + nv,)."""
        return self.values[self.nq + self.nu + 1 + self.n_p : -1]

    @property
    def energy(self) -> float:
        """The size of kinetic energies."""
        return float(self.values[self.nq + self.nu])

    @property
    def rate(self) -> float:
        """Rate of the motion: sizes of speeds are those of coordinates times this rate."""
        return float(self.values[-1])

    def impulse(self, system: System, t: float, z: np.ndarray, parameters: np.ndarray) -> float:
        """The impulse of unknowns that laws determine, as it turns over the energy in a state z = (q, u, ...)."""
        more = np.zeros(system.nu + system.nc)
        W = system.linearised_rows(t, z[: self.nq], z[self.nq : self.nq + self.nu], parameters, more=more)[2]
        laws = [k for k, row in enumerate(system.rows) if not row.law.restrains]
        reach = float(np.nan_to_num(np.abs(W[laws]) @ self.u).max(initial=0.0))
        return self.energy / reach if reach > 0.0 else 1.0

"""Equations of positions and of velocities of large systems, with the nonzeros of their gradients.

They are read from kernels that a run needs anyway: those of positions from the geometry; of velocities, psi from the
residuals, q' and A from the dynamics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import casadi as ca
import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.functions import function_of
from dalembert.equations.system import System
from dalembert.initial.joint_rows import joint_coordinates, joint_rates, read_joints

Read = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class SparseLevel:
    """Equations of a level with names: `kernel` maps x to all rows, then to the nonzeros of their gradients by rows.

    There are `size` variables, from `first` on in x.
    """

    names: tuple[str, ...]
    kernel: Read
    first: int
    size: int
    starts: np.ndarray
    columns: np.ndarray

    def gradient_sizes(self, x: np.ndarray, units: np.ndarray) -> np.ndarray:
        """The squared length of the gradient of every row at x, of variables measured in `units` (size,)."""
        count = len(self.names)
        row = np.repeat(np.arange(count), np.diff(self.starts))
        return np.bincount(row, (self.kernel(x)[count:] * units[self.columns]) ** 2, minlength=count)


def position_level(system: System, *, joints: bool = False) -> SparseLevel:
    """phi and the invariants, and with `joints` the coordinates of joints, by q (nq,)."""
    found: SparseLevel = system.kept(("sparse level", "q", joints), lambda: _position_level(system, joints=joints))
    return found


def _position_level(system: System, *, joints: bool) -> SparseLevel:
    names = [*system.constraint_names[: system.count("position")], *system.invariants]
    if joints:
        m = system.mechanics
        rows = ca.vertcat(m.phi, m.h, read_joints(system, joint_coordinates(system)))
        return _differentiated(system, "positions, joints True", rows, m.q, 1, [*names, *joint_coordinates(system)])
    found: SparseLevel = system.kept(("sparse level", "positions"), lambda: _geometric(system, names))
    return found


def velocity_level(system: System, *, joints: bool = False) -> SparseLevel:
    """psi and q', and with `joints` the rates of joints, by u (nu,)."""
    first, n_p = 1 + system.nq, system.count("position")
    count = n_p + system.count("velocity")
    names = [*(f"rate of {n}" for n in system.constraint_names[:n_p]), *system.constraint_names[n_p:count]]
    names += [f"{name}'" for name in system.coordinates]
    if joints:
        m = system.mechanics
        rows = ca.vertcat(m.psi, m.qdot, read_joints(system, joint_rates(system)))
        return _differentiated(system, "velocities, joints True", rows, m.u, first, [*names, *joint_rates(system)])
    if not system.ideal:
        m = system.mechanics
        return _differentiated(system, "velocities", ca.vertcat(m.psi, m.qdot), m.u, first, names)
    found: SparseLevel = system.kept(("sparse level", "velocities"), lambda: _collected(system, first, names))
    return found


def kinematics_of(system: System) -> Read:
    """The nonzeros of C, row by row, as a function of x: the last of the kernel "geometry"."""
    kernel, count = system.kernel("geometry"), system.structure.kinematic_pattern.nnz()
    return lambda x: kernel(x)[kernel.n_out - count :]


def _differentiated(
    system: System, name: str, rows: ca.SX, variables: ca.SX, first: int, names: Sequence[str]
) -> SparseLevel:
    """The level of some rows (m, 1), made once and kept under `name`."""

    def make() -> SparseLevel:
        m, across = system.mechanics, ca.jacobian(rows, variables).T
        kernel = system.derived_kernel(
            f"sparse {name}", lambda: function_of("level", m.x, [ca.densify(rows), ca.densify(across.nz[:])])
        )
        pattern = across.sparsity()
        starts, columns = np.array(pattern.colind()), np.array(pattern.row(), dtype=np.int64)
        return SparseLevel(tuple(names), kernel, first, pattern.size1(), starts, columns)

    found: SparseLevel = system.kept(("sparse level", name), make)
    return found


def _geometric(system: System, names: Sequence[str]) -> SparseLevel:
    """phi and the invariants by q, as the kernel "geometry" has them before the nonzeros of C."""
    kernel, pattern = system.kernel("geometry"), system.structure.position_pattern
    end = len(names) + pattern.nnz()
    starts, columns = np.array(pattern.colind()), np.array(pattern.row(), dtype=np.int64)
    return SparseLevel(tuple(names), lambda x: kernel(x)[:end], 1, system.nq, starts, columns)


def _collected(system: System, first: int, names: Sequence[str]) -> SparseLevel:
    """psi and q' by u: d psi/du are the rows of A, dq'/du is C."""
    nq, n_p, count = system.nq, system.count("position"), system.count("position") + system.count("velocity")
    pattern, kinematics = system.structure.saddle_pattern, system.structure.kinematic_pattern
    start = nq + len(pattern.mass_rows) + system.nu
    end = start + int(pattern.starts[count])
    dynamics, residual, C = system.kernel("sparse_dynamics"), system.kernel("residual"), kinematics_of(system)

    def read(x: np.ndarray) -> np.ndarray:
        out = dynamics(x)
        return np.concatenate([residual(x)[n_p:], out[:nq], out[start:end], C(x)])

    starts = np.concatenate(
        [pattern.starts[: count + 1], pattern.starts[count] + np.array(kinematics.colind()[1:], dtype=np.int64)]
    )
    columns = np.concatenate([pattern.columns[: end - start], np.array(kinematics.row(), dtype=np.int64)])
    return SparseLevel(tuple(names), read, first, system.nu, starts, columns)

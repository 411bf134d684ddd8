"""Yoon's, Howe's and Greenwood's geometric elimination: constraints and energy restored at once, along gradients.

S. Yoon, R. M. Howe, D. T. Greenwood, "Geometric elimination of constraint violations in numerical simulation of
Lagrangian equations", Journal of Mechanical Design 116 (1994) 1058-1064. After a step, the residuals

    g(q, u) = (phi, psi, E - E0 - W),    G = dg/d(q, u),

of positions, velocities and total energy are removed by the shortest move of the whole state,

    d(q, u) = -G^T (G G^T)^-1 g,

to first order and in the Euclidean metric of the state as it stands: coordinates and speeds of unlike units are weighed
as their numbers say. E0 is the energy at the start and W the work done since. Departures from the paper: constraints
may be nonlinear in the speeds; where the gradient of the energy depends on the others (an equilibrium), the energy is
left alone; where constraints are redundant, the pseudo-inverse of G is taken.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.native.jit import jit
from dalembert.native.kernel import Kernel
from dalembert.native.plan import Floats, Plan, call_kernel, f8, i8, move
from dalembert.run.drift.blajer import check_corrections
from dalembert.run.drift.projection import restore_invariants
from dalembert.run.drift.start import Start
from dalembert.run.evaluate import load_state
from dalembert.run.right_hand_side import Feedback
from dalembert.solve.pseudo_inverse import invert_squares, orthogonalise
from dalembert.solve.unrolled import TRUSTED, unroll_saddle


@dataclass(frozen=True)
class Yoon:
    """Corrects the whole state `corrections` times after every step; `energy` says whether energy is restored too."""

    energy: bool = True
    corrections: int = 1

    def __post_init__(self) -> None:
        check_corrections(self)

    def options(self, system: System, start: Start | None) -> np.ndarray:
        """Numbers for native code, (3,): corrections, energy at the start, energy to be restored now."""
        energy = 0.0 if start is None else float(system.energy(start.t, start.q, start.u, start.parameters))
        return np.array([float(self.corrections), energy, energy])

    def kernels(self, system: System) -> dict[str, Kernel | None]:
        """The moves with and without the energy, unrolled, and the gradients, by their place in plan."""
        whole = system.optional_kernel("onto all with energy", lambda: _moves(system, energy=True))
        return {
            "onto_energy": whole if self.energy else None,
            "onto_constraints": system.optional_kernel("onto all", lambda: _moves(system, energy=False)),
            "gradients": system.derived_kernel("Yoon gradients", lambda: _gradients(system)),
        }

    def workspace(self, system: System) -> int:
        """Floats of workspace: a move and its quality; residuals, gradients, their singular vectors and values."""
        n, m = system.nq + system.nu, 2 * system.count("position") + system.count("velocity")
        return n + 1 + m + n * m + m * m + m

    def feedback(self, _system: System) -> Feedback | None:
        """Feedback into b: none, the equations stay as they are."""
        return None

    def corrector(self) -> Any:
        """Native correction of a state."""
        return eliminate_all

    def remark(self, _system: System, _start: Start | None) -> str:
        """Remark for the description of a run, beside the options: none."""
        return ""


def _residuals(system: System) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    """Inputs (x, h, options), (q, u), residuals (phi, psi), E - E0 - W."""
    m, tail = system.mechanics, ca.SX.sym("tail", 4)
    energy = m.kinetic + m.potential - tail[3]
    return ca.vertcat(m.x, tail), ca.vertcat(m.q, m.u), ca.vertcat(m.phi, m.psi), energy


def _moves(system: System, *, energy: bool) -> ca.Function | None:
    """(d(q, u), quality) as a function of x and the entries after it; None if it cannot be unrolled."""
    inputs, z, g, excess = _residuals(system)
    if energy:
        g = ca.vertcat(g, excess)
    n = z.shape[0]
    if not g.shape[0]:
        return ca.Function("moves", [inputs], [ca.vertcat(ca.SX.zeros(n), 1)])
    solved = unroll_saddle(ca.SX.eye(n), ca.SX(n, 1), ca.jacobian(g, z), -g, augment=False)
    if solved is None:
        return None
    return ca.Function("moves", [inputs], [ca.densify(ca.vertcat(solved[0], solved[2]))])


def _gradients(system: System) -> ca.Function:
    """(g, G^T row by row) as a function of x, for moves that are not unrolled; without the energy."""
    inputs, z, g, _ = _residuals(system)
    return ca.Function("gradients", [inputs], [ca.densify(ca.vertcat(g, ca.vec(ca.jacobian(g, z))))])


@jit(i8(Plan, Floats))
def _move_by_pseudo_inverse(plan, mem):
    """-G^+ g into WORK, by singular values."""
    n, m = plan.nq + plan.nu, 2 * plan.np + plan.nv
    g = plan.work + n + 1
    G, V, weights = g + m, g + m + n * m, g + m + n * m + m * m
    call_kernel(plan.gradients, mem, plan.x, g)
    orthogonalise(mem, G, n, m, V)
    invert_squares(mem, G, n, m, weights)
    for k in range(m):
        total = 0.0
        for j in range(m):
            total += mem[V + j * m + k] * mem[g + j]
        mem[weights + k] *= total
    for i in range(n):
        total = 0.0
        for k in range(m):
            total -= mem[G + i * m + k] * mem[weights + k]
        mem[plan.work + i] = total
    return 0


@jit(i8(Plan, Floats, f8, Floats))
def eliminate_all(plan, mem, t, z):
    """Correct (q, u) at time t, in place. The certificate judges the remaining violation."""
    load_state(plan, mem, t, z)
    n, numbers, step = plan.nq + plan.nu, plan.options, plan.work
    mem[numbers + 2] = mem[numbers + 1] + (z[n] if plan.nz - plan.n_variations > n else 0.0)
    restore_invariants(plan, mem)
    for _ in range(int(mem[numbers])):
        mem[step + n] = 0.0
        for kernel in (plan.onto_energy, plan.onto_constraints):
            if kernel and not mem[step + n] > TRUSTED:
                call_kernel(kernel, mem, plan.x, step)
        if not mem[step + n] > TRUSTED:
            _move_by_pseudo_inverse(plan, mem)
        for i in range(n):
            mem[plan.xq + i] += mem[step + i]
        restore_invariants(plan, mem)
    move(z, 0, mem, plan.xq, n)
    return 0

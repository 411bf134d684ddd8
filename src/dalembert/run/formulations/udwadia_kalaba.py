"""Udwadia and Kalaba: the accelerations closest to the free ones, by pseudo-inverses; no multipliers are solved for.

Gauss's principle as a weighted least-squares problem (Kalaba, Udwadia 1993, eq. 17-18). With a = M^-1 f,
u' = a + M^-1/2 (A M^-1/2)^+ (b - A a); any square root of M serves, a triangular one here. Where M is singular, the
form of Udwadia and Phohomsiri (2006): u' = [(I - A^+ A) M; A]^+ [f; b]. Dependent constraints are no special case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, i8, move
from dalembert.run.evaluate import finish_rates, load_equations
from dalembert.run.formulations.accelerators import Accelerators
from dalembert.run.formulations.choice import Choice
from dalembert.run.formulations.fall_back import accelerate_rechosen
from dalembert.run.formulations.g_inverses import accelerate_with, check_inverses
from dalembert.run.right_hand_side import Equations
from dalembert.solve.cholesky import factor_cholesky, solve_lower, solve_lower_columns, solve_upper
from dalembert.solve.general_inverse import Inverse, moore_penrose, split_force
from dalembert.solve.pseudo_inverse import invert_squares, orthogonalise

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

SINGULAR_MASS = 1e-12  # a pivot of M below this, relative to its diagonal, means that M is singular


@dataclass(frozen=True)
class UdwadiaKalaba:
    """u' = a + M^-1/2 (A M^-1/2)^+ (b - A a), with the Moore-Penrose inverse; singular mass matrices included.

    `g_inverse` and `least_squares_inverse`, any Python functions from a matrix to its inverse such as
    `numpy.linalg.pinv`, switch to the general form (30) with any D^- and any H^-_ls; their defining relations (20),
    (25), (26) are checked at the start. Native code calls them back, at about 0.1 ms per evaluation.
    """

    g_inverse: Inverse | None = None
    least_squares_inverse: Inverse | None = None

    def choose(self, _system: System, M: np.ndarray, A: np.ndarray) -> Choice | None:
        """No static choice: pseudo-inverses cover every case. Checks inverses supplied by the user."""
        if self.g_inverse is not None or self.least_squares_inverse is not None:
            check_inverses(M, A, self.g_inverse or moore_penrose, self.least_squares_inverse or moore_penrose)
        return None

    def unroll(self, _equations: Equations, _choice: Choice | None) -> tuple[ca.SX, ca.SX, ca.SX] | None:
        """Never: singular values need an iteration."""
        return None

    def split_force(
        self, system: System, t: ArrayLike, q: ArrayLike, u: ArrayLike, parameters: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The constraint force (32) as its feedback and feed-forward parts, each (..., nu); their sum is the reaction.

        Leading axes as in `q`: (nt, nu) along a motion, `split_force(motion.system, motion.t, motion.q, motion.u)`.
        """
        at = (t, q, u, parameters)
        M, f = system.mass_matrix(*at), system.forces(*at)
        return split_force(M, f, system.constraint_jacobian(*at), system.constraint_bias(*at))

    def workspace(self, nu: int, nc: int) -> tuple[int, int]:
        """Floats and integers the native function works in."""
        return 2 * (nu + nc) * nu + (nu + nc) * (nu + nc) + 4 * (nu + nc), 0

    def accelerators(self) -> Accelerators:
        """The native functions that find the accelerations."""
        loops: Any = accelerate
        if self.g_inverse is not None or self.least_squares_inverse is not None:
            loops = accelerate_with(self.g_inverse or moore_penrose, self.least_squares_inverse or moore_penrose)
        return Accelerators(accelerate_rechosen, loops)


@jit(i8(Floats, i8, i8, i8, i8))
def _turn_back(mem, V, n, x, target):
    """target = V x, with V (n, n)."""
    for j in range(n):
        total = 0.0
        for k in range(n):
            total += mem[V + j * n + k] * mem[x + k]
        mem[target + j] = total
    return 1


@jit(i8(Plan, Floats))
def accelerate_regular(plan, mem):
    """M positive definite: G = L^-1 A^T, w = L^-1 f, u' = L^-T (w + G G^+ ...); returns 0 if M is not."""
    nu, nc, A = plan.nu, plan.nc, plan.jacobian
    L = plan.work
    G, V = L + nu * nu, L + nu * nu + nu * nc
    weights, e, w = V + nc * nc, V + nc * nc + nc, V + nc * nc + 2 * nc
    move(mem, L, mem, plan.mass, nu * nu)
    if not factor_cholesky(mem, L, nu) > SINGULAR_MASS:
        return 0
    move(mem, w, mem, plan.force, nu)
    solve_lower(mem, L, nu, w)
    for i in range(nu):
        for k in range(nc):
            mem[G + i * nc + k] = mem[A + k * nu + i]
    solve_lower_columns(mem, L, nu, G, nc)
    for k in range(nc):
        total = mem[plan.bias + k]
        for i in range(nu):
            total -= mem[G + i * nc + k] * mem[w + i]
        mem[e + k] = total
    orthogonalise(mem, G, nu, nc, V)
    mem[plan.quality] = invert_squares(mem, G, nu, nc, weights) ** 2 if nc else 1.0
    for k in range(nc):  # component of e along the k-th right singular vector, over s_k^2
        total = 0.0
        for j in range(nc):
            total += mem[V + j * nc + k] * mem[e + j]
        mem[weights + k] *= total
    for i in range(nu):
        total = mem[w + i]
        for k in range(nc):
            total += mem[G + i * nc + k] * mem[weights + k]
        mem[plan.udot + i] = total
    solve_upper(mem, L, nu, plan.udot)
    return _turn_back(mem, V, nc, weights, plan.multiplier)


@jit(i8(Plan, Floats))
def _least_multipliers(plan, mem):
    """la = (A^T)^+ (M u' - f)."""
    nu, nc, A, M = plan.nu, plan.nc, plan.jacobian, plan.mass
    G = plan.work
    V = G + nu * nc
    weights, r = V + nc * nc, V + nc * nc + nc
    for i in range(nu):
        total = -mem[plan.force + i]
        for j in range(nu):
            total += mem[M + i * nu + j] * mem[plan.udot + j]
        mem[r + i] = total
        for k in range(nc):
            mem[G + i * nc + k] = mem[A + k * nu + i]
    orthogonalise(mem, G, nu, nc, V)
    invert_squares(mem, G, nu, nc, weights)
    for k in range(nc):
        total = 0.0
        for i in range(nu):
            total += mem[G + i * nc + k] * mem[r + i]
        mem[weights + k] *= total
    return _turn_back(mem, V, nc, weights, plan.multiplier)


@jit(i8(Plan, Floats))
def accelerate_singular(plan, mem):
    """M singular: u' = [(I - A^+ A) M; A]^+ [f; b] (Udwadia, Phohomsiri 2006), and la = (A^T)^+ (M u' - f)."""
    nu, nc, A, M = plan.nu, plan.nc, plan.jacobian, plan.mass
    m = nu + nc
    K = plan.work
    G, V = K + m * nu, K + m * nu + nu * nc
    weights = V + m * m
    rhs = weights + m
    for i in range(nu):
        for k in range(nc):
            mem[G + i * nc + k] = mem[A + k * nu + i]
    orthogonalise(mem, G, nu, nc, V)
    invert_squares(mem, G, nu, nc, weights)
    for j in range(nu):
        for i in range(nu):
            mem[K + i * nu + j] = mem[M + i * nu + j]
        for k in range(nc):
            total = 0.0
            for i in range(nu):
                total += mem[G + i * nc + k] * mem[M + i * nu + j]
            total *= mem[weights + k]
            for i in range(nu):
                mem[K + i * nu + j] -= mem[G + i * nc + k] * total
            mem[K + (nu + k) * nu + j] = mem[A + k * nu + j]
    for k in range(nc):  # the same projection of f leaves the right-hand side consistent
        mem[rhs + nu + k] = mem[plan.bias + k]
    for i in range(nu):
        mem[rhs + i] = mem[plan.force + i]
    for k in range(nc):
        total = 0.0
        for i in range(nu):
            total += mem[G + i * nc + k] * mem[plan.force + i]
        total *= mem[weights + k]
        for i in range(nu):
            mem[rhs + i] -= mem[G + i * nc + k] * total
    orthogonalise(mem, K, m, nu, V)
    mem[plan.quality] = invert_squares(mem, K, m, nu, weights) ** 2
    for k in range(nu):
        total = 0.0
        for i in range(m):
            total += mem[K + i * nu + k] * mem[rhs + i]
        mem[weights + k] *= total
    _turn_back(mem, V, nu, weights, plan.udot)
    return _least_multipliers(plan, mem)


@jit(i8(Plan, Floats))
def accelerate(plan, mem):
    """u' by pseudo-inverses, and the least multipliers that give its reaction."""
    load_equations(plan, mem)
    if not accelerate_regular(plan, mem):
        accelerate_singular(plan, mem)
    return finish_rates(plan, mem)

"""Newton's equations of a generalized-alpha step over their nonzeros, for large systems.

Nothing is eliminated beforehand, which would fill the matrix: beside p, la and eta of `alpha`, the changes dq of the
coordinates and sigma = p + Y eta of h s are unknowns,

    (1 - h/2 q'_q) dq - C sigma = -(what is left of q1 = q0 + h q'),      sigma - p - Y eta = 0,

and the rows of `alpha` as they stand, with the same weights. The matrix is scaled where it is factorised.
"""

from __future__ import annotations

import math

import casadi as ca
import numpy as np

from dalembert.equations.mechanics import Mechanics
from dalembert.native.intrinsics import floats_at, record_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_kernel, f8, i8, ints_at, move
from dalembert.run.integrators import implicit_equations as equations
from dalembert.run.integrators.alpha_workspace import alpha_work
from dalembert.solve.newton_matrix import factor_newton, solve_newton
from dalembert.solve.sparse_newton import SparseNewton
from dalembert.solve.static_elimination import NewtonMatrix

WEIGHTS = 4  # h, and those of q and u in the balance, and of q in psi
newton_matrix = record_at(NewtonMatrix)


def newton_entries(m: Mechanics) -> tuple[ca.Function, np.ndarray]:
    """A function of (weights, x at the middle, y at the end) to the nonzeros of the matrix, and their places (nnz, 2).

    Unknowns are dq, sigma, p, la, eta; rows those of q1, of sigma, of the balance, of the constraints, and phi.
    """
    nq, nu, nc, n = m.q.shape[0], m.u.shape[0], m.la.shape[0], m.phi.shape[0]
    weights, middle = ca.SX.sym("weights", WEIGHTS), ca.SX.sym("middle", m.x.shape[0])
    h, wq, wu, wv = ca.vertsplit(weights)
    kinematics = ca.Function("kinematics", [m.x], [ca.jacobian(m.qdot, m.q), m.C])
    turning, C = kinematics(middle)
    _, (J,) = equations.balance_jacobian(m)
    of_q, of_u, of_ud, of_la = ca.horzsplit(J, [0, nq, nq + nu, nq + 2 * nu, nq + 2 * nu + nc])
    moved, inert = wq * of_q, wu * of_u + of_ud
    held = nu + n + m.psi.shape[0]  # rows of J before those of the acceleration level
    Y = ca.mtimes(ca.diag(1 / ca.diag(m.M)), m.A[:n, :].T)
    one = ca.SX.eye(nu)

    def row(count: int, dq: ca.SX, sigma: ca.SX, p: ca.SX, la: ca.SX, eta: ca.SX) -> ca.SX:
        widths = zip((dq, sigma, p, la, eta), (nq, nu, nu, nc, n), strict=True)
        return ca.horzcat(*[ca.SX(count, width) if part is none else part for part, width in widths])

    none = ca.SX(0, 0)
    K = ca.vertcat(
        row(nq, ca.SX.eye(nq) - h / 2 * turning, -C, none, none, none),
        row(nu, none, one, -one, none, -Y),
        row(nu, moved[:nu, :], none, inert[:nu, :], of_la[:nu, :], none),
        row(held - nu - n, wv * of_q[nu + n : held, :], none, of_u[nu + n : held, :], none, none),
        row(nu + n + nc - held, moved[held:, :], none, inert[held:, :], of_la[held:, :], none),
        row(n, of_q[nu : nu + n, :], none, none, none, none),
    )  # fmt: skip
    K = ca.sparsify(K)
    places = np.column_stack(K.sparsity().get_triplet()).astype(np.int64).reshape(-1, 2)
    column = ca.cse(ca.densify(ca.reshape(K.nz[:], K.nnz(), 1)))
    return ca.Function("alpha_matrix", [ca.vertcat(weights, middle, m.y)], [column]), places


def inertia_product(m: Mechanics) -> tuple[ca.SX, list[ca.SX]]:
    """Product of the coefficient matrix of u' in the balance with a vector e (nu), as a function of (y, e)."""
    e = ca.SX.sym("e", m.u.shape[0])
    return ca.vertcat(m.y, e), [ca.jtimes(m.balance, m.udot, e)]


def newton_of(places: np.ndarray, size: int, multipliers: int) -> SparseNewton:
    """Factors of a matrix with nonzeros at these places, for one run."""
    return SparseNewton(size, places, np.zeros((0, 2), dtype=np.int64), multipliers)


@jit(i8(Plan, Floats, f8))
def make_matrix_over_nonzeros(plan, mem, h):
    """The Newton matrix at the state last evaluated, factorised; returns whether it is regular."""
    ints, I = ints_at(plan.ints, plan.n_ints), alpha_work(plan.step_work)
    matrix, w, ratio = newton_matrix(I.newton_matrix), I.request, (1.0 - I.alpha_m) / (1.0 - I.alpha_f)
    mem[w] = h
    mem[w + 1] = I.beta * h * h / ratio
    mem[w + 2] = I.gamma * h / ratio
    mem[w + 3] = I.beta * h / I.gamma
    call_kernel(I.jacobian_kernel, mem, w, matrix.nonzeros)
    return factor_newton(ints, mem, matrix, 0.0)


@jit(i8(Plan, Floats, f8))
def _solve(plan, mem, h):
    """(dq, sigma, p, la, eta) into RIGHT."""
    ints, I = ints_at(plan.ints, plan.n_ints), alpha_work(plan.step_work)
    nq, nu, nc, n, r = plan.nq, plan.nu, plan.nc, plan.np, I.balance
    ratio, x = (1.0 - I.alpha_m) / (1.0 - I.alpha_f), I.right
    weight, weight_v = I.beta * h * h / ratio, I.beta * h / I.gamma
    for i in range(nq):
        mem[x + i] = -mem[I.gap + i]
    x += nq
    for i in range(nu):
        mem[x + i] = 0.0
        mem[x + nu + i] = -weight * mem[r + i]
    x += 2 * nu
    for k in range(nc):
        mem[x + k] = -(weight_v if k < n + plan.nv else weight) * mem[r + nu + n + k]
    for k in range(n):
        mem[x + nc + k] = -mem[r + nu + k]
    return solve_newton(ints, mem, newton_matrix(I.newton_matrix), I.right)


@jit(f8(Plan, Floats, f8, Floats, f8, f8))
def improve_over_nonzeros(plan, mem, h, znew, rtol, atol):
    """One Newton step with the matrix at hand; returns its size in units of the tolerances."""
    I = alpha_work(plan.step_work)
    nq, nu = plan.nq, plan.nu
    ratio, to_a = (1.0 - I.alpha_m) / (1.0 - I.alpha_f), 1.0 / (I.beta * h * h)
    _solve(plan, mem, h)
    sigma, p, la = I.right + nq, I.right + nq + nu, I.right + nq + 2 * nu
    size, units = 0.0, floats_at(plan.units, nq + nu)
    for i in range(nq):
        change = mem[I.right + i]
        znew[i] += change
        size += (change / (atol * units[i] + rtol * abs(znew[i]))) ** 2
    for i in range(nu):
        change = I.gamma * h * to_a * mem[p + i]
        znew[nq + i] += change
        size += (change / (atol * units[nq + i] + rtol * abs(znew[nq + i]))) ** 2
        mem[I.a_new + i] += to_a * mem[p + i]
        mem[I.v_new + i] += ratio * to_a * mem[p + i]
        mem[I.average + i] += mem[sigma + i] / h
    for k in range(plan.nc):
        mem[I.la_new + k] += ratio * to_a * mem[la + k]
    return math.sqrt(size / (nq + nu))


@jit(i8(Plan, Floats, i8))
def damp_over_nonzeros(plan, mem, e):
    """Like `alpha.damp`: filter an error e (nu) by the Newton matrix."""
    ints, I = ints_at(plan.ints, plan.n_ints), alpha_work(plan.step_work)
    nq, nu, matrix, x = plan.nq, plan.nu, newton_matrix(I.newton_matrix), I.right
    for i in range(matrix.n):
        mem[x + i] = 0.0
    move(mem, I.argument + I.length + nu + plan.nc, mem, e, nu)
    call_kernel(I.product_kernel, mem, I.argument, x + nq + nu)
    solve_newton(ints, mem, matrix, x)
    move(mem, e, mem, x + nq + nu, nu)
    return 0

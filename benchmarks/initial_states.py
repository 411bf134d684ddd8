"""Consistent initial states against `scipy.optimize.least_squares` on lambdified residuals and Jacobians.

Both start from the same rough guess and find the same kind of state: positions, velocities, accelerations and
multipliers, one level after the other, to round-off. SciPy's side gets its residuals and Jacobians from SymPy's
`lambdify(cse=True)`; its accelerations are one least-squares problem in (u', la) or, in a figure of their own, one call
of `numpy.linalg.solve`, as the equations are linear in them.
"""

from __future__ import annotations

import time

import numpy as np
import sympy as sp
from benchmarks.measure import Figure, best_in_turns
from scipy.optimize import least_squares

from dalembert.problems import andrews
from dalembert.problems.closed_chain import closed_chain

TIGHT = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15}
ROUGH = 0.2  # radians by which the guess of a problem is disturbed


def run() -> list[Figure]:
    """Andrews' mechanism and a closed chain of 50 links."""
    return [figure for problem in (andrews.PROBLEM, closed_chain(50)) for figure in _compare(problem)]


def _compare(problem) -> list[Figure]:
    system = problem.system()
    rng = np.random.default_rng(0)
    guess = {name: value + ROUGH * rng.standard_normal() for name, value in problem.guess.items()}
    given = dict(problem.given)
    begin = time.perf_counter()
    state = system.initial(given, guess=guess)
    cold = time.perf_counter() - begin
    whole, direct = _by_scipy(system, given, guess)
    left = np.abs(whole()).max()
    ours, all_levels, first = best_in_turns([lambda: system.initial(given, guess=guess), whole, direct], repeats=7)
    residual = max(abs(v) for v in state.residuals["position"].values())
    detail = (
        f"{ours * 1e6:.0f} us (residual {residual:.0e}; {cold:.2f} s for the first) against {all_levels * 1e3:.1f} ms "
        f"(residual {left:.0e})"
    )
    part = f"{ours * 1e6:.0f} us against {first * 1e3:.2f} ms"
    return [
        Figure("initial_states", f"{problem.name}, whole state", all_levels / ours, "x faster", ">= 20", detail),
        Figure("initial_states", f"{problem.name}, SciPy with linalg.solve", first / ours, "x faster", None, part),
    ]


def _by_scipy(system, given, guess):
    """Two actions that find the whole state: all levels by least squares, and accelerations directly."""
    st = system.statement
    t, p = st.time, list(st.parameters)
    values = np.array(list(st.parameters.values()))
    q, u = list(st.coordinates), list(st.speeds)
    plain = dict(zip([x.diff(t) for x in q], u, strict=True))
    free_q = [x for x in q if x.func.__name__ not in given]
    held = {x: given[x.func.__name__] for x in q if x.func.__name__ in given}
    phi = sp.Matrix([c.expression for c in st.constraints])
    closed = phi.subs(held)
    residual = sp.lambdify([free_q, p], list(closed), cse=True)
    gradient = sp.lambdify([free_q, p], closed.jacobian(free_q).tolist(), cse=True)
    A = phi.jacobian(q)
    rates = sp.lambdify([q, p], A.tolist(), cse=True)
    bias = sp.lambdify([q, u, p], list(-(phi.diff(t).subs(plain).diff(t)).subs(plain).subs({x.diff(t): 0 for x in u})))
    M, f = _dynamics(system)
    start = np.array([guess.get(x.func.__name__, 0.0) for x in free_q])
    speeds = np.array([given.get(x.func.__name__, 0.0) for x in u])
    nu, nc = len(u), len(st.constraints)
    place = [q.index(x) for x in free_q]
    known = {name.removesuffix("'") for name in given if name.endswith("'")} | {n for n in given if n in system.speeds}
    free_u = [k for k, x in enumerate(u) if not {x.func.__name__, q[k].func.__name__} & known]

    def solve_positions():
        return least_squares(lambda x: residual(x, values), start, lambda x: np.array(gradient(x, values)), **TIGHT)

    def find(direct):
        found = solve_positions()
        at = np.array([float(held.get(x, 0.0)) for x in q])
        at[place] = found.x
        rows = np.array(rates(at, values), dtype=float)
        v = speeds.copy()
        if free_u:
            linear = least_squares(lambda x: rows[:, free_u] @ x + rows @ speeds, v[free_u], lambda _: rows[:, free_u])
            v[free_u] = linear.x
        K = np.block([[M(at, values), -rows.T], [rows, np.zeros((nc, nc))]])
        side = np.concatenate([f(at, v, values), bias(at, v, values)])
        if direct:
            np.linalg.solve(K, side)
        else:
            least_squares(lambda x: K @ x - side, np.zeros(nu + nc), lambda _: K, x_scale="jac", **TIGHT)
        return found.fun

    return lambda: find(False), lambda: find(True)


def _dynamics(system):
    """M (nu, nu) and f (nu,) from lambdified partial velocities, summed over the bodies by NumPy."""
    st = system.statement
    p, q = list(st.parameters), list(st.coordinates)
    moves = sp.Matrix([e for body in st.bodies for e in (*body.position[:2], body.rotation[0])])
    weights = [w for body in st.bodies for w in (body.mass, body.mass, body.inertia[0])]
    pulls = [w for body in st.bodies for w in (body.mass * st.gravity[0], body.mass * st.gravity[1], 0)]
    potential = sum((e.potential for e in st.energies), sp.S.Zero)
    more = [-potential.diff(x) for x in q]
    for forces in st.generalized_forces:
        for key, value in forces.items():
            more[q.index(key)] += value
    # The states measured are at rest: quadratic terms of the speeds vanish, and SciPy is spared them.
    J = sp.lambdify([q, p], moves.jacobian(q).tolist(), cse=True)
    rest = sp.lambdify([q, p], [weights, pulls], cse=True)
    own = sp.lambdify([q, p], more, cse=True)

    def mass(at, values):
        rows = np.array(J(at, values), dtype=float)
        return rows.T @ (np.array(rest(at, values)[0], dtype=float)[:, None] * rows)

    def force(at, _, values):
        rows = np.array(J(at, values), dtype=float)
        return rows.T @ np.array(rest(at, values)[1], dtype=float) + np.array(own(at, values), dtype=float)

    return mass, force

"""Consistent initial states against `scipy.optimize.least_squares` on lambdified residuals and Jacobians.

Both start from the same rough guess and find the same kind of state: positions, velocities, accelerations and
multipliers, one level after the other, to round-off. SciPy's side gets its residuals and Jacobians from SymPy's
`lambdify(cse=True)`; its accelerations are one least-squares problem in (u', la).
"""

from __future__ import annotations

import time

import numpy as np
import sympy as sp
from scipy.optimize import least_squares

from benchmarks.measure import Figure, best_in_turns
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
    still = {speed: 0.0 for speed in system.speeds}
    given = {**problem.given, **still} if len(problem.given) < len(system.speeds) else dict(problem.given)
    given = {name: value for name, value in given.items() if not name.endswith("'")}
    begin = time.perf_counter()
    state = system.initial(given, guess=guess)
    cold = time.perf_counter() - begin
    positions, whole = _by_scipy(system, given, guess)
    left = np.abs(positions(system)).max()
    ours, first, all_levels = best_in_turns(
        [lambda: system.initial(given, guess=guess), lambda: positions(system), whole], repeats=7
    )
    residual = max(abs(v) for v in state.residuals["position"].values())
    detail = (
        f"{ours * 1e6:.0f} us (residual {residual:.0e}; {cold:.2f} s for the first) against {all_levels * 1e3:.1f} ms "
        f"(residual {left:.0e})"
    )
    part = f"whole state in {ours * 1e6:.0f} us against positions alone in {first * 1e3:.1f} ms"
    return [
        Figure("initial_states", f"{problem.name}, whole state", all_levels / ours, "x faster", ">= 20", detail),
        Figure("initial_states", f"{problem.name}, SciPy positions only", first / ours, "x faster", None, part),
    ]


def _by_scipy(system, given, guess):
    """Two actions: positions by least squares, and the whole state; both return the position residual."""
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

    def solve_positions():
        return least_squares(lambda x: residual(x, values), start, lambda x: np.array(gradient(x, values)), **TIGHT)

    def positions(_):
        return solve_positions().fun

    def whole():
        found = solve_positions()
        at = np.array([float(held.get(x, 0.0)) for x in q])
        at[place] = found.x
        rows = np.array(rates(at, values), dtype=float)
        free_u = [k for k, x in enumerate(u) if x.func.__name__ not in given]
        v = speeds.copy()
        if free_u:
            linear = least_squares(lambda x: rows[:, free_u] @ x + rows @ speeds, v[free_u], lambda _: rows[:, free_u])
            v[free_u] = linear.x
        K = np.block([[M(at, values), -rows.T], [rows, np.zeros((nc, nc))]])
        side = np.concatenate([f(at, v, values), bias(at, v, values)])
        least_squares(lambda x: K @ x - side, np.zeros(nu + nc), lambda _: K, x_scale="jac", **TIGHT)
        return found.fun

    return positions, whole


def _dynamics(system):
    """M (nu, nu) and f (nu,) as lambdified functions, by Lagrange's equations in SymPy."""
    st = system.statement
    t, p = st.time, list(st.parameters)
    q, u = list(st.coordinates), list(st.speeds)
    plain = dict(zip([x.diff(t) for x in q], u, strict=True))
    T, V = sp.S.Zero, sum((e.potential for e in st.energies), sp.S.Zero)
    for body in st.bodies:
        velocity = [e.diff(t).subs(plain) for e in body.position[:2]]
        T += body.mass * sum(v**2 for v in velocity) / 2 + body.inertia[0] * body.rotation[0].diff(t).subs(plain) ** 2 / 2
        V -= body.mass * sum(g * x for g, x in zip(st.gravity, body.position, strict=True))
    momentum = sp.Matrix([T.diff(v) for v in u])
    mass = momentum.jacobian(u)
    # The states measured are at rest: quadratic terms of the speeds vanish, and SciPy is spared them.
    force = sp.Matrix([-V.diff(x) for x in q])
    for forces in st.generalized_forces:
        for key, value in forces.items():
            force[q.index(key)] += value
    M = sp.lambdify([q, p], mass.tolist(), cse=True)
    f = sp.lambdify([q, p], list(force), cse=True)
    return (
        lambda at, values: np.array(M(at, values), dtype=float),
        lambda at, _, values: np.array(f(at, values), dtype=float),
    )

"""Run time at equal error against the route without any tool: KKT equations by hand in NumPy, SciPy's DOP853.

Both sides run at a ladder of tolerances; the fastest run within the error bound counts. The error is the largest
difference in q at eleven times from a reference, on which both routes agree at their tightest tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from benchmarks.measure import Figure, best_in_turns
from benchmarks.models import Problem, appell_hamel, four_bar
from scipy.integrate import solve_ivp

import dalembert as da

LADDER = [10.0 ** (-k / 2) for k in range(12, 27)]  # 1e-6 .. 1e-13
Rates = Callable[[float, np.ndarray], np.ndarray]


def run() -> list[Figure]:
    """A figure for each problem: time of the NumPy route over ours."""
    return [
        _compare(appell_hamel(), appell_hamel_rates, 10.0, 5e-9),
        _compare(four_bar(), four_bar_rates, 30.0, 5e-7),
    ]


def _compare(problem: Problem, rates: Rates, t_end: float, bound: float) -> Figure:
    system, state = problem.system, problem.state
    times = np.linspace(0.0, t_end, 11)

    def ours(rtol: float) -> np.ndarray:
        return system.simulate(state, t_end, t_eval=times, integrator=da.DOP853(rtol=rtol, atol=rtol)).q

    def theirs(rtol: float) -> np.ndarray:
        result = solve_ivp(rates, (0.0, t_end), state.z, "DOP853", times, rtol=rtol, atol=rtol)
        return result.y[: system.nq].T

    reference = ours(1e-14)
    doubt = np.abs(theirs(1e-13) - reference).max()
    chosen = [_loosest(solve, reference, bound) for solve in (ours, theirs)]
    (our_rtol, our_error), (their_rtol, their_error) = chosen
    native, numpy = best_in_turns([lambda: ours(our_rtol), lambda: theirs(their_rtol)], repeats=5)
    detail = (
        f"{1e3 * native:.2f} ms (rtol {our_rtol:.0e}, error {our_error:.1e}) against {1e3 * numpy:.1f} ms "
        f"(rtol {their_rtol:.0e}, error {their_error:.1e}); bound {bound:.0e}, reference good to {doubt:.0e}"
    )
    case = f"{system.name}, {t_end:g} s, NumPy KKT + SciPy DOP853"
    return Figure("peers", case, numpy / native, "x faster", None, detail)


def _loosest(solve: Callable[[float], np.ndarray], reference: np.ndarray, bound: float) -> tuple[float, float]:
    """The largest tolerance from which on all errors stay within the bound, and its error."""
    found = None
    for rtol in reversed(LADDER):
        error = float(np.abs(solve(rtol) - reference).max())
        if error > bound:
            break
        found = rtol, error
    if found is None:
        raise RuntimeError(f"no tolerance reaches an error of {bound:g}")
    return found


def _solve_kkt(M: np.ndarray, f: np.ndarray, A: np.ndarray, b: np.ndarray) -> np.ndarray:
    nu, nc = len(f), len(b)
    K = np.zeros((nu + nc, nu + nc))
    K[:nu, :nu], K[:nu, nu:], K[nu:, :nu] = M, A.T, A
    return np.linalg.solve(K, np.concatenate([f, b]))[:nu]


def appell_hamel_rates(_t: float, state: np.ndarray) -> np.ndarray:
    """(q', u') of the wheel, derived by hand."""
    a, b, rho, m, M, I, g = 1.0, 0.5, 5.0, 1.0, 5.0, 1.0, 9.81
    u = state[5:]
    s, c, u1 = math.sin(state[0]), math.cos(state[0]), u[0]
    vx, vy = u[2] + rho * u1 * s, u[3] - rho * u1 * c
    mass = np.array(
        [
            [I + M * rho**2, 0, M * rho * s, -M * rho * c, 0],
            [0, I, 0, 0, 0],
            [M * rho * s, 0, m + M, 0, 0],
            [-M * rho * c, 0, 0, m + M, 0],
            [0, 0, 0, 0, m],
        ]
    )
    f = np.array([0.0, 0.0, -M * rho * c * u1**2, -M * rho * s * u1**2, -m * g])
    A = np.array(
        [
            [rho * (vx * s - vy * c), -(a**2) * u[1], vx, vy, 0],
            [rho, 0, s, -c, 0],
            [0, b, 0, 0, 1],
        ]
    )
    bias = np.array([-rho * u1**2 * (vx * c + vy * s), -u1 * (u[2] * c + u[3] * s), 0.0])
    return np.concatenate([u, _solve_kkt(mass, f, A, bias)])


def four_bar_rates(_t: float, state: np.ndarray) -> np.ndarray:
    """(q', u') of the linkage, derived by hand; (x_k, y_k) is link k, w_k its absolute rate squared."""
    m, g = 1.0, 9.81
    q1, q2, q3, u1, u2, u3 = state.tolist()
    a2, a3 = q1 + q2, q1 + q2 + q3
    w1, w2, w3 = u1 * u1, (u1 + u2) ** 2, (u1 + u2 + u3) ** 2
    x1, y1, x2, y2, x3, y3 = (
        0.8 * math.cos(q1), 0.8 * math.sin(q1), 2.0 * math.cos(a2), 2.0 * math.sin(a2), math.cos(a3), math.sin(a3),
    )  # fmt: skip
    xs, ys = x1 + x2, y1 + y2
    bx, by = x1 * w1 + x2 * w2, y1 * w1 + y2 * w2  # minus the acceleration of the second mass when u' = 0
    m12 = m * (xs * x2 + ys * y2)
    mass = np.array([[m * (x1 * x1 + y1 * y1 + xs * xs + ys * ys), m12, 0.0], [m12, 4.0 * m, 0.0], [0.0, 0.0, 0.0]])
    f = np.array([m * (-ys * bx + xs * by - g * (x1 + xs)), m * (-y2 * bx + x2 * by - g * x2), 0.0])
    A = np.array([[-(ys + y3), -(y2 + y3), -y3], [xs + x3, x2 + x3, x3]])
    b = np.array([bx + x3 * w3, by + y3 * w3])
    return np.concatenate([state[3:], _solve_kkt(mass, f, A, b)])

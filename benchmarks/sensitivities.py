"""What a column of derivatives costs beside a plain run, and a fit with exact Jacobians beside one with differences.

Both fits are `scipy.optimize.least_squares` over 1,000 noisy samples of a double pendulum, five values, from the same
start to the same tolerances; the other one calls `simulate` for every residual, as one writes by hand. Times are those
of the processor, in one thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import sympy as sp
from benchmarks.measure import Figure, best_in_turns
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares

import dalembert as da
from dalembert import problems

NAME = "sensitivities"
CASES = (("four_bar", 30.0, ("la", "lb", "lc", "ln", "g")), ("andrews", 0.3, ("m1", "m2", "m3", "m4", "m5")))
FIRST = {"m2": 0.9, "L1": 1.05, "L2": 0.65, "c": 0.02, "a": 0.95}
NOISE = 0.01


def run() -> list[Figure]:
    """Columns of two mechanisms, then the fit."""
    return [*(figure for case in CASES for figure in _columns(*case)), _adjoint(), *_fit()]


def _columns(name: str, t_end: float, parameters: tuple[str, ...]) -> list[Figure]:
    problem = problems.get(name)
    system = problem.system()
    state, integrator = problem.state(system), da.DOP853()

    def timed(names):
        return lambda: system.simulate(state, t_end, t_eval=[t_end], integrator=integrator, sensitivities=names)

    counts = (1, len(parameters))
    plain, *varied = best_in_turns([timed(()), *(timed(parameters[:k]) for k in counts)], 15, clock=time.process_time)
    return [
        Figure(
            NAME,
            f"{name}, {k} column{'s' if k > 1 else ''}",
            (seconds / plain - 1.0) / k,
            "of a plain run, per column",
            "<= 1.0",
            f"plain run {1e3 * plain:.2f} ms",
        )
        for k, seconds in zip(counts, varied, strict=True)
    ]


def _adjoint() -> Figure:
    """A row of 33 masses with springs that harden and dampers: 99 parameters and a start value."""
    model, count = da.Model("row of masses"), 33
    x = model.coordinates(" ".join(f"x{k}" for k in range(count)))
    names = {f"{letter}{k}": value for letter, value in (("m", 1.0), ("k", 50.0), ("c", 0.2)) for k in range(count)}
    p = dict(zip(names, model.parameters(**names), strict=True))
    for k in range(count):
        stretch = x[k] - (x[k - 1] if k else 0)
        model.energy(kinetic=p[f"m{k}"] * x[k].diff() ** 2 / 2)
        model.energy(potential=p[f"k{k}"] * (stretch**2 / 2 + stretch**4 / 4))
        model.generalized_force({x[k]: -p[f"c{k}"] * x[k].diff()})
    system = model.compile()
    state = system.initial({"x0": 1.0, **{f"x{k}": 0.0 for k in range(1, count)}})
    cost, to, integrator = da.Integral(x[-1] ** 2), [*names, "x0"], da.DOP853()
    plain, swept = best_in_turns(
        [
            lambda: system.simulate(state, 20.0, integrator=integrator),
            lambda: system.gradient(cost, state, 20.0, to=to, integrator=integrator),
        ],
        repeats=25,
        clock=time.process_time,
    )
    return Figure(
        NAME, "gradient in 100 values by the adjoint", swept / plain, "plain runs", "<= 8",
        f"plain run {1e3 * plain:.2f} ms",
    )  # fmt: skip


def double_pendulum() -> da.System:
    """A damped double pendulum in angles."""
    model = da.Model("double pendulum")
    a, b = model.coordinates("a b")
    m1, m2, L1, L2, g, c = model.parameters(m1=1.0, m2=0.8, L1=1.0, L2=0.7, g=9.81, c=0.05)
    x, y = L1 * sp.sin(a), -L1 * sp.cos(a)
    model.particle("P1", mass=m1, position=[x, y])
    model.particle("P2", mass=m2, position=[x + L2 * sp.sin(b), y - L2 * sp.cos(b)])
    model.gravity([0, -g])
    model.generalized_force({a: -c * a.diff(), b: -c * b.diff()})
    return model.compile()


def _fit() -> list[Figure]:
    system = double_pendulum()
    state = system.initial({"a": 1.0, "b": 1.5, "a'": 0.0, "b'": 0.0})
    times, rng = np.linspace(0.0, 10.0, 1000), np.random.default_rng(1)
    motion = system.simulate(state, 10.0, t_eval=times)
    data = {"t": times, **{key: motion[key] + NOISE * rng.standard_normal(1000) for key in ("a", "b")}}
    names = list(FIRST)
    found = []

    def exact():
        best = system.fit(data, FIRST, state=state, sigma=NOISE)
        found[:] = [np.array([best[name] for name in names])]

    def residuals(theta):
        values = dict(zip(names, theta.tolist(), strict=True))
        start = system.initial({"a": values.pop("a"), "b": 1.5, "a'": 0.0, "b'": 0.0}, parameters=values)
        m = system.simulate(start, 10.0, t_eval=times)
        return np.concatenate([m["a"] - data["a"], m["b"] - data["b"]]) / NOISE

    def differences():
        tolerances = {"xtol": 1e-10, "ftol": 1e-10, "gtol": 1e-10}
        found[1:] = [least_squares(residuals, list(FIRST.values()), x_scale="jac", **tolerances).x]

    fast, slow = best_in_turns([exact, differences], 5, clock=time.process_time)
    gap = np.abs(found[0] - found[1]).max()
    begin = time.process_time()
    other = least_squares(_lambdified(times, data), list(FIRST.values()), x_scale="jac").x
    sympy = time.process_time() - begin
    case, far = "fit of 5 values to 1,000 samples", np.abs(found[0] - other).max()
    told = f"{fast:.2f} s and {slow:.2f} s, values {gap:.0e} apart"
    return [
        Figure(NAME, case, slow / fast, "times faster than differences", ">= 3", told),
        Figure(
            NAME, f"{case}, SymPy", sympy / fast, "times faster than lambdified equations in solve_ivp", ">= 20",
            f"{sympy:.1f} s, values {far:.0e} apart",
        ),
    ]  # fmt: skip


def _lambdified(times: np.ndarray, data: dict[str, np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """The residuals by Lagrange's equations in SymPy, lambdified with `cse`, and SciPy's DOP853 at 1e-8."""
    t = sp.Symbol("t")
    a, b = (sp.Function(name)(t) for name in "ab")
    m2, L1, L2, c = sp.symbols("m2 L1 L2 c")
    x, y = L1 * sp.sin(a), -L1 * sp.cos(a)
    second = (x + L2 * sp.sin(b), y - L2 * sp.cos(b))
    kinetic = (x.diff(t) ** 2 + y.diff(t) ** 2) / 2 + m2 * sum(s.diff(t) ** 2 for s in second) / 2
    L = kinetic - 9.81 * (y + m2 * second[1])
    q, rates = sp.Matrix([a, b]), sp.Matrix([a.diff(t), b.diff(t)])
    left = sp.Matrix([L.diff(v).diff(t) - L.diff(s) + c * v for s, v in zip(q, rates, strict=True)])
    ends = rates.diff(t)
    M = left.jacobian(ends)
    f = -left.subs(dict.fromkeys(ends, 0))
    plain = sp.symbols("q0:2 v0:2")
    names = dict(zip([*rates, *q], [*plain[2:], *plain[:2]], strict=True))
    both = sp.lambdify([*plain, m2, L1, L2, c], [M.subs(names), f.subs(names)], cse=True)

    def residuals(theta):
        def slope(_t, z):
            M, f = both(*z, *theta[:4])
            return np.concatenate([z[2:], np.linalg.solve(M, f[:, 0])])

        start = [theta[4], 1.5, 0.0, 0.0]
        found = solve_ivp(slope, (0.0, 10.0), start, "DOP853", t_eval=times, rtol=1e-8, atol=1e-10).y
        return np.concatenate([found[0] - data["a"], found[1] - data["b"]]) / NOISE

    return residuals

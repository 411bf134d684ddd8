"""`python -m benchmarks.peers.large [N ...]`: N-four-bars of many loops beside other packages, one thread each.

Seconds of processor time per simulated second, at the loosest setting whose error of the first joint after one second
is at most ERROR; where none is, the best error reached within the time allowed. Peers come with the extra `peers`; set
OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from benchmarks.peers.route import installed, steps, tolerances

import dalembert as da
from dalembert.problems.n_four_bar import GRAVITY, LENGTH, SPEED, n_four_bar

ERROR, PATIENCE = 1e-6, 60.0  # seconds of a route after which no tighter setting is tried
SIZES = (40, 160, 1000)
Solve = Callable[[float], float]  # setting -> x of the first joint after one second


@dataclass(frozen=True)
class LargeRoute:
    """A way to the motion of n four-bars: `prepare(n)` gives `solve`; settings from loose to tight."""

    name: str
    packages: tuple[str, ...]
    prepare: Callable[[int], Solve]
    settings: tuple[float, ...]


@dataclass(frozen=True)
class Measured:
    """Processor seconds of one simulated second, its error and the setting."""

    seconds: float
    error: float
    setting: float


def _own(n: int) -> Solve:
    problem = n_four_bar(n)
    system = problem.system()
    state = problem.state(system)

    def solve(rtol: float) -> float:
        integrator = da.DOP853(rtol=rtol, atol=rtol)
        return float(system.simulate(state, 1.0, t_eval=[1.0], integrator=integrator)["x0"][-1])

    solve(1e-3)  # kernels are compiled once
    return solve


def _superlu(n: int) -> Solve:
    """CasADi evaluates A and b, SciPy's SuperLU solves the saddle matrix, SciPy's DOP853 integrates."""
    import casadi as ca
    from scipy.integrate import solve_ivp
    from scipy.sparse import bmat, csc_matrix
    from scipy.sparse.linalg import splu

    size = 2 * (n + 1)
    q, u = ca.SX.sym("q", size), ca.SX.sym("u", size)
    x, y, vx, vy = (v[start::2] for v in (q, u) for start in (0, 1))
    phi = ca.vertcat((x - LENGTH * ca.DM(range(n + 1))) ** 2 + y**2, (x[1:] - x[:-1]) ** 2 + (y[1:] - y[:-1]) ** 2)
    squares = vx**2 + vy**2
    kinetic = (ca.sum1(squares) + ca.sum1(squares[1:] + squares[:-1] + vx[1:] * vx[:-1] + vy[1:] * vy[:-1])) / 6
    A = ca.jacobian(phi, q)
    M = ca.Function("M", [], [ca.hessian(kinetic, u)[0]])()["o0"].sparse()
    weight = -GRAVITY * (ca.sum1(y) / 2 + ca.sum1(y[1:] + y[:-1]) / 2)
    f = np.array(ca.Function("f", [], [ca.gradient(weight, q)])()["o0"]).ravel()
    rows = ca.Function("rows", [q, u], [A, -ca.jtimes(A @ u, q, u)])

    def rates(_t: float, z: np.ndarray) -> np.ndarray:
        J, b = rows(z[:size], z[size:])
        J = csc_matrix(J.sparse())
        udot = splu(bmat([[M, J.T], [J, None]], format="csc")).solve(np.concatenate([f, np.array(b).ravel()]))[:size]
        return np.concatenate([z[size:], udot])

    start = np.zeros(2 * size)
    start[0:size:2], start[1:size:2], start[size::2] = LENGTH * np.arange(n + 1), LENGTH, SPEED
    return lambda rtol: float(solve_ivp(rates, (0.0, 1.0), start, "DOP853", rtol=rtol, atol=rtol).y[0, -1])


def _mujoco(n: int) -> Solve:
    """Cranks as hinges, couplers on them, loops closed by `connect` as stiff as the step allows."""
    import mujoco

    inertia = " ".join([repr(LENGTH**2 / 12)] * 3)
    mass = f'mass="1" diaginertia="{inertia}"'
    bodies = "".join(
        f'<body pos="{k * LENGTH!r} 0 0"><joint type="hinge" axis="0 0 1"/>'
        f'<inertial pos="0 {LENGTH / 2!r} 0" {mass}/><site name="e{k}" pos="0 {LENGTH!r} 0"/>'
        + (
            f'<body pos="0 {LENGTH!r} 0"><joint type="hinge" axis="0 0 1"/><inertial pos="{LENGTH / 2!r} 0 0" {mass}/>'
            f'<site name="c{k}" pos="{LENGTH!r} 0 0"/></body>'
            if k < n
            else ""
        )
        + "</body>"
        for k in range(n + 1)
    )

    def solve(h: float) -> float:
        stiff = f'solref="{2 * h!r} 1" solimp="0.9999 0.9999 0.001 0.5 2"'
        equality = "".join(f'<connect site1="c{k}" site2="e{k + 1}" {stiff}/>' for k in range(n))
        model = mujoco.MjModel.from_xml_string(
            f'<mujoco><compiler angle="radian"/><option timestep="{h!r}" integrator="RK4" gravity="0 {-GRAVITY!r} 0" '
            'tolerance="1e-14" iterations="2" solver="Newton" jacobian="sparse"><flag contact="disable"/></option>'
            f'<size memory="500M"/><worldbody>{bodies}</worldbody><equality>{equality}</equality></mujoco>'
        )
        data = mujoco.MjData(model)
        for k in range(n + 1):  # joints in the order of the bodies: crank, coupler, crank, ...
            data.qvel[2 * k] = -SPEED / LENGTH
            if k < n:
                data.qvel[2 * k + 1] = SPEED / LENGTH
        mujoco.mj_step(model, data, nstep=round(1.0 / h))
        return -LENGTH * math.sin(data.qpos[0])

    return solve


ROUTES = (
    LargeRoute("dalembert", (), _own, tolerances(1e-5, 1e-9)),
    LargeRoute("CasADi + SuperLU, SciPy's DOP853", ("casadi",), _superlu, tolerances(1e-4, 1e-9)),
    LargeRoute("MuJoCo RK4, stiff constraints", ("mujoco",), _mujoco, steps(1.0 / 250, 10)),
)


def measure(route: LargeRoute, n: int) -> Measured:
    """The cheapest run that is accurate enough, else the most accurate one; NaN if none went through."""
    wanted = float((n_four_bar(n).exact or _no_answer)(np.array([1.0]))["x0"][0])
    solve, best, begin = route.prepare(n), Measured(math.nan, math.inf, math.nan), time.process_time()
    for setting in route.settings:
        first = time.process_time()
        try:
            error = abs(solve(setting) - wanted)
        except (RuntimeError, ValueError):
            continue
        seconds = time.process_time() - first
        if error < best.error:
            best = Measured(seconds, error, setting)
        if error <= ERROR or time.process_time() - begin > PATIENCE:
            break
    return best


def _no_answer(_times: np.ndarray) -> dict[str, np.ndarray]:
    raise ValueError("the N-four-bar has an exact answer")


def main() -> int:
    """Print a table; a missing peer is left out."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.large", description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES)
    sizes = parser.parse_args().sizes
    print("| N | route | s per simulated s | error | setting |\n|---|---|---|---|---|")
    for n in sizes:
        for route in ROUTES:
            if all(installed(package) for package in route.packages):
                m = measure(route, n)
                print(f"| {n} | {route.name} | {m.seconds:.3g} | {m.error:.0e} | {m.setting:.1e} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

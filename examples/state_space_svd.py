"""State space by singular values
==============================

The main point of Wu, Zhang, Guo and Li: a stiff system with a nonholonomic constraint, integrated implicitly with the
constraints solved inside the iteration of the integrator, one loop instead of two; and its holonomic shortcut.

A vehicle with a steered front wheel rolls over a wavy road without slipping sideways: two constraints on velocities.
It is stiff: its body bounces with 109 rad/s, its axle with 935 rad/s. What to see: ``StateSpaceSVD`` takes steps of
0.004 s where an explicit method must follow the springs; the wheels hold to round-off (third panel). Guided along the
same circle by two holonomic constraints it moves alike, and one decomposition then serves positions and velocities.
The last panel counts what one formula, the trapezoidal rule, costs by two loops - velocities solved for again in each
iteration of the implicit step - and by one.

Run ``python examples/state_space_svd.py [folder]``; the figure is saved there (default: out).
"""

import sys
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dalembert as da
from dalembert.problems import rolling_vehicle as vehicle

METHODS = {"DOP853": da.DOP853(rtol=1e-6, atol=1e-8), "StateSpaceSVD": da.StateSpaceSVD(step=0.004)}


def accelerations(system: da.System, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    """u' of (2), (nu,)."""
    M, A = system.mass_matrix(0.0, q, u), system.constraint_jacobian(0.0, q, u)
    right = np.append(system.forces(0.0, q, u), system.constraint_bias(0.0, q, u))
    return np.linalg.solve(np.block([[M, -A.T], [A, np.zeros((len(A), len(A)))]]), right)[: len(M)]


def residual(state: da.State, h: float, q: np.ndarray, u: np.ndarray, N: np.ndarray, v: np.ndarray) -> np.ndarray:
    """What speeds v (nu,) after a step of the trapezoidal rule leave of it along N, and of the constraints."""
    p, a = q + h / 2 * (u + v), accelerations(state.system, q, u)
    free = N.T @ (v - u - h / 2 * (a + accelerations(state.system, p, v)))
    return np.append(free, state.system.velocity_residual(0.0, p, v))


def trapezoidal_steps(state: da.State, *, nested: bool, h: float = 2e-3) -> tuple[np.ndarray, int]:
    """Coordinates (nq,) after 200 steps, and how often the constraints were evaluated, in one loop or in two."""
    q, u, count = state.q, state.u, 0
    for _ in range(200):
        A = state.system.constraint_jacobian(0.0, q, u)
        R, N = np.split(np.linalg.svd(A)[2].T, [len(A)], axis=1)  # dependent and independent directions of the speeds
        step, rest = 1e-6 * np.eye(len(u)), partial(residual, state, h, q, u, N)
        J = np.array([(rest(u + d) - rest(u - d)) / 2e-6 for d in step]).T
        v = u
        while np.abs(step).max() > 1e-10:
            left, count = rest(v), count + 1
            while nested and np.abs(left[N.shape[1] :]).max() > 1e-12:  # dependent speeds for these independent ones
                v = v - R @ np.linalg.solve(A @ R, left[N.shape[1] :])
                left, count = rest(v), count + 1
            v = v - (step := np.linalg.solve(J, left))
        q, u = q + h / 2 * (u + v), v
    return q, count


def main(folder: Path) -> tuple[dict[tuple[str, str], da.Motion], dict[str, tuple[np.ndarray, int]]]:
    """Draw the figure into `folder`; returns motions by vehicle and method, and results and costs of both loops."""
    starts = {kind: vehicle.start(kind) for kind in ("rolling", "guided")}
    runs = {
        (k, name): s.system.simulate(s, 5.0, integrator=m) for k, s in starts.items() for name, m in METHODS.items()
    }
    loops = {
        name: trapezoidal_steps(starts["rolling"], nested=name == "two loops") for name in ("one loop", "two loops")
    }
    figure = Figure(figsize=(14, 4), layout="constrained")
    drawn, heave, held, cost = figure.subplots(1, 4)
    da.plot_snapshots(runs["rolling", "StateSpaceSVD"], [0, 1, 2, 3, 4, 5], axes=drawn).legend(fontsize="x-small")
    for (kind, name), motion in runs.items():
        label, style = f"{kind}, {name}, {motion.stats['nfev']:,} evaluations", "-" if name == "DOP853" else "--"
        first = motion.t <= 1.0
        heave.plot(motion.t[first], 1e3 * motion["w"][first], style, lw=0.9, label=label)
        level, row = ("velocity", "front_wheel") if kind == "rolling" else ("position", "heading")
        values = np.abs(motion.violation[level][row])
        held.semilogy(motion.t, np.ma.masked_equal(values, 0.0), ".", ms=2 if name == "DOP853" else 4, label=label)
    heave.set(title="height of the axle, first second", xlabel="t [s]", ylabel="w [mm]")
    held.set(
        title="violation", xlabel="t [s]", ylabel="rolling: |psi| of front_wheel [m/s]\nguided: |phi| of heading [m]"
    )
    cost.bar(list(loops), [count for _, count in loops.values()])
    cost.set(title="trapezoidal rule, 200 steps", ylabel="evaluations of the constraints [-]")
    figure.legend(*heave.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize="small")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "state_space_svd.png", dpi=110)
    return runs, loops


if __name__ == "__main__":
    runs, loops = main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
    for (kind, name), motion in runs.items():
        print(f"{kind}, {name}: {motion.stats}; {motion.certificate.verdict}")
    print(*(f"{name}: {count} evaluations of the constraints" for name, (_, count) in loops.items()), sep="\n")
    print(
        "paper: one loop instead of two;", "holds" if loops["one loop"][1] < loops["two loops"][1] else "DOES NOT HOLD"
    )

"""State space by singular values
==============================

The main point of Wu, Zhang, Guo and Li: a stiff system with a nonholonomic constraint, integrated implicitly with the
constraints solved inside the iteration of the integrator, one loop instead of two; and its holonomic shortcut.

A skate carries a load on a stiff spring (1000 rad/s and more). What to see: ``StateSpaceSVD`` takes steps of 0.005 s
where an explicit method must follow the spring; the skate holds to round-off (second panel), and so do positions when
the blade runs in a circular groove, a holonomic constraint: one decomposition then serves positions and velocities.
The last panel counts what one formula, the trapezoidal rule, costs by two loops - velocities solved for again in each
iteration of the implicit step - and by one.

Run ``python examples/state_space_svd.py [folder]``; the figure is saved there (default: out).
"""

import sys
from functools import partial
from pathlib import Path

import numpy as np
import sympy as sp
from matplotlib.figure import Figure

import dalembert as da

METHODS = {"DOP853": da.DOP853(rtol=1e-6, atol=1e-8), "StateSpaceSVD": da.StateSpaceSVD(step=0.005)}


def sprung(kind: str) -> da.State:
    """A frame on a blade with a sprung load; the blade is a skate, or runs in a circular groove."""
    model = da.Model(f"sprung {kind}")
    x, y, theta, z = model.coordinates("x y theta z")
    vx, vy, _, vz = model.speeds("vx vy w vz")
    model.body("frame", mass=1.0, inertia=0.2, position=[x, y], rotation=theta)
    model.particle("load", mass=0.5, position=[x + (0.3 + z) * sp.cos(theta), y + (0.3 + z) * sp.sin(theta)])
    model.generalized_force({z: -1e6 * z - 5 * vz})
    model.constrain(x**2 + y**2 - 1 if kind == "groove" else vx * sp.sin(theta) - vy * sp.cos(theta), name=kind)
    given = {"x": 0, "theta": 0.3, "z": 0, "vx": 1.0, "w": 2.0, "vz": 0}
    return model.compile().initial(given, guess={"y": 1.0})


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
    """Draw the figure into `folder`; returns motions by blade and method, and what two loops and one give and cost."""
    starts = {kind: sprung(kind) for kind in ("skate", "groove")}
    runs = {
        (k, name): s.system.simulate(s, 5.0, integrator=m) for k, s in starts.items() for name, m in METHODS.items()
    }
    loops = {name: trapezoidal_steps(starts["skate"], nested=name == "two loops") for name in ("one loop", "two loops")}
    figure = Figure(figsize=(11, 3.6), layout="constrained")
    path, held, cost = figure.subplots(1, 3)
    for (kind, name), motion in runs.items():
        label, style = f"{kind}, {name}, {motion.stats['nfev']:,} evaluations", "-" if name == "DOP853" else "--"
        path.plot(motion["x"], motion["y"], style, label=label)
        values = np.abs(motion.violation["velocity" if kind == "skate" else "position"][kind])
        held.semilogy(motion.t, np.ma.masked_equal(values, 0.0), ".", ms=2 if name == "DOP853" else 4, label=label)
    path.set(title="path of the blade", xlabel="x [m]", ylabel="y [m]", aspect="equal")
    held.set(title="violation", xlabel="t [s]", ylabel="skate: |psi| [m/s]\ngroove: |phi| [m2]")
    cost.bar(list(loops), [count for _, count in loops.values()])
    cost.set(title="trapezoidal rule, 200 steps", ylabel="evaluations of the constraints [-]")
    figure.legend(*path.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize="small")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "state_space_svd.png", dpi=110)
    return runs, loops


if __name__ == "__main__":
    runs, loops = main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
    for (kind, name), motion in runs.items():
        print(f"{kind}, {name}: {motion.stats}; {motion.certificate.verdict}")
    print(*(f"{name}: {count} evaluations of the constraints" for name, (_, count) in loops.items()), sep="\n")

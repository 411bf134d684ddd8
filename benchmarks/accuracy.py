"""How accurate default runs are; `python -m benchmarks.accuracy` writes the table of docs/accuracy.md.

The error of each coordinate and speed is the largest difference from a run with a tolerance of 3e-14, relative to the
largest value of that quantity itself. What a motion does to any error is told beside it: by how much a disturbance of
its start grows, and how often the quantity swings, as errors of its phase add up. A second route - the exact motion, or
another formulation with another method - says how far the reference is to be trusted.
"""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sympy import Symbol, cos, diff, integrate, pi, sin

import dalembert as da
from dalembert import problems

PAGE = Path(__file__).resolve().parent.parent / "docs" / "accuracy.md"
MARK = "<!-- measured by benchmarks/accuracy.py -->\n"
RTOL, TIMES = 1e-10, 20.0  # of a default run, and how many times that an error may be
SPANS = {"closed_chain_5": 3.0}  # chaotic: an error grows by 1e10 in 30 s
SAMPLES = 4001
COLUMNS = ("problem", "span", "steps", "worst quantity", "its size", "error / size", "growth", "swings",
           "second route", "differs by")  # fmt: skip
STILL = 1e-9  # part of the largest value of its kind below which a quantity does not move but by round-off
NUDGE = 1e-6  # by which a start is disturbed, relative to sizes


@functools.cache
def flexible_slider_crank() -> problems.Problem:
    """The slider-crank with a flexible rod of the Test Set for IVP Solvers, its rod straight at the start.

    B. Simeon, Modelling a flexible slider crank mechanism by a mixed system of DAEs and PDEs, Math. Modelling of
    Systems 2 (1996) 1-18: bending w = q1 sin(pi s/L) + q2 sin(2 pi s/L), extension u = 4 q3 s (L - s)/L^2 +
    q4 s (2 s - L)/L^2. Of the extension only the first order is kept in the elastic energy.
    """

    def build() -> da.Model:
        model = da.Model("flexible slider-crank")
        a, b, x = model.coordinates("a b x")
        q = model.coordinates("q1 q2 q3 q4")
        r, L, s = 0.15, 0.30, Symbol("s")
        rho_A, EA, EI = 7870 * 0.008**2, 2e11 * 0.008**2, 2e11 * 0.008**4 / 12
        w = q[0] * sin(pi * s / L) + q[1] * sin(2 * pi * s / L)
        u = q[2] * 4 * s * (L - s) / L**2 + q[3] * s * (2 * s - L) / L**2
        along = r * a.diff() * sin(b - a) + u.diff(model.t) - b.diff() * w  # velocity of the rod in its own axes
        across = r * a.diff() * cos(b - a) + w.diff(model.t) + b.diff() * (s + u)
        whole = [(along**2 + across**2).expand(), (EA * diff(u, s) ** 2 + EI * diff(w, s, 2) ** 2).expand()]
        speed, strain = (sum(integrate(term, (s, 0, L)) for term in part.as_ordered_terms()) for part in whole)
        model.energy(kinetic=(0.002727 * a.diff() ** 2 + rho_A * speed + 0.075552 * x.diff() ** 2) / 2,
                     potential=strain / 2)  # fmt: skip
        model.constrain(r * cos(a) + (L + q[3]) * cos(b) - x, name="along")
        model.constrain(r * sin(a) + (L + q[3]) * sin(b), name="across")
        model.constrain(a - 150 * model.t, name="motor")
        return model

    return problems.Problem(
        name="flexible_slider_crank", title="slider-crank with a flexible rod", source="Test Set for IVP Solvers",
        build=build, given={}, guess={"x": 0.45, "b_dot": -75.0}, t_end=0.02, note="Extensions are of micrometres.",
    )  # fmt: skip


@dataclass(frozen=True)
class Accuracy:
    """The worst error of a default run relative to the size of its quantity, and what to hold it against."""

    name: str
    span: float
    steps: int
    quantity: str
    size: float
    error: float
    growth: float
    swings: float
    route: str
    apart: float

    @property
    def allowed(self) -> float:
        """20 tolerances, as much larger as the motion makes any error."""
        return RTOL * TIMES * max(self.growth, self.swings, 1.0)

    @property
    def holds(self) -> bool:
        """Whether the error is at most as large as is allowed."""
        return self.error <= self.allowed


def cases() -> list[problems.Problem]:
    """The catalogue, and a mechanism with small elastic coordinates."""
    return [*problems.all(), flexible_slider_crank()]


def measure(problem: problems.Problem) -> Accuracy:
    """The accuracy of a default run."""
    system, span = problem.system(), SPANS.get(problem.name, problem.t_end)
    state, times = problem.state(system), np.linspace(0.0, span, SAMPLES)

    def values(start: da.State, **options: object) -> np.ndarray:
        motion = system.simulate(start, span, t_eval=times, **options)
        if not motion.success:
            raise RuntimeError(f"{problem.name}: {motion.message}")
        return np.hstack([motion.q, motion.u])

    tight = values(state, integrator=da.DOP853(rtol=3e-14))
    sizes = np.abs(tight).max(axis=0)
    moves = sizes > STILL * np.repeat([sizes[: system.nq].max(), sizes[system.nq :].max()], [system.nq, system.nu])
    names = np.array([*system.coordinates, *system.speeds])[moves]
    tight, sizes = tight[:, moves], sizes[moves]
    errors = np.abs(values(state)[:, moves] - tight).max(axis=0) / sizes
    k = int(errors.argmax())
    disturbed = system.initial({}, guess=_nudged(state, np.abs(state.z)), t0=0.0)
    apart = np.abs(values(disturbed, integrator=da.DOP853(rtol=3e-14))[:, moves] - tight) / sizes
    growth = float(apart.max() / apart[0].max()) if apart[0].max() > 0.01 * NUDGE else 1.0
    route, other = _second_route(problem, times, values, state, names)
    shared = [j for j, name in enumerate(names) if name in other]
    differ = max(np.abs(other[names[j]] - tight[-len(other[names[j]]) :, j]).max() / sizes[j] for j in shared)
    steps = system.simulate(state, span).stats["steps"]
    swings = np.count_nonzero(np.diff(np.sign(tight[:, k]))) / 2
    return Accuracy(
        problem.name, span, steps, str(names[k]), float(sizes[k]), float(errors[k]), growth, swings, route,
        float(differ),
    )  # fmt: skip


def _nudged(state: da.State, sizes: np.ndarray) -> da.State:
    """A guess beside a state."""
    z = state.z + NUDGE * sizes * np.cos(1.0 + np.arange(len(sizes)))
    nq = state.system.nq
    return da.State(**{**vars(state), "q": z[:nq], "u": z[nq:], "report": None})


def _second_route(problem, times, values, state, names):
    """What it is, and its values by name, at all times or the last."""
    if problem.exact is not None:
        return "exact motion", {n: v for n, v in problem.exact(times).items() if n in names}
    formulation = da.UdwadiaKalaba() if state.system.ideal else da.LagrangeMultipliers()
    other = values(
        state, formulation=formulation, integrator=da.Tsit5(rtol=1e-13), drift=da.Projection(tolerance=1e-15)
    )
    all_names = (*state.system.coordinates, *state.system.speeds)
    return f"{type(formulation).__name__}, Tsit5", {n: other[:, k] for k, n in enumerate(all_names) if n in names}


def table(found: list[Accuracy]) -> str:
    """The table of the page."""
    lines = [
        "| " + " | ".join(COLUMNS) + " |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| `{a.name}` | {a.span:g} s | {a.steps:,} | `{a.quantity}` | {a.size:.1e} | {a.error:.1e} | {a.growth:.3g} | "
        f"{a.swings:g} | {a.route} | {a.apart:.0e} |"
        for a in found
    ]
    return "\n".join(lines)


def main() -> int:
    """Write the table; 1 if an error is larger than it should be."""
    found = [measure(problem) for problem in cases()]
    head, _, rest = PAGE.read_text().partition(MARK)
    after = rest.partition("\n\n")[2] if "\n\n" in rest else ""
    PAGE.write_text(f"{head}{MARK}\n{table(found)}\n\n{after}".rstrip() + "\n")
    print(table(found))
    return int(not all(a.holds for a in found))


if __name__ == "__main__":
    sys.exit(main())

"""The measured problems: start, times, reference and bounds on the error; and the formulas the peers are given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from benchmarks.peers import by_hand, statements
from scipy.integrate import solve_ivp
from sympy import cos, sin

import dalembert as da
from dalembert.problems import andrews, appell_hamel, four_bar
from dalembert.problems.problem import Problem


@dataclass(frozen=True)
class Reference:
    """q at the times of a case, (nt, nq), where it is from, and by how much it may be wrong."""

    q: np.ndarray
    source: str
    doubt: float


@dataclass(frozen=True, eq=False)
class Case:
    """One problem. The error of a motion is its largest difference in q from the reference at `times`.

    Angles count up to whole turns, since engines that work with positions do not count them.
    """

    key: str
    title: str
    t_end: float
    times: np.ndarray
    bounds: tuple[float, ...]
    angles: tuple[int, ...]
    build: Callable[[], tuple[da.System, da.State]]
    statement: statements.State
    equations: by_hand.Equations
    exact: np.ndarray | None = None  # (nt, nq), where digits are known that no run here could give

    @cached_property
    def made(self) -> tuple[da.System, da.State]:
        """The compiled system and the state it starts from."""
        return self.build()

    @property
    def z0(self) -> np.ndarray:
        """(q, u) at the start."""
        return np.array(self.made[1].z)

    def difference(self, q: np.ndarray, other: np.ndarray) -> float:
        """Largest difference of two motions at `times`; NaN if one has none."""
        gap = np.asarray(q) - other
        turns = list(self.angles)
        gap[:, turns] = (gap[:, turns] + np.pi) % (2 * np.pi) - np.pi
        return float(np.abs(gap).max())

    def error(self, q: np.ndarray) -> float:
        """Largest error of q (nt, nq)."""
        return self.difference(q, self.reference.q)

    @cached_property
    def reference(self) -> Reference:
        """A tight run and its distance from an independent one; known digits where there are some."""
        system, state = self.made
        tight = system.simulate(state, self.t_end, t_eval=self.times, integrator=da.DOP853(rtol=1e-14, atol=1e-14)).q
        rates = kkt_rates(self.equations)
        other = solve_ivp(rates, (0.0, self.t_end), self.z0, "DOP853", self.times, rtol=3e-14, atol=1e-13)
        hand = other.y[: system.nq].T
        if self.exact is None:
            return Reference(tight, "dalembert at 1e-14 against hand-written equations with SciPy's DOP853 at 3e-14",
                             self.difference(hand, tight))  # fmt: skip
        doubt = max(self.difference(tight, self.exact), self.difference(hand, self.exact))
        return Reference(self.exact, "values computed with 32 digits; the farther of the same two tight runs", doubt)


def kkt_rates(equations: by_hand.Equations) -> Callable[[float, np.ndarray], np.ndarray]:
    """(t, z) -> z' with NumPy's solver."""
    n, size, fill = equations.nq, equations.nq + equations.nc, equations.fill

    def rates(_t: float, z: np.ndarray) -> np.ndarray:
        K, r = np.zeros((size, size)), np.zeros(size)
        fill(z.tolist(), K, r)
        return np.concatenate([z[n:], np.linalg.solve(K, r)[:n]])

    return rates


def uniform_four_bar() -> tuple[da.System, da.State]:
    """The lecture's linkage with three uniform bars of 1 kg in place of the particles."""
    model = da.Model("four-bar of uniform bars")
    q = model.coordinates("q1 q2 q3")
    x = y = angle = 0
    for k, (turn, length, (mass, _, inertia)) in enumerate(
        zip(q, statements.LINKS, statements.UNIFORM, strict=True), start=1
    ):
        angle = angle + turn
        along = [length * cos(angle), length * sin(angle)]
        centre = [x + along[0] / 2, y + along[1] / 2]
        model.body(f"B{k}", mass=mass, inertia=inertia, position=centre, rotation=angle)
        x, y = x + along[0], y + along[1]
    model.gravity([0, -statements.G])
    model.constrain([x - statements.GROUND_LINK, y], name="loop")
    system = model.compile()
    return system, system.initial({q[0]: np.deg2rad(10)}, guess={q[1]: np.deg2rad(10), q[2]: np.deg2rad(-150)})


def _of(problem: Problem) -> Callable[[], tuple[da.System, da.State]]:
    def build() -> tuple[da.System, da.State]:
        system = problem.system()
        return system, problem.state(system)

    return build


ANGLES = ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")
CASES = (
    Case(
        "appell_hamel", "Appell-Hamel mechanism, nonlinear constraint, 10 s", 10.0, np.linspace(0.0, 10.0, 11), (5e-9,),
        (), _of(appell_hamel.NONLINEAR), statements.appell_hamel, by_hand.appell_hamel(),
    ),
    Case(
        "four_bar", "four-bar of the lecture, two particles, 30 s", 30.0, np.linspace(0.0, 30.0, 11), (5e-7,),
        (0, 1, 2), _of(four_bar.PROBLEM), statements.four_bar(statements.PARTICLES),
        by_hand.four_bar(statements.PARTICLES),
    ),
    Case(
        "four_bar_uniform", "four-bar of three uniform bars, 30 s", 30.0, np.linspace(0.0, 30.0, 11), (5e-7,),
        (0, 1, 2), uniform_four_bar, statements.four_bar(statements.UNIFORM), by_hand.four_bar(statements.UNIFORM),
    ),
    Case(
        "andrews", "Andrews' squeezing mechanism, 0.03 s", 0.03, np.array([0.03]), (2e-9, 1e-6), tuple(range(7)),
        _of(andrews.PROBLEM), statements.andrews, by_hand.andrews(),
        np.array([[andrews.REFERENCE[name] for name in ANGLES]]),
    ),
)  # fmt: skip

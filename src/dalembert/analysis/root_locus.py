"""`RootLocus`: eigenvalues along a parameter, a speed or a coordinate, each at its own steady state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.analysis.equilibrium import find_equilibrium, find_steady
from dalembert.analysis.linearization import Linearization
from dalembert.analysis.linearize import linearize_at
from dalembert.analysis.stability import UNCERTAIN
from dalembert.dataclass import dataclass
from dalembert.equations.naming import finite_number
from dalembert.errors import OptionError, UnknownNameError
from dalembert.file_writing import save_figure
from dalembert.initial.request import key_name
from dalembert.motion.state import State

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROOT = 1e-14  # relative error of the values at which real parts vanish


class Crossing(NamedTuple):
    """A value of the parameter at which a real part vanishes, and the eigenvalue with the largest imaginary part there.

    `growing` says whether the real part grows with the value.
    """

    value: float
    eigenvalue: complex
    growing: bool


@dataclass(frozen=True, eq=False)
class RootLocus:
    """`values` (nv,) of `key`, `eigenvalues` (nv, n) with each column one branch, and the linearisations."""

    key: str
    values: np.ndarray
    eigenvalues: np.ndarray
    linearizations: tuple[Linearization, ...]
    hold: Any = None
    constant: Sequence[Any] | None = None

    @property
    def states(self) -> tuple[State, ...]:
        """The steady states."""
        return tuple(lin.state for lin in self.linearizations)

    @property
    def stable(self) -> np.ndarray:
        """True where every real part is negative, (nv,). Undamped systems are stable nowhere in this sense."""
        return np.asarray((self.eigenvalues.real < 0.0).all(axis=1))

    def crossings(self) -> tuple[Crossing, ...]:
        """Values at which a real part changes its sign, or becomes or ceases to be zero, one for each pair.

        Real parts below 1e-6 of the largest eigenvalue count as zero, as in undamped systems.
        """
        found: list[Crossing] = []
        sign = np.array([_signs(row) for row in self.eigenvalues])
        for k in range(len(self.values) - 1):
            for j in np.flatnonzero(sign[k] * sign[k + 1] < 0).tolist():
                upper = self.eigenvalues[k, j].imag + self.eigenvalues[k + 1, j].imag >= 0.0
                found += [self._locate(k, j)] if upper else []
            met = [
                s for s in (1, -1) if ((sign[k] == s) & (sign[k + 1] == 0) | (sign[k] == 0) & (sign[k + 1] == s)).any()
            ]
            found += [self._locate_end(k, s) for s in met[:1]]  # real parts vanish together with their opposites
        return tuple(sorted(found, key=lambda crossing: crossing.value))

    def _locate_end(self, k: int, sign: int) -> Crossing:
        """Locate by bisection the value at which the number of real parts of a sign changes."""
        at, a, b = self._solver(k), float(self.values[k]), float(self.values[k + 1])
        many = [int((_signs(self.eigenvalues[i]) == sign).sum()) for i in (k, k + 1)]
        found = self.linearizations[k].eigenvalues
        while (a + b) / 2 not in (a, b):
            middle = (a + b) / 2
            values = at(middle).eigenvalues
            if int((_signs(values) == sign).sum()) == many[0]:
                a = middle
            else:
                b, found = middle, values
        critical = found[np.argmin(np.abs(found.real) - ROOT * found.imag)]
        return Crossing(b, complex(critical), many[1] * sign > many[0] * sign)

    def _locate(self, k: int, j: int) -> Crossing:
        from scipy.optimize import brentq

        a, b = float(self.values[k]), float(self.values[k + 1])
        first, last = self.eigenvalues[k, j], self.eigenvalues[k + 1, j]
        at = self._solver(k)

        def eigenvalue(value: float) -> complex:
            expected = first + (last - first) * ((value - a) / (b - a))
            values = at(value).eigenvalues
            return complex(values[np.argmin(np.abs(values - expected))])

        value = float(brentq(lambda v: eigenvalue(v).real, a, b, xtol=4e-16 * max(abs(a), abs(b)), rtol=ROOT))
        return Crossing(value, eigenvalue(value), bool(last.real > first.real))

    def _solver(self, k: int) -> Callable[[float], Linearization]:
        lin = self.linearizations[k]
        return lambda value: _step(lin, self.key, value, self.hold, self.constant)

    def plot_root_locus(self, path: str | Path | None = None) -> Figure:
        """Real and imaginary parts along the values, and the eigenvalues in the complex plane; saved if `path`."""
        from dalembert.view.root_locus import plot_root_locus

        figure = plot_root_locus(self.key, self.values, self.eigenvalues)
        if path is not None:
            save_figure(figure, path)
        return figure

    def __repr__(self) -> str:
        n = self.eigenvalues.shape[1]
        span = f"{self.values[0]:g} .. {self.values[-1]:g}"
        return f"RootLocus of {n} eigenvalues at {len(self.values)} values of `{self.key}`, {span}"


def sweep(
    lin: Linearization, key: Any, values: Iterable[float], *, hold: Any = None, constant: Sequence[Any] | None = None
) -> RootLocus:
    """The root locus along values of a parameter, coordinate or speed; see `Linearization.sweep`."""
    s, name = lin.state.system, key_name(key)
    known = (*s.parameters, *s.coordinates, *s.speeds)
    if name not in known:
        raise UnknownNameError(name, known, f"the parameters, coordinates and speeds of `{s.name}`")
    asked = [finite_number(value, f"value of `{name}` to sweep") for value in values]
    if not asked:
        raise OptionError(f"no values of `{name}` to sweep; give at least one")
    points: list[Linearization] = []
    for value in asked:
        points.append(_step(points[-1] if points else lin, name, value, hold, constant))
    tracked = [points[0].eigenvalues]
    for point in points[1:]:
        tracked.append(_matched(tracked, point.eigenvalues))
    return RootLocus(name, np.array(asked), np.array(tracked), tuple(points), hold, constant)


def _step(lin: Linearization, name: str, value: float, hold: Any, constant: Sequence[Any] | None) -> Linearization:
    """The linearisation at another value, its steady state found from that of this one."""
    state = lin.state
    s = state.system
    parameter = name in s.parameters
    given, parameters = ({}, {name: value}) if parameter else ({name: value}, None)
    at_rest = not state.u.any() and name not in s.speeds
    if at_rest:
        found = find_equilibrium(s, given, guess=state, hold=hold, parameters=parameters)
    else:
        found = find_steady(s, given, guess=state, hold=hold, constant=constant, parameters=parameters)
    if isinstance(found, tuple):  # never: one state was asked for
        found = found[0]
    return linearize_at(s, found, inputs=lin.inputs, outputs=lin.outputs, states=lin.states)


def _matched(before: list[np.ndarray], now: np.ndarray) -> np.ndarray:
    """Eigenvalues in the order of the branches they continue: nearest to where those lead."""
    from scipy.optimize import linear_sum_assignment

    last = before[-1]
    return now[linear_sum_assignment(np.abs(last[:, None] - now))[1]]


def _signs(eigenvalues: np.ndarray) -> np.ndarray:
    """Signs of the real parts; 0 for those that are zero within the error."""
    margin = UNCERTAIN * np.abs(eigenvalues).max(initial=0.0)
    return np.where(np.abs(eigenvalues.real) <= margin, 0, np.sign(eigenvalues.real)).astype(int)

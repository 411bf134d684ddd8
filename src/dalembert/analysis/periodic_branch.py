"""`PeriodicBranch`: periodic motions followed along a parameter, past folds, by pseudo-arclength continuation.

Unknowns are the start, the period and the key; the curve of motions that close has the tangent dF = 0, across the
motion itself. Steps go along the tangent and back to the curve in the plane across it (Keller, 1977), so that the
parameter may turn back.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.analysis.arclength import Pace, follow_curve
from dalembert.analysis.floquet import OrbitalStability
from dalembert.analysis.periodic import CLOSED, FREE_ORBIT, SMALLEST_MISS, PeriodicMotion, finished
from dalembert.analysis.shooting import Shooting, Shot
from dalembert.dataclass import dataclass
from dalembert.equations.naming import finite_number
from dalembert.errors import DalembertError, InitialStateError, LinearizationError, OptionError, UnknownNameError
from dalembert.file_writing import save_figure
from dalembert.initial.request import key_name
from dalembert.solve.decompositions import decompose, least_squares, pseudo_inverse

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ORBIT_ITERATIONS = 8  # iterations of one corrector
PACE = Pace(shortest=1e-4, further=1.3, turned=0.85, located=1e-10)


@dataclass(frozen=True, eq=False)
class PeriodicBranch:
    """`motions` along a curve of periodic motions, `values` (n,) of `key` there, and the `folds` between.

    A fold is a motion at which the key turns back. `complete` says whether the branch reached an end of the span.
    """

    key: str
    values: np.ndarray
    motions: tuple[PeriodicMotion, ...]
    folds: tuple[PeriodicMotion, ...]
    complete: bool

    @property
    def periods(self) -> np.ndarray:
        """Periods, (n,)."""
        return np.array([one.period for one in self.motions])

    @cached_property
    def stability(self) -> tuple[OrbitalStability, ...]:
        """The stability of every motion."""
        return tuple(one.stability for one in self.motions)

    def amplitude(self, key: Any) -> np.ndarray:
        """Half of the range of the quantity `key` in each motion, (n,)."""
        return np.array([one.amplitude(key) for one in self.motions])

    def plot(self, key: Any, path: str | Path | None = None) -> Figure:
        """Plot the amplitude of the quantity `key`, unstable parts dotted. Saves the figure if `path` is given."""
        from dalembert.view.root_locus import plot_branch

        unstable = np.array([one.verdict == "unstable" for one in self.stability])
        folds = np.array([[_value(one, self.key), one.amplitude(key)] for one in self.folds]).reshape(-1, 2)
        figure = plot_branch((self.key, f"amplitude of {key_name(key)}"), self.values, self.amplitude(key), unstable,
                             folds, "periodic motions")  # fmt: skip
        if path is not None:
            save_figure(figure, path)
        return figure

    def __repr__(self) -> str:
        span = f"{self.values.min():g} .. {self.values.max():g}"
        return f"PeriodicBranch of {len(self.motions)} motions along `{self.key}` = {span}, {len(self.folds)} folds"


@dataclass(frozen=True, eq=False)
class _PeriodicCurve:
    """The curve of motions that close: `key` is a parameter, or a start value at `place` of (z, T, p)."""

    problem: Shooting
    parameter: str | None
    place: int
    size: np.ndarray

    def value(self, shot: Shot) -> float:
        if self.parameter is None:
            return float(shot.state.z[self.place])
        return float(shot.state.parameters[self.problem.system.parameters.index(self.parameter)])

    def point(self, shot: Shot) -> np.ndarray:
        """(z, T, p)."""
        p = 0.0 if self.parameter is None else self.value(shot)
        return np.concatenate([shot.state.z, [shot.T, p]])

    def tangent(self, shot: Shot, before: np.ndarray | None) -> np.ndarray:
        """The direction of the curve in scaled (z, T, p), of length 1."""
        changes = shot.changes / self.size[:, None]
        rows = np.vstack([shot.J, shot.phase]) if self.problem.unknown else shot.J
        found = decompose(rows, FREE_ORBIT)
        null = changes @ found.null
        if before is None and null.shape[1] > 1:
            raise self._too_free(null)
        if not null.shape[1]:
            null = changes @ found.right[-1:].T
        way = null @ (pseudo_inverse(null) @ before) if before is not None else null[:, 0]
        return way / np.linalg.norm(way)

    def correct(self, shot: Shot, change: np.ndarray, way: np.ndarray) -> tuple[Shot, int] | None:
        """The shot that closes in the plane across `way` at a scaled `change` from one, and the iterations."""
        goal = self.point(shot) + change * self.size
        try:
            ahead = self.problem.shoot(*self.problem.moved(shot, change * self.size), self.parameter)
            for k in range(ORBIT_ITERATIONS):
                off = way @ ((self.point(ahead) - goal) / self.size)
                left = max(np.abs(ahead.F).max(initial=0.0), abs(off))
                if left <= SMALLEST_MISS or (k > 1 and left <= CLOSED):
                    return ahead, k
                rows = [ahead.J, way @ (ahead.changes / self.size[:, None])]
                if self.problem.unknown:
                    rows.append(ahead.phase)
                side = np.concatenate([-ahead.F, [-off], np.zeros(int(self.problem.unknown))])
                step = ahead.changes @ least_squares(np.vstack(rows), side, FREE_ORBIT)
                ahead = self.problem.shoot(*self.problem.moved(ahead, step), self.parameter)
        except DalembertError:  # no consistent start, or no motion to the end
            return None
        return None

    def between(self, shot: Shot, other: Shot) -> np.ndarray:
        """The scaled change of (z, T, p) from one shot to another."""
        return (self.point(other) - self.point(shot)) / self.size

    def measure(self, change: np.ndarray, other: np.ndarray) -> float:
        """The product of two changes."""
        return float(change @ other)

    def ended(self, shot: Shot) -> InitialStateError:
        """Error for a motion beyond which the branch cannot be followed."""
        return InitialStateError(
            f"`{self.problem.system.name}`: the branch of periodic motions cannot be followed beyond "
            f"{self.value(shot):.6g}; it ends or is not smooth there"
        )

    def _too_free(self, null: np.ndarray) -> LinearizationError:
        s = self.problem.system
        names = (*s.coordinates, *s.speeds, "period", self.parameter)
        loose = [str(names[k]) for k in np.flatnonzero(np.abs(null).max(axis=1) > 1e-6) if names[k]]
        return LinearizationError(
            f"`{s.name}`: {null.shape[1]} directions are open here ({', '.join(loose)}), so that there is no single "
            "branch of periodic motions, as in every system that keeps its energy; give a start value to "
            "system.periodic that stays as it is",
            loose,
        )


def follow_periodic(
    periodic: PeriodicMotion, key: Any, span: tuple[float, float], *, step: float = 0.05, most: int = 200
) -> PeriodicBranch:
    """The branch of periodic motions through one; see `PeriodicMotion.branch`."""
    curve, shot, ends = _read(periodic, key, span)
    shots, folds, complete = follow_curve(curve, shot, ends, float(finite_number(step, "step")), most, PACE)
    motions, turned = (tuple(finished(curve.problem, one) for one in found) for found in (shots, folds))
    return PeriodicBranch(key_name(key), np.array([curve.value(one) for one in shots]), motions, turned, complete)


def _read(
    periodic: PeriodicMotion, key: Any, span: tuple[float, float]
) -> tuple[_PeriodicCurve, Shot, tuple[float, float]]:
    """The curve to follow, its first point, and the span of the key."""
    problem, s, name = periodic.problem, periodic.state.system, key_name(key)
    names = (*s.coordinates, *s.speeds)
    if name not in (*names, *s.parameters):
        raise UnknownNameError(name, (*names, *s.parameters), f"the start values and parameters of `{s.name}`")
    low, high = (finite_number(v, f"an end of the span of `{name}`") for v in span)
    if not low < high:
        raise OptionError(f"the span of `{name}` is {low:g} .. {high:g}; the first must be less than the second")
    parameter = name if name in s.parameters else None
    place = len(names) + 1 if parameter else names.index(name)
    problem = replace(problem, held=tuple(k for k in problem.held if k != place))
    shot = problem.shoot(problem.start(periodic.state.z, periodic.state.parameters), periodic.period, parameter)
    value = float(periodic.state[name])
    if not low <= value <= high:
        raise OptionError(f"`{name}` is {value:g}, outside the span {low:g} .. {high:g}; start inside it")
    size = np.concatenate([shot.size, np.maximum([periodic.period, abs(value)], [1e-300, 1.0])])
    return _PeriodicCurve(problem, parameter, place, size), shot, (low, high)


def _value(periodic: PeriodicMotion, name: str) -> float:
    return float(periodic.state[name])

"""`Branch`: equilibria or steady motions followed along a parameter, past folds, by pseudo-arclength continuation.

Notation as in Keller (1977). The equations R(x) = 0 of all levels with u' = 0, for x = (q, u, la and the parameter),
have a curve of solutions with the tangent R_x dx = 0. Steps go along the tangent and back to the curve in the plane
across it, so that the parameter may turn back.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.analysis.arclength import Pace, follow_curve
from dalembert.analysis.derivatives import EquationDerivatives, differentiate
from dalembert.analysis.stability import Stability, stability_of
from dalembert.analysis.tangent_space import read_states
from dalembert.dataclass import dataclass
from dalembert.equations.naming import finite_number
from dalembert.errors import InitialStateError, LinearizationError, OptionError, UnknownNameError
from dalembert.file_writing import save_figure
from dalembert.initial.accelerations import complete_state
from dalembert.initial.request import key_name
from dalembert.motion.state import State
from dalembert.solve.decompositions import UNIT, decompose, least_squares
from dalembert.solve.tolerances import ROUGH_ROW_RANK

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Iterations of one corrector, and the residual, relative to its terms, that ends it.
CORRECTIONS, CORRECTED_RESIDUAL = 12, 1e-12
PACE = Pace(shortest=1e-6, further=1.2, turned=0.9, located=1e-12)


@dataclass(frozen=True, eq=False)
class Branch:
    """`states` along a curve of equilibria or steady motions, `values` (n,) of `key` there, and the `folds` between.

    A fold is a state at which the key turns back. `complete` says whether the branch reached an end of the span.
    """

    key: str
    values: np.ndarray
    states: tuple[State, ...]
    folds: tuple[State, ...]
    complete: bool

    @cached_property
    def stability(self) -> tuple[Stability, ...]:
        """The stability of every state."""
        return tuple(stability_of(state) for state in self.states)

    def __getitem__(self, key: Any) -> np.ndarray:
        """Values along the branch by name or expression, (n, ...)."""
        return np.array([state[key] for state in self.states])

    def plot(self, key: Any, path: str | Path | None = None) -> Figure:
        """Plot the quantity `key` over the parameter, unstable parts dotted. Saves the figure if `path` is given."""
        from dalembert.view.root_locus import plot_branch

        unstable = np.array([one.verdict == "unstable" for one in self.stability])
        folds = np.array([[_value(state, self.key), state[key]] for state in self.folds]).reshape(-1, 2)
        figure = plot_branch((self.key, str(key)), self.values, self[key], unstable, folds)
        if path is not None:
            save_figure(figure, path)
        return figure

    def __repr__(self) -> str:
        span = f"{self.values.min():g} .. {self.values.max():g}"
        return f"Branch of {len(self.states)} states along `{self.key}` = {span}, {len(self.folds)} folds"


@dataclass(frozen=True, eq=False)
class _Curve:
    """The equations along the branch: which entries of y = (t, q, u, p, u', la) are free, and their sizes."""

    state: State
    free: np.ndarray
    key: int
    size: np.ndarray

    def at(self, y: np.ndarray) -> EquationDerivatives:
        return differentiate(self.state_at(y))

    def state_at(self, y: np.ndarray) -> State:
        s = self.state.system
        sizes = np.cumsum([1, s.nq, s.nu, len(s.parameters), s.nu])
        _, q, u, p, udot, la = np.split(y, sizes)
        p = s.followed(self.state.parameters, p, self.moved)
        return replace(self.state, q=q, u=u, parameters=p, udot=udot, multipliers=la, report=None)

    @property
    def moved(self) -> list[int]:
        """The number of the key among the parameters, if it is one."""
        first = 1 + self.state.system.nq + self.state.system.nu
        return [self.key - first] if self.key >= first else []

    def rows(self, d: EquationDerivatives) -> tuple[np.ndarray, np.ndarray]:
        """Residuals and gradients in the free entries, scaled to unit rows."""
        n = d.rows["rates"].start
        J = d.gradients[:n][:, self.free] * self.size
        if self.moved:
            s, first = self.state.system, self.key - self.moved[0]
            p = slice(first, first + len(s.parameters))
            J[:, self.place] = (
                d.gradients[:n, p] @ s.parameter_directions(d.y[p], self.moved)[:, 0] * self.size[self.place]
            )
        length = np.linalg.norm(J, axis=1)
        factor = 1.0 / np.where(length > 0.0, length, 1.0)
        return d.values[:n] * factor, J * factor[:, None]

    def tangent(self, y: np.ndarray, before: np.ndarray | None) -> np.ndarray:
        """The direction of the curve in scaled entries, of length 1 but for the multipliers."""
        _, J = self.rows(self.at(y))
        found = decompose(J, ROUGH_ROW_RANK, UNIT)
        null = found.null.T
        if before is None and len(null) > 1:
            raise self._too_free(null)
        if not len(null):
            null = found.right[-1:]
        way = null.T @ (null @ before) if before is not None and len(null) > 1 else null[0]
        measured = way[: self.measured]
        way = way / np.linalg.norm(measured)
        if before is not None and way[: self.measured] @ before[: self.measured] < 0.0:
            way = -way
        return way

    @property
    def measured(self) -> int:
        """Number of the free entries that count in the arclength: all but the multipliers."""
        first = len(self.state.q) + 2 * len(self.state.u) + len(self.state.parameters) + 1
        return int((self.free < first).sum())

    @property
    def place(self) -> int:
        """The place of the key among the free entries."""
        return int(np.flatnonzero(self.free == self.key)[0])

    def value(self, y: np.ndarray) -> float:
        """The value of the key."""
        return float(y[self.key])

    def between(self, y: np.ndarray, other: np.ndarray) -> np.ndarray:
        """The scaled change of the free entries from one point to another."""
        return (other - y)[self.free] / self.size

    def measure(self, change: np.ndarray, other: np.ndarray) -> float:
        """Inner product of two changes, without the multipliers."""
        return float(change[: self.measured] @ other[: self.measured])

    def ended(self, y: np.ndarray) -> InitialStateError:
        """Error for a point beyond which the branch cannot be followed."""
        return InitialStateError(
            f"`{self.state.system.name}`: the branch cannot be followed beyond {y[self.key]:.6g}; it ends or is not "
            "smooth there"
        )

    def correct(self, y: np.ndarray, change: np.ndarray, way: np.ndarray) -> tuple[np.ndarray, int] | None:
        """The point of the curve in the plane across `way` at a change from y, and the iterations; None if none."""
        across = np.where(np.arange(len(way)) < self.measured, way, 0.0)
        start = y.copy()
        start[self.free] += change * self.size
        y = start.copy()
        for k in range(CORRECTIONS):
            d = self.at(y)
            left, J = self.rows(d)
            if not (np.isfinite(left).all() and np.isfinite(J).all()):
                return None
            off = across @ ((y - start)[self.free] / self.size)
            terms = 1.0 + np.abs(J) @ np.abs(y[self.free] / self.size)
            if k and (np.abs(left) <= CORRECTED_RESIDUAL * terms).all():
                return y, k
            step = least_squares(np.vstack([J, across]), -np.append(left, off), 1e-13)
            y[self.free] += step * self.size
        return None

    def _too_free(self, null: np.ndarray) -> LinearizationError:
        s = self.state.system
        names = ("t", *s.coordinates, *s.speeds, *s.parameters)
        loose = [names[j] for i, j in enumerate(self.free[: self.measured]) if np.abs(null[:, i]).max() > 1e-6]
        return LinearizationError(
            f"`{s.name}`: {len(null)} directions are open here ({', '.join(loose)}), so that there is no single "
            "branch; name values that stay as they are with hold=[...], or start away from where branches meet",
            loose,
        )


def follow_branch(
    state: State, key: Any, span: tuple[float, float], *, hold: Any = (), step: float = 0.05, most: int = 400
) -> Branch:
    """The branch of equilibria or steady motions through a state; see `State.branch`."""
    curve, (low, high) = _read(state, key, span, hold)
    y = differentiate(state).y
    if not low <= y[curve.key] <= high:
        raise OptionError(
            f"`{key_name(key)}` is {y[curve.key]:g}, outside the span {low:g} .. {high:g}; start inside it"
        )
    ys, folds, complete = follow_curve(curve, y, (low, high), float(finite_number(step, "step")), most, PACE)
    if complete:
        ys[-1][curve.key] = low if abs(ys[-1][curve.key] - low) < abs(ys[-1][curve.key] - high) else high
    states = tuple(_completed(curve, one) for one in ys)
    turned = tuple(_completed(curve, one) for one in folds)
    return Branch(key_name(key), np.array([one[curve.key] for one in ys]), states, turned, complete)


def _read(state: State, key: Any, span: tuple[float, float], hold: Any) -> tuple[_Curve, tuple[float, float]]:
    """The curve to follow, and the span of its parameter."""
    s, name = state.system, key_name(key)
    names = ("t", *s.coordinates, *s.speeds, *s.parameters)
    if name not in names[1:]:
        raise UnknownNameError(name, names[1:], f"the coordinates, speeds and parameters of `{s.name}`")
    low, high = (finite_number(v, f"an end of the span of `{name}`") for v in span)
    if not low < high:
        raise OptionError(f"the span of `{name}` is {low:g} .. {high:g}; the first must be less than the second")
    kept = [hold] if isinstance(hold, str) or not hasattr(hold, "__iter__") else list(hold)
    held = {1 + place for place in read_states(s, kept)} if kept else set()
    if not state.u.any() and name not in s.speeds:
        held |= {1 + s.nq + k for k in range(s.nu)}  # equilibria: at rest all along
    if np.abs(state.udot).max(initial=0.0) > 1e-6 * (1.0 + np.abs(state.u).max(initial=0.0)):
        raise OptionError(f"the state of `{s.name}` is accelerated; start from system.equilibrium or system.steady")
    first = len(names) + s.nu
    free = [k for k in range(1, 1 + s.nq + s.nu) if k not in held]
    free += [names.index(name)] if name in s.parameters else []
    free += range(first, first + s.nc)
    entries = np.array(free)
    y = differentiate(state).y
    return _Curve(state, entries, names.index(name), np.maximum(1.0, np.abs(y[entries]))), (low, high)


def _completed(curve: _Curve, y: np.ndarray) -> State:
    """The state with accelerations and multipliers solved for independently."""
    rough = curve.state_at(y)
    return complete_state(rough.system, rough.t, rough.q, rough.u, rough.parameters)


def _value(state: State, name: str) -> float:
    return float(state[name])

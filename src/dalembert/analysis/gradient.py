"""`gradient`: value and gradient of a cost on a motion, in parameters and start values.

A cost is a sum of integrals over time and of final values,

    J = sum int h(t, q, u, p, u', la) dt + sum l(t_end, q, u, p, u', la),

and its gradient follows from the forward sensitivities of the motion, exact for the motion as it is integrated.
Integrals are taken by Gauss's rule with five points in every step, order 10. The cost grows with the number of
parameters, by the share of a run that a column costs (`benchmarks/sensitivities.py`); there is no adjoint run yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.analysis.sensitivities import all_sensitivities
from dalembert.equations.naming import name_of
from dalembert.equations.system import System
from dalembert.errors import DalembertError, OptionError, PairingError, UnknownNameError
from dalembert.motion.motion import Motion
from dalembert.motion.state import State

POINTS = 5  # of Gauss's rule in a step


@dataclass(frozen=True, eq=False)
class Integral:
    """The integral of an expression over the motion; `expression` is what `motion[...]` takes."""

    expression: Any


@dataclass(frozen=True, eq=False)
class Final:
    """The value of an expression at the end of the motion."""

    expression: Any


@dataclass(frozen=True, eq=False)
class Gradient:
    """`value` of a cost and its `gradient` (k,) in `names`; `gradient["m"]` is one entry. `motion` is where it is."""

    value: float
    gradient: np.ndarray
    names: tuple[str, ...]
    motion: Any = field(repr=False)

    def __getitem__(self, key: Any) -> float:
        name = name_of(key)
        if name not in self.names:
            raise UnknownNameError(name, self.names, "this gradient")
        return float(self.gradient[self.names.index(name)])


def gradient(
    system: System,
    cost: Any,
    state: State,
    t_end: float | tuple[float, float],
    *,
    to: Sequence[Any],
    **options: Any,
) -> Gradient:
    """Value and gradient of a cost; `System.gradient` describes the arguments.

    Raises `DalembertError` if the motion does not reach its end.
    """
    terms = _terms(cost)
    for name in ("t_eval", "sensitivities"):
        if name in options:
            raise OptionError(f"gradient chooses `{name}` itself; leave it out")
    if not len(to):
        raise OptionError("gradient: `to` is empty; name the parameters and start values of the gradient")
    nodes, weights = np.zeros(0), np.zeros(0)
    if any(isinstance(term, Integral) for term in terms):
        nodes, weights = _quadrature(_finished(system.simulate(state, t_end, **options)))
    end = float(np.atleast_1d(t_end)[-1])
    motion = _finished(system.simulate(state, t_end, t_eval=np.append(nodes, end), sensitivities=to, **options), at=end)
    value, slope = 0.0, np.zeros(len(to))
    for term in terms:
        values, slopes = np.asarray(motion[term.expression]), all_sensitivities(motion, term.expression)
        if values.ndim != 1:
            raise OptionError(f"a cost is a number, but `{term.expression}` has {values.shape[1]} components")
        if isinstance(term, Integral):
            value += float(weights @ values[:-1])
            slope += weights @ slopes[:-1, 0]
        else:
            value += float(values[-1])
            slope += slopes[-1, 0]
    names = motion.segments[-1].derivatives.names
    return Gradient(value, slope, names, motion)


def _terms(cost: Any) -> list[Integral | Final]:
    terms = list(cost) if isinstance(cost, list | tuple) else [cost]
    for term in terms:
        if not isinstance(term, Integral | Final):
            raise PairingError(
                f"cost={term!r} is neither da.Integral(expression) nor da.Final(expression), nor a list of them"
            )
    if not terms:
        raise OptionError("the cost is empty; give da.Integral(expression) or da.Final(expression)")
    return terms


def _finished(motion: Any, at: float | None = None) -> Any:
    """The motion, if it reached its end."""
    if not motion.success or (at is not None and motion.t[-1] != at):
        raise DalembertError(f"the motion has no cost: it ended at t = {motion.t[-1]:g}: {motion.message}")
    return motion


def _quadrature(motion: Any) -> tuple[np.ndarray, np.ndarray]:
    """Times and weights of Gauss's rule in every step of a motion."""
    if not isinstance(motion, Motion):
        raise PairingError(
            "the integral of a cost over events that change the motion is not differentiated; use da.Final(...), or "
            "state the integral as a coordinate of the model"
        )
    x, w = np.polynomial.legendre.leggauss(POINTS)
    left, length = motion.t[:-1, None], np.diff(motion.t)[:, None]
    return (left + 0.5 * length * (x + 1.0)).ravel(), (0.5 * length * w).ravel()

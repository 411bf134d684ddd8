"""`gradient`: value and gradient of a cost on a motion, in parameters and start values.

A cost is a sum of integrals over time and of final values,

    J = sum int h(t, q, u, p, u', la) dt + sum l(t_end, q, u, p, u', la),

and its gradient comes from one sweep back through the steps (`run.adjoint`), whatever the number of parameters, exact
for the motion as it was integrated; integrals are those of the method itself. Where the sweep does not apply (events,
Radau, reactions that are not ideal, redundant constraints, systems too large to be unrolled) the gradient follows from
forward sensitivities, and integrals from Gauss's rule with five points in every step; then the cost grows with the
number of parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from dalembert.analysis.measurements import label
from dalembert.analysis.output_gradients import output_graph
from dalembert.analysis.sensitivities import all_sensitivities, check_passed
from dalembert.analysis.sweep.reductions import Final
from dalembert.analysis.verdict import Judged
from dalembert.dataclass import dataclass
from dalembert.equations.naming import name_of
from dalembert.equations.system import System
from dalembert.errors import DalembertError, OptionError, PairingError, UnknownNameError
from dalembert.initial.start_derivatives import read_columns, start_derivatives
from dalembert.motion.motion import Motion
from dalembert.motion.state import State
from dalembert.native.kernel import Kernel
from dalembert.run.adjoint import adjoint, pull_function, tangent_pull_function
from dalembert.run.integrators.explicit import Explicit
from dalembert.run.jumps import check_crossed, check_differentiable
from dalembert.run.recipe import Recipe
from dalembert.run.right_hand_side import Feedback
from dalembert.run.simulate import differentiable, pair

GAUSS_POINTS = 5  # of Gauss's rule in a step


@dataclass(frozen=True, eq=False)
class Integral:
    """The integral of a quantity over the motion; `key` is any key of `motion[...]`."""

    key: Any


@dataclass(frozen=True, eq=False)
class Gradient(Judged):
    """`value` of a cost and its `gradient` (k,) in `names`; `gradient["m"]` is one entry. `motion` is where it is.

    They are exact for the motion as it was integrated; `success` says whether that is one to trust.
    """

    value: float
    gradient: np.ndarray
    names: tuple[str, ...]
    motion: Any = field(repr=False)
    how: str = ""  # "adjoint" or "forward sensitivities"

    def __getitem__(self, key: Any) -> float:
        name = name_of(key)
        if name not in self.names:
            raise UnknownNameError(name, self.names, "this gradient")
        return float(self.gradient[self.names.index(name)])

    def __repr__(self) -> str:
        slopes = ", ".join(f"{name}: {slope:.12g}" for name, slope in zip(self.names, self.gradient, strict=True))
        doubt = "" if self.success else f"; the motion is {self.message}"
        return f"Gradient {{{slopes}}} of {self.value:.12g} by {self.how}{doubt}"


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

    Raises `DalembertError` if the motion does not reach its end, or meets a singular position.
    """
    terms = _terms(cost)
    for name in ("t_eval", "sensitivities"):
        if name in options:
            raise OptionError(f"gradient chooses `{name}` itself; leave it out")
    if not len(to):
        raise OptionError("gradient: `to` is empty; name the parameters and start values of the gradient")
    names, columns = read_columns(system, list(to))
    swept = _swept(system, terms, state, t_end, names, columns, options)
    return _forward(system, terms, state, t_end, to, options) if swept is None else swept


def _swept(
    system: System,
    terms: list[Integral | Final],
    state: State,
    t_end: float | tuple[float, float],
    names: tuple[str, ...],
    columns: tuple[int, ...],
    options: dict[str, Any],
) -> Gradient | None:
    """The gradient by the adjoint; None where that does not apply."""
    if options.get("events") or not system.ideal:
        return None
    check_differentiable(system)
    formulation, drift, integrator = pair(*(options.get(key) for key in ("formulation", "drift", "integrator")))
    method = differentiable(integrator)
    if not isinstance(method, Explicit):
        return None
    motion = _finished(system.simulate(state, t_end, **{**options, "integrator": method}))
    check_crossed(motion)
    if motion.passages:  # the steps over them are not those of the method
        return None
    every = tuple(range(system.nc))
    if any(choice is None or tuple(sorted(choice.rows)) != every for _, choice in motion.facts.choices):
        return None
    engine = Recipe(formulation, drift, method).engine(system, motion.parameters)
    engine.resume(motion.facts)
    kernels = _kernels(system, terms, drift)
    if kernels is None:
        return None
    z = np.hstack([motion.q, motion.u, motion.work[:, None]])[:, : engine.nz]
    addresses = (kernels[0].address, kernels[1].address, 0 if kernels[2] is None else kernels[2].address)
    found = adjoint(engine, method.scheme.tableau, motion.t, z, addresses)
    if found is None:
        return None
    value, by_state, by_parameter = found
    start = replace(state, system=system, parameters=motion.parameters)
    slope = start_derivatives(start, float(motion.t[0]), names) @ by_state
    slope += by_parameter @ system.parameter_directions(motion.parameters, columns)
    return Gradient(value, slope, names, motion, "adjoint")


def _kernels(system: System, terms: list[Integral | Final], drift: Any) -> tuple[Kernel, Kernel, Kernel | None] | None:
    """The kernels of a stage, of the end and of the projection, if there is one; None if another would be too long."""
    feedback, options = drift.feedback(system), len(drift.options(system, None))
    found = []
    for kind in (Integral, Final):
        keys = [term.key for term in terms if isinstance(term, kind)]
        name = f"pull {[label(key) for key in keys]} {feedback and feedback.name} {options}"
        kernel = system.passing_kernel(name, partial(_pull, system, keys, feedback, options))
        if kernel is None:
            return None
        found.append(kernel)
    tangent = system.optional_kernel(f"tangent pull {options}", lambda: tangent_pull_function(system, options))
    return found[0], found[1], tangent


def _pull(system: System, keys: list[Any], feedback: Feedback | None, options: int) -> ca.Function | None:
    """The kernel function of a sum of outputs."""
    return pull_function(system, sum((_scalar(system, key) for key in keys), ca.SX(0)), feedback, options)


def _scalar(system: System, key: Any) -> ca.SX:
    graph, labels = output_graph(system, key)
    if len(labels) != 1:
        raise OptionError(f"a cost is a number, but `{key}` has {len(labels)} components")
    return ca.densify(graph)


def _forward(
    system: System,
    terms: list[Integral | Final],
    state: State,
    t_end: float | tuple[float, float],
    to: Sequence[Any],
    options: dict[str, Any],
) -> Gradient:
    """The gradient by forward sensitivities."""
    nodes, weights = np.zeros(0), np.zeros(0)
    if any(isinstance(term, Integral) for term in terms):
        nodes, weights = _quadrature(_finished(system.simulate(state, t_end, **options)))
    end = float(np.atleast_1d(t_end)[-1])
    motion = _finished(system.simulate(state, t_end, t_eval=np.append(nodes, end), sensitivities=to, **options), at=end)
    check_passed(motion)
    value, slope = 0.0, np.zeros(len(to))
    for term in terms:
        values, slopes = np.asarray(motion[term.key]), all_sensitivities(motion, term.key)
        if values.ndim != 1:
            raise OptionError(f"a cost is a number, but `{term.key}` has {values.shape[1]} components")
        if isinstance(term, Integral):
            value += float(weights @ values[:-1])
            slope += weights @ slopes[:-1, 0]
        else:
            value += float(values[-1])
            slope += slopes[-1, 0]
    names = motion.segments[-1].derivatives.names
    return Gradient(value, slope, names, motion, "forward sensitivities")


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
    x, w = np.polynomial.legendre.leggauss(GAUSS_POINTS)
    left, length = motion.t[:-1, None], np.diff(motion.t)[:, None]
    return (left + 0.5 * length * (x + 1.0)).ravel(), (0.5 * length * w).ravel()

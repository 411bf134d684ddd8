"""Exact gradients of outputs, names or expressions, in everything that they may depend on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from dalembert.analysis.derivatives import EquationDerivatives, Response
from dalembert.equations.laws import rows_by_unknown
from dalembert.equations.observation import observer_of
from dalembert.equations.system import System
from dalembert.errors import LinearizationError, OptionError, UnknownNameError
from dalembert.motion.outputs import is_expression, known_names, spelling

AMBIGUOUS_PART = 1e-8  # dependence of an output on multipliers that are not unique


def output_gradients(
    d: EquationDerivatives, outputs: Sequence[Any], response: Response
) -> tuple[tuple[str, ...], np.ndarray]:
    """Names of the scalar outputs, and their gradients in y, (n, size of y)."""
    s = d.system
    if isinstance(outputs, str) or not isinstance(outputs, Sequence):
        raise OptionError(f"outputs must be a list of names or expressions of `{s.name}`, got {outputs!r}")
    labels: list[str] = []
    gradients = [np.zeros((0, len(d.y)))]
    for key in outputs:
        found, function = output_function(s, key)
        labels += found
        gradients.append(function(d.y).full())
    Y = np.vstack(gradients)
    _check_unique(d, Y, labels, response.loose)
    return tuple(labels), Y


def output_function(system: System, key: Any) -> tuple[list[str], ca.Function]:
    """The components of an output, and their gradients (n, size of y) as a function of y = (t, q, u, p, u', la)."""
    name = str(key) if is_expression(key) else spelling(key)

    def make() -> tuple[list[str], ca.Function]:
        m = system.mechanics
        graph, labels = output_graph(system, key)
        return labels, ca.Function("output_gradient", [m.y], [ca.jacobian(graph, m.y)])

    return system.kernels.lately(("output gradient", is_expression(key), name), make)


def output_graph(system: System, key: Any) -> tuple[ca.SX, list[str]]:
    """An output as a graph of y = (t, q, u, p, u', la), and the names of its components."""
    return _expression(system, key) if is_expression(key) else _named(system, spelling(key))


def _expression(system: System, key: Any) -> tuple[ca.SX, list[str]]:
    m = system.mechanics
    observation = observer_of(system).observe([key], f"an output of `{system.name}`")
    w = ca.vertcat(m.t, m.q, m.u, m.p, m.qdot, m.udot, 0, m.la)
    return observation.function(w), [str(key)]


def _named(system: System, name: str) -> tuple[ca.SX, list[str]]:
    """Graph of the quantity with this name, and the labels of its components."""
    m, enforced = system.mechanics, rows_by_unknown(system.rows)
    entries: dict[str, ca.SX] = {"t": m.t}
    for names, column in (
        (system.parameters, m.p), (system.constraint_names, m.la),
        ([f"reaction({u})" for u in system.speeds], m.reaction),
        ([f"{q}''" for q in system.coordinates], m.second_rates),
        ([f"{q}'" for q in system.coordinates], m.qdot), ([f"{u}'" for u in system.speeds], m.udot),
        (system.speeds, m.u), (system.coordinates, m.q),
    ):  # fmt: skip
        entries.update({entry: column[k] for k, entry in enumerate(names)})
    entries.update({unknown: m.la[enforced[j]] for j, unknown in enumerate(system.unknowns)})
    if name in entries:
        return entries[name], [name]
    if name not in system.named_quantities:
        raise UnknownNameError(name, known_names(system), f"`{system.name}`")
    quantity, component = system.named_quantities[name]
    values = system.functions[quantity.group](m.y)[quantity.start : quantity.start + quantity.size]
    return (values, list(quantity.columns)) if component is None else (values[component], [name])


def _check_unique(d: EquationDerivatives, Y: np.ndarray, labels: list[str], loose: np.ndarray) -> None:
    if not loose.size or not len(Y):
        return
    part = np.abs(Y[:, d.columns["la"]] @ loose).max(axis=1)
    size = np.abs(Y[:, d.columns["la"]]).max(axis=1) * np.abs(loose).max()
    bad = [labels[k] for k in np.flatnonzero(part > AMBIGUOUS_PART * np.maximum(size, 1e-300))]
    if bad:
        raise LinearizationError(
            f"`{d.system.name}`: output {', '.join(bad)} contains multipliers of redundant constraints, which are not "
            "unique; leave it out, or remove a redundant constraint (system.diagnose names them)",
            bad,
        )

"""Gains of a feedback on constraints: a number, one per constraint, or a matrix; their eigenvalues and checks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.equations.labels import rows_of
from dalembert.equations.system import System
from dalembert.errors import OptionError
from dalembert.run.drift.start import Start

STABILITY_MARGIN = 0.8  # of the longest stable step, where violations decay although the equations are not linear

Gain = float | Sequence[float] | Sequence[Sequence[float]] | Mapping[str, float] | np.ndarray


def frozen(name: str, gain: Any) -> Any:
    """The gain as a number, a tuple, a tuple of rows or a dict, all finite; raises OptionError otherwise."""
    if gain is None:
        return None
    try:
        if isinstance(gain, Mapping):
            kept: Any = {key: float(value) for key, value in gain.items()}
            values = np.array(list(kept.values()), dtype=float)
        else:
            values = np.array(gain, dtype=float)
            kept = float(values) if values.ndim == 0 else tuple(values.tolist())
            kept = tuple(map(tuple, kept)) if values.ndim == 2 else kept
    except (TypeError, ValueError):
        raise OptionError(f"Baumgarte: {name} is {gain!r}; give a number, one per constraint, or a matrix") from None
    if values.ndim > 2 or values.size == 0 or not np.isfinite(values).all():
        raise OptionError(f"Baumgarte: {name} is {gain!r}; give finite numbers: one, one per constraint, or a matrix")
    return kept


def expanded(name: str, gain: Any, system: System, rows: range) -> np.ndarray:
    """The gain for these rows of a system: one number each, (n,), or a matrix, (n, n)."""
    n = len(rows)
    if isinstance(gain, dict):
        values = np.full(n, np.nan)
        for key, value in gain.items():
            at = [k - rows.start for k in rows_of(system, key)]
            if not all(0 <= k < n for k in at):
                level = system.rows[rows.start + at[0]].level
                raise OptionError(f"Baumgarte: {name} is given for `{key}`, which is a {level} constraint")
            values[at] = value
        lacking = [system.constraint_names[rows.start + k] for k in np.flatnonzero(np.isnan(values))]
        if lacking:
            raise OptionError(f"Baumgarte: {name} is not given for {', '.join(f'`{l}`' for l in lacking)}")
        return values
    values = np.array(gain, dtype=float)
    if values.ndim == 0:
        return np.full(n, float(values))
    if values.shape not in ((n,), (n, n)):
        level = system.rows[rows.start].level if n else "such"
        raise OptionError(
            f"Baumgarte: {name} has shape {values.shape}, but `{system.name}` has {n} {level} constraints; "
            f"give a number, {n} numbers, a mapping by name or a matrix of shape {(n, n)}"
        )
    return values


def matrix(gain: np.ndarray) -> np.ndarray:
    """The gain as a matrix, (n, n)."""
    return gain if gain.ndim == 2 else np.diag(gain)


def eigenvalues(gamma1: np.ndarray, gamma2: np.ndarray) -> np.ndarray:
    """Roots s of det(s^2 + Gamma1 s + Gamma2) = 0, (2 n,): how violations phi ~ exp(s t) decay."""
    n = len(gamma1)
    return np.linalg.eigvals(np.block([[np.zeros((n, n)), np.eye(n)], [-matrix(gamma2), -matrix(gamma1)]]))


def check_stable(what: str, values: np.ndarray) -> None:
    """Raise OptionError if a violation would not decay."""
    if (values.real < 0.0).all():
        return
    raise OptionError(
        f"Baumgarte: with {what} violations do not decay: eigenvalues {_listed(values)}; all real parts must be "
        "negative - positive gains damp (the paper's Gamma have the opposite sign)"
    )


def check_not_stiff(what: str, values: np.ndarray, start: Start) -> None:
    """Raise OptionError if the fixed step of the integrator makes a decaying violation grow."""
    if start.step is None or not start.stability:
        return
    growth = _growth(values, start.step, start)
    if growth <= 1.0:
        return
    usable = STABILITY_MARGIN * _longest_step(values, start.step, start)
    worst = max(values, key=lambda s: abs(_polynomial(start.stability, start.step * s)))
    raise OptionError(
        f"Baumgarte: {what} are too stiff for {start.integrator} with step = {start.step:g}: the eigenvalue "
        f"{_shown(worst)} makes violations grow {growth:.3g}-fold per step; use a step of at most {usable:.4g}, "
        "or smaller gains"
    )


def _longest_step(values: np.ndarray, unstable: float, start: Start) -> float:
    """The longest step that is stable together with all shorter ones; `unstable` is one that is not."""
    parts = np.linspace(0.0, 1.0, 501)[1:]
    first = next(k for k, part in enumerate(parts) if _growth(values, part * unstable, start) > 1.0)
    good, bad = (parts[first] - parts[0]) * unstable, parts[first] * unstable
    for _ in range(40):
        middle = 0.5 * (good + bad)
        good, bad = (middle, bad) if _growth(values, middle, start) <= 1.0 else (good, middle)
    return good


def _growth(values: np.ndarray, step: float, start: Start) -> float:
    return float(max(abs(_polynomial(start.stability, step * s)) for s in values))


def _polynomial(coefficients: Sequence[float], z: complex) -> complex:
    return complex(np.polynomial.polynomial.polyval(z, coefficients))


def _listed(values: np.ndarray) -> str:
    order = sorted(values, key=lambda s: -s.real)
    return ", ".join(_shown(s) for s in order[:6]) + (", ..." if len(order) > 6 else "")


def _shown(s: complex) -> str:
    if math.isclose(s.imag, 0.0, abs_tol=1e-9 * abs(s)):
        return f"{s.real:.4g}"
    return f"{s.real:.4g}{s.imag:+.4g}i"

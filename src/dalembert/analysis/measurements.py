"""Measured data of a fit: tables of times and outputs, read and checked, each with its initial state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.naming import finite_number
from dalembert.errors import ArrayError, OptionError, PairingError
from dalembert.motion.outputs import is_expression, spelling
from dalembert.motion.state import State


@dataclass(frozen=True, eq=False)
class Experiment:
    """Times (nt,) and values (nt, n) of outputs, NaN where one is missing, their sigma (n,), and the state at start."""

    state: State
    t: np.ndarray
    outputs: tuple[Any, ...]
    values: np.ndarray
    sigma: np.ndarray

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return tuple(label(key) for key in self.outputs)


def label(key: Any) -> str:
    """Name of an output in messages and tables: its name, or the text of its expression."""
    return str(key).replace("(t)", "") if is_expression(key) else spelling(key)


def read_experiments(data: Any, state: Any, sigma: Any) -> list[Experiment]:
    """The experiments of a fit, every table checked."""
    tables = list(data) if isinstance(data, list | tuple) else [data]
    states = list(state) if isinstance(state, list | tuple) else [state] * len(tables)
    if not tables:
        raise ArrayError('fit: there are no data; give a table {"t": times, "x": values}')
    if len(states) != len(tables):
        raise PairingError(f"fit: {len(tables)} experiments but {len(states)} states; give one state or one for each")
    return [_read(table, start, sigma, k) for k, (table, start) in enumerate(zip(tables, states, strict=True))]


def _read(table: Any, state: Any, sigma: Any, number: int) -> Experiment:
    where = f"data of experiment {number}"
    if not isinstance(state, State):
        raise PairingError(f"fit needs a State to start from, got {type(state).__name__}; call system.initial(...)")
    columns = _columns(table, where)
    t = _numbers(columns.pop("t"), f"{where}: `t`")
    if not np.isfinite(t).all() or (np.diff(t) <= 0.0).any() or not t.size:
        raise ArrayError(f"{where}: the times must be finite and strictly increasing")
    if t[0] < state.t or not t[-1] > state.t:
        raise ArrayError(
            f"{where}: times {t[0]:g} .. {t[-1]:g} are not after the start of the motion, t = {state.t:g}; shift the "
            "times, or find a state at an earlier time: system.initial(..., t0=...)"
        )
    if not columns:
        raise ArrayError(f'{where}: there are times but no outputs; give {{"t": times, "x": values}}')
    values = np.column_stack([_numbers(column, f"{where}: `{label(key)}`", t.size) for key, column in columns.items()])
    if np.isinf(values).any():
        raise ArrayError(f"{where}: a value is infinite; write NaN for samples that are missing")
    if not np.isfinite(values).any():
        raise ArrayError(f"{where}: every sample is missing")
    return Experiment(state, t, tuple(columns), values, _sigmas(sigma, tuple(columns)))


def _columns(table: Any, where: str) -> dict[Any, Any]:
    """The columns of a mapping or a pandas frame by output; "t" are the times, the index of a frame without it."""
    if isinstance(table, Mapping):
        columns = dict(table)
    elif callable(getattr(table, "to_dict", None)) and hasattr(table, "columns"):
        columns = {key: table[key].to_numpy() for key in table.columns}
        columns.setdefault("t", table.index.to_numpy())
    else:
        raise PairingError(f'{where}: give a table {{"t": times, "x": values}} or a pandas frame, got {type(table)}')
    found = [key for key in columns if str(key) == "t"]
    if not found:
        raise ArrayError(f"{where}: there are no times; add a column `t`")
    times = columns.pop(found[0])
    return {"t": times, **columns}


def _numbers(column: Any, where: str, size: int | None = None) -> np.ndarray:
    try:
        values = np.asarray(column, dtype=float)
    except (TypeError, ValueError):
        raise ArrayError(f"{where} does not hold numbers") from None
    if values.ndim != 1 or (size is not None and len(values) != size):
        raise ArrayError(f"{where} has shape {values.shape}; it must be ({'nt' if size is None else size},)")
    return values


def _sigmas(sigma: Any, outputs: Sequence[Any]) -> np.ndarray:
    """Standard deviations of the outputs; 1 by default."""
    if sigma is None:
        return np.ones(len(outputs))
    if not isinstance(sigma, Mapping):
        return np.full(len(outputs), _positive(sigma, "sigma"))
    named = {label(key): _positive(value, f"sigma of `{label(key)}`") for key, value in sigma.items()}
    missing = [label(key) for key in outputs if label(key) not in named]
    if missing:
        raise OptionError(f"sigma is given for some outputs but not for {', '.join(missing)}")
    return np.array([named[label(key)] for key in outputs])


def _positive(value: Any, what: str) -> float:
    number = finite_number(value, what)
    if number <= 0.0:
        raise OptionError(f"{what} is {number:g}; a standard deviation is positive")
    return number

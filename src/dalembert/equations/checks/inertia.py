"""Checks of masses and inertias for physical values: at the defaults when compiled, and when parameters change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np
import sympy as sp

from dalembert.equations.lowering.lower import Lowering
from dalembert.errors import OptionError
from dalembert.model.statement import Body, Particle, Statement

INERTIA_TOLERANCE = 1e-9


class Carrier(NamedTuple):
    """A particle or body by name, with the number of entries of its inertia: 0 (a particle), 1 (planar) or 9."""

    name: str
    entries: int


def carriers_of(statement: Statement) -> tuple[Carrier, ...]:
    """All particles and bodies, which have a mass; particles first."""
    return tuple(Carrier(item.name, len(_inertia(item))) for item in _items(statement))


def inertia_column(statement: Statement, low: Lowering) -> ca.SX:
    """Mass and entries of the inertia of every carrier, one below the other; with unknowns at their starts."""
    starts = {y: sp.Float(statement.starts.get(y, 0.0)) for y in statement.unknowns}
    entries = [e.xreplace(starts) if starts else e for item in _items(statement) for e in (item.mass, *_inertia(item))]
    return low.vector(entries)


def inertia_faults(carriers: Sequence[Carrier], values: np.ndarray) -> list[tuple[int, str]]:
    """Faults of masses and inertias (`inertia_column` with numbers) that no body can have: carrier index and message.

    Masses and principal moments must not be negative, and no moment may exceed the sum of the other two. One moment
    beside two zeros passes: planar bodies are stated in space in this way.
    """
    faults = []
    moments = _principal_moments(carriers, values)
    for k, (carrier, mass) in enumerate(zip(carriers, values[_starts(carriers)].tolist(), strict=True)):
        if mass < 0.0:
            faults.append((k, f"mass of `{carrier.name}` is {mass:g}; it must not be negative"))
        if carrier.entries and (fault := _fault_of(moments[k])):
            faults.append((k, f"inertia of body `{carrier.name}` has {fault}"))
    return faults


class Inertias(NamedTuple):
    """The masses and inertias of a system as a function of x = (t, q, u, p), and the names of its last entries p."""

    carriers: tuple[Carrier, ...]
    function: ca.Function
    parameters: tuple[str, ...]

    @property
    def reads(self) -> tuple[int, ...]:
        """Indices of the parameters on which masses or inertias depend."""
        first = self.function.size1_in(0) - len(self.parameters)
        columns = self.function.jac_sparsity(0, 0).get_triplet()[1]
        return tuple(sorted({column - first for column in columns if column >= first}))

    def check(self, defaults: np.ndarray, values: np.ndarray) -> None:
        """Raise `OptionError` if parameter values (np,) make an inertia impossible that is possible at the defaults.

        A mass that is positive must not vanish either: the kernels are made for an inertia that is there. Inertias that
        depend on time are judged at t = 0.
        """
        if np.array_equal(defaults, values):
            return
        before, now = (self._at(p) for p in (defaults, values))
        if np.array_equal(before, now):
            return
        known = {*inertia_faults(self.carriers, before)}
        faults = [fault for fault in inertia_faults(self.carriers, now) if fault not in known]
        faults += _vanished(self.carriers, before, now)
        if faults:
            changed = [k for k in range(len(values)) if values[k] != defaults[k]]
            raise OptionError("; ".join(self._told(k, words, changed, values) for k, words in faults))

    def _at(self, p: np.ndarray) -> np.ndarray:
        x = np.zeros(self.function.size1_in(0))
        x[x.size - p.size :] = p
        return np.array(self.function(x)).ravel()

    def _told(self, carrier: int, words: str, changed: Sequence[int], values: np.ndarray) -> str:
        """The fault of a carrier with the changed parameters that it depends on."""
        ends = np.cumsum([1 + c.entries for c in self.carriers])
        entries = range(ends[carrier] - 1 - self.carriers[carrier].entries, ends[carrier])
        pattern, first = self.function.jac_sparsity(0, 0), self.function.size1_in(0) - len(values)
        blamed = [k for k in changed if any(pattern.has_nz(entry, first + k) for entry in entries)]
        return f"with {', '.join(f'`{self.parameters[k]}` = {values[k]:g}' for k in blamed)} the {words}"


def _items(statement: Statement) -> list[Particle | Body]:
    return [*statement.particles, *statement.bodies]


def _inertia(item: Particle | Body) -> tuple[sp.Expr, ...]:
    return item.inertia if isinstance(item, Body) else ()


def _starts(carriers: Sequence[Carrier]) -> np.ndarray:
    """Index of the mass of each carrier; its inertia follows the mass."""
    return np.cumsum([0, *(1 + c.entries for c in carriers)], dtype=int)[:-1]


def _split(carriers: Sequence[Carrier], values: np.ndarray) -> list[np.ndarray]:
    """Mass and inertia entries of each carrier."""
    return np.split(values, _starts(carriers)[1:]) if carriers else []


def _principal_moments(carriers: Sequence[Carrier], values: np.ndarray) -> np.ndarray:
    """Principal moments in increasing order, (n, 3), zero if an entry is not finite; one moment beside two zeros."""
    counts, starts = np.array([c.entries for c in carriers], dtype=int), _starts(carriers)
    matrices = np.zeros((len(carriers), 9))
    for count in (1, 9):  # one moment is the last entry
        own = counts == count
        matrices[own, 9 - count :] = values[starts[own, None] + 1 + np.arange(count)]
    matrices[~np.isfinite(matrices).all(axis=1)] = 0.0
    square = matrices.reshape(-1, 3, 3)
    found: np.ndarray = np.linalg.eigvalsh((square + square.transpose(0, 2, 1)) / 2)
    return found


def _fault_of(moments: np.ndarray) -> str:
    least, middle, most = moments.tolist()
    if least < -INERTIA_TOLERANCE * max(-least, most, np.finfo(float).tiny):
        return f"the principal moment {least:g}; none can be negative"
    if middle > 0.0 and most > (least + middle) * (1 + INERTIA_TOLERANCE):
        shown = ", ".join(f"{m:g}" for m in (least, middle, most))
        return f"principal moments {shown}: no body has one above the sum of the other two"
    return ""


def _vanished(carriers: Sequence[Carrier], before: np.ndarray, now: np.ndarray) -> list[tuple[int, str]]:
    """Masses and inertias that were there and are zero, or are no numbers, now."""
    faults = []
    pairs = zip(_split(carriers, before), _split(carriers, now), strict=True)
    for k, (carrier, (old, new)) in enumerate(zip(carriers, pairs, strict=True)):
        for what, part in (
            (f"mass of `{carrier.name}`", slice(1)),
            (f"inertia of body `{carrier.name}`", slice(1, None)),
        ):
            if old[part].any() and not (new[part].any() and np.isfinite(new[part]).all()):
                faults.append((k, f"{what} is {new[part].max():g}; the system was compiled for a positive one"))
    return faults

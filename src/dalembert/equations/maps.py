"""Cells of features over the values met by runs. They are laid on demand and cached with the system."""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np

from dalembert.equations.features import Feature
from dalembert.equations.system import System
from dalembert.errors import OptionError
from dalembert.native.cells import largest, lay_cells, supremum
from dalembert.native.precision import EPSILON
from dalembert.native.series_tape import SeriesTape, read_tape

MOST_CELLS = 200_000  # of one function
SPARE_OCTAVES = 2  # powers of two by which maps exceed the requested range, so that they last longer
SPANS = 8  # of time that maps are kept of
TINY = 2.0**-900
BEGIN = (5.0**0.5 - 3.0) / 2.0  # of a period: a map begins where nothing jumps, at the least rational part of it
UNIFORM = 8.0  # cells that differ by no more than this factor hide nothing: every step sees their features


class CellMap:
    """The cells of a function f(s) with given parameters, which repeat if it has a `period` (else 0).

    The size of f is the largest |f| over the span if s is the time, and over the whole line if that is finite, as of
    tanh. Otherwise it is that in each cell: powers and exponentials have no size of their own.
    """

    def __init__(self, feature: Feature, tape: SeriesTape, period: float) -> None:
        self.feature, self.tape, self.period = feature, tape, period
        self._laid: dict[tuple[float, float], np.ndarray] = {}
        self._size = 0.0 if feature.of_time or period else _finite(supremum(tape))

    def over(self, low: float, high: float) -> np.ndarray:
        """The edges (n + 1,) of cells over [low, high] at least; raises `OptionError` if they are too many.

        They do not depend on what was asked for before: those of a state reach over the next powers of two.
        """
        if self.period:
            low, high = BEGIN * self.period, (BEGIN + 1.0) * self.period
        elif not self.feature.of_time:
            reach = 2.0 ** (SPARE_OCTAVES + math.ceil(math.log2(max(abs(low), abs(high), TINY))))
            low, high = -reach, reach
        edges = self._laid.get((low, high))
        if edges is None:
            if self.feature.of_time and len(self._laid) >= SPANS:
                self._laid.clear()
            edges = self._laid[low, high] = self._lay(low, high)
        return edges

    def _lay(self, low: float, high: float) -> np.ndarray:
        of_span = self.feature.of_time or self.period
        size = largest(self.tape, low, high, MOST_CELLS) if of_span else self._size
        edges = lay_cells(self.tape, low, high, size, self.feature.least, MOST_CELLS)
        if edges is None:
            raise OptionError(
                f"`{self.feature.text}` has more than {MOST_CELLS:,} features between {low:g} and {high:g}, and steps "
                "are kept to each of them; simulate a shorter time, or state a smooth mean of it"
            )
        return edges


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0


class CellMaps:
    """The maps of all features of a system with parameter values, those without a series left out."""

    def __init__(self, system: System, parameters: np.ndarray) -> None:
        self.maps: list[CellMap] = []
        places: list[int] = []
        place, x = -1, np.concatenate([np.zeros(1 + system.nq + system.nu), parameters])
        for feature in system.features:
            place += not feature.of_time
            tape = _tape(system, feature.shape)
            if tape is None:
                continue
            period = _period(system, feature.shape, x)
            made = CellMap(feature, tape.at(x), period)
            if feature.of_time or not (period and _are_uniform(made.over(0.0, period))):
                places.append(-1 if feature.of_time else place)
                self.maps.append(made)
        self.places = np.array(places, dtype=np.int64)  # of each map among the arguments; -1 is the time
        self.periods = np.array([made.period for made in self.maps])
        self.timed = places.count(-1)


def maps_of(system: System, parameters: np.ndarray) -> CellMaps:
    """The maps of a system, those made last if the parameters are the same."""
    known: dict[bytes, CellMaps] = system.kept("cell maps made last", dict)
    key = parameters.tobytes()
    found = known.get(key)
    if found is None:
        found = CellMaps(system, parameters)
        known.clear()  # run after run may have other parameters
        known[key] = found
    return found


def _tape(system: System, shape: int) -> SeriesTape | None:
    tape: SeriesTape | None = system.kept(
        ("tape of a shape", shape), lambda: read_tape(system.functions[f"shape {shape}"], 0)
    )
    return tape


def reads_some(system: System, names: Collection[str]) -> bool:
    """Whether some of these parameters move the cells of features."""
    first = 1 + system.nq + system.nu
    tapes = [_tape(system, feature.shape) for feature in system.features]
    read = {int(k) - first for tape in tapes if tape is not None for k in np.flatnonzero(tape.parameters >= 0)}
    return any(system.parameters[k] in names for k in read)


def _period(system: System, shape: int, x: np.ndarray) -> float:
    """The period of a function made of sines and cosines with rates that are multiples of the least one, else 0."""
    rates = np.abs(np.array(system.functions[f"phases {shape}"](x)).ravel())
    if not rates.size or not rates.min() > 0.0:
        return 0.0
    multiples = rates / rates.min()
    whole = np.abs(multiples - np.rint(multiples)) <= 4.0 * EPSILON * multiples
    return float(2.0 * np.pi / rates.min()) if whole.all() else 0.0


def _are_uniform(edges: np.ndarray) -> bool:
    widths = np.diff(edges)
    return bool(widths.max() <= UNIFORM * widths.min())  # a jump is a cell without length

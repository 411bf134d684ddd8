"""Cells of features over the values met by runs. They are laid on demand and cached with the system."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from dalembert.equations.features import Feature
from dalembert.equations.system import System
from dalembert.errors import OptionError
from dalembert.native.cells import REMAINDER, largest, lay_cells, supremum
from dalembert.native.jit import address_of
from dalembert.native.precision import EPSILON
from dalembert.native.series_tape import SeriesTape, read_tape
from dalembert.native.workspace import NOTHING

MOST_CELLS = 200_000  # of one function
SPARE = 4.0  # times the next power of two: how far maps of states reach, so that they last longer
TOLERANCES = 1e4  # of a run: what polynomials may leave out in cells, as cells and steps of order 8 shrink alike
KEPT_SPANS = 8  # spans of time that a map is kept of, and maps of a system
SHELVES = 64  # ranges of an argument for which native code finds edges by itself
TINY = 2.0**-900
BEGIN = (5.0**0.5 - 3.0) / 2.0  # of a period: a map begins where nothing jumps, at the least rational part of it
UNIFORM = 8.0  # cells that differ by no more than this factor hide nothing: every step sees their features


class CellMap:
    """The cells of a function f(s) with given parameters, which repeat if it has a `period` (else 0).

    The size of f is the largest |f| over the span if s is the time, and over the whole line if that is finite, as of
    tanh. Otherwise it is that in each cell: powers and exponentials have no size of their own.
    """

    def __init__(self, feature: Feature, tape: SeriesTape, period: float, remainder: float) -> None:
        self.feature, self.tape, self.period, self.remainder = feature, tape, period, remainder
        self._laid: dict[tuple[float, float], np.ndarray] = {}
        self._size = 0.0 if feature.of_time or period else _finite(supremum(tape))

    def over(self, low: float, high: float) -> np.ndarray:
        """The edges (n + 1,) of cells over [low, high] at least; raises `OptionError` if they are too many.

        They do not depend on what was asked for before: those of a state reach over the next powers of two.
        """
        if self.period:
            low, high = BEGIN * self.period, (BEGIN + 1.0) * self.period
        elif not self.feature.of_time:
            part, octave = math.frexp(max(abs(low), abs(high), TINY))  # 0.5 <= part < 1
            reach = SPARE * 2.0 ** (octave - (part == 0.5))
            low, high = -reach, reach
        edges = self._laid.get((low, high))
        if edges is None:
            if self.feature.of_time and len(self._laid) >= KEPT_SPANS:
                self._laid.clear()
            edges = self._laid[low, high] = self._lay(low, high)
        return edges

    def within(self, low: float, high: float, longest: float) -> np.ndarray:
        """The edges (n,) in [low, high] of cells that are no longer than `longest`."""
        edges = self.over(low, high)
        first, short = edges[0], np.diff(edges) <= longest
        edges = edges[np.append(short, False) | np.append(False, short)]
        if self.period:
            turns = np.arange(math.floor((low - first) / self.period), math.floor((high - first) / self.period) + 1)
            edges = (edges + self.period * turns[:, None]).ravel()
        return edges[(edges >= low) & (edges <= high)]

    def _lay(self, low: float, high: float) -> np.ndarray:
        of_span = self.feature.of_time or self.period
        size = largest(self.tape, low, high, MOST_CELLS) if of_span else self._size
        edges = lay_cells(self.tape, low, high, size, self.feature.least, MOST_CELLS, self.remainder)
        if edges is None:
            raise OptionError(
                f"`{self.feature.text}` has more than {MOST_CELLS:,} features between {low:g} and {high:g}, and steps "
                "are kept to each of them; simulate a shorter time, or state a smooth mean of it"
            )
        return edges


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0


class Laid(NamedTuple):
    """Edges of maps that are known before a run, and a table (3 n,): places of the maps, addresses of edges, counts.

    It has room for all features. Maps of states have no edges yet: they are laid as a run goes on.
    """

    table: np.ndarray
    edges: list[np.ndarray]


class CellMaps:
    """The maps of all features of a system with parameter values.

    `shelf` (n, SHELVES, 2) has the address of the edges and their number, of each range of an argument met by a run.
    """

    def __init__(self, system: System, parameters: np.ndarray, remainder: float) -> None:
        self.maps: list[CellMap] = []
        places: list[int] = []
        place, x = -1, np.concatenate([np.zeros(1 + system.nq + system.nu), parameters])
        for feature in system.features:
            place += not feature.of_time
            period = _period(system, feature.shape, x)
            made = CellMap(feature, _tape(system, feature.shape).at(x), period, remainder)
            if feature.of_time or not (period and _are_uniform(made.over(0.0, period))):
                places.append(-1 if feature.of_time else place)
                self.maps.append(made)
        self.places = np.array(places, dtype=np.int64)  # of each map among the arguments; -1 is the time
        self.periods = np.array([made.period for made in self.maps])
        self.timed, self.features = places.count(-1), len(system.features)
        self.shelf = np.zeros((len(self.maps), SHELVES, 2), dtype=np.int64)
        self._laid: tuple[tuple[float, float], Laid] | None = None

    def laid_over(self, span: tuple[float, float]) -> Laid:
        """Edges known before a run over `span`."""
        if self._laid is None or self._laid[0] != span:
            edges = [m.over(*span) if m.feature.of_time or m.period else NOTHING for m in self.maps]
            table, n = np.zeros((3, self.features), dtype=np.int64), len(edges)
            table[:, :n] = self.places, [address_of(e) for e in edges], [e.size for e in edges]
            self._laid = span, Laid(table.ravel(), edges)
        return self._laid[1]

    def shelve(self, k: int, low: float, high: float) -> None:
        """Lay map k over [low, high] at least, and put its edges on a shelf that is not changed while it is read."""
        edges, count = self.maps[k].over(low, high), int(np.count_nonzero(self.shelf[k, :, 1]))
        if count == SHELVES:
            self.shelf, count = np.zeros_like(self.shelf), 0
        self.shelf[k, count, 0] = address_of(edges)
        self.shelf[k, count, 1] = edges.size


def maps_of(system: System, parameters: np.ndarray, tolerance: float = 0.0) -> CellMaps:
    """The maps of a system for runs with a relative tolerance, those made before if there are; 0 stands for no such."""
    remainder = min(REMAINDER, TOLERANCES * tolerance) if tolerance > 0.0 else REMAINDER
    known: dict[tuple[bytes, float], CellMaps] = system.kept("cell maps made last", dict)
    key = parameters.tobytes(), remainder
    found = known.get(key)
    if found is None:
        found = CellMaps(system, parameters, remainder)
        if len(known) >= KEPT_SPANS:
            known.clear()  # run after run may have other parameters
        known[key] = found
    return found


def _tape(system: System, shape: int) -> SeriesTape:
    tape: SeriesTape = system.kept(("tape of a shape", shape), lambda: read_tape(system.functions[f"shape {shape}"], 0))
    return tape


def features_moved(system: System, names: Collection[str]) -> list[Feature]:
    """The features whose cells some of these parameters move."""
    first = 1 + system.nq + system.nu
    columns = [first + k for k, name in enumerate(system.parameters) if name in names]
    return [f for f in system.features if (_tape(system, f.shape).parameters[columns] >= 0).any()]


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

"""The cells of features over the values that a run has met, laid when they are needed and kept with the system."""

from __future__ import annotations

import math

import numpy as np

from dalembert.equations.features import Feature
from dalembert.equations.system import System
from dalembert.errors import OptionError
from dalembert.native.cells import largest, lay_cells, supremum
from dalembert.native.series_tape import Tape, read_tape

MOST = 1_000_000  # cells of one function
ALIKE = 8.0  # cells that differ by no more than this factor hide nothing: every step sees what they hold


class CellMap:
    """The cells of a function f(s) with given parameters: their edges (n + 1,), which repeat with a `period`, if any.

    The size of f is the largest |f| over the span if s is the time, and over the whole line if that is finite, as of
    tanh. Otherwise it is that in each cell: powers and exponentials have no size of their own.
    """

    def __init__(self, feature: Feature, tape: Tape, period: float) -> None:
        self.feature, self.tape, self.period = feature, tape, period
        self.edges, self.size = np.zeros(0), 0.0
        if period:
            self._lay_all(0.0, period)
        elif not feature.of_time:
            self.size = _finite(supremum(tape))

    def cover(self, low: float, high: float) -> np.ndarray:
        """The edges of cells over all of [low, high]; raises `OptionError` if they are too many."""
        edges = self.edges
        if self.period or (edges.size and edges[0] == low and edges[-1] == high):
            return edges
        if self.feature.of_time:
            self._lay_all(low, high)
        elif not edges.size:
            self.edges = self._laid(np.array([low, high]))
        else:
            width = float(edges[-1] - edges[0])
            below, above = _outwards(float(edges[0]), low, -width), _outwards(float(edges[-1]), high, width)
            self.edges = np.concatenate([self._laid(below[::-1].copy())[:-1], edges, self._laid(above)[1:]])
        return self.edges

    def _lay_all(self, low: float, high: float) -> None:
        self.size = largest(self.tape, low, high, MOST)
        self.edges = self._laid(np.array([low, high]))

    def _laid(self, marks: np.ndarray) -> np.ndarray:
        if len(marks) < 2:
            return marks
        edges = lay_cells(self.tape, marks, self.size, self.feature.least, MOST)
        if edges is None:
            raise OptionError(
                f"`{self.feature.text}` has more than {MOST:,} features between {marks[0]:g} and {marks[-1]:g}, and "
                "steps are kept to each of them; simulate a shorter time, or state a smooth mean of it"
            )
        return edges


def _outwards(edge: float, goal: float, width: float) -> np.ndarray:
    """Marks from an edge on to a goal at least, (n,), ever farther apart; the edge alone if the goal lies behind."""
    marks = [edge]
    while math.copysign(1.0, width) * (goal - marks[-1]) > 0.0 and math.isfinite(marks[-1]):
        marks.append(marks[-1] + width)
        width *= 2.0
    return np.array(marks)


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0


class CellMaps:
    """The maps of all features of a system with parameter values, those without a series left out."""

    def __init__(self, system: System, parameters: np.ndarray) -> None:
        self.places: list[int] = []  # of each map among the arguments; -1 is the time
        self.maps: list[CellMap] = []
        place = -1
        for feature in system.features:
            place += not feature.of_time
            tape = _tape(system, feature.shape)
            if tape is None:
                continue
            period = _period(system, feature.shape, parameters)
            made = CellMap(feature, tape.at(np.concatenate([[0.0], parameters])), period)
            if not (made.period and not feature.of_time and _are_alike(made.edges)):
                self.places.append(-1 if feature.of_time else place)
                self.maps.append(made)


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


def _tape(system: System, shape: int) -> Tape | None:
    tape: Tape | None = system.kept(("tape of a shape", shape), lambda: read_tape(system.functions[f"shape {shape}"], 0))
    return tape


def _period(system: System, shape: int, parameters: np.ndarray) -> float:
    """The period of a function made of sines and cosines with rates that are multiples of the least one, else 0."""
    rates = np.abs(np.array(system.functions[f"phases {shape}"](parameters)).ravel())
    if not rates.size or not rates.min() > 0.0:
        return 0.0
    multiples = rates / rates.min()
    whole = np.abs(multiples - np.rint(multiples)) <= 4.0 * np.finfo(float).eps * multiples
    return float(2.0 * np.pi / rates.min()) if whole.all() else 0.0



def _are_alike(edges: np.ndarray) -> bool:
    widths = np.diff(edges)
    return bool(widths.max() <= ALIKE * widths.min())

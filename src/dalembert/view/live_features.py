"""Functions with short features in a live page: its steps end at the cells of those of time; others are told of.

Finding cells takes bounds, which a page does not have. So they are laid beforehand, with the values of parameters that
the page begins with.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from dalembert.equations.maps import features_moved, maps_of
from dalembert.equations.system import System
from dalembert.motion.motion import Motion
from dalembert.motion.sequence import MotionSequence
from dalembert.motion.state import State


def short_cells(
    system: System, state: State, span: tuple[float, float], frame: float, moving: Collection[str]
) -> np.ndarray:
    """The edges in a span of cells of functions of time that are shorter than a frame.

    Functions whose cells move with some parameters are left out.
    """
    moved = features_moved(system, moving)
    maps = [m for m in maps_of(system, state.parameters).maps if m.feature.of_time and m.feature not in moved]
    return np.unique(np.concatenate([np.zeros(0), *(made.within(*span, longest=frame) for made in maps)]))


def unseen_features(
    system: System, motion: Motion | MotionSequence, frame: float, moving: Collection[str]
) -> list[str]:
    """The functions with features that the page may step over, in words.

    These are functions of time whose features move with some parameters, and functions of the state with cells that
    the motion crosses in less than a frame.
    """
    found = [feature.text for feature in features_moved(system, moving) if feature.of_time]
    for part in motion.segments:
        if part.system is not system or len(part) < 2:
            continue
        maps = maps_of(system, part.parameters)
        for made, values in zip(maps.maps, _arguments(part)[:, maps.places].T, strict=True):
            way = float(np.abs(np.diff(values) / np.diff(part.t)).max()) * frame
            if not made.feature.of_time and way > 0.0 and made.within(values.min(), values.max(), longest=way).size:
                found.append(made.feature.text)
    return sorted(set(found))


def _arguments(part: Motion) -> np.ndarray:
    """Arguments of functions of the state at all samples, (nt, n + 1); the last column is the time."""
    system, columns = part.system, [part.t[:, None]]
    if any(not feature.of_time for feature in system.features):
        p = np.tile(part.parameters, (len(part), 1))
        x = np.hstack([part.t[:, None], part.q, part.u, p, np.zeros_like(part.q), part.udot])
        columns.insert(0, np.split(system.functions["arguments"](x.T).full().T, 2, axis=1)[0])
    return np.hstack(columns)

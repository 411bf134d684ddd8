"""Wheels that roll upright: their attitude and drawing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp

SPOKES = 24


def wheel_rotation(heading: Any, roll: Any) -> sp.Matrix:
    """Attitude (3, 3) of an upright wheel: column two is its axle, a growing `roll` drives it along `heading`."""
    c, s = sp.cos(heading), sp.sin(heading)
    turn = sp.Matrix([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    spin = sp.Matrix([[sp.cos(roll), 0, sp.sin(roll)], [0, 1, 0], [-sp.sin(roll), 0, sp.cos(roll)]])
    return turn * spin


def wheel_rim(centre: Sequence[Any], rotation: sp.Matrix, radius: Any) -> list[list[Any]]:
    """A closed polyline around the rim that ends with one spoke, so that the rolling can be seen."""
    middle = sp.Matrix(centre)
    angles = [2 * sp.pi * k / SPOKES for k in range(SPOKES + 1)]
    rim = [middle + radius * rotation * sp.Matrix([sp.cos(a), 0, sp.sin(a)]) for a in angles]
    return [list(point) for point in (*rim, middle)]

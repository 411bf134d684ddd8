"""Unit quaternions: scalar first, driven by the angular velocity in body axes."""

from __future__ import annotations

import functools

import sympy as sp

from dalembert.dataclass import dataclass
from dalembert.model.instances import Template


@dataclass(frozen=True)
class Quaternion:
    """Four coordinates `e` (scalar first) and three speeds: the angular velocity in body axes."""

    coordinates: tuple[sp.Expr, ...]
    angular_velocity: tuple[sp.Expr, ...]

    @property
    def rates(self) -> tuple[sp.Expr, ...]:
        """e' = e * (0, w) / 2, which keeps the norm."""
        e0, e1, e2, e3 = self.coordinates
        wx, wy, wz = self.angular_velocity
        return (
            (-e1 * wx - e2 * wy - e3 * wz) / 2,
            (e0 * wx + e2 * wz - e3 * wy) / 2,
            (e0 * wy + e3 * wx - e1 * wz) / 2,
            (e0 * wz + e1 * wy - e2 * wx) / 2,
        )

    @property
    def norm(self) -> sp.Expr:
        """e.e - 1, zero for a unit quaternion."""
        return sum(e**2 for e in self.coordinates) - 1

    @property
    def instances(self) -> tuple[sp.Expr, ...]:
        """The four rates and e.e - 1, not written out."""
        return _template().fill((*self.coordinates, *self.angular_velocity))

    @property
    def matrix(self) -> sp.Matrix:
        """Rotation matrix, (3, 3); its columns are the body axes in inertial components."""
        return rotation_matrix(self.coordinates)


@functools.cache
def _template() -> Template:
    symbols = sp.symbols("e0:4 w0:3")
    general = Quaternion(symbols[:4], symbols[4:])
    return Template("quaternion", symbols, (*general.rates, general.norm))


def rotation_matrix(e: tuple[sp.Expr, ...]) -> sp.Matrix:
    """Rotation matrix (3, 3) of a quaternion of any norm: dividing by e.e keeps it orthonormal off the unit sphere."""
    e0, e1, e2, e3 = e
    s = 2 / (e0**2 + e1**2 + e2**2 + e3**2)
    return sp.Matrix(
        [
            [1 - s * (e2**2 + e3**2), s * (e1 * e2 - e0 * e3), s * (e1 * e3 + e0 * e2)],
            [s * (e1 * e2 + e0 * e3), 1 - s * (e1**2 + e3**2), s * (e2 * e3 - e0 * e1)],
            [s * (e1 * e3 - e0 * e2), s * (e2 * e3 + e0 * e1), 1 - s * (e1**2 + e2**2)],
        ]
    )

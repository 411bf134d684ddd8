"""Coefficients of the RadauIIA method with three stages (Hairer and Wanner II, sec. IV.5 and IV.8).

`INVERSE` is the inverse of the Runge-Kutta matrix; T^-1 INVERSE T is block diagonal with blocks (GAMMA) and
[ALPHA -BETA; BETA ALPHA], so that a Newton step needs one real and one complex factorisation instead of one of three
times the size. `ESTIMATE`, times GAMMA^-1, weights the stages in the embedded formula of order 3, eq. (8.19).
"""

from __future__ import annotations

import numpy as np

_S6 = np.sqrt(6.0)
NODES = np.array([(4.0 - _S6) / 10.0, (4.0 + _S6) / 10.0, 1.0])
MATRIX = np.array(
    [
        [(88.0 - 7.0 * _S6) / 360.0, (296.0 - 169.0 * _S6) / 1800.0, (-2.0 + 3.0 * _S6) / 225.0],
        [(296.0 + 169.0 * _S6) / 1800.0, (88.0 + 7.0 * _S6) / 360.0, (-2.0 - 3.0 * _S6) / 225.0],
        [(16.0 - _S6) / 36.0, (16.0 + _S6) / 36.0, 1.0 / 9.0],
    ]
)
INVERSE = np.linalg.inv(MATRIX)
ESTIMATE = np.array([-13.0 - 7.0 * _S6, -13.0 + 7.0 * _S6, -1.0]) / 3.0


def _transformation() -> tuple[np.ndarray, float, float, float]:
    values, vectors = np.linalg.eig(INVERSE)
    real, upper = int(np.argmin(np.abs(values.imag))), int(np.argmax(values.imag))
    columns = [vectors[:, real].real, vectors[:, upper].real, -vectors[:, upper].imag]
    gamma, pair = values[real].real, values[upper]
    return np.column_stack(columns), float(gamma), float(pair.real), float(pair.imag)


T, GAMMA, ALPHA, BETA = _transformation()
BACK = np.linalg.inv(T)


def _lagrange() -> np.ndarray:
    """Row j: coefficients of s, s^2, s^3 of the cubic that is 1 at node j and 0 at the other nodes and at 0."""
    powers = np.array([[c, c**2, c**3] for c in NODES])
    return np.linalg.inv(powers).T.copy()


LAGRANGE = _lagrange()

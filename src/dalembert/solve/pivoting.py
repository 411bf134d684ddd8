"""Independent columns of a small matrix, by orthogonalisation with pivoting.

In NumPy: importing SciPy's factorisations takes longer than linearising a mechanism.
"""

from __future__ import annotations

import numpy as np


def pivot_columns(matrix: np.ndarray) -> tuple[list[int], np.ndarray]:
    """Columns in the order of a QR factorisation with pivoting, and the sizes of its diagonal, at most min(m, n).

    The largest of what is left of the columns comes next (Businger and Golub, 1965); it ends where nothing is left.
    """
    left, order, sizes = np.array(matrix, dtype=float), list[int](), list[float]()
    for _ in range(min(left.shape)):
        lengths = np.sqrt(np.einsum("ij,ij->j", left, left))
        k = int(lengths.argmax())
        if not lengths[k] > 0.0:
            break
        way = left[:, k] / lengths[k]
        left -= way[:, None] * (way @ left)
        left[:, k] = 0.0
        order.append(k)
        sizes.append(float(lengths[k]))
    return order, np.array(sizes)

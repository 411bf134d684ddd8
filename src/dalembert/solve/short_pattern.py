"""Targets of products of short columns of L, found once, for an elimination that takes one column after the other.

Column k, once its pivot is known, changes the entries (i, j) for all of its rows i and j. Where columns have a few
entries only, as in chains of bodies, a list of where these are is short, and takes the place of searching for them.
"""

from __future__ import annotations

import numpy as np

from dalembert.solve.elimination_order import SymbolicFactors

PRODUCTS_PER_ENTRY = 4  # products per entry of L up to which they are listed: columns of seven entries


def has_short_columns(factors: SymbolicFactors) -> bool:
    """Whether the products are few enough to be listed."""
    counts = np.diff(factors.column_starts)
    return 0 < int((counts * (counts + 1) // 2).sum()) <= PRODUCTS_PER_ENTRY * len(factors.entry_rows)


def targets_of(factors: SymbolicFactors) -> tuple[np.ndarray, np.ndarray]:
    """Targets of products, column by column: each entry times itself and times those after it, (m,) each.

    The place in L, or -1 where the product belongs to a pivot, and the number of that pivot.
    """
    rows, ends = factors.entry_rows, factors.column_starts[1:]
    counts = np.repeat(ends, np.diff(factors.column_starts)) - np.arange(len(rows))
    one = np.repeat(np.arange(len(rows)), counts)
    other = one + np.arange(len(one)) - np.repeat(np.cumsum(counts) - counts, counts)
    places = np.searchsorted(_keys(factors), rows[one] * len(ends) + rows[other])
    return np.where(one == other, -1, places), rows[one]


def sources_of(factors: SymbolicFactors, upper_sources: np.ndarray, empty: int) -> np.ndarray:
    """For each entry of L the one of `upper_sources` it begins with, or `empty` if it is fill."""
    n = len(factors.order)
    columns = np.repeat(np.arange(n), np.diff(factors.upper_starts))
    found = np.full(len(factors.entry_rows), empty, dtype=np.int64)
    found[np.searchsorted(_keys(factors), factors.upper_rows * n + columns)] = upper_sources
    return found


def _keys(factors: SymbolicFactors) -> np.ndarray:
    """Numbers of the entries of L in a dense matrix, column by column: ascending."""
    n = len(factors.order)
    keys: np.ndarray = np.repeat(np.arange(n), np.diff(factors.column_starts)) * n + factors.entry_rows
    return keys

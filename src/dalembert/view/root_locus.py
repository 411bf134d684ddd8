"""Figures of root loci and of branches of steady states."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure


def plot_root_locus(name: str, values: np.ndarray, eigenvalues: np.ndarray) -> Figure:
    """Real and imaginary parts of `eigenvalues` (nv, n) along `values` (nv,), and the complex plane."""
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    along, plane = figure.subplots(1, 2)
    stable = (eigenvalues.real < 0.0).all(axis=1)
    for k, branch in enumerate(eigenvalues.T):
        line = along.plot(values, branch.real, ".", ms=3, label="real part" if not k else None, color="C0")[0]
        upper = np.where(branch.imag > 0.0, branch.imag, np.nan)
        along.plot(values, upper, ".", ms=2, color="C1", label="imaginary part" if not k else None)
        plane.scatter(branch.real, branch.imag, c=values, s=6, cmap="viridis")
        line.set_zorder(3)
    low, high = along.get_ylim()
    along.fill_between(values, low, high, where=stable, color="C2", alpha=0.15, lw=0, label="stable")
    along.set_ylim(low, high)
    along.axhline(0.0, color="0.3", lw=0.8)
    along.set(xlabel=name, ylabel="eigenvalue [1/s]", title="eigenvalues")
    along.legend()
    plane.axvline(0.0, color="0.3", lw=0.8)
    plane.set(xlabel="real part [1/s]", ylabel="imaginary part [1/s]", title="complex plane")
    shades = plane.collections[0]
    figure.colorbar(shades, ax=plane, label=name)
    return figure


def plot_branch(
    names: tuple[str, str],
    values: np.ndarray,
    heights: np.ndarray,
    unstable: np.ndarray,
    folds: np.ndarray,
    title: str = "steady states",
) -> Figure:
    """`heights` (n,) over `values` (n,), dotted where `unstable` (n,); `folds` (k, 2) are marked."""
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    axes.plot(values, np.where(unstable, np.nan, heights), "C0-", label="stable or marginal")
    lost = unstable.copy()  # with the points next to it, so that the parts join
    lost[1:] |= unstable[:-1]
    lost[:-1] |= unstable[1:]
    axes.plot(values, np.where(lost, heights, np.nan), "C3:", label="unstable")
    if len(folds):
        axes.plot(*folds.T, "ko", ms=4, label="fold")
    axes.set(xlabel=names[0], ylabel=names[1], title=title)
    axes.legend()
    return figure

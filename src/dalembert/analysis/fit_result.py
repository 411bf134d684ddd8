"""`Fit`: the result of a fit - values, covariance, directions that the data do not determine - and its quality."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.analysis.measurements import Experiment
from dalembert.dataclass import dataclass
from dalembert.equations.naming import name_of
from dalembert.errors import UnknownNameError
from dalembert.solve.decompositions import decompose, orthogonal_triangular
from dalembert.text_tables import text_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLIND = 1e-6  # singular values below this fraction of the largest: the data do not see the direction
DIRECTION_SHARE = 1e-2  # share of a unit direction above which a name takes part in it


@dataclass(frozen=True, eq=False)
class Fit:
    """Best `values` by name, their `covariance` (n, n) in the order of `names`, and the motion of each experiment.

    `unidentifiable` are directions of relative changes {name: share} that the data do not see: values in them stay
    where they began, and their standard deviations are infinite. `residuals` are (model - data) by experiment, (nt, n),
    NaN where a sample is missing; `runs` counts the simulations.
    """

    names: tuple[str, ...]
    values: Mapping[str, float]
    covariance: np.ndarray
    unidentifiable: tuple[Mapping[str, float], ...]
    motions: tuple[Any, ...] = field(repr=False)
    experiments: tuple[Experiment, ...] = field(repr=False)
    residuals: tuple[np.ndarray, ...] = field(repr=False)
    cost: float
    runs: int
    success: bool
    message: str

    @property
    def motion(self) -> Any:
        """The motion of the first experiment, with its sensitivities."""
        return self.motions[0]

    @property
    def sigma(self) -> dict[str, float]:
        """Standard deviations of the values by name."""
        return dict(zip(self.names, np.sqrt(np.diag(self.covariance)).tolist(), strict=True))

    def __getitem__(self, key: Any) -> float:
        name = name_of(key)
        if name not in self.values:
            raise UnknownNameError(name, self.names, "this fit")
        return self.values[name]

    def __str__(self) -> str:
        rows = [(name, f"{self.values[name]:.6g}", f"{self.sigma[name]:.2g}") for name in self.names]
        lines = [text_table([(("value", "fitted", "sigma"), rows)])]
        for direction in self.unidentifiable:
            parts = ", ".join(f"{share:+.2f} {name}" for name, share in direction.items())
            lines.append(f"the data cannot tell apart: {parts} (relative changes); fix one of them or give a prior")
        lines.append(f"{'converged' if self.success else 'NOT CONVERGED'} after {self.runs} runs: {self.message}")
        return "\n".join(lines)

    __repr__ = __str__

    def plot(self) -> Figure:
        """Data and fitted motion, and residuals below, for every output of the first experiment."""
        from dalembert.view.fit_plot import plot_fit
        from dalembert.view.overview import refined

        e, fine = self.experiments[0], refined(self.motions[0])
        curves = fine.t, np.column_stack([fine[key] for key in e.outputs])
        return plot_fit(e.t, e.labels, e.values, e.values + self.residuals[0], curves)


def covariance_of(
    J: np.ndarray, theta: np.ndarray, names: tuple[str, ...], variance: float
) -> tuple[np.ndarray, tuple[Mapping[str, float], ...]]:
    """Covariance (n, n) of the values theta, and the directions of relative changes that the residuals do not see."""
    size = np.where(theta != 0.0, np.abs(theta), 1.0)
    columns = np.linalg.norm(J * size, axis=0)
    scale = size / np.where(columns > 0.0, columns, 1.0)
    found = decompose(orthogonal_triangular(J * scale)[1], BLIND)  # J may have thousands of rows
    half = found.right[: found.rank].T / found.values[: found.rank] * np.sqrt(variance)
    covariance = (half @ half.T) * scale[:, None] * scale
    blind = []
    for direction in found.null.T:
        relative = direction * scale / size
        relative /= np.abs(relative).max()
        relative *= np.sign(relative[np.argmax(np.abs(relative))])
        involved = np.flatnonzero(np.abs(relative) > DIRECTION_SHARE)
        blind.append({names[k]: float(relative[k]) for k in involved})
        covariance[involved, involved] = np.inf
    return covariance, tuple(blind)

"""`Tableau`: an explicit Runge-Kutta method as a table of numbers, checked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.errors import OptionError
from dalembert.run.integrators.dense_output import COEFFICIENT_ROUND_OFF, DenseOutput
from dalembert.run.integrators.error_estimate import ErrorEstimate


def lower_triangle(*rows: Sequence[float]) -> np.ndarray:
    """The matrix A (s, s) of an explicit method from its rows 2 to s, which have 1 to s - 1 entries."""
    A = np.zeros((len(rows) + 1, len(rows) + 1))
    for k, row in enumerate(rows, 1):
        A[k, : len(row)] = row
    return A


@dataclass(frozen=True, eq=False, kw_only=True)
class Tableau:
    """k_i = f(t + c_i h, z + h sum_j A_ij k_j), z_new = z + h sum_j b_j k_j, with A (s, s), b (s,), c (s,).

    `error` estimates the error of a step (None: the method takes fixed steps only), `dense` gives states between steps.
    Raises OptionError for a table that is not explicit, not consistent, or not of the `order` it claims as far as
    quadrature and linear equations tell; the other order conditions are for tests.
    """

    name: str
    order: int
    A: np.ndarray
    b: np.ndarray
    c: np.ndarray
    dense: DenseOutput
    error: ErrorEstimate | None = None

    def __post_init__(self) -> None:
        for key in ("A", "b", "c"):
            array = np.array(getattr(self, key), dtype=float)
            array.setflags(write=False)
            object.__setattr__(self, key, array)
        self._check_shapes()
        self._check_order()
        self.dense.check(self.stages)

    @property
    def stages(self) -> int:
        """Evaluations per step, s; the first is the last of the step before."""
        return len(self.b)

    @property
    def fsal(self) -> bool:
        """Whether the error estimate uses the rates at the new state, the first stage of the next step."""
        return self.error is not None and self.error.rows.shape[1] > self.stages

    @cached_property
    def stability(self) -> tuple[float, ...]:
        """Coefficients of R(z) = 1 + z b^T (I - z A)^-1 1, lowest first: a step h of y' = s y makes it R(h s) y."""
        vector, coefficients = np.ones(self.stages), [1.0]
        for _ in range(self.stages):
            coefficients.append(float(self.b @ vector))
            vector = self.A @ vector
        return tuple(coefficients)

    def _check_shapes(self) -> None:
        s = self.stages
        if self.A.shape != (s, s) or self.c.shape != (s,):
            raise OptionError(
                f"tableau {self.name}: b has {s} entries, A is {self.A.shape} and c {self.c.shape}; "
                f"give A as ({s}, {s}) and c as ({s},)"
            )
        if np.triu(self.A).any():
            raise OptionError(f"tableau {self.name}: A has entries on or above its diagonal; it is not explicit")
        if self.error is not None and self.error.rows.shape[1] not in (s, s + 1):
            raise OptionError(
                f"tableau {self.name}: its error has {self.error.rows.shape[1]} weights; it must have {s}, or {s + 1} "
                "if the rates at the new state take part"
            )

    def _check_order(self) -> None:
        gap = np.abs(self.A.sum(axis=1) - self.c).max()
        if not gap < COEFFICIENT_ROUND_OFF:
            raise OptionError(f"tableau {self.name}: rows of A do not sum up to c, by {gap:.1e}")
        for k in range(1, self.order + 1):
            quadrature = abs(float(self.b @ self.c ** (k - 1)) - 1.0 / k)
            linear = abs(self.stability[k] - 1.0 / math.factorial(k)) if k <= self.stages else math.inf
            if not max(quadrature, linear) < COEFFICIENT_ROUND_OFF:
                raise OptionError(
                    f"tableau {self.name}: not of order {self.order}, it misses the conditions of order {k} by "
                    f"{quadrature:.1e} (quadrature) and {linear:.1e} (linear equations)"
                )
        if self.error is not None and not (wrong := np.abs(self.error.rows.sum(axis=1)).max()) < COEFFICIENT_ROUND_OFF:
            raise OptionError(f"tableau {self.name}: weights of its error sum up to {wrong:.1e}, not to zero")

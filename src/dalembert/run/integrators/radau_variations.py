"""Derivatives of a motion by RadauIIA: those of the steps as they were made, by the implicit function theorem.

The stages of a step obey F(t + c_i h, Y_i, Y'_i) = 0 with Y_i = y + Z_i and h Y' = INVERSE Z (`radau_stages`). Along
changes of the start and the parameters

    F_y(Y_i) dZ_i + sum_j INVERSE_ij / h F_y'(Y_i) dZ_j = -(F_y(Y_i) dy + F_p(Y_i) dp),      dz+ = dz + dZ_3,

with all matrices at the stages themselves. Every step knows its start, so the stages of many steps are found at once,
by Newton's method with the same matrix. The last stage is the end of the step, so dz+ keeps the constraints. Samples
inside a step are ends of shorter steps from the same start.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.functions import flat
from dalembert.equations.system import System
from dalembert.errors import DalembertError
from dalembert.native.along import along
from dalembert.native.kernel import Kernel, compile_kernel
from dalembert.run.integrators.radau_coefficients import INVERSE, NODES
from dalembert.run.residuals.form import Residual, SettledForm
from dalembert.solve.decompositions import solve
from dalembert.solve.tolerances import SETTLED_STEP

# Iterations, and the correction of the state, relative to its size, that ends them.
CORRECTIONS_PER_STEP, LAST_CORRECTION = 25, 1e-12
ENTRIES_PER_BATCH = 1_000_000  # entries of Newton matrices that are treated at once
SOLVE_RESIDUAL = 1e-7  # residual of a solve, relative to its terms


class Steps(NamedTuple):
    """Steps from (t, z) of lengths h: t (n,), z (n, nz), h (n,), and about where they end, (n, nz)."""

    t: np.ndarray
    z: np.ndarray
    h: np.ndarray
    end: np.ndarray


@dataclass(frozen=True, eq=False)
class StepDerivatives:
    """The derivatives of Radau steps of a system in a residual form."""

    system: System
    newton: Kernel  # of (t, y, y', p): F, F_y, F_y', in rows
    parameters: Kernel  # F_p
    size: int
    nz: int

    @classmethod
    def of(cls, system: System, form: SettledForm) -> StepDerivatives:
        """Made once for a system and a form."""
        key = f"Radau step derivatives {form.key}"
        return system.kept(key, lambda: cls._made(system, form.residual(system)))

    @classmethod
    def _made(cls, system: System, r: Residual) -> StepDerivatives:
        x = ca.SX.sym("x", 1 + 2 * r.size + r.p.shape[0])
        every = ca.vertcat(r.t, r.y, r.ydot, r.p)
        F_y, F_rate, F_p = (flat(ca.jacobian(r.F, by)) for by in (r.y, r.ydot, r.p))
        newton, parameters = (
            compile_kernel(ca.Function("step_derivatives", [x], [ca.densify(ca.substitute(graph, every, x))]))
            for graph in (ca.vertcat(r.F, F_y, F_rate), F_p)
        )
        return cls(system, newton, parameters, r.size, int(r.state.shape[0]))

    def __call__(self, steps: Steps, p: np.ndarray, columns: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Per step dz+/dz (n, nz, nz), and dz+/dp (n, nz, k) for the parameters with the numbers `columns`."""
        many = max(1, ENTRIES_PER_BATCH // (3 * self.size) ** 2)
        parts = [
            self._some(Steps(*(a[k : k + many] for a in steps)), p, list(columns)) for k in range(0, len(steps.t), many)
        ]
        return np.concatenate([a for a, _ in parts]), np.concatenate([b for _, b in parts])

    def _some(self, steps: Steps, p: np.ndarray, columns: list[int]) -> tuple[np.ndarray, np.ndarray]:
        n, nz, count = self.size, self.nz, len(steps.t)
        Z = self._stages(steps, p)
        x = self._points(steps, Z, p)
        _, F_y, F_rate = self._gradients(x)
        F_p = along(self.parameters, x).reshape(count, 3, n, len(p)) if columns else np.zeros((count, 3, n, 0))
        matrix = self._matrix(steps, F_y, F_rate)
        side = -np.concatenate([F_y[..., :nz], F_p[..., columns] if columns else F_p], axis=3).reshape(
            count, 3 * n, nz + len(columns)
        )
        dZ = self._solve(matrix, side)[:, 2 * n : 2 * n + nz]
        return dZ[..., :nz] + np.eye(nz), dZ[..., nz:]

    def _stages(self, steps: Steps, p: np.ndarray) -> np.ndarray:
        """Z of all stages, (count, 3, n), by Newton's method; multipliers are whole in it."""
        n, nz, count = self.size, self.nz, len(steps.t)
        Z = np.zeros((count, 3, n))
        Z[..., :nz] = NODES[:, None] * (steps.end - steps.z)[:, None]
        scale, last = 1.0 + np.abs(steps.z)[:, None], np.inf
        for _ in range(CORRECTIONS_PER_STEP):
            F, F_y, F_rate = self._gradients(self._points(steps, Z, p))
            step = self._solve(self._matrix(steps, F_y, F_rate), -F.reshape(count, 3 * n, 1)).reshape(count, 3, n)
            Z += step
            size = float((np.abs(step[..., :nz]) / scale).max(initial=0.0))
            if size <= LAST_CORRECTION or (last <= SETTLED_STEP and size >= last):
                return Z
            last = size
        raise self._failure(f"the stages of a step were not found again (corrections of {last:.2g})")

    def _points(self, steps: Steps, Z: np.ndarray, p: np.ndarray) -> np.ndarray:
        """(t, y, y', p) at the stages, (3 count, ...)."""
        count, y = len(steps.t), Z.copy()
        y[..., : self.nz] += steps.z[:, None]
        rates = np.einsum("ij,kjm->kim", INVERSE, Z) / steps.h[:, None, None]
        t = steps.t[:, None] + NODES * steps.h[:, None]
        x = np.concatenate([t[..., None], y, rates, np.broadcast_to(p, (count, 3, len(p)))], axis=2)
        return x.reshape(3 * count, -1)

    def _gradients(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """F (count, 3, n), and F_y and F_y' (count, 3, n, n) at the stages."""
        n, count = self.size, len(x) // 3
        F, F_y, F_rate = np.split(along(self.newton, x), [n, n + n**2], axis=1)
        return F.reshape(count, 3, n), F_y.reshape(count, 3, n, n), F_rate.reshape(count, 3, n, n)

    def _matrix(self, steps: Steps, F_y: np.ndarray, F_rate: np.ndarray) -> np.ndarray:
        """The matrix of the stages, (count, 3 n, 3 n)."""
        n, count = self.size, len(steps.t)
        blocks = np.einsum("ij,kiab->kiajb", INVERSE, F_rate / steps.h[:, None, None, None])
        for i in range(3):
            blocks[:, i, :, i] += F_y[:, i]
        return blocks.reshape(count, 3 * n, 3 * n)

    def _solve(self, matrix: np.ndarray, side: np.ndarray) -> np.ndarray:
        """Solutions with equilibrated rows, (count, 3 n, k); raises where there are none."""
        length = np.abs(matrix).max(axis=2, keepdims=True)
        length = np.where(length > 0.0, length, 1.0)
        matrix, side = matrix / length, side / length
        try:
            found = solve(matrix, side)
        except np.linalg.LinAlgError:
            raise self._failure("the equations of a step are singular: constraints depend on each other") from None
        left = np.abs(matrix @ found - side).max(axis=(1, 2))
        terms = (np.abs(matrix) @ np.abs(found)).max(axis=(1, 2))
        if not (left <= SOLVE_RESIDUAL * np.maximum(terms, 1e-300)).all() or not np.isfinite(found).all():
            raise self._failure("the equations of a step are nearly singular: constraints depend on each other")
        return found

    def _failure(self, why: str) -> DalembertError:
        return DalembertError(
            f"`{self.system.name}`: no sensitivities by Radau: {why}; use an explicit integrator such as DOP853()"
        )

"""Lost controls: unknowns of servo constraints that no longer act on what their constraints ask for.

With r = W^T la, accelerations and multipliers solve M u' - W^T la = f, A u' = b. For ideal reactions W = A, and only
dependent constraints make that singular. An unknown acts through the forces, W = B^T: its matrix can be singular where
all constraints are independent, and its determinant has another sign on the other side. The unknown grows without bound
towards such a state (W. Blajer, K. Kolodziejczyk, Multibody Syst. Dyn. 11 (2004) 343-364: tangent realisation).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.equations.system import System
from dalembert.run.formulations.choice import WEIGHTLESS
from dalembert.solve.decompositions import decompose, determinant_sign, singular_values, unit_rows
from dalembert.solve.tolerances import NAMED_PART

SINGULAR_THROUGHOUT = 1e-12  # of the largest singular value: below it equations are singular throughout
BLOCK = 2**24  # bytes of matrices that are looked at at once


class LostControl(NamedTuple):
    """The unknowns that lost control of some constraints, `rows`, between the times `begin` and `end`."""

    unknowns: tuple[str, ...]
    rows: tuple[str, ...]
    begin: float
    end: float

    @property
    def what(self) -> str:
        """Clause saying which unknowns no longer act on which constraints."""
        unknowns, rows = (", ".join(f"`{name}`" for name in names) for names in (self.unknowns, self.rows))
        return f"{unknowns} no longer {'act' if len(self.unknowns) > 1 else 'acts'} on what {rows} asks for"

    def __str__(self) -> str:
        return f"control was lost between t = {self.begin:.6g} and {self.end:.6g}: {self.what}, and grows without bound"


def has_servo(system: System) -> bool:
    """Whether unknowns enforce constraints, and the equations are linear in accelerations and multipliers."""
    return not (system.is_large or system.curved) and bool(system.unknowns)


def lost_controls(
    system: System, t: np.ndarray, q: np.ndarray, u: np.ndarray, parameters: np.ndarray
) -> tuple[LostControl, ...]:
    """Controls lost between samples t (nt,), q (nt, nq), u (nt, nu): the determinant changes its sign there."""
    if not has_servo(system) or len(t) < 2:
        return ()
    step = max(1, BLOCK // (8 * (system.nu + system.nc) ** 2))
    blocks = [slice(k, k + step) for k in range(0, len(t), step)]
    signs = np.concatenate([_signs(_equations(system, t[k], q[k], u[k], parameters)) for k in blocks])
    found = []
    for k in np.flatnonzero(signs[1:] * signs[:-1] < 0.0):
        both = slice(k, k + 2)
        matrices = _equations(system, t[both], q[both], u[both], parameters)
        weaker = min(matrices, key=lambda matrix: float(singular_values(matrix)[-1]))
        found.append(_named(system, weaker, float(t[k]), float(t[k + 1])))
    return tuple(lost for lost in found if lost is not None)


def _signs(matrices: np.ndarray) -> np.ndarray:
    """Signs of the determinants, (nt,); zero where an entry is not finite."""
    finite = np.isfinite(matrices).all(axis=(1, 2))
    return determinant_sign(np.where(finite[:, None, None], matrices, 0.0))


def losing(
    system: System, t: np.ndarray, q: np.ndarray, u: np.ndarray, parameters: np.ndarray, part: float
) -> LostControl | None:
    """Control that is being lost at the second of two samples; None if there is none.

    A control is being lost if the least singular value has dropped below `part` of that at the first sample.
    """
    if not has_servo(system):
        return None
    matrices = _equations(system, t, q, u, parameters)
    if not np.isfinite(matrices).all():
        return None
    first, last = singular_values(matrices)[:, -1]
    return _named(system, matrices[-1], float(t[-1]), float(t[-1])) if last < part * first else None


def _equations(system: System, t: np.ndarray, q: np.ndarray, u: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """[M -W^T; A 0] in the mass metric, rows of A and W of unit length, (nt, nu + n, nu + n); n rows not implied."""
    kept = _enforced(system)
    out = system.evaluate("dynamics", t, q, u, parameters)
    M, A, W = (
        out[..., system.parts[name][0]].reshape(len(t), *system.parts[name][1])
        for name in ("mass_matrix", "constraint_jacobian", "directions")
    )
    mass = np.abs(M.diagonal(axis1=1, axis2=2))
    most = np.maximum(mass.max(axis=1, keepdims=True), np.finfo(float).tiny)
    root = np.sqrt(np.where(mass > WEIGHTLESS * most, mass, most))
    nu, size = system.nu, system.nu + len(kept)
    whole = np.zeros((len(t), size, size))
    whole[:, :nu, :nu] = M / (root[:, :, None] * root[:, None, :])
    whole[:, nu:, :nu] = unit_rows(A[:, kept] / root[:, None, :])
    whole[:, :nu, nu:] = -unit_rows(W[:, kept] / root[:, None, :]).transpose(0, 2, 1)
    return whole


def _enforced(system: System) -> list[int]:
    """Indices of the constraint rows that are not implied by others."""
    return [k for k in range(system.nc) if k not in system.implied]


def _named(system: System, matrix: np.ndarray, begin: float, end: float) -> LostControl | None:
    """Lost control: the rows and unknowns with a large part in the singular vectors; None if no unknown has one."""
    found = decompose(matrix, SINGULAR_THROUGHOUT)
    if found.rank < len(matrix) - 1:
        return None
    asked, acting = np.abs(found.left[system.nu :, -1]), np.abs(found.right[-1, system.nu :])
    kept = _enforced(system)
    rows = [k for k, part in zip(kept, asked, strict=True) if part > NAMED_PART * asked.max()]
    laws = [system.rows[k].law for k, part in zip(kept, acting, strict=True) if part > NAMED_PART * acting.max()]
    unknowns = [law.unknown for law in laws if law.unknown is not None]
    if not unknowns:
        return None
    names = tuple(system.unknowns[k] for k in unknowns), tuple(system.constraint_names[k] for k in rows)
    return LostControl(*names, begin, end)

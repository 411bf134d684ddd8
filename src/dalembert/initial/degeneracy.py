"""Constraints that hold only where their gradient vanishes, such as y^2 = 0: no reaction can enforce them.

The meaning of such a row is clear, y = 0, but A and A^T la are both zero there: no reaction keeps the state on it.
Newton's method distinguishes it from a row that is singular in one position only, such as x y = 0 at the origin: from a
point near the state it at best halves the distance to a multiple root, with a vanishing gradient, and otherwise finds a
point with a gradient of ordinary size.

Two kinds are not counted. A row that the others imply anyway does no harm. One that holds in a single point, such as
the closure of a linkage stretched to its full length, is stated well: its position is singular, and the certificate
judges a motion from there.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.mechanics import rows_of
from dalembert.equations.system import System
from dalembert.errors import InitialStateError
from dalembert.initial.dependence import BESIDE
from dalembert.initial.request import measured
from dalembert.native.kernel import RARELY, Kernel
from dalembert.scattered import Scattered
from dalembert.solve.decompositions import UNIT, null_space, unit_rows
from dalembert.solve.tolerances import UNIT_ROW_RANK

if TYPE_CHECKING:
    from dalembert.initial.large_levels import SparseLevel

FAINT = 1e-2  # a gradient below this fraction of the one beside the state is worth a closer look
GONE = 1e-4  # a gradient below this fraction of the one where Newton's method began vanishes where the row holds
MULTIPLE_ROOT_ITERATIONS = 60  # of Newton's method; a fourfold root takes 11
PARALLEL = 0.95  # cosine above which two ways have one direction
FELT = 0.05  # part of a gradient along motions the other rows leave free, above which they do not imply the row


@dataclass(frozen=True)
class Surface:
    """Constraint `rows` of one level as functions of the variables they restrain.

    `x` is what the kernel reads, with `size` variables from `first` on. It gives `total` values, of which the first
    `held` must be zero, then the gradients of all of them.
    """

    names: Sequence[str]
    kernel: Kernel
    x: np.ndarray
    first: int
    size: int
    held: int
    total: int
    rows: range
    units: np.ndarray  # sizes of the variables, by which all of them are measured

    @property
    def z(self) -> np.ndarray:
        """The variables in the state, (size,), in units of their sizes."""
        return self.x[self.first : self.first + self.size] / self.units

    def at(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values (total,) and gradients (total, size) of all rows."""
        x = self.x.copy()
        x[self.first : self.first + self.size] = z * self.units
        out = self.kernel(x)
        return out[: self.total], out[self.total :].reshape(self.total, self.size) * self.units


def degenerate_rows(
    system: System, t: float, q: np.ndarray, u: np.ndarray, parameters: np.ndarray, sizes: np.ndarray | None = None
) -> tuple[str, ...]:
    """Names of the position and velocity rows whose gradient vanishes wherever they hold, near a state.

    `sizes` (nq + nu,) are those of coordinates and speeds in that state, if they are known.
    """
    faintest = None if system.is_large else faintest_kernel(system)
    if faintest is None and not system.is_large:
        return ()
    if sizes is None:
        sizes = measured()(system, t, q, u, parameters, 0.0).values[: len(q) + len(u)]
    x = np.concatenate([(t,), q, u, parameters, sizes])
    if not (_any_faint(system, x) if faintest is None else min(faintest(x).tolist()) < FAINT**2):
        return ()  # as it is at almost every state
    x = x[: -len(sizes)]
    nq, nu, n_p, n_v = system.nq, system.nu, system.count("position"), system.count("velocity")
    names = system.constraint_names
    found: list[str] = []
    if n_p:
        n = n_p + len(system.invariants)
        found += _search(Surface(names, system.kernel("assembly"), x, 1, nq, n, n, range(n_p), sizes[:nq]))
    if n_v:
        n = n_p + n_v
        found += _search(Surface(names, system.kernel("speeds"), x, 1 + nq, nu, n, n + nq, range(n_p, n), sizes[nq:]))
    return tuple(found)


def _any_faint(system: System, x: np.ndarray) -> bool:
    """True if the gradient of a row of a large system is small relative to that nearby.

    x = (t, q, u, p, sizes of q and u).
    """
    from dalembert.initial.large_levels import position_level, velocity_level

    n_p, n_v = system.count("position"), system.count("velocity")
    x, sizes = np.split(x, [len(x) - system.nq - system.nu])
    return bool(n_p and _fades(position_level(system), x, range(n_p), sizes[: system.nq])) or bool(
        n_v and _fades(velocity_level(system), x, range(n_p, n_p + n_v), sizes[system.nq :])
    )


def _fades(level: SparseLevel, x: np.ndarray, rows: range, units: np.ndarray) -> bool:
    """True if the gradient of a row fades, as for `faintest_kernel`, from values at two points.

    For many rows a kernel is not worth compiling.

    `units` (size,) are the sizes of the variables of the level.
    """
    own = slice(level.first, level.first + level.size)
    beside = x.copy()
    far = x[own] / units
    beside[own] += BESIDE * math.sqrt(1.0 + far @ far) * units * _directions(level.size)[0]
    here, there = (level.gradient_sizes(at, units)[rows.start : rows.stop] for at in (x, beside))
    return bool((here < FAINT**2 * there).any())


def faintest_kernel(system: System) -> Kernel | None:
    """Kernel of (|G| / |G nearby|)^2 of the rows, small where a row needs a closer look; None if all are constant.

    A function of x = (t, q, u, p) and the sizes of q and u.
    """
    return system.optional_kernel("faintest gradient", lambda: _faintest_gradient(system), RARELY)


def check_degeneracy(
    system: System, t: float, q: np.ndarray, u: np.ndarray, parameters: np.ndarray, sizes: np.ndarray | None = None
) -> None:
    """Raise `InitialStateError` naming the rows whose gradient vanishes wherever they hold."""
    found = degenerate_rows(system, t, q, u, parameters, sizes)
    if found:
        raise InitialStateError(f"`{system.name}`: {describe(found)}", conflicting=found)


def describe(names: Sequence[str]) -> str:
    """Message for degenerate rows of these names: the fault and the remedy."""
    which, alone = ", ".join(f"`{name}`" for name in names), len(names) == 1
    vanish = "its gradient vanishes wherever it holds" if alone else "their gradients vanish wherever they hold"
    return (
        f"constraint{'' if alone else 's'} {which}: {vanish}, so no reaction can act; state what must be zero itself, "
        "such as y instead of y**2"
    )


def _faintest_gradient(system: System) -> ca.Function | None:
    """(|G| / |G nearby|)^2 of the rows as a function of x and of the sizes of q and u, which scale all gradients.

    None if all gradients are constant.
    """
    m, n_p = system.mechanics, system.count("position")
    ratios = []
    units = [ca.SX.sym("units", n) for n in (system.nq, system.nu)]
    for rows, z, unit in ((m.phi, m.q, units[0]), (m.psi[n_p:, :], m.u, units[1])):
        G = ca.jacobian(rows, z)
        row_of = G.sparsity().row()
        vary = sorted({row_of[k] for k in ca.jacobian_sparsity(G.nz[:], z).row()})
        G = ca.mtimes(G, ca.diag(unit))
        sizes = ca.densify(ca.sum2(rows_of(G, vary) ** 2))
        reach = BESIDE * ca.sqrt(1 + ca.sumsqr(z / unit))
        ratios.append(sizes / ca.substitute(sizes, z, z + reach * unit * ca.DM(_directions(z.shape[0])[0])))
    found = ca.vertcat(*ratios)
    return ca.Function("faintest_gradient", [ca.vertcat(m.x, *units)], [found]) if found.shape[0] else None


def _search(surface: Surface) -> list[str]:
    z, first, last = surface.z, surface.rows.start, surface.rows.stop
    reach = BESIDE * math.sqrt(1.0 + z @ z)
    way = _directions(surface.size)
    here, beside = surface.at(z)[1], surface.at(z + reach * way[0])[1]
    size, there = ((G[first:last] ** 2).sum(axis=1) for G in (here, beside))
    faint = [surface.rows[k] for k in np.flatnonzero(size < FAINT**2 * there)]
    return [
        surface.names[row]
        for row in faint
        if _is_multiple(surface, z + reach * way, row) and _is_felt(surface, row, faint, reach)
    ]


@functools.cache
def _directions(size: int) -> np.ndarray:
    """A few unit directions in no special position, (3, size)."""
    d = Scattered(1743).uniform(-1.0, 1.0, (3, size))
    return d / np.linalg.norm(d, axis=1, keepdims=True)


def _is_multiple(surface: Surface, starts: np.ndarray, row: int) -> bool:
    """True if a row is a multiple root on a whole surface: from everywhere, Newton's method follows one normal."""
    ends = [_dwindling_end(surface, z, row) for z in starts]
    ways = np.array([z - end for z, end in zip(starts, ends, strict=True) if end is not None])
    if len(ways) < len(starts):
        return False
    unit = ways / np.linalg.norm(ways, axis=1, keepdims=True)
    return bool(np.abs(unit @ unit.T).min() > PARALLEL)


def _dwindling_end(surface: Surface, z: np.ndarray, row: int) -> np.ndarray | None:
    """Point at which Newton's method, from z onto one row alone, has lost its gradient; None if it does not."""
    values, gradients = surface.at(z)
    began = float(np.linalg.norm(gradients[row]))
    for _ in range(MULTIPLE_ROOT_ITERATIONS):
        value, G = values[row], gradients[row]
        length = float(np.linalg.norm(G))
        if not np.isfinite(length):
            return None
        if length <= GONE * began:
            return z
        z = z - value / length * (G / length)
        values, gradients = surface.at(z)
    return None


def _is_felt(surface: Surface, row: int, faint: Sequence[int], reach: float) -> bool:
    """Whether a row changes along motions of length `reach` that the others leave free: they do not imply it."""
    z = surface.z
    others = np.delete(surface.at(z)[1][: surface.held], faint, axis=0)
    free = null_space(unit_rows(others), UNIT_ROW_RANK, UNIT)
    beside = np.array([surface.at(z + reach * n)[1][row] for n in free.T]).reshape(-1, surface.size)
    largest = np.linalg.norm(surface.at(z + reach * _directions(surface.size)[0])[1][row])
    return bool(np.linalg.norm(beside @ free, axis=-1).max(initial=0.0) > FELT * largest)

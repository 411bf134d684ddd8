"""`Modes`: some eigenvalues of a large system at rest, by shift-invert iterations on the sparse saddle pencil.

Small changes of (q, u, la) about an equilibrium obey E w' = K w over nonzeros, w = (dq, du, dla, mu):

    dq' = (q')_q dq + (q')_u du + P^T mu,   M du' = -(R_q dq + R_u du + R_la dla),   V_q dq + V_u du = 0,   P dq = 0,

R the balance, V all constraints at the level of velocities (or as stated, with u' in them), P the gradients of position
constraints and invariants; mu = 0. The finite eigenvalues of the pencil are those of the linearisation on the tangent
space. Arnoldi iterations (ARPACK) on (K - sigma E)^-1 E find those nearest to a shift sigma.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from dalembert.analysis.floquet import depends_on_time
from dalembert.analysis.steady_check import STILL_RATE, WAITS
from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.errors import LinearizationError, OptionError, PairingError
from dalembert.motion.outputs import rates_of
from dalembert.motion.state import State
from dalembert.solve.sparse_shift import factor_shifted
from dalembert.text_tables import text_table

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix
    from scipy.sparse.linalg import SuperLU

ACCURATE = 1e-7  # residual of an eigenpair, relative to its terms, above which it is not one
INFINITE = 1e-12  # 1 / (eigenvalue - shift), relative to the largest, below which the eigenvalue is infinite
FURTHER = 2  # eigenvalues that are sought beyond those asked for, so that no pair is cut


@dataclass(frozen=True, eq=False)
class Modes:
    """`eigenvalues` (k,) complex nearest to `near`, nearest first, and `shapes` (nq + nu, k).

    A shape has an entry for every coordinate and speed. Shapes are scaled so that the largest entry of each is 1.
    """

    state: State
    near: complex
    eigenvalues: np.ndarray
    shapes: np.ndarray

    @property
    def frequencies(self) -> np.ndarray:
        """|eigenvalue| in rad/s, (k,)."""
        return np.abs(self.eigenvalues)

    def mode_shape(self, mode: int) -> dict[str, complex]:
        """Mode shape: the amplitude of every coordinate and speed, by name."""
        if not 0 <= mode < len(self.eigenvalues):
            raise OptionError(f"mode {mode} does not exist; there are {len(self.eigenvalues)} of them, from 0 on")
        s = self.state.system
        return dict(zip((*s.coordinates, *s.speeds), self.shapes[:, mode].tolist(), strict=True))

    def __repr__(self) -> str:
        rows = [(f"{v.real:.9g}", f"{v.imag:+.9g}", f"{abs(v):.9g}") for v in self.eigenvalues]
        table = text_table([(("real", "imaginary", "frequency"), rows)])
        return f"Modes of {self.state.system.name!r}, the {len(rows)} nearest to {self.near:g}\n{table}"


def find_modes(system: System, state: State, *, k: int = 6, near: complex = 0.0) -> Modes:
    """The k eigenvalues nearest to `near`; see `System.modes`."""
    if not isinstance(state, State) or state.system.coordinates != system.coordinates:
        raise PairingError(f"modes needs a State of `{system.name}`; call system.equilibrium(...) for one")
    if not (isinstance(k, int) and k > 0):
        raise OptionError(f"k = {k!r}: the number of eigenvalues must be a positive integer")
    E, K = _pencil(system, state)
    if k + FURTHER >= E.shape[0] - 1:
        raise OptionError(f"k = {k} eigenvalues of `{system.name}` are nearly all; take system.linearize(state)")
    values, vectors = _nearest(system, E, K, k, complex(near))
    order = np.argsort(np.abs(values - near).round(9), kind="stable")[:k]
    values, vectors = values[order], vectors[:, order]
    _check_accurate(system, E, K, values, vectors)
    shapes = vectors[: system.nq + system.nu]
    shapes = shapes / np.take_along_axis(shapes, np.abs(shapes).argmax(axis=0)[None], axis=0)
    return Modes(state, complex(near), values, shapes)


def _pencil(system: System, state: State) -> tuple[csc_matrix, csc_matrix]:
    """E and K at an equilibrium, sparse."""
    from scipy.sparse import csc_matrix

    y = np.concatenate([(state.t,), state.q, state.u, state.parameters, state.udot, state.multipliers])
    pencil = system.kept("saddle pencil", lambda: _pencil_function(system))
    values, by_rate, by_value = pencil(y)
    rates = np.concatenate([rates_of(state), state.udot])
    left = np.concatenate([np.asarray(values).ravel(), rates])
    scale = 1.0 + np.abs(system.forces(state.t, state.q, state.u, state.parameters)).max(initial=0.0)
    if not np.abs(left).max(initial=0.0) <= STILL_RATE * scale:
        raise LinearizationError(
            f"`{system.name}`: the state is not at rest (rates and residuals up to {np.abs(left).max():.3g}); get it "
            "from system.equilibrium, or take system.linearize, which holds for steady motions too"
        )
    for wait in WAITS if depends_on_time(system) else ():
        later = np.concatenate([(state.t + wait,), y[1:]])
        if not all(_is_same(now, then) for now, then in zip((by_rate, by_value), pencil(later)[1:], strict=True)):
            raise LinearizationError(
                f"`{system.name}`: the equations of small changes depend on time, so that they have no eigenvalues; "
                "make the time in the model a parameter, or take the Floquet multipliers of system.linearize(motion)"
            )
    return csc_matrix(by_rate.sparse()), csc_matrix(by_value.sparse())


def _is_same(now: ca.DM, then: ca.DM) -> bool:
    """Whether a matrix of the pencil is the same at another time."""
    size = float(ca.norm_inf(ca.vec(now)))
    return float(ca.norm_inf(ca.vec(then - now))) <= STILL_RATE * size


def _pencil_function(system: System) -> ca.Function:
    """Residuals of balance and constraints, and the matrices E and K of the pencil, as a function of (x, u', la)."""
    m = system.mechanics
    P = ca.jacobian(ca.vertcat(m.phi, m.h), m.q)
    mu = ca.SX.sym("mu", P.shape[0])
    w, w_rate = ca.vertcat(m.q, m.u, m.la, mu), ca.SX.sym("rate of q", system.nq)
    R = ca.vertcat(w_rate - m.qdot - ca.mtimes(P.T, mu), m.balance, m.constraints, m.phi, m.h)
    other = ca.SX(R.shape[0], system.nc + P.shape[0])
    E = ca.horzcat(ca.jacobian(R, ca.vertcat(w_rate, m.udot)), other)
    K = ca.substitute(-ca.jacobian(R, w), mu, ca.SX.zeros(P.shape[0]))
    values = ca.densify(ca.vertcat(m.balance, m.constraints, m.phi, m.h))
    return ca.Function("saddle_pencil", [m.y], [values, E, K])


def _nearest(system: System, E: csc_matrix, K: csc_matrix, k: int, near: complex) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues nearest to a shift and their vectors, a few more than k if there are."""
    from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigs

    shift = near if near.imag else near.real
    lu, shift = _factors(system, E, K, shift)

    def apply(x: np.ndarray) -> np.ndarray:
        return lu.solve(E @ x)

    dtype = complex if isinstance(shift, complex) else float
    operator = LinearOperator(E.shape, matvec=apply, dtype=dtype)
    start = apply(apply(np.random.default_rng(1743).standard_normal(E.shape[0]).astype(dtype)))  # no infinite parts
    try:
        nu, vectors = eigs(operator, k + FURTHER, which="LM", v0=start, tol=0.0)
    except (ArpackNoConvergence, ArpackError) as error:
        raise LinearizationError(
            f"`{system.name}`: the eigenvalues near {near:g} were not found ({error}); ask for fewer, or with another "
            "`near`"
        ) from error
    finite = np.abs(nu) > INFINITE * np.abs(nu).max()
    if finite.sum() < k:
        raise OptionError(f"`{system.name}` has {int(finite.sum())} finite eigenvalues here; ask for fewer than {k}")
    return shift + 1.0 / nu[finite], vectors[:, finite]


def _factors(system: System, E: csc_matrix, K: csc_matrix, shift: complex) -> tuple[SuperLU, complex]:
    """Factors of K - shift E; the shift is moved aside if it is an eigenvalue."""
    found = factor_shifted(E, K, shift, INFINITE)
    if found is not None:
        return found
    raise LinearizationError(
        f"`{system.name}`: the equations are singular at the shift {shift:g}: constraints depend on each other, or "
        "some motion has no inertia; remove redundant constraints (system.diagnose names them), or use system.linearize"
    )


def _check_accurate(system: System, E: csc_matrix, K: csc_matrix, values: np.ndarray, vectors: np.ndarray) -> None:
    """Raise if a pair does not solve the eigenvalue problem."""
    left = np.abs(K @ vectors - (E @ vectors) * values).max(axis=0)
    terms = (abs(K) @ np.abs(vectors) + (abs(E) @ np.abs(vectors)) * np.abs(values)).max(axis=0)
    worst = int((left / terms).argmax())
    if not left[worst] <= ACCURATE * terms[worst]:
        raise LinearizationError(
            f"`{system.name}`: the eigenvalue {values[worst]:g} is not accurate (residual {left[worst]:.2g} of terms "
            f"of size {terms[worst]:.2g}); use system.linearize, or another `near`"
        )

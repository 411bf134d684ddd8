"""`Linearization`: x' = A x + B w, y = C x + D w about a state, its eigenvalues, modes and frequency response."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.errors import ArrayError, DalembertError, LinearizationError, OptionError
from dalembert.motion.state import State
from dalembert.solve.decompositions import condition, inverse, solve
from dalembert.stages import stage
from dalembert.text_tables import text_table

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from scipy.signal import StateSpace


ZERO_ENTRY = 1e-9  # entries of A below this, relative to the largest, are zero
PRINTED_EIGENVALUES = 12
ENTRY_ROUND_OFF = 1e-12  # entries of A below this fraction of the largest are


@dataclass(frozen=True, eq=False)
class Linearization:
    """Small changes x (n,) of `states`, w of `inputs` and y of `outputs` about the motion through `state`.

    A (n, n), B (n, inputs), C (outputs, n), D (outputs, inputs). `rates` (n,) are those of the states themselves at the
    state. `basis` (nq + nu, n): changes of all coordinates and speeds are basis @ x.
    """

    state: State
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    rates: np.ndarray
    basis: np.ndarray
    projected_mass: np.ndarray  # inertia of the independent speeds

    # -- eigenvalues -----------------------------------------------------------------------------------------------

    @cached_property
    def _comoving(self) -> Any:
        return stage("Linearization.comoving")(self)

    @property
    def A_comoving(self) -> np.ndarray:
        """A seen from axes that go along with a steady motion, (n, n), constant: A itself where that is constant.

        Raises `LinearizationError` with the reason if there are no axes in which the coefficients are constant.
        """
        return np.asarray(self._comoving.A)

    @cached_property
    def _eigen(self) -> tuple[np.ndarray, np.ndarray]:
        values, vectors = self._comoving.eigen()
        values = values.astype(complex)
        order = np.lexsort((values.imag, np.abs(values.imag), -np.round(values.real, 12)))
        return values[order], vectors[:, order].astype(complex)

    @property
    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues of `A_comoving`, (n,) complex, that with the largest real part first."""
        return self._eigen[0]

    @property
    def modes(self) -> np.ndarray:
        """Eigenvectors of A as columns, (n, n) complex, of length 1, in the order of `eigenvalues`."""
        return self._eigen[1]

    def mode_shape(self, mode: int) -> dict[str, complex]:
        """Mode shape: the amplitude of every coordinate and speed, also of dependent ones. The largest entry is 1."""
        self._check_mode(mode)
        s, shape = self.state.system, self.basis @ self.modes[:, mode]
        shape = shape / shape[np.argmax(np.abs(shape))]
        return dict(zip((*s.coordinates, *s.speeds), shape.tolist(), strict=True))

    @property
    def frequencies(self) -> np.ndarray:
        """|eigenvalue| in rad/s, (n,): the undamped natural frequencies."""
        return np.abs(self.eigenvalues)

    @property
    def damping_ratios(self) -> np.ndarray:
        """-Re / |eigenvalue|, (n,): 1 for decay without oscillation, negative for growth, 0 for a zero eigenvalue."""
        size = np.abs(self.eigenvalues)
        return np.where(size > 0.0, -self.eigenvalues.real / np.where(size > 0.0, size, 1.0), 0.0)

    @cached_property
    def ignorable(self) -> tuple[str, ...]:
        """Coordinates among the states on which nothing depends but rates of such coordinates."""
        scale = ZERO_ENTRY * max(np.abs(self.A).max(initial=0.0), 1.0)
        open_ = {k for k, name in enumerate(self.states) if name in self.state.system.coordinates}
        while True:
            kept = [k for k in range(len(self.states)) if k not in open_]
            seen = {k for k in open_ if np.abs(self.A[kept, k]).max(initial=0.0) > scale}
            if not seen:
                return tuple(self.states[k] for k in sorted(open_))
            open_ -= seen

    @cached_property
    def steady(self) -> bool:
        """Whether this is an equilibrium or a steady motion: seen from axes that go along, everything stays as it is.

        Such axes turn with the motion, with the bodies that spin about an axis of symmetry, and run on with ignorable
        coordinates.
        """
        try:
            return bool(self._comoving.steady)
        except LinearizationError:
            return False

    # -- second order ----------------------------------------------------------------------------------------------

    @cached_property
    def _second_order(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        s = self.state.system
        q = [k for k, name in enumerate(self.states) if name in s.coordinates]
        v = [k for k, name in enumerate(self.states) if name not in s.coordinates]
        Z, own = self.A[np.ix_(q, v)], self.A[np.ix_(q, q)]
        if len(q) != len(v) or np.abs(own).max(initial=0.0) > ZERO_ENTRY or (q and condition(Z) > 1e12):
            raise DalembertError(
                f"`{s.name}`: there is no second-order form M x'' + C x' + K x = 0 of the states "
                f"{', '.join(self.states)}: {len(q)} coordinates, {len(v)} speeds; their numbers must be equal and the "
                "coordinates' rates given by the speeds alone. Name states without ignorable coordinates"
            )
        back = inverse(Z)
        M = back.T @ self.projected_mass @ back
        damping = -M @ Z @ self.A[np.ix_(v, v)] @ back
        stiffness = -M @ Z @ self.A[np.ix_(v, q)]
        return M, damping, stiffness

    @property
    def mass(self) -> np.ndarray:
        """M of M x'' + C x' + K x = 0 in the coordinates among the states, (n/2, n/2)."""
        return self._second_order[0]

    @property
    def damping(self) -> np.ndarray:
        """C of M x'' + C x' + K x = 0, damping and gyroscopic terms, (n/2, n/2)."""
        return self._second_order[1]

    @property
    def stiffness(self) -> np.ndarray:
        """K of M x'' + C x' + K x = 0, stiffness and circulatory terms, (n/2, n/2)."""
        return self._second_order[2]

    # -- inputs and outputs ----------------------------------------------------------------------------------------

    def frequency_response(self, frequencies: ArrayLike) -> np.ndarray:
        """C (i w - A)^-1 B + D at frequencies w in rad/s, (nw, outputs, inputs) complex."""
        if not self.inputs or not self.outputs:
            raise OptionError(
                "a frequency response needs inputs and outputs: linearize(state, inputs=[...], outputs=[...])"
            )
        seen = self._comoving
        if seen.L is not None or not seen.driven:
            raise DalembertError(
                f"`{self.state.system.name}`: the motion is steady in axes that turn with it, where a constant input "
                "does not stay constant: there is no frequency response. State what turns in angles, or a frame fixed "
                "in space"
            )
        w = np.atleast_1d(np.asarray(frequencies, dtype=float))
        if w.ndim != 1 or not np.isfinite(w).all():
            raise ArrayError(f"frequencies must be finite numbers in one axis, got shape {w.shape}")
        shifted = 1j * w[:, None, None] * np.eye(len(self.A)) - self.A
        return self.C @ solve(shifted, np.broadcast_to(self.B, (len(w), *self.B.shape))) + self.D

    def to_scipy(self) -> StateSpace:
        """The system as `scipy.signal.StateSpace`; without inputs or outputs these are all states."""
        from scipy.signal import StateSpace

        n = len(self.A)
        B, C = (self.B if self.inputs else np.eye(n)), (self.C if self.outputs else np.eye(n))
        D = self.D if self.inputs and self.outputs else np.zeros((len(C), B.shape[1]))
        if self.outputs and not self.inputs:
            D = np.zeros((len(C), n))
        return StateSpace(self.A, B, C, D)

    def sweep(
        self, key: Any, values: Iterable[float], *, hold: Any = None, constant: Sequence[Any] | None = None
    ) -> Any:
        """Eigenvalues along `values` of a parameter, or of a coordinate or speed, each at its own steady state.

        The steady state (or equilibrium, if this is one) is followed from that of this linearisation. Values in `hold`
        stay as they are; `constant` names the speeds that are constant, as in `System.steady`.
        """
        return stage("Linearization.sweep")(self, key, values, hold=hold, constant=constant)

    def animate(self, path: str | Path, mode: int, *, amplitude: float = 0.3) -> Path:
        """A self-contained HTML animation of a mode about the state; `amplitude` is that of the largest coordinate."""
        from dalembert.view.mode_animation import animate_mode

        self._check_mode(mode)
        s, shape = self.state.system, self.basis[: self.state.system.nq] @ self.modes[:, mode]
        shape = shape / max(np.abs(shape).max(initial=0.0), 1e-300)
        title = f"{s.name}, mode {mode}"
        return animate_mode(path, self.state, shape, complex(self.eigenvalues[mode]), amplitude=amplitude, title=title)

    # -- to look at ------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        parts = "".join(
            f"\n  {what:<9}{', '.join(names)}"
            for what, names in (("states", self.states), ("inputs", self.inputs), ("outputs", self.outputs))
            if names
        )
        kind, table = "; the motion is not steady: A is that of this instant only", ""
        with contextlib.suppress(LinearizationError):
            kind = "" if self._comoving.L is None else "; seen from axes that turn with the motion"
            kind = kind if self.steady else "; the motion is not steady, but A stays the same"
            table = "\n" + self._table()
        return f"Linearization of {self.state.system.name!r} at t = {self.state.t:g}{kind}{parts}{table}"

    def _table(self) -> str:
        none = ENTRY_ROUND_OFF * np.abs(self.eigenvalues).max(initial=0.0)
        rows = [
            tuple(format(0.0 if abs(part) <= small else part, how) for part, small, how in parts)
            for v, ratio in zip(self.eigenvalues[:PRINTED_EIGENVALUES], self.damping_ratios, strict=False)
            for parts in [
                (
                    (v.real, none, ".9g"),
                    (v.imag, none, "+.9g"),
                    (abs(v), none, ".6g"),
                    (ratio * (abs(v) > none), ENTRY_ROUND_OFF, ".4g"),
                )
            ]
        ]
        more = f"\n  and {len(self.A) - PRINTED_EIGENVALUES} more" if len(self.A) > PRINTED_EIGENVALUES else ""
        return text_table([(("real", "imaginary", "frequency", "damping"), rows)]) + more

    def _check_mode(self, mode: int) -> None:
        if not 0 <= mode < len(self.A):
            raise OptionError(f"mode {mode} does not exist; this linearisation has {len(self.A)} modes, from 0 on")

"""The quantities of a system, M, f, A, b, residuals and energy, at plain arrays."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.equations.system_facts import SystemFacts
from dalembert.errors import ArrayError
from dalembert.guidance import of_arrays
from dalembert.native.along import along

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def _is_column(array: Any, size: int) -> bool:
    return isinstance(array, np.ndarray) and array.shape == (size,)


class Evaluations(SystemFacts):
    """Evaluations take `(t, q, u)` and optional parameter values; leading axes of q and u are kept."""

    def evaluate(
        self, name: str, t: ArrayLike, q: ArrayLike, u: ArrayLike, parameters: Any = None, *, more: Any = ()
    ) -> np.ndarray:
        """All outputs of one kernel in one array, (..., n_out); leading axes as in `q`.

        `more` (..., n) is what a kernel reads besides x = (t, q, u, p).
        """
        sizes = ((q, self.coordinates), (u, self.speeds), (parameters, self.parameters))
        if type(t) is float and not len(more) and all(_is_column(a, len(names)) for a, names in sizes):
            return self._value(name, np.concatenate([(t,), q, u, parameters]))
        q_, u_ = self._checked(q, self.nq, "q"), self._checked(u, self.nu, "u")
        if isinstance(parameters, np.ndarray):
            p = self._checked(parameters, len(self.parameters), "parameters")
        else:
            p = self.parameter_values(parameters)
        try:
            lead = np.broadcast_shapes(q_.shape[:-1], u_.shape[:-1], np.shape(t))
        except ValueError:
            shapes = f"t {np.shape(t)}, q {q_.shape}, u {u_.shape}"
            raise ArrayError(f"the leading axes of t, q and u do not fit together: {shapes}") from None
        pieces = [np.asarray(t, dtype=float)[..., None], q_, u_, p, np.asarray(more, dtype=float)]
        if lead:
            pieces = [np.broadcast_to(piece, (*lead, piece.shape[-1])) for piece in pieces]
        x = np.concatenate(pieces, axis=-1)
        return self._values(name, x.reshape(-1, x.shape[-1])).reshape(*lead, self.functions.size_out(name))

    def _values(self, name: str, x: np.ndarray) -> np.ndarray:
        """One of `functions` at many points x (nt, n_in), (nt, n_out)."""
        if self.kernels.is_prompt(name):
            return along(self.kernel(name), x)
        return np.array([self._value(name, row) for row in x])

    def _value(self, name: str, x: np.ndarray) -> np.ndarray:
        """One of `functions` at one point."""
        if self.kernels.is_prompt(name):
            return self.kernel(name)(x)
        return np.array(self.functions[name](x).full().ravel())  # a few values are not worth the wait for machine code

    @of_arrays
    def mass_matrix(self, t: ArrayLike, q: ArrayLike, u: ArrayLike, parameters: Any = None) -> np.ndarray:
        """M, (..., nu, nu)."""
        return self._part("mass_matrix", t, q, u, parameters)

    @of_arrays
    def forces(self, t: ArrayLike, q: ArrayLike, u: ArrayLike, parameters: Any = None) -> np.ndarray:
        """f of M u' = f + r, (..., nu): active forces and the inertia forces for u' = 0."""
        out = self.evaluate("dynamics", t, q, u, parameters)
        return out[..., self.parts["forces"][0]] - out[..., self.parts["prescribed"][0]]

    @of_arrays
    def coordinate_rates(self, t: ArrayLike, q: ArrayLike, u: ArrayLike, parameters: Any = None) -> np.ndarray:
        """q' = C u + D, (..., nq)."""
        return self._part("coordinate_rates", t, q, u, parameters)

    @of_arrays
    def constraint_jacobian(self, t: ArrayLike, q: ArrayLike, u: ArrayLike, parameters: Any = None) -> np.ndarray:
        """A of A u' = b, (..., nc, nu); acceleration rows are empty if one of them is not linear in u'."""
        return self._part("constraint_jacobian", t, q, u, parameters)

    @of_arrays
    def constraint_bias(self, t: ArrayLike, q: ArrayLike, u: ArrayLike, parameters: Any = None) -> np.ndarray:
        """b of A u' = b, (..., nc); acceleration rows are empty if one of them is not linear in u'."""
        return self._part("constraint_bias", t, q, u, parameters)

    @of_arrays
    def directions(
        self,
        t: ArrayLike,
        q: ArrayLike,
        u: ArrayLike,
        parameters: Any = None,
        *,
        udot: ArrayLike | None = None,
        multipliers: ArrayLike | None = None,
    ) -> np.ndarray:
        """W of r = W^T la + c, (..., nc, nu): rows of A, or directions of the unknowns of servo constraints.

        Friction is in W if the `multipliers` (..., nc) are given, as it depends on their signs. Acceleration rows that
        are not linear in u' need `udot` (..., nu) too, and are empty without it.
        """
        lead = np.broadcast_shapes(np.shape(t), np.shape(q)[:-1], np.shape(u)[:-1])
        given = ((udot, self.nu), (multipliers, self.nc))
        more = [np.zeros((*lead, n)) if v is None else np.asarray(v, dtype=float) for v, n in given]
        W = self.linearised_rows(t, q, u, parameters, more=np.concatenate(more, axis=-1))[2]
        if udot is None and self.curved:
            W[..., -self.curved :, :] = 0.0
        return W

    def linearised_rows(
        self, t: ArrayLike, q: ArrayLike, u: ArrayLike, parameters: Any, *, more: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A (..., nc, nu), b (..., nc) and W (..., nc, nu), at `more` = (u', la) where they depend on it."""
        out, nc, nu = self.evaluate("linearised", t, q, u, parameters, more=more), self.nc, self.nu
        A, b, W = np.split(out, [nc * nu, nc * nu + nc], axis=-1)
        return A.reshape(*A.shape[:-1], nc, nu), b, W.reshape(*W.shape[:-1], nc, nu)

    @of_arrays
    def prescribed_reaction(self, t: ArrayLike, q: ArrayLike, u: ArrayLike, parameters: Any = None) -> np.ndarray:
        """c of r = W^T la + c, (..., nu): non-ideal parts of the reaction that were prescribed."""
        return self._part("prescribed", t, q, u, parameters)

    @of_arrays
    def position_residual(self, t: ArrayLike, q: ArrayLike, parameters: Any = None) -> np.ndarray:
        """phi(q, t), (..., number of position constraints)."""
        out = self.evaluate("residual", t, q, np.zeros(self.nu), parameters)
        return out[..., : self.count("position")]

    @of_arrays
    def velocity_residual(self, t: ArrayLike, q: ArrayLike, u: ArrayLike, parameters: Any = None) -> np.ndarray:
        """psi(q, u, t), (..., position + velocity rows): rates of the position rows, then the velocity constraints."""
        return self.evaluate("residual", t, q, u, parameters)[..., self.count("position") :]

    @of_arrays
    def energy(self, t: ArrayLike, q: ArrayLike, u: ArrayLike, parameters: Any = None) -> np.ndarray:
        """Kinetic plus potential energy, (...)."""
        return self.evaluate("energy", t, q, u, parameters).sum(axis=-1)

    @cached_property
    def parts(self) -> dict[str, tuple[slice, tuple[int, ...]]]:
        """Slice and shape of each quantity in the output of the "dynamics" kernel.

        "forces" includes "prescribed", the non-ideal part of the reaction that is known beforehand. The reaction is
        directions^T la - friction^T |la| + prescribed; directions are those of A if the system is ideal.
        """
        nq, nu, nc = self.nq, self.nu, self.nc
        shapes: dict[str, tuple[int, ...]] = {
            "coordinate_rates": (nq,),
            "mass_matrix": (nu, nu),
            "forces": (nu,),
            "constraint_jacobian": (nc, nu),
            "constraint_bias": (nc,),
            "directions": (0,) if self.ideal else (nc, nu),
            "friction": (nc, nu) if self.friction else (0,),
            "power": (1,),
            "transport": (nu,),
            "prescribed": (nu,),
        }
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])
        return {
            name: (slice(int(end) - int(np.prod(shape)), int(end)), shape)
            for (name, shape), end in zip(shapes.items(), ends, strict=True)
        }

    def _part(self, name: str, t: ArrayLike, q: ArrayLike, u: ArrayLike, parameters: Any) -> np.ndarray:
        where, shape = self.parts[name]
        out = self.evaluate("dynamics", t, q, u, parameters)[..., where]
        return out.reshape(*out.shape[:-1], *shape)

    def _checked(self, values: ArrayLike, size: int, what: str) -> np.ndarray:
        try:
            array = np.asarray(values, dtype=float)
        except (TypeError, ValueError):
            raise ArrayError(f"`{what}` must be an array of numbers, got {type(values).__name__}") from None
        if array.ndim == 0 or array.shape[-1] != size:
            raise ArrayError(f"`{what}` has shape {array.shape}; its last axis must be {size} for `{self.name}`")
        return array

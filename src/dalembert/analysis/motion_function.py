"""`MotionFunction`: outputs of a motion as a function of parameters and start values, with its exact Jacobian.

A plain function of NumPy arrays, and from it one of JAX or PyTorch with its own derivative, if that is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.analysis.fit import given_of
from dalembert.analysis.sensitivities import all_sensitivities, check_passed
from dalembert.analysis.verdict import check_held
from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.errors import ArrayError, DalembertError, OptionError
from dalembert.initial.start_derivatives import read_columns
from dalembert.motion.state import State
from dalembert.run.simulate import check_times


@dataclass(frozen=True, eq=False)
class MotionFunction:
    """f(values) = `outputs` at `times`, (nt, n); values (k,) are those of `names`: parameters and start values.

    Values given for `state` stay. The rest of the start follows from the constraints. `first` (k,) are the values in
    the state itself.
    """

    system: System
    state: State
    outputs: tuple[Any, ...]
    names: tuple[str, ...]
    times: np.ndarray
    options: dict[str, Any]

    @property
    def first(self) -> np.ndarray:
        """Values of the names in the state, (k,)."""
        return np.array([float(self.state[name]) for name in self.names])

    def __call__(self, values: ArrayLike) -> np.ndarray:
        """Outputs (nt, n)."""
        motion = self._motion(values, ())
        return self._rows(motion, np.column_stack([motion[key] for key in self.outputs]))

    def with_jacobian(self, values: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Outputs (nt, n) and their derivatives in the values, (nt, n, k)."""
        motion = self._motion(values, self.names)
        check_passed(motion)
        slopes = np.concatenate([all_sensitivities(motion, key) for key in self.outputs], axis=1)
        return self._rows(motion, np.column_stack([motion[key] for key in self.outputs])), self._rows(motion, slopes)

    def to_jax(self) -> Callable[[Any], Any]:
        """The function for JAX: for `jit`, `grad`, `jacobian`, and `vmap` one by one. Needs 64-bit numbers."""
        import jax
        import jax.numpy as jnp

        if not jax.config.jax_enable_x64:
            raise OptionError(
                "JAX computes with 32-bit numbers, too few for a motion; call jax.config.update('jax_enable_x64', True)"
            )
        value = jax.ShapeDtypeStruct(self._shape, jnp.float64)
        slope = jax.ShapeDtypeStruct((*self._shape, len(self.names)), jnp.float64)

        @jax.custom_jvp
        def outputs(values: Any) -> Any:
            return jax.pure_callback(self, value, values, vmap_method="sequential")

        @outputs.defjvp
        def tangent(primals: Any, tangents: Any) -> Any:
            y, J = jax.pure_callback(self.with_jacobian, (value, slope), *primals, vmap_method="sequential")
            return y, J @ tangents[0]

        return outputs

    def to_torch(self) -> Callable[[Any], Any]:
        """The function for PyTorch: a tensor (k,) of 64-bit numbers to one (nt, n), with a first derivative."""
        from dalembert.analysis.torch_function import torch_function

        return torch_function(self)

    @property
    def _shape(self) -> tuple[int, int]:
        return len(self.times), sum(int(np.size(self.state[key])) for key in self.outputs)

    def _motion(self, values: ArrayLike, sensitivities: Sequence[str]) -> Any:
        theta = np.asarray(values, dtype=float)
        if theta.shape != (len(self.names),) or not np.isfinite(theta).all():
            raise ArrayError(f"values must be {len(self.names)} finite numbers ({', '.join(self.names)}), got {theta}")
        named = dict(zip(self.names, theta.tolist(), strict=True))
        changed = {name: named.pop(name) for name in self.names if name in self.system.parameters}
        start = self.system.initial(given_of(self.state) | named, guess=self.state, parameters=changed)
        end = float(self.times[-1])
        motion = self.system.simulate(start, end, t_eval=self.times, sensitivities=sensitivities, **self.options)
        if not motion.success or motion.t[-1] != end:
            said = ", ".join(f"{name} = {value:g}" for name, value in zip(self.names, theta, strict=True))
            raise DalembertError(f"the motion fails with {said}: {motion.message}")
        check_held(motion, "the function")
        return motion

    def _rows(self, motion: Any, values: np.ndarray) -> np.ndarray:
        """Values at the times asked for, of those after a change where there are two."""
        return values[np.searchsorted(motion.t, self.times, side="right") - 1]


def motion_function(
    system: System,
    outputs: Sequence[Any],
    state: State,
    t_end: float,
    *,
    to: Sequence[Any],
    t_eval: ArrayLike | None = None,
    **options: Any,
) -> MotionFunction:
    """Outputs of the motion from a state as a function of parameters and start values; see `System.function`."""
    if isinstance(outputs, str) or not isinstance(outputs, Sequence) or not len(outputs):
        raise OptionError(f"outputs must be a list of names or expressions, got {outputs!r}")
    for name in ("sensitivities", "parameters"):
        if name in options:
            raise OptionError(f"a function of a motion chooses `{name}` itself; leave it out")
    names, _ = read_columns(system, to)
    _, times = check_times(state.t, t_end, [t_end] if t_eval is None else t_eval)
    asked = np.array([float(t_end)]) if times is None else times
    return MotionFunction(system, state, tuple(outputs), names, asked, options)

"""SUNDIALS IDA on F(t, y, y') = 0: residual, exact Jacobian and output are native kernels, called back by address.

Of the two wheels that carry SUNDIALS, scikit-sundae takes F(t, y, y') as it is, gives every step and a flag when it
fails; CasADi's IDAS takes x' = f, 0 = g only, returns the end of a fixed grid or raises. Measured on the stabilised
index-2 form, rtol 1e-8 / 1e-10 (Zen 4, best of 3): four-bar 30 s 0.30 / 0.50 s against 0.09 / 0.17 s; Andrews 0.03 s
41 / 76 ms against a first step that IDAS does not find. The difference is the wrapping of vectors around each callback.
"""

from __future__ import annotations

import ctypes
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from sksundae import ida as sundials

from dalembert.dataclass import dataclass
from dalembert.native.kernel import Kernel
from dalembert.run.residuals.form import Residual, SettledForm

if TYPE_CHECKING:
    from dalembert.equations.system import System
    from dalembert.run.engine import Engine

UNTESTED = 1e20  # absolute tolerance of variables that the error test leaves out

_CALL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


@dataclass(frozen=True)
class SolverPoint:
    """Where the solver is: time, its variables y (ny,), and SUNDIALS' flag (negative: failed)."""

    t: float
    y: np.ndarray
    flag: int


class Solver:
    """IDA with the kernels of one residual form; begun at a state, and again at others."""

    def __init__(self, engine: Engine, form: SettledForm, options: dict[str, Any]) -> None:
        system = engine.system
        self.engine = engine
        residual = form.residual(system)
        self.n = residual.size
        self.before = self.spent = (0, 0)  # evaluations of F and of its Jacobian
        # Inputs (t, y, y', p, cj): every kernel reads a beginning of them or all.
        self.x = np.zeros(1 + 2 * self.n + residual.p.shape[0] + 1)
        self.F, self.z = np.zeros(self.n), np.zeros(engine.nz + 1)
        self.kernels = tuple(_kernel(system, form.key, residual, name) for name in ("residual", "jacobian", "output"))
        self.emit = partial(_CALL(self.kernels[2].address), *(ctypes.c_void_p(a.ctypes.data) for a in (self.x, self.z)))
        tested = residual.tested.copy()
        if system.works:  # where q and u are easy, long steps would spoil the work done, and the energy balance with it
            tested |= [ca.is_equal(residual.y[k], residual.state[-1]) for k in range(self.n)]
        # The norm is a mean over all variables: its sum over the tested ones is to mean the same.
        share = np.sqrt(max(tested.sum(), 1) / self.n)
        self.solver = sundials.IDA(
            self._residual_callback(),
            jacfn=self._jacobian_callback(),
            rtol=share * options.pop("rtol"),
            atol=np.where(tested, share * options.pop("atol") * self._units(residual), UNTESTED),
            algebraic_idx=[int(k) for k in np.flatnonzero(~residual.differential)] or None,
            **options,
        )

    def _units(self, residual: Residual) -> np.ndarray:
        """The sizes that atol is relative to, of the variables y that are part of a state; 1 elsewhere, (ny,)."""
        units, state = np.ones(self.n), residual.state
        for i in range(state.shape[0]):
            for k in range(self.n):
                if ca.is_equal(residual.y[k], state[i]):
                    units[k] = self.engine.units[i]
        return units

    def begin(self, form: SettledForm, t: float, z: np.ndarray) -> None:
        """Start at a consistent state."""
        self.x[1 + 2 * self.n : -1] = form.parameters(self.engine)
        y, ydot = form.start(self.engine, t, z)
        self.before = self.spent  # SUNDIALS counts from each beginning
        self.solver.init_step(t, y, ydot)

    def step(self, t_end: float) -> SolverPoint:
        """One step towards t_end, never beyond it."""
        return self._point(self.solver.step(t_end, "onestep", t_end))

    def at(self, t: float) -> SolverPoint:
        """The interpolant at a time within the last step; the next step then only returns to where the solver was."""
        return self._point(self.solver.step(t, "normal"))

    def output(self, point: SolverPoint) -> tuple[np.ndarray, float]:
        """z = (q, u, work) and the quality of the form's choices at a point."""
        self.x[0], self.x[1 : 1 + self.n] = point.t, point.y
        self.emit()
        return self.z[:-1].copy(), float(self.z[-1])

    def _point(self, result: Any) -> SolverPoint:
        self.spent = self.before[0] + int(result.nfev), self.before[1] + int(result.njev)
        return SolverPoint(float(result.t), result.y, int(result.status))

    def _residual_callback(self) -> Any:
        x, F, n = self.x, self.F, self.n
        y_place, rate_place = x[1 : 1 + n], x[1 + n : 1 + 2 * n]
        call, here, there = (
            _CALL(self.kernels[0].address),
            ctypes.c_void_p(x.ctypes.data),
            ctypes.c_void_p(F.ctypes.data),
        )

        def residual(t: float, y: np.ndarray, ydot: np.ndarray, out: np.ndarray) -> None:
            x[0] = t
            y_place[:] = y
            rate_place[:] = ydot
            call(here, there)
            out[:] = F

        return residual

    def _jacobian_callback(self) -> Any:
        x, n = self.x, self.n
        y_place, rate_place = x[1 : 1 + n], x[1 + n : 1 + 2 * n]
        call, here = _CALL(self.kernels[1].address), ctypes.c_void_p(x.ctypes.data)

        def jacobian(t: float, y: np.ndarray, ydot: np.ndarray, _F: np.ndarray, cj: float, J: np.ndarray) -> None:
            x[0] = t
            y_place[:] = y
            rate_place[:] = ydot
            x[-1] = cj
            call(here, J.ctypes.data)  # writes what is structurally nonzero; the rest of J is zero from the start

        return jacobian


def _kernel(system: System, key: str, r: Residual, name: str) -> Kernel:
    """Machine code of F, of dF/dy + cj dF/dy' row by row, or of the state with the quality."""

    def build() -> ca.Function:
        cj = ca.SX.sym("cj")
        x = ca.vertcat(r.t, r.y, r.ydot, r.p, cj)
        if name == "residual":
            out = r.F
        elif name == "jacobian":
            out = ca.reshape(r.jacobian(cj).T, r.size**2, 1)
        else:
            out = ca.vertcat(ca.densify(r.state), ca.SX(1) if r.quality is None else r.quality)
        return ca.Function(name, [x], [ca.cse(out)])

    return system.derived_kernel(f"IDA {name} {key}", build)


class Quiet:
    """Standard output without the lines that SUNDIALS prints when it fails; the flag says it, and `Status` explains."""

    def __init__(self) -> None:
        self.out = sys.stdout
        self.swallowed = False

    def write(self, text: str) -> int:
        """Pass text on."""
        mine = text.startswith("\n[") and ", Error: -" in text
        if mine or (self.swallowed and text == "\n"):
            self.swallowed = mine
            return len(text)
        self.swallowed = False
        return self.out.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.out, name)

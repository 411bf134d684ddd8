"""SUNDIALS IDA on one residual form F(t, y, y') = 0: kernels of residual, exact Jacobian and output, and IDA's memory.

Of the two wheels that carry SUNDIALS, scikit-sundae's library takes F(t, y, y') as it is, gives every step and a flag
when it fails; CasADi's IDAS takes x' = f, 0 = g only, returns the end of a fixed grid or raises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import casadi as ca
import numpy as np

from dalembert.dataclass import dataclass
from dalembert.native.jit import address_of
from dalembert.native.kernel import Kernel
from dalembert.run.integrators.ida_step import IdaWork, ResidualKernels, ida_jacobian, ida_residual
from dalembert.run.integrators.sundials import COUNTED, IdaSession, sundials
from dalembert.run.residuals.form import Residual, SettledForm
from dalembert.run.scales import Scales

if TYPE_CHECKING:
    from dalembert.equations.system import System
    from dalembert.run.engine import Engine

UNTESTED = 1e20  # absolute tolerance of variables that the error test leaves out


@dataclass(frozen=True)
class SolverEquations:
    """One residual form of a system as IDA needs it, derived once.

    It holds the kernels of F, of its Jacobian and of the output, and the number of parameters. For each of the ny
    variables it says whether the rate of the variable occurs, and whether the error test includes it.
    """

    kernels: tuple[Kernel, ...]
    n_parameters: int
    differential: np.ndarray
    tested: np.ndarray

    @property
    def size(self) -> int:
        """Number of equations."""
        return len(self.tested)

    @classmethod
    def of(cls, system: System, form: SettledForm) -> Self:
        """The equations of a residual form."""
        r = form.residual(system)
        kernels = tuple(_kernel(system, form.key, r, name) for name in ("residual", "jacobian", "output"))
        return cls(kernels, int(r.p.shape[0]), r.differential, r.tested)


class Solver:
    """IDA with the kernels of one residual form; begun at a state, and again at others."""

    def __init__(self, engine: Engine, form: SettledForm, rtol: float, atol: float, **options: Any) -> None:
        self.engine = engine
        found = engine.system.kept(("IDA", form.key), lambda: SolverEquations.of(engine.system, form))
        n = found.size
        self.spent = dict.fromkeys(COUNTED, 0)  # before the last beginning
        # Inputs (t, y, y', p, cj): every kernel reads a beginning of them or all.
        self.inputs, self.output = np.zeros(1 + 2 * n + found.n_parameters + 1), np.zeros(engine.nz + 1)
        self.reached = np.zeros(1)
        lib = sundials()
        self.record = ResidualKernels(
            n, self.inputs.size, address_of(self.inputs), *(kernel.address for kernel in found.kernels),
            lib.address("N_VGetArrayPointer"), lib.address("SUNDenseMatrix_Data"),
        )  # fmt: skip
        functions = ida_residual.c_address, ida_jacobian.c_address
        self.session = IdaSession(functions, self.record.address, found.differential, **options)
        self.tested, self.tolerances = found.tested, (rtol, atol)

    def begin(self, form: SettledForm, t: float, z: np.ndarray, work: IdaWork) -> None:
        """Start at a consistent state, and have native code go on from there."""
        n, session = self.session.n, self.session
        self.inputs[1 + 2 * n : -1] = form.parameters(self.engine)
        y, ydot = form.start(self.engine, t, z)
        self.spent = self.counts()  # SUNDIALS counts from each beginning
        session.begin(y, ydot, *self._tolerances(form, t, z))
        self.record.origin = t
        work.kernels, work.memory = self.record.address, session.memory.value
        work.y, work.ydot, work.interpolated = session.y, session.ydot, session.interpolated
        work.y_entries, work.interpolated_entries = (
            address_of(session.array(vector)) for vector in (session.y, session.interpolated)
        )
        work.reached, work.output, work.n_output = address_of(self.reached), address_of(self.output), self.output.size
        work.at, work.own, work.since, work.tiny = t, 0.0, 0, 0

    def _tolerances(self, form: SettledForm, t: float, z: np.ndarray) -> tuple[float, np.ndarray]:
        """rtol and atol (ny,) of the variables of a form that begins at a state z."""
        engine, tested, order = self.engine, self.tested.copy(), form.order(self.engine)
        beyond = tested[len(order) :].any()
        units = np.ones(self.session.n)
        if beyond:
            units[:] = Scales.read(engine.work, engine.system).impulse(engine.system, t, z, engine.parameters)
        units[: len(order)] = engine.units[order]
        if engine.system.works:  # where q and u are easy, long steps would spoil the work done, and the energy with it
            tested[order.index(engine.size)] = True
        # The norm is a mean over all variables: its sum over the tested ones is to mean the same.
        share = np.sqrt(max(tested.sum(), 1) / len(tested))
        rtol, atol = self.tolerances
        return share * rtol, np.where(tested, share * atol * units, UNTESTED)

    def counts(self) -> dict[str, int]:
        """Evaluations of F and of its Jacobian, failed error tests and failed solutions in all."""
        return {name: self.spent[name] + count for name, count in self.session.counts()}


def _kernel(system: System, key: str, r: Residual, name: str) -> Kernel:
    """Machine code of F, of dF/dy + cj dF/dy' column by column, or of the state with the quality."""

    def build() -> ca.Function:
        cj = ca.SX.sym("cj")
        x = ca.vertcat(r.t, r.y, r.ydot, r.p, cj)
        if name == "residual":
            out = ca.densify(r.F)  # kernels write no zeros that the structure tells
        elif name == "jacobian":
            out = ca.reshape(r.jacobian(cj), r.size**2, 1)
        else:
            out = ca.vertcat(ca.densify(r.state), ca.SX(1) if r.quality is None else r.quality)
        return ca.Function(name, [x], [ca.cse(out)])

    return system.derived_kernel(f"IDA {name} {key}", build)

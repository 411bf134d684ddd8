"""Workspace of a Radau step, with the values remembered from the steps before.

The results do not depend on the remembered values: a matrix, a polynomial or a rate that does not belong to the current
state only costs iterations. Each carries a stamp by which such a mismatch is detected.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dalembert.native.intrinsics import record_at
from dalembert.native.kernel import Kernel
from dalembert.native.types import Record, floats, ints
from dalembert.native.workspace import Workspace
from dalembert.run.residuals.linearisation import Linearisation
from dalembert.solve.sparse_newton import SparseNewton
from dalembert.solve.static_elimination import NewtonMatrix, StaticElimination


class RadauWork(Record):
    """Sizes, kernels, blocks and settings of a Radau method."""

    _fields_ = (
        # Equations, parameters; kernels of F, of its derivatives, of the rates of constraints, of the power (0: none).
        *ints("ny n_parameters residual_kernel jacobian_kernel rates_kernel power_kernel"),
        # Blocks of floats: the kernels' input (t, y, y', p) and output F; y at the start; unknowns Z and W = T^-1 Z of
        # three stages; right-hand sides; the last collocation polynomial; the state of the Jacobian; rates at the start
        # and at the end of a step.
        *ints("input output start increments transformed sides polynomial jacobian_state rate_before rate_after"),
        # Marks of the pure constraint rows, rows whose multipliers the variables after z are (integers, -1: none); the
        # Newton matrix; Jacobians and factorisations made.
        *ints("pure multiplier_rows newton_matrix n_jacobians n_factors"),
        # Start and length (0: none) of the polynomial; time of the Jacobian (NaN: none); step of the factors (0: none);
        # last rate of convergence and the bound on the error it gives; norm of what rounding makes of the state, if the
        # iterations ended there (else 0).
        *floats("t_polynomial h_polynomial t_jacobian h_factors rate remaining rounding"),
        # Settings: share of the tolerance for Newton, rate up to which a Jacobian is kept, whether steps are fixed,
        # tolerances of the error test, most iterations.
        *floats("newton_tolerance keep_jacobian fixed rtol atol iterations"),
    )


radau_work, newton_matrix = record_at(RadauWork), record_at(NewtonMatrix)


def lay_out(
    work: Workspace,
    kernels: tuple[Kernel, ...],
    linearisation: Linearisation,
    elimination: StaticElimination | SparseNewton,
    rows: Sequence[int],
) -> RadauWork:
    """Record of a method without memory of earlier steps. A `SparseNewton` must live as long as it is used."""
    n, nz, p = len(linearisation.algebraic), work.plan.nz, kernels[0].n_in - 1 - 2 * len(linearisation.algebraic)
    blocks = {
        "input": 1 + 2 * n + p, "output": n, "start": n, "increments": 3 * n, "transformed": 3 * n, "sides": 3 * n,
        "polynomial": 4 * n, "jacobian_state": nz, "rate_before": nz, "rate_after": nz,
    }  # fmt: skip
    made, fresh = work.part("step_work", RadauWork, blocks, {"pure": n, "multiplier_rows": n - nz})
    made.ny, made.n_parameters = n, p
    made.residual_kernel, made.jacobian_kernel, made.rates_kernel = (kernel.address for kernel in kernels[:3])
    made.power_kernel = sum(kernel.address for kernel in kernels[3:])
    work.ints[made.pure : made.pure + n] = linearisation.algebraic
    work.ints[made.multiplier_rows : made.multiplier_rows + n - nz] = rows
    matrix = work.inner("step_work", NewtonMatrix)
    if fresh or isinstance(elimination, SparseNewton):  # whose functions are new ones
        elimination.place(work, matrix)
    made.newton_matrix = matrix.address
    made.t_jacobian, made.remaining = math.nan, 1.0
    return made

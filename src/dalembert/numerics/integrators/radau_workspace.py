"""Where a Radau step keeps what it works with and what it remembers, in `plan` and `mem`.

Nothing remembered is needed for a right answer: a matrix, a polynomial or a rate that does not belong to the state at
hand only costs iterations, and each carries a stamp by which that is found out.
"""

from __future__ import annotations

import numpy as np

from dalembert.equations.system import System
from dalembert.numerics import layout
from dalembert.numerics.linear.static_elimination import StaticElimination
from dalembert.numerics.residuals.linearisation import Linearisation

# Ints, relative to plan[STEP_INTS]: sizes; offsets into mem; counters; where the pure constraint rows are marked and
# where the description of the Newton matrix starts.
NY, N_PARAMETERS = range(2)
# The kernels' input (t, y, y', p) and output F; y at the start; unknowns Z and W = T^-1 Z of three stages; right-hand
# sides; the last collocation polynomial; the state of the Jacobian; rates at the start and at the end of a step.
INPUT, OUTPUT, START, INCREMENTS, TRANSFORMED, SIDES, POLYNOMIAL, JACOBIAN_STATE, RATE_BEFORE, RATE_AFTER = range(2, 12)
NUMBERS, N_JACOBIANS, N_FACTORS, PURE, NEWTON_MATRIX = range(12, 17)
INTS = 17
# Floats, relative to mem[plan[STEP_INTS + NUMBERS]]: start and length (0: none) of the polynomial; time of the Jacobian
# (NaN: none); step of the factors (0: none); last rate of convergence and the bound on the error it gives; options.
T_POLYNOMIAL, H_POLYNOMIAL, T_JACOBIAN, H_FACTORS, RATE, REMAINING, NEWTON_TOLERANCE, KEEP_JACOBIAN, FIXED = range(9)
RTOL, ATOL, ITERATIONS = range(9, 12)
FLOATS = 12


def room(system: System, linearisation: Linearisation, elimination: StaticElimination) -> tuple[int, int]:
    """Numbers of floats and ints of the workspace."""
    n, nz, p = len(linearisation.algebraic), _state_size(system), len(system.parameters)
    floats, ints = elimination.room
    return floats + sum(_lengths(n, nz, p)) + FLOATS, ints + INTS + n


def lay_out(
    plan: np.ndarray, mem: np.ndarray, system: System, linearisation: Linearisation, elimination: StaticElimination
) -> None:
    """Write sizes, offsets and lists, and forget everything remembered."""
    n, nz, p = len(linearisation.algebraic), _state_size(system), len(system.parameters)
    at, start = int(plan[layout.STEP_INTS]), int(plan[layout.STEP_FLOATS])
    lengths = _lengths(n, nz, p)
    ends = start + np.cumsum([0, *lengths])
    plan[at + NY], plan[at + N_PARAMETERS] = n, p
    plan[at + INPUT : at + NUMBERS + 1] = ends
    mem[start : ends[-1] + FLOATS] = 0.0
    mem[ends[-1] + T_JACOBIAN] = np.nan
    mem[ends[-1] + REMAINING] = 1.0
    plan[at + N_JACOBIANS] = plan[at + N_FACTORS] = 0
    plan[at + PURE], plan[at + NEWTON_MATRIX] = at + INTS, at + INTS + n
    plan[at + INTS : at + INTS + n] = linearisation.algebraic
    elimination.write(plan, at + INTS + n, int(ends[-1]) + FLOATS)


def _state_size(system: System) -> int:
    return system.nq + system.nu + int(system.works)


def _lengths(n: int, nz: int, p: int) -> list[int]:
    """Floats of INPUT, OUTPUT, START, INCREMENTS, TRANSFORMED, SIDES, POLYNOMIAL, and of the three states."""
    return [1 + 2 * n + p, n, n, 3 * n, 3 * n, 3 * n, 4 * n, nz, nz, nz]

"""Choice of the saddle solver: unrolled for small systems, else over the nonzeros or dense, by counted work."""

from __future__ import annotations

from dalembert.equations.system import System
from dalembert.errors import PairingError
from dalembert.run.drift.baumgarte import Baumgarte
from dalembert.run.drift.no_correction import NoCorrection
from dalembert.run.drift.projection import Projection
from dalembert.run.formulations.lagrange_multipliers import LagrangeMultipliers
from dalembert.solve.dense import DENSE
from dalembert.solve.solver import SaddleSolver
from dalembert.solve.sparse import SPARSE
from dalembert.solve.unrolled import LIMIT, count_work

PROMPT_SOLVE = 1000  # multiplications of an unrolled solve; with the projections compiled in 0.4 s, 1.1 s for 3000
# An unrolled solve of more than so many times the multiplications is no faster than the sparse one.
UNROLLED_SPEEDUP = 4
OVERHEAD = 20  # multiplications of the dense solve that take as long as one of the sparse solve
LARGEST_DENSE = 3000  # speeds and constraints: dense matrices of 0.1 GB and tens of seconds for one factorisation
AT_SIZE = (NoCorrection, Baumgarte, Projection)  # drift controls that work on nonzeros


def choose_solver(system: System, formulation: object, drift: object) -> SaddleSolver:
    """The solver of symmetric saddle matrices for a run with these ingredients: over the nonzeros, or dense.

    Raises `PairingError` if it must be the first, because the system is too large for dense matrices, and an ingredient
    cannot work with it.
    """
    solver = formulation.solver if isinstance(formulation, LagrangeMultipliers) else None
    able = system.ideal and isinstance(formulation, LagrangeMultipliers) and isinstance(drift, AT_SIZE)
    too_large = system.nu + system.nc > LARGEST_DENSE
    asked = solver is not None and solver.over_nonzeros
    if asked or too_large:
        if not able or not (solver is None or asked):
            raise _refusal(system, formulation, drift, asked=not too_large)
        return solver or SPARSE
    less_work = able and solver is None and system.kept("sparse is less work", lambda: _is_less_work(system))
    return SPARSE if less_work else solver or DENSE


def _refusal(system: System, formulation: object, drift: object, *, asked: bool) -> PairingError:
    """Why the nonzeros are needed and cannot be used."""
    n = system.nu + system.nc
    if not system.ideal:
        why = "reactions are not all ideal (servo, friction or constraints nonlinear in the accelerations)"
    elif not isinstance(formulation, LagrangeMultipliers) or not (formulation.solver or SPARSE).over_nonzeros:
        why = f"{formulation!r} works on dense matrices; use LagrangeMultipliers()"
    else:
        names = ", ".join(f"{kind.__name__}()" for kind in AT_SIZE)
        why = f"{type(drift).__name__} works on dense matrices; use one of {names}"
    need = "the sparse solver was asked for" if asked else f"{n:,} unknowns are too many for dense matrices"
    return PairingError(f"`{system.name}`: {need}, but {why}")


def _is_less_work(system: System) -> bool:
    n, sparse = system.nu + system.nc, system.structure.saddle_pattern.factors.work
    if system.functions.kinds is not None:  # nothing of it is unrolled
        return OVERHEAD * sparse < n**3 / 6
    unrolled = count_work(system.mechanics.M.sparsity(), system.mechanics.A.sparsity())
    if unrolled <= PROMPT_SOLVE:
        return False
    return not unrolled <= min(UNROLLED_SPEEDUP * sparse, LIMIT) and OVERHEAD * sparse < n**3 / 6

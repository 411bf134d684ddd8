"""`Sizing`: inputs of sizes for native code, by nonzeros, for dense and sparse matrices."""

from __future__ import annotations

import numpy as np

from dalembert.equations.coordinate_kinds import kinds_of
from dalembert.equations.system import System
from dalembert.native.intrinsics import record_at
from dalembert.native.types import Record, ints
from dalembert.native.workspace import Workspace


class Sizing(Record):
    """The kernel "geometry", where it writes, how many rows phi and the invariants are; lists in the integers.

    `kinds` of coordinates; `inertias`: where in mem the diagonal of M is. The nonzeros of A by rows: starts, columns,
    places in mem; those of G, the gradients of phi and the invariants in q, and of C: starts and columns, and where in
    mem they follow each other; `before`: room to keep those of G. Whether rows depend on the
    time, what it makes of them, and of speeds (see `run.drives`).
    """

    _fields_ = (
        *ints("kernel out levels kinds inertias"),
        *ints("a_starts a_columns a_places"),
        *ints("g_starts g_columns gradients c_starts c_columns leads before"),
        *ints("driven drives driven_speeds"),
    )


sizing_at = record_at(Sizing)


def lay_out_sizing(system: System, work: Workspace, *, sparse: bool) -> Sizing:
    """Room for the kernel and the lists; the record must live as long as the workspace.

    The blocks plan.mass and plan.jacobian are dense or hold nonzeros, as `solve.sparse_layout` lists them.
    """
    m, plan, kernel = system.structure, work.plan, system.kernel("geometry")
    found = Sizing(kernel=kernel.address, levels=plan.np + plan.ni, driven=int(system.is_driven))
    pattern, G, C = m.saddle_pattern, m.position_pattern, m.kinematic_pattern
    starts = np.minimum(pattern.starts, pattern.starts[system.nc - system.curved])  # curved rows are empty
    columns = pattern.columns[: starts[-1]]
    if sparse:
        inertias, places = np.flatnonzero(pattern.mass_rows == pattern.mass_columns), np.arange(len(columns))
    else:
        inertias, places = np.arange(plan.nu) * (plan.nu + 1), pattern.rows[: len(columns)] * plan.nu + columns
    lists = {
        "kinds": kinds_of(system), "inertias": plan.mass + inertias,
        "a_starts": starts, "a_columns": columns, "a_places": plan.jacobian + places,
        "g_starts": G.colind(), "g_columns": G.row(), "c_starts": C.colind(), "c_columns": C.row(),
    }  # fmt: skip
    room = {"out": kernel.n_out, "before": G.nnz(), "drives": 2 * plan.np + plan.nv, "driven_speeds": plan.nu}
    work.reserve(found, room, {name: len(values) for name, values in lists.items()})
    for name, values in lists.items():
        start = getattr(found, name)
        work.ints[start : start + len(values)] = values
    found.gradients = found.out + found.levels
    found.leads = found.gradients + G.nnz()
    plan.sizing = found.address
    return found

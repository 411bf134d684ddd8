"""The runs of a sweep as points of a live page: varied values, results, and which runs went well."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.equations.system import System
from dalembert.errors import OptionError, PairingError
from dalembert.motion.state import State

if TYPE_CHECKING:
    import xarray as xr

RUNS_PER_PAGE = 5_000  # each is a point
FINAL = "_final"


def read_runs(system: System, runs: xr.Dataset) -> dict[str, Any]:
    """Points as JSON: `columns` by name, None where a value is missing; the names that `varied`; `ok`; `finals`.

    `finals` are columns that hold a coordinate or speed at the end, with its place in z: the page compares with them.
    """
    if runs.attrs.get("system") != system.name:
        raise PairingError(
            f"the runs are of `{runs.attrs.get('system')}`, not of `{system.name}`; pass what its own sweep returned"
        )
    varied = _varied(system, runs)
    frame = runs.drop_dims("t", errors="ignore").to_dataframe().reset_index()
    if not 0 < len(frame) <= RUNS_PER_PAGE:
        raise OptionError(
            f"there are {len(frame):,} runs; a page shows 1 to {RUNS_PER_PAGE:,}: select some with runs.isel(...)"
        )
    outputs = [str(name) for name in runs.data_vars if name in frame and frame[name].dtype.kind == "f"]
    columns = {name: _numbers(frame[name].to_numpy(dtype=float)) for name in (*varied, *outputs)}
    z = (*system.coordinates, *system.speeds)
    finals = {name: z.index(name.removesuffix(FINAL)) for name in outputs if name.removesuffix(FINAL) in z}
    finals = {name: k for name, k in finals.items() if name.endswith(FINAL)}
    ok = frame["ok"].to_numpy(dtype=bool).tolist()
    return {"varied": varied, "columns": columns, "outputs": outputs, "ok": ok, "finals": finals}


def with_varied(state: State, sliders: Iterable[Any], points: Mapping[str, Any]) -> dict[Any, Any]:
    """The sliders, and one for each name that varied among the runs, which covers them and the value of the state."""
    listed = [sliders] if isinstance(sliders, str) else sliders
    chosen: dict[Any, Any] = dict(listed) if isinstance(listed, Mapping) else dict.fromkeys(listed)
    for name in points["varied"]:
        values = [v for v in points["columns"][name] if v is not None]
        low, high = min(*values, state[name]), max(*values, state[name])
        chosen.setdefault(name, (low, high) if low < high else None)
    return chosen


def _varied(system: System, runs: xr.Dataset) -> list[str]:
    known = (*system.parameters, *system.coordinates, *system.speeds)
    names = [str(name) for name in runs.coords if name != "t"]
    for name in names:
        if name in ("rtol", "atol") or "." in name:
            raise PairingError(f"`{name}` varied among the runs; a page varies parameters, coordinates and speeds only")
    return [name for name in names if name in known]


def _numbers(values: np.ndarray) -> list[float | None]:
    return [float(v) if np.isfinite(v) else None for v in values]

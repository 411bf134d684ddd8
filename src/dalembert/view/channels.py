"""Curves of a report: every quantity of a motion over time, by group and name, at the times of its pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.motion.motion import Motion
from dalembert.motion.tables import columns_of, output_names
from dalembert.view.panels import NamedCurves

FIRST_CURVES = 4  # curves of a group that are shown at first
MOST_COLUMNS = 60  # columns of points beyond which only positions are offered


@dataclass(frozen=True, eq=False)
class Group:
    """Curves of one kind: values (nt,) by name; NaN where one does not exist. `log`: sizes on a logarithmic axis."""

    name: str
    columns: NamedCurves
    shown: tuple[str, ...]
    log: bool = False


def groups_of(parts: tuple[Motion, ...]) -> list[Group]:
    """The groups of a motion given in parts, one per segment; those without a curve are left out."""
    stated = _joined(parts, lambda p: columns_of(p, output_names(p)))
    found = [
        Group("outputs", stated, _first(stated)),
        _plain("coordinates", _joined(parts, lambda p: dict(zip(p.system.coordinates, p.q.T, strict=True)))),
        _plain("speeds", _joined(parts, lambda p: dict(zip(p.system.speeds, p.u.T, strict=True)))),
        _hidden("accelerations", _joined(parts, _accelerations)),
        _forces(parts),
        _hidden("multipliers", _joined(parts, lambda p: dict(zip(p.constraint_names, p.multipliers.T, strict=True)))),
        _hidden("generalised reactions", _joined(parts, lambda p: _reactions(p) if p.system.nc else {})),
        _hidden("joints and force elements", _joined(parts, _joints_and_elements)),
        _hidden("points and bodies", _joined(parts, _points)),
        Group("energy", _joined(parts, _energies), ("kinetic", "potential", "total")),
        Group("constraint violation", _joined(parts, _violations), ("largest",), log=True),
    ]
    return [group for group in found if group.columns]


def reactions_by_joint(part: Motion) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Force (nt, 3) and torque (nt, 3) on the second body by joint, of one segment."""
    return {name: tuple(part.joint_reaction(name)) for name in part.system.joints}  # type: ignore[misc]


def _forces(parts: tuple[Motion, ...]) -> Group:
    """Forces and torques of joints: their sizes first, then the components."""

    def columns(part: Motion) -> NamedCurves:
        found: dict[str, np.ndarray] = {}
        for name, (force, torque) in reactions_by_joint(part).items():
            found[f"|F| {name}"] = np.linalg.norm(force, axis=1)
            for what, values in (("F", force), ("T", torque)):
                found |= {f"{what}.{axis} {name}": values[:, k] for k, axis in enumerate("xyz") if values[:, k].any()}
        return found

    joined = _joined(parts, columns)
    return Group("reactions by joint", joined, tuple(name for name in joined if name.startswith("|F|"))[:FIRST_CURVES])


def _joined(parts: tuple[Motion, ...], read: Callable[[Motion], NamedCurves]) -> NamedCurves:
    """The columns that `read` gives of every part, one after the other; NaN where a part does not have one."""
    read_parts = [read(part) for part in parts]
    names: Iterable[str] = dict.fromkeys(name for columns in read_parts for name in columns)
    return {
        name: np.concatenate([c.get(name, np.full(len(p), np.nan)) for c, p in zip(read_parts, parts, strict=True)])
        for name in names
    }


def _first(columns: NamedCurves) -> tuple[str, ...]:
    return tuple(columns)[:FIRST_CURVES]


def _plain(name: str, columns: NamedCurves) -> Group:
    return Group(name, columns, _first(columns))


def _hidden(name: str, columns: NamedCurves) -> Group:
    return Group(name, columns, ())


def _reactions(part: Motion) -> NamedCurves:
    return {f"reaction({u})": r for u, r in zip(part.system.speeds, part.reactions.T, strict=True)}


def _accelerations(part: Motion) -> NamedCurves:
    return {f"{u}'": values for u, values in zip(part.system.speeds, part.udot.T, strict=True)}


def _joints_and_elements(part: Motion) -> NamedCurves:
    groups = ("joint_motion", "element_efforts")
    return columns_of(part, [q.name for q in part.system.quantities if q.group in groups])


def _points(part: Motion) -> NamedCurves:
    """Positions, velocities and angular velocities of particles and bodies."""
    named = [q for q in part.system.quantities if q.group == "point_motion" and q.shape == (3,)]
    if 3 * len(named) > MOST_COLUMNS:
        named = [q for q in named if q.name.endswith(".position")][: MOST_COLUMNS // 3]
    return {name: values for name, values in columns_of(part, [q.name for q in named]).items() if values.any()}


def _energies(part: Motion) -> NamedCurves:
    e = part.evaluation
    found = {"kinetic": e.kinetic, "potential": e.potential, "total": part.energy}
    return found | ({"work done": part.work} if part.system.works else {}) | {"balance": part.energy_balance}


def _violations(part: Motion) -> NamedCurves:
    sizes = {
        f"{name} ({level})": np.abs(values)
        for level, columns in part.violation.items()
        for name, values in columns.items()
        if level != "acceleration"
    }
    return {"largest": np.max(list(sizes.values()), axis=0), **sizes} if sizes else {}

"""Motions from files: from arrays that `Motion.save` wrote, and from folders that runs wrote to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.equations.system import System
from dalembert.errors import FileError
from dalembert.motion.archive import check_times, facts_in, floats_in, read_archive, reading
from dalembert.motion.equation_residuals import equation_residuals
from dalembert.motion.files import array_shapes, energies_in, passages_in, system_of, unpacked
from dalembert.motion.motion import Motion
from dalembert.motion.store import UNFINISHED, read_store
from dalembert.run.accelerations import solver_engine
from dalembert.run.scales import Scales
from dalembert.run.storage import IN_MEMORY, Folder

if TYPE_CHECKING:
    from dalembert.run.evaluation import Evaluation


def load_motion(path: str | Path, system: System) -> Motion:
    """The motion in a file or folder, see `Motion.load`."""
    if Path(path).is_dir():
        return _stored_motion(Path(path), system)
    data = read_archive(path, Motion.kind)
    with reading(path, Motion.kind):
        return restored(data, [system], str(path))


def restored(data: Mapping[str, np.ndarray], systems: Sequence[System], source: str) -> Motion:
    """The motion of `stored` arrays, of one of the systems; `source` says where they come from."""
    facts = facts_in(data, "facts")
    system = system_of(facts["system"], systems)
    if facts["names"] != [*system.coordinates, *system.speeds]:
        raise FileError(f"{source} holds a motion of `{facts['system'][0]}` ({facts['names']}), not of `{system.name}`")
    arrays = floats_in(data, array_shapes(system, len(data["t"])))
    check_times(arrays["t"])
    solved = {name: arrays.pop(name) for name in ("udot", "multipliers")}
    motion = Motion(system=system, **_ending(facts, system, systems), **arrays)
    return replace(motion, known=_judged(motion, **solved))


def _stored_motion(path: Path, system: System) -> Motion:
    """The motion in a folder; accelerations and multipliers are solved for anew where they are asked for."""
    note, t, z = read_store(path, system)
    with reading(path, Motion.kind):
        ended = "files" in note
        arrays = floats_in(note, {"parameters": (len(system.parameters),)})
        facts = note if ended else {"message": UNFINISHED, "events": {"watched": [], "found": []}} | note
        n, size = system.nq, system.nq + system.nu
        work = z[:, size] if system.works else np.zeros(len(t))
        storage = Folder(path) if ended else IN_MEMORY  # samples of a killed run are in several files, and joined
        return Motion(
            system=system, t=t, q=z[:, :n], u=z[:, n:size], work=work, storage=storage,
            **_ending(facts, system, [system]), **arrays,
        )  # fmt: skip


def _ending(facts: Mapping[str, Any], system: System, systems: Sequence[System]) -> dict[str, Any]:
    """Facts of the run in a file, as arguments of `Motion`."""
    return {
        "success": facts.get("success") is True,
        "message": str(facts["message"]),
        "stats": {str(what): int(count) for what, count in facts.get("stats", {}).items()},
        "told": str(facts.get("method", "")),
        "events": unpacked(facts["events"], systems),
        "scales": _read_scales(system, facts.get("scales", [])),
        "passages": passages_in(facts),
        "energies": energies_in(facts),
    }


def _judged(motion: Motion, udot: np.ndarray, multipliers: np.ndarray) -> Evaluation:
    """Evaluation of the samples with these accelerations (nt, nu) and multipliers (nt, nc), which are not trusted.

    They are substituted into the equations. The residuals show their errors.
    """
    engine = solver_engine(motion.system, motion.parameters)
    engine.take_scales(motion.sizes if len(motion) else None)
    if motion.system.ideal or not len(motion):
        return motion.evaluated(engine, udot, multipliers)
    fresh = motion.evaluated(engine)
    motion = replace(motion, known=replace(fresh, udot=udot, multipliers=multipliers))
    acceleration, balance = equation_residuals(motion, motion.sizes)
    return replace(motion.evaluation, acceleration=acceleration, balance=balance)


def _read_scales(system: System, values: list[float]) -> Scales | None:
    """The sizes a file holds; None if it has none, or they are not those of the system."""
    n_p, n_v = system.count("position"), system.count("velocity")
    sizes = np.array(values, dtype=float)
    fits = sizes.shape == (system.nq + system.nu + 2 * n_p + n_v + 2,) and (sizes > 0.0).all()
    return Scales(sizes, system.nq, system.nu, n_p) if fits and np.isfinite(sizes).all() else None

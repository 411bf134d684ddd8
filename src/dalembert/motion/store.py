"""Motions in a folder, written while they run and memory-mapped, for motions too large for memory.

The folder holds the samples as .npy files - `0.t.npy` the times (nt,), `0.z.npy` the states (nt, nz), (q, u) and the
work done - and `motion.json`: whose motion it is and, once the run has ended, how, with the checksums of the files. A
run that was killed leaves all samples it had; its parts are in several tables then, in the order of their numbers.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.equations.system import System
from dalembert.errors import FileError, OptionError
from dalembert.file_writing import write_file, writing
from dalembert.free_memory import check_memory
from dalembert.motion.archive import check_times, reading
from dalembert.motion.files import identity
from dalembert.run.storage import BLOCK, HEAD, Folder

if TYPE_CHECKING:
    from dalembert.motion.motion import Motion

KIND, VERSION = "stored motion", 1
NOTE = "motion.json"
UNFINISHED = "the run did not end by itself: the process that wrote this was stopped"
_TABLE = re.compile(r"([0-9]+)\.(t|z)\.npy")


def begin_store(path: str | Path, system: System, parameters: np.ndarray, samples: int | None) -> Folder:
    """Prepare a folder for a motion, of so many samples if the number is known. Replaces a motion that is there.

    Raises `FileError` if something else is there, or if the disk has not enough room.
    """
    if not isinstance(path, str | os.PathLike):
        raise OptionError(f"store={path!r} is no path; write store='run'")
    folder = Path(path)
    with writing(folder):
        old = _old_files(folder)
        folder.mkdir(parents=True, exist_ok=True)
        needed = 8 * (samples or 0) * (1 + system.nq + system.nu + system.works)
        free = shutil.disk_usage(folder).free + sum(file.stat().st_size for file in old)
        if needed > free:
            raise FileError(
                f"{folder}: {samples:,} samples of `{system.name}` need {needed / 1e9:.2g} GB on disk, "
                f"{free / 1e9:.2g} GB are free; give fewer times in t_eval="
            )
        for file in old:
            file.unlink()
        facts = {"system": identity(system), "names": [*system.coordinates, *system.speeds]}
        _write_note(folder, facts | {"parameters": parameters.tolist(), "works": system.works})
    return Folder(folder)


def end_store(motion: Motion) -> None:
    """Record in the folder how a motion ended, with checksums, and remove the tables of all parts but the last."""
    if not isinstance(motion.storage, Folder):
        return
    folder = motion.storage.path
    with writing(folder):
        tables = _tables(folder)
        last = max(tables, default=0)
        for number in tables:
            for file in _files(folder, number) if number != last else ():
                file.unlink(missing_ok=True)
        sums = {file.name: _checksum(file) for file in _files(folder, last) if file.exists()}
        _write_note(folder, _note(folder) | motion.ending() | {"files": sums})


def read_store(path: str | Path, system: System) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """Read the note of a folder with a motion of a system, and the samples t (nt,) and z (nt, nz).

    The samples are memory-mapped if the run has ended.
    """
    folder = Path(path)
    note = _note(folder)
    with reading(folder, "motion"):
        names = [*system.coordinates, *system.speeds]
        if note["names"] != names:
            raise FileError(f"{folder} holds a motion of `{note['system'][0]}`, not of `{system.name}`")
        parts = [[_mapped(file) for file in _files(folder, number)] for number in _begun(folder)]
        if "files" not in note:  # it may have been killed while a block of rows was written to one of two files
            parts = [[column[: min(map(len, part))] for column in part] for part in parts]
        width = len(names) + (note["works"] is True)
        if any(z.shape != (len(t), width) for t, z in parts):
            raise FileError(f"{folder} is damaged: its tables do not fit together; restore it from a copy")
        if "files" not in note:
            return note, *_rescued(parts, width)
        own = {file.name for number in _begun(folder) for file in _files(folder, number)}
        if not own.issuperset(note["files"]):
            raise FileError(f"{folder} is damaged: its {NOTE} names files that are not of a motion")
        if any(_checksum(folder / name) != known for name, known in note["files"].items()):
            raise FileError(f"{folder} is damaged: samples do not match their SHA-256 checksum; restore it from a copy")
        t, z = parts[0] if parts else (np.zeros(0), np.zeros((0, width)))
        check_times(t)
    return note, t, z


def _rescued(parts: list[list[np.ndarray]], width: int) -> tuple[np.ndarray, np.ndarray]:
    """Samples of a run that was killed: of each part, those later than all samples before it."""
    times, states, last = [np.zeros(0)], [np.zeros((0, width))], -np.inf
    for t, z in parts:
        later = t > last
        times.append(t[later])
        states.append(z[later])
        last = t[-1] if len(t) else last
    return np.concatenate(times), np.concatenate(states)


def _old_files(folder: Path) -> list[Path]:
    """The files of the motion in a folder. Raises `FileError` if it contains other files."""
    if not folder.exists():
        return []
    found = sorted(folder.iterdir()) if folder.is_dir() else [folder]
    own = [file for file in found if file.is_file() and (file.name == NOTE or _TABLE.fullmatch(file.name))]
    if own != found or not folder.is_dir() or (found and folder / NOTE not in found):
        raise FileError(f"{folder} exists and is not a folder with nothing but a motion in it; choose another name")
    if found:
        try:
            _note(folder)
        except FileError as error:
            raise FileError(f"{error}; it stays as it is, choose another name") from error
    return found


def _tables(folder: Path) -> list[int]:
    found = (_TABLE.fullmatch(entry.name) for entry in folder.iterdir())
    return sorted({int(match[1]) for match in found if match})


def _begun(folder: Path) -> list[int]:
    """The tables whose files all have at least a head."""
    return [n for n in _tables(folder) if all(f.exists() and f.stat().st_size >= HEAD for f in _files(folder, n))]


def _files(folder: Path, number: int) -> Iterator[Path]:
    return (folder / f"{number}.{name}.npy" for name in ("t", "z"))


def _mapped(file: Path) -> np.ndarray:
    return np.asarray(np.load(file, mmap_mode="r", allow_pickle=False))


def _checksum(file: Path) -> str:
    found = hashlib.sha256()
    with file.open("rb") as content:
        while block := content.read(BLOCK):
            found.update(block)
    return found.hexdigest()


def _write_note(folder: Path, facts: dict[str, Any]) -> None:
    text = json.dumps({"kind": KIND, "version": VERSION} | facts)
    write_file(folder / NOTE, text)


def _note(folder: Path) -> dict[str, Any]:
    place = folder / NOTE
    if place.exists() and not place.is_file():
        raise FileError(f"{place} is not a regular file")
    try:
        check_memory(10 * place.stat().st_size, f"reading {place}", "no motion has a file of this size")
        note = json.loads(place.read_bytes())
    except FileNotFoundError as error:
        raise FileError(f"{folder} is not a regular file, nor a folder written by simulate(store=...)") from error
    except OSError as error:
        raise FileError(f"{folder} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise FileError(f"{folder} is not a folder written by simulate(store=...): {error}") from error
    if not isinstance(note, dict) or note.get("kind") != KIND:
        raise FileError(f"{folder} is not a folder written by simulate(store=...)")
    if note.get("version") != VERSION:
        raise FileError(f"{folder} has version {note.get('version')} of the format; this dalembert reads {VERSION}")
    return note

"""Models written as text: a TOML file with symbols, masses, forces, constraints, the start and the span of a motion."""

from __future__ import annotations

import keyword
import math
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

from dalembert.errors import ModelError, UnknownNameError
from dalembert.importers.expression_text import RESERVED, ExpressionText
from dalembert.model.model import Model
from dalembert.model.statement import Body, Particle

NAMES = ("coordinates", "speeds", "unknowns")
TABLES = {  # keys of tables that are not free to choose; None where they are names of symbols
    "parameters": None,
    "definitions": None,
    "kinematics": None,
    "generalized_forces": None,
    "energy": ("kinetic", "potential"),
    "initial": ("given", "guess"),
    "run": ("t_end", "rtol", "atol"),
}
LISTS = {  # keys an entry must have, and those it may have
    "particles": (("name", "mass"), ("position", "velocity")),
    "bodies": (("name", "mass", "inertia"), ("position", "rotation", "velocity", "angular_velocity")),
    "forces": (("vector", "at"), ()),
    "torques": (("vector", "on"), ()),
    "constraints": (("expression",), ("name", "servo", "unit")),
    "lines": (("points",), ("name",)),
}
KEYS = ("name", "gravity", *NAMES, *TABLES, *LISTS)
T_END = 10.0


@dataclass(frozen=True, eq=False)
class ModelFile:
    """What a model file says: the model, its start and its run.

    `given` and `guess` are what `System.initial` takes, `tolerances` (rtol, atol; those that are stated) what an
    integrator takes: `system.simulate(state, file.t_end, integrator=da.Automatic(**file.tolerances))`.
    """

    path: Path
    model: Model
    given: Mapping[str, float]
    guess: Mapping[str, float]
    t_end: float
    tolerances: Mapping[str, float]


def from_toml(path: str | Path) -> ModelFile:
    """The model, start and span that a TOML file states; raises `ModelError` with all faults of the file.

    Expressions are texts such as "x**2 + y**2 - L**2" of declared names, pi, t, the functions sin cos tan asin acos
    atan atan2 sinh cosh tanh exp log sqrt Abs sign Min Max, and rates diff(x), diff(x, 2). They are read, never run.
    """
    path = Path(path)
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(str(path), [f"the file cannot be read: {error.strerror}"]) from error
    except tomllib.TOMLDecodeError as error:
        raise ModelError(str(path), [f"this is not TOML: {error}"]) from error
    except UnicodeDecodeError as error:
        raise ModelError(str(path), [f"the file is not UTF-8 text: {error.reason} at byte {error.start}"]) from error
    return _Reading(path, tables).file()


class _Reading:
    """One file on its way into a model; faults add up until the end."""

    def __init__(self, path: Path, tables: Mapping[str, Any]) -> None:
        self.path, self.faults = path, list[str]()
        self.points: dict[str, Particle | Body | None] = {}  # None for those that are at fault themselves
        self.tables = self._shaped(tables)
        self.model = Model(self._text(tables.get("name", path.stem), "name") or path.stem)
        definitions = {_spelt(name): text for name, text in self.tables["definitions"].items()}
        self.text = ExpressionText({}, definitions, self.model.t, self._fault)

    def file(self) -> ModelFile:
        """All that the file says, or all of its faults."""
        self._declare()
        self._state_inertia()
        self._state_loads()
        self._state_constraints()
        self._check_definitions()
        given, guess = (self._start(key) for key in ("given", "guess"))
        run = {key: self._positive(v, f"[run] {key}") for key, v in self.tables["run"].items()}
        if self.faults or self.model.statement.faults:
            raise ModelError(str(self.path), [*self.faults, *self.model.statement.faults])
        return ModelFile(self.path, self.model, given, guess, run.pop("t_end", T_END), run)

    # -- shape -----------------------------------------------------------------------------------------------------

    def _fault(self, message: str) -> None:
        if message not in self.faults:
            self.faults.append(message)

    def _shaped(self, tables: Mapping[str, Any]) -> dict[str, Any]:
        """Every table and list of tables there can be, empty where the file has none or a wrong one."""
        self._check_keys(tables, KEYS, "the file")
        shaped: dict[str, Any] = {}
        for name, keys in TABLES.items():
            shaped[name] = self._table(tables.get(name, {}), f"[{name}]")
            if keys is not None:
                self._check_keys(shaped[name], keys, f"[{name}]")
        for name, (needed, optional) in LISTS.items():
            entries = tables.get(name, [])
            if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
                self._fault(f"`{name}` must be a list of tables, each under [[{name}]], got {entries!r}")
                entries = []
            shaped[name] = []
            for k, entry in enumerate(entries, 1):
                where = f"[[{name}]] {entry.get('name', k)}"
                self._check_keys(entry, (*needed, *optional), where)
                missing = [key for key in needed if key not in entry]
                if missing:
                    self._fault(f"{where} needs {' and '.join(f'`{key}`' for key in missing)}")
                    self.points[str(entry.get("name"))] = None
                else:
                    shaped[name].append((where, entry))
        return shaped | {key: tables[key] for key in ("gravity", *NAMES) if key in tables}

    def _check_keys(self, found: Iterable[str], known: Iterable[str], where: str) -> None:
        for key in found:
            if key not in known:
                self._fault(str(UnknownNameError(key, known, where)))

    def _table(self, value: Any, where: str) -> dict[str, Any]:
        if isinstance(value, dict):
            return value
        self._fault(f"{where} must be a table of names and values, got {value!r}")
        return {}

    def _text(self, value: Any, where: str) -> str:
        if isinstance(value, str):
            return value
        self._fault(f"{where} must be a text, got {value!r}")
        return ""

    def _number(self, value: Any, where: str) -> float:
        """A number, or the value of a text such as "10*pi/180"."""
        known = len(self.faults)
        read = ExpressionText({}, {}, self.model.t, self._fault).read(value, where)
        if len(self.faults) > known:
            return 0.0
        number = self.model.number(read, where)
        return number if math.isfinite(number) else 0.0

    def _positive(self, value: Any, where: str) -> float:
        known = len(self.faults) + len(self.model.statement.faults)
        number = self._number(value, where)
        if number <= 0 and known == len(self.faults) + len(self.model.statement.faults):
            self._fault(f"{where} is {number:g}; it must be positive")
        return number

    # -- statements ------------------------------------------------------------------------------------------------

    def _names(self, kind: str) -> list[str]:
        """The names of a list, without those that no expression could contain."""
        names = self.tables.get(kind, [])
        if not isinstance(names, list):
            self._fault(f'`{kind}` must be a list of names such as ["x", "y"], got {names!r}')
            return []
        return [name for name in names if self._fits(name, f"`{kind}`")]

    def _fits(self, name: Any, where: str) -> bool:
        if isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name) and name not in RESERVED:
            return True
        self._fault(f"{where}: {name!r} cannot be a name; use letters, digits and _, and no word with a meaning")
        return False

    def _declare(self) -> None:
        """Symbols and kinematics."""
        model, tables, symbols = self.model, self.tables, self.text.symbols
        coordinates, speeds, unknowns = (self._names(kind) for kind in NAMES)
        if coordinates:
            model.coordinates([dynamicsymbols(name) for name in coordinates])
        if unknowns:
            model.unknowns(" ".join(unknowns))
        parameters = {name: v for name, v in tables["parameters"].items() if self._fits(name, "[parameters]")}
        values = {sp.Symbol(name): self._number(v, f"[parameters] {name}") for name, v in parameters.items()}
        model.parameters(values)
        symbols.update({_spelt(p.name): p for p in values})
        symbols.update({_spelt(name): dynamicsymbols(name) for name in (*coordinates, *speeds, *unknowns)})
        self._check_keys(tables["kinematics"], coordinates, "the coordinates ([kinematics])")
        texts = {q: text for q, text in tables["kinematics"].items() if q in coordinates}
        rates = {dynamicsymbols(q): self.text.read(text, f"[kinematics] {q}") for q, text in texts.items()}
        if speeds:
            model.speeds([dynamicsymbols(name) for name in speeds], kinematics=rates or None)
        elif rates:
            self._fault("[kinematics] gives rates in terms of speeds; name these by `speeds`")
        symbols.update({_spelt(name): f for name, f in self._functions().items()})

    def _functions(self) -> dict[str, sp.Expr]:
        """Coordinates and speeds by name, also those that the model made: default speeds, absolute coordinates."""
        closed = self.model.closed()
        return {f.func.__name__: f for f in (*closed.coordinates, *closed.speeds)}

    def _read(self, value: Any, where: str) -> Any:
        """Expressions in the lists in which they were written."""
        if isinstance(value, list):
            return [self._read(entry, f"{where}[{k}]") for k, entry in enumerate(value)]
        return self.text.read(value, where)

    def _state_inertia(self) -> None:
        for kind, state in (("bodies", self.model.body), ("particles", self.model.particle)):
            for where, entry in self.tables[kind]:
                if not self._fits(entry["name"], where):
                    continue
                values = {key: self._read(v, f"{where}, {key}") for key, v in entry.items() if key != "name"}
                known = {key: v for key, v in values.items() if key in (*LISTS[kind][0], *LISTS[kind][1])}
                self.points[entry["name"]] = state(entry["name"], **known)
                self.text.symbols.update({_spelt(name): f for name, f in self._functions().items()})

    def _state_loads(self) -> None:
        tables, model = self.tables, self.model
        if "gravity" in tables:
            model.gravity(self._read(tables["gravity"], "gravity"))
        for where, entry in tables["forces"]:
            vector, at = self._read(entry["vector"], f"{where}, vector"), self._place(entry["at"], f"{where}, at")
            if at is not None:
                model.force(vector, at=at)
        for where, entry in tables["torques"]:
            vector, on = self._read(entry["vector"], f"{where}, vector"), self._place(entry["on"], f"{where}, on")
            if on is not None:
                model.torque(vector, on=on)
        functions, forces = self._functions(), tables["generalized_forces"]
        self._check_keys(forces, functions, "the coordinates and speeds ([generalized_forces])")
        read = {name: self.text.read(e, f"[generalized_forces] {name}") for name, e in forces.items()}
        if read:
            model.generalized_force({functions[name]: e for name, e in read.items() if name in functions})
        kinetic, potential = (
            self.text.read(tables["energy"].get(key, 0), f"[energy] {key}") for key in ("kinetic", "potential")
        )
        if tables["energy"]:
            model.energy(kinetic=kinetic, potential=potential)

    def _place(self, value: Any, where: str) -> Any:
        """A particle or body by its name, or a position; None after a fault."""
        if not isinstance(value, str):
            return self._read(value, where)
        if value not in self.points:
            self._fault(f"{where}: {UnknownNameError(value, self.points, 'the particles and bodies')}")
        return self.points.get(value)

    def _state_constraints(self) -> None:
        for where, entry in self.tables["constraints"]:
            expression = self._read(entry["expression"], f"{where}, expression")
            name, servo, unit = (
                self._texts(entry[key], f"{where}, {key}") if key in entry else None
                for key in ("name", "servo", "unit")
            )
            self.model.constrain(expression, name=name, servo=servo, unit=unit or "")
        for where, entry in self.tables["lines"]:
            points = entry["points"]
            if isinstance(points, list):
                places = [self._place(p, f"{where}, points[{k}]") for k, p in enumerate(points)]
                points = [place for place in places if place is not None]
            self.model.line(points, name=self._texts(entry["name"], f"{where}, name") if "name" in entry else None)

    def _texts(self, value: Any, where: str) -> Any:
        """A text, or a list of them."""
        return [self._text(entry, where) for entry in value] if isinstance(value, list) else self._text(value, where)

    def _check_definitions(self) -> None:
        s = self.model.statement
        taken = {*self._functions(), *(y.func.__name__ for y in s.unknowns), *(p.name for p in s.parameters)}
        for name in self.tables["definitions"]:
            if self._fits(name, "[definitions]") and name in taken:
                self._fault(f"[definitions] {name}: this name is declared already; choose another one")
        self.text.read_definitions()

    def _start(self, key: str) -> dict[str, float]:
        """Initial values by name; what `System.initial` knows beyond symbols and constraints is left to it."""
        values = self._table(self.tables["initial"].get(key, {}), f"[initial] {key}")
        s = self.model.statement
        known = [*self._functions(), *(y.func.__name__ for y in s.unknowns), *(c.name for c in s.constraints)]
        self._check_keys((name for name in values if name.isidentifier()), known, f"the state ([initial] {key})")
        return {name: self._number(v, f"[initial] {key}.{name}") for name, v in values.items()}


def _spelt(name: str) -> str:
    """A name as Python's parser spells it."""
    return unicodedata.normalize("NFKC", name)

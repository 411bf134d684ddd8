"""Models written as text: a TOML file with symbols, masses, forces, constraints, the start and the span of a motion."""

from __future__ import annotations

import keyword
import math
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sympy as sp

from dalembert.errors import ModelError, UnknownNameError
from dalembert.importers.expression_text import RESERVED, ExpressionText
from dalembert.importers.limits import (
    DEEPEST,
    LARGEST_VALUE,
    MOST_COORDINATES,
    MOST_FAULTS,
    brief,
    check_content,
    read_text,
)
from dalembert.importers.model_tables import NAMES, check_keys, read_table, read_tables
from dalembert.model.model import Model
from dalembert.model.statement import Body, Particle
from dalembert.model.time_symbols import function_of_time
from dalembert.printable import controls_in, printable

T_END = 10.0


@dataclass(frozen=True, eq=False)
class ModelFile:
    """The content of a model file: the model, its initial state and its run.

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
    """The model, initial state and duration in a TOML file; raises `ModelError` with all faults of the file.

    Expressions are strings such as "x**2 + y**2 - L**2" of declared names, pi, t, the functions sin cos tan asin acos
    atan atan2 sinh cosh tanh exp log sqrt Abs sign Min Max, and rates diff(x), diff(x, 2). They are parsed, never
    executed. Size, depth and numbers of a file are limited (`dalembert.importers.limits`).
    """
    path = Path(path)
    try:
        tables = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise ModelError(str(path), [f"this is not TOML: {error}"]) from error
    except RecursionError as error:
        raise ModelError(str(path), [f"lists or tables are nested more than {DEEPEST} deep"]) from error
    except ValueError as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(str(path), [f"this is not TOML: {brief(str(error))}"]) from error
    faults = check_content(tables)
    if faults:
        raise ModelError(str(path), faults)
    try:
        return _Reading(path, tables).file()
    except _ManyFaultsError as error:
        raise ModelError(str(path), [*error.faults, "there may be more; correct these first"]) from None


class _Reading:
    """One file on its way into a model; faults add up until the end."""

    def __init__(self, path: Path, tables: Mapping[str, Any]) -> None:
        self.path, self.faults = path, list[str]()
        file, stem = read_tables(tables, self._fault), printable(path.stem)
        self.values, self.tables, self.lists = file.values, file.tables, file.lists
        self.model = Model(self._text(self.values.get("name", stem), "name") or stem)
        named = [entry.values.get("name") for kind in ("bodies", "particles") for entry in self.lists[kind]]
        # None until they are stated, and for good where that fails: whoever refers to them is not to blame
        self.points: dict[str, Particle | Body | None] = {name: None for name in named if isinstance(name, str)}
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
            raise ModelError(str(self.path), [*self.faults, *self.model.statement.faults][:MOST_FAULTS])
        return ModelFile(self.path, self.model, given, guess, run.pop("t_end", T_END), run)

    # -- values ----------------------------------------------------------------------------------------------------

    def _fault(self, message: str) -> None:
        if message not in self.faults:
            self.faults.append(printable(message))
        if len(self.faults) >= MOST_FAULTS:
            raise _ManyFaultsError(self.faults)

    def _entries(self, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The entries of a list of tables that say all they must, and where they stand."""
        return ((entry.where, entry.values) for entry in self.lists[kind] if entry.complete)

    def _text(self, value: Any, where: str) -> str:
        if not isinstance(value, str):
            self._fault(f"{where} must be a string, got {brief(value)}")
        elif controls_in(value):
            self._fault(f"{where} must be a text of one line, got {brief(value)}")
        else:
            return value
        return ""

    def _number(self, value: Any, where: str) -> float:
        """A number, or the value of a text such as "10*pi/180"."""
        known = len(self.faults)
        read = ExpressionText({}, {}, self.model.t, self._fault).read(value, where)
        if len(self.faults) > known:
            return 0.0
        number = self.model.number(read, where)
        if math.isfinite(number) and abs(number) > LARGEST_VALUE:
            self._fault(f"{where} is {number:g}; values beyond {LARGEST_VALUE:g} cannot be computed with, change units")
        return number if abs(number) <= LARGEST_VALUE else 0.0

    def _positive(self, value: Any, where: str) -> float:
        known = len(self.faults) + len(self.model.statement.faults)
        number = self._number(value, where)
        if number <= 0 and known == len(self.faults) + len(self.model.statement.faults):
            self._fault(f"{where} is {number:g}; it must be positive")
        return number

    # -- statements ------------------------------------------------------------------------------------------------

    def _names(self, kind: str) -> list[str]:
        """The names of a list, without those that no expression could contain."""
        names = self.values.get(kind, [])
        if not isinstance(names, list):
            self._fault(f'`{kind}` must be a list of names such as ["x", "y"], got {brief(names)}')
            return []
        return [name for name in names if self._fits(name, f"`{kind}`")]

    def _fits(self, name: Any, where: str) -> bool:
        if isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name) and name not in RESERVED:
            return True
        self._fault(f"{where}: {brief(repr(name))} cannot be a name; use letters, digits and _, and no reserved word")
        return False

    def _declare(self) -> None:
        """Symbols and kinematics."""
        model, tables, symbols = self.model, self.tables, self.text.symbols
        coordinates, speeds, unknowns = (self._names(kind) for kind in NAMES)
        if coordinates:
            model.coordinates([function_of_time(name) for name in coordinates])
        if unknowns:
            model.unknowns(" ".join(unknowns))
        parameters = {name: v for name, v in tables["parameters"].items() if self._fits(name, "[parameters]")}
        values = {sp.Symbol(name): self._number(v, f"[parameters] {name}") for name, v in parameters.items()}
        model.parameters(values)
        symbols.update({_spelt(p.name): p for p in values})
        symbols.update({_spelt(name): function_of_time(name) for name in (*coordinates, *speeds, *unknowns)})
        check_keys(tables["kinematics"], coordinates, "the coordinates ([kinematics])", self._fault)
        texts = {q: text for q, text in tables["kinematics"].items() if q in coordinates}
        rates = {function_of_time(q): self.text.read(text, f"[kinematics] {q}") for q, text in texts.items()}
        if speeds:
            model.speeds([function_of_time(name) for name in speeds], kinematics=rates or None)
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
            for where, entry in self._entries(kind):
                if not self._fits(entry["name"], where):
                    continue
                values = {key: self._read(v, f"{where}, {key}") for key, v in entry.items() if key != "name"}
                self.points[entry["name"]] = state(entry["name"], **values)
                if kind == "bodies":  # they may come with coordinates
                    self._check_count()
                    self.text.symbols.update({_spelt(name): f for name, f in self._functions().items()})

    def _check_count(self) -> None:
        count = len(self.model.statement.coordinates)
        if count > MOST_COORDINATES:
            self._fault(
                f"with the bodies there are more than {MOST_COORDINATES} coordinates; state larger models in Python"
            )
            raise _ManyFaultsError(self.faults)

    def _state_loads(self) -> None:
        tables, model = self.tables, self.model
        if "gravity" in self.values:
            model.gravity(self._read(self.values["gravity"], "gravity"))
        for where, entry in self._entries("forces"):
            vector, at = self._read(entry["vector"], f"{where}, vector"), self._place(entry["at"], f"{where}, at")
            if at is not None:
                model.force(vector, at=at)
        for where, entry in self._entries("torques"):
            vector, on = self._read(entry["vector"], f"{where}, vector"), self._place(entry["on"], f"{where}, on")
            if on is not None:
                model.torque(vector, on=on)
        functions, forces = self._functions(), tables["generalized_forces"]
        check_keys(forces, functions, "the coordinates and speeds ([generalized_forces])", self._fault)
        read = {name: self.text.read(e, f"[generalized_forces] {name}") for name, e in forces.items()}
        if read:
            model.generalized_force({functions[name]: e for name, e in read.items() if name in functions})
        if tables["energy"]:
            model.energy(**{key: self.text.read(e, f"[energy] {key}") for key, e in tables["energy"].items()})

    def _place(self, value: Any, where: str) -> Any:
        """A particle or body by its name, or a position; None after a fault."""
        if not isinstance(value, str):
            return self._read(value, where)
        if value not in self.points:
            self._fault(f"{where}: {UnknownNameError(value, self.points, 'the particles and bodies')}")
        return self.points.get(value)

    def _state_constraints(self) -> None:
        for where, entry in self._entries("constraints"):
            expression = self._read(entry["expression"], f"{where}, expression")
            servo, unit = (self._texts(entry.get(key), f"{where}, {key}") for key in ("servo", "unit"))
            self.model.constrain(expression, name=self._label(where, entry), servo=servo, unit=unit or "")
        for where, entry in self._entries("lines"):
            points = entry["points"]
            if isinstance(points, list):
                places = [self._place(p, f"{where}, points[{k}]") for k, p in enumerate(points)]
                points = [place for place in places if place is not None]
            self.model.line(points, name=self._label(where, entry))

    def _label(self, where: str, entry: Mapping[str, Any]) -> str | None:
        """The name of an entry that needs none."""
        return self._text(entry["name"], f"{where}, name") if "name" in entry else None

    def _texts(self, value: Any, where: str) -> Any:
        """A text, a list of them, or None where there is none."""
        if isinstance(value, list):
            return [self._text(entry, where) for entry in value]
        return None if value is None else self._text(value, where)

    def _check_definitions(self) -> None:
        s = self.model.statement
        taken = {*self._functions(), *(y.func.__name__ for y in s.unknowns), *(p.name for p in s.parameters)}
        for name in self.tables["definitions"]:
            if self._fits(name, "[definitions]") and name in taken:
                self._fault(f"[definitions] {name}: this name is declared already; choose another one")
        self.text.read_definitions()

    def _start(self, key: str) -> dict[str, float]:
        """Initial values by name; what `System.initial` knows beyond symbols and constraints is left to it."""
        values = read_table(self.tables["initial"].get(key, {}), f"[initial] {key}", self._fault)
        s = self.model.statement
        known = [*self._functions(), *(y.func.__name__ for y in s.unknowns), *(c.name for c in s.constraints)]
        plain = [name for name in values if name.isidentifier()]
        check_keys(plain, known, f"the state ([initial] {key})", self._fault)
        return {name: self._number(v, f"[initial] {key}.{name}") for name, v in values.items()}


class _ManyFaultsError(Exception):
    """There are so many faults that the rest of a file is not worth reading."""

    def __init__(self, faults: list[str]) -> None:
        self.faults = faults


def _spelt(name: str) -> str:
    """A name as Python's parser spells it."""
    return unicodedata.normalize("NFKC", name)

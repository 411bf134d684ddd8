"""Statements of a model file: each table calls its verb as in Python. Faults are collected until the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import sympy as sp

from dalembert.errors import DalembertError
from dalembert.importers.file_parameters import read_parameters
from dalembert.importers.file_positions import Where
from dalembert.importers.file_values import FileValues, spelt
from dalembert.importers.file_verbs import GROUPS, ORDER
from dalembert.importers.limits import MOST_COORDINATES, MOST_FAULTS, brief
from dalembert.importers.model_tables import Entry, Tables, check_keys, read_table
from dalembert.model.model import Model
from dalembert.model.time_symbols import function_of_time
from dalembert.printable import printable
from dalembert.stages import stage

PLACES = ("first", "second", "blade", "hub", "centre", "plane", "at", "on")
JOINTS = ("driving", "driven", "joint")
TEXTS = ("name", "unit", "servo", "speeds", "constraint", "kind", "ends", "determines")
CHOICES = ("formulation", "drift", "integrator")


class ManyFaultsError(Exception):
    """There are so many faults that the rest of a file is not worth reading."""

    def __init__(self, faults: list[str]) -> None:
        self.faults = faults


class Statements:
    """Builds a model from the tables of a file; `faults` collects the messages."""

    def __init__(self, file: Tables, stem: str, faults: list[str]) -> None:
        self.file, self.faults = file, faults
        noted: list[str] = []
        name = FileValues(Model(), {}, noted.append).line(file.values.get("name", stem), file.positions.at_top("name"))
        self.model = Model(name or stem)
        self.values = FileValues(self.model, file.tables["definitions"], self.fault)
        for fault in noted:
            self.fault(fault)
        for kinds, known in (
            (("bodies", "particles"), self.values.points),
            (("joints", "contacts"), self.values.joints),
            (("beams",), self.values.beams),
        ):
            names = (entry.values.get("name") for kind in kinds for entry in file.lists[kind])
            known.update({n: None for n in names if isinstance(n, str)})

    def fault(self, message: str) -> None:
        """Note a fault."""
        if message not in self.faults:
            self.faults.append(printable(message))
        if len(self.faults) >= MOST_FAULTS:
            raise ManyFaultsError(self.faults)

    def state_all(self) -> None:
        """State the whole model, symbols first."""
        for entry in self._complete("tables"):
            self._tabulate(entry)
        self._declare()
        if "gravity" in self.file.values:
            self.model.gravity(self.values.expressions(self.file.values["gravity"], self._top("gravity")))
        for kind in ORDER[1:]:
            state = {"generalized_forces": self._push, "energy": self._add_energy}.get(kind, self._state)
            for entry in self._complete(kind):
                state(kind, entry)
        self._check_definitions()

    # -- symbols ---------------------------------------------------------------------------------------------------

    def _top(self, name: str) -> Where:
        return self.file.positions.at_top(name)

    def _complete(self, kind: str) -> Iterable[Entry]:
        return (entry for entry in self.file.lists[kind] if entry.complete)

    def _names(self, kind: str) -> list[str]:
        """The names of a list, without those that no expression could contain."""
        names, where = self.file.values.get(kind, []), self._top(kind)
        if not isinstance(names, list):
            self.fault(f'{where}: `{kind}` must be a list of names such as ["x", "y"], got {brief(names)}')
            return []
        return [name for name in names if self.values.fits(name, where)]

    def _tabulate(self, entry: Entry) -> None:
        """A function given by data, known by its name from then on."""
        name, known = entry.values["name"], len(self.faults)
        if not self.values.fits(name, entry.where):
            return
        arguments: dict[str, Any] = {"name": name}
        for key, value in entry.values.items():
            where = entry.where.key(key)
            if key in ("times", "values"):
                listed = value if isinstance(value, list) else [value]
                arguments[key] = [self.values.number(v, where.part(f"[{k}]")) for k, v in enumerate(listed)]
            elif key != "name":
                arguments[key] = self.values.line(value, where)
        if len(self.faults) > known:
            return
        try:
            self.values.text.tables[spelt(name)] = self.model.table(**arguments)
        except DalembertError as error:
            for fault in getattr(error, "faults", [str(error)]):
                self.fault(f"{entry.where}: {fault}")

    def _declare(self) -> None:
        """Symbols and kinematics."""
        model, symbols = self.model, self.values.text.symbols
        coordinates, speeds = (self._names(kind) for kind in ("coordinates", "speeds"))
        unknowns = self._unknowns()
        if coordinates:
            model.coordinates([function_of_time(name) for name in coordinates])
        numbers, dependent = read_parameters(
            self.values, self.file.tables["parameters"], self.file.positions.table("parameters")
        )
        if numbers:
            model.parameters({sp.Symbol(name): value for name, value in {**numbers, **dependent}.items()})
        symbols.update({spelt(name): sp.Symbol(name) for name in numbers})
        symbols.update({spelt(name): function_of_time(name) for name in (*coordinates, *speeds, *unknowns)})
        kinematics = self._kinematics(coordinates)
        if speeds:
            model.speeds([function_of_time(name) for name in speeds], kinematics=kinematics or None)
        elif kinematics:
            self.fault("[kinematics] gives rates in terms of speeds; name these by `speeds`")
        self._learn()

    def _unknowns(self) -> list[str]:
        """The unknowns, declared; a list of names, or a table of names and where Newton's method starts."""
        said, where = self.file.values.get("unknowns", []), self.file.positions.table("unknowns")
        if not isinstance(said, dict):
            names = self._names("unknowns")
            if names:
                self.model.unknowns(" ".join(names))
            return names
        starts = {n: self.values.number(v, where.value(n)) for n, v in said.items() if self.values.fits(n, where)}
        if starts:
            self.model.unknowns(**starts)
        return [*starts]

    def _kinematics(self, coordinates: list[str]) -> Any:
        """{coordinate: rate}, or equations that are zero, as the file says it."""
        said = self.file.values.get("kinematics", {})
        if isinstance(said, list):
            return self.values.expressions(said, self._top("kinematics"))
        where = self.file.positions.table("kinematics")
        rates = read_table(said, where, self.fault)
        check_keys(rates, coordinates, where, self.fault, f"the coordinates ({where.text})")
        return {
            function_of_time(q): self.values.expressions(text, where.value(q))
            for q, text in rates.items()
            if q in coordinates
        }

    def functions(self) -> dict[str, sp.Expr]:
        """Coordinates and speeds by name, also those that the model made: default speeds, absolute coordinates."""
        closed = self.model.closed()
        return {f.func.__name__: f for f in (*closed.coordinates, *closed.speeds)}

    def _learn(self) -> None:
        """Make coordinates and speeds that bodies brought known to expressions."""
        count = len(self.model.statement.coordinates)
        if count > MOST_COORDINATES:
            self.fault(
                f"with the bodies there are more than {MOST_COORDINATES} coordinates; state larger models in Python"
            )
            raise ManyFaultsError(self.faults)
        self.values.text.symbols.update({spelt(name): f for name, f in self.functions().items()})

    def _learn_multipliers(self) -> None:
        """Make the names of constraints known to expressions, as symbols of their multipliers."""
        known = self.values.text.symbols
        names = [c.name for c in self.model.statement.constraints if c.name.isidentifier() and c.name not in known]
        known.update({name: sp.Symbol(name) for name in names})

    # -- statements ------------------------------------------------------------------------------------------------

    def _state(self, kind: str, entry: Entry) -> None:
        """Call the verb of one entry, and keep the result under its name."""
        name = entry.values.get("name")
        if kind in ("bodies", "particles", "beams", "quaternions") and not self.values.fits(name, entry.where):
            return
        arguments = {key: self._argument(key, v, entry) for key, v in entry.values.items()}
        if any(v is None for v in arguments.values()):
            return  # the fault of the object referred to was reported before
        speaker = getattr(self.model, kind) if kind in GROUPS else self.model
        result = getattr(speaker, entry.verb)(**arguments)
        known = {
            "bodies": self.values.points, "particles": self.values.points, "beams": self.values.beams,
            "quaternions": self.values.quaternions, "joints": self.values.joints, "contacts": self.values.joints,
        }.get(kind)  # fmt: skip
        if known is not None and isinstance(name, str):
            known[name] = result
        if kind in ("constraints", "joints", "contacts"):
            self._learn_multipliers()
        if kind in ("bodies", "beams", "quaternions"):
            self._learn()

    def _argument(self, key: str, value: Any, entry: Entry) -> Any:
        values, where = self.values, entry.where.key(key)
        if key in ("unit", "servo") and isinstance(value, list):
            return [values.line(v, where) for v in value]
        if key in TEXTS:
            return values.line(value, where)
        if key in PLACES:
            return values.place(value, where)
        if key in JOINTS:
            return values.joint(value, where)
        if key == "points":
            return self._points(value, where)
        if key == "rotation":
            return values.rotation(value, where)
        if key == "surface":
            return values.surface(value, where)
        if (key, type(value)) in (("stiffening", bool), ("elements", int), ("modes", int)):
            return value
        return values.expressions(value, where)

    def _points(self, value: Any, where: Where) -> Any:
        if not isinstance(value, list):
            self.fault(f"{where} must be a list of points, got {brief(value)}")
            return None
        places = [self.values.place(p, where.part(f"[{k}]")) for k, p in enumerate(value)]
        return [place for place in places if place is not None]

    def _push(self, _: str, entry: Entry) -> None:
        """Generalised forces by coordinate or speed."""
        functions = self.functions()
        what = f"the coordinates and speeds ({entry.where.text})"
        check_keys(entry.values, functions, entry.where, self.fault, what)
        known = {name: e for name, e in entry.values.items() if name in functions}
        read = {functions[name]: self.values.expressions(e, entry.where.value(name)) for name, e in known.items()}
        if read:
            self.model.generalized_force(read)

    def _add_energy(self, _: str, entry: Entry) -> None:
        read = {key: self.values.expressions(e, entry.where.value(key)) for key, e in entry.values.items()}
        if read:
            self.model.energy(**read)

    def _check_definitions(self) -> None:
        s, where = self.model.statement, self.file.positions.table("definitions")
        taken = {*self.functions(), *(y.func.__name__ for y in s.unknowns), *(p.name for p in s.parameters)}
        for name in self.file.tables["definitions"]:
            if self.values.fits(name, where) and name in taken:
                self.fault(f"{where.value(name)}: this name is declared already; choose another one")
        self.values.text.read_definitions()

    # -- the run ---------------------------------------------------------------------------------------------------

    def start(self, key: str) -> dict[str, float]:
        """Initial values by name. Names that are no symbols or constraints are left to `System.initial`."""
        where = self.file.positions.table("initial").value(key)
        values = _flat(read_table(self.file.tables["initial"].get(key, {}), where, self.fault))
        s = self.model.statement
        known = [*self.functions(), *(y.func.__name__ for y in s.unknowns), *(c.name for c in s.constraints)]
        plain = [name for name in values if name.isidentifier()]
        check_keys(plain, known, where, self.fault, f"the state ({where.text})")
        return {name: self.values.number(v, where.part(f".{name}")) for name, v in values.items()}

    def choices(self) -> dict[str, Any]:
        """Formulation, drift control and integrator, those that are chosen."""
        table, where = self.file.tables["run"], self.file.positions.table("run")
        return {key: self.chosen(key, table[key], where.value(key)) for key in CHOICES if key in table}

    def chosen(self, key: str, value: Any, where: Where) -> Any:
        """An ingredient by its name, or by a table of its `kind` and its options."""
        said = {"kind": value} if isinstance(value, str) else value
        if not isinstance(said, dict) or not isinstance(said.get("kind"), str):
            self.fault(f'{where} must be a name or a table such as {{ kind = "RK4", step = 0.01 }}, got {brief(value)}')
            return None
        options = {
            name: self.chosen("residual", v, where.part(f".{name}")) if isinstance(v, dict) else v
            for name, v in said.items()
            if name != "kind"
        }
        try:
            return stage("ModelFile.choose")(key, said["kind"], options)
        except DalembertError as error:
            self.fault(f"{where}: {error}")
            return None

    def occasions(self) -> list[Any]:
        """Events and clocks."""
        return [self._occasion(kind, entry) for kind in ("events", "clocks") for entry in self._complete(kind)]

    def _occasion(self, kind: str, entry: Entry) -> Any:
        options = {}
        for key, value in entry.values.items():
            where = entry.where.key(key)
            if key in ("expression", "then"):
                options[key] = self.values.expressions(value, where)
            elif key in ("dt", "start"):
                options[key] = self.values.number(value, where)
            else:
                options[key] = value
        try:
            return stage("ModelFile.occasion")(kind, options)
        except DalembertError as error:
            self.fault(f"{entry.where}: {error}")
            return None


def _flat(table: Mapping[str, Any]) -> dict[str, Any]:
    """Values by name, where TOML reads `hinge.angle = 1` as a table within the table."""
    inner = {name: v for name, v in table.items() if isinstance(v, dict)}
    plain = {name: v for name, v in table.items() if name not in inner}
    return plain | {f"{name}.{key}": v for name, rest in inner.items() for key, v in _flat(rest).items()}

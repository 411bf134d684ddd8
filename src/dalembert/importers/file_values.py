"""Values in a model file: texts, numbers, expressions, names of bodies and joints, as verbs of a model take them."""

from __future__ import annotations

import keyword
import math
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

import sympy as sp

from dalembert.errors import UnknownNameError
from dalembert.importers.expression_text import RESERVED, ExpressionText
from dalembert.importers.file_positions import Where
from dalembert.importers.limits import brief
from dalembert.model.beams import Cable
from dalembert.model.model import Model
from dalembert.model.tables import LARGEST_VALUE
from dalembert.printable import controls_in

Fault = Callable[[str], None]
MARKER = ("body", "place", "axis", "across")
SECTION = ("beam", "at")


class FileValues:
    """Reader of values for one model; it knows the objects stated before by name.

    `points`, `joints`, `beams` and `quaternions` hold None for what is in the file but could not be stated: whoever
    refers to it is not to blame.
    """

    def __init__(self, model: Model, definitions: Mapping[str, Any], fault: Fault) -> None:
        self.model, self.fault = model, fault
        self.text = ExpressionText({}, {spelt(name): text for name, text in definitions.items()}, model.t, fault)
        self.points: dict[str, Any] = {"ground": model.ground}
        self.joints: dict[str, Any] = {}
        self.beams: dict[str, Any] = {}
        self.quaternions: dict[str, Any] = {}

    def fits(self, name: Any, where: Any) -> bool:
        """True if a name can occur in expressions."""
        if isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name) and name not in RESERVED:
            return True
        self.fault(f"{where}: {brief(repr(name))} cannot be a name; use letters, digits and _, and no reserved word")
        return False

    def line(self, value: Any, where: Any) -> str:
        """A text of one line."""
        if not isinstance(value, str):
            self.fault(f"{where} must be a string, got {brief(value)}")
        elif controls_in(value):
            self.fault(f"{where} must be a text of one line, got {brief(value)}")
        else:
            return value
        return ""

    def number(self, value: Any, where: Any, known: Mapping[str, sp.Expr] | None = None) -> float:
        """A number, or the value of a text such as "10*pi/180" or "30*deg", which may contain `known` names."""
        noted: list[str] = []
        read = ExpressionText(dict(known or {}), {}, self.model.t, noted.append).read(value, str(where))
        if noted:
            self.fault(noted[0])
            return 0.0
        number = self.model.number(read, str(where))
        if math.isfinite(number) and abs(number) > LARGEST_VALUE:
            self.fault(f"{where} is {number:g}; values beyond {LARGEST_VALUE:g} cannot be computed with, change units")
        return number if abs(number) <= LARGEST_VALUE else 0.0

    def positive(self, value: Any, where: Any) -> float:
        """A number above zero."""
        known = len(self.model.statement.faults)
        noted: list[str] = []
        number = FileValues(self.model, {}, noted.append).number(value, where)
        for fault in noted:
            self.fault(fault)
        if number <= 0 and not noted and known == len(self.model.statement.faults):
            self.fault(f"{where} is {number:g}; it must be positive")
        return number

    def expressions(self, value: Any, where: Where) -> Any:
        """Expressions in the lists and tables in which they were written."""
        if isinstance(value, list):
            return [self.expressions(entry, where.part(f"[{k}]")) for k, entry in enumerate(value)]
        if isinstance(value, dict):
            return {key: self.expressions(entry, where.part(f".{brief(key)}")) for key, entry in value.items()}
        return self.text.read(value, str(where))

    def place(self, value: Any, where: Where) -> Any:
        """A particle, body, marker or section of a beam, or a position; None after a fault."""
        if isinstance(value, dict):
            return self._section(value, where) if "beam" in value else self._marker(value, where)
        if not isinstance(value, str):
            return self.expressions(value, where)
        return self._known(value, self.points, where, "the particles and bodies")

    def joint(self, value: Any, where: Where) -> Any:
        """A joint by its name; None after a fault."""
        return self._known(value, self.joints, where, "the joints")

    def rotation(self, value: Any, where: Where) -> Any:
        """A quaternion by its name, or an angle or matrix."""
        if isinstance(value, str) and value in self.quaternions:
            return self.quaternions[value]
        return self.expressions(value, where)

    def surface(self, value: Any, where: Where) -> Any:
        """A function of x, y, z from an expression of them."""
        place = sp.symbols("x y z", cls=sp.Dummy)
        names = dict(zip("xyz", place, strict=True))
        read = ExpressionText({**self.text.symbols, **names}, {}, self.model.t, self.fault).read(value, str(where))
        return lambda *at: read.xreplace(dict(zip(place, at, strict=True)))

    def _known(self, name: Any, known: Mapping[str, Any], where: Where, what: str) -> Any:
        if name not in known:
            self.fault(f"{where}: {UnknownNameError(str(name), known, what)}")
        return known.get(name)

    def _marker(self, value: Mapping[str, Any], where: Where) -> Any:
        wrong = [key for key in value if key not in MARKER]
        if wrong or "body" not in value:
            self.fault(
                f'{where} must be a name or a marker such as {{ body = "B", place = [1, 0] }}, got {brief(value)}'
            )
            return None
        body = self._known(value["body"], self.points, where, "the bodies")
        if body is None:
            return None
        said = {key: self.expressions(v, where.part(f".{key}")) for key, v in value.items() if key != "body"}
        return self.model.marker(body, said.pop("place", [0, 0, 0]), **said)

    def _section(self, value: Mapping[str, Any], where: Where) -> Any:
        if any(key not in SECTION for key in value):
            self.fault(f'{where} must be a section such as {{ beam = "beam", at = 0.5 }}, got {brief(value)}')
            return None
        beam = self._known(value["beam"], self.beams, where, "the beams")
        if beam is None:
            return None
        if "at" not in value and isinstance(beam, Cable):
            self.fault(f'{where}: say where on the beam, such as {{ beam = "{value["beam"]}", at = 0.5 }}')
            return None
        if "at" not in value:
            return beam.frame
        at = self.expressions(value["at"], where.part(".at"))
        return beam.at(float(at) if at.is_number else at)


def spelt(name: str) -> str:
    """A name as Python's parser spells it."""
    return unicodedata.normalize("NFKC", name)

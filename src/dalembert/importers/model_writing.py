"""`write_model`: a model as a TOML file, from its journal; `from_toml` reads it back."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

from dalembert.equations.naming import name_of
from dalembert.errors import ModelError
from dalembert.file_writing import write_file
from dalembert.importers.expression_writing import ExpressionWriter
from dalembert.importers.file_verbs import KIND, ORDER, VERBS
from dalembert.importers.toml_text import pairs_text
from dalembert.model.journal import Sentence
from dalembert.model.markers import GROUND, Marker
from dalembert.model.model import Model
from dalembert.model.quaternion import Quaternion
from dalembert.model.statement import Constraint, Joint, Point

Values = Mapping[Any, float]
_LISTS = {verb: name for name, verb in VERBS.items()}


def write_model(
    model: Model,
    path: str | Path,
    *,
    given: Values | None = None,
    guess: Values | None = None,
    t_end: float | None = None,
) -> Path:
    """Write a model to a TOML file, with the start and the duration of a motion if they are given; returns the path.

    Everything that was said to the model is in the file; symbols come first there, then bodies, forces and constraints.
    Raises `ModelError` for what a file cannot hold and `FileError` if it cannot be written.
    """
    return write_file(path, model_text(model, given=given, guess=guess, t_end=t_end))


def model_text(
    model: Model, *, given: Values | None = None, guess: Values | None = None, t_end: float | None = None
) -> str:
    """The text of a model file."""
    if model.statement.faults:
        raise ModelError(model.name, model.statement.faults)
    writing = _Writing(model)
    parts = [writing.head(), *writing.tables()]
    start = {
        key: {name_of(k): float(v) for k, v in values.items()}
        for key, values in (("given", given), ("guess", guess))
        if values
    }
    if start:
        parts.append("[initial]\n" + pairs_text(start))
    if t_end is not None:
        parts.append("[run]\n" + pairs_text({"t_end": float(t_end)}))
    return "\n".join(part for part in parts if part)


class _Writing:
    """A model on its way into a file."""

    def __init__(self, model: Model) -> None:
        self.model, self.sentences = model, model.journal.sentences
        self._expression = ExpressionWriter(model.name, model.t)
        self._markers = {id(s.result): _bound(model, s) for s in self.sentences if s.verb == "marker"}
        self._quaternions = {id(s.result): _bound(model, s)["name"] for s in self.sentences if s.verb == "quaternion"}
        self._sections = {id(section.body): section for section in model.journal.sections}

    def of(self, *verbs: str) -> Iterable[Sentence]:
        """The sentences with these verbs of the model."""
        return (s for s in self.sentences if not s.group and s.verb in verbs)

    def head(self) -> str:
        """Text before all tables: name, symbols, kinematics, gravity and unknowns."""
        names = {kind: [f.func.__name__ for s in self.of(kind) for f in s.result] for kind in _SYMBOLS}
        more = {"kinematics": self._equations(), "gravity": self._value(self.model.statement.gravity)}
        if not any(self.of("gravity")):
            del more["gravity"]
        starts = {name: float(value) for s in self.of("unknowns") for name, value in s.options.items()}
        if starts:
            more["unknowns"] = {name: starts.get(name, 0.0) for name in names["unknowns"]}
        return pairs_text({"name": self.model.name, **{key: found for key, found in (names | more).items() if found}})

    def tables(self) -> Iterable[str]:
        """Parameters, then every list of tables."""
        said = self.model.statement
        parameters = {
            p.name: self._value(said.followers[p]) if p in said.followers else float(v)
            for p, v in said.parameters.items()
        }
        if parameters:
            yield "[parameters]\n" + pairs_text(parameters)
        for name in ORDER:
            for sentence in self.sentences:
                if (sentence.group or _LISTS.get(sentence.verb)) == name:
                    yield f"[[{name}]]\n" + pairs_text(self._arguments(sentence))

    def _arguments(self, sentence: Sentence) -> dict[str, Any]:
        """Arguments of a sentence as values for a file, the name first."""
        if sentence.verb == "generalized_force":
            return self._value(_bound(self.model, sentence)["forces"])
        kind = {KIND: sentence.verb} if sentence.group else {}
        said = {key: self._value(v) for key, v in _bound(self.model, sentence).items() if v is not None}
        return kind | dict(sorted(said.items(), key=lambda pair: pair[0] != "name"))

    def _equations(self) -> list[Any]:
        """Equations of the kinematics, zero, unless all speeds just name the rates of the coordinates."""
        waiting: list[sp.Expr] = []
        equations: list[Any] = []
        plain = True
        for sentence in self.of("coordinates", "speeds"):
            if sentence.verb == "coordinates":
                waiting += sentence.result
                continue
            kinematics = _bound(self.model, sentence).get("kinematics")
            if kinematics is None:
                rates = dict(zip(waiting, sentence.result, strict=False))
            elif isinstance(kinematics, Mapping):
                plain, rates = False, {self._symbol(q): sp.sympify(rate) for q, rate in kinematics.items()}
            else:
                plain, rates = False, {}
                equations += kinematics
            equations += [q.diff(self.model.t) - rate for q, rate in rates.items()]
            waiting = [q for q in waiting if q not in rates]
        return [] if plain else [self._value(e) for e in equations]

    def _symbol(self, key: Any) -> sp.Expr:
        return next((q for q in self.model.statement.coordinates if key in (q, q.func.__name__)), key)

    # -- values ----------------------------------------------------------------------------------------------------

    def _value(self, value: Any) -> Any:
        """An argument of a verb, as a value for a file."""
        if isinstance(value, bool | str):
            return value
        if isinstance(value, Point):
            return self._place(value)
        if isinstance(value, Joint | Constraint):
            return value.name
        if isinstance(value, Quaternion):
            return self._quaternions[id(value)]
        if isinstance(value, Mapping):
            return {name_of(key): self._value(v) for key, v in value.items()}
        if isinstance(value, sp.MatrixBase):
            return self._value(value.tolist() if min(value.shape) > 1 else list(value))
        if isinstance(value, np.ndarray | Sequence):
            return [self._value(v) for v in (value.tolist() if isinstance(value, np.ndarray) else value)]
        if isinstance(value, sp.Basic | int | float | np.number):
            return self._expression.text(value)
        return self._surface(value)

    def _place(self, point: Point) -> Any:
        """A body or particle by name, a marker or a section of a beam as a table, a bare point by its position."""
        section = self._sections.get(id(point))
        if section is not None:
            at = {} if section.at is None else {"at": self._value(section.at)}
            return {"beam": section.beam, **at}
        if isinstance(point, Marker):
            said = self._markers.get(id(point)) or {"body": point.body, "place": list(point.place)}
            return {key: self._value(v) for key, v in said.items() if v is not None}
        known = (GROUND, *self.model.statement.bodies, *self.model.statement.particles)
        if any(point is other for other in known):
            return point.name
        raise ModelError(self.model.name, [f"`{point.name}` is no body or particle of this model; state it there"])

    def _surface(self, value: Any) -> Any:
        """A function of a place, as an expression of x, y, z."""
        if not isinstance(value, Callable):  # type: ignore[arg-type]
            raise ModelError(self.model.name, [f"{value!r} cannot be written to a model file"])
        return self._expression.text(value(*sp.symbols("x y z")))


_SYMBOLS = ("coordinates", "speeds", "unknowns")


def _bound(model: Model, sentence: Sentence) -> dict[str, Any]:
    """Arguments of a verb, by the names of its parameters."""
    speaker = getattr(model, sentence.group) if sentence.group else model
    signature = inspect.signature(getattr(speaker, sentence.verb))
    return dict(signature.bind(*sentence.arguments, **sentence.options).arguments)

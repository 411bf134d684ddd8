"""Models written as text: a TOML file with symbols, masses, forces, constraints, the start and the span of a motion."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from dalembert.dataclass import dataclass
from dalembert.errors import ModelError
from dalembert.importers.file_positions import Positions
from dalembert.importers.file_statements import ManyFaultsError, Statements
from dalembert.importers.limits import DEEPEST, MOST_FAULTS, brief, check_content, read_text
from dalembert.importers.model_tables import read_tables
from dalembert.importers.syntax_hints import hint_for
from dalembert.model.model import Model
from dalembert.printable import printable

T_END = 10.0
TOLERANCES = ("rtol", "atol")


@dataclass(frozen=True, eq=False)
class ModelFile:
    """The content of a model file: the model, its initial state and its run.

    `given` and `guess` are what `System.initial` takes, `options` what `System.simulate` takes: formulation, drift,
    integrator and events, those that the file chooses.

        system = file.model.compile()
        state = system.initial(file.given, guess=file.guess)
        motion = system.simulate(state, file.t_end, **file.options)
    """

    path: Path
    model: Model
    given: Mapping[str, float]
    guess: Mapping[str, float]
    t_end: float
    tolerances: Mapping[str, float]  # rtol and atol, those that are stated
    options: Mapping[str, Any] = field(default_factory=dict)


def from_toml(path: str | Path) -> ModelFile:
    """The model, initial state and run in a TOML file; raises `ModelError` with all faults of the file.

    Expressions are strings such as "x**2 + y**2 - L**2" of declared names, pi, deg, t, the functions sin cos tan asin
    acos atan atan2 sinh cosh tanh exp log sqrt Abs sign Min Max, and rates diff(x), diff(x, 2). They are parsed, never
    executed. Size, depth and numbers of a file are limited (`dalembert.importers.limits`).
    """
    path = Path(path)
    text = read_text(path)
    tables = _parsed(text, str(path))
    faults: Sequence[str] = check_content(tables)
    if faults:
        raise ModelError(str(path), list(faults))
    try:
        return _read(path, text, tables)
    except ManyFaultsError as error:
        raise ModelError(str(path), [*error.faults, "there may be more; correct these first"]) from None


def _parsed(text: str, path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ModelError(path, [f"this is not TOML: {error}{hint_for(text, str(error))}"]) from error
    except RecursionError as error:
        raise ModelError(path, [f"lists or tables are nested more than {DEEPEST} deep"]) from error
    except ValueError as error:
        raise ModelError(path, [f"this is not TOML: {brief(str(error))}"]) from error


def _read(path: Path, text: str, content: Mapping[str, Any]) -> ModelFile:
    faults: list[str] = []

    def fault(message: str) -> None:
        faults.append(printable(message))
        if len(faults) >= MOST_FAULTS:
            raise ManyFaultsError(faults)

    file = read_tables(content, Positions(text), fault)
    statements = Statements(file, printable(path.stem), faults)
    statements.state_all()
    given, guess = (statements.start(key) for key in ("given", "guess"))
    where = file.positions.table("run")
    numbers = {
        key: statements.values.positive(file.tables["run"][key], where.value(key))
        for key in ("t_end", *TOLERANCES)
        if key in file.tables["run"]
    }
    tolerances = {key: numbers[key] for key in TOLERANCES if key in numbers}
    options = statements.choices()
    if tolerances and "integrator" in options:
        statements.fault(f"{where}: {' and '.join(tolerances)} belong in the table of the integrator, if one is chosen")
    elif tolerances and not faults:
        options["integrator"] = statements.chosen("integrator", {"kind": "Automatic", **tolerances}, where)
    occasions = statements.occasions()
    if occasions:
        options["events"] = occasions
    if faults or statements.model.statement.faults:
        raise ModelError(str(path), [*faults, *statements.model.statement.faults][:MOST_FAULTS])
    return ModelFile(path, statements.model, given, guess, numbers.get("t_end", T_END), tolerances, options)

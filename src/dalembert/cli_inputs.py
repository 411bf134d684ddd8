"""Inputs of the commands: model files and examples by name, and the parameters that `--set` changes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert import problems
from dalembert.dataclass import dataclass
from dalembert.errors import DalembertError, OptionError
from dalembert.importers.file_values import FileValues
from dalembert.importers.model_file import ModelFile, from_toml
from dalembert.model.model import Model

if TYPE_CHECKING:
    from dalembert.equations.system import System
    from dalembert.motion.state import State

ENDING = ".toml"


@dataclass(frozen=True, eq=False)
class Request:
    """A model to run: a problem, the file it was read from (None for an example), and `changes` of parameters."""

    given: str
    problem: problems.Problem
    file: ModelFile | None
    changes: Mapping[str, float]

    @property
    def options(self) -> Mapping[str, Any]:
        """Formulation, drift, integrator and events, those that the file chooses."""
        return self.file.options if self.file else {}

    @property
    def source(self) -> str | Model:
        """The text of the file, or the model."""
        return Path(self.given).read_text(encoding="utf-8-sig") if self.file else self.problem.build()


@dataclass(frozen=True, eq=False)
class StartedModel:
    """A request that was compiled, in `seconds`, and its initial state."""

    request: Request
    system: System
    state: State
    seconds: float


def read_settings(settings: Sequence[str]) -> dict[str, float]:
    """Values by name of texts such as g=1.62, Om=2*pi and a=30*deg; raises `OptionError` with all faults."""
    faults: list[str] = []
    changes = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not (equals and name.strip() and text.strip()):
            faults.append(f"--set {setting!r} must read NAME=VALUE, such as --set g=1.62 or --set Om=2*pi")
            continue
        changes[name.strip()] = _number(text.strip(), setting, faults)
    if faults:
        raise OptionError("; ".join(faults))
    return changes


def _number(text: str, setting: str, faults: list[str]) -> float:
    """The value of a text by the rules of model files."""
    model, noted = Model(), list[str]()
    value = FileValues(model, {}, noted.append).number(text, f"--set {setting}")
    noted += model.statement.faults
    if noted:
        faults.append(f"{noted[0]}; write NAME=VALUE with a number or an expression of numbers, such as Om=2*pi")
    return value


def read_request(given: str, changes: Mapping[str, float]) -> Request:
    """A model file, recognised by its ending, or an example by its name."""
    if not given.endswith(ENDING):
        return Request(given, _example(given), None, changes)
    file = from_toml(given)
    problem = problems.Problem(
        name=file.path.stem,
        title=file.model.name,
        source=given,
        build=lambda: file.model,
        given=file.given,
        guess=file.guess,
        t_end=file.t_end,
        note="",
    )
    return Request(given, problem, file, changes)


def _example(given: str) -> problems.Problem:
    if Path(given + ENDING).is_file() and given not in {problem.name for problem in problems.all()}:
        raise OptionError(f"`{given}` is no example, but the file {given}{ENDING} is here; write {given}{ENDING}")
    return problems.get(given)


def start(request: Request) -> StartedModel:
    """Compile a model and find its initial state. Errors name the model."""
    begin = time.perf_counter()
    system = request.problem.system()
    seconds = time.perf_counter() - begin
    return StartedModel(request, system, request.problem.state(system, request.changes), seconds)


def start_all(names: Sequence[str], changes: Mapping[str, float]) -> tuple[list[StartedModel], list[DalembertError]]:
    """Every model compiled and with its initial state, and everything that is wrong with any of them."""
    starts: list[StartedModel] = []
    errors: list[DalembertError] = []
    for name in names:
        with collecting(errors, name if len(names) > 1 else ""):
            starts.append(start(read_request(name, changes)))
    return starts, errors


@contextmanager
def collecting(errors: list[DalembertError], name: str) -> Iterator[None]:
    """Context that collects an error and continues. Its message names the model."""
    try:
        yield
    except DalembertError as error:
        message = str(error)
        errors.append(DalembertError(f"{name}: {message}") if name and name not in message else error)

"""`dalembert new`: a model file to begin with, commented, or the one of an example."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from dalembert.errors import FileError, OptionError
from dalembert.file_writing import write_file

ENDING = ".toml"
STARTER = "starter.toml"


def write_new(name: str, like: str | None) -> Path:
    """The path of the model file written, which was not there before; `like` names an example."""
    target = Path(name if name.endswith(ENDING) else name + ENDING)
    if not target.stem or target.name == ENDING:
        raise OptionError(f"{name!r} is no name for a model; write dalembert new slider")
    text = _starter(target.stem) if like is None else _example(like)
    if target.exists():
        raise FileError(f"{target} is there already and stays as it is; choose another name, or remove it")
    return write_file(target, text)


def _starter(stem: str) -> str:
    """The starter, with a name of its own."""
    from dalembert.importers.toml_text import pairs_text

    text = resources.files("dalembert").joinpath(STARTER).read_text(encoding="utf-8")
    return text.replace('name = "starter"\n', pairs_text({"name": stem}), 1)


def _example(like: str) -> str:
    from dalembert import problems
    from dalembert.importers.model_writing import model_text

    problem = problems.get(like)
    head = [f"The example `{problem.name}` of dalembert: {problem.title}.", f"From: {problem.source}", problem.note]
    comment = "".join(f"# {line}\n" for text in head for line in text.splitlines() if line)
    return comment + model_text(problem.build(), given=problem.given, guess=problem.guess, t_end=problem.t_end)

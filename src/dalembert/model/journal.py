"""The journal of a model: the calls of its verbs, in order. It keeps a joint as a joint, the statement its constraints.

Model files are written from it (`importers.model_writing`). A call of a verb that uses other verbs is one sentence.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from dalembert.guidance import explain_call

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Sentence(NamedTuple):
    """A call of a verb of the model or of a `group` such as "joints": its arguments, options and result."""

    group: str
    verb: str
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]
    result: Any


class Section(NamedTuple):
    """A cross-section of a beam that was asked for: the beam's name and the arc length, None for its frame."""

    body: Any
    beam: str
    at: Any


class Journal:
    """The sentences of a model in their order, and the cross-sections of beams that were asked for."""

    def __init__(self) -> None:
        self.sentences: list[Sentence] = []
        self.sections: list[Section] = []
        self._speaking = False

    def keep(self, group: str, verb: str, say: Callable[[], Any], arguments: Any, options: Any) -> Any:
        """Call `say` and return its result. Records the call as a sentence, unless it was made by another verb."""
        if self._speaking:
            return say()
        self._speaking = True
        try:
            result = say()
        finally:
            self._speaking = False
        self.sentences.append(Sentence(group, verb, arguments, options, result))
        return result


def said(
    group: str = "",
) -> Callable[
    [Callable[Concatenate[Any, Parameters], Result]],
    Callable[Concatenate[Any, Parameters], Result],
]:
    """Decorator that records calls of a verb, of a model or of a `group` with a `_model`, in the model's journal."""

    def decorate(
        method: Callable[Concatenate[Any, Parameters], Result],
    ) -> Callable[Concatenate[Any, Parameters], Result]:
        verb = method.__name__

        @functools.wraps(method)
        def speak(self: Any, /, *arguments: Parameters.args, **options: Parameters.kwargs) -> Result:
            model = self._model if group else self

            def say() -> Result:
                try:
                    return method(self, *arguments, **options)
                except TypeError as error:
                    owner = f"model.{group}" if group else "model"
                    call = f"{owner}.{verb}({', '.join([*inspect.signature(method).parameters][1:])})"
                    better = explain_call(error, call, arguments[0] if arguments else "")
                    if better is None:
                        raise
                    raise better from None

            return model.journal.keep(group, verb, say, arguments, options)

        return speak

    return decorate

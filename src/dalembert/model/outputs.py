"""Reading outputs: names for quantities of a motion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dalembert.model.names import Names
from dalembert.model.reading import Reader, listed
from dalembert.model.statement import Output, Statement


class OutputReader:
    """Reads the arguments of `Model.output` and adds outputs to a statement."""

    def __init__(self, statement: Statement, read: Reader, names: Names) -> None:
        self._statement, self._read, self._names = statement, read, names

    def output(self, name: str, expression: Any) -> Output:
        """An output of one expression, of a list, or of a mapping {label: expression}."""
        self._names.claim(name, "output")
        what = f"output `{name}`"
        entries = list(expression.values()) if isinstance(expression, Mapping) else listed(expression)
        labels = self._labels(expression, len(entries or ()), what)
        if entries is None:
            output = Output(name, (self._read.scalar(expression, what),))
        else:
            read = [self._read.scalar(e, f"{what}, component {l}") for e, l in zip(entries, labels, strict=True)]
            output = Output(name, tuple(read), labels)
        if entries == []:
            self._read.fault(f"{what} is empty; give an expression, a list or a mapping {{label: expression}}")
        self._statement.outputs.append(output)
        return output

    def _labels(self, expression: Any, count: int, what: str) -> tuple[str, ...]:
        """Suffixes of the names of the components of an output: ".label" for a mapping, "[k]" otherwise."""
        if not isinstance(expression, Mapping):
            return tuple(f"[{k}]" for k in range(count))
        for label in expression:
            self._names.check(label, f"label in {what}")
        return tuple(f".{label}" for label in expression)

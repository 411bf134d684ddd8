"""Labels: the constraint, or group of them, meant by a name or by the return value of `Model.constrain`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from dalembert.equations.system import System
from dalembert.errors import UnknownNameError
from dalembert.model.statement import Constraint, Element, Joint, Output, Point


def rows_of(system: System, key: Any) -> list[int]:
    """Rows of the constraint of this name, or of the group of constraints stated in one list."""
    name, names = label_of(key), system.constraint_names
    groups = groups_of(names)
    if name in names:
        return [names.index(name)]
    if name in groups:
        return groups[name]
    raise UnknownNameError(name, (*names, *groups), f"the constraints of `{system.name}`")


def groups_of(names: Sequence[str]) -> dict[str, list[int]]:
    """Rows by the name of their list, which is `loop` for `loop[0]`, `loop[1]`. Single rows are left out."""
    groups: dict[str, list[int]] = {}
    for k, name in enumerate(names):
        match = re.fullmatch(r"(.+)\[\d+\]", name)
        if match:
            groups.setdefault(match[1], []).append(k)
    return groups


def label_of(key: Any) -> str:
    """The name of a particle, body, constraint, joint, force element or output, given by itself or by its name."""
    if isinstance(key, tuple) and key and all(isinstance(c, Constraint) for c in key):
        return key[0].name.rpartition("[")[0]
    return key.name if isinstance(key, Point | Constraint | Joint | Element | Output) else str(key)

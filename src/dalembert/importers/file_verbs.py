"""The lists of tables in a model file and the verbs of a model behind them: the keys are the arguments of the verb."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping

from dalembert.dataclass import dataclass
from dalembert.model.beams import Beams
from dalembert.model.contacts import Contacts
from dalembert.model.elements import Elements
from dalembert.model.joints import Joints
from dalembert.model.model import Model

GROUPS: Mapping[str, type] = {"joints": Joints, "contacts": Contacts, "elements": Elements, "beams": Beams}
VERBS: Mapping[str, str] = {  # lists by name and the verbs of the model behind them
    "tables": "table",
    "quaternions": "quaternion",
    "bodies": "body",
    "particles": "particle",
    "generalized_forces": "generalized_force",
    "energy": "energy",
    "forces": "force",
    "torques": "torque",
    "matrices": "matrices",
    "constraints": "constrain",
    "conditions": "condition",
    "laws": "law",
    "nonideal": "nonideal",
    "outputs": "output",
    "lines": "line",
}
ORDER = (  # order in which lists are read and written: referenced objects come first
    "tables", "quaternions", "beams", "bodies", "particles", "generalized_forces", "energy", "joints", "contacts",
    "elements", "forces", "torques", "matrices", "constraints", "conditions", "laws", "nonideal", "outputs", "lines",
)  # fmt: skip
KIND = "kind"  # the key that names the verb of a group
UNWRITTEN = ("self", "law")  # arguments that are no keys: a law of one's own is a value of Python


@dataclass(frozen=True)
class Keys:
    """Keys an entry must have, and those it may have."""

    needed: tuple[str, ...]
    optional: tuple[str, ...]


@functools.cache
def keys_of(group: str, verb: str) -> Keys:
    """The arguments of a verb of the model (`group` is "") or of a group."""
    method = getattr(GROUPS[group] if group else Model, verb)
    arguments = [a for a in inspect.signature(method).parameters.values() if a.name not in UNWRITTEN]
    needed = tuple(a.name for a in arguments if a.default is inspect.Parameter.empty)
    return Keys(needed, tuple(a.name for a in arguments if a.name not in needed))


@functools.cache
def kinds_of(group: str) -> tuple[str, ...]:
    """The verbs of a group."""
    return tuple(name for name, value in vars(GROUPS[group]).items() if callable(value) and not name.startswith("_"))

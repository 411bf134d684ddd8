"""The JSON schema of model files, by which editors complete keys and mark mistakes; it follows from the verbs."""

from __future__ import annotations

from typing import Any

from dalembert.importers.file_statements import JOINTS, PLACES, TEXTS
from dalembert.importers.file_verbs import GROUPS, KIND, VERBS, keys_of, kinds_of
from dalembert.importers.model_tables import NAMES, OCCASIONS, ONE_OR_MORE, TABLES

EXPRESSION = {"type": ["string", "number"]}
NUMBER = {"type": ["number", "string"]}
TEXT = {"type": "string"}
NAME_LIST = {"type": "array", "items": TEXT}
ANY_EXPRESSIONS = {"type": ["string", "number", "array", "object"]}
PLACE = {"type": ["string", "array", "object"]}


def json_schema() -> dict[str, Any]:
    """The schema as a dictionary that `json.dumps` takes."""
    properties: dict[str, Any] = {
        "name": TEXT,
        "gravity": {"type": "array", "items": EXPRESSION, "minItems": 2, "maxItems": 3},
        "kinematics": {"type": ["object", "array"]},
        **dict.fromkeys(NAMES, NAME_LIST),
        **{name: _table(keys) for name, keys in TABLES.items()},
        **{name: {"anyOf": [_table(keys), _list(_table(keys))]} for name, keys in ONE_OR_MORE.items()},
        **{name: _list(_verb("", verb)) for name, verb in VERBS.items() if name not in ONE_OR_MORE},
        **{group: _list({"oneOf": [_verb(group, kind) for kind in kinds_of(group)]}) for group in GROUPS},
        **{name: _list(_entry(keys.needed, keys.optional)) for name, keys in OCCASIONS.items()},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "dalembert model file",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _table(keys: tuple[str, ...] | None) -> dict[str, Any]:
    if keys is None:
        return {"type": "object", "additionalProperties": EXPRESSION}
    return {"type": "object", "properties": {key: {} for key in keys}, "additionalProperties": False}


def _verb(group: str, verb: str) -> dict[str, Any]:
    """The table of one verb, which a group names by its kind."""
    keys = keys_of(group, verb)
    entry = _entry(keys.needed, keys.optional)
    if group:
        entry["properties"] = {KIND: {"const": verb}, **entry["properties"]}
        entry["required"] = [KIND, *entry["required"]]
    return entry


def _entry(needed: tuple[str, ...], optional: tuple[str, ...]) -> dict[str, Any]:
    properties = {key: _value(key) for key in (*needed, *optional)}
    return {"type": "object", "properties": properties, "required": [*needed], "additionalProperties": False}


def _value(key: str) -> dict[str, Any]:
    if key in ("unit", "servo"):
        return {"type": ["string", "array"]}
    if key in TEXTS or key in JOINTS:
        return TEXT
    if key in PLACES:
        return PLACE
    if key in ("terminal", "stiffening"):
        return {"type": "boolean"}
    if key in ("elements", "modes", "direction"):
        return {"type": "integer"}
    return NUMBER if key in ("dt", "start", "mass") else ANY_EXPRESSIONS

"""Ingredients of a run and its events by name and options, as a model file says them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from dalembert.errors import OptionError, UnknownNameError
from dalembert.exports import every, exported
from dalembert.run.events import Event
from dalembert.run.every import Every

KINDS = {"formulation": "formulations", "drift": "drift", "integrator": "integrators", "residual": "residuals"}


def choose(role: str, name: str, options: Mapping[str, Any]) -> Any:
    """The formulation, drift control, integrator or residual form called `name`, with its options."""
    known = every(KINDS[role])
    if name not in known:
        raise UnknownNameError(name, known, f"the choices for `{role}`")
    made = exported(name)
    options_known = [f.name for f in fields(made) if f.init]
    for option in options:
        if option not in options_known:
            raise UnknownNameError(option, options_known, f"the options of {name}")
    try:
        return made(**{key: tuple(v) if isinstance(v, list) else v for key, v in options.items()})
    except TypeError as error:
        raise OptionError(f"{name}: {str(error).replace('__init__() ', '')}") from error


def occasion(kind: str, options: Mapping[str, Any]) -> Event | Every:
    """The event or clock with these options."""
    if kind == "events":
        rest = {key: v for key, v in options.items() if key != "expression"}
        return Event(options["expression"], **rest)
    rest = {key: v for key, v in options.items() if key != "dt"}
    return Every(options["dt"], **rest)

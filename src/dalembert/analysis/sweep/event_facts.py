"""Identity of events and clocks: their names, expressions and changes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import sympy as sp

from dalembert.analysis.sweep.fingerprint import fingerprint
from dalembert.equations.naming import name_of
from dalembert.equations.system import System
from dalembert.run.events import Event
from dalembert.run.every import Every

FUNCTION = "a function"  # a change that cannot be told from another one


def event_facts(event: Event | Every) -> tuple[Any, ...]:
    """Identity of an event or a clock, as plain values: kind, name, condition, options, and the change as the last."""
    if isinstance(event, Every):
        return "every", event.name, event.dt, event.start, _change(event)
    what = event.expr if isinstance(event.expr, str) else sp.srepr(event.expr)
    return "event", event.name, what, event.direction, event.terminal, _change(event)


def event_digest(event: Event | Every) -> str:
    """Digest of the facts of an event or a clock, 16 hexadecimal digits."""
    return hashlib.sha256(repr(event_facts(event)).encode()).hexdigest()[:16]


def event_words(event: Event | Every) -> str:
    """Description of an event or a clock, to be read by people."""
    if isinstance(event, Every):
        said = f"every {event.dt:g}" + ("" if event.start is None else f" from t = {event.start:g}")
    else:
        said = f"{event.expr} {('falling', 'either way', 'rising')[event.direction + 1]}"
        said += ", terminal" if event.terminal else ""
    if event.then is None:
        return said
    if isinstance(event.then, System):
        return f"{said}, then `{event.then.name}`"
    if isinstance(event.then, Mapping):
        changes = (f"{name_of(key)}: {value}" for key, value in event.then.items())
        return f"{said}, then {{{', '.join(changes)}}}"
    return f"{said}, then {FUNCTION}"


def _change(event: Event | Every) -> Any:
    if event.then is None:
        return None
    if isinstance(event.then, System):
        return fingerprint(event.then)
    if isinstance(event.then, Mapping):
        return sorted((name_of(key), sp.srepr(value)) for key, value in event.then.items())
    return FUNCTION

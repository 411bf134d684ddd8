"""Facts of a sweep, as short texts and digests: equal if and only if two sweeps ask for the same results."""

from __future__ import annotations

import hashlib
import pickle
from typing import Any

import numpy as np

from dalembert.analysis.sweep.event_facts import FUNCTION, event_facts
from dalembert.analysis.sweep.fingerprint import fingerprint
from dalembert.analysis.sweep.followed import Followed
from dalembert.analysis.sweep.layout import Layout
from dalembert.analysis.sweep.study import Study
from dalembert.errors import PairingError
from dalembert.motion.state import State
from dalembert.run.events import Event
from dalembert.run.every import Every


def facts_of(layout: Layout) -> dict[str, Any]:
    """Facts by name, for JSON; the number of threads and the size of blocks are not among them."""
    study, design = layout.study, layout.design
    values = [(name, dims, _digest(array)) for name, (dims, array) in design.columns.items()]
    return (
        {
            "model": fingerprint(study.system),
            "values": _digest(repr((dict(design.dims), values))),
            "start": _digest(
                repr((_start(study.guess), sorted(study.given.items()), sorted(study.parameters.items())))
            ),
            "interval": repr(study.span),
            "t_eval": _digest(np.asarray(study.t_eval, dtype=float)) if study.sampled else "",
            "method": repr(tuple(study.recipe)),
            "outputs": _digest(repr(_outputs(study))),
            "dalembert": layout.attrs["dalembert"],
        }
        | ({"verify": True} if study.verify else {})
        | ({"events": _digest(repr([_told(event) for event in study.events]))} if study.events else {})
    )


def _told(event: Event | Every) -> tuple[Any, ...]:
    facts = event_facts(event)
    if facts[-1] == FUNCTION:
        raise PairingError(
            f"`{event.name}` changes the motion by a function, which cannot be told from another one when a stored "
            "sweep goes on; write then={symbol: expression}, or leave `store` out and save the result, "
            "runs.to_netcdf(...)"
        )
    return facts


def _start(guess: Any) -> Any:
    if isinstance(guess, Followed):
        return "followed", _start(guess.state)
    if isinstance(guess, State):
        return (guess.t, *(_digest(array) for array in (guess.q, guess.u, guess.parameters)))
    return sorted((str(key), float(value)) for key, value in (guess or {}).items())


def _outputs(study: Study) -> list[Any]:
    readings = [*(reading for _, reading in study.reduced), *study.sampled]
    read = [(r.labels, r.name, r.observation.function.serialize() if r.observation else "") for r in readings]
    kept = [repr(how) for how, _ in study.reduced]
    return [read, kept]


def _digest(value: str | np.ndarray) -> str:
    content = value.encode() if isinstance(value, str) else pickle.dumps((value.shape, value.tobytes()))
    return hashlib.sha256(content).hexdigest()[:16]

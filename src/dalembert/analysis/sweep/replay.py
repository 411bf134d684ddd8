"""`replay`: the motion of one run of a sweep, simulated again from the attributes of its Dataset."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.analysis.sweep.event_facts import event_digest, event_words
from dalembert.analysis.sweep.fingerprint import fingerprint
from dalembert.analysis.sweep.followed import Followed
from dalembert.analysis.sweep.request import read_study
from dalembert.analysis.sweep.study import Study
from dalembert.errors import ArrayError, PairingError
from dalembert.motion.state import State
from dalembert.run.recipe import described
from dalembert.run.simulate import simulate

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import ArrayLike

    from dalembert.equations.system import System
    from dalembert.motion.motion import Motion
    from dalembert.motion.sequence import MotionSequence
    from dalembert.run.engine import Drift, Formulation
    from dalembert.run.integrators.integrator import Integrator

ABOUT = "dalembert_start"  # attribute: starts of the runs and varied names, JSON


def about_starts(study: Study, names: Iterable[str]) -> str:
    """Varied names, start values, model and events of a study as JSON, from which `replay` makes a run again."""
    followed = isinstance(study.guess, Followed)
    guess = study.guess.state if followed else study.guess
    if isinstance(guess, State):
        arrays = {"q": guess.q, "u": guess.u, "udot": guess.udot, "la": guess.multipliers, "p": guess.parameters}
        near: Any = {"t": float(guess.t)} | {name: array.tolist() for name, array in arrays.items()}
    else:
        near = {name: float(value) for name, value in (guess or {}).items()}
    given, parameters = ({k: float(v) for k, v in values.items()} for values in (study.given, study.parameters))
    return json.dumps({
        "names": [*names], "given": given, "parameters": parameters, "guess": near,
        "near_state": isinstance(guess, State), "followed": followed,
        "model": fingerprint(study.system),
        "events": [{"facts": event_digest(event), "words": event_words(event)} for event in study.events],
    })  # fmt: skip


def replay(
    system: System,
    run: xr.Dataset,
    *,
    t_eval: ArrayLike | None = None,
    formulation: Formulation | None = None,
    drift: Drift | None = None,
    integrator: Integrator | None = None,
    events: Iterable[Any] = (),
) -> Motion | MotionSequence:
    """The motion of one run of a sweep, that of `System.simulate` from the same start with the same values.

    `run` is the result of `System.sweep` with one run selected, `runs.isel(run=17)` or `runs.sel(la=0.8, g=9.81)`, also
    if it was opened from a store or a file. Ingredients and `events` are to be given again if the sweep had any; others
    than those of the sweep are refused. `t_eval` as for `simulate`. The error of a failed run is raised, or is the
    message of the motion.
    """
    told = _told(system, run)
    row = [_value(run, name) for name in told["names"]]
    near = _state(system, told["guess"]) if told["near_state"] else told["guess"]
    span = (float(run.attrs["t_start"]), float(run.attrs["t_end"]))
    study = read_study(
        system, tuple(told["names"]), span, state=Followed(near) if told["followed"] else None,
        given=None if told["followed"] else told["given"], parameters=told["parameters"],
        guess=None if told["followed"] else near, outputs=["t"], t_eval=None,
        ingredients=(formulation, drift, integrator), events=events,
    )  # fmt: skip
    method = ", ".join(described(value) for value in study.recipe)
    if method != run.attrs["method"]:
        raise PairingError(f"the sweep was made with {run.attrs['method']}, not with {method}; pass the same")
    _check_same_events(run, study, told)
    state, recipe = study.start(row), study.method(row)
    return simulate(
        system, state, span, t_eval=t_eval, formulation=recipe.formulation, drift=recipe.drift,
        integrator=recipe.integrator, events=study.events,
    )  # fmt: skip


def _told(system: System, run: xr.Dataset) -> Mapping[str, Any]:
    """Read the starts of a result from its attributes. Raises `PairingError` if it is not a result of this system."""
    attrs = getattr(run, "attrs", {})
    if ABOUT not in attrs:
        raise PairingError(f"replay needs a result of system.sweep with one run selected, got {type(run).__name__}")
    told = json.loads(attrs[ABOUT])
    if told["model"] != fingerprint(system):
        raise PairingError(
            f"the runs are of another model than `{system.name}`, a system called `{attrs['system']}`; compile the "
            "model that was swept"
        )
    return told


def _check_same_events(run: xr.Dataset, study: Study, told: Mapping[str, Any]) -> None:
    """Raise unless the events are those of the sweep. Functions that they call are not compared."""
    watched = ", ".join(event.name for event in study.events)
    if watched != run.attrs.get("events", ""):
        raise PairingError(
            f"the sweep was made with the events {run.attrs.get('events') or 'none'}, not with {watched or 'none'}; "
            "pass the same"
        )
    for event, then in zip(study.events, told["events"], strict=True):
        if event_digest(event) != then["facts"]:
            raise PairingError(
                f"the sweep was made with the event `{event.name}`: {then['words']}; not with {event_words(event)}; "
                "pass the same"
            )


def _value(run: xr.Dataset, name: str) -> float:
    """Value of the varied quantity `name` in the selected run."""
    if np.ndim(run[name]):
        dims = ", ".join(f"{dim}=0" for dim in run[name].dims)
        raise ArrayError(
            f"`{name}` has {run[name].size} values; select one run, such as runs.isel({dims}), and replay that"
        )
    return float(run[name])


def _state(system: System, near: Mapping[str, Any]) -> State:
    q, u, udot, la, p = (np.array(near[name], dtype=float) for name in ("q", "u", "udot", "la", "p"))
    return State(system, near["t"], q, u, udot, la, p)

"""The request of a sweep: names, outputs, times and ingredients, checked before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dalembert.analysis.sweep.followed import Followed
from dalembert.analysis.sweep.reading import Reading, read_key
from dalembert.analysis.sweep.reductions import REDUCTIONS, Final
from dalembert.analysis.sweep.study import TOLERANCES, Study
from dalembert.equations.naming import name_of
from dalembert.errors import OptionError, PairingError, UnknownNameError
from dalembert.initial.request import find_name, key_name
from dalembert.motion.state import State
from dalembert.run.event_checks import check_locates, list_events
from dalembert.run.events import Event
from dalembert.run.recipe import Recipe
from dalembert.run.simulate import check_times, pair

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dalembert.equations.system import System


def read_study(
    system: System,
    names: tuple[str, ...],
    t_end: float | tuple[float, float],
    *,
    state: State | Followed | None,
    given: Mapping[Any, float] | None,
    guess: Any,
    parameters: Mapping[Any, float] | None,
    outputs: Sequence[Any],
    t_eval: ArrayLike | None,
    ingredients: tuple[Any, Any, Any],
    events: Iterable[Any],
    verify: bool = False,
) -> Study:
    """The study, with every name and option checked."""
    if state is not None and (given is not None or guess is not None):
        raise PairingError(
            "pass either `state`, from which each run departs as little as it can, or `given` and `guess` as for "
            "system.initial, not both"
        )
    if state is not None and not isinstance(state, State | Followed):
        raise PairingError(f"`state` is a {type(state).__name__}, not a State; call system.initial(...) for one")
    recipe, near = Recipe(*pair(*ingredients)), state if state is not None else guess
    watched = list_events(events)
    if any(isinstance(event, Event) for event in watched):
        check_locates(recipe.integrator)
    span, times = check_times(near.t if isinstance(near, State | Followed) else 0.0, t_end, t_eval)
    _check_names(system, names, recipe)
    sampled, reduced = _read_outputs(system, outputs, sampled=times is not None)
    study = Study(
        system=system,
        names=names,
        recipe=recipe,
        span=span,
        given={key_name(key): value for key, value in (given or {}).items()},
        guess={key_name(key): value for key, value in near.items()} if isinstance(near, Mapping) else near,
        parameters={name_of(key): value for key, value in (parameters or {}).items()},
        t_eval=times if sampled else None,
        sampled=sampled,
        reduced=reduced,
        events=watched,
        verify=verify,
    )
    for name in study.given:
        find_name(system, name, "given")
    system.parameter_values(study.parameters)
    return study


def _without_symbols(how: Any, reading: Reading) -> tuple[Any, Reading]:
    """A reduction with its reading, free of symbols, which do not go into pickles."""
    return replace(how, key=reading.labels[0]), reading


def _check_names(system: System, names: Sequence[str], recipe: Recipe) -> None:
    for name in names:
        if name in system.parameters:
            continue
        if name in TOLERANCES:
            if not hasattr(recipe.integrator, name):
                raise OptionError(f"{type(recipe.integrator).__name__} has no `{name}` that could vary")
            continue
        try:
            find_name(system, name, "varied")
        except UnknownNameError as error:
            known = (*system.parameters, *TOLERANCES, *error.known)
            raise UnknownNameError(name, known, f"the varied values of `{system.name}`") from None


def _read_outputs(system: System, outputs: Sequence[Any], *, sampled: bool) -> tuple[Any, Any]:
    """Readings at the times asked for, and reductions with their readings; a plain name without times is a `Final`."""
    if isinstance(outputs, str) or not isinstance(outputs, Sequence):
        outputs = [outputs]
    if not outputs:
        raise OptionError("`outputs` is empty; say what to keep of each run, such as [Final('x'), Maximum('x')]")
    plain = [key for key in outputs if not isinstance(key, REDUCTIONS)]
    if sampled and not plain:
        raise OptionError("`t_eval` is given but no output is sampled at it; name one, such as 'x', or leave it out")
    kept = [key if isinstance(key, REDUCTIONS) else None if sampled else Final(key) for key in outputs]
    reduced = tuple(_without_symbols(how, read_key(system, how.key)) for how in kept if how is not None)
    return tuple(read_key(system, key) for key in plain) if sampled else (), reduced

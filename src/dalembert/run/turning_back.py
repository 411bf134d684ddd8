"""Events whose change stops their expression at zero or turns it back, as an impact stops or turns an approach.

The expression must then leave zero to the side it came from, until the event occurs again. If it is seen on the other
side first, that occurrence was too soon to be seen: a ball that bounces ever lower, or not at all, would fall through
its floor.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dalembert.equations.observation import observer_of
from dalembert.motion.outputs import rates_of
from dalembert.motion.state import State
from dalembert.run.events import Event

STOPPED_RATE = 1e-9  # part of its rate before, up to which an expression is stopped


def forbidden_sides(events: Iterable[Event], before: State, after: State) -> dict[str, float]:
    """The sign that an expression may not have next, by the names of the events that stopped or turned theirs."""
    found = {}
    for event in events:
        rates = [_rate(event, state) for state in (before, after)] if event.concerns(after.system) else [0.0, 0.0]
        crossing = float(np.sign(rates[0]))
        if crossing != 0.0 and crossing * rates[1] <= STOPPED_RATE * abs(rates[0]):
            found[event.name] = crossing
    return found


def _rate(event: Event, state: State) -> float:
    """d/dt of the expression of an event in a state; NaN if it reads accelerations or multipliers."""
    system = state.system
    observed = observer_of(system).observe([event.expression(system)], f"event `{event.name}`")
    if observed.reads_rates:
        return np.nan
    return float(observed.rates(state.t, state.q, state.u, state.parameters, rates_of(state), state.udot)[0])

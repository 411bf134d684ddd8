"""Derivatives of a motion across a change: the saltation matrix of an event, applied to the columns S.

An event occurs where g(t, z, p) = 0, and its time depends on theta too. With the rates f- before and f+ after,

    dtau = -(g_z S + g_p dp) / (g_t + g_z f-),     S+ = R_z (S + f- dtau) + R_t dtau + R_p dp - f+ dtau,

R the map of the state just before to that just after (P. C. Mueller, Chaos, Solitons & Fractals 5 (1995) 1671). The
tick of a clock does not move: dtau = 0. R may be a user's function or an impact, so its derivative and that of g are
taken along the one direction that is needed, by differences of order four over consistent states: exact to about 1e-10.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.observation import observer_of
from dalembert.equations.system import System
from dalembert.errors import DalembertError
from dalembert.motion.derivatives import Derivatives
from dalembert.motion.outputs import rates_of
from dalembert.motion.state import State
from dalembert.run.events import Event
from dalembert.run.every import Every
from dalembert.run.state_changes import changed

SALTATION_STEP = 1e-3  # of the differences, relative to the size of the state
SAME_DERIVATIVE = 1e-7  # derivatives of parameters after a change that are taken for 0 or 1
GRAZING = 1e-9  # rate of g at the event, relative to its gradient, below which it is not crossed
START = -1  # the column of a start value


@dataclass(frozen=True, eq=False)
class _Direction:
    """A change of time, (q, u) and parameters."""

    t: float
    z: np.ndarray
    p: np.ndarray

    @property
    def size(self) -> float:
        return max(abs(self.t), np.abs(self.z).max(initial=0.0), np.abs(self.p).max(initial=0.0))


def after_change(event: Event | Every, before: State, after: State, derivatives: Derivatives) -> Derivatives:
    """The derivatives just after a change, of which those just `before` are the last sample; one sample.

    Raises `DalembertError` where there are none, or where the parameters after it depend on theta in another way than
    being it.
    """
    old, new = before.system, after.system
    f_before = np.concatenate([rates_of(before), before.udot])
    f_after = np.concatenate([rates_of(after), after.udot])
    flow = _Direction(1.0, f_before, np.zeros(len(old.parameters)))
    columns, S = [], []
    for k, name in enumerate(derivatives.names):
        here = _Direction(0.0, derivatives.S[-1, k], _unit(old, derivatives.columns[k]))
        dtau = _delay(event, before, here, flow) if isinstance(event, Event) else 0.0
        moved = _Direction(dtau, here.z + dtau * f_before, here.p)
        there = _along(before, moved, lambda state: _image(event, state))
        dz, dp = np.split(there, [new.nq + new.nu])
        S.append(dz - dtau * f_after)
        columns.append(_parameter(event, new, name, dp))
    return replace(derivatives, columns=tuple(columns), S=np.array(S)[None])


def _delay(event: Event, before: State, here: _Direction, flow: _Direction) -> float:
    """d tau / d theta."""
    g = observer_of(before.system).observe([event.expression(before.system)], f"event `{event.name}`")

    def value(s: State) -> np.ndarray:
        return g.at(s.t, s.q, s.u, s.parameters, s.udot, s.multipliers)

    rate = float(_along(before, flow, value)[0])
    if not abs(rate) > GRAZING * max(1.0, flow.size):
        raise DalembertError(
            f"event `{event.name}` touches zero without crossing it (rate {rate:.1e}): the motion has no derivative "
            "there"
        )
    return -float(_along(before, here, value)[0]) / rate


def _image(event: Event | Every, state: State) -> np.ndarray:
    """(q, u, p) after the change of a state."""
    after = changed(event, state).after or state
    return np.concatenate([after.q, after.u, after.parameters])


def _along(state: State, way: _Direction, value: Callable[[State], np.ndarray]) -> np.ndarray:
    """The derivative of a function of states along a direction, by a difference of order four."""
    size = way.size
    if size == 0.0:
        return np.zeros_like(value(state))
    h = SALTATION_STEP * max(1.0, np.abs(state.z).max(initial=0.0)) / size
    near, far = (value(_moved(state, way, e)) - value(_moved(state, way, -e)) for e in (h, 2.0 * h))
    return (8.0 * near - far) / (12.0 * h)


def _moved(state: State, way: _Direction, e: float) -> State:
    """The consistent state nearest to one moved by e along a direction."""
    s, z = state.system, state.z + e * way.z
    values = dict(zip((*s.coordinates, *s.speeds), z.tolist(), strict=True))
    p = dict(zip(s.parameters, (state.parameters + e * way.p).tolist(), strict=True))
    return s.initial({}, guess=values, t0=state.t + e * way.t, parameters=p)


def _unit(system: System, column: int) -> np.ndarray:
    p = np.zeros(len(system.parameters))
    if column != START:
        p[column] = 1.0
    return p


def _parameter(event: Event | Every, system: System, name: str, dp: np.ndarray) -> int:
    """The number of the parameter that theta is after a change; START if it is none of them any more."""
    if (np.abs(dp) < SAME_DERIVATIVE).all():
        return START
    k = int(np.abs(dp).argmax())
    if (np.abs(dp - _unit(system, k)) < SAME_DERIVATIVE).all():
        return k
    changing = [p for p, d in zip(system.parameters, dp, strict=True) if abs(d) >= SAME_DERIVATIVE]
    raise DalembertError(
        f"`{event.name}` makes the parameters {', '.join(changing)} depend on `{name}` through the state; "
        "sensitivities cannot follow that: make such a parameter a coordinate, or leave the sensitivities out"
    )

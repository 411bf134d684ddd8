"""Messages on how a run ended: what happened, when, and the reason as far as it can be found."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import InitialStateError
from dalembert.motion.certificate import DEPENDENT_CONDITION
from dalembert.motion.control import losing
from dalembert.motion.state import State
from dalembert.run.status import Status

if TYPE_CHECKING:
    from dalembert.initial.diagnosis import Diagnosis
    from dalembert.run.engine import Engine
    from dalembert.run.time_loop.march import Samples

NEAR = 1e-4  # a reciprocal condition that has fallen to this part of the first one tells of a singular position
STUCK = (Status.STEP_COLLAPSE, Status.DRIFT_STUCK, Status.NOT_CONVERGED, Status.SINGULAR)
CHATTERING = "; chattering"
CHATTER = 0.01  # the smaller side of a jump beside the larger
GROWN = 100.0  # times the largest value at the start
STEPS_AHEAD = (1e-12, 1e-9, 1e-6)  # of the time reached: how far to look for equations that are not finite


def ending(engine: Engine, samples: Samples, t0: float, z0: np.ndarray) -> str:
    """Message of a run from z0 = (q, u) at t0: the outcome and, unless it reached its end, its time and place."""
    status, (t, _) = samples.status, samples.end
    if status == Status.OK:
        return status.message
    if status == Status.DEPENDENT and engine.passages:
        return f"{status.message}: {engine.passages[-1]}"
    fault = _fault(_diagnosis(engine, samples)) if status in STUCK else ""
    if fault:
        return f"{fault} (t = {t:.6g})"
    if status == Status.COLLAPSED:
        return f"{status.message} (t = {t:.6g}, steps of {engine.budget.step:.1e}{_cause(engine, samples, t0, z0)})"
    return f"{status.message} (t = {t:.6g}{_whereabouts(engine, samples, t0, z0) if status in STUCK else ''})"


def _cause(engine: Engine, samples: Samples, t0: float, z0: np.ndarray) -> str:
    """Clause on why steps became short: chattering, a singular position or growth; and the fastest variable."""
    (t, z), size = samples.end, engine.size
    names = (*engine.system.coordinates, *engine.system.speeds)
    zdot = engine.rates(t, z)[:size]
    if not np.isfinite(zdot).all():
        return "; the equations give a value that is not finite there"
    k = int(np.argmax(np.abs(zdot) / (1.0 + np.abs(z[:size]))))
    fastest = f"; `{names[k]}` = {z[k]:.3g} changes fastest, at a rate of {zdot[k]:.3g}"
    clause = _whereabouts(engine, samples, t0, z0)
    return clause if clause.startswith(CHATTERING) else clause + fastest


def _chattering(engine: Engine, t: float, z: np.ndarray) -> str:
    """Clause naming a speed whose rate reverses with the speed itself; empty if there is none."""
    system, nq, size = engine.system, engine.system.nq, engine.size
    zdot, step = engine.rates(t, z)[:size], float(engine.mem[engine.plan.step_length])
    step = max(step, engine.budget.step if engine.budget else 0.0)
    for k in range(nq, size):
        either = np.zeros(2)
        for side in (0, 1):
            near = np.array(z)
            near[k] += (2 * side - 1) * max(10.0 * step * abs(zdot[k]), 1e-9 * (1.0 + abs(z[k])))
            either[side] = engine.rates(t, near)[k]
        if either[0] > 0.0 > either[1] and min(abs(either)) > CHATTER * max(abs(either)):
            name = system.speeds[k - nq]
            return (
                f"{CHATTERING}: the rate of `{name}` jumps between {either[1]:.3g} and {either[0]:.3g} where it is "
                f"{z[k]:.3g}, as a force like sign({name}) makes it; smooth that force, for example by tanh"
            )
    return ""


def _growth(engine: Engine, z: np.ndarray, zdot: np.ndarray, z0: np.ndarray) -> str:
    """Clause naming the variable that grows without bound; empty if none has become large."""
    size = engine.size
    k = int(np.argmax(np.abs(zdot[:size]) / (1.0 + np.abs(z[:size]))))
    if not (z[k] * zdot[k] > 0.0 and abs(z[k]) > GROWN * (1.0 + np.abs(z0[:size]).max())):
        return ""
    name = (*engine.system.coordinates, *engine.system.speeds)[k]
    return (
        f"; `{name}` grows without bound: it is {z[k]:.3g} and at this rate doubles in {abs(z[k] / zdot[k]):.1e}, by a "
        "pole or an instability of the motion"
    )


def _diagnosis(engine: Engine, samples: Samples) -> Diagnosis | None:
    """Diagnosis of the state where a run is stuck; None for large systems and for states that are not finite."""
    (t, z), system, n = samples.end, engine.system, engine.size
    if system.is_large or not np.isfinite(z).all():
        return None
    e = engine.evaluate(np.array([t]), z[None])
    state = State(system, t, z[: system.nq], z[system.nq : n], e.udot[0], e.multipliers[0], engine.parameters)
    with suppress(InitialStateError):
        return system.diagnose(state)
    return None


def _fault(diagnosis: Diagnosis | None) -> str:
    """Clause naming contradictory constraints, else undetermined motions; empty if there are none.

    Contradictions at acceleration level alone are left out: at a singular position accelerations may not exist although
    positions and velocities do.
    """
    if diagnosis is None:
        return ""
    conflicts = [str(c) for c in diagnosis.conflicting if c.level != "acceleration"]
    if conflicts:
        return f"{Status.CONTRADICTORY.message}: {'; '.join(conflicts)}"
    if diagnosis.undetermined:
        return f"{Status.UNDETERMINED.message}: {'; '.join(diagnosis.undetermined)}"
    return ""


def _dependent(diagnosis: Diagnosis | None) -> str:
    """Names of the constraints that are dependent, or next to it, at a state."""
    if diagnosis is None:
        return "constraints"
    rows = dict.fromkeys(name for one in diagnosis.redundant for name in (one.name, *one.combination))
    rows |= dict.fromkeys(diagnosis.nearest.constraints if diagnosis.nearest else ())
    return ", ".join(f"`{name}`" for name in rows) or "constraints"


def _whereabouts(engine: Engine, samples: Samples, t0: float, z0: np.ndarray) -> str:
    """Clause on the state where a run is stuck, such as a singular position; empty if nothing special is found."""
    t, z = samples.end
    chattering = _chattering(engine, t, z)
    if chattering:
        return chattering
    states = np.zeros((2, engine.nz))
    states[0, : engine.size], states[1] = z0, z
    first, last = engine.evaluate(np.array([t0, t]), states).condition
    here = np.array([t0, t]), states[:, : engine.system.nq], states[:, engine.system.nq : engine.size]
    lost = losing(engine.system, *here, engine.parameters, NEAR)
    if lost is not None:
        return f"; control is lost there: {lost.what}, and grows without bound"
    if (
        last < NEAR * first and first > DEPENDENT_CONDITION
    ):  # constraints that are redundant throughout are not the reason
        rows = _dependent(_diagnosis(engine, samples))
        return f"; at a singular position: {rows} become dependent there, reciprocal condition {last:.1e}"
    zdot = engine.rates(t, z)
    for step in np.multiply(STEPS_AHEAD, max(abs(t), 1.0)):
        if not np.isfinite(engine.rates(t + step, z + step * zdot)).all():
            return "; just after it the equations give a value that is not finite"
    return _growth(engine, z, zdot, z0)

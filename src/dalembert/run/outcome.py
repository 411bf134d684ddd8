"""How a run ended, in words: what happened, when, and what can be found out about the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.motion.certificate import DEPENDENT
from dalembert.run.status import Status

if TYPE_CHECKING:
    from dalembert.run.engine import Engine
    from dalembert.run.time_loop.march import Samples

NEAR = 1e-4  # a reciprocal condition that has fallen to this part of the first one tells of a singular position
STUCK = (Status.STEP_COLLAPSE, Status.DRIFT_STUCK, Status.NOT_CONVERGED, Status.SINGULAR)
AHEAD = (1e-12, 1e-9, 1e-6)  # of the time reached: how far to look for equations that are not finite


def ending(engine: Engine, samples: Samples, t0: float, z0: np.ndarray) -> str:
    """The message of a run from z0 = (q, u) at t0: what happened and, unless it reached its end, when and where."""
    status, (t, _) = samples.status, samples.end
    if status == Status.OK:
        return status.message
    return f"{status.message} (t = {t:.6g}{_whereabouts(engine, samples, t0, z0) if status in STUCK else ''})"


def _whereabouts(engine: Engine, samples: Samples, t0: float, z0: np.ndarray) -> str:
    """What is special about the state a run is stuck at, as a clause; empty if nothing is known."""
    t, z = samples.end
    states = np.zeros((2, engine.nz))
    states[0, : engine.size], states[1] = z0, z
    first, last = engine.evaluate(np.array([t0, t]), states).condition
    if last < NEAR * first and first > DEPENDENT:  # constraints that are redundant throughout are not the reason
        return f"; at a singular position: constraints become dependent there, reciprocal condition {last:.1e}"
    zdot = engine.rates(t, z)
    for step in np.multiply(AHEAD, max(abs(t), 1.0)):
        if not np.isfinite(engine.rates(t + step, z + step * zdot)).all():
            return "; just after it the equations give a value that is not finite"
    return ""

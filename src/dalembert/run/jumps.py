"""Forces that jump: a derivative does not see a jump, so a motion across one has other derivatives than its equations.

Functions that always jump are refused beforehand. A `Piecewise` or the slope of a table may jump or not: where the
equations contain comparisons or tables, every stretch between two samples is halved towards the larger change of u'
until only a jump is left.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.equations.system import System
from dalembert.errors import PairingError
from dalembert.motion.motion import Motion
from dalembert.native.operations import TABLE
from dalembert.native.program import read_program

JUMPS = {ca.OP_SIGN: "sign", ca.OP_FLOOR: "floor", ca.OP_CEIL: "ceiling", ca.OP_FMOD: "Mod"}
COMPARISONS = (ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE, ca.OP_IF_ELSE_ZERO)
JUMP_HALVINGS = 45
JUMP = 1e-6  # change of u' over a stretch of round-off, relative to the largest u', at least this


def check_differentiable(system: System) -> None:
    """Raise `PairingError` if the equations contain a function that jumps: its jumps are not in a derivative."""
    found = [JUMPS[kind] for kind in JUMPS if kind in _operations(system)]
    if found:
        raise PairingError(
            f"the equations of `{system.name}` contain {', '.join(found)}, whose jumps no derivative shows; smooth "
            "them (tanh(v / eps) for sign(v)), or state them as an Event that changes a parameter"
        )


def check_crossed(motion: Motion) -> None:
    """Raise `PairingError` if accelerations jump between samples of a motion: its derivatives lack the jump."""
    s = motion.system
    bends = any(kind in COMPARISONS or kind >= TABLE for kind in _operations(s))
    if len(motion) < 2 or not bends or motion.recipe is None or motion.facts is None:
        return
    engine = motion.recipe.engine(s, motion.parameters)
    engine.resume(motion.facts)
    z = np.hstack([motion.q, motion.u, motion.work[:, None]])[:, : engine.nz]
    low, high = (motion.t[:-1], z[:-1]), (motion.t[1:], z[1:])
    rates = engine.evaluate(motion.t, z).udot
    left, right = rates[:-1], rates[1:]
    for _ in range(JUMP_HALVINGS):
        middle = (0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1]))
        between = engine.evaluate(*middle).udot
        first = np.abs(between - left).max(axis=1) > np.abs(right - between).max(axis=1)
        low = np.where(first, low[0], middle[0]), np.where(first[:, None], low[1], middle[1])
        high = np.where(first, middle[0], high[0]), np.where(first[:, None], middle[1], high[1])
        left, right = np.where(first[:, None], left, between), np.where(first[:, None], between, right)
    jump = np.abs(right - left).max(axis=1)
    k = int(jump.argmax())
    if jump[k] > JUMP * (1.0 + np.abs(rates).max()):
        name = s.speeds[int(np.abs(right - left)[k].argmax())]
        raise PairingError(
            f"`{s.name}`: the acceleration {name}' jumps by {jump[k]:.3g} near t = {low[0][k]:.4g}; no derivative "
            "shows that: smooth the force, or state the jump as an Event that changes a parameter"
        )


def _operations(system: System) -> frozenset[int]:
    """The operations in the equations of motion."""

    def find() -> frozenset[int]:
        f = system.functions["dynamics"]
        raw = frozenset(f.instruction_id(k) for k in range(f.n_instructions()))
        return frozenset(read_program(f).operations) if ca.OP_CALL in raw else raw  # tables are wrapped in floor

    return system.kept("operations of the dynamics", find)

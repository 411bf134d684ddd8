"""Whole turns of an angle that is known between -pi and pi only, counted by its rate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dalembert.errors import DalembertError

SURE = np.pi / 2  # an angle this close to the prediction by its rate has its turns counted right
TURN_HALVINGS = 20


def count_turns(motion: Any, name: str, read: Callable[[Any], np.ndarray]) -> np.ndarray:
    """The angle `name` (nt,), which `read` gives between -pi and pi, with whole turns from the first sample on.

    Turns between two samples are those that bring the change of the angle closest to the trapezoidal rule for its rate.
    That is right if the rate is monotonic between them and changes little; so samples as close as the steps that made
    the motion are looked at, and closer ones where the rate changes much. A motion out of a file has its own samples
    only.
    """
    t, rate = np.asarray(motion.t), f"{name.rpartition('.')[0]}.rate"
    motion = motion.as_close_as_steps
    for _ in range(TURN_HALVINGS):
        angle = read(motion)
        steps, unsure = _steps(motion.t, angle, motion[rate])
        if not unsure.any():
            return (angle[:1] + np.concatenate([np.zeros(1), np.cumsum(steps)]))[np.searchsorted(motion.t, t)]
        if not motion.can_continue:
            break
        motion = motion.resampled(np.union1d(motion.t, (motion.t[:-1] + motion.t[1:])[unsure] / 2))
    k = int(np.argmax(unsure))
    raise DalembertError(
        f"`{name}`: the samples at t = {motion.t[k]:g} and {motion.t[k + 1]:g} are too far apart to count the turns "
        "between them; sample the motion more closely by `t_eval`"
    )


def join_turns(parts: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Angles of successive segments, each with the whole turns by which it goes on from where the last one ended."""
    joined: list[np.ndarray] = []
    last: float | None = None
    for part in parts:
        turns = 0.0 if last is None or not len(part) else np.round((last - part[0]) / (2 * np.pi))
        joined.append(part + 2 * np.pi * turns)
        last = float(joined[-1][-1]) if len(part) else last
    return joined


def _steps(t: np.ndarray, angle: np.ndarray, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Changes of the angle between samples with whole turns, (nt - 1,), and where they are not sure.

    The integral of a monotonic rate is within h |change of the rate| / 2 of the trapezoidal rule.
    """
    h, steps = np.diff(t), np.diff(angle)
    predicted = h * (rate[1:] + rate[:-1]) / 2
    steps += 2 * np.pi * np.round((predicted - steps) / (2 * np.pi))
    sure = (np.abs(predicted - steps) <= SURE) & (h * np.abs(np.diff(rate)) / 2 <= SURE)
    return steps, ~sure

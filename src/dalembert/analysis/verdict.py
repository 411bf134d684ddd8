"""The verdict of a certificate at a fraction of its cost, where everything held."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.motion.certificate import energy_finding
from dalembert.motion.certification import DIAGNOSED_SAMPLES
from dalembert.motion.inertia import are_undetermined
from dalembert.motion.motion import Motion
from dalembert.motion.prescribed_jumps import may_jump


def verdict_of(motion: Any) -> str:
    """Verdict of the certificate of a motion that is not ok; empty if it is ok.

    A motion that is within the strict bounds is also within those that allow for dependent constraints and fast rates.
    The whole certificate is computed only for a motion that exceeds a strict bound.
    """
    if isinstance(motion, Motion) and motion.success and len(motion) and _holds(motion):
        return ""
    certificate = motion.certificate
    return "" if certificate.ok else certificate.verdict


class Judged:
    """Numbers built on a `motion`, which say whether it held."""

    motion: Any

    @cached_property
    def message(self) -> str:
        """Verdict of the certificate of the motion if it is not ok; empty if it is ok."""
        return verdict_of(self.motion)

    @property
    def success(self) -> bool:
        """Whether the motion held."""
        return not self.message


def check_held(motion: Any, what: str) -> None:
    """Raise `DalembertError` if the certificate of a motion, on which numbers without one are built, is not ok."""
    verdict = verdict_of(motion)
    if verdict:
        raise DalembertError(f"{what} of `{motion.system.name}` cannot be trusted, as its motion is {verdict}")


def _holds(motion: Motion) -> bool:
    e, allowed, sizes = motion.evaluation, motion.tolerances, motion.sizes
    for values, most in (
        (e.phi, allowed.position * sizes.position), (e.psi, allowed.velocity * sizes.velocity),
        (e.acceleration, allowed.acceleration), (e.balance, allowed.solve),
    ):  # fmt: skip
        if not (np.abs(values) <= most).all():
            return False
    few = np.linspace(0, len(motion) - 1, DIAGNOSED_SAMPLES).astype(int)
    if are_undetermined(motion.system, motion.t[few], motion.q[few], motion.u[few], motion.parameters).any():
        return False
    if motion.verification is not None or motion.events.missed or not all(one.passed for one in motion.passages):
        return False
    if may_jump(motion.system):  # between samples
        return False
    met = motion.energies_met
    return energy_finding("", met, met.size_beside(sizes, float(motion.t[-1])), allowed.energy).ok

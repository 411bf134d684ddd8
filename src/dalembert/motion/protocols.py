"""What can be read of a mechanism that moves: the protocols of `State`, `Motion` and `MotionSequence`, in one place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from dalembert.equations.system import System
from dalembert.motion.certificate import Certificate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class Values(Protocol):
    """What all three have in common: values at one instant, or over time along the first axis."""

    @property
    def system(self) -> System: ...
    @property
    def t(self) -> Any: ...
    @property
    def q(self) -> np.ndarray: ...
    @property
    def u(self) -> np.ndarray: ...
    @property
    def udot(self) -> np.ndarray: ...
    @property
    def multipliers(self) -> np.ndarray: ...
    @property
    def unknowns(self) -> np.ndarray: ...
    @property
    def reactions(self) -> np.ndarray: ...


class Source(Values, Protocol):
    """A State or a Motion: one system with one set of parameters, so that its functions can be evaluated."""

    @property
    def parameters(self) -> np.ndarray: ...


class MotionLike(Values, Protocol):
    """A Motion or a MotionSequence: samples over time of one system or of several, in `segments` of one each."""

    kind: ClassVar[str]  # of the files that `save` writes

    @property
    def segments(self) -> tuple[Any, ...]: ...
    @property
    def constraint_names(self) -> tuple[str, ...]: ...
    @property
    def energy(self) -> np.ndarray: ...
    @property
    def energy_balance(self) -> np.ndarray: ...
    @property
    def violation(self) -> dict[str, dict[str, np.ndarray]]: ...
    @property
    def certificate(self) -> Certificate: ...
    @property
    def message(self) -> str: ...
    def __len__(self) -> int: ...
    def resampled(self, times: ArrayLike) -> MotionLike: ...
    def stored(self) -> dict[str, np.ndarray]: ...

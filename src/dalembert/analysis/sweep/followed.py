"""`Followed`: starts that stay on one branch of the mechanism, however far the values of a run are."""

from __future__ import annotations

from collections.abc import Mapping

from dalembert.dataclass import dataclass
from dalembert.errors import PairingError
from dalembert.initial.continuation import follow
from dalembert.motion.state import State


@dataclass(frozen=True, eq=False)
class Followed:
    """Starts on the branch through `state`: of a linkage, always with the elbow on the same side.

    Each run gets the state that the branch leads to when what varies goes from its value in `state` to that of the
    run, one name after the other, in steps short enough not to jump to another branch. It depends on nothing but
    `state` and the values of the run. A branch that ends on the way is a run without an initial state. Nearest states,
    `sweep(state=state)`, are found faster, and can lie on another branch.
    """

    state: State

    def __post_init__(self) -> None:
        if not isinstance(self.state, State):
            raise PairingError(f"Followed needs a State, got {type(self.state).__name__}; call system.initial(...)")

    @property
    def t(self) -> float:
        """The time of the state."""
        return self.state.t

    def reach(self, given: Mapping[str, float], parameters: Mapping[str, float]) -> State:
        """The state on the branch with these values: parameters are followed first, then given values."""
        state = self.state
        held: list[str] = []
        for name, value in parameters.items():
            (state,) = follow(state, name, [value])
        for name, value in given.items():
            (state,) = follow(state, name, [value], hold=held)
            held.append(name)
        return state

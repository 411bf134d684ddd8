"""`diagnose`: as a whole, or by parts if the system is large."""

from __future__ import annotations

from dalembert.equations.system import System
from dalembert.errors import PairingError
from dalembert.initial import diagnosis
from dalembert.initial.diagnosis import Diagnosis
from dalembert.motion.state import State


def diagnose(system: System, state: State) -> Diagnosis:
    """The diagnosis of the constraints of `system` in `state`, consistent or not."""
    if not (system.is_large and system.ideal):
        return diagnosis.diagnose(system, state)
    if state.system.speeds != system.speeds:
        raise PairingError(f"the state belongs to `{state.system.name}`, not to `{system.name}`")
    from dalembert.initial.diagnosis_by_parts import SparseEquations  # loads SciPy, which small systems do without

    return SparseEquations(system, state).diagnosed()

"""No drift control: the constraints hold at acceleration level only, and their errors grow."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.native.jit import jit
from dalembert.native.kernel import Kernel
from dalembert.native.plan import Floats, Plan, f8, i8
from dalembert.run.drift.start import Start
from dalembert.run.right_hand_side import Feedback


@dataclass(frozen=True)
class NoCorrection:
    """Integrates A u' = b and lets the constraints drift; for comparison."""

    def options(self, _system: System, _start: Start | None) -> np.ndarray:
        """Numbers for native code: none."""
        return np.zeros(0)

    def kernels(self, _system: System) -> dict[str, Kernel | None]:
        """Kernels of its own: none."""
        return {}

    def workspace(self, _system: System) -> int:
        """Floats of workspace: none."""
        return 0

    def feedback(self, _system: System) -> Feedback | None:
        """Feedback into b: none."""
        return None

    def corrector(self) -> Any:
        """Native correction: none."""
        return keep

    def remark(self, _system: System, _start: Start | None) -> str:
        """Remark for the description of a run, beside the options: none."""
        return ""


@jit(i8(Plan, Floats, f8, Floats))
def keep(_plan, _mem, _t, _z):
    """The state stays as it is."""
    return 0

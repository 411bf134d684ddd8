"""Interfaces of the ingredients of a run: formulations and drift controls."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import casadi as ca
import numpy as np

from dalembert.equations.system import System
from dalembert.native.kernel import Kernel
from dalembert.run.drift.start import Start
from dalembert.run.formulations.accelerators import Accelerators
from dalembert.run.formulations.choice import Choice
from dalembert.run.formulations.law_graphs import Iteration
from dalembert.run.right_hand_side import Equations, Feedback


class Formulation(Protocol):
    """A way of writing the equations: how u' and la follow from M, f, A, b.

    1. `choose` makes the static choice at a state, from numbers; None if there is nothing to choose.
    2. `unroll` writes u', la and the quality of the solve as graphs for that choice; None if they would be too long.
    3. `accelerators` are the native functions that leave q', u', power, la and quality in mem.
    4. `workspace` says how many floats, found at plan.work, and integers, at plan.work_ints, the loops need.
    """

    def choose(self, system: System, M: np.ndarray, A: np.ndarray) -> Choice | None: ...

    def unroll(self, equations: Equations, choice: Any) -> tuple[ca.SX, ca.SX, ca.SX] | None: ...

    def workspace(self, nu: int, nc: int) -> tuple[int, int]: ...

    def accelerators(self) -> Accelerators: ...


@runtime_checkable
class Iterating(Formulation, Protocol):
    """A formulation that solves for reactions of any law; `iteration` is its graph, None where none is needed."""

    def iteration(self, system: System) -> Iteration | None: ...


@runtime_checkable
class Eliminating(Formulation, Protocol):
    """A formulation that integrates the independent speeds only; the others follow from them and the constraints.

    `eliminator` is the native function that makes them follow, in x, at every evaluation; `corrector` is called in the
    place of that of the drift control, and calls it. They read the static choice, which is made for reactions of every
    kind; where these are not ideal, no graph is asked for.
    """

    def eliminator(self) -> Any: ...

    def corrector(self) -> Any: ...


class Drift(Protocol):
    """A way of keeping the constraints: feedback into b before a solve, correction of a state after a step.

    `options` are numbers for native code, always as many; `start` is None before a run is known. `kernels` go to the
    fields of the plan of their names, `workspace` floats are found at plan.work. `feedback` is a graph, made part of
    the motion kernel and of a kernel for solves that are not unrolled. `corrector` is a native function. `remark` is
    what the certificate should add to the options given by the user, such as numbers chosen by itself.
    """

    def options(self, system: System, start: Start | None) -> np.ndarray: ...

    def kernels(self, system: System) -> dict[str, Kernel | None]: ...

    def workspace(self, system: System) -> int: ...

    def feedback(self, system: System) -> Feedback | None: ...

    def corrector(self) -> Any: ...

    def remark(self, system: System, start: Start | None) -> str: ...

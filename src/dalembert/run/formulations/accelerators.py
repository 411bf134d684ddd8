"""The native functions of a formulation, and which of them a system needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dalembert.errors import PairingError

if TYPE_CHECKING:
    from dalembert.equations.system import System
    from dalembert.native.kernel import Kernel


class Accelerators(NamedTuple):
    """Native functions that leave q', u', power, la and quality in mem; None where a formulation has none.

    `unrolled` calls the motion kernel made of the graphs of the formulation, `loops` does the same in loops that read
    the choice from the plan; both need ideal reactions. `any_law` solves for reactions of every law.
    """

    unrolled: Any
    loops: Any = None
    any_law: Any = None


def accelerator_of(formulation: Any, system: System, motion: Kernel | None) -> Any:
    """The native function by which a formulation solves a system; `motion` is the motion kernel if there is one.

    Raises `PairingError` if the formulation has none for these reactions, or none for a system of this size.
    """
    name, ways = type(formulation).__name__, formulation.accelerators()
    if not system.ideal:
        if ways.any_law is None:
            raise PairingError(
                f"{name} eliminates reactions that are normal to their constraints, but this system has servo or "
                "friction reactions, or constraints nonlinear in the accelerations; use LagrangeMultipliers()"
            )
        return ways.any_law
    if motion is not None:
        return ways.unrolled
    if ways.loops is None:
        raise PairingError(
            f"{name} is written as a graph only, and that would be too long for a system of this size; use "
            "LagrangeMultipliers(), or give it native loops"
        )
    return ways.loops

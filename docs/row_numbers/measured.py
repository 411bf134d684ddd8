"""One number of a document, beside what is measured here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

HOLDS = "holds; no number is printed"


@dataclass(frozen=True)
class Measured:
    """One number of a document: what is printed, how it is measured here, and what may be said of it.

    It holds if `holds` is true for what was measured. Its verdict is then `as printed` if the document prints this
    number or says this of it, HOLDS if the document states the equation or method only, or what is known to differ.
    """

    row: str
    what: str
    printed: str
    measure: Callable[[], float]
    shown: str  # format of the number, with its unit
    holds: Callable[[float], bool]
    verdict: str = "as printed"

    def line(self) -> str:
        """The row of the table; says NOT REPRODUCED where the number does not hold."""
        value = self.measure()
        verdict = self.verdict if self.holds(value) else "NOT REPRODUCED"
        return f"| {self.what} | {self.row} | {self.printed} | {self.shown.format(value)} | {verdict} |"


def below(bound: float) -> Callable[[float], bool]:
    """Whether a number is below a bound, in size."""
    return lambda value: abs(value) < bound

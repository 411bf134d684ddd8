"""The exceptions of the library as a tree. Every message states the fault, gives the numbers, and names the remedy.

DalembertError
|- ModelError(ValueError)              the stated model has faults; all of them are listed in `.faults`
|- UnknownNameError(KeyError)          a symbol or name that the system does not have
|- NotKeptError(KeyError)              something of a motion of which `outputs=` kept other things only
|- ArrayError(ValueError)              an array of the wrong shape, or not finite
|- OptionError(ValueError)             an option whose value cannot work
|- PairingError(TypeError)             options that do not fit together
|- OutOfMemoryError(MemoryError)       something would need more memory than there is; nothing was begun
|- FileError(OSError)                  a file that cannot be read or written, or is not what it should be
|- InitialStateError(ValueError)       no consistent state was found
|- InconsistentStateError(ValueError)  `simulate` got a state that violates the constraints
`- LinearizationError(ValueError)      the equations have no derivative in this state

SimulationInterrupt(KeyboardInterrupt) is no error: Ctrl-C; `.motion` is the motion up to there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from dalembert.printable import printable

LISTED_NAMES = 60  # known names that a message lists


class DalembertError(Exception):
    """Root of everything this library raises on purpose."""


class ModelError(DalembertError, ValueError):
    """The faults of a stated model, all of them, each naming the symbol or item."""

    def __init__(self, model: str, faults: Sequence[str]) -> None:
        self.model = model
        self.faults = tuple(faults)
        count = f"{len(self.faults)} faults" if len(self.faults) > 1 else "a fault"
        lines = "\n".join(f"  {k}. {fault}" for k, fault in enumerate(self.faults, 1))
        super().__init__(printable(f"model `{model}` has {count}:\n{lines}"))

    def __reduce__(self) -> tuple[type, tuple[str, tuple[str, ...]]]:
        return type(self), (self.model, self.faults)


class UnknownNameError(DalembertError, KeyError):
    """A symbol or name that was never declared; `.known` lists the declared ones."""

    def __init__(self, name: str, known: Iterable[str], where: str) -> None:
        self.name, self.known, self.where = name, tuple(known), where
        import difflib

        close = difflib.get_close_matches(name, self.known, n=3)
        hint = f"did you mean {', '.join(f'`{c}`' for c in close)}?" if close else f"known: {self._listed()}."
        self.message = printable(f"`{name}` is not known in {where}; {hint}")
        super().__init__(self.message)

    def _listed(self) -> str:
        more = len(self.known) - LISTED_NAMES
        return ", ".join(self.known[:LISTED_NAMES]) + (f" and {more} more" if more > 0 else "")

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[type, tuple[str, tuple[str, ...], str]]:
        return type(self), (self.name, self.known, self.where)


class NotKeptError(DalembertError, KeyError, AttributeError):
    """A quantity of a motion that was not recorded, because `outputs=` lists others only. `.kept` names those.

    It is an AttributeError too: `motion.q` is not there.
    """

    def __init__(self, what: str, kept: Iterable[str], remedy: str) -> None:
        self.what, self.kept, self.remedy = what, tuple(kept), remedy
        self.message = printable(f"{what} was not kept: outputs= asked for {', '.join(self.kept)} only; {remedy}")
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[type, tuple[str, tuple[str, ...], str]]:
        return type(self), (self.what, self.kept, self.remedy)


class ArrayError(DalembertError, ValueError):
    """An array of the wrong shape, or with values that are not finite."""


class OptionError(DalembertError, ValueError):
    """An option whose value cannot work."""


class PairingError(DalembertError, TypeError):
    """Options that do not fit together; the message names the remedy."""


class OutOfMemoryError(DalembertError, MemoryError):
    """A task needs more memory than is free; `.needed` and `.available` are in bytes."""

    def __init__(self, what: str, needed: int, available: int, remedy: str) -> None:
        self.what, self.needed, self.available, self.remedy = what, needed, available, remedy
        sizes = f"about {needed / 1e9:.3g} GB of memory, and {available / 1e9:.3g} GB are free"
        super().__init__(f"{what} would need {sizes}; {remedy}")

    def __reduce__(self) -> tuple[type, tuple[str, int, int, str]]:
        return type(self), (self.what, self.needed, self.available, self.remedy)


class FileError(DalembertError, OSError):
    """A file that cannot be written or read, is damaged, or has other contents than expected."""


class Closest(NamedTuple):
    """The closest state that was found: coordinates (nq,) and speeds (nu,)."""

    q: Any
    u: Any


class InitialStateError(DalembertError, ValueError):
    """No consistent state was found.

    `.closest` is the closest state found (None if there is none), and `.residuals` maps constraint names to their
    residuals there. `.conflicting` names the constraints in conflict. `.remedies` maps given values to ones that would
    work. `.states` are the states found before, when a branch was followed.
    """

    def __init__(
        self,
        message: str,
        residuals: Mapping[str, float] | None = None,
        *,
        closest: Closest | None = None,
        conflicting: Sequence[str] = (),
        remedies: Mapping[str, float] | None = None,
        states: Sequence[Any] = (),
    ) -> None:
        self.residuals, self.closest, self.conflicting = dict(residuals or {}), closest, tuple(conflicting)
        self.remedies, self.states = dict(remedies or {}), tuple(states)
        super().__init__(message)


class SimulationInterrupt(KeyboardInterrupt):
    """Ctrl-C during a run; `.motion` holds the samples up to there. In a sweep `.runs` holds the runs that are done.

    It is a KeyboardInterrupt, so that a loop over runs ends as well. At the prompt, the motion is
    `sys.last_value.motion`.
    """

    def __init__(self, message: str, motion: Any = None, runs: Any = None) -> None:
        self.motion, self.runs = motion, runs
        super().__init__(message)


class InconsistentStateError(DalembertError, ValueError):
    """A state violates the constraints; `.residuals` maps `(level, constraint)` to the violation."""

    def __init__(self, message: str, residuals: Mapping[tuple[str, str], float] | None = None) -> None:
        self.residuals = dict(residuals or {})
        super().__init__(message)


class LinearizationError(DalembertError, ValueError):
    """The equations have no (unique) derivative in a state; `.directions` names the variables involved."""

    def __init__(self, message: str, directions: Sequence[str] = ()) -> None:
        self.directions = tuple(directions)
        super().__init__(message)

    def __reduce__(self) -> tuple[type, tuple[str, tuple[str, ...]]]:
        return type(self), (str(self), self.directions)

"""`MotionOutputs`: the result of `simulate(outputs=...)` - recorded outputs and the certificate, without samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.errors import NotKeptError
from dalembert.guidance import no_attribute
from dalembert.listed import unlisted
from dalembert.model.reading import listed
from dalembert.motion.certificate import Certificate
from dalembert.motion.certification import certified
from dalembert.motion.motion import Motion
from dalembert.motion.outputs import is_expression, spelling, values_of
from dalembert.motion.recorded import one_time
from dalembert.motion.state import State
from dalembert.motion.tables import Tabled, columns_of, draw
from dalembert.motion.tally import Tally
from dalembert.stages import stage
from dalembert.text_tables import html_table

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from dalembert.motion.verification import SecondRun, Verification
    from dalembert.run.events import Occurrences
    from dalembert.run.run_facts import Passage

LISTED_OUTPUTS = 20  # names of recorded outputs in a message
OF_MOTION = frozenset([*(f.name for f in fields(Motion)), *dir(Motion)])
WHOLE = "leave outputs= out; store= keeps a whole motion on disk"
ADVICE = {  # for attributes of a Motion: how to get them, or something similar
    "q": f"add coordinates by name to outputs=, or {WHOLE}",
    "u": f"add speeds by name to outputs=, or {WHOLE}",
    "udot": f'add rates of speeds, such as "vx\'", to outputs=, or {WHOLE}',
    "multipliers": f"add constraints by name to outputs=, or {WHOLE}",
    "unknowns": f"add unknowns by name to outputs=, or {WHOLE}",
    "reactions": f'add "reaction(vx)" for a speed vx to outputs=, or {WHOLE}',
    "save": "write motion.to_csv('motion.csv'), or pickle it; to save a whole motion, leave outputs= out",
    "sample": f"give the times in t_eval=, or {WHOLE}",
    "resampled": f"give the times in t_eval=, or {WHOLE}",
}


@unlisted("can_continue columns derivatives end keys segments tally values with_facts")
@dataclass(frozen=True, eq=False, repr=False)
class MotionOutputs(Tabled):
    """The recorded outputs of a motion: its times t (nt,), the values asked for by `outputs=`, and its certificate.

    `motion["x"]`, `motion["tip"]`, `motion[x + y]` are (nt, ...) as those of a `Motion`, if they are among `outputs`;
    parameters and `t` always are. The certificate judges the whole run. The state at the end is
    `motion.at(motion.t[-1])`, from which a run can go on. Whatever else needs samples raises `NotKeptError`.
    """

    t: np.ndarray
    keys: tuple[Any, ...]  # names and expressions
    values: tuple[np.ndarray, ...]  # (nt, ...) each, in their order
    tally: Tally | None  # of all samples; None if there were none
    end: Motion  # facts of the run, with its last sample

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or name not in OF_MOTION:
                no_attribute(self, name)
            what = f"what `{name}` needs" if callable(getattr(Motion, name, None)) else f"`{name}`"
            raise self._not_kept(what, ADVICE.get(name, WHOLE))

    def __getitem__(self, key: Any) -> np.ndarray:
        entries = listed(key)
        if entries is not None:
            return np.stack([self[entry] for entry in entries], axis=1)
        found = self._by_key.get(identity_of(key))
        if found is not None:
            return found
        name, system = "" if is_expression(key) else spelling(key), self.system
        if name == "t":
            return self.t
        if name in system.parameters:
            return np.full(len(self), self.parameters[system.parameters.index(name)])
        if name in system.named_quantities:
            quantity, component = system.named_quantities[name]
            if component is not None and quantity.name in self._by_key:
                return self._by_key[quantity.name].reshape(len(self), -1)[:, component]
        if len(self):
            values_of(self.end, key)  # raises if it is not known at all
        raise self._not_kept(f"`{name or str(key).replace('(t)', '')}`", f"add it to outputs=, or {WHOLE}")

    def __len__(self) -> int:
        return len(self.t)

    @cached_property
    def _by_key(self) -> Mapping[Any, np.ndarray]:
        return dict(zip(map(identity_of, self.keys), self.values, strict=True))

    @property
    def outputs(self) -> tuple[str, ...]:
        """The recorded names and expressions, as text."""
        return tuple(str(key).replace("(t)", "") if is_expression(key) else spelling(key) for key in self.keys)

    def _not_kept(self, what: str, remedy: str) -> NotKeptError:
        """Error for a quantity that was not recorded: it lists the recorded ones and gives the remedy."""
        more = len(self.keys) - LISTED_OUTPUTS
        return NotKeptError(
            what, self.outputs if more <= 0 else (*self.outputs[:LISTED_OUTPUTS], f"{more} more"), remedy
        )

    # -- the run ---------------------------------------------------------------------------------------------------

    @property
    def system(self) -> System:
        """The system that moved."""
        return self.end.system

    @property
    def parameters(self) -> np.ndarray:
        """Values of the parameters."""
        return self.end.parameters

    @property
    def success(self) -> bool:
        """Whether the motion reached its end, or an event that ends it."""
        return self.end.success

    @property
    def message(self) -> str:
        """Message on how the run ended."""
        return self.end.message

    @property
    def stats(self) -> dict[str, int]:
        """Cost of the run: counts of steps, evaluations and solves by name."""
        return self.end.stats

    @property
    def method(self) -> str:
        """Formulation, drift control and integrator with their options, and the choices of the run."""
        return self.end.method

    @property
    def events(self) -> Occurrences:
        """The occurrences of events, in order, with their states."""
        return self.end.events

    @property
    def passages(self) -> tuple[Passage, ...]:
        """Positions in which constraints became dependent."""
        return self.end.passages

    @property
    def derivatives(self) -> None:
        """Derivatives in parameters and start values: never recorded."""

    @cached_property
    def certificate(self) -> Certificate:
        """The certificate over all samples: residuals of constraints and equations, and energy balance; see `.ok`."""
        return certified(self.end, self.tally)

    def verify(self, events: Iterable[Any] = (), second: SecondRun | None = None) -> Verification:
        """Estimated error of all recorded outputs, by a second, independent run: see `Motion.verify`."""
        found = stage("Motion.verify")(self, events, second)
        object.__setattr__(self.end, "verification", found)
        vars(self).pop("certificate", None)
        return found

    def at(self, t: float) -> State:
        """The state at the end of the motion, the only one that was kept."""
        t = one_time(t)
        if not len(self) or t != self.t[-1]:
            end = f"the state at the end, t = {self.t[-1]:g}, is motion.at(motion.t[-1]); " if len(self) else ""
            raise self._not_kept(f"the state at t = {t:g}", f"{end}for others {WHOLE}")
        return self.end.at(t)

    def with_facts(self, **facts: Any) -> MotionOutputs:
        """The same with other facts of its run, such as `message`."""
        return replace(self, end=replace(self.end, **facts))

    # -- read as a motion ------------------------------------------------------------------------------------------

    @property
    def segments(self) -> tuple[MotionOutputs, ...]:
        """Itself."""
        return (self,)

    @property
    def can_continue(self) -> bool:
        """Whether states between the samples can be found: never."""
        return False

    def __repr__(self) -> str:
        span = f"{len(self)} samples, t = {self.t[0]:g} .. {self.t[-1]:g}" if len(self) else "no samples"
        kept = ", ".join(self.outputs[:LISTED_OUTPUTS]) + (", ..." if len(self.outputs) > LISTED_OUTPUTS else "")
        return f"MotionOutputs of {self.system.name!r}: {kept} at {span}; {self.certificate.verdict}"

    def _repr_html_(self) -> str:
        """The verdict, and the range of every recorded output."""
        if not len(self):
            return html_table(repr(self), [])
        rows = [(name, *(f"{v:.6g}" for v in (x[0], x.min(), x.max(), x[-1]))) for name, x in self.columns().items()]
        return html_table(repr(self), [(("output", "start", "least", "largest", "end"), rows)])

    def columns(self, more: Sequence[Any] = ()) -> dict[str, np.ndarray]:
        """The columns of tables by name, (nt,) each: the recorded outputs."""
        return columns_of(self, [*self.keys, *more])

    def to_xarray(self, *more: Any) -> xr.Dataset:
        """A variable over time for every recorded column; `more` as in `to_pandas`."""
        import xarray as xr

        return xr.Dataset(
            {name: (("t",), values) for name, values in self.columns(more).items()},
            coords={"t": self.t},
            attrs={"system": self.system.name, "certificate": self.certificate.verdict},
        )

    def plot(self, path: str | Path | None = None, *, names: Sequence[Any] = ()) -> Figure:
        """A figure of the recorded outputs, or of some of them by name; saved if `path` is given."""
        return draw(self, path, names or self.keys)


def identity_of(key: Any) -> Any:
    """Dictionary key of an output: its name, or the expression itself."""
    return key if is_expression(key) else spelling(key)

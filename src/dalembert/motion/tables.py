"""Tables of a motion: its columns by name, for pandas and for text, and figures of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError, OptionError
from dalembert.file_writing import save_figure, write_file
from dalembert.guidance import no_attribute
from dalembert.motion.outputs import Observed, is_expression, spelling
from dalembert.motion.protocols import Sampled
from dalembert.stages import stage

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


class Tabled(Observed):
    """Base class of `Motion`, `MotionSequence` and `MotionOutputs`: the methods that need only values by name."""

    t: np.ndarray

    if not TYPE_CHECKING:
        __getattr__ = no_attribute

    def __getstate__(self) -> dict[str, Any]:
        """The fields alone, for pickling. Cached results are computed again after loading, to the same bits."""
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]

    @abstractmethod
    def columns(self, more: Sequence[Any] = ()) -> dict[str, np.ndarray]:
        """The columns of tables by name, (nt,) each; `more` are names or expressions to be columns too."""

    def to_pandas(self, *more: Any) -> pd.DataFrame:
        """Coordinates, speeds, multipliers, energy and outputs, or the recorded outputs, by column, indexed by time.

        `more` are names or expressions to be columns too: `motion.to_pandas("hinge.angle", x + y)`.
        """
        import pandas as pd

        return pd.DataFrame(self.columns(more), index=pd.Index(self.t, name="t"))

    def to_csv(self, path: str | Path, *more: Any) -> Path:
        """Write time, coordinates, speeds, multipliers, energy and outputs as text with commas; returns the path.

        `more` as in `to_pandas`, whose columns these are; numbers have 17 digits, so that nothing is lost.
        """
        table = {"t": self.t} | self.columns(more)
        lines = [",".join(f'"{name}"' if "," in name else name for name in table)]
        lines += [",".join(map(repr, row)) for row in np.column_stack([*table.values()]).tolist()]
        return write_file(path, "\n".join(lines) + "\n")


def draw(motion: Sampled, path: str | Path | None, names: Sequence[Any]) -> Figure:
    """The overview figure of a motion, or that of some names; saved if `path` is given."""
    check_sampled(motion)
    if not isinstance(path, str | Path | None) or path in _plain_names(motion):
        wanted = [path] if isinstance(path, str) else path
        raise OptionError(
            f"plot() takes the path of a file; what to draw is names=: write motion.plot(names={wanted!r})"
        )
    figure: Figure = stage("Motion.plot")(motion, names)
    if path is not None:
        save_figure(figure, path)
    return figure


def output_names(motion: Sampled) -> tuple[str, ...]:
    """Names of the outputs of all systems."""
    return tuple(dict.fromkeys(q.name for part in motion.segments for q in part.system.outputs))


def _plain_names(motion: Sampled) -> tuple[str, ...]:
    """Names of coordinates, speeds and outputs."""
    return (*motion.system.coordinates, *motion.system.speeds, *output_names(motion))


def columns_of(motion: Sampled, keys: Sequence[Any]) -> dict[str, np.ndarray]:
    """The values of names and expressions by column, (nt,) each; components have columns of their own."""
    columns: dict[str, np.ndarray] = {}
    for key in keys:
        name, values = str(key).replace("(t)", "") if is_expression(key) else spelling(key), motion[key]
        known = next(
            (part.system.named_quantities[name] for part in motion.segments if name in part.system.named_quantities),
            None,
        )
        flat = values.reshape(len(values), -1).T
        labels = known[0].columns if known and known[1] is None else (name,)
        columns |= dict(zip(labels, flat, strict=True))
    return columns


def check_sampled(motion: Sampled) -> None:
    """Raise if there is nothing to show or to continue from: the run failed before the first time asked for."""
    if not len(motion):
        raise DalembertError(
            f"the motion has no samples: {motion.message}. Ask for earlier times in `t_eval`, or leave it out"
        )

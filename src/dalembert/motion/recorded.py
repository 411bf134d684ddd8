"""What a motion in one piece and one in several show of themselves alike: a line, figures, tables and files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ArrayError, DalembertError
from dalembert.motion.archive import write_archive
from dalembert.motion.outputs import Observed, is_expression, spelling
from dalembert.motion.protocols import MotionLike
from dalembert.motion.verification import Verification
from dalembert.stages import stage

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    import dalembert


class Recorded(Observed):
    """Everything of a `Motion` and a `MotionSequence` that is made of what both have: see `source.Record`."""

    def __getstate__(self) -> dict[str, Any]:
        """What it was made of; what was computed from that is computed again, to the same bits."""
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]

    def __repr__(self: MotionLike) -> str:
        parts = f"{len(self.segments)} segments, " if len(self.segments) > 1 else ""
        span = f"{len(self)} samples, t = {self.t[0]:g} .. {self.t[-1]:g}" if len(self) else "no samples"
        return f"{type(self).__name__} of {self.system.name!r}: {parts}{span}; {self.certificate.verdict}"

    def sample(self: MotionLike, key: Any, times: ArrayLike) -> np.ndarray:
        """What `motion[key]` is at other times, in any order, each integrated from the sample before it.

        Its leading axes are those of `times`: one time gives one value. At the time of a change it is that after it.
        """
        at = np.asarray(times, dtype=float)
        once, back = np.unique(at, return_inverse=True)
        values = self.resampled(once)[key]
        return values[back.ravel()].reshape((*at.shape, *values.shape[1:]))

    def verify(self: MotionLike, events: Iterable[Any] = ()) -> Verification:
        """The estimated error of every coordinate, speed and multiplier, by a second, independent run.

        It uses another formulation and method and far tighter tolerances. If the motion was made with events, pass
        them again. The result is kept: the certificate tells it from then on.
        """
        found = stage("Motion.verify")(self, events)
        object.__setattr__(self, "verification", found)
        vars(self).pop("certificate", None)
        return found

    def plot(self: MotionLike, path: str | Path | None = None) -> Figure:
        """An overview figure of coordinates, speeds, multipliers, outputs and residuals; saved if `path` is given."""
        check_sampled(self)
        figure = stage("Motion.plot")(self)
        if path is not None:
            figure.savefig(path)
        return figure

    def animate(self: MotionLike, path: str | Path) -> Path:
        """A self-contained HTML animation of points, bodies and lines."""
        check_sampled(self)
        return stage("Motion.animate")(self, path)

    def report(self: MotionLike, path: str | Path, *, source: str | dalembert.Model = "") -> Path:
        """One self-contained HTML file: animation, plots of every quantity, reactions, certificate, equations, values.

        `source` is the model, to be shown as a model file, or a text such as the script. Verify the motion first to
        have the estimated error in it.
        """
        check_sampled(self)
        return stage("Motion.report")(self, path, source=source)

    def to_pandas(self: MotionLike, *more: Any) -> pd.DataFrame:
        """Coordinates, speeds, multipliers, energy and outputs by column, indexed by time.

        `more` are names or expressions to be columns too: `motion.to_pandas("hinge.angle", x + y)`.
        """
        import pandas as pd

        s = self.system
        columns = dict(zip(s.coordinates, self.q.T, strict=True)) | dict(zip(s.speeds, self.u.T, strict=True))
        named = zip(self.constraint_names, self.multipliers.T, strict=True)
        columns |= {f"la({name})": values for name, values in named}
        columns |= {"energy": self.energy} | columns_of(self, [*output_names(self), *more])
        return pd.DataFrame(columns, index=pd.Index(self.t, name="t"))

    def to_xarray(self: MotionLike, *more: Any) -> xr.Dataset:
        """q, u, udot, multipliers, reactions and energy with named axes, and outputs.

        `more` are names or expressions to be variables too.
        """
        import xarray as xr

        s, read = self.system, columns_of(self, [*output_names(self), *more])
        return xr.Dataset(
            {
                "q": (("t", "coordinate"), self.q),
                "u": (("t", "speed"), self.u),
                "udot": (("t", "speed"), self.udot),
                "multipliers": (("t", "constraint"), self.multipliers),
                "reactions": (("t", "speed"), self.reactions),
                "energy": (("t",), self.energy),
                **{name: (("t",), values) for name, values in read.items()},
            },
            coords={
                "t": self.t,
                "coordinate": list(s.coordinates),
                "speed": list(s.speeds),
                "constraint": list(self.constraint_names),
            },
            attrs={"system": s.name, "certificate": self.certificate.verdict},
        )

    def save(self: MotionLike, path: str | Path) -> Path:
        """Write all arrays, events and facts of the run to an .npz file; `load` of the same class reads it back.

        The file appears at once: whatever interrupts it, the file of this name is the old or the new one.
        """
        return write_archive(path, self.kind, self.stored())


def output_names(motion: MotionLike) -> tuple[str, ...]:
    """Names of the outputs of all systems."""
    return tuple(dict.fromkeys(q.name for part in motion.segments for q in part.system.outputs))


def columns_of(motion: MotionLike, keys: Sequence[Any]) -> dict[str, np.ndarray]:
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


def check_sampled(motion: MotionLike) -> None:
    """Raise if there is nothing to show or to continue from: the run failed before the first time asked for."""
    if not len(motion):
        raise DalembertError(
            f"the motion has no samples: {motion.message}. Ask for earlier times in `t_eval`, or leave it out"
        )


def times_within(motion: MotionLike, times: ArrayLike) -> np.ndarray:
    """The times as an array (n,), if there are any and all lie within the motion."""
    check_sampled(motion)
    ts = np.atleast_1d(np.asarray(times, dtype=float))
    if not (ts.size and np.isfinite(ts).all() and ts.min() >= motion.t[0] and ts.max() <= motion.t[-1]):
        raise ArrayError(f"times must lie within the motion, t = {motion.t[0]:g} .. {motion.t[-1]:g}")
    return ts

"""What a motion in one piece and one in several show of themselves alike: a line, figures, tables and files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ArrayError, DalembertError
from dalembert.motion.protocols import MotionLike
from dalembert.motion.verification import Verification
from dalembert.stages import stage

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike


class Recorded:
    """Everything of a `Motion` and a `MotionSequence` that is made of what both have: see `source.Record`."""

    def __getstate__(self) -> dict[str, Any]:
        """What it was made of; what was computed from that is computed again, to the same bits."""
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]

    def __repr__(self: MotionLike) -> str:
        parts = f"{len(self.segments)} segments, " if len(self.segments) > 1 else ""
        span = f"{len(self)} samples, t = {self.t[0]:g} .. {self.t[-1]:g}" if len(self) else "no samples"
        return f"{type(self).__name__} of {self.system.name!r}: {parts}{span}; {self.certificate.verdict}"

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
        """An overview figure: coordinates, speeds, multipliers, violation, energy balance; saved if `path` is given."""
        check_sampled(self)
        figure = stage("Motion.plot")(self)
        if path is not None:
            figure.savefig(path)
        return figure

    def animate(self: MotionLike, path: str | Path) -> Path:
        """A self-contained HTML animation of points, bodies and lines."""
        check_sampled(self)
        return stage("Motion.animate")(self, path)

    def to_pandas(self: MotionLike) -> pd.DataFrame:
        """Coordinates, speeds, multipliers and energy by column, indexed by time."""
        import pandas as pd

        s = self.system
        columns = dict(zip(s.coordinates, self.q.T, strict=True)) | dict(zip(s.speeds, self.u.T, strict=True))
        named = zip(self.constraint_names, self.multipliers.T, strict=True)
        columns |= {f"la({name})": values for name, values in named}
        return pd.DataFrame(columns | {"energy": self.energy}, index=pd.Index(self.t, name="t"))

    def to_xarray(self: MotionLike) -> xr.Dataset:
        """q, u, udot, multipliers, reactions and energy with named axes."""
        import xarray as xr

        s = self.system
        return xr.Dataset(
            {
                "q": (("t", "coordinate"), self.q),
                "u": (("t", "speed"), self.u),
                "udot": (("t", "speed"), self.udot),
                "multipliers": (("t", "constraint"), self.multipliers),
                "reactions": (("t", "speed"), self.reactions),
                "energy": (("t",), self.energy),
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
        """Write all arrays, events and facts of the run to an .npz file; `load` of the same class reads it back."""
        target = Path(path)
        with target.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **self.stored())
        return target


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

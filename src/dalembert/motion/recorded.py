"""Methods shared by `Motion` and `MotionSequence`: one-line summary, figures, tables, files and verification."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from dalembert.equations.naming import real_numbers
from dalembert.errors import ArrayError, OptionError
from dalembert.motion.archive import write_archive
from dalembert.motion.protocols import MotionLike
from dalembert.motion.tables import Tabled, check_sampled, columns_of, draw, output_names
from dalembert.motion.verification import SecondRun, Verification
from dalembert.native.precision import RESOLVED
from dalembert.stages import stage
from dalembert.text_tables import html_table

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from dalembert.model.model import Model
    from dalembert.notebook_page import Page


class Recorded(Tabled):
    """Base class of `Motion` and `MotionSequence`: the methods that need only what both have, see `MotionLike`."""

    def __repr__(self: MotionLike) -> str:
        parts = f"{len(self.segments)} segments, " if len(self.segments) > 1 else ""
        span = f"{len(self)} samples, t = {self.t[0]:g} .. {self.t[-1]:g}" if len(self) else "no samples"
        return f"{type(self).__name__} of {self.system.name!r}: {parts}{span}; {self.certificate.verdict}"

    def _repr_html_(self: MotionLike) -> str:
        """The verdict, and the range of every coordinate and speed."""
        if not len(self):
            return html_table(repr(self), [])
        s = self.system
        columns = dict(zip(s.coordinates, self.q.T, strict=True)) | dict(zip(s.speeds, self.u.T, strict=True))
        rows = [(name, *(f"{v:.6g}" for v in (x[0], x.min(), x.max(), x[-1]))) for name, x in columns.items()]
        return html_table(repr(self), [(("variable", "start", "least", "largest", "end"), rows)])

    def sensitivity(self: MotionLike, output: Any, to: Any) -> np.ndarray:
        """d output / d `to` along the motion, (nt,), or (nt, n) for an output of several components.

        `output` is what `motion[...]` takes: a coordinate, a speed, a multiplier, an output, an expression. `to` is one
        of the `sensitivities` of `simulate`. Samples are compared at equal times. Raises `DalembertError` if the
        motion was simulated without it.
        """
        return stage("Motion.sensitivity")(self, output, to)

    def sample(self: MotionLike, key: Any, times: ArrayLike) -> np.ndarray:
        """Values of `motion[key]` at other times, in any order, each integrated from the sample before it.

        The leading axes are those of `times`: one time gives one value. At the time of a change, the value is the one
        after it.
        """
        at = _read_times(times)
        once, back = np.unique(at, return_inverse=True)
        values = self.resampled(once)[key]
        return values[back.ravel()].reshape((*at.shape, *values.shape[1:]))

    def verify(self: MotionLike, events: Iterable[Any] = (), second: SecondRun | None = None) -> Verification:
        """The estimated error of every coordinate, speed and multiplier, by a second, independent run.

        It uses another formulation and method, far tighter tolerances and shorter steps; `second` says how tight and
        how short. A motion that was read from a file is run again from its first sample; it does not tell expressions
        of events: pass them again, or else its parts between changes are run again, each from its own start.
        The result is kept: the certificate tells it from then on.
        """
        found = stage("Motion.verify")(self, events, second)
        object.__setattr__(self, "verification", found)
        vars(self).pop("certificate", None)
        return found

    def plot(self: MotionLike, path: str | Path | None = None, *, names: Sequence[Any] = ()) -> Figure:
        """An overview figure of coordinates, speeds, multipliers, outputs and residuals; saved if `path` is given.

        With `names`, of variables or outputs, or expressions, of these alone: `motion.plot(names=["x", x + y])`.
        """
        return draw(self, path, names)

    @overload
    def animate(self: MotionLike, path: str | Path) -> Path: ...
    @overload
    def animate(self: MotionLike, path: None = None) -> Page: ...
    def animate(self: MotionLike, path: str | Path | None = None) -> Path | Page:
        """A self-contained HTML animation of points, bodies and lines; without `path` a notebook shows it.

        A name that ends in `.gif` or `.mp4` (if ffmpeg is installed) makes a moving image of it instead.
        """
        check_sampled(self)
        if path is not None and Path(path).suffix.lower() not in (".html", ".htm", ".gif", ".mp4"):
            raise OptionError(
                f"animations are HTML pages or moving images, got {Path(path).name!r}: write motion.animate("
                f"'{Path(path).stem}.html'), which plays in any browser, or '{Path(path).stem}.gif'"
            )
        return stage("Motion.animate")(self, path)

    def report(self: MotionLike, path: str | Path, *, source: str | Model = "") -> Path:
        """One self-contained HTML file: animation, plots of every quantity, reactions, certificate, equations, values.

        `source` is the model, to be shown as a model file, or a text such as the script. Verify the motion first to
        have the estimated error in it.
        """
        check_sampled(self)
        return stage("Motion.report")(self, path, source=source)

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

    def columns(self: MotionLike, more: Sequence[Any] = ()) -> dict[str, np.ndarray]:
        """The columns of tables by name, (nt,) each; `more` are names or expressions to be columns too."""
        s = self.system
        found = dict(zip(s.coordinates, self.q.T, strict=True)) | dict(zip(s.speeds, self.u.T, strict=True))
        named = zip(self.constraint_names, self.multipliers.T, strict=True)
        found |= {f"la({name})": values for name, values in named}
        return found | {"energy": self.energy} | columns_of(self, [*output_names(self), *more])

    def save(self: MotionLike, path: str | Path) -> Path:
        """Write all arrays, events and facts of the run to an .npz file; `load` of the same class reads it back.

        The file appears at once: whatever interrupts it, the file of this name is the old or the new one.
        """
        if Path(path).suffix.lower() in (".csv", ".txt"):
            raise OptionError(f"save() writes .npz files; for text write motion.to_csv({str(path)!r})")
        return write_archive(path, self.kind, self.stored())


def one_time(t: Any) -> float:
    """A single time. Raises `ArrayError` with the calls for many times otherwise."""
    if np.ndim(t):
        raise ArrayError(
            f"at() takes one time, got shape {np.shape(t)}; for many, write motion.sample('x', times) or "
            "motion.resampled(times)"
        )
    return float(real_numbers(t, "the time", "motion.at(1.5)"))


def _read_times(times: ArrayLike) -> np.ndarray:
    return real_numbers(times, "times", "a number, a list of numbers or an array")


def times_within(motion: MotionLike, times: ArrayLike) -> np.ndarray:
    """The times as an array (n,), if there are any, in order, all within the motion up to rounding of its ends."""
    check_sampled(motion)
    ts, (begin, end) = np.atleast_1d(_read_times(times)), motion.t[[0, -1]]
    slack = RESOLVED * max(abs(begin), abs(end))
    if not (ts.size and np.isfinite(ts).all() and ts.min() >= begin - slack and ts.max() <= end + slack):
        raise ArrayError(f"times must lie within the motion, t = {motion.t[0]:g} .. {motion.t[-1]:g}")
    back = np.flatnonzero(np.diff(ts) < 0.0)
    if back.size:
        k = int(back[0])
        raise ArrayError(
            f"times must increase, but {ts[k + 1]:g} follows {ts[k]:g}; sort them, or use motion.sample(key, times), "
            "which takes any order"
        )
    return ts.clip(begin, end)

"""What a motion in one piece and one in several show of themselves alike: a line, figures, tables and files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from dalembert.errors import ArrayError, DalembertError, FileError, OptionError
from dalembert.guidance import no_attribute
from dalembert.motion.archive import write_archive
from dalembert.motion.outputs import Observed, is_expression, spelling
from dalembert.motion.protocols import MotionLike
from dalembert.motion.verification import Verification
from dalembert.stages import stage
from dalembert.text_tables import html_table

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    import dalembert
    from dalembert.view.inline import Page


class Recorded(Observed):
    """Everything of a `Motion` and a `MotionSequence` that is made of what both have: see `source.Record`."""

    if not TYPE_CHECKING:
        __getattr__ = no_attribute

    def __getstate__(self) -> dict[str, Any]:
        """What it was made of; what was computed from that is computed again, to the same bits."""
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]

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

    def plot(self: MotionLike, path: str | Path | None = None, *, names: Sequence[Any] = ()) -> Figure:
        """An overview figure of coordinates, speeds, multipliers, outputs and residuals; saved if `path` is given.

        With `names`, of variables or outputs, or expressions, of these alone: `motion.plot(names=["x", x + y])`.
        """
        check_sampled(self)
        if not isinstance(path, str | Path | None) or path in _plain_names(self):
            wanted = [path] if isinstance(path, str) else path
            raise OptionError(
                f"plot() takes the path of a file; what to draw is names=: write motion.plot(names={wanted!r})"
            )
        figure = stage("Motion.plot")(self, names)
        if path is not None:
            figure.savefig(path)
        return figure

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

        return pd.DataFrame(_columns(self, more), index=pd.Index(self.t, name="t"))

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

    def to_csv(self: MotionLike, path: str | Path, *more: Any) -> Path:
        """Write time, coordinates, speeds, multipliers, energy and outputs as text with commas; returns the path.

        `more` as in `to_pandas`, whose columns these are; numbers have 17 digits, so that nothing is lost.
        """
        table = {"t": self.t} | _columns(self, more)
        lines = [",".join(f'"{name}"' if "," in name else name for name in table)]
        lines += [",".join(map(repr, row)) for row in np.column_stack([*table.values()]).tolist()]
        target = Path(path)
        try:
            target.write_text("\n".join(lines) + "\n", encoding="utf-8")
        except OSError as error:
            raise FileError(f"{target} cannot be written: {error.strerror or error}") from error
        return target

    def save(self: MotionLike, path: str | Path) -> Path:
        """Write all arrays, events and facts of the run to an .npz file; `load` of the same class reads it back.

        The file appears at once: whatever interrupts it, the file of this name is the old or the new one.
        """
        if Path(path).suffix.lower() in (".csv", ".txt"):
            raise OptionError(f"save() writes .npz files; for text write motion.to_csv({str(path)!r})")
        return write_archive(path, self.kind, self.stored())


def _columns(motion: MotionLike, more: Sequence[Any]) -> dict[str, np.ndarray]:
    """The columns of tables by name, (nt,) each."""
    s = motion.system
    columns = dict(zip(s.coordinates, motion.q.T, strict=True)) | dict(zip(s.speeds, motion.u.T, strict=True))
    named = zip(motion.constraint_names, motion.multipliers.T, strict=True)
    columns |= {f"la({name})": values for name, values in named}
    return columns | {"energy": motion.energy} | columns_of(motion, [*output_names(motion), *more])


def output_names(motion: MotionLike) -> tuple[str, ...]:
    """Names of the outputs of all systems."""
    return tuple(dict.fromkeys(q.name for part in motion.segments for q in part.system.outputs))


def _plain_names(motion: MotionLike) -> tuple[str, ...]:
    """Names of coordinates, speeds and outputs."""
    return (*motion.system.coordinates, *motion.system.speeds, *output_names(motion))


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


def one_time(t: Any) -> float:
    """A time; raises `ArrayError` saying what to use for many."""
    if np.ndim(t):
        raise ArrayError(
            f"at() takes one time, got shape {np.shape(t)}; for many, write motion.sample('x', times) or "
            "motion.resampled(times)"
        )
    return float(t)


def times_within(motion: MotionLike, times: ArrayLike) -> np.ndarray:
    """The times as an array (n,), if there are any and all lie within the motion."""
    check_sampled(motion)
    ts = np.atleast_1d(np.asarray(times, dtype=float))
    if not (ts.size and np.isfinite(ts).all() and ts.min() >= motion.t[0] and ts.max() <= motion.t[-1]):
        raise ArrayError(f"times must lie within the motion, t = {motion.t[0]:g} .. {motion.t[-1]:g}")
    return ts

"""A motion as a table of pandas or a dataset of xarray."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from dalembert.certificate import Certificate
from dalembert.equations.system import System

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


class Record(Protocol):
    """What a Motion and a MotionSequence have in common, values over time along the first axis."""

    @property
    def system(self) -> System: ...
    @property
    def constraint_names(self) -> tuple[str, ...]: ...
    @property
    def t(self) -> np.ndarray: ...
    @property
    def q(self) -> np.ndarray: ...
    @property
    def u(self) -> np.ndarray: ...
    @property
    def udot(self) -> np.ndarray: ...
    @property
    def multipliers(self) -> np.ndarray: ...
    @property
    def reactions(self) -> np.ndarray: ...
    @property
    def energy(self) -> np.ndarray: ...
    @property
    def certificate(self) -> Certificate: ...


def table_of(motion: Record) -> pd.DataFrame:
    """Coordinates, speeds, multipliers and energy by column, indexed by time."""
    import pandas as pd

    s = motion.system
    columns = dict(zip(s.coordinates, motion.q.T, strict=True)) | dict(zip(s.speeds, motion.u.T, strict=True))
    named = zip(motion.constraint_names, motion.multipliers.T, strict=True)
    columns |= {f"la({name})": values for name, values in named}
    return pd.DataFrame(columns | {"energy": motion.energy}, index=pd.Index(motion.t, name="t"))


def dataset_of(motion: Record) -> xr.Dataset:
    """q, u, udot, multipliers, reactions and energy with named axes."""
    import xarray as xr

    s = motion.system
    return xr.Dataset(
        {
            "q": (("t", "coordinate"), motion.q),
            "u": (("t", "speed"), motion.u),
            "udot": (("t", "speed"), motion.udot),
            "multipliers": (("t", "constraint"), motion.multipliers),
            "reactions": (("t", "speed"), motion.reactions),
            "energy": (("t",), motion.energy),
        },
        coords={
            "t": motion.t,
            "coordinate": list(s.coordinates),
            "speed": list(s.speeds),
            "constraint": list(motion.constraint_names),
        },
        attrs={"system": s.name, "certificate": motion.certificate.verdict},
    )

"""`State`: a value of everything at one instant, with named access."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.equations.system import System, name_of
from dalembert.errors import UnknownNameError
from dalembert.reactions import Source, Wrench, constraint_power, constraint_reaction, joint_reaction, reaction_on


@dataclass(frozen=True, eq=False)
class State:
    """Time, coordinates, speeds, accelerations, multipliers and parameter values of a system at one instant.

    Arrays: q (nq,), u (nu,), udot (nu,), multipliers (nc,), parameters (np,). `state["x"]` or `state[x]` gives one
    value; `state["x'"]` a coordinate rate, `state["vx'"]` an acceleration.
    """

    system: System
    t: float
    q: np.ndarray
    u: np.ndarray
    udot: np.ndarray
    multipliers: np.ndarray
    parameters: np.ndarray

    def __getitem__(self, key: Any) -> float:
        return float(lookup(self.system, key, self))

    @property
    def z(self) -> np.ndarray:
        """(q, u) in one array."""
        return np.concatenate([self.q, self.u])

    @property
    def reactions(self) -> np.ndarray:
        """Generalised reaction r of M u' = f + r, (nu,)."""
        return reactions_of(self)

    @property
    def unknowns(self) -> np.ndarray:
        """Values of the unknowns, (ny,): the multipliers of the constraints they enforce."""
        return unknowns_of(self.system, self.multipliers)

    def reaction(self, constraint: Any) -> np.ndarray:
        """Generalised force of one constraint, or of all stated in one list under this name, (nu,)."""
        return constraint_reaction(self, constraint)

    def reaction_on(self, item: Any) -> Wrench:
        """Force (3,) and torque (3,) that constraints exert on a particle or body; see `reactions.reaction_on`."""
        return reaction_on(self, item)

    def joint_reaction(self, joint: Any) -> Wrench:
        """Force (3,) and torque (3,) of a joint on its second body, at its marker, in inertial axes."""
        return joint_reaction(self, joint)

    def constraint_power(self, constraint: Any) -> float:
        """Power of one constraint, or of all stated in one list under this name."""
        return float(constraint_power(self, constraint))

    def __repr__(self) -> str:
        s = self.system
        lines = [f"State of {s.name!r} at t = {self.t:g}"]
        for label, names, values in (
            ("q", s.coordinates, self.q),
            ("u", s.speeds, self.u),
            ("u'", s.speeds, self.udot),
            ("la", s.constraint_names, self.multipliers),
        ):
            if len(names):
                lines.append(f"  {label:<3}" + "  ".join(f"{n}={v:.9g}" for n, v in zip(names, values, strict=True)))
        return "\n".join(lines)


def lookup(system: System, key: Any, source: Any) -> Any:
    """The values of a coordinate, speed, unknown or multiplier, or a rate of one, in a State or a Motion."""
    name = name_of(key)
    if name in system.coordinates:
        return source.q[..., system.coordinates.index(name)]
    if name in system.speeds:
        return source.u[..., system.speeds.index(name)]
    if name in system.unknowns:
        return source.unknowns[..., system.unknowns.index(name)]
    if name in system.constraint_names:
        return source.multipliers[..., system.constraint_names.index(name)]
    base = name.rstrip("'")
    if name == base + "'" and base in system.coordinates:
        rates = system.coordinate_rates(source.t, source.q, source.u, source.parameters)
        return rates[..., system.coordinates.index(base)]
    if name == base + "'" and base in system.speeds:
        return source.udot[..., system.speeds.index(base)]
    known = (*system.coordinates, *system.speeds, *system.unknowns, *system.constraint_names)
    raise UnknownNameError(name, known, f"`{system.name}`")


def reactions_of(source: Source) -> np.ndarray:
    """Generalised reactions W^T la + c of a State or a Motion, (..., nu): friction and prescribed parts are in them."""
    at = (source.t, source.q, source.u, source.parameters)
    W = source.system.directions(*at, udot=source.udot, multipliers=source.multipliers)
    return np.einsum("...ki,...k->...i", W, source.multipliers) + source.system.prescribed_reaction(*at)


def unknowns_of(system: System, multipliers: np.ndarray) -> np.ndarray:
    """Values of the unknowns, (..., ny)."""
    rows = {row.servo: k for k, row in enumerate(system.rows) if row.servo is not None}
    return multipliers[..., [rows[j] for j in range(len(system.unknowns))]]

"""Reactions one can read: generalised ones by constraint, physical ones by particle and body, and their power.

Each function takes a `source`: a `State` (values at one instant) or a `Motion` (values over time, with a leading axis
nt).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.equations.labels import label_of, rows_of
from dalembert.equations.laws import rows_by_unknown
from dalembert.errors import DalembertError, UnknownNameError
from dalembert.motion.protocols import Source

if TYPE_CHECKING:
    from dalembert.motion.tally import Spread

POWERLESS = 1e-8  # power below this fraction of the power turned over is round-off


class Wrench(NamedTuple):
    """A force (..., 3) and a torque about the mass centre (..., 3), both in inertial axes."""

    force: np.ndarray
    torque: np.ndarray


class Reacting:
    """Readings of reactions, shared by State, Motion and DrivenMotion. Over time, arrays have a leading axis nt."""

    @property
    def unknowns(self: Source) -> np.ndarray:
        """Values of the unknowns, (..., ny): the multipliers of the constraints they enforce."""
        rows = rows_by_unknown(self.system.rows)
        return self.multipliers[..., [rows[j] for j in range(len(self.system.unknowns))]]

    def reaction(self: Source, constraint: Any) -> np.ndarray:
        """Generalised force of one constraint, or of all stated in one list under this name, (..., nu)."""
        return constraint_reaction(self, constraint)

    def reaction_on(self: Source, item: Any) -> Wrench:
        """Force (..., 3) and torque (..., 3) that constraints exert on a particle or body.

        m a - m g - the forces applied at it, and likewise for the torque about its mass centre, both in inertial axes;
        see `dalembert.motion.reactions.reaction_on` for forces that cannot be separated.
        """
        return reaction_on(self, item)

    def joint_reaction(self: Source, joint: Any) -> Wrench:
        """Force (..., 3) and torque (..., 3) of a joint on its second body, at its marker, in inertial axes."""
        return joint_reaction(self, joint)


def reactions_of(source: Source) -> np.ndarray:
    """Generalised reactions r of a State or a Motion, (..., nu): friction and prescribed parts are in them."""
    exerted, prescribed = np.split(motion_values(source, "reaction"), 2, axis=-1)
    return exerted + prescribed


def constraint_reaction(source: Source, key: Any) -> np.ndarray:
    """Generalised force (..., nu) of one constraint, or of all that were stated in one list under this name.

    Unknowns that do not act linearly exert what they do together: no part of it is that of one law.
    """
    la, system = np.zeros_like(source.multipliers), source.system
    rows = rows_of(system, key)
    la[..., rows] = source.multipliers[..., rows]
    if system.algebraic:
        more = np.concatenate([source.udot, source.multipliers], axis=-1)
        W = system.linearised_rows(source.t, source.q, source.u, source.parameters, more=more)[2]
        return np.einsum("...k,...ki->...i", la, W)
    return motion_values(source, "reaction", la)[..., : system.nu]


def motion_values(source: Source, name: str, multipliers: np.ndarray | None = None) -> np.ndarray:
    """One of the functions of (x, u', la) along a State or a Motion, (..., n); with other `multipliers` if given."""
    la = source.multipliers if multipliers is None else multipliers
    more = np.concatenate([source.udot, la], axis=-1)
    return source.system.evaluate(name, source.t, source.q, source.u, source.parameters, more=more)


def constraint_power(source: Source, key: Any) -> np.ndarray:
    """Power (...) of one constraint or group: la . W u. Ideal constraints that do not depend on time have none."""
    return np.einsum("...i,...i->...", constraint_reaction(source, key), source.u)


def largest_powers(motion: Spread) -> list[tuple[str, float, float, str]]:
    """Constraints that have power at some samples: name, largest |power|, its time, and why they may have it.

    "rheonomic": a position constraint that depends on time; "acatastatic": a velocity
    constraint that rest does not satisfy; "ideal": neither, so that there should be none.
    """
    system = motion.system
    if not system.nc:
        return []
    t, q, u, la = motion.t, motion.q, motion.u, motion.multipliers
    rates, sums = np.split(system.evaluate("row_rates", t, q, u, motion.parameters), 2, axis=-1)
    if system.ideal:
        power, turnover = np.abs(la * rates), float((np.abs(la) * sums).max(initial=0.0))
    else:
        more = np.concatenate([motion.udot, la], axis=-1)
        terms = la[..., None] * system.linearised_rows(t, q, u, motion.parameters, more=more)[2] * u[:, None, :]
        power, turnover = np.abs(terms.sum(axis=-1)), float(np.abs(terms).sum(axis=-1).max(initial=0.0))
    moving = _leading(rates, sums, system.velocity_residual(t, q, u, motion.parameters))
    found = []
    for k in np.flatnonzero(power.max(axis=0) > POWERLESS * turnover):
        row, j = system.rows[k], int(np.argmax(power[:, k]))
        kind = row.law.kind
        if row.law.unknown is None and row.level == "acceleration":
            kind = "acceleration"
        elif row.law.ideal and moving[k]:
            kind = "rheonomic" if row.level == "position" else "acatastatic"
        found.append((row.name, float(power[j, k]), float(t[j]), kind))
    return found


def _leading(rates: np.ndarray, sums: np.ndarray, psi: np.ndarray) -> np.ndarray:
    """Mask of the position and velocity rows with psi other than A u: rheonomic rows, which drive the system.

    `rates` are A u and `sums` those of |A_kj u_j|, by rows.
    """
    n = psi.shape[1]
    own = np.abs(rates[:, :n] - psi).max(axis=0)
    return own > POWERLESS * sums[:, :n].max(axis=0, initial=0.0)


def reaction_on(source: Source, key: Any) -> Wrench:
    """Reaction force and torque on a particle or body, by Newton's and Euler's laws: m a - m g - applied forces.

    Only the applied forces and torques stated at this particle or body itself are subtracted. Forces at other points,
    generalised forces and energies cannot be separated from the reactions, and are part of the result. So are the
    forces that restrict the body to the motions its coordinates allow. The torque on a particle is zero. The torque
    on a body of which only an angular velocity was stated is in body axes.
    """
    system, name = source.system, label_of(key)
    carriers = (*system.particles, *system.bodies)
    if not carriers:
        raise DalembertError(
            f"`{system.name}` has neither particles nor bodies: its inertia was stated by energies or matrices. "
            f"Ask for .reaction(name) of a constraint ({', '.join(system.constraint_names) or 'none'}), or .reactions"
        )
    if name not in carriers:
        raise UnknownNameError(name, carriers, f"the particles and bodies of `{system.name}`")
    k = carriers.index(name)
    loads = _loads(source)
    force = loads[..., k, :]
    return Wrench(force, loads[..., k + len(system.bodies), :] if name in system.bodies else np.zeros_like(force))


def joint_reaction(source: Source, key: Any) -> Wrench:
    """Force (..., 3) and torque (..., 3) that a joint exerts on its second body, at its marker there, in inertial axes.

    Its force and torque on the first body are opposite, about the same point.
    """
    system, name = source.system, label_of(key)
    if name not in system.joints:
        raise UnknownNameError(name, system.joints, f"the joints of `{system.name}`")
    out = system.evaluate("joints", source.t, source.q, source.u, source.parameters, more=source.multipliers)
    k = 6 * system.joints.index(name)
    return Wrench(out[..., k : k + 3], out[..., k + 3 : k + 6])


def _loads(source: Source) -> np.ndarray:
    """Forces on particles and bodies, then torques on bodies, (..., n, 3)."""
    more = np.concatenate([source.udot, source.unknowns], axis=-1)
    out = source.system.evaluate("loads", source.t, source.q, source.u, source.parameters, more=more)
    return out.reshape(*out.shape[:-1], out.shape[-1] // 3, 3)

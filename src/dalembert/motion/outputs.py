"""Values by name or by expression, along a State, a Motion or a MotionSequence.

A name is that of a variable, a rate of one, a multiplier, a parameter, an output of the model, or a quantity of a
point, joint or force element such as "hinge.angle". Every function takes a `source` and returns (..., *shape): the
leading axis nt of a motion, or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.dataclass import dataclass
from dalembert.equations.labels import label_of
from dalembert.equations.naming import name_of
from dalembert.equations.observation import Observation, observer_of
from dalembert.equations.quantities import Quantity
from dalembert.equations.system import System
from dalembert.errors import DalembertError, UnknownNameError
from dalembert.model.markers import Marker, velocity_of
from dalembert.model.reading import listed
from dalembert.model.statement import Constraint, Element, Joint, Output, Point
from dalembert.model.time_symbols import time_symbol
from dalembert.motion.protocols import Source
from dalembert.motion.reactions import motion_values
from dalembert.motion.turns import count_turns, join_turns
from dalembert.native.along import along


def values_of(source: Source, key: Any) -> np.ndarray:
    """The values of a name, a symbol, an expression, or of a list or matrix of them."""
    if isinstance(key, int | slice):
        raise UnknownNameError(
            str(key), known_names(source.system), f"`{source.system.name}` (samples by number: motion.q[{key}])"
        )
    entries = listed(key)
    if entries is not None:
        return np.stack([values_of(source, entry) for entry in entries], axis=np.ndim(source.t))
    if is_expression(key):
        return observed_values(source, observation_of(source.system, key))
    return _named_values(source, spelling(key))


def values_in_blocks(blocks: Sequence[Source], key: Any) -> np.ndarray:
    """The values of a key along motions that are parts of one, each from the last sample of the one before it on."""
    if len(blocks) == 1:
        return np.asarray(values_of(blocks[0], key))
    entries = listed(key)
    if entries is not None:
        return np.stack([values_in_blocks(blocks, entry) for entry in entries], axis=1)
    parts, known = [values_of(block, key) for block in blocks], blocks[0].system.named_quantities
    name = "" if is_expression(key) else spelling(key)
    if name in known and known[name][0].wrapped:
        parts = join_turns(parts)
    return np.concatenate([parts[0], *(part[1:] for part in parts[1:])])


def is_expression(key: Any) -> bool:
    """Whether a key is more than a name: a SymPy expression other than a symbol, q(t) or a derivative of it."""
    if isinstance(key, sp.Derivative):
        return not isinstance(key.expr, AppliedUndef)
    return isinstance(key, sp.Basic) and not isinstance(key, sp.Symbol | AppliedUndef)


def spelling(key: Any) -> str:
    """The name of a symbol, a constraint, an output or a string."""
    return key.name if isinstance(key, Constraint | Output) else name_of(key)


def known_names(system: System) -> tuple[str, ...]:
    """Names one may have meant, for messages: without those of points, of which there may be thousands."""
    read = (q.name for q in system.quantities if q.group != "point_motion")
    return (
        *system.coordinates, *system.speeds, *system.unknowns, *system.constraint_names, *system.parameters, "t", *read,
    )  # fmt: skip


def rates_of(source: Source) -> np.ndarray:
    """Rates q' of the coordinates, (..., nq)."""
    system = source.system
    first = system.count("position") + system.count("velocity")
    out = system.evaluate("speeds", source.t, source.q, source.u, source.parameters)
    return out[..., first : first + system.nq]


def second_rates_of(source: Source) -> np.ndarray:
    """Second rates q'' of the coordinates, (..., nq)."""
    return motion_values(source, "second_rates")


def _named_values(source: Source, name: str) -> np.ndarray:
    """The values of a variable, a rate of one, a multiplier, a parameter or a quantity."""
    system, base = source.system, name.rstrip("'")
    if name == base:
        return _plain_values(source, name)
    if name == base + "'" and base in system.coordinates:
        return rates_of(source)[..., system.coordinates.index(base)]
    if name == base + "''" and base in system.coordinates:
        return second_rates_of(source)[..., system.coordinates.index(base)]
    if name == base + "'" and base in system.speeds:
        return source.udot[..., system.speeds.index(base)]
    raise UnknownNameError(name, known_names(system), f"`{system.name}`")


def _plain_values(source: Source, name: str) -> np.ndarray:
    system = source.system
    if name in system.coordinates:
        return source.q[..., system.coordinates.index(name)]
    if name in system.speeds:
        return source.u[..., system.speeds.index(name)]
    if name in system.unknowns:
        return source.unknowns[..., system.unknowns.index(name)]
    if name in system.constraint_names:
        return source.multipliers[..., system.constraint_names.index(name)]
    if name in system.parameters:
        return np.full(np.shape(source.t), source.parameters[system.parameters.index(name)])
    if name in system.named_quantities:
        quantity, component = system.named_quantities[name]
        values = _quantity_values(source, quantity)
        return values if component is None else values.reshape((*np.shape(source.t), -1))[..., component]
    if name == "t":
        return np.asarray(source.t, dtype=float)
    if name.startswith("reaction(") and name[9:-1] in system.speeds:
        return source.reactions[..., system.speeds.index(name[9:-1])]
    raise UnknownNameError(name, known_names(system), f"`{system.name}`")


def _quantity_values(source: Source, quantity: Quantity) -> np.ndarray:
    if quantity.wrapped and np.ndim(source.t):
        return count_turns(source, quantity.name, lambda motion: _read(motion, quantity))
    return _read(source, quantity)


def _read(source: Source, quantity: Quantity) -> np.ndarray:
    """The values of a quantity as its function gives them."""
    system, lead = source.system, np.shape(source.t)
    if quantity.reads_rates:
        out = motion_values(source, quantity.group)
    else:
        unread = np.zeros((*lead, system.nu + system.nc))
        out = system.evaluate(quantity.group, source.t, source.q, source.u, source.parameters, more=unread)
    return out[..., quantity.start : quantity.start + quantity.size].reshape((*lead, *quantity.shape))


def observation_of(system: System, expression: sp.Expr) -> Observation:
    """The expression as a function of the variables known along a motion of the system."""
    return observer_of(system).observe([expression], f"an expression of `{system.name}`")


def observed_values(source: Source, observation: Observation) -> np.ndarray:
    """The values of an expression that was read before."""
    system, lead = source.system, np.shape(source.t)
    solved = (source.udot, source.multipliers) if observation.reads_rates else (0.0, 0.0)
    sizes = (1, system.nq, system.nu, len(system.parameters), system.nq, system.nu, 1, system.nc)
    known = (np.asarray(source.t)[..., None], source.q, source.u, source.parameters, 0.0, solved[0], 0.0, solved[1])
    w = np.concatenate([np.broadcast_to(v, (*lead, n)) for v, n in zip(known, sizes, strict=True)], axis=-1)
    rows, kernel = w.reshape(-1, sum(sizes)), system.known_kernel(observation.name)
    values = observation.along(rows) if kernel is None else along(kernel, rows)
    return values[:, 0].reshape(lead)


# -- points, joints and force elements --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class JointMotion:
    """Motion of a joint: `angle` and its `rate`, `displacement` and its `speed`, (nt,) along a motion.

    The angle is that from x to x about the z axis of the first marker. In a motion in space whole turns are counted
    from the first sample, where it is between -pi and pi; in the plane it is a difference of coordinates.
    """

    source: Any
    name: str

    @property
    def angle(self) -> Any:
        """Angle."""
        return self._read("angle")

    @property
    def rate(self) -> Any:
        """Rate of the angle."""
        return self._read("rate")

    @property
    def displacement(self) -> Any:
        """Displacement of the second marker along the axis of the first."""
        return self._read("displacement")

    @property
    def speed(self) -> Any:
        """Rate of the displacement."""
        return self._read("speed")

    def _read(self, what: str) -> Any:
        return _read_part(self.source, self.name, what, "joint")


class Observed:
    """Readings of points, joints and force elements, shared by State, Motion and MotionSequence."""

    def position(self: Any, point: Any) -> np.ndarray:
        """Position (..., 3) of a particle, of a body's mass centre (or its name), or of a marker, in inertial axes."""
        return self[_of_point(self, point, "position")]

    def velocity(self: Any, point: Any) -> np.ndarray:
        """Velocity (..., 3) of a particle, body or marker, in inertial axes."""
        return self[_of_point(self, point, "velocity")]

    def acceleration(self: Any, point: Any) -> np.ndarray:
        """Acceleration (..., 3) of a particle, body or marker, in inertial axes."""
        return self[_of_point(self, point, "acceleration")]

    def rotation(self: Any, body: Any) -> np.ndarray:
        """Rotation matrix (..., 3, 3) of a body or marker: its axes are the columns, in inertial axes."""
        if isinstance(body, Marker):
            axes = [body.axis(k) for k in range(3)]
            return self[[[axis[i] for axis in axes] for i in range(3)]]
        return self[_of_point(self, body, "rotation")]

    def angular_velocity(self: Any, body: Any) -> np.ndarray:
        """Angular velocity (..., 3) of a body, in inertial axes."""
        return self[_of_point(self, body.body if isinstance(body, Marker) else body, "angular_velocity")]

    def joint(self: Any, joint: Any) -> JointMotion:
        """Angle, displacement and their rates of a joint or of the joint of this name."""
        name, joints = _label(joint), [name for part in _parts(self) for name in part.system.joints]
        if name not in joints:
            raise UnknownNameError(name, dict.fromkeys(joints), f"the joints of `{self.system.name}`")
        return JointMotion(self, name)

    def force(self: Any, element: Any) -> Any:
        """Force of a spring, damper or actuator, positive if it pushes its ends apart; torque of torsional ones."""
        name = _label(element)
        turns = any(f"{name}.torque" in part.system.named_quantities for part in _parts(self))
        return _read_part(self, name, "torque" if turns else "force", "element")

    def length(self: Any, element: Any) -> Any:
        """Distance between the ends of a spring, damper or actuator."""
        return _read_part(self, _label(element), "length", "element")

    def power(self: Any, element: Any) -> Any:
        """Power that a force element gives to the system; negative where it takes or stores energy."""
        return _read_part(self, _label(element), "power", "element")


def _parts(source: Any) -> Sequence[Any]:
    """The segments of a motion, or the state itself."""
    return getattr(source, "segments", (source,))


def _label(key: Any) -> str:
    return label_of(key) if isinstance(key, Point | Joint | Element) else str(key)


def _read_part(source: Any, name: str, what: str, kind: str) -> Any:
    """One quantity of a joint or force element. The error for a missing one lists those it has."""
    groups = {"joint": "joint_motion", "element": "element_efforts"}
    names = [q.name for part in _parts(source) for q in part.system.quantities if q.group == groups[kind]]
    if f"{name}.{what}" in names:
        return source[f"{name}.{what}"]
    has = dict.fromkeys(n.rpartition(".")[2] for n in names if n.rpartition(".")[0] == name)
    if has or kind == "joint":
        raise DalembertError(f"{kind} `{name}` has no {what}; it has {', '.join(has) or 'nothing of the kind'}")
    owners = dict.fromkeys(n.rpartition(".")[0] for n in names)
    raise UnknownNameError(name, owners, f"the force elements of `{source.system.name}`")


def _of_point(source: Any, point: Any, what: str) -> Any:
    """The key of a quantity of a point: a name if the system has one for it, else its components."""
    if isinstance(point, Marker):
        return _components(point, what)
    system, name = source.system, _label(point)
    carriers = (*system.particles, *system.bodies)
    if name not in carriers:
        raise UnknownNameError(name, carriers, f"the particles and bodies of `{system.name}`")
    if f"{name}.{what}" not in system.named_quantities:
        raise DalembertError(f"`{name}` has no {what.replace('_', ' ')}: it was not stated in `{system.name}`")
    return f"{name}.{what}"


def _components(marker: Marker, what: str) -> list[sp.Expr]:
    """Position, velocity or acceleration of a marker in the symbols of the model."""
    t = time_symbol()
    if what == "position":
        if marker.position is None:
            raise DalembertError(f"the marker on `{marker.body.name}` has no position: its body has none")
        return list(marker.position)
    velocity = velocity_of(marker, t)
    return list(velocity) if what == "velocity" else [c.diff(t) for c in velocity]

"""Reading particles, bodies and the markers on them."""

from __future__ import annotations

from typing import Any

from dalembert.model.constraints import ConstraintReader
from dalembert.model.declarations import Declarations
from dalembert.model.markers import GROUND, Marker, axes_along, mark
from dalembert.model.names import Names
from dalembert.model.quaternion import Quaternion
from dalembert.model.reading import Reader, listed
from dalembert.model.statement import Attitude, Body, Particle, Statement
from dalembert.model.vectors import EX, EY, EZ, ORIGIN, with_plain_numbers


class BodyReader:
    """Reads the arguments of `Model.particle`, `Model.body` and `Model.marker` and adds to a statement."""

    def __init__(
        self,
        statement: Statement,
        read: Reader,
        names: Names,
        declare: Declarations,
        constraints: ConstraintReader,
    ) -> None:
        self._statement, self._read, self._names = statement, read, names
        self._declare, self._constraints = declare, constraints

    def particle(self, name: str, mass: Any, position: Any, velocity: Any) -> Particle:
        """A particle with a position or a velocity."""
        self._names.claim(name, "particle")
        what = f"particle `{name}`"
        particle = Particle(
            name,
            self._read.optional_vector(position, f"position of {what}"),
            self._read.optional_vector(velocity, f"velocity of {what}"),
            mass=self._read.scalar(mass, f"mass of {what}"),
        )
        if position is None and velocity is None:
            self._read.fault(f"{what} has neither position nor velocity; give one of them")
        self._statement.particles.append(particle)
        return particle

    def body(
        self,
        name: str,
        mass: Any,
        inertia: Any,
        *,
        position: Any,
        rotation: Any,
        velocity: Any,
        angular_velocity: Any,
        axes_angular_velocity: Any,
    ) -> Body:
        """A body as stated, or with absolute coordinates if no motion is stated."""
        taken = isinstance(name, str) and self._names.kind(name) is not None
        self._names.claim(name, "body")
        if taken:  # its coordinates would be taken too; one fault is enough
            return Body(name, ORIGIN, attitude=Attitude.ANGLE, rotation=(EX[1],))
        what = f"body `{name}`"
        if all(value is None for value in (position, rotation, velocity, angular_velocity)):
            position, rotation = self._declare.absolute(name, planar=listed(inertia) is None)
        attitude, entries = self._read.rotation(rotation, what)
        if isinstance(rotation, Quaternion) and angular_velocity is None:
            angular_velocity = rotation.angular_velocity
        body = Body(
            name,
            self._read.optional_vector(position, f"position of {what}"),
            self._read.optional_vector(velocity, f"velocity of {what}"),
            mass=self._read.scalar(mass, f"mass of {what}"),
            inertia=self._read.inertia(inertia, what, attitude),
            attitude=attitude,
            rotation=entries,
            angular_velocity=self._read.optional_axial(angular_velocity, f"angular velocity of {what}"),
            axes_angular_velocity=self._read.optional_axial(
                axes_angular_velocity, f"angular velocity of the axes of {what}"
            ),
        )
        if axes_angular_velocity is not None and (rotation is not None or angular_velocity is None):
            self._read.fault(f"{what} is stated in axes not fixed in it; give its angular velocity and no rotation")
        if position is None and velocity is None:
            self._read.fault(f"{what} has neither position nor velocity; give one of them")
        if rotation is None and angular_velocity is None:
            self._read.fault(f"{what} has neither rotation nor angular velocity; give one of them")
        if attitude is Attitude.QUATERNION and not isinstance(rotation, Quaternion):
            norm = sum(e**2 for e in entries) - 1
            if not norm.is_number:
                self._constraints.constrain(norm, f"|{name}|")
        self._statement.bodies.append(body)
        return body

    def marker(self, body: Any, place: Any, axis: Any, across: Any) -> Marker:
        """A point with axes on a body."""
        if not isinstance(body, Body):
            self._read.fault(f"a marker belongs to a body or to model.ground, not to {body!r}")
            body = GROUND
        what = f"marker on `{body.name}`"
        spot = self._read.vector(place, f"place of the {what}")
        if axis is None and across is None:
            axes = (EX, EY, EZ)
        else:
            along = EZ if axis is None else self._read.vector(axis, f"axis of the {what}")
            aside = None if across is None else self._read.vector(across, f"`across` of the {what}")
            found = axes_along(along, aside)
            axes = found or (EX, EY, EZ)
            if found is None:
                self._read.fault(f"{what}: axis {along} and across {aside} must have a length and not be parallel")
        if body.attitude is Attitude.NONE and (spot != ORIGIN or axes != (EX, EY, EZ)):
            self._read.fault(f"{what}: the body has no rotation, so that nothing is fixed in it; state its rotation")
        x, y, z = map(with_plain_numbers, axes)
        return mark(body.name, body, with_plain_numbers(spot), (x, y, z), self._statement.time)

"""Reading the non-ideal parts of a reaction: prescribed forces, and Coulomb friction tied to a multiplier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy as sp

from dalembert.model.names import Names
from dalembert.model.reading import Reader
from dalembert.model.statement import Constraint, Force, Friction, Point, Statement


class NonidealReader:
    """Reads the arguments of `Model.nonideal` and adds to a statement. Notes faults instead of raising them."""

    def __init__(self, statement: Statement, read: Reader, names: Names) -> None:
        self._statement = statement
        self._read = read
        self._names = names

    def prescribe_along(self, forces: Any, at: Any) -> None:
        """Components along coordinates or speeds."""
        if at is not None:
            self._read.fault("a non-ideal force by coordinate acts at no point; leave out `at=`, or give `vector=`")
        if not isinstance(forces, Mapping):
            self._read.fault(f"a non-ideal force must be a mapping {{coordinate or speed: force}}, got {forces!r}")
            return
        read = {
            self._names.symbol(key): self._read.scalar(value, f"non-ideal force along `{key}`")
            for key, value in forces.items()
        }
        self._statement.nonideal_generalized.append(read)

    def prescribe_at(self, vector: Any, at: Any) -> None:
        """A force in inertial components at a point."""
        if at is None:
            self._read.fault("a non-ideal force given by a vector needs `at=`: a particle, a body or a position")
            return
        point = self._point(at, "point of a non-ideal force")
        force = self._read.vector(vector, f"non-ideal force at `{point.name}`")
        self._statement.nonideal_forces.append(Force(force, point))

    def rub(self, constraint: Any, friction: Any, at: Any, regularisation: Any, surface_velocity: Any) -> None:
        """Coulomb friction that goes with the reaction of a constraint."""
        name = constraint.name if isinstance(constraint, Constraint) else constraint
        if name is None:
            self._read.fault("friction needs the constraint whose reaction it goes with: nonideal(constraint, ...)")
            return
        if not isinstance(name, str):
            self._read.fault(f"friction goes with one constraint or its name, got {type(constraint).__name__}")
            return
        label = f"friction on `{name}`"
        if self._names.kind(name) != "constraint":
            self._read.fault(f"{label}: there is no constraint of that name; state it first by model.constrain")
            return
        if at is None:
            self._read.fault(f"{label} needs `at=`: the particle, body or position at which the constraint acts")
            return
        speed = self._read.expression(regularisation, f"regularisation of {label}")
        surface = self._read.optional_vector(surface_velocity, f"surface velocity of {label}")
        self._statement.frictions.append(
            Friction(
                name,
                self._read.scalar(friction, f"coefficient of {label}"),
                self._point(at, f"point of {label}"),
                sp.S.One if speed is None else speed,  # any will do after a fault, so that no further ones follow
                *(() if surface is None else (surface,)),
            )
        )

    def _point(self, at: Any, what: str) -> Point:
        return at if isinstance(at, Point) else Point("point", self._read.vector(at, what))

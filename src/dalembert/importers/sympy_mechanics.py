"""`from_sympy`: a `Model` from an object of `sympy.physics.mechanics`, without SymPy's derivation.

The model is based on the velocities of SymPy's points and frames, as in Kane's method. They enter the graph as they
stand, and all derivatives are taken there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import sympy as sp
from sympy.physics.mechanics import Point, dynamicsymbols

from dalembert.equations.lowering.lower import LoweringError, undeclared
from dalembert.errors import ModelError
from dalembert.importers.agreement import Agreement
from dalembert.importers.sympy_geometry import Components, Moving, is_fixed, points_at_rest
from dalembert.importers.sympy_ingredients import read_ingredients
from dalembert.importers.sympy_links import place_links
from dalembert.importers.sympy_reading import Load, SympyReading, read_motion
from dalembert.model import statement
from dalembert.model.model import Model
from dalembert.model.reading import nodes


def from_sympy(
    obj: Any,
    *,
    parameters: Mapping[Any, Any] | None = None,
    specified: Mapping[Any, Any] | None = None,
    bodies: Iterable[Any] | None = None,
    loads: Iterable[Any] | None = None,
    origin: Point | None = None,
    name: str = "from SymPy",
) -> Model:
    """The model of a `KanesMethod`, `LagrangesMethod` or `System`, whose equations need not be formed.

    `parameters` gives every constant a value, by symbol or name. `specified` replaces functions of time that are
    neither coordinates nor speeds, and optionally constants, by expressions or numbers. `bodies` and `loads` are those
    you would pass to `kanes_equations`, if the object does not have them. Positions serve drawing and potential energy.
    They are measured from `origin`, by default from a fixed point found among the points, and are ignored if their
    rates are not the velocities of the points. Auxiliary speeds are set to zero: reactions do not need them. A speed in
    no kinematical equation gets a coordinate `<speed>_integral`.

    Raises `ModelError`, which lists all faults, such as constants without a value.
    """
    reading = read_motion(read_ingredients(obj, bodies, loads, name), specified or {}, name)
    return _Import(reading, parameters or {}, origin, name).model


class _Import:
    """One import, step by step; `model` is the result."""

    def __init__(self, reading: SympyReading, parameters: Mapping[Any, Any], origin: Point | None, name: str) -> None:
        self.reading, self.model = reading, Model(name)
        self._declare_state()
        self.state = self._state()
        self.values = {key.name if isinstance(key, sp.Symbol) else key: value for key, value in parameters.items()}
        self.moving = [self._with_known_inertia(m) for m in reading.moving]
        self.origins = self._origins(origin)
        places = [self._places(fixed) for fixed in self.origins]
        self.links = [self._links(fixed) for fixed in self.origins]
        drawn = [place for links in self.links for _, line in links for place in line]
        self._declare_parameters([*(p for positions in places for p in positions if p is not None), *drawn])
        self.agreement = self._agreement()
        self._state_bodies(self._best(places))
        self._state_energy()
        self._state_loads()
        self._state_constraints()

    # -- symbols ---------------------------------------------------------------------------------------------------

    def _declare_state(self) -> None:
        """Declare coordinates and speeds. Excess speeds get their integrals as coordinates, as for free wheels."""
        r, t = self.reading, self.model.t
        used = {node for e in r.kinematics for node in nodes(e)}
        free = [u for u in r.speeds if u not in used]
        spare = len(r.speeds) - len(free) - len(r.coordinates)
        if spare > 0:
            free += [u for u in reversed(r.speeds) if u in used][:spare]
        integrals = [dynamicsymbols(f"{u.func.__name__}_integral") for u in free]
        self.model.coordinates([*r.coordinates, *integrals])
        if r.speeds:
            extra = [q.diff(t) - u for q, u in zip(integrals, free, strict=True)]
            self.model.speeds(r.speeds, kinematics=[*r.kinematics, *extra])

    def _declare_parameters(self, positions: Iterable[Components]) -> None:
        """Every constant that the motion needs, and those of positions that have values; all others are faults."""
        inputs: dict[sp.Basic, str] = {}
        constants: dict[sp.Symbol, None] = {}
        for label, expressions in self._items():
            for symbol in undeclared(expressions, self.state):
                if isinstance(symbol, sp.Symbol):
                    constants.setdefault(symbol)
                else:
                    inputs.setdefault(symbol, label)
        faults = [
            f"{label} contains `{symbol}`, which is neither a coordinate nor a speed; give specified={{...}} for it"
            for symbol, label in inputs.items()
        ]
        if missing := sorted(c.name for c in constants if c.name not in self.values):
            wanted = ", ".join(f"{name}: ..." for name in missing)
            count = "1 constant has" if len(missing) == 1 else f"{len(missing)} constants have"
            faults.append(f"{count} no value; give parameters={{{wanted}}}")
        if faults:
            raise ModelError(self.model.name, faults)
        drawn = [c for c in undeclared([e for p in positions for e in p], self.state) if isinstance(c, sp.Symbol)]
        constants |= dict.fromkeys(c for c in drawn if c.name in self.values)
        self.model.parameters({c: self.values[c.name] for c in sorted(constants, key=str)})

    def _state(self) -> set[sp.Basic]:
        s, t = self.model.statement, self.model.t
        rates = [q.diff(t, k) for q in s.coordinates for k in (1, 2)] + [u.diff(t) for u in s.speeds]
        return {t, *s.coordinates, *s.speeds, *rates}

    def _items(self) -> Iterator[tuple[str, Iterable[sp.Expr]]]:
        """Every expression that the motion depends on, labelled."""
        r = self.reading
        yield "a kinematical equation", r.kinematics
        for m in self.moving:
            yield f"mass of `{m.name}`", [m.mass]
            yield f"velocity of `{m.name}`", m.velocity
            yield f"inertia of `{m.name}`", m.inertia or ()
            yield f"angular velocity of `{m.name}`", (*m.angular_velocity, *(m.turn or ()))
        for load in r.loads:
            yield f"the load on `{load.place.name}`", (*load.velocity, *load.components)
        for name, e in (*r.position, *r.velocity, *r.acceleration):
            yield f"constraint `{name}`", [e]
        yield "the kinetic energy", [r.kinetic]
        yield "the potential energy", [r.potential]

    def _with_known_inertia(self, m: Moving) -> Moving:
        """A body that turns about one axis, with its moment about that axis only; unknown entries are left out."""
        k = m.axis
        if m.inertia is None or k is None:
            return m
        entries = [
            e if (divmod(n, 3) == (k, k) and any(m.angular_velocity)) or self._is_known(e) else sp.S.Zero
            for n, e in enumerate(m.inertia)
        ]
        return replace(m, inertia=sp.Matrix(3, 3, entries))

    def _is_known(self, e: sp.Expr) -> bool:
        return all(str(symbol) in self.values for symbol in undeclared([e], {self.model.t}))

    # -- positions -------------------------------------------------------------------------------------------------

    def _origins(self, origin: Point | None) -> list[Point]:
        """Points that may be fixed, to measure positions from."""
        geometry, given = self.reading.geometry, origin or self.reading.origin
        origins = [given] if given else []
        for m in () if given else self.moving:
            origins += [p for p in points_at_rest(m.point, geometry.inertial) if p not in origins]
        return origins

    def _places(self, origin: Point) -> list[Components | None]:
        """Positions of all that moves; None where there is none to be had."""
        positions = [self.reading.geometry.position(m.point, origin) for m in self.moving]
        return [p if p and self._are_known(p) else None for p in positions]

    def _links(self, origin: Point) -> list[tuple[Any, list[Components]]]:
        """Lines through the joints of bodies, as far as all in them is known."""
        links = place_links(self.reading.geometry, self.reading.links, origin)
        return [(body, line) for body, line in links if all(map(self._are_known, line))]

    def _are_known(self, place: Components) -> bool:
        return all(self._has_value(c) for c in undeclared(place, self.state))

    def _has_value(self, symbol: sp.Basic) -> bool:
        return isinstance(symbol, sp.Symbol) and symbol.name in self.values

    def _agreement(self) -> Agreement | None:
        """None where the kinematics are at fault: compiling the model will say so."""
        closed = self.model.closed()
        if closed.faults or len(closed.kinematics) != len(closed.coordinates):
            return None
        try:
            return Agreement(closed)
        except (LoweringError, RuntimeError):  # the latter: CasADi finds the kinematics singular
            return None

    def _best(self, places: list[list[Components | None]]) -> list[Components | None]:
        """Positions from the point for which most agree with the velocities, with their links."""
        checked = [
            [p if p and self._moves(p, m.velocity) else None for p, m in zip(positions, self.moving, strict=True)]
            for positions in places
        ]
        if not checked:
            self.links = []
            return [None] * len(self.moving)
        counts = [sum(p is not None for p in positions) for positions in checked]
        best = counts.index(max(counts))
        self.links = self.links[best : best + 1]
        return checked[best]

    def _moves(self, position: Components, velocity: Components) -> bool:
        try:
            return self.agreement is not None and self.agreement.of_position(position, velocity)
        except LoweringError:
            return False

    def _rotation(self, m: Moving) -> sp.Matrix | None:
        """The rotation matrix of a body if its axes are fixed in it and its rate agrees with the angular velocity."""
        if self.agreement is None or m.turn is not None:
            return None
        try:
            R = self.reading.geometry.rotation(m.axes)
            agrees = self.agreement.of_rotation(R, m.angular_velocity)
        except (ValueError, LoweringError):  # not oriented, or with constants of no value
            return None
        return R if agrees else None

    # -- statements ------------------------------------------------------------------------------------------------

    def _state_bodies(self, positions: list[Components | None]) -> None:
        s = self.model.statement
        taken = {f.func.__name__ for f in (*s.coordinates, *s.speeds)} | {p.name for p in s.parameters}
        self.stated: list[statement.Particle | statement.Body] = []
        for m, position in zip(self.moving, positions, strict=True):
            name = _free_name(m.name, taken)
            taken.add(name)
            point = {"mass": m.mass, "velocity": m.velocity, "position": position}
            if m.inertia is None:
                self.stated.append(self.model.particle(name, **point))
                continue
            turning = {"angular_velocity": m.angular_velocity, "axes_angular_velocity": m.turn}
            rotation = None if position is None else self._rotation(m)
            self.stated.append(self.model.body(name, inertia=m.inertia, rotation=rotation, **point, **turning))
            if any(self._varies(e) for e in m.inertia):
                raise ModelError(self.model.name, [f"inertia of `{m.name}` varies; only masses may"])
        self._draw_links()
        for m, item in zip(self.moving, self.stated, strict=True):
            if self._varies(m.mass):  # d(m v)/dt, as in SymPy's method
                rate = m.mass.diff(self.model.t)
                self.model.force([-rate * v for v in m.velocity], at=item)

    def _draw_links(self) -> None:
        """The lines of bodies whose positions agree with their velocities."""
        drawn = {m.point: item for m, item in zip(self.moving, self.stated, strict=True) if item.position is not None}
        for body, line in (link for links in self.links for link in links):
            if body.masscenter in drawn:
                self.model.line(line, name=drawn[body.masscenter].name)

    def _varies(self, e: sp.Expr) -> bool:
        return any(node == self.model.t for node in nodes(e))

    def _state_energy(self) -> None:
        r = self.reading
        if r.kinetic != 0 or r.potential != 0:
            self.model.energy(kinetic=r.kinetic, potential=r.potential)

    def _state_loads(self) -> None:
        gravity, loads = self._gravity()
        if gravity is not None:
            self.model.gravity(gravity)
        for load in loads:
            if isinstance(load.place, Point):
                at = self._at(load.place) or statement.Point(load.place.name, velocity=load.velocity)
                self.model.force(load.components, at=at)
            elif (body := self._on(load)) is not None:
                m, item = body
                turned = item.attitude is statement.Attitude.NONE
                geometry = self.reading.geometry
                self.model.torque(geometry.components(load.vector, m.axes) if turned else load.components, on=item)
            else:  # a frame without inertia: its angular velocity is to the torque what a velocity is to a force
                at = statement.Point(f"frame {load.place.name}", velocity=load.velocity)
                self.model.force(load.components, at=at)

    def _gravity(self) -> tuple[Components | None, list[Load]]:
        """Uniform gravity, if there is the same weight per mass at every mass centre, and the loads without it."""
        loads = self.reading.loads
        weights = []
        for m in self.moving:
            found = [load for load in loads if load.place == m.point and load not in weights]
            per_mass = [tuple(f / m.mass for f in load.components) if m.mass != 0 else None for load in found]
            fits = [load for load, g in zip(found, per_mass, strict=True) if g and self._is_constant(g)]
            if not fits:
                return None, loads
            weights.append(fits[0])
        if not weights:
            return None, loads
        accelerations = {
            tuple(f / m.mass for f in load.components) for m, load in zip(self.moving, weights, strict=True)
        }
        if len(accelerations) != 1:
            return None, loads
        return accelerations.pop(), [load for load in loads if load not in weights]

    def _is_constant(self, expressions: Iterable[sp.Expr]) -> bool:
        s = self.model.statement
        return not undeclared(expressions, s.parameters)

    def _at(self, place: Point) -> statement.Point | None:
        """The particle or body whose mass centre a point is."""
        pairs = zip(self.moving, self.stated, strict=True)
        return next((item for m, item in pairs if m.point == place), None)

    def _on(self, load: Load) -> tuple[Moving, statement.Body] | None:
        """The body that a frame is fixed in."""
        pairs = [(m, b) for m, b in zip(self.moving, self.stated, strict=True) if isinstance(b, statement.Body)]
        same = [pair for pair in pairs if pair[0].frame == load.place]
        return next(iter(same or [pair for pair in pairs if is_fixed(load.place, pair[0].frame)]), None)

    def _state_constraints(self) -> None:
        r = self.reading
        slow, fast = [False] * len(r.velocity), [False] * len(r.acceleration)
        if self.agreement is not None and (r.acceleration or (r.position and r.velocity)):
            levels = ([e for _, e in level] for level in (r.position, r.velocity, r.acceleration))
            with suppress(LoweringError):  # compiling the model will name the constraint
                slow, fast = self.agreement.implied(*levels)
        implied = [*([False] * len(r.position)), *slow, *fast]
        stated = (*r.position, *r.velocity, *r.acceleration)
        for (name, expression), follows in zip(stated, implied, strict=True):
            if not follows:
                self.model.constrain(expression, name=name)


def _free_name(name: str, taken: set[str]) -> str:
    """A body's name without blanks and quotes, and none that a symbol or another body has."""
    name = re.sub(r"[\s'`]+", "_", name) or "body"
    candidates = (name, f"{name}_body", *(f"{name}_body_{k}" for k in range(2, len(taken) + 3)))
    return next(c for c in candidates if c not in taken)

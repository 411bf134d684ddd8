"""Flexible beams in the plane: ANCF cable elements, and assumed modes in a floating frame.

The mass of a beam is stated as particles at Gauss points, which integrates the kinetic energy of polynomial shapes
exactly and lets gravity act as on everything else; the strain energy is a quadrature inside the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from dalembert.model.markers import Marker
from dalembert.model.statement import Attitude, Body, Constraint, Line, Particle, Point, Vector

if TYPE_CHECKING:
    from dalembert.model.model import Model

Expression = Any
Node = tuple[sp.Matrix, sp.Matrix]  # position and slope, (2, 1) each
Shape = Callable[[float, int], sp.Matrix]
POINTS = 4  # Gauss points for masses: exact to degree 7, squares of cubics have degree 6
AXIAL, BENDING = 5, 3  # Gauss points for the strain energy of an element
DRAWN = 4  # strokes per element
ROOTS = (1.8751040687119611664, 4.6940911329741745764, 7.8547574382376125649, 10.995540734875466991)


@dataclass(frozen=True)
class Station:
    """A point of the centre line with its tangent r' (not a unit vector when the beam is stretched)."""

    point: Point
    tangent: Vector


@dataclass(frozen=True)
class Cable:
    """A chain of ANCF elements; `nodes` are its stations from the start to the end."""

    name: str
    nodes: tuple[Station, ...]
    at: Callable[[Expression], Station]  # the station at an arc length

    @property
    def start(self) -> Point:
        """The point at arc length zero."""
        return self.nodes[0].point

    @property
    def end(self) -> Point:
        """The point at the end."""
        return self.nodes[-1].point


@dataclass(frozen=True)
class FloatingBeam:
    """A beam by assumed modes about a frame that moves as a body without mass of its own."""

    name: str
    frame: Body
    start: Point
    end: Point
    deflection: tuple[sp.Expr, ...]  # modal coordinates
    at: Callable[[Expression], Station]


class Beams:
    """The flexible beams of a model, in the plane z = 0."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def cable(
        self,
        name: str,
        *,
        start: Sequence[float],
        end: Sequence[float],
        elements: int,
        density: Expression,
        axial_stiffness: Expression,
        bending_stiffness: Expression,
    ) -> Cable:
        """A beam of planar ANCF cable elements, straight and at rest from `start` to `end` where no load acts.

        Node k has the position (`name`_xk, `name`_yk) and the slope (`name`_sxk, `name`_syk) as coordinates. `density`
        is the mass per length. The strain energy per length is EA e^2 / 2 + EI k^2 / 2 with the stretch e = |r'| - 1
        and the curvature k = (r' x r'') / |r'|^2 (Gerstmayr and Irschik, J. Sound Vib. 318, 2008, 461-487).
        """
        a, b = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
        length = float(np.linalg.norm(b - a))
        if elements < 1 or not length > 0.0:
            self._model.note(f"beam `{name}` needs at least one element and a length, got {elements} and {length:g}")
            elements, length, b = 1, 1.0, a + np.array([1.0, 0.0])
        size = length / elements
        nodes = [self._node(name, k, a + (b - a) * k / elements, (b - a) / length) for k in range(elements + 1)]
        rho, EA, EI = (self._scalar(v, name) for v in (density, axial_stiffness, bending_stiffness))
        for k in range(elements):
            shape = _hermite(nodes[k], nodes[k + 1], size)
            self._masses(f"{name}_{k}", [(shape(x, 0), rho * size * w) for x, w in _gauss(POINTS)])
            self._model.energy(potential=size * _strain(shape, EA, EI))
        at = _along(name, nodes, size)
        strokes = [at(size * k / DRAWN).point.position for k in range(DRAWN * elements + 1)]
        self._model.statement.shapes.append(Line(name, tuple(p for p in strokes if p is not None)))
        return Cable(name, tuple(at(size * k) for k in range(elements + 1)), at)

    def floating(
        self,
        name: str,
        *,
        length: Expression,
        modes: int,
        density: Expression,
        bending_stiffness: Expression,
        position: Sequence[Expression] | None = None,
        rotation: Expression | None = None,
        stiffening: bool = True,
    ) -> FloatingBeam:
        """A beam clamped in a floating frame at its start, deflected by the first `modes` (at most 4) of a cantilever.

        The frame has the `position` and `rotation` given, or coordinates `name`_x, `name`_y, `name`_a of its own;
        deflections are `name`_d0, ... With `stiffening` a deflected point moves towards the start by half the integral
        of w'^2, without which a fast rotation would soften the beam.
        """
        L, rho, EI = (self._scalar(v, name) for v in (length, density, bending_stiffness))
        if not 1 <= modes <= len(ROOTS):
            self._model.note(f"beam `{name}`: {modes} modes; between 1 and {len(ROOTS)} are known")
            modes = 1
        if position is None:
            position = self._model.coordinates(f"{name}_x {name}_y")
        if rotation is None:
            (rotation,) = self._model.coordinates(f"{name}_a")
        d = self._model.coordinates(" ".join(f"{name}_d{k}" for k in range(modes)))
        frame = Body(f"{name}_frame", (*map(sp.sympify, position), sp.S.Zero)[:3], attitude=Attitude.ANGLE,
                     rotation=(sp.sympify(rotation),))  # fmt: skip
        shape = _Modes(L, d, stiffening=stiffening)
        masses = [(shape.place(x), rho * L * w) for x, w in _gauss(4 + 2 * modes)]
        self._masses(name, [(_carried(frame, place), mass) for place, mass in masses])
        self._model.energy(potential=EI / L**3 * shape.bending() / 2)

        def at(s: Expression) -> Station:
            x = self._scalar(s, name) / L
            place, slope = _carried(frame, shape.place(x)), shape.slope(x)
            return Station(Point(name, place), _turned(frame, slope))

        strokes = [at(L * sp.Rational(k, 16)).point.position for k in range(17)]
        self._model.statement.shapes.append(Line(name, tuple(p for p in strokes if p is not None)))
        return FloatingBeam(name, frame, at(0).point, at(L).point, tuple(d), at)

    def clamp(self, name: str, station: Station, marker: Marker) -> tuple[Constraint, ...]:
        """A station held at a marker with its tangent along the x axis of the marker."""
        gap = sp.Matrix(station.point.position) - sp.Matrix(marker.position)
        tilt = sp.Matrix(station.tangent).dot(marker.axis(1))
        stated = self._model.constrain([gap[0], gap[1], tilt], name=name)
        return stated if isinstance(stated, tuple) else (stated,)

    # -- inside ---------------------------------------------------------------------------------------------------

    def _node(self, name: str, k: int, place: np.ndarray, slope: np.ndarray) -> Node:
        symbols = self._model.coordinates(f"{name}_x{k} {name}_y{k} {name}_sx{k} {name}_sy{k}")
        for symbol, value in zip(symbols, (*place, *slope), strict=True):
            self._model.statement.defaults[symbol] = float(value)
        return sp.Matrix(symbols[:2]), sp.Matrix(symbols[2:])

    def _masses(self, name: str, masses: Sequence[tuple[Any, sp.Expr]]) -> None:
        for k, (place, mass) in enumerate(masses):
            position = (*place, sp.S.Zero)[:3]
            self._model.statement.particles.append(Particle(f"{name}_m{k}", position, mass=mass, part=True))

    def _scalar(self, value: Any, name: str) -> sp.Expr:
        return self._model.scalar(value, f"beam `{name}`")


def _gauss(n: int) -> list[tuple[float, float]]:
    """Points and weights of Gauss's quadrature over 0 .. 1."""
    x, w = np.polynomial.legendre.leggauss(n)
    return [(float(a + 1) / 2, float(b) / 2) for a, b in zip(x, w, strict=True)]


def _hermite(left: Node, right: Node, size: float) -> Shape:
    """shape(x, k): the k-th derivative by arc length of the cubic between two nodes, at a fraction x of the element."""
    cubics = ([1, 0, -3, 2], [0, size, -2 * size, size], [0, 0, 3, -2], [0, 0, -size, size])

    def shape(x: float, k: int) -> sp.Matrix:
        polynomials = [np.polynomial.Polynomial(c) for c in cubics]
        weights = [float((p.deriv(k) if k else p)(x)) for p in polynomials]
        values = (*left, *right)
        return sum((w / size**k * v for w, v in zip(weights, values, strict=True)), sp.zeros(2, 1))

    return shape


def _strain(shape: Shape, EA: sp.Expr, EI: sp.Expr) -> sp.Expr:
    """Strain energy of an element per its length."""
    energy = sp.S.Zero
    for x, w in _gauss(AXIAL):
        tangent = shape(x, 1)
        energy += w * EA / 2 * (sp.sqrt(tangent.dot(tangent)) - 1) ** 2
    for x, w in _gauss(BENDING):
        t, c = shape(x, 1), shape(x, 2)
        energy += w * EI / 2 * ((t[0] * c[1] - t[1] * c[0]) / t.dot(t)) ** 2
    return energy


def _along(name: str, nodes: Sequence[Node], size: float) -> Callable[[Expression], Station]:
    def at(s: Expression) -> Station:
        k = min(max(int(float(s) / size + 1e-12), 0), len(nodes) - 2)
        shape, x = _hermite(nodes[k], nodes[k + 1], size), float(s) / size - k
        place, tangent = shape(x, 0), shape(x, 1)
        return Station(Point(name, (place[0], place[1], sp.S.Zero)), (tangent[0], tangent[1], sp.S.Zero))

    return at


class _Modes:
    """Deflection and shortening of a cantilever by its first modes, as functions of the fraction x of its length."""

    def __init__(self, length: sp.Expr, d: Sequence[sp.Expr], *, stiffening: bool) -> None:
        self.length, self.d, self.stiffening = length, d, stiffening

    def place(self, x: Any) -> tuple[sp.Expr, sp.Expr]:
        """(along, across) in the frame; the first deflection coordinate is the tip deflection of the first mode."""
        w = sum((_mode(k, x) * d for k, d in enumerate(self.d)), sp.S.Zero)
        return x * self.length - self._shortening(x), w

    def slope(self, x: Any) -> tuple[sp.Expr, sp.Expr]:
        """The tangent in the frame."""
        return sp.S.One, sum((_mode(k, x, 1) * d for k, d in enumerate(self.d)), sp.S.Zero) / self.length

    def bending(self) -> sp.Expr:
        """The integral of (d2w/dx2)^2 over 0 .. 1; the modes are orthogonal."""
        return sum((ROOTS[k] ** 4 * _norm(k) * d**2 for k, d in enumerate(self.d)), sp.S.Zero)

    def _shortening(self, x: Any) -> sp.Expr:
        if not self.stiffening:
            return sp.S.Zero
        total = sp.S.Zero
        for a, w in _gauss(12):
            slope = sum((_mode(k, a * float(x), 1) * d for k, d in enumerate(self.d)), sp.S.Zero)
            total += w * float(x) * slope**2
        return sp.expand(total) / (2 * self.length)


def _mode(k: int, x: Any, order: int = 0) -> float:
    """Mode k of a cantilever at x in 0 .. 1, with 1 at its tip, or a derivative of it."""
    b, x = ROOTS[k], float(x)
    s = (np.cosh(b) + np.cos(b)) / (np.sinh(b) + np.sin(b))
    values = (
        np.cosh(b * x) - np.cos(b * x) - s * (np.sinh(b * x) - np.sin(b * x)),
        b * (np.sinh(b * x) + np.sin(b * x) - s * (np.cosh(b * x) - np.cos(b * x))),
    )
    tip = np.cosh(b) - np.cos(b) - s * (np.sinh(b) - np.sin(b))
    return float(values[order] / tip)


def _norm(k: int) -> float:
    """The integral of the square of mode k over 0 .. 1: a quarter, as its tip is 1."""
    return float(sum(w * _mode(k, x) ** 2 for x, w in _gauss(20)))


def _carried(frame: Body, place: tuple[sp.Expr, sp.Expr]) -> Vector:
    origin = frame.position or (sp.S.Zero,) * 3
    x, y, z = _turned(frame, place)
    return origin[0] + x, origin[1] + y, z


def _turned(frame: Body, v: tuple[sp.Expr, sp.Expr]) -> Vector:
    c, s = sp.cos(frame.rotation[0]), sp.sin(frame.rotation[0])
    return c * v[0] - s * v[1], s * v[0] + c * v[1], sp.S.Zero

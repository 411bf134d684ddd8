"""Flexible beams in the plane: ANCF cable elements, and assumed modes in a floating frame.

The mass of a beam is stated as particles at Gauss points, which integrates the kinetic energy of polynomial shapes
exactly and lets gravity act as on everything else; the strain energy is a quadrature inside the graph.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import sympy as sp

from dalembert.dataclass import dataclass
from dalembert.model.instances import Template
from dalembert.model.journal import Section, said
from dalembert.model.markers import axes_of
from dalembert.model.statement import Attitude, Body, Line, Particle, Vector
from dalembert.model.vectors import ORIGIN, plus, turned

if TYPE_CHECKING:
    from dalembert.model.contributions import ModelContributions

Expression = Any
Plane = tuple[sp.Expr, sp.Expr]
Node = tuple[Plane, Plane]  # position and slope
Shape = Callable[[float, int], Plane]
MASS_GAUSS_POINTS = 4  # Gauss points for masses: exact to degree 7, squares of cubics have degree 6
# Gauss points for the strain energy of an element; more of the axial ones would lock it.
AXIAL_GAUSS_POINTS, BENDING_GAUSS_POINTS = 3, 3
SLOPES = 12  # Gauss points for the shortening of a deflected beam
STROKES_PER_ELEMENT = 4  # of a drawing
ROOTS = (1.8751040687119611664, 4.6940911329741745764, 7.8547574382376125649, 10.995540734875466991)


@dataclass(frozen=True)
class Cable:
    """A chain of ANCF elements.

    `at` gives the cross-section at an arc length as a body without mass, with x along the tangent. It takes joints,
    markers, forces and torques like any other body.
    """

    name: str
    length: float
    elements: int
    at: Callable[[float], Body]

    @property
    def start(self) -> Body:
        """The cross-section at arc length zero."""
        return self.at(0.0)

    @property
    def end(self) -> Body:
        """The cross-section at the end."""
        return self.at(self.length)

    @property
    def nodes(self) -> tuple[Body, ...]:
        """The cross-sections between elements and at both ends."""
        return tuple(self.at(self.length * k / self.elements) for k in range(self.elements + 1))


@dataclass(frozen=True)
class FloatingBeam:
    """A beam by assumed modes about a frame that moves as a body without mass of its own; `at` as for a `Cable`."""

    name: str
    frame: Body
    start: Body
    end: Body
    deflection: tuple[sp.Expr, ...]  # modal coordinates
    at: Callable[[Expression], Body]


class Beams:
    """The flexible beams of a model, in the plane z = 0."""

    def __init__(self, model: ModelContributions) -> None:
        self._model = model

    @said("beams")
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
        """A beam of planar ANCF cable elements; unloaded it is straight from `start` to `end`.

        Node k has the position (`name`_xk, `name`_yk) and the slope (`name`_sxk, `name`_syk) as coordinates. `density`
        is the mass per length. The strain energy per length is EA e^2 / 2 + EI k^2 / 2 with the stretch e = |r'| - 1
        and the curvature k = (r' x r'') / |r'|^2 (Gerstmayr and Irschik, J. Sound Vib. 318, 2008, 461-487).
        """
        a, b = (np.array([self._number(c, name) for c in place[:2]]) for place in (start, end))
        length = float(np.linalg.norm(b - a))
        if not isinstance(elements, int) or elements < 1 or not length > 0.0:
            self._model.note(f"beam `{name}` needs at least one element and a length, got {elements} and {length:g}")
            elements, length, b = 1, 1.0, a + np.array([1.0, 0.0])
        size = length / elements
        nodes = [self._node(name, k, a + (b - a) * k / elements, (b - a) / length) for k in range(elements + 1)]
        rho, EA, EI = (self._scalar(v, name) for v in (density, axial_stiffness, bending_stiffness))
        place, at = _along(name, nodes, size)
        masses, strokes = [rho * (size * w) for _, w in _gauss(MASS_GAUSS_POINTS)], list[Vector]()
        for k in range(elements):
            element = _element(nodes[k], nodes[k + 1], size, EA, EI)
            self._masses(f"{name}_{k}", list(zip(element.points, masses, strict=True)))
            self._model.energy(potential=element.strain)
            strokes += element.strokes
        self._model.statement.shapes.append(Line(name, (*strokes, place(length))))
        return Cable(name, length, elements, self._noted(name, at))

    @said("beams")
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

        The frame has the given `position` and `rotation`, or its own coordinates `name`_x, `name`_y, `name`_a;
        deflections are `name`_d0, ... With `stiffening` a deflected point moves towards the start by half the integral
        of w'^2. Without that a fast rotation would soften the beam.
        """
        L, rho, EI = (self._scalar(v, name) for v in (length, density, bending_stiffness))
        if modes not in range(1, len(ROOTS) + 1):
            self._model.note(f"beam `{name}`: {modes} modes; between 1 and {len(ROOTS)} are known")
            modes = 1
        place = self._model.coordinates(f"{name}_x {name}_y") if position is None else position
        angle = self._model.coordinates(f"{name}_a")[0] if rotation is None else self._scalar(rotation, name)
        d = self._model.coordinates(" ".join(f"{name}_d{k}" for k in range(modes)))
        x, y = (self._scalar(c, name) for c in place[:2])
        frame = Body(f"{name}_frame", (x, y, sp.S.Zero), attitude=Attitude.ANGLE, rotation=(angle,))
        shape = _Modes(L, d, stiffening=stiffening)
        self._masses(name, [(_carried(frame, shape.place(x)), rho * L * w) for x, w in _gauss(8 + 2 * modes)])
        self._model.energy(potential=EI / L**3 * shape.bending() / 2)

        def at(s: Expression) -> Body:
            x = self._number(self._scalar(s, name) / L, name)
            return Body(
                f"{name}({s})", _carried(frame, shape.place(x)), attitude=Attitude.ANGLE,
                rotation=(angle + sp.atan(shape.slope(x)),),
            )  # fmt: skip

        strokes = [_carried(frame, shape.place(k / 16)) for k in range(17)]
        self._model.statement.shapes.append(Line(name, tuple(strokes)))
        self._model.journal.sections.append(Section(frame, name, None))
        section = self._noted(name, at)
        return FloatingBeam(name, frame, section(0), section(L), tuple(d), section)

    # -- inside ---------------------------------------------------------------------------------------------------

    def _node(self, name: str, k: int, place: np.ndarray, slope: np.ndarray) -> Node:
        x, y, sx, sy = self._model.coordinates(f"{name}_x{k} {name}_y{k} {name}_sx{k} {name}_sy{k}")
        for symbol, value in zip((x, y, sx, sy), (*place, *slope), strict=True):
            self._model.statement.defaults[symbol] = float(value)
        return (x, y), (sx, sy)

    def _masses(self, name: str, masses: Sequence[tuple[Vector, sp.Expr]]) -> None:
        self._model.statement.particles.extend(
            Particle(f"{name}_m{k}", place, mass=mass, part=True) for k, (place, mass) in enumerate(masses)
        )

    def _noted(self, name: str, at: Callable[[Any], Body]) -> Callable[[Any], Body]:
        """`at`, whose sections the journal knows."""

        def section(s: Any) -> Body:
            body = at(s)
            self._model.journal.sections.append(Section(body, name, s))
            return body

        return section

    def _scalar(self, value: Any, name: str) -> sp.Expr:
        return self._model.scalar(value, f"beam `{name}`")

    def _number(self, value: Any, name: str) -> float:
        return self._model.number(value, f"a place on beam `{name}`")


def _gauss(n: int) -> list[tuple[float, float]]:
    """Points and weights of Gauss's quadrature over 0 .. 1."""
    x, w = np.polynomial.legendre.leggauss(n)
    return [(float(a + 1) / 2, float(b) / 2) for a, b in zip(x, w, strict=True)]


def _hermite(left: Node, right: Node, size: float) -> Shape:
    """shape(x, k): the k-th derivative by arc length of the cubic between two nodes, at a fraction x of the element."""
    cubics = ([1, 0, -3, 2], [0, size, -2 * size, size], [0, 0, 3, -2], [0, 0, -size, size])
    values = (*left, *right)

    def shape(x: float, k: int) -> Plane:
        weights = [float(np.polynomial.Polynomial(c).deriv(k)(x)) / size**k for c in cubics]
        terms = [(w, v) for w, v in zip(weights, values, strict=True) if w != 0.0]
        a, b = (sp.Add(*[v[c] if w == 1.0 else w * v[c] for w, v in terms]) for c in (0, 1))
        return a, b

    return shape


class _Element(NamedTuple):
    """A cable element: its Gauss points, its strain energy, and where its strokes begin."""

    points: tuple[Vector, ...]
    strain: sp.Expr
    strokes: tuple[Vector, ...]


def _element(left: Node, right: Node, size: float, EA: sp.Expr, EI: sp.Expr) -> _Element:
    """The element between two nodes, an instance of the only kind there is."""
    ends = [c for node in (left, right) for vector in node for c in vector]
    filled = _cable_template().fill((*ends, sp.Float(size), EA, EI))
    strain, *places = filled
    vectors = tuple((x, y, sp.S.Zero) for x, y in zip(places[::2], places[1::2], strict=True))
    return _Element(vectors[:MASS_GAUSS_POINTS], strain, vectors[MASS_GAUSS_POINTS:])


def _written(shape: Shape, EA: sp.Expr, EI: sp.Expr) -> _Element:
    """An element of this shape, EA and EI times its length."""
    points, strokes = (
        tuple((*shape(x, 0), sp.S.Zero) for x in some)
        for some in (
            [x for x, _ in _gauss(MASS_GAUSS_POINTS)],
            [k / STROKES_PER_ELEMENT for k in range(STROKES_PER_ELEMENT)],
        )
    )
    return _Element(points, _strain(shape, EA, EI), strokes)


@functools.cache
def _cable_template() -> Template:
    """Strain energy, Gauss points and strokes of an element in symbols; with slopes times its size it has size 1."""
    symbols = sp.symbols("x0 y0 sx0 sy0 x1 y1 sx1 sy1 h EA EI")
    x0, y0, sx0, sy0, x1, y1, sx1, sy1, h, EA, EI = symbols
    cubic = _hermite(((x0, y0), (h * sx0, h * sy0)), ((x1, y1), (h * sx1, h * sy1)), 1.0)

    def shape(x: float, k: int) -> Plane:
        a, b = cubic(x, k)
        return a / h**k, b / h**k

    element = _written(shape, EA * h, EI * h)
    places = [c for place in (*element.points, *element.strokes) for c in place[:2]]
    return Template("cable element", symbols, [element.strain, *places])


def _strain(shape: Shape, EA: sp.Expr, EI: sp.Expr) -> sp.Expr:
    """Strain energy of an element, EA and EI times its length.

    Powers are left as they stand: SymPy's search for simpler ones takes longer than the rest of the beam.
    """
    terms = []
    for x, w in _gauss(AXIAL_GAUSS_POINTS):
        a, b = shape(x, 1)
        stretch = _power(_power(a, 2) + _power(b, 2), sp.S.Half) - 1
        terms.append(w / 2 * EA * _power(stretch, 2))
    for x, w in _gauss(BENDING_GAUSS_POINTS):
        (a, b), (c, d) = shape(x, 1), shape(x, 2)
        bent = (a * d - b * c) * _power(_power(a, 2) + _power(b, 2), -1)
        terms.append(w / 2 * EI * _power(bent, 2))
    return sp.Add(*terms)


def _power(base: sp.Expr, exponent: Any) -> sp.Expr:
    return sp.Pow(base, exponent, evaluate=False)


def _along(name: str, nodes: Sequence[Node], size: float) -> tuple[Callable[[float], Vector], Callable[[float], Body]]:
    """Place and cross-section at an arc length."""

    def find(s: float) -> tuple[Shape, float]:
        k = min(max(int(float(s) / size + 1e-12), 0), len(nodes) - 2)
        x = float(s) / size - k
        # At a node, what the node says.
        return _hermite(nodes[k], nodes[k + 1], size), round(x) if abs(x - round(x)) < 1e-12 else x

    def place(s: float) -> Vector:
        shape, x = find(s)
        return (*shape(x, 0), sp.S.Zero)

    def at(s: float) -> Body:
        shape, x = find(s)
        a, b = shape(x, 1)
        return Body(f"{name}({s:g})", place(s), attitude=Attitude.ANGLE, rotation=(sp.atan2(b, a),))

    return place, at


class _Modes:
    """Deflection and shortening of a cantilever by its first modes, as functions of the fraction x of its length."""

    def __init__(self, length: sp.Expr, d: Sequence[sp.Expr], *, stiffening: bool) -> None:
        self.length, self.d, self.stiffening = length, d, stiffening

    def place(self, x: float) -> Vector:
        """(along, across, 0) in the frame. A deflection coordinate is the deflection of the tip by its mode."""
        along = x * self.length
        if self.stiffening and x > 0.0:
            along -= self._shortening(x)
        return along, self._sum(x, 0), sp.S.Zero

    def slope(self, x: float) -> sp.Expr:
        """dw/dx."""
        return self._sum(x, 1) / self.length

    def bending(self) -> sp.Expr:
        """The integral of (d2w/dx2)^2 over 0 .. 1; the modes are orthogonal."""
        return sp.Add(*[ROOTS[k] ** 4 * _norm(k) * d**2 for k, d in enumerate(self.d)])

    def _sum(self, x: float, order: int) -> sp.Expr:
        return sp.Add(*[_mode(k, x, order) * d for k, d in enumerate(self.d)])

    def _shortening(self, x: float) -> sp.Expr:
        """Half the integral of w'^2 from the start: a quadratic form in the deflections."""
        slopes = np.array([[_mode(k, a * x, 1) for k in range(len(self.d))] for a, _ in _gauss(SLOPES)])
        S = x / 2 * np.einsum("g,gi,gj->ij", [w for _, w in _gauss(SLOPES)], slopes, slopes)
        terms = [float(S[i, j]) * a * b for i, a in enumerate(self.d) for j, b in enumerate(self.d)]
        return sp.Add(*terms) / self.length


def _mode(k: int, x: float, order: int = 0) -> float:
    """Mode k of a cantilever at x in 0 .. 1, with 1 at its tip, or its first derivative."""
    b = ROOTS[k]
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


def _carried(frame: Body, place: Vector) -> Vector:
    return plus(frame.position or ORIGIN, turned(axes_of(frame), place))

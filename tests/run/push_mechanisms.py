"""Mechanisms to be pushed at random times or places, each with its motion in minimal coordinates by hand."""

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, sin, sqrt
from typing import Any

import numpy as np
import sympy as sp
from random_pushes import JUMPS, KINKED, SHAPES, SMOOTH, push, reference

import dalembert as da

G = 9.81
t = da.Model("of time").t


def of_time(s, _):
    return s


@dataclass(frozen=True)
class Case:
    """A model with its given start; z' = rates(t, z, push) from `start`; `ends(z, t_end)` by name of a coordinate."""

    model: Any
    given: dict[Any, float]
    guess: dict[Any, float]
    t_end: float
    rates: Callable[..., Any]
    start: tuple[float, ...]
    ends: Callable[[np.ndarray], dict[str, float]]
    push: Any
    argument: Callable[..., float] = of_time
    fastest: float = 0.0  # the largest speed that is prescribed

    def reference(self, change=0.0, rtol=1e-12):
        start = np.array(self.start) + change * np.resize([1.0, -0.7, 0.4], len(self.start))
        return reference(self.rates, start, self.t_end, self.push, self.argument, rtol)


class Chance:
    """Random choices of a case."""

    def __init__(self, rng):
        self.rng = rng

    def push(self, end, strength=1.0, shapes=SHAPES, low=0.0):
        """Of an argument that goes from `low` to `end`: of random impulse, or of random height."""
        span = end - low
        width = span * 10 ** self.rng.uniform(-6, -1)
        shape = str(self.rng.choice(shapes))
        centre = low + span * self.rng.uniform(0.1, 0.9)
        lasting = shape in ("tanh ramp", "logistic", "root ramp", "arc tangent", "error function", "step", "ramp")
        size = strength * 10 ** self.rng.uniform(-2, 0.3) * self.rng.choice([-1, 1])
        height = size if lasting else size / max(width, 1e-9) if self.rng.random() < 0.7 else size
        return push(shape, centre, width, float(height), end)

    def either(self, first, second):
        return first if self.rng.random() < 0.5 else second

    def between(self, low, high):
        return float(self.rng.uniform(low, high))


def free_particle(chance):
    """At rest, or on its way to a patch of force."""
    model = da.Model("free particle")
    (x,) = model.coordinates("x")
    model.particle("P", mass=2.0, position=[x, 0])
    speed = chance.either(0.0, 1.0)
    span = 10 ** chance.between(0, 2)
    pushed = chance.push(span, strength=0.2 * max(speed, 1.0))
    model.generalized_force({x: pushed.expression(x if speed else t, model)})
    return Case(
        model, {x: 0.0, x.diff(t): speed}, {}, span, lambda _, z, f: [z[1], f / 2.0], (0.0, speed),
        lambda z: {"x": z[0], "x_dot": z[1]}, pushed, (lambda _, z: z[0]) if speed else of_time,
    )  # fmt: skip


def pendulum(chance):
    """At rest, with Cartesian coordinates, pushed from the side."""
    model = da.Model("pendulum")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1.0, position=[x, y])
    model.gravity([0, -G])
    model.constrain(x**2 + y**2 - 1, name="rod")
    span = chance.between(2, 15)
    pushed = chance.push(span)
    model.generalized_force({x: pushed.expression(t, model)})
    return Case(
        model, {x: 0.0, x.diff(t): 0.0}, {y: -1.0}, span,
        lambda _, z, f: [z[1], -G * sin(z[0]) + f * cos(z[0])], (0.0, 0.0),
        lambda z: {"x": sin(z[0]), "y": -cos(z[0]), "x_dot": z[1] * cos(z[0])}, pushed,
    )  # fmt: skip


def double_pendulum(chance):
    """Falling from a random position, pushed at a time or at an angle."""
    model = da.Model("double pendulum")
    a, b = model.coordinates("a b")
    model.particle("P", mass=1.0, position=[sp.sin(a), -sp.cos(a)])
    model.particle("Q", mass=1.0, position=[sp.sin(a) + sp.sin(b), -sp.cos(a) - sp.cos(b)])
    model.gravity([0, -G])
    start = (chance.between(0.3, 2.0), chance.between(-1.0, 2.5), 0.0, 0.0)
    placed = chance.rng.random() < 0.5
    pushed = chance.push(0.9 * start[0], 1.0, low=-0.3) if placed else chance.push(3.0, 2.0)
    model.generalized_force({a: pushed.expression(a if placed else t, model)})

    def rates(s, z, f):
        c, d = cos(z[0] - z[1]), sin(z[0] - z[1])
        p = -d * z[3] ** 2 - 2 * G * sin(z[0]) + f
        q = d * z[2] ** 2 - G * sin(z[1])
        return [z[2], z[3], (p - c * q) / (2 - c * c), (2 * q - c * p) / (2 - c * c)]

    return Case(
        model, {a: start[0], b: start[1], a.diff(t): 0.0, b.diff(t): 0.0}, {}, 3.0, rates, start,
        lambda z: {"a": z[0], "b": z[1], "a_dot": z[2], "b_dot": z[3]}, pushed,
        (lambda _, z: z[0]) if placed else of_time,
    )  # fmt: skip


def slider_crank(chance):
    """At rest or turning, with two constraints; a torque on the crank or a force on the slider."""
    model = da.Model("slider-crank")
    a, b, x = model.coordinates("a b x")
    model.particle("crank", mass=1.0, position=[sp.cos(a), sp.sin(a)])
    model.particle("slider", mass=1.0, position=[x, 0])
    model.constrain(sp.cos(a) + 3 * sp.cos(b) - x, name="along")
    model.constrain(sp.sin(a) - 3 * sp.sin(b), name="across")
    speed = chance.either(0.0, 2.0)
    on_slider = chance.rng.random() < 0.3
    span = chance.between(3, 12)
    placed = speed and not on_slider
    pushed = chance.push(0.3 + 2.0, 0.5, low=0.3) if placed else chance.push(span)
    model.generalized_force({x if on_slider else a: pushed.expression(a if placed else t, model)})

    def slide(a):
        """x' and x'' as functions of the angle."""
        root = sqrt(9 - sin(a) ** 2)
        first = -sin(a) - sin(a) * cos(a) / root
        return first, -cos(a) - cos(2 * a) / root - (sin(a) * cos(a)) ** 2 / root**3

    def rates(s, z, f):
        d, e = slide(z[0])
        return [z[1], ((d * f if on_slider else f) - d * e * z[1] ** 2) / (1 + d * d)]

    return Case(
        model, {a: 0.3, a.diff(t): speed}, {b: 0.1, x: 3.9}, span, rates, (0.3, speed),
        lambda z: {"a": z[0], "x": cos(z[0]) + sqrt(9 - sin(z[0]) ** 2), "a_dot": z[1]}, pushed,
        (lambda _, z: z[0]) if placed else of_time,
    )  # fmt: skip


def four_bar(chance):
    """The crank turns as prescribed, with a smooth advance; closed form."""
    model = da.Model("four-bar")
    a, b, c = model.coordinates("a b c")
    r, l, o, d = 0.5, 1.5, 1.2, 1.6
    model.particle("A", mass=1.0, position=[r * sp.cos(a), r * sp.sin(a)])
    model.particle("B", mass=1.0, position=[d + o * sp.cos(c), o * sp.sin(c)])
    model.gravity([0, -G])
    model.constrain(r * sp.cos(a) + l * sp.cos(b) - d - o * sp.cos(c), name="x")
    model.constrain(r * sp.sin(a) + l * sp.sin(b) - o * sp.sin(c), name="y")
    span = chance.between(3, 12)
    drawn = chance.push(span, shapes=tuple(SMOOTH))
    pushed = push(drawn.shape, drawn.centre, drawn.width, chance.between(-1, 1), span)
    start = 0.4 + pushed.value(0.0, 0)
    model.constrain(a - 0.4 - t - pushed.expression(t, model), name="drive")

    def rocker(a):
        """The angle of the rocker on the branch of the start, and of the coupler."""
        u, v = r * cos(a) - d, r * sin(a)
        e = (u * u + v * v + o * o - l * l) / (2 * o)
        c = np.arctan2(v, u) - np.arccos(e / np.hypot(u, v))
        return c % (2 * np.pi)

    c0, last = rocker(start), 0.4 + span + pushed.value(span, 0)
    b0 = np.arctan2(o * sin(c0) - r * sin(start), d + o * cos(c0) - r * cos(start))
    return Case(
        model, {}, {a: start, b: b0, c: c0}, span, lambda _, __, ___: [0.0], (0.0,),
        lambda _: {"a": last, "c": rocker(last)}, pushed,
    )  # fmt: skip


def quarter_car(chance):
    """At rest until the road rises; or driving towards a bump in the road."""
    model = da.Model("quarter car")
    z1, z2, x = model.coordinates("z w x")
    span = chance.between(5, 20)
    drawn = chance.push(span)
    pushed = push(drawn.shape, drawn.centre, drawn.width, chance.between(0.01, 0.1), span)
    along = chance.either(True, False)
    road = pushed.expression(t, model)  # the car drives with speed 1
    if along:
        model.constrain(x - t, name="drive")
    else:
        model.constrain(x.diff(t) - 1, name="drive")
    model.particle("mass", mass=300, position=[x, z1])
    model.particle("wheel", mass=40, position=[x, z2])
    model.generalized_force(
        {
            z1: -20000 * (z1 - z2) - 1500 * (z1 - z2).diff(t),
            z2: 20000 * (z1 - z2) + 1500 * (z1 - z2).diff(t) - 200000 * (z2 - road),
        }
    )

    def rates(s, y, f):
        spring = 20000 * (y[0] - y[1]) + 1500 * (y[2] - y[3])
        return [y[2], y[3], -spring / 300, (spring - 200000 * (y[1] - f)) / 40]

    given = {z1: 0, z2: 0, z1.diff(t): 0, z2.diff(t): 0}
    return Case(
        model, given if along else {**given, x: 0}, {}, span, rates, (0.0,) * 4,
        lambda y: {"z": y[0], "w": y[1], "w_dot": y[3]}, pushed,
    )  # fmt: skip


def sleigh(chance):
    """A Chaplygin sleigh of unit mass and inertia, the blade 0.3 behind the centre of mass, steered or pushed."""
    model = da.Model("sleigh")
    x, y, a = model.coordinates("x y a")
    arm = chance.either(0.0, 0.3)
    model.particle("P", mass=1.0, position=[x + arm * sp.cos(a), y + arm * sp.sin(a)])
    model.energy(kinetic=a.diff(t) ** 2 / 2)
    model.constrain(-x.diff(t) * sp.sin(a) + y.diff(t) * sp.cos(a), name="blade")
    span, speed = chance.between(5, 30), chance.either(1.0, 0.0)
    pushed = chance.push(span)
    steered = chance.rng.random() < 0.5 or not speed
    f = pushed.expression(t, model)
    model.generalized_force({a: f} if steered else {x: f * sp.cos(a), y: f * sp.sin(a)})

    def rates(s, z, f):
        v, w = z[3], z[4]
        force, torque = (0.0, f) if steered else (f, 0.0)
        return [v * cos(z[2]), v * sin(z[2]), w, arm * w * w + force, (torque - arm * v * w) / (1 + arm**2)]

    given = {x: 0, y: 0, a: 0.2, x.diff(t): speed * cos(0.2), a.diff(t): 0.1 * speed}
    return Case(
        model, given, {y.diff(t): speed * sin(0.2)}, span, rates, (0.0, 0.0, 0.2, speed, 0.1 * speed),
        lambda z: {"x": z[0], "y": z[1], "a": z[2], "a_dot": z[4]}, pushed,
    )  # fmt: skip


def rolling_disc(chance):
    """An upright disc that rolls; a torque about its axle, or one that steers it where it has rolled so far."""
    model = da.Model("rolling disc")
    x, y, a, p = model.coordinates("x y a p")
    model.particle("P", mass=1.0, position=[x, y])
    model.energy(kinetic=p.diff(t) ** 2 / 4 + a.diff(t) ** 2 / 8)
    model.constrain(x.diff(t) - p.diff(t) * sp.cos(a), name="roll_x")
    model.constrain(y.diff(t) - p.diff(t) * sp.sin(a), name="roll_y")
    span, steered = chance.between(5, 30), chance.rng.random() < 0.5
    pushed = chance.push(span, 0.2)
    model.generalized_force({a if steered else p: pushed.expression(p if steered else t, model)})

    def rates(s, z, f):
        torques = (0.0, f) if steered else (f, 0.0)
        return [z[4] * cos(z[2]), z[4] * sin(z[2]), z[5], z[4], torques[0] / 1.5, 4 * torques[1]]

    return Case(
        model, {x: 0, y: 0, a: 0, p: 0, p.diff(t): 1.0, a.diff(t): 0.2}, {}, span, rates,
        (0.0, 0.0, 0.0, 0.0, 1.0, 0.2), lambda z: {"x": z[0], "y": z[1], "a": z[2], "p": z[3]}, pushed,
        (lambda _, z: z[3]) if steered else of_time,
    )  # fmt: skip


def mass_on_spring(chance):
    """At rest with a damper, pushed at a time; or swinging through a patch of force."""
    model = da.Model("mass on a spring")
    (x,) = model.coordinates("x")
    model.particle("P", mass=1.0, position=[x, 0])
    swinging = chance.rng.random() < 0.5
    c, k, span = 0.0 if swinging else 0.4, 10.0, chance.between(3, 20)
    if swinging:
        span = min(span, 8.0)
    pushed = chance.push(0.8, 0.3, low=-0.8) if swinging else chance.push(span)
    model.generalized_force({x: -k * x - c * x.diff(t) + pushed.expression(x if swinging else t, model)})
    start = (1.0 if swinging else 0.0, 0.0)
    return Case(
        model, {x: start[0], x.diff(t): 0.0}, {}, span, lambda _, z, f: [z[1], -k * z[0] - c * z[1] + f], start,
        lambda z: {"x": z[0], "x_dot": z[1]}, pushed, (lambda _, z: z[0]) if swinging else of_time,
    )  # fmt: skip


def bead_on_a_wire(chance):
    """Sliding on a parabola, pushed at a time or at a place."""
    model = da.Model("bead")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1.0, position=[x, y])
    model.gravity([0, -G])
    model.constrain(y - x**2 / 2, name="wire")
    placed = chance.rng.random() < 0.5
    span = chance.between(2, 6)
    pushed = chance.push(0.7, 0.5, low=-0.7) if placed else chance.push(span)
    model.generalized_force({x: pushed.expression(x if placed else t, model)})
    start = (1.0 if placed else chance.either(1.0, 0.0), 0.0)
    return Case(
        model, {x: start[0], x.diff(t): 0.0}, {y: start[0] ** 2 / 2}, span,
        lambda _, z, f: [z[1], (f - z[0] * z[1] ** 2 - G * z[0]) / (1 + z[0] ** 2)], start,
        lambda z: {"x": z[0], "y": z[0] ** 2 / 2, "x_dot": z[1]}, pushed, (lambda _, z: z[0]) if placed else of_time,
    )  # fmt: skip


def driven_velocity(chance):
    """The velocity of a trolley is prescribed; a mass on a spring hangs from it."""
    model = da.Model("trolley")
    x, y = model.coordinates("x y")
    model.particle("trolley", mass=1.0, position=[x, 0])
    model.particle("mass", mass=1.0, position=[y, 0])
    shapes = tuple(s for s in (*SMOOTH, *KINKED, "linear table", "cubic table") if s not in JUMPS)
    span, v0 = chance.between(3, 20), chance.either(0.0, 0.3)
    pushed = chance.push(span, shapes=shapes)
    model.generalized_force({y: -5 * (y - x), x: 5 * (y - x)})
    model.constrain(x.diff(t) - v0 - pushed.expression(t, model), name="drive")
    return Case(
        model, {x: 0, y: 0, y.diff(t): 0}, {}, span, lambda _, z, f: [v0 + f, z[2], -5 * (z[1] - z[0])],
        (0.0, 0.0, 0.0), lambda z: {"x": z[0], "y": z[1], "y_dot": z[2]}, pushed,
    )  # fmt: skip


def driven_pivot(chance):
    """A body hangs from a pivot whose position is prescribed: momentum about the pivot, without its acceleration."""
    model = da.Model("driven pivot")
    x, y, a = model.coordinates("x y a")
    model.body("B", mass=1.0, inertia=0.1, position=[x, y], rotation=a)
    model.gravity([0, -G])
    span = chance.between(3, 12)
    drawn = chance.push(span, shapes=("bell", "tanh ramp", "tanh pulse", "burst", "rational"))
    height = chance.between(-1, 1) * max(drawn.width, 1e-6)
    pushed = push(drawn.shape, drawn.centre, drawn.width, height, span)
    s = sp.Symbol("s")
    rate = sp.lambdify(s, sp.diff(pushed.expression(s, model), s), "numpy")
    model.constrain(x - sp.sin(a) - pushed.expression(t, model), name="pivot_x")
    model.constrain(y + sp.cos(a), name="pivot_y")
    inertia = 1.1

    def spin(s, z):  # p = inertia a' + x' cos a of the pivot
        return (z[1] - rate(s) * cos(z[0])) / inertia

    def rates(s, z, f):
        w = spin(s, z)
        return [w, -G * sin(z[0]) - rate(s) * w * sin(z[0])]

    swing = chance.either(0.0, 0.5)
    with np.errstate(over="ignore", under="ignore"):
        first = float(rate(0.0))
    return Case(
        model, {a: swing, a.diff(t): 0.0}, {x: sin(swing), y: -cos(swing)}, span, rates,
        (swing, first * cos(swing)),
        lambda z: {"x": sin(z[0]) + pushed.value(span, 0), "y": -cos(z[0]), "a_dot": spin(span, z)}, pushed,
        fastest=abs(height) / drawn.width,
    )  # fmt: skip


MECHANISMS = {
    f.__name__.replace("_", " "): f
    for f in (
        free_particle, pendulum, double_pendulum, slider_crank, four_bar, quarter_car, sleigh, rolling_disc,
        mass_on_spring, bead_on_a_wire, driven_velocity, driven_pivot,
    )
}  # fmt: skip


def random_case(name, seed):
    """The mechanism with a random push."""
    return MECHANISMS[name](Chance(np.random.default_rng([seed, *name.encode()])))

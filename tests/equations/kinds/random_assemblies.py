"""Random models of many parts of few kinds: bodies in space and in the plane, particles, joints, elements, expressions.

Numbers are drawn from a few values, so that leaves of one element coincide, also with exponents and with 0, 1 and -1.
"""

from __future__ import annotations

import numpy as np
import sympy as sp

import dalembert as da

NUMBERS = (-1.0, 0.0, 0.2, 0.5, 1.0, 2.0, 3.0)
IN_SPACE = ("revolute", "prismatic", "cylindrical", "spherical", "universal", "planar", "fixed", "point_on_line")
IN_THE_PLANE = ("revolute", "prismatic", "fixed")


class Draw:
    """Random choices of one model."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def number(self):
        return float(self.rng.choice(NUMBERS)) if self.rng.random() < 0.7 else float(self.rng.uniform(0.1, 1.5))

    def positive(self):
        return float(self.rng.choice([0.5, 1.0, 2.0])) if self.rng.random() < 0.6 else float(self.rng.uniform(0.2, 2.0))

    def place(self):
        return [self.number() for _ in range(3)]

    def maybe(self, chance=0.5):
        return self.rng.random() < chance

    def one_of(self, some):
        return some[self.rng.integers(len(some))]


def random_model(seed):
    """A model of 6 to 14 parts with what connects them."""
    draw, model = Draw(seed), da.Model(f"random assembly {seed}")
    parameters = model.parameters(m=1.5, k=2.0, l=0.5, w=0.7)
    if draw.maybe(0.8):
        model.gravity([0, 0, -9.81] if draw.maybe() else [draw.number(), -parameters[3] * 9, 0])
    part = draw.one_of((_bodies, _planar_bodies, _particles, _particles, _quasi))
    part(model, draw, parameters)
    if draw.maybe(0.3):
        draw.one_of((_particles, _quasi))(model, draw, parameters, name="more")
    return model


def _bodies(model, draw, parameters, name="B"):
    m, k, l, w = parameters
    before, some = model.ground, []
    for i in range(draw.rng.integers(4, 9)):
        mass = m if draw.maybe(0.3) else draw.positive()
        body = model.body(f"{name}{i}", mass=mass, inertia=[draw.positive() + 1.0, 2.0, 2.0])
        ends = [model.marker(b, draw.place(), axis=[draw.number(), 0.3, 1.0]) for b in (before, body)]
        getattr(model.joints, draw.one_of(IN_SPACE))(f"{name}J{i}", *ends)
        some.append((body, ends))
        before = body if draw.maybe(0.7) else model.ground
    for i, (body, ends) in enumerate(some):
        other = draw.one_of(some)[1]
        if draw.maybe(0.4) and other is not ends:
            model.elements.spring(f"{name}S{i}", ends[1], other[1], stiffness=k * draw.positive(), length=l)
        if draw.maybe(0.3) and other is not ends:
            model.elements.damper(f"{name}D{i}", ends[1], other[1], coefficient=draw.positive())
        if draw.maybe(0.3):
            model.force([draw.number(), k * sp.sin(w * model.t), l], at=body if draw.maybe() else ends[1])
        if draw.maybe(0.2):
            model.torque([0, draw.number(), m], on=body)


def _planar_bodies(model, draw, parameters, name="P"):
    _, k, l, w = parameters
    before = model.ground
    for i in range(draw.rng.integers(4, 9)):
        x, y, a = q = model.coordinates(f"{name}x{i} {name}y{i} {name}a{i}")
        body = model.body(f"{name}{i}", mass=draw.positive(), inertia=draw.positive(), position=[x, y], rotation=a)
        joint, places = draw.one_of(IN_THE_PLANE), ([draw.number(), draw.number()], [l, draw.number()])
        along = {"axis": [1.0, draw.number()]} if joint == "prismatic" else {}
        ends = [model.marker(b, place, **along) for b, place in zip((before, body), places, strict=True)]
        getattr(model.joints, joint)(f"{name}J{i}", *ends)
        if draw.maybe():
            model.generalized_force({a: -k * draw.positive() * a, x: -draw.positive() * x.diff()})
        if draw.maybe(0.3):
            model.constrain(q[2] - w * draw.positive() * model.t**2, name=f"{name}drive{i}")
        before = body


def _particles(model, draw, parameters, name="K"):
    m, k, l, _ = parameters
    before = None
    for i in range(draw.rng.integers(5, 12)):
        x, y = q = model.coordinates(f"{name}x{i} {name}y{i}")
        mass = m if draw.maybe(0.3) else draw.positive()
        if draw.maybe():
            model.particle(f"{name}{i}", mass=mass, position=[x, y])
        else:
            kinetic = mass * (x.diff() ** 2 + y.diff() ** 2) / 2
            model.energy(kinetic=kinetic, potential=k * draw.positive() * x**2 / 2 + draw.number() * y**3)
        if before is not None:
            gap = (x - before[0]) ** 2 + (y - before[1]) ** 2
            if draw.maybe(0.6):
                model.constrain(gap - draw.positive() ** 2 * l, name=f"{name}rod{i}")
            else:
                model.energy(potential=k / 2 * (sp.sqrt(gap) - draw.positive()) ** 2 if draw.maybe(0.3) else gap**2)
        if draw.maybe(0.2):
            model.constrain(x.diff() * sp.cos(y) - draw.positive() * y.diff(), name=f"{name}skate{i}")
        if draw.maybe(0.2):
            model.generalized_force({y: -draw.number() * sp.tanh(draw.positive() * y.diff())})
        before = q


def _quasi(model, draw, parameters, name="C"):
    """Carts that turn: speeds that are no rates, with numbers and a parameter in the kinematics."""
    m, _, l, w = parameters
    before = None
    for i in range(draw.rng.integers(4, 9)):
        x, y, a = model.coordinates(f"{name}x{i} {name}y{i} {name}a{i}")
        v, r = (sp.Function(f"{name}{letter}{i}")(model.t) for letter in "vr")
        c = draw.positive()
        model.speeds([v, r], kinematics={x: c * v * sp.cos(a), y: c * v * sp.sin(a), a: w * r})
        model.particle(f"{name}{i}", mass=draw.positive(), position=[x + l * sp.cos(a), y + l * sp.sin(a)])
        model.energy(potential=m * draw.positive() * sp.cos(a) + x**2)
        model.generalized_force({v: draw.number(), r: -c * r})
        if before is not None and draw.maybe():
            model.constrain((x - before[0]) ** 2 + (y - before[1]) ** 2 - 1, name=f"{name}rod{i}")
        before = x, y

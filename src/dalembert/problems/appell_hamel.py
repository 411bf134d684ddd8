"""Appell-Hamel mechanism: example 1 of Bajodah, Hodges and Chen, with nonlinear and with linear rolling constraints.

A frame on smooth legs keeps a wheel W (radius a, mass M, moment of inertia I about every axis) upright; theta is its
heading, phi its roll. A thread runs from a drum of radius b on the wheel over two pulleys to a weight P = (x, y, z) of
mass m, which slides on a vertical bar a distance rho ahead of the wheel's centre o = (x - rho cos(theta),
y - rho sin(theta), a). Speeds are the rates (u1..u5) of (theta, phi, x, y, z).

    nonlinear   (x' + rho theta' sin(theta))^2 + (y' - rho theta' cos(theta))^2 = a^2 phi'^2     (57)
                x' sin(theta) - y' cos(theta) + rho theta' = 0                                   (58)
    linear      a phi' cos(theta) - x' - rho theta' sin(theta) = 0                               (101)
                a phi' sin(theta) - y' + rho theta' cos(theta) = 0                               (102)
    both        z = z0 - b phi                                                                   (59)

The paper does not say what I is; 1.0 is used. Misprints: in (92) I u' means I u2'; (13) has u'' and u' where u' and u
stand; (103) has M g a/2 where M g a is meant, a constant without effect.
"""

from __future__ import annotations

from typing import Any

from sympy import cos, sin

from dalembert.model.model import Model
from dalembert.problems.problem import Problem
from dalembert.problems.wheel import wheel_rim, wheel_rotation

SOURCE = "Bajodah, Hodges, Chen: nonminimal Kane's equations with nonlinear nonholonomic constraints, example 1"
GIVEN = {"theta": 0.0, "phi": 0.0, "x": 0.0, "y": 0.0, "u1": 1.0, "u2": 1.0}
GUESS = {"z": 30.0, "u3": 1.0, "u4": 5.0, "u5": -0.5}


def build_nonlinear() -> Model:
    """Wheel, weight and thread, with (57) and (58)."""
    model, u, a, rho, theta = _mechanism("Appell-Hamel, nonlinear constraints")
    along = (u[2] + rho * u[0] * sin(theta)) ** 2 + (u[3] - rho * u[0] * cos(theta)) ** 2
    model.constrain(along - a**2 * u[1] ** 2, name="rolling")
    model.constrain(u[2] * sin(theta) - u[3] * cos(theta) + rho * u[0], name="skidding")
    return model


def build_linear() -> Model:
    """Wheel, weight and thread, with (101) and (102)."""
    model, u, a, rho, theta = _mechanism("Appell-Hamel, linear constraints")
    model.constrain(a * u[1] * cos(theta) - u[2] - rho * u[0] * sin(theta), name="no_slip_x")
    model.constrain(a * u[1] * sin(theta) - u[3] + rho * u[0] * cos(theta), name="no_slip_y")
    return model


def _mechanism(name: str) -> tuple[Model, tuple[Any, ...], Any, Any, Any]:
    """The mechanism without its rolling constraints: model, speeds, a, rho, theta."""
    model = Model(name)
    theta, phi, x, y, z = model.coordinates("theta phi x y z")
    u = model.speeds("u1 u2 u3 u4 u5")
    a, b, rho, m = model.parameters(a=1.0, b=0.5, rho=5.0, m=1.0)
    M, inertia, g, z0 = model.parameters(M=5.0, I=1.0, g=9.81, z0=30.0)
    centre = [x - rho * cos(theta), y - rho * sin(theta), a]
    attitude = wheel_rotation(theta, phi)
    weight = model.particle("P", mass=m, position=[x, y, z])
    wheel = model.body("W", mass=M, inertia=[inertia] * 3, position=centre, rotation=attitude)
    model.gravity([0, 0, -g])
    model.constrain(z + b * phi - z0, name="thread")
    top = z0 + a
    model.line(wheel_rim(centre, attitude, a), name="rim")
    model.line([[x, y, 0], [x, y, top]], name="bar")
    model.line([wheel, [centre[0], centre[1], top], [x, y, top], weight], name="line")
    return model, u, a, rho, theta


NONLINEAR = Problem(
    name="appell_hamel",
    title="Appell-Hamel mechanism with a rolling constraint nonlinear in the velocities",
    source=SOURCE,
    build=build_nonlinear,
    given=GIVEN,
    guess=GUESS,
    t_end=10.0,
    note="A constraint quadratic in the velocities gives the same motion as the two linear ones of rolling.",
)
LINEAR = Problem(
    name="appell_hamel_linear",
    title="Appell-Hamel mechanism with linear rolling constraints",
    source=SOURCE,
    build=build_linear,
    given=GIVEN,
    guess=GUESS,
    t_end=10.0,
    note="Compare with `appell_hamel`: other constraints and other multipliers, one motion.",
)

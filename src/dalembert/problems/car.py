"""Car in a circular manoeuvre, with the steering moment as an unknown: the second example of Dinh Van Phong.

Mass centre (x, y), heading phi, steering angle theta of a massless front axle with moment of inertia I. The rear wheels
roll a distance b behind the mass centre, the front wheels a distance a ahead of it; L = a + b.

    rear      -x' sin(phi) + y' cos(phi) - b phi' = 0                                                        (3.7)
    front     -x' sin(phi + theta) + y' cos(phi + theta) + a phi' cos(theta) = 0                             (3.8)
    path      p = x^2 + (y - R)^2 - R^2 = 0                                                                  (3.9)

The driving force F0 - k1 v^2 acts along the car, the moment -k2 phi'^2 on its body, and the unknown Md between body and
front axle. Eliminating the reactions of the wheels with D (A D = 0) gives (3.10) and (3.11), I (phi'' + theta'') = Md.

The paper's count n_p = 3 with x, phi, theta free (3.12, 3.13) cannot be: theta' is in none of the three equations that
are to determine it, (3.7), (3.8) and (3.14), and these are homogeneous in x', y', phi', so that a car that moves needs
a vanishing determinant. That is a hidden position constraint: the mass centre must head along the circle,

    h = (x (L cos(theta) cos(phi) - b sin(theta) sin(phi)) + (y - R) (L cos(theta) sin(phi) + b sin(theta) cos(phi)))/L,

p' = 2 V h/cos(theta) with V the speed along the car. Md acts on h'', but not on p''. So the path (3.9) is a condition
without a reaction here, which h = 0 keeps once it holds, and h is what Md enforces. Of the four coordinates two can be
chosen and of the rates one: n_p = 2, n_v = 1. The printed start, x = 1, phi = theta = 0.1, is refused by name.

On the circle the slip angle beta, tan(beta) = (b/L) tan(theta), follows from the arc s alone,

    d beta/ds = 1/R - sin(beta)/b,

so steering settles at sin(beta) = b/R, and then (m0 + (I0 + I)/R^2) v' = F0 cos(beta) - (k1 cos(beta) + k2/R^3) v^2.
The manoeuvre starts from straight driving, phi = theta = 0, and goes once round.

Misprints: (3.7) has +b phi' in the paper, which contradicts (3.10); the sentence after (3.8) exchanges front and rear;
(3.16) and (3.17) are garbled. No data are given; those here are of a small car.
"""

from __future__ import annotations

import numpy as np
from sympy import cos, sin

from dalembert.model.model import Model
from dalembert.problems.problem import Problem

RADIUS, SPEED = 20.0, 10.0


def build() -> Model:
    """Mass centre, heading and steering angle with their rates vx, vy, w, steering; unknown Md."""
    model = Model("car")
    x, y, phi, theta = model.coordinates("x y phi theta")
    vx, vy, w, _ = model.speeds("vx vy w steering")
    a, b, R = model.parameters(a=1.2, b=1.3, R=RADIUS)
    m0, I0, inertia = model.parameters(m0=1200.0, I0=1800.0, I=30.0)
    F0, k1, k2 = model.parameters(F0=600.0, k1=5.0, k2=100.0)
    (Md,) = model.unknowns("Md")
    L, c, s = a + b, cos(phi), sin(phi)
    front, rear = [x + a * c, y + a * s], [x - b * c, y - b * s]
    body = model.body("body", mass=m0, inertia=I0, position=[x, y], rotation=phi)
    model.body("axle", mass=0, inertia=inertia, position=front, rotation=phi + theta)
    drive = F0 - k1 * (vx**2 + vy**2)
    model.force([drive * c, drive * s], at=body)
    model.torque(-k2 * w**2, on=body)
    model.generalized_force({theta: Md})
    model.constrain(-vx * s + vy * c - b * w, name="rear")
    model.constrain(-vx * sin(phi + theta) + vy * cos(phi + theta) + a * cos(theta) * w, name="front")
    # The mass centre must head along the circle, or the car could not move; the path itself follows.
    along = x * (L * cos(theta) * c - b * sin(theta) * s) + (y - R) * (L * cos(theta) * s + b * sin(theta) * c)
    model.condition(x**2 + (y - R) ** 2 - R**2, name="path", unit="m^2")
    model.constrain(along / L, name="heading", servo=Md, unit="m")
    model.line([rear, front], name="chassis")
    wheel = [cos(phi + theta) / 3, sin(phi + theta) / 3]
    model.line([[front[0] - wheel[0], front[1] - wheel[1]], [front[0] + wheel[0], front[1] + wheel[1]]], name="wheel")
    places = [2 * np.pi * k / 60 for k in range(61)]
    model.line([[R * float(np.sin(k)), R - R * float(np.cos(k))] for k in places], name="circle")
    return model


PROBLEM = Problem(
    name="car",
    title="car driven once round a circle by an unknown steering moment",
    source="Dinh Van Phong, Numerical solution for consistent initial conditions of constrained mechanical systems, "
    "Vietnam J. Mech., section 3.2",
    build=build,
    given={"x": 0.0, "phi": 0.0, "vx": SPEED},
    guess={"y": 0.0, "theta": 0.0},
    t_end=12.5,
    note="The steering moment follows from the path: large while it turns in, next to nothing once it rolls round.",
)

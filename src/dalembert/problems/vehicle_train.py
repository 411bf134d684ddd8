"""A tractor and n wagons on a circle: nonholonomic rows, one wheel axle per vehicle.

Vehicle k is a body at its axle, with heading h_k; its wheels do not slip sideways. Couplings are a distance D ahead of
and behind the axles, so a train on a circle stays on it: by Pythagoras, twice, all axles are as far from its centre.
The tractor's steering is locked: it turns by 1/R of the way it goes. One degree of freedom is left.

On the circle of radius R all turn about its centre at one rate and are 2 atan(D/R) apart. No force does work, so the
rate stays. Off it, with v_k the speed along vehicle k and d = h_(k-1) - h_k,

    D h_k' = v_(k-1) sin d - D h_(k-1)' cos d,   v_k = v_(k-1) cos d + D h_(k-1)' sin d,

and the speed of the tractor follows from the kinetic energy.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from sympy import cos, sin

from dalembert.model.model import Model
from dalembert.model.vectors import ORIGIN
from dalembert.problems.problem import Problem

COUPLING_DISTANCE, MASS, INERTIA, RADIUS, SPEED = 2.0, 1000.0, 800.0, 20.0, 5.0


def radius_of(n: int) -> float:
    """The radius of the circle: a long train takes half of it."""
    return float(max(RADIUS, 2 * COUPLING_DISTANCE * n / np.pi))


def vehicle_train(n: int) -> Problem:
    """The tractor and `n` wagons, all on the circle."""
    return Problem(
        name=f"vehicle_train_{n}",
        title=f"tractor and {n} wagons on a circle",
        source="our own example of a general n-trailer, as in C. Altafini, Int. J. Control 74 (2001) 409-424",
        build=partial(build, n),
        given={"car0_x": 0.0, "car0_y": 0.0, "car0_a": 0.0, "car0_vx": SPEED},
        guess={name: float(values[0]) for name, values in exact(n, np.zeros(1)).items()},
        t_end=4.0,
        exact=partial(exact, n),
        tolerance=1e-7,
        note="Wagons follow the circle of the tractor, as their axles are midway between their couplings.",
    )


def build(n: int) -> Model:
    """Bodies `car0` (the tractor) .. `car{n}` with x ahead; rows `wheels{k}`, `coupling{k}` and `steering`."""
    model = Model(f"train of {n} wagons")
    R, D, m, inertia = model.parameters(R=radius_of(n), D=COUPLING_DISTANCE, m=MASS, I=INERTIA)
    last = None
    for k in range(n + 1):
        car = model.body(f"car{k}", mass=m, inertia=inertia)
        (x, y, _), heading = car.position or ORIGIN, car.rotation[0]
        vx, vy = x.diff(model.t), y.diff(model.t)
        model.constrain(vy * cos(heading) - vx * sin(heading), name=f"wheels{k}")
        if last is None:
            model.constrain(vx * cos(heading) + vy * sin(heading) - R * heading.diff(model.t), name="steering")
        else:
            model.joints.revolute(f"coupling{k}", model.marker(last, [-D, 0]), model.marker(car, [D, 0]))
        model.line([model.marker(car, [-D, 0]), model.marker(car, [D, 0])], name=f"car{k}")
        last = car
    return model


def exact(n: int, t: np.ndarray) -> dict[str, np.ndarray]:
    """Places, headings and speeds of all vehicles, (nt,) each, at times (nt,)."""
    R, values = radius_of(n), dict[str, np.ndarray]()
    rate = SPEED / R
    for k in range(n + 1):
        a = rate * np.asarray(t, dtype=float) - 2 * k * np.arctan2(COUPLING_DISTANCE, R)
        values |= {f"car{k}_x": R * np.sin(a), f"car{k}_y": R - R * np.cos(a), f"car{k}_a": a}
        values |= {f"car{k}_vx": SPEED * np.cos(a), f"car{k}_vy": SPEED * np.sin(a), f"car{k}_w": rate + 0 * a}
    return values

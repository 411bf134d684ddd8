"""Random models of every class of constraint, each with a consistent state in no special position."""

import numpy as np
import sympy as sp

import dalembert as da


def _forces(model, rng, coordinates, speeds):
    """Smooth forces that couple everything, with numbers of no special value."""
    k = rng.uniform(0.5, 2.0, (len(coordinates), 3))
    model.generalized_force(
        {
            q: -k[i, 0] * sp.sin(q) - k[i, 1] * v * (1 + coordinates[i - 1] ** 2) + k[i, 2] * sp.cos(speeds[i - 1])
            for i, (q, v) in enumerate(zip(coordinates, speeds, strict=True))
        }
    )


def _particles(rng, name, count=2):
    model = da.Model(name)
    names = [f"{axis}{k}" for k in range(count) for axis in "xy"]
    q = model.coordinates(" ".join(names))
    u = model.speeds(" ".join(f"v{n}" for n in names))
    for k in range(count):
        model.particle(f"P{k}", mass=float(rng.uniform(0.5, 2.0)), position=list(q[2 * k : 2 * k + 2]))
    _forces(model, rng, q, u)
    return model, q, u


def position(rng):
    model, q, _ = _particles(rng, "position")
    model.constrain((q[0] - q[2]) ** 2 + (q[1] - q[3]) ** 2 - 2.0, name="rod")
    return model


def redundant(rng):
    model, q, _ = _particles(rng, "redundant")
    rod = (q[0] - q[2]) ** 2 + (q[1] - q[3]) ** 2 - 2.0
    curve = q[1] - sp.sin(q[0])
    model.constrain([rod, curve, 2 * rod - 3 * curve * (1 + q[3] ** 2)], name="rows")
    return model


def rheonomic(rng):
    model, q, _ = _particles(rng, "rheonomic")
    model.constrain((q[0] - q[2]) ** 2 + (q[1] - q[3]) ** 2 - 2.0 - sp.sin(3 * model.t) / 2, name="breathing")
    model.constrain(q[1] - q[0] * sp.cos(model.t), name="turning")
    return model


def velocity(rng):
    model, q, u = _particles(rng, "velocity")
    model.constrain(u[0] * sp.sin(q[3]) - u[1] * sp.cos(q[2]) + u[2] / 3, name="skate")
    model.constrain(u[3] - q[0] * u[2] - sp.Rational(1, 4), name="acatastatic")
    return model


def nonlinear_velocity(rng):
    model, q, u = _particles(rng, "nonlinear velocity")
    model.constrain(u[0] ** 2 + u[1] ** 2 - (1 + q[2] ** 2) * (1 + u[2] ** 2), name="rolling")
    return model


def mixed(rng):
    model, q, u = _particles(rng, "mixed", 3)
    model.constrain((q[0] - q[2]) ** 2 + (q[1] - q[3]) ** 2 - 2.0, name="rod")
    model.constrain(u[4] * sp.sin(q[0]) - u[5] * sp.cos(q[0]) + u[1], name="skate")
    model.constrain(u[2] ** 2 + u[3] ** 2 - 1 - u[0] ** 2 / 4, name="pace")
    return model


def servo(rng):
    model, q, u = _particles(rng, "servo")
    (F,) = model.unknowns("F")
    model.generalized_force({q[0]: F * sp.cos(q[1]), q[3]: F / 2})
    model.constrain(q[0] - sp.sin(q[2]) / 2 - sp.cos(model.t), servo=F, name="track")
    model.constrain(u[1] - u[3] * q[2], name="skate")
    return model


def friction(rng):
    model, q, _ = _particles(rng, "friction", 1)
    track = model.constrain(q[1] - sp.sin(q[0]) - q[0] ** 2 / 3, name="track")
    model.nonideal(track, friction=0.3, at=model.statement.particles[0], regularisation=1e-2)
    model.nonideal(force={q[0]: -q[0] / 5})
    return model


def acceleration(rng):
    model, q, u = _particles(rng, "acceleration")
    model.constrain(u[0].diff() * (1 + q[1] ** 2) + u[2].diff() - sp.sin(u[3]), name="pushed")
    return model


def curved_acceleration(rng):
    model, q, u = _particles(rng, "curved acceleration")
    model.constrain(u[0].diff() ** 3 + 2 * u[0].diff() + u[2].diff() - sp.sin(q[3]) * u[1], name="curved")
    return model


def quasi_speeds(rng):
    model = da.Model("quasi-speeds")
    x, y, _, s = q = model.coordinates("x y a s")
    u = _, w, r, n = _quasi(model, q)
    model.particle("P", mass=float(rng.uniform(0.5, 2.0)), position=[x, y])
    model.energy(kinetic=0.3 * r**2 + 0.2 * n**2 + 0.1 * r * n)
    _forces(model, rng, q, u)
    model.constrain(w - n * sp.cos(s) / 2, name="skate")
    return model


def _quasi(model, q):
    x, y, a, s = q
    v, w, r, n = sp.symbols("v w r n", cls=sp.Function)
    v, w, r, n = (f(model.t) for f in (v, w, r, n))
    rates = {x: v * sp.cos(a) - w * sp.sin(a), y: v * sp.sin(a) + w * sp.cos(a), a: r, s: n + r * sp.sin(s)}
    return model.speeds("v w r n", kinematics=rates)


def quaternion(rng):
    model = da.Model("quaternion")
    body = model.body("B", mass=float(rng.uniform(1.0, 2.0)), inertia=[0.4, 0.5, 0.7])
    model.gravity([0.3, -0.2, -9.81])
    model.joints.spherical("pin", model.ground, model.marker(body, [0.2, 0.3, 0.5]))
    return model


CLASSES = (
    position, redundant, rheonomic, velocity, nonlinear_velocity, mixed, servo, friction, acceleration,
    curved_acceleration, quasi_speeds, quaternion,
)  # fmt: skip


def random_state(system, rng):
    """A consistent state near a random guess, at t = 0.4."""
    guess = dict(zip(system.coordinates, rng.uniform(0.3, 1.2, system.nq), strict=True))
    guess |= dict(zip(system.speeds, rng.uniform(0.5, 1.5, system.nu), strict=True))
    return system.initial({}, guess=guess, t0=0.4)


def accelerations_near(system, state, names, values):
    """(q', u') of the named states when these have other values, at the same time, constraints met by the others."""
    near = system.initial(dict(zip(names, values, strict=True)), guess=state, t0=state.t)
    return np.array([near[f"{name}'"] for name in names]), near

"""What the rest of a system must exert on each particle and body, by Newton's and Euler's laws."""

from __future__ import annotations

import casadi as ca
import sympy as sp

from dalembert.equations.derive import Derivation
from dalembert.model.markers import Marker
from dalembert.model.statement import Body, Particle, Point


def derive_loads(derivation: Derivation) -> ca.SX:
    """m a - m g - applied forces (3 each) of particles, then of bodies, then the torques (3 each) of bodies.

    In terms of (t, q, u, u', y). Torques are about mass centres and in inertial axes, I w' + w x I w minus the applied
    ones; in the axes of the angular velocity where no rotation was stated. Forces and torques applied to the particle
    or body itself are taken off; what was stated otherwise (forces elsewhere, generalised forces, energies) cannot be
    told apart and stays in.
    """
    st = derivation.statement
    gravity = derivation.low.vector(st.gravity)
    carriers: list[Particle | Body] = [*(p for p in st.particles if not p.part), *st.bodies]
    forces = [_force(derivation, item, gravity) for item in carriers]
    return ca.vertcat(ca.SX(0, 1), *forces, *[_torque(derivation, body) for body in st.bodies])


def _force(derivation: Derivation, item: Particle | Body, gravity: ca.SX) -> ca.SX:
    low = derivation.low
    acceleration = derivation.kinematics.total_rate(derivation.velocity(item))
    force = low(item.mass) * (acceleration - gravity)
    for applied in derivation.statement.forces:
        if _acts_on(applied.at, item):
            force -= low.vector(applied.vector)
    return force


def _torque(derivation: Derivation, body: Body) -> ca.SX:
    low, w = derivation.low, derivation.angular_velocity(body)
    J = low.matrix(sp.diag(0, 0, *body.inertia) if len(body.inertia) == 1 else sp.Matrix(3, 3, body.inertia))
    turn = derivation.axes_angular_velocity(body)
    rate = ca.mtimes(J, derivation.kinematics.total_rate(w)) + ca.cross(turn, ca.mtimes(J, w))
    torque = ca.mtimes(derivation.attitude(body), rate)
    for applied in derivation.statement.torques:
        if applied.on is body:
            torque -= low.vector(applied.vector)
    for force in derivation.statement.forces:
        if isinstance(force.at, Marker) and force.at.body is body:
            arm = ca.mtimes(derivation.attitude(body), low.vector(force.at.place))
            torque -= ca.cross(arm, low.vector(force.vector))
    return torque


def _acts_on(point: Point, item: Particle | Body) -> bool:
    """Whether a point is the item itself or a marker on it."""
    return point is item or (isinstance(point, Marker) and point.body is item)

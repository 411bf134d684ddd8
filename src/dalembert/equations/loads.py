"""Loads that the rest of a system must exert on each particle and body, by Newton's and Euler's laws."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from dalembert.equations.derive import Derivation
from dalembert.model.markers import Marker
from dalembert.model.statement import Body, Particle


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
    moving = ca.vertcat(derivation.points.velocities(carriers), derivation.turning.angular_velocities(st.bodies))
    # One sweep for all: one for each body would make all of them quadratic.
    rates = ca.vertsplit(derivation.kinematics.total_rate(moving), 3)
    pushes = _by_owner(derivation)
    forces = [
        derivation.low(item.mass) * (rate - gravity) - sum((push for push, _ in pushes.get(id(item), ())), ca.SX(3, 1))
        for item, rate in zip(carriers, rates[: len(carriers)], strict=True)
    ]
    torques = [
        _torque(derivation, body, rate, pushes.get(id(body), ()))
        for body, rate in zip(st.bodies, rates[len(carriers) :], strict=True)
    ]
    return ca.vertcat(ca.SX(0, 1), *forces, *torques)


Push = tuple[ca.SX, ca.SX | None]  # a force (3, 1) and its place in body axes (3, 1), None at a mass centre


def _by_owner(derivation: Derivation) -> dict[int, list[Push]]:
    """Forces at particles and bodies themselves or at markers on them, by identity of the particle or body."""
    low, pushes = derivation.low, dict[int, list[Push]]()
    for force in derivation.statement.forces:
        place = low.vector(force.at.place) if isinstance(force.at, Marker) else None
        owner = force.at.body if isinstance(force.at, Marker) else force.at
        pushes.setdefault(id(owner), []).append((low.vector(force.vector), place))
    return pushes


def _torque(derivation: Derivation, body: Body, rate: ca.SX, pushes: Sequence[Push]) -> ca.SX:
    """The torque on a body whose angular velocity changes at this rate (3, 1)."""
    low, w = derivation.low, derivation.turning.angular_velocity(body)
    J = derivation.inertias([body])
    turn, R = derivation.axes_angular_velocity(body), derivation.turning.attitude(body)
    torque = ca.mtimes(R, ca.mtimes(J, rate) + ca.cross(turn, ca.mtimes(J, w)))
    for applied in derivation.statement.torques:
        if applied.on is body:
            torque -= low.vector(applied.vector)
    for push, place in pushes:
        if place is not None:
            torque -= ca.cross(ca.mtimes(R, place), push)
    return torque

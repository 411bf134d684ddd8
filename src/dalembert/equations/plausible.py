"""Whether bodies can exist as stated: inertias that a mass distribution can have, velocities that fit the positions."""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.equations.derive import Constraints, Derivation
from dalembert.equations.probe import Probe
from dalembert.model.statement import Attitude, Body, Particle

TOLERANCE = 1e-9


def check_inertias(derivation: Derivation, probe: Probe) -> list[str]:
    """Masses and inertias, with the parameters' defaults: not negative, and no moment above the sum of the others.

    One moment alone, beside two zeros, is how planar bodies are stated in space, and passes.
    """
    st, low = derivation.statement, derivation.low
    faults = []
    carriers: list[Particle | Body] = [*st.particles, *st.bodies]
    masses = probe(ca.vertcat(ca.SX(0, 1), *[low(item.mass) for item in carriers]))[0]
    faults += [
        f"mass of `{item.name}` is {mass:g}; it must not be negative"
        for item, mass in zip(carriers, masses, strict=True)
        if mass < 0.0
    ]
    sizes = [len(body.inertia) for body in st.bodies]
    entries = probe(ca.vertcat(ca.SX(0, 1), *[low.vector(body.inertia) for body in st.bodies]))[0]
    parts = np.split(entries, np.cumsum(sizes)[:-1]) if sizes else []
    for body, part in zip(st.bodies, parts, strict=True):
        values = part.reshape((1, 1) if part.size == 1 else (3, 3))
        if not np.isfinite(values).all():
            continue
        moments = np.linalg.eigvalsh((values + values.T) / 2)
        scale = max(float(np.abs(moments).max()), np.finfo(float).tiny)
        if moments[0] < -TOLERANCE * scale:
            faults.append(
                f"inertia of body `{body.name}` has the principal moment {moments[0]:g}; none can be negative"
            )
        elif len(moments) == 3 and moments[1] > 0.0 and moments[2] > (moments[0] + moments[1]) * (1 + TOLERANCE):
            shown = ", ".join(f"{m:g}" for m in moments)
            faults.append(
                f"inertia of body `{body.name}` has principal moments {shown}: no body has one above the sum of the "
                "other two"
            )
    return faults


def check_velocities(derivation: Derivation, constraints: Constraints, probe: Probe) -> list[str]:
    """Velocities stated beside positions, and angular velocities beside rotations, must be their rates.

    They may differ by what the constraints forbid, as in Kane's method with a contact point that is given no velocity.
    """
    st, kinematics = derivation.statement, derivation.kinematics
    pairs = [
        (f"velocity of `{item.name}`", derivation.velocity(item), kinematics.rate(derivation.position(item)))
        for item in (*st.particles, *st.bodies)
        if item.velocity is not None and item.position is not None
    ]
    pairs += [
        (f"angular velocity of body `{b.name}`", derivation.angular_velocity(b), derivation.turning_rate(b))
        for b in st.bodies
        if b.angular_velocity is not None and b.attitude is not Attitude.NONE
    ]
    u = kinematics.symbols.u
    A = ca.jacobian(constraints.psi, u)
    faults = []
    for label, stated, rate in pairs:
        gap = ca.jacobian(stated - rate, u)
        off = max(_outside(*values) for values in zip(probe(gap), probe(A), [u.shape[0]] * 3, strict=True))
        if off > 1e-8:
            faults.append(
                f"{label} is not the rate of what was stated beside it: partial velocities differ by {off:.3g}; "
                "leave one of them out"
            )
    return faults


def _outside(gap: np.ndarray, A: np.ndarray, nu: int) -> float:
    """How far the rows of a difference of partial velocities stick out of the rows of A (both column by column)."""
    D, rows = gap.reshape(nu, -1).T, A.reshape(nu, -1).T
    if not (np.isfinite(D).all() and np.isfinite(rows).all()):
        return 0.0
    if rows.size:
        D = D - np.linalg.lstsq(rows.T, D.T, rcond=1e-10)[0].T @ rows
    return float(np.abs(D).max(initial=0.0))

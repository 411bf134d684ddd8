"""Unknowns without inertia that do not simply push: in the mass matrix, or nonlinearly in the forces.

Dinh Van Phong, eq. (2.46): A(q, p) q'' = h(q, p, t). With p* the starts of such unknowns the balance is written

    M(p*) u' = f(p*) + B y + E,     E = f(p) - f(p*) - (M(p) - M(p*)) u',

so that M and f are known from the state, and E, a force of the unknowns, is solved for together with u' and la.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from dalembert.equations.derive import Dynamics
from dalembert.equations.mechanics import Mechanics
from dalembert.equations.symbols import Symbols
from dalembert.errors import PairingError


def split_unknowns(d: Dynamics, s: Symbols, starts: Sequence[float]) -> None:
    """Take the unknowns out of M and f: B (nu, ny) for those that act linearly, E (nu, 1) for the others."""
    ny = s.y.shape[0]
    if not ny:
        return
    B = ca.jacobian(d.f, s.y)
    bent = [j for j in range(ny) if _is_bent(d, B[:, j], s.y[j], s.y)]
    known = ca.SX([starts[j] if j in bent else 0.0 for j in range(ny)])
    names = ("M", "inertial", "conservative", "applied", "kinetic", "potential")
    M, f = d.M, ca.substitute(d.f, _others(s.y, bent), ca.SX.zeros(ny - len(bent)))
    for name, graph in zip(names, ca.substitute([getattr(d, n) for n in names], [s.y], [known]), strict=True):
        setattr(d, name, graph)
    if bent:
        B[:, bent] = 0
        d.E = ca.sparsify(f - d.f - ca.mtimes(M - d.M, s.ud))
    d.B = ca.sparsify(B)


def check_known_mass(name: str, mechanics: Mechanics, what: str) -> None:
    """Raise `PairingError` if the mass matrix, which `what` needs, depends on unknowns."""
    if ca.depends_on(mechanics.E, mechanics.udot):
        raise PairingError(
            f"{what} of `{name}` needs its mass matrix, and that depends on unknowns, which only accelerations "
            "determine; state masses in coordinates and parameters"
        )


def _is_bent(d: Dynamics, column: ca.SX, unknown: ca.SX, unknowns: ca.SX) -> bool:
    """True if an unknown occurs in M, or acts in a way that depends on unknowns."""
    return bool(ca.depends_on(column, unknowns) or ca.depends_on(d.M, unknown))


def _others(y: ca.SX, bent: Sequence[int]) -> ca.SX:
    """The unknowns that act linearly, in a column."""
    return ca.vertcat(ca.SX(0, 1), *[y[j] for j in range(y.shape[0]) if j not in bent])

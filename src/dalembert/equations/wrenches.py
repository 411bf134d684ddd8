"""Wrenches of joints on their second bodies, from the multipliers of their rows."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca

from dalembert.equations.derive import Derivation
from dalembert.equations.functions import function_of
from dalembert.equations.laws import Row

STATED = frozenset({"point on surface"})  # kinds of joints whose forces follow from the user's expressions


def derive_wrenches(
    derivation: Derivation, rows: tuple[Row, ...], la: ca.SX
) -> ca.Function | Callable[[], ca.Function]:
    """A function of (x, la): force (3) and torque (3) of each joint on its second body, at its marker.

    It is made when first asked for, unless a joint may hold what has no native code.
    """
    place = {row.name: k for k, row in enumerate(rows)}
    joints, x = derivation.statement.joints, ca.vertcat(derivation.symbols.x, la)

    def make() -> ca.Function:
        columns = [ca.SX(0, 1)]
        for joint in joints:
            for pushes in (joint.forces, joint.torques):
                total = ca.SX(3, 1)
                for row, push in zip(joint.rows, pushes, strict=True):
                    if row in place:  # else the kinematics keep it by themselves, without a reaction
                        total += derivation.low.vector(push) * la[place[row]]
                columns.append(total)
        return function_of("joints", x, columns)

    return make() if any(joint.kind in STATED for joint in joints) else make

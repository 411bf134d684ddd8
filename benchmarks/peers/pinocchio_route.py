"""Pinocchio's constraintDynamics, closed loops as 3D point constraints, under SciPy's DOP853."""

from __future__ import annotations

from math import cos, sin, sqrt

import numpy as np
from benchmarks.peers.cases import Case
from benchmarks.peers.hand_written import dop853
from benchmarks.peers.route import PYTHON, CannotStateError, Route, Solver
from benchmarks.peers.tree import WORLD, Spring, Tree, tree_of


def _prepare(case: Case) -> Solver:
    import pinocchio as pin

    tree = tree_of(case)
    if tree.massless:
        raise CannotStateError("the massless third link makes the mass matrix of the tree singular")
    model = _model(pin, tree)
    data = model.createData()
    constraints = pin.StdVec_RigidConstraintModel()
    for c in tree.closures:
        places = [pin.SE3(np.eye(3), np.array([*point, 0.0])) for point in (c.point, c.other_point)]
        pair = (c.body + 1, places[0], 0 if c.other == WORLD else c.other + 1, places[1])
        constraints.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, *pair, pin.ReferenceFrame.LOCAL))
    datas = pin.StdVec_RigidConstraintData()
    for constraint in constraints:
        datas.append(constraint.createData())
    pin.initConstraintDynamics(model, data, constraints, datas)
    # The third row of a planar loop is empty: the proximal solver needs a little regularisation and few iterations.
    settings = pin.ProximalSettings(1e-14, 1e-12, 20)
    order, n = list(tree.columns), len(tree.bodies)
    torque = np.zeros(n)
    torque[0] = tree.torque
    out = np.empty(2 * n)

    def rates(_t: float, z: np.ndarray) -> np.ndarray:
        q, u = z[:n][order], z[n:][order]
        for spring in tree.springs:
            torque[spring.body] = _moment(spring, tree, q)
        out[:n] = z[n:]
        out[n:][order] = pin.constraintDynamics(model, data, q, u, torque, constraints, datas, settings)
        return out.copy()

    return dop853(case, rates)


def _model(pin, tree: Tree):
    model = pin.Model()
    model.gravity.linear = np.array([0.0, -tree.gravity, 0.0])
    for k, b in enumerate(tree.bodies):
        place = pin.SE3(np.eye(3), np.array([*b.pivot, 0.0]))
        joint = model.addJoint(0 if b.parent == WORLD else b.parent + 1, pin.JointModelRZ(), place, f"j{k}")
        inertia = pin.Inertia(b.mass, np.array([*b.centre, 0.0]), np.diag([b.inertia, b.inertia, b.inertia]))
        model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    return model


def _moment(spring: Spring, tree: Tree, q: np.ndarray) -> float:
    """Moment of the spring about the pivot of its body, which must be fixed to the ground."""
    body = tree.bodies[spring.body]
    c, s = cos(q[spring.body]), sin(q[spring.body])
    x, y = c * spring.point[0] - s * spring.point[1], s * spring.point[0] + c * spring.point[1]
    dx, dy = body.pivot[0] + x - spring.ground[0], body.pivot[1] + y - spring.ground[1]
    length = sqrt(dx * dx + dy * dy)
    pull = -spring.stiffness * (length - spring.length) / length
    return pull * (x * dy - y * dx)


ROUTES = (Route("Pinocchio, SciPy DOP853", PYTHON, ("pin", "scipy"), _prepare),)

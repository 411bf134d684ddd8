"""Large mechanisms in Exudyn: redundant coordinates, its sparse solver, an implicit method at a fixed step.

Generalised-alpha on index 3 comes out as accurate as the trapezoidal rule on index 2 or up to 2.6 times more, at
equal cost.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import exudyn as exu
import numpy as np
from benchmarks.peers.large_casadi import knots, rods
from benchmarks.peers.large_cases import FOUR_BAR, NET, LargeCase, Solve
from exudyn import itemInterface as items  # noqa: N813 - its own name is a mixed one

from dalembert.problems import n_four_bar, net, rope

INDEX_2, INDEX_3 = exu.DynamicSolverType.TrapezoidalIndex2, exu.DynamicSolverType.GeneralizedAlpha


def prepare(case: LargeCase, method: Any = INDEX_3) -> Solve:
    """`solve` is given the number of steps."""
    container = exu.SystemContainer()
    mbs = container.AddSystem()
    read = {FOUR_BAR: _four_bars, NET: _net}.get(case.family, _rope)(mbs, case.size)
    mbs.Assemble()
    exu.SetWriteToConsole(False)

    def solve(steps: float) -> np.ndarray:
        settings = exu.SimulationSettings()
        settings.linearSolverType = exu.LinearSolverType.EigenSparse
        integration = settings.timeIntegration
        integration.numberOfSteps, integration.endTime = round(steps), case.t_end
        integration.newton.useModifiedNewton = True
        integration.newton.relativeTolerance = integration.newton.absoluteTolerance = 1e-9
        settings.solutionSettings.writeSolutionToFile = False
        settings.displayStatistics = settings.displayComputationTime = False
        settings.parallel.numberOfThreads = 1
        if not mbs.SolveDynamic(settings, method, updateInitialValues=False):
            raise RuntimeError("the solver did not finish")
        return read(
            mbs.systemData.GetODE2Coordinates(), mbs.systemData.GetODE2Coordinates(exu.ConfigurationType.Reference)
        )

    solve.container = container  # which owns the system
    return solve


def _four_bars(mbs: Any, n: int) -> Any:
    """Cranks 0..n, then couplers, as planar bodies."""
    L = n_four_bar.LENGTH
    ground = mbs.AddObject(items.ObjectGround())
    cranks = [
        _bar(mbs, [k * L, L / 2], np.pi / 2, [n_four_bar.SPEED / 2, 0.0, -n_four_bar.SPEED / L]) for k in range(n + 1)
    ]
    couplers = [_bar(mbs, [(k + 0.5) * L, L], 0.0, [n_four_bar.SPEED, 0.0, 0.0]) for k in range(n)]
    for k, crank in enumerate(cranks):
        _hinge(mbs, ground, [k * L, 0.0, 0.0], crank, [-L / 2, 0.0, 0.0])
        if k < n:
            _hinge(mbs, crank, [L / 2, 0.0, 0.0], couplers[k], [-L / 2, 0.0, 0.0])
        if k:
            _hinge(mbs, couplers[k - 1], [L / 2, 0.0, 0.0], crank, [L / 2, 0.0, 0.0])
    return partial(_ends, n)


def _ends(n: int, moved: np.ndarray, reference: np.ndarray) -> np.ndarray:
    x, y, angle = (np.asarray(moved) + np.asarray(reference)).reshape(-1, 3)[: n + 1].T
    half = n_four_bar.LENGTH / 2
    return np.column_stack([x + half * np.cos(angle), y + half * np.sin(angle)])


def _bar(mbs: Any, at: list[float], angle: float, rates: list[float]) -> int:
    node = mbs.AddNode(items.NodeRigidBody2D(referenceCoordinates=[*at, angle], initialVelocities=rates))
    inertia = n_four_bar.LENGTH**2 / 12
    body = mbs.AddObject(items.ObjectRigidBody2D(physicsMass=1.0, physicsInertia=inertia, nodeNumber=node))
    _weigh(mbs, body, [0.0, -n_four_bar.GRAVITY, 0.0])
    return body


def _weigh(mbs: Any, body: int, gravity: list[float]) -> None:
    mass = mbs.AddMarker(items.MarkerBodyMass(bodyNumber=body))
    mbs.AddLoad(items.LoadMassProportional(markerNumber=mass, loadVector=gravity))


def _marker(mbs: Any, body: int, point: list[float]) -> int:
    return mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=body, localPosition=point))


def _hinge(mbs: Any, first: int, here: list[float], second: int, there: list[float]) -> None:
    markers = [_marker(mbs, first, here), _marker(mbs, second, there)]
    mbs.AddObject(items.ObjectJointRevolute2D(markerNumbers=markers))


def _net(mbs: Any, n: int) -> Any:
    """Knots as mass points, rods as distances."""
    at, speed, pairs = knots(n)
    ground = mbs.AddObject(items.ObjectGround())
    marks = [_marker(mbs, ground, point) for point in at[:n].tolist()]
    for point, rate in zip(at[n:].tolist(), speed[n:].tolist(), strict=True):
        node = mbs.AddNode(items.NodePoint(referenceCoordinates=point, initialVelocities=rate))
        body = mbs.AddObject(items.MassPoint(physicsMass=net.MASS, nodeNumber=node))
        _weigh(mbs, body, [0.0, 0.0, -net.GRAVITY])
        marks.append(_marker(mbs, body, [0.0, 0.0, 0.0]))
    for a, b in pairs:
        mbs.AddObject(items.ObjectConnectorDistance(markerNumbers=[marks[a], marks[b]], distance=net.SPACING))
    return lambda moved, reference: (np.asarray(moved) + np.asarray(reference)).reshape(-1, 3)


def _rope(mbs: Any, n: int) -> Any:
    """Rods with Euler parameters e, e' = e o (0, w)/2, on spherical joints."""
    start = rods(n)
    half = start.length / 2
    ground = mbs.AddObject(items.ObjectGround())
    end = _marker(mbs, ground, [0.0, 0.0, 0.0])
    for at, e, v, w in zip(start.at, start.turn, start.speed, start.spin, strict=True):
        rate = np.concatenate([[-e[1:] @ w], e[0] * w + np.cross(e[1:], w)]) / 2
        node = mbs.AddNode(
            items.NodeRigidBodyEP(referenceCoordinates=[*at, *e], initialVelocities=[*v, *rate])
        )  # fmt: skip
        inertia = [*start.inertia, 0.0, 0.0, 0.0]
        rod = mbs.AddObject(items.ObjectRigidBody(physicsMass=start.mass, physicsInertia=inertia, nodeNumber=node))
        _weigh(mbs, rod, [0.0, 0.0, -rope.GRAVITY])
        first, last = (_marker(mbs, rod, [x, 0.0, 0.0]) for x in (-half, half))
        mbs.AddObject(items.ObjectJointSpherical(markerNumbers=[end, first]))
        end = last
    support = _marker(mbs, ground, [rope.SPAN, 0.0, 0.0])
    mbs.AddObject(items.ObjectJointSpherical(markerNumbers=[end, support]))
    return lambda moved, reference: (np.asarray(moved) + np.asarray(reference)).reshape(-1, 7)[:, :3]

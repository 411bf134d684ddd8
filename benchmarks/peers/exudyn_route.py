"""Exudyn: redundant coordinates with Revolute2D joints, implicit trapezoidal rule on index 2, fixed step."""

from __future__ import annotations

import numpy as np
from benchmarks.peers.cases import Case
from benchmarks.peers.route import ENGINE, Route, Solver, steps
from benchmarks.peers.tree import WORLD, Point, Tree, tree_of, turned


def _prepare(case: Case) -> Solver:
    import exudyn as exu

    tree = tree_of(case)
    system_container = exu.SystemContainer()
    mbs = system_container.AddSystem()
    turns, rates = tree.start(case)
    if rates.any():
        raise RuntimeError("mechanisms start at rest here")
    reference = tree.absolute(turns)  # Exudyn's coordinates count from the reference configuration
    sensors = _assemble(exu, mbs, tree, turns)
    start = [mbs.systemData.GetODE2Coordinates(), mbs.systemData.GetODE2Coordinates_t()]
    steps_out = case.times[1] - case.times[0] if len(case.times) > 1 else case.t_end

    def solve(h: float) -> np.ndarray:
        mbs.systemData.SetODE2Coordinates(start[0], exu.ConfigurationType.Initial)
        mbs.systemData.SetODE2Coordinates_t(start[1], exu.ConfigurationType.Initial)
        settings = exu.SimulationSettings()
        integration = settings.timeIntegration
        integration.numberOfSteps = round(case.t_end / h)
        integration.endTime = case.t_end
        integration.generalizedAlpha.useIndex2Constraints = True
        integration.generalizedAlpha.useNewmark = True
        integration.newton.useModifiedNewton = True
        integration.newton.relativeTolerance = integration.newton.absoluteTolerance = 1e-10
        settings.solutionSettings.writeSolutionToFile = False
        settings.solutionSettings.sensorsWritePeriod = steps_out
        settings.displayStatistics = settings.displayComputationTime = False
        settings.parallel.numberOfThreads = 1
        if not mbs.SolveDynamic(settings, exu.DynamicSolverType.TrapezoidalIndex2, updateInitialValues=False):
            raise RuntimeError("the solver did not finish")
        angles = np.column_stack([mbs.GetSensorStoredData(sensor)[:, 3] for sensor in sensors])
        return tree.to_case(tree.relative(reference + angles[-len(case.times) :]))

    return Solver(solve, steps(case.t_end / 3000, 9), "step")


def _assemble(exu, mbs, tree: Tree, turns: np.ndarray) -> list[int]:
    """Bodies, joints, loads and a sensor for each absolute angle; returns the sensors."""
    from exudyn import itemInterface as eii  # noqa: N813 - its own name is a mixed one

    angles, pivots = tree.absolute(turns), tree.pivots(turns)
    ground = mbs.AddObject(eii.ObjectGround())
    bodies, sensors = [], []
    for k, b in enumerate(tree.bodies):
        at = pivots[k] + turned(b.centre, angles[k])
        node = mbs.AddNode(
            eii.NodeRigidBody2D(referenceCoordinates=[*at, angles[k]], initialCoordinates=[0.0] * 3,
                                initialVelocities=[0.0] * 3)
        )  # fmt: skip
        bodies.append(
            mbs.AddObject(eii.ObjectRigidBody2D(physicsMass=b.mass, physicsInertia=b.inertia, nodeNumber=node))
        )
        load = mbs.AddMarker(eii.MarkerBodyMass(bodyNumber=bodies[k]))
        if tree.gravity:
            mbs.AddLoad(eii.LoadMassProportional(markerNumber=load, loadVector=[0.0, -tree.gravity, 0.0]))
        sensors.append(
            mbs.AddSensor(
                eii.SensorNode(
                    nodeNumber=node, storeInternal=True, outputVariableType=exu.OutputVariableType.Coordinates
                )
            )
        )

    def marker(body: int, point: Point) -> int:
        if body == WORLD:
            return mbs.AddMarker(eii.MarkerBodyPosition(bodyNumber=ground, localPosition=[*point, 0.0]))
        centre = tree.bodies[body].centre
        local = [point[0] - centre[0], point[1] - centre[1], 0.0]
        return mbs.AddMarker(eii.MarkerBodyPosition(bodyNumber=bodies[body], localPosition=local))

    joints = [(k, (0.0, 0.0), b.parent, b.pivot) for k, b in enumerate(tree.bodies)]
    joints += [(c.body, c.point, c.other, c.other_point) for c in tree.closures]
    for body, point, other, other_point in joints:
        mbs.AddObject(eii.ObjectJointRevolute2D(markerNumbers=[marker(other, other_point), marker(body, point)]))
    for s in tree.springs:
        mbs.AddObject(
            eii.ObjectConnectorSpringDamper(
                markerNumbers=[marker(WORLD, s.ground), marker(s.body, s.point)], referenceLength=s.length,
                stiffness=s.stiffness,
            )
        )  # fmt: skip
    if tree.torque:
        rigid = mbs.AddMarker(eii.MarkerBodyRigid(bodyNumber=bodies[0], localPosition=[0.0, 0.0, 0.0]))
        mbs.AddLoad(eii.LoadTorqueVector(markerNumber=rigid, loadVector=[0.0, 0.0, tree.torque]))
    mbs.Assemble()
    return sensors


ROUTES = (Route("Exudyn, trapezoidal index 2", ENGINE, ("exudyn",), _prepare),)

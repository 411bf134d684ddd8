"""`StartBatch`: consistent starts for many parameter values and given values of one request."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from dalembert.initial import levenberg_marquardt as descents
from dalembert.initial.degeneracy import faintest_kernel
from dalembert.initial.native_starts import Origin, Starts, find_starts
from dalembert.initial.positions import position_stage
from dalembert.initial.request import Task
from dalembert.initial.stage import Stage
from dalembert.initial.velocities import velocity_stage
from dalembert.native.jit import address_of
from dalembert.native.types import Record
from dalembert.native.workspace import Workspace
from dalembert.run.accelerations import accelerations_workspace


def is_plain(task: Task) -> bool:
    """Whether native code can find the starts of a task: values of coordinates and speeds, nothing else, are given."""
    system, wishes = task.system, task.wishes
    if system.is_large or system.unknowns or not system.ideal:
        return False
    asked = (wishes.rates, wishes.joints, wishes.joint_rates, wishes.of_accelerations)
    return not any(asked) and task.weights is None and not task.bounded


class StartBatch:
    """The memory in which one thread finds start after start of a task: its targets and parameter values vary."""

    def __init__(self, task: Task) -> None:
        system, nq = task.system, task.system.nq
        self._kept: list[Any] = []
        self.size = nq + system.nu
        stages = position_stage(task), velocity_stage(task, task.target[:nq])
        self.works = [*(_descent(stage) for stage in stages), accelerations_workspace(system)]
        self.origins = np.array([self._origin(work) for work in self.works], dtype=np.int64)
        self.starts = self._shared(task)

    def _origin(self, work: Workspace) -> int:
        """Address of the record of a workspace, with copies of its present contents."""
        words = np.frombuffer(ctypes.string_at(work.plan.address, ctypes.sizeof(work.plan)), dtype=float)
        copies = [words.copy(), work.mem.copy(), work.ints.copy()]
        origin = Origin(
            live=work.plan.address, n_live=words.size, new=address_of(copies[0]),
            mem=address_of(work.mem), n_mem=work.mem.size, new_mem=address_of(copies[1]),
            ints=address_of(work.ints), n_ints=work.ints.size, new_ints=address_of(copies[2]),
        )  # fmt: skip
        self._kept += [origin, *copies]
        return origin.address

    def _shared(self, task: Task) -> Starts:
        system = task.system
        dynamics, speeds, faintest = system.kernel("dynamics"), system.kernel("speeds"), faintest_kernel(system)
        nx, n_faintest = 1 + self.size + len(system.parameters), 0 if faintest is None else faintest.n_out
        behind = nx + self.size
        desk = np.zeros(behind + max(dynamics.n_out, speeds.n_out, n_faintest) + 1)
        out = np.zeros(system.nu + 2 * system.nc + 1)
        self._kept += [desk, out, dynamics, speeds, faintest]
        return Starts(
            t=task.t, nq=system.nq, nu=system.nu, np=len(system.parameters), nx=nx, behind=behind,
            rows=system.count("position") + system.count("velocity"), dynamics=dynamics.address,
            n_dynamics=dynamics.n_out, mass=system.parts["mass_matrix"][0].start, speeds=speeds.address,
            n_speeds=speeds.n_out, faintest=0 if faintest is None else faintest.address, n_faintest=n_faintest,
            trivial=int(system.trivial_kinematics), singular=int(system.singular_mass),
            desk=address_of(desk), n_desk=desk.size, out=address_of(out),
            n_out=out.size,
        )  # fmt: skip

    def find(self, targets: np.ndarray, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(q, u) (n, nq + nu) next to `targets` with `parameters` (n, np), and codes (n,): 0 where one was found."""
        found, codes = np.zeros((len(targets), self.size)), np.zeros(len(targets), dtype=np.int64)
        plans: list[Record] = [work.plan for work in self.works]
        find_starts(
            *plans, self.starts, self.origins, np.ascontiguousarray(targets).ravel(),
            np.ascontiguousarray(parameters).ravel(), found.ravel(), codes,
        )  # fmt: skip
        for work in self.works:
            work.check_guards()
        return found, codes


def _descent(stage: Stage) -> Workspace:
    """The workspace of a stage, with all that is the same for every start."""
    work = stage.workspace(descents.lay_out)
    plan, n = work.plan, len(stage.target)
    work.mem[plan.low : plan.low + 2 * n] = np.concatenate([stage.low, stage.high])
    work.mem[plan.wanted : plan.wanted + len(stage.wanted)] = stage.wanted
    return work

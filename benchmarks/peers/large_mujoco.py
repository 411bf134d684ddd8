"""Large mechanisms in MuJoCo: RK4 at a fixed step, loops closed by equalities as stiff as the step allows, sparse."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
from benchmarks.peers.large_casadi import knots, rods
from benchmarks.peers.large_cases import FOUR_BAR, NET, LargeCase, Solve

from dalembert.problems import n_four_bar, net, rope

Read = Callable[[mujoco.MjData], np.ndarray]


def prepare(case: LargeCase) -> Solve:
    """`solve` is given the number of steps; a model is compiled for each, since constraints know the step."""
    write, start, read = {FOUR_BAR: _four_bars, NET: _net}.get(case.family, _rope)(case.size)
    models: dict[float, mujoco.MjModel] = {}

    def solve(steps: float) -> np.ndarray:
        h = case.t_end / round(steps)
        if steps not in models:
            models[steps] = mujoco.MjModel.from_xml_string(
                write(f'solref="{2 * h!r} 1" {STIFF}').replace("STEP", repr(h))
            )
        data = mujoco.MjData(models[steps])
        data.qvel[:] = start
        mujoco.mj_step(models[steps], data, nstep=round(steps))
        if data.warning.number.any():
            raise RuntimeError("the simulation became unstable")
        mujoco.mj_kinematics(models[steps], data)
        return read(data)

    return solve


STIFF = 'solimp="0.9999 0.9999 0.001 0.5 2"'


def _xml(gravity: str, world: str, rest: str) -> str:
    return (
        '<mujoco><compiler angle="radian" boundmass="0" boundinertia="0"/>'
        f'<option timestep="STEP" integrator="RK4" gravity="{gravity}" tolerance="1e-14" iterations="2" '
        'solver="Newton" jacobian="sparse"><flag contact="disable"/></option><size memory="500M"/>'
        f"<worldbody>{world}</worldbody>{rest}</mujoco>"
    )


def _four_bars(n: int) -> tuple[Callable[[str], str], np.ndarray, Read]:
    """Cranks as hinges, couplers on them, each connected with the next crank."""
    L, hinge = n_four_bar.LENGTH, '<joint type="hinge" axis="0 0 1"/>'
    mass = f'mass="1" diaginertia="{" ".join([repr(L**2 / 12)] * 3)}"'
    coupler = f'<body pos="0 {L!r} 0">{hinge}<inertial pos="{L / 2!r} 0 0" {mass}/>'
    bodies = "".join(
        f'<body pos="{k * L!r} 0 0">{hinge}<inertial pos="0 {L / 2!r} 0" {mass}/><site name="e{k}" pos="0 {L!r} 0"/>'
        + (f'{coupler}<site name="c{k}" pos="{L!r} 0 0"/></body>' if k < n else "")
        + "</body>"
        for k in range(n + 1)
    )
    start = np.full(2 * n + 1, n_four_bar.SPEED / L)  # joints in the order of the bodies: crank, coupler, crank, ...
    start[::2] *= -1.0
    ends = [2 * k for k in range(n + 1)]  # of the sites e0, c0, e1, c1, ...

    def write(stiff: str) -> str:
        closed = "".join(f'<connect site1="c{k}" site2="e{k + 1}" {stiff}/>' for k in range(n))
        return _xml(f"0 {-n_four_bar.GRAVITY!r} 0", bodies, f"<equality>{closed}</equality>")

    return write, start, lambda data: data.site_xpos[ends, :2].copy()


def _net(n: int) -> tuple[Callable[[str], str], np.ndarray, Read]:
    """Knots on three slides, rods as tendons of fixed length."""
    at, speed, pairs = knots(n)
    slides = "".join(f'<joint type="slide" axis="{axis}"/>' for axis in ("1 0 0", "0 1 0", "0 0 1"))
    mass = f'<inertial pos="0 0 0" mass="{net.MASS!r}" diaginertia="1e-6 1e-6 1e-6"/>'
    pinned = "".join(f'<site name="k{k}" pos="{x!r} {y!r} 0"/>' for k, (x, y, _) in enumerate(at[:n].tolist()))
    free = "".join(
        f'<body pos="{x!r} {y!r} 0">{slides}{mass}<site name="k{k}"/></body>'
        for k, (x, y, _) in enumerate(at[n:].tolist(), start=n)
    )
    tendons = "".join(
        f'<spatial name="t{k}"><site site="k{a}"/><site site="k{b}"/></spatial>' for k, (a, b) in enumerate(pairs)
    )

    def write(stiff: str) -> str:
        fixed = "".join(f'<tendon tendon1="t{k}" {stiff}/>' for k in range(len(pairs)))
        rest = f"<tendon>{tendons}</tendon><equality>{fixed}</equality>"
        return _xml(f"0 0 {-net.GRAVITY!r}", pinned + free, rest)

    return write, speed[n:].ravel(), lambda data: data.site_xpos[n:].copy()


def _rope(n: int) -> tuple[Callable[[str], str], np.ndarray, Read]:
    """Free rods, connected with each other and with the supports.

    As a tree of ball joints its mass matrix has no zeros, and a step of 400 rods takes 100 times as long.
    """
    start = rods(n)
    half, inertia = start.length / 2, " ".join(map(repr, start.inertia))
    mass = f'<inertial pos="0 0 0" mass="{start.mass!r}" diaginertia="{inertia}"/><freejoint/>'
    supports = [[0.0, 0.0, 0.0], [rope.SPAN, 0.0, 0.0]]
    world = "".join(
        f'<site name="{name}" pos="{_text(at)}"/>' for name, at in zip(("b0", f"a{n + 1}"), supports, strict=True)
    )
    for k, (at, turn) in enumerate(zip(start.at.tolist(), start.turn.tolist(), strict=True), start=1):
        ends = f'<site name="a{k}" pos="{-half!r} 0 0"/><site name="b{k}" pos="{half!r} 0 0"/>'
        world += f'<body pos="{_text(at)}" quat="{_text(turn)}">{mass}{ends}</body>'

    def write(stiff: str) -> str:
        joints = "".join(f'<connect site1="b{k}" site2="a{k + 1}" {stiff}/>' for k in range(n + 1))
        return _xml(f"0 0 {-rope.GRAVITY!r}", world, f"<equality>{joints}</equality>")

    rates = np.hstack([start.speed, start.spin]).ravel()
    return write, rates, lambda data: data.xipos[1:].copy()


def _text(values: list[float]) -> str:
    return " ".join(map(repr, values))

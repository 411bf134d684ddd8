"""MuJoCo: RK4 at a fixed step, loops as `connect` constraints made as stiff as the step allows."""

from __future__ import annotations

import numpy as np
from benchmarks.peers.cases import Case
from benchmarks.peers.route import ENGINE, CannotStateError, Route, Solver, steps
from benchmarks.peers.tree import WORLD, Tree, tree_of


def _prepare(case: Case) -> Solver:
    import mujoco

    tree = tree_of(case)
    if tree.massless:
        raise CannotStateError("every moving body needs mass, and the third link has none")
    ladder = steps(case.t_end / 4000, 8)
    models = {h: mujoco.MjModel.from_xml_string(_xml(tree, h)) for h in ladder}
    turns, rates = tree.start(case)

    def solve(h: float) -> np.ndarray:
        model = models[h]
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = turns, rates
        data.qfrc_applied[0] = tree.torque
        q, done = np.empty((len(case.times), len(turns))), 0
        for k, t in enumerate(case.times):
            count = round(t / h) - done
            if count:
                mujoco.mj_step(model, data, nstep=count)
            done += count
            q[k] = data.qpos
        if data.warning.number.any():
            raise RuntimeError("the simulation became unstable")
        return tree.to_case(q)

    return Solver(solve, ladder, "step")


def _xml(tree: Tree, h: float) -> str:
    """The mechanism in MJCF; sites carry the points of closures and springs."""
    stiff = f'solref="{2 * h!r} 1" solimp="0.9999 0.9999 0.001 0.5 2"'
    equality = "".join(f'<connect site1="a{k}" site2="b{k}" {stiff}/>' for k in range(len(tree.closures)))
    tendons = "".join(
        f'<spatial stiffness="{s.stiffness!r}" springlength="{s.length!r}">'
        f'<site site="s{k}"/><site site="g{k}"/></spatial>'
        for k, s in enumerate(tree.springs)
    )
    return f"""<mujoco><compiler angle="radian" autolimits="false" boundmass="0" boundinertia="0"/>
<option timestep="{h!r}" integrator="RK4" gravity="0 {-tree.gravity!r} 0" tolerance="1e-14" iterations="2"
 solver="Newton"><flag contact="disable"/></option><size memory="1M"/>
<worldbody>{_sites(tree, WORLD)}{_bodies(tree, WORLD)}</worldbody>
<tendon>{tendons}</tendon><equality>{equality}</equality></mujoco>"""


def _bodies(tree: Tree, parent: int) -> str:
    text = ""
    for k, b in enumerate(tree.bodies):
        if b.parent == parent:
            inertia = " ".join([repr(b.inertia)] * 3)
            text += (
                f'<body pos="{b.pivot[0]!r} {b.pivot[1]!r} 0"><joint type="hinge" axis="0 0 1"/>'
                f'<inertial pos="{b.centre[0]!r} {b.centre[1]!r} 0" mass="{b.mass!r}" diaginertia="{inertia}"/>'
                f"{_sites(tree, k)}{_bodies(tree, k)}</body>"
            )
    return text


def _sites(tree: Tree, body: int) -> str:
    marks = [(f"a{k}", c.body, c.point) for k, c in enumerate(tree.closures)]
    marks += [(f"b{k}", c.other, c.other_point) for k, c in enumerate(tree.closures)]
    marks += [(f"s{k}", s.body, s.point) for k, s in enumerate(tree.springs)]
    marks += [(f"g{k}", WORLD, s.ground) for k, s in enumerate(tree.springs)]
    return "".join(f'<site name="{n}" pos="{at[0]!r} {at[1]!r} 0"/>' for n, where, at in marks if where == body)


ROUTES = (Route("MuJoCo RK4, stiff constraints", ENGINE, ("mujoco",), _prepare),)

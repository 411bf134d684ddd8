"""Outputs by name and expression against formulas written down by hand, on five mechanisms.

The bound 1e-12 is some ten thousand roundings of values of order one: what is compared is the same state, evaluated
twice.
"""

import functools
import pickle

import numpy as np
import pytest
import sympy as sp

import dalembert as da

EXACT = {"rtol": 1e-12, "atol": 1e-12}


# -- a particle on a rod: expressions, outputs, multipliers -----------------------------------------------------------


@functools.cache
def pendulum():
    model = da.Model("pendulum")
    x, y = model.coordinates("x y")
    vx, vy = model.speeds("vx vy")
    L, m, g = model.parameters(L=1.3, m=2.0, g=9.81)
    model.particle("P", mass=m, position=[x, y])
    model.gravity([0, -g])
    model.constrain((x**2 + y**2 - L**2) / 2, name="rod")
    model.output("tension", -L * sp.Symbol("rod"))
    model.output("tip", {"x": x / L, "y": y / L, "rate": (x * vy - y * vx) / L**2})
    model.output("pair", [x + model.t, vx.diff()])
    system = model.compile()
    return system, system.simulate(system.initial({x: 0.5}, guess={y: -1.0}), 2.0), (x, y, vx, vy, L, m, g)


def test_expressions_of_everything_a_motion_knows():
    _, motion, (x, y, vx, vy, L, m, g) = pendulum()
    q1, q2, v1, v2 = (motion[name] for name in ("x", "y", "vx", "vy"))
    np.testing.assert_allclose(motion[sp.atan2(x, -y)], np.arctan2(q1, -q2), **EXACT)
    np.testing.assert_allclose(motion[m * (vx**2 + vy**2) / 2 + m * g * y], motion.energy, **EXACT)
    np.testing.assert_allclose(motion[x.diff() * y], v1 * q2, **EXACT)
    np.testing.assert_allclose(motion[x.diff().diff() + vy.diff()], motion.udot.sum(axis=1), **EXACT)
    # Newton's law along the rod: tension = m v^2 / L + m g cos(angle), with the angle from below.
    tension = 2.0 * (v1**2 + v2**2) / 1.3 - 2.0 * 9.81 * q2 / 1.3
    np.testing.assert_allclose(motion[-L * sp.Symbol("rod")], tension, **EXACT)
    np.testing.assert_allclose(motion["L"], np.full(len(motion), 1.3), rtol=0)
    assert motion[sp.Integer(3)].tolist() == [3.0] * len(motion)


def test_lists_and_matrices_have_more_axes():
    _, motion, (x, y, vx, vy, *_) = pendulum()
    np.testing.assert_array_equal(motion[[x, "y"]], motion.q)
    np.testing.assert_array_equal(motion[sp.Matrix([vx, vy])], motion.u)
    both = motion[sp.Matrix([[x, y], [vx, vy]])]
    assert both.shape == (len(motion), 2, 2)
    np.testing.assert_array_equal(both[:, 1], motion.u)


def test_named_outputs_in_a_motion_a_state_tables_and_files(tmp_path):
    system, motion, _ = pendulum()
    v = motion.u
    tension = 2.0 * (v**2).sum(axis=1) / 1.3 - 2.0 * 9.81 * motion["y"] / 1.3
    np.testing.assert_allclose(motion["tension"], tension, **EXACT)
    assert motion["tip"].shape == (len(motion), 3)
    np.testing.assert_allclose(motion["tip.y"], motion["y"] / 1.3, **EXACT)
    np.testing.assert_allclose(motion["pair"][:, 0], motion["x"] + motion.t, **EXACT)
    np.testing.assert_array_equal(motion["pair[1]"], motion["vx'"])
    state = motion.at(0.7)
    np.testing.assert_allclose(state["tip"], motion.sample("tip", 0.7), **EXACT)
    assert state["tension"] == pytest.approx(float(motion.sample("tension", 0.7)), rel=1e-12)
    table = motion.to_pandas("P.position", "L")
    np.testing.assert_array_equal(table["tip.rate"], motion["tip.rate"])
    np.testing.assert_array_equal(table["P.position.x"], motion["x"])
    data = motion.to_xarray()
    np.testing.assert_array_equal(data["tension"], motion["tension"])
    path = motion.save(tmp_path / "m.npz")
    np.testing.assert_array_equal(np.load(path)["o_tip"], motion["tip"])
    np.testing.assert_array_equal(da.Motion.load(path, system)["tension"], motion["tension"])
    assert "outputs" in [axes.get_title(loc="left") for axes in motion.plot().axes]


def test_outputs_work_after_unpickling_and_expressions_say_why_not():
    system, motion, (x, *_) = pendulum()
    sent = pickle.loads(pickle.dumps(motion))
    for name in ("tension", "tip", "pair", "P.acceleration"):
        np.testing.assert_array_equal(sent[name], motion[name])
    with pytest.raises(da.DalembertError, match="compile its model here"):
        sent[2 * x]
    assert pickle.loads(pickle.dumps(system)).outputs == system.outputs


def test_samples_at_any_times_in_any_order():
    _, motion, (x, *_) = pendulum()
    times = [[1.7, 0.2], [0.9, 0.2]]
    values = motion.sample(x, times)
    assert values.shape == (2, 2)
    assert values[0, 0] == motion.at(1.7)["x"]
    assert values[0, 1] == values[1, 1] == motion.at(0.2)["x"]
    assert motion.sample("tip", times).shape == (2, 2, 3)


def test_messages_name_what_is_meant():
    _, motion, (x, *_) = pendulum()
    with pytest.raises(da.UnknownNameError, match="did you mean `tension`"):
        motion["tensoin"]
    with pytest.raises(da.UnknownNameError, match="`z` is not known"):
        motion[x + sp.Symbol("z")]
    with pytest.raises(da.UnknownNameError, match="particles and bodies"):
        motion.position("Q")


def test_faults_of_outputs_are_raised_by_compile():
    model = da.Model("faulty")
    (x,) = model.coordinates("x")
    model.particle("P", mass=1, position=[x, 0])
    model.output("far", x + sp.Symbol("far_away"))
    model.output("far", x)
    model.output("none", [])
    model.output("P.position", x)
    with pytest.raises(da.ModelError) as caught:
        model.compile()
    text = str(caught.value)
    for part in (
        "`far_away`, which was never declared",
        "already declared as a output",
        "`none` is empty",
        "reads like",
    ):
        assert part in text


def test_elements_need_names_of_their_own():
    model = da.Model("two springs")
    body = model.body("B", mass=1.0, inertia=1.0)
    for height in (0, 1):
        model.elements.spring("s", model.marker(model.ground, [-1, height]), body, stiffness=1.0)
    with pytest.raises(da.ModelError, match="2 elements are called `s`"):
        model.compile()


# -- a slider-crank in absolute coordinates: markers, joints, elements ------------------------------------------------


@functools.cache
def slider_crank():
    model = da.Model("slider-crank")
    k, c, F = model.parameters(k=40.0, c=0.7, F=3.0)
    crank = model.body("crank", mass=1.0, inertia=0.02)
    rod = model.body("rod", mass=0.8, inertia=0.05)
    slider = model.body("slider", mass=0.5, inertia=0.01)
    ground = model.ground
    marks = {
        "wall": model.marker(ground, [2.0, 0.3]),
        "pin": model.marker(crank, [0.25, 0.1]),
        "slide": model.marker(ground, [0, 0], axis=[1, 0]),
    }
    model.joints.revolute("A", model.marker(ground, [0, 0]), model.marker(crank, [-0.25, 0]))
    model.joints.revolute("B", model.marker(crank, [0.25, 0]), model.marker(rod, [-0.6, 0]))
    model.joints.revolute("C", model.marker(rod, [0.6, 0]), slider)
    model.joints.prismatic("S", marks["slide"], model.marker(slider, [0, 0], axis=[1, 0]))
    spring = model.elements.spring("spring", marks["wall"], slider, stiffness=k, length=0.4)
    model.elements.damper("damper", slider, marks["pin"], coefficient=c)
    model.elements.actuator("ram", marks["wall"], rod, force=F * sp.cos(3 * model.t))
    model.elements.torsion_spring("coil", ground, crank, stiffness=1.5, angle=0.2)
    model.elements.motor("motor", ground, crank, torque=2 * sp.sin(model.t))
    model.elements.torsion_damper("brake", crank, rod, coefficient=0.3)
    system = model.compile()
    state = system.initial({"A.angle": 0.8, "A.rate": 2.0}, guess={"rod_x": 0.8, "slider_x": 1.5})
    return system.simulate(state, 1.5), marks, spring


def point_of(motion, body, place):
    """Position, velocity and acceleration of a point of a planar body, (nt, 3) each, by rigid-body kinematics."""
    a, w, wd = motion[f"{body}_a"], motion[f"{body}_w"], motion[f"{body}_w'"]
    arm = np.array([np.cos(a) * place[0] - np.sin(a) * place[1], np.sin(a) * place[0] + np.cos(a) * place[1]])
    across = np.array([-arm[1], arm[0]])
    centre = [np.array([motion[f"{body}_{c}{dash}"] for c in names]) for names, dash in
              ((("x", "y"), ""), (("vx", "vy"), ""), (("vx", "vy"), "'"))]  # fmt: skip
    found = (centre[0] + arm, centre[1] + w * across, centre[2] + wd * across - w**2 * arm)
    return [np.vstack([v, np.zeros(len(motion))]).T for v in found]


def test_points_and_markers_of_a_slider_crank():
    motion, marks, _ = slider_crank()
    for place, point in (((0, 0), "crank"), ((0.25, 0.1), marks["pin"])):
        x, v, a = point_of(motion, "crank", place)
        np.testing.assert_allclose(motion.position(point), x, **EXACT)
        np.testing.assert_allclose(motion.velocity(point), v, **EXACT)
        np.testing.assert_allclose(motion.acceleration(point), a, rtol=1e-12, atol=1e-12 * np.abs(a).max())
    angle = motion["rod_a"]
    R = motion.rotation("rod")
    np.testing.assert_allclose(R[:, 0, :2], np.array([np.cos(angle), -np.sin(angle)]).T, **EXACT)
    np.testing.assert_allclose(motion.rotation(marks["pin"]), motion.rotation("crank"), **EXACT)
    np.testing.assert_array_equal(motion.angular_velocity("rod")[:, 2], motion["rod_w"])
    np.testing.assert_array_equal(motion.position(marks["wall"]), np.tile([2.0, 0.3, 0.0], (len(motion), 1)))


def test_joints_of_a_slider_crank():
    motion, _, _ = slider_crank()
    np.testing.assert_array_equal(motion.joint("A").angle, motion["crank_a"])
    np.testing.assert_array_equal(motion.joint("A").rate, motion["crank_w"])
    np.testing.assert_allclose(motion.joint("B").angle, motion["rod_a"] - motion["crank_a"], **EXACT)
    np.testing.assert_allclose(motion.joint("S").displacement, motion["slider_x"], **EXACT)
    np.testing.assert_allclose(motion.joint("S").speed, motion["slider_vx"], **EXACT)
    with pytest.raises(da.DalembertError, match="`S` has no angle; it has displacement, speed"):
        motion.joint("S").angle  # noqa: B018
    with pytest.raises(da.UnknownNameError, match="the joints of"):
        motion.joint("D")
    start = motion.at(0.0)
    assert (start["A.angle"], start["A.rate"]) == pytest.approx((0.8, 2.0), rel=1e-12)


def test_force_elements_of_a_slider_crank():
    motion, _, spring = slider_crank()
    s = motion.position("slider")
    gap = s - [2.0, 0.3, 0.0]
    length = np.linalg.norm(gap, axis=1)
    rate = (gap * motion.velocity("slider")).sum(axis=1) / length
    np.testing.assert_allclose(motion.length(spring), length, **EXACT)
    np.testing.assert_allclose(motion.force("spring"), -40.0 * (length - 0.4), **EXACT)
    np.testing.assert_allclose(motion.power("spring"), -40.0 * (length - 0.4) * rate, rtol=1e-12, atol=1e-11)
    pin, velocity, _ = point_of(motion, "crank", (0.25, 0.1))
    gap = pin - s
    rate = (gap * (velocity - motion.velocity("slider"))).sum(axis=1) / np.linalg.norm(gap, axis=1)
    np.testing.assert_allclose(motion.force("damper"), -0.7 * rate, **EXACT)
    np.testing.assert_allclose(motion.power("damper"), -0.7 * rate**2, **EXACT)
    np.testing.assert_allclose(motion.force("ram"), 3.0 * np.cos(3 * motion.t), **EXACT)
    np.testing.assert_allclose(motion.force("coil"), -1.5 * (motion["crank_a"] - 0.2), **EXACT)
    np.testing.assert_allclose(motion.force("motor"), 2 * np.sin(motion.t), **EXACT)
    np.testing.assert_allclose(motion.power("motor"), 2 * np.sin(motion.t) * motion["crank_w"], **EXACT)
    turning = motion["rod_w"] - motion["crank_w"]
    np.testing.assert_allclose(motion.power("brake"), -0.3 * turning**2, **EXACT)
    with pytest.raises(da.DalembertError, match="`motor` has no length; it has torque, power"):
        motion.length("motor")


def test_power_of_the_elements_is_what_changes_the_energy():
    """Springs are in the energy; the work of damper, ram, motor and brake is its change."""
    motion, _, _ = slider_crank()
    fine = motion.resampled(np.linspace(0.0, 1.5, 601))
    power = sum(fine.power(name) for name in ("damper", "ram", "motor", "brake"))
    h = fine.t[1]
    simpson = h / 3 * (power[0] + power[-1] + 4 * power[1:-1:2].sum() + 2 * power[2:-1:2].sum())
    change = fine.energy[-1] - fine.energy[0]
    # Simpson's error is h^4/180 times the third derivative over the span; h^4 = 4e-11, derivatives of order 1e4.
    assert simpson == pytest.approx(change, abs=1e-6)


# -- a spatial hinge, a quaternion, a sequence ------------------------------------------------------------------------


@functools.cache
def flywheel():
    """A body on a skew hinge in space, I = 0.5 about it, driven by the torque 4 + T sin(t)."""
    model = da.Model("flywheel")
    (T,) = model.parameters(T=0.0)
    body = model.body("B", mass=2.0, inertia=[0.3, 0.3, 0.5])
    axis = [1, 2, 2]
    hinge = model.marker(model.ground, [0.1, 0.2, 0.3], axis=axis)
    model.joints.revolute("hinge", hinge, body)
    model.elements.motor("motor", model.ground, body, torque=4.0 + T * sp.sin(model.t), axis=axis)
    return model.compile(), hinge


def spun(T):
    """The flywheel over three seconds with three samples, and its angle at them."""
    system, _ = flywheel()
    given, guess = {"hinge.angle": 3.0, "hinge.rate": 5.0}, {"B_e0": 0.5, "B_e1": 0.3, "B_e3": 0.5}
    start = system.initial(given, guess=guess, parameters={"T": T})
    motion = system.simulate(start, 3.0, t_eval=[0.0, 2.0, 3.0], integrator=da.DOP853(rtol=1e-12, atol=1e-12))
    t = motion.t
    return motion, 3.0 + 5.0 * t + 4.0 * t**2 + 2.0 * T * (t - np.sin(t))


def test_whole_turns_of_a_joint_in_space_are_counted():
    motion, exact = spun(0.0)
    np.testing.assert_allclose(motion.joint("hinge").angle, exact, rtol=1e-9)
    np.testing.assert_allclose(motion["hinge.rate"], 5.0 + 8.0 * motion.t, rtol=1e-9)
    np.testing.assert_allclose(motion.power("motor"), 4.0 * motion["hinge.rate"], rtol=1e-9)
    assert motion.at(2.0)["hinge.angle"] == pytest.approx(np.angle(np.exp(1j * exact[1])), abs=1e-8)
    z = motion.rotation("B")[:, :, 2]
    np.testing.assert_allclose(z, np.tile([1 / 3, 2 / 3, 2 / 3], (3, 1)), atol=1e-10)
    np.testing.assert_allclose(motion.angular_velocity("B"), motion["hinge.rate"][:, None] * z, rtol=1e-9)
    np.testing.assert_allclose(motion.rotation(flywheel()[1])[:, :, 2], z, atol=1e-10)


def test_turns_that_the_samples_of_a_file_cannot_tell_are_refused(tmp_path):
    motion, exact = spun(60.0)  # the trapezoidal rule for the rate is wrong by turns
    np.testing.assert_allclose(motion["hinge.angle"], exact, rtol=1e-9)
    loaded = da.Motion.load(motion.save(tmp_path / "m.npz"), flywheel()[0])
    with pytest.raises(da.DalembertError, match="too far apart to count the turns"):
        loaded["hinge.angle"]


def test_quaternion_body_against_rotation_by_hand():
    model = da.Model("top")
    model.body("B", mass=1.0, inertia=[1.0, 1.5, 2.0])
    system = model.compile()
    state = system.initial({"B_e0": 0.8, "B_e1": 0.6, "B_wx": 0.5, "B_wy": 1.0, "B_wz": -0.3})
    motion = system.simulate(state, 2.0)
    e0, e1, e2, e3 = (motion[f"B_e{k}"] for k in range(4))
    third = np.array([2 * (e1 * e3 + e0 * e2), 2 * (e2 * e3 - e0 * e1), e0**2 - e1**2 - e2**2 + e3**2]).T
    np.testing.assert_allclose(motion.rotation("B")[:, :, 2], third, atol=1e-9)
    momentum = np.einsum("tij,j,tj->ti", motion.rotation("B"), [1.0, 1.5, 2.0], motion.u[:, 3:])
    np.testing.assert_allclose(momentum, np.tile(momentum[0], (len(motion), 1)), atol=1e-8)
    w = np.einsum("tij,tj->ti", motion.rotation("B"), motion.u[:, 3:])
    np.testing.assert_allclose(motion.angular_velocity("B"), w, **EXACT)


def test_parameters_that_events_change_and_forces_that_come_and_go():
    model = da.Model("ball")
    (y,) = model.coordinates("y")
    (v,) = model.speeds("v")
    m, g = model.parameters(m=1.0, g=9.81)
    model.particle("P", mass=m, position=[0, y])
    model.gravity([0, -g])
    model.output("height", y)
    free = model.compile()
    model.constrain(y.diff(), name="floor")
    resting = model.compile()
    events = [
        da.Event(y - 0.5, direction=-1, then={m: 3 * m}, name="load"),
        da.Event(y, direction=-1, then=resting, name="stop"),
    ]
    motion = free.simulate(free.initial({y: 1.0, v: 0.0}), 1.0, events=events)
    sizes = [len(part) for part in motion.segments]
    np.testing.assert_array_equal(motion["m"], np.repeat([1.0, 3.0, 3.0], sizes))
    push = np.repeat([0.0, 0.0, 3 * 9.81], sizes)
    np.testing.assert_allclose(motion["floor"], push, **EXACT)
    np.testing.assert_allclose(motion[2 * sp.Symbol("floor") + m * y], 2 * push + motion["m"] * motion["y"], **EXACT)
    np.testing.assert_array_equal(motion[["height", "v"]], np.hstack([motion.q, motion.u]))
    assert motion.position("P").shape == (len(motion), 3)
    assert "height" in motion.to_pandas().columns

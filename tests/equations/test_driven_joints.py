"""Drives by kind: rows with numbers that vary in time against rows derived one by one, and against motions known."""

import casadi as ca
import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.equations import derived as derivation

N = 4
TIMES, ANGLES = [-0.2, 0.1, 0.25, 0.6], [0.0, 0.2, -0.1, 0.3]


def sine(model, k):
    return 0.1 * (k + 1) * sp.sin(3 * model.t) ** 2


def with_parameters(model, k):
    a, w = (sp.Symbol(name) for name in ("a", "w"))
    return a * sp.cos(w * model.t) / (k + 1) + a**2


def table(model, k):
    return model.tables["turn"](model.t - 0.01 * k)


def switched(model, k):
    late = model.t - 0.2 - 0.01 * k
    return 0.1 * model.t**3 + sp.Piecewise((0, late < 0), (9 * late**3, True))


def with_a_coordinate(model, k):
    return 0.3 * model.statement.coordinates[0] * model.t + 0.1 * k


LAWS = (sine, with_parameters, table, switched, with_a_coordinate)


def driven(law, *, backwards=False, prefix="D", length=1.0):
    """Bodies on hinges and slides from the ground, each driven by a law; lengths in other units with `length`."""
    model = da.Model("driven")
    model.parameters(a=0.2, w=5.0, l=0.1 * length)
    model.tables = {"turn": model.table("turn", TIMES, ANGLES, kind="cubic")}
    model.gravity([0, 0, -9.81 * length])
    l, joints = sp.Symbol("l"), []
    for k in range(N):
        axis = {"axis": [0.1 * k, 1.0, 0.2]}
        body = model.body(f"B{k}", mass=1.0 + k, inertia=[0.01 * length**2, 0.02 * length**2, 0.02 * length**2])
        ends = model.marker(model.ground, [k * length, 0.0, 0.0], **axis), model.marker(body, [-l, 0.0, 0.0], **axis)
        joints.append(getattr(model.joints, "cylindrical" if k % 2 else "revolute")(f"J{k}", *ends))
    for k in range(N)[::-1] if backwards else range(N):
        model.joints.drive(f"{prefix}{k}", joints[k], angle=law(model, k))
        if k % 2:
            model.joints.drive(f"{prefix}{k}s", joints[k], displacement=0.1 * l * law(model, k))
    return model


def values(system, *names):
    """Graphs of a system at one random state, quaternions not of unit length, with all entries."""
    m = system.mechanics
    x = np.random.default_rng(3).uniform(0.2, 1.0, m.x.shape[0])
    return [value.full() for value in ca.Function("rows", [m.x], [ca.densify(getattr(m, n)) for n in names])(x)]


def by_hand(monkeypatch):
    """Have everything derived row by row."""
    monkeypatch.setattr(derivation, "rows_by_kind", lambda *_: None)


@pytest.mark.parametrize("law", LAWS)
def test_driven_rows_are_those_derived_one_by_one(monkeypatch, law):
    names = ("phi", "G", "psi", "A", "b", "power")
    quick = driven(law).compile()
    by_hand(monkeypatch)
    slow = driven(law).compile()
    for found, expected in zip(values(quick, *names), values(slow, *names), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-11)  # terms of order 1 to 100
    assert [str(kink) for kink in quick.kinks] == [str(kink) for kink in slow.kinks]
    assert quick.works == slow.works
    assert [row.name for row in quick.rows] == [row.name for row in slow.rows]


@pytest.mark.parametrize("law", LAWS)
def test_only_drives_that_depend_on_the_motion_are_derived_one_by_one(left_over, law):
    driven(law).compile()
    assert [len(names) for names in left_over] == [N + N // 2 if law is with_a_coordinate else 0]


def run(model, scale=1.0, **options):
    system = model.compile()
    guess = {f"B{k}_x": (k + 0.1) * scale for k in range(N)}
    motion = system.simulate(system.initial(guess=guess), 0.4, t_eval=np.linspace(0, 0.4, 9), **options)
    assert motion.certificate.ok, str(motion.certificate)
    return motion


@pytest.mark.parametrize("law", [sine, with_parameters, table, switched])
def test_joints_turn_and_slide_as_they_are_told(law):
    motion = run(driven(law))
    t, values_of = sp.Symbol("t"), {"a": 0.2, "w": 5.0}
    if law is table:
        spline = driven(law).tables["turn"].data
        angle = [[spline.value(time - 0.01 * k) for time in motion.t] for k in range(N)]
        rate = [[spline.value(time - 0.01 * k, 1) for time in motion.t] for k in range(N)]
    else:
        stated = [law(da.Model("t"), k).subs(values_of) for k in range(N)]
        angle, rate = ([[float(e.subs(t, time)) for time in motion.t] for e in some]
                       for some in (stated, [e.diff(t) for e in stated]))  # fmt: skip
    for k in range(N):
        joint = motion.joint(f"J{k}")
        # A run holds positions to 1e-13 and speeds to the tolerance of its steps, 1e-10.
        np.testing.assert_allclose(joint.angle, angle[k], rtol=0, atol=1e-10)
        np.testing.assert_allclose(joint.rate, rate[k], rtol=0, atol=1e-8)


def test_sensitivities_to_what_stands_in_a_drive(monkeypatch):
    found = []
    for prepare in (lambda _: None, by_hand):
        prepare(monkeypatch)
        motion = run(driven(with_parameters), sensitivities=["a", "w", "l"])
        found.append(np.array([motion.sensitivity("B1_x", name) for name in ("a", "w", "l")]))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-8, atol=1e-8)
    # By hand: B0 turns about (0, 1, 0.2) by f, and the unit vector from the hinge to its centre with it.
    motion = run(driven(with_parameters), sensitivities=["a"])
    a, t = 0.2, motion.t
    f, slope = a * np.cos(5 * t) + a**2, np.cos(5 * t) + 2 * a
    across = 1 / np.sqrt(1.04)  # of x turned about the axis: x cos f + (axis x x) sin f, and axis x x is along -z and y
    np.testing.assert_allclose(motion["B0_x"], 0.1 * np.cos(f), rtol=0, atol=1e-9)
    np.testing.assert_allclose(motion["B0_z"], -0.1 * across * np.sin(f), rtol=0, atol=1e-9)
    np.testing.assert_allclose(motion.sensitivity("B0_x", "a"), -0.1 * np.sin(f) * slope, rtol=0, atol=1e-8)


@pytest.mark.parametrize("law", [sine, table])
def test_names_and_order_of_drives_do_not_matter(law):
    motion, other = run(driven(law)), run(driven(law, backwards=True, prefix="turner"))
    np.testing.assert_allclose(other.q, motion.q, rtol=0, atol=1e-10)
    for k in range(N):
        found, expected = other.reaction(f"turner{k}"), motion.reaction(f"D{k}")
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


def test_units_of_length_do_not_matter():
    metres, millimetres = run(driven(sine)), run(driven(sine, length=1000.0), 1000.0)
    for k in range(N):
        np.testing.assert_allclose(millimetres[f"B{k}_x"] / 1000, metres[f"B{k}_x"], rtol=0, atol=1e-10)

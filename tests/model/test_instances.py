"""Bodies and joints are instances of their kind: the same equations, written out when asked."""

import pickle

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.model import contacts, elements, instances, joints
from dalembert.model.instances import Instance, explicit
from dalembert.model.quaternion import Quaternion
from dalembert.model.time_symbols import function_of_time

KINDS = ("revolute", "prismatic", "cylindrical", "spherical", "universal", "planar", "fixed", "point_on_line")


def chain(n, kind="revolute", *, planar=False):
    """n bodies, each joined to the one before; places and axes that differ from joint to joint."""
    model = da.Model("chain")
    model.gravity([0, -9.81] if planar else [0, 0, -9.81])
    last, end = model.ground, [0.0, 0.0] if planar else [0.0, 0.0, 0.0]
    slides = kind in ("prismatic", "point_on_line")
    for k in range(n):
        body = model.body(f"B{k}", mass=1.0 + 0.1 * k, inertia=0.01 if planar else [0.01, 0.02, 0.02])
        tilt = {"axis": [1.0, 0.1 * k]} if slides else {}
        axis = tilt if planar else {"axis": [0.1 * k, 1.0, 0.2]}
        start = [-0.1, 0.02 * k] if planar else [-0.1, 0.02 * k, 0.0]
        getattr(model.joints, kind)(f"J{k}", model.marker(last, end, **axis), model.marker(body, start, **axis))
        last, end = body, [0.1, 0.0] if planar else [0.1, 0.0, 0.03 * k]
    return model


def rows(model):
    """Constraints, kinematics and invariants written out."""
    s = model.statement
    invariants = [explicit(e) for _, e in s.invariants]
    return [c.expression for c in s.constraints] + [explicit(e) for e in s.kinematics] + invariants


def numbers(expressions, model):
    """Values of expressions at one state, the same for equal models."""
    s, rng = model.statement, np.random.default_rng(5)
    symbols = [*s.coordinates, *s.speeds, *(q.diff(model.t) for q in s.coordinates)]
    values = dict(zip(symbols[::-1], rng.uniform(0.2, 1.0, len(symbols)), strict=True))  # rates first
    return np.array([float(e.xreplace(values)) for e in expressions])


def write_out(monkeypatch):
    """Have all joints and elements of later models written out, and the rates of quaternions with them."""
    written = property(lambda self: (*self.rates, self.norm))
    monkeypatch.setattr(Quaternion, "instances", written)
    for module in (joints, elements, contacts):
        for fill in ("fill_rows", "fill", "fill_line"):
            monkeypatch.setattr(module, fill, lambda *_: None, raising=False)


@pytest.mark.parametrize(
    ("kind", "planar"),
    [(kind, False) for kind in KINDS] + [(k, True) for k in ("revolute", "prismatic", "fixed", "point_on_line")],
)
def test_instances_are_the_rows_that_would_be_written_out(monkeypatch, kind, planar):
    quick = chain(5, kind, planar=planar)
    assert all(isinstance(c.stated, Instance) for c in quick.statement.constraints)
    write_out(monkeypatch)
    slow = chain(5, kind, planar=planar)
    assert not any(isinstance(c.stated, Instance) for c in slow.statement.constraints)
    found, expected = (numbers(rows(model), model) for model in (quick, slow))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)  # terms of order 1, some tens of roundings


@pytest.mark.parametrize("kind", ["revolute", "fixed"])
def test_joints_of_instances_exert_what_written_out_ones_do(monkeypatch, kind):
    pushes = []
    for prepare in (lambda _: None, write_out):
        prepare(monkeypatch)
        model = chain(5, kind)
        entries = [e for joint in model.statement.joints for v in (*joint.forces, *joint.torques) for e in v]
        pushes.append(numbers([explicit(e) for e in entries], model))
    np.testing.assert_allclose(pushes[0], pushes[1], rtol=0, atol=1e-13)


def test_systems_of_instances_have_the_same_accelerations(monkeypatch):
    n, found = 20, []
    for prepare in (lambda _: None, write_out):
        prepare(monkeypatch)
        system = chain(n, planar=True).compile()
        q = {f"B{k}_x": 0.2 * k + 0.1 for k in range(n)}
        state = system.initial(guess=q)
        found.append(state.udot)
    assert np.abs(found[0]).max() > 1.0
    # Both start from states that hold to 1e-12, and the chain's conditioning is a few hundred.
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-8)


def test_an_instance_reads_derives_and_pickles_like_what_it_stands_for():
    model = chain(3, planar=True)
    row = model.statement.constraints[-1]
    x = model.statement.coordinates[-1]
    assert isinstance(row.stated, Instance)
    assert str(row.stated) == str(row.expression)
    assert row.stated.diff(x) == row.expression.diff(x)
    assert row.stated.free_symbols == row.expression.free_symbols
    moved = row.stated.xreplace({x: x + 1})
    assert sp.expand(moved.doit() - row.expression.xreplace({x: x + 1})) == 0
    again = Instance(row.stated.template, row.stated.index, row.stated.args)
    assert again == row.stated
    assert hash(again) == hash(row.stated)
    a, b = sp.symbols("a b")
    plain = instances.DIFFERENCE.fill((a, b))[0]
    assert pickle.loads(pickle.dumps(plain)) == plain


def test_functions_of_time_are_those_of_sympy():
    quick, plain = function_of_time("wheel"), sp.Function("wheel")(sp.Symbol("t"))
    assert quick == plain
    assert plain == quick
    assert hash(quick) == hash(plain)
    assert quick.func == plain.func
    assert quick.diff() == plain.diff()
    assert quick - plain == 0
    assert sp.srepr(quick) == sp.srepr(plain)
    assert quick.assumptions0 == plain.assumptions0
    assert (quick.nargs, quick.func.nargs, quick.args) == (plain.nargs, plain.func.nargs, plain.args)
    assert pickle.loads(pickle.dumps(quick.diff() + 1)) == plain.diff() + 1


def test_equations_of_many_bodies_can_still_be_read():
    model = chain(3, planar=True)
    assert "J2[0]" in model._repr_html_()
    assert not any(isinstance(e, Instance) for e in rows(model))


def sprung(n, *, planar):
    """n bodies on springs, dampers and actuators to the one before; numbers that differ, a parameter among them."""
    model = da.Model("sprung")
    (c,) = model.parameters(c=30.0)
    last = model.marker(model.ground, [0.0, 0.1] if planar else [0.0, 0.1, 0.2])
    for k in range(n):
        body = model.body(f"B{k}", mass=1.0, inertia=0.01 if planar else [0.01, 0.02, 0.02])
        near, far = ([-0.1, 0.02 * k], [0.1, 0.0]) if planar else ([-0.1, 0.02 * k, 0.0], [0.1, 0.0, 0.03 * k])
        end = model.marker(body, near)
        model.elements.spring(f"S{k}", last, end, stiffness=c + k, length=0.0 if k % 2 else 0.05)
        model.elements.damper(f"D{k}", last, end, coefficient=c / (k + 1))
        model.elements.actuator(f"A{k}", last, end, force=sp.sin(model.t) * body.position[0].diff() + k)
        last = model.marker(body, far)
    return model


@pytest.mark.parametrize("planar", [True, False])
def test_force_elements_of_many_bodies_are_those_that_would_be_written_out(monkeypatch, planar):
    quick = sprung(4, planar=planar)
    assert isinstance(quick.statement.energies[-1].potential, Instance)
    assert all(isinstance(force.vector[0], Instance) for force in quick.statement.forces[-4:])  # of D and A
    write_out(monkeypatch)
    slow = sprung(4, planar=planar)
    assert not isinstance(slow.statement.energies[-1].potential, Instance)
    systems = [model.compile() for model in (quick, slow)]
    rng = np.random.default_rng(7)
    q, u = rng.uniform(-1, 1, systems[0].nq), rng.uniform(-1, 1, systems[0].nu)
    for name in ("dynamics", "energy", "drawing", "element_efforts"):
        kernels = [system.kernel(name) for system in systems]
        x = np.concatenate([[0.0], q, u, [30.0]])
        x = np.concatenate([x, np.zeros(kernels[0].n_in - len(x))])  # accelerations, where they are read
        found, expected = (kernel(x) for kernel in kernels)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max(initial=0.0))
    efforts = (model.statement.elements[-3].effort for model in (quick, slow))
    assert sp.simplify(explicit(next(efforts)) - next(efforts)) == 0


def driven(n, *, planar):
    """n bodies that hold to the one before by rods, drives and elements that turn; numbers that differ."""
    model = da.Model("driven")
    (c,) = model.parameters(c=30.0)
    axis = {} if planar else {"axis": [0.2, 1.0, 0.3]}
    last = model.marker(model.ground, [0.0, 0.1] if planar else [0.0, 0.1, 0.2], **axis)
    about = {} if planar else {"axis": [0.1, 0.2, 1.0]}
    for k in range(n):
        body = model.body(f"B{k}", mass=1.0, inertia=0.01 if planar else [0.01, 0.02, 0.02])
        near, far = ([-0.1, 0.02 * k], [0.1, 0.0]) if planar else ([-0.1, 0.02 * k, 0.0], [0.1, 0.0, 0.03 * k])
        end = model.marker(body, near, **axis)
        hinge, slide = model.joints.revolute(f"J{k}", last, end), {"axis": [1.0, 0.2 + k]}
        model.joints.rod(f"R{k}", last, model.marker(body, far), length=c / (k + 20) if k % 2 else 1.0)
        model.joints.drive(f"T{k}", hinge, angle=sp.sin(model.t) * k + c / 60)
        ends = model.marker(last.body, near, **slide), model.marker(body, far, **slide)
        line = model.joints.point_on_line(f"L{k}", *ends)
        model.joints.drive(f"D{k}", line, displacement=0.1 * k * model.t**2)
        model.elements.torsion_spring(f"S{k}", last, end, stiffness=c + k, angle=0.1 * (k % 2))
        model.elements.torsion_damper(f"C{k}", last, end, coefficient=c / (k + 1), **about)
        model.elements.motor(f"M{k}", last, end, torque=k * sp.cos(model.t), **about)
        last = model.marker(body, far, **axis)
    return model


def geared(n, *, planar):
    """n bodies on hinges in a chain, geared to the hinge before in rates or, in the plane, angles; screws in space."""
    model = da.Model("geared")
    (r,) = model.parameters(r=0.3)
    axis = {} if planar else {"axis": [0.2, 1.0, 0.3]}
    last, hinge = model.marker(model.ground, [0.0, 0.1] if planar else [0.0, 0.1, 0.2], **axis), None
    for k in range(n):
        body = model.body(f"B{k}", mass=1.0, inertia=0.01 if planar else [0.01, 0.02, 0.02])
        near, far = ([-0.1, 0.02 * k], [0.1, 0.0]) if planar else ([-0.1, 0.02 * k, 0.0], [0.1, 0.0, 0.03 * k])
        before, hinge = hinge, model.joints.revolute(f"J{k}", last, model.marker(body, near, **axis))
        if before is not None:
            model.joints.gear(f"G{k}", before, hinge, ratio=r * k)
        if before is not None and planar:
            model.joints.gear(f"P{k}", before, hinge, ratio=-1 if k % 2 else r, phase=0.1 * k)
        last = model.marker(body, far, **axis)
        if not planar:
            nut = model.body(f"N{k}", mass=1.0, inertia=[0.01, 0.02, 0.02])
            model.joints.screw(f"S{k}", last, model.marker(nut, near, axis=[1.0, 0.1 * k, 0.2]), pitch=r if k else 0.2)
    return model


def rolling(n):
    """n discs and balls on planes, each on a plane of the one before, and skates and wheels in the plane."""
    model = da.Model("rolling")
    (r,) = model.parameters(r=0.3)
    plane = model.ground
    for k in range(n):
        disc, ball = (model.body(f"{name}{k}", mass=1.0, inertia=[0.01, 0.02, 0.02]) for name in ("disc", "ball"))
        hub = model.marker(disc, [0.0, 0.1 * k, 0.0], axis=[0.1 * k, 1.0, 0.0])
        model.contacts.disc(f"D{k}", hub, radius=r + k, tube=0.05 * (k % 2), plane=plane)
        model.contacts.sphere(f"S{k}", ball, radius=r / (k + 1), plane=plane)
        plane = model.marker(ball, [0.0, 0.0, 0.1 * k], axis=[0.0, 0.3, 1.0])
        cart = model.body(f"cart{k}", mass=1.0, inertia=0.1)
        model.contacts.skate(f"B{k}", model.marker(cart, [0.1 * k, 0.2]))
        (w,) = model.coordinates(f"w{k}")
        model.energy(kinetic=w.diff() ** 2)
        model.contacts.wheel(f"W{k}", model.marker(cart, [0.3, 0.1 * k]), radius=r, spin=w.diff())
    return model


@pytest.mark.parametrize(
    "build",
    [
        lambda: driven(4, planar=True),
        lambda: driven(4, planar=False),
        lambda: geared(4, planar=True),
        lambda: geared(4, planar=False),
        lambda: rolling(3),
    ],
)
def test_drives_and_contacts_are_those_that_would_be_written_out(monkeypatch, build):
    quick = build()
    assert all(isinstance(c.stated, Instance) for c in quick.statement.constraints)
    write_out(monkeypatch)
    slow = build()
    assert not any(isinstance(c.stated, Instance) for c in slow.statement.constraints)
    assert [(c.name, c.level, c.unit) for c in quick.statement.constraints] == [
        (c.name, c.level, c.unit) for c in slow.statement.constraints
    ]
    systems = [model.compile() for model in (quick, slow)]
    x = np.random.default_rng(7).uniform(0.2, 1.0, 10_000)  # time, coordinates, speeds, one parameter, u', la
    for name in ("dynamics", "residual", "energy", "drawing", "element_efforts", "joints"):
        if name in systems[0].functions:
            kernels = [system.kernel(name) for system in systems]
            found, expected = (kernel(x[: kernel.n_in]) for kernel in kernels)
            # numbers of a few hundred terms of their largest
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12 * np.abs(expected).max(initial=0.0))

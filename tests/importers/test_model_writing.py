"""Models written to files and read again: nothing is lost, and the motion is the same."""

import dataclasses
import json

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert import problems
from dalembert.importers.expression_text import ExpressionText
from dalembert.importers.expression_writing import ExpressionWriter
from dalembert.importers.model_writing import model_text
from dalembert.importers.schema import json_schema
from dalembert.model.instances import explicit

NAMES = [problem.name for problem in problems.all()]


def again(model, tmp_path, **run):
    return da.from_toml(model.to_toml(tmp_path / "model.toml", **run))


def stated(model):
    """Everything a model says, but for its faults."""
    closed = model.closed()
    said = {f.name: getattr(closed, f.name) for f in dataclasses.fields(closed) if f.name != "faults"}
    kinematics = [explicit(e) for e in said["kinematics"]]  # a file may say the same in other words
    constraints = {c.name: c for c in said["constraints"]}  # conditions come after them in a file
    return said | {"kinematics": kinematics, "constraints": constraints}


@pytest.mark.parametrize("name", NAMES)
def test_catalogue_is_the_same_from_a_file(name, tmp_path):
    problem = problems.get(name)
    model = problem.build()
    file = again(model, tmp_path, given=problem.given, guess=problem.guess, t_end=problem.t_end)
    expected, found = stated(model), stated(file.model)
    assert {key for key in expected if found[key] != expected[key]} == set()
    assert (file.given, file.guess, file.t_end) == (problem.given, problem.guess, problem.t_end)


@pytest.mark.parametrize("name", NAMES)
def test_motion_from_a_file_is_that_of_the_catalogue(name, tmp_path):
    """All samples of all coordinates and speeds, and the last multipliers, which a file may list in another order."""
    problem = problems.get(name)
    file = again(problem.build(), tmp_path, given=problem.given, guess=problem.guess)
    system, t_end = file.model.compile(), min(problem.t_end, 1.0)
    motion, expected = (
        system.simulate(system.initial(file.given, guess=file.guess), t_end),
        problem.simulate(t_end=t_end),
    )
    np.testing.assert_allclose(motion.t, expected.t, rtol=1e-12)
    for found, wanted in ((motion.q, expected.q), (motion.u, expected.u)):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
    for constraint in system.constraint_names:
        np.testing.assert_allclose(motion[constraint][-1], expected[constraint][-1], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", NAMES)
def test_file_of_a_file_is_the_same_text(name, tmp_path):
    model = problems.get(name).build()
    assert model_text(again(model, tmp_path).model) == model_text(model)


def test_tables_of_data_come_back(tmp_path):
    """A force that rises and falls as a triangle of height 3 and width 2 leaves m v = 3; a file says it alike."""
    m = da.Model("pushed")
    (x,) = m.coordinates("x")
    push = m.table("push", [0.0, 1.0, 2.0], np.array([0.0, 3.0, 0.0]))
    dent = m.table("dent", [0.0, 1.0, 2.0, 3.0], [0.0, 1.0, -1.0, 0.0], kind="cubic", ends="periodic")
    m.particle("P", mass=2, position=[x, 0])
    m.generalized_force({x: push(m.t) + 0 * dent(m.t)})
    m.output("road", dent(x) + dent(2 * m.t))
    file = again(m, tmp_path, given={"x": 0, "x_dot": 0}, t_end=3)
    assert model_text(file.model) == model_text(m)
    motions = []
    for model in (m, file.model):
        system = model.compile()
        motions.append(system.simulate(system.initial({"x": 0, "x_dot": 0}), 3))
    assert motions[1]["x_dot"][-1] == pytest.approx(1.5, rel=1e-10)
    np.testing.assert_array_equal(motions[0].q, motions[1].q)
    np.testing.assert_array_equal(motions[0]["road"], motions[1]["road"])
    m.output("slope", dent(x).diff(x))
    with pytest.raises(da.ModelError, match="cannot be written to a model file"):
        m.to_toml(tmp_path / "never.toml")


def machine():
    """A model with something of every group."""
    m = da.Model("machine")
    g, L, k = m.parameters(g=9.81, L=0.5, k=30.0)
    m.gravity([0, -g])
    crank = m.body("crank", mass=1.0, inertia=L**2 / 12)
    rod = m.body("rod", mass=2, inertia=sp.Rational(1, 10))
    slider = m.body("slider", mass=0.5, inertia=0.01)
    main = m.joints.revolute("main", m.ground, m.marker(crank, [-L / 2, 0]))
    m.joints.revolute("pin", m.marker(crank, [L / 2, 0]), m.marker(rod, [-L, 0]))
    m.joints.revolute("wrist", m.marker(rod, [L, 0]), slider)
    m.joints.prismatic("guide", m.marker(m.ground, [0, 0], axis=[1, 0]), m.marker(slider, [0, 0], axis=[1, 0]))
    m.elements.spring("coil", m.ground, slider, stiffness=k, length=2 * L)
    m.elements.damper("dash", m.ground, slider, coefficient=0.3)
    m.elements.motor("drive", m.ground, crank, torque=sp.sin(m.t))
    m.output("stroke", slider.position[0])
    m.output("tip", {"x": rod.position[0], "y": rod.position[1]})
    m.line([crank, rod, slider], name="links")
    m.nonideal(force={crank.rotation[0]: -k / 100 * crank.rotation[0].diff(m.t)})
    assert main.kind == "revolute"
    return m


def space():
    """Spatial bodies, joints on joints, contacts and a surface."""
    m = da.Model("space")
    a, b = (m.body(name, mass=1, inertia=[1, 2, 3]) for name in "AB")
    first = m.joints.revolute("h", m.ground, a)
    second = m.joints.revolute("i", m.ground, m.marker(b, [1, 0, 0], axis=[0, 1, 0], across=[1, 0, 0]))
    m.joints.gear("pair", first, second, ratio=sp.Rational(-1, 2))
    m.joints.drive("turn", first, angle=sp.sin(m.t))
    c = m.body("C", mass=1, inertia=[1, 1, 1])
    m.contacts.sphere("roll", c, radius=0.2)
    p = m.particle("p", mass=1, position=m.coordinates("x y z"))
    m.joints.point_on_surface("bowl", m.ground, p, lambda x, y, z: z - x**2 - y**2)
    m.nonideal("bowl", friction=0.1, at=p, regularisation=1e-3)
    m.force([0, 0, -1], at=p)
    m.force([1, 0, 0], at=[0, 0, 1])
    m.torque([0, 0, 1], on=c)
    return m


def beam():
    m = da.Model("beam")
    cable = m.beams.cable(
        "wire", start=[0, 0], end=[1, 0], elements=2, density=1.0, axial_stiffness=1e3, bending_stiffness=1.0
    )
    m.joints.fixed("clamp", m.ground, cable.start)
    m.force([0, -1], at=cable.end)
    floating = m.beams.floating("arm", length=1.0, modes=2, density=1.0, bending_stiffness=2.0)
    m.joints.revolute("root", m.ground, floating.frame)
    m.joints.spherical("tie", cable.at(0.5), floating.at(0.25))
    return m


def general_speeds():
    m = da.Model("general speeds")
    x, y, th = m.coordinates("x y th")
    u = sp.symbols("u1:4", cls=sp.Function)
    u = [f(m.t) for f in u]
    m.speeds(
        u, kinematics=[x.diff(m.t) - u[0] * sp.cos(th), y.diff(m.t) - u[0] * sp.sin(th) - u[1], th.diff(m.t) - u[2]]
    )
    m.body("sleigh", mass=1, inertia=2, position=[x, y], rotation=th)
    m.matrices(mass=sp.diag(1, 0, 0), force=[0, 0, -u[2]])
    m.energy(potential=x**2 / 2)
    m.energy(potential=y**4)
    m.generalized_force({th: 1, u[0]: -u[0]})
    m.constrain([u[1], u[2] - sp.Min(m.t, 1)], name="pair", unit=["m/s", "rad/s"])
    return m


def creeping():
    """A law of a reaction with a start of Newton's method, and a condition without a reaction."""
    m = da.Model("creep")
    x, y = m.coordinates("x y")
    p = m.particle("P", mass=2, position=[x, y])
    m.gravity([0, -9.81])
    floor = m.constrain(y, name="floor")
    (pull,) = m.unknowns(T=-1.0)
    m.force([pull, 0], at=p)
    m.law(pull + sp.sqrt(floor.multiplier) * x.diff(m.t), determines=pull, name="creep")
    m.condition(y * 2, name="again", unit="m")
    return m


@pytest.mark.parametrize("build", [creeping, machine, space, beam, general_speeds])
def test_every_verb_comes_back(build, tmp_path):
    model = build()
    assert not model.statement.faults
    file = again(model, tmp_path)
    expected, found = stated(model), stated(file.model)
    drop = {"coordinates", "speeds", "kinematics"} if build is space else set()  # symbols come first in a file
    for key in drop:
        assert set(found[key]) == set(expected[key])
    kept = {key: expected[key] for key in expected if key not in drop}
    lists = {"constraints", "joints"} if build is space else set()
    assert {key for key in kept if key not in lists and found[key] != kept[key]} == set()
    for key in lists:
        names = [{getattr(item, "name", item) for item in said[key]} for said in (found, kept)]
        assert names[0] == names[1]


# -- expressions -------------------------------------------------------------------------------------------------------

T = da.Model().t
SYMBOLS = {name: sp.Symbol(name) for name in "abL"} | {name: sp.Function(name)(T) for name in "xyv"}
LEAVES = st.one_of(
    st.sampled_from([*SYMBOLS.values(), SYMBOLS["x"].diff(T), SYMBOLS["y"].diff(T, 2), T, sp.pi]),
    st.integers(-9, 9).map(sp.Integer),
    st.fractions(max_denominator=20).map(lambda f: sp.Rational(f.numerator, f.denominator)),
    st.floats(-1e9, 1e9, allow_nan=False).map(sp.Float),
)


def _grown(inner):
    two = st.tuples(inner, inner)
    return st.one_of(
        two.map(lambda p: p[0] + p[1]),
        two.map(lambda p: p[0] * p[1]),
        two.map(lambda p: p[0] - p[1]),
        two.map(lambda p: p[0] / (2 + p[1] ** 2)),
        st.tuples(inner, st.sampled_from([2, 3, -1, sp.Rational(1, 2), sp.Rational(-3, 2)])).map(
            lambda p: (1 + p[0] ** 2) ** p[1]
        ),
        st.tuples(st.sampled_from([sp.sin, sp.cos, sp.tanh, sp.exp, sp.Abs, sp.sign, sp.atan]), inner).map(
            lambda p: p[0](p[1])
        ),
        two.map(lambda p: sp.atan2(p[0], 2 + p[1] ** 2)),
    )


@given(st.recursive(LEAVES, _grown, max_leaves=6))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_expressions_come_back_as_they_were(expression):
    faults = []
    text = ExpressionWriter("model", T).text(expression)
    read = ExpressionText(dict(SYMBOLS), {}, T, faults.append).read(text, "here")
    assert not faults
    assert read == expression or _equal(read, expression)


def _equal(a, b):
    """Equal at some point: SymPy may order floating-point factors otherwise."""
    point = {s: 0.3 + 0.1 * k for k, s in enumerate(SYMBOLS.values())} | {T: 0.7}
    rates = {SYMBOLS["x"].diff(T): 0.9, SYMBOLS["y"].diff(T, 2): -0.4}
    values = [complex(e.xreplace(rates).xreplace(point).evalf(30)) for e in (a, b)]
    return abs(values[0] - values[1]) <= 1e-14 * (1 + abs(values[1]))


@pytest.mark.parametrize(
    "expression",
    [sp.Piecewise((1, T > 0), (0, True)), sp.Heaviside(T), sp.Symbol("m_{1}"), sp.Function("f")(SYMBOLS["x"])],
)
def test_what_a_file_cannot_hold_is_named(expression, tmp_path):
    model = da.Model("odd")
    (x,) = model.coordinates("x")
    model.particle("P", mass=1, position=[x, 0])
    model.generalized_force({x: expression})
    with pytest.raises(da.ModelError, match="model file"):
        model.to_toml(tmp_path / "odd.toml")
    assert not list(tmp_path.iterdir())


def test_place_that_cannot_be_written_is_told(tmp_path):
    with pytest.raises(da.FileError, match="cannot be written"):
        problems.get("pendulum").build().to_toml(tmp_path / "none" / "x.toml")


def test_schema_knows_every_key_that_is_read():
    schema = json_schema()
    json.dumps(schema)
    rods = [entry for entry in schema["properties"]["joints"]["items"]["oneOf"] if "length" in entry["properties"]]
    assert [entry["properties"]["kind"]["const"] for entry in rods] == ["rod"]
    assert rods[0]["required"] == ["kind", "name", "first", "second", "length"]

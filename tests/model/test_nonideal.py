"""Non-ideal reactions as they are stated: what is refused, by name, and what the friction kernel then computes."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.errors import ModelError


class Start:
    """A sound model of a particle on a track, to be spoiled by non-ideal parts."""

    def __init__(self):
        self.model = da.Model("spoiled")
        self.x, self.y = self.model.coordinates("x y")
        self.vx, self.vy = self.model.speeds("vx vy")
        self.m, self.mu = self.model.parameters(m=1.0, mu=0.3)
        self.P = self.model.particle("P", mass=self.m, position=[self.x, self.y])
        self.track = self.model.constrain(self.y - self.x**2, name="track")

    def rub(self, constraint="track", **changes):
        self.model.nonideal(constraint, **{"friction": 0.3, "at": self.P, **changes})


@pytest.fixture
def s():
    return Start()


def one_fault(model, *words):
    with pytest.raises(ModelError) as caught:
        model.compile()
    assert len(caught.value.faults) == 1, caught.value.faults
    for word in words:
        assert word in caught.value.faults[0], caught.value.faults[0]


# -- faults ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"friction": -0.1}, ("coefficient of friction on `track`", "-0.1", "negative")),
        ({"friction": "rough"}, ("coefficient of friction on `track`", "'rough'")),
        ({"friction": sp.Symbol("nu")}, ("coefficient of friction on `track`", "`nu`", "never declared")),
        ({"regularisation": 0.0}, ("regularisation of friction on `track`", "positive")),
        ({"regularisation": -1e-3}, ("regularisation of friction on `track`", "-0.001")),
        ({"regularisation": None}, ("regularisation of friction on `track`", "None")),
        ({"constraint": "trak"}, ("`trak`", "no constraint of that name")),
        ({"constraint": "P"}, ("`P`", "no constraint of that name")),
        ({"constraint": None}, ("needs the constraint",)),
        ({"constraint": 3}, ("one constraint or its name", "int")),
        ({"at": None}, ("friction on `track`", "at=")),
        ({"at": [1, 2, 3, 4]}, ("point of friction on `track`", "2 or 3 components")),
        ({"at": [1, 2]}, ("friction on `track`", "does not move")),
        ({"surface_velocity": [1]}, ("surface velocity of friction on `track`", "components")),
        ({"vector": [1, 0]}, ("vector and friction",)),
        ({"force": {}}, ("force and friction",)),
    ],
)
def test_bad_friction(s, changes, words):
    s.rub(**changes)
    one_fault(s.model, *words)


def test_a_parameter_may_not_make_the_coefficient_negative(s):
    s.rub(friction=s.mu - 0.5)
    one_fault(s.model, "coefficient of friction on `track`", "-0.2")


def test_a_surface_that_moves_nonlinearly(s):
    s.rub(surface_velocity=[s.vx**2, 0])
    one_fault(s.model, "surface velocity of friction on `track`", "not linear in the speeds")


def test_friction_where_the_constraint_does_not_act(s):
    z = s.model.coordinates("z")[0]
    Q = s.model.particle("Q", mass=1, position=[z, 0])
    s.rub(at=Q)
    one_fault(s.model, "friction on `track`", "no force at `Q`")


def test_friction_where_nothing_can_slide(s):
    z = s.model.coordinates("z")[0]
    Q = s.model.particle("Q", mass=1, position=[z, 0])
    s.model.constrain(z - 1, name="stop")
    s.rub("stop", at=Q)
    one_fault(s.model, "friction on `stop`", "`Q` cannot slide")


def test_friction_on_a_servo_constraint(s):
    (F,) = s.model.unknowns("F")
    s.model.force([F, 0], at=s.P)
    s.rub(s.model.constrain(s.x - s.model.t, name="drive", servo=F))
    one_fault(s.model, "friction on `drive`", "unknown")


def test_friction_on_a_constraint_that_the_kinematics_keep():
    model = da.Model("spoiled")
    a, b = model.coordinates("a b")
    model.speeds("u", kinematics={a: sp.Function("u")(model.t), b: sp.Function("u")(model.t)})
    P = model.particle("P", mass=1, position=[a, b])
    model.nonideal(model.constrain(a - b, name="kept"), friction=0.1, at=P)
    one_fault(model, "friction on `kept`", "no reaction")


def test_friction_on_a_constraint_nonlinear_in_accelerations(s):
    s.rub(s.model.constrain(s.vx.diff() ** 2 + s.vy.diff() ** 2 - 4, name="thrust"))
    one_fault(s.model, "friction on `thrust`", "depends on the accelerations")


def test_friction_on_a_constraint_linear_in_accelerations(s):
    s.rub(s.model.constrain(s.vy.diff() - s.vx.diff(), name="linear"))
    assert not s.model.compile().ideal


def test_friction_names_only_the_fault_of_its_constraint(s):
    s.rub(s.model.constrain("x", name="spoiled"))
    one_fault(s.model, "constraint `spoiled`")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, ("one of force=, vector= and friction=", "none")),
        ({"force": 3}, ("mapping", "3")),
        ({"force": {"z": 1}}, ("non-ideal force along `z`", "neither a coordinate nor a speed")),
        ({"force": {"x": "1"}}, ("non-ideal force along `x`",)),
        ({"vector": [1, 0]}, ("at=",)),
        ({"force": {"x": 1}, "at": [1, 2]}, ("at=",)),
        ({"force": {"x": 1}, "surface_velocity": [1, 2]}, ("surface velocity",)),
        ({"constraint": "track", "force": {"x": 1}}, ("belong to friction",)),
        ({"vector": [1], "at": [0, 0]}, ("non-ideal force at `point`", "components")),
    ],
)
def test_bad_prescribed_forces(s, arguments, words):
    s.model.nonideal(**arguments)
    one_fault(s.model, *words)


def test_prescribed_forces_may_contain_neither_accelerations_nor_unknowns(s):
    (F,) = s.model.unknowns("F")
    s.model.force([F, 0], at=s.P)
    s.model.constrain(s.x, servo=F)
    s.model.nonideal(force={s.x: F})
    with pytest.raises(ModelError, match="non-ideal force along `x\\(t\\)` contains `F\\(t\\)`"):
        s.model.compile()


# -- what comes out ----------------------------------------------------------------------------------------------------


def test_prescribed_forces_keep_the_system_ideal(s):
    s.model.nonideal(force={"x": -s.vx})
    s.model.nonideal(vector=[0, s.x], at=s.P)
    s.model.nonideal(force={s.vy: 2})
    system = s.model.compile()
    q, u = [0.3, 0.09], [2.0, 1.0]
    assert system.ideal
    assert np.allclose(system.prescribed_reaction(0, q, u), [-2.0, 2.3])
    assert np.allclose(system.forces(0, q, u), 0.0)


def friction_by_hand(J, v, a, mu, v0):
    """mu |n| J^T v / sqrt(v.v + v0^2), with v tangential, by NumPy's pseudo-inverse."""
    n = np.linalg.pinv(J @ J.T) @ J @ a
    v = v - n * (n @ v) / (n @ n)
    return mu * np.linalg.norm(n) * J.T @ v / np.sqrt(v @ v + v0**2)


@pytest.mark.parametrize("case", ["plane", "sphere", "body", "cylinder"])
def test_friction_per_unit_of_the_multiplier(case):
    """Points with 2 and 3 components that can move, and with fewer freedoms than components."""
    model = da.Model(case)
    t = model.t
    q = model.coordinates("q1 q2 q3")
    a, b, c = q
    position = {
        "plane": [a + 2 * b, b, 0],
        "sphere": [a, b + c, c],
        "body": [a - sp.cos(c), b - sp.sin(c)],
        "cylinder": [sp.cos(a), sp.sin(a), b + 0.3 * c],
    }[case]
    model.energy(kinetic=sum(e.diff(t) ** 2 for e in q) / 2)
    x, y, z = [*position, 0][:3]
    expression = {"plane": y - x**2, "sphere": x**2 + y**2 + z**2 - 1, "body": y, "cylinder": z - sp.Rational(1, 2) * a}
    track = model.constrain(expression[case], name="track")
    model.nonideal(track, friction=0.4, at=position, regularisation=0.05, surface_velocity=[0.1, 0.0])
    system = model.compile()
    values, speeds = np.array([0.3, 0.5, -0.7]), np.array([1.1, -0.4, 0.6])
    J = np.array(sp.Matrix([x, y, z]).jacobian(q).subs(dict(zip(q, values, strict=True))), dtype=float)
    v = J @ speeds - [0.1, 0.0, 0.0]
    moving = np.abs(J).sum(axis=1) > 0
    gradient = system.constraint_jacobian(0, values, speeds)[0]
    expected = friction_by_hand(J[moving], v[moving], gradient, 0.4, 0.05)
    assert system._part("friction", 0, values, speeds, None)[0] == pytest.approx(expected, rel=1e-12, abs=1e-14)

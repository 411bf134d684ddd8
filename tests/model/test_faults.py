"""Every bad statement is refused by a `ModelError` that names the item or symbol; nothing else escapes."""

import itertools
import math
import pickle

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import ReferenceFrame, dynamicsymbols

import dalembert as da
from dalembert.equations.laws import Servo
from dalembert.errors import ModelError

t = dynamicsymbols._t
stray = sp.Symbol("stray")


class Start:
    """A sound model of one particle to spoil: coordinates x y, parameter m, particle P."""

    def __init__(self):
        self.model = da.Model("spoiled")
        self.x, self.y = self.model.coordinates("x y")
        (self.m,) = self.model.parameters(m=1.0)
        self.P = self.model.particle("P", mass=self.m, position=[self.x, self.y])

    def body(self, **changes):
        options = {"mass": self.m, "inertia": 1, "position": [self.x, self.y], "rotation": self.x}
        return self.model.body("B", **{**options, **changes})


@pytest.fixture
def s():
    return Start()


def faults_of(model):
    with pytest.raises(ModelError) as caught:
        model.compile()
    assert "spoiled" in str(caught.value)
    assert all(fault in str(caught.value) for fault in caught.value.faults)
    return caught.value.faults


def one_fault(model, *words):
    faults = faults_of(model)
    assert len(faults) == 1, faults
    for word in words:
        assert word in faults[0], faults[0]
    return faults[0]


def test_the_start_is_sound(s):
    s.body()
    assert s.model.compile().nu == 2


# -- expressions in every place ----------------------------------------------------------------------------------------

PLACES = {
    "position of particle `Q`": lambda s, e: s.model.particle("Q", mass=1, position=[e, 0]),
    "velocity of particle `Q`": lambda s, e: s.model.particle("Q", mass=1, velocity=[e, 0]),
    "mass of particle `Q`": lambda s, e: s.model.particle("Q", mass=e, position=[s.x, 0]),
    "mass of body `B`": lambda s, e: s.body(mass=e),
    "position of body `B`": lambda s, e: s.body(position=[0, e]),
    "velocity of body `B`": lambda s, e: s.body(velocity=[0, e]),
    "inertia of body `B`": lambda s, e: s.body(inertia=e),
    "inertia of body `B` ": lambda s, e: s.body(inertia=[1, 2, e], rotation=sp.eye(3)),
    "inertia of body `B`  ": lambda s, e: s.body(inertia=[[1, 0, 0], [0, 1, 0], [0, 0, e]], rotation=sp.eye(3)),
    "rotation of body `B`": lambda s, e: s.body(rotation=e),
    "rotation of body `B` ": lambda s, e: s.body(rotation=[[1, 0, 0], [0, 1, 0], [0, 0, e]], inertia=[1, 1, 1]),
    "rotation of body `B`  ": lambda s, e: s.body(rotation=[e, 0, 0, s.y], inertia=[1, 1, 1]),
    "angular velocity of body `B`": lambda s, e: s.body(angular_velocity=[0, 0, e]),
    "force at `P`": lambda s, e: s.model.force([e, 0], at=s.P),
    "point": lambda s, e: s.model.force([1, 0], at=[e, 0]),
    "torque on `B`": lambda s, e: s.model.torque(e, on=s.body()),
    "torque on `B` ": lambda s, e: s.model.torque([0, 0, e], on=s.body()),
    "generalised force along `x": lambda s, e: s.model.generalized_force({s.x: e}),
    "kinetic energy": lambda s, e: s.model.energy(kinetic=e),
    "potential energy": lambda s, e: s.model.energy(potential=e),
    "matrices: mass": lambda s, e: s.model.matrices(mass=[[e, 0], [0, 1]], force=[0, 0]),
    "matrices: force": lambda s, e: s.model.matrices(mass=sp.eye(2), force=[0, e]),
    "constraint `c`": lambda s, e: s.model.constrain(_plus(s.x, e), name="c"),
    "gravity": lambda s, e: s.model.gravity([0, e]),
    "line `rod`": lambda s, e: s.model.line([[0, 0], [e, 0]], name="rod"),
    "rate of `x": lambda s, e: _rate(s, e, listed=False),
    "kinemati": lambda s, e: _rate(s, e, listed=True),
}


def _plus(x, e):
    return x + e if isinstance(e, sp.Expr) else e


def _rate(s, e, *, listed):
    u, w = dynamicsymbols("u w")
    if listed:
        s.model.speeds("u w", kinematics=[s.y.diff() - u - w, _plus(s.x.diff() - u, e)])
    else:
        s.model.speeds("u w", kinematics={s.x: e, "y": u + w})


x_of_t, never = dynamicsymbols("x never")
UNDECLARED = {
    "a symbol": (stray, "stray"),
    "a function of time": (never, "never"),
    "its rate": (never.diff(t), "never"),
    "an undefined function": (sp.Function("curve")(x_of_t), "curve"),
    "the right name with other assumptions": (sp.Symbol("m", positive=True), "use the symbol the model returned"),
    "a third derivative": (x_of_t.diff(t, 3), "beyond accelerations"),
}


def label_of(place):
    """The label a fault in this place starts with; rates become kinematical equations once they are read."""
    return place.strip().replace("rate of `x", "kinematical equation")


LOWERED = ("constraint `c`", "a third derivative")  # has a meaning there, see equations/high_order


@pytest.mark.parametrize(
    ("place", "what"), sorted({(place, what) for place in PLACES for what in UNDECLARED} - {LOWERED})
)
def test_undeclared_symbols_are_named_with_their_place(s, place, what):
    expression, word = UNDECLARED[what]
    PLACES[place](s, expression)
    faults = faults_of(s.model)
    assert any(label_of(place) in fault and word in fault for fault in faults), faults
    allowed = (label_of(place), "constraint `|B|`")  # the norm of a quaternion repeats what is wrong with it
    assert all(fault.startswith(allowed) or "point `point`" in fault for fault in faults), faults


NOT_EXPRESSIONS = {
    "string": ("x", "'x'"),
    "True": (True, "True"),
    "numpy bool": (np.bool_(True), "True"),
    "sympy true": (sp.true, "True"),
    "relation": (sp.Symbol("m") > 0, "m > 0"),
    "frame vector": (ReferenceFrame("N").x, "to_matrix"),
    "object": (object(), "object"),
    "set": ({1}, "{1}"),
    "nan": (math.nan, "nan"),
    "oo": (sp.oo, "oo"),
    "zoo": (sp.zoo, "zoo"),
    "None": (None, "None"),
}


@pytest.mark.parametrize("what", NOT_EXPRESSIONS)
@pytest.mark.parametrize("place", PLACES)
def test_what_is_no_finite_expression_is_refused(s, place, what):
    value, word = NOT_EXPRESSIONS[what]
    if value is None and place == "rotation of body `B`":
        word = "neither rotation nor angular velocity"
        place = "body `B`"
        s.body(rotation=None)
    else:
        PLACES[place](s, value)
    place = "kinematics" if place == "kinemati" else place.strip()
    one_fault(s.model, place, word)


NOT_REAL = {
    "python complex": (1j, "imaginary"),
    "I": (sp.I * sp.Symbol("m"), "imaginary"),
    "unsupported function": (sp.gamma(x_of_t), "gamma"),
    "integral": (sp.Integral(sp.cos(x_of_t * t), (t, 0, 1)), "Integral"),
}


@pytest.mark.parametrize("what", NOT_REAL)
@pytest.mark.parametrize("place", PLACES)
def test_what_cannot_be_evaluated_is_named_with_its_place(s, place, what):
    value, word = NOT_REAL[what]
    PLACES[place](s, value if isinstance(value, sp.Expr) else sp.sympify(value))
    faults = faults_of(s.model)
    assert any(label_of(place) in fault and word in fault for fault in faults), faults


def test_a_close_name_is_suggested(s):
    s.model.gravity([0, sp.Symbol("mm")])
    one_fault(s.model, "gravity", "`mm`", "did you mean `m`?")


ORDER = {
    "position of particle `Q`": "coordinates, parameters and time",
    "mass of particle `Q`": "parameters and time only",
    "inertia of body `B`": "parameters and time only",
    "potential energy": "coordinates, parameters and time",
    "line `rod`": "coordinates, parameters and time",
    "matrices: mass": "coordinates, parameters and time",
}


@pytest.mark.parametrize("place", ORDER)
def test_rates_where_only_coordinates_may_stand(s, place):
    PLACES[place](s, s.x.diff())
    one_fault(s.model, place, "Derivative(x(t), t)", ORDER[place])


@pytest.mark.parametrize("place", ["mass of particle `Q`", "mass of body `B`", "inertia of body `B`"])
def test_mass_that_varies_with_the_motion(s, place):
    PLACES[place](s, 1 + s.x**2)
    one_fault(s.model, place, "`x(t)`", "energy or matrices")


def test_gravity_that_is_not_uniform(s):
    s.model.gravity([-s.x, 0])
    one_fault(s.model, "gravity contains `x(t)`", "parameters and time only")


def test_accelerations_in_a_force(s):
    s.model.force([s.x.diff(t, 2), 0], at=s.P)
    one_fault(s.model, "force at `P`", "accelerations")


# -- shapes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("vector", [[1], [1, 2, 3, 4], 1, [], sp.ones(2, 3), np.ones((2, 2)), None, "xy"])
@pytest.mark.parametrize("place", ["position", "velocity", "force", "gravity", "point", "line"])
def test_vectors_of_the_wrong_shape(s, place, vector):
    if vector is None and place in ("position", "velocity"):
        s.model.particle("Q", mass=1)
        one_fault(s.model, "particle `Q`", "neither position nor velocity")
        return
    word = {
        "position": lambda: s.model.particle("Q", mass=1, position=vector),
        "velocity": lambda: s.model.particle("Q", mass=1, velocity=vector),
        "force": lambda: s.model.force(vector, at=s.P),
        "gravity": lambda: s.model.gravity(vector),
        "point": lambda: s.model.force([1, 0], at=vector),
        "line": lambda: s.model.line([[0, 0], vector]),
    }[place]() or {"force": "force at `P`"}.get(place, place)
    faults = faults_of(s.model)
    assert any(("`Q`" in f or str(word) in f) and ("components" in f or "must be" in f) for f in faults), faults


@pytest.mark.parametrize("vector", [[1, 2], [1, 2, 3, 4], []])
def test_torques_and_angular_velocities_have_one_or_three_components(s, vector):
    B = s.body(inertia=[1, 1, 1], rotation=None, angular_velocity=vector)
    s.model.torque(vector, on=B)
    faults = faults_of(s.model)
    assert len(faults) == 2
    assert all("3 components" in fault and "`B`" in fault for fault in faults)


@pytest.mark.parametrize("points", [None, 3, "PQ"])
def test_a_line_needs_points(s, points):
    s.model.line(points, name="rod")
    one_fault(s.model, "line `rod`", "list of points")


def test_a_line_through_a_point_without_position(s):
    s.model.line([s.P, s.model.particle("Q", mass=1, velocity=[s.x.diff(), 0])], name="rod")
    one_fault(s.model, "line `rod`", "`Q`", "no position")


@pytest.mark.parametrize(
    ("mass", "force", "word"),
    [
        (sp.ones(2, 3), [0, 0], "(2, 3)"),
        (sp.eye(2), [0, 0, 0], "(3,)"),
        (sp.eye(3), [0, 0, 0], "2 speeds"),
        (1, [0, 0], "matrix"),
        ([[1, 0], [0]], [0, 0], "equal length"),
        ([1, [0, 1]], [0, 0], "equal length"),
        (sp.eye(2), sp.eye(2), "vector"),
        (sp.eye(2), 0, "matrix"),
        (np.array([[1.0, 2.0], [3.0, 4.0]]), [0, 0], "not symmetric: entries [0, 1] and [1, 0] differ by 1"),
        (sp.Matrix([[1, x_of_t], [2 * x_of_t, 1]]), [0, 0], "not symmetric"),
    ],
)
def test_matrices_of_the_wrong_shape(s, mass, force, word):
    s.model.matrices(mass=mass, force=force)
    one_fault(s.model, "matrices", word)


@pytest.mark.parametrize(
    ("inertia", "rotation", "word"),
    [
        ([1, 2], sp.eye(3), "shape (2, 1)"),
        ([1, 2, 3, 4], sp.eye(3), "shape (4, 1)"),
        (sp.eye(2), sp.eye(3), "shape (2, 2)"),
        (sp.ones(2, 3), sp.eye(3), "shape (2, 3)"),
        (1, sp.eye(3), "three principal moments"),
        ([1, 1, 1], x_of_t, "one moment about z"),
        ([[1, 1, 0], [0, 1, 0], [0, 0, 1]], sp.eye(3), "not symmetric: entries [0, 1] and [1, 0] differ by 1"),
        ([1, 1, 1], sp.eye(2), "shape (2, 2)"),
        ([1, 1, 1], [1, 0, 0], "shape (3, 1)"),
        ([1, 1, 1], 2 * sp.eye(3), "not orthonormal: R^T R differs from 1 by 3"),
        ([1, 1, 1], [[sp.cos(x_of_t), sp.sin(x_of_t), 0], [sp.sin(x_of_t), sp.cos(x_of_t), 0], [0, 0, 1]], "orthonorm"),
        ([1, 1, 1], sp.diag(1, 1, -1), "left-handed"),
    ],
)
def test_inertia_and_rotation_of_the_wrong_kind(s, inertia, rotation, word):
    s.body(inertia=inertia, rotation=rotation)
    one_fault(s.model, "body `B`", word)


def test_an_inertia_that_is_symmetric_only_after_simplification(s):
    c, sn = sp.cos(s.m), sp.sin(s.m)
    s.body(inertia=[[2, c**2 + sn**2, 0], [1, 2, 0], [0, 0, 3]], rotation=sp.eye(3))
    assert s.model.compile().nu == 2


def test_a_body_without_attitude(s):
    s.model.body("B", mass=1, inertia=1, position=[s.x, s.y])
    one_fault(s.model, "body `B`", "neither rotation nor angular velocity")


@pytest.mark.parametrize("on", [None, 3, "B"])
def test_torque_on_what_is_no_body(s, on):
    s.model.torque(1, on=on)
    one_fault(s.model, "torque", "body")


def test_torque_on_a_particle(s):
    s.model.torque(1, on=s.P)
    one_fault(s.model, "torque", "`P`", "model.force")


@pytest.mark.parametrize("forces", [None, 1, [1, 2], "x"])
def test_generalised_forces_that_are_no_mapping(s, forces):
    s.model.generalized_force(forces)
    one_fault(s.model, "generalised force", "mapping")


@pytest.mark.parametrize("key", [stray, "stray", None, 1, never])
def test_generalised_force_along_nothing(s, key):
    s.model.generalized_force({key: 1})
    one_fault(s.model, "generalised force", str(key), "neither a coordinate nor a speed")


def test_names_stand_for_symbols(s):
    s.model.generalized_force({"x": 1})
    assert s.model.compile().forces(0, [0, 0], [0, 0]) == pytest.approx([1, 0])


# -- parameters --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, "1.0", None, True, 1j, sp.I, stray, [1.0], np.ones(1), object(), 10**400]
)
def test_parameters_are_finite_numbers(s, value):
    s.model.parameters(k=value)
    one_fault(s.model, "parameter `k`", "must be")


@pytest.mark.parametrize("value", [1, 2.5, np.float32(2), np.int64(3), sp.pi, sp.Rational(1, 3), sp.sqrt(2)])
def test_numbers_of_every_kind_are_parameters(s, value):
    s.model.parameters(k=value)
    assert s.model.compile().parameter_defaults[1] == pytest.approx(float(value))


# -- names -------------------------------------------------------------------------------------------------------------

KINDS = {
    "coordinate": lambda s, name: s.model.coordinates(name),
    "speed": lambda s, name: s.model.speeds(name),
    "parameter": lambda s, name: s.model.parameters(**{name: 1.0}),
    "unknown": lambda s, name: s.model.unknowns(name),
    "particle": lambda s, name: s.model.particle(name, mass=1, position=[s.x, s.y]),
    "body": lambda s, name: s.model.body(name, mass=1, inertia=1, position=[s.x, s.y], rotation=s.x),
    "constraint": lambda s, name: s.model.constrain(s.x, name=name),
}


@pytest.mark.parametrize(("first", "second"), list(itertools.product(KINDS, KINDS)))
def test_a_name_is_given_once(s, first, second):
    KINDS[first](s, "w")
    KINDS[second](s, "w")
    assert f"{second} `w` is already declared as a {first}; choose another name" in faults_of(s.model)


@pytest.mark.parametrize("kind", ["particle", "body"])
@pytest.mark.parametrize("name", ["", " ", "a b", "a'", None, 3, ["a"]])
def test_names_that_do_not_fit(s, kind, name):
    KINDS[kind](s, name)
    one_fault(s.model, kind, repr(name), "name must be")


@pytest.mark.parametrize("kind", ["coordinate", "speed", "unknown"])
@pytest.mark.parametrize("names", ["", "  ", ",", None, 3, ["a"], "a:b:c:"])
def test_empty_names_are_refused_at_once(s, kind, names):
    with pytest.raises(ModelError, match=f"{kind}s need names"):
        KINDS[kind](s, names)


@pytest.mark.parametrize("kind", ["coordinate", "speed", "parameter", "unknown"])
def test_time_has_its_name_already(s, kind):
    KINDS[kind](s, "t")
    assert f"{kind} `t`: this is the name of time; choose another name" in faults_of(s.model)


def test_ranges_of_names():
    model = da.Model()
    assert [q.func.__name__ for q in model.coordinates("q1:4, a")] == ["q1", "q2", "q3", "a"]


def test_default_speeds_that_are_taken(s):
    s.model.parameters(x_dot=1.0)
    one_fault(s.model, "default speed `x_dot`", "parameter", "model.speeds")


@pytest.mark.parametrize("speeds", ["a b", "a b c d"])
def test_a_quaternion_needs_three_speeds(s, speeds):
    s.model.quaternion("e", speeds=speeds)
    one_fault(s.model, "quaternion `e`", f"got {len(speeds.split())}")


# -- kinematics --------------------------------------------------------------------------------------------------------


def kinematics(s, equations, names="u w"):
    s.model.speeds(names, kinematics=equations)


U, W = dynamicsymbols("u w")


def test_a_rate_that_is_missing(s):
    kinematics(s, [s.x.diff() - U, s.x.diff() + W])
    one_fault(s.model, "rate of `y(t)` appears in no equation")


def test_too_few_equations(s):
    kinematics(s, [s.x.diff() + s.y.diff() - U - W])
    one_fault(s.model, "1 kinematical equations for 2 coordinates")


def test_too_many_equations(s):
    kinematics(s, [s.x.diff() - U, s.y.diff() - W, s.x.diff() + s.y.diff() - U - W])
    one_fault(s.model, "3 kinematical equations for 2 coordinates")


def test_singular_kinematics(s):
    kinematics(s, [s.x.diff() + s.y.diff() - U, 2 * s.x.diff() + 2 * s.y.diff() - W])
    one_fault(s.model, "cannot be solved for the coordinate rates", "rank 1 for 2")


@pytest.mark.parametrize("rate", [U**2, sp.sin(U), U * W, U / (1 + W)])
def test_kinematics_that_are_not_linear_in_the_speeds(s, rate):
    kinematics(s, {s.x: rate, s.y: U + W})
    one_fault(s.model, "kinematical equation 1", "not linear")


def test_kinematics_that_are_not_linear_in_the_rates(s):
    kinematics(s, [s.x.diff() - U, s.y.diff() ** 2 - W])
    one_fault(s.model, "kinematical equation 2", "not linear")


def test_a_product_of_rate_and_speed(s):
    kinematics(s, [s.x.diff() - U, s.y.diff() * U - W])
    one_fault(s.model, "kinematical equation 2", "not linear")


@pytest.mark.parametrize("equations", [3, "x", None, object()])
def test_kinematics_of_no_kind(s, equations):
    if equations is None:
        pytest.skip("None means the default speeds")
    kinematics(s, equations)
    one_fault(s.model, "kinematics must be a mapping")


def test_kinematics_of_what_is_no_coordinate(s):
    kinematics(s, {s.x: U, s.y: W, s.m: U})
    one_fault(s.model, "kinematics: `m` is not a coordinate")


def test_a_rate_given_twice(s):
    s.model.speeds("u w")
    s.model.speeds("v", kinematics={s.x: dynamicsymbols("v") + U})
    assert any("rate of `x(t)` is given twice" in fault for fault in faults_of(s.model))


def test_too_many_speeds(s):
    s.model.speeds("a b c")
    one_fault(s.model, "speed `c(t)`", "3 speeds, 2 coordinates")


def test_more_speeds_than_coordinates_in_the_kinematics(s):
    kinematics(s, {s.x: U + W, s.y: dynamicsymbols("v")}, "u v w")
    one_fault(s.model, "3 speeds but only 2 coordinates")


def test_velocity_that_is_not_linear(s):
    s.model.particle("Q", mass=1, velocity=[s.x.diff() ** 2, 0])
    one_fault(s.model, "velocity of `Q`", "not linear")


def test_angular_velocity_that_is_not_linear(s):
    s.body(rotation=None, angular_velocity=s.x.diff() ** 2)
    one_fault(s.model, "angular velocity of body `B`", "not linear")


# -- inertia -----------------------------------------------------------------------------------------------------------


def spoiled(names="x"):
    model = da.Model("spoiled")
    return model, *model.coordinates(names)


def test_no_coordinates():
    model = da.Model("spoiled")
    model.particle("P", mass=1, position=[0, 0])
    one_fault(model, "no coordinates")


def test_nothing_with_inertia():
    model, x = spoiled()
    model.generalized_force({x: 1})
    one_fault(model, "nothing has inertia")


def test_a_zero_mass_matrix():
    model, x = spoiled()
    model.particle("P", mass=0, position=[x, 0])
    one_fault(model, "mass matrix is zero")


def test_nothing_that_moves():
    model, _ = spoiled()
    model.particle("P", mass=1, position=[1, 0])
    one_fault(model, "mass matrix is zero")


def test_kinetic_energy_in_speeds_the_rates_do_not_determine():
    model = da.Model("spoiled")
    e = model.quaternion("e", speeds="a b c")
    model.energy(kinetic=sum(w**2 for w in e.angular_velocity))
    faults = faults_of(model)
    assert len(faults) == 3
    assert all("kinetic energy" in fault and "e0" in fault for fault in faults)


def test_parameters_that_leave_nothing_finite():
    model, x = spoiled()
    (k,) = model.parameters(k=0.0)
    model.particle("P", mass=1 / k, position=[x, 0])
    assert any("not finite" in fault and "parameters" in fault for fault in faults_of(model))


# -- constraints and unknowns ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("expression", [0, 1.0, sp.Symbol("m") - 1, t - 3])
def test_constraints_without_coordinates(s, expression):
    s.model.constrain(expression, name="c")
    one_fault(s.model, "constraint `c`", "no coordinate or speed")


@pytest.mark.parametrize("expression", [x_of_t.diff(t, 3), dynamicsymbols("v").diff(t, 2)])
def test_constraints_beyond_accelerations_of_two_coordinates(s, expression):
    s.model.speeds("v w")
    s.model.constrain(s.y.diff(t, 2) + expression, name="c")
    one_fault(s.model, "constraint `c`", "beyond accelerations")


def test_constraints_may_be_nonlinear_in_accelerations(s):
    s.model.constrain(s.x.diff(t, 2) ** 2 - 1, name="c")
    assert s.model.compile().curved == 1


def test_a_constraint_with_no_gradient(s):
    s.model.constrain(sp.Piecewise((s.x.diff(), s.x < -100), (0, True)), name="c")
    one_fault(s.model, "constraint `c`", "does not restrain any speed")


def test_a_constraint_may_name_speeds_declared_later(s):
    s.model.constrain(s.x + dynamicsymbols("late"), name="c")
    s.model.speeds("late w")
    assert s.model.compile().rows[0].level == "velocity"


def test_unknown_without_servo(s):
    (F,) = s.model.unknowns("F")
    s.model.force([F, 0], at=s.P)
    one_fault(s.model, "unknown `F(t)`", "servo=F")


def test_unknown_for_two_constraints(s):
    (F,) = s.model.unknowns("F")
    s.model.force([F, F], at=s.P)
    s.model.constrain([s.x, s.y], name="c", servo=F)
    one_fault(s.model, "unknown `F(t)`", "serves 2 constraints")


def test_unknown_that_acts_nowhere(s):
    (F,) = s.model.unknowns("F")
    s.model.constrain(s.x, name="c", servo=F)
    one_fault(s.model, "unknown `F(t)`", "acts nowhere")


def test_unknown_that_does_no_work(s):
    (F,) = s.model.unknowns("F")
    s.model.force([0, 0, F], at=s.P)
    s.model.constrain(s.x, name="c", servo=F)
    one_fault(s.model, "unknown `F(t)`", "does not act on any speed")


def test_unknown_that_is_not_linear(s):
    (F,) = s.model.unknowns("F")
    s.model.force([F**2, 0], at=s.P)
    s.model.constrain(s.x, name="c", servo=F)
    one_fault(s.model, "unknown `F(t)`", "not linear")


@pytest.mark.parametrize("expression", ["F", "F'"])
def test_unknown_in_a_constraint(s, expression):
    (F,) = s.model.unknowns("F")
    s.model.force([F, 0], at=s.P)
    s.model.constrain(s.x + (F if expression == "F" else F.diff(t)), name="c", servo=F)
    faults = faults_of(s.model)
    assert (
        faults[-1]
        == "constraint `c` contains the unknown `F(t)`, which no law determines; write law(..., determines=F)"
    )
    assert expression == "F" or "unknowns may appear, without derivatives" in faults[0]


@pytest.mark.parametrize("servo", [never, stray, "F", 3, True, [never], {}])
def test_servo_that_is_not_declared(s, servo):
    s.model.constrain(s.x, name="c", servo=servo)
    one_fault(s.model, "constraint `c`", "servo", "model.unknowns")


def test_servo_list_of_the_wrong_length(s):
    F, G = s.model.unknowns("F G")
    s.model.force([F, G], at=s.P)
    s.model.constrain([s.x, s.y, s.x + s.y], name="c", servo=[F, G])
    assert any("constraint `c`" in f and "2 servo unknowns for 3" in f for f in faults_of(s.model))


def test_servo_by_name(s):
    (F,) = s.model.unknowns("F")
    s.model.force([F, 0], at=s.P)
    s.model.constrain(s.x, name="c", servo="F")
    assert s.model.compile().rows[0].law == Servo(0)


# -- all at once -------------------------------------------------------------------------------------------------------


def test_all_faults_are_raised_once():
    model = da.Model("spoiled")
    x, y = model.coordinates("x y")
    model.coordinates("x1 x1")  # 1
    model.parameters(k=math.nan, c="stiff")  # 2, 3
    model.particle("P", mass=stray, position=[x, y, 0, 0])  # 4, 5
    model.particle("P", mass=1, position=[x, never])  # 6, 7
    model.gravity(-9.81)  # 8
    model.torque(1, on=None)  # 9
    model.constrain("x = y", name="track")  # 10
    model.constrain(x + sp.I, name="imaginary")  # 11
    model.unknowns("F")  # 12, 13: without servo, acts nowhere
    model.generalized_force({stray: 1})  # 14
    faults = faults_of(model)
    words = ["x1", "`k`", "`c`", "stray", "0, 0]", "`P` is already", "never", "gravity", "torque", "track", "imaginary"]
    assert not [word for word in words if not any(word in fault for fault in faults)]
    assert len(faults) == len(set(faults)) == 14, "\n".join(faults)


def test_the_error_survives_pickling(s):
    s.model.gravity([stray, 0])
    s.model.constrain(1, name="c")
    with pytest.raises(ModelError) as caught:
        s.model.compile()
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.model, again.faults, str(again)) == ("spoiled", caught.value.faults, str(caught.value))
    assert str(again).startswith("model `spoiled` has 2 faults:\n  1. ")


def test_compiling_does_not_change_the_model(s):
    s.model.gravity([stray, 0])
    assert faults_of(s.model) == faults_of(s.model)

"""Diagnoses: freedom counted by hand, redundant and conflicting constraints by name, whatever the units."""

import numpy as np
import pytest
from sympy import cos, sin
from sympy.physics.mechanics import dynamicsymbols

import dalembert as da
from dalembert import problems
from dalembert.problems.n_four_bar import n_four_bar

x, y, z = dynamicsymbols("x y z")
t = dynamicsymbols._t

HAND_COUNTS = {  # speeds, s_p, s_v
    "pendulum": (2, 1, 0),
    "sliding_particle": (2, 1, 0),
    "four_bar": (3, 2, 0),
    "n_four_bar": (6, 5, 0),
    "knife_edge": (3, 0, 1),
    "chaplygin_sleigh": (3, 0, 1),
    "vertical_disk": (4, 0, 2),
    "appell_hamel": (5, 1, 2),
    "appell_hamel_linear": (5, 1, 2),
    "asymmetric_top": (3, 0, 0),
    "kalaba_udwadia_particle": (3, 0, 1),
    "nonlinear_pendulum": (2, 1, 0),
    "duffing_tracking": (2, 1, 0),
    "spatial_four_bar": (2, 1, 0),
    "car": (4, 2, 1),  # rear and front tie one rate more than path and heading do
}


def plane(*constraints, mass=(1.0, 1.0, 1.0)):
    """Three particles on lines, at x, y and z, with constraints between them, `(name, expression)`."""
    model = da.Model("box")
    model.coordinates("x y z")
    for name, m, q in zip("XYZ", mass, (x, y, z), strict=True):
        if m:
            model.particle(name, mass=m, position=[q, 0])
    for name, constraint in constraints:
        model.constrain(constraint, name=name)
    return model.compile()


def at(system, **values):
    """A state with these values, consistent or not."""
    q = np.array([values.get(name, 0.0) for name in system.coordinates])
    u = np.array([values.get(name, 0.0) for name in system.speeds])
    return da.State(system, 0.0, q, u, np.zeros(system.nu), np.zeros(system.nc), system.parameter_values())


@pytest.mark.parametrize("name", HAND_COUNTS)
def test_freedom_of_reference_mechanisms(name):
    problem = problems.get(name)
    system = problem.system()
    found = system.diagnose(problem.state(system))
    n, s_p, s_v = HAND_COUNTS[name]
    assert found.ranks == {"position": s_p, "velocity": s_v, "acceleration": 0}
    assert (found.position_dof, found.dof, found.rank) == (n - s_p, n - s_p - s_v, s_p + s_v)
    assert found.ok
    conditions = {system.constraint_names[k] for k in system.implied}  # which others imply
    assert all(conditions & {r.name, *r.combination} for r in found.redundant)
    assert not found.near_singular
    assert all(found.unique.values())
    assert f"{n - s_p - s_v} ({n - s_p} in position) of {n} speeds" in str(found)


def test_a_repeated_constraint_is_named():
    system = plane(("push", x - t), ("pull", 2 * x - 2 * t))
    found = system.diagnose(system.initial())
    assert [(r.name, dict(r.combination)) for r in found.redundant] == [("pull", {"push": 2.0})]
    assert (found.rank, found.dof, found.counts["position"]) == (1, 2, 2)
    assert found.unique == {"push": False, "pull": False}
    assert not found.conflicting
    assert found.ok
    assert "`pull` = 2 `push`" in str(found)
    assert "not unique  `push`, `pull`" in str(found)


def test_a_combination_is_found_and_leaves_others_unique():
    system = plane(
        ("base", x),
        ("side", x + y),
        ("floor", z),
        ("lid", x.diff() - y.diff()),
    )
    found = system.diagnose(system.initial())
    (lid,) = found.redundant
    assert lid.name == "lid"
    assert dict(lid.combination) == pytest.approx({"base": 2.0, "side": -1.0})
    assert str(lid) == "`lid` = 2 `base` - `side`"
    assert found.unique == {"base": False, "side": False, "floor": True, "lid": False}
    assert found.ranks == {"position": 3, "velocity": 0, "acceleration": 0}
    assert found.counts == {"position": 3, "velocity": 1, "acceleration": 0}


def test_a_group_can_be_unique_where_its_rows_are_not():
    model = da.Model("group")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1, position=[x, y])
    model.constrain([x, 3 * x], name="twice")
    model.constrain(y, name="once")
    found = model.compile().diagnose(model.compile().initial())
    assert found.unique == {"twice[0]": False, "twice[1]": False, "once": True, "twice": True}


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units_do_not_matter(factor):
    rows = [("a", x + y), ("b", x - y)]
    plain = plane(*rows, ("c", 3 * x))
    scaled = plane(*rows, ("c", 3 * factor * x), mass=(factor, factor, factor))
    one, other = (s.diagnose(s.initial()) for s in (plain, scaled))
    np.testing.assert_allclose(other.singular_values, one.singular_values, atol=1e-14)
    assert (other.rank, other.unique, other.ok) == (one.rank, one.unique, one.ok)
    assert other.redundant[0].combination["a"] == pytest.approx(factor * one.redundant[0].combination["a"])


def test_lengths_in_other_units_do_not_matter():
    """The same four-bar with its second angle in other units."""
    values = []
    for unit in (1.0, 1e5):
        model = da.Model("four-bar")
        a, b, c = model.coordinates("a b c")
        model.particle("P", mass=1, position=[cos(a), sin(a)])
        model.particle("Q", mass=2, position=[2 + cos(c), sin(c)])
        model.constrain([cos(a) + 2 * cos(b * unit) - cos(c) - 2, sin(a) + 2 * sin(b * unit) - sin(c)], name="loop")
        system = model.compile()
        state = at(system, a=1.0, b=0.0, c=1.0)
        found = system.diagnose(state)
        assert found.dof == 1
        assert found.singular_mass
        assert found.ok
        assert "positive definite for every motion" in str(found)
        values.append(found.singular_values)
    np.testing.assert_allclose(values[1], values[0], rtol=1e-9)


def test_singular_position_of_the_four_bars():
    problem = n_four_bar(2)
    system = problem.system()
    upright = system.diagnose(problem.state(system))
    inline = system.diagnose(at(system, x0=1.0, x1=2.0, x2=3.0))
    assert (upright.rank, upright.dof, len(upright.redundant)) == (5, 1, 0)
    assert (inline.rank, inline.dof, inline.position_dof) == (3, 3, 3)  # each joint is free to leave the line
    assert {r.name for r in inline.redundant} == {"coupler0", "coupler1"}
    (first, _) = inline.redundant
    assert dict(first.combination) == pytest.approx({"crank0": -1.0, "crank1": 1.0})
    assert inline.unique == {f"{name}": False for name in system.constraint_names}
    assert inline.ok


def test_close_to_the_singular_position_is_said():
    system = n_four_bar(1).system()
    angle = np.pi / 2 - 1e-5
    s, c = np.sin(angle), np.cos(angle)
    found = system.diagnose(at(system, x0=s, y0=c, x1=1 + s, y1=c))
    assert (found.rank, found.dof) == (3, 1)
    assert found.near_singular
    assert found.nearest.value < 1e-4
    assert set(found.nearest.constraints) == {"crank0", "crank1", "coupler0"}
    assert found.nearest.motion["vy0"] == pytest.approx(-found.nearest.motion["vy1"], rel=1e-3)
    assert "almost free: " in str(found)


@pytest.fixture(scope="module")
def three_cranks():
    """A coupler on three parallel cranks: one of them is too many at every angle."""
    model = da.Model("parallelogram")
    x, y, phi = model.coordinates("x y phi")  # left end and angle of the coupler
    model.body("coupler", mass=2, inertia=0.5, position=[x + cos(phi), y + sin(phi)], rotation=phi)
    model.gravity([0, -9.81])
    for name, s in (("first", 0), ("second", 2), ("third", 1)):
        model.constrain((x + s * cos(phi) - s) ** 2 + (y + s * sin(phi)) ** 2 - 1, name=name)
    return model.compile()


@pytest.mark.parametrize("angle", [-0.4, 0.3, 1.1])
def test_a_parallelogram_on_three_cranks_is_redundant_everywhere(three_cranks, angle):
    found = three_cranks.diagnose(three_cranks.initial({"x": np.cos(angle), "y": np.sin(angle), "phi": 0.0}))
    assert (found.counts["position"], found.rank, found.dof) == (3, 2, 1)
    (extra,) = found.redundant
    assert extra.name == "third"
    assert dict(extra.combination) == pytest.approx({"first": 0.5, "second": 0.5}, abs=1e-9)
    assert found.unique == {"first": False, "second": False, "third": False}
    assert found.ok


def test_the_certificate_names_what_is_not_unique(three_cranks):
    state = three_cranks.initial({"x": np.cos(-0.4), "y": np.sin(-0.4), "phi": 0.0})
    motion = three_cranks.simulate(state, 0.5)
    assert motion.certificate.ok, motion.certificate
    assert motion.certificate.not_unique == ("first", "second", "third")
    assert "multipliers of `first`, `second`, `third` are not unique" in str(motion.certificate)
    assert not any(motion.unique.values())


@pytest.mark.parametrize(
    ("level", "constraints", "words"),
    [
        (
            "acceleration",
            [("push", x.diff(t, 2) - 1), ("pull", x.diff(t, 2) - 2)],
            "`pull` repeats `push` but asks for 2 instead of 1",
        ),
        (
            "acceleration",
            [("push", x - t**2 / 2), ("pull", 3 * x.diff() - 6 * t)],
            "`pull` repeats 3 `push` but asks for 6 instead of 3",
        ),
        (
            "velocity",
            [("slow", x.diff()), ("fast", 2 * x.diff() - 3)],
            "`fast` repeats 2 `slow` but its velocity residual is -3 instead of 0",
        ),
        (
            "position",
            [("near", x - 1), ("far", x - 2)],
            "`far` repeats `near` but its position residual is -2 instead of -1",
        ),
    ],
)
def test_conflicts_are_named_with_their_numbers(level, constraints, words):
    system = plane(*constraints)
    found = system.diagnose(at(system))
    (conflict,) = found.conflicting
    assert conflict.level == level
    assert str(conflict) == words
    assert words in str(found)
    assert not found.ok
    assert abs(conflict.residual) >= 1.0


def test_an_initial_state_names_the_conflict():
    system = plane(("push", x.diff(t, 2) - 1), ("pull", x.diff(t, 2) - 2))
    with pytest.raises(da.InitialStateError, match="`pull` repeats `push` but asks for 2 instead of 1"):
        system.initial()


def test_a_violated_state_alone_is_no_conflict():
    system = plane(("track", x**2 + y**2 - 1), ("floor", z))
    assert system.diagnose(at(system, x=2.0, z=1.0)).ok


def test_motion_without_inertia_is_named():
    system = plane(("tie", x - y), mass=(1.0, 1.0, 0.0))
    found = system.diagnose(system.initial())
    assert found.singular_mass
    assert [dict(m) for m in found.massless] == [{"z_dot": 1.0}]
    assert not found.ok
    assert "without inertia or constraint: `z_dot`" in str(found)
    held = plane(("tie", x - z), mass=(1.0, 1.0, 0.0))
    assert held.diagnose(held.initial()).ok


def test_an_initial_state_names_the_motion_without_inertia():
    model = da.Model("massless")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1, position=[x, 0])
    model.generalized_force({y: 1.0})
    with pytest.raises(da.InitialStateError, match=r"neither inertia nor a constraint \(`y_dot`\)"):
        model.compile().initial()


def test_a_vanishing_gradient_is_redundant_by_itself():
    system = plane(("rod", x**2 + y**2), ("floor", z))
    found = system.diagnose(at(system))
    assert [(r.name, dict(r.combination)) for r in found.redundant] == [("rod", {})]
    assert "`rod` has no gradient" in str(found)
    assert found.unique == {"rod": False, "floor": True}


def test_unknowns_that_cannot_enforce_their_constraint():
    answers = []
    for axis in (0, 1):
        model = da.Model("servo")
        x, y = model.coordinates("x y")
        (push,) = model.unknowns("push")
        P = model.particle("P", mass=1, position=[x, y])
        model.force([push, 0] if axis == 0 else [0, push], at=P)
        model.constrain(x - model.t, name="program", servo=push)
        system = model.compile()
        answers.append(system.diagnose(at(system)))
    able, unable = answers
    assert able.ok
    assert able.unique == {"program": True}
    assert not unable.ok
    assert "cannot enforce" in str(unable)


def test_diagnoses_fit_on_a_screen():
    model = da.Model("many")
    q = model.coordinates("q0:40")
    for k, x in enumerate(q):
        model.particle(f"P{k}", mass=1, position=[x, 0])
    for k in range(60):
        model.constrain(q[k % 30] - k % 30, name=f"c{k}")
    system = model.compile()
    found = system.diagnose(system.initial())
    assert (found.rank, found.dof, len(found.redundant)) == (30, 10, 30)
    lines = str(found).splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 120


def test_accelerations_in_a_nonlinear_constraint_are_taken_at_the_state():
    """A prescribed magnitude of acceleration: its gradient is the direction of the acceleration itself."""
    system = plane(("magnitude", x.diff(t, 2) ** 2 + y.diff(t, 2) ** 2 - 4), ("along", 3 * x.diff(t, 2)))
    state = at(system)
    slanted = da.State(system, 0.0, state.q, state.u, np.array([0.0, 2.0, 0.0]), state.multipliers, state.parameters)
    found = system.diagnose(slanted)
    assert (found.rank, found.ranks["acceleration"], found.dof) == (2, 2, 3)
    level = da.State(system, 0.0, state.q, state.u, np.array([1.0, 0.0, 0.0]), state.multipliers, state.parameters)
    (conflict,) = system.diagnose(level).conflicting
    assert dict(conflict.combination) == pytest.approx({"magnitude": 1.5})
    assert (conflict.asked, conflict.implied) == pytest.approx((0.0, 7.5))  # 2 x'' = 1 + 4 in place of x'' = 0


def test_a_foreign_state_is_refused():
    box, stranger = plane(("floor", z)), at(problems.get("pendulum").system())
    with pytest.raises(da.PairingError, match="belongs to `pendulum`"):
        box.diagnose(stranger)

"""What cannot be imported is refused by name; what looks unusual but is complete is taken."""

import joint_models
import kane_models
import lagrange_models
import numpy as np
import pytest
import sympy as sm
import sympy.physics.mechanics as me
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.importers.replacement import Replacement

t = me.dynamicsymbols._t
q, u, v, F, G = me.dynamicsymbols("q u v F G")
m, k, c = sm.symbols("m k c")
N = me.ReferenceFrame("N")


def oscillator(*, velocity=None, force=None, mass=m, **options):
    """A particle on a line, or other bodies with the same coordinate."""
    P = me.Point("P")
    P.set_vel(N, (u if velocity is None else velocity) * N.x)
    load = -k * q if force is None else force
    settings_ = {"bodies": [me.Particle("pa", P, mass)], "forcelist": [(P, load * N.x)], **options}
    return me.KanesMethod(N, [q], [u], [q.diff(t) - u], **settings_)


def refused(match, obj, **options):
    with pytest.raises(da.ModelError, match=match):
        da.from_sympy(obj, **options)


def test_constants_without_a_value_are_all_listed():
    with pytest.raises(da.ModelError) as caught:
        da.from_sympy(oscillator(force=-k * q - c * u), parameters={k: 2.0})
    assert caught.value.faults == ("2 constants have no value; give parameters={c: ..., m: ...}",)


def test_inputs_need_to_be_specified():
    obj = oscillator(force=F + F.diff(t))
    refused(r"the load on `P` contains `F\(t\)`, which is neither a coordinate nor a speed", obj, parameters={m: 1.0})
    model = da.from_sympy(obj, parameters={m: 2.0}, specified={F: sm.sin(3 * t)})
    state = model.compile().initial({"q": 0.0, "u": 0.0}, t0=0.2)
    assert state.udot[0] == pytest.approx((np.sin(0.6) + 3 * np.cos(0.6)) / 2)


def test_symbols_put_in_for_speeds_are_named():
    plain = sm.Symbol("u1")  # what is left when dynamicsymbols were substituted for code generation
    refused("no body moves; were the speeds substituted", oscillator(velocity=0), parameters={m: 1.0, k: 1.0})
    refused("1 constant has no value; .*u1", oscillator(velocity=plain * u), parameters={m: 1.0, k: 1.0})
    obj = me.LagrangesMethod(m * plain**2 / 2 - k * q**2 / 2, [q])
    refused("the Lagrangian contains no rate of a coordinate", obj, parameters={m: 1.0, k: 1.0})


def test_equations_alone_are_refused():
    obj = oscillator()
    obj.kanes_equations()
    refused("ImmutableDenseMatrix|MutableDenseMatrix", obj.rhs())
    symbolic = me.SymbolicSystem([q, u], obj.rhs())
    refused("a SymbolicSystem cannot be imported: it does not hold what equations", symbolic)


def test_formed_equations_do_no_harm():
    obj = oscillator()
    obj.kanes_equations()
    lagrange, _ = lagrange_models.pendulums(1)
    lagrange.form_lagranges_equations()
    assert da.from_sympy(obj, parameters={m: 1.0, k: 4.0}).compile().initial({q: 0.5}).udot[0] == pytest.approx(-2.0)
    state = da.from_sympy(lagrange, parameters={"l": 2.0, "m": 1.0, "g": 9.0}).compile().initial({"q1": 0.5})
    assert state.udot[0] == pytest.approx(-4.5 * np.sin(0.5))


def test_ingredients_that_are_missing_are_named():
    P = me.Point("P")
    refused("no bodies; give them to it, or here by bodies= and loads=", oscillator(bodies=None))
    refused("no kinematical differential equations", me.KanesMethod(N, [q], [u], bodies=[me.Particle("a", P, m)]))
    refused("body `lost`: .*[Vv]elocity of point P", oscillator(bodies=[me.Particle("lost", P, m)]))
    refused("body 1 must be a Particle or a RigidBody, got 'cart'", oscillator(bodies=["cart"]))
    refused("load 1 must be a pair", oscillator(forcelist=[(P, 3)]))
    refused("force at `P`: .*[Vv]elocity of point P", oscillator(forcelist=[(P, N.x)]))
    refused("bodies= and loads= go with a KanesMethod", me.System(), bodies=[])
    loaded = me.LagrangesMethod(m * q.diff(t) ** 2, [q], forcelist=[(P, N.x)])
    refused("has forces but no inertial frame", loaded)


def test_frames_that_are_not_oriented_are_named():
    A, P = me.ReferenceFrame("A"), me.Point("P")
    A.set_ang_vel(N, u * N.x)
    P.set_vel(N, 0)
    body = me.RigidBody("top", P, A, m, (me.inertia(A, 1, 2, 3), P))
    refused("body `top`: No connecting orientation path", oscillator(bodies=[body]))


@pytest.mark.parametrize(
    ("specified", "match"),
    [
        ({q: 1.0}, r"`q\(t\)` is not an input"),
        ({3: 1.0}, "`3` is not an input"),
        ({F: "sin"}, "must be an expression or a number, got 'sin'"),
        ({F: G + 1, G: 2 * F}, "is given in terms of itself"),
    ],
)
def test_specified_is_checked(specified, match):
    refused(match, oscillator(force=F), specified=specified, parameters={m: 1.0})


def test_specified_may_build_on_each_other_and_replace_constants():
    obj = oscillator(force=F)
    model = da.from_sympy(obj, specified={F: c * G.diff(t), "G": q**2, m: c / 2}, parameters={"c": 3.0})
    state = model.compile().initial({q: 0.5, u: 0.7})
    assert state.udot[0] == pytest.approx(2 * 2 * 0.5 * 0.7)


def test_mass_that_changes_carries_momentum():
    """(m u)' = 0, as SymPy has it: u' = -m'/m u."""
    obj = oscillator(mass=m * (1 + t), force=sm.S.Zero)
    state = da.from_sympy(obj, parameters={m: 2.0}).compile().initial({u: 3.0}, t0=0.5)
    assert state.udot[0] == pytest.approx(-3.0 / 1.5)


def test_inertia_that_changes_is_refused():
    P = me.Point("P")
    A = N.orientnew("A", "Axis", [q, N.z])
    P.set_vel(N, 0)
    body = me.RigidBody("top", P, A, m, (me.inertia(A, 1, 1, 1 + t), P))
    refused("inertia of `top` varies", oscillator(bodies=[body], forcelist=None), parameters={m: 1.0})


def test_bodies_give_way_to_symbols_of_the_same_name():
    P = me.Point("P")
    P.set_vel(N, u * N.x)
    bodies = [me.Particle("m", P, m), me.Particle("q", P, m), me.Particle("a b", P, m), me.Particle("m", P, m)]
    model = da.from_sympy(oscillator(bodies=bodies), parameters={m: 1.0, k: 1.0})
    assert model.compile().particles == ("m_body", "q_body", "a_b", "m_body_2")


def test_gravity_is_recognised_only_if_it_is_uniform():
    def energy(*weights):
        O = me.Point("O")
        O.set_vel(N, 0)
        points = [O.locatenew(f"P{n}", (q + n) * N.x) for n in range(2)]
        for point in points:
            point.set_vel(N, u * N.x)
        bodies = [me.Particle(f"b{n}", point, m) for n, point in enumerate(points)]
        loads = [(point, weight * N.x) for point, weight in zip(points, weights, strict=True)]
        system = da.from_sympy(oscillator(bodies=bodies, forcelist=loads), parameters={m: 2.0, c: 9.0}).compile()
        return system.energy(0.0, [3.0], [1.0])

    assert energy(m * c, m * c) == pytest.approx(2.0 - 2 * 9 * (3 + 4))
    assert energy(m * c, 2 * m * c) == pytest.approx(2.0)


def test_more_speeds_than_coordinates():
    """One coordinate driven by the sum of two speeds: a speed gets its integral for a second one."""
    P = me.Point("P")
    P.set_vel(N, u * N.x + v * N.y)
    obj = me.KanesMethod(
        N, [q], [u, v], [q.diff(t) - u - v], bodies=[me.Particle("pa", P, m)], forcelist=[(P, -k * q * N.x)]
    )
    system = da.from_sympy(obj, parameters={m: 2.0, k: 3.0}).compile()
    state = system.initial({q: 0.5, u: 0.2, v: 0.3})
    assert system.coordinates == ("q", "v_integral")
    np.testing.assert_allclose(system.coordinate_rates(0.0, state.q, state.u), [0.5, 0.3], rtol=1e-14)
    np.testing.assert_allclose(state.udot, [-0.75, 0.0], rtol=1e-14)


def test_velocity_constraints_of_a_system_take_the_place_of_its_nonholonomic_ones():
    obj, _, _ = joint_models.cart_pendulum(held=True)
    obj.velocity_constraints = [2 * e for e in obj.velocity_constraints]  # the same, differently scaled
    options = {"specified": {"F": 0}, "parameters": dict.fromkeys(("g", "l", "mc", "mp", "k"), 1.0)}
    assert da.from_sympy(obj, **options).compile().constraint_names == ("holonomic[0]",)
    slider = obj.u_dep[0]
    obj.velocity_constraints = [slider - 1]
    assert da.from_sympy(obj, **options).compile().constraint_names == ("holonomic[0]", "velocity[0]")
    obj.holonomic_constraints, obj.velocity_constraints, obj.nonholonomic_constraints = [], None, [slider**2 - 4]
    motion = da.from_sympy(obj, **options).compile().initial({slider: 2.0})  # SymPy takes linear ones only
    assert motion["uc"] == 2.0


def test_singular_mass_matrix():
    """A spherical pendulum in three angles: no inertia about its own axis (SymPy's issue 24887)."""
    g, l = sm.symbols("g l")
    q_, u_ = me.dynamicsymbols("q1:4"), me.dynamicsymbols("u1:4")
    A, O = me.ReferenceFrame("A"), me.Point("O")
    A.orient_body_fixed(N, q_, "zxy")
    spin = A.ang_vel_in(N)
    O.set_vel(N, 0)
    end = O.locatenew("Po", -l * A.y)
    end.set_vel(A, 0)
    kinematics = [spin.dot(axis) - w for axis, w in zip((A.x, A.y, A.z), u_, strict=True)]
    kane = me.KanesMethod(N, q_, u_, kinematics, bodies=[me.Particle("P", end, m)], forcelist=[(end, -m * g * N.y)])
    system = da.from_sympy(kane, parameters={m: 2.0, g: 9.81, "l": 0.5}).compile()
    (a, b, c_), (x, y, z) = angles, speeds = (0.3, 0.7, -0.4), (0.2, 0.9, 1.3)
    np.testing.assert_allclose(system.mass_matrix(0.0, angles, speeds), np.diag([0.5, 0.0, 0.5]), rtol=0, atol=1e-12)
    sines, cosines = np.sin([a, b, c_]), np.cos([a, b, c_])
    first = 9.81 * (sines[0] * sines[2] - sines[1] * cosines[0] * cosines[2]) - 0.5 * y * z
    third = -9.81 * (sines[0] * cosines[2] + sines[1] * sines[2] * cosines[0]) + 0.5 * x * y
    np.testing.assert_allclose(system.forces(0.0, angles, speeds), [first, 0.0, third], rtol=0, atol=1e-12)


def test_chain_in_relative_angles():
    """Frames behind frames: energies as in absolute angles."""
    n = 10
    q_, u_ = me.dynamicsymbols(f"q:{n}"), me.dynamicsymbols(f"u:{n}")
    point = me.Point("O")
    point.set_vel(N, 0)
    frame, bodies = N, []
    for j in range(n):
        frame = frame.orientnew(f"A{j}", "Axis", [q_[j], frame.z])
        frame.set_ang_vel(N, sum(u_[: j + 1]) * frame.z)
        end = point.locatenew(f"P{j}", 0.1 * frame.x)
        end.v2pt_theory(point, N, frame)
        bodies.append(me.Particle(f"p{j}", end, m))
        point = end
    kane = me.KanesMethod(N, q_, u_, [a.diff(t) - b for a, b in zip(q_, u_, strict=True)])
    loads = [(body.point, 9.81 * m * N.x) for body in bodies]
    system = da.from_sympy(kane, bodies=bodies, loads=loads, parameters={m: 1.0}).compile()
    angles, rates = np.linspace(0.1, 0.3, n), np.linspace(-1.0, 1.0, n)
    a, w = np.cumsum(angles), np.cumsum(rates)
    arms = np.tril(np.ones((n, n)))[:, :, None] * 0.1 * np.stack([-np.sin(a), np.cos(a)], axis=1)
    kinetic = 0.5 * ((arms * w[None, :, None]).sum(axis=1) ** 2).sum()
    potential = -9.81 * (np.tril(np.ones((n, n))) @ (0.1 * np.cos(a))).sum()
    assert system.energy(0.0, angles, rates) == pytest.approx(kinetic + potential, rel=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from("+*-dsc"), min_size=1, max_size=8), st.sampled_from([2, t, sm.sin(t) * q, q**2 + u]))
def test_replacing_is_substituting(steps, value):
    """Shared parts and derivatives are replaced as SymPy's own substitution does it."""
    grow = {
        "+": lambda e: e + F,
        "*": lambda e: e * (F + u),
        "-": lambda e: q - e,
        "d": lambda e: e + F.diff(t),
        "s": sm.sin,
        "c": lambda e: sm.cos(e) * e,
    }
    expression = F * q
    for step in steps:
        expression = grow[step](expression)
    found = Replacement({F: sm.sympify(value)})(expression)
    expected = expression.subs(F, value).doit()
    point = {q.diff(t): 0.3, u.diff(t): -0.2, q: 0.7, u: 0.4, t: 1.1}
    assert float((found - expected).subs(point)) == pytest.approx(
        0.0, abs=1e-9 * (1 + abs(float(expected.subs(point))))
    )


def test_every_option_of_the_disc_is_taken():
    """An origin may be given; it is used where positions agree with velocities."""
    obj, options = kane_models.cart_with_hinged_inertia()
    names = ("g", "k", "ls", "a", "mA", "mC", "Ix", "Iy", "Iz")
    system = da.from_sympy(obj, parameters=dict.fromkeys(names, 1.0), name="cart", **options).compile()
    assert system.name == "cart"
    assert system.drawing.points == ("Cart", "Pendulum")
    far = me.Point("elsewhere")  # not connected with the others
    system = da.from_sympy(obj, parameters=dict.fromkeys(names, 1.0), origin=far, **options).compile()
    assert system.drawing.points == ()

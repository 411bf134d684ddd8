"""Symbols that exist already, and bodies stated in axes that are not fixed in them."""

import numpy as np
import pytest
import sympy as sm
from sympy import cos, sin
from sympy.physics.mechanics import dynamicsymbols

import dalembert as da


def test_existing_symbols_keep_their_assumptions():
    x, v = dynamicsymbols("x v", real=True)
    m, k = sm.symbols("m k", positive=True)
    model = da.Model("oscillator")
    assert model.coordinates([x]) == (x,)
    assert model.speeds([v]) == (v,)
    assert model.parameters({m: 2.0, k: 8.0}, c=0.5) == (m, k, sm.Symbol("c"))
    model.particle("P", mass=m, velocity=[v, 0])
    model.generalized_force({v: -k * x - sm.Symbol("c") * v})
    state = model.compile().initial({x: 1.0, "v": 2.0})
    assert state.udot[0] == pytest.approx(-4.5)


@pytest.mark.parametrize(
    "symbols", [[sm.Symbol("x")], [dynamicsymbols("x").diff()], [sm.Function("x")(sm.Symbol("s"))]]
)
def test_only_functions_of_time_are_taken(symbols):
    with pytest.raises(da.ModelError, match="coordinates need names in one string or functions of time"):
        da.Model("bad").coordinates(symbols)


def test_only_symbols_are_parameters():
    with pytest.raises(da.ModelError, match="parameters are symbols or names, got 3"):
        da.Model("bad").parameters({3: 1.0})


def gyroscope(*, resal):
    """A symmetric top about its mass centre: precession f, nutation n, spin s; with axes that spin, or do not."""
    model = da.Model("gyroscope")
    f, n, s = model.coordinates("f n s")
    model.speeds("vf vn vs")
    A, C, c = model.parameters(A=2.0, C=3.0, c=0.7)
    pole = sm.rot_ccw_axis3(f) * sm.rot_ccw_axis1(n)
    turn = sm.Matrix([n.diff(), f.diff() * sin(n), f.diff() * cos(n)])
    still = {"mass": 1.0, "inertia": [A, A, C], "position": [0, 0, 0]}
    if resal:
        spin = turn + sm.Matrix([0, 0, s.diff()])
        top = model.body("top", **still, angular_velocity=list(spin), axes_angular_velocity=list(turn))
        model.torque([c, 0, -c * s], on=top)  # without a rotation, in the axes of the angular velocity
    else:
        top = model.body("top", **still, rotation=pole * sm.rot_ccw_axis3(s))
        model.torque(list(pole * sm.Matrix([c, 0, -c * s])), on=top)
    return model.compile()


def test_axes_of_their_own_give_the_same_motion():
    state = {"f": 0.3, "n": 0.8, "s": 0.4, "vf": 1.1, "vn": -0.6, "vs": 5.0}
    fixed, free = (gyroscope(resal=resal).initial(state) for resal in (False, True))
    np.testing.assert_allclose(free.udot, fixed.udot, rtol=1e-12)
    R = np.array(sm.rot_ccw_axis3(0.3) * sm.rot_ccw_axis1(0.8), dtype=float)
    np.testing.assert_allclose(R @ free.reaction_on("top").torque, fixed.reaction_on("top").torque, atol=1e-12)


def test_axes_of_their_own_are_written_out():
    """A top that precesses at a given rate, in symbols: A n'' = W sin n (A W cos n - C (W cos n + s'))."""
    model = da.Model("top")
    n, _ = model.coordinates("n s")
    vn, vs = model.speeds("vn vs")
    A, C, W = model.parameters(A=2.0, C=3.0, W=0.7)
    turn = [vn, W * sin(n), W * cos(n)]
    spin = [vn, W * sin(n), W * cos(n) + vs]
    model.body("top", mass=1, inertia=[A, A, C], velocity=[0, 0], angular_velocity=spin, axes_angular_velocity=turn)
    equations = model.compile().equations()
    nutation, about = equations["M"].LUsolve(equations["f"])
    assert sm.simplify(A * nutation - W * sin(n) * (A * W * cos(n) - C * (W * cos(n) + vs))) == 0
    assert sm.simplify(about - W * sin(n) * vn) == 0


def test_axes_need_an_angular_velocity_and_no_rotation():
    model = da.Model("top")
    (n,) = model.coordinates("n")
    model.body(
        "top", mass=1.0, inertia=[1, 1, 2], position=[0, 0, 0], rotation=n, axes_angular_velocity=[0, 0, n.diff()]
    )
    with pytest.raises(
        da.ModelError, match="stated in axes not fixed in it; give its angular velocity and no rotation"
    ):
        model.compile()


def test_expressions_are_walked_as_graphs():
    """Forty planar rotations one after the other: two to the fortieth terms as a tree, two hundred as a graph."""
    model = da.Model("deep")
    (x,) = model.coordinates("x")
    (v,) = model.speeds("v")
    (m,) = model.parameters(m=3.0)
    c, s = sm.S.One, sm.S.Zero
    for k in range(40):
        c, s = c * cos(x + k) - s * sin(x + k), s * cos(x + k) + c * sin(x + k)
    model.particle("P", mass=m, velocity=[c * v, s * v])
    model.force([-c * x, -s * x], at=model.statement.particles[0])
    model.constrain(c * v - sm.Rational(1, 2), name="component")
    system = model.compile()
    angle = 40 * 0.2 + sum(range(40))
    np.testing.assert_allclose(system.mass_matrix(0.0, [0.2], [1.0]), [[3.0]], rtol=1e-12)
    np.testing.assert_allclose(system.velocity_residual(0.0, [0.2], [1.0]), [np.cos(angle) - 0.5], rtol=1e-10)
    assert system.rows[0].level == "velocity"

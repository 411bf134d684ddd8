"""Constraints that hold only where their gradient vanishes are refused by name; singular positions are not."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da

MASS, G = 2.0, 9.81


def plane(build, name="row"):
    """A heavy particle in the plane with the constraints that `build` makes of (x, y, vx, vy)."""
    model = da.Model("plane")
    x, y = model.coordinates("x y")
    vx, vy = model.speeds("vx vy")
    model.particle("P", mass=MASS, position=[x, y])
    model.gravity([0, -G])
    for k, expression in enumerate(build(x, y, vx, vy)):
        model.constrain(expression, name=f"{name}{k}" if k else name)
    return model.compile()


def at(system, **values):
    """A state put together by hand, at rest where nothing is said."""
    q, u = ([values.get(name, 0.0) for name in names] for names in (system.coordinates, system.speeds))
    zero = np.zeros(system.nu)
    return da.State(system, 0.0, np.array(q), np.array(u), zero, np.zeros(system.nc), system.parameter_values())


DEGENERATE = {
    "square": lambda _x, y, _vx, _vy: [y**2],
    "cube": lambda _x, y, _vx, _vy: [y**3],
    "modulus": lambda _x, y, _vx, _vy: [sp.Abs(y)],
    "cosine": lambda _x, y, _vx, _vy: [1 - sp.cos(y)],
    "squared speed": lambda _x, _y, vx, _vy: [vx**2],
    "beside a sound one": lambda x, y, _vx, _vy: [y**2, x - 0.6],
}


@pytest.mark.parametrize("case", DEGENERATE)
def test_a_row_without_gradient_where_it_holds_is_refused_by_name(case):
    system = plane(DEGENERATE[case])
    words = r"constraint `row`: its gradient vanishes wherever it holds.*y instead of y\*\*2"
    with pytest.raises(da.InitialStateError, match=words) as error:
        system.initial({"x": 0.6})
    assert error.value.conflicting == ("row",)
    state = at(system, x=0.6)
    found = system.diagnose(state)
    assert found.degenerate == ("row",)
    assert not found.ok
    assert "degenerate            constraint `row`: its gradient vanishes" in str(found)
    with pytest.raises(da.InitialStateError, match=words):
        system.simulate(state, 1.0)


@pytest.mark.parametrize("row", [lambda y, _: y**2, lambda _, v: v**2])
def test_one_among_many_rows_is_refused_by_name(row):
    model = da.Model("many")
    for k in range(130):
        x, y = model.coordinates(f"x{k} y{k}")
        vx, vy = model.speeds(f"vx{k} vy{k}")
        model.particle(f"P{k}", mass=MASS, position=[x, y])
        model.constrain(x**2 + y**2 - 1 if k else row(y, vy), name=f"row{k}")
        model.constrain(vx if k == 0 else y * vx - x * vy, name=f"still{k}")
    system = model.compile()
    assert system.is_large
    with pytest.raises(da.InitialStateError, match="constraint `row0`: its gradient vanishes"):
        system.initial(guess={f"x{k}": 1.0 for k in range(130)})


def test_a_row_that_holds_in_one_point_is_left_to_the_certificate():
    """As for a linkage that just reaches its pin: well stated, but singular, and no motion from there is certified."""
    system = plane(lambda x, y, _vx, _vy: [x**2 + y**2, x - y])
    state = system.initial({})
    assert system.diagnose(state).degenerate == ()
    assert not system.simulate(state, 1.0).certificate.ok


@pytest.mark.parametrize("y", [0.7, 0.8, 0.9])
def test_a_squared_circle_is_refused_however_near_the_solver_got(y):
    system = plane(lambda x, y, _vx, _vy: [(x**2 + y**2 - 1) ** 2])
    with pytest.raises(da.InitialStateError, match="constraint `row`: its gradient vanishes"):
        system.initial({"x": 0.6}, guess={"y": y})


@pytest.mark.parametrize("form", ["square", "root"])
@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-5])
def test_a_circle_of_any_size_is_sound(form, size):
    system = plane(lambda x, y, _vx, _vy: [x**2 + y**2 - size**2 if form == "square" else sp.sqrt(x**2 + y**2) - size])
    state = at(system, x=0.6 * size, y=0.8 * size)
    assert system.diagnose(state).degenerate == ()


@pytest.mark.parametrize(
    "formulation",
    [da.LagrangeMultipliers(), da.UdwadiaKalaba(), da.MinimalKane(), da.NonminimalKane(), da.NullSpace()],
    ids=lambda formulation: type(formulation).__name__,
)
def test_where_branches_meet_the_particle_falls_along_one_of_them(formulation):
    """x y = 0 has no gradient at the origin, but beside it: both axes are allowed, and gravity chooses one."""
    system = plane(lambda x, y, _vx, _vy: [x * y])
    state = system.initial({"x": 0.0, "y": 0.0})
    assert "`row` has no gradient" in str(system.diagnose(state))
    motion = system.simulate(state, 1.0, formulation=formulation, integrator=da.DOP853(rtol=1e-10, atol=1e-12))
    assert motion.certificate.ok, motion.certificate
    assert motion["y"] == pytest.approx(-G / 2 * motion.t**2, abs=1e-9)
    assert np.abs(motion.reactions).max() < 1e-9


def test_where_branches_meet_a_velocity_may_contradict_both():
    system = plane(lambda x, y, _vx, _vy: [x * y])
    with pytest.raises(da.InitialStateError, match="`row` has no gradient but asks for -2 instead of 0"):
        system.initial({"x": 0.0, "y": 0.0, "vx": 1.0, "vy": 1.0})


def test_a_row_that_others_imply_does_no_harm():
    system = plane(lambda x, y, _vx, _vy: [y - x**2, (y - x**2) ** 2])
    state = system.initial({"x": 0.3, "vx": 1.0})
    found = system.diagnose(state)
    assert found.ok
    assert [redundancy.name for redundancy in found.redundant] == ["row1"]
    motion = system.simulate(state, 1.0)
    alone = plane(lambda x, y, _vx, _vy: [y - x**2])
    twin = alone.simulate(alone.initial({"x": 0.3, "vx": 1.0}), 1.0, t_eval=motion.t)
    assert motion["x"] == pytest.approx(twin["x"], abs=1e-6)
    assert motion.reactions == pytest.approx(twin.reactions, abs=1e-4)


def test_a_row_switched_off_by_a_parameter_is_left_alone():
    model = da.Model("switch")
    x, y = model.coordinates("x y")
    (on,) = model.parameters(on=1.0)
    model.particle("P", mass=MASS, position=[x, y])
    model.gravity([0, -G])
    model.constrain(on * y, name="floor")
    system = model.compile()
    held, free = (system.simulate(system.initial(parameters={"on": value}), 1.0) for value in (1.0, 0.0))
    assert held["y"][-1] == pytest.approx(0.0, abs=1e-12)
    assert held.reactions[-1, 1] == pytest.approx(MASS * G, abs=1e-9)
    assert free["y"][-1] == pytest.approx(-G / 2, abs=1e-7)

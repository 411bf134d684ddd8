"""Parameter values are held to what compile holds the defaults to: bodies that can exist."""

import pickle

import numpy as np
import pytest

import dalembert as da


@pytest.fixture(scope="module")
def system():
    """A particle and a body; `k` is a mass nobody has by default, `c` no mass at all."""
    model = da.Model("pair")
    x, y, a = model.coordinates("x y a")
    m, M, J, k, c = model.parameters(m=2.0, M=3.0, J=0.5, k=0.0, c=0.1)
    model.particle("P", mass=m + k, position=[x, 0])
    model.particle("Q", mass=k, position=[2 * x, 0])
    model.body("B", mass=M, inertia=J, position=[0, y], rotation=a)
    model.generalized_force({x: -c * x.diff()})
    return model.compile()


@pytest.fixture(scope="module", params=["compiled", "unpickled"])
def either(request, system):
    return system if request.param == "compiled" else pickle.loads(pickle.dumps(system))


IMPOSSIBLE = [
    ({"m": -1.0}, r"with `m` = -1 the mass of `P` is -1; it must not be negative"),
    ({"m": 0.0}, r"with `m` = 0 the mass of `P` is 0; the system was compiled for a positive one"),
    ({"M": -1e-9}, r"with `M` = -1e-09 the mass of `B`"),
    ({"J": -0.5, "c": 3.0}, r"with `J` = -0.5 the inertia of body `B` has the principal moment -0.5"),
    ({"J": 0.0}, r"the inertia of body `B` is 0"),
    ({"k": -1.0}, r"with `k` = -1 the mass of `Q` is -1"),
    ({"m": 1.0, "k": -1.5}, r"(?s)with `m` = 1, `k` = -1.5 the mass of `P` is -0.5.*with `k` = -1.5 the mass of `Q`"),
]


@pytest.mark.parametrize(("values", "words"), IMPOSSIBLE)
def test_impossible_masses_are_refused_by_name(either, values, words):
    state = either.initial({"x": 1.0})
    for use in (
        either.parameter_values,
        lambda p: either.initial({"x": 1.0}, parameters=p),
        lambda p: either.simulate(state, 0.1, parameters=p),
        state.with_,
        lambda p: either.mass_matrix(0.0, state.q, state.u, p),
    ):
        with pytest.raises(da.OptionError, match=words):
            use(values)


def test_an_event_cannot_make_a_mass_negative(system):
    fall = da.Event("x", then={"m": -1.0}, name="fall")
    state = system.initial({"x": 0.1, "x_dot": -1.0})
    motion = system.simulate(state, 1.0, events=[fall])
    assert not motion.certificate.ok
    assert "with `m` = -1 the mass of `P` is -1; it must not be negative" in motion.message


def test_other_values_pass(either):
    found = either.parameter_values({"m": 1e-12, "k": 4.0, "c": -5.0, "J": 1e9})
    np.testing.assert_array_equal(found, [1e-12, 3.0, 1e9, 4.0, -5.0])
    assert either.parameter_values({"k": 0.0})[3] == 0.0
    with pytest.raises(da.ArrayError, match="finite"):
        either.parameter_values({"m": np.nan})


def test_moments_that_no_body_has_are_refused():
    model = da.Model("top")
    (x,) = model.coordinates("x")
    J1, J2, J3 = model.parameters(J1=1.0, J2=1.0, J3=1.5)
    model.body("T", mass=1, inertia=[J1, J2, J3], position=[x, 0, 0], rotation=[1, 0, 0, 0])
    system = model.compile()
    with pytest.raises(
        da.OptionError, match=r"`J3` = 9 the inertia of body `T` has principal moments 1, 1, 9: no body"
    ):
        system.parameter_values({"J3": 9.0})
    assert system.parameter_values({"J3": 2.0})[2] == 2.0  # a flat disc


def test_what_depends_on_time_is_judged_at_the_start():
    model = da.Model("rocket")
    (x,) = model.coordinates("x")
    m, rate = model.parameters(m=2.0, rate=0.1)
    model.particle("R", mass=m - rate * model.t, position=[x, 0])
    system = model.compile()
    system.parameter_values({"rate": 50.0})
    with pytest.raises(da.OptionError, match=r"`m` = -2 the mass of `R` is -2"):
        system.parameter_values({"m": -2.0})

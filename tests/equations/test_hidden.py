"""Hidden conditions of servo constraints of higher index, against closed solutions of the tracking problems."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.errors import InitialStateError

G = 9.81


def smooth(t, end=3):
    """From 0 to 1 with four vanishing derivatives at both ends."""
    x = t / end
    return 126 * x**5 - 420 * x**6 + 540 * x**7 - 315 * x**8 + 70 * x**9


def elastic_joint(want):
    """A link driven through a spring by a motor; the link has to follow `want`."""
    model = da.Model("elastic joint")
    a, b = model.coordinates("a b")
    (tau,) = model.unknowns("tau")
    t = model.t
    kinetic = a.diff(t) ** 2 / 2 + sp.Rational(3, 20) * b.diff(t) ** 2
    model.energy(kinetic=kinetic, potential=50 * (a - b) ** 2 - 5 * sp.cos(a))
    model.generalized_force({b: tau})
    model.constrain(a - want(t), name="link", servo=tau)
    return model.compile()


def test_an_elastic_joint():
    """J1 a'' = -k (a - b) - 5 sin a, J2 b'' = k (a - b) + tau: b and tau follow from a (M. W. Spong, 1987)."""

    def want(t):
        return sp.sin(2 * t) * t**2 / (1 + t**2)

    system = elastic_joint(want)
    assert system.constraint_names == ("link", "hidden(link)")
    motion = system.simulate(system.initial(), 4.0)
    assert motion.certificate.ok
    t = sp.Symbol("t")
    a = want(t)
    b = a + (a.diff(t, 2) + 5 * sp.sin(a)) / 100
    tau = sp.Rational(3, 10) * b.diff(t, 2) + 100 * (b - a)
    for name, exact in (("a", a), ("b", b), ("tau", tau)):
        error = np.abs(motion[name] - sp.lambdify(t, exact)(motion.t)).max()
        assert error < 1e-9, name
    assert not motion["link"].any()  # no reaction of its own


@pytest.fixture(scope="module")
def crane():
    """The overhead crane of Blajer and Kolodziejczyk: trolley s, rope l, angle theta; the load follows (x, y)."""
    model = da.Model("overhead crane")
    s, l, theta = model.coordinates("s l theta")
    F, M = model.unknowns("F M")
    t = model.t
    model.particle("trolley", mass=10, position=[s, 0])
    model.particle("load", mass=100, position=[s + l * sp.sin(theta), -l * sp.cos(theta)])
    model.gravity([0, -G])
    model.energy(kinetic=5 * l.diff(t) ** 2, potential=sp.S.Zero)  # the winch
    model.generalized_force({s: F, l: 10 * M})
    model.constrain(s + l * sp.sin(theta) - 5 * smooth(t), name="x", servo=F)
    model.constrain(l * sp.cos(theta) - 4 + 3 * smooth(t), name="y", servo=M)
    return model.compile()


def crane_by_hand():
    """tan(theta) = -x''/(g - y''), l = y / cos(theta), s = x - l sin(theta), and F from the trolley."""
    t = sp.Symbol("t")
    x, y = 5 * smooth(t), 4 - 3 * smooth(t)
    theta = sp.atan(-x.diff(t, 2) / (G - y.diff(t, 2)))
    l = y / sp.cos(theta)
    s = x - l * sp.sin(theta)
    pull = 100 * (G - y.diff(t, 2)) / sp.cos(theta)
    exact = {"theta": theta, "l": l, "s": s, "F": 10 * s.diff(t, 2) - pull * sp.sin(theta)}
    return {name: sp.lambdify(t, value) for name, value in exact.items()}


def test_a_crane_tracks_to_a_nanometre(crane):
    """Two servo constraints, of which the unknowns act on one combination only: index 5."""
    motion = crane.simulate(crane.initial(guess={"l": 4.0}), 3.0)
    assert motion.certificate.ok
    exact = crane_by_hand()
    for name in ("theta", "l", "s"):
        assert np.abs(motion[name] - exact[name](motion.t)).max() < 1e-9, name
    assert np.abs(motion["F"] - exact["F"](motion.t)).max() < 1e-9 * 508  # N, its largest
    assert np.abs(motion["s"] + motion["l"] * np.sin(motion["theta"]) - 5 * smooth(motion.t)).max() < 1e-9


def test_what_was_found_is_listed(crane):
    state = crane.initial(guess={"l": 4.0})
    diagnosis = crane.diagnose(state)
    assert {(hidden.level, hidden.unknown) for hidden in diagnosis.hidden} == {("position", "F"), ("acceleration", "M")}
    assert "hidden conditions" in str(diagnosis)
    assert diagnosis.dof == 0
    assert diagnosis.ok


@pytest.mark.parametrize("formulation", [da.NullSpace(), da.MinimalState()], ids=repr)
@pytest.mark.parametrize("drift", [da.NoCorrection(), da.Baumgarte(20, 100), da.Blajer()], ids=repr)
def test_every_way_tracks(crane, formulation, drift):
    state = crane.initial(guess={"l": 4.0})
    motion = crane.simulate(state, 3.0, formulation=formulation, drift=drift)
    assert np.abs(motion["theta"] - crane_by_hand()["theta"](motion.t)).max() < 1e-8


@pytest.mark.parametrize("integrator", [da.Radau(), da.IDA(), da.GeneralizedAlpha(), da.StateSpaceSVD()], ids=repr)
def test_implicit_integrators_track(crane, integrator):
    state = crane.initial(guess={"l": 4.0})
    motion = crane.simulate(state, 3.0, integrator=integrator, t_eval=np.linspace(0.0, 3.0, 31))
    assert motion.success, motion.message
    assert np.abs(motion["theta"] - crane_by_hand()["theta"](motion.t)).max() < 1e-4


def test_a_constraint_no_unknown_reaches_is_named():
    model = da.Model("two carts")
    x, y = model.coordinates("x y")
    (F,) = model.unknowns("F")
    model.particle("X", mass=1.0, position=[x, 0])
    model.particle("Y", mass=1.0, position=[y, 1])
    model.generalized_force({y: F})
    model.constrain(x - model.t, name="program", servo=F)
    with pytest.raises(InitialStateError, match="servo constraint `program`: its unknown `F` does not influence it"):
        model.compile().initial()


def test_a_condition_has_no_reaction_and_must_hold_at_the_start():
    """x'' + x = 0 keeps x = cos(t) by itself; another start is refused."""
    model = da.Model("oscillator")
    (x,) = model.coordinates("x")
    model.particle("P", mass=1.0, position=[x, 0])
    model.generalized_force({x: -x})
    model.condition(x - sp.cos(model.t), name="cosine")
    system = model.compile()
    motion = system.simulate(system.initial(), 5.0, drift=da.NoCorrection())
    assert motion.certificate.ok
    assert not motion["cosine"].any()
    assert np.abs(motion["x"] - np.cos(motion.t)).max() < 1e-9
    with pytest.raises(InitialStateError, match="cosine"):
        system.initial({"x": 2.0})

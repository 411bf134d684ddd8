"""Other units, or a row multiplied by a number, change nothing: not the steps, not the verdict, not the motion."""

import functools
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from sympy import cos, sin

import dalembert as da
from dalembert import problems
from dalembert.problems.n_four_bar import n_four_bar
from dalembert.solve.dense import DENSE
from dalembert.solve.sparse import SPARSE


class Units(NamedTuple):
    """What one metre, one kilogram and one second are in the units of a model, and a factor on every row."""

    length: float = 1.0
    mass: float = 1.0
    time: float = 1.0
    row: float = 1.0


def model_in_units(name):
    """A model with the parameters L, m, g and r, a factor on its rows."""
    model = da.Model(name)
    return model, *model.parameters(L=1.0, m=1.0, g=9.81, r=1.0)


def values(units):
    L, T = units.length, units.time
    return {"L": L, "m": units.mass, "g": 9.81 * L / T**2, "r": units.row}


@functools.cache
def pendulum_system():
    model, L, m, g, r = model_in_units("pendulum")
    x, y = model.coordinates("x y")
    model.particle("P", mass=m, position=[x, y])
    model.gravity([0, -g])
    model.constrain(r * (x**2 + y**2 - L**2), name="rod")
    return model.compile()


def pendulum(units):
    system, L = pendulum_system(), units.length
    return system, system.initial({"x": 0.75 * L}, guess={"y": -L}, parameters=values(units))


@functools.cache
def four_bar_system():
    model, L, m, g, r = model_in_units("four-bar of bodies")
    ends = [[(0, 0)]]
    for k, length in enumerate((1.0, 2.0, 1.5)):
        x, y, a = model.coordinates(f"x{k} y{k} a{k}")
        model.body(f"B{k}", mass=m, inertia=m * (L * length) ** 2 / 12, position=[x, y], rotation=a)
        ends.append([(x + s * length * L * cos(a) / 2, y + s * length * L * sin(a) / 2) for s in (-1, 1)])
    model.gravity([0, -g])
    ground, crank, coupler, rocker = ends
    pairs = [(ground[0], crank[0]), (crank[1], coupler[0]), (coupler[1], rocker[1]), (rocker[0], (2 * L, 0))]
    for k, (one, other) in enumerate(pairs):
        model.constrain([r * (p - q) for p, q in zip(one, other, strict=True)], name=f"pin{k}")
    return model.compile()


def four_bar_of_bodies(units):
    system, L = four_bar_system(), units.length
    place = {"x": [0.4, 1.5, 2.3], "y": [0.4, 1.0, 0.7], "a": [0.8, 0.3, 1.2]}
    guess = {f"{n}{k}": v * (1.0 if n == "a" else L) for n, row in place.items() for k, v in enumerate(row)}
    return system, system.initial({"a0": 0.8}, guess=guess, parameters=values(units))


@functools.cache
def slider_crank_system():
    model, L, m, g, r = model_in_units("slider-crank")
    a, b, x = model.coordinates("a b x")
    model.body("crank", mass=m, inertia=m * L**2 / 12, position=[L * cos(a) / 2, L * sin(a) / 2], rotation=a)
    centre = [L * cos(a) + L * cos(b), L * sin(a) + L * sin(b)]
    model.body("rod", mass=m, inertia=m * L**2 / 3, position=centre, rotation=b)
    model.particle("slider", mass=m, position=[x, 0])
    model.gravity([0, -g])
    model.constrain(r * (L * cos(a) + 2 * L * cos(b) - x), name="along")
    model.constrain(r * (L * sin(a) + 2 * L * sin(b)), name="across")
    return model.compile()


def slider_crank(units):
    system, L = slider_crank_system(), units.length
    given = {"a": 0.9, "a_dot": 2.0 / units.time}
    return system, system.initial(given, guess={"b": -0.3, "x": 2.5 * L}, parameters=values(units))


@functools.cache
def appell_hamel_system():
    return problems.get("appell_hamel_linear").system()


def appell_hamel(units):
    """Nonholonomic, with an angle that enters a row linearly."""
    system, L, m, T = appell_hamel_system(), units.length, units.mass, units.time
    parameters = {"a": L, "b": 0.5 * L, "rho": 5 * L, "z0": 30 * L, "m": m, "M": 5 * m, "I": m * L**2}
    parameters["g"] = 9.81 * L / T**2
    given = {"theta": 0.0, "phi": 0.0, "x": 0.0, "y": 0.0, "u1": 1.0 / T, "u2": 1.0 / T}
    guess = {"z": 30.0 * L, "u3": L / T, "u4": 5 * L / T, "u5": -0.5 * L / T}
    return system, system.initial(given, guess=guess, parameters=parameters)


MODELS = [pendulum, four_bar_of_bodies, slider_crank, appell_hamel]
EXACT = [Units(2.0**30), Units(2.0**-30), Units(mass=2.0**40), Units(time=2.0**-10), Units(2.0**10, 2.0**-20, 2.0**7)]
ROUNDED = [Units(1e-9), Units(1e-3), Units(1e3), Units(1e6), Units(1e9), Units(1e3, 1e-6, 60.0), Units(time=1e-6)]
ROWS = [Units(row=row) for row in (1e-12, 1e-9, 1e-6, 1e6, 1e9, 1e12)]


def run(model, units, **options):
    system, state = model(units)
    return system.simulate(state, 2.0 * units.time, **options)


LENGTHS = {pendulum: [1, 1], four_bar_of_bodies: [1, 1, 0] * 3, slider_crank: [0, 0, 1], appell_hamel: [0, 0, 1, 1, 1]}


def states(model, motion, units):
    """Coordinates and speeds in metres, seconds and radians, (nt, nq + nu)."""
    size = units.length ** np.array(LENGTHS[model], dtype=float)
    return np.hstack([motion.q / size, motion.u / (size / units.time)])


@pytest.mark.parametrize("model", MODELS)
def test_units_that_are_powers_of_two_change_no_bit(model):
    base = run(model, Units())
    for units in EXACT if model is appell_hamel else [*EXACT, Units(row=2.0**40)]:
        motion = run(model, units)
        assert motion.stats == base.stats, units
        assert motion.certificate.ok, motion.certificate
        np.testing.assert_array_equal(motion.t / units.time, base.t)
        np.testing.assert_array_equal(states(model, motion, units), np.hstack([base.q, base.u]))


@pytest.mark.parametrize("model", MODELS)
def test_other_units_change_neither_steps_nor_verdict_nor_motion(model):
    base = run(model, Units())
    assert base.certificate.ok, base.certificate
    for units in ROUNDED if model is appell_hamel else [*ROUNDED, *ROWS]:
        motion = run(model, units)
        assert motion.certificate.ok, f"{units}: {motion.certificate}"
        assert motion.stats == base.stats, units
        difference = states(model, motion, units)[-1] - np.concatenate([base.q[-1], base.u[-1]])
        assert (np.abs(difference) < 1e-9 * np.concatenate([base.facts.scales.q, base.facts.scales.u])).all(), units


LENGTHS_TOO = (Units(2.0**30), Units(2.0**-30, time=2.0**7))
NOT_LENGTHS = (Units(time=2.0**7), Units(mass=2.0**20), Units(row=2.0**20))


@pytest.mark.parametrize(
    ("integrator", "changes"),
    [
        (da.Tsit5(rtol=1e-7), LENGTHS_TOO),
        (da.GeneralizedAlpha(), LENGTHS_TOO),
        (da.Radau(), NOT_LENGTHS),  # its equations move coordinates along gradients, which mixes units
        (da.StateSpaceSVD(), NOT_LENGTHS),  # orthogonal directions among coordinates as they are stated
    ],
    ids=lambda value: "" if isinstance(value, tuple) else type(value).__name__,
)
def test_units_and_other_integrators(integrator, changes):
    base = run(slider_crank, Units(), integrator=integrator)
    for units in changes:
        motion = run(slider_crank, units, integrator=integrator)
        assert motion.certificate.ok == base.certificate.ok
        assert motion.stats["steps"] == base.stats["steps"]


def test_radau_is_as_good_in_millimetres_and_kilometres():
    for units in (Units(), Units(1e3), Units(1e-3)):
        motion = run(slider_crank, units, integrator=da.Radau())
        assert motion.certificate.ok, f"{units}: {motion.certificate}"


def test_an_atol_that_is_given_is_absolute():
    fine, coarse = (run(pendulum, Units(), integrator=da.DOP853(rtol=1e-6, atol=atol)) for atol in (1e-12, 1e-3))
    large = run(pendulum, Units(2.0**20), integrator=da.DOP853(rtol=1e-6, atol=1e-3))
    assert coarse.stats["steps"] < large.stats["steps"] <= fine.stats["steps"]


def test_a_violated_row_is_not_hidden_by_a_small_factor():
    """Off by 1e-6 of the length, stated in units that make it 1e-12."""
    system, state = pendulum(Units(row=1e-6))
    shifted = da.State(**{**vars(state), "q": state.q * (1 + 1e-6), "report": None})
    with pytest.raises(da.InconsistentStateError, match="rod"):
        system.simulate(shifted, 1.0)
    drifted = run(pendulum, Units(row=1e-6), drift=da.NoCorrection(), integrator=da.RK4(0.05))
    same = run(pendulum, Units(), drift=da.NoCorrection(), integrator=da.RK4(0.05))
    assert not drifted.certificate.ok
    assert not same.certificate.ok


def test_a_four_bar_of_any_size_is_assembled_and_taken():
    for length in (1e-9, 1e9):
        system, state = four_bar_of_bodies(Units(length))
        assert system.simulate(state, 0.1).certificate.ok


def test_lengths_are_found_where_the_guess_is_zero():
    """Gradients vanish there too: the size follows from the row itself."""
    for length in (1e-9, 1.0, 1e9):
        model = da.Model("pendulum from nowhere")
        x, y = model.coordinates("x y")
        model.particle("P", mass=1, position=[x, y])
        model.constrain(x**2 + y**2 - length**2, name="rod")
        state = model.compile().initial({})
        assert np.hypot(*state.q) == pytest.approx(length, rel=1e-12)


def test_large_accelerations_are_no_false_alarm():
    """A bar turning at 3000 rad/s in natural coordinates: what is left of A u' = b is small beside its terms."""
    w = 3000.0
    model = da.Model("rotating bar")
    x1, y1, x2, y2 = model.coordinates("x1 y1 x2 y2")
    model.particle("A", mass=1, position=[x1, y1])
    model.particle("B", mass=1, position=[x2, y2])
    model.constrain([x1, y1], name="pin")
    model.constrain((x2 - x1) ** 2 + (y2 - y1) ** 2 - 1, name="bar")
    system = model.compile()
    motion = system.simulate(system.initial({x2: 1.0, y2: 0.0, y2.diff(): w}), 20 * 2 * np.pi / w)
    assert motion.certificate.ok, motion.certificate
    angle = w * motion.t[-1]
    np.testing.assert_allclose(motion.q[-1, 2:], [np.cos(angle), np.sin(angle)], rtol=0, atol=1e-8)


def test_the_solver_has_no_say_in_the_sizes():
    problem = n_four_bar(4)
    system = problem.system()
    state = problem.state(system)
    sparse, dense = (
        system.simulate(state, 0.1, formulation=da.LagrangeMultipliers(solver=solver)).scales.values
        for solver in (SPARSE, DENSE)
    )
    np.testing.assert_allclose(sparse, dense, rtol=1e-13, atol=0)


def test_units_of_a_large_system():
    """Over nonzeros, in `initial` too: a length that is a power of two changes no bit."""
    problem = n_four_bar(150)
    system = problem.system()
    assert system.is_large
    runs = []
    for length in (1.0, 2.0**20):
        parameters = {"L": length, "g": 9.81 * length}
        given, guess = ({k: v * length for k, v in part.items()} for part in (problem.given, problem.guess))
        state = system.initial(given, guess=guess, parameters=parameters)
        runs.append(system.simulate(state, 0.1))
        assert runs[-1].certificate.ok, runs[-1].certificate
    assert runs[0].stats == runs[1].stats
    np.testing.assert_array_equal(runs[0].q, runs[1].q / 2.0**20)


@pytest.mark.parametrize("held", ["fixed", "revolute"])
def test_stiff_beams_are_no_false_alarm(held):
    """Forces of 1e8 cancel in the balance. A pin leaves no length in the constraints: sizes follow from the rest."""
    model = da.Model("stiff beam")
    beam = model.beams.cable(
        "beam", start=[0, 0], end=[2, 0], elements=4, density=1.5, axial_stiffness=1e8, bending_stiffness=30.0
    )
    getattr(model.joints, held)("support", model.ground, beam.start)
    model.gravity([0, -9.81])
    system = model.compile()
    state = system.initial({})
    for integrator, t_end in ((da.GeneralizedAlpha(), 0.01), (da.DOP853(rtol=1e-8), 1e-4)):
        motion = system.simulate(state, t_end, integrator=integrator)
        assert motion.certificate.ok, motion.certificate
    assert 1e-3 < motion.scales.q[0] < 1e2  # metres: the beam is 2 m long


@pytest.mark.parametrize("near", [0.0, 1e-21, 1e-17, 1e-12])
def test_round_off_of_a_length_is_no_size_beside_angles(near):
    model = da.Model("cart")
    x, a = model.coordinates("x a")
    model.particle("cart", mass=2, position=[x, 0])
    model.particle("bob", mass=1, position=[x + sin(a), -cos(a)])
    model.gravity([0, -9.81])
    model.constrain(x, name="clamp")
    system = model.compile()
    state = system.initial({a: 0.5, a.diff(): 0.0}, guess={x: 1.0})  # leaves x next to zero
    motion = system.simulate(replace(state, q=np.array([near, 0.5])), 1.0)
    assert motion.certificate.ok
    assert motion.scales.q[0] == pytest.approx(np.sqrt(1 / 3))  # the inertia of the angle is 1, that of x 3


def geneva_drive(engaged):
    """A driver at 2 rad/s whose pin turns a wheel of four slots by a quarter, or a wheel held by the driver."""
    model = da.Model("engaged" if engaged else "held")
    a, b = model.coordinates("a b")
    (slot,) = model.parameters(slot=0.0)
    model.body("driver", mass=1, inertia=0.3, position=[0, 0], rotation=a)
    model.body("wheel", mass=1, inertia=0.1, position=[1, 0], rotation=b)
    model.constrain(a - 2 * model.t + 2, name="motor")
    turned = b + slot * np.pi / 2
    pin = [np.sqrt(0.5) * cos(a) - 1, np.sqrt(0.5) * sin(a)]
    model.constrain(pin[1] * cos(turned) - pin[0] * sin(turned) if engaged else b.diff(), name="pin")
    return model.compile()


def test_a_gradient_that_vanishes_at_the_start_is_no_long_lever_arm():
    """The pin enters its slot along the slot, so that the driver's angle has no gradient there but round-off.

    Between entry and exit, at a = -+45 degrees, the wheel is at b = -atan2(sin a, sqrt(2) - cos a); otherwise it rests.
    """
    held, engaged = geneva_drive(False), geneva_drive(True)
    a = da.Model("names").coordinates("a")[0]
    enter = da.Event(sin(a + np.pi / 4), direction=1, then=engaged, name="enter")

    def release(state):
        return held.initial({}, guess=state, parameters={"slot": state["slot"] + 1})

    leave = da.Event(sin(a - np.pi / 4), direction=1, then=release, name="leave")
    motion = held.simulate(
        held.initial({"a": -2.0, "b": np.pi / 4}), 8.0, t_eval=np.linspace(0, 8, 401), events=[enter, leave]
    )
    assert motion.certificate.ok
    assert [round(o.t, 9) for o in motion.events] == [
        round(1 + (side * np.pi / 4 + 2 * np.pi * turn) / 2, 9) for turn in range(3) for side in (-1, 1)
    ]
    turns = np.round(motion["a"] / (2 * np.pi))
    angle = np.clip(motion["a"] - 2 * np.pi * turns, -np.pi / 4, np.pi / 4)
    exact = -np.arctan2(np.sin(angle), np.sqrt(2) - np.cos(angle)) - turns * np.pi / 2
    assert np.abs(motion["b"] - exact).max() < 1e-9
    for finding in motion.certificate.findings:
        assert finding.allowed < 1e-5

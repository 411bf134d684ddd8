"""Systems at rest turn over nothing but round-off and are OK; small motions that lose energy are not."""

import numpy as np
import pytest

import dalembert as da

INTEGRATORS = [da.Automatic(), da.Radau(), da.GeneralizedAlpha(), da.IDA(), da.RK4(0.05)]


def gears(torque=0.0, count=6):
    """A row of gears of radii 0.3, 0.4, ... m; equal and opposite forces of its first and last tooth balance."""
    model = da.Model("gears")
    angles = model.coordinates(" ".join(f"a{k}" for k in range(count)))
    radii = [0.3 + 0.1 * k for k in range(count)]
    for k, angle in enumerate(angles):
        model.body(f"gear{k}", mass=1, inertia=0.1 * (k + 1), position=[k, 0], rotation=angle)
    for k in range(count - 1):
        model.constrain(radii[k] * angles[k] + radii[k + 1] * angles[k + 1], name=f"mesh{k}")
    if torque:
        model.generalized_force({angles[0]: torque, angles[-1]: torque * radii[-1] / radii[0]})
    system = model.compile()
    return system, system.initial({angles[0]: 0.3, "a0'": 0.0})


def lever():
    """A lever with unequal arms in balance, at the height where the potential energy is zero."""
    model = da.Model("lever")
    bar = model.body("bar", mass=3, inertia=0.7)
    model.joints.revolute("pivot", model.ground, model.marker(bar, [0.1, 0]))
    model.force([0, -7.3], at=model.marker(bar, [-0.9, 0]))
    model.force([0, -(3 * 9.81 * 0.1 + 7.3 * 1.0 - 0.0) / 0.3], at=model.marker(bar, [0.4, 0]))
    model.gravity([0, -9.81])
    system = model.compile()
    return system, system.initial({"bar_x": -0.1, "bar_x'": 0.0}, guess={"bar_y": 0.0})


def balance():
    """A weight on a spring, both stated as forces: no potential energy to compare with."""
    model = da.Model("balance")
    (x,) = model.coordinates("x")
    bead = model.particle("bead", mass=0.7, position=[x, 0])
    model.force([0.7 * 9.81 - 123.4 * x, 0], at=bead)
    system = model.compile()
    return system, system.initial({x: 0.7 * 9.81 / 123.4, x.diff(): 0.0})


def pendulum():
    model = da.Model("pendulum")
    x, y = model.coordinates("x y")
    model.particle("bob", mass=1, position=[x, y])
    model.gravity([0, -9.81])
    model.constrain((x - 0.1) ** 2 + (y - 0.3) ** 2 - 0.09, name="rod")
    system = model.compile()
    return system, system.initial({x: 0.1, x.diff(): 0.0}, guess={y: 0.0})


AT_REST = {
    "gears": gears, "loaded gears": lambda: gears(1.7 / 3), "lever": lever, "balance": balance, "pendulum": pendulum,
}  # fmt: skip


@pytest.mark.parametrize("name", AT_REST)
@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda value: type(value).__name__)
def test_a_system_at_rest_is_ok(name, integrator):
    system, state = AT_REST[name]()
    assert np.abs(state.udot).max() < 1e-12
    motion = system.simulate(state, 10.0, integrator=integrator)
    assert motion.certificate.ok


def test_runs_of_a_sweep_at_rest_are_ok():
    """They are judged in native code."""
    system, state = gears(1.7 / 3)
    assert system.sweep({"a0": [0.1, 0.2, 0.3]}, 5.0, state=state, outputs=["a1"]).ok.all()


def test_a_sequence_of_motions_at_rest_is_ok():
    system, state = gears(1.7 / 3)
    motion = system.simulate(state, 1.0, events=[da.Every(0.3, then={"a0'": 0.0}, name="stop")])
    assert len(motion.segments) == 4
    assert motion.certificate.ok


@pytest.mark.parametrize("amplitude", [1e-1, 1e-3, 1e-5])
def test_a_small_motion_that_loses_energy_is_not_ok(amplitude):
    """Gears that a spring turns back: steps a fifth of the period long lose a tenth of the energy and more."""
    model = da.Model("sprung gears")
    a, b = model.coordinates("a b")
    for name, angle in (("first", a), ("second", b)):
        model.body(name, mass=1, inertia=0.1, position=[0, 0], rotation=angle)
    model.constrain(0.3 * a + 0.4 * b, name="mesh")
    model.generalized_force({a: -4 * a})
    system = model.compile()
    period = 2 * np.pi * np.sqrt(0.1 * (1 + 0.75**2) / 4)
    motion = system.simulate(system.initial({a: amplitude, "a'": 0.0}), 5.0, integrator=da.RK4(period / 5))
    assert motion.certificate.energy_error > 0.1 * 4 * amplitude**2 / 2
    assert not motion.certificate.ok

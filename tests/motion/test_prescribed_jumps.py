"""Drives that jump: no certificate is OK past them, whatever is sampled and integrated."""

import numpy as np
import pytest
from sympy import Abs, Heaviside, Max, Piecewise, atan, atan2, cos, exp, pi, sign, sin, sqrt, tan

import dalembert as da

DRIVES = {
    "bent path": lambda x, t: x - Abs(t - 1),
    "path in pieces": lambda x, t: x - Piecewise((1 - t, t < 1), (t - 1, True)),
    "speed that jumps": lambda x, t: x.diff(t) - sign(t - 1),
    "path that jumps": lambda x, t: x - sign(t - 1) / 10,
    "square wave": lambda x, t: x.diff(t) - sign(sin(pi * t)),
    "pulses": lambda x, t: x.diff(t) - sign(2 * sin(pi * t / 6) - 1),
    "square of time": lambda x, t: x.diff(t) - sign(t**2 - 1),
    "product": lambda x, t: x.diff(t) - Heaviside((t - 1) * (t + 2)),
    "decay": lambda x, t: x.diff(t) - Piecewise((1, exp(-t) > exp(-1)), (0, True)),
    "root of a square": lambda x, t: x - sqrt((t**2 - 1) ** 2),
    "saw of a tangent": lambda x, t: x.diff(t) - atan(tan(pi * t / 2)),
    "angle of a vector": lambda x, t: x.diff(t) - atan2(sin(pi * t), cos(pi * t)),
    "two waves": lambda x, t: x.diff(t) - sign(sin(pi * t) * (2 + cos(3 * t))),
}
SMOOTH = {
    "speed that bends": lambda x, t: x.diff(t) - Abs(t - 1),
    "acceleration that jumps": lambda x, t: x - Max(0, t - 1) ** 2,
    "acceleration that jumps at a square": lambda x, t: x - Max(0, t**2 - 1) ** 2,
}
SAMPLES = [0.0, 0.5, 1.5, 2.0]  # the jump is at t = 1


def driven_cart(drive):
    """A cart with a pendulum."""
    model = da.Model("cart")
    x, a = model.coordinates("x a")
    model.particle("cart", mass=2, position=[x, 0])
    model.particle("bob", mass=1, position=[x + sin(a), -cos(a)])
    model.gravity([0, -9.81])
    model.constrain(drive(x, model.t), name="drive")
    system = model.compile()
    return system, system.initial({a: 0.5, a.diff(): 0.0}, guess={x: 1.0})


@pytest.mark.parametrize("name", DRIVES)
@pytest.mark.parametrize("integrator", [da.DOP853(), da.Radau(), da.IDA()], ids=lambda value: type(value).__name__)
def test_a_drive_that_jumps_is_not_ok(name, integrator):
    system, state = driven_cart(DRIVES[name])
    motion = system.simulate(state, 2.0, t_eval=SAMPLES, integrator=integrator)
    assert not motion.certificate.ok
    assert "`jump of drive`" in motion.certificate.verdict
    assert "at t = 1 " in motion.certificate.verdict


@pytest.mark.parametrize("name", DRIVES)
def test_a_drive_that_jumps_before_the_only_sample_is_not_ok(name, tmp_path):
    system, state = driven_cart(DRIVES[name])
    motion = system.simulate(state, 2.0, t_eval=[2.0])
    assert "`jump of drive`" in motion.certificate.verdict
    motion.save(tmp_path / "motion.npz")
    assert da.Motion.load(tmp_path / "motion.npz", system).certificate.verdict == motion.certificate.verdict


@pytest.mark.parametrize("name", SMOOTH)
def test_a_drive_whose_accelerations_jump_is_ok(name):
    system, state = driven_cart(SMOOTH[name])
    motion = system.simulate(state, 2.0, t_eval=SAMPLES)
    assert motion.certificate.ok


@pytest.mark.parametrize("kind", ["linear", "cubic"])
@pytest.mark.parametrize(
    "integrator", [da.DOP853(), da.Radau(), da.RK4(0.01), da.IDA()], ids=lambda value: type(value).__name__
)
def test_a_drive_that_jumps_where_a_table_passes_a_value_is_not_ok(kind, integrator):
    """It was OK: speeds of 1 and -1 have the same energy."""
    model = da.Model("cart")
    x, a = model.coordinates("x a")
    tau = model.table("tau", [0, 0.9, 2, 3], [0, 1, 0.2, 0.9], kind=kind)
    model.particle("cart", mass=2, position=[x, 0])
    model.particle("bob", mass=1, position=[x + sin(a), -cos(a)])
    model.gravity([0, -9.81])
    model.constrain(x.diff(model.t) - sign(tau(model.t) - 0.5), name="drive")
    system = model.compile()
    motion = system.simulate(system.initial({x: 1.0, a: 0.5, a.diff(): 0.0}), 2.0, integrator=integrator)
    assert any(finding.name == "jump of drive" for finding in motion.certificate.findings)
    assert not motion.certificate.ok


ENDS = {
    "end of a table": lambda x, t, tau: x - tau(t),
    "speed that jumps": lambda x, t, _: x.diff(t) - sign(4 - t) * cos(t),
    "speed that stops": lambda x, t, _: x.diff(t) - Heaviside(16 - t**2) * cos(t),
}


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("samples", [None, [0.0, 2.0, 4.0], [4.0]])
@pytest.mark.parametrize(
    "integrator", [da.DOP853(), da.Radau(), da.RK4(0.01), da.IDA()], ids=lambda value: type(value).__name__
)
def test_a_run_up_to_a_jump_is_ok(name, samples, integrator):
    """What jumps at the end of a run, as a drive does at the last point of its table, has not jumped yet."""
    model = da.Model("cart")
    x, a = model.coordinates("x a")
    times = np.linspace(0.0, 4.0, 9)
    tau = model.table("tau", times, np.sin(times), kind="cubic")
    model.particle("cart", mass=2, position=[x, 0])
    model.particle("bob", mass=1, position=[x + sin(a), -cos(a)])
    model.gravity([0, -9.81])
    model.constrain(ENDS[name](x, model.t, tau), name="drive")
    system = model.compile()
    state = system.initial({a: 0.4, a.diff(): 0.0}, guess={x: 0.0})
    assert system.simulate(state, 4.0, integrator=integrator, t_eval=samples).certificate.ok
    beyond = system.simulate(state, 4.1, integrator=integrator)
    assert "`jump of drive`" in beyond.certificate.verdict
    assert "at t = 4 " in beyond.certificate.verdict


@pytest.mark.parametrize(
    "integrator", [da.DOP853(), da.Radau(), da.RK4(0.01), da.IDA()], ids=lambda value: type(value).__name__
)
def test_a_drive_that_jumps_at_the_start_is_not_ok(integrator):
    """The given state moves the other way at once; the energy is the same."""
    system, state = driven_cart(lambda x, t: x.diff(t) - Piecewise((-1, t <= 0), (1, True)))
    assert state["x'"] == -1.0
    motion = system.simulate(state, 2.0, t_eval=SAMPLES, integrator=integrator)
    assert "`jump of drive`" in motion.certificate.verdict
    assert "at t = 0 " in motion.certificate.verdict


def test_a_steep_bend_is_no_jump():
    """A velocity that rises from 0 within microseconds: round-off of the instant times the slope is no jump."""
    model = da.Model("steep")
    (x,) = model.coordinates("x")
    model.particle("P", mass=1.0, position=[x, 0])
    s = (model.t - 5) / 1e-5
    model.constrain(x.diff() - 1000 * Piecewise((cos(pi * s / 2), (s > -1) & (s < 1)), (0, True)), name="drive")
    system = model.compile()
    motion = system.simulate(system.initial({x: 0.0}), 10.0)
    assert motion.certificate.ok, motion.certificate
    assert motion["x"][-1] == pytest.approx(0.04 / np.pi, rel=1e-9)

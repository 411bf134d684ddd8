"""Pushes, ramps, bursts, patches and barriers are met however narrow they are, by every integrator."""

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.equations.maps import SHELVES, maps_of
from dalembert.errors import OptionError
from dalembert.run.run_maps import RunMaps

t = da.Model("of time").t


def particle(force):
    """A free particle of mass 1 on a line, pushed by force(x)."""
    model = da.Model("particle")
    (x,) = model.coordinates("x")
    model.particle("P", mass=1.0, position=[x, 0])
    model.generalized_force({x: force(x)})
    return model, x


def simulate(model, given, t_end, **options):
    system = model.compile()
    return system.simulate(system.initial(given), t_end, **options)


def integral(f, low, high):
    """By Gauss's rule of 20 points on each of 400 panels."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    edges = np.linspace(low, high, 401)
    half = 0.5 * np.diff(edges)
    at = (0.5 * (edges[:-1] + edges[1:]))[:, None] + half[:, None] * nodes
    return float((half[:, None] * weights * np.vectorize(f)(at)).sum())


def careful(rates, span, start, longest):
    """The end of a motion by SciPy, in short steps."""
    with np.errstate(invalid="ignore"):  # of a system at rest SciPy divides zero by zero
        return solve_ivp(
            rates, (0.0, span), start, "DOP853", rtol=1e-12, atol=1e-13, max_step=longest, dense_output=True
        )


PUSHES = {  # force, span, where it is
    "0.5 s wide": (sp.exp(-(((t - 50) / sp.Float(0.5)) ** 2)), 100.0, (46.0, 54.0)),
    "1 ms wide": (sp.exp(-(((t - 50) / sp.Float(1e-3)) ** 2)), 100.0, (49.99, 50.01)),
    "burst of 50 Hz": (sp.cos(100 * sp.pi * t) * sp.exp(-(((t - 50) / sp.Float(0.02)) ** 2)), 100.0, (49.8, 50.2)),
    "high power": ((t / 10) ** 400, 10.0, (5.0, 10.0)),
    "bump of a polynomial": (sp.Max(0, 1 - (10 * (t - 30)) ** 2) ** 2, 60.0, (29.9, 30.1)),
    "quotient": (1 / (1 + (1000 * (t - 20)) ** 2) ** 4, 40.0, (19.5, 20.5)),
    "half a sine": (
        sp.Piecewise((sp.sin(20 * sp.pi * (t - 7)), (t > 7) & (t < sp.Float(7.05))), (0, True)), 90.0, (7.0, 7.05)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PUSHES)
def test_a_push_upon_a_particle_at_rest(name):
    force, span, where = PUSHES[name]
    model, x = particle(lambda _: force)
    motion = simulate(model, {x: 0.0, x.diff(t): 0.0}, span)
    value = sp.lambdify(t, force) if name != "high power" else lambda s: (s / 10) ** 400
    speed, way = integral(value, *where), integral(lambda s: (span - s) * value(s), *where)
    assert motion.certificate.ok
    assert motion.u[-1, 0] == pytest.approx(speed, rel=2e-9)
    assert motion["x"][-1] == pytest.approx(way, rel=2e-9, abs=1e-10 * np.abs(motion.u).max() * span)


@pytest.mark.parametrize("width", [5.0, 0.5, 0.01])
@pytest.mark.parametrize("kind", ["bell", "switched", "steps", "hat", "table"])
def test_a_patch_of_force_on_the_way(kind, width):
    push = sp.Float(0.1) / sp.Float(width)
    model = da.Model("patch")
    (x,) = model.coordinates("x")
    model.particle("P", mass=1.0, position=[x, 0])
    if kind == "table":
        table = model.table("F", [49.0, 50.0, 50.0 + width / 2, 50.0 + width, 60.0], [0.0, 0.0, 1.0, 0.0, 0.0])
    forces = {
        "bell": lambda: sp.exp(-(((x - 50) / sp.Float(width)) ** 2)) / sp.sqrt(sp.pi),
        "switched": lambda: sp.Piecewise((1, (x > 50) & (x < 50 + width)), (0, True)),
        "steps": lambda: sp.Heaviside(x - 50) - sp.Heaviside(x - 50 - width),
        "hat": lambda: sp.Max(0, 1 - sp.Abs(x - 50) / sp.Float(width)),
        "table": lambda: 2 * table(x),
    }
    model.generalized_force({x: push * forces[kind]()})
    motion = simulate(model, {x: 0.0, x.diff(t): 1.0}, 100.0)
    assert motion.certificate.ok
    # The work of the patch is 0.1, whatever its width.
    assert motion.u[-1, 0] == pytest.approx(np.sqrt(1.2), rel=1e-7)


def test_a_barrier_is_not_tunnelled_through():
    model, x = particle(lambda x: -5000 * sp.exp(-(((x - 10) / sp.Float(0.002)) ** 2)))
    motion = simulate(model, {x: 0.0, x.diff(t): 1.0}, 20.0)
    assert motion.certificate.ok
    assert motion["x"].max() < 10.0
    assert motion.u[-1, 0] == pytest.approx(-1.0, abs=1e-8)


def test_a_patch_that_is_touched_at_the_top_of_a_throw():
    """The step over the whole parabola begins and ends below the patch."""
    model, x = particle(lambda x: -2 + sp.exp(-(((x - 25) / sp.Float(0.01)) ** 2)))
    motion = simulate(model, {x: 0.0, x.diff(t): 10.0}, 10.0)

    def rates(_, z):
        return [z[1], -2.0 + np.exp(-(((z[0] - 25.0) / 0.01) ** 2))]

    reference = careful(rates, 10.0, [0.0, 10.0], 1e-3).y
    assert motion.certificate.ok
    assert motion["x"][-1] == pytest.approx(reference[0, -1], abs=1e-7)


INTEGRATORS = {
    "DOP853": (da.DOP853(), 1e-8), "Tsit5": (da.Tsit5(), 1e-8), "KuttaMerson": (da.KuttaMerson(), 1e-8),
    "RK4": (da.RK4(step=0.05), 1e-4), "Radau": (da.Radau(), 1e-6), "IDA": (da.IDA(), 1e-6),
    "GeneralizedAlpha": (da.GeneralizedAlpha(), 1e-3), "StateSpaceSVD": (da.StateSpaceSVD(), 1e-4),
}  # fmt: skip


@pytest.mark.parametrize("name", INTEGRATORS)
def test_every_integrator_meets_what_is_on_its_way(name):
    integrator, accuracy = INTEGRATORS[name]
    model, x = particle(
        lambda x: sp.exp(-(((t - 20) / sp.Float(0.05)) ** 2)) + sp.exp(-(((x - 6) / sp.Float(0.1)) ** 2)) / 50
    )
    motion = simulate(model, {x: 0.0, x.diff(t): 0.0}, 200.0, integrator=integrator)
    pushed = np.sqrt(np.pi) * 0.05
    assert motion.u[-1, 0] == pytest.approx(np.sqrt(pushed**2 + np.sqrt(np.pi) * 0.1 / 25.0), rel=accuracy)


@pytest.mark.parametrize("name", INTEGRATORS)
def test_every_integrator_sees_a_polynomial_between_two_instants(name):
    """A force that is zero at both of its ends, where some methods look alone."""
    integrator, _ = INTEGRATORS[name]
    model, x = particle(lambda _: sp.Max(0, 1 - (10 * (t - 9)) ** 2) ** 2)
    motion = simulate(model, {x: 0.0, x.diff(t): 0.0}, 10.0, integrator=integrator)
    assert motion.u[-1, 0] == pytest.approx(16 / 150, rel=2e-3)


def test_a_pendulum_at_rest_that_is_pushed():
    model = da.Model("pendulum")
    (a,) = model.coordinates("a")
    model.particle("P", mass=1.0, position=[sp.sin(a), -sp.cos(a)])
    model.gravity([0, -9.81])
    model.generalized_force({a: sp.exp(-(((t - 50) / sp.Float(0.3)) ** 2))})
    motion = simulate(model, {a: 0.0, a.diff(t): 0.0}, 100.0)

    def rates(s, z):
        return [z[1], -9.81 * np.sin(z[0]) + np.exp(-(((s - 50.0) / 0.3) ** 2))]

    reference = careful(rates, 100.0, [0.0, 0.0], 0.02).y
    assert motion.certificate.ok
    assert motion["a"][-1] == pytest.approx(reference[0, -1], abs=1e-8)


def test_a_slider_crank_at_rest_that_is_pushed():
    model = da.Model("slider-crank")
    a, b, s = model.coordinates("a b s")
    model.particle("crank", mass=1.0, position=[sp.cos(a), sp.sin(a)])
    model.particle("slider", mass=1.0, position=[s, 0])
    model.constrain(sp.cos(a) + 3 * sp.cos(b) - s, name="along")
    model.constrain(sp.sin(a) - 3 * sp.sin(b), name="across")
    model.generalized_force({a: 20 * sp.exp(-(((t - 5) / sp.Float(0.05)) ** 2)) - a.diff(t)})
    system = model.compile()
    start = system.initial({a: 0.5, a.diff(t): 0.0}, guess={b: 0.2, s: 3.8})
    motion, careful = (system.simulate(start, 10.0, integrator=da.DOP853(max_step=step)) for step in (np.inf, 0.01))
    assert motion.certificate.ok
    assert motion["a"][-1] - 0.5 > 0.5
    assert motion["a"][-1] == pytest.approx(careful["a"][-1], abs=1e-8)


def test_a_quarter_car_over_a_bump():
    model = da.Model("quarter car")
    z, w = model.coordinates("z w")
    road = sp.Float(0.1) * sp.exp(-(((t - 10) / sp.Float(0.05)) ** 2))
    model.energy(
        kinetic=300 * z.diff(t) ** 2 / 2 + 40 * w.diff(t) ** 2 / 2,
        potential=20000 * (z - w) ** 2 / 2 + 200000 * (w - road) ** 2 / 2,
    )
    model.generalized_force({z: -1500 * (z - w).diff(t), w: 1500 * (z - w).diff(t)})
    motion = simulate(model, {z: 0, w: 0, z.diff(t): 0, w.diff(t): 0}, 20.0)

    def rates(s, y):
        spring = 20000 * (y[0] - y[1]) + 1500 * (y[2] - y[3])
        return [y[2], y[3], -spring / 300, (spring - 200000 * (y[1] - 0.1 * np.exp(-(((s - 10) / 0.05) ** 2)))) / 40]

    reference = careful(rates, 20.0, np.zeros(4), 0.005)
    assert motion.certificate.ok
    assert np.abs(motion["w"]).max() > 0.09
    assert np.abs(motion["z"] - reference.sol(motion.t)[0]).max() < 1e-9


def test_a_steering_pulse_of_a_knife_edge():
    model = da.Model("skate")
    x, y, a = model.coordinates("x y a")
    model.energy(kinetic=(x.diff(t) ** 2 + y.diff(t) ** 2 + a.diff(t) ** 2) / 2)
    model.constrain(x.diff(t) * sp.sin(a) - y.diff(t) * sp.cos(a), name="blade")
    model.generalized_force({a: 4 * sp.exp(-(((t - 50) / sp.Float(0.33)) ** 2))})
    motion = simulate(model, {x: 0, y: 0, a: 0, x.diff(t): 1, a.diff(t): 0}, 60.0)

    def rates(s, z):
        return [np.cos(z[2]), np.sin(z[2]), z[3], 4.0 * np.exp(-(((s - 50.0) / 0.33) ** 2))]

    reference = careful(rates, 60.0, np.zeros(4), 0.01).y
    assert motion.certificate.ok
    assert motion.q[-1] == pytest.approx(reference[:3, -1], abs=1e-7)


def test_a_drive_that_is_steeper_than_any_step():
    model = da.Model("driven")
    (x,) = model.coordinates("x")
    model.particle("P", mass=1.0, position=[x, 0])
    model.constrain(x.diff(t) - sp.tanh(10**9 * (t - 1)), name="drive")
    motion = simulate(model, {x: 0.0}, 3.0)
    assert motion.certificate.ok
    assert motion["x"][-1] == pytest.approx(1.0, abs=1e-8)


def test_motions_without_features_take_the_same_steps():
    """A crank drives a rod by a root of sines, whose cells are alike: nothing is watched."""
    model = da.Model("minimal slider-crank")
    (a,) = model.coordinates("a")
    model.particle("slider", mass=1.0, position=[sp.cos(a) + sp.sqrt(9 - sp.sin(a) ** 2), 0])
    model.particle("crank", mass=1.0, position=[sp.cos(a), sp.sin(a)])
    system = model.compile()
    assert system.features
    start = system.initial({a: 0.3, a.diff(t): 20.0})
    motion = system.simulate(start, 10.0)
    assert motion.certificate.ok
    object.__setattr__(system, "features", ())
    assert system.simulate(start, 10.0).stats == motion.stats


@pytest.mark.parametrize(("growth", "count"), [(0, 0), (t / 10, 1)])
def test_what_constraints_keep_constant_carries_over_nothing(growth, count):
    """A charge on a rod is as far from its pivot as the rod is long; on a rod that grows it is not."""
    model = da.Model("charge")
    x, y = model.coordinates("x y")
    q, length = model.parameters(q=1.0, length=2.0)
    model.particle("P", mass=1.0, position=[x, y])
    model.generalized_force({x: q * x / (x**2 + y**2) ** sp.Rational(3, 2)})
    model.constrain(x**2 + y**2 - (length + growth) ** 2, name="rod")
    assert len(model.compile().features) == count


def test_a_run_does_not_depend_on_those_before_it():
    model, x = particle(lambda x: sp.exp(-(((x - 50) / sp.Float(0.5)) ** 2)) / 50)
    system = model.compile()
    start = system.initial({x: 0.0, x.diff(t): 1.0})
    first = system.simulate(start, 80.0)
    system.simulate(system.initial({x: -1e6, x.diff(t): 1e5}), 100.0)
    again = system.simulate(start, 80.0)
    assert (first.t == again.t).all()
    assert (first.q == again.q).all()


def test_a_second_run_finds_the_cells_of_the_first(monkeypatch):
    """Native code asks Python for cells at values that no run with these parameters has met, and only there."""
    laid = []
    monkeypatch.setattr(RunMaps, "extend", lambda run, extend=RunMaps.extend: (laid.append(run), extend(run)))
    model, x = particle(lambda x: sp.exp(-(((x - 50) / sp.Float(0.5)) ** 2)) / 50)
    system = model.compile()
    start = system.initial({x: 0.0, x.diff(t): 1.0})
    first = system.simulate(start, 80.0)
    assert laid
    laid.clear()
    again = system.simulate(start, 80.0)
    assert not laid
    assert (first.t == again.t).all()
    assert (first.q == again.q).all()


def test_there_is_room_for_cells_at_values_of_any_size():
    """What native code reads is not changed under it: a full shelf is replaced."""
    model, x = particle(lambda x: sp.exp(-(x**2)))
    system = model.compile()
    maps = maps_of(system, system.initial({x: 0.0}).parameters)
    first = maps.shelf
    for k in range(SHELVES + 1):
        maps.shelve(0, 0.0, 2.0 ** (k - SHELVES // 2))
        assert maps.shelf[0, k % SHELVES, 1] == maps.maps[0].over(0.0, 2.0 ** (k - SHELVES // 2)).size
    assert maps.shelf is not first
    assert (first[:, :, 1] > 0).all()


@pytest.mark.parametrize("steepness", [10, 100, 3000])
def test_a_particle_bounces_on_an_exponential_wall(steepness):
    """On the other side of the wall exp(-k x) is more than numbers hold: no motion gets there."""
    model, x = particle(lambda x: sp.exp(-steepness * x) - 1)
    motion = simulate(model, {x: 1.0, x.diff(t): 0.0}, 6.0)
    assert motion.certificate.ok, motion.certificate
    assert motion["x"].min() > -np.log(2 * steepness) / steepness
    end = careful(lambda _, z: [z[1], np.exp(-steepness * z[0]) - 1], 6.0, [1.0, 0.0], 0.1 / steepness).y[:, -1]
    assert [motion["x"][-1], motion["x_dot"][-1]] == pytest.approx(end, abs=1e-7)


def test_a_bump_on_the_ground_is_met_from_the_side():
    """A function of two coordinates: the particle passes its top at a distance."""
    model = da.Model("bump")
    x, y, z = model.coordinates("x y z")
    model.particle("P", mass=1, position=[x, y, z])
    model.gravity([0, 0, -9.81])
    width = sp.Rational(1, 100)
    model.constrain(z - width / 10 * sp.exp(-((x - 30) ** 2 + (y - 3 * width / 10) ** 2) / width**2), name="ground")
    given = {x: 0.0, y: 0.0, x.diff(t): 1.0, y.diff(t): 0.0}
    motion = simulate(model, given, 60.0)
    careful = simulate(model, given, 60.0, integrator=da.DOP853(rtol=1e-12, max_step=float(width) / 2))
    assert motion.certificate.ok, motion.certificate
    assert motion["y"][-1] == pytest.approx(careful["y"][-1], abs=1e-9)
    assert abs(careful["y"][-1]) > 0.1


def test_a_function_with_too_many_features_is_refused():
    model, x = particle(lambda _: sp.exp(sp.cos(10**6 * t + sp.sin(t))))
    with pytest.raises(OptionError, match=r"features between 0 and 1000.*simulate a shorter time"):
        simulate(model, {x: 0.0, x.diff(t): 0.0}, 1000.0)


KINKED = {  # a force that bends or jumps in s, and its integral from -1 to s
    "half sine": (
        lambda s: sp.Piecewise((sp.cos(sp.pi * s / 2), (s > -1) & (s < 1)), (0, True)),
        lambda s: 2 / np.pi * np.sin(np.pi * s / 2),
    ),
    "hat": (lambda s: sp.Max(0, 1 - sp.Abs(s)), lambda s: s - np.sign(s) * s**2 / 2),
    "box": (lambda s: sp.Piecewise((1, (s > -1) & (s < 1)), (0, True)), lambda s: s),
}


@pytest.mark.parametrize("integrator", [da.Automatic(), da.Tsit5()], ids=repr)
@pytest.mark.parametrize("name", KINKED)
def test_steps_end_where_forces_of_the_place_bend_or_jump(name, integrator):
    """Each step keeps the energy of a mass on a spring that passes a narrow patch of force again and again."""
    width, height, place = 1e-3, 100.0, -0.45
    force, work = KINKED[name]
    model = da.Model("mass on a spring")
    (x,) = model.coordinates("x")
    model.particle("P", mass=1.0, position=[x, 0])
    model.generalized_force({x: -10 * x + height * force((x - place) / sp.Float(width))})
    motion = simulate(model, {x: 1.0, x.diff(t): 0.0}, 20.0, integrator=integrator)
    assert motion.certificate.ok
    at = np.clip((motion["x"] - place) / width, -1, 1)
    energy = motion.u[:, 0] ** 2 / 2 + 5 * motion["x"] ** 2 - height * width * work(at)
    assert (np.diff(at) != 0).sum() > 50  # it goes through 20 times
    assert np.abs(np.diff(energy)).max() < 20 * 1e-10 * energy[0]
    assert np.abs(np.diff(at)).max() <= 2.0 + 1e-9
    on_edge = np.abs(np.abs(at) - 1) < 1e-4
    assert not (np.diff(np.sign(np.abs((motion["x"] - place) / width) - 1)) * ~on_edge[1:] * ~on_edge[:-1]).any()


@pytest.mark.parametrize(("rate", "width"), [(1.0, 1e-2), (1.0, 1e-3), (5.0, 1e-2), (50.0, 1e-2)])
def test_a_feature_that_passes_by_a_particle_at_rest(rate, width):
    """What moves is the feature: nothing in the state tells of it until it is there."""
    model, x = particle(lambda x: sp.exp(-(((x - sp.sin(rate * t)) / sp.Float(width)) ** 2)) / 10)
    motion = simulate(model, {x: 0.5, x.diff(t): 0.0}, 10.0)
    end = careful(
        lambda s, z: [z[1], 0.1 * np.exp(-(((z[0] - np.sin(rate * s)) / width) ** 2))],
        10.0, [0.5, 0.0], width / rate,
    ).y[0, -1]  # fmt: skip
    assert motion.certificate.ok
    assert motion["x"][-1] - 0.5 == pytest.approx(end - 0.5, rel=1e-5)


def test_a_table_that_repeats_has_the_map_of_one_period():
    """A cam with a point at every degree, after 1,600 turns."""
    angles = np.linspace(0, 2 * np.pi, 361)
    model = da.Model("cam")
    (a,) = model.coordinates("a")
    model.body("cam", mass=1, inertia=0.001, position=[0, 0], rotation=a)
    lift = model.table("lift", angles, 0.01 * np.sin(angles / 2) ** 4, kind="cubic", ends="periodic")
    model.energy(potential=50 * lift(a))
    system = model.compile()
    turned = 1600 * 2 * np.pi
    first = system.simulate(system.initial({a: 1.0, "a'": 100.0}), 0.05)
    later = system.simulate(system.initial({a: 1.0 + turned, "a'": 100.0}), 0.05)
    assert first.certificate.ok
    assert later.certificate.ok
    assert later["a"][-1] - turned == pytest.approx(first["a"][-1], abs=1e-10 * turned)


def test_a_torque_that_switches_with_the_angle_a_thousand_times():
    """Between two switches the torque is constant: the speeds there follow from the work, the times from the speeds."""
    span, near, far, inertia = 30.0, 1.0, 5.3, 0.001
    model = da.Model("switched rotor")
    (a,) = model.coordinates("a")
    model.body("rotor", mass=1, inertia=inertia, position=[0, 0], rotation=a)
    model.generalized_force({a: sp.Piecewise((-0.1, sp.Mod(a, sp.Rational(63, 10)) < 1), (0.1 / far, True))})
    system = model.compile()
    motion = system.simulate(system.initial({a: 0, "a'": 100.0}), span)
    slow = np.sqrt(100.0**2 - 2 * 0.1 / inertia)
    durations = 2 * near / (100.0 + slow), 2 * far / (100.0 + slow)
    turns, rest = divmod(span, sum(durations))
    if rest < durations[0]:
        angle = 100.0 * rest - 0.1 / inertia * rest**2 / 2
    else:
        rest -= durations[0]
        angle = near + slow * rest + 0.1 / far / inertia * rest**2 / 2
    exact = turns * (near + far) + angle
    assert motion.certificate.ok
    assert motion["a"][-1] == pytest.approx(exact, rel=20 * 1e-10)


@pytest.mark.parametrize("phase", [0.0, 1.0])
def test_a_jump_where_a_period_begins(phase):
    """A wave that is 1 in the second half of its period, crossed once, at 1 m/s."""
    model, x = particle(lambda x: sp.Piecewise((0, sp.Mod(x - phase, 2) < 1), (1, True)))
    motion = simulate(model, {x: phase + 1.5, "x'": 1.0}, 1.5)
    assert motion.certificate.ok
    duration = np.sqrt(1.0 + 2 * 0.5) - 1.0  # x' = 1 + t until 0.5 m are passed
    speed = 1.0 + duration
    coasting = 1.0 / speed
    left = 1.5 - duration - coasting
    assert motion["x"][-1] == pytest.approx(phase + 3.0 + speed * left + left**2 / 2, rel=1e-8)

"""Tables against exact solutions, SciPy's interpolants and each other; what is refused, and with which words."""

import pickle

import numpy as np
import pytest
import sympy as sp
from scipy.interpolate import CubicSpline

import dalembert as da
from dalembert.equations.instants import instants
from dalembert.equations.kinks import _corners

RNG = np.random.default_rng(5)
TIMES = np.array([0.0, 0.7, 1.1, 2.9, 3.0, 4.6, 6.1, 6.2, 8.8, 10.0])
VALUES = RNG.normal(size=10)


def driven(force, *, parameters=None):
    """x'' + x = force(model), at rest in x = 0: the system and its state; `force` is told the model and x."""
    model = da.Model("driven")
    (x,) = model.coordinates("x")
    model.parameters(**(parameters or {"a": 1.0}))
    model.particle("P", mass=1, position=[x, 0])
    model.generalized_force({x: force(model, x) - x})
    system = model.compile()
    return system, system.initial({x: 0.0, x.diff(): 0.0})


def response_to(times, values, t_end):
    """x and x' at t_end of x'' + x = the polyline, exactly: between its points x = y + s t + c cos t + d sin t."""
    x = v = 0.0
    for a, b, y, z in zip(times[:-1], times[1:], values[:-1], values[1:], strict=True):
        h, s = min(b, t_end) - a, (z - y) / (b - a)
        c, d = x - y, v - s
        x, v = y + s * h + c * np.cos(h) + d * np.sin(h), s - c * np.sin(h) + d * np.cos(h)
        if b >= t_end:
            break
    return np.array([x, v])


def end_of(motion):
    return np.array([motion.q[-1, 0], motion.u[-1, 0]])


@pytest.fixture(scope="module")
def polyline():
    return driven(lambda model, _: model.table("tau", TIMES, VALUES)(model.t))


@pytest.mark.parametrize("integrator", [da.Automatic(), da.DOP853(), da.Tsit5(), da.Radau(), da.IDA()], ids=repr)
def test_kinks_are_stepped_to(polyline, integrator):
    system, state = polyline
    motion = system.simulate(state, 10.0, integrator=integrator)
    assert np.isin(TIMES, motion.t).all()
    np.testing.assert_allclose(end_of(motion), response_to(TIMES, VALUES, 10.0), atol=2e3 * integrator.rtol)


def test_a_smooth_force_and_a_polyline_are_equally_cheap(polyline):
    """A step that straddled a kink would be rejected several times."""
    system, state = polyline
    assert system.simulate(state, 10.0, integrator=da.DOP853()).stats["rejected"] == 0


@pytest.mark.parametrize(("integrator", "order"), [(da.RK4, 4), (da.GeneralizedAlpha, 2)])
def test_fixed_steps_keep_their_order_across_kinks(polyline, integrator, order):
    system, state = polyline
    exact = response_to(TIMES, VALUES, 10.0)
    errors = [
        np.abs(end_of(system.simulate(state, 10.0, integrator=integrator(step=h))) - exact).max()
        for h in (0.037, 0.0185)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.25)


def test_samples_are_those_asked_for_also_at_kinks(polyline):
    system, state = polyline
    asked = np.sort(np.r_[TIMES[1:-1], np.linspace(0.05, 9.95, 30)])
    motion = system.simulate(state, 10.0, t_eval=asked)
    assert (motion.t == asked).all()
    np.testing.assert_allclose(motion["x"], [response_to(TIMES, VALUES, t)[0] for t in asked], atol=1e-9)


def test_a_spline_is_scipys_with_both_derivatives():
    model = da.Model()
    (x,) = model.coordinates("x")
    tau = model.table("tau", TIMES, VALUES, kind="cubic")
    model.particle("P", mass=1, position=[x, 0])
    for k in range(4):
        model.output(f"d{k}", tau(x).diff(x, k) if k else tau(x))
    system, spline = model.compile(), CubicSpline(TIMES, VALUES)
    for at in (*RNG.uniform(0.0, 10.0, 20), *TIMES[1:-1]):
        state = system.initial({x: at, x.diff(): 0.0})
        motion = system.simulate(state, 1e-3)
        for k in range(4):
            assert motion[f"d{k}"][0] == pytest.approx(float(spline(at, k)), rel=1e-11, abs=1e-11)


def test_a_table_in_the_potential_is_its_force():
    """V = c(x) with a spline c: energy holds, and the acceleration is -c'(x)."""
    model = da.Model()
    (x,) = model.coordinates("x")
    heights = model.table("height", np.linspace(-3.0, 3.0, 25), np.linspace(-3.0, 3.0, 25) ** 2, kind="cubic")
    model.energy(kinetic=x.diff() ** 2 / 2, potential=heights(x))
    system = model.compile()
    motion = system.simulate(system.initial({x: 2.0, x.diff(): 0.0}), 10.0)
    assert motion.certificate.ok
    np.testing.assert_allclose(
        motion["x"], 2.0 * np.cos(np.sqrt(2.0) * motion.t), atol=1e-7
    )  # a spline has x^2 exactly


@pytest.mark.parametrize("kind", ["linear", "cubic"])
def test_a_periodic_table_repeats(kind):
    """Against the same data written out three times; and a table of the speed, which has no known instants."""
    times, values = np.linspace(0.0, 2.0, 9), np.sin(np.pi * np.linspace(0.0, 2.0, 9))
    repeated, more = np.linspace(0.0, 6.0, 25), np.sin(np.pi * np.linspace(0.0, 6.0, 25))
    once, state = driven(lambda m, _: m.table("tau", times, values, kind=kind, ends="periodic")(m.t))
    motion = once.simulate(state, 5.9)
    long, start = driven(lambda m, _: m.table("tau", repeated, more, kind=kind, ends="periodic")(m.t))
    np.testing.assert_allclose(end_of(motion), end_of(long.simulate(start, 5.9)), atol=1e-9)
    assert np.isin(np.round(np.arange(1, 23) / 4, 9), np.round(motion.t, 9)).all()


def test_outside_the_data_the_ends_hold():
    system, _ = driven(lambda m, x: m.table("tau", [1.0, 2.0], [3.0, 5.0])(x))
    at = [-1e9, 0.999, 1.0, 1.5, 2.0, 2.001, 1e9]
    forces = np.array([system.forces(0.0, [x], [0.0])[0] + x for x in at])
    np.testing.assert_allclose(forces, [3.0, 3.0, 3.0, 4.0, 5.0, 5.0, 5.0], atol=1e-6)


def test_steps_and_switches_are_stepped_to():
    """A unit step at t = a, by Heaviside and Piecewise: x = 1 - cos(t - a); also one at the start."""
    shapes = {
        "heaviside": lambda m, _: sp.Heaviside(m.t - sp.Symbol("a")),
        "piecewise": lambda m, _: sp.Piecewise((0, m.t < sp.Symbol("a")), (1, True)),
        "backwards": lambda m, _: sp.Piecewise((1, sp.Symbol("a") - 2 * m.t <= -sp.Symbol("a")), (0, True)),
    }
    for name, shape in shapes.items():
        system, state = driven(shape, parameters={"a": 1.3})
        for a in (1.3, 0.0, 4.0):
            motion = system.simulate(state, 4.0, parameters={"a": a})
            expected = [1.0 - np.cos(4.0 - a), np.sin(4.0 - a)]
            np.testing.assert_allclose(end_of(motion), expected, atol=1e-9, err_msg=f"{name} {a}")
            assert a in motion.t


def test_a_ramp_bends_twice():
    system, state = driven(lambda m, _: sp.Min(sp.Max(m.t - 1, 0), 2))
    motion = system.simulate(state, 5.0)
    np.testing.assert_allclose(end_of(motion), response_to([0, 1, 3, 6], [0, 0, 2, 2], 5.0), atol=1e-9)


def test_a_square_wave_of_time_is_stepped_to():
    system, state = driven(lambda m, _: sp.Heaviside(sp.Mod(m.t, 1) - sp.Rational(1, 2)))
    motion = system.simulate(state, 3.25)
    assert np.isin([0.5, 1.0, 1.5, 2.0, 2.5, 3.0], motion.t).all()
    x = v = 0.0
    for k, h in enumerate([0.5] * 6 + [0.25]):
        force = k % 2
        c, d = x - force, v
        x, v = force + c * np.cos(h) + d * np.sin(h), -c * np.sin(h) + d * np.cos(h)
    np.testing.assert_allclose(end_of(motion), [x, v], atol=1e-9)


@pytest.mark.parametrize("wave", [sp.sin, sp.cos])
def test_the_sign_of_a_wave_is_stepped_to(wave):
    system, state = driven(lambda m, _: sp.sign(-2 * wave(3 * m.t)))
    motion = system.simulate(state, 10.0)
    first = np.pi / 3 if wave is sp.sin else np.pi / 6
    ends = [*np.arange(first, 10.0, np.pi / 3), 10.0]
    assert np.abs(np.subtract.outer(ends, motion.t)).min(axis=1).max() < 1e-12
    x = v = 0.0
    for k, h in enumerate(np.diff(ends, prepend=0.0)):
        force = (-1) ** (k + 1)
        c, d = x - force, v
        x, v = force + c * np.cos(h) + d * np.sin(h), -c * np.sin(h) + d * np.cos(h)
    np.testing.assert_allclose(end_of(motion), [x, v], atol=1e-9)


def test_a_short_pulse_among_many_points_is_not_missed():
    """100,000 points, all zero but three: the impulse of that triangle moves the mass."""
    times, values = np.linspace(0.0, 100.0, 100_001), np.zeros(100_001)
    values[73_210] = 5.0
    system, state = driven(lambda m, _: m.table("tau", times, values)(m.t))
    assert len(instants(system, state.parameters, (0.0, 100.0))) < 10
    at, impulse = 73.21, 5.0 * 1e-3
    motion = system.simulate(state, 100.0)
    # A triangle of half width w acts as its impulse times (sin(w/2) / (w/2))^2 at its middle.
    np.testing.assert_allclose(end_of(motion)[0], impulse * np.sin(100.0 - at), rtol=1e-6)


def test_points_on_straight_lines_are_left_out():
    x = np.linspace(0.0, 1.0, 5001)
    assert _corners(x, np.abs(x - 0.5)) == [0, 2500, 5000]
    kept = _corners(x, np.sin(20.0 * x))
    assert len(kept) < 500  # chords of a sine with sagitta (H w)^2 / 8 = 2e-4 have H w = 0.04
    assert np.abs(np.interp(x, x[kept], np.sin(20.0 * x[kept])) - np.sin(20.0 * x)).max() < 4e-4


def test_tables_are_part_of_what_a_system_is(polyline):
    system, state = polyline
    motion = system.simulate(state, 10.0)
    copied = pickle.loads(pickle.dumps(motion))
    again = copied.system.simulate(copied.system.initial({"x": 0.0, "x_dot": 0.0}), 10.0)
    np.testing.assert_array_equal(again.q, motion.q)
    other, start = driven(lambda m, _: m.table("tau", TIMES, VALUES + 1e-9)(m.t))
    assert pickle.loads(pickle.dumps(other)).kernels is not copied.system.kernels
    assert end_of(other.simulate(start, 10.0))[0] != end_of(motion)[0]


def test_expressions_with_tables_are_those_of_sympy():
    model = da.Model()
    tau, x = model.table("tau", TIMES, VALUES, kind="cubic"), sp.Symbol("x")
    spline = CubicSpline(TIMES, VALUES)
    assert float(tau(2.5).evalf()) == pytest.approx(float(spline(2.5)))
    assert float((tau(x**2).diff(x)).subs(x, 1.5).evalf()) == pytest.approx(3.0 * float(spline(2.25, 1)))
    assert tau(x).diff(x, 4) == 0
    assert pickle.loads(pickle.dumps(tau(x))) == pickle.loads(pickle.dumps(tau(x)))


@pytest.mark.parametrize(
    ("times", "values", "options", "message"),
    [
        ([0, 1], [1, 2], {"kind": "quadratic"}, "kind='linear'"),
        ([0, 1], [1, 2], {"ends": "linear"}, "ends='held'"),
        ([0, 1, 1], [1, 2, 3], {}, r"times\[2\] = 1 follows 1"),
        ([0, 1], [1, 2, 3], {}, "same length"),
        ([0], [1], {}, "at least 2"),
        ([0, 1], [1, np.nan], {}, r"values\[1\] is nan"),
        ([0, 1], [1, 2], {"ends": "periodic"}, "the last value must be the first"),
        ("ab", [1, 2], {}, "times must be a list of numbers"),
    ],
)
def test_data_that_are_no_table_are_refused(times, values, options, message):
    with pytest.raises(da.ModelError, match=message):
        da.Model().table("tau", times, values, **options)


def test_a_python_function_as_a_force_is_refused_with_the_alternatives():
    model = da.Model()
    (x,) = model.coordinates("x")
    model.particle("P", mass=1, position=[x, 0])
    model.generalized_force({x: np.sinh})
    with pytest.raises(da.ModelError, match=r"(?s)'sinh'.*model\.table\(name, times, values\).*da\.Every"):
        model.compile()


def test_a_table_that_was_not_applied_is_refused():
    model = da.Model()
    (x,) = model.coordinates("x")
    point = model.particle("P", mass=1, position=[x, 0])
    model.force([model.table("tau", [0, 1], [0, 1]), 0], at=point)
    with pytest.raises(da.ModelError, match=r"tau\(model\.t\)"):
        model.compile()


def test_a_polyline_cannot_prescribe_a_position():
    model = da.Model()
    (x,) = model.coordinates("x")
    model.particle("P", mass=1, position=[x, 0])
    model.constrain(x - model.table("path", [0, 1, 2], [0, 1, 0])(model.t), name="drive")
    with pytest.raises(da.ModelError, match=r"constraint `drive`.*velocities would jump.*kind='cubic'"):
        model.compile()

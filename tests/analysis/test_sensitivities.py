"""Derivatives of motions: closed forms, differences of order four between accurate runs, and what is refused."""

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import dalembert as da
from dalembert import problems

FINE = da.DOP853(rtol=1e-13, atol=1e-14)
USUAL = da.DOP853(rtol=1e-12, atol=1e-13)


def oscillator():
    model = da.Model("oscillator")
    (x,) = model.coordinates("x")
    m, k = model.parameters(m=1.0, k=4.0)
    model.energy(kinetic=m * x.diff() ** 2 / 2, potential=k * x**2 / 2)
    return model.compile(), x, m, k


def differences(system, given, guess, name, times, step, **options):
    """Derivatives of everything by a formula of order four over runs at 1e-13; a function of the output."""
    values = dict(zip(system.parameters, system.parameter_values(), strict=True))

    def run(e):
        p = {name: values[name] + e} if name in values else {}
        start = {**given, **({} if name in values else {name: given[name] + e})}
        state = system.initial(start, guess=guess, parameters=p)
        return system.simulate(state, times[-1], t_eval=times, integrator=FINE, **options)

    a, b, c, d = (run(e) for e in (step, -step, 2 * step, -2 * step))
    return lambda output: (8 * (a[output] - b[output]) - (c[output] - d[output])) / (12 * step)


def check_against_differences(system, given, guess, names, outputs, times, steps, **options):
    state = system.initial(given, guess=guess)
    motion = system.simulate(state, times[-1], t_eval=times, sensitivities=names, integrator=USUAL, **options)
    assert motion.success
    asked = np.isin(motion.t, times)
    for name in names:
        expected = differences(system, given, state, name, times, steps[name], **options)
        for output in outputs:
            found, wanted = motion.sensitivity(output, name)[asked], expected(output)[asked]
            assert np.abs(found - wanted).max() <= 1e-7 * max(1.0, np.abs(wanted).max()), (name, output)


def test_oscillator_has_the_closed_form():
    system, x, _, k = oscillator()
    state = system.initial({x: 1.5, x.diff(): 0.0})
    motion = system.simulate(state, 10.0, sensitivities=["m", k, x, "x'"], integrator=USUAL)
    t, w = motion.t, 2.0
    slope = -1.5 * t * np.sin(w * t)  # d x / d w
    np.testing.assert_allclose(motion.sensitivity(x, "k"), slope / (2 * w), atol=1e-9)
    np.testing.assert_allclose(motion.sensitivity("x", "m"), -slope * w / 2, atol=1e-9)
    np.testing.assert_allclose(motion.sensitivity("x", x), np.cos(w * t), atol=1e-9)
    np.testing.assert_allclose(motion.sensitivity("x", "x'"), np.sin(w * t) / w, atol=1e-9)
    np.testing.assert_allclose(motion.sensitivity(x * k, "k"), 4.0 * slope / (2 * w) + motion["x"], atol=1e-8)
    # The acceleration is -k x / m, so its derivative in m is -k x_m / m + k x / m^2.
    expected = -4.0 * motion.sensitivity("x", "m") + 4.0 * motion["x"]
    np.testing.assert_allclose(motion.sensitivity("x''", "m"), expected, atol=1e-8)


def test_energy_of_the_variational_motion_is_constant():
    system, x, m, k = oscillator()
    motion = system.simulate(system.initial({x: 1.5, x.diff(): 0.0}), 10.0, sensitivities=["k"], integrator=USUAL)
    slope = motion.sensitivity(m * x.diff() ** 2 / 2 + k * x**2 / 2, "k")
    np.testing.assert_allclose(slope, 1.5**2 / 2, atol=1e-9)


def test_pendulum_scales_with_the_root_of_length_over_gravity():
    """theta(t) is a function of t sqrt(g / L), whatever the amplitude."""
    model = da.Model("pendulum")
    x, y = model.coordinates("x y")
    L, g, m = model.parameters(L=1.3, g=9.81, m=2.0)
    model.particle("P", mass=m, position=[x, y])
    model.gravity([0, -g])
    model.constrain(x**2 + y**2 - L**2, name="rod")
    model.output("angle", sp.atan2(x, -y))
    system = model.compile()
    # In a wide swing from the horizontal, x = L at any length: the start follows the length if x does.
    state = system.initial({x: 1.0, x.diff(): 0.0}, guess={y: -1.0})
    motion = system.simulate(state, 4.0, sensitivities=["g", "m", "L", "x"], integrator=USUAL)
    t, rate = motion.t, (motion["x"] * motion["y'"] - motion["y"] * motion["x'"]) / 1.3**2
    np.testing.assert_allclose(motion.sensitivity("angle", "g"), t / (2 * 9.81) * rate, atol=1e-8)
    np.testing.assert_allclose(motion.sensitivity("angle", "m"), 0.0, atol=1e-9)
    # With x0 growing like L the start angle stays: angle_L + x0 / L angle_x0 = -t / (2 L) rate.
    both = motion.sensitivity("angle", "L") + 1.0 / 1.3 * motion.sensitivity("angle", "x")
    np.testing.assert_allclose(both, -t / (2 * 1.3) * rate, atol=1e-8)
    # The multiplier scales with the mass.
    np.testing.assert_allclose(motion.sensitivity("rod", "m"), motion["rod"] / 2.0, rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "t_end", "steps", "outputs"),
    [
        ("four_bar", 1.0, {"la": 2e-4, "q1": 2e-4, "m": 1e-2}, ["q2", "u3", "loop_x", "u1'", "P3.position"]),
        ("andrews", 0.02, {"m2": 2e-5, "theta": 2e-6}, ["beta", "epsilon_dot", "loop1_x"]),
        ("appell_hamel", 1.0, None, None),
        ("asymmetric_top", 1.0, {"wx": 1e-3, "wy": 1e-3}, ["e0", "wz", "wx'"]),
    ],
)
def test_agrees_with_differences_of_accurate_runs(name, t_end, steps, outputs):
    problem = problems.get(name)
    system = problem.system()
    if steps is None:
        values = dict(zip(system.parameters, system.parameter_values(), strict=True))
        varied = [n for n, v in values.items() if v][:2] + [n for n in problem.given if n in system.speeds][:1]
        steps = {n: 1e-3 * max(abs(values.get(n, 1.0)), 0.1) for n in varied}
        outputs = [system.coordinates[0], system.speeds[-1], *system.constraint_names[:1]]
    times = np.linspace(0.0, t_end, 5)
    check_against_differences(system, problem.given, problem.guess, list(steps), outputs, times, steps)


def test_columns_stay_in_the_tangent_space():
    problem = problems.get("four_bar")
    system = problem.system()
    motion = system.simulate(problem.state(system), 5.0, sensitivities=["la", "q1"])
    nq, nu = system.nq, system.nu
    for k in range(0, len(motion), 50):
        out = system.evaluate("level_derivatives", float(motion.t[k]), motion.q[k], motion.u[k], motion.parameters)
        n = 2 + 2 + nq
        J = out[n:].reshape(n, -1)[:4]  # phi, psi
        for column, name in enumerate(("la", "q1")):
            S = motion.derivatives.S[k, column]
            left = J[:, : nq + nu] @ S + (J[:, nq + nu + system.parameters.index(name)] if name == "la" else 0.0)
            assert np.abs(left).max() <= 1e-12 * max(1.0, np.abs(S).max()) * np.abs(J).max()


@pytest.mark.parametrize(
    "options",
    [
        {"formulation": da.UdwadiaKalaba()},
        {"formulation": da.NonminimalKane()},
        {"formulation": da.MinimalKane()},
        {"formulation": da.NullSpace()},
        {"drift": da.Baumgarte(20.0, 100.0)},
        {"drift": da.NoCorrection()},
        {"drift": da.Blajer()},
        {"drift": da.Yoon()},
        {"integrator": da.Tsit5(rtol=1e-11, atol=1e-12)},
        {"integrator": da.RK4(step=2e-4)},
    ],
    ids=str,
)
def test_all_ingredients_agree(options):
    problem = problems.get("four_bar")
    system = problem.system()
    state, times = problem.state(system), [0.5, 1.0]
    run = {"t_eval": times, "sensitivities": ["lb", "g", "q1"]}
    expected = system.simulate(state, 1.0, integrator=FINE, **run)
    found = system.simulate(state, 1.0, **{"integrator": USUAL, **options}, **run)
    size = np.abs(expected.derivatives.S).max()
    np.testing.assert_allclose(found.derivatives.S, expected.derivatives.S, atol=1e-7 * size)


def test_redundant_constraints_are_solved_in_loops():
    """A parallelogram with a third, redundant link; the same mechanism without it."""

    def build(links):
        model = da.Model(f"{links} links")
        x, y, a = model.coordinates("x y a")
        L, m, g = model.parameters(L=1.0, m=2.0, g=9.81)
        model.energy(kinetic=m * (x.diff() ** 2 + y.diff() ** 2) / 2 + a.diff() ** 2 / 4, potential=m * g * y)
        for k, s in enumerate((-1, 1, 0)[:links]):
            px, py = x + s * sp.cos(a), y + s * sp.sin(a)
            model.constrain((px - s) ** 2 + py**2 - L**2, name=f"link{k}")
        return model.compile()

    motions = []
    for links in (2, 3):
        system = build(links)
        state = system.initial({"x": 0.6, "a": 0.0, "x'": 0.1}, guess={"y": -0.8})
        motions.append(system.simulate(state, 1.0, t_eval=[1.0], sensitivities=["L", "x"], integrator=USUAL))
    np.testing.assert_allclose(motions[1].derivatives.S, motions[0].derivatives.S, atol=1e-7)


def test_servo_and_friction_reactions():
    """A block pushed over a rough table, its servo-driven partner alongside: reactions that are not ideal."""
    model = da.Model("rough table")
    x, y, s = model.coordinates("x y s")
    m, g, mu, c, a = model.parameters(m=2.0, g=9.81, mu=0.3, c=0.2, a=1.5)
    (F,) = model.unknowns("F")
    P = model.particle("P", mass=m, position=[x, y])
    model.gravity([0, -g])
    model.energy(kinetic=m * s.diff() ** 2 / 2)
    table = model.constrain(y, name="table")
    model.nonideal(table, friction=mu, at=P)
    model.generalized_force({s: F - c * s.diff() + x})
    model.constrain(s - sp.sin(a * dynamic_time()), name="track", servo=F)
    system = model.compile()
    given = {"x": 0.0, "x'": 4.0}
    times = np.linspace(0.0, 1.0, 3)
    steps = {"mu": 1e-3, "a": 1e-3, "x'": 1e-3}
    check_against_differences(system, given, {}, list(steps), ["x", "F", "table"], times, steps)


def dynamic_time():
    return dynamicsymbols._t


def bouncing_pendulum(polar):
    """A pendulum that hits a wall."""
    model = da.Model("bouncing pendulum")
    L, m, g, e, w = model.parameters(L=1.0, m=1.0, g=9.81, e=0.8, w=0.1)
    if polar:
        (th,) = model.coordinates("th")
        x, y, rate, gap = L * sp.sin(th), -L * sp.cos(th), th.diff(), L * sp.sin(th) - w
    else:
        x, y = model.coordinates("x y")
        rate, gap = x.diff(), x - w
        model.constrain(x**2 + y**2 - L**2, name="rod")
    model.particle("P", mass=m, position=[x, y])
    model.gravity([0, -g])
    return model.compile(), [da.Event(gap, direction=-1, then={rate: -e * rate}, name="wall")]


@pytest.mark.parametrize("polar", [True, False])
def test_events_jump_by_their_saltation(polar):
    system, events = bouncing_pendulum(polar)
    given, guess = ({"th": 1.0}, {}) if polar else ({"x": 0.8}, {"y": -1.0})
    steps = dict.fromkeys(["L", "e", "w", *given], 1e-4)
    outputs = ["th", "th'"] if polar else ["x", "y'", "rod"]
    times = np.linspace(0.0, 1.2, 5)
    check_against_differences(system, given, guess, list(steps), outputs, times, steps, events=events)


def test_clock_that_feeds_the_state_into_a_parameter_is_refused_by_name():
    model = da.Model("controlled")
    (x,) = model.coordinates("x")
    m, F = model.parameters(m=1.0, F=0.0)
    model.energy(kinetic=m * x.diff() ** 2 / 2)
    model.generalized_force({x: F})
    system = model.compile()
    state = system.initial({x: 1.0, x.diff(): 0.0})
    motion = system.simulate(state, 1.0, events=[da.Every(0.1, then={F: -x}, start=0.1)], sensitivities=["m", "x"])
    assert not motion.success
    assert "F depend on `x` through the state" in motion.message


def test_samples_do_not_depend_on_where_they_are_asked_for():
    system, x, *_ = oscillator()
    state = system.initial({x: 1.0, x.diff(): 0.0})
    steps = system.simulate(state, 5.0, sensitivities=["k"], integrator=USUAL)
    asked = system.simulate(state, 5.0, t_eval=[1.234, 5.0], sensitivities=["k"], integrator=USUAL)
    assert asked.sensitivity("x", "k")[-1] == pytest.approx(steps.sensitivity("x", "k")[-1], abs=1e-12)
    assert asked.sensitivity("x", "k")[0] == pytest.approx(-1.234 * np.sin(2 * 1.234) / 4, abs=1e-9)


def test_the_motion_itself_is_that_of_a_plain_run():
    problem = problems.get("four_bar")
    system = problem.system()
    state = problem.state(system)
    plain = system.simulate(state, 5.0, integrator=USUAL)
    varied = system.simulate(state, 5.0, integrator=USUAL, sensitivities=["g"])
    np.testing.assert_allclose(varied.q[-1], plain.q[-1], atol=1e-10)
    assert varied.certificate.ok


def test_what_is_refused():
    system, x, *_ = oscillator()
    state = system.initial({x: 1.0, x.diff(): 0.0})
    with pytest.raises(da.PairingError, match="StateSpaceSVD does not support sensitivities"):
        system.simulate(state, 1.0, sensitivities=["k"], integrator=da.StateSpaceSVD())
    with pytest.raises(da.UnknownNameError, match="`mass` is not known"):
        system.simulate(state, 1.0, sensitivities=["mass"])
    with pytest.raises(da.OptionError, match="name something twice"):
        system.simulate(state, 1.0, sensitivities=["k", "k"])
    for keys in ("k", None, {"k"}):
        with pytest.raises(da.OptionError, match="must be a list"):
            system.simulate(state, 1.0, sensitivities=keys)
    assert system.simulate(state, 1.0, sensitivities=[]).derivatives is None
    with pytest.raises(da.DalembertError, match="simulated without sensitivities"):
        system.simulate(state, 1.0).sensitivity("x", "k")
    with pytest.raises(da.UnknownNameError, match="the sensitivities of this motion"):
        system.simulate(state, 1.0, sensitivities=["k"]).sensitivity("x", "m")


def test_jumping_forces_are_refused():
    model = da.Model("dry")
    (x,) = model.coordinates("x")
    model.energy(kinetic=x.diff() ** 2 / 2)
    (mu,) = model.parameters(mu=0.1)
    model.generalized_force({x: -mu * sp.sign(x.diff())})
    system = model.compile()
    with pytest.raises(da.PairingError, match="contain sign, whose jumps no derivative shows"):
        system.simulate(system.initial({"x'": 1.0}), 1.0, sensitivities=["mu"])


def piecewise(force):
    model = da.Model("piecewise")
    (x,) = model.coordinates("x")
    (k,) = model.parameters(k=4.0)
    model.energy(kinetic=x.diff() ** 2 / 2)
    model.generalized_force({x: force(x, k)})
    return model.compile()


def test_piecewise_force_that_jumps_on_the_way_is_refused():
    system = piecewise(lambda x, k: sp.Piecewise((-k, x > 0), (k, True)))
    state = system.initial({"x": 1.0, "x'": 0.0})
    system.simulate(state, 0.5, sensitivities=["k"])  # it does not get there
    with pytest.raises(da.PairingError, match=r"x_dot' jumps by 8 near t = 0\.707"):
        system.simulate(state, 1.0, sensitivities=["k"])
    with pytest.raises(da.PairingError, match="jumps by 8"):
        system.gradient(da.Final("x"), state, 1.0, to=["k"])


def test_tables_are_differentiated():
    """x'' = k push(t) with a triangle of height 1 and width 2: x' = k and x = k at t = 2."""
    model = da.Model("pushed")
    (x,) = model.coordinates("x")
    (k,) = model.parameters(k=3.0)
    push = model.table("push", [0.0, 1.0, 2.0], [0.0, 1.0, 0.0])
    model.energy(kinetic=x.diff() ** 2 / 2)
    model.generalized_force({x: k * push(model.t)})
    system = model.compile()
    motion = system.simulate(system.initial({"x": 0.0, "x'": 0.0}), 2.0, sensitivities=["k"])
    assert motion.sensitivity("x", "k")[-1] == pytest.approx(1.0, rel=1e-9)
    assert motion.sensitivity("x_dot", "k")[-1] == pytest.approx(1.0, rel=1e-9)


def test_a_table_whose_slope_jumps_on_the_way_is_refused():
    """A potential of straight lines: a force that jumps by 2 at x = 0."""
    model = da.Model("valley")
    (x,) = model.coordinates("x")
    (k,) = model.parameters(k=1.0)
    valley = model.table("valley", [-9.0, 0.0, 9.0], [9.0, 0.0, 9.0])
    model.energy(kinetic=x.diff() ** 2 / 2, potential=k * valley(x))
    system = model.compile()
    with pytest.raises(da.PairingError, match="jumps by 2"):
        system.simulate(system.initial({"x": 1.0, "x'": 0.0}), 2.0, sensitivities=["k"])


def test_kinks_are_differentiated():
    """A spring four times as stiff on one side: half periods pi / 2 and pi / 4, then x and x' as in the beginning."""
    system = piecewise(lambda x, k: sp.Piecewise((-k * x, x > 0), (-4 * k * x, True)))
    state = system.initial({"x": 1.0, "x'": 0.0})
    period = 0.75 * np.pi
    options = {"t_eval": [0.5, period], "sensitivities": ["k", "x"], "integrator": USUAL}
    motion = system.simulate(state, period, **options)
    assert motion["x"][-1] == pytest.approx(1.0, abs=1e-8)
    np.testing.assert_allclose(motion.sensitivity("x", "x"), motion["x"], atol=1e-7)  # homogeneous
    # x is a function of sqrt(k) t: x_k = t x' / (2 k).
    np.testing.assert_allclose(motion.sensitivity("x", "k"), motion.t * motion["x'"] / 8, atol=1e-7)


def test_start_that_cannot_follow_a_parameter_is_named():
    model = da.Model("fixed")
    x, y = model.coordinates("x y")
    (L,) = model.parameters(L=5.0)
    model.particle("P", mass=1.0, position=[x, y])
    model.constrain(x**2 + y**2 - L**2, name="rod")
    system = model.compile()
    state = system.initial({x: 3.0, y: 4.0})
    with pytest.raises(da.InitialStateError, match="cannot follow a change of `L`: `rod`"):
        system.simulate(state, 1.0, sensitivities=["L"])


# -- Radau -------------------------------------------------------------------------------------------------------------


def stiff_pendulum():
    """A bob on a stiff damped spring: its stretch settles within 1/100 of the swing."""
    model = da.Model("stiff pendulum")
    x, y = model.coordinates("x y")
    k, L, c, g = model.parameters(k=1e6, L=1.0, c=2000.0, g=9.81)
    model.particle("bob", mass=1.0, position=[x, y])
    model.gravity([0, -g])
    r = sp.sqrt(x**2 + y**2)
    pull = -(k * (r - L) + c * (x * x.diff() + y * y.diff()) / r) / r
    model.generalized_force({x: pull * x, y: pull * y})
    return model.compile()


def test_radau_differentiates_a_stiff_motion():
    given = {"x": 1.0, "y": 0.0, "x'": 0.0, "y'": 0.0}
    system, times = stiff_pendulum(), np.array([0.3, 1.0, 2.0])
    state = system.initial(given)
    motion = system.simulate(state, 2.0, t_eval=times, sensitivities=["g"], integrator=da.Radau(rtol=1e-10, atol=1e-12))
    expected = differences(system, given, state, "g", times, 1e-2)
    for output in ("x", "y", "x'"):
        wanted = expected(output)
        assert np.abs(motion.sensitivity(output, "g") - wanted).max() <= 1e-7 * max(1.0, np.abs(wanted).max())


@pytest.mark.parametrize(("name", "parameter", "size"), [("four_bar", "la", 1e-3), ("appell_hamel", "a", 1e-3)])
def test_radau_columns_are_exact_for_its_steps(name, parameter, size):
    """With fixed steps the motion is a smooth function of the parameter: differences of the very same steps."""
    problem = problems.get(name)
    system, method = problem.system(), da.Radau(step=0.02, rtol=1e-12, atol=1e-14)
    state = problem.state(system)
    values = dict(zip(system.parameters, state.parameters, strict=True))
    motion = system.simulate(state, 0.4, sensitivities=[parameter], integrator=method)

    def end(e):
        given = {system.coordinates[k]: state.q[k] for k in state.report.wishes.q}
        given |= {system.speeds[k]: state.u[k] for k in state.report.wishes.u}
        start = system.initial(given, guess=state, parameters={parameter: values[parameter] + e})
        moved = system.simulate(start, 0.4, integrator=method)
        return np.concatenate([moved.q[-1], moved.u[-1]])

    slope = (8 * (end(size) - end(-size)) - (end(2 * size) - end(-2 * size))) / (12 * size)
    np.testing.assert_allclose(motion.derivatives.S[-1, 0], slope, atol=1e-7 * max(1.0, np.abs(slope).max()))


def test_radau_columns_stay_on_the_constraints_and_cross_events():
    model = da.Model("bouncing pendulum")
    x, y = model.coordinates("x y")
    (L,) = model.parameters(L=1.0)
    model.particle("bob", mass=1.0, position=[x, y])
    model.gravity([0, -9.81])
    model.constrain(x**2 + y**2 - L**2, name="rod")
    system = model.compile()
    state = system.initial({x: 0.6, x.diff(): 0.0}, guess={y: -0.8})
    wall = da.Event(x + 0.2, then={x.diff(): -0.8 * x.diff()}, name="wall")
    runs = [
        system.simulate(state, 1.5, t_eval=[0.2, 0.9, 1.5], events=[wall], sensitivities=["x", "L"], integrator=method)
        for method in (FINE, da.Radau(rtol=1e-11, atol=1e-12))
    ]
    for name in ("x", "L"):
        found, wanted = (run.sensitivity("y", name)[-1] for run in runs)
        assert found == pytest.approx(wanted, abs=1e-7)
    last = runs[1].segments[-1]
    S = last.derivatives.S[:, 0]
    np.testing.assert_allclose(last.q[:, 0] * S[:, 0] + last.q[:, 1] * S[:, 1], 0.0, atol=1e-8)  # phi_q S = 0


def test_gradient_by_radau_is_forward():
    system, x, _, k = oscillator()
    state = system.initial({x: 1.5, x.diff(): 0.0})
    found = system.gradient(da.Final(x), state, 2.0, to=[k], integrator=da.Radau(rtol=1e-11, atol=1e-12))
    assert found.how == "forward sensitivities"
    assert found[k] == pytest.approx(-1.5 * 2.0 * np.sin(4.0) / 4.0, abs=1e-8)


def test_other_implicit_methods_are_refused_by_name():
    system, x, _, k = oscillator()
    state = system.initial({x: 1.5})
    model = da.Model("twice")
    a, b = model.coordinates("a b")
    model.energy(kinetic=a.diff() ** 2 + b.diff() ** 2, potential=a**2)
    for name, row in (("first", a - b), ("second", sp.sin(a - b))):
        model.constrain(row, name=name)
    doubled = model.compile()
    with pytest.raises(da.DalembertError, match="`twice`: no sensitivities by Radau: constraints depend"):
        doubled.simulate(doubled.initial({a: 1.0}), 1.0, sensitivities=["a"], integrator=da.Radau())
    for method in (da.GeneralizedAlpha(step=0.01), da.IDA()):
        with pytest.raises(da.PairingError, match=f"{type(method).__name__} does not support sensitivities.*Radau"):
            system.simulate(state, 1.0, sensitivities=[k], integrator=method)

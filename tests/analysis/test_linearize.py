"""Linearisations against closed forms, published matrices and differences of the accelerations."""

import pickle

import numpy as np
import pytest
import sympy as sp
from numpy.polynomial.laguerre import lagroots
from random_models import CLASSES, accelerations_near, random_state

import dalembert as da
from dalembert.problems import benchmark_bicycle as bicycle
from dalembert.problems.whipple_bicycle import state_bicycle

G = 9.81


def in_order(values):
    values = np.asarray(values, dtype=complex)
    return values[np.lexsort((values.imag, np.round(values.real, 8)))]


def assert_spectrum(got, want, atol):
    np.testing.assert_allclose(in_order(got), in_order(want), rtol=0, atol=atol)


def published(row):
    _, real, imaginary, capsize, caster = row
    return [complex(real, imaginary), complex(real, -imaginary), capsize, caster]


@pytest.fixture(scope="module")
def bicycle_system():
    return bicycle.build().compile()


class TestBicycle:
    def test_matrices_entry_by_entry(self, bicycle_system):
        for v in (0.0, 3.0):
            state = bicycle_system.steady(bicycle.straight(v), guess=bicycle.GUESS)
            lin = bicycle_system.linearize(state, states=bicycle.STATES)
            np.testing.assert_allclose(lin.mass, bicycle.M, rtol=0, atol=1e-11)
            np.testing.assert_allclose(lin.damping, v * bicycle.C1, rtol=0, atol=1e-11)
            np.testing.assert_allclose(lin.stiffness, G * bicycle.K0 + v**2 * bicycle.K2, rtol=0, atol=1e-11)
            assert lin.steady
            if not v:
                assert_spectrum(lin.eigenvalues, [s * x for x in bicycle.AT_REST for s in (1, -1)], 1e-11)

    def test_eigenvalues_and_critical_speeds(self, bicycle_system):
        state = bicycle_system.steady(bicycle.straight(1.0), guess=bicycle.GUESS)
        lin = bicycle_system.linearize(state, states=bicycle.STATES)
        locus = lin.sweep("rear_rate", np.arange(1.0, 11.0) / bicycle.REAR_RADIUS)
        for got, row in zip(locus.eigenvalues, bicycle.EIGENVALUES, strict=True):
            assert_spectrum(got, published(row), 1e-11)
        weave, capsize = locus.crossings()
        assert weave.value * bicycle.REAR_RADIUS == pytest.approx(bicycle.WEAVE_SPEED, abs=1e-10)
        assert capsize.value * bicycle.REAR_RADIUS == pytest.approx(bicycle.CAPSIZE_SPEED, abs=1e-10)
        assert (weave.growing, capsize.growing) == (False, True)
        assert weave.eigenvalue.imag > 1.0
        assert capsize.eigenvalue.imag == 0.0
        assert locus.stable.tolist() == [row[1] < 0 and row[3] < 0 for row in bicycle.EIGENVALUES]

    def test_of_sympy(self):
        b = state_bicycle()
        system = da.from_sympy(b.kane, bodies=b.bodies, loads=b.loads, parameters=b.parameters).compile()
        for row in bicycle.EIGENVALUES[::4]:
            state = system.initial({"q1": 0, "q2": 0, "q5": 0, "u2": 0, "u5": 0, "u3": row[0] / 0.3})
            lin = system.linearize(state, states=["q2", "q5", "u2", "u5"])
            assert_spectrum(lin.eigenvalues, published(row), 1e-11)
            np.testing.assert_allclose(lin.mass, bicycle.M, rtol=0, atol=1e-11)

    def test_hands_free_turns_leave_the_straight_run_at_the_capsize_speed(self, bicycle_system):
        """The family of steady turns branches off where a real eigenvalue vanishes; speeds differ by O(lean^2)."""
        lean = 1e-3
        guess = {**bicycle.GUESS, "rear_rate": 6 / 0.3, "vx": 6.0, "front_rate": 6 / 0.35}
        fixed = dict.fromkeys(("x", "y", "yaw", "rear_spin", "front_spin"), 0.0)
        names = ["lean_rate", "steer_rate", "pitch_rate", "yaw_rate", "rear_rate", "front_rate"]
        turn = bicycle_system.steady({**fixed, "lean": lean}, guess=guess, constant=names)
        assert abs(turn["steer"]) > 0.1 * lean
        assert turn["rear_rate"] * 0.3 == pytest.approx(bicycle.CAPSIZE_SPEED, abs=50 * lean**2)


@pytest.fixture(scope="module")
def rolling_disc():
    """A disc of radius r = 0.4 m and mass 3 kg; A and C are its inertias per m r^2, across and along its axis."""
    model = da.Model("disc")
    x, y, z, yaw, lean, spin = model.coordinates("x y z yaw lean spin")
    model.speeds("vx vy vz yaw_rate lean_rate spin_rate")
    r, m, g, A, C = model.parameters(r=0.4, m=3.0, g=G, A=0.25, C=0.5)
    rotation = sp.rot_axis3(-yaw) * sp.rot_axis1(-lean) * sp.rot_axis2(-spin)
    inertia = [A * m * r**2, C * m * r**2, A * m * r**2]
    disc = model.body("D", mass=m, inertia=inertia, position=[x, y, z], rotation=rotation)
    model.gravity([0, 0, -g])
    model.contacts.disc("roll", model.marker(disc, [0, 0, 0], axis=[0, 1, 0]), radius=r)
    return model.compile()


@pytest.mark.parametrize(("C", "A", "square"), [(0.5, 0.25, 1 / 3), (1.0, 0.5, 1 / 4)], ids=["disc", "hoop"])
def test_an_upright_rolling_disc(rolling_disc, C, A, square):
    """s^2 = -(C (C + m r^2) w^2 - A m g r) / (A (A + m r^2)): stable for v^2 > g r / 3 (disc) and g r / 4 (hoop)."""
    system, r = rolling_disc, 0.4
    given = dict.fromkeys(("lean", "yaw", "x", "y", "spin", "yaw_rate"), 0.0)
    for w in (1.0, 9.0):
        state = system.steady({**given, "spin_rate": w}, guess={"z": r}, parameters={"A": A, "C": C})
        lin = system.linearize(state, states=["lean", "lean_rate", "yaw_rate"])
        root = np.sqrt(complex(-(C * (C + 1) * w**2 - A * G / r) / (A * (A + 1))))
        assert_spectrum(lin.eigenvalues, [0.0, root, -root], 1e-9)
    (critical,) = lin.sweep("spin_rate", [0.5, 9.0]).crossings()
    assert critical.value * r == pytest.approx(np.sqrt(square * G * r), abs=1e-9)
    assert not critical.growing


def test_a_leaning_disc_rolls_in_a_circle(rolling_disc):
    """Steady: ((C + m r^2) w3 - A W sin) W cos = -m g r sin, w3 the axial part of the angular velocity (Routh)."""
    system, r = rolling_disc, 0.4
    given = {"lean": 0.3, "yaw": 0, "x": 0, "y": 0, "spin": 0, "lean_rate": 0, "yaw_rate": -2.0}
    state = system.steady(given, guess={"z": r, "spin_rate": 5.0}, constant=["yaw_rate", "lean_rate", "spin_rate"])
    W, s, c = state["yaw_rate"], np.sin(0.3), np.cos(0.3)
    w3 = state["spin_rate"] + W * s
    assert (1.5 * w3 - 0.25 * W * s) * W * c == pytest.approx(-G / r * s, abs=1e-9)
    lin = system.linearize(state, states=["lean", "lean_rate", "yaw_rate", "spin_rate"])
    assert lin.steady
    check_by_differences(system, state, lin)
    steep = lin.sweep("lean", [0.3, 0.4], hold=["yaw_rate", "lean_rate", "yaw", "x", "y", "spin"],
                      constant=["yaw_rate", "lean_rate", "spin_rate"])  # fmt: skip
    assert steep.states[1]["yaw_rate"] == -2.0
    assert np.abs(steep.eigenvalues[1] - lin.eigenvalues).max() > 1e-3


def test_a_sleeping_top():
    """A s^2 - i C w s - m g l = 0 for the deflection a + i b: stable for C^2 w^2 > 4 A m g l."""
    model = da.Model("top")
    a, b, c = model.coordinates("a b c")
    model.speeds("va vb w")
    A, C, ml = 0.5, 0.3, 0.8
    rotation = sp.rot_axis1(-a) * sp.rot_axis2(-b) * sp.rot_axis3(-c)
    model.body("T", mass=1.0, inertia=[A, A, C], position=[0, 0, 0], rotation=rotation)
    model.energy(potential=ml * G * sp.cos(a) * sp.cos(b))
    system = model.compile()
    for w in (5.0, 20.0):
        state = system.steady({"a": 0, "b": 0, "w": w, "va": 0, "vb": 0})
        lin = system.linearize(state, states=["a", "b", "va", "vb"])
        roots = np.roots([A, -1j * C * w, -ml * G])
        assert_spectrum(lin.eigenvalues, [*roots, *roots.conj()], 1e-9)
        assert state.stability.verdict == ("unstable" if w == 5.0 else "marginal")
        assert state.stability.ignorable == ("c",)


def test_a_ball_on_a_turntable():
    """A moving constraint: v' = 2/7 W e_z x v, so that the eigenvalues are +-2/7 W i wherever the ball is."""
    model = da.Model("turntable")
    ball = model.body("B", mass=1.0, inertia=[0.004] * 3)
    (turn,) = model.coordinates("turn")
    disc = model.body("T", mass=1, inertia=[1, 1, 1], position=[0, 0, 0], rotation=sp.rot_ccw_axis3(turn))
    model.constrain(turn - 1.4 * model.t, name="drive")
    model.contacts.sphere("contact", ball, radius=0.1, plane=model.marker(disc, [0, 0, 0]))
    model.gravity([0, 0, -G])
    system = model.compile()
    centre = system.steady({"B_x": 0, "B_y": 0, "B_vx": 0, "B_vy": 0, "B_wz": 0}, guess={"B_z": 0.1})
    moving = system.initial({"B_x": 1.0, "B_y": 0.2, "B_vx": 0.0, "B_vy": 0.3, "B_wz": 0.0}, guess={"B_z": 0.1})
    for state in (centre, moving):
        lin = system.linearize(state, states=["B_vx", "B_vy"])
        assert_spectrum(lin.eigenvalues, [0.4j, -0.4j], 1e-9)
    assert not lin.steady


@pytest.mark.parametrize("absolute", [False, True], ids=["angles", "constraints"])
def test_a_pendulum_chain(absolute):
    """Equal masses on equal lengths: w^2 = g / l times the roots of the Laguerre polynomial L_n."""
    n, length = 5, 0.7
    model = da.Model("chain")
    x = y = sp.Integer(0)
    for k in range(n):
        if absolute:
            xk, yk = model.coordinates(f"x{k} y{k}")
            model.constrain((xk - x) ** 2 + (yk - y) ** 2 - length**2, name=f"rod{k}")
            x, y = xk, yk
        else:
            (angle,) = model.coordinates(f"a{k}")
            x, y = x + length * sp.sin(angle), y - length * sp.cos(angle)
        model.particle(f"P{k}", mass=2.0, position=[x, y])
    model.gravity([0, -G])
    system = model.compile()
    hanging = system.equilibrium(guess={f"y{k}": -length * (k + 1) for k in range(n)} if absolute else {"a0": 0.1})
    assert hanging.stability.verdict == "marginal"
    lin = system.linearize(hanging)
    w = np.sqrt(G / length * lagroots([0] * n + [1]))
    np.testing.assert_allclose(np.sort(lin.eigenvalues.imag), np.sort([*w, *-w]), atol=1e-9)
    np.testing.assert_allclose(lin.eigenvalues.real, 0.0, atol=1e-9)
    np.testing.assert_allclose(
        np.sort(np.linalg.eigvals(np.linalg.solve(lin.mass, lin.stiffness)).real), w**2, rtol=1e-10
    )


def test_a_parallelogram_with_a_crank_too_many():
    """Three parallel cranks of length l carry a bar: one row is redundant; w^2 = g / l as of a point mass."""
    model = da.Model("parallelogram")
    x, y, a = model.coordinates("x y a")
    model.body("bar", mass=2.0, inertia=0.6, position=[x, y], rotation=a)
    model.gravity([0, -G])
    length = 0.5
    for k, s in enumerate((-1.0, 0.0, 1.0)):
        model.constrain((x + s * sp.cos(a) - s) ** 2 + (y + s * sp.sin(a)) ** 2 - length**2, name=f"crank{k}")
    system = model.compile()
    state = system.equilibrium(guess={"y": -length})
    lin = system.linearize(state, states=["x", "x_dot"], outputs=["y", "a", "reaction(y_dot)"])
    w = np.sqrt(G / length)
    assert_spectrum(lin.eigenvalues, [1j * w, -1j * w], 1e-9)
    np.testing.assert_allclose(lin.C, 0.0, atol=1e-9)  # all of them have an extremum
    with pytest.raises(da.LinearizationError, match="not unique") as caught:
        system.linearize(state, outputs=["crank1"])
    assert caught.value.directions == ("crank1",)
    assert isinstance(pickle.loads(pickle.dumps(caught.value)), da.LinearizationError)


def test_a_dead_point_has_no_linearisation():
    """With the cranks along the bar the parallelogram may fold: the rows are dependent there and not beside it."""
    model = da.Model("flat")
    x, y, a = model.coordinates("x y a")
    model.body("bar", mass=2.0, inertia=0.6, position=[x, y], rotation=a)
    for k, s in enumerate((-1.0, 1.0)):
        model.constrain((x + s * sp.cos(a) - s) ** 2 + (y + s * sp.sin(a)) ** 2 - 0.25, name=f"crank{k}")
    system = model.compile()
    state = system.initial({"x": 0.5, "y": 0.0, "a": 0.0, "y_dot": 0.3, "a_dot": 0.0})
    with pytest.raises(da.LinearizationError, match="dead point or bifurcation"):
        system.linearize(state)


# -- inputs, outputs, laws --------------------------------------------------------------------------------------------


def cart():
    """A pendulum on a cart that a force or a servo motor moves."""
    model = da.Model("cart")
    s, a = model.coordinates("s a")
    model.speeds("v w")
    F, m, M, l, g, k = model.parameters(F=0.0, m=0.5, M=2.0, l=0.8, g=G, k=0.3)
    model.particle("cart", mass=M, position=[s, 0])
    model.particle("bob", mass=m, position=[s + l * sp.sin(a), l * sp.cos(a)])
    model.gravity([0, -g])
    model.generalized_force({s: F - k * s.diff()})
    model.output("bob_height", l * sp.cos(a))
    return model, s, a


def test_inputs_and_outputs_of_a_cart():
    model, s, a = cart()
    system = model.compile()
    lin = system.linearize(
        system.equilibrium({"a": 0.0, "s": 0.0}),
        states=["s", "a", "v", "w"],
        inputs=["F"],
        outputs=["bob_height", s + 2 * a, "v'"],
    )
    m, M, l, k = 0.5, 2.0, 0.8, 0.3
    A = np.array([[0, 0, 1, 0], [0, 0, 0, 1], [0, -m * G / M, -k / M, 0], [0, (M + m) * G / (M * l), k / (M * l), 0]])
    np.testing.assert_allclose(lin.A, A, atol=1e-12)
    np.testing.assert_allclose(lin.B[:, 0], [0, 0, 1 / M, -1 / (M * l)], atol=1e-12)
    np.testing.assert_allclose(lin.C, [[0, 0, 0, 0], [1, 2, 0, 0], A[2]], atol=1e-12)
    np.testing.assert_allclose(lin.D[:, 0], [0, 0, 1 / M], atol=1e-12)
    w = np.array([0.7, 3.0])
    np.testing.assert_allclose(lin.frequency_response(w)[:, :, 0].T, _responses(lin, w), rtol=1e-10)
    assert lin.to_scipy().A.shape == (4, 4)
    assert lin.outputs[0] == "bob_height"
    assert "unstable" in str(lin.state.stability)


def _responses(lin, w):
    """C adj(i w - A) B + D, one at a time."""
    return np.array([lin.C @ np.linalg.inv(1j * x * np.eye(4) - lin.A) @ lin.B[:, 0] + lin.D[:, 0] for x in w]).T


def test_an_unknown_as_input_frees_its_constraint():
    """The servo that keeps the cart in place is opened: its force drives the free cart."""
    model, s, _ = cart()
    (motor,) = model.unknowns("motor")
    model.generalized_force({s: motor})
    model.constrain(s, servo=motor, name="in_place")
    system = model.compile()
    state = system.equilibrium({"a": 0.0})
    held = system.linearize(state, states=["a", "w"], outputs=["motor"])
    assert_spectrum(held.eigenvalues, [np.sqrt(G / 0.8), -np.sqrt(G / 0.8)], 1e-9)
    np.testing.assert_allclose(held.C, [[0.5 * G, 0.0]], atol=1e-9)  # m l a'' = m g a, taken up by the motor
    free = system.linearize(state, states=["s", "a", "v", "w"], inputs=[motor])
    np.testing.assert_allclose(free.B[:, 0], [0, 0, 1 / 2.0, -1 / (2.0 * 0.8)], atol=1e-12)
    assert free.A[3, 1] == pytest.approx(2.5 * G / 1.6, abs=1e-12)


def check_by_differences(system, state, lin, step=1e-5, atol=1e-6):
    """Columns of A by central differences of the accelerations of consistent states."""
    x = np.array([state[name] for name in lin.states])
    fixed = [name for name in lin.ignorable if name not in lin.states]
    assert not fixed
    for k in range(len(x)):
        h = np.zeros(len(x))
        h[k] = step
        ahead, behind = (accelerations_near(system, state, lin.states, x + side * h)[0] for side in (1, -1))
        np.testing.assert_allclose(
            (ahead - behind) / (2 * step), lin.A[:, k], rtol=atol, atol=atol * (1 + np.abs(lin.A).max())
        )


def check_class(make, seed):
    rng = np.random.default_rng(seed)
    system = make(rng).compile()
    state = random_state(system, rng)
    names = [n for n in ("F",) if n in system.unknowns]
    lin = system.linearize(state, outputs=[f"reaction({system.speeds[0]})", *names])
    check_by_differences(system, state, lin)
    x, step = np.array([state[name] for name in lin.states]), 1e-5
    for k in range(len(x)):
        h = step * np.eye(len(x))[k]
        ends = [accelerations_near(system, state, lin.states, x + side * h)[1] for side in (1, -1)]
        got = (
            np.array([ends[0][name] for name in lin.outputs]) - np.array([ends[1][name] for name in lin.outputs])
        ) / (2 * step)
        np.testing.assert_allclose(got, lin.C[:, k], rtol=1e-6, atol=1e-6 * (1 + np.abs(lin.C).max()))


@pytest.mark.parametrize("make", CLASSES, ids=lambda make: make.__name__)
def test_every_class_of_constraint_by_differences(make):
    check_class(make, 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 11))
@pytest.mark.parametrize("make", CLASSES, ids=lambda make: make.__name__)
def test_a_hundred_random_models_by_differences(make, seed):
    check_class(make, seed)


def test_against_a_simulated_perturbation():
    """exp(A t) x is what a small change of the start does to the motion about an equilibrium, to first order."""
    from scipy.linalg import expm

    model, *_ = cart()
    system = model.compile()
    rest = system.equilibrium({"a": np.pi, "s": 0.0}, guess={"a": np.pi})
    lin = system.linearize(rest, states=["s", "a", "v", "w"])
    x, small = np.array([0.0, 1.0, 0.5, -0.3]), 1e-5
    t = 1.3
    ends = [
        system.simulate(
            system.initial({n: rest[n] + side * small * d for n, d in zip(lin.states, x, strict=True)}),
            t, t_eval=[0.0, t], integrator=da.DOP853(rtol=1e-13, atol=1e-14),
        ) for side in (1, -1)
    ]  # fmt: skip
    got = np.array([(ends[0][n][-1] - ends[1][n][-1]) / (2 * small) for n in lin.states])
    np.testing.assert_allclose(got, expm(lin.A * t) @ x, atol=1e-8)


def test_a_mode_is_animated_and_has_a_shape(tmp_path):
    """The pendulum of the cart falls: s and a move in opposite directions, the common centre of mass stays."""
    model, *_ = cart()
    system = model.compile()
    lin = system.linearize(system.equilibrium({"a": 0.0, "s": 0.0}, parameters={"k": 0.0}), states=["s", "a", "v", "w"])
    shape = lin.mode_shape(0)
    assert 2.5 * shape["s"] + 0.5 * 0.8 * shape["a"] == pytest.approx(0.0, abs=1e-9)
    assert shape["w"] == pytest.approx(lin.eigenvalues[0] * shape["a"])
    page = lin.animate(tmp_path / "mode.html", 0).read_text(encoding="utf-8")
    assert "cart, mode 0" in page
    assert "bob" in page


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1.0, 1e3, 1e9, 1e12])
def test_a_row_without_gradient_is_smooth_whatever_its_factor(factor):
    model = da.Model("bead")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1, position=[x, y])
    model.generalized_force({x: -4 * x})
    model.constrain(y, name="wire")
    model.constrain(factor * y**2, name="implied")
    system = model.compile()
    found = system.linearize(system.initial({x: 0.0})).eigenvalues
    np.testing.assert_allclose(np.sort_complex(found), [-2j, 2j], rtol=0, atol=1e-9)


def test_kinks_are_refused():
    model = da.Model("stopped")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1.0, position=[x, y])
    model.generalized_force({x: -3 * sp.Abs(x), y: -2 * sp.sign(y.diff())})
    system = model.compile()
    with pytest.raises(da.LinearizationError, match="kink or a jump") as caught:
        system.linearize(system.initial({"x": 0.0, "y": 1.0, "x'": 1.0, "y'": 0.0}))
    assert set(caught.value.directions) == {"balance of x_dot", "balance of y_dot"}
    lin = system.linearize(system.initial({"x": 0.2, "y": 1.0, "x'": 1.0, "y'": 1e-3}), states=["x", "y", "x'", "y'"])
    assert lin.A[2, 0] == pytest.approx(-3.0)
    assert not lin.steady
    assert "not steady" in repr(lin)


def test_bad_requests_say_what_to_do():
    model, s, _ = cart()
    system = model.compile()
    state = system.equilibrium({"a": 0.0, "s": 0.0})
    with pytest.raises(da.OptionError, match=r"leave out `a`, on which the rate of `v` depends"):
        system.linearize(state, states=["s", "v"])
    with pytest.raises(da.OptionError, match="depends on `s`, which states leave out"):
        system.linearize(state, states=["a", "v", "w"], outputs=[s])
    with pytest.raises(da.OptionError, match="name a variable twice"):
        system.linearize(state, states=["a", "a"])
    with pytest.raises(da.UnknownNameError, match="did you mean `F`"):
        system.linearize(state, inputs=["FF"])
    with pytest.raises(da.UnknownNameError):
        system.linearize(state, outputs=["nothing"])
    with pytest.raises(da.OptionError, match="must be a list"):
        system.linearize(state, inputs="F")
    with pytest.raises(da.OptionError, match="needs inputs and outputs"):
        system.linearize(state).frequency_response([1.0])
    with pytest.raises(da.OptionError, match="mode 7 does not exist"):
        system.linearize(state).mode_shape(7)
    with pytest.raises(da.UnknownNameError, match="parameters, coordinates and speeds"):
        system.linearize(state).sweep("nothing", [1.0])
    bad = da.State(system, 0.0, state.q + 0.1, state.u, state.udot, state.multipliers, state.parameters)
    with pytest.raises(da.InconsistentStateError, match=r"violates \d equations"):
        system.linearize(bad)


def test_an_input_that_moves_a_constraint_is_refused():
    model = da.Model("bead")
    x, y = model.coordinates("x y")
    (h,) = model.parameters(h=1.0)
    model.particle("P", mass=1.0, position=[x, y])
    model.constrain(y - h * x**2, name="track")
    system = model.compile()
    with pytest.raises(da.OptionError, match="is in constraint `track`"):
        system.linearize(system.equilibrium({"x": 0.0}), inputs=["h"])


def test_tied_states_are_refused():
    model = da.Model("tied")
    x, y, z = model.coordinates("x y z")
    model.particle("P", mass=1.0, position=[x, y, z])
    model.constrain(y - 2 * x, name="line")
    system = model.compile()
    state = system.initial({"x": 1.0, "z": 0.0})
    with pytest.raises(da.LinearizationError, match="tie the states x, y"):
        system.linearize(state, states=["x", "y"])
    with pytest.raises(da.OptionError, match="only 2 of them are independent"):
        system.linearize(state, states=["x", "y", "z"])
    assert system.linearize(state).ignorable == system.linearize(state).states[:2]


def spinning_rotor():
    """A rigid rotor on two springs at each end, turning at 300 rad/s, in a unit quaternion; its exact eigenvalues.

    Tilts a + i b of its axis obey It z'' - i Ip W z' + 2 k l^2 z = 0 (Genta, Dynamics of Rotating Systems, 2005), its
    centre m z'' + 2 k z = 0.
    """
    mass, across, along, k, half, W = 10.0, 0.4, 0.7, 2e4, 0.3, 300.0
    model = da.Model("rotor")
    (m,) = model.parameters(m=mass)
    rotor = model.body("R", mass=m, inertia=[across, across, along])
    model.constrain(rotor.position[2], name="bearing")
    for place in (-half, half):
        x, y, _ = model.marker(rotor, [0, 0, place]).position
        model.energy(potential=k * (x**2 + y**2) / 2)
    system = model.compile()
    tilts = np.roots([across, -1j * along * W, 2 * k * half**2])
    exact = np.concatenate(
        [tilts, tilts.conj(), [1j * np.sqrt(2 * k / mass)] * 2, [-1j * np.sqrt(2 * k / mass)] * 2, [0, 0]]
    )
    return system, system.steady({"R_wz": W, "R_x": 0, "R_y": 0}, guess={"R_e0": 1}), W, exact


def test_a_quaternion_that_turns_is_seen_from_axes_that_do_not():
    """Nothing depends on the turn, but the components of the quaternion change their meaning with it, and A too."""
    system, state, W, exact = spinning_rotor()
    lin = system.linearize(state)
    assert lin.steady
    assert_spectrum(lin.eigenvalues, exact, 1e-9)
    assert np.abs(np.linalg.eigvals(lin.A)[:, None] - exact).min(axis=0).max() > 1.0  # those of A are none of it
    assert state.stability.ignorable == ("R_e3",)
    with pytest.raises(da.DalembertError, match="no frequency response"):
        system.linearize(state, inputs=["m"], outputs=["R_x"]).frequency_response([1.0])
    period = 4 * np.pi / W  # of the quaternion: two turns
    multipliers = system.linearize(system.simulate(state, period)).multipliers
    for wanted in np.exp(exact * period):
        assert np.abs(multipliers - wanted).min() < 1e-8


def test_round_off_of_eigenvalues_is_printed_as_zero():
    system, state, *_ = spinning_rotor()
    table = [line.split() for line in repr(system.linearize(state)).splitlines()[3:]]
    assert {row[0] for row in table} == {"0"}
    assert {row[3] for row in table} <= {"0", "-0"}

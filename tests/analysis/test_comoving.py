"""Eigenvalues of steady motions of bodies, seen from axes that go along, and of motions that have none."""

import numpy as np
import pytest
import sympy as sp
from scipy.spatial.transform import Rotation

import dalembert as da
from dalembert.problems import benchmark_bicycle as bicycle

G = 9.81
TILT, REAR, FRONT, BASE, TRAIL = np.pi / 10, 0.3, 0.35, 1.02, 0.08
CENTRES = {"B": (0.3, 0, 0.9), "H": (0.9, 0, 0.7), "R": (0, 0, REAR), "F": (BASE, 0, FRONT)}
RATES = ["lean_rate", "steer_rate", "pitch_rate", "yaw_rate", "rear_rate", "front_rate"]
CONSTANT = ["B_vz", "B_wx", "B_wy", "B_wz", "H_wx", "H_wy", "H_wz", "R_wy", "F_wy"]


def farthest(found, wanted):
    """How far any of the wanted numbers is from the nearest one found."""
    return np.abs(np.asarray(found)[:, None] - np.asarray(wanted)).min(axis=0).max()


def quaternion(R):
    return np.roll(Rotation.from_matrix(R).as_quat(), 1)


def place(name, position, R, velocity, w):
    """What to guess for a body: w is its angular velocity in inertial axes."""
    parts = {"": ("xyz", position), "e": ("0123", quaternion(R)), "v": ("xyz", velocity), "w": ("xyz", R.T @ w)}
    return {f"{name}_{part}{k}": v for part, (ks, values) in parts.items() for k, v in zip(ks, values, strict=True)}


@pytest.fixture(scope="module")
def bodies():
    """The benchmark bicycle of four bodies, three hinges and two rolling wheels, in unit quaternions."""
    model = da.Model("bicycle of bodies")
    model.gravity([0, 0, -G])
    masses = {"B": 85.0, "H": 4.0, "R": 2.0, "F": 3.0}
    inertias = {
        "B": [[9.2, 0, -2.4], [0, 11.0, 0], [-2.4, 0, 2.8]],
        "H": [[0.05892, 0, 0.00756], [0, 0.06, 0], [0.00756, 0, 0.00708]],
        "R": [0.0603, 0.12, 0.0603],
        "F": [0.1405, 0.28, 0.1405],
    }
    made = {name: model.body(name, mass=masses[name], inertia=inertias[name]) for name in masses}
    head, across = (BASE + TRAIL, 0, 0), [0, 1, 0]

    def at(name, point, axis):
        return model.marker(made[name], [a - b for a, b in zip(point, CENTRES[name], strict=True)], axis=axis)

    model.joints.revolute("rear", at("B", CENTRES["R"], across), at("R", CENTRES["R"], across))
    model.joints.revolute("front", at("H", CENTRES["F"], across), at("F", CENTRES["F"], across))
    steering = [-np.sin(TILT), 0, np.cos(TILT)]
    model.joints.revolute("head", at("B", head, steering), at("H", head, steering))
    model.contacts.disc("roll_R", at("R", CENTRES["R"], across), radius=REAR)
    model.contacts.disc("roll_F", at("F", CENTRES["F"], across), radius=FRONT)
    return model.compile()


@pytest.fixture(scope="module")
def angles():
    return bicycle.build().compile()


def straight(system, v):
    guess = {}
    for name, spin in (("B", 0.0), ("H", 0.0), ("R", v / REAR), ("F", v / FRONT)):
        guess |= place(name, CENTRES[name], np.eye(3), [v, 0, 0], np.array([0, spin, 0]))
    return system.initial({}, guess=guess)


def about(axis, angle):
    return Rotation.from_rotvec(np.eye(3)[axis] * angle).as_matrix()


def of_angles(state):
    """The four bodies of a steady turn of the model in angles."""
    frame = about(2, state["yaw"]) @ about(0, state["lean"]) @ about(1, state["pitch"])
    fork = frame @ about(1, -TILT) @ about(2, -state["steer"]) @ about(1, TILT)
    hub = np.array([state["x"], state["y"], state["z"]])
    pivot = hub + frame @ [BASE + TRAIL, 0, -REAR]
    turn, moving = np.array([0, 0, state["yaw_rate"]]), np.array([state["vx"], state["vy"], state["vz"]])
    rear, front = frame @ about(1, state["rear_spin"]), fork @ about(1, state["front_spin"])
    guess = {}
    for name, position, R, spin in (
        ("B", hub + frame @ [0.3, 0, 0.6], frame, 0.0),
        ("H", pivot + fork @ [0.9 - BASE - TRAIL, 0, 0.7], fork, 0.0),
        ("R", hub, rear, state["rear_rate"]),
        ("F", pivot + fork @ [-TRAIL, 0, FRONT], front, state["front_rate"]),
    ):
        guess |= place(name, position, R, moving + np.cross(turn, position - hub), turn + spin * R[:, 1])
    return guess


class TestBicycle:
    def test_published_eigenvalues(self, bodies):
        for v, real, imaginary, capsize, caster in bicycle.EIGENVALUES:
            state = straight(bodies, v)
            lin = bodies.linearize(state)
            assert lin.steady
            wanted = [complex(real, imaginary), complex(real, -imaginary), capsize, caster]
            assert farthest(lin.eigenvalues, wanted) < 1e-9
            # Besides, the speed is free, and the place, the heading and the spins of the wheels.
            assert farthest([*wanted, 0.0], lin.eigenvalues) < 1e-5
            stability = state.stability
            assert farthest(stability.eigenvalues, [*wanted, 0.0]) < 1e-9
            assert len(stability.eigenvalues) == 5
            assert stability.verdict == ("marginal" if v in (5.0, 6.0) else "unstable")
        assert "from axes that turn" in repr(lin)

    def test_the_weave_speed(self, bodies):
        locus = bodies.linearize(straight(bodies, 4.0)).sweep("R_wy", np.array([4.0, 5.0]) / REAR)
        (weave,) = [crossing for crossing in locus.crossings() if crossing.eigenvalue.imag > 1.0]
        assert weave.value * REAR == pytest.approx(bicycle.WEAVE_SPEED, abs=1e-9)

    @pytest.mark.parametrize("lean", [0.1, 0.3])
    def test_a_circular_ride_as_in_angles(self, bodies, angles, lean):
        given = {"x": 0.0, "y": 0.0, "rear_spin": 0.0, "front_spin": 0.7, "lean": lean}
        guess = {**bicycle.GUESS, "rear_rate": 6 / REAR, "vx": 6.0, "front_rate": 6 / FRONT, "yaw": 0.4}
        turn = angles.steady(given, guess=guess, constant=RATES)
        wanted = angles.linearize(turn, states=["lean", "steer", "lean_rate", "steer_rate", "rear_rate"])
        assert wanted.steady
        everything = angles.linearize(turn)  # x' and y' turn with the bicycle, in angles too
        assert farthest(everything.eigenvalues, wanted.eigenvalues) < 1e-9
        state = bodies.initial({}, guess=of_angles(turn))
        lin = bodies.linearize(state)
        assert lin.steady
        assert farthest(lin.eigenvalues, wanted.eigenvalues) < 1e-9
        assert farthest(state.stability.eigenvalues, wanted.eigenvalues) < 1e-9
        rate = abs(turn["yaw_rate"])  # of the axes: a shift in space goes round in them
        assert farthest([*wanted.eigenvalues, 0.0, 1j * rate, -1j * rate], lin.eigenvalues) < 1e-5

    def test_a_circular_ride_that_is_sought_and_followed(self, bodies, angles):
        given = {"x": 0.0, "y": 0.0, "rear_spin": 0.0, "front_spin": 0.7}
        guess = {**bicycle.GUESS, "rear_rate": 6 / REAR, "vx": 6.0, "front_rate": 6 / FRONT, "yaw": 0.4}
        turns = [angles.steady({**given, "lean": lean}, guess=guess, constant=RATES) for lean in (0.3, 0.31)]
        states = [bodies.initial({}, guess=of_angles(turn)) for turn in turns]
        locus = bodies.linearize(states[0]).sweep("B_wz", [state["B_wz"] for state in states], constant=CONSTANT)
        for turn, found in zip(turns, locus.eigenvalues, strict=True):
            lin = angles.linearize(turn, states=["lean", "steer", "lean_rate", "steer_rate", "rear_rate"])
            assert farthest(found, lin.eigenvalues) < 1e-7  # as accurate as the search


# -- tops, discs and rotors --------------------------------------------------------------------------------------------

ACROSS, ALONG, MASS, ARM = 0.02, 0.01, 0.8, 0.15


@pytest.fixture(scope="module")
def top():
    model = da.Model("top")
    body = model.body("T", mass=MASS, inertia=[ACROSS, ACROSS, ALONG])
    model.gravity([0, 0, -G])
    model.joints.spherical("foot", model.ground, model.marker(body, [0, 0, -ARM]))
    return model.compile()


@pytest.mark.parametrize("rate", [2.3, -1.1, 40.0])
def test_a_precessing_top(top, rate):
    """Nutation k^2 = V''/A of the effective potential: (C w - 2 A W cos)^2 + (A W sin)^2 over A^2 (Routh)."""
    A, lean = ACROSS + MASS * ARM**2, 0.7
    w = (MASS * G * ARM + A * rate**2 * np.cos(lean)) / (rate * ALONG)  # C w W - A W^2 cos = m g l
    R = Rotation.from_euler("ZXZ", [0.3, lean, 0.5]).as_matrix()
    turn = np.array([0, 0, rate]) + (w - rate * np.cos(lean)) * R[:, 2]
    arm = ARM * R[:, 2]
    state = top.initial({}, guess=place("T", arm, R, np.cross(turn, arm), turn))
    lin = top.linearize(state)
    nutation = np.hypot(ALONG * w - 2 * A * rate * np.cos(lean), A * rate * np.sin(lean)) / A
    assert lin.steady
    assert farthest(lin.eigenvalues, [1j * nutation, -1j * nutation]) < 1e-9 * nutation
    assert farthest([1j * nutation, -1j * nutation, 0.0], lin.eigenvalues) < 1e-4
    assert farthest(state.stability.eigenvalues, [1j * nutation, -1j * nutation, 0.0, 0.0]) < 1e-9 * nutation


@pytest.mark.parametrize("w", [40.0, 90.0])
def test_a_sleeping_top(top, w):
    """A s^2 - i C w s - m g l = 0, in axes fixed in space: of all that go along they turn least."""
    state = top.initial({}, guess=place("T", [0, 0, ARM], np.eye(3), np.zeros(3), np.array([0, 0, w])))
    roots = np.roots([ACROSS + MASS * ARM**2, -1j * ALONG * w, -MASS * G * ARM])
    assert farthest(top.linearize(state).eigenvalues, [*roots, *roots.conj()]) < 1e-9
    assert state.stability.verdict == ("unstable" if w == 40.0 else "marginal")


@pytest.fixture(scope="module")
def disc():
    """A disc of radius 0.4 m and 3 kg in a unit quaternion, its axis y."""
    model = da.Model("disc")
    body = model.body("D", mass=3.0, inertia=[0.12, 0.24, 0.12])
    model.gravity([0, 0, -G])
    model.contacts.disc("roll", model.marker(body, [0, 0, 0], axis=[0, 1, 0]), radius=0.4)
    return model.compile()


def test_an_upright_rolling_disc(disc):
    """s^2 = -(C (C + 1) w^2 - A g / r) / (A (A + 1)), inertias per m r^2: it stands up for v^2 > g r / 3."""
    A, C, r = 0.25, 0.5, 0.4
    for speed in (0.9, 1.1):
        w = speed * np.sqrt(G / (3 * r))
        state = disc.initial({}, guess=place("D", [0, 0, r], np.eye(3), [w * r, 0, 0], np.array([0, w, 0])))
        root = np.sqrt(complex(-(C * (C + 1) * w**2 - A * G / r) / (A * (A + 1))))
        assert farthest(disc.linearize(state).eigenvalues, [root, -root]) < 1e-9
        assert state.stability.verdict == ("unstable" if speed < 1.0 else "marginal")


def test_a_disc_that_rolls_in_a_circle(disc):
    """Steady: ((C + 1) w3 - A W sin) W cos = -(g / r) sin; two rates beside the lean make one pair and two zeros.

    With the axial rate w3, the lean x and y = W cos x, in axes that do not spin (Routh), A and C per m r^2:
    (A + 1) x'' = (C + 1) w3 y - A y^2 tan x + (g / r) sin x, A y' = (A y tan x - C w3) x', (C + 1) w3' = -y x'.
    """
    A, C, r, lean, W = 0.25, 0.5, 0.4, 0.3, -2.0
    s, c = np.sin(lean), np.cos(lean)
    w3 = (-G / r * s / (W * c) + A * W * s) / (C + 1)

    def pull(x, y, w3):
        return ((C + 1) * w3 * y - A * y**2 * np.tan(x) + G / r * np.sin(x)) / (A + 1)

    y, h = W * c, 1e-6
    slopes = [
        (pull(*ahead) - pull(*behind)) / (2 * h)
        for ahead, behind in ((np.array([lean, y, w3]) + h * e, np.array([lean, y, w3]) - h * e) for e in np.eye(3))
    ]
    assert pull(lean, y, w3) == pytest.approx(0.0, abs=1e-12)
    square = slopes[0] + slopes[1] * (A * y * np.tan(lean) - C * w3) / A - slopes[2] * y / (C + 1)
    R = about(0, lean)
    turn = np.array([0, 0, W]) + (w3 - W * s) * R[:, 1]
    touching = -r * R[:, 2]
    guess = place("D", [0, 0, r * c], R, -np.cross(turn, touching), turn)
    state = disc.initial({}, guess=guess)
    root = np.sqrt(complex(square))
    assert disc.linearize(state).steady
    assert farthest(disc.linearize(state).eigenvalues, [root, -root]) < 1e-7  # of the differences
    assert farthest(state.stability.eigenvalues, [root, -root, 0.0]) < 1e-7


@pytest.mark.parametrize(("axis", "drift"), [(0, [0, 0, 0]), (1, [0, 0, 0]), (1, [1.3, 0, -0.4]), (2, [0, 2.0, 0])])
def test_a_free_body_about_its_principal_axes(axis, drift):
    """s^2 = w^2 (I3 - I1) (I2 - I3) / (I1 I2) about the third axis (Euler), whichever that is, in free fall too."""
    model = da.Model("free")
    inertia, w = [1.0, 2.0, 2.5], 5.0
    body = model.body("P", mass=1.0, inertia=inertia)
    model.gravity([0, 0, -G if drift[0] else 0])
    system = model.compile()
    state = system.initial({}, guess=place(body.name, [0, 2.0, 0], about(0, 0.3), drift, w * about(0, 0.3)[:, axis]))
    I1, I2, I3 = np.roll(inertia, 2 - axis)
    root = w * np.sqrt(complex((I3 - I1) * (I2 - I3) / (I1 * I2)))
    assert farthest(system.linearize(state).eigenvalues, [root, -root]) < 1e-9
    assert state.stability.verdict == ("unstable" if axis == 1 else "marginal")


def test_a_free_body_that_cones():
    """A body with A = B goes round its angular momentum H at H / A, where it looks like a body at rest: i H / A."""
    model = da.Model("plate")
    model.body("P", mass=1.0, inertia=[2.0, 2.0, 1.0])
    system = model.compile()
    state = system.initial({}, guess=place("P", [0, 0, 0], np.eye(3), [0.3, 0, 0], np.array([1.0, 0, 4.0])))
    rate = np.hypot(2.0 * 1.0, 1.0 * 4.0) / 2.0
    lin = system.linearize(state)
    assert lin.steady
    assert farthest([1j * rate, -1j * rate, 0.0], lin.eigenvalues) < 1e-6


def rotor(stiffness, inertia):
    """A rotor on two springs at each end, which differ in x and y."""
    model = da.Model("rotor")
    body = model.body("R", mass=10.0, inertia=inertia)
    model.constrain(body.position[2], name="bearing")
    for end in (-0.3, 0.3):
        x, y, _ = model.marker(body, [0, 0, end]).position
        model.energy(potential=stiffness[0] * x**2 / 2 + stiffness[1] * y**2 / 2)
    system = model.compile()
    return system.initial({}, guess=place("R", [0, 0, 0], np.eye(3), [0, 0, 0], np.array([0, 0, 300.0])))


def test_rotors_that_are_round_or_stand_in_round_bearings():
    whirl = [np.sqrt(2 * k / 10.0) for k in (2e4, 3e4)]
    still = rotor((2e4, 3e4), [0.4, 0.4, 0.7])
    assert farthest(still.system.linearize(still).eigenvalues, [1j * w for w in whirl]) < 1e-9
    assert len(still.stability.eigenvalues) == 9  # but for the spin
    turning = rotor((2e4, 2e4), [0.4, 0.5, 0.7])  # seen from axes that turn with it
    found = turning.system.linearize(turning).eigenvalues
    assert farthest(found, [1j * (300.0 + whirl[0]), 1j * (300.0 - whirl[0])]) < 1e-9


def test_a_conical_pendulum_in_space():
    """Frequency W sqrt(1 + 3 cos^2), of x, y, z on a sphere."""
    model = da.Model("conical pendulum")
    x, y, z = model.coordinates("x y z")
    model.particle("P", mass=2.0, position=[x, y, z])
    model.gravity([0, 0, -G])
    model.constrain(x**2 + y**2 + z**2 - 1, name="rod")
    system = model.compile()
    W, height = 4.0, -G / 16
    r = np.sqrt(1 - height**2)
    p, v = r * np.array([np.cos(1), np.sin(1)]), W * r * np.array([-np.sin(1), np.cos(1)])
    state = system.initial({}, guess={x: p[0], y: p[1], z: height, x.diff(): v[0], y.diff(): v[1]})
    w = W * np.sqrt(1 + 3 * height**2)
    assert farthest(system.linearize(state).eigenvalues, [1j * w, -1j * w]) < 1e-9
    assert len(state.stability.eigenvalues) == 3


# -- without eigenvalues, or without axes ------------------------------------------------------------------------------


def test_a_rotor_that_is_not_round_in_bearings_that_are_not():
    state = rotor((2e4, 3e4), [0.4, 0.5, 0.7])
    lin = state.system.linearize(state)
    assert np.isfinite(lin.A).all()
    assert not lin.steady
    for asked in (lambda: lin.eigenvalues, lambda: lin.frequencies, lambda: lin.modes, lambda: state.stability):
        with pytest.raises(da.LinearizationError, match="not symmetric about the axis"):
            asked()
    assert "of this instant only" in repr(lin)


def test_a_pendulum_at_rest_and_in_full_swing():
    """At its lowest point nothing is accelerated that does not turn with it, and yet this is no steady motion."""
    model = da.Model("pendulum")
    body = model.body("P", mass=1.0, inertia=[0.1, 0.2, 0.3])
    model.gravity([0, 0, -G])
    model.joints.revolute(
        "pin", model.marker(model.ground, [0, 0, 0], axis=[0, 1, 0]), model.marker(body, [0, 0, 0.5], axis=[0, 1, 0])
    )
    system = model.compile()
    hanging = system.linearize(system.equilibrium(guess={"P_z": -0.5, "P_e0": 1.0}))
    w = np.sqrt(0.5 * G / (0.2 + 0.25))
    assert farthest(hanging.eigenvalues, [1j * w, -1j * w]) < 1e-9
    assert hanging.A_comoving is hanging.A
    swinging = system.linearize(system.initial({"P_wy": 3.0}, guess={"P_z": -0.5, "P_e0": 1.0}))
    with pytest.raises(da.LinearizationError, match="this motion is not steady"):
        _ = swinging.eigenvalues


def test_equations_that_depend_on_time_have_none():
    """A pendulum upright on a vibrating pivot is at rest, and its stiffness swings."""
    model = da.Model("vibrated pivot")
    (a,) = model.coordinates("a")
    model.particle("bob", mass=2.0, position=[sp.sin(a), 0.1 * sp.cos(40 * model.t) + sp.cos(a)])
    model.gravity([0, -G])
    system = model.compile()
    lin = system.linearize(system.initial({a: 0.0, a.diff(): 0.0}))
    with pytest.raises(da.LinearizationError, match="depend on time"):
        _ = lin.eigenvalues
    with pytest.raises(da.LinearizationError, match="depend on time"):
        system.modes(lin.state, k=1)


def test_a_linear_system_has_eigenvalues_wherever_it_moves():
    model = da.Model("driven")
    x, y = model.coordinates("x y")
    model.particle("P", mass=2.0, position=[x, y])
    model.generalized_force({x: -50 * x + sp.sin(3 * model.t), y: -8 * y})
    system = model.compile()
    for start in ({x: 0.0}, {x: 0.3, x.diff(): 1.0}):
        lin = system.linearize(system.initial(start))
        assert farthest(lin.eigenvalues, [5j, -5j, 2j, -2j]) < 1e-9
        assert not lin.steady


def test_a_pendulum_on_a_cart_that_is_accelerated():
    """It hangs at tan a = -s''/g and swings with w^2 = (M + m cos^2 ...) as at rest in the resulting gravity."""
    model = da.Model("cart")
    s, a = model.coordinates("s a")
    model.speeds("v w")
    model.particle("cart", mass=2.0, position=[s, 0])
    model.particle("bob", mass=0.5, position=[s + 0.8 * sp.sin(a), -0.8 * sp.cos(a)])
    model.gravity([0, -G])
    model.generalized_force({s: 2.5 * 3.0})
    system = model.compile()
    lin = system.linearize(system.initial({"a": -np.arctan(3 / G), "w": 0.0, "v": 1.0}), states=["a", "w"])
    across = np.cos(np.arctan(3 / G))
    w = np.sqrt(np.hypot(3, G) / 0.8 / (1 - 0.5 * across**2 / 2.5))
    assert farthest(lin.eigenvalues, [1j * w, -1j * w]) < 1e-9


@pytest.mark.parametrize(("cubic", "verdict"), [(4.0, "marginal"), (0.0, "stable")])
def test_a_coordinate_is_ignorable_only_if_nothing_depends_on_it(cubic, verdict):
    """x'' = -x' + 4 x^3 runs away from x = 0, although its linearisation is that of x'' = -x'."""
    model = da.Model("damped")
    x, a = model.coordinates("x a")
    model.particle("P", mass=1.0, position=[x, a])
    model.generalized_force({x: -x.diff() + cubic * x**3, a: -a.diff() - a})
    stability = model.compile().equilibrium().stability
    assert stability.verdict == verdict
    assert stability.ignorable == (("x",) if cubic == 0.0 else ())

"""Friction, prescribed parts, servo constraints and constraints not linear in u', against other solutions."""

import pickle

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.errors import InitialStateError

TIGHT = da.DOP853(rtol=1e-11, atol=1e-12)
TIGHTER = da.DOP853(rtol=1e-12, atol=1e-13)  # where friction bends, with the sign of the reaction
G = 9.81


def bead(height, mu, v0, mass=1.3):
    """A bead on the track y = height(x)."""
    model = da.Model("bead")
    x, y = model.coordinates("x y")
    model.speeds("vx vy")
    m, g = model.parameters(m=mass, g=G)
    P = model.particle("P", mass=m, position=[x, y])
    model.gravity([0, -g])
    track = model.constrain(y - height(x), name="track")
    model.nonideal(track, friction=mu, at=P, regularisation=v0)
    return model.compile()


def bead_by_hand(slope, curvature, mu, v0, start, times):
    """The same in the coordinate x alone: tangential balance with N from the normal balance."""

    def rates(_t, z):
        x, v = z
        h, c = slope(x), curvature(x)
        s = np.hypot(1, h)
        normal = (c * v**2 + G) / s  # per unit of mass
        along = v * s
        push = -G * h / s - mu * abs(normal) * along / np.hypot(along, v0)
        return [v, (push - h * c * v**2 / s) / s]

    return solve_ivp(rates, (times[0], times[-1]), start, method="DOP853", rtol=1e-12, atol=1e-12, t_eval=times).y


@pytest.mark.parametrize(
    ("track", "start", "end"),
    [
        ("valley", [1.0, 0.0], 4.0),  # from rest, to rest
        ("valley", [0.0, 3.0], 2.0),
        ("hill", [0.1, 2.0], 2.0),
        ("waves", [0.0, 6.0], 3.0),  # pressed on the track in the troughs, held back by it on the crests
    ],
)
def test_a_bead_with_friction_on_a_curved_track(track, start, end):
    mu, v0 = 0.1 if track == "waves" else 0.3, 1e-2
    height, slope, curvature = {
        "valley": (lambda x: x**2, lambda x: 2 * x, lambda _x: 2.0),
        "hill": (lambda x: -(x**2) / 2, lambda x: -x, lambda _x: -1.0),
        "waves": (lambda x: sp.sin(2 * x) / 2, lambda x: np.cos(2 * x), lambda x: -2 * np.sin(2 * x)),
    }[track]
    system = bead(height, mu, v0)
    times = np.linspace(0.0, end, 41)
    method = TIGHTER if track == "waves" else TIGHT
    motion = system.simulate(system.initial({"x": start[0], "vx": start[1]}), end, t_eval=times, integrator=method)
    x, v = bead_by_hand(slope, curvature, mu, v0, start, times)
    assert motion.certificate.ok, motion.certificate
    assert np.abs(motion["x"] - x).max() < 1e-8
    assert np.abs(motion["vx"] - v).max() < 1e-8
    assert np.abs(motion.energy_balance).max() < 1e-8
    assert motion.work[-1] < 0.0
    if track == "waves":
        assert motion.multipliers.min() < -10.0 < 10.0 < motion.multipliers.max()


def test_reactions_hold_friction():
    system = bead(lambda x: x**2, 0.3, 1e-2)
    motion = system.simulate(system.initial({"x": 0.4, "vx": -1.0}), 1.0)
    M, f = (part(motion.t, motion.q, motion.u, motion.parameters) for part in (system.mass_matrix, system.forces))
    assert np.allclose(np.einsum("kij,kj->ki", M, motion.udot), f + motion.reactions, atol=1e-12)
    force = motion.reactions  # a particle whose coordinates are its position: the force itself
    normal = np.stack([-2 * motion["x"], np.ones(len(motion))], axis=1)
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    pressing = np.einsum("ki,ki->k", force, normal)
    rubbing = force - pressing[:, None] * normal
    speed = np.linalg.norm(motion.u, axis=1)
    expected = -0.3 * np.abs(pressing)[:, None] * motion.u / np.hypot(speed, 1e-2)[:, None]
    assert np.allclose(rubbing, expected, atol=1e-9)
    assert np.allclose(motion.reaction("track"), motion.reactions, atol=1e-12)


@pytest.mark.parametrize("tilt", [0.3, 0.9])
def test_a_block_sliding_up_an_inclined_plane(tilt):
    """x'' = -g (sin a + mu cos a) while it slides; v0 is far below the speeds there."""
    model = da.Model("block")
    x, y, z = model.coordinates("x y z")
    mu, a = model.parameters(mu=0.25, a=tilt)
    P = model.particle("P", mass=2.0, position=[x, y, z])
    model.gravity([0, 0, -G])
    plane = model.constrain(-sp.sin(a) * x + sp.cos(a) * z, name="plane")
    model.nonideal("plane", friction=mu, at=P, regularisation=1e-7)
    system = model.compile()
    state = system.initial({"x": 0.0, "y": 0.0, "x_dot": 3.0 * np.cos(tilt), "y_dot": 0.0})
    assert plane.name == "plane"
    deceleration = G * (np.sin(tilt) + 0.25 * np.cos(tilt))
    t = 0.9 * 3.0 / deceleration
    motion = system.simulate(state, t, t_eval=[0.5 * t, t], integrator=TIGHT)
    along = motion["x"] * np.cos(tilt) + motion["z"] * np.sin(tilt)
    assert along == pytest.approx(3.0 * motion.t - deceleration * motion.t**2 / 2, abs=1e-9)
    assert motion["plane"] == pytest.approx(2.0 * G * np.cos(tilt))


def test_a_block_sticks_below_the_angle_of_friction():
    system = bead(lambda x: x / 5, 0.3, 1e-4)
    motion = system.simulate(system.initial({"x": 0.0, "vx": 0.0}), 2.0)
    assert motion.success
    creep = 1e-4 * (G / 5) / np.sqrt((0.3 * G) ** 2 - (G / 5) ** 2) / np.hypot(1, 1 / 5)
    assert motion["vx"][-1] == pytest.approx(-creep, rel=1e-6)


def test_a_belt_takes_a_block_along():
    model = da.Model("belt")
    x, y = model.coordinates("x y")
    P = model.particle("P", mass=1.5, position=[x, y])
    model.gravity([0, -G])
    model.nonideal(
        model.constrain(y, name="belt"), friction=0.2, at=P, regularisation=1e-6, surface_velocity=[2.0, 0.0]
    )
    system = model.compile()
    t = 0.8 * 2.0 / (0.2 * G)
    motion = system.simulate(system.initial({}), t, integrator=TIGHT)
    assert motion["x"][-1] == pytest.approx(0.2 * G * t**2 / 2, abs=1e-8)
    assert motion.work[-1] == pytest.approx(1.5 * (0.2 * G * t) ** 2 / 2, abs=1e-8)


def test_a_surface_carried_by_another_body_is_pushed_back():
    model = da.Model("block on cart")
    x, y, c = model.coordinates("x y c")
    block = model.particle("block", mass=1.0, position=[x, y])
    model.particle("cart", mass=3.0, position=[c, 0])
    model.gravity([0, -G])
    top = model.constrain(y - 0.5, name="top")
    model.nonideal(top, friction=0.3, at=block, regularisation=1e-3, surface_velocity=[c.diff(), 0])
    system = model.compile()
    motion = system.simulate(system.initial({"x_dot": 4.0, "c_dot": 0.0}), 3.0, integrator=TIGHT)
    assert motion["x_dot"] + 3.0 * motion["c_dot"] == pytest.approx(4.0, abs=1e-9)
    assert motion["x_dot"][-1] == pytest.approx(1.0, abs=1e-8)
    assert np.abs(motion.energy_balance).max() < 1e-8


def test_a_rising_table_rubs_along_its_surface_only():
    model = da.Model("rising table")
    x, y = model.coordinates("x y")
    P = model.particle("P", mass=1.0, position=[x, y])
    model.gravity([0, -G])
    model.nonideal(model.constrain(y - 0.7 * model.t, name="table"), friction=0.2, at=P, regularisation=1e-6)
    system = model.compile()
    motion = system.simulate(system.initial({"x_dot": 3.0}), 1.0, integrator=TIGHT)
    assert motion["table"] == pytest.approx(G)
    assert motion["x"][-1] == pytest.approx(3.0 - 0.1 * G, abs=1e-6)
    assert np.abs(motion.energy_balance).max() < 1e-8


def test_several_contacts_find_their_signs():
    """Two beads on waves, joined by a rod: their normal forces change signs independently."""
    model = da.Model("two beads")
    x, y, z, w = model.coordinates("x y z w")
    P = model.particle("P", mass=1.0, position=[x, y])
    Q = model.particle("Q", mass=2.0, position=[z, w])
    model.gravity([0, -G])
    model.force([7.0, -3.0], at=Q)
    for name, point, a, b in (("first", P, x, y), ("second", Q, z, w)):
        model.nonideal(model.constrain(b - sp.sin(3 * a), name=name), friction=0.4, at=point, regularisation=1e-2)
    model.constrain((x - z) ** 2 + (y - w) ** 2 - 1, name="rod")
    system = model.compile()
    motion = system.simulate(system.initial({"x": 0.0, "x_dot": 2.0}, guess={"z": 0.9, "w": 0.4}), 1.5)
    assert motion.success
    assert len({(bool(a > 0), bool(b > 0)) for a, b in motion.multipliers[:, :2]}) >= 3
    M, f = (part(motion.t, motion.q, motion.u, motion.parameters) for part in (system.mass_matrix, system.forces))
    assert np.allclose(np.einsum("kij,kj->ki", M, motion.udot), f + motion.reactions, atol=1e-10)
    assert np.abs(motion.energy_balance).max() < 1e-7


def rod(mu):
    """A uniform rod of half length 1 whose tip slides on rough ground: Painleve's example."""
    model = da.Model("rod")
    x, y, a = model.coordinates("x y a")
    model.body("rod", mass=1, inertia=sp.Rational(1, 3), position=[x, y], rotation=a)
    model.gravity([0, -G])
    tip = [x - sp.cos(a), y - sp.sin(a)]
    model.nonideal(model.constrain(tip[1], name="ground"), friction=mu, at=tip, regularisation=1e-4)
    return model.compile()


def test_rigid_friction_that_has_no_solution_is_said_so():
    """p = 1 + 3 cos a (cos a - mu sin a) < 0 with the tip pressed down: no sign of N is consistent."""
    given = {"x": 0.0, "a": 0.8, "x_dot": -3.0, "a_dot": 0.0}
    assert rod(1.0).initial(given)["ground"] > 0.0
    with pytest.raises(InitialStateError, match="Painleve"):
        rod(3.0).initial(given)


@pytest.mark.parametrize("integrator", [da.DOP853(), da.RK4(1e-3)])
def test_a_run_into_the_paradox_stops_and_says_so(integrator):
    rough = sp.Piecewise((1, da.Model("").t < sp.Rational(1, 20)), (3, True))
    system = rod(rough)
    state = system.initial({"x": 0.0, "a": 0.8, "x_dot": -3.0, "a_dot": 0.0})
    motion = system.simulate(state, 1.0, integrator=integrator)
    assert not motion.success
    assert "Painleve" in motion.message
    assert motion.t[-1] == pytest.approx(0.05, abs=2e-3)


# -- prescribed parts --------------------------------------------------------------------------------------------------


def pendulum(*, prescribed):
    model = da.Model("pendulum")
    x, y = model.coordinates("x y")
    vx, vy = model.speeds("vx vy")
    P = model.particle("P", mass=1.2, position=[x, y])
    model.gravity([0, -G])
    model.constrain(x**2 + y**2 - 1, name="rod")
    if prescribed:
        model.nonideal(force={x: -0.3 * vx})
        model.nonideal(vector=[0, -0.3 * vy], at=P)
    else:
        model.force([-0.3 * vx, -0.3 * vy], at=P)
    return model.compile()


def test_a_prescribed_part_is_a_reaction_that_works():
    system, plain = pendulum(prescribed=True), pendulum(prescribed=False)
    times = np.linspace(0.0, 5.0, 21)
    motion, other = (
        s.simulate(s.initial({"x": 0.8}, guess={"y": -0.6}), 5.0, t_eval=times, integrator=TIGHT)
        for s in (system, plain)
    )
    assert np.abs(motion.q - other.q).max() < 1e-10
    part = -0.3 * motion.u
    assert np.allclose(motion.reactions, other.reactions + part, atol=1e-12)
    M, f = (p(motion.t, motion.q, motion.u, motion.parameters) for p in (system.mass_matrix, system.forces))
    assert np.allclose(np.einsum("kij,kj->ki", M, motion.udot), f + motion.reactions, atol=1e-12)
    assert np.abs(motion.energy_balance).max() < 1e-8
    assert motion.work[-1] < -1.0
    state = motion.at(2.0)
    assert np.allclose(state.reactions, 2 * state["rod"] * state.q - 0.3 * state.u, atol=1e-12)


def test_without_constraints_the_prescribed_part_is_the_reaction():
    model = da.Model("free")
    (x,) = model.coordinates("x")
    model.particle("P", mass=2.0, position=[x, 0])
    model.nonideal(force={x: 3.0})
    state = model.compile().initial({})
    assert state.udot == pytest.approx([1.5])
    assert state.reactions == pytest.approx([3.0])


# -- servo constraints -------------------------------------------------------------------------------------------------


def test_servo_and_friction_together():
    """x(t) is prescribed and driven by F along x; F and N follow from Newton's law, sign of N by sign of N."""
    mu, v0, m = 0.3, 1e-2, 1.3
    model = da.Model("driven bead")
    x, y = model.coordinates("x y")
    (F,) = model.unknowns("F")
    P = model.particle("P", mass=m, position=[x, y])
    model.gravity([0, -G])
    model.force([F, 0], at=P)
    track = model.constrain(y + x**2, name="track")
    model.constrain(x - sp.sin(3 * model.t), name="path", servo=F)
    model.nonideal(track, friction=mu, at=P, regularisation=v0)
    system = model.compile()
    times = np.linspace(0.0, 2.0, 51)
    motion = system.simulate(system.initial({}), 2.0, t_eval=times, integrator=TIGHT)
    s, c = np.sin(3 * times), np.cos(3 * times)
    vx, vy = 3 * c, -6 * s * c
    ax, ay = -9 * s, -18 * (c**2 - s**2)
    size, speed = np.hypot(1, 2 * s), np.hypot(np.hypot(vx, vy), v0)
    rub = mu * size / speed
    need = m * (ay + G)
    la = np.where(need / (1 - rub * vy) > 0, need / (1 - rub * vy), need / (1 + rub * vy))
    force = m * ax - 2 * s * la + rub * vx * np.abs(la)
    assert {True, False} == set(la > 0)
    assert np.abs(motion["x"] - s).max() < 1e-9
    assert motion["track"] == pytest.approx(la, abs=1e-8)
    assert motion["F"] == pytest.approx(force, abs=1e-8)
    assert np.abs(motion.energy_balance).max() < 1e-8


def driven(direction, servos):
    model = da.Model("driven")
    x, y = model.coordinates("x y")
    F, H = model.unknowns("F H")
    P = model.particle("P", mass=1.0, position=[x, y])
    model.force([F, 0], at=P)
    model.force([direction[0] * H, direction[1] * H], at=P)
    model.constrain([x - sp.sin(model.t), y], servo=[F, H] if servos == "straight" else [H, F], name="path")
    return model.compile()


def test_unknowns_that_cannot_enforce_their_constraints():
    assert driven([0, 1], "straight").initial({}).unknowns == pytest.approx([0.0, 0.0])
    assert driven([0, 1], "crossed").initial({}).unknowns == pytest.approx([0.0, 0.0])  # together they still can
    with pytest.raises(InitialStateError, match=r"`path\[1\]`.*`H`.*A M\^-1 B is singular"):
        driven([1, 0], "straight").initial({})


def test_an_unknown_that_does_not_influence_its_constraint():
    model = da.Model("crane")
    x, y, z = model.coordinates("x y z")
    (M,) = model.unknowns("M")
    model.particle("P", mass=1.0, position=[x, y, z])
    model.generalized_force({x: M * sp.sin(z)})
    model.constrain(y, name="rail")
    model.constrain(2 * y, name="rail_again")
    model.constrain(x - model.t, name="path", servo=M)
    system = model.compile()
    assert system.initial({"z": 1.0})["M"] == pytest.approx(0.0)  # redundant rails do not matter
    words = r"servo constraint `path`: its unknown `M` does not influence it in this state.*choose another unknown or"
    with pytest.raises(InitialStateError, match=words):
        system.initial({"z": 0.0})


# -- constraints not linear in the accelerations -----------------------------------------------------------------------


def thrust(form, *, mass=1.3, magnitude=3.0):
    """Acceleration of fixed magnitude under gravity and a spring."""
    model = da.Model("thrust")
    x, y = model.coordinates("x y")
    vx, vy = model.speeds("vx vy")
    (a,) = model.parameters(a=magnitude)
    M = sp.Matrix(mass) if isinstance(mass, np.ndarray) else mass * sp.eye(2)
    model.matrices(mass=M, force=[1 - 2 * x, -2 * y - 12])
    ax, ay = vx.diff(), vy.diff()
    model.constrain(ax**2 + ay**2 - a**2 if form == "square" else sp.sqrt(ax**2 + ay**2) - a, name="thrust")
    return model.compile()


@pytest.mark.parametrize("form", ["square", "root"])
def test_a_thrust_of_fixed_magnitude_points_along_the_free_acceleration(form):
    system = thrust(form)
    motion = system.simulate(system.initial({"x": 0.3, "y": 0.1, "vx": 1.0}), 2.0, integrator=TIGHT)
    free = np.stack([1 - 2 * motion["x"], -2 * motion["y"] - 12], axis=1) / 1.3
    assert motion.certificate.ok, motion.certificate
    assert not system.ideal
    assert motion.udot == pytest.approx(3 * free / np.linalg.norm(free, axis=1)[:, None], abs=1e-12)
    assert np.abs(motion.violation["acceleration"]["thrust"]).max() < 1e-13
    assert motion.reactions == pytest.approx(1.3 * (motion.udot - free), abs=1e-12)
    assert np.abs(motion.energy_balance).max() < 1e-8
    state = motion.at(1.0)
    assert np.hypot(*state.udot) == pytest.approx(3.0, abs=1e-13)


@pytest.mark.parametrize("seed", range(6))
def test_gauss_least_constraint_for_any_inertia(seed):
    """The acceleration is the one closest to the free one in the metric of M, and the reaction is normal to g = 0."""
    rng = np.random.default_rng(seed)
    L = rng.standard_normal((2, 2))
    M, magnitude = L @ L.T + 0.1 * np.eye(2), 10 ** rng.uniform(-1, 1.5)
    x, y = rng.standard_normal(2)
    state = thrust("square", mass=M, magnitude=magnitude).initial({"x": x, "y": y})
    free = np.linalg.solve(M, [1 - 2 * x, -2 * y - 12])
    angles = np.linspace(0, 2 * np.pi, 3601)
    tries = magnitude * np.stack([np.cos(angles), np.sin(angles)], axis=1) - free
    found = state.udot - free
    assert found @ M @ found <= np.einsum("ki,ij,kj->k", tries, M, tries).min() * (1 + 1e-12)
    assert np.linalg.norm(state.udot) == pytest.approx(magnitude, rel=1e-13)
    assert M @ found == pytest.approx(state.reactions, rel=1e-10, abs=1e-10)
    assert state.reactions == pytest.approx(2 * state["thrust"] * state.udot, rel=1e-10, abs=1e-10)


def test_with_a_position_constraint_and_friction():
    """On a rough line in the plane, at a fixed magnitude of acceleration: the rail's reaction rubs."""
    model = da.Model("rocket sled")
    x, y, z = model.coordinates("x y z")
    P = model.particle("P", mass=1.0, position=[x, y, z])
    model.gravity([0, 0, -G])
    model.force([3.0, 1.0, 0.0], at=P)
    model.nonideal(model.constrain(z, name="floor"), friction=0.1, at=P, regularisation=1e-3)
    t = model.t
    model.constrain(x.diff(t, 2) ** 2 + y.diff(t, 2) ** 2 - 4, name="thrust")
    system = model.compile()
    state = system.initial({"x_dot": 0.3, "y_dot": 0.4})
    free = np.array([3.0, 1.0]) - 0.1 * G * np.array([0.3, 0.4]) / np.hypot(0.5, 1e-3)
    assert state.udot == pytest.approx([*(2 * free / np.linalg.norm(free)), 0.0], abs=1e-12)
    motion = system.simulate(state, 1.0)
    assert motion.certificate.ok, motion.certificate


def test_such_systems_survive_pickling():
    for system, given in ((thrust("square"), {"x": 0.3}), (bead(lambda x: x**2, 0.3, 1e-2), {"x": 0.3, "vx": 1.0})):
        copy = pickle.loads(pickle.dumps(system))
        state, again = system.initial(given), copy.initial(given)
        assert np.array_equal(state.udot, again.udot)
        assert np.array_equal(state.reactions, again.reactions)


@pytest.mark.parametrize("drift", [da.NoCorrection(), da.Projection()])
def test_formulations_that_need_ideal_reactions_refuse(drift):
    system = bead(lambda x: x**2, 0.3, 1e-2)
    with pytest.raises(da.PairingError, match="LagrangeMultipliers"):
        system.simulate(system.initial({"x": 0.3}), 1.0, formulation=da.MinimalKane(), drift=drift)


def test_a_servo_constraint_not_linear_in_accelerations():
    model = da.Model("lift")
    x, y = model.coordinates("x y")
    (F,) = model.unknowns("F")
    P = model.particle("P", mass=2.0, position=[x, y])
    model.gravity([0, -G])
    model.force([1.0, F], at=P)
    t = model.t
    model.constrain(x.diff(t, 2) ** 2 + y.diff(t, 2) ** 2 - 9, name="felt", servo=F)
    state = model.compile().initial({})
    assert state.udot == pytest.approx([0.5, -np.sqrt(8.75)], abs=1e-12)
    assert state["F"] == pytest.approx(2.0 * (G - np.sqrt(8.75)), abs=1e-11)


def test_constraints_without_a_real_solution_are_said_so():
    with pytest.raises(InitialStateError, match="nonlinear in the accelerations"):
        _impossible().initial({})


def _impossible():
    model = da.Model("impossible")
    (x,) = model.coordinates("x")
    model.particle("P", mass=1.0, position=[x, 0])
    model.force([1.0, 0], at=model.statement.particles[0])
    model.constrain(x.diff(model.t, 2) ** 2 + 1, name="c")
    return model.compile()

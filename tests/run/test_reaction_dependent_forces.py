"""Forces that depend on reactions, nonlinearly, on published models with exact results.

Coriolis's ball, Jellett's constant of a top that slides, the limit angle of a ladder with two rough ends, and the
hunting of a suspended wheelset, whose creep grows with the power 2/3 of two normal forces.
"""

import numpy as np
import pytest
import sympy as sp

import dalembert as da

G = 9.81
FINE = da.DOP853(rtol=1e-12, atol=1e-13)


# -- a ball ------------------------------------------------------------------------------------------------------------


def test_a_ball_that_slides_ends_with_five_sevenths_of_its_speed():
    """G. Coriolis, Theorie mathematique du jeu de billard (1835): 5/7 v0, and it slides for 2 v0 / (7 mu g)."""
    model = da.Model("ball")
    x, y, a = model.coordinates("x y a")
    m, R, mu, v0 = 0.2, 0.03, 0.25, 2.0
    ball = model.body("ball", mass=m, inertia=2 * m * R**2 / 5, position=[x, y], rotation=a)
    model.gravity([0, -G])
    N = model.constrain(y - R, name="table").multiplier
    (T,) = model.unknowns("T")
    model.force([T, 0], at=ball)
    model.torque(T * R, on=ball)
    slip, quick = x.diff(model.t) + R * a.diff(model.t), 1e-4
    stop = T - 2 * m / 7 * (slip.diff(model.t) + slip / quick)  # what ends the slip within `quick` seconds
    model.law(T - sp.Max(-mu * N, sp.Min(mu * N, stop)), determines=T)
    system = model.compile()
    end = 2 * v0 / (7 * mu * G)
    times = [0.5 * end, end + 0.01]
    state = system.initial({"x": 0.0, "a": 0.0, "x'": v0, "a'": 0.0})
    motion = system.simulate(state, times[1], t_eval=times, integrator=FINE)
    assert motion["x'"][0] == pytest.approx(v0 - mu * G * times[0], rel=1e-10)
    assert motion["x'"][1] == pytest.approx(5 / 7 * v0, rel=1e-10)
    assert R * motion["a'"][1] == pytest.approx(-5 / 7 * v0, rel=1e-10)


# -- a top -------------------------------------------------------------------------------------------------------------

RADIUS, OFFSET, MASS, MU = 0.02, 0.006, 0.015, 0.3
ACROSS, ALONG = 2.2e-6, 2.4e-6  # central moments of inertia


def tippe_top():
    """A ball whose mass centre lies OFFSET below its middle, on a rough table; friction mu N against the slip."""
    model = da.Model("tippe top")
    x, y, z = model.coordinates("x y z")
    speeds = model.speeds("vx vy vz")
    e = model.quaternion("e", speeds="wx wy wz")
    top = model.body("top", mass=MASS, inertia=[ACROSS, ACROSS, ALONG], position=[x, y, z], rotation=e)
    model.gravity([0, 0, -G])
    axis = e.matrix[:, 2]
    N = model.constrain(z + OFFSET * axis[2] - RADIUS, name="table").multiplier
    arm = OFFSET * axis - sp.Matrix([0, 0, RADIUS])
    slip = sp.Matrix(speeds) + (e.matrix * sp.Matrix(e.angular_velocity)).cross(arm)
    T = sp.Matrix([*model.unknowns("Tx Ty"), 0])
    model.force(list(T), at=top)
    model.torque(list(arm.cross(T)), on=top)
    for k in (0, 1):
        model.law(T[k] + MU * N * slip[k] / sp.sqrt(slip[0] ** 2 + slip[1] ** 2 + 1e-6), determines=T[k])
    return model.compile()


def test_friction_keeps_jellett_s_constant_of_a_top():
    """J. H. Jellett, A Treatise on the Theory of Friction (1872): L . (R ez - offset axis) whatever the friction is."""
    system = tippe_top()
    given = {"x": 0, "y": 0, "e1": 0.05, "e2": 0, "e3": 0, "vx": 0, "vy": 0, "wx": 0, "wy": 0, "wz": 150.0}
    state = system.initial(given)
    motion = system.simulate(state, 0.5, integrator=FINE)
    axis = np.array([motion.rotation("top")[:, k, 2] for k in range(3)]).T
    L = np.stack([ACROSS * motion["wx"], ACROSS * motion["wy"], ALONG * motion["wz"]], axis=-1)
    L = np.einsum("nij,nj->ni", motion.rotation("top"), L)
    jellett = RADIUS * L[:, 2] - OFFSET * np.einsum("ni,ni->n", L, axis)
    np.testing.assert_allclose(jellett, jellett[0], rtol=1e-10)
    assert np.ptp(np.linalg.norm(L, axis=1)) > 1e-3 * np.linalg.norm(L[0])  # while L itself is not kept
    assert motion.energy[-1] < motion.energy[0]


# -- a ladder ----------------------------------------------------------------------------------------------------------


def ladder(floor_friction, wall_friction):
    """A ladder of 20 kg and 2 l = 4 m, sliding down on a floor and a wall, both rough; a is its angle."""
    model = da.Model("ladder")
    x, y, a = model.coordinates("x y a")
    model.body("ladder", mass=20.0, inertia=20.0 * 2.0**2 / 3, position=[x, y], rotation=a)
    model.gravity([0, -G])
    floor = model.constrain(y - 2 * sp.sin(a), name="floor").multiplier
    wall = model.constrain(x - 2 * sp.cos(a), name="wall").multiplier
    T, S = model.unknowns("T S")
    model.force([-T, 0], at=[x + 2 * sp.cos(a), y - 2 * sp.sin(a)])
    model.force([0, S], at=[x - 2 * sp.cos(a), y + 2 * sp.sin(a)])
    model.law(T - floor_friction * floor, determines=T)
    model.law(S - wall_friction * wall, determines=S)
    return model.compile()


def by_hand(a, w, mu, nu):
    """a'' and both normal forces, from the momenta of the whole ladder."""
    m, half, J = 20.0, 2.0, 20.0 * 4 / 3
    s, c = np.sin(a), np.cos(a)
    K = np.array(
        [
            [-m * half * s, mu, -1.0],
            [m * half * c, -1.0, -nu],
            [-J, -half * (c - mu * s), half * (s + nu * c)],  # the ladder turns clockwise as a grows
        ]
    )
    return np.linalg.solve(K, [m * half * c * w**2, -m * G + m * half * s * w**2, 0.0])


def test_a_ladder_with_two_rough_ends():
    system = ladder(0.2, 0.35)
    for a, w in [(0.9, 0.0), (0.6, -0.8), (1.2, -0.3)]:
        state = system.initial({"a": a, "a'": w}, guess={"x": 1.0, "y": 1.0})
        found = [state["a''"], state["floor"], state["wall"]]
        np.testing.assert_allclose(found, by_hand(a, w, 0.2, 0.35), rtol=1e-10)


def test_the_limit_angle_of_a_ladder():
    """tan a = (1 - mu nu) / (2 mu), as books on statics print: there a ladder about to slide has no acceleration."""
    mu, nu = 0.4, 0.3
    state = ladder(mu, nu).initial({"a": np.arctan((1 - mu * nu) / (2 * mu)), "a'": 0.0}, guess={"x": 1.0, "y": 1.0})
    assert abs(state["a''"]) < 1e-12 * G
    assert state["floor"] == pytest.approx(20.0 * G / (1 + mu * nu), rel=1e-12)
    assert state["wall"] == pytest.approx(mu * 20.0 * G / (1 + mu * nu), rel=1e-12)


# -- a wheelset --------------------------------------------------------------------------------------------------------

HALF, CONE, ROLL, WEIGHT, TURN, CREEP, MU_RAIL = 0.75, 0.05, 0.45, 1200.0, 700.0, 2000.0, 0.3
SPRING, YAW_SPRING = 2e4, 1e4


def wheelset():
    """A suspended conical wheelset at speed V, free in y, z, yaw and roll; creep after Vermeulen and Johnson (1964).

    Each contact pushes against its creepage xi with mu N (1 - (1 - c/3)^3), c = k N^(2/3) |xi| / (mu N).
    """
    model = da.Model("wheelset")
    y, z, psi, phi = model.coordinates("y z psi phi")
    (V,) = model.parameters(V=2.0)
    weight = sp.Matrix([-SPRING * y, -WEIGHT * G, -YAW_SPRING * psi, 0])
    model.matrices(mass=sp.diag(WEIGHT, WEIGHT, TURN, TURN), force=weight)
    t, unknowns = model.t, iter(model.unknowns("Lx Ly Rx Ry"))
    for side, sign in (("left", 1), ("right", -1)):
        N = model.constrain(z - sign * HALF * phi - sign * CONE * y, name=side).multiplier
        creepage = (-sign * (CONE * y / ROLL + HALF * psi.diff(t) / V), y.diff(t) / V - psi)
        stiff = CREEP * N ** sp.Rational(2, 3)
        c = sp.Min(stiff * sp.sqrt(creepage[0] ** 2 + creepage[1] ** 2 + 1e-40) / (MU_RAIL * N), 3)
        along, across = next(unknowns), next(unknowns)
        for push, xi in zip((along, across), creepage, strict=True):
            model.law(push + stiff * (1 - c / 3 + c**2 / 27) * xi, determines=push)
        model.generalized_force({y: across, psi: -sign * HALF * along})
    return model.compile()


def hunting(V):
    """The state matrix of the linear wheelset (de Pater; Wickens): y and yaw with creep 2 f, f = k (m g / 2)^(2/3)."""
    f = CREEP * (WEIGHT * G / 2) ** (2 / 3)
    M = np.diag([WEIGHT + TURN * (CONE / HALF) ** 2, TURN])
    D = np.diag([2 * f / V, 2 * f * HALF**2 / V])
    K = np.array([[SPRING, -2 * f], [2 * f * HALF * CONE / ROLL, YAW_SPRING]])
    Z = np.zeros((2, 2))
    return np.block([[Z, np.eye(2)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])


def lowest(eigenvalues):
    """The hunting mode: of the oscillating ones the least damped."""
    moving = eigenvalues[eigenvalues.imag > 1e-6]
    return moving[np.argmax(moving.real)]


def test_a_wheelset_hunts_as_its_linear_theory_says():
    system = wheelset()
    for V in (5.0, 20.0, 60.0):
        state = system.initial({"y": 0, "psi": 0, "y'": 0, "psi'": 0}, parameters={"V": V})
        found = lowest(np.asarray(system.linearize(state).eigenvalues))
        expected = lowest(np.linalg.eigvals(hunting(V)))
        assert found == pytest.approx(expected, rel=1e-8)


def test_the_critical_speed_of_a_wheelset():
    """Where Routh's determinant of the linear theory vanishes, a3 a2 a1 = a4 a1^2 + a0 a3^2."""

    def routh(V):
        a4, a3, a2, a1, a0 = np.poly(hunting(V))
        return a3 * a2 * a1 - a4 * a1**2 - a0 * a3**2

    low, high = 1.0, 200.0
    assert routh(low) > 0.0 > routh(high)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if routh(middle) > 0 else (low, middle)
    system = wheelset()
    growth = []
    for V in (low * (1 - 1e-6), low * (1 + 1e-6)):
        state = system.initial({"y": 0, "psi": 0, "y'": 0, "psi'": 0}, parameters={"V": V})
        growth.append(lowest(np.asarray(system.linearize(state).eigenvalues)).real)
    assert growth[0] < 0.0 < growth[1]

"""Contacts that may slide, with Coulomb friction, and ellipsoids: exact solutions, conservation laws, Newton-Euler."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.problems import rattleback

G = 9.81
V0 = 1e-4  # the usual regularisation: what friction leaves open of a sliding speed


def rolled(body):
    return {f"{body}_x": 0, f"{body}_y": 0, f"{body}_vy": 0, f"{body}_wx": 0, f"{body}_wz": 0}


def test_a_bowling_ball_slides_until_it_rolls():
    """v = v0 - mu g t until 2 v0 / (7 mu g), then 5/7 v0 (Coriolis, 1835); the reaction is that of both parts."""
    mu, radius, mass, speed = 0.2, 0.11, 7.0, 6.0
    model = da.Model("bowling ball")
    ball = model.body("B", mass=mass, inertia=[0.4 * mass * radius**2] * 3)
    model.gravity([0, 0, -G])
    model.contacts.sphere("lane", ball, radius=radius, friction=mu)
    system = model.compile()
    times = np.linspace(0.0, 1.5, 31)
    start = system.initial({**rolled("B"), "B_vx": speed, "B_wy": 0})
    motion = system.simulate(start, 1.5, t_eval=times)
    assert motion.certificate.ok
    end = 2 * speed / (7 * mu * G)
    exact = np.where(times < end, speed - mu * G * times, 5 / 7 * speed)
    away = np.abs(times - end) > 0.02  # the regularised law bends over V0 / (mu g) there
    np.testing.assert_allclose(motion["B_vx"][away], exact[away], rtol=0, atol=V0)
    force = motion.joint_reaction("lane").force
    sliding = times < end - 0.02
    slowest = 3.5 * mu * G * 0.02  # the slip falls by mu g (1 + 5/2)
    exact = [[-mu * mass * G, 0.0, mass * G]] * sliding.sum()
    np.testing.assert_allclose(force[sliding], exact, rtol=(V0 / slowest) ** 2, atol=1e-9)
    np.testing.assert_allclose(force, motion.reaction_on("B").force, rtol=0, atol=1e-8 * mass * G)


def test_a_plane_without_friction_takes_no_spin():
    model = da.Model("smooth")
    ball = model.body("B", mass=2.0, inertia=[0.1, 0.1, 0.1])
    model.gravity([0, 0, -G])
    model.contacts.sphere("ice", ball, radius=0.5, friction=0)
    system = model.compile()
    motion = system.simulate(system.initial({**rolled("B"), "B_vx": 3.0, "B_wy": 4.0}), 1.0)
    np.testing.assert_allclose(motion["B_vx"], 3.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(motion["B_wy"], 4.0, rtol=0, atol=1e-12)


def test_friction_acts_on_the_plane_too():
    """A disc slides on a plank that is free to move: momentum along it is conserved, and both end at one speed."""
    model = da.Model("disc on a plank")
    plank = model.body("P", mass=3.0, inertia=[1.0, 1.0, 1.0])
    disc = model.body("D", mass=1.0, inertia=[0.02, 0.04, 0.02])
    model.gravity([0, 0, -G])
    ends = (model.marker(body, [0, 0, 0], axis=[1, 0, 0], across=[0, 0, 1]) for body in (model.ground, plank))
    model.joints.prismatic("rail", *ends)
    hub = model.marker(disc, [0, 0, 0], axis=[0, 1, 0])
    upright = model.marker(model.ground, [0, 0, 0], axis=[0, 1, 0])
    model.joints.planar("upright", upright, hub)
    model.contacts.disc("contact", hub, radius=0.2, friction=0.3, plane=model.marker(plank, [0, 0, 0]))
    system = model.compile()
    state = system.initial({"P_x": 0, "P_vx": 0, "D_x": 0, "D_vx": 2.0, "D_wy": 0}, guess={"D_z": 0.2})
    motion = system.simulate(state, 1.0)
    assert motion.certificate.ok
    np.testing.assert_allclose(3.0 * motion["P_vx"] + motion["D_vx"], 2.0, rtol=0, atol=1e-9)
    slip = motion["D_vx"] - 0.2 * motion["D_wy"] - motion["P_vx"]
    assert slip[0] == pytest.approx(2.0)
    assert abs(slip[-1]) < V0
    # Friction F = mu m g slows the disc, spins it and pulls the plank: the slip is 2 - (F/m + F r^2/J + F/M) t.
    rate = 0.3 * G * (1 + 0.2**2 / 0.04 + 1 / 3.0)
    early = motion.t < 0.9 * 2.0 / rate
    np.testing.assert_allclose(slip[early], 2.0 - rate * motion.t[early], rtol=0, atol=V0)


def test_jellett_s_integral_of_a_tippe_top():
    """Friction at one point of a sphere whatever its law leaves L . a, a from mass centre to contact, as it is."""
    mass, radius, shift = 0.006, 0.015, 0.3
    moments = np.array([131 / 350, 131 / 350, 2 / 5]) * mass * radius**2
    model = da.Model("tippe top")
    top = model.body("T", mass=mass, inertia=moments.tolist())
    model.gravity([0, 0, -G])
    centre = model.marker(top, [0, 0, shift * radius])
    model.contacts.sphere("table", centre, radius=radius, friction=0.3, regularisation=1e-2)
    system = model.compile()
    lean = {"T_e0": np.cos(0.05), "T_e1": np.sin(0.05), "T_e2": 0, "T_e3": 0}
    motion = system.simulate(system.initial({**rolled("T"), **lean, "T_vx": 0, "T_wy": 0, "T_wz": 155.0}), 6.0)
    assert motion.certificate.ok
    R, w = motion["T.rotation"], motion["T.angular_velocity"]
    momentum = np.einsum("nij,j,nkj,nk->ni", R, moments, R, w)
    jellett = np.einsum("ni,ni->n", momentum, shift * radius * R[:, :, 2] - [0, 0, radius])
    np.testing.assert_allclose(jellett / jellett[0], 1.0, rtol=0, atol=1e-9)
    assert R[-1, 2, 2] < -0.5  # it has turned over


def cross(a, b):
    """a x b for three components, much faster than NumPy's."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def rolling_ellipsoid(half, above, inertia, z0, times, mass=1.0):
    """Up-vector in body axes and angular velocity, (nt, 6): Newton-Euler about the mass centre in body axes."""

    def rates(_, z):
        up, w = z[:3], z[3:]
        depth = np.sqrt(up @ (half**2 * up))
        turning = cross(up, w)
        r = np.array([0, 0, above]) - half**2 * up / depth
        moving = -(half**2) * turning / depth + half**2 * up * (up @ (half**2 * turning)) / depth**3
        S = np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])  # S x = r x x
        pushed = mass * (cross(w, -moving - cross(w, r)) + G * up)
        turned = np.linalg.solve(inertia - mass * S @ S, cross(r, pushed) - cross(w, inertia @ w))
        return np.concatenate([turning, turned])

    return solve_ivp(rates, (0.0, times[-1]), z0, "DOP853", times, rtol=1e-12, atol=1e-13).y.T


def test_a_rolling_ellipsoid_moves_by_newton_and_euler():
    """The values that the catalogue has for the rattleback, and how the mass centre gets there."""
    times = np.array([0.0, 2.0, *rattleback.REFERENCE])
    lean = rattleback.LEAN
    z0 = [0, np.sin(lean), np.cos(lean), 0, 0, rattleback.SPIN]
    half, inertia = np.array(rattleback.HALF_AXES), np.array(rattleback.INERTIA)
    up, w = np.split(rolling_ellipsoid(half, rattleback.CENTRE_DEPTH, inertia, z0, times), 2, axis=1)
    for row, values in zip(w[2:], rattleback.REFERENCE.values(), strict=True):
        np.testing.assert_allclose([*values.values()], row, rtol=0, atol=1e-8)
    motion = rattleback.PROBLEM.simulate(t_eval=times)
    np.testing.assert_allclose(motion["stone.rotation"][:, 2, :], up, rtol=0, atol=1e-7)


def test_an_ellipsoid_with_equal_axes_is_a_ball():
    motions = []
    for shape, sizes in (("ellipsoid", {"half_axes": [0.5] * 3}), ("sphere", {"radius": 0.5})):
        model = da.Model(shape)
        body = model.body("B", mass=2.0, inertia=[0.1, 0.15, 0.2])
        model.gravity([0.3, 0, -G])
        getattr(model.contacts, shape)("table", model.marker(body, [0.05, 0, 0]), friction=0.1, **sizes)
        system = model.compile()
        state = system.initial({**rolled("B"), "B_vx": 1.0, "B_wy": 1.0, "B_e0": 1, "B_e1": 0, "B_e2": 0, "B_e3": 0})
        motions.append(system.simulate(state, 1.0, t_eval=np.linspace(0, 1, 11)))
    np.testing.assert_allclose(motions[0].q, motions[1].q, rtol=0, atol=1e-8)


@pytest.mark.parametrize("half_axes", [[1.0, 2.0], 3.0, "abc"])
def test_half_axes_that_are_not_three(half_axes):
    model = da.Model("egg")
    body = model.body("E", mass=1.0, inertia=[1, 1, 1])
    model.contacts.ellipsoid("table", body, half_axes=half_axes)
    with pytest.raises(da.ModelError, match="half_axes must be three lengths"):
        model.compile()


def test_contacts_with_friction_are_written_to_files(tmp_path):
    model = da.Model("egg")
    (mu,) = model.parameters(mu=0.3)
    body = model.body("E", mass=1.0, inertia=[0.1, 0.1, 0.1])
    model.gravity([0, 0, -G])
    model.contacts.ellipsoid("table", body, half_axes=[0.3, 0.3, 0.4], friction=mu, regularisation=1e-3)
    path = model.to_toml(tmp_path / "egg.toml")
    again = da.from_toml(path).model.compile()
    system = model.compile()
    q = np.array([0.1, 0.2, 0.35, 0.9, 0.1, 0.3, 0.2])
    u = np.array([0.1, -0.2, 0.0, 1.0, 2.0, 3.0])
    assert again.constraint_names == system.constraint_names
    np.testing.assert_array_equal(again.constraint_jacobian(0.0, q, u), system.constraint_jacobian(0.0, q, u))

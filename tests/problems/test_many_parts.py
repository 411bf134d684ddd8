"""Families of mechanisms with as many parts as asked for, judged by statics, modes and motions written by hand."""

import numpy as np
import pytest
from scipy.integrate import simpson, solve_ivp
from scipy.linalg import eigh

import dalembert as da
from dalembert.problems import beam as cantilever
from dalembert.problems import ladder as hanging
from dalembert.problems import net as flat
from dalembert.problems import rope as slung
from dalembert.problems import vehicle_train as train

G = 9.81
HELD = 1e-10  # of every constraint, in metres and metres per second
TIGHT = da.DOP853(rtol=1e-10, atol=1e-12)


def motion_of(problem, t_end, guess=None, given=None, integrator=TIGHT, samples=11):
    """The certified motion of a problem from another start."""
    system = problem.system()
    state = system.initial(problem.given if given is None else given, guess=problem.guess if guess is None else guess)
    motion = system.simulate(state, t_end, t_eval=np.linspace(0.0, t_end, samples), integrator=integrator)
    assert motion.certificate.ok, motion.certificate
    for level in ("position", "velocity"):
        assert max((np.abs(v).max() for v in motion.violation.get(level, {}).values()), default=0.0) < HELD
    return motion


def keeps_energy(motion, rtol):
    """Whether the energy moves by no more than the errors of single steps add up to."""
    return np.ptp(motion.energy) < motion.stats["steps"] * rtol * max(np.ptp(motion.evaluation.potential), 1e-300)


# -- rope ----------------------------------------------------------------------------------------------------


def test_a_rope_at_rest_stays_and_pulls_as_statics_says():
    n = 8
    motion = motion_of(slung.rope(n), 0.5, guess=slung.start(n, 0.0))
    _, H = slung.slopes(n)
    weight = slung.MASS * G / n
    # Round-off and steps of 1e-10 grow by the fastest rate of an upright rod of the rope, sqrt(g / l), at most.
    grown = 1e-10 * np.exp(0.5 * np.sqrt(6 * G * n / slung.LENGTH))
    assert np.abs(motion.q - motion.q[0]).max() < grown
    for k in range(n + 1):
        pulls = [motion[f"J{k}[{row}]"][0] for row in range(3)]
        wanted = [-H, 0.0, -(k - n / 2) * weight]
        np.testing.assert_allclose(np.abs(pulls), np.abs(wanted), rtol=0, atol=1e-9 * slung.MASS * G)


def test_the_rope_at_rest_tends_to_the_catenary():
    """Sag and tension against H/w (cosh(w span/(2 H)) - 1); errors fall by 4 where rods are halved."""
    from scipy.optimize import brentq

    w, half = slung.MASS * G / slung.LENGTH, slung.SPAN / 2
    H = brentq(lambda H: 2 * H / w * np.sinh(w * half / H) - slung.LENGTH, 0.1, 100.0, xtol=1e-14)
    sag = H / w * (np.cosh(w * half / H) - 1)
    errors = []
    for n in (20, 40, 80):
        angle, tension = slung.slopes(n)
        errors.append([tension - H, -np.cumsum(slung.LENGTH / n * np.sin(angle)).min() - sag])
    np.testing.assert_allclose(np.array(errors)[:-1] / np.array(errors)[1:], 4.0, rtol=0.02)


def test_a_swinging_rope_keeps_energy_and_angular_momentum_about_its_supports():
    """The supports lie on the x axis: only gravity has a moment about it, so L_x' = -sum m g y."""
    n = 5
    motion = motion_of(slung.rope(n), 1.0, samples=201)
    assert keeps_energy(motion, 1e-10)
    m = slung.MASS / n
    arm, spin = np.zeros(201), np.zeros(201)
    for k in range(n):
        y, z, vy, vz = (motion[f"B{k}_{c}"] for c in ("y", "z", "vy", "vz"))
        e0, e1, e2, e3 = (motion[f"B{k}_e{i}"] for i in range(4))
        wx, wy, wz = (motion[f"B{k}_{c}"] for c in ("wx", "wy", "wz"))
        l, r = slung.LENGTH / n, slung.RADIUS
        I = m * np.array([r**2 / 2, l**2 / 12 + r**2 / 4, l**2 / 12 + r**2 / 4])
        first = np.array([e0**2 + e1**2 - e2**2 - e3**2, 2 * (e1 * e2 - e0 * e3), 2 * (e1 * e3 + e0 * e2)])
        spin += m * (y * vz - z * vy) + (first * I[:, None] * np.array([wx, wy, wz])).sum(axis=0)
        arm -= m * G * y
    fine, coarse = simpson(arm, motion.t), simpson(arm[::2], motion.t[::2])
    assert spin[-1] - spin[0] == pytest.approx(fine, abs=abs(fine - coarse) / 15 + 1e-9)  # Richardson's estimate


# -- net -----------------------------------------------------------------------------------------------------


def chain(count):
    """A chain of `count` particles on rods from a fixed point, horizontal and at rest: angles below the horizontal.

    M(a) a'' = f with masses hanging below rod k: (count - max(j, k)) m l^2 cos(a_j - a_k) and so on.
    """
    l = flat.SPACING
    below = count - np.arange(count)
    masses = np.minimum.outer(below, below)

    def rates(_, z):
        a, w = z[:count], z[count:]
        M = masses * np.cos(np.subtract.outer(a, a)) * l
        f = G * below * np.cos(a) - l * (masses * np.sin(np.subtract.outer(a, a))) @ w**2
        return np.concatenate([w, np.linalg.solve(M, f)])

    return rates


def test_a_net_that_falls_evenly_is_a_row_of_chains():
    n, m, times = 3, 4, np.linspace(0.0, 0.25, 11)
    motion = motion_of(flat.net(n, m), times[-1], guess=flat.start(n, m, 0.0))
    angles = solve_ivp(
        chain(m - 1), (0.0, times[-1]), np.zeros(2 * (m - 1)), "DOP853", times, rtol=1e-12, atol=1e-13
    ).y[: m - 1]
    y, z = np.cumsum(flat.SPACING * np.cos(angles), axis=0), -np.cumsum(flat.SPACING * np.sin(angles), axis=0)
    for j in range(1, m):
        for i in range(n):
            np.testing.assert_allclose(motion[f"x{i}_{j}"], flat.SPACING * i, rtol=0, atol=1e-9)
            np.testing.assert_allclose(motion[f"y{i}_{j}"], y[j - 1], rtol=0, atol=1e-8)
            np.testing.assert_allclose(motion[f"z{i}_{j}"], z[j - 1], rtol=0, atol=1e-8)
    assert max(np.abs(motion[f"across{i}_{j}"]).max() for j in range(1, m) for i in range(n - 1)) < 1e-7


def test_a_net_struck_evenly_about_its_middle_stays_even():
    """Its mirror image across the middle with z and x turned is the same net only without gravity."""
    n, m = 4, 4
    problem = flat.net(n, m)
    system = problem.system()
    state = system.initial(guess=problem.guess, parameters={"g": 0.0})
    motion = system.simulate(state, 0.3, t_eval=np.linspace(0, 0.3, 7), integrator=TIGHT)
    assert motion.certificate.ok, motion.certificate
    width = flat.SPACING * (n - 1)
    for j in range(1, m):
        for i in range(n):
            other = n - 1 - i  # half a turn about the line x = width / 2, z = 0
            np.testing.assert_allclose(motion[f"x{i}_{j}"], width - motion[f"x{other}_{j}"], rtol=0, atol=1e-9)
            np.testing.assert_allclose(motion[f"y{i}_{j}"], motion[f"y{other}_{j}"], rtol=0, atol=1e-9)
            np.testing.assert_allclose(motion[f"z{i}_{j}"], -motion[f"z{other}_{j}"], rtol=0, atol=1e-9)


# -- ladder --------------------------------------------------------------------------------------------------


def swinging(n):
    """Rates of the crank angles and their speeds, from the energies that the module states."""
    m, M, L = hanging.CRANK, hanging.COUPLER, hanging.LENGTH
    storey = 2 * m + M
    below = (n - 1 - np.arange(n)) * storey
    pull = m + M + below  # of the weight, per crank angle
    mass = np.minimum.outer(below, below) + np.where(np.eye(n, dtype=bool), 2 * m / 3 + M, m + M)

    def rates(_, z):
        a, w = z[:n], z[n:]
        between = np.subtract.outer(a, a)
        f = -pull * G / L * np.sin(a) - (mass * np.sin(between)) @ w**2
        return np.concatenate([w, np.linalg.solve(mass * np.cos(between), f)])

    return rates


@pytest.mark.parametrize("n", [1, 3])
def test_a_ladder_moves_as_a_multiple_pendulum(n):
    motion = motion_of(hanging.ladder(n), 2.0)
    start = np.concatenate([np.full(n, hanging.ANGLE), np.zeros(n)])
    angles = solve_ivp(swinging(n), (0.0, 2.0), start, "DOP853", motion.t, rtol=1e-12, atol=1e-13).y[:n]
    for k in range(n):
        for side in ("left", "right"):
            np.testing.assert_allclose(motion[f"{side}{k}_a"] + np.pi / 2, angles[k], rtol=0, atol=1e-8)
        np.testing.assert_allclose(motion[f"coupler{k}_a"], 0.0, rtol=0, atol=1e-9)
    assert keeps_energy(motion, 1e-10)


# -- beam ----------------------------------------------------------------------------------------------------


def first_frequency(n):
    """Of the linearised cantilever: the eigenvalues of K in the metric of M, where the clamp leaves the nodes free."""
    system = cantilever.beam(n).system()
    q, still, h = np.array(system.guess), np.zeros(system.nu), 1e-6
    K = -np.stack(
        [(system.forces(0, q + s, still) - system.forces(0, q - s, still)) / (2 * h) for s in h * np.eye(len(q))]
    )
    free = np.eye(len(q))[:, [2, *range(4, len(q))]]  # the slope along x is free at the clamp
    return np.sqrt(eigh(free.T @ (K + K.T) @ free / 2, free.T @ system.mass_matrix(0, q, still) @ free)[0][0])


def test_the_first_frequency_of_the_beam_converges_with_the_fourth_power():
    errors = [first_frequency(n) / cantilever.frequency() - 1 for n in (2, 4, 8)]
    np.testing.assert_allclose(np.array(errors)[:-1] / np.array(errors)[1:], 16.0, rtol=0.15)


def test_the_beam_swings_in_its_first_mode():
    n = 4
    motion = motion_of(cantilever.beam(n), 1.0, integrator=da.DOP853())
    swing = cantilever.STRIKE / cantilever.frequency()
    phase = (first_frequency(n) - cantilever.frequency()) * motion.t[-1]
    wanted = swing * np.sin(cantilever.frequency() * motion.t)
    # Late by the phase; the mode of the elements differs from that of the beam in shape as in frequency.
    np.testing.assert_allclose(motion[f"beam_y{n}"], wanted, rtol=0, atol=2 * swing * phase)


# -- train ---------------------------------------------------------------------------------------------------


def headings(n):
    """Rates of (x, y, headings) of the train by its kinematics, the speed from its energy."""
    D, R, m, inertia = train.COUPLING_DISTANCE, train.radius_of(n), train.MASS, train.INERTIA

    def per_speed(h):
        v, turn = np.ones(n + 1), np.full(n + 1, 1.0 / R)
        for k in range(1, n + 1):
            d = h[k - 1] - h[k]
            turn[k] = v[k - 1] * np.sin(d) / D - turn[k - 1] * np.cos(d)
            v[k] = v[k - 1] * np.cos(d) + D * turn[k - 1] * np.sin(d)
        return v, turn

    def carried(h):
        v, turn = per_speed(h)
        return (m * v**2 + inertia * turn**2).sum()

    def rates_from(start):
        energy = train.SPEED**2 * carried(start)

        def rates(_, z):
            speed = np.sqrt(energy / carried(z[2:]))
            return speed * np.concatenate([[np.cos(z[2]), np.sin(z[2])], per_speed(z[2:])[1]])

        return rates

    return rates_from


def test_the_train_follows_the_circle():
    problem = train.vehicle_train(6)
    motion = motion_of(problem, problem.t_end)
    for name, values in problem.exact(motion.t).items():
        np.testing.assert_allclose(motion[name], values, rtol=0, atol=problem.tolerance, err_msg=name)


def test_a_train_that_enters_the_circle_follows_its_kinematics():
    n = 3
    problem = train.vehicle_train(n)
    guess = {f"car{k}_x": -2 * train.COUPLING_DISTANCE * k for k in range(n + 1)}
    guess |= {f"car{k}_{c}": 0.0 for k in range(n + 1) for c in "ya"}
    guess |= {f"car{k}_vx": train.SPEED for k in range(n + 1)}
    motion = motion_of(problem, 4.0, guess=guess)
    rates = headings(n)(np.zeros(n + 1))
    z = solve_ivp(rates, (0.0, 4.0), np.zeros(n + 3), "DOP853", motion.t, rtol=1e-12, atol=1e-13).y
    np.testing.assert_allclose(motion["car0_x"], z[0], rtol=0, atol=1e-7)
    for k in range(n + 1):
        np.testing.assert_allclose(motion[f"car{k}_a"], z[2 + k], rtol=0, atol=1e-7)


# -- many ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "t_end"),
    [(slung.rope(400), 0.1), (flat.net(30, 30), 0.1), (hanging.ladder(400), 0.5), (train.vehicle_train(1000), 1.0)],
    ids=lambda value: getattr(value, "name", ""),
)
def test_many_parts_keep_loops_and_energy(problem, t_end):
    motion = motion_of(problem, t_end, integrator=da.DOP853(rtol=1e-8, atol=1e-10), samples=3)
    assert motion.stats["steps"] > 0
    if problem.exact is None:
        assert keeps_energy(motion, 1e-8)
    else:
        exact = problem.exact(motion.t)
        assert max(np.abs(motion[name] - values).max() for name, values in exact.items()) < 1e-4

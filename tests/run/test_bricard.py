"""Bricard's linkage of six equal bars and hinges, five of them moving: one row is redundant, one freedom is left.

Hinge angles alternate between theta and phi with (1 + cos theta)(1 + cos phi) = 1 (threefold symmetry, twist 90
degrees). Neither can leave -120 .. 120 degrees: where one is at its limit the other passes through zero. With
1 + cos theta = 2^sin(s) a parameter s goes round once while both go to and fro between their limits, and the energy
gives s' = sqrt(2 (E - V(s)) / I(s)). In the cube, at s = 0, all angles are 90 degrees.
"""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da

G, SPIN = 9.81, 1e-3
CORNERS = np.array([[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1]], dtype=float)
AXES = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]], dtype=float)
ALONG = np.roll(CORNERS, -1, axis=0) - CORNERS  # bar k, from corner k to the next; the last one is fixed
CENTRES = CORNERS + ALONG / 2
BARS = range(5)
COMPLEX = 1e-30


@cache
def linkage(*, driven=False, spin=SPIN):
    """Bars whose frames are parallel to the axes in the cube; driven, the first angle grows by 1 per second."""
    model = da.Model("Bricard's linkage")
    bars = [model.body(f"b{k}", mass=1.0, inertia=np.where(ALONG[k] == 0.0, 1 / 12, spin).tolist()) for k in BARS]
    model.gravity([0, -G, 0])

    def hinge(body, place, axis):
        return model.marker(body, place.tolist(), axis=axis.tolist())

    hinges = []
    for k, (corner, axis) in enumerate(zip(CORNERS, AXES, strict=True)):
        before = hinge(model.ground, corner, axis) if k == 0 else hinge(bars[k - 1], ALONG[k - 1] / 2, axis)
        after = hinge(model.ground, corner, axis) if k == len(BARS) else hinge(bars[k], -ALONG[k] / 2, axis)
        hinges.append(model.joints.revolute(f"h{k}", before, after))
    if driven:
        model.joints.drive("drive", hinges[0], angle=-model.t)
    return model.compile()


def half_angle(s):
    """Half of the angle with 1 + cos = 2^sin(s): sin^2 = 1 - 2^(sin(s) - 1), the root taken without its sign."""
    x = 2 * np.log(2) * np.sin(np.pi / 4 - s / 2) ** 2
    ratio = -np.expm1(-x) / x if abs(x) > 1e-12 else 1 - x / 2
    return np.arcsin(np.sin(np.pi / 4 - s / 2) * np.sqrt(2 * np.log(2) * ratio))


def poses(s):
    """Centres (5, 3) and rotations (5, 3, 3) of the bars, and how far the last hinge and bar are from closing."""
    angles = (2 * half_angle(s), 2 * half_angle(-s))
    R, at, centres, rotations = np.eye(3), CORNERS[0], [], []
    for k in range(6):
        K = np.cross(np.eye(3), AXES[k])
        turn = np.pi / 2 - angles[k % 2]
        R = R @ (np.eye(3) + np.sin(turn) * K + (1 - np.cos(turn)) * K @ K)
        centres.append(at + R @ ALONG[k] / 2)
        rotations.append(R)
        at = at + R @ ALONG[k]
    gap = max(np.abs(at - CORNERS[0]).max(), np.abs(R - np.eye(3)).max())
    return np.array(centres)[:5], np.array(rotations)[:5], gap


def velocities(s):
    """Velocities of the centres (5, 3) and angular velocities (5, 3) in body axes for s' = 1."""
    centres, rotations, _ = poses(s + COMPLEX * 1j)
    turning = np.einsum("kji,kjl->kil", rotations.real, rotations.imag / COMPLEX)
    return centres.imag / COMPLEX, np.stack([turning[:, 2, 1], turning[:, 0, 2], turning[:, 1, 0]], axis=1)


def energies(s, spin=SPIN):
    """Inertia I(s) and potential V(s)."""
    v, w = velocities(s)
    inertia = np.where(ALONG[:5] == 0.0, 1 / 12, spin)
    return float((v**2).sum() + (inertia * w**2).sum()), G * float(poses(s)[0][:, 1].sum())


def reference(rate, times):
    """s (nt,) from the cube on; the rate must be enough to go round."""
    inertia, level = energies(0.0)
    total = 0.5 * inertia * rate**2 + level

    def speed(_, s):
        inertia, level = energies(s[0])
        return [np.sqrt(2 * (total - level) / inertia)]

    return solve_ivp(speed, (0.0, times[-1]), [0.0], "DOP853", times, rtol=1e-12, atol=1e-12).y[0]


def cube(system, rate):
    """The state in the cube."""
    v, w = velocities(0.0)
    guess = {}
    for k in BARS:
        guess |= {f"b{k}_{axis}": CENTRES[k][i] for i, axis in enumerate("xyz")} | {f"b{k}_e0": 1.0}
        guess |= {f"b{k}_v{axis}": rate * v[k][i] for i, axis in enumerate("xyz")}
        guess |= {f"b{k}_w{axis}": rate * w[k][i] for i, axis in enumerate("xyz")}
    return system.initial({}, guess=guess)


@pytest.mark.parametrize("s", [-3.0, -np.pi / 2, -0.7, 0.0, 0.4, np.pi / 2, 2.0])
def test_the_reference_closes(s):
    assert poses(s)[2] < 1e-14


def places(motion):
    """Centres of the bars (nt, 5, 3)."""
    return np.array([[motion[f"b{k}_{axis}"] for axis in "xyz"] for k in BARS]).transpose(2, 0, 1)


def error(motion, s):
    return np.abs(places(motion) - np.array([poses(value)[0] for value in s[: len(motion)]])).max()


RATE = 9.0  # V rises by less than 65 on the way, and the energy in the cube is 97
RIGHT = 1e-5
WAYS = {
    "UdwadiaKalaba": {"formulation": da.UdwadiaKalaba()},
    "NonminimalKane": {"formulation": da.NonminimalKane()},
    "MinimalKane": {"formulation": da.MinimalKane()},
    "NullSpace": {"formulation": da.NullSpace()},
    "Radau": {"integrator": da.Radau()},
    "StateSpaceSVD": {"integrator": da.StateSpaceSVD()},
    "GeneralizedAlpha": {"integrator": da.GeneralizedAlpha(rtol=1e-7, atol=1e-9)},
    "IDA": {"integrator": da.IDA()},
}


def test_it_passes_its_limits_at_all_tolerances():
    times = np.linspace(0.0, 2.0, 41)
    s, errors = reference(RATE, times), []
    assert s[-1] > 4 * np.pi  # once round: both angles were at both limits
    for rtol in (1e-6, 1e-8, 1e-10, 1e-12):
        integrator = da.DOP853(rtol=rtol, atol=rtol / 100)
        motion = linkage().simulate(cube(linkage(), RATE), times[-1], t_eval=times, integrator=integrator)
        assert motion.certificate.ok, motion.certificate
        assert motion.certificate.not_unique
        errors.append(error(motion, s))
    assert all(later < max(0.1 * sooner, 1e-9) for sooner, later in pairwise(errors)), errors


def swing(times):
    """s (nt,) of slender bars released in the cube: I s'' + I' s'^2 / 2 + V' = 0, derivatives by differences."""
    beside, weights = 1e-3 * np.array([-2, -1, 1, 2]), np.array([1, -8, 8, -1]) / 12e-3

    def rates(_, z):
        slopes = weights @ np.array([energies(z[0] + step, 0.0) for step in beside])
        return [z[1], -(slopes[1] + slopes[0] * z[1] ** 2 / 2) / energies(z[0], 0.0)[0]]

    return solve_ivp(rates, (0.0, times[-1]), [0.0, 0.0], "DOP853", times, rtol=1e-11, atol=1e-12).y[0]


@pytest.mark.parametrize("rtol", [1e-6, 1e-8, 1e-10])
def test_slender_bars_swing_without_a_false_alarm(rtol):
    """IFToMM benchmark A04: no inertia about the bars, 10 s from rest.

    Between steps the cubic through their ends is off the constraints, and the redundant row is independent there.
    """
    times = np.linspace(0.0, 10.0, 41)
    system = linkage(spin=0.0)
    motion = system.simulate(cube(system, 0.0), 10.0, t_eval=times, integrator=da.DOP853(rtol=rtol))
    assert motion.certificate.ok, motion.certificate
    assert not motion.passages
    assert error(motion, swing(times)) < 1e3 * rtol


SLOW = {"UdwadiaKalaba": pytest.mark.slow}


@pytest.mark.parametrize("name", [pytest.param(name, marks=SLOW.get(name, ())) for name in WAYS])
def test_every_way_is_right_or_not_ok(name):
    times = np.linspace(0.0, 1.0, 11)
    motion = linkage().simulate(cube(linkage(), RATE), times[-1], t_eval=times, **WAYS[name])
    right = len(motion) == len(times) and error(motion, reference(RATE, times)) < RIGHT
    assert right or not motion.certificate.ok, motion.certificate


def test_a_drive_past_the_limit_ends_there():
    """The first angle is pi/2 + t; its limit is 2 pi/3."""
    system = linkage(driven=True)
    motion = system.simulate(cube(system, -1.0 / np.log(2)), 2.0, integrator=da.DOP853(max_steps=1000))
    assert not motion.success
    assert not motion.certificate.ok
    assert motion.t[-1] == pytest.approx(np.pi / 6, abs=1e-6)

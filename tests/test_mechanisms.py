"""The mechanisms of `docs/models`: certificates are OK, and each keeps to what is known of it."""

from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import expm

import dalembert as da
from dalembert import problems
from dalembert.problems import benchmark_bicycle as bicycle

DOCS = Path(__file__).parents[1] / "docs"
G = 9.81


def run(name):
    file = da.from_toml(DOCS / "models" / f"{name}.toml")
    system = file.model.compile()
    motion = system.simulate(system.initial(file.given, guess=file.guess), file.t_end, **file.options)
    assert motion.certificate.ok, motion.certificate.verdict
    return motion


def planar_energy(motion, bodies):
    """Kinetic and potential energy (nt,) of planar bodies, by name: (mass, inertia)."""
    total = 0.0
    for name, (mass, inertia) in bodies.items():
        vx, vy, w, y = (motion[f"{name}_{what}"] for what in ("vx", "vy", "w", "y"))
        total = total + mass * (vx**2 + vy**2) / 2 + inertia * w**2 / 2 + mass * G * y
    return total


def test_quick_return_takes_twice_as_long_forth_as_back():
    """With r/d = sin(30 deg) the rocker turns back at +-30 deg, when crank and rocker are at right angles."""
    motion = run("quick_return")
    pin = 2 * np.pi * motion.t
    swing = np.arctan2(1 + 0.5 * np.sin(pin), 0.5 * np.cos(pin)) - np.pi / 2
    np.testing.assert_allclose(motion["swing"], swing, atol=1e-9)
    np.testing.assert_allclose(motion.sample("swing", [7 / 12, 11 / 12]), [np.pi / 6, -np.pi / 6], atol=1e-9)
    assert np.abs(motion.sample("rocker_w", [7 / 12, 11 / 12])).max() < 1e-8


def test_double_pendulum_keeps_its_energy():
    motion = run("double_pendulum")
    energy = planar_energy(motion, dict.fromkeys(("upper", "lower"), (1.0, 0.25 / 12)))
    start = G * (0.25 * np.sin(np.pi / 6) + 0.5 * np.sin(np.pi / 6) + 0.25 * np.sin(np.radians(80)))
    np.testing.assert_allclose(energy, start, rtol=1e-8)


def test_trebuchet_turns_the_fall_of_its_weight_into_speed():
    motion = run("trebuchet")
    energy = planar_energy(motion, {"beam": (60.0, 60.0 * 25 / 12)})
    for x, y, mass in (("vx", "vy", 10.0), ("wvx", "wvy", 800.0)):
        energy = energy + mass * (motion[x] ** 2 + motion[y] ** 2) / 2
    energy = energy + G * (10.0 * motion["y"] + 800.0 * motion["wy"])
    np.testing.assert_allclose(energy, energy[0], rtol=1e-9)
    (release,) = motion.events
    assert release.name == "release"
    vx, vy, y, far = (motion[name][-1] for name in ("vx", "vy", "y", "range"))
    assert vx == pytest.approx(vy, rel=1e-9)
    assert vx > 0
    assert y + far * vy / vx - G * far**2 / (2 * vx**2) == pytest.approx(0, abs=1e-9 * far)  # where it comes down


def test_top_precesses_steadily():
    motion = run("top")
    x, y = 0.1 * 0.5 * np.sin(np.pi * motion.t), -0.1 * 0.5 * np.cos(np.pi * motion.t)
    np.testing.assert_allclose(motion["top_x"], x, atol=1e-8)
    np.testing.assert_allclose(motion["top_y"], y, atol=1e-8)


def test_coin_rolls_without_loss():
    motion = run("rolling_disc")
    e1, e2, z = (motion[f"coin_{name}"] for name in ("e1", "e2", "z"))
    np.testing.assert_allclose(z, 0.1 * np.sqrt(1 - (1 - 2 * (e1**2 + e2**2)) ** 2), atol=1e-9)  # it stays on the table
    v, w = (np.stack([motion[f"coin_{kind}{axis}"] for axis in "xyz"]) for kind in "vw")
    moments = 0.1 * 0.1**2 / 4 * np.array([1.0, 1.0, 2.0])
    energy = 0.1 * (v**2).sum(axis=0) / 2 + moments @ w**2 / 2 + 0.1 * G * z
    np.testing.assert_allclose(energy, energy[0], rtol=1e-8)


def test_robot_arm_sags_by_its_weight():
    """At rest the motors hold the torques of the weights about the shoulder and about the elbow."""
    motion = run("robot_arm")
    upper, fore = motion["upper_a"][-1], motion["fore_a"][-1]
    elbow = 2.0 * G * 0.3 * np.cos(fore)
    shoulder = 4.0 * G * 0.3 * np.cos(upper) + 2.0 * G * 0.6 * np.cos(upper) + elbow
    assert 400.0 * (np.pi / 3 - upper) == pytest.approx(shoulder, rel=1e-6)
    assert 150.0 * (-np.pi / 2 - (fore - upper)) == pytest.approx(elbow, rel=1e-6)


def test_sleigh_turns_round_as_chaplygin_says():
    motion = run("sleigh")
    exact = problems.get("chaplygin_sleigh").exact(motion.t)
    for name, known in (("forward", "v"), ("sleigh_w", "w"), ("sleigh_a", "phi")):
        np.testing.assert_allclose(motion[name], exact[known], atol=1e-8)


def test_straight_line_is_straight():
    motion = run("straight_line")
    np.testing.assert_allclose(motion["cy"], -(0.7**2 - 0.3**2) / (2 * 0.3), atol=1e-10)
    assert np.ptp(motion["cx"]) > 0.7


def test_andrews_is_that_of_the_test_set():
    motion, (known,) = run("andrews"), problems.get("andrews").reference.values()
    for name in ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon"):
        assert motion[name][-1] == pytest.approx(known[name], abs=1e-6)


def test_bicycle_weaves_as_the_benchmark_says():
    """After a push of 1e-4 rad/s it moves as the linear equations M q'' + v C1 q' + (g K0 + v^2 K2) q = 0.

    What they leave out is of the third order in motions of 1e-4; their matrices are published to 13 digits.
    """
    file = da.from_toml(DOCS / "models" / "bicycle.toml")
    system, v, push = file.model.compile(), 4.6, 1e-4
    state = system.initial({**file.given, "frame_wx": push}, guess=file.guess)
    motion = system.simulate(state, 2.0, t_eval=np.linspace(0.0, 2.0, 9), integrator=da.DOP853(rtol=1e-10, atol=1e-14))
    M, K = bicycle.M, G * bicycle.K0 + v**2 * bicycle.K2
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, K), -np.linalg.solve(M, v * bicycle.C1)]])
    linear = np.array([expm(A * t) @ [0.0, 0.0, push, 0.0] for t in motion.t])
    np.testing.assert_allclose(motion["lean"], linear[:, 0], atol=1e-6 * push, rtol=0)
    np.testing.assert_allclose(-motion.joint("steering").angle, linear[:, 1], atol=1e-6 * push, rtol=0)


@pytest.mark.parametrize("path", sorted((DOCS / "models").glob("*.toml")), ids=lambda path: path.stem)
def test_mechanism_is_on_the_page_with_a_picture_that_moves(path):
    page = (DOCS / "mechanisms.md").read_text(encoding="utf-8")
    assert f"](models/{path.name})" in page
    assert f"](images/mechanisms/{path.stem}.svg)" in page
    assert "<animate " in (DOCS / "images" / "mechanisms" / f"{path.stem}.svg").read_text(encoding="utf-8")

"""Every example draws its figures, explains itself, and gives the numbers of its document."""

import ast
import importlib.util
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import simpson, solve_bvp

FOLDER = Path(__file__).parents[2] / "examples"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))


@pytest.fixture(scope="module")
def run(tmp_path_factory, saved):
    """Module, result of `main` and figures (by file name) of an example, run once."""
    done = {}

    def run_once(name):
        if name not in done:
            spec = importlib.util.spec_from_file_location(f"{name}_in_gallery", FOLDER / f"{name}.py")
            example = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(example)
            saved.clear()
            result = example.main(tmp_path_factory.mktemp(name))
            done[name] = example, result, dict(saved)
        return done[name]

    return run_once


def shown(axes):
    """Title and labels of axes, and its curves as pairs of arrays."""
    curves = [(line.get_xdata(), line.get_ydata()) for line in axes.lines]
    return (axes.get_title(), axes.get_xlabel(), axes.get_ylabel()), curves


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.mark.parametrize("name", NAMES)
def test_stands_in_the_gallery(name):
    text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    title, line, *rest = ast.get_docstring(ast.parse(text), clean=False).splitlines()
    assert title
    assert line == "=" * len(title)
    assert "to see" in " ".join(rest)
    code = text.split('"""', 2)[2]
    assert sum(bool(line.strip()) for line in code.splitlines()) < 85
    assert "pyplot" not in text


def test_appell_hamel(run):
    """K8: theta settles (figures 2, 4), the load sinks from 30 m (8); NC subdues the energy error (9).

    Measured once with this step: 1.1e-9 J at its peak and -2.2e-10 J at the end, against a steady growth to -2.0e-9 J.
    """
    example, runs, figures = run("appell_hamel")
    motion = runs["NC", 1.0]
    assert motion["z"][0] == 30.0
    assert abs(motion["theta'"][-1]) < 1e-3
    assert np.ptp(motion["theta"][-100:]) < 2e-3
    np.testing.assert_allclose(runs["LC", 1.0].q, motion.q, atol=1e-7)
    errors = {key: m.energy - m.energy[0] for key, m in runs.items()}
    assert errors["NC", 1.0].max() == pytest.approx(1.1e-9, rel=0.05)
    assert errors["NC", 1.0][-1] == pytest.approx(-2.2e-10, rel=0.05)
    assert errors["LC", 1.0][-1] == pytest.approx(-2.0e-9, rel=0.05)
    assert (np.diff(np.abs(errors["LC", 1.0][::50])) > 0).all()
    worst = {key: np.abs(error).max() for key, error in errors.items()}
    assert [worst["NC", inertia] < worst["LC", inertia] for inertia in example.INERTIAS] == [True] * 4 + [False]
    *panels, energy, inertias, drawn = figures["appell_hamel.png"].axes
    for axes, (number, (x, y)) in zip(panels, example.PANELS.items(), strict=True):
        text, (curve,) = shown(axes)
        assert text == (f"Figure {number}: {y} over {x}", example.AXES[x], example.AXES[y])
        np.testing.assert_array_equal(curve, [motion.t if x == "t" else motion[x], motion[y]])
    text, curves = shown(energy)
    assert text[0] == "Figure 9: energy error, I = 1 kg m2"
    assert legend(energy) == ["NC, ends at -2.2e-10 J", "LC, ends at -2.0e-09 J"]
    assert legend(inertias) == ["NC", "LC"]
    assert len(legend(drawn)) == 4
    for model, (_, curve), (_, over) in zip(("NC", "LC"), curves, shown(inertias)[1], strict=True):
        np.testing.assert_array_equal(curve, errors[model, 1.0])
        np.testing.assert_array_equal(over, [worst[model, inertia] for inertia in example.INERTIAS])


def test_gauss_principle(run):
    """G6, G7: an amplitude of about 80 degrees (figure 1), phase plots that close (3), tracking to about 1e-9 m (5)."""
    _, runs, figures = run("gauss_principle")
    swing = runs["1"]
    assert np.rad2deg(np.arctan2(np.abs(swing["x"]), swing["y"]).max()) == pytest.approx(78.2, abs=0.5)
    for a in (0.5, 1.0, 2.0, 4.0):
        assert np.abs(runs[f"3, a={a:g}"]["vx"][0]) == a
        assert np.abs(runs[f"3, a={a:g}"]["x"]).max() < 2.0
    panels = {name.removeprefix("kalaba_udwadia_"): figure.axes for name, figure in figures.items()}
    assert {name: len(axes) for name, axes in panels.items()} == {
        "1.png": 9, "2.png": 8, "3.png": 9, "4_4.png": 8, "4_0.4.png": 8,
    }  # fmt: skip
    for axes in (axes for name in panels for axes in panels[name]):
        assert ("[" in axes.get_ylabel()) == bool(len(axes.get_yticks()))  # units; a line of masses has no y
    np.testing.assert_array_equal(shown(panels["1.png"][4])[1], [(swing["x"], swing["vx"])])
    _, ((_, apart),) = shown(panels["1.png"][7])
    assert np.abs(apart).max() < 1e-8  # "the same (to within the error tolerance)": 1e-10 on a length of 20 m
    for alpha in ("4", "0.4"):
        motion = runs[f"4, alpha={alpha}"]
        *_, forces, parts, _, error, measure, drawn = panels[f"4_{alpha}.png"]
        np.testing.assert_array_equal([y for _, y in shown(forces)[1]], motion.reactions.T)
        assert legend(parts) == ["feedback", "feed-forward"]
        assert shown(drawn)[0][0] == "Duffing oscillators"
        np.testing.assert_allclose(sum(y for _, y in shown(parts)[1]), motion.reactions[:, 0], atol=1e-9)
        assert 2e-10 < np.abs(shown(error)[1][0][1]).max() < 5e-9  # "of the order of 1e-9"
        least, *others = (y for _, y in shown(measure)[1])
        for other, w in zip(others, (20.0, -30.0), strict=True):  # m1 + m2 = 3 kg
            np.testing.assert_allclose(other - least, 3 * w**2, rtol=1e-9)


def test_consistent_starts(run):
    """I7, I8: (3.1) and (3.5) hold at the start; the car comes round once on the circle of radius 20 m."""
    _, runs, figures = run("consistent_starts")
    q1, q2, u1, u2 = (runs["spatial_four_bar"][name][0] for name in ("q1", "q2", "u1", "u2"))
    assert 8 - 8 * np.cos(q1) * np.sin(q2) - 4 * np.sin(q1) == pytest.approx(0.0, abs=1e-11)
    slope = 8 * np.sin(q1) * np.sin(q2) - 4 * np.cos(q1)
    assert slope * u1 - 8 * np.cos(q1) * np.cos(q2) * u2 == pytest.approx(0.0, abs=1e-11)
    car = runs["car"]
    np.testing.assert_allclose(np.hypot(car["x"], car["y"] - 20.0), 20.0, atol=1e-10)
    assert car["y"].max() == pytest.approx(40.0, abs=0.01)
    assert car["Md"][0] == pytest.approx(-106.268, abs=1e-3)
    panels = figures["consistent_starts.png"].axes
    assert [legend(axes) for axes in panels[:3]] == [["q1", "q2"], ["u1", "u2"], ["rod"]]
    assert [axes.get_ylabel() for axes in panels[:2]] == ["angle [rad]", "angular velocity [rad/s]"]
    path, angle, moment, bars, driven = (shown(axes) for axes in panels[3:])
    assert driven[0] == ("car", "x [m]", "y [m]")
    assert bars[0] == ("spatial four-bar", "across [m]", "up [m]")
    assert path[0] == ("car: path", "x [m]", "y [m]")
    assert panels[3].get_aspect() == 1.0  # a circle looks like one
    np.testing.assert_array_equal(path[1], [(car["x"], car["y"])])
    np.testing.assert_array_equal(angle[1], [(car.t, car["theta"])])
    assert moment[0][2] == "Md [N m]"
    np.testing.assert_array_equal(moment[1], [(car.t, car["Md"])])


def test_events(run):
    """Bounces at the exact times, and the angular momentum that a latch keeps."""
    example, path, figures = run("events")
    assert example.latch()["wa"][-1] == pytest.approx(0.7 * 3 / 1.3, rel=1e-12)
    ball = example.bouncing_ball()
    assert len(ball.events) == 6
    assert ball.events[0].t == pytest.approx(np.sqrt(2 / 9.81), rel=1e-9)
    left, right, drawn = figures[path.name].axes
    assert legend(drawn)[-1] == "t = 0.6 s"
    text, ((x, y),) = shown(left)
    assert text == ("bouncing ball", "x [m]", "y [m]")
    assert x[-1] == pytest.approx(0.5 * 3.0, rel=1e-9)
    falling = x < 0.5 * ball.events[0].t
    np.testing.assert_allclose(y[falling], 1 - 9.81 / 2 * (x[falling] / 0.5) ** 2, atol=1e-9)
    assert legend(right) == ["disc", "arm"]
    assert [curve[[0, -1]] for _, curve in shown(right)[1]] == [
        pytest.approx([3.0, 2.1 / 1.3], rel=1e-9),
        pytest.approx([0.0, 2.1 / 1.3], rel=1e-9),
    ]


def test_lecture_four_bar(run):
    """L2, L4: the residual follows the tolerance of IDA, and projection takes it away."""
    example, rows, figures = run("lecture_four_bar")
    assert all(0.01 * row["rtol"] < row["|phi| raw"] < 30 * row["rtol"] for row in rows)
    assert all(row["|phi| projected"] < 1e-11 for row in rows)
    angles, violation, linkage = figures["lecture_four_bar.png"].axes
    assert legend(linkage) == ["t = 0 s", "t = 0.5 s", "t = 1 s", "t = 1.5 s"]
    assert legend(angles) == ["q1", "q2", "q3"]
    assert legend(violation) == list(example.RUNS)
    every_speed, lecture, opened, held = (y.max() for _, y in shown(violation)[1])
    assert held < 1.001e-12 < opened
    assert lecture < 1e-8  # without correction, RK4 at 5 ms
    assert every_speed > 1e-6
    (tolerances,) = figures["lecture_four_bar_tolerances.png"].axes
    assert legend(tolerances) == ["|phi| raw", "|phi| projected", "error raw"]
    for name, curve in zip(legend(tolerances), shown(tolerances)[1], strict=True):
        np.testing.assert_array_equal(curve, [example.TOLERANCES, [row[name] for row in rows]])


def test_state_space_svd(run):
    """S1, S2: constraints at round-off, fewer evaluations than explicitly; one loop gives what two give, for less."""
    _, (runs, loops), figures = run("state_space_svd")
    for kind, level, rows in (
        ("rolling", "velocity", ("rear_wheel", "front_wheel")),
        ("guided", "position", ("circle", "heading")),
    ):
        implicit, explicit = runs[kind, "StateSpaceSVD"], runs[kind, "DOP853"]
        assert implicit.certificate.ok, implicit.certificate
        assert all(np.abs(implicit.violation[level][row]).max() < 1e-11 for row in rows)  # m2 of a circle of 25 m
        np.testing.assert_allclose(implicit.q[-1], explicit.q[-1], atol=1e-4)
        assert implicit.stats["nfev"] < explicit.stats["nfev"]
    (one, count), (two, nested) = loops["one loop"], loops["two loops"]
    np.testing.assert_allclose(one, two, atol=1e-9)
    assert nested > count
    assert [patch.get_height() for patch in figures["state_space_svd.png"].axes[3].patches] == [count, nested]


def test_railway_wheelset(run):
    """I5: the rings in the figure are the printed solution, and the curves end in them."""
    example, motion, figures = run("railway_wheelset")
    drawn, grows, loads, _ = figures["railway_wheelset.png"].axes
    assert len(legend(drawn)) == 3
    _, ((_, x), (_, printed)) = shown(grows)
    assert printed == [1e3 * example.wheelset.REFERENCE["x"]]
    assert x[-1] == pytest.approx(printed[0], abs=1e-5 * np.abs(x).max())
    for curve, ring in (shown(loads)[1][:2], shown(loads)[1][2:]):
        assert curve[1][-1] == pytest.approx(ring[1][0], rel=1e-5)
    assert motion.certificate.ok, motion.certificate


def test_constraint_forces(run):
    """G3, I2, I4, I5: one motion whatever is stated twice, cosh(w t), and g (sin - mu cos) on the slope."""
    example, runs, figures = run("constraint_forces")
    one = runs["one rod"]
    for name in example.FORMULATIONS:
        np.testing.assert_allclose(runs[name].q, one.q, atol=1e-8)
        np.testing.assert_allclose(runs[name].multipliers.sum(axis=1), one.multipliers[:, 0], atol=1e-6)
        assert runs[name].certificate.ok, runs[name].certificate
    assert "rod3" in runs["refused"]
    bead = runs["turning rod"]
    np.testing.assert_allclose(np.hypot(bead["x"], bead["y"]), np.cosh(2 * bead.t), rtol=1e-8)
    for mu in (0.0, 0.2, 0.4):
        block = runs[f"mu = {mu:g}"]
        fall = 9.81 * (np.sin(0.6) - mu * np.cos(0.6))
        np.testing.assert_allclose(block["x"], block.t + fall * block.t**2 / 2, atol=1e-6)
    assert all(off < 1e-7 for off in example.verdicts(runs).values())
    assert all("[" in axes.get_ylabel() for axes in figures["constraint_forces.png"].axes)


def test_bicycle_root_locus(run):
    """The circles are the published eigenvalues, on curves computed here; two speeds bound the stable range."""
    example, locus, figures = run("bicycle_root_locus")
    weave, capsize = (c.value * example.bicycle.REAR_RADIUS for c in locus.crossings())
    assert weave == pytest.approx(example.bicycle.WEAVE_SPEED, abs=1e-10)
    assert capsize == pytest.approx(example.bicycle.CAPSIZE_SPEED, abs=1e-10)
    axes, drawn = figures["bicycle_root_locus.png"].axes
    assert legend(drawn) == ["t = 0 s", "t = 0.6 s"]
    assert legend(axes) == ["real part", "imaginary part", "published", "stable"]
    circles = [line for line in axes.lines if line.get_marker() == "o"]
    assert len(circles) == 10
    for line in circles:
        k = int(np.argmin(np.abs(locus.values * example.bicycle.REAR_RADIUS - line.get_xdata()[0])))
        real, imaginary, *others = line.get_ydata()
        for value in (complex(real, imaginary), *others):
            assert np.abs(locus.eigenvalues[k] - value).min() < 1e-11


@pytest.mark.slow
def test_many_runs(run):
    """Every run is ok, the sample has the spread asked for, and the envelope is that of the runs."""
    example, runs, figures = run("many_runs")
    assert dict(runs.sizes) == {"run": example.RUNS, "t": 301}
    assert runs["ok"].all()
    assert runs["q1"].attrs["units"] == "rad"
    for name, length in (("la", 0.8), ("lb", 2.0), ("lc", 1.0)):
        assert float(runs[name].mean()) == pytest.approx(
            length, abs=3e-4
        )  # stratified: a mean of 200 is off by far less
        assert float(runs[name].std()) == pytest.approx(example.SPREAD, rel=0.02)
    spread = runs["q1"].std("run")
    assert float(spread[-1]) > 10 * float(spread[10])
    np.testing.assert_array_equal(runs["q1_final"], runs["q1"].isel(t=-1))
    envelope, histogram, *_ = figures["many_runs.png"].axes
    np.testing.assert_allclose(shown(envelope)[1][0][1], runs["q1"].median("run"))
    assert sum(patch.get_height() for patch in histogram.patches) == example.RUNS
    assert all("[" in axes.get_ylabel() for axes in figures["many_runs.png"].axes)


def test_fitted_double_pendulum(run):
    """The true values lie within three standard deviations, and the residuals are those of the noise."""
    example, fit, figures = run("fitted_double_pendulum")
    assert fit.success
    for name, value in example.TRUE.items():
        assert abs(fit[name] - value) < 3.0 * fit.sigma[name]
    left = fit.residuals[0][np.isfinite(fit.residuals[0])]
    assert len(left) == 540
    assert np.std(left) == pytest.approx(example.NOISE, rel=0.1)  # three standard deviations of 540 samples
    assert legend(figures["fitted_double_pendulum.png"].axes[1]) == ["data", "fit", "first values"]


def test_governor_stability(run):
    """Growth rates are those of the cubic that one finds by hand; the map shows where they change sign."""
    example, found, figures = run("governor_stability")
    for i, F in enumerate(example.LOADS):
        c = F / example.k
        s, W = np.sqrt(1 - c**2), np.sqrt(example.g / c)
        assert found.speeds[i] == pytest.approx(W, rel=1e-9)
        inertia = example.J + example.m * s**2
        coupled = example.g * s**2 / c + 4 * example.m * (W * s * c) ** 2 / inertia
        for j, b in enumerate(example.FRICTIONS):
            roots = np.roots([1.0, b / example.m, coupled, 2 * W * s**2 * c * example.k / inertia])
            assert found.growth[i, j] == pytest.approx(roots.real.max(), abs=1e-9)
    axes, drawn, bar = figures["governor_stability.png"].axes
    assert legend(drawn) == ["t = 0 s", "t = 0.1 s", "t = 0.2 s"]
    assert legend(axes) == ["Vyshnegradskii"]
    assert bar.get_ylabel() == "largest real part [1/s]"


def least_effort(motion, torque, inertia, slope, bend):
    """The least integral of the squared torque by Pontryagin's equations for I th'' + I' th'^2 / 2 = torque."""

    def rates(_, y):
        th, w, p, v = y
        I, dI, ddI = inertia(th), slope(th), bend(th)
        push = -v / (2 * I)
        turned = (push - dI * w**2 / 2) / I
        return np.array([w, turned, v * (ddI * w**2 / 2 + turned * dI) / I, -p + v * dI * w / I])

    def ends(a, b):
        return np.array([a[0], a[1], b[0] - np.pi, b[1]])

    th = motion["th"]
    costate = -2 * inertia(th) * torque
    rate = -np.gradient(costate, motion.t) + costate * slope(th) * motion["th'"] / inertia(th)
    found = solve_bvp(rates, ends, motion.t, [th, motion["th'"], rate, costate], tol=1e-8, max_nodes=20000)
    assert found.success, found.message
    t = np.linspace(0.0, 1.0, 2001)
    y = found.sol(t)
    return simpson((y[3] / (2 * inertia(y[0]))) ** 2, x=t)


def test_minimum_torque(run):
    """From rest to rest, with nearly the least effort there is, which Pontryagin's equations give independently."""
    example, found, figures = run("minimum_torque")
    motion = found.motion
    assert found.result.success
    assert motion["th"][-1] == pytest.approx(np.pi, abs=1e-6)
    assert motion["th'"][-1] == pytest.approx(0.0, abs=1e-6)
    th = sp.Symbol("th")
    ph = -sp.asin(example.r / example.l * sp.sin(th))
    x, middle = example.r * sp.cos(th) + example.l * sp.cos(ph), example.r * sp.cos(th) + example.l / 2 * sp.cos(ph)
    I = (
        example.J
        + example.m * x.diff(th) ** 2
        + 0.5 * (middle.diff(th) ** 2 + (example.l / 2 * sp.sin(ph)).diff(th) ** 2)
    )
    least = least_effort(motion, motion["torque"], *(sp.lambdify(th, I.diff(th, k)) for k in range(3)))
    assert least - 1e-6 < found.effort < 1.02 * least  # ten terms come near it from above
    assert found.cubic > 4 * found.effort
    left, right, drawn = figures["minimum_torque.png"].axes
    assert shown(drawn)[0] == ("slider-crank", "x [m]", "y [m]")
    assert (left.get_ylabel(), right.get_ylabel()) == ("torque [N m]", "crank [rad]")
    assert [text.split(":")[0] for text in legend(left)] == ["least", "cubic"]

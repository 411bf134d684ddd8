"""Blocks of runs by native code: the bits of runs made one by one, and nothing kept of a run it is not sure of."""

import numpy as np
import pytest
from numpy.polynomial import Polynomial
from sympy.physics.mechanics import dynamicsymbols

import dalembert as da
from dalembert import problems
from dalembert.analysis.sweep.native_runs import run_natively
from dalembert.analysis.sweep.request import read_study
from dalembert.analysis.sweep.study import RunRecord
from dalembert.run.batch.summits import FINE_NODES, POINTS, find_summits, find_top, guess_summit

x, vx = dynamicsymbols("x vx")


def study_of(system, names, t_end, **options):
    given = {
        "state": None, "given": None, "guess": None, "parameters": None, "t_eval": None, "events": (),
        "ingredients": (None, None, None), "outputs": ["t"],
    }  # fmt: skip
    return read_study(system, names, t_end, **{**given, **options})


def both_ways(study, rows):
    """The records that native code makes of the runs, by number, and those of the same runs one by one."""
    alone = [study.run(row, study.begin(row)) for row in rows]
    made = run_natively(study, rows, lambda _: None)
    done = np.flatnonzero(made.done).tolist()
    return {k: RunRecord(made.values[k], made.samples[k], "ok", "") for k in done}, alone


def same_bits(natively, alone):
    return all(
        alone[k].values.tobytes() == record.values.tobytes()
        and alone[k].samples.tobytes() == record.samples.tobytes()
        and alone[k][2:] == record[2:]
        for k, record in natively.items()
    )


@pytest.mark.parametrize(
    ("name", "t_end"), [("four_bar", 5.0), ("appell_hamel", 10.0), ("spatial_four_bar", 1.0), ("knife_edge", 2.0)]
)
def test_final_values_and_extrema_are_those_of_runs_one_by_one(name, t_end):
    problem = problems.get(name)
    system = problem.system()
    state, vary = problem.state(system), system.parameters[0]
    value = float(state.parameters[0])
    q, u, row = system.coordinates[0], system.speeds[-1], system.constraint_names[0]
    outputs = [da.Final(q), da.Maximum(u), da.Minimum(q), da.Maximum("energy"), da.Final("t"), da.Maximum(row)]
    study = study_of(system, (vary,), t_end, state=state, outputs=outputs)
    natively, alone = both_ways(study, value * np.linspace(0.98, 1.02, 12)[:, None])
    assert len(natively) == 12
    assert same_bits(natively, alone)


def test_samples_and_expressions_are_those_of_runs_one_by_one(track, start):
    times = np.linspace(0.1, 2.0, 9)
    outputs = ["x", x * vx, vx.diff(), "track", da.Maximum(x * vx), da.Minimum(vx.diff() ** 2), da.Final("energy")]
    study = study_of(track, ("a", "c"), 2.0, state=start, outputs=outputs, t_eval=times)
    rows = np.column_stack([np.linspace(0.5, 2.0, 10), np.linspace(0.0, 0.1, 10)])
    natively, alone = both_ways(study, rows)
    assert len(natively) == 10
    assert same_bits(natively, alone)


@pytest.mark.parametrize("integrator", [da.DOP853(rtol=1e-7), da.Tsit5(rtol=1e-6), da.KuttaMerson(), da.Automatic()])
@pytest.mark.parametrize("drift", [da.Projection(), da.NoCorrection()])
def test_adaptive_integrators_and_drift_controls(track, start, integrator, drift):
    outputs = [da.Final("x"), da.Maximum("vx")]
    study = study_of(track, ("a",), 2.0, state=start, outputs=outputs, ingredients=(None, drift, integrator))
    natively, alone = both_ways(study, np.linspace(0.5, 2.0, 6)[:, None])
    held = [k for k, record in enumerate(alone) if record.status == "ok"]
    assert list(natively) == held
    assert same_bits(natively, alone)


def test_means_crossings_and_named_outputs_are_those_of_runs_one_by_one(track, start):
    """The long interval has intervals on which polynomials of both widths do not agree, and levels never passed."""
    outputs = [
        da.Mean("x"), da.Mean(x * vx), da.Mean("tip"), da.Mean("track"), da.CrossingTime("x"),
        da.CrossingTime("x", 0.2, direction=-1), da.CrossingTime("vx", direction=1), da.CrossingTime("y", 9.0),
        da.Maximum("tip"), da.Final("y'"), da.Minimum("x''"), "tip", "P.velocity", "x'",
    ]  # fmt: skip
    for t_end, integrator in ((2.0, None), (20.0, da.DOP853(rtol=1e-8))):
        times = np.linspace(0.0, t_end, 7)
        ingredients = (None, None, integrator)
        study = study_of(track, ("a",), t_end, state=start, outputs=outputs, t_eval=times, ingredients=ingredients)
        natively, alone = both_ways(study, np.linspace(0.5, 2.0, 6)[:, None])
        held = [k for k, record in enumerate(alone) if record.status == "ok"]
        assert list(natively) == held != []
        assert same_bits(natively, alone)


@pytest.mark.parametrize("integrator", [da.RK4(0.01), da.RK4(0.013), da.DOP853(step=0.02), da.RK4(0.01, max_steps=201)])
def test_fixed_steps(track, start, integrator):
    outputs = [da.Final("x"), da.Maximum("vx"), da.Mean("y"), da.CrossingTime("x"), "x"]
    options = {"outputs": outputs, "t_eval": np.linspace(0.0, 2.0, 11), "ingredients": (None, None, integrator)}
    natively, alone = both_ways(study_of(track, ("a",), 2.0, state=start, **options), np.array([[0.5], [1.0], [1.5]]))
    held = [k for k, record in enumerate(alone) if record.status == "ok"]
    assert list(natively) == held != []
    assert same_bits(natively, alone)


def test_tolerances_vary(track, start):
    """Those that the integrator refuses are left to be refused run by run."""
    study = study_of(track, ("a", "rtol", "x"), 2.0, state=start, outputs=[da.Final("x"), da.Maximum("vx")])
    rows = np.array([[0.5, 1e-8, 0.5], [1.0, 1e-10, 0.4], [1.0, 1e-8, 0.3], [1.0, -1.0, 0.5], [1.0, 1e-10, 0.2]])
    natively, alone = both_ways(study, rows)
    assert [record.status for record in alone] == ["ok", "ok", "ok", "refused", "ok"]
    assert list(natively) == [0, 1, 2, 4]
    assert same_bits(natively, alone)


def test_runs_that_fail_or_do_not_hold_are_left_to_be_made_alone(track, start):
    """With c = 1e20 steps collapse; without corrections a loose tolerance breaks the bounds."""
    study = study_of(track, ("c",), 2.0, state=start, outputs=[da.Final("x")])
    rows = np.array([[1e-3], [1e20], [1e-3]])
    natively, alone = both_ways(study, rows)
    assert [record.status == "ok" for record in alone] == [True, False, True]
    assert list(natively) == [0, 2]
    loose = (None, da.NoCorrection(), da.DOP853(rtol=1e-3))
    study = study_of(track, ("a",), 2.0, state=start, outputs=[da.Final("x")], ingredients=loose)
    natively, alone = both_ways(study, np.array([[1.0], [1.5]]))
    assert [record.status for record in alone] == ["not held"] * 2
    assert not natively


def test_what_needs_python_is_not_made_natively(track, start):
    for options in (
        {"events": [da.Event("x", terminal=True)]},
        {"ingredients": (None, da.Baumgarte(), None)},
        {"ingredients": (None, None, da.Radau())},
        {"ingredients": (None, None, da.RK4(1e-10))},
    ):
        study = study_of(track, ("a",), 2.0, state=start, **options)
        natively, _ = both_ways(study, np.array([[1.0]]))
        assert not natively


def test_the_guess_of_a_summit_is_exact_for_polynomials_it_can_be():
    """A polynomial of degree 8 through 9 samples is itself; at its top the parabola errs by spread^2 / 4 of it."""
    rng = np.random.default_rng(3)
    t = np.sort(rng.uniform(-1.0, 1.0, 9))
    curve = Polynomial([0.0, 0.0, -1.0, 0.1, -0.2, 0.05, 0.0, 0.02, -0.03])
    y = curve(t)
    found = np.zeros(9, dtype=np.int64)
    count = find_summits(y, float(y.max()), found)
    best = max(guess_summit(t, y, int(k)) for k in found[:count])
    assert best == pytest.approx(0.0, abs=1e-9)


def test_the_top_of_chebyshev_points_is_that_of_the_polynomial():
    """The remainder of a parabola through three points h apart, f''' x (x^2 - h^2) / 6, with |f'''| < 3 h / 2 next to
    the top of a cosine, is below h^4 / 10.
    """
    values = np.cos(2.0 * (POINTS - 0.137))
    assert len(values) == FINE_NODES
    spacing = 2.0 * 2.0 / 256
    assert abs(find_top(values) - 1.0) < spacing**4 / 10 + 1e-14

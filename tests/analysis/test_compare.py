"""`compare`: every combination runs, agrees, and is told apart by what it cost and how well it held."""

import numpy as np
import pytest

import dalembert as da
from dalembert import problems


@pytest.fixture(scope="module")
def comparison():
    problem = problems.get("pendulum")
    system = problem.system()
    return da.compare(
        system,
        problem.state(system),
        1.0,
        formulations=[da.LagrangeMultipliers(), da.UdwadiaKalaba()],
        drifts=[da.Projection(), da.NoCorrection()],
        integrators=[da.DOP853(), da.RK4(1e-3)],
    )


def test_every_combination_is_there_once_and_agrees(comparison):
    combinations = {(e.formulation, e.drift, e.integrator) for e in comparison.entries}
    assert len(combinations) == len(comparison.entries) == 8
    assert all(e.ok and e.seconds > 0 and e.evaluations > 0 for e in comparison.entries)
    assert max(e.difference for e in comparison.entries) < 1e-7


def test_drift_control_shows_in_the_table(comparison):
    held = [e.position for e in comparison.entries if e.drift.startswith("Projection")]
    left = [e.position for e in comparison.entries if e.drift == "NoCorrection"]
    assert max(held) < min(left)


def test_ladder_of_a_fixed_step_shows_its_order(comparison):
    errors = [e.difference for e in comparison.ladder if e.integrator.startswith("RK4")]
    steps = [float(e.integrator[len("RK4(step=") : -1]) for e in comparison.ladder if e.integrator.startswith("RK4")]
    order = np.polyfit(np.log(steps[:3]), np.log(errors[:3]), 1)[0]
    assert 3.5 < order < 5.5


def test_a_ladder_ends_where_it_takes_long(monkeypatch):
    from dalembert.analysis import compare as module

    monkeypatch.setattr(module, "ENOUGH", 0.0)
    problem = problems.get("pendulum")
    system = problem.system()
    only = {"formulations": [da.LagrangeMultipliers()], "drifts": [da.Projection()]}
    found = da.compare(
        system, problem.state(system), 1.0, **only, integrators=[da.DOP853(), da.GeneralizedAlpha(), da.RK4(1e-3)]
    )
    kinds = [e.integrator.partition("(")[0] for e in found.ladder]
    assert kinds == ["DOP853", "GeneralizedAlpha", "RK4"]


def test_reads_as_a_table_and_can_be_drawn(comparison, tmp_path):
    text = str(comparison)
    assert "difference" in text.splitlines()[1]
    assert len(text.splitlines()) == 10
    comparison.save(tmp_path / "diagram.png")
    assert (tmp_path / "diagram.png").read_bytes().startswith(b"\x89PNG")
    assert len(comparison.to_pandas()) == 8


def test_diagram_shows_error_over_time_for_every_rung(comparison):
    axes = comparison.plot()
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    curves = {line.get_label(): line.get_xydata() for line in axes.lines}
    assert set(curves) >= {"DOP853, Projection", "RK4, Projection"}
    for name in ("DOP853", "RK4"):
        rungs = [(e.seconds, e.difference) for e in comparison.ladder if e.integrator.startswith(name)]
        np.testing.assert_array_equal(np.sort(curves[f"{name}, Projection"], axis=0), np.sort(rungs, axis=0))


def test_what_does_not_fit_is_listed_with_the_reason():
    problem = problems.get("car")  # a servo constraint: its reaction is not normal to it
    system = problem.system()
    one = {"formulations": [da.UdwadiaKalaba()], "drifts": [da.Projection()], "integrators": [da.DOP853()]}
    found = da.compare(system, problem.state(system), 0.1, **one)
    (entry,) = found.entries
    assert not entry.ok
    assert "LagrangeMultipliers" in entry.reason
    assert entry.reason in str(found)

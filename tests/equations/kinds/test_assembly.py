"""A system of kinds equals the one graph of the same statement, entry by entry."""

from __future__ import annotations

import numpy as np
import pytest
from random_assemblies import random_model

from dalembert import problems
from dalembert.equations.blocks import OF_MOTION, OF_STATE
from dalembert.equations.checks.statement import check_statement
from dalembert.equations.derived import derive
from dalembert.equations.functions import make_function
from dalembert.equations.high_order import with_lowered_constraints
from dalembert.equations.kinds import groups
from dalembert.equations.kinds.assemble import assembled
from dalembert.equations.kinds.assembly import Assembly
from dalembert.equations.massless import with_massless_coordinates
from dalembert.equations.mechanics import Mechanics
from dalembert.model.model import Model
from dalembert.native.instance_loops import compile_sum
from dalembert.native.kernel import OFTEN
from dalembert.problems.beam import beam
from dalembert.problems.ladder import ladder
from dalembert.problems.n_four_bar import n_four_bar
from dalembert.problems.net import net
from dalembert.problems.rope import rope
from dalembert.problems.vehicle_train import vehicle_train

MANY = (beam(3), ladder(5), n_four_bar(8), net(3, 4), rope(7), vehicle_train(4))
PATTERNS = ("kinematic_pattern", "position_pattern", "invariant_pattern")


def both(model: Model) -> tuple[Assembly | None, Mechanics]:
    """The assembly of a model, if it has one, and the one graph."""
    statement = with_massless_coordinates(with_lowered_constraints(model.closed()))
    assert not check_statement(statement)
    found = assembled(statement, lambda _: None)
    return found and found.assembly, derive(statement, lambda _: None).mechanics


def state_of(a: Assembly) -> np.ndarray:
    rng, s = np.random.default_rng(7), a.sizes
    state = rng.uniform(0.1, 1.2, 1 + s.q + s.u)
    return np.concatenate([state, a.defaults, rng.uniform(-1.0, 1.0, s.u + s.r)])


def check_equal(a: Assembly, m: Mechanics) -> None:
    assert a.rows == m.rows
    y = state_of(a)
    for name in (*OF_STATE, *OF_MOTION):
        point = y[: len(y) - a.sizes.u - a.sizes.r] if name in OF_STATE else y
        graph = make_function(m, name)(point).full().ravel()
        written = make_function(a.written_out, name)(point).full().ravel()
        total = a.sum_of(name)
        native = compile_sum(*total, OFTEN)(point)
        size = np.abs(graph).max(initial=1.0)
        for values in (total(point), written, native):
            np.testing.assert_allclose(values, graph, rtol=0, atol=1e-13 * size, err_msg=name)
    for name in PATTERNS:
        assert getattr(a, name) == getattr(m, name)
    for name in ("mass_rows", "mass_columns", "starts", "columns"):
        np.testing.assert_array_equal(getattr(a.saddle_pattern, name), getattr(m.saddle_pattern, name))
    assert a.trivial_kinematics == m.trivial_kinematics
    assert a.driven == m.driven


@pytest.mark.parametrize("problem", [*problems.all(), *MANY], ids=lambda problem: problem.name)
def test_the_sum_over_kinds_is_the_one_graph(problem, monkeypatch):
    monkeypatch.setattr(groups, "FEWEST_INSTANCES", 1)
    a, m = both(problem.build())
    if a is None:
        pytest.skip("holds what is no element of a kind")
    check_equal(a, m)


def check_random(seeds, monkeypatch):
    found = 0
    for seed in seeds:
        monkeypatch.setattr(groups, "FEWEST_INSTANCES", 1 + (seed % 4 == 3))
        a, m = both(random_model(seed))
        if a is not None:
            check_equal(a, m)
            found += 1
    assert found > 0.7 * len(seeds)


def test_random_models(monkeypatch):
    check_random(range(8), monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 400, 50))
def test_three_hundred_random_models(first, monkeypatch):
    check_random(range(first, first + 50), monkeypatch)

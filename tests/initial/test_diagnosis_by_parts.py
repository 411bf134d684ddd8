"""Large systems are diagnosed by parts: as small ones are as a whole, and faults among many are named."""

import numpy as np
import pytest

import dalembert as da
from dalembert import problems
from dalembert.initial import diagnosis
from dalembert.initial.diagnosis_by_parts import SparseEquations
from dalembert.problems.ladder import ladder
from dalembert.problems.n_four_bar import n_four_bar
from dalembert.problems.rope import rope
from dalembert.problems.vehicle_train import vehicle_train

FAMILIES = [n_four_bar(6), rope(4), ladder(2), vehicle_train(3)]
IDEAL = [p for p in (*problems.all(), *FAMILIES) if p.system().ideal and p.system().nc]


@pytest.mark.parametrize("problem", IDEAL, ids=lambda p: p.name)
def test_parts_tell_what_the_whole_tells(problem):
    system = problem.system()
    state = problem.state(system)
    parts, whole = SparseEquations(system, state).diagnosed(), diagnosis.diagnose(system, state)
    for name in ("counts", "ranks", "unique", "singular_mass", "determined", "degenerate", "ok", "dof"):
        assert getattr(parts, name) == getattr(whole, name), name
    assert [r.name for r in parts.redundant] == [r.name for r in whole.redundant]
    assert len(parts.massless) == len(whole.massless)


def rods(n, *, doubled="", wrong=0.0, loose=False):
    """Chains of ten rods in the plane, zigzag; a row said twice, and a particle of its own."""
    model = da.Model(f"{n} rods")
    model.gravity([0, -9.81])
    last, guess = (0, 0), {}
    for k in range(n):
        x, y = model.coordinates(f"x{k} y{k}")
        model.particle(f"P{k}", mass=1.0, position=[x, y])
        start = (k, 0) if k % 10 == 0 else last
        square = (x - start[0]) ** 2 + (y - start[1]) ** 2
        model.constrain(square - 1.09, name=f"rod{k}")
        if doubled == f"rod{k}":
            model.constrain(2 * square - 2 * 1.09 - wrong, name="again")
        last = (x, y)
        guess |= {f"x{k}": k + 1.0, f"y{k}": 0.3 if k % 2 == 0 else 0.0}
    if loose:
        x, y = model.coordinates("a b")
        model.particle("loose", mass=1.0, position=[x, y])
        model.constrain(x - y, name="slope")
    return model.compile(), guess


def state_of(system, guess):
    """The state of a guess, consistent or not."""
    q = np.array([guess.get(name, 0.0) for name in system.coordinates])
    still = np.zeros(system.nu)
    return da.State(system, 0.0, q, still, still, np.zeros(system.nc), np.array(system.parameter_defaults))


@pytest.mark.parametrize("n", [400, pytest.param(10_000, marks=pytest.mark.slow)])
def test_faults_among_many_are_named(n):
    system, guess = rods(n, doubled="rod237", wrong=0.02, loose=True)
    found = system.diagnose(state_of(system, guess))
    assert not found.ok
    assert [(r.name, r.combination) for r in found.redundant] == [("again", {"rod237": 2.0})]
    (conflict,) = found.conflicting
    assert (conflict.name, conflict.level) == ("again", "position")
    assert conflict.residual == pytest.approx(-0.02)
    assert [name for name, unique in found.unique.items() if not unique] == ["rod237", "again"]
    assert found.dof == 2 * n + 2 - (n + 1)
    assert len(found.parts) == n // 10 + 1
    smallest = found.parts[-1]
    assert (len(smallest.speeds), smallest.constraints) == (2, ("slope",))
    text = str(found)
    assert "(`slope` restrain it)" in text
    assert "`again` repeats 2 `rod237` but its position residual" in text


def test_a_sound_system_of_many_is_ok():
    system, guess = rods(300)
    found = system.diagnose(state_of(system, guess))
    assert found.ok
    assert found.redundant == ()
    assert all(found.unique.values())
    assert not found.near_singular


def test_more_dependent_rows_than_can_be_told_are_said():
    """All bars of the N-four-bar in line: as many combinations vanish as there are loops."""
    system = n_four_bar(800).system()
    q = {f"x{k}": k + 1.0 for k in range(801)}
    with pytest.raises(da.InitialStateError, match="1,601 constraints depend on each other"):
        system.diagnose(state_of(system, q))

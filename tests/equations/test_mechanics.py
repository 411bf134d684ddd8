"""The one graph of a system and the laws of its rows, against matrices written by hand."""

import pickle

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import problems
from dalembert.equations.laws import Bilateral, CoulombFriction, CurvedAcceleration, Servo

MASS, MU, SLOW = 2.0, 0.3, 1e-2


def mixed():
    """A particle in space with a row of every law that can stand side by side: track, guide (rubs), drive (servo)."""
    model = da.Model("mixed")
    x, y, z = model.coordinates("x y z")
    (push,) = model.unknowns("push")
    P = model.particle("P", mass=MASS, position=[x, y, z])
    model.gravity([0, 0, -9.81])
    model.force([push, 2 * push, 0], at=P)
    model.nonideal(force={y: -0.4 * y.diff()})
    model.constrain(z - x * y, name="track")
    guide = model.constrain(y.diff() - x, name="guide")
    model.constrain(x.diff() - 1, name="drive", servo=push)
    model.nonideal(guide, friction=MU, at=P, regularisation=SLOW)
    return model.compile()


def bent():
    """A particle whose acceleration has a given magnitude, and a row linear in u' beside it, enforced by an unknown."""
    model = da.Model("bent")
    x, y, z = model.coordinates("x y z")
    (push,) = model.unknowns("push")
    P = model.particle("P", mass=MASS, position=[x, y, z])
    model.force([0, 0, push], at=P)
    ax, ay, az = (c.diff().diff() for c in (x, y, z))
    model.constrain(ax**2 + ay**2 - 4, name="thrust")
    model.constrain(az - x, name="lift", servo=push)
    return model.compile()


def test_each_row_has_its_law():
    system = mixed()
    assert [row.law for row in system.rows] == [Bilateral(), CoulombFriction(), Servo(0)]
    assert (system.ideal, system.friction, system.curved) == (False, True, 0)
    system = bent()
    assert [row.law for row in system.rows] == [CurvedAcceleration(Bilateral()), CurvedAcceleration(Servo(0))]
    assert (system.ideal, system.friction, system.curved) == (False, False, 2)
    system = problems.get("four_bar").system()
    assert {row.law for row in system.rows} == {Bilateral()}
    assert (system.ideal, system.friction, system.curved) == (True, False, 0)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_reaction_balance_and_rows_of_mixed_laws_by_hand(sign):
    system = mixed()
    q, u, udot = np.array([0.3, -0.4, 0.8]), np.array([0.7, 0.5, -0.2]), np.array([0.1, -0.9, 0.4])
    la = np.array([1.5, sign * 2.5, -0.6])
    state = da.State(system, 0.0, q, u, udot, la, system.parameter_values())
    along = np.array([u[0], 0.0, u[2]])  # sliding: without the part along the reaction, which is along y
    rubbing = MU * along / np.sqrt(along @ along + SLOW**2)
    W = np.array([[-q[1], -q[0], 1.0], [0.0, 1.0, 0.0], [1.0, 2.0, 0.0]])
    r = W.T @ la - rubbing * abs(la[1]) + [0.0, -0.4 * u[1], 0.0]
    assert state.reactions == pytest.approx(r, abs=1e-12)
    assert state.reaction("guide") == pytest.approx(W[1] * la[1] - rubbing * abs(la[1]), abs=1e-12)
    assert state.reaction("drive") == pytest.approx(W[2] * la[2], abs=1e-12)
    left = state.residuals
    assert list(left["balance"].values()) == pytest.approx(MASS * udot + [0, 0, MASS * 9.81] - r, abs=1e-12)
    rows = [udot[2] - q[1] * udot[0] - q[0] * udot[1] - 2 * u[0] * u[1], udot[1] - u[0], udot[0]]
    assert list(left["acceleration"].values()) == pytest.approx(rows, abs=1e-12)


def test_reaction_and_rows_of_curved_accelerations_by_hand():
    system = bent()
    q, udot, la = np.array([0.3, 0.1, 0.2]), np.array([1.1, -0.7, 0.4]), np.array([0.8, -1.7])
    state = da.State(system, 0.0, q, np.zeros(3), udot, la, system.parameter_values())
    assert state.reactions == pytest.approx([2 * udot[0] * la[0], 2 * udot[1] * la[0], la[1]], abs=1e-12)
    assert state.residuals["acceleration"] == pytest.approx(
        {"thrust": udot[0] ** 2 + udot[1] ** 2 - 4, "lift": udot[2] - q[0]}, abs=1e-12
    )
    A, b, W = system.linearised_rows(0.0, q, np.zeros(3), None, more=np.concatenate([udot, la]))
    expected = np.array([[2 * udot[0], 2 * udot[1], 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(A, expected, atol=1e-12)
    assert A @ udot - b == pytest.approx(list(state.residuals["acceleration"].values()), abs=1e-12)
    assert W[1] == pytest.approx([0.0, 0.0, 1.0], abs=0)


@pytest.mark.parametrize("make", [mixed, bent, problems.get("andrews").system, problems.get("car").system])
def test_an_unpickled_system_has_the_same_graphs(make):
    system = make()
    twin = pickle.loads(pickle.dumps(system))
    assert set(twin.functions) == set(system.functions)
    for name, function in system.functions.items():
        assert twin.functions[name].serialize() == function.serialize(), name
    assert [row.law for row in twin.rows] == [row.law for row in system.rows]
    again = pickle.loads(pickle.dumps(twin))  # what was never asked for is handed on as it came
    assert again.functions["dynamics"].serialize() == system.functions["dynamics"].serialize()


def test_rows_that_are_not_kept_do_not_act():
    system = mixed()
    whole, kept = system.mechanics, system.mechanics.keeping([0, 2])
    assert [row.name for row in kept.rows] == ["track", "drive"]
    assert (kept.phi.shape, kept.psi.shape, kept.A.shape) == ((1, 1), (2, 1), (2, 3))
    rng = np.random.default_rng(4)
    y = rng.uniform(0.2, 1.0, whole.y.shape[0])
    without = y.copy()
    without[-2] = 0.0  # the multiplier of the guide, which is the second of three
    a = ca.Function("a", [whole.y], [whole.balance])(without)
    b = ca.Function("b", [kept.y], [kept.balance])(np.delete(y, len(y) - 2))
    assert a.full() == pytest.approx(b.full(), abs=1e-14)
    assert whole.keeping(None) is whole
    assert whole.keeping([]).A.shape == (0, 3)


def test_structural_zeros_are_kept():
    """In natural coordinates the row of a bar restrains its two ends, four speeds at most; so does its block of M."""
    system = problems.get("n_four_bar").system()
    m = system.mechanics
    per_row = np.diff(m.A.T.sparsity().colind())
    assert per_row.max() <= 4
    assert m.A.nnz() < m.A.numel() / 2
    assert m.M.nnz() < m.M.numel() / 2


@pytest.mark.parametrize(
    ("name", "trivial"),
    [("four_bar", True), ("asymmetric_top", False), ("chaplygin_sleigh", False)],
)
def test_speeds_that_are_the_rates_of_the_coordinates(name, trivial):
    system = problems.get(name).system()
    assert system.trivial_kinematics is trivial
    q, u = np.full(system.nq, 0.3), np.linspace(0.2, 0.9, system.nu)
    same = system.nq == system.nu and np.array_equal(system.coordinate_rates(0.0, q, u), u)
    assert same is trivial

"""Branches of equilibria past folds, against closed forms."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da

H, B, L0 = 0.6, 1.0, np.hypot(1.0, 0.6)


def truss(constrained):
    """A von Mises truss: two springs of stiffness 40 from (-b, 0) and (b, 0) to a mass at height y, pushed by P."""
    model = da.Model("truss")
    y, *more = model.coordinates("y l" if constrained else "y")
    (P,) = model.parameters(P=0.0)
    length = more[0] if constrained else sp.sqrt(B**2 + y**2)
    model.particle("M", mass=1.0, position=[0, y])
    if constrained:
        model.energy(kinetic=0.01 * more[0].diff() ** 2)
        model.constrain(more[0] ** 2 - B**2 - y**2, name="length")
    model.energy(potential=40 * (length - L0) ** 2 + P * y)
    return model.compile()


def load(y):
    """The load that keeps the mass at a height."""
    length = np.hypot(B, y)
    return -80 * (length - L0) * y / length


@pytest.mark.parametrize("constrained", [False, True], ids=["coordinate", "constraint"])
def test_a_truss_snaps_through_at_its_folds(constrained):
    """Folds at (b^2 + y^2)^(3/2) = l0 b^2; the branch passes both and goes on to the far side."""
    system = truss(constrained)
    branch = system.equilibrium(guess={"y": H, "l": L0} if constrained else {"y": H}).branch("P", (-10.0, 5.0))
    assert branch.complete
    np.testing.assert_allclose(branch.values, load(branch["y"]), atol=1e-9)
    fold = np.sqrt((L0 * B**2) ** (2 / 3) - B**2)
    assert [state["y"] for state in branch.folds] == pytest.approx([fold, -fold], abs=1e-6)
    assert [state["P"] for state in branch.folds] == pytest.approx([load(fold), load(-fold)], abs=1e-10)
    assert branch.values[-1] == pytest.approx(5.0, abs=1e-9)
    assert branch["y"][-1] < -H
    clear = np.abs(np.abs(branch["y"]) - fold) > 1e-5  # elsewhere the eigenvalues are zero to rounding
    unstable = np.array([one.verdict == "unstable" for one in branch.stability])
    np.testing.assert_array_equal(unstable[clear], (np.abs(branch["y"]) < fold)[clear])


def test_figure_and_words(tmp_path):
    branch = truss(constrained=False).equilibrium(guess={"y": H}).branch("P", (-10.0, 5.0), step=0.1)
    axes = branch.plot("y", tmp_path / "branch.png").axes[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["stable or marginal", "unstable", "fold"]
    assert (tmp_path / "branch.png").exists()
    assert "2 folds" in repr(branch)


def test_bad_requests_say_what_to_do():
    system = truss(constrained=False)
    state = system.equilibrium(guess={"y": H})
    with pytest.raises(da.OptionError, match="outside the span"):
        state.branch("P", (1.0, 2.0))
    with pytest.raises(da.OptionError, match="first must be less"):
        state.branch("P", (2.0, 1.0))
    with pytest.raises(da.UnknownNameError):
        state.branch("Q", (0.0, 1.0))
    with pytest.raises(da.OptionError, match="is accelerated"):
        system.initial({"y": 0.2}).branch("P", (-1.0, 1.0))
    model = da.Model("free")
    x, y = model.coordinates("x y")
    (k,) = model.parameters(k=1.0)
    model.particle("M", mass=1.0, position=[x, y])
    model.generalized_force({x: -k * x + 1})
    rest = model.compile().equilibrium()
    with pytest.raises(da.LinearizationError, match=r"2 directions are open here \(.*y.*hold"):
        rest.branch("k", (0.5, 3.0))
    held = rest.branch("k", (0.5, 3.0), hold="y")
    np.testing.assert_allclose(held["x"], 1 / held.values, atol=1e-10)

"""The wheelset of Simeon, Fuehrer and Rentrop beside the solution printed in the Test Set for IVP Solvers."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.problems import railway_wheelset as wheelset


@pytest.fixture(scope="module")
def system():
    return wheelset.build().compile()


@pytest.mark.parametrize("known", [(), ("y", "phi"), ("y", "phi", "psi_l", "xi_l", "psi_r", "xi_r")], ids=len)
def test_contacts_and_reactions_at_the_printed_state(system, known):
    """From any guess. DASSL held velocities and contacts to 1e-9; y sums up what its steps left: not compared."""
    guess = {"y": 0.0, "phi": 0.0} | {name: wheelset.REFERENCE[name] for name in known}
    state = system.initial(wheelset.PRINTED, guess=guess)
    for name in ("phi", "y'", "phi'", "psi_l", "xi_l", "psi_r", "xi_r"):
        assert abs(state[name] - wheelset.REFERENCE[name]) < 1e-9
    for name in ("left", "right"):
        assert state[name] == pytest.approx(wheelset.REFERENCE[name], rel=1e-7)


def test_ten_seconds_of_hunting(system):
    """Five digits of each amplitude after 48 swings; DASSL allowed an error of 1e-9 in each of its 54,229 steps."""
    state = system.initial(wheelset.GIVEN, guess=wheelset.GUESS)
    motion = system.simulate(
        state, 10.0, t_eval=np.linspace(9.0, 10.0, 201), integrator=da.DOP853(rtol=1e-10, atol=1e-13)
    )
    for name, printed in wheelset.REFERENCE.items():
        amplitude = np.abs(motion[name]).max()
        assert abs(motion[name][-1] - printed) < 1e-5 * amplitude, name


def test_creep_is_bounded_by_friction(system):
    state = system.initial(wheelset.GIVEN, guess=wheelset.GUESS)
    motion = system.simulate(state, 5.0, integrator=da.Radau(rtol=1e-6, atol=1e-9))
    for side in "lr":
        creep = np.hypot(motion[f"Tx_{side}"], motion[f"Ty_{side}"])
        assert (creep <= 0.12 * motion[f"N_{side}"] * (1 + 1e-9)).all()
    assert motion.certificate.ok, motion.certificate


def explicit_normal_forces(_, wheels):
    """Both normal forces solved for by hand: creep forces are expressions of states and multipliers alone."""
    left, right = wheels
    away = left.slope * left.multiplier + right.slope * right.multiplier
    up, both = -left.multiplier - right.multiplier, sp.sin(left.delta + right.delta)
    return [
        (up * sp.sin(right.delta) - away * sp.cos(right.delta)) / both,
        (up * sp.sin(left.delta) + away * sp.cos(left.delta)) / both,
    ]


def test_compiling_differentiates_nothing_by_sympy(monkeypatch, bounded):
    """Roots of states bend nothing at a known time: their arguments, large here, are left alone."""
    monkeypatch.setattr(wheelset, "_normal_forces", explicit_normal_forces)
    model, asked = wheelset.build(), []
    monkeypatch.setattr(sp.Expr, "diff", lambda *_, **__: asked.append("derivative"))
    with bounded():
        system = model.compile()
    assert not asked
    assert system.nc == 2 + 4 + 4

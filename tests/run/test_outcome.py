"""What a run that is stuck says of the place where it is."""

import numpy as np
import pytest
import sympy as sp
from one_mass import moved_by

import dalembert as da
from dalembert.problems.n_four_bar import n_four_bar
from dalembert.run.engine import Engine
from dalembert.run.outcome import ending
from dalembert.run.status import Status
from dalembert.run.time_loop.march import Samples


def end_at(system, start, z, status=Status.STEP_COLLAPSE, t=2.0):
    """The message of a run from `start` that was stuck at t and z = (q, u)."""
    engine = Engine(system, system.parameter_values(None), da.LagrangeMultipliers(), da.NoCorrection())
    whole = np.zeros(engine.nz)
    whole[: engine.size] = z
    samples = Samples(t=np.zeros(0), z=np.zeros((0, engine.nz)), status=status, stats={}, end=(t, whole))
    return ending(engine, samples, 0.0, np.asarray(start, dtype=float))


def four_bars(angle):
    """Two parallelograms of rods of length 1 at rest, inclined by an angle to the line of their pivots; (q, u)."""
    system = n_four_bar(2).system()
    values = {f"x{k}": k + np.cos(angle) for k in range(3)} | {f"y{k}": np.sin(angle) for k in range(3)}
    return system, np.array([values.get(name, 0.0) for name in (*system.coordinates, *system.speeds)])


@pytest.mark.parametrize("status", [Status.STEP_COLLAPSE, Status.NOT_CONVERGED])
def test_a_singular_position_is_named(status):
    """Near it the reciprocal condition falls with the square of the angle."""
    system, start = four_bars(1.0)
    message = end_at(system, start, four_bars(1e-4)[1], status)
    assert message.startswith(f"{status.message} (t = 2; at a singular position: `")
    assert "at a singular position: `" not in end_at(system, start, four_bars(0.5)[1], status)


def test_constraints_that_were_dependent_from_the_start_are_not_the_reason():
    system, start = four_bars(0.0)
    assert "at a singular position: `" not in end_at(system, start, four_bars(1e-4)[1])


def test_rods_that_become_too_short_are_named():
    """One is held, one pulled away: at t = 2 both are in line, and nothing satisfies them from there on."""
    model = da.Model("rods")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1.0, position=[x, y])
    model.constrain(x**2 + y**2 - 1, name="held")
    model.constrain((x - 1 - model.t / 2) ** 2 + y**2 - 1, name="pulled")
    system = model.compile()
    motion = system.simulate(system.initial({}, guess={x: 0.5, y: 0.8}), 5.0)
    assert not motion.certificate.ok
    assert motion.t[-1] == pytest.approx(2.0, abs=1e-6)
    assert "at a singular position: `held`, `pulled` become dependent there" in motion.message
    assert "use Projection()" not in str(motion.certificate)  # which it does


def test_what_grows_without_bound_is_named_with_its_rate():
    """v' = v^2 from v = 1 has a pole: v = 1 / (1 - t), x = log v, and at v = 1e6 the speed doubles in a microsecond."""
    message = end_at(moved_by(lambda _x, v: v**2), [0, 1], [np.log(1e6), 1e6], t=1.0 - 1e-6)
    assert "`v` grows without bound: it is 1e+06 and at this rate doubles in 1.0e-06" in message


def test_equations_that_are_not_finite_ahead_are_told():
    """The square root of a distance that the next moment makes negative."""
    system = moved_by(lambda x, _v: x**0.5)
    assert "just after it the equations give a value that is not finite" in end_at(system, [1, 0], [1e-13, -1.0])


def repeated_drive(level, nonzero):
    """A point that two rows drive alike until t = 1, when one of them begins to ask for more."""
    model = da.Model("repeated drive")
    x, y = model.coordinates("x y")
    model.speeds("vx vy")
    t = model.t
    model.particle("P", mass=1.0, position=[x, y])
    stated = {"position": x - t, "velocity": x.diff(t) - 1}[level]
    model.constrain(stated, name="first")
    model.constrain(y - 2 * t, name="other")
    model.constrain(3 * stated - sp.Piecewise((0, t < 1), (nonzero * (t - 1) ** 3, True)), name="again")
    return model.compile()


@pytest.mark.parametrize("level", ["position", "velocity"])
@pytest.mark.parametrize(
    "integrator", [da.Automatic(), da.Radau(), da.IDA(), da.StateSpaceSVD(), da.GeneralizedAlpha()], ids=repr
)
def test_constraints_that_begin_to_contradict_each_other_are_named(level, integrator):
    system = repeated_drive(level, 1)
    motion = system.simulate(system.initial({}), 2.0, integrator=integrator)
    assert not motion.certificate.ok
    assert "the constraints contradict each other" in motion.message
    assert "`again` repeats 3 `first` but its velocity residual is" in motion.message
    assert "`other`" not in motion.message
    assert "cannot move on" not in motion.message
    assert "generalised reactions are unique" not in str(motion.certificate)
    assert 1.0 < motion.t[-1] < 1.02  # they are 1e-5 apart then
    agreeing = repeated_drive(level, 0)
    motion = agreeing.simulate(agreeing.initial({}), 2.0, integrator=integrator)
    assert motion.certificate.ok, motion.certificate
    assert "the motion and the generalised reactions are unique" in str(motion.certificate)


def test_chattering_is_named_where_newton_does_not_converge():
    system = moved_by(lambda _, v: -sp.sign(v))
    assert "chattering: the rate of `v` jumps between -1 and 1" in end_at(system, [0, 1], [0, 0], Status.NOT_CONVERGED)

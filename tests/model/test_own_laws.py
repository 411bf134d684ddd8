"""A law of one's own: one class and a verb, here and nowhere else, against closed forms and what the library has."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelError
from dalembert.model.laws import IDEAL, EnforcedBy, Implied, Law

G, MASS, MU = 9.81, 2.0, 0.3
WAYS = {
    "usual": {},
    "null space": {"formulation": da.NullSpace()},
    "Baumgarte": {"formulation": da.NullSpace(reduced=False), "drift": da.Baumgarte(10, 25)},
    "implicit": {"integrator": da.Radau()},
}


@dataclass(frozen=True)
class Leaning(Law):
    """A reaction in the plane that leans to the left of the gradient: la (n + slope t), t at a right angle to n."""

    slope: float
    kind = "leaning"

    def direction(self, gradient, B):  # noqa: ARG002 - every law is asked alike
        """A_k turned and stretched, (1, 2)."""
        return gradient @ np.array([[1.0, self.slope], [-self.slope, 1.0]])


def lean(model, expression, slope, **options):
    """The verb: a constraint whose reaction leans."""
    return model.constrain(expression, law=Leaning(slope), **options)


def particle(height):
    """A particle P in the plane under gravity; `height(model, x, y, P)` states what holds it."""
    model = da.Model("particle")
    x, y = model.coordinates("x y")
    model.speeds("vx vy")
    P = model.particle("P", mass=MASS, position=[x, y])
    model.gravity([0, -G])
    height(model, x, y, P)
    return model


def floor(model, _x, y, _P):
    lean(model, y, MU, name="floor")


def hollow(model, x, y, _P):
    lean(model, y - x**2 / 2, MU, name="hollow")


def rubbed_hollow(model, x, y, P):
    track = model.constrain(y - x**2 / 2, name="hollow")
    model.nonideal(track, friction=MU, at=P, regularisation=1e-9)


@pytest.mark.parametrize("way", WAYS)
def test_a_particle_on_a_floor_whose_reaction_leans_back_is_slowed_down(way):
    """La = m g, and the part along the floor, - mu m g, does the work that the motion loses."""
    system = particle(floor).compile()
    state = system.initial({"x": 0.0, "vx": 3.0})
    np.testing.assert_allclose(state.multipliers, [MASS * G], rtol=1e-14)
    np.testing.assert_allclose(state.reactions, [-MU * MASS * G, MASS * G], rtol=1e-14)
    t = np.linspace(0.0, 1.0, 5)
    motion = system.simulate(state, 1.0, t_eval=t, **WAYS[way])
    np.testing.assert_allclose(motion["x"], 3.0 * t - MU * G * t**2 / 2, atol=1e-12)
    np.testing.assert_allclose(motion.reactions, np.tile([-MU * MASS * G, MASS * G], (5, 1)), rtol=1e-12)
    np.testing.assert_allclose(motion.work, -MU * MASS * G * motion["x"], atol=1e-10)
    assert motion.certificate.ok
    assert [(power.name, power.kind) for power in motion.certificate.powers] == [("floor", "leaning")]


@pytest.mark.parametrize("way", WAYS)
def test_in_a_hollow_it_is_friction_as_long_as_the_particle_slides_one_way(way):
    leaning, rubbed = particle(hollow).compile(), particle(rubbed_hollow).compile()
    start = {"x": -1.0, "vx": 2.0}
    motion = leaning.simulate(leaning.initial(start), 0.4, t_eval=[0.4], **WAYS[way])
    known = rubbed.simulate(rubbed.initial(start), 0.4, t_eval=[0.4])
    assert known["vx"][0] > 0.5  # the friction of the library changes its sign with the velocity
    np.testing.assert_allclose(motion.q, known.q, atol=1e-8)
    np.testing.assert_allclose(motion.reactions, known.reactions, atol=1e-6)
    assert motion.certificate.ok


def test_it_can_be_judged_written_out_and_sent_on():
    system = particle(hollow).compile()
    assert [row.law for row in system.rows] == [Leaning(MU)]
    assert not system.ideal
    assert system.works
    state = system.initial({"x": -1.0, "vx": 2.0})
    assert system.diagnose(state).unique == {"hollow": True}
    twin = pickle.loads(pickle.dumps(system))
    np.testing.assert_array_equal(twin.initial({"x": -1.0, "vx": 2.0}).udot, state.udot)
    written = system.equations()
    values = {"x": -1.0, "y": 0.5, "vx": 2.0, "vy": -2.0}
    symbols = [*written.coordinates, *written.speeds]
    udot = written.udot.subs({symbol: values[symbol.func.__name__] for symbol in symbols})
    np.testing.assert_allclose([float(value) for value in udot], state.udot, rtol=1e-12)


def test_a_formulation_without_reactions_of_this_kind_refuses():
    system = particle(floor).compile()
    with pytest.raises(da.PairingError, match="normal to their constraints"):
        system.simulate(system.initial({"x": 0.0, "vx": 3.0}), 1.0, formulation=da.UdwadiaKalaba())


def test_rows_of_a_list_have_the_law_each():
    model = particle(lambda model, x, y, _P: lean(model, [y, x.diff() - 2], 0.0, name="rows"))
    system = model.compile()
    assert [row.law for row in system.rows] == [Leaning(0.0)] * 2
    assert {c.servo for c in model.statement.constraints} == {None}


def test_each_verb_states_its_law():
    model = da.Model("laws")
    x, y = model.coordinates("x y")
    (F,) = model.unknowns("F")
    assert model.constrain(x).law is IDEAL
    assert model.constrain(y, servo=F).law == EnforcedBy(F)
    assert model.condition(x - y).law == Implied()
    law = model.law(F - x, determines=F)
    assert (law.servo, law.law.restrains, law.law.reacts) == (F, False, True)


def test_what_is_no_law_is_refused():
    def stated(law, **options):
        return particle(lambda model, _x, y, _P: model.constrain(y, name="floor", law=law, **options))

    for wrong in ("leaning", Leaning):
        with pytest.raises(ModelError, match=r"`floor`: law=.* is not a law; pass a value of a class derived from Law"):
            stated(wrong).compile()
    with pytest.raises(ModelError, match="`floor` takes one of servo= and law=, got both"):
        stated(Leaning(MU), servo="F").compile()


def test_friction_does_not_go_with_it():
    def rubbed(model, _x, y, P):
        model.nonideal(lean(model, y, MU, name="floor"), friction=0.1, at=P)

    with pytest.raises(ModelError, match="friction on `floor`: friction goes with an ideal reaction"):
        particle(rubbed).compile()


def test_nor_with_a_condition_which_has_no_reaction():
    def rubbed(model, _x, y, P):
        model.nonideal(model.condition(y, name="floor"), friction=0.1, at=P)

    with pytest.raises(ModelError, match="friction on `floor`: friction goes with an ideal reaction"):
        particle(rubbed).compile()


def test_a_model_file_cannot_say_it(tmp_path):
    model = particle(floor)
    with pytest.raises(ModelError, match=r"Leaning\(slope=0.3\) cannot be written to a model file"):
        model.to_toml(tmp_path / "model.toml")


def test_a_law_says_its_direction():
    class Nowhere(Law):
        pass

    with pytest.raises(TypeError, match="direction"):
        Nowhere()

"""`outputs=`: what is kept is what the whole motion has, and nothing else is there."""

import pickle

import numpy as np
import pytest
from kept_motions import Elsewhere, certificates_agree
from test_motion_is_data import pendulum, start

import dalembert as da

TIMES = np.linspace(0.0, 4.0, 1001)
KEYS = ("B_x", "B_x'", "B_wy'", "hinge.angle", "hinge.rate", "B.position", "hinge[0]", "swing", "reaction(B_wy)")
INTEGRATORS = (
    None, da.DOP853(), da.Tsit5(), da.KuttaMerson(), da.RK4(step=2e-3), da.Radau(), da.GeneralizedAlpha(step=2e-3),
    da.StateSpaceSVD(), da.IDA(),
)  # fmt: skip


pytestmark = pytest.mark.usefixtures("small_blocks")


# -- values ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("times", [TIMES, None], ids=["times asked for", "every step"])
@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: type(i).__name__)
def test_values_and_certificate_are_those_of_the_whole_motion(swung, integrator, times):
    system, state = swung
    whole = system.simulate(state, 4.0, t_eval=times, integrator=integrator)
    kept = system.simulate(state, 4.0, t_eval=times, integrator=integrator, outputs=KEYS)
    np.testing.assert_array_equal(kept.t, whole.t)
    for key in KEYS:
        size = np.abs(whole[key]).max()
        np.testing.assert_allclose(kept[key], whole[key], rtol=0, atol=1e-13 * size, err_msg=key)
    assert np.abs(kept["hinge.angle"]).max() > 2 * np.pi  # turns were counted
    certificates_agree(kept, whole)


def test_sparse_samples_count_turns_between_them(swung):
    system, state = swung
    few = TIMES[::50]
    whole, kept = (system.simulate(state, 4.0, t_eval=few, **more) for more in ({}, {"outputs": ["hinge.angle"]}))
    np.testing.assert_allclose(kept["hinge.angle"], whole["hinge.angle"], rtol=0, atol=1e-12)


def test_turns_between_samples_take_one_run_from_each_sample(swung, monkeypatch):
    """Stiff runs have thousands of steps between two samples: a run for each of them would cost the square of that."""
    from dalembert.run.recipe import Recipe

    system, state = swung
    motion, made = system.simulate(state, 4.0, t_eval=[0.0, 2.0, 4.0]), []
    assert motion.stats["steps"] > 50
    engine = Recipe.engine
    monkeypatch.setattr(Recipe, "engine", lambda *given: made.append(1) or engine(*given))
    closely = motion.resampled(np.linspace(0.0, 4.0, 301))
    assert len(made) == 2
    whole = system.simulate(state, 4.0, t_eval=closely.t)
    np.testing.assert_allclose(closely.q, whole.q, rtol=0, atol=1e-8 * np.abs(whole.q).max())
    motion["hinge.angle"]
    ran = len(made)
    motion["hinge.angle"]
    assert len(made) == ran  # what was found between the samples is kept


def test_names_symbols_expressions_and_lists_are_kept():
    model = da.Model("particle")
    x, y = model.coordinates("x y")
    m, g = model.parameters(m=2.0, g=9.81)
    model.particle("P", mass=m, position=[x, y])
    model.gravity([0, -g])
    model.output("tip", {"x": x + 1, "y": y * 2})
    model.constrain(y - x**2, name="track")
    system = model.compile()
    state = system.initial({x: 1.0, x.diff(): 0.0}, guess={y: 1.0})
    energy = m * (x.diff() ** 2 + y.diff() ** 2) / 2 + m * g * y
    whole = system.simulate(state, 3.0)
    kept = system.simulate(state, 3.0, outputs=[x, "tip", x + y, [x.diff(), "track"], energy, x])
    assert kept.outputs[:3] == ("x", "tip", "x + y")
    for key in (
        "x",
        x,
        "tip",
        x + y,
        y + x,
        "x'",
        x.diff(),
        "track",
        energy,
        ["x", "track"],
        [[x, x + y]],
        "t",
        "m",
        m,
    ):
        np.testing.assert_array_equal(kept[key], whole[key], err_msg=str(key))
    np.testing.assert_array_equal(kept.t, whole.t)
    np.testing.assert_array_equal(kept["tip.y"], whole["tip.y"])
    for key in ("y", x * y, "y'"):
        with pytest.raises(da.NotKeptError, match=r"not kept: outputs= asked for x, tip, x \+ y"):
            kept[key]
    with pytest.raises(da.UnknownNameError, match="`nothing` is not known"):
        kept["nothing"]


def test_the_last_state_is_there_to_go_on_from():
    system = pendulum()
    whole = system.simulate(start(system), 2.0)
    kept = system.simulate(start(system), 2.0, outputs=["x"])
    first, second = (system.simulate(motion.at(2.0), 3.0) for motion in (whole, kept))
    np.testing.assert_array_equal(first.q, second.q)
    with pytest.raises(da.NotKeptError, match=r"the state at t = 1 was not kept.*motion.at\(motion.t\[-1\]\)"):
        kept.at(1.0)


# -- options -----------------------------------------------------------------------------------------------------------


def test_events_that_record_and_that_end(swung):
    system, state = swung
    for event in (da.Event("B_x", name="through"), da.Event("B_z", name="level", terminal=True)):
        for integrator in (None, da.Radau()):
            options = {"events": [event], "integrator": integrator}
            whole, kept = (system.simulate(state, 4.0, **options, **more) for more in ({}, {"outputs": ["B_x"]}))
            assert kept.message == whole.message
            assert [(o.name, o.t) for o in kept.events] == [(o.name, o.t) for o in whole.events] != []
            np.testing.assert_array_equal(kept["B_x"], whole["B_x"])
            certificates_agree(kept, whole)


def test_parameters_and_a_later_start():
    system = pendulum()
    options = {"parameters": {"m": 3.0, "c": 0.5}}
    whole, kept = (
        system.simulate(start(system), (1.0, 4.0), **options, **more) for more in ({}, {"outputs": ["rod", "m"]})
    )
    np.testing.assert_array_equal(kept["rod"], whole["rod"])
    assert kept["m"][0] == 3.0
    certificates_agree(kept, whole)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"store": "m"}, "store= keeps all of them on disk: leave one"),
        ({"sensitivities": ["m"]}, "sensitivities= belong to all of them"),
        ({"events": [da.Every(0.1, then=lambda s: s, name="tick")]}, "event `tick` makes a sequence"),
        ({"integrator": Elsewhere()}, r"Elsewhere hands them over at its end: use an integrator such as DOP853\(\)"),
        ({"drift": da.Baumgarte()}, "the gains of Baumgarte follow the steps of Automatic"),
        ({"store": "m", "sensitivities": ["m"]}, "store= keeps .*; sensitivities= belong"),
    ],
)
def test_what_does_not_go_together_is_refused_by_name(options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    system = pendulum()
    with pytest.raises(da.PairingError, match=message):
        system.simulate(start(system), 1.0, outputs=["x"], **options)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    "options", [{"drift": da.Baumgarte(20, 100)}, {"drift": da.Baumgarte(), "integrator": da.RK4(step=1e-3)}]
)
def test_gains_that_do_not_follow_the_steps_are_fine(options):
    system = pendulum()
    whole, kept = (system.simulate(start(system), 2.0, **options, **more) for more in ({}, {"outputs": ["rod"]}))
    np.testing.assert_array_equal(kept["rod"], whole["rod"])
    certificates_agree(kept, whole)


def test_unknown_outputs_are_refused_before_the_run(monkeypatch):
    system = pendulum()
    monkeypatch.setattr(da.DOP853, "run", lambda *_: pytest.fail("it has begun"))
    options = {"integrator": da.DOP853()}
    with pytest.raises(da.UnknownNameError, match=r"`rood` is not known.* did you mean `rod`"):
        system.simulate(start(system), 1.0, outputs=["x", "rood"], **options)
    with pytest.raises(da.OptionError, match=r"(?s)2 of the outputs= of `pendulum` .*1. `rood`.*2. `z`"):
        system.simulate(start(system), 1.0, outputs=["x", "rood", ["z"]], **options)
    with pytest.raises(da.OptionError, match="outputs= is empty"):
        system.simulate(start(system), 1.0, outputs=[], **options)
    with pytest.raises(da.OptionError, match=r"write outputs=\['x'\]"):
        system.simulate(start(system), 1.0, outputs="x", **options)


# -- what a motion does ------------------------------------------------------------------------------------------------


def test_it_is_shown_and_tabled():
    system = pendulum()
    whole, kept = (system.simulate(start(system), 2.0, **more) for more in ({}, {"outputs": ["x", "rod"]}))
    assert (
        repr(kept)
        == f"MotionOutputs of 'pendulum': x, rod at {len(whole)} samples, t = 0 .. 2; " + repr(whole).partition("; ")[2]
    )
    assert "rod" in kept._repr_html_()
    np.testing.assert_array_equal(kept.to_pandas()["rod"], whole["rod"])
    assert list(kept.to_pandas("m").columns) == ["x", "rod", "m"]
    np.testing.assert_array_equal(kept.to_xarray()["x"], whole["x"])
    assert kept.to_xarray().attrs["certificate"] == whole.certificate.verdict
    assert [line.get_label() for line in kept.plot().axes[0].lines] == ["x", "rod"]
    assert len(kept.plot(names=["x"]).axes[0].lines) == 1
    assert (kept.stats, kept.success, kept.message, kept.method) == (whole.stats, True, whole.message, whole.method)
    assert "q" not in dir(kept)


def test_it_is_written_as_text(tmp_path):
    system = pendulum()
    kept = system.simulate(start(system), 1.0, outputs=["x", "rod"])
    lines = kept.to_csv(tmp_path / "m.csv").read_text().splitlines()
    assert lines[0] == "t,x,rod"
    np.testing.assert_array_equal(np.loadtxt(lines[1:], delimiter=",")[:, 2], kept["rod"])


@pytest.mark.parametrize(
    "name",
    [
        "q",
        "u",
        "udot",
        "multipliers",
        "reactions",
        "energy",
        "energy_balance",
        "violation",
        "work",
        "evaluation",
        "unique",
    ],
)
def test_what_was_not_kept_is_not_there(name):
    kept = pendulum().simulate(start(pendulum()), 1.0, outputs=["x"])
    with pytest.raises(
        da.NotKeptError, match=f"`{name}` was not kept: outputs= asked for x only; .*leave outputs= out"
    ):
        getattr(kept, name)
    assert not hasattr(kept, name)


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: m.animate(), lambda m: m.report("r.html"), lambda m: m.save("m.npz"),
        lambda m: m.sample("x", [0.5]), lambda m: m.resampled([0.5]), lambda m: m.reaction("rod"),
        lambda m: m.sensitivity("x", "m"), lambda m: m.joint_reaction("hinge"),
    ],
)  # fmt: skip
def test_what_needs_samples_says_so(ask):
    kept = pendulum().simulate(start(pendulum()), 1.0, outputs=["x"])
    with pytest.raises(da.NotKeptError, match=r"what `\w+` needs was not kept"):
        ask(kept)


def test_slips_get_advice():
    kept = pendulum().simulate(start(pendulum()), 1.0, outputs=["x"])
    with pytest.raises(AttributeError, match=r"write motion\['x'\]"):
        kept.x  # noqa: B018


def test_a_copy_through_a_pickle_is_the_same():
    model = da.Model("free")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1.0, position=[x, y])
    model.gravity([0, -9.81])
    system = model.compile()
    state = system.initial({x: 0, y: 0, x.diff(): 1, y.diff(): 2})
    kept = system.simulate(state, 1.0, outputs=[x + y, "x"])
    kept.certificate  # noqa: B018 - what was computed does not travel
    copy = pickle.loads(pickle.dumps(kept))
    np.testing.assert_array_equal(copy[x + y], kept[x + y])
    assert str(copy.certificate) == str(kept.certificate)
    with pytest.raises(da.NotKeptError) as refused:
        copy.q  # noqa: B018
    error = pickle.loads(pickle.dumps(refused.value))
    assert (error.kept, str(error)) == (("x + y", "x"), str(refused.value))

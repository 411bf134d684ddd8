"""Live pages: what they compute in node is the native motion; what they refuse, they refuse with a reason."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
import sympy as sp
from mechanisms import mechanism
from typer.testing import CliRunner

import dalembert as da
from dalembert.cli import app
from dalembert.view.page import read_part

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="no node on this machine to run JavaScript with")
SLIDERS = {
    "four_bar": ["la", "m", "q1"],
    "appell_hamel": ["m", "rho", "u1"],
    "slider_crank": ["L", "R", "alpha"],
    "bicycle": ["mframe", "u2"],
}
PROGRAM = """
const runs = makeRuns(facts, kernels), solver = runs.first, task = %s;
const z = Float64Array.from(facts.z), p = Float64Array.from(facts.p);
for (const [k, v] of Object.entries(task.p)) p[k] = v;
for (const [k, v] of Object.entries(task.z)) z[k] = v;
const stuck = solver.makeConsistent(facts.t0, z, p, facts.held);
const run = runs.follow(z, p, [task.times[0], task.times[task.times.length - 1]], {patience: 60000});
const {problem, ending, happened} = run;
const rows = task.times.filter((t) => t <= run.reached).map((t) => [...run.at(t).z]);
console.log(JSON.stringify({stuck, z: [...z], problem, ending, happened, rows}));
"""


def scripts_of(path):
    """The facts as an object and the kernels as text."""
    found = re.findall(r"<script[^>]*>(.*?)</script>", path.read_text(encoding="utf-8"), re.DOTALL)
    return json.loads(found[0]), found[1]


def computed(path, times, parameters=None, start=None):
    """The start and the motion that the page makes of changed values by index."""
    facts, kernels = scripts_of(path)
    task = {"p": parameters or {}, "z": start or {}, "times": list(times)}
    parts = "".join(read_part(f"{name}.js") for name in ("linear", "laws", "solver", "runs"))
    program = f"{kernels}\nconst facts={json.dumps(facts)};\n{parts}\n{PROGRAM % json.dumps(task)}"
    source = path.with_suffix(".js")
    source.write_text(program, encoding="utf-8")
    done = subprocess.run(["node", str(source)], capture_output=True, text=True, check=True, timeout=120)
    return json.loads(done.stdout)


def difference(rows, wanted):
    """The largest difference, relative to the size of each variable where that is above one."""
    return (np.abs(np.array(rows) - wanted) / np.maximum(1.0, np.abs(wanted).max(axis=0))).max()


@needs_node
@pytest.mark.parametrize("name", SLIDERS)
def test_the_page_computes_the_native_motion(name, tmp_path):
    """The goal of the page: 1e-9 over 10 s; both integrate to 1e-12 a step."""
    system, state = mechanism(name)
    path = system.live(tmp_path / "live.html", state, sliders=SLIDERS[name], t_end=10.0)
    assert path.stat().st_size < 1_000_000
    times = np.linspace(0.0, 10.0, 101)
    found = computed(path, times)
    assert (found["stuck"], found["problem"]) == ("", "")
    native = system.simulate(state, 10.0, t_eval=times, integrator=da.DOP853(rtol=1e-12, atol=1e-13))
    assert difference(found["rows"], np.hstack([native.q, native.u])) < 1e-9


@needs_node
@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [("four_bar", "la", 0.7), ("slider_crank", "R", 0.5), ("appell_hamel", "rho", 4.0), ("bicycle", "mframe", 60.0)],
)
def test_a_changed_parameter_starts_as_initial_would(name, parameter, value, tmp_path):
    """Given values stay and determine the rest, so the start is that of `initial`, found by other means."""
    system, state = mechanism(name)
    path = system.live(tmp_path / "live.html", state, sliders=[parameter], t_end=1.0)
    found = computed(path, [0.0, 1.0], {system.parameters.index(parameter): value})
    given = {key: state[key] for key in state.report.given}
    wanted = system.initial(given, guess=state, parameters={parameter: value})
    assert found["stuck"] == ""
    assert difference([found["z"]], wanted.z[None]) < 1e-10
    native = system.simulate(wanted, 1.0, t_eval=[0.0, 1.0])
    assert difference(found["rows"], np.hstack([native.q, native.u])) < 1e-8


@needs_node
def test_a_moved_coordinate_starts_as_initial_would(tmp_path):
    system, state = mechanism("four_bar")
    path = system.live(tmp_path / "live.html", state, sliders=["q1"], t_end=1.0)
    found = computed(path, [0.0, 1.0], start={0: 0.6})
    assert difference([found["z"]], state.with_(q1=0.6, u1=0.0).z[None]) < 1e-10


@needs_node
def test_a_linkage_that_cannot_close_says_which_constraint_is_open(tmp_path):
    system, state = mechanism("slider_crank")
    path = system.live(tmp_path / "live.html", state, sliders={"R": (0.1, 3.0)}, t_end=1.0)
    found = computed(path, [0.0, 1.0], {system.parameters.index("R"): 2.5})
    assert found["stuck"]["name"].startswith("loop")
    assert abs(found["stuck"]["gap"]) > 0.1


def natural_pendulum(repeated):
    """A pendulum in x, y, its length constraint stated once or also in other words."""
    model = da.Model("natural pendulum")
    x, y = model.coordinates("x y")
    model.particle("P", mass=2.0, position=[x, y])
    model.gravity([0, -9.81])
    model.constrain(x**2 + y**2 - 1, name="length")
    if repeated:
        model.constrain((x**2 + y**2 - 1) * (3 + x), name="again")
    system = model.compile()
    return system, system.initial({"x": 0.8, "x'": 0.0}, guess={"y": -0.6})


@needs_node
@pytest.mark.parametrize("case", ["quaternion", "redundant"])
def test_unit_quaternions_and_redundant_constraints(case, tmp_path):
    """A body whose attitude is a quaternion; and a repeated constraint, where the page has to find the rank."""
    system, state = mechanism("asymmetric_top") if case == "quaternion" else natural_pendulum(repeated=True)
    assert len(system.invariants) == (case == "quaternion")
    path = system.live(tmp_path / "live.html", state, t_end=2.0)
    times = np.linspace(0.0, 2.0, 11)
    found = computed(path, times)
    once = natural_pendulum(repeated=False) if case == "redundant" else (system, state)
    native = once[0].simulate(once[1], 2.0, t_eval=times, integrator=da.DOP853(rtol=1e-12, atol=1e-13))
    assert difference(found["rows"], np.hstack([native.q, native.u])) < 1e-9


def test_what_a_page_cannot_do_is_refused(tmp_path):
    system, state = mechanism("four_bar")
    with pytest.raises(da.UnknownNameError, match="mass"):
        system.live(tmp_path / "x.html", state, sliders=["mass"])
    with pytest.raises(da.OptionError, match=r"must contain the value 0\.8"):
        system.live(tmp_path / "x.html", state, sliders={"la": (1.0, 2.0)})
    with pytest.raises(da.OptionError, match=r"`q2` cannot have a slider beside `q1`"):
        system.live(tmp_path / "x.html", state, sliders=["q1", "q2"])
    with pytest.raises(da.OptionError, match="is not after t0"):
        system.live(tmp_path / "x.html", state, t_end=0.0)
    with pytest.raises(da.FileError, match="cannot be written"):
        system.live(tmp_path / "missing" / "x.html", state)
    assert not list(tmp_path.iterdir())


def test_a_slider_of_another_coordinate_replaces_the_given_one(tmp_path):
    """q1 was given; a slider of q2 holds that instead, because the linkage has one degree of freedom."""
    system, state = mechanism("four_bar")
    facts, _ = scripts_of(system.live(tmp_path / "live.html", state, sliders=["q2"]))
    assert (facts["held"]["q"], facts["held"]["u"]) == ([1], [0])


def test_the_command_line_writes_a_live_page(tmp_path):
    target = tmp_path / "page.html"
    result = CliRunner().invoke(app, ["live", "four_bar", "--slider", "la", "--set", "g=1.62", "--out", str(target)])
    assert result.exit_code == 0, result.output
    facts, _ = scripts_of(target)
    assert [slider["name"] for slider in facts["sliders"]] == ["la"]
    assert 1.62 in facts["p"]
    wrong = CliRunner().invoke(app, ["live", "four_bar", "--slider", "lq", "--out", str(target)])
    assert wrong.exit_code == 2
    assert "`lq` is not known" in " ".join(wrong.output.split())


def pushed(along):
    """A particle that is pushed within 1 ms of time (`along` "t") or 1 mm of its way ("x")."""
    model = da.Model("pushed")
    (x,) = model.coordinates("x")
    (w,) = model.parameters(w=1e-3)
    model.particle("P", mass=1.0, position=[x, 0])
    model.line([[x, 0], [x + 1, 0]])
    place = {"t": model.t, "x": x}[along]
    model.generalized_force({x: sp.exp(-(((place - sp.Float(7.37)) / w) ** 2))})
    return model.compile()


@needs_node
def test_a_push_of_a_millisecond_is_computed(tmp_path):
    """The frames of the page are 33 times as long."""
    system = pushed("t")
    path = system.live(tmp_path / "live.html", system.initial({"x": 0.0, "x_dot": 0.0}), t_end=10.0)
    speed = 1e-3 * np.sqrt(np.pi)
    assert computed(path, [0.0, 10.0])["rows"][1] == pytest.approx([speed * (10 - 7.37), speed], rel=1e-9)
    assert "short features" not in scripts_of(path)[0]["caption"]


@pytest.mark.parametrize(
    ("along", "speed", "sliders", "told"),
    [
        ("t", 0.0, {"w": (1e-4, 1.0)}, "; steps may go over short features of exp(-(t - 7.37)**2/w**2)"),
        ("x", 1.0, (), "; steps may go over short features of exp(-(x(t) - 7.37)**2/w**2)"),
        ("x", 0.1, (), ""),  # it does not come there
    ],
)
def test_a_page_says_what_its_steps_do_not_see(along, speed, sliders, told, tmp_path):
    system = pushed(along)
    path = system.live(tmp_path / "live.html", system.initial({"x": 0.0, "x_dot": speed}), sliders=sliders)
    assert scripts_of(path)[0]["caption"] == f"computed in this page, t = 0 .. 10 s{told}"

"""The command line as a user meets it: what it prints, what it writes, how it fails."""

import json
import os
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

import dalembert as da
from dalembert import problems
from dalembert.cli import app

runner = CliRunner()
PENDULUM = Path(__file__).parents[1] / "docs" / "models" / "pendulum.toml"


def test_examples_are_listed():
    result = runner.invoke(app, ["examples"])
    assert result.exit_code == 0
    for problem in problems.all():
        assert problem.name in result.output


def test_run_prints_the_certificate_and_writes_files(tmp_path):
    result = runner.invoke(app, ["run", "four_bar", "--t-end", "1", "--set", "g=1.62", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "OK: constraints held" in result.output
    assert {path.suffix for path in tmp_path.iterdir()} == {".png", ".html", ".npz"}
    with np.load(tmp_path / "four_bar.npz") as data:
        assert data["t"][-1] == 1.0
        assert 1.62 in data["parameters"]


def test_figure_that_the_other_process_does_not_draw_is_drawn_here(tmp_path, monkeypatch):
    monkeypatch.setattr("dalembert.view.figure_process.FigureProcess.send", lambda *_: True)
    monkeypatch.setattr("dalembert.view.figure_process.FigureProcess.has_drawn", lambda _: False)
    result = runner.invoke(app, ["run", "pendulum", "--t-end", "0.3", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "pendulum.png").is_file()


def test_wrong_input_ends_with_status_2_and_a_hint():
    for arguments, words in (
        (["run", "four_bat"], "did you mean"),
        (["run", "four_bar", "--set", "gg=1"], "did you mean"),
        (["run", "four_bar", "--set", "g"], "NAME=VALUE"),
        (["run", "four_bar", "--set", "g=fast"], "`fast` is not known in `fast`"),
        (["run", "four_bar", "--set", "g=1/0"], "--set g=1/0"),
        (["run", "four_bar", "--t-end", "-1"], "not after"),
        (["run", "four_bar", "--set", "ln=50"], "cannot all be met"),
    ):
        result = runner.invoke(app, arguments)
        assert result.exit_code == 2, arguments
        assert words in " ".join(result.output.split()), result.output
        assert "Traceback" not in result.output


def test_model_file_runs_like_an_example(tmp_path):
    result = runner.invoke(app, ["run", str(PENDULUM), "--t-end", "1", "--set", "L=0.5", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "certificate of `pendulum`, t = 0 .. 1: OK" in result.output
    assert {path.name for path in tmp_path.iterdir()} == {"pendulum.png", "pendulum.html", "pendulum.npz"}
    with np.load(tmp_path / "pendulum.npz") as data:
        assert 0.5 in data["parameters"]


def test_tolerances_of_a_file_are_those_of_its_run(tmp_path):
    text = PENDULUM.read_text(encoding="utf-8").replace("t_end = 10.0", "t_end = 0.5\nrtol = 1e-6\natol = 1e-7")
    (tmp_path / "coarse.toml").write_text(text, encoding="utf-8")
    result = runner.invoke(app, ["run", str(tmp_path / "coarse.toml")])
    assert "t = 0 .. 0.5" in result.output
    assert "Automatic(rtol=1e-06, atol=1e-07)" in result.output


def test_check_prints_sizes_diagnosis_and_state():
    for name in (str(PENDULUM), "pendulum"):
        result = runner.invoke(app, ["check", name])
        assert result.exit_code == 0, result.output
        for words in ("constraints  1 (1 position): rod", "degrees of freedom    1", "State of 'pendulum' at t = 0"):
            assert words in result.output


def test_check_tells_faults_with_status_1(tmp_path):
    text = PENDULUM.read_text(encoding="utf-8")
    (tmp_path / "wrong.toml").write_text(text.replace("x**2", "z**2").replace('"bob"]', '"Bob"]'), encoding="utf-8")
    (tmp_path / "stuck.toml").write_text(text.replace("y = 0.0,", "y = 2.0,"), encoding="utf-8")
    (tmp_path / "servo.toml").write_text(  # an unknown that does not act along its constraint
        'coordinates = ["x", "y"]\nunknowns = ["F"]\n[generalized_forces]\ny = "F"\n[[particles]]\nname = "P"\n'
        'mass = 1\nposition = ["x", "y"]\n[[constraints]]\nexpression = "x"\nservo = "F"\n',
        encoding="utf-8",
    )
    (tmp_path / "massless.toml").write_text(
        'coordinates = ["x", "y"]\n[[particles]]\nname = "P"\nmass = 1\nposition = ["x", 0]\n', encoding="utf-8"
    )
    for arguments, words in (
        (["wrong.toml"], "[[constraints]] rod, expression: `z` is not known in `z**2 + y**2 - L**2`"),
        (["wrong.toml"], "[[lines]] link, points[1]: `Bob` is not known in the particles and bodies; did you mean"),
        (["stuck.toml"], "cannot all be met with y held at 2"),
        (["servo.toml"], "its unknown `F` does not influence it"),
        (["massless.toml"], "mass matrix singular; without inertia or constraint: `y_dot`"),
        (["nothing.toml"], "No such file"),
        (["four_bat"], "did you mean `four_bar`"),
        (["pendulum", "--set", "g"], "NAME=VALUE"),
    ):
        name, *rest = arguments
        result = runner.invoke(app, ["check", str(tmp_path / name) if name.endswith("toml") else name, *rest])
        assert result.exit_code == 1, result.output
        assert words in " ".join(result.output.split()), result.output
        assert "Traceback" not in result.output
    result = runner.invoke(app, ["run", str(tmp_path / "wrong.toml")])
    assert result.exit_code == 2
    assert "[[constraints]] rod" in result.output


def test_help_teaches():
    assert "certificate" in runner.invoke(app, ["--help"]).output
    assert "--set" in runner.invoke(app, ["run", "--help"]).output
    assert "dalembert run pendulum.toml" in runner.invoke(app, ["run", "--help"]).output
    assert "dalembert check pendulum.toml" in runner.invoke(app, ["check", "--help"]).output
    assert "ready" in runner.invoke(app, ["warmup"]).output


def test_ctrl_c_writes_what_was_reached_and_exits_with_130(tmp_path, monkeypatch):
    from dalembert.run.time_loop import march

    calls, original = [], march.March.slice

    def interrupt(self, *args):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(self, *args)

    monkeypatch.setattr(march.March, "slice", interrupt)
    result = runner.invoke(app, ["run", "pendulum", "pendulum", "--out", str(tmp_path)])
    assert result.exit_code == 130
    assert "interrupted from the keyboard" in result.output
    assert (tmp_path / "pendulum.npz").exists()
    assert result.output.count("certificate of `pendulum`") == 1  # the second run was not begun


def test_verify_prints_an_estimated_error():
    result = runner.invoke(app, ["run", "pendulum", "--t-end", "1", "--verify"])
    assert result.exit_code == 0
    assert "estimated error: coordinate" in result.output
    assert "not accuracy" in runner.invoke(app, ["run", "pendulum", "--t-end", "1"]).output


def text_of(result):
    return " ".join(result.output.split())


def test_version_is_that_of_the_package():
    assert runner.invoke(app, ["--version"]).output == f"dalembert {version('dalembert')}\n"


def test_settings_are_expressions_and_what_depends_on_them_follows(tmp_path):
    text = PENDULUM.read_text(encoding="utf-8").replace("L = 1.0", 'L = "R/2"\nR = 2.0')
    (tmp_path / "p.toml").write_text(text, encoding="utf-8")
    result = runner.invoke(
        app, ["run", str(tmp_path / "p.toml"), "--t-end", "0.1", "--json", "--set", "R=sqrt(2)", "--set", "m = 90*deg"]
    )
    assert result.exit_code == 0, result.output
    (one,) = json.loads(result.stdout)["runs"]
    assert one["parameters"]["R"] == np.sqrt(2)
    assert one["parameters"]["L"] == np.sqrt(2) / 2
    assert one["parameters"]["m"] == pytest.approx(np.pi / 2, rel=1e-15)


def test_json_holds_the_certificate_the_end_and_the_files(tmp_path):
    """The rod keeps its length, and what the pendulum loses in height it gains in speed: v^2 / 2 = -g y."""
    result = runner.invoke(app, ["run", "pendulum", "--t-end", "0.3", "--json", "--csv", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    whole = json.loads(result.stdout)
    (one,) = whole["runs"]
    assert whole["ok"] is one["ok"] is True
    assert one["t"] == [0.0, 0.3]
    assert all(finding["ok"] for finding in one["certificate"]["findings"])
    final, p = one["final"], one["parameters"]
    assert final["x"] ** 2 + final["y"] ** 2 == pytest.approx(p["L"] ** 2, rel=1e-9)
    assert (final["vx"] ** 2 + final["vy"] ** 2) / 2 == pytest.approx(-p["g"] * final["y"], rel=1e-7)
    assert {Path(file).name for file in one["files"]} == {path.name for path in tmp_path.iterdir()}
    table = np.genfromtxt(tmp_path / "pendulum.csv", delimiter=",", names=True)
    assert table["x"][-1] == final["x"]


def test_events_and_settings_of_a_file_are_those_of_its_run(tmp_path):
    text = PENDULUM.read_text(encoding="utf-8").replace("t_end = 10.0", 'integrator = { kind = "RK4", step = 0.001 }')
    text += '[[events]]\nname = "lowest"\nexpression = "x"\nterminal = true\n'
    (tmp_path / "stops.toml").write_text(text, encoding="utf-8")
    result = runner.invoke(app, ["run", str(tmp_path / "stops.toml"), "--json"])
    (one,) = json.loads(result.stdout)["runs"]
    assert "RK4(step=0.001)" in one["certificate"]["method"]
    assert [event["name"] for event in one["events"]] == ["lowest"]
    assert one["final"]["y"] == pytest.approx(-1.0, abs=1e-9)
    result = runner.invoke(app, ["live", str(tmp_path / "stops.toml"), "--out", str(tmp_path / "live.html")])
    assert result.exit_code == 0, result.output
    page = (tmp_path / "live.html").read_text(encoding="utf-8")
    assert '"events":[{"name":"lowest","direction":0,"terminal":true,"change":null}]' in page


@pytest.mark.parametrize("command", ["run", "compare"])
def test_out_on_a_file_is_told_before_the_run(tmp_path, command):
    (tmp_path / "taken").write_text("mine", encoding="utf-8")
    for out, words in (("taken", "is a file, not a folder"), ("taken/deeper", "cannot be made: Not a directory")):
        result = runner.invoke(app, [command, "pendulum", "--t-end", "1", "--out", str(tmp_path / out)])
        assert result.exit_code == 2
        assert words in text_of(result)
        assert len(result.output.splitlines()) == 1
        assert "certificate" not in result.output
    assert (tmp_path / "taken").read_text(encoding="utf-8") == "mine"


def test_place_where_nothing_can_be_written_is_told_before_the_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pendulum.csv").mkdir()
    monkeypatch.setattr(
        "os.access", lambda path, mode: mode != os.W_OK or Path(path).name != "locked"
    )  # whoever runs the tests
    (tmp_path / "locked").mkdir()
    for arguments, words in (
        (["run", "pendulum", "--csv"], "pendulum.csv is a folder"),
        (["run", "pendulum", "--out", "locked"], "Permission denied"),
        (["live", "pendulum", "--out", "nowhere/page.html"], "there is no folder nowhere"),
        (["live", "pendulum", "--out", "locked/page.html"], "Permission denied"),
        (["new", "nowhere/arm"], "nowhere/arm.toml cannot be written"),
    ):
        result = runner.invoke(app, arguments)
        assert result.exit_code == 2, result.output
        assert words in text_of(result)
        assert len(result.output.splitlines()) == 1


def test_two_models_do_not_write_the_same_file(tmp_path):
    result = runner.invoke(app, ["run", "pendulum", str(PENDULUM), "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert "would both write" in text_of(result)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(("command", "status"), [("run", 2), ("check", 1)])
def test_faults_of_all_files_are_told_at_once(tmp_path, command, status):
    text = PENDULUM.read_text(encoding="utf-8")
    for name, wrong in (("a", ("x**2", "z**2")), ("b", ("y = 0.0,", "y = 2.0,")), ("c", ("t_end = 10.0", "t_end = "))):
        (tmp_path / f"{name}.toml").write_text(text.replace(*wrong), encoding="utf-8")
    files = [str(tmp_path / f"{name}.toml") for name in "abc"]
    result = runner.invoke(app, [command, "pendulum", *files, "four_bat"])
    assert result.exit_code == status
    assert "certificate" not in result.output
    for words in ("`z` is not known", "held at 2", "`t_end` needs a value", "did you mean `four_bar`", *files):
        assert words in result.output


def test_new_writes_a_starter_that_runs_and_overwrites_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert runner.invoke(app, ["new", "engine"]).exit_code == 0
    text = (tmp_path / "engine.toml").read_text(encoding="utf-8")
    assert 'name = "engine"' in text
    assert text.count("#") > 20  # it teaches
    (tmp_path / "engine.toml").write_text("# mine", encoding="utf-8")
    for name in ("engine", "engine.toml"):
        result = runner.invoke(app, ["new", name, "--like", "pendulum"])
        assert result.exit_code == 2
        assert "stays as it is" in result.output
    assert (tmp_path / "engine.toml").read_text(encoding="utf-8") == "# mine"
    assert runner.invoke(app, ["new", ".toml"]).exit_code == 2
    assert "did you mean `four_bar`" in runner.invoke(app, ["new", "x", "--like", "four_bat"]).output
    result = runner.invoke(app, ["run", "engine"])
    assert "write engine.toml" in text_of(result)


def test_new_like_an_example_moves_like_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert runner.invoke(app, ["new", "mine", "--like", "knife_edge"]).exit_code == 0
    assert (tmp_path / "mine.toml").read_text(encoding="utf-8").startswith("# The example `knife_edge`")
    result = runner.invoke(app, ["run", "mine.toml", "knife_edge", "--t-end", "1", "--json"])
    mine, example = json.loads(result.stdout)["runs"]
    assert mine["final"] == pytest.approx(example["final"], rel=1e-12, abs=1e-12)


def test_schema_is_that_of_model_files():
    from dalembert.importers.schema import json_schema

    assert json.loads(runner.invoke(app, ["schema"]).output) == json_schema()
    assert "Exit status" in runner.invoke(app, ["--help"]).output


def test_sweep_writes_a_store_goes_on_with_it_and_says_which_runs_failed(tmp_path):
    store = tmp_path / "runs.zarr"
    call = ["sweep", str(PENDULUM), "--vary", "g=1:9:3", "--vary", "m=1,2", "--keep", "max:x", "--t-end", "0.5"]
    for _ in range(2):
        result = runner.invoke(app, [*call, "--out", str(store)])
        assert result.exit_code == 0, result.output
        assert "6 of 6 runs are ok" in result.output
    runs = xr.open_zarr(store, chunks=None)
    assert dict(runs.sizes) == {"g": 3, "m": 2}
    result = runner.invoke(app, [*call, "--vary", "m=1,-1", "--out", str(tmp_path / "runs.csv")])
    assert result.exit_code == 1
    assert "3 of 6 runs are ok" in result.output
    assert "3 refused, first run 1: " in result.output
    assert len((tmp_path / "runs.csv").read_text(encoding="utf-8").splitlines()) == 7


def test_what_is_given_in_terms_of_what_varies_follows_in_a_sweep(tmp_path):
    """As it does in a run with --set: the same runs by hand have the same outputs."""
    text = PENDULUM.read_text(encoding="utf-8").replace("L = 1.0", 'L = "R/2*s"\nR = "2*h"\nh = 1.0\ns = 1.0')
    (tmp_path / "p.toml").write_text(text, encoding="utf-8")
    out = tmp_path / "runs.nc"
    call = ["sweep", str(tmp_path / "p.toml"), "--keep", "final:y", "--t-end", "0.5", "--out", str(out)]
    result = runner.invoke(app, [*call, "--vary", "h=0.5,0.8", "--vary", "g=5,9", "--vary", "s=1,2,3"])
    assert result.exit_code == 0, result.output
    runs = xr.open_dataset(out)
    assert (runs["L"] == runs["h"] * runs["s"]).all()
    assert (runs["R"] == 2 * runs["h"]).all()
    system = da.from_toml(PENDULUM).model.compile()
    for h, g, s in ((0.5, 5.0, 1.0), (0.8, 9.0, 3.0)):
        start = system.initial({"y": 0.0, "vy": 0.0}, guess={"x": 1.0}, parameters={"L": h * s, "g": g})
        assert float(runs["y_final"].sel(h=h, g=g, s=s)) == pytest.approx(
            system.simulate(start, 0.5)["y"][-1], abs=1e-9
        )
    held = runner.invoke(app, [*call[:-1], str(tmp_path / "held.nc"), "--vary", "h=0.5,0.8", "--set", "R=1.2"])
    assert held.exit_code == 0, held.output
    assert "L" not in xr.open_dataset(tmp_path / "held.nc").coords  # R is set by hand, so nothing depends on h


def test_sweep_says_what_is_wrong_with_its_options():
    for options, words in (
        (["--vary", "g=1:2"], "NAME=FIRST:LAST:COUNT"),
        (["--vary", "g=1e308:-1e308:3"], "NAME=FIRST:LAST:COUNT"),
        (["--vary", "g=1:2:1000000", "--vary", "m=1:2:1000000"], "a sweep of 1,000,000,000,000 runs would need about"),
        (["--vary", "g=1", "--samples", "1000000000000"], "1,000,000,000,000 samples of a run would need about"),
        (["--vary", "g=1", "--samples", "-1"], "--samples -1 is negative"),
        (["--vary", "g=a"], "NAME=FIRST:LAST:COUNT"),
        (["--vary", "g=1", "--keep", "most:x"], "'most' is not one of final"),
        (["--vary", "g=1", "--out", "runs.xyz"], "must end in .zarr"),
        (["--vary", "w=1"], "`w` is not known"),
    ):
        result = runner.invoke(app, ["sweep", str(PENDULUM), *options])
        assert result.exit_code == 2
        assert words in result.output

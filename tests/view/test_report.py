"""The report file: what is in it is what the motion says, and it refers to nothing outside itself."""

import json
import pickle
import re
from pathlib import Path
from xml.dom import minidom

import numpy as np
import pytest
import sympy as sp
from mechanisms import bouncing, jointed, mechanism
from sympy.physics.mechanics import dynamicsymbols
from typer.testing import CliRunner

import dalembert as da
from dalembert.cli import app
from dalembert.view.typeset import mathml_of, typeset

PENDULUM = Path(__file__).parents[2] / "docs" / "models" / "pendulum.toml"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return jointed().report(tmp_path_factory.mktemp("report") / "r.html").read_text(encoding="utf-8")


def data_of(page):
    """Scene and groups, the latter by name and curve."""
    scene, groups = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    found = {g["name"]: {c["name"]: c["values"] for c in g["channels"]} for g in json.loads(groups)}
    return json.loads(scene), found


def test_the_file_refers_to_nothing_outside_itself(page):
    assert not re.search(r"""\b(src|srcset)\s*=|href="[^#]|https?://|url\(|@import|\bimport\b|fetch\(""", page)
    assert "default-src 'none'" in page


def test_names_are_only_text(page):
    assert "<crank>" not in page
    assert "jointed &lt;crank&gt; &amp; slider" in page


def test_curves_are_those_of_the_motion(page):
    motion = jointed()
    scene, groups = data_of(page)
    assert set(groups) == {
        "coordinates", "speeds", "accelerations", "reactions by joint", "multipliers", "generalised reactions",
        "joints and force elements", "points and bodies", "energy", "constraint violation",
    }  # fmt: skip
    again = motion.resampled(scene["t"])
    for values, wanted in (
        (groups["coordinates"]["crank_a"], again["crank_a"]),
        (groups["accelerations"]["rod_w'"], again["rod_w'"]),
        (groups["reactions by joint"]["|F| big"], np.linalg.norm(again.joint_reaction("big").force, axis=1)),
        (groups["reactions by joint"]["F.y way"], again.joint_reaction("way").force[:, 1]),
        (groups["joints and force elements"]["damper.force"], again.force("damper")),
        (groups["energy"]["total"], again.energy),
        (groups["energy"]["work done"], again.work),
    ):
        np.testing.assert_allclose(values, wanted, rtol=1e-5, atol=1e-9 * np.abs(wanted).max())


def test_forces_of_joints_are_drawn_where_the_joints_are(page):
    scene, _ = data_of(page)
    arrow = {a["name"]: a for a in scene["arrows"]}["big"]
    again = jointed().resampled(scene["t"])
    np.testing.assert_allclose(arrow["vectors"], again.joint_reaction("big").force, rtol=1e-5, atol=1e-5)
    along = np.array([np.cos(again["crank_a"]), np.sin(again["crank_a"])]).T
    pin = np.array([again["crank_x"], again["crank_y"]]).T + 0.15 * along
    np.testing.assert_allclose(np.array(arrow["points"])[:, :2], pin, atol=1e-6)


def test_spring_and_damper_are_drawn_between_their_ends(page):
    scene, _ = data_of(page)
    lines = {line["name"]: np.array(line["points"]) for line in scene["lines"]}
    for name in ("spring", "damper"):
        np.testing.assert_allclose(lines[name][:, 0], np.tile([1.6, 0, 0], (len(scene["t"]), 1)), atol=1e-6)
        np.testing.assert_allclose(lines[name][:, -1, 0], jointed().resampled(scene["t"])["slider_x"], atol=1e-6)


def test_certificate_and_verification_are_told(page):
    certificate = jointed().certificate
    assert certificate.verdict in page
    for d in certificate.verification.coordinates:
        assert f"<td>{d.name}</td><td>{d.error:.1e}</td>" in page
    assert page.count("<td>held</td>") == len(certificate.findings)
    force = np.linalg.norm(jointed().resampled(data_of(page)[0]["t"]).joint_reaction("main").force, axis=1)
    assert f"<td>main</td><td>{force.max():.5g}</td>" in page


def test_a_failed_motion_is_not_reported_as_good(tmp_path):
    system, state = mechanism("four_bar")
    motion = system.simulate(state, 10.0, integrator=da.DOP853(max_steps=5))
    text = motion.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert not motion.certificate.ok
    assert '<p id="verdict" class="bad">NOT OK' in text


def test_sequences_pickled_and_loaded_motions_can_be_reported(tmp_path):
    sequence = bouncing()
    assert len(sequence.segments) > 1
    text = sequence.report(tmp_path / "sequence.html").read_text(encoding="utf-8")
    scene, groups = data_of(text)
    assert min(groups["coordinates"]["z"]) > -1e-6
    assert len(groups["energy"]["total"]) == len(scene["t"])
    assert "Segment 2" in text
    assert "was unpickled" in typeset(pickle.loads(pickle.dumps(sequence.system)))
    jointed().save(tmp_path / "m.npz")
    loaded = da.Motion.load(tmp_path / "m.npz", jointed().system).report(tmp_path / "loaded.html")
    assert len(data_of(loaded.read_text(encoding="utf-8"))[0]["t"]) == len(jointed())


def test_equations_are_well_formed_mathml():
    text = typeset(mechanism("four_bar")[0])
    formulas = re.findall(r"<math.*?</math>", text)
    assert len(formulas) == 3 + 2 + 2  # how things stand together, two loop constraints, two particles
    for formula in formulas:
        minidom.parseString(formula)
    assert "too long for a report" in text


def test_short_systems_show_their_matrices():
    model = da.Model("pendulum")
    x, y = model.coordinates("x y")
    (m,) = model.parameters(m=2.0)
    model.particle("P", mass=m, position=[x, y])
    model.constrain(x**2 + y**2 - 1, name="rod")
    text = typeset(model.compile())
    names = re.findall(r'<math display="block"><mrow><mi>(\w)</mi><mo>=</mo>', text)
    assert names == ["M", "f", "A", "b"]


def test_functions_of_time_have_dots_and_no_argument():
    x = dynamicsymbols("x")
    assert mathml_of(x) == "<mi>x</mi>"
    assert mathml_of(x.diff()) == "<mover><mi>x</mi><mo>&#x2D9;</mo></mover>"
    assert mathml_of(x.diff().diff()).count("&#xA8;") == 1
    assert "(" not in mathml_of(sp.Symbol("k") * x)


def test_a_model_is_shown_as_its_file(tmp_path):
    model = da.Model("free")
    (x,) = model.coordinates("x")
    model.particle("P", mass=2.0, position=[x, 0])
    system = model.compile()
    motion = system.simulate(system.initial({"x": 0.0, "x'": 1.0}), 0.1)
    assert "[[particles]]" in motion.report(tmp_path / "r.html", source=model).read_text(encoding="utf-8")
    assert "see &lt;here&gt;" in motion.report(tmp_path / "r.html", source="see <here>").read_text(encoding="utf-8")


def test_the_command_line_writes_a_report_with_the_model_in_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["run", str(PENDULUM), "--t-end", "1", "--report"])
    assert result.exit_code == 0, result.output
    text = (tmp_path / "pendulum_report.html").read_text(encoding="utf-8")
    assert "# A pendulum in Cartesian coordinates" in text
    assert "Estimated error, by a second run" in text

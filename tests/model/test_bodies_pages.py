"""The code of the pages on bodies and beams runs as it stands and does what they say."""

import re
from pathlib import Path

import numpy as np

DOCS = Path(__file__).resolve().parents[2] / "docs"


def run(page, folder, monkeypatch):
    monkeypatch.chdir(folder)
    names = {}
    for block in re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), flags=re.DOTALL):
        exec(compile(block, page, "exec"), names)
    return names


def test_bodies_and_joints(tmp_path, monkeypatch):
    names = run("bodies_and_joints.md", tmp_path, monkeypatch)
    motion = names["motion"]
    assert motion.certificate.ok, motion.certificate
    np.testing.assert_allclose(names["force"][:, 0], 0.0, atol=1e-9)  # a slide pushes across its axis
    assert (tmp_path / "slider_crank.html").stat().st_size > 10_000
    x, y = names["circles"]["B_x"], names["circles"]["B_y"]
    radius = 0.3 / (2 / 7 * 1.4)
    np.testing.assert_allclose(np.hypot(x - 1 + radius, y), radius, atol=1e-8)


def test_table_of_joints_is_complete():
    from dalembert.model.contacts import Contacts
    from dalembert.model.elements import Elements
    from dalembert.model.joints import Joints

    page = (DOCS / "bodies_and_joints.md").read_text(encoding="utf-8")
    rows = set(re.findall(r"^\| `(\w+)", page, flags=re.MULTILINE))
    stated = {name for kind in (Joints, Contacts, Elements) for name in vars(kind) if not name.startswith("_")}
    assert rows == stated


def test_flexible_beams(tmp_path, monkeypatch):
    names = run("flexible_beams.md", tmp_path, monkeypatch)
    assert names["motion"].certificate.ok
    assert names["swing"].certificate.ok
    weight = (1.5 * 2 + 0.5) * 9.81
    mean = np.trapezoid(names["clamp"].force[:, 1], names["motion"].t)
    assert 0.5 * weight < mean < 1.5 * weight

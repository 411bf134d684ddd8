"""The pages do what they say: their code runs in order, its output is what they print, their links lead somewhere.

A Python block that is not to run has `<!-- not run: why -->` above it. A `text` block after a Python block is what that
prints, up to the digits of numbers; a line `...` at its end stands for the rest.
"""

import re
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert import problems

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "theory").glob("*.md"))]
IDS = [str(page.relative_to(ROOT)) for page in PAGES]
BLOCK = re.compile(r"(<!-- not run: .+? -->\n+)?^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"-?\d[\d.,]*(e[+-]?\d+)?")
LINK = re.compile(r"\]\(([^)#\s]+)")


def masked(text):
    """Lines without the digits of numbers and the width of blanks, which may differ from machine to machine."""
    return [" ".join(NUMBER.sub("#", line).split()) for line in text.rstrip().splitlines()]


def check_output(expected, printed, where):
    want, got = masked(expected), masked(printed)
    if want[-1] == "...":
        want = want[:-1]
        got = got[: len(want)]
    assert got == want, where


def rolls_without_loss(names):
    """The disc of the page on SymPy: energy about the contact point, and the push of the last block."""
    motion = names["motion"]
    lean, (u1, u2, u3) = motion["q2"], (motion[name] for name in ("u1", "u2", "u3"))
    energy = 0.5 * 2.0 * 0.25 * (1.25 * u1**2 + 1.5 * u2**2 + 0.25 * u3**2) + 2.0 * 9.81 * 0.5 * np.cos(lean)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-9)
    pushed, free = names["model"].compile(), names["system"]
    rates = pushed.initial({"q2": 0.1, "u2": 1.0}, t0=0.5).udot - free.initial({"q2": 0.1, "u2": 1.0}).udot
    # The push works on the disc by u2 through its radius: 3 m r^2 / 2 u2' = r F.
    np.testing.assert_allclose(rates[1] * 1.5 * 2.0 * 0.5, 3 * np.sin(0.5) - 1.0, rtol=1e-10)


def is_the_printed_message(names):
    """The page on initial states: the message it prints is the one raised; branches were followed."""
    page = (ROOT / "docs" / "initial_states.md").read_text(encoding="utf-8")
    with pytest.raises(da.InitialStateError) as caught:
        names["system"].initial({"q1": 0.3, "q2": 0.3}, guess={"q3": -2.6})
    printed = re.search(r"```\n(`planar.*?)```", page, re.DOTALL)[1]
    assert " ".join(printed.split()) == str(caught.value)
    assert len(names["turn"]) == 8
    assert isinstance(names["hanging"], da.State)


def slides_and_circles(names):
    """The page on bodies: a slide pushes across its axis only; the ball runs in circles at 2/7 of the table's speed."""
    np.testing.assert_allclose(names["force"][:, 0], 0.0, atol=1e-9)
    x, y = names["circles"]["B_x"], names["circles"]["B_y"]
    radius = 0.3 / (2 / 7 * 1.4)
    np.testing.assert_allclose(np.hypot(x - 1 + radius, y), radius, atol=1e-8)


def bears_the_beam(names):
    """The page on beams: the clamp bears weight and inertia, and both runs are certified."""
    assert names["motion"].certificate.ok
    assert names["swing"].certificate.ok
    weight = (1.5 * 2 + 0.5) * 9.81
    mean = np.trapezoid(names["clamp"].force[:, 1], names["motion"].t)
    assert 0.5 * weight < mean < 1.5 * weight


CHECKS = {
    "docs/bodies_and_joints.md": slides_and_circles,
    "docs/flexible_beams.md": bears_the_beam,
    "docs/from_sympy.md": rolls_without_loss,
    "docs/initial_states.md": is_the_printed_message,
}


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_code_of_the_page_runs_and_prints_what_the_page_says(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names, printed, where = {}, "", str(page.relative_to(ROOT))
    text = page.read_text(encoding="utf-8")
    for not_run, language, block in BLOCK.findall(text):
        if language == "python" and not not_run:
            line = text[: text.index(block)].count("\n")
            exec(compile("\n" * line + block, where, "exec"), names)
            printed = capsys.readouterr().out
        elif language == "text":
            check_output(block, printed, where)
    for name, value in names.items():
        if isinstance(value, da.Motion | da.MotionSequence):
            assert value.certificate.ok, f"{where}, `{name}`: {value.certificate}"
    if where in CHECKS:
        CHECKS[where](names)


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_of_the_page_lead_somewhere(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if target.startswith("gallery/") or "/gallery/" in target:  # built from examples/
            name = target.split("gallery/", 1)[1]
            assert name == "index" or (ROOT / "examples" / f"{name}.py").exists(), target
        elif "://" not in target:
            assert (page.parent / target).exists(), target


FILE = re.compile(r"`((?:[\w.]+/)*\w+\.(?:pyi?|js))`")  # a source file by its name, with some of its folders
HOLDS = re.compile(r"`(\w+)`\s+(?:in|of)\s+" + FILE.pattern)
SOURCES = [
    path for folder in ("src", "tests", "docs", "examples", "benchmarks") for path in (ROOT / folder).rglob("*.*")
]


def places(name):
    """The files of the project that a name with some of its folders may mean."""
    return [path for path in SOURCES if f"/{path.relative_to(ROOT)}".endswith(f"/{name}")]


@pytest.mark.parametrize("page", [ROOT / "CONTRIBUTING.md", *PAGES], ids=["CONTRIBUTING.md", *IDS])
def test_files_that_the_page_names_exist_and_hold_what_it_says(page):
    text = page.read_text(encoding="utf-8")
    assert [name for name in FILE.findall(text) if not places(name)] == []
    for held, name in HOLDS.findall(text):
        defined = re.compile(rf"^((class|def) {held}\b|{held}(: .+)? = )", re.MULTILINE)
        assert any(defined.search(path.read_text(encoding="utf-8")) for path in places(name)), f"{held} in {name}"


def test_names_of_files_in_pages_are_seen():
    text = "The interface is `Formulation` in\n`run/ingredients.py`; `native/none.py` is not there."
    assert FILE.findall(text) == ["run/ingredients.py", "native/none.py"]
    assert HOLDS.findall(text) == [("Formulation", "run/ingredients.py")]
    assert [bool(places(name)) for name in FILE.findall(text)] == [True, False]


def test_start_page_and_readme_show_the_same_ten_lines():
    first = [BLOCK.findall((ROOT / name).read_text(encoding="utf-8")) for name in ("README.md", "docs/index.md")]
    ten, same = (next(code for _, language, code in blocks if language == "python") for blocks in first)
    assert ten.split("print(")[0] == same.split("print(")[0]
    assert sum(bool(line.strip()) and "import" not in line for line in ten.splitlines()) <= 10


def test_rows_of_the_plan_are_all_shown():
    text = (ROOT / "docs" / "rows.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([A-Z]\d) \|", text, re.MULTILINE)
    wanted = [
        f"{letter}{k}" for letter, n in (("K", 9), ("G", 7), ("I", 8), ("S", 3), ("L", 4)) for k in range(1, n + 1)
    ]
    assert rows == wanted
    for line in text.splitlines():
        if re.match(r"\| [A-Z]\d \|", line):
            assert "../tests/" in line, line
    for name, target in re.findall(r"\[`?(\w+)`?\]\((\.\./tests/[\w/.]+)\)", text):
        source = (ROOT / "docs" / target).read_text(encoding="utf-8")
        assert re.search(rf"(def|class) {name}\b", source), f"{name} is not in {target}"


def test_every_public_name_is_in_the_reference():
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\.\. auto(?:class|function|exception):: dalembert\.(\w+)$", text, re.MULTILINE)
    assert sorted(shown) == sorted(da.__all__)


def test_every_problem_is_on_its_page():
    text = (ROOT / "docs" / "problems.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == [problem.name for problem in problems.all()]


@pytest.mark.parametrize(
    "drift", ["NoCorrection()", "Baumgarte()", "Baumgarte(20, 100)", "Projection()", "Blajer()", "Yoon()"]
)
def test_table_of_drift_controls_is_measured(drift):
    page = (ROOT / "docs" / "choose_a_drift_control.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith(f"| `{drift}` |") and "e-" in line)
    cells = [cell.strip().replace(",", "") for cell in row.split("|")[2:-1]]
    problem = problems.get("four_bar")
    control = eval(f"da.{drift}", {"da": da})
    runs = [problem.simulate(drift=control, integrator=i) for i in (da.DOP853(rtol=1e-8, atol=1e-10), da.RK4(0.005))]
    assert runs[0].stats["nfev"] == pytest.approx(float(cells[2]), rel=0.1)
    for motion, violation, energy in ((runs[0], *cells[:2]), (runs[1], *cells[3:])):
        worst = max(np.abs(v).max() for level in ("position", "velocity") for v in motion.violation[level].values())
        for found, told in ((worst, violation), (np.abs(motion.energy_balance).max(), energy)):
            assert found < 3 * float(told)
            assert found > float(told) / 3 or float(told) < 1e-13  # round-off may be less elsewhere

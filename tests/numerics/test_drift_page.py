"""The code of docs/choose_a_drift_control.md runs as it stands, and its numbers are those measured."""

import re
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert import problems

PAGE = Path(__file__).resolve().parents[2] / "docs" / "choose_a_drift_control.md"


def test_code_of_the_page():
    names = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), names)
    assert names["motion"].success


@pytest.mark.parametrize(
    "drift", ["NoCorrection()", "Baumgarte()", "Baumgarte(20, 100)", "Projection()", "Blajer()", "Yoon()"]
)
def test_table_of_the_page(drift):
    row = next(line for line in PAGE.read_text().splitlines() if line.startswith(f"| `{drift}` |") and "e-" in line)
    cells = [cell.strip().replace(",", "") for cell in row.split("|")[2:-1]]
    problem = problems.get("four_bar")
    control = eval(f"da.{drift}", {"da": da})
    runs = [problem.simulate(drift=control, integrator=i) for i in (da.DOP853(rtol=1e-8, atol=1e-10), da.RK4(0.005))]
    assert runs[0].stats["nfev"] == pytest.approx(float(cells[2]), rel=0.1)
    for motion, violation, energy in ((runs[0], *cells[:2]), (runs[1], *cells[3:])):
        worst = max(np.abs(v).max() for level in ("position", "velocity") for v in motion.violation[level].values())
        assert worst < 3 * float(violation)
        assert np.abs(motion.energy_balance).max() < 3 * float(energy)

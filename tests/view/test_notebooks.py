"""What notebooks show of models, systems, motions and judgements; and tables of text."""

import csv
import html
import re

import numpy as np
import pytest

import dalembert as da
from dalembert import problems


@pytest.fixture(scope="module")
def motion():
    return problems.get("four_bar").simulate(t_end=1.0)


def cells(shown):
    return [html.unescape(cell) for cell in re.findall(r"<td>(.*?)</td>", shown)]


def test_nouns_show_themselves_as_tables(motion):
    system = motion.system
    assert ", ".join(system.coordinates) in cells(system._repr_html_())
    assert "coordinates" in cells(problems.get("four_bar").build()._repr_html_())
    shown = cells(motion._repr_html_())
    assert shown[: 5 * len(system.coordinates) : 5] == list(system.coordinates)
    assert shown[4] == f"{motion.q[-1, 0]:.6g}"
    assert set(system.constraint_names) <= set(cells(motion.certificate._repr_html_()))
    assert "OK" in motion.certificate._repr_html_()
    state = motion.at(0.5)
    assert "diagnosis of" in system.diagnose(state)._repr_html_()
    assert system.equations()._repr_latex_().startswith("$$\n\\begin{aligned}")


def test_names_are_escaped():
    model = da.Model("<b>x</b>")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1, position=[x, y])
    assert "<b>x</b>" not in model.compile()._repr_html_()


def test_figures_and_animations_need_no_file(motion):
    assert motion.plot()._repr_png_().startswith(b"\x89PNG")
    page = motion.animate()
    shown = page._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    content = html.unescape(re.search(r'srcdoc="(.*?)"', shown, re.DOTALL)[1])
    assert content == page.content
    assert "</html>" in content


def test_figure_of_some_names_has_their_curves(motion):
    name = motion.system.coordinates[0]
    (axes,) = motion.plot(names=[name, motion.system.speeds[0]]).axes
    np.testing.assert_allclose(np.interp(1.0, *axes.lines[0].get_data()), motion[name][-1])
    assert len(axes.lines) == 2


def test_csv_loses_nothing(motion, tmp_path):
    path = motion.to_csv(tmp_path / "m.csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    table = motion.to_pandas().reset_index()
    assert rows[0] == [str(name) for name in table.columns]
    np.testing.assert_array_equal(np.array(rows[1:], dtype=float), table.to_numpy())
    with pytest.raises(da.FileError, match="cannot be written"):
        motion.to_csv(tmp_path / "none" / "m.csv")

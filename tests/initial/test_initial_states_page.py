"""The page docs/initial_states.md: its snippets run, in order, and its messages are those that are raised."""

import re
from pathlib import Path

import pytest

import dalembert as da

PAGE = (Path(__file__).parents[2] / "docs" / "initial_states.md").read_text()


def test_the_page_runs_as_printed(capsys):
    names: dict = {}
    for snippet in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(snippet, "initial_states.md", "exec"), names)
    out = capsys.readouterr().out
    assert "-151.3836336" in out
    assert "n_p = 1 positions, n_v = 1 velocities of 3" in out
    assert len(names["turn"]) == 8
    assert isinstance(names["hanging"], da.State)


def test_the_printed_message_is_the_raised_one():
    from dalembert import problems

    with pytest.raises(da.InitialStateError) as caught:
        problems.get("four_bar").system().initial({"q1": 0.3, "q2": 0.3}, guess={"q3": -2.6})
    printed = re.search(r"```\n(`planar.*?)```", PAGE, re.DOTALL)[1]
    assert " ".join(printed.split()) == str(caught.value)

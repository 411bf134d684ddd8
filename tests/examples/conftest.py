"""The figures that examples save, so that tests can look at what is in them."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure


@pytest.fixture(scope="module")
def saved():
    """The figures saved while the tests of a module run, by file name."""
    figures, save = {}, Figure.savefig

    def record(figure, path, **options):
        save(figure, path, **options)
        assert Path(path).read_bytes().startswith(b"\x89PNG")
        figures[Path(path).name] = figure

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", record)
        yield figures

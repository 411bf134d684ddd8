"""What tests of rows by kind share."""

import pytest

from dalembert.equations import derived as derivation
from dalembert.equations.rows_by_kind import rows_by_kind


@pytest.fixture
def left_over(monkeypatch):
    """The names of the rows that each `compile` from now on derives one by one, not by their kind."""
    names = []

    def counted(stated, derivation, probe):
        kinds = rows_by_kind(stated, derivation, probe)
        by_kind = {*kinds.rows.tolist()}
        names.append([c.name for k, c in enumerate(stated) if k not in by_kind])
        return kinds

    monkeypatch.setattr(derivation, "rows_by_kind", counted)
    return names

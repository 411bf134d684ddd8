"""What the tests of `outputs=` and `store=` share."""

import pytest
from kept_motions import swung_bar

from dalembert.motion import keeping


@pytest.fixture(scope="module")
def swung():
    """A bar swung over, and its start."""
    return swung_bar()


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of tens of samples."""
    monkeypatch.setattr(keeping, "BLOCK", 20_000)  # bytes

"""The page on bodies lists every joint, contact and force element."""

import re
from pathlib import Path

from dalembert.model.contacts import Contacts
from dalembert.model.elements import Elements
from dalembert.model.joints import Joints

PAGE = Path(__file__).resolve().parents[2] / "docs" / "bodies_and_joints.md"


def test_tables_are_complete():
    rows = set(re.findall(r"^\| `(\w+)", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert rows == {name for kind in (Joints, Contacts, Elements) for name in vars(kind) if not name.startswith("_")}

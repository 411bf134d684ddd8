"""Pages in one HTML file: a template of `pages/`, with the style sheets and scripts that it names put into it.

`@name.js@`, `@name.css@` and `@name.html@` stand for files next to the template, which may name others, `@NAME@` for
texts that the caller gives. A page may load nothing: its content security policy forbids it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

MARK = re.compile(r"@([A-Z_]+|[a-z_]+\.(?:css|js|html))@")


def read_part(name: str) -> str:
    """The text of a file of `pages/`."""
    return resources.files("dalembert.view").joinpath("pages", name).read_text(encoding="utf-8")


def fill_page(template: str, texts: Mapping[str, str]) -> str:
    """The page of a template, with its parts and `texts` in place.

    Each mark is replaced once: a text that looks like a mark stays as it is.
    """

    def found(mark: re.Match[str]) -> str:
        name = mark.group(1)
        return MARK.sub(found, read_part(name)).rstrip("\n") if "." in name else texts[name]

    return MARK.sub(found, read_part(template))


def embedded_json(payload: Any) -> str:
    """JSON that is safe inside a <script> element: no character in it can end the element or open a comment."""
    text = json.dumps(payload, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")

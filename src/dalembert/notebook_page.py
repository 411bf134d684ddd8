"""HTML pages as notebooks show them: each in a frame of its own."""

from __future__ import annotations

import html
from dataclasses import field

from dalembert.dataclass import dataclass

HEIGHT = 560  # pixels of a page within a notebook


@dataclass(frozen=True)
class Page:
    """A self-contained HTML page. A notebook shows it if it is the last value of a cell."""

    content: str = field(repr=False)
    title: str

    def _repr_html_(self) -> str:
        """The page in a frame: its scripts and styles stay apart from those of the notebook."""
        return (
            f'<iframe srcdoc="{html.escape(self.content)}" title="{html.escape(self.title)}" '
            f'style="width: 100%; height: {HEIGHT}px; border: 0"></iframe>'
        )

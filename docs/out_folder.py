"""A scraper for Sphinx-Gallery: the figures an example saved into out/, in the order of their names.

Of a notebook, it takes the figure that the last line of a cell shows.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dalembert.view.inline_figure import InlineFigure


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Move the figures to where the gallery wants them; the reST that shows them."""
    from sphinx_gallery.scrapers import figure_rst

    out = Path(block_vars["src_file"]).parent / "out"
    figure = block_vars["example_globals"].get("figure")
    if isinstance(figure, InlineFigure) and block[1].rstrip().endswith("\nfigure"):
        out.mkdir(exist_ok=True)
        figure.savefig(out / "figure.png")
    shown = []
    for source, target in zip(sorted(out.glob("*.png")), block_vars["image_path_iterator"], strict=False):
        shutil.move(source, target)
        shown.append(target)
    shutil.rmtree(out, ignore_errors=True)
    return str(figure_rst(shown, gallery_conf["src_dir"]))


def _get_sg_image_scraper() -> Callable[..., str]:
    """What Sphinx-Gallery asks a module for."""
    return scrape

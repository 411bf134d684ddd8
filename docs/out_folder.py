"""A scraper for Sphinx-Gallery: the figures an example saved into out/, in the order of their names."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any


def scrape(_block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Move the figures to where the gallery wants them; the reST that shows them."""
    from sphinx_gallery.scrapers import figure_rst

    out = Path(block_vars["src_file"]).parent / "out"
    shown = []
    for source, target in zip(sorted(out.glob("*.png")), block_vars["image_path_iterator"], strict=False):
        shutil.move(source, target)
        shown.append(target)
    shutil.rmtree(out, ignore_errors=True)
    return str(figure_rst(shown, gallery_conf["src_dir"]))


def _get_sg_image_scraper() -> Callable[..., str]:
    """What Sphinx-Gallery asks a module for."""
    return scrape

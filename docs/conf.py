"""Sphinx: `make docs` builds docs/_build/html, warnings as errors, without network; examples are executed into it."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
(HERE / "_static").mkdir(exist_ok=True)  # filled when the build begins, see animate_start_page
sys.path.insert(0, str(HERE))  # out_folder, docstrings and mathml are found by their names

project = "dalembert"
author = "The dalembert developers"
copyright = "the dalembert developers, BSD-3-Clause"  # noqa: A001 - Sphinx's name
release = metadata.version("dalembert")

extensions = [
    "docstrings",
    "mathml",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "images", "style"]

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
maximum_signature_line_length = 90
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = "dalembert"
html_static_path = ["_static", "style"]
html_css_files = ["dalembert.css"]
html_theme_options = {"source_repository": "", "navigation_with_keys": True}
html_math_renderer = "mathml"


sphinx_gallery_conf = {
    "examples_dirs": [str(ROOT / "examples")],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",
    "image_scrapers": ("out_folder",),
    "capture_repr": ("_repr_html_",),
    "nested_sections": False,
    "reset_modules": (),
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,  # that page would load scripts from elsewhere
    "abort_on_example_error": True,
    "min_reported_time": 0,
    "plot_gallery": "True",
}


def setup(app: Any) -> None:
    """Write the animation of the start page when the build begins."""
    app.connect("builder-inited", animate_start_page)


def animate_start_page(_app: Any) -> None:
    """The mechanisms of the start page, as the library itself draws them."""
    from dalembert import problems

    target = HERE / "_static"
    for name in ("sliding_particle", "four_bar"):
        problems.get(name).simulate(t_end=10.0).animate(target / f"{name}.html")
    four_bar = problems.get("four_bar")
    system = four_bar.system()
    system.live(target / "four_bar_live.html", four_bar.state(system), sliders=["la", "m", "q1", "u1"])
    system.simulate(four_bar.state(system), 10.0, verify=True).report(target / "four_bar_report.html")

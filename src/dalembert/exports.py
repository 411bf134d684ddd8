"""The public names and the modules that hold them, as `__init__.pyi` lists them: imported when they are asked for."""

from __future__ import annotations

from typing import Any

from dalembert.loading import load


def _listed() -> dict[str, str]:
    """The module of each name, from lines `from module import Name as Name`."""
    with open(__file__.rpartition("exports.")[0] + "__init__.pyi", encoding="utf-8") as stub:  # noqa: PTH123
        lines = [line.split() for line in stub if line.startswith("from ")]
    return {name: module for _, module, _, name, *_ in lines}


PLACES = _listed()


def every(kind: str) -> list[str]:
    """Names of all "formulations", "drift" controls, "integrators" or "residuals" that are exported."""
    return [name for name, module in PLACES.items() if module.startswith(f"dalembert.run.{kind}.")]


def exported(name: str) -> Any:
    """The object exported under a name."""
    return getattr(load(PLACES[name]), name)

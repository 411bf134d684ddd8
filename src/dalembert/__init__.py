"""State a mechanical system and its constraints, of any kind; get the motion, the reactions, and a certificate.

Model -> System -> State -> (Formulation x Drift x Integrator) -> Motion -> figures, files, reports
"""

from __future__ import annotations

from typing import Any

from dalembert.exports import PLACES as _PLACES
from dalembert.exports import exported as _exported

__all__ = sorted(_PLACES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    """A public name, imported when it is first asked for."""
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("dalembert")
    elif name in _PLACES:
        value = _exported(name)
    else:
        from dalembert.guidance import no_public_name

        no_public_name(name, __all__)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)

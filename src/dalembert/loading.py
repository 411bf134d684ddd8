"""Modules loaded when they are first needed, without looking for garbage meanwhile."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

from dalembert.interrupts import held_interrupts


def load(name: str) -> ModuleType:
    """The module of this name, imported whole if it is not yet there."""
    with collection_paused(), held_interrupts():
        return import_module(name)


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause Python's garbage collector while modules load: they stay, and to look through them takes as long again.

    What was made meanwhile counts as old afterwards (`gc.freeze` and back), so that the next collection passes over it.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():  # nothing that the user keeps from collection
            gc.freeze()
            gc.unfreeze()
        gc.enable()

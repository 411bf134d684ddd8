"""The workspace of an implicit integrator: named blocks of floats, whose places stand in its integer workspace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dalembert.numerics.layout import STEP_FLOATS, STEP_INTS
from dalembert.numerics.link import address_of

if TYPE_CHECKING:
    from dalembert.numerics.engine import Engine


# The integer workspace begins with the address of the method's step and its number of columns of `stages` (for
# `divided`); keys of blocks follow.
INNER, WIDTH, FIRST = range(3)


def totals(blocks: Mapping[int, int], ints: int) -> tuple[int, int]:
    """Floats and ints in all, for `Method.workspace`."""
    return sum(blocks.values()), ints


def place(engine: Engine, blocks: Mapping[int, int], ints: int, step: Any, width: int) -> int:
    """Reserve and empty the workspace; plan[STEP_INTS + key] becomes where each block starts in mem. Returns STEP_INTS.

    Kernels write structural nonzeros only, so that blocks must be zero to begin with.
    """
    floats, _ = totals(blocks, ints)
    engine.reserve(floats, ints)
    first, at = int(engine.plan[STEP_INTS]), int(engine.plan[STEP_FLOATS])
    engine.mem[at : at + floats] = 0.0
    engine.plan[first : first + ints] = 0
    engine.plan[first + INNER], engine.plan[first + WIDTH] = address_of(step), width
    for key, count in blocks.items():
        engine.plan[first + key] = at
        at += count
    return first

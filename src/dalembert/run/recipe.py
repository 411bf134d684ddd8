"""`Recipe`, the ingredients of a run, and the description of a motion by its recipe and the choices of its run."""

from __future__ import annotations

import functools
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.equations.system import System

if TYPE_CHECKING:
    from dalembert.run.engine import Engine
    from dalembert.run.ingredients import Drift, Formulation
    from dalembert.run.integrators.integrator import Integrator
    from dalembert.run.run_facts import RunFacts
    from dalembert.run.variations import CarriedColumns


class Recipe(NamedTuple):
    """Ingredients of a run. They are plain values, so that a motion can be evaluated and continued anywhere."""

    formulation: Formulation
    drift: Drift
    integrator: Integrator

    def engine(self, system: System, parameters: np.ndarray, columns: CarriedColumns = ()) -> Engine:
        """A system with parameter values ready to run: for one call, by one thread.

        `columns` are the derivatives carried along, see `run.variations`.
        """
        return _engine_type()(system, parameters, self.formulation, self.drift, columns)


@functools.cache
def _engine_type() -> type[Engine]:
    from dalembert.run.engine import Engine

    return Engine


def describe(system: System, recipe: Recipe, facts: RunFacts, nfev: int) -> str:
    """Description of a run: the ingredients, the remark of the drift control, and the choices made during the run."""
    remark = recipe.drift.remark(system, facts.started)
    notes = "".join(f"; {note}" for note in dict.fromkeys(facts.notes))
    return (
        ", ".join(described(value) for value in recipe)
        + remark
        + notes
        + _choices(system, facts)
        + _fallbacks(facts, nfev)
    )


def described(ingredient: Any) -> str:
    """The ingredient with its tolerances and every option that was changed."""
    shown = [
        f
        for f in fields(ingredient)
        if getattr(ingredient, f.name) is not None
        and (f.name in ("rtol", "atol", "tolerance") or getattr(ingredient, f.name) != f.default)
    ]
    return f"{type(ingredient).__name__}({', '.join(f'{f.name}={getattr(ingredient, f.name)!r}' for f in shown)})"


def _choices(system: System, facts: RunFacts) -> str:
    """The independent speeds a partition used, and when it was made again."""
    all_made = (*facts.choices, *facts.partitions)
    made = [(t, c.independent(system.nu)) for t, c in all_made if c is not None and c.dependent]
    if not made:
        return ""
    parts = [f"{', '.join(system.speeds[k] for k in chosen)} (from t = {t:.4g})" for t, chosen in made[:4]]
    more = f" and {len(made) - 4} more" if len(made) > 4 else ""
    return f"; independent speeds {'; '.join(parts)}{more}"


def _fallbacks(facts: RunFacts, nfev: int) -> str:
    """The evaluations that the formulation did not do itself."""
    count, first, last = facts.fallbacks
    if not count:
        return ""
    begin, end = f"{first:.4g}", f"{last:.4g}"
    when = f"near t = {begin}" if begin == end else f"between t = {begin} and {end}"
    return f"; {count:,} of {nfev:,} evaluations by the pivoted saddle solve, {when}"

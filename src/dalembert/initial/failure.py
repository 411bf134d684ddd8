"""Why there is no consistent state: the constraints in conflict, the closest state, and the change that would help.

At the closest point, that of the least sum of squares, r^T J = 0 for every free variable. Rows with r = 0 are not to
blame; given values with (r^T J)_j = 0 could not help either. The others are released one by one, and the value nearest
to the wish at which the equations can be met is looked for. If no given value helps, parameters are tried.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.errors import Closest, InitialStateError
from dalembert.initial.hidden_position import hidden_position
from dalembert.initial.levels import ALL, POSITION, level
from dalembert.initial.metric import weighted
from dalembert.initial.request import Task, Wishes
from dalembert.initial.stage import Found, Stage
from dalembert.solve.decompositions import UNIT, rank_of
from dalembert.solve.tolerances import ROUGH_ROW_RANK

BLAME = 1e-5  # share of the largest at which a row or a value takes part in a conflict
TRIED = 12  # values or parameters that are released, the most influential ones
VALUE_HALVINGS = 22  # of the interval between a value that works and the one asked for
ELSEWHERE = 10  # starts from which a released value is looked for on other branches
RELEASED_WEIGHT = 1e4  # weight of a released value in the distance: it is to change as little as possible
PRINTED_ROWS = 5


@dataclass(frozen=True)
class Remedy:
    """A value that would work: its name, the value asked for, and the nearest one that works."""

    name: str
    asked: float
    works: float
    text: str

    @property
    def change(self) -> float:
        """Change from the asked to the working value, relative to the asked one where that exceeds 1."""
        return abs(self.works - self.asked) / max(abs(self.asked), 1.0)


def explain(task: Task, stage: Stage, found: Found, *, q: np.ndarray | None = None) -> InitialStateError:
    """The error for a stage that could not be solved; `q` are the positions of a velocity stage."""
    rows = _blamed_rows(found)
    names = [stage.labels[k] for k in rows]
    residuals = {stage.labels[k]: float(abs(found.residual[k])) for k in rows}
    closest = _closest(task, stage, found, q)
    s, what = task.system, stage.level.name
    head = f"`{s.name}`: the {'equations of all levels' if what == ALL else f'{what} constraints'} cannot all be met"
    head += _said(stage, found)
    if not np.isfinite(found.worst):
        return InitialStateError(
            f"{head}: they are not finite at the guess nor near it; give a guess at which the model is defined",
            closest=closest,
        )
    blamed = _blamed_values(stage, found)
    remedies = [remedy for j in blamed if (remedy := _release(stage, found, j)) is not None]
    remedies += [remedy for k in _asked_rows(stage, rows) if (remedy := _release_row(stage, found, k)) is not None]
    tied = len(blamed) + len(_asked_rows(stage, rows)) > 1 and _is_tied(stage, found)
    remedies.sort(key=lambda remedy: remedy.change)
    if tied and remedies:
        advice = _untie(stage, blamed, rows, remedies[0])
    elif remedies:
        advice = f"{remedies[0].text} rather than {remedies[0].asked:.6g} would work"
        if q is not None and abs(remedies[0].works) < BLAME * abs(remedies[0].asked):
            servos = tuple(row.name for row in s.rows if row.law.unknown is not None)
            hidden = hidden_position(s, task.t, q, task.p, servos)
            advice += hidden and f", at rest; {hidden}"
    else:
        advice = _advise_on_parameters(task, stage, found) or (
            "Change or release a given value, or give a guess closer to an assembled state"
            if task.wishes != Wishes()
            else "No value was given: these constraints may contradict each other; change one of them, or give a guess "
            "closer to an assembled state"
        )
    return InitialStateError(
        f"{head}; closest: {_list(stage, found, rows)} left over{_at_bounds(stage, found)}. {advice}",
        residuals,
        closest=closest,
        conflicting=names,
        remedies={remedy.name: remedy.works for remedy in remedies},
    )


# -- what is in conflict -----------------------------------------------------------------------------------------------


def _blamed_rows(found: Found) -> list[int]:
    """Equations with a residual, the largest first."""
    size = np.abs(found.residual)
    size = np.where(np.isfinite(size), size, np.inf)
    order = [int(k) for k in np.argsort(-size, kind="stable")]
    return [k for k in order if not size[k] <= BLAME * size.max(initial=0.0)] if size.max(initial=0.0) else []


def _blamed_values(stage: Stage, found: Found) -> list[int]:
    """Given variables that the residuals pull at, the most influential first."""
    terms = np.abs(found.residual[:, None] * found.gradients)
    pull = np.abs(found.residual @ found.gradients) / np.sqrt(np.diag(stage.G))
    scale = (terms.max(axis=0, initial=0.0) / np.sqrt(np.diag(stage.G))).max(initial=0.0)
    held = [j for j in np.flatnonzero(~stage.free) if pull[j] > BLAME * scale]
    return [int(j) for j in sorted(held, key=lambda j: -pull[j])][:TRIED]


def _asked_rows(stage: Stage, rows: list[int]) -> list[int]:
    """The blamed rows that are no constraints but given values of rates, reactions or joints."""
    first = len(stage.pick) - int(np.count_nonzero(_is_asked(stage)))
    return [k for k in rows if k >= first]


def _is_asked(stage: Stage) -> np.ndarray:
    return stage.pick >= stage.level.required


def _is_tied(stage: Stage, found: Found) -> bool:
    """Whether more is given than there is freedom, near the closest point and not only in it."""
    rng = np.random.default_rng(5)
    size = 1.0 / np.sqrt(np.diag(stage.G))
    everything, loose = 0, 0
    for _ in range(3):
        point = found.v + 1e-2 * np.maximum(stage.sizes, np.abs(found.v)) * rng.standard_normal(len(found.v))
        rows = stage.at(point).gradients * size
        if not np.isfinite(rows).all():
            continue
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1), 1e-300)[:, None]
        asked = _is_asked(stage)
        everything = max(everything, rank_of(rows[~asked], ROUGH_ROW_RANK, UNIT))
        # Given rows and values both take freedom: the freedom the constraints lack once they are taken.
        given = np.vstack([rows[asked], np.eye(len(stage.free))[~stage.free]])
        loose = max(
            loose,
            rank_of(np.vstack([rows[~asked], given]), ROUGH_ROW_RANK, UNIT) - rank_of(given, ROUGH_ROW_RANK, UNIT),
        )
    return loose < everything or bool(stage.free.sum() == 0)


# -- what would help ---------------------------------------------------------------------------------------------------


def _release(stage: Stage, found: Found, j: int) -> Remedy | None:
    """The value of a given variable nearest to the one asked for with which the equations can be met."""
    free, stiff, asked = stage.free.copy(), np.ones(len(stage.free)), float(stage.target[j])
    free[j], stiff[j] = True, RELEASED_WEIGHT
    released = replace(stage, free=free)
    tries = [released.solve(start) for start in (found.v, stage.target, *released.starts(ELSEWHERE))]
    stiffened = replace(released, _metric=[weighted(stage.G, stiff)])
    tries += [stiffened.solve(tried.v) for tried in tries if tried.met]
    met = [tried for tried in tries if tried.met]
    if not met:
        return None
    loose = min(met, key=lambda tried: abs(tried.v[j] - asked))

    def attempt(value: float, start: np.ndarray) -> Found:
        point = stage.target.copy()
        point[j] = value
        start = start.copy()
        start[j] = value
        return replace(stage, target=point).solve(start, walk=0)

    return _nearest_value(stage.level.variables[j], asked, float(loose.v[j]), loose.v, attempt)


def _release_row(stage: Stage, found: Found, k: int) -> Remedy | None:
    """Likewise for a given rate, reaction or value of a joint."""
    keep = np.arange(len(stage.pick)) != k
    loose = replace(stage, pick=stage.pick[keep], wanted=stage.wanted[keep]).solve(found.v)
    if not loose.met:
        return None
    here = stage.at(loose.v)
    value = float(here.residual[k] + stage.wanted[k])

    def attempt(value: float, start: np.ndarray) -> Found:
        wanted = stage.wanted.copy()
        wanted[k] = value
        return replace(stage, wanted=wanted).solve(start, walk=0)

    return _nearest_value(stage.labels[k], float(stage.wanted[k]), value, loose.v, attempt)


def _nearest_value(
    name: str, asked: float, works: float, v: np.ndarray, attempt: Callable[[float, np.ndarray], Found]
) -> Remedy:
    """Close in on the value asked for from one that works, then drop digits that do not matter."""
    far = asked
    for _ in range(VALUE_HALVINGS):
        middle = 0.5 * (works + far)
        tried = attempt(middle, v)
        if tried.met:
            works, v = middle, tried.v
        else:
            far = middle
    for digits in range(2, 13):
        for value in (float(f"{works:.{digits}g}"), float(f"{works + (works - asked) * 10.0**-digits:.{digits}g}")):
            if value != asked and attempt(value, v).met:
                return Remedy(name, asked, value, f"{name} = {value:.{digits}g}")
    return Remedy(name, asked, works, f"{name} = {works:.15g}")


def _advise_on_parameters(task: Task, stage: Stage, found: Found) -> str:
    """The parameter whose change would help with the least relative change; empty if none does."""
    if stage.level.name == ALL or not task.system.parameters:
        return ""
    n, p = len(stage.target), task.p
    wide = replace(
        stage,
        level=level(task.system, stage.level.name, parameters=True, joints=stage.level.joints),
        target=np.concatenate([stage.target, p]),
        free=np.concatenate([stage.free, np.zeros(len(p), dtype=bool)]),
        metric=lambda: _with_diagonal(stage.G, 1.0 / np.maximum(np.abs(p), 1e-3) ** 2),
        sizes=np.concatenate([stage.sizes, np.where(p != 0.0, np.abs(p), 1.0)]),
        low=np.concatenate([stage.low, np.full(len(p), -np.inf)]),
        high=np.concatenate([stage.high, np.full(len(p), np.inf)]),
        _metric=[],
    )
    here = wide.at(np.concatenate([found.v, p]))
    candidates = [j for j in _blamed_values(wide, here) if j >= n]
    remedies = [r for j in candidates[:TRIED] if (r := _release(wide, here, j)) is not None]
    if not remedies:
        return ""
    best = min(remedies, key=lambda r: abs(r.works - r.asked) / max(abs(r.asked), 1e-3))
    return f"No given value helps; parameter {best.text} instead of {best.asked:.6g} would work"


def _with_diagonal(G: np.ndarray, more: np.ndarray) -> np.ndarray:
    n = len(G)
    wide = np.zeros((n + len(more), n + len(more)))
    wide[:n, :n] = G
    wide[range(n, n + len(more)), range(n, n + len(more))] = more * float(np.trace(G) / max(n, 1) or 1.0)
    return wide


# -- words -------------------------------------------------------------------------------------------------------------


def _said(stage: Stage, found: Found) -> str:
    """with q1 held at 0: the given values that matter here."""
    blamed = _blamed_values(stage, found) if np.isfinite(found.worst) else [int(j) for j in np.flatnonzero(~stage.free)]
    texts = [f"{stage.level.variables[j]} held at {stage.target[j]:.6g}" for j in sorted(blamed)]
    texts += [f"{stage.labels[k]} = {stage.wanted[k]:.6g}" for k in np.flatnonzero(_is_asked(stage))]
    more = f" and {len(texts) - PRINTED_ROWS} more" if len(texts) > PRINTED_ROWS else ""
    return f" with {', '.join(texts[:PRINTED_ROWS])}{more}" if texts else ""


def _untie(stage: Stage, blamed: list[int], rows: list[int], best: Remedy) -> str:
    """x and y are tied by `path`; give one of them, e.g. x, and leave y free."""
    asked = _asked_rows(stage, rows)
    names = [stage.level.variables[j] for j in blamed] + [stage.labels[k] for k in asked]
    order = {name: k for k, name in enumerate((*stage.level.variables, *stage.level.rows))}
    names = sorted(names, key=lambda name: order[name])
    ties = ", ".join(f"`{stage.labels[k]}`" for k in sorted(rows) if k not in asked) or "the equations of motion"
    others = [name for name in names if name != best.name]
    give = "one of them" if len(names) == 2 else f"{len(others)} of them"
    return (
        f"{_and(names)} are tied by {ties}; give {give}, e.g. {_and(others)}, and leave {best.name} free "
        f"({best.text} fits)"
    )


def _list(stage: Stage, found: Found, rows: list[int]) -> str:
    shown = []
    for k in rows[:PRINTED_ROWS]:
        unit = stage.level.units[stage.pick[k]]
        shown.append(f"`{stage.labels[k]}` {abs(found.residual[k]):.3g}{' ' if unit else ''}{unit}")
    more = f" and {len(rows) - PRINTED_ROWS} more" if len(rows) > PRINTED_ROWS else ""
    return ", ".join(shown) + more


def _at_bounds(stage: Stage, found: Found) -> str:
    stopped = [
        f"`{stage.level.variables[j]}` at its bound {found.v[j]:g}"
        for j in np.flatnonzero(stage.free)
        if stage.bounded and (found.v[j] <= stage.low[j] or found.v[j] >= stage.high[j])
    ]
    return f", {', '.join(stopped)}" if stopped else ""


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _closest(task: Task, stage: Stage, found: Found, q: np.ndarray | None) -> Closest:
    nq = task.system.nq
    if stage.level.name == POSITION:
        return Closest(found.v, task.target[nq:].copy())
    if stage.level.name == ALL:
        return Closest(found.v[:nq], found.v[nq : nq + task.system.nu])
    return Closest(task.target[:nq].copy() if q is None else q, found.v)

"""Several instances in one turn of a loop: pieces of a few operations cost less than the loop around them.

A run of short pieces becomes one of longer pieces, each of them PIECES_PER_TURN short ones side by side; the last is
filled up with repetitions, which write the same numbers again. Copies of one value to many results become a run for
each such value, which is read once.
"""

from __future__ import annotations

import numpy as np

from dalembert.native.repetition import CONSTANT, COPY, Run, Shape, parse

SHORT_PIECE = 4  # operations of a piece that is put side by side with others
PIECES_PER_TURN = 4
MANY_INSTANCES = 32  # instances from which on that is worth its code
_SPREAD: Shape = (*COPY[:3], 2 * PIECES_PER_TURN, 0)  # one value kept becomes so many results


def widen(runs: list[Run]) -> list[Run]:
    """The same runs, of longer pieces where these are short and many."""
    return [part for run in runs for part in (_spread(run) if run.shape == COPY else [_widen(run)])]


def _spread(run: Run) -> list[Run]:
    """Copies of one value to many results in runs of their own, then all others."""
    sources, counts = np.unique(run.places[:, 0], return_counts=True)
    often = sources[counts >= MANY_INSTANCES]
    runs = []
    for source in often.tolist():
        rows = _filled(run.places[run.places[:, 0] == source, 1:], 2 * PIECES_PER_TURN).reshape(-1, 2 * PIECES_PER_TURN)
        runs.append(Run(_SPREAD, run.level, np.insert(rows, 0, source, axis=1), run.constants[: len(rows)]))
    rest = ~np.isin(run.places[:, 0], often)
    return [*runs, _widen(Run(COPY, run.level, run.places[rest], run.constants[rest]))] if rest.any() else runs


def _widen(run: Run) -> Run:
    kinds, body = parse(run.shape)
    if len(body) > SHORT_PIECE or len(run.places) < MANY_INSTANCES:
        return run
    wide = list[int]()
    for k in range(PIECES_PER_TURN):
        for op, codes, rows, is_kept in body:
            wide += [op, *(code + 4 * k * (len(kinds) if code % 4 else len(body)) for code in codes), -1, rows, is_kept]
    places, constants = _filled(run.places, PIECES_PER_TURN), _filled(run.constants, PIECES_PER_TURN)
    count, slots = len(places) // PIECES_PER_TURN, sum(kind != CONSTANT for kind in kinds)
    cuts = [slots, slots + sum(rows for _, _, rows, _ in body)]  # slots, results, values to keep: each side by side
    beside = [part.reshape(count, -1) for part in np.split(places, cuts, axis=1)]
    return Run(tuple(wide), run.level, np.column_stack(beside), constants.reshape(count, -1))


def _filled(rows: np.ndarray, many: int) -> np.ndarray:
    """A multiple of `many` rows, the last one repeated."""
    return np.concatenate([rows, np.repeat(rows[-1:], -len(rows) % many, axis=0)])

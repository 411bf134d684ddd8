"""Sines and cosines in loops over equal pieces: four arguments at a time, sine and cosine of one argument together.

A sine that several pieces need is a piece of its own, and so is the cosine of the same argument. As loops of their own
they would be evaluated one by one, each time both of them.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.dataclass import dataclass
from dalembert.native.llvm_ir import pointer
from dalembert.native.repetition import INPUT, VALUE, Repetition, Run
from dalembert.native.sine_cosine import ASIDE, LANES, emit_sines

PLACES = 3 * LANES  # of a call of `emit_sines`: arguments, where the sines are kept, and where the cosines
_LONE = {
    (op, source, -1, 0, 1): (source, column)
    for source in (INPUT, VALUE)
    for column, op in ((1, ca.OP_SIN), (2, ca.OP_COS))
}  # shapes that are a sine or a cosine and nothing else


@dataclass(frozen=True)
class Turns:
    """Sines and cosines of inputs, or of values kept (`source`), of one level.

    `places` (n, 12) says for four arguments each where they are read, where their sines are kept, and where their
    cosines; what nobody needs goes to the place behind all values kept.
    """

    source: int
    level: int
    places: np.ndarray


def take_turns(repetition: Repetition) -> tuple[list[Run], list[Turns]]:
    """Separate runs whose shape is a lone sine or cosine: the other runs, and the sines and cosines."""
    rest, found = [], list[np.ndarray]()  # rows (source, level, argument, its sine, its cosine), one of the last two
    for run in repetition.runs:
        if run.shape not in _LONE:
            rest.append(run)
            continue
        source, column = _LONE[run.shape]
        rows = np.full((len(run.places), 5), repetition.kept)
        rows[:, 0], rows[:, 1], rows[:, 2] = source, run.level, run.places[:, 0]
        rows[:, 2 + column] = run.places[:, 1]
        found.append(rows)
    turns = []
    table = np.concatenate([*found, np.zeros((0, 5), dtype=np.int64)])
    for source in (INPUT, VALUE):
        merged = _merge(table[table[:, 0] == source])
        if source == INPUT:  # known from the beginning; a value only below the level of its own piece
            merged[:, 0] = merged[:, 0].max(initial=0)
        turns += [
            Turns(source, level, _group(merged[merged[:, 0] == level, 1:], repetition.kept))
            for level in sorted(set(merged[:, 0].tolist()))
        ]
    return rest, turns


def _merge(rows: np.ndarray) -> np.ndarray:
    """Rows (level, argument, sine, cosine) of distinct arguments, of the highest level each."""
    arguments, where = np.unique(rows[:, 2], return_inverse=True)
    merged = np.full((len(arguments), 4), -1)
    merged[:, 1] = arguments
    np.maximum.at(merged[:, 0], where, rows[:, 1])
    for column in (2, 3):
        merged[:, column] = rows[:, column + 1].max(initial=0)
        np.minimum.at(merged[:, column], where, rows[:, column + 1])
    return merged


def _group(rows: np.ndarray, spare: int) -> np.ndarray:
    """Places (n, 12) of rows (argument, sine, cosine); the last group is filled up with its first argument."""
    missing = -len(rows) % LANES
    filler = np.tile([rows[0, 0], spare, spare], (missing, 1))
    return np.concatenate([rows, filler]).reshape(-1, LANES, 3).transpose(0, 2, 1).reshape(-1, PLACES)


def emit_turns(name: str, signature: str, source: int) -> list[str]:
    """The function of this name: a loop over `count` groups of four arguments."""
    lines = list[str]()
    for k in range(LANES):
        lines += [*_place(k), pointer(f"vp{k}", "x" if source == INPUT else "kept", f"%l{k}")]
        lines += [f"%v{k} = load double, ptr %vp{k}, align 8"]
    found, names = emit_sines("w.", [f"%v{k}" for k in range(LANES)])
    lines += found
    for function in range(2):
        for k in range(LANES):
            at = LANES * (1 + function) + k
            lines += [*_place(at), pointer(f"op{at}", "kept", f"%l{at}")]
            lines += [f"store double {names[k][function]}, ptr %op{at}, align 8"]
    return [
        f"define internal void @{name}({signature}) #2 {{", "entry:", ASIDE, "br label %loop", "loop:",
        "%i = phi i64 [ 0, %entry ], [ %next, %w.on ]", f"%pw = mul i64 %i, {PLACES}",
        pointer("p", "places", "%pw", "i32"), *lines, "%next = add i64 %i, 1", "%more = icmp ult i64 %next, %count",
        "br i1 %more, label %loop, label %done", "done:", "ret void\n}",
    ]  # fmt: skip


def _place(k: int) -> list[str]:
    return [
        pointer(f"lp{k}", "p", str(k), "i32"),
        f"%ls{k} = load i32, ptr %lp{k}, align 4",
        f"%l{k} = zext i32 %ls{k} to i64",
    ]

"""Equal shapes in an instruction tape: values that are needed together, cut apart where they are shared, and compared.

A model of many like parts has a tape of thousands of like pieces, one per part, that differ in the inputs they read, in
their constants, and in where their results go. Here the tape is cut into such pieces:

    piece     the values that are needed by one result only, or by the same set of other pieces
    shape     the operations of a piece with inputs, constants and values of other pieces as numbered slots
    run       pieces of one shape that can be evaluated one after the other, as none needs another

A long sum is cut at its terms. Pieces need only those of a higher level, so a tape is evaluated level by level. The
passes over the tape are native code (`tape_values`, `tape_shapes`); here are their arrays.
"""

from __future__ import annotations

from typing import TypeVar

import casadi as ca
import numpy as np

from dalembert.dataclass import dataclass
from dalembert.native import tape_values as roles
from dalembert.native.operations import COMMUTATIVE, COPIES, EMITTED
from dalembert.native.program import UnsupportedOperationError
from dalembert.native.tape import Tape
from dalembert.native.tape_shapes import CONSTANT_SLOT, INPUT_SLOT, VALUE_SLOT, Description, describe_pieces
from dalembert.native.tape_values import LONG_SUM, Counts, Cut, cut_pieces, find_long_sums, number_values
from dalembert.native.types import Record

__all__ = [
    "CONSTANT", "COPY", "INPUT", "LONG_SUM", "VALUE", "LongSum", "Repetition", "Run", "Shape", "find_repetition",
    "parse",
]  # fmt: skip

CONSTANT, INPUT, VALUE = CONSTANT_SLOT, INPUT_SLOT, VALUE_SLOT
Shape = tuple[int, ...]
COPY: Shape = (ca.OP_INPUT, VALUE, -1, 1, 0)  # a value kept becomes a result
Places = TypeVar("Places", bound=Record)


@dataclass(frozen=True)
class Run:
    """n instances of a shape: for each, where its slots are read and its results written, and its constants.

    `places` (n, w) holds indices of inputs and of values kept (slot by slot), then of results, then of values to keep;
    `constants` (n, c) holds bits.
    """

    shape: Shape
    level: int
    places: np.ndarray
    constants: np.ndarray


@dataclass(frozen=True)
class LongSum:
    """A value kept at `target` that is the sum of values kept at `terms`, subtracted from index `positive` on.

    It is also the result `rows`.
    """

    level: int
    target: int
    terms: np.ndarray
    positive: int
    rows: list[int]


@dataclass(frozen=True)
class Repetition:
    """A tape as runs and long sums, to be evaluated from the highest level down; `kept` values are passed on."""

    runs: list[Run]
    sums: list[LongSum]
    kept: int

    @property
    def distinct(self) -> int:
        """Values of all shapes, each counted once; -1 ends the arguments of a value."""
        return sum(shape.count(-1) for shape in {run.shape for run in self.runs})


@dataclass(frozen=True)
class _Values:
    """The distinct values of a tape, and its results: those of value v are `rows[start[v] : start[v + 1]]`."""

    ops: np.ndarray
    one: np.ndarray
    two: np.ndarray
    start: np.ndarray
    rows: np.ndarray

    @property
    def results(self) -> np.ndarray:
        """Number of results that each value is."""
        return np.diff(self.start)


@dataclass(frozen=True)
class _Sums:
    """Long sums: their values, where their terms start and those to subtract (two entries each), and the terms."""

    roots: np.ndarray
    start: np.ndarray
    terms: np.ndarray


@dataclass(frozen=True)
class _Pieces:
    """By value: its place among those kept, or -1, and whether it is copied. By piece: its level.

    `members` are the values of piece after piece, from `begin` on, in the order in which the pieces were met (`order`).
    """

    kept: np.ndarray
    copied: np.ndarray
    levels: np.ndarray
    sum_pieces: np.ndarray
    order: np.ndarray
    members: np.ndarray
    begin: np.ndarray
    count: int


def find_repetition(tape: Tape) -> Repetition:
    """The tape cut into pieces, equal ones together."""
    values = _number(tape)
    sums = _long_sums(values)
    pieces = _cut(values, sums)
    runs = _compare(values, pieces)
    copied = np.flatnonzero(pieces.copied)[::-1]
    if copied.size:
        many = values.results[copied]
        rows = np.concatenate([values.rows[values.start[v] : values.start[v + 1]] for v in copied])
        copies = np.column_stack([np.repeat(pieces.kept[copied], many), rows])
        runs.append(Run(COPY, -1, copies, np.zeros((len(copies), 0), dtype=np.int64)))
    found = [
        LongSum(
            int(pieces.levels[piece]), int(pieces.kept[root]), pieces.kept[sums.terms[first:end]], int(minus - first),
            values.rows[values.start[root] : values.start[root + 1]].tolist(),
        )
        for root, piece, first, minus, end in zip(
            sums.roots, pieces.sum_pieces, sums.start[:-1:2], sums.start[1::2], sums.start[2::2], strict=True
        )
        if piece >= 0
    ]  # fmt: skip
    return Repetition(sorted(runs, key=lambda run: -run.level), found, pieces.count)


def parse(shape: Shape) -> tuple[list[int], list[tuple[int, list[int], int, int]]]:
    """Kinds of the slots, and (operation, codes of arguments, number of results, whether it is kept) of each value."""
    kinds: dict[int, int] = {}
    body, k = [], 0
    while k < len(shape):
        end = shape.index(-1, k + 1)
        codes = list(shape[k + 1 : end])
        kinds |= {code // 4: code % 4 for code in codes if code % 4}
        body.append((shape[k], codes, shape[end + 1], shape[end + 2]))
        k = end + 3
    return [kinds[slot] for slot in range(len(kinds))], body


def _number(tape: Tape) -> _Values:
    kinds = np.zeros(int(tape.operations.max(initial=0)) + 1, dtype=np.int64)
    for op in np.flatnonzero(np.bincount(tape.operations)).tolist():
        kinds[op] = _role(op)
    n, count = len(tape.operations), Counts()
    ops, one, two, row, source = (np.empty(n, dtype=np.int64) for _ in range(5))
    table, slots = np.full(_power_of_two(2 * n), -1), np.zeros(tape.slots, dtype=np.int64)
    unsupported = number_values(
        count, kinds, tape.operations, tape.targets, tape.first, tape.second, slots, table, ops, one, two, row, source
    )
    if unsupported >= 0:
        raise UnsupportedOperationError(f"operation {unsupported}")
    n, m = count.values, count.results
    order = np.argsort(source[:m], kind="stable")
    start = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(source[:m], minlength=n), out=start[1:])
    return _Values(ops[:n].copy(), one[:n].copy(), two[:n].copy(), start, row[order])


def _role(op: int) -> int:
    """Role of an operation in `number_values`."""
    if op in (ca.OP_CONST, ca.OP_INPUT):
        return roles.LEAF
    if op == ca.OP_OUTPUT:
        return roles.RESULT
    if op in COPIES:
        return roles.COPY
    if op in COMMUTATIVE:
        return roles.COMMUTATIVE
    return roles.ORDERED if op in EMITTED else 0


def _long_sums(values: _Values) -> _Sums:
    n = len(values.ops)
    count = Counts(values=n)
    stack, other, terms = (np.empty(2 * n + 2, dtype=np.int64) for _ in range(3))
    root, start = np.empty(n // LONG_SUM + 1, dtype=np.int64), np.empty(2 * (n // LONG_SUM + 1) + 1, dtype=np.int64)
    uses, inside = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    found = find_long_sums(
        count, values.ops, values.one, values.two, values.results, uses, inside, stack, other, root, start, terms
    )
    return _Sums(root[:found].copy(), start[: 2 * found + 1].copy(), terms[: count.terms].copy())


def _cut(values: _Values, sums: _Sums) -> _Pieces:
    n, count = len(values.ops), Counts(values=len(values.ops))
    table = _power_of_two(2 * n)
    # Bounds that cannot be passed; memory that is not written to is never there.
    sizes = dict.fromkeys(("label", "kept", "head", "term", "sum", "copied", "member", "of_member"), n)
    sizes |= dict.fromkeys(("level", "stamp", "node", "next"), 4 * n + 4) | {"table": table, "pool": 6 * n + 6}
    sizes |= {"set_start": n + 2, "set_piece": n + 1, "sum_piece": len(sums.roots)}
    at, work = _lay_out(Cut(), sizes)
    for name in ("label", "kept", "head", "term", "sum", "table", "sum_piece"):
        _part(at, work, name, sizes[name])[:] = -1
    _part(at, work, "copied", n)[:] = 0
    work[at.set_start] = 0
    work[at.sum + sums.roots] = np.arange(len(sums.roots))
    cut_pieces(
        count, at, work, table - 1, values.ops, values.one, values.two, values.results, sums.start, sums.terms
    )  # fmt: skip
    members = _part(at, work, "member", count.members)
    piece_of = _part(at, work, "of_member", count.members)
    first = np.full(count.pieces, count.members)
    first[piece_of[::-1]] = np.arange(count.members)[::-1]  # of equal places the last one written stays
    order = np.argsort(first, kind="stable")[: np.count_nonzero(first < count.members)]
    rank = np.empty(count.pieces, dtype=np.int64)
    rank[order] = np.arange(len(order))
    number = rank[piece_of]
    begin = np.zeros(len(order) + 1, dtype=np.int64)
    np.cumsum(np.bincount(number, minlength=len(order)), out=begin[1:])
    return _Pieces(
        _part(at, work, "kept", n).copy(), _part(at, work, "copied", n).copy(),
        _part(at, work, "level", count.pieces).copy(), _part(at, work, "sum_piece", len(sums.roots)).copy(),
        order, members[np.argsort(number, kind="stable")], begin, count.kept,
    )  # fmt: skip


def _compare(values: _Values, pieces: _Pieces) -> list[Run]:
    """Runs in the order in which their shapes are met."""
    n, many, m = len(values.ops), len(pieces.order), len(pieces.members)
    given = {
        "kept": pieces.kept, "copied": pieces.copied, "row_start": values.start, "rows": values.rows,
        "begin": pieces.begin, "level": pieces.levels[pieces.order],
    }  # fmt: skip
    table, most = _power_of_two(2 * many), 2 * m + len(values.rows) + m + 1
    sizes = {name: array.size for name, array in given.items()} | {"code": n, "stamp": n, "table": table}
    sizes |= dict.fromkeys(("place_start", "constant_start", "shape_start", "group", "group_level"), many + 1)
    sizes |= {"shapes": 6 * m + 6, "places": most, "constants": 2 * m + 1, "results": len(values.rows) + 1, "keeps": m}
    at, work = _lay_out(Description(), sizes)
    for name, array in given.items():
        _part(at, work, name, array.size)[:] = array
    _part(at, work, "stamp", n)[:] = -1
    _part(at, work, "table", table)[:] = -1
    work[at.shape_start] = 0
    count = Counts()
    groups = describe_pieces(count, at, work, many, table - 1, pieces.members, values.ops, values.one, values.two)
    group = _part(at, work, "group", many)
    by_group = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=groups)) if many else np.zeros(0, dtype=np.int64)
    shape_start = _part(at, work, "shape_start", groups + 1)
    tables = [
        (_part(at, work, start, many + 1), _part(at, work, pool, size))
        for start, pool, size in (
            ("place_start", "places", count.places), ("constant_start", "constants", count.constants)
        )
    ]  # fmt: skip
    runs = []
    for k, instances in enumerate(np.split(by_group, ends[:-1])[:groups]):
        shape = tuple(work[at.shapes + shape_start[k] : at.shapes + shape_start[k + 1]].tolist())
        rows = [pool[_spans(start, instances)] for start, pool in tables]
        runs.append(Run(shape, int(work[at.group_level + k]), *rows))
    return runs


def _spans(start: np.ndarray, instances: np.ndarray) -> np.ndarray:
    """Indices (n, w) of the entries of instances, all of the same number of them."""
    one = instances[0]
    return start[instances][:, None] + np.arange(start[one + 1] - start[one])


def _power_of_two(least: int) -> int:
    return 1 << max(4, int(least - 1).bit_length())


def _lay_out(places: Places, sizes: dict[str, int]) -> tuple[Places, np.ndarray]:
    """The record with the places of arrays of these sizes, one behind the other in a new array, not filled."""
    total = 0
    for name, size in sizes.items():
        setattr(places, name, total)
        total += size
    return places, np.empty(total + 1, dtype=np.int64)


def _part(places: Record, work: np.ndarray, name: str, size: int) -> np.ndarray:
    first = getattr(places, name)
    return work[first : first + size]

"""Equal shapes in an instruction tape: values that are needed together, cut apart where they are shared, and compared.

A model of many like parts has a tape of thousands of like pieces, one per part, that differ in the inputs they read, in
their constants, and in where their results go. Here the tape is cut into such pieces:

    piece     the values that are needed by one result only, or by the same set of other pieces
    shape     the operations of a piece with inputs, constants and values of other pieces as numbered slots
    run       pieces of one shape that can be evaluated one after the other, as none needs another

A long sum is cut at its terms. Pieces need only those of a higher level, so a tape is evaluated level by level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import casadi as ca

from dalembert.native.llvm_ir import Program

LONG = 32  # terms above which a sum is cut at its terms
FEW = 8  # results that one value may be before it is kept and copied to them in a loop
_LEAVES = (ca.OP_CONST, ca.OP_INPUT)
CONSTANT, INPUT, VALUE = 1, 2, 3  # kinds of slots

Shape = tuple[int, ...]
COPY: Shape = (ca.OP_INPUT, VALUE, -1, 1, 0)  # a value kept becomes a result


@dataclass
class Run:
    """Instances of a shape: for each, where its slots are read and its results written, and its constants.

    `places` holds indices of inputs and of values kept (slot by slot), then of results, then of values to keep.
    """

    shape: Shape
    level: int
    places: list[list[int]] = field(default_factory=list)
    constants: list[list[int]] = field(default_factory=list)


@dataclass(frozen=True)
class LongSum:
    """A value kept at `target` that is the sum of values kept at `terms`, subtracted from index `positive` on.

    It is also the result `rows`.
    """

    level: int
    target: int
    terms: list[int]
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
        """Length of all shapes, each counted once."""
        return sum(len(shape) for shape in {run.shape for run in self.runs})


class _Pieces:
    """Which piece every value belongs to; pieces are numbered from those of the results on."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.label = [-1] * len(program.operations)
        self.shared: dict[int, set[int]] = {}
        self.levels: list[int] = []
        self.members: dict[int, list[int]] = {}
        self.kept: dict[int, int] = {}
        self.sums: list[tuple[int, int, list[int], list[int]]] = []
        self.copied: dict[int, list[int]] = {}  # values that are many results
        self._known: dict[frozenset[int], int] = {}

    def new(self, level: int) -> int:
        self.levels.append(level)
        return len(self.levels) - 1

    def use(self, value: int, piece: int) -> None:
        first = self.label[value]
        if first < 0:
            self.label[value] = piece
        elif first != piece:
            self.shared.setdefault(value, {first}).add(piece)

    def keep(self, value: int) -> None:
        self.kept.setdefault(value, len(self.kept))

    def settle(self, value: int) -> int:
        """The piece of a value, all of whose users are known."""
        if value not in self.shared:
            return self.label[value]
        users = frozenset(self.shared[value])
        piece = self._known.get(users)
        if piece is None:
            piece = self._known[users] = self.new(1 + max(self.levels[k] for k in users))
        self.label[value] = piece
        self.keep(value)
        return piece


def find_repetition(program: Program) -> Repetition:
    """The tape cut into pieces, equal ones together."""
    pieces = _cut(program)
    runs: dict[tuple[int, Shape], Run] = {}
    for piece, members in pieces.members.items():
        shape, places, constants = _describe(pieces, members[::-1])
        level = pieces.levels[piece]
        run = runs.get((level, shape))
        if run is None:
            run = runs[level, shape] = Run(shape, level)
        run.places.append(places)
        run.constants.append(constants)
    sums = [
        LongSum(
            pieces.levels[piece], pieces.kept[value],
            [pieces.kept[term] for term in (*plus, *minus)], len(plus), program.outputs.get(value, []),
        )
        for (value, piece, plus, minus) in pieces.sums
    ]  # fmt: skip
    copies = [[pieces.kept[value], row] for value, rows in pieces.copied.items() for row in rows]
    if copies:
        runs[-1, COPY] = Run(COPY, -1, copies, [[] for _ in copies])
    return Repetition(sorted(runs.values(), key=lambda run: -run.level), sums, len(pieces.kept))


def _cut(program: Program) -> _Pieces:
    """Pieces and the values they pass on; users come before what they use."""
    operations, arguments, outputs = program.operations, program.arguments, program.outputs
    pieces, sums = _Pieces(program), _long_sums(program)
    terms: dict[int, int] = {}  # the level of the sum a value is a term of
    for value in range(len(operations) - 1, -1, -1):
        if value in outputs:
            pieces.use(value, pieces.new(0))
            if len(outputs[value]) > FEW and value not in sums:
                pieces.copied[value] = outputs[value]
                pieces.keep(value)
        if value in terms:
            pieces.use(value, pieces.new(terms[value] + 1))
            pieces.keep(value)
        if pieces.label[value] < 0:
            continue
        piece = pieces.settle(value)
        if value in sums:
            level = pieces.levels[piece] + 1
            pieces.keep(value)
            pieces.sums.append((value, pieces.new(level), *sums[value]))
            terms |= {term: max(level, terms.get(term, 0)) for part in sums[value] for term in part}
            continue
        pieces.members.setdefault(piece, []).append(value)
        if operations[value] in _LEAVES:  # a result or a term by itself: a copy
            continue
        for argument in arguments[value]:
            if operations[argument] not in _LEAVES:
                pieces.use(argument, piece)
    return pieces


def _long_sums(program: Program) -> dict[int, tuple[list[int], list[int]]]:
    """Values that are sums of many terms: those added and those subtracted."""
    operations, arguments = program.operations, program.arguments
    uses = [0] * len(operations)
    for op, values in zip(operations, arguments, strict=True):
        if op not in _LEAVES:
            for value in values:
                uses[value] += 1
    found: dict[int, tuple[list[int], list[int]]] = {}
    inside: set[int] = set()
    for root in range(len(operations) - 1, -1, -1):
        if operations[root] not in (ca.OP_ADD, ca.OP_SUB) or root in inside:
            continue
        plus, minus, stack, within = list[int](), list[int](), [(root, True)], list[int]()
        while stack:
            value, positive = stack.pop()
            inner = value == root or (uses[value] == 1 and value not in program.outputs)
            if inner and operations[value] in (ca.OP_ADD, ca.OP_SUB):
                within.append(value)
                one, other = arguments[value]
                stack += [(other, positive == (operations[value] == ca.OP_ADD)), (one, positive)]
            else:
                (plus if positive else minus).append(value)
        inside.update(within)
        if len(plus) + len(minus) > LONG:
            found[root] = plus, minus
    return found


def _describe(pieces: _Pieces, members: Sequence[int]) -> tuple[Shape, list[int], list[int]]:
    """Shape, places and constants of a piece, its values in their order.

    A shape lists for each value its operation, its arguments (4 times a number in the piece, or 4 times a slot plus its
    kind), -1, how many results it is and whether it is kept.
    """
    operations, arguments, outputs = pieces.program.operations, pieces.program.arguments, pieces.program.outputs
    local: dict[int, int] = {}
    slots: dict[int, int] = {}
    shape, places, constants, results, kept = list[int](), list[int](), list[int](), list[int](), list[int]()
    for value in members:
        op = operations[value]
        shape.append(op)
        for argument in (value,) if op in _LEAVES else arguments[value]:
            code = local.get(argument)
            if code is None:
                kind = operations[argument]
                code = slots.get(argument)
                if code is None:
                    number = 4 * len(slots)
                    if kind == ca.OP_CONST:
                        code = number + CONSTANT
                        constants.append(arguments[argument][0])
                    elif kind == ca.OP_INPUT:
                        code = number + INPUT
                        places.append(arguments[argument][0])
                    else:
                        code = number + VALUE
                        places.append(pieces.kept[argument])
                    slots[argument] = code
            shape.append(code)
        rows = () if value in pieces.copied else outputs.get(value, ())
        is_kept = value in pieces.kept
        shape += (-1, len(rows), int(is_kept))
        results += rows
        if is_kept:
            kept.append(pieces.kept[value])
        local[value] = 4 * len(local)
    return tuple(shape), places + results + kept, constants

"""The native pass that compares the pieces of a tape: their shapes, and the differences within a shape."""

from __future__ import annotations

from dalembert.native.jit import jit
from dalembert.native.tape_values import CONST, INPUT, SEED, Counts, mix
from dalembert.native.types import Ints, Record, i8, ints

CONSTANT_SLOT, INPUT_SLOT, VALUE_SLOT = 1, 2, 3  # kinds of slots


class Description(Record):
    """Offsets of arrays in `work`: by value, by piece, by group (pieces of one shape and level), and pools."""

    _fields_ = ints(
        "kept copied row_start rows code stamp begin level group place_start constant_start "
        "table shape_start group_level shapes places constants results keeps"
    )


@jit(i8(Counts, Description, Ints, Ints, Ints, i8, i8))
def read_slot(count, at, work, ops, one, argument, slots):
    """The code of a value from outside that is read as slot number `slots`; notes where it is read, or its bits."""
    if ops[argument] == CONST:
        work[at.constants + count.constants] = one[argument]
        count.constants += 1
        return 4 * slots + CONSTANT_SLOT
    given = ops[argument] == INPUT
    work[at.places + count.places] = one[argument] if given else work[at.kept + argument]
    count.places += 1
    return 4 * slots + (INPUT_SLOT if given else VALUE_SLOT)


@jit(i8(Counts, Description, Ints, i8, Ints, Ints, Ints, Ints, i8))
def describe_piece(count, at, work, k, members, ops, one, two, end):
    """Write shape, places and constants of piece number k in its order to the ends of their pools; the shape's end.

    A shape lists for each value its operation, its arguments (4 times a number in the piece, or 4 times a slot plus its
    kind), -1, how many results it is and whether it is kept.
    """
    slots = results = keeps = 0
    last_member = work[at.begin + k + 1] - 1
    for inner in range(last_member + 1 - work[at.begin + k]):
        value = members[last_member - inner]
        leaf = ops[value] == CONST or ops[value] == INPUT
        work[end] = ops[value]
        end += 1
        for argument in (value if leaf else one[value], -1 if leaf else two[value]):
            if argument >= 0:
                if work[at.stamp + argument] != k:
                    work[at.stamp + argument] = k
                    work[at.code + argument] = read_slot(count, at, work, ops, one, argument, slots)
                    slots += 1
                work[end] = work[at.code + argument]
                end += 1
        first, last = work[at.row_start + value], work[at.row_start + value + 1]
        if work[at.copied + value]:
            last = first
        for r in range(first, last):
            work[at.results + results] = work[at.rows + r]
            results += 1
        kept = work[at.kept + value]
        if kept >= 0:
            work[at.keeps + keeps] = kept
            keeps += 1
        work[end], work[end + 1], work[end + 2] = -1, last - first, 1 if kept >= 0 else 0
        end += 3
        work[at.code + value], work[at.stamp + value] = 4 * inner, k
    for r in range(results):
        work[at.places + count.places + r] = work[at.results + r]
    for r in range(keeps):
        work[at.places + count.places + results + r] = work[at.keeps + r]
    count.places += results + keeps
    return end


@jit(i8(Counts, Description, Ints, i8, i8, i8, i8))
def find_group(count, at, work, level, begin, end, mask):
    """The group of a level and of the shape at the end of its pool; a new one if there is none."""
    key = mix(SEED, level)
    for k in range(begin, end):
        key = mix(key, work[k])
    place = at.table + ((key >> 20) & mask)
    while work[place] >= 0:
        known = work[place]
        first = work[at.shape_start + known]
        equal = work[at.group_level + known] == level and work[at.shape_start + known + 1] - first == end - begin
        k = 0
        while equal and k < end - begin:
            equal = work[at.shapes + first + k] == work[begin + k]
            k += 1
        if equal:
            return known
        place = at.table + ((place - at.table + 1) & mask)
    work[place] = count.groups
    work[at.group_level + count.groups] = level
    count.groups += 1
    count.shapes += end - begin
    work[at.shape_start + count.groups] = count.shapes
    return count.groups - 1


@jit(i8(Counts, Description, Ints, i8, i8, Ints, Ints, Ints, Ints))
def describe_pieces(count, at, work, pieces, mask, members, ops, one, two):
    """The group of every piece, and where its places and constants start in their pools."""
    for k in range(pieces):
        work[at.place_start + k], work[at.constant_start + k] = count.places, count.constants
        begin = at.shapes + count.shapes
        end = describe_piece(count, at, work, k, members, ops, one, two, begin)
        work[at.group + k] = find_group(count, at, work, work[at.level + k], begin, end, mask)
    work[at.place_start + pieces], work[at.constant_start + pieces] = count.places, count.constants
    return count.groups

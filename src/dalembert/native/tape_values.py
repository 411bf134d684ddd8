"""Native passes over a tape: its distinct values, long sums among them, and the pieces they are cut into.

A value is written once: `ops[v]` applied to the values `one[v]` and `two[v]` (-1 if there is none). For a constant
`one[v]` holds its bits, for an input its index. `repetition` says what pieces are and allocates the arrays.
"""

from __future__ import annotations

import casadi as ca

from dalembert.native.jit import jit
from dalembert.native.types import Ints, Record, i8, ints

ADD, SUB, CONST, INPUT = int(ca.OP_ADD), int(ca.OP_SUB), int(ca.OP_CONST), int(ca.OP_INPUT)
ORDERED, COMMUTATIVE, COPY, LEAF, RESULT = 1, 2, 3, 4, 5  # roles of operations; 0: unsupported
LONG_SUM = 32  # terms above which a sum is cut at its terms
COPIES_IN_LINE = 8  # results that one value may be before it is kept and copied to them in a loop
SEED, SPREAD = 0x1E3779B97F4A7C15, 0x2545F4914F6CDD1D  # odd numbers that spread keys over a table


class Counts(Record):
    """Numbers of the items that a pass finds."""

    _fields_ = ints("values results sums terms pieces kept nodes sets pool members groups shapes places constants")


@jit(i8(i8, i8))
def mix(key, more):
    """A number that differs for different pairs as far as possible."""
    key = (key ^ more) * SPREAD
    return (key ^ (key >> 29)) * SEED


@jit(i8(Counts, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints))
def number_values(count, roles, op, target, first, second, slots, table, ops, one, two, row, source):
    """Fill in the distinct values of a tape and (row, source) of its results; the first unsupported operation or -1.

    `table` has a power of two entries, all -1.
    """
    mask, n, m = len(table) - 1, 0, 0
    for k in range(len(op)):
        role, a, b = roles[op[k]], first[k], second[k]
        if role == 0:
            return op[k]
        if role <= COPY:
            a = slots[a]
        if role == COPY:
            slots[target[k]] = a
            continue
        if role == RESULT:
            row[m], source[m] = target[k], slots[a]
            m += 1
            continue
        if b >= 0:
            b = slots[b]
        if role == COMMUTATIVE and b < a:
            a, b = b, a
        place = (mix(mix(op[k], a), b) >> 20) & mask
        while table[place] >= 0:
            v = table[place]
            if ops[v] == op[k] and one[v] == a and two[v] == b:
                break
            place = (place + 1) & mask
        if table[place] < 0:
            table[place] = n
            ops[n], one[n], two[n] = op[k], a, b
            n += 1
        slots[target[k]] = table[place]
    count.values, count.results = n, m
    return -1


@jit(i8(Counts, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints))
def find_long_sums(count, ops, one, two, rows, uses, inside, stack, other, root, start, terms):
    """Sums of many terms: their `root` values, where their `terms` and those subtracted start (two entries each).

    `rows[v]` counts results. A value is inside a sum if nothing else needs it. `uses` and `inside` are zero; `stack`
    and `other` hold what is still to be looked at and terms to subtract.
    """
    n, found, total = count.values, 0, 0
    for v in range(n):
        if ops[v] != CONST and ops[v] != INPUT:
            uses[one[v]] += 1
            if two[v] >= 0:
                uses[two[v]] += 1
    for top in range(n - 1, -1, -1):
        if (ops[top] != ADD and ops[top] != SUB) or inside[top]:
            continue
        plus, minus, depth = total, 0, 1
        stack[0] = 2 * top + 1
        while depth:
            depth -= 1
            v, positive = stack[depth] >> 1, stack[depth] & 1
            if (v == top or (uses[v] == 1 and rows[v] == 0)) and (ops[v] == ADD or ops[v] == SUB):
                inside[v] = 1
                stack[depth] = 2 * two[v] + (positive if ops[v] == ADD else 1 - positive)
                stack[depth + 1] = 2 * one[v] + positive
                depth += 2
            elif positive:
                terms[plus] = v
                plus += 1
            else:
                other[minus] = v
                minus += 1
        if plus - total + minus > LONG_SUM:
            root[found], start[2 * found], start[2 * found + 1] = top, total, plus
            found += 1
            for k in range(minus):
                terms[plus + k] = other[k]
            total = plus + minus
    start[2 * found] = total
    count.sums, count.terms = found, total
    return found


class Cut(Record):
    """Offsets of the arrays of a cut in `work`: by value, by piece, by node of the lists of users, by set of users."""

    _fields_ = ints(
        "label kept head term sum level stamp node next table set_start set_piece pool member of_member "
        "sum_piece copied"
    )


@jit(i8(Counts, Cut, Ints, i8))
def new_piece(count, at, work, level):
    """The number of a new piece of this level."""
    work[at.level + count.pieces] = level
    work[at.stamp + count.pieces] = -1
    count.pieces += 1
    return count.pieces - 1


@jit(i8(Counts, Cut, Ints, i8))
def keep(count, at, work, value):
    """Assign a place to a value among those passed on."""
    if work[at.kept + value] < 0:
        work[at.kept + value] = count.kept
        count.kept += 1
    return 0


@jit(i8(Counts, Cut, Ints, i8, i8))
def use(count, at, work, value, piece):
    """Note that a piece needs a value."""
    if work[at.label + value] < 0:
        work[at.label + value] = piece
    elif work[at.label + value] != piece:
        head = work[at.head + value]
        if head < 0 or work[at.node + head] != piece:
            work[at.node + count.nodes] = piece
            work[at.next + count.nodes] = head
            work[at.head + value] = count.nodes
            count.nodes += 1
    return 0


@jit(i8(Counts, Cut, Ints, i8, i8))
def settle(count, at, work, value, mask):
    """The piece of a value, all of whose users are known: theirs, or the one for their set."""
    node = work[at.head + value]
    if node < 0:
        return work[at.label + value]
    begin = at.pool + count.pool
    work[begin] = work[at.label + value]
    work[at.stamp + work[begin]] = value
    size, level, key = 1, work[at.level + work[begin]], mix(SEED, work[begin])
    while node >= 0:
        piece = work[at.node + node]
        if work[at.stamp + piece] != value:
            work[at.stamp + piece] = value
            work[begin + size] = piece
            size += 1
            level = max(level, work[at.level + piece])
            key += mix(SEED, piece)
        node = work[at.next + node]
    place = at.table + ((mix(key, size) >> 20) & mask)
    found = -1
    while work[place] >= 0 and found < 0:
        known = work[place]
        first, end = work[at.set_start + known], work[at.set_start + known + 1]
        equal = end - first == size
        for k in range(first, end):
            equal = equal and work[at.stamp + work[at.pool + k]] == value
        if equal:
            found = known
        else:
            place = at.table + ((place - at.table + 1) & mask)
    if found < 0:
        found = work[place] = count.sets
        work[at.set_piece + found] = new_piece(count, at, work, level + 1)
        count.sets += 1
        count.pool += size
        work[at.set_start + count.sets] = count.pool
    work[at.label + value] = work[at.set_piece + found]
    keep(count, at, work, value)
    return work[at.label + value]


@jit(i8(Counts, Cut, Ints, i8, Ints, Ints, Ints, Ints, Ints, Ints))
def cut_pieces(count, at, work, mask, ops, one, two, rows, start, terms):
    """Cut values into pieces, and find the values they pass on. Users come before their arguments.

    `work[at.sum + v]` is the number of the sum that v is or -1, `start` and `terms` are those of `find_long_sums`.
    """
    for value in range(count.values - 1, -1, -1):
        number = work[at.sum + value]
        if rows[value]:
            use(count, at, work, value, new_piece(count, at, work, 0))
            if rows[value] > COPIES_IN_LINE and number < 0:
                work[at.copied + value] = 1
                keep(count, at, work, value)
        if work[at.term + value] >= 0:
            use(count, at, work, value, new_piece(count, at, work, work[at.term + value] + 1))
            keep(count, at, work, value)
        if work[at.label + value] < 0:
            continue
        piece = settle(count, at, work, value, mask)
        if number >= 0:
            level = work[at.level + piece] + 1
            keep(count, at, work, value)
            work[at.sum_piece + number] = new_piece(count, at, work, level)
            for k in range(start[2 * number], start[2 * number + 2]):
                work[at.term + terms[k]] = max(level, work[at.term + terms[k]])
            continue
        work[at.member + count.members], work[at.of_member + count.members] = value, piece
        count.members += 1
        if ops[value] != CONST and ops[value] != INPUT:
            for argument in (one[value], two[value]):
                if argument >= 0 and ops[argument] != CONST and ops[argument] != INPUT:
                    use(count, at, work, argument, piece)
    return count.pieces

"""Operations as `casadi.SX`, those inside branches guarded against infinities.

Piecewise functions need care. CasADi evaluates every branch and multiplies derivatives by the 0/1 condition; at points
where an inactive branch has an infinite slope (`sqrt(0)`, `1/0`) reverse differentiation then meets `0*inf = nan`.
So every operation that can be infinite and is *only* used inside branches gets a harmless argument while none of the
branches that use it is active (`HARMLESS`); value and derivatives of all orders stay those of the active branch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce

import casadi

from dalembert.equations.lowering.atoms import Atoms, NumberedColumns, Place
from dalembert.equations.lowering.expression_graph import HARMLESS, Graph
from dalembert.model.instances import Template
from dalembert.native.lookup import evaluate

FEW_ENTRIES = 64  # entries of a column that are not worth a look at whole columns

_UNARY = {
    "neg": casadi.OP_NEG,
    "sq": casadi.OP_SQ,
    "sqrt": casadi.OP_SQRT,
    "sin": casadi.OP_SIN,
    "cos": casadi.OP_COS,
    "tan": casadi.OP_TAN,
    "asin": casadi.OP_ASIN,
    "acos": casadi.OP_ACOS,
    "atan": casadi.OP_ATAN,
    "sinh": casadi.OP_SINH,
    "cosh": casadi.OP_COSH,
    "tanh": casadi.OP_TANH,
    "asinh": casadi.OP_ASINH,
    "acosh": casadi.OP_ACOSH,
    "atanh": casadi.OP_ATANH,
    "exp": casadi.OP_EXP,
    "log": casadi.OP_LOG,
    "abs": casadi.OP_FABS,
    "sign": casadi.OP_SIGN,
    "floor": casadi.OP_FLOOR,
    "ceil": casadi.OP_CEIL,
    "erf": casadi.OP_ERF,
    "not": casadi.OP_NOT,
}
_BINARY = {  # those that associate take any number of arguments
    "add": casadi.OP_ADD,
    "mul": casadi.OP_MUL,
    "div": casadi.OP_DIV,
    "pow": casadi.OP_POW,
    "atan2": casadi.OP_ATAN2,
    "min": casadi.OP_FMIN,
    "max": casadi.OP_FMAX,
    "lt": casadi.OP_LT,
    "le": casadi.OP_LE,
    "eq": casadi.OP_EQ,
    "ne": casadi.OP_NE,
    "and": casadi.OP_AND,
    "or": casadi.OP_OR,
    "xor": casadi.OP_NE,
}


def _blend(selectors: Sequence[casadi.SX], values: Sequence[casadi.SX]) -> casadi.SX:
    """The value whose selector is true; an infinite or undefined other one does not spoil it."""
    parts = map(_kept, selectors, values)
    return reduce(lambda total, part: casadi.SX.binary(casadi.OP_ADD, total, part), parts)


def _kept(condition: casadi.SX, value: casadi.SX) -> casadi.SX:
    """`value` where the condition holds and 0 elsewhere, even if `value` is not finite there."""
    return casadi.SX.binary(casadi.OP_IF_ELSE_ZERO, condition, value)


def _both(a: casadi.SX, b: casadi.SX) -> casadi.SX:
    return casadi.SX.binary(casadi.OP_AND, a, b)


def _not(a: casadi.SX) -> casadi.SX:
    return casadi.SX.unary(casadi.OP_NOT, a)


def _any_of(conditions: Iterable[casadi.SX]) -> casadi.SX:
    return reduce(lambda a, b: casadi.SX.binary(casadi.OP_OR, a, b), conditions)


class _Uses:
    """Conditions under which each node of an emission is used: always, or under one of several conditions."""

    def __init__(self, roots: Iterable[int]) -> None:
        # Conditions are kept by identity: all arguments of one branch hold the same object, and need no `or`.
        self._conditions: dict[int, dict[int, casadi.SX] | None] = dict.fromkeys(roots)

    def __contains__(self, node: int) -> bool:
        return node in self._conditions

    def add(self, node: int, condition: casadi.SX | None) -> None:
        if condition is None:
            self._conditions[node] = None
            return
        known = self._conditions.setdefault(node, {})
        if known is not None:
            known[id(condition)] = condition

    def settle(self, node: int) -> casadi.SX | None:
        """The one condition under which the node is in use, or None for always; to be called after the last `add`."""
        known = self._conditions[node]
        if known is None:
            return None
        condition = _any_of(known.values())
        self._conditions[node] = {id(condition): condition}
        return condition


class Emission:
    """The nodes of a graph as `casadi.SX`, each emitted once. `atoms` map its atoms to entries of columns.

    Quotients of exponentials are emitted as mantissa and exponent, unless they are wanted `as_stated`.

    Atoms and instances of templates are entries of columns. They are picked out of these together, and become values of
    their own only where another operation needs them.
    """

    def __init__(
        self, graph: Graph, atoms: Atoms, lowered: Callable[[Template], casadi.Function], *, as_stated: bool
    ) -> None:
        self._graph = graph
        self._as_stated = as_stated
        self._atoms = atoms
        self._lowered = lowered
        self._columns = NumberedColumns()  # of templates, for all their instances
        self._filled: dict[tuple[str, tuple[int, ...]], Place] = {}  # by label and arguments: the first expression
        self._done: set[int] = set()  # nodes that are emitted without guards
        self._plain: dict[int, casadi.SX] = {}  # values of them, as far as they are not in columns
        self._safe: dict[int, casadi.SX] = {}  # with branches, guarded; always in use
        self._selectors: dict[int, list[casadi.SX]] = {}

    def emit(self, roots: Sequence[int]) -> list[casadi.SX]:
        """The SX of each root."""
        guarded, branches = self._emit_all(roots), self._graph.branches
        return [guarded[root] if branches[root] else self._value(root) for root in roots]

    def column(self, roots: Sequence[int]) -> casadi.SX:
        """The dense column (n, 1) of n roots."""
        guarded, branches = self._emit_all(roots), self._graph.branches
        return self._gather(roots, {root: guarded[root] for root in roots if branches[root]})

    def _emit_all(self, roots: Sequence[int]) -> Mapping[int, casadi.SX]:
        """Emit roots; those with branches, which are guarded, come back."""
        branches = self._graph.branches
        self._emit_plain(root for root in roots if not branches[root])
        return self._emit_guarded([root for root in roots if branches[root]], roots)

    def _emit_plain(self, roots: Iterable[int]) -> None:
        order = self._graph.reach(roots, self._graph.children, self._done)
        for instances, others in self._by_depth(order):
            self._fill_together(instances)
            for node in others:
                self._plain[node] = self._operate(node, [self._value(k) for k in self._graph.children(node)])
            self._done.update(instances, others)

    def _by_depth(self, order: Sequence[int]) -> list[tuple[list[int], list[int]]]:
        """Instances, and other operations, that need no more than those before them; atoms are left out."""
        ops, instances = self._graph.ops, self._graph.instances
        if not instances:
            return [([], [node for node in order if ops[node] != "atom"])]
        depths: dict[int, int] = {}
        found: list[tuple[list[int], list[int]]] = [([], [])]
        for node in order:
            if ops[node] == "atom":
                continue
            filled = ops[node] in instances
            depth = max((depths.get(k, 0) for k in self._graph.children(node)), default=0) + filled
            depths[node] = depth
            if depth == len(found):
                found.append(([], []))
            found[depth][not filled].append(node)
        return found

    def _place(self, node: int) -> tuple[NumberedColumns, int, int] | None:
        """The columns that hold a node, with the number of the column and of the entry; None for a value of its own."""
        op, arguments = self._graph.ops[node], self._graph.args[node]
        if op == "atom":
            return self._atoms.columns, *arguments
        template, index = self._graph.instances.get(op, (None, 0))
        if template is None:
            return None
        number, first = self._filled[template.label, arguments]
        return self._columns, number, first + index

    def _value(self, node: int) -> casadi.SX:
        """The scalar (1, 1) of a node that is emitted without guards."""
        if node not in self._plain:
            columns, *place = self._place(node) or (self._columns,)
            self._plain[node] = columns.value((place[0], place[1]))
        return self._plain[node]

    def _gather(self, nodes: Sequence[int], guarded: Mapping[int, casadi.SX]) -> casadi.SX:
        """The dense column (n, 1) of nodes that are emitted, picked out of the columns that hold them.

        A few are taken one by one: the columns may be long, and there may be many calls for a few.
        """
        if len(nodes) <= FEW_ENTRIES:
            singles = [guarded[node] if node in guarded else self._value(node) for node in nodes]
            return casadi.densify(casadi.vertcat(casadi.SX(0, 1), *singles))
        begins: dict[tuple[int, int], int] = {}
        parts, size, index = [casadi.SX(0, 1)], 0, []
        for node in nodes:
            place = self._place(node) if node not in guarded else None
            columns, number, entry = place or (None, node, 0)
            begin = begins.get((id(columns), number), -1)
            if begin < 0:
                begin = begins[id(columns), number] = size
                parts.append(columns[number] if columns else guarded[node] if node in guarded else self._plain[node])
                size += columns[number].shape[0] if columns else 1
            index.append(begin + entry)
        whole = casadi.densify(casadi.vertcat(*parts))
        return whole if index == [*range(size)] else casadi.reshape(whole[index], len(index), 1)

    def _emit_guarded(self, branching: Sequence[int], roots: Sequence[int]) -> Mapping[int, casadi.SX]:
        """The SX of nodes that hold branches, each possibly infinite operation guarded unless it is always in use."""
        if not branching:
            return {}
        order = self._graph.reach(roots, self._wild_children, ())
        selects = [node for node in order if self._graph.ops[node] == "select"]
        self._emit_plain(k for node in selects for k in self._graph.args[node][::2])
        uses = self._propagate(order, _Uses(roots))
        done: dict[int, casadi.SX] = {}
        for node in order:
            if node in uses:
                self._emit_used(node, uses.settle(node), done)
        return done

    def _emit_used(self, node: int, condition: casadi.SX | None, done: dict[int, casadi.SX]) -> None:
        always = condition is None
        if not self._graph.wild[node] or (always and not self._graph.branches[node]):
            self._emit_plain([node])
            done[node] = self._value(node)
        elif always and node in self._safe:
            done[node] = self._safe[node]
        else:
            children = self._value_children(node)
            self._emit_plain(k for k in children if k not in done)
            values = [done[k] if k in done else self._value(k) for k in children]
            done[node] = self._operate(node, self._guard(node, condition, values))
            if always:
                self._safe[node] = done[node]

    def _propagate(self, order: Sequence[int], uses: _Uses) -> _Uses:
        """`uses` completed from the roots down."""
        for node in reversed(order):
            # What is emitted already, once and for all, uses nothing anew.
            if node not in uses or (node in self._safe and uses.settle(node) is None):
                continue
            condition = uses.settle(node)
            for child, own in self._used_by(node, condition):
                uses.add(child, own)
        return uses

    def _used_by(self, node: int, condition: casadi.SX | None) -> Iterator[tuple[int, casadi.SX | None]]:
        values = self._value_children(node)
        if self._graph.ops[node] != "select":
            owns: Sequence[casadi.SX | None] = [condition] * len(values)
        elif condition is None:
            owns = self._selectors_of(node)
        else:
            owns = [_both(condition, selector) for selector in self._selectors_of(node)]
        return ((child, own) for child, own in zip(values, owns, strict=True) if self._graph.wild[child])

    def _guard(self, node: int, condition: casadi.SX | None, values: list[casadi.SX]) -> list[casadi.SX]:
        """`values`, but with a harmless one for an operation that can be infinite while `condition` does not hold."""
        op = self._graph.ops[node]
        if (
            condition is None
            or op not in HARMLESS
            or self._graph.value(self._graph.args[node][HARMLESS[op][0]]) is not None
        ):
            return values
        place, harmless = HARMLESS[op]
        guarded = _kept(condition, values[place])
        if harmless:
            instead = _not(condition) if harmless == 1 else _kept(_not(condition), casadi.SX(harmless))
            guarded = casadi.SX.binary(casadi.OP_ADD, guarded, instead)
        return [*values[:place], guarded, *values[place + 1 :]]

    def _operate(self, node: int, values: Sequence[casadi.SX]) -> casadi.SX:
        op = self._graph.ops[node]
        if op in _UNARY:
            return casadi.SX.unary(_UNARY[op], *values)
        if op == "bounded":
            return values[0 if self._as_stated else 1]
        if op == "select":
            # Conditions are not among the values of a guarded emission, and come first in pairs in a plain one.
            own = values if len(values) < len(self._graph.args[node]) else values[1::2]
            return _blend(self._selectors_of(node), own)
        if op in _BINARY:
            result = values[0]
            for value in values[1:]:
                result = casadi.SX.binary(_BINARY[op], result, value)
            return result
        if op in self._graph.instances:
            return self._fill(node, values)
        if op in self._graph.tables:
            leaf, order = self._graph.tables[op]
            return evaluate(leaf, order, values[0])
        return casadi.SX(self._graph.args[node][0])

    def _fill(self, node: int, values: Sequence[casadi.SX]) -> casadi.SX:
        """One expression of a template with guarded arguments."""
        template, index = self._graph.instances[self._graph.ops[node]]
        return self._lowered(template)(casadi.vertcat(*values))[index]

    def _fill_together(self, instances: Sequence[int]) -> None:
        """Each template once for all of some instances, whose arguments are emitted."""
        found: dict[str, tuple[Template, dict[tuple[int, ...], None]]] = {}
        for node in instances:
            template, _ = self._graph.instances[self._graph.ops[node]]
            arguments = self._graph.args[node]
            if (template.label, arguments) not in self._filled:
                found.setdefault(template.label, (template, {}))[1][arguments] = None
        for label, (template, filled) in found.items():
            values = self._gather([k for arguments in filled for k in arguments], {})
            columns = self._lowered(template)(casadi.reshape(values, len(template.symbols), len(filled)))
            number, count = self._columns.append(casadi.vec(columns)), len(template.expressions)
            self._filled |= {(label, arguments): (number, n * count) for n, arguments in enumerate(filled)}

    def _selectors_of(self, node: int) -> list[casadi.SX]:
        """One 0/1 per branch: its condition holds and none before it does. Needs the conditions emitted."""
        if node not in self._selectors:
            selectors, rest = [], None
            for k in self._graph.args[node][::2]:
                condition, certain = self._value(k), self._graph.ops[k] == "truth"
                selectors.append(condition if rest is None else rest if certain else _both(rest, condition))
                rest = _not(condition) if rest is None else _both(rest, _not(condition))
            self._selectors[node] = selectors
        return self._selectors[node]

    def _value_children(self, node: int) -> tuple[int, ...]:
        return self._graph.args[node][1::2] if self._graph.ops[node] == "select" else self._graph.children(node)

    def _wild_children(self, node: int) -> Iterator[int]:
        return (k for k in self._value_children(node) if self._graph.wild[k])

"""Functions of one argument that hide features from steps: spikes, ramps, barriers, jumps, kinks, poles.

A sine or a polynomial looks alike everywhere: the stages of a step see it. exp, tanh, roots, quotients, tables and
switches do not: nearly all that they do may lie between two stages. Each of these in a model is a `Feature`: a function
f(s, p) of one argument s, which is the time, a coordinate, a speed, or an expression of several of them. Runs lay the
cells of f over the line of s (`native.cells`) and keep their steps to these.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import casadi as ca
import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.core.relational import Relational

from dalembert.dataclass import dataclass
from dalembert.equations.functions import function_of
from dalembert.equations.kinks import AT_INTEGERS, bends_of
from dalembert.equations.lowering.lower import Lowering
from dalembert.equations.lowering.sympy_rules import show
from dalembert.equations.readings import OF_TIME, Readings
from dalembert.model.instances import explicit
from dalembert.model.tables import Table
from dalembert.model.time_symbols import is_undefined_function
from dalembert.native.enclosures import ORDER

ALIKE = (sp.sin, sp.cos)  # functions without features
PLAIN = (sp.Symbol, sp.Number, sp.Add, *ALIKE)  # most nodes of models
REPEATING = (*ALIKE, sp.Mod, Table)
POLES = (sp.tan, sp.cot, sp.sec, sp.csc)
LEGIBLE = 200  # operations of an expression that a message shows whole
UNBOUNDED = (sp.exp, sp.log, sp.sinh, sp.cosh, sp.asinh, sp.acosh)  # grow from values of about 1


@dataclass(frozen=True)
class Feature:
    """A function in words; the number of its `shape`, f(s, p); the least size it is given; whether s is the time."""

    text: str
    shape: int
    least: float
    of_time: bool


class Features(NamedTuple):
    """The features of a model, those of time first, and the functions that belong to them.

    `shapes` map (s, q, u, p) to f, which reads s and p only. `phases` map (t, q, u, p) to the rates of the sines and
    cosines that f is made of, if it reads s in nothing else and so may be periodic; a table that repeats and Mod count
    as sines of their period. `arguments` maps (t, q, u, p, q', u') to the arguments s of those that are not of time,
    then their rates. `moving` maps (t, q, u, p) to the first of them alone, those that time moves at rest too.
    """

    found: tuple[Feature, ...]
    shapes: list[ca.Function]
    phases: list[ca.Function]
    arguments: ca.Function | None
    moving: ca.Function | None


class _Part(NamedTuple):
    """A function as it was found: its node, its argument, f(s, p) as a graph, the rates of phases, if s is the time."""

    node: Any
    argument: ca.SX
    graph: ca.SX
    phases: list[ca.SX]
    of_time: bool


NO_FEATURES = Features((), [], [], None, None)


def find_features(nodes: Iterable[Any], readings: Readings, kept: Iterable[sp.Expr] = ()) -> Features:
    """The features among the nodes of expressions, children before parents.

    Functions of what constraints keep constant, such as the norm of a unit quaternion, have none: they are zeros of the
    expressions `kept`, up to a constant.
    """
    own = [node for node in nodes if not isinstance(node, PLAIN) and _has_features(node)]
    return _Search(readings, kept).run(own) if own else NO_FEATURES


def with_divisors(nodes: Iterable[Any]) -> Iterator[Any]:
    """The nodes, and the divisors of products, which are lowered without their powers."""
    for node in nodes:
        if isinstance(node, sp.Mul):
            yield from (factor for factor in node.args if isinstance(factor, sp.Pow) and not _is_whole(factor))
        yield node


def _has_features(node: Any) -> bool:
    """Whether a node may do nearly all that it does between two stages of a step."""
    if isinstance(node, sp.Mul):  # (t/10)**400 is one, with a number out of reach
        return any(isinstance(factor, sp.Pow) and _is_whole(factor) and factor.exp >= ORDER for factor in node.args)
    if isinstance(node, sp.Pow):
        return not node.base.is_number and not (_is_whole(node) and node.exp < ORDER)
    if _switches(node):
        return True
    return isinstance(node, sp.Function) and len(node.args) == 1 and not isinstance(node, ALIKE) and not _is_leaf(node)


def _switches(node: Any) -> bool:
    return isinstance(node, sp.Piecewise) or (not isinstance(node, Relational) and bool(bends_of(node)))


def _is_whole(power: Any) -> bool:
    return bool(power.exp.is_Integer and power.exp >= 0)


def _period(node: Any) -> sp.Expr | None:
    """The change of its argument after which a function repeats; None if it does not."""
    if isinstance(node, ALIKE):
        return 2 * sp.pi
    if isinstance(node, sp.Mod):
        return node.args[1]
    period = type(node).data.period if isinstance(node, Table) else None
    return None if period is None else sp.Float(period, 17)


def _is_leaf(node: Any) -> bool:
    return not node.args or is_undefined_function(node) or isinstance(node, sp.Derivative)


def _inside(node: Any, stop: tuple[type, ...] = ()) -> Iterator[Any]:
    """A node and all that it is made of, each once, down to leaves and to nodes of some kinds."""
    stack, seen = [node], set[int]()
    while stack:
        part = stack.pop()
        if id(part) not in seen:
            seen.add(id(part))
            yield part
            if not _is_leaf(part) and not isinstance(part, stop):
                stack += part.args


class _Search:
    """The features of a model, found one after the other."""

    def __init__(self, readings: Readings, kept: Iterable[sp.Expr]) -> None:
        self.readings, self.low, self.s, self.z = readings, readings.low, readings.s, ca.SX.sym("s")
        self.kept = kept
        self.settled: dict[Any, bool] = {}  # whether expressions are known to stay constant

    def run(self, nodes: list[Any]) -> Features:
        """All features. Those inside a function of the same single variable belong to that function."""
        covered: set[int] = set()
        parts: list[_Part] = []
        for node in reversed(nodes):
            read = None if id(node) in covered else self.readings.of(node)
            if not read:
                continue
            if len(read) > 1:
                parts += self._of_several(node)
                continue
            inner = [part for part in _inside(node) if _has_features(part)]
            covered |= {id(part) for part in inner}
            known = all(_switches(part) for part in inner) or any(isinstance(part, POLES) for part in inner)
            if read != OF_TIME or not known:  # steps end where functions of time alone switch, and at poles
                parts.append(self._of_one(node, *read))
        once = {str((part.argument, part.graph)): part for part in parts}
        return self._collected(sorted(once.values(), key=lambda part: (not part.of_time, not self._moves(part))))

    def _moves(self, part: _Part) -> bool:
        """Whether time moves the argument of a function when the mechanism is at rest."""
        return bool(ca.depends_on(part.argument, self.s.t))

    def _of_one(self, node: Any, k: int) -> _Part:
        moving = self.readings.moving[k]
        graph = ca.substitute(self.low.stated(node), moving, self.z)
        return _Part(node, moving, graph, self._phases(node, k), of_time=k == 0)

    def _phases(self, node: Any, k: int) -> list[ca.SX]:
        """The rates of the phases of all that repeats, if a function reads its variable in nothing else."""
        rates: list[ca.SX] = []
        x = self.readings.moving[k]
        for part in _inside(node, stop=REPEATING):
            period = _period(part)
            if period is not None:
                rates.append(2 * math.pi * ca.jacobian(self.low(part.args[0]) / self.low(period), x))
            elif isinstance(part, sp.Expr) and _is_leaf(part) and ca.depends_on(self.low(part), x):
                return []
        return [] if any(ca.depends_on(rate, x) for rate in rates) else [r for r in rates if not r.is_zero()]

    def _of_several(self, node: Any) -> Iterator[_Part]:
        """Features of a node with several variables: its function of one argument; for switches, their conditions."""
        for function, argument in self._split(node):
            if argument not in self.settled:
                self.settled[argument] = not self.readings.of(argument) or self._is_kept(argument)
            if not self.settled[argument]:
                yield _Part(node, self.low(argument), function, [], of_time=False)

    def _is_kept(self, argument: Any) -> bool:
        """Whether an argument differs by a constant from an expression that stays zero."""
        terms, variables = set(sp.Add.make_args(argument)), argument.atoms(AppliedUndef)
        alike = self._kept_by_variable.get(next(iter(variables), None), ())
        rests = (terms.symmetric_difference(sp.Add.make_args(explicit(e))) for e in alike)
        return any(all(self.readings.of(term) == frozenset() for term in rest) for rest in rests)

    @cached_property
    def _kept_by_variable(self) -> dict[Any, list[sp.Expr]]:
        found: dict[Any, list[sp.Expr]] = {}
        for e in self.kept:
            for variable in e.atoms(AppliedUndef):
                found.setdefault(variable, []).append(e)
        return found

    def _split(self, node: Any) -> Iterator[tuple[ca.SX, Any]]:
        """Functions of `z`, and their arguments."""
        if isinstance(node, sp.Piecewise | sp.Max | sp.Min | sp.Mod):
            switches = (
                {r for _, condition in node.args for r in condition.atoms(Relational)} if node.is_Piecewise else {node}
            )
            for argument, kinks in (bend for switch in sorted(switches, key=str) for bend in bends_of(switch)):
                yield ca.floor(self.z) if kinks is AT_INTEGERS else ca.sign(self.z), argument
        elif isinstance(node, sp.Mul):
            return  # its powers are looked at by themselves
        elif not isinstance(node, sp.Pow):
            s = sp.Symbol("s")
            yield Lowering({s: self.z})(node.func(s, *node.args[1:])), node.args[0]
        elif not self.readings.of(node.exp):
            yield self.z ** self.low(node.exp), node.base

    def _collected(self, parts: list[_Part]) -> Features:
        shapes: dict[str, int] = {}
        found, functions, phases = [], [], []
        for part in parts:
            key = str((part.graph, part.phases))
            if key not in shapes:
                shapes[key] = len(shapes)
                functions.append(function_of("shape", ca.vertcat(self.z, self.s.q, self.s.u, self.s.p), [part.graph]))
                phases.append(function_of("phases", self.s.x, part.phases))
            least = float(isinstance(part.node, UNBOUNDED))
            found.append(Feature(show(part.node, LEGIBLE).strip("`"), shapes[key], least, part.of_time))
        of_state = [part for part in parts if not part.of_time]
        moving = [part.argument for part in of_state if self._moves(part)]
        return Features(
            tuple(found), functions, phases, self._arguments([part.argument for part in of_state]),
            function_of("moving", self.s.x, [ca.densify(ca.vertcat(*moving))]) if moving else None,
        )  # fmt: skip

    def _arguments(self, columns: list[ca.SX]) -> ca.Function | None:
        if not columns:
            return None
        s, values = self.s, ca.vertcat(*columns)
        rates = ca.jtimes(values, ca.vertcat(s.t, s.q, s.u), ca.vertcat(1, s.qd, s.ud))
        return function_of("arguments", ca.vertcat(s.x, s.qd, s.ud), [ca.densify(values), ca.densify(rates)])

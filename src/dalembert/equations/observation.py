"""Expressions in the symbols of a system, as functions of the variables known along its motion.

The functions read one column w = (t, q, u, p, q', u', power, la): the input of every kernel, and the output of an
evaluation of the rates. The symbol of a constraint's name stands for its multiplier. An unknown stands for the
multiplier of the constraint it enforces.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

import casadi as ca
import numpy as np
import sympy as sp

from dalembert.dataclass import dataclass
from dalembert.equations.laws import rows_by_unknown
from dalembert.equations.lowering.atoms import Atoms
from dalembert.equations.lowering.lower import Lowering, LoweringError, undeclared
from dalembert.equations.naming import name_of
from dalembert.equations.symbols import Symbols, kinematics_of
from dalembert.equations.system import System
from dalembert.errors import DalembertError, OptionError, UnknownNameError
from dalembert.model.statement import Constraint, Statement
from dalembert.native.series_tape import SeriesTape, read_tape


@dataclass(frozen=True, eq=False)
class Observation:
    """Expressions as a `function` of w, under a name that is unique in the system.

    `reads_rates` says whether they contain accelerations, multipliers or unknowns: what evaluating the rates gives.
    """

    name: str
    function: ca.Function
    reads_rates: bool
    fixed: range  # the columns of parameters

    @cached_property
    def tape(self) -> SeriesTape:
        """The values as functions of time, by bounds of the columns of w that they read and of the rates of those."""
        read = set(self.function.jac_sparsity(0, 0, True).get_triplet()[1])
        return read_tape(self.function, None, sorted(read.difference(self.fixed)))

    def at(self, t: float, q: np.ndarray, u: np.ndarray, p: np.ndarray, udot: np.ndarray, la: np.ndarray) -> np.ndarray:
        """Values at one state, (n,)."""
        return self.function(np.concatenate([[t], q, u, p, np.zeros_like(q), udot, [0.0], la])).full().ravel()

    def rates(
        self, t: float, q: np.ndarray, u: np.ndarray, p: np.ndarray, qdot: np.ndarray, udot: np.ndarray
    ) -> np.ndarray:
        """d/dt of the values in one state, (n,), of expressions that do not read rates."""
        rest = np.zeros(self.function.size1_in(0) - 1 - len(q) - len(u))
        w, ahead = (np.concatenate([[a], b, c, rest]) for a, b, c in ((t, q, u), (1.0, qdot, udot)))
        w[1 + len(q) + len(u) :][: len(p)] = p
        return self._slope(w, ahead).full().ravel()

    def sizes(
        self, t: float, q: np.ndarray, u: np.ndarray, p: np.ndarray, units: tuple[np.ndarray, np.ndarray]
    ) -> np.ndarray:
        """Sizes of the values, (n,): their gradients in q and u times `units`, the sizes of q and u."""
        nq, nu = len(q), len(u)
        w = np.zeros(self.function.size1_in(0))
        w[: 1 + nq + nu + len(p)] = np.concatenate([[t], q, u, p])
        gradients = self._gradients(w).full()[:, 1 : 1 + nq + nu]
        found: np.ndarray = np.abs(gradients * np.concatenate(units)).max(axis=1, initial=0.0)
        return found

    @cached_property
    def _gradients(self) -> ca.Function:
        w = ca.SX.sym("w", self.function.size1_in(0))
        return ca.Function("gradients", [w], [ca.jacobian(self.function(w), w)])

    @cached_property
    def _slope(self) -> ca.Function:
        """The derivative of the function along a direction."""
        w = ca.SX.sym("w", self.function.size1_in(0))
        ahead = ca.SX.sym("ahead", *w.shape)
        return ca.Function("slope", [w, ahead], [ca.densify(ca.jtimes(self.function(w), w, ahead))])

    def rate_function(self, n: int, n_x: int) -> ca.Function:
        """d/dt of the values as a function of w, whose first `n_x` entries are x = (t, z, p), z of length `n`."""
        w = ca.SX.sym("w", self.function.size1_in(0))
        ahead = ca.vertcat(1, w[n_x : n_x + n], ca.SX.zeros(w.shape[0] - 1 - n))
        return ca.Function("rates", [w], [self._slope(w, ahead)])

    def along(self, w: np.ndarray) -> np.ndarray:
        """Values at many states, (nt, n), of their columns w (nt, size of w)."""
        return self.function(w.T).full().T if len(w) else np.zeros((0, self.function.size1_out(0)))


KNOWN = 1000  # expressions that an observer remembers
Value = TypeVar("Value")


class Observer:
    """Reader of expressions in the symbols of one system. It caches recent ones."""

    def __init__(self, system: System, statement: Statement) -> None:
        s = self._statement = statement
        self._known = (*system.coordinates, *system.speeds, *system.parameters, *system.unknowns)
        self._known += (*system.constraint_names, str(s.time))
        self._atoms, self._w, self._solved = _atoms(system, s)
        first = 1 + system.nq + system.nu
        self._fixed = range(first, first + len(system.parameters))
        self._functions = {f.func.__name__: f for f in (*s.coordinates, *s.speeds, *s.unknowns)}
        self._lacking: dict[sp.Expr, tuple[str, ...]] = {}
        self._made: dict[tuple[sp.Expr, ...], Observation] = {}

    def symbol(self, key: Any) -> Any:
        """The SymPy symbol for a name or a constraint. Other keys are returned unchanged."""
        if isinstance(key, Constraint):
            return sp.Symbol(key.name)
        if not isinstance(key, str):
            return key
        base = key.rstrip("'")
        if base in self._functions:
            f, rates = self._functions[base], len(key) - len(base)
            return f.diff(self._statement.time, rates) if rates else f
        return self._statement.time if key == str(self._statement.time) else sp.Symbol(key)

    def lacking(self, expression: sp.Expr) -> tuple[str, ...]:
        """Names of the symbols in an expression that have no value here, sorted."""
        return _known(
            self._lacking, expression, lambda: tuple(name_of(s) for s in undeclared([expression], self._atoms))
        )

    def check_known(self, expression: sp.Expr, where: str) -> None:
        """Raise `UnknownNameError` if a symbol in an expression has no value here."""
        if self.lacking(expression):
            raise UnknownNameError(self.lacking(expression)[0], self._known, where)

    def observe(self, expressions: Sequence[sp.Expr], where: str) -> Observation:
        """Column of the expressions as a function of w. Raises errors that name `where` they are."""
        key = tuple(expressions)
        return _known(self._made, key, lambda: self._observe(key, where))

    def _observe(self, key: tuple[sp.Expr, ...], where: str) -> Observation:
        for expression in key:
            self.check_known(expression, where)
        try:
            values = Lowering(self._atoms).vector(key)
        except LoweringError as error:
            raise OptionError(f"{where}: {error}") from error
        function = ca.Function("observe", [self._w], [ca.densify(values)])
        name = hashlib.sha256(function.serialize().encode()).hexdigest()  # a text of the expressions may be endless
        return Observation(f"observe {name}", function, bool(ca.depends_on(values, self._solved)), self._fixed)


def _known(found: dict[Any, Value], key: Any, find: Callable[[], Value]) -> Value:
    """The cached value of a key, or else the result of `find`. Only the `KNOWN` newest entries stay in the cache."""
    value = found.get(key)
    if value is None:
        value = found[key] = find()
        for old in list(found)[:-KNOWN]:
            found.pop(old, None)  # another thread may have done so
    return value


def observer_of(system: System) -> Observer:
    """The observer of a system, made once: reading its symbols takes longer than a short run."""
    statement = system.statement
    if statement is None:
        raise DalembertError(
            f"`{system.name}` was unpickled and no longer knows its symbols; compile its model here to use "
            "expressions of them"
        )
    return system.kept("observer", lambda: Observer(system, statement))


def _atoms(system: System, statement: Statement) -> tuple[Atoms, ca.SX, ca.SX]:
    """Atoms that map SymPy symbols to entries of the column w; w itself; the part of w that rate evaluations return."""
    nq, nu, nc, n_p = system.nq, system.nu, system.nc, len(system.parameters)
    sizes = np.cumsum([0, 1, nq, nu, n_p, nq, nu, 1, nc])
    w = ca.SX.sym("w", int(sizes[-1]))
    t, q, u, p, _, ud, _, la = (w[int(a) : int(b)] for a, b in pairwise(sizes))
    enforced = rows_by_unknown(system.rows)
    y = ca.vertcat(ca.SX(0, 1), *(la[enforced[j]] for j in range(len(system.unknowns))))
    s = Symbols(t, q, ca.SX.sym("qd", nq), u, ud, p, y)
    kinematics = kinematics_of(statement, s)
    atoms = kinematics.atoms(statement)
    atoms.add([sp.Symbol(name) for name in system.constraint_names], la)
    return atoms, w, w[int(sizes[4]) :]

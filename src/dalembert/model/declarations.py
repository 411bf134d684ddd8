"""Declaring the symbols of a model: coordinates, speeds, parameters, unknowns and quaternions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.errors import ModelError
from dalembert.model.levels import SymbolOrders
from dalembert.model.names import Names, split_names
from dalembert.model.quaternion import Quaternion
from dalembert.model.rates import Rates
from dalembert.model.reading import Reader, listed
from dalembert.model.statement import Statement
from dalembert.model.time_symbols import function_of_time

ANGULAR = ("wx", "wy", "wz")


class Declarations:
    """Adds symbols to a statement, each under a name of its own."""

    def __init__(self, statement: Statement, read: Reader, names: Names, rates: Rates) -> None:
        self._statement, self._read, self._names, self._rates = statement, read, names, rates
        self.orders = SymbolOrders()  # of the coordinates and speeds declared so far

    def coordinates(self, names: str | Sequence[sp.Expr]) -> tuple[sp.Expr, ...]:
        """New coordinates, whose rates have no equation yet."""
        new = self._declare(names, "coordinate")
        self._statement.coordinates.extend(new)
        self.orders.add(new, 0)
        self._rates.add(new)
        return new

    def speeds(self, names: str | Sequence[sp.Expr], kinematics: Any) -> tuple[sp.Expr, ...]:
        """New speeds: rates of coordinates in order, or as `kinematics` states."""
        new = self._declare(names, "speed")
        self._statement.speeds.extend(new)
        self.orders.add(new, 1)
        if kinematics is None:
            self._rates.name(new)
        elif isinstance(kinematics, Mapping):
            for q, rate in kinematics.items():
                self._rates.equate(self._names.symbol(q), rate)
        elif not self._rates.equations(kinematics):
            self._rates.name(new)  # a stand-in for unreadable equations, so that no further faults follow
        return new

    def parameters(self, new: Mapping[Any, Any]) -> tuple[sp.Symbol, ...]:
        """Constants with their default values, some of them given in terms of others."""
        followers = {}
        for symbol, value in new.items():
            if not isinstance(symbol, sp.Symbol):
                raise ModelError(self._statement.name, [f"parameters are symbols or names, got {symbol!r}"])
            self._names.claim(symbol.name, "parameter")
            follows = isinstance(value, sp.Expr) and bool(value.free_symbols)
            if follows:
                followers[symbol] = value
            self._statement.parameters[symbol] = (
                0.0 if follows else self._read.number(value, f"parameter `{symbol.name}`")
            )
        self._follow(followers)
        return tuple(new)

    def _follow(self, followers: dict[sp.Symbol, sp.Expr]) -> None:
        """Values of parameters in terms of others, each after those it needs."""
        values = self._statement.parameters
        while followers:
            ready = [s for s, e in followers.items() if e.free_symbols <= {*values} - {*followers}]
            if not ready:
                told = ", ".join(f"`{s.name}` = {e}" for s, e in followers.items())
                self._read.fault(f"parameter {told} must be in terms of other parameters, and not of itself")
                return
            for symbol in ready:
                self._statement.followers[symbol] = e = followers.pop(symbol)
                known = {s: sp.Float(values[s]) for s in e.free_symbols}
                values[symbol] = self._read.number(e.xreplace(known), f"parameter `{symbol.name}`")

    def unknowns(self, names: str, starts: Mapping[str, Any]) -> tuple[sp.Expr, ...]:
        """Algebraic unknowns: those in `names`, then those with a start for Newton's method."""
        new = self._declare(names, "unknown") if names or not starts else ()
        new += tuple(symbol for name in starts for symbol in self._declare(name, "unknown"))
        self._statement.unknowns.extend(new)
        for name, symbol in zip(starts, new[len(new) - len(starts) :], strict=True):
            self._statement.starts[symbol] = self._read.number(starts[name], f"start of unknown `{name}`")
        return new

    def quaternion(self, name: str, speeds: str) -> Quaternion:
        """A unit quaternion `name`0..3 and the angular velocity that drives it."""
        self._names.check(name, "quaternion")
        symbols = self._split(speeds, "speed")
        if len(symbols) != 3:
            self._read.fault(f"quaternion `{name}` needs three speeds, got {len(symbols)} ({speeds!r})")
            symbols = (symbols + [f"{name}_w{k}" for k in range(3)])[:3]
        return self._quaternion(name, symbols)

    def _quaternion(self, name: str, symbols: Sequence[str]) -> Quaternion:
        e = self.coordinates([function_of_time(f"{name}{k}") for k in range(4)])
        quaternion = Quaternion(e, tuple(function_of_time(s) for s in symbols))
        stated = quaternion.instances
        self.speeds(quaternion.angular_velocity, dict(zip(e, stated[:4], strict=True)))
        self._statement.invariants.append((f"|{name}|", stated[4]))
        self._statement.defaults[e[0]] = 1.0
        return quaternion

    def absolute(self, name: str, *, planar: bool) -> tuple[Any, Any]:
        """Position and rotation of a body by coordinates of its own."""
        place, rates = (["x", "y"], ["vx", "vy"]) if planar else (["x", "y", "z"], ["vx", "vy", "vz"])
        if planar:
            place, rates = [*place, "a"], [*rates, "w"]
        q = self.coordinates([function_of_time(f"{name}_{c}") for c in place])
        u = [function_of_time(f"{name}_{c}") for c in rates]
        self.speeds(u, dict(zip(q, u, strict=True)))
        if planar:
            return q[:2], q[2]
        return q, self._quaternion(f"{name}_e", [f"{name}_{w}" for w in ANGULAR])

    def _split(self, names: Any, kind: str) -> list[str]:
        found = split_names(names)
        if not found:  # at once, as there is nothing to return
            raise ModelError(
                self._statement.name,
                [f"{kind}s need names in one string, such as model.{kind}s('a b c'), got {names!r}{_hint(names)}"],
            )
        return found

    def _declare(self, names: str | Sequence[sp.Expr], kind: str) -> tuple[sp.Expr, ...]:
        symbols, t = listed(names), self._statement.time
        if symbols is None:
            symbols = [function_of_time(name) for name in self._split(names, kind)]
        if not symbols or not all(isinstance(s, AppliedUndef) and s.args == (t,) for s in symbols):
            raise ModelError(
                self._statement.name, [f"{kind}s need names in one string or functions of time, got {names!r}"]
            )
        for symbol in symbols:
            self._names.claim(symbol.func.__name__, kind)
        return tuple(symbols)


def _hint(names: Any) -> str:
    """Advice for an error message if a constant symbol was given where names of functions of time are needed."""
    if isinstance(names, sp.Symbol):
        return f"; `{names}` is a constant symbol: write model.coordinates('{names}'), which returns a function of time"
    return ""

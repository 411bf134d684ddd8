"""Levels of constraints: symbols that are declared objects, and others that are equal to them."""

import pytest
import sympy as sp

from dalembert.model.instances import Template
from dalembert.model.levels import SymbolOrders, functions_in, level_of
from dalembert.model.statement import Level
from dalembert.model.time_symbols import function_of_time

t = sp.Symbol("t")
q, u = function_of_time("q"), function_of_time("u")
ORDERS = SymbolOrders([q], [u])
other = {name: sp.Function(name)(t) for name in ("q", "u", "v")}


@pytest.mark.parametrize(
    ("expression", "level"),
    [
        (q, Level.POSITION), (other["q"] ** 2 - 1, Level.POSITION), (u, Level.VELOCITY), (other["u"], Level.VELOCITY),
        (q.diff(t) + q, Level.VELOCITY), (other["q"].diff(t, 2), Level.ACCELERATION), (u.diff(t), Level.ACCELERATION),
        (other["v"], None), (t + 1, None),
    ],
)  # fmt: skip
def test_level_is_the_highest_derivative_of_what_is_declared(expression, level):
    assert level_of(expression, ORDERS) is level
    x, y = sp.symbols("x y")
    (instance,) = Template("level", (x, y), [x * y]).fill((sp.Float(2.0), expression))
    assert level_of(instance, ORDERS) is level


def test_symbols_added_later_are_known_by_value_too():
    orders = SymbolOrders([q])
    assert orders.of(other["u"]) is None
    orders.add([u], 1)
    assert orders.of(other["u"]) == orders.of(u) == 1
    assert dict(orders) == {q: 0, u: 1}


def test_functions_that_are_only_differentiated_do_not_count():
    assert {*functions_in([q.diff(t) - u * sp.sin(u)])} == {u}

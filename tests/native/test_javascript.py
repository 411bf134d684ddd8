"""Kernels as JavaScript, run by node: the same values as the graph they come from."""

import json
import shutil
import subprocess

import casadi as ca
import numpy as np
import pytest

from dalembert.native.javascript import emit_javascript, emit_tables
from dalembert.native.lookup import evaluate, make_leaf
from dalembert.native.program import UnsupportedOperationError, read_program

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="no node on this machine to run JavaScript with")


def values_in_node(text, name, columns, size):
    """What `name` writes for each column, (nt, size)."""
    script = text + (
        f"const rows=[];for(const c of {json.dumps(columns)}){{const out=new Float64Array({size});"
        f"{name}(Float64Array.from(c),out);rows.push([...out].map((v)=>Number.isFinite(v)?v:String(v)));}}"
        "console.log(JSON.stringify(rows));"
    )
    done = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True, timeout=60)
    return np.array([[float(v) for v in row] for row in json.loads(done.stdout)])


def every_operation():
    """A function of three variables that uses every operation a kernel may contain."""
    x = ca.SX.sym("x", 3)
    a, b, c = x[0], x[1], x[2]
    smooth = [f(0.3 * ca.sin(a)) for f in (ca.asin, ca.acos, ca.atan, ca.sinh, ca.cosh, ca.tanh, ca.asinh, ca.atanh)]
    smooth += [f(1.5 + b * b) for f in (ca.exp, ca.log, ca.sqrt, ca.acosh, ca.log1p, ca.expm1, ca.tan)]
    smooth += [
        ca.atan2(a, b),
        (1 + b * b) ** a,
        a**3,
        a / (1 + c * c),
        2 * c,
        -a,
        1 / (2 + a),
        a * b - c,
        ca.hypot(a, b),
    ]
    rough = [ca.sign(a), ca.fabs(b), ca.floor(c), ca.ceil(c), ca.fmod(a, 0.7), ca.copysign(a, b), ca.fmin(a, b)]
    rough += [ca.fmax(a, c), a < b, a <= b, a == b, a != b, ca.logic_not(a < b), ca.logic_and(a < b, b < c)]
    rough += [ca.logic_or(a < b, b < c), ca.if_else(a < b, c, b), ca.SX(-2.5), c]
    return ca.Function("every", [x], [ca.vertcat(*smooth, *rough)])


@needs_node
@pytest.mark.parametrize("chunk", [1000, 3])
def test_every_operation_gives_the_value_of_the_graph(chunk):
    function = every_operation()
    columns = np.random.default_rng(5).normal(size=(20, 3)) * 2.0
    columns[3] = [0.0, -0.0, 0.0]
    columns[4] = [1.5, 1.5, -2.0]
    text = emit_javascript(read_program(function), "every", chunk=chunk)
    found = values_in_node(text, "every", columns.tolist(), function.size1_out(0))
    wanted = np.array([function(c).full().ravel() for c in columns])
    # libm and V8 both promise an error of about one unit in the last place for each function.
    np.testing.assert_allclose(found, wanted, rtol=16 * np.finfo(float).eps, atol=1e-300)


def test_what_javascript_does_not_have_is_refused():
    x = ca.SX.sym("x")
    with pytest.raises(UnsupportedOperationError, match="erf has no counterpart in JavaScript"):
        emit_javascript(read_program(ca.Function("f", [x], [ca.erf(x)])), "f")


@needs_node
def test_tables_give_the_value_of_the_graph():
    """Both sides of every break, beyond both ends, and NaN; two functions share one table."""
    breaks = np.array([-1.0, 0.0, 0.25, 3.0])
    leaf = make_leaf(breaks, np.random.default_rng(2).normal(size=(5, 3)))
    x = ca.SX.sym("x", 1)
    functions = [ca.Function("f", [x], [evaluate(leaf, order, x)]) for order in (0, 1)]
    programs = [read_program(f) for f in functions]
    places = [*breaks, *np.nextafter(breaks, -9.0), *np.linspace(-2.0, 4.0, 13)]
    tables = emit_tables(programs)
    assert tables.count("Float64Array.from") == 1
    for f, program in zip(functions, programs, strict=True):
        found = values_in_node(tables + emit_javascript(program, "f"), "f", [[v] for v in places], 1)
        np.testing.assert_allclose(
            found[:, 0], [float(f(v)) for v in places], rtol=4 * np.finfo(float).eps, atol=1e-300
        )
    assert emit_tables([]) == ""

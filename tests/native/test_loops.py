"""Kernels that loop over equal pieces of a tape, against CasADi's interpreter."""

import threading

import casadi as ca
import numpy as np
import pytest

from dalembert.native import tape
from dalembert.native.kernel import compile_kernel
from dalembert.native.loop_ir import emit_loops
from dalembert.native.loop_turns import take_turns
from dalembert.native.repetition import INPUT, LONG_SUM, VALUE, find_repetition


def springs(n, *, wild=False):
    """n springs in a row: their forces by constants that differ, shared lengths, a sum of energies, plain copies."""
    x = ca.SX.sym("x", n + 2)
    k, q = x[0], x[1:]
    stretch = [q[i + 1] - q[i] - 0.01 * i for i in range(n)]
    length = [ca.sqrt(1 + s * s) for s in stretch]
    force = [k * s / r + ca.sin(s) * ca.cos(s) for s, r in zip(stretch, length, strict=True)]
    if wild:
        force = [ca.if_else(f > 0, f, -2 * f) + ca.fmin(f, ca.sign(f)) + ca.atan2(f, r)
                 for f, r in zip(force, length, strict=True)]  # fmt: skip
    total = ca.sum1(ca.vertcat(*[r * k for r in length])) - ca.sum1(ca.vertcat(*stretch))
    net = [force[i] - force[i - 1] if i else force[0] for i in range(n)]
    often = [k * k] * 20 + [ca.SX(7.5)] * 20 + [q[1]] * 20 + [total] * 20
    column = ca.vertcat(*net, total, total * k, q[3], ca.SX(1, 1), 2.5, *length, ca.vertcat(q, k), *often)
    return ca.Function("springs", [x], [ca.sparsify(column)])


@pytest.mark.parametrize("wild", [False, True])
def test_loops_compute_what_the_interpreter_does(wild):
    function = springs(200, wild=wild)
    kernel = compile_kernel(function)
    assert kernel.backend == "loops"
    rng = np.random.default_rng(7)
    for _ in range(5):
        x = rng.uniform(-2.0, 2.0, 202)
        expected = function(x).full().ravel()
        # Products and sums may be rounded once, and long sums start from zero: a few units in the last place of terms.
        np.testing.assert_allclose(kernel(x), expected, rtol=1e-13, atol=1e-12)


def short_pieces(n):
    """Products by constants that differ, kept for two results each, plain copies, and values that are n results."""
    x = ca.SX.sym("x", 2 * n + 1)
    scaled = [(1 + 0.1 * k) * x[k] for k in range(n)]
    both = [s * x[-1] - 3 for s in scaled] + [s / 2 for s in scaled]
    often = [x[-1] * x[-1]] * n + [ca.SX(7.5)] * n + [ca.sqrt(1 + x[-1] * x[-1])] * (n + 3)
    return ca.Function("short", [x], [ca.vertcat(*both, *often, x[n:], *(-s for s in scaled))])


@pytest.mark.parametrize("n", [200, 201, 202, 203, 204])
def test_short_pieces_side_by_side_leave_none_out(n):
    kernel = compile_kernel(function := short_pieces(n))
    assert kernel.backend == "loops"
    x = np.random.default_rng(n).uniform(-2.0, 2.0, 2 * n + 1)
    np.testing.assert_allclose(kernel(x), function(x).full().ravel(), rtol=1e-15, atol=1e-15)
    texts = {emit_loops(find_repetition(tape.read_tape(short_pieces(m))), fuses=True)[0] for m in (n, n + 1)}
    assert len(texts) == 1  # one code whatever the number


def test_loops_take_sines_of_any_argument():
    x = ca.SX.sym("x", 300)
    parts = [ca.sin(x[k]) * ca.cos(x[k + 1] - x[k]) + ca.sin(3 * x[k + 2]) for k in range(298)]
    kernel = compile_kernel(function := ca.Function("waves", [x], [ca.vertcat(*parts)]))
    assert kernel.backend == "loops"
    at = np.random.default_rng(2).uniform(-9.0, 9.0, 300)
    at[[5, 120, 290]] = [1e12, -3e15, 2e9]
    np.testing.assert_allclose(kernel(at), function(at).full().ravel(), rtol=1e-14, atol=1e-14)


def test_sine_and_cosine_of_one_argument_are_one_in_loops():
    x = ca.SX.sym("x", 203)
    angle = [x[k + 1] - x[k] for k in range(101)]  # and inputs themselves
    s, c = [ca.sin(a) for a in (*angle, x[150], x[7])], [ca.cos(a) for a in (*angle, x[150], x[8])]
    parts = [s[k] * s[k - 1] * x[k] for k in range(103)] + [c[k - 1] / (2 + c[k]) for k in range(103)]
    function = ca.Function("turns", [x], [ca.vertcat(*parts)])
    repetition = find_repetition(tape.read_tape(function))
    rest, turns = take_turns(repetition)
    assert sum(len(run.places) for run in repetition.runs) - sum(len(run.places) for run in rest) == 2 * 103
    values, inputs = (next(one for one in turns if one.source == source) for source in (VALUE, INPUT))
    assert values.places.shape == (-(-101 // 4), 12)
    assert sorted(set(inputs.places[:, :4].ravel().tolist())) == [7, 8, 150]
    kernel = compile_kernel(function, loops_from=10)
    assert kernel.backend == "loops"
    at = np.random.default_rng(4).uniform(-3.0, 3.0, 203)
    for far in ([], [0, 7], [150], range(203)):
        at[list(far)] = 1e11
        np.testing.assert_allclose(kernel(at), function(at).full().ravel(), rtol=1e-13, atol=1e-13)


def test_the_number_of_shapes_does_not_depend_on_the_number_of_parts():
    found = [find_repetition(tape.read_tape(springs(n))) for n in (100, 400)]
    assert found[0].distinct == found[1].distinct
    texts = [emit_loops(one, fuses=True)[0] for one in found]
    assert len(texts[1]) < 1.1 * len(texts[0])  # which slots are the same in all instances may differ by accident
    assert sum(len(run.places) for run in found[1].runs) > 3 * sum(len(run.places) for run in found[0].runs)
    assert all(len(total.terms) > LONG_SUM for one in found for total in one.sums)


def test_a_tape_without_repetition_stays_as_it_is():
    x = ca.SX.sym("x", 3)
    values = [x[0]]
    for k in range(1200):
        operation = (ca.sin, ca.cos, lambda v: v * x[1], lambda v: v + x[2], ca.fabs)[(k * k + k // 7) % 5]
        values.append(operation(values[-1]))
    function = ca.Function("chain", [x], [values[-1]])
    assert compile_kernel(function).backend == "native"


def test_a_tape_is_read_from_memory_as_from_single_instructions(monkeypatch):
    function = springs(50, wild=True)
    assert tape._recall(function) is not None
    quick = tape.read_tape(function)
    monkeypatch.setattr(tape, "_recall", lambda *_: None)
    slow = tape.read_tape(function)
    assert quick.slots == slow.slots
    for name in ("operations", "targets", "first", "second"):
        np.testing.assert_array_equal(getattr(quick, name), getattr(slow, name))


def test_instructions_are_not_believed_where_casadi_says_something_else(monkeypatch):
    function, other = springs(50), springs(50, wild=True)
    assert tape._recall(function) is not None
    said = tape._instruction
    monkeypatch.setattr(tape, "_instruction", lambda _, k: said(other, k))
    assert tape._recall(function) is None


def test_nothing_is_read_where_a_vector_has_another_length(monkeypatch):
    place = tape._place()
    assert place is not None
    monkeypatch.setattr(tape, "_place", lambda: place + 8)
    assert tape._recall(springs(50)) is None


def test_threads_do_not_disturb_each_other():
    function = springs(300)
    kernel = compile_kernel(function)
    inputs = np.random.default_rng(3).uniform(-1, 1, (4, 302))
    expected = [kernel(x) for x in inputs]
    wrong = []

    def repeat(k):
        wrong.extend(k for _ in range(200) if not (kernel(inputs[k]) == expected[k]).all())

    threads = [threading.Thread(target=repeat, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong

"""Sines and cosines in vectors, against 60 digits."""

import casadi as ca
import mpmath
import numpy as np
import pytest

from dalembert.native import kernel as native
from dalembert.native import llvm_ir as emit
from dalembert.native.kernel import Kernel
from dalembert.native.program import read_program
from dalembert.native.sine_cosine import FAR

rng = np.random.default_rng(3)
QUARTERS = np.arange(-40, 41) * np.pi / 2
ARGUMENTS = {
    "small": rng.uniform(-1.0, 1.0, 400),
    "a few turns": rng.uniform(-20.0, 20.0, 400),
    "many turns": rng.uniform(-1e6, 1e6, 400),
    "up to the bound": rng.uniform(-FAR, FAR, 400),
    "beyond the bound": np.concatenate([rng.uniform(-1e18, 1e18, 200), [FAR, -FAR, 2 * FAR, 1e300]]),
    "next to quarter turns": np.concatenate([QUARTERS, np.nextafter(QUARTERS, 1e9), np.nextafter(QUARTERS, -1e9)]),
    # Integers next to multiples of pi/2, by the continued fraction of pi, and others next to them.
    "hard": np.array([6381956970095103.0 * 2.0**-21, 1e22, 355.0, 104348.0, 411557987.0]),
    "tiny": np.array([0.0, 5e-324, -5e-324, 1e-310, 1e-200, -1e-20, 1e-9, -1e-8]),
}


def sines(count: int) -> Kernel:
    """The kernel of sines, then cosines, of `count` arguments."""
    x = ca.SX.sym("x", count)
    function = ca.Function("f", [x], [ca.vertcat(ca.sin(x), ca.cos(x))])
    text = emit.emit_kernel(read_program(function), fuses=True)
    address, resources = native._load_kernel(native._compile_object(text))
    return Kernel(address, count, 2 * count, "native", function.n_instructions(), resources)


@pytest.fixture(scope="module", params=[1, 2, 3, 4, 7])
def kernel(request) -> Kernel:
    if not native.fuses():
        pytest.skip("this machine has no fused product and sum")
    return sines(request.param)


def evaluate(kernel: Kernel, arguments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sine and cosine of all arguments, in lots of what the kernel takes."""
    n = kernel.n_in
    padded = np.concatenate([arguments, np.zeros(-len(arguments) % n)]).reshape(-1, n)
    values = np.array([kernel(row) for row in padded]).reshape(-1, 2, n)
    return values[:, 0].ravel()[: len(arguments)], values[:, 1].ravel()[: len(arguments)]


@pytest.mark.parametrize("which", ARGUMENTS)
def test_errors_stay_below_one_unit_in_the_last_place(kernel, which):
    arguments = ARGUMENTS[which]
    with mpmath.workdps(400):
        for values, function in zip(evaluate(kernel, arguments), (mpmath.sin, mpmath.cos), strict=True):
            for x, value in zip(arguments, values, strict=True):
                exact = function(mpmath.mpf(float(x)))
                assert abs(mpmath.mpf(float(value)) - exact) <= np.spacing(abs(float(exact)))


def test_one_far_argument_does_not_disturb_its_neighbours():
    kernel = sines(4)
    x = np.array([0.3, 1e15, -2.0, np.inf])
    with np.errstate(invalid="ignore"):
        expected = np.concatenate([np.sin(x), np.cos(x)])
    np.testing.assert_allclose(kernel(x), expected, rtol=3e-16)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_what_is_no_number_stays_so(count):
    kernel = sines(count)
    for bad in (np.nan, np.inf, -np.inf):
        assert np.isnan(kernel(np.full(count, bad))).all()


def test_zero_keeps_its_sign(kernel):
    s, _ = evaluate(kernel, np.array([-0.0, 0.0]))
    assert np.signbit(s).tolist() == [True, False]


def test_sines_of_sines_wait_for_each_other():
    x = ca.SX.sym("x", 3)
    inner = ca.sin(x) + ca.cos(x[0])
    function = ca.Function("f", [x], [ca.vertcat(ca.cos(ca.sin(inner)), ca.sin(ca.cos(x)))])
    text = emit.emit_kernel(read_program(function), fuses=True)
    address, resources = native._load_kernel(native._compile_object(text))
    kernel = Kernel(address, 3, 6, "native", function.n_instructions(), resources)
    at = np.array([0.3, -1.2, 7.0])
    np.testing.assert_allclose(kernel(at), function(at).full().ravel(), rtol=1e-15, atol=1e-16)


def test_the_way_by_the_libm_disturbs_no_other_value():
    """Many values live across the sines, more than there are registers."""
    x = ca.SX.sym("x", 12)
    live = [x[k] * x[(k + 1) % 12] + k for k in range(12)]
    turns = ca.sin(x) + ca.cos(x)
    function = ca.Function("f", [x], [ca.vertcat(*[live[k] * turns[k] + live[(k + 5) % 12] for k in range(12)])])
    address, resources = native._load_kernel(
        native._compile_object(emit.emit_kernel(read_program(function), fuses=True))
    )
    kernel = Kernel(address, 12, 12, "native", function.n_instructions(), resources)
    for far in ([], [0], [3, 7], range(12)):
        at = np.linspace(0.1, 2.3, 12)
        at[list(far)] *= 1e10
        np.testing.assert_allclose(kernel(at), function(at).full().ravel(), rtol=1e-14, atol=0)


def compiled(function: ca.Function, *, chunk: int = emit.INSTRUCTIONS_PER_BLOCK) -> Kernel:
    text = emit.emit_kernel(read_program(function), chunk=chunk, fuses=True)
    address, resources = native._load_kernel(native._compile_object(text))
    return Kernel(address, function.nnz_in(), function.size1_out(0), "native", function.n_instructions(), resources)


@pytest.mark.parametrize("chunk", [5, emit.INSTRUCTIONS_PER_BLOCK])
@pytest.mark.parametrize("count", [emit.APART + 1, 16, 33])
def test_many_sines_are_found_by_calls(count, chunk):
    """Of inputs and of other values, results themselves or not, some of them sines of sines."""
    x = ca.SX.sym("x", count)
    outer = [ca.sin(ca.cos(x[k]) + x[(k + 1) % count]) * x[k] for k in range(count)]
    function = ca.Function("f", [x], [ca.vertcat(ca.sin(x[3]), *outer, ca.cos(2 * x), ca.sin(x[count - 1]))])
    text = emit.emit_kernel(read_program(function), chunk=chunk, fuses=True)
    assert text.count("call void @sines(") == -(-2 * count // 4) - (-count // 4)  # x and 2 x side by side
    kernel = compiled(function, chunk=chunk)
    at = np.linspace(-3.0, 40.0, count)
    for far in ([], [0], [3, count - 1], range(count)):
        at[list(far)] = 1e12 + np.arange(len(far))
        np.testing.assert_allclose(kernel(at), function(at).full().ravel(), rtol=1e-13, atol=1e-13)


def test_few_sines_stay_in_line():
    x = ca.SX.sym("x", 12)
    live = [x[k] * x[(k + 1) % 12] + k for k in range(12)]
    turns = [ca.sin(x[k % emit.APART]) + ca.cos(x[k % emit.APART]) for k in range(12)]
    function = ca.Function("f", [x], [ca.vertcat(*[live[k] * turns[k] + live[(k + 5) % 12] for k in range(12)])])
    assert "@sines" not in emit.emit_kernel(read_program(function), fuses=True)
    kernel = compiled(function)
    for far in ([], [0], [3, 7]):
        at = np.linspace(0.1, 2.3, 12)
        at[far] = 1e13
        np.testing.assert_allclose(kernel(at), function(at).full().ravel(), rtol=1e-14)

"""Kernels against CasADi's own evaluation, in both backends, from several threads, and through the object cache."""

import concurrent.futures
import ctypes
import multiprocessing
import os
import threading

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.errors import ArrayError, OptionError
from dalembert.native import kernel as native
from dalembert.native import llvm_ir as emit
from dalembert.native import object_cache, tape
from dalembert.native.kernel import OFTEN, RARELY, Kernel, compile_kernel
from dalembert.native.object_cache import ObjectCache
from dalembert.native.operations import EMITTED
from dalembert.native.program import read_program

UNARY = {
    "neg": lambda x: -x,
    "sq": lambda x: x * x,
    "twice": lambda x: 2 * x,
    "inv": lambda x: 1 / x,
    "constpow": lambda x: x**2.3,
    "not": ca.logic_not,
    "if_else": lambda x: ca.if_else(x > 0.5, x, -3 * x),
} | {
    name: getattr(ca, name)
    for name in (
        *("exp", "log", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "floor", "ceil", "fabs", "sign", "erf"),
        *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "log1p", "expm1"),
    )
}
BINARY = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "pow": lambda x, y: x**y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "and": ca.logic_and,
    "or": ca.logic_or,
    "if_else_zero": lambda x, y: ca.SX.binary(ca.OP_IF_ELSE_ZERO, x, y),
    "lift": lambda x, y: ca.SX.binary(ca.OP_LIFT, x, y),
} | {name: getattr(ca, name) for name in ("fmod", "remainder", "copysign", "fmin", "fmax", "atan2", "hypot")}
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -3.0, np.pi, 1e-8, -1e-310, 1e300, 710.0]


@pytest.fixture
def cache(tmp_path):
    return ObjectCache(tmp_path / "kernels")


def scalar_function(expression):
    """A function of two scalars with the expression's value in row 1 of 3, the other rows structurally zero."""
    x = ca.SX.sym("x", 2)
    column = ca.SX(3, 1)
    column[1] = expression(x[0], x[1])
    return ca.Function("f", [x], [column])


def chain(links):
    """Mass matrix and forces of a chain of pendulums, about 3 links^3 instructions."""
    q, u = ca.SX.sym("q", links), ca.SX.sym("u", links)
    angle = ca.cumsum(q)
    place = ca.vertcat(ca.cumsum(ca.sin(angle)), -ca.cumsum(ca.cos(angle)))
    J = ca.jacobian(place, q)
    forces = J.T @ ca.jtimes(ca.jtimes(place, q, u), q, u)
    return ca.Function("chain", [ca.vertcat(q, u)], [ca.vertcat(ca.vec(J.T @ J), forces)])


def interpreted(function, x):
    return np.array(function(x)).ravel()


def same(value, reference, *, rtol=1e-14):
    np.testing.assert_allclose(value, reference, rtol=rtol, atol=0, equal_nan=True)


@pytest.mark.parametrize("limit", [native.NATIVE_LIMIT, 0], ids=["native", "interpreter"])
def test_every_operation_agrees_with_casadi_at_special_arguments(cache, limit):
    x = ca.SX.sym("x", 2)
    rows = [f(x[0]) for f in UNARY.values()] + [f(x[0], x[1]) for f in BINARY.values()]
    function = ca.Function("f", [x], [ca.vertcat(*rows, x[1], -0.0, np.nan, 7.5)])
    tape = {function.instruction_id(k) for k in range(function.n_instructions())}
    assert tape >= EMITTED
    kernel = compile_kernel(function, native_limit=limit, cache=cache)
    assert kernel.backend == ("native" if limit else "interpreter")
    for a in SPECIAL:
        for b in SPECIAL:
            same(kernel(np.array([a, b])), interpreted(function, [a, b]))


def test_logic_combines_without_losing_nan(cache):
    def expression(x, y):
        both = ca.logic_and(x, ca.logic_not(y <= x))
        return ca.if_else(ca.logic_or(both, x != y / 2), y, x) + both * (x == y)

    function = scalar_function(expression)
    kernel = compile_kernel(function, cache=cache)
    for a in SPECIAL:
        for b in SPECIAL:
            same(kernel(np.array([a, b])), interpreted(function, [a, b]))


# The sign of zero in fmin(0, -0) is left open by C, and a graph could blow it up.
SAFE_UNARY = sorted(UNARY)
SAFE_BINARY = sorted(set(BINARY) - {"fmin", "fmax"})
NODES = st.tuples(st.booleans(), st.integers(0, 99), st.integers(0, 99), st.integers(0, 99))
FLOATS = st.floats(-4, 4) | st.sampled_from(SPECIAL)


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(nodes=st.lists(NODES, min_size=1, max_size=40), x=st.lists(FLOATS, min_size=3, max_size=3))
def test_random_graphs_agree_to_the_last_bits_without_fusing(nodes, x):
    symbols = ca.SX.sym("x", 3)
    values = [symbols[0], symbols[1], symbols[2], ca.SX(0.7)]
    for unary, op, i, j in nodes:
        a, b = values[-1 - i % len(values)], values[-1 - j % len(values)]
        values.append(
            UNARY[SAFE_UNARY[op % len(SAFE_UNARY)]](a) if unary else BINARY[SAFE_BINARY[op % len(SAFE_BINARY)]](a, b)
        )
    function = ca.Function("f", [symbols], [ca.densify(ca.vertcat(*values[4:]))])
    text = emit.emit_kernel(read_program(function), chunk=7, fuses=False).replace("contract ", "")
    address, resources = native._load_kernel(native._compile_object(text))
    kernel = Kernel(address, 3, function.size1_out(0), "native", function.n_instructions(), resources)
    same(kernel(np.array(x)), interpreted(function, x), rtol=0)


@pytest.mark.parametrize("fuses", [False, True])
@pytest.mark.parametrize("chunk", [1, 3, 50, 500, 10**6])
def test_chunks_do_not_change_the_value(chunk, fuses):
    function = chain(6)
    assert function.n_instructions() > 500
    text = emit.emit_kernel(read_program(function), chunk=chunk, fuses=fuses)
    assert text == emit.emit_kernel(read_program(function), chunk=chunk, fuses=fuses)
    address, resources = native._load_kernel(native._compile_object(text))
    kernel = Kernel(address, 12, function.size1_out(0), "native", function.n_instructions(), resources)
    x = np.linspace(0.1, 2, 12)
    np.testing.assert_allclose(kernel(x), interpreted(function, x), rtol=1e-12, atol=1e-13)


def test_long_lived_values_go_to_the_heap_when_the_stack_is_short(monkeypatch):
    monkeypatch.setattr(emit, "STACK_SLOTS", 4)
    function = chain(4)
    text = emit.emit_kernel(read_program(function), chunk=20, fuses=True)
    assert "call ptr @malloc" in text
    address, resources = native._load_kernel(native._compile_object(text))
    kernel = Kernel(address, 8, function.size1_out(0), "native", function.n_instructions(), resources)
    x = np.linspace(0.1, 2, 8)
    np.testing.assert_allclose(kernel(x), interpreted(function, x), rtol=1e-12, atol=1e-13)


def test_a_value_for_later_chunks_is_stored_as_soon_as_it_is_known():
    """Kept in a register until the end of its chunk it would make LLVM's register allocator take twice as long."""
    x = ca.SX.sym("x", 30)
    products = [x[k] * x[(k + 1) % 30] for k in range(30)]
    text = emit.emit_kernel(
        read_program(ca.Function("f", [x], [ca.vertcat(*[products[k] + products[k - 7] for k in range(30)])])),
        chunk=20, fuses=True,
    ).splitlines()  # fmt: skip
    kept = [k for k, line in enumerate(text) if line.startswith("%workp")]
    assert len(kept) > 10
    for k in kept:
        value = text[k + 1].split()[2].rstrip(",")
        assert text[k - 1].startswith(f"{value} = ")


def test_a_value_in_memory_that_was_not_used_for_long_is_loaded_again():
    x = ca.SX.sym("x", 3)
    early, v = x[1] * x[2], x[0] + x[1]
    for _ in range(120):
        v = v * v + x[2]
    function = ca.Function("f", [x], [ca.vertcat(early, v * x[0] + early)])
    text = emit.emit_kernel(read_program(function), fuses=True)
    assert text.count("getelementptr double, ptr %x, i64 0") == 2  # at both ends
    assert text.count("getelementptr double, ptr %x, i64 2") == 1  # all along
    address, resources = native._load_kernel(native._compile_object(text))
    kernel = Kernel(address, 3, 2, "native", function.n_instructions(), resources)
    at = np.array([0.3, -0.2, -0.4])
    np.testing.assert_allclose(kernel(at), interpreted(function, at), rtol=1e-12)


def test_a_program_is_the_same_read_at_once_or_one_instruction_at_a_time(monkeypatch):
    x = ca.SX.sym("x", 4)
    column = ca.vertcat(x[0] * 0.3, ca.sin(x[1]) - x[2], -ca.fabs(x[3]), x[2], 7.5, ca.fmax(x[0], x[1] / x[2]))
    function = ca.Function("f", [x], [ca.sparsify(ca.vertcat(column, ca.SX(2, 1), x[0] ** 2))])
    quick = read_program(function)
    monkeypatch.setattr(tape, "_recall", lambda *_: None)
    slow = read_program(function)
    for name in ("operations", "arguments", "order", "outputs"):
        assert getattr(quick, name) == getattr(slow, name)


def test_sine_and_cosine_of_one_argument_are_neighbours():
    x = ca.SX.sym("x")
    s = ca.sin(x)
    for _ in range(50):
        s = s * s + 1
    program = read_program(ca.Function("f", [x], [s * ca.cos(x)]))
    operations = [program.operations[value] for value in program.order]
    assert abs(operations.index(ca.OP_SIN) - operations.index(ca.OP_COS)) == 1


@pytest.mark.parametrize("limit", [10**6, 0], ids=["native", "interpreter"])
def test_structural_zeros_are_not_touched(cache, limit):
    kernel = compile_kernel(scalar_function(lambda x, y: x * y), native_limit=limit, cache=cache)
    x, out = np.array([3.0, 5.0]), np.full(3, -1.0)
    native._SIGNATURE(kernel.address)(x.ctypes.data, out.ctypes.data)
    assert out.tolist() == [-1.0, 15.0, -1.0]
    assert kernel(x).tolist() == [0.0, 15.0, 0.0]


@pytest.mark.parametrize("limit", [10**6, 0], ids=["native", "interpreter"])
def test_empty_results_and_constants(cache, limit):
    x = ca.SX.sym("x", 2)
    empty = compile_kernel(ca.Function("f", [x], [ca.SX(4, 1)]), native_limit=limit, cache=cache)
    assert empty(np.ones(2)).tolist() == [0.0] * 4
    constant = compile_kernel(ca.Function("f", [ca.SX(0, 1)], [ca.SX([1, 2])]), native_limit=limit, cache=cache)
    assert constant(np.ones(0)).tolist() == [1.0, 2.0]


def test_backends_agree_and_report_themselves(cache):
    function = chain(10)
    x = np.linspace(-1, 1, 20)
    slow = compile_kernel(function, native_limit=0, loops_from=10**6, cache=cache)
    fast = compile_kernel(function, cache=cache)
    assert (slow.backend, fast.backend) == ("interpreter", "native")
    assert slow.instructions == fast.instructions == function.n_instructions()
    assert (fast.n_in, fast.n_out) == (20, 110)
    np.testing.assert_array_equal(slow(x), interpreted(function, x))
    np.testing.assert_allclose(fast(x), slow(x), rtol=1e-12, atol=1e-12)


def test_kernels_used_rarely_agree_and_are_kept_apart(cache, compiles):
    function, x = chain(10), np.linspace(-1, 1, 20)
    often, rarely = (compile_kernel(function, use=use, loops_from=10**6, cache=cache) for use in (OFTEN, RARELY))
    assert (often.backend, rarely.backend, len(compiles)) == ("native", "native", 2)
    np.testing.assert_allclose(rarely(x), often(x), rtol=1e-12, atol=1e-12)


def test_a_tape_too_long_for_straight_lines_becomes_loops_rather_than_interpreted(cache):
    function, x = chain(10), np.linspace(-1, 1, 20)
    kernel = compile_kernel(function, native_limit=0, cache=cache)
    assert kernel.backend == "loops"
    assert compile_kernel(function, cache=cache).backend == "native"
    np.testing.assert_allclose(kernel(x), interpreted(function, x), rtol=1e-12, atol=1e-12)


def test_the_code_of_interpreted_kernels_is_compiled_once(cache, compiles):
    x = np.linspace(0.3, 0.9, 10)
    for function in (chain(5), chain(4), chain(3)):
        kernel = compile_kernel(function, native_limit=0, loops_from=10**6, cache=cache)
        assert kernel.backend == "interpreter"
        np.testing.assert_array_equal(kernel(x[: kernel.n_in]), interpreted(function, x[: kernel.n_in]))
    assert len(compiles) == 1


def test_operations_without_native_code_are_interpreted(cache):
    kernel = compile_kernel(scalar_function(lambda x, y: ca.erfinv(x) + y), cache=cache)
    assert kernel.backend == "interpreter"
    assert kernel(np.array([0.0, 2.0])).tolist() == [0.0, 2.0, 0.0]


@pytest.mark.parametrize("limit", [10**6, 0], ids=["native", "interpreter"])
@pytest.mark.parametrize("workers", [4, 2 * max(8, 2 * (os.cpu_count() or 1))])
def test_threads_share_a_kernel(cache, limit, workers):
    function = chain(8)
    kernel = compile_kernel(function, native_limit=limit, cache=cache)
    inputs = np.random.default_rng(1).normal(size=(workers, 16))
    expected = [kernel(x) for x in inputs]
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(kernel.address)
    start = threading.Barrier(workers)

    def work(k):
        x, out = inputs[k].copy(), np.zeros(kernel.n_out)
        start.wait()
        for _ in range(6400 // workers):
            out[:] = 0.0
            call(x.ctypes.data, out.ctypes.data)
            if not np.array_equal(out, expected[k]):
                return False
        return True

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        assert all(pool.map(work, range(workers)))


def test_unfit_functions_and_arrays_are_refused(cache):
    x, y, z = ca.SX.sym("x", 2), ca.SX.sym("y"), ca.MX.sym("z")
    for function in (
        ca.Function("f", [x, y], [x]),
        ca.Function("f", [x], [x, x]),
        ca.Function("f", [x], [x.T]),
        ca.Function("f", [x], [x * y], {"allow_free": True}),
        ca.Function("f", [z], [z]),
    ):
        with pytest.raises(OptionError, match="`f`"):
            compile_kernel(function, cache=cache)
    with pytest.raises(ArrayError, match=r"\(3,\)"):
        compile_kernel(ca.Function("f", [x], [x]), cache=cache)(np.ones(3))


# ---- the object cache ------------------------------------------------------------------------------------------------

KEY, OTHER = "ab" * 32, "cd" * 32


@pytest.fixture
def compiles(monkeypatch):
    """The IR texts compiled so far."""
    texts = []
    compile_object = native._compile_object

    def count(text, *level):
        texts.append(text)
        return compile_object(text, *level)

    monkeypatch.setattr(native, "_compile_object", count)
    return texts


def entries(cache):
    return sorted(cache.directory.glob("*" + object_cache._SUFFIX))


def test_a_hit_compiles_nothing_and_gives_the_same_bits(cache, compiles):
    x = np.linspace(0.3, 0.9, 10)
    first = compile_kernel(chain(5), cache=cache)(x)
    assert len(compiles) == 1
    assert oct(cache.directory.stat().st_mode & 0o777) == "0o700"
    second = compile_kernel(chain(5), native_limit=0, cache=cache)
    assert second.backend == "native"
    assert len(compiles) == 1
    np.testing.assert_array_equal(second(x), first)
    compile_kernel(chain(4), cache=cache)
    assert len(compiles) == 2
    assert len(entries(cache)) == 2


def truncate(path):
    path.write_bytes(path.read_bytes()[:-7])


def flip_a_bit(path):
    data = bytearray(path.read_bytes())
    data[-100] ^= 4
    path.write_bytes(data)


def replace_by_other_kernel(path):
    other = ObjectCache(path.parent)
    other.store(OTHER, b"machine code of another kernel")
    (path.parent / (OTHER + object_cache._SUFFIX)).replace(path)


def replace_by_directory(path):
    path.unlink()
    path.mkdir()


def replace_by_link(path):
    target = path.with_name("elsewhere")
    path.replace(target)
    path.symlink_to(target)


def replace_by_pipe(path):
    path.unlink()
    os.mkfifo(path)


def empty(path):
    path.write_bytes(b"")


def let_others_write(path):
    path.chmod(0o622)


@pytest.mark.parametrize(
    "damage",
    [
        *(truncate, flip_a_bit, empty),
        *(replace_by_other_kernel, replace_by_directory, replace_by_link, replace_by_pipe, let_others_write),
    ],
)
def test_a_damaged_entry_is_never_loaded(cache, compiles, damage):
    if damage in (replace_by_link, replace_by_pipe, let_others_write) and not hasattr(os, "mkfifo"):
        pytest.skip("this platform has none of these")
    x = np.array([2.0, 3.0])
    compile_kernel(scalar_function(lambda a, b: a**b), cache=cache)
    damage(entries(cache)[0])
    assert compile_kernel(scalar_function(lambda a, b: a**b), cache=cache)(x)[1] == 8.0
    assert len(compiles) == 2
    compile_kernel(scalar_function(lambda a, b: a**b), cache=cache)
    assert len(compiles) == (3 if damage is replace_by_directory else 2)  # a directory in the way stays


def test_every_flipped_byte_of_an_entry_is_noticed(cache):
    assert cache.store(KEY, b"payload")
    path = entries(cache)[0]
    data = path.read_bytes()
    for k in range(len(data)):
        path.write_bytes(data[:k] + bytes([data[k] ^ 1]) + data[k + 1 :])
        assert cache.load(KEY) is None
    path.write_bytes(data)
    assert cache.load(KEY) == b"payload"
    path.rename(path.with_name(OTHER + object_cache._SUFFIX))
    assert cache.load(OTHER) is None


def test_another_users_entry_is_ignored(cache, monkeypatch):
    if not hasattr(os, "geteuid"):
        pytest.skip("this platform has no user numbers")
    cache.store(KEY, b"payload")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert cache.load(KEY) is None


def test_other_tools_and_machines_have_other_keys(monkeypatch):
    function = chain(2)
    key = native._object_key(function)
    assert key == native._object_key(chain(2))
    assert key != native._object_key(chain(3))
    for name, value in (("_FORMAT", -1), ("target", lambda: ("triple", "cpu", "features"))):
        with monkeypatch.context() as patch:
            patch.setattr(native, name, value)
            native.toolchain.cache_clear()
            native._emitter.cache_clear()
            assert native._object_key(function) != key
    native.toolchain.cache_clear()
    native._emitter.cache_clear()
    assert native._object_key(function) == key


@pytest.mark.parametrize("directory", ["file/kernels", "n" * 5000], ids=["under a file", "name too long"])
def test_an_unusable_directory_means_no_caching(tmp_path, compiles, directory):
    (tmp_path / "file").write_text("in the way")
    cache = ObjectCache(tmp_path / directory)
    assert compile_kernel(chain(2), cache=cache).backend == "native"
    assert compile_kernel(chain(2), cache=cache).backend == "native"
    assert len(compiles) == 2
    assert cache.store(KEY, b"payload") is False


def test_a_failed_write_leaves_nothing_behind(cache, monkeypatch):
    cache.store(OTHER, b"payload")
    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
        assert cache.store(KEY, b"payload") is False
    assert [path.name for path in cache.directory.iterdir()] == [OTHER + object_cache._SUFFIX]


def test_the_least_recently_used_entries_are_pruned(tmp_path):
    cache = ObjectCache(tmp_path, limit=3500)
    keys = [f"{k:064x}" for k in range(4)]
    for age, key in enumerate(keys[:3]):
        cache.store(key, bytes(1000))
        os.utime(tmp_path / (key + object_cache._SUFFIX), (1000 + age, 1000 + age))
    partial, fresh = tmp_path / ("dead" + object_cache._TEMPORARY), tmp_path / ("live" + object_cache._TEMPORARY)
    partial.write_bytes(b"")
    fresh.write_bytes(b"")
    os.utime(partial, (1000, 1000))
    assert cache.load(keys[0]) is not None  # used now, so the second is the oldest
    cache.store(keys[3], bytes(1000))
    assert [cache.load(key) is not None for key in keys] == [True, False, False, True]  # a quarter is free
    assert not partial.exists()
    assert fresh.exists()
    assert ObjectCache(tmp_path, limit=10).store(keys[1], bytes(1000))
    assert [path.name for path in entries(cache)] == [keys[1] + object_cache._SUFFIX]


def test_a_full_directory_is_not_looked_through_at_every_entry(tmp_path, monkeypatch):
    looks, cache = [], ObjectCache(tmp_path, limit=20_000)
    prune = ObjectCache._prune
    monkeypatch.setattr(ObjectCache, "_prune", lambda *given: looks.append(1) or prune(*given))
    for k in range(60):
        assert cache.store(f"{k:064x}", bytes(1000))
    assert len(looks) <= 1 + 60 / (0.2 * 20)
    assert sum(path.stat().st_size for path in entries(cache)) <= cache.limit


def test_the_default_directory_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("DALEMBERT_CACHE_DIR", str(tmp_path / "chosen"))
    assert ObjectCache().directory == tmp_path / "chosen"
    compile_kernel(chain(1))
    assert len(entries(ObjectCache())) == 1
    monkeypatch.delenv("DALEMBERT_CACHE_DIR")
    for platform, tail in (("linux", "xdg"), ("darwin", "Caches"), ("win32", "local")):
        monkeypatch.setattr("sys.platform", platform)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
        monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
        directory = ObjectCache().directory
        assert directory.parts[-3:] == (tail, "dalembert", "kernels")


def test_without_a_home_nothing_is_cached(monkeypatch):
    monkeypatch.delenv("DALEMBERT_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("pathlib.Path.home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    cache = ObjectCache()
    assert cache.directory is None
    assert cache.store(KEY, b"payload") is False
    assert cache.load(KEY) is None


def evaluate_in_process(directory):
    kernels = [compile_kernel(chain(links), cache=ObjectCache(directory)) for links in (2, 3, 4, 5)]
    return np.concatenate([kernel(np.linspace(0.1, 1, kernel.n_in)) for kernel in kernels])


def test_processes_share_a_directory(cache, compiles):
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        first, second = pool.map(evaluate_in_process, [cache.directory] * 2)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(evaluate_in_process(cache.directory), first)
    assert not compiles
    assert len(entries(cache)) == 4

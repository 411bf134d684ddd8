"""Machine code of a CasADi function: `compile_kernel` returns a `Kernel` that Numba and ctypes can call by address.

Native code comes from LLVM, through the IR text of `llvm_ir`; no C compiler is needed. An instruction takes about 45 us
to compile in kernels of every evaluation, 12 us in those that are called rarely (`Use`), and saves about 2 ns in every
call against CasADi's interpreter, so native code pays after some 20,000 calls whatever the size. Only the wait before
the first step grows with size. Above `NATIVE_LIMIT` instructions the kernel therefore calls the interpreter, unless the
object cache holds native code from an earlier, more patient run.

Measured on Zen 4 with LLVM 22, on the mass matrix and forces of chains of pendulums in relative angles, without loops
over equal pieces; `benchmarks/kernel_vs_c.py` compares the calls with C:

    instructions    compiled: OFTEN, RARELY    from cache    native call    interpreted call
             722        0.03 s,  0.02 s           1 ms          0.3 us             2 us
           2,482        0.10 s,  0.03 s           3 ms          0.6 us           6.5 us
           5,266        0.24 s,  0.06 s           5 ms          1.2 us            12 us
          13,906        0.76 s,  0.15 s          15 ms          3.3 us            29 us
          30,466        1.4  s,  0.32 s          28 ms          8.6 us            62 us
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import Any

import casadi as ca
import llvmlite
import llvmlite.binding as llvm
import numpy as np

from dalembert.dataclass import dataclass
from dalembert.errors import ArrayError, OptionError
from dalembert.native import lookup
from dalembert.native.jit import address_of
from dalembert.native.llvm_ir import emit_kernel
from dalembert.native.object_cache import ObjectCache
from dalembert.native.operations import EXTERNAL_SYMBOLS
from dalembert.native.program import Program, UnsupportedOperationError, read_program
from dalembert.native.trampolines import (
    INTERPRETER,
    INTERPRETER_KERNEL,
    LOOPS,
    LOOPS_KERNEL,
    bind,
    count_buffers,
)

NATIVE_LIMIT = 30_000  # instructions; about 1.4 s of compilation
LOOPS_FROM = 1000  # instructions above which equal pieces of a tape are looked for
PLAIN_FROM = 250  # instructions above which the wait for optimised code is noticed
LAST_WORTH = 2  # as `Use.worth`, of a tape that would be interpreted else, which takes ten times as long

# Codegen level 1 yields the same code as 3 in two thirds of the time, and no pass of the optimiser made these straight
# lines faster than CasADi's and `program`'s own sharing of equal values (SLP: 15% faster for three times the wait).
_CODEGEN_LEVEL = 1
EMITTER = ("operations", "program", "llvm_ir", "lookup", "sine_cosine")  # modules that write the IR of kernels
_FORMAT = 2  # of the key; raise it when anything here changes the object code

_SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


@dataclass(frozen=True)
class Use:
    """Use of a kernel, which decides how much its compilation is worth.

    A tape `worth` times longer than its distinct pieces becomes loops over these. Codegen level 0 takes an eighth of
    the time of level 1 and yields straight lines that take a fifth to a third longer, and loops half as long again.
    """

    level: int
    worth: int


OFTEN = Use(_CODEGEN_LEVEL, 24)  # in every evaluation of a run
RARELY = Use(0, 4)  # once or twice a step, or in a run


@dataclass(frozen=True, eq=False)
class Kernel:
    """A function `void(const double* x, double* out)` in memory: x has `n_in` entries, out `n_out`.

    The function writes the structural nonzeros of out and nothing else; x and out must not overlap. It may be called
    from several threads at once. `address` is valid as long as this object lives. `backend` is "native", "loops" (that
    is native too, over equal pieces of the tape), "instances" (`instance_loops`) or "interpreter", `instructions` the
    length of CasADi's tape.
    """

    address: int
    n_in: int
    n_out: int
    backend: str
    instructions: int
    resources: tuple[Any, ...] = field(repr=False)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The value at x (n_in,) as a new array (n_out,), zero where it is structurally zero."""
        values = np.asarray(x, dtype=np.float64)
        if values.shape != (self.n_in,):
            raise ArrayError(f"`x` has shape {values.shape}; this kernel takes ({self.n_in},).")
        both = np.zeros(self.n_in + self.n_out + 1)  # one array: to find an address takes longer than to copy x
        both[: self.n_in] = values
        first = address_of(both)
        self.call(first, first + 8 * self.n_in)
        return both[self.n_in : -1]

    @cached_property
    def call(self) -> Any:
        """The function itself, of two addresses."""
        return _SIGNATURE(self.address)


def compile_kernel(
    function: ca.Function,
    *,
    use: Use = OFTEN,
    native_limit: int = NATIVE_LIMIT,
    loops_from: int = LOOPS_FROM,
    cache: ObjectCache | None = None,
) -> Kernel:
    """The kernel of an SX function of one dense column that returns one column, dense or sparse.

    A tape longer than `loops_from` that is mostly repetition becomes loops over its equal pieces. Else, above
    `native_limit` instructions, and for operations without native code, the kernel runs CasADi's interpreter, unless
    `cache` (by default the user's) holds native code already.
    """
    _check_function(function)
    instructions = function.n_instructions()
    if cache is None:
        cache = ObjectCache()
    level = use.level if instructions > PLAIN_FROM else _CODEGEN_LEVEL
    tables = lookup.lookups_of(function)
    program = _read(function) if tables and instructions <= native_limit else None
    callable_libm = _libm_is_complete()
    long, key, code, loops = instructions > native_limit, "", None, None
    if callable_libm and not long:
        key = _object_key(function, program, level)
        code = cache.load(key)  # if there is some, it had no equal pieces
    if code is None and callable_libm and instructions > loops_from and not tables:
        loops = _loops(function, cache, Use(level, LAST_WORTH if long else use.worth))
    if loops is not None:
        return Kernel(loops[0], function.nnz_in(), function.size1_out(0), "loops", instructions, loops[1])
    if callable_libm and long:
        code = cache.load(_object_key(function, program, level))
    if code is None and callable_libm and instructions <= native_limit:
        program = program or _read(function)
        if program is not None:
            code = _compile_object(emit_kernel(program, fuses=fuses()), level)
            cache.store(key, code)
    backend = "interpreter" if code is None else "native"
    address, resources = _interpret(function, cache) if code is None else _load_kernel(code)
    return Kernel(address, function.nnz_in(), function.size1_out(0), backend, instructions, (*resources, *tables))


def _read(function: ca.Function) -> Program | None:
    """The program of a function; None if it holds an operation without native code."""
    try:
        return read_program(function)
    except UnsupportedOperationError:
        return None


def _check_function(function: ca.Function) -> None:
    name = function.name()
    if not function.is_a("SXFunction"):
        raise OptionError(
            f"`{name}` is a {function.class_name()}; only SX functions have an instruction tape, `expand` it."
        )
    if function.n_in() != 1 or function.n_out() != 1:
        raise OptionError(
            f"`{name}` has {function.n_in()} inputs and {function.n_out()} outputs; a kernel has one each."
        )
    if not (function.sparsity_in(0).is_dense() and function.size2_in(0) == 1 and function.size2_out(0) == 1):
        raise OptionError(
            f"`{name}` maps {function.sparsity_in(0).dim()} to {function.sparsity_out(0).dim()}; "
            "a kernel maps a dense column to a column."
        )
    if function.has_free():
        raise OptionError(f"`{name}` depends on {function.free_sx()} besides its input; make them part of the input.")


# ---- LLVM ------------------------------------------------------------------------------------------------------------


@functools.cache
def target() -> tuple[str, str, str]:
    """Triple, CPU and feature string of this machine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    try:
        features = llvm.get_host_cpu_features().flatten()
    except RuntimeError:  # LLVM does not know this host; its baseline is safe
        features = ""
    return llvm.get_process_triple(), llvm.get_host_cpu_name(), features


@functools.cache
def fuses() -> bool:
    """Whether this machine has an instruction for a product and a sum; else LLVM would call a slow function."""
    triple, _, features = target()
    return "+fma" in features.split(",") or triple.startswith(("aarch64", "arm64"))


def create_machine(level: int = _CODEGEN_LEVEL, processor: str | None = None) -> Any:
    """LLVM's description of this machine, or of a family of processors, which turns modules into object code."""
    triple, cpu, features = target()
    if processor is not None:
        cpu, features = processor, ""
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=features, opt=level, codemodel="jitdefault", jit=True
    )


@functools.cache
def _libm_is_complete() -> bool:
    """True if every function object code may call is known to LLVM; MCJIT ends the process over an unknown one."""
    target()
    libm = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)  # Python itself is linked with it
    for symbol in EXTERNAL_SYMBOLS:
        if llvm.address_of_symbol(symbol) is None:
            try:
                llvm.add_symbol(symbol, ctypes.cast(libm[symbol], ctypes.c_void_p).value)
            except AttributeError:
                if symbol != "sincos":  # LLVM only calls it where the target's libm is known to have it
                    return False
    return True


@functools.cache
def toolchain() -> bytes:
    """Digest of LLVM and the machine it compiles for."""
    return hashlib.sha256(repr([llvmlite.__version__, llvm.llvm_version_info, *target()]).encode()).digest()


@functools.cache
def _emitter() -> bytes:
    """Digest of the sources that write the IR of kernels."""
    try:
        sources = b"".join(Path(__file__).with_name(f"{name}.py").read_bytes() for name in EMITTER)
    except OSError:  # a frozen application ships no source, and does not change either
        sources = b""
    return hashlib.sha256(repr(_FORMAT).encode() + sources).digest()


def _object_key(function: ca.Function, program: Program | None = None, level: int = _CODEGEN_LEVEL) -> str:
    """Key of the object code in the cache, 64 hexadecimal digits.

    CasADi's serialisation stands for the IR, which follows from it and takes ten times longer to write. With tables it
    would hold all their numbers, and the `program` stands for it, in which a table is named by its content.
    """
    content = function.serialize() if program is None else repr(program)
    return hashlib.sha256(toolchain() + _emitter() + bytes([level]) + content.encode()).hexdigest()


def _compile_object(text: str, level: int = _CODEGEN_LEVEL) -> bytes:
    """Object code of a module in IR text."""
    machine = create_machine(level)
    module = llvm.parse_assembly(text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    return machine.emit_object(module)


def load_object(code: bytes) -> Any:
    """The engine that holds object code in memory; its addresses are good as long as it lives.

    It resolves what the code calls when it is first asked for an address. `finalize_object` would do that too, after
    compiling the empty module, which takes three times as long as all the rest.
    """
    _libm_is_complete()
    machine = create_machine()
    empty = llvm.parse_assembly("")
    empty.triple = machine.triple
    engine = llvm.create_mcjit_compiler(empty, machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    return engine


def _load_kernel(code: bytes) -> tuple[int, tuple[Any, ...]]:
    """Address of the function `kernel` in the code, and the objects to keep alive with it."""
    engine = load_object(code)
    return engine.get_function_address("kernel"), (engine,)


def load_bound(text: str, level: int, cache: ObjectCache, values: Mapping[str, int]) -> tuple[int, Any]:
    """Address of the `kernel` of a module with a table of such values (`trampolines`), and its engine."""
    key = hashlib.sha256(toolchain() + bytes([level]) + text.encode()).hexdigest()
    code = cache.load(key)
    if code is None:
        code = _compile_object(text, level)
        cache.store(key, code)
    engine = load_object(code)
    bind(engine, values)
    return engine.get_function_address("kernel"), engine


# ---- loops over equal pieces -----------------------------------------------------------------------------------------


def _loops(function: ca.Function, cache: ObjectCache, use: Use) -> tuple[int, tuple[Any, ...]] | None:
    """Address of a function that loops over equal pieces, and objects to keep alive; None if that gains little."""
    from dalembert.native.loop_ir import emit_loops  # the systems of most users have no tape of that length
    from dalembert.native.repetition import find_repetition
    from dalembert.native.tape import read_tape

    try:
        repetition = find_repetition(read_tape(function))
    except UnsupportedOperationError:
        return None
    if use.worth * repetition.distinct > function.n_instructions() or repetition.distinct > NATIVE_LIMIT:
        return None
    body, tables = emit_loops(repetition, fuses=fuses())
    buffers, width = count_buffers(), repetition.kept + 1
    arrays: dict[str, np.ndarray] = {
        "flags": np.zeros(buffers, dtype=np.int32), "kept": np.zeros((buffers, width)),
        "calls": tables.calls, "places": tables.places, "constants": tables.constants,
    }  # fmt: skip
    sizes = {"buffers": buffers, "width": width, "count": len(tables.calls)}
    address, engine = load_bound(body + LOOPS_KERNEL, use.level, cache, _table(LOOPS, arrays, sizes))
    return address, (engine, arrays)


def _table(names: Sequence[str], arrays: Mapping[str, np.ndarray], others: Mapping[str, int]) -> dict[str, int]:
    """Entries of a table by `names`: addresses of arrays, and other integers."""
    return {name: arrays[name].ctypes.data if name in arrays else others[name] for name in names}


# ---- CasADi's interpreter --------------------------------------------------------------------------------------------


@functools.cache
def _buffer_evaluation() -> int:
    """Address of `casadi::_function_buffer_eval(void*)`, which neither allocates nor takes the interpreter lock.

    The C interface (`casadi_c_eval_id`) would need a file, never forgets a function, and reads a global vector that
    loading another function may move while threads evaluate.
    """
    # The extension module is asked, not libcasadi by name: the wheel ships that twice, and a second copy would load.
    windows = sys.platform == "win32"
    library = Path(ca.__file__).with_name("libcasadi.dll") if windows else sys.modules["casadi._casadi"].__file__
    function = ctypes.CDLL(str(library))["_ZN6casadi21_function_buffer_evalEPv"]
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)


def _interpret(function: ca.Function, cache: ObjectCache) -> tuple[int, tuple[Any, ...]]:
    """Address of a function that runs CasADi's interpreter, and the objects to keep alive with it."""
    n_in, nonzeros = function.nnz_in(), function.nnz_out()
    count = count_buffers()
    buffers: list[Any] = [function.buffer()[0] for _ in range(count)]
    arrays: dict[str, np.ndarray] = {
        "arguments": np.zeros((count, max(n_in, 1))),
        "results": np.zeros((count, max(nonzeros, 1))),
        "flags": np.zeros(count, dtype=np.int32),
        "handles": np.array([_capsule_pointer(buffer._self()) for buffer in buffers], dtype=np.uintp),  # noqa: SLF001
        "rows": np.array(function.sparsity_out(0).row(), dtype=np.int64),
    }
    for buffer, argument, result in zip(buffers, arrays["arguments"], arrays["results"], strict=True):
        buffer.set_arg(0, argument.data)
        buffer.set_res(0, result.data)
    sizes = {
        "buffers": count, "width_in": n_in, "width_out": nonzeros, "nonzeros": nonzeros,
        "evaluate": _buffer_evaluation(),
    }  # fmt: skip
    table = _table(INTERPRETER, arrays, sizes)
    address, engine = load_bound(INTERPRETER_KERNEL, _CODEGEN_LEVEL, cache, table)
    return address, (engine, buffers, arrays)


def _capsule_pointer(capsule: Any) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(get(capsule, None))

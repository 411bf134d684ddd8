"""Machine code of a CasADi function: `compile_kernel` returns a `Kernel` that Numba and ctypes can call by address.

Native code comes from LLVM, through the IR text of `emit`; no C compiler is needed. An instruction takes about 40 us
to compile and saves about 2.5 ns in every call against CasADi's interpreter, so native code pays after some 20,000
calls whatever the size. What grows with size is the wait before the first step. Above `NATIVE_LIMIT` instructions the
kernel therefore calls the interpreter, unless the object cache holds native code from an earlier, more patient run.

Measured on Zen 4 with LLVM 22, on the mass matrix and forces of chains of pendulums:

    instructions    compiled    from cache    native call    interpreted call    gcc -O3 of CasADi's C: compiled, call
             196      0.02 s        2 ms         0.3 us             1.4 us                   0.3 s,   0.3 us
           2,702      0.11 s        4 ms         0.8 us             8.0 us                   0.7 s,   0.8 us
          15,802      0.60 s       18 ms         3.1 us              49 us
          47,302      1.9  s       75 ms         9.4 us             123 us                   118 s,  10.4 us
         332,202       16  s      0.4  s         101 us             899 us
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import casadi as ca
import llvmlite
import llvmlite.binding as llvm
import numpy as np

from dalembert.errors import ArrayError, OptionError
from dalembert.native import llvm_ir as emit
from dalembert.native import lookup
from dalembert.native.jit import address_of
from dalembert.native.object_cache import ObjectCache

NATIVE_LIMIT = 30_000  # instructions; about 1.2 s of compilation
LOOPS_FROM = 1000  # instructions above which equal pieces of a tape are looked for
WORTH = 4  # a tape so many times longer than its distinct pieces becomes loops

# Codegen level 1 yields the same code as 3 in two thirds of the time, and no pass of the optimiser made these straight
# lines faster than CasADi's and `emit`'s own sharing of equal values (SLP: 15% faster for three times the wait).
_CODEGEN_LEVEL = 1
_FORMAT = 1  # of the key; raise it when anything here changes the object code

_SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


@dataclass(frozen=True, eq=False)
class Kernel:
    """A function `void(const double* x, double* out)` in memory: x has `n_in` entries, out `n_out`.

    The function writes the structural nonzeros of out and nothing else; x and out must not overlap. It may be called
    from several threads at once. `address` is valid as long as this object lives. `backend` is "native", "loops" (that
    is native too, over equal pieces of the tape) or "interpreter", `instructions` the length of CasADi's tape.
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
    tables = lookup.lookups_of(function)
    program = _read(function) if tables and instructions <= native_limit else None
    callable_libm = _libm_is_complete()
    text = function.serialize() if program is None else ""  # for the key and for the tape: it takes long to write
    long, key, code, loops = instructions > native_limit, "", None, None
    if callable_libm and not long:
        key = _object_key(function, program, text)
        code = cache.load(key)  # if there is some, it had no equal pieces
    if code is None and callable_libm and instructions > loops_from and not tables:
        loops = _loops(function, cache, text)
    if loops is not None:
        return Kernel(loops[0], function.nnz_in(), function.size1_out(0), "loops", instructions, loops[1])
    if callable_libm and long:
        code = cache.load(_object_key(function, program, text))
    if code is None and callable_libm and instructions <= native_limit:
        program = program or _read(function)
        if program is not None:
            code = _compile_object(emit.emit_kernel(program))
            cache.store(key, code)
    backend = "interpreter" if code is None else "native"
    address, resources = _interpret(function) if code is None else _load_kernel(code)
    return Kernel(address, function.nnz_in(), function.size1_out(0), backend, instructions, (*resources, *tables))


def _read(function: ca.Function) -> emit.Program | None:
    """The program of a function; None if it holds an operation without native code."""
    try:
        return emit.read_program(function)
    except emit.UnsupportedOperationError:
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
    for symbol in emit.EXTERNAL_SYMBOLS:
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
    """Digest of what writes the IR of kernels."""
    try:
        sources = b"".join(Path(str(module.__file__)).read_bytes() for module in (emit, lookup))
    except OSError:  # a frozen application ships no source, and does not change either
        sources = b""
    return hashlib.sha256(repr([_FORMAT, _CODEGEN_LEVEL]).encode() + sources).digest()


def _object_key(function: ca.Function, program: emit.Program | None = None, text: str = "") -> str:
    """Key of the object code in the cache, 64 hexadecimal digits.

    CasADi's serialisation, `text` if it was written already, stands for the IR, which follows from it and takes ten
    times longer to write. With tables it would hold all their numbers, and the `program` stands for it, in which a
    table is named by its content.
    """
    content = (text or function.serialize()) if program is None else repr(program)
    return hashlib.sha256(toolchain() + _emitter() + content.encode()).hexdigest()


def _compile_object(text: str) -> bytes:
    """Object code of a module in IR text."""
    machine = create_machine()
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
    """The address of the function `kernel` in the code, and what must be kept alive with it."""
    engine = load_object(code)
    return engine.get_function_address("kernel"), (engine,)


# The head of kernels with several buffers and a flag for each: the calling thread takes the first free one, number k.
_TAKE_BUFFER = """
define void @kernel(ptr %x, ptr %out) nounwind {{
entry:
  br label %ask
ask:
  %k = phi i64 [ 0, %entry ], [ %other, %taken ]
  %flag = getelementptr i32, ptr inttoptr (i64 {flags} to ptr), i64 %k
  %answer = cmpxchg ptr %flag, i32 0, i32 1 acquire monotonic
  %free = extractvalue {{ i32, i1 }} %answer, 1
  br i1 %free, label %evaluate, label %taken
taken:
  %after = add i64 %k, 1
  %other = urem i64 %after, {buffers}
  br label %ask
evaluate:
"""

# ---- loops over equal pieces -----------------------------------------------------------------------------------------

# Values that pieces pass on to others lie in a buffer; there are several, as a kernel may be called by several threads.
_LOOPS = (
    _TAKE_BUFFER
    + """\
  %kept = getelementptr [{width} x double], ptr inttoptr (i64 {kept} to ptr), i64 %k
  %calls = inttoptr i64 {calls} to ptr
  %places = inttoptr i64 {places} to ptr
  %constants = inttoptr i64 {constants} to ptr
  %body = inttoptr i64 {body} to ptr
  call void %body(ptr %x, ptr %out, ptr %kept, ptr %calls, ptr %places, ptr %constants, i64 {count})
  store atomic i32 0, ptr %flag release, align 4
  ret void
}}
"""
)


def _loops(function: ca.Function, cache: ObjectCache, text: str) -> tuple[int, tuple[Any, ...]] | None:
    """Address of a function that loops over equal pieces, and what to keep alive; None if there is little to gain."""
    from dalembert.native.loop_ir import emit_loops  # the systems of most users have no tape of that length
    from dalembert.native.repetition import find_repetition
    from dalembert.native.tape import read_tape

    try:
        repetition = find_repetition(read_tape(function, text))
    except emit.UnsupportedOperationError:
        return None
    if WORTH * repetition.distinct > function.n_instructions():
        return None
    text, tables = emit_loops(repetition)
    key = hashlib.sha256(toolchain() + text.encode()).hexdigest()
    code = cache.load(key)
    if code is None:
        code = _compile_object(text)
        cache.store(key, code)
    engine, buffers = load_object(code), max(8, 2 * (os.cpu_count() or 1))
    arrays: dict[str, np.ndarray] = {
        "flags": np.zeros(buffers, dtype=np.int32), "kept": np.zeros((buffers, repetition.kept + 1)),
        "calls": tables.calls, "places": tables.places, "constants": tables.constants,
    }  # fmt: skip
    trampoline = _LOOPS.format(
        buffers=buffers, width=repetition.kept + 1, count=len(tables.calls), body=engine.get_function_address("body"),
        **{name: array.ctypes.data for name, array in arrays.items()},
    )  # fmt: skip
    address, resources = _load_kernel(_compile_object(trampoline))
    return address, (*resources, engine, arrays)


# ---- CasADi's interpreter --------------------------------------------------------------------------------------------

# One CasADi evaluation buffer serves one thread at a time, so a kernel has several and a flag for each. The calling
# thread takes the first free one. Values are copied in and out because a buffer is bound to its arrays for good;
# results are set to NaN first, so that an evaluation that fails cannot pass off the values of the one before.
_TRAMPOLINE = (
    f"""
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
{_TAKE_BUFFER}"""
    """\
  %place = getelementptr i64, ptr inttoptr (i64 {handles} to ptr), i64 %k
  %handle = load ptr, ptr %place
  %argument = getelementptr [{width_in} x double], ptr inttoptr (i64 {arguments} to ptr), i64 %k
  %result = getelementptr [{width_out} x double], ptr inttoptr (i64 {results} to ptr), i64 %k
  call void @llvm.memcpy.p0.p0.i64(ptr %argument, ptr %x, i64 {bytes_in}, i1 false)
  call void @llvm.memset.p0.i64(ptr %result, i8 -1, i64 {bytes_out}, i1 false)
  call void inttoptr (i64 {evaluate} to ptr)(ptr %handle)
  br label %test
test:
  %i = phi i64 [ 0, %evaluate ], [ %next, %scatter ]
  %more = icmp ult i64 %i, {nonzeros}
  br i1 %more, label %scatter, label %done
scatter:
  %p = getelementptr double, ptr %result, i64 %i
  %v = load double, ptr %p
  %r = getelementptr i64, ptr inttoptr (i64 {rows} to ptr), i64 %i
  %row = load i64, ptr %r
  %q = getelementptr double, ptr %out, i64 %row
  store double %v, ptr %q
  %next = add i64 %i, 1
  br label %test
done:
  store atomic i32 0, ptr %flag release, align 4
  ret void
}}
"""
)


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


def _interpret(function: ca.Function) -> tuple[int, tuple[Any, ...]]:
    """Address of a function that runs CasADi's interpreter, and what must be kept alive with it."""
    n_in, nonzeros = function.nnz_in(), function.nnz_out()
    count = max(8, 2 * (os.cpu_count() or 1))
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
    text = _TRAMPOLINE.format(
        buffers=count,
        width_in=max(n_in, 1),
        width_out=max(nonzeros, 1),
        bytes_in=8 * n_in,
        bytes_out=8 * nonzeros,
        nonzeros=nonzeros,
        evaluate=_buffer_evaluation(),
        **{name: array.ctypes.data for name, array in arrays.items()},
    )
    address, resources = _load_kernel(_compile_object(text))
    return address, (*resources, buffers, arrays)


def _capsule_pointer(capsule: Any) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(get(capsule, None))

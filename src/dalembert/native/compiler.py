"""Numba as a compiler of whole libraries: native functions to one module of LLVM IR, optimised once.

Left to itself, Numba links every callee into every caller and optimises that anew for each of them. Here it translates
functions one by one and unlinked (`_unlinked`); their modules are joined, the symbols given names of our own, and the
result is optimised as a whole. This is the only module that imports Numba, and it is needed to build, not to run.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import llvmlite.binding as llvm
import numba as nb
from llvmlite import ir
from numba import _dynfunc, types
from numba.core import cgutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompilerBase, DefaultPassBuilder, PassManager
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu import CPUContext
from numba.core.funcdesc import PythonFunctionDescriptor
from numba.core.registry import cpu_target
from numba.extending import intrinsic, typeof_impl

from dalembert.loading import collection_paused
from dalembert.native import types as kinds
from dalembert.native.intrinsics import Intrinsic
from dalembert.native.jit import NATIVE, Native

f8, i8 = types.float64, types.int64
Floats, Ints, Places = types.Array(f8, 1, "C"), types.Array(i8, 1, "C"), types.Array(types.uint32, 1, "C")
_MEANINGS = {
    kinds.f8: f8, kinds.i8: i8, kinds.u8: types.uint64,
    kinds.Floats: Floats, kinds.Ints: Ints, kinds.Places: Places,
}  # fmt: skip
_LLVM = {kinds.f8: "double", kinds.i8: "i64", kinds.u8: "i64"}
_FIELDS = {"c_double": f8, "c_long": i8, "c_longlong": i8}
_CHECKED = [False]  # whether bounds are checked in the code being compiled
_ELSEWHERE: set[str] = set()  # symbols of functions that are only declared here: another process translates them


@functools.cache
def meaning(kind: Any) -> Any:
    """The Numba type of a declared one."""
    if kind in _MEANINGS:
        return _MEANINGS[kind]
    if isinstance(kind, kinds.Several):
        return types.UniTuple(meaning(kind.kind), kind.count)
    return types.Record.make_c_struct([(name, _FIELDS[field.__name__]) for name, field in kind.every_field()])


def view(context: Any, builder: Any, kind: Any, address: Any, size: Any) -> Any:
    """An array of `size` entries at an address, which it does not own."""
    from numba.np.arrayobj import populate_array

    array = context.make_array(kind)(context, builder)
    width = context.get_constant(types.intp, kind.dtype.bitwidth // 8)
    data = builder.inttoptr(address, array.data.type)
    populate_array(array, data=data, shape=[size], strides=[width], itemsize=width, meminfo=None)
    return array._getvalue()  # noqa: SLF001


def check_bounds(context: Any, builder: Any, first: Any, count: Any, size: Any) -> None:
    """In a checked build, raise IndexError unless 0 <= first and first + count <= size, or nothing is copied."""
    if not _CHECKED[0]:
        return
    zero = first.type(0)
    outside = builder.or_(
        builder.icmp_signed("<", first, zero), builder.icmp_signed(">", builder.add(first, count), size)
    )
    with builder.if_then(builder.and_(outside, builder.icmp_signed(">", count, zero)), likely=False):
        context.call_conv.return_user_exc(builder, IndexError, ("a copy leaves its array",))


def hand_on(context: Any, builder: Any, status: Any) -> None:
    """In a checked build, hand an error of a function called by its address on to the caller."""
    if _CHECKED[0]:
        with builder.if_then(status.is_error, likely=False):
            context.call_conv.return_status_propagate(builder, status)


class _PlainCompiler(CompilerBase):
    """Numba's compiler without the passes that leave the functions of this package as they are."""

    # They look for `with`, closures, array expressions and literal arguments: about a sixth of a translation.
    # The module of the engine is the same without them, line by line.
    WITHOUT = (
        "WithLifting", "InlineClosureLikes", "RewriteDynamicRaises", "MakeFunctionToJitFunction",
        "InlineInlinables", "FindLiterallyCalls", "LiteralUnroll", "LiteralPropagationSubPipelinePass",
        "InlineOverloads", "NopythonRewrites", "NoPythonSupportedFeatureValidation", "DumpParforDiagnostics",
    )  # fmt: skip

    def define_pipelines(self) -> list[PassManager]:
        plain = PassManager("plain")
        for one, why in DefaultPassBuilder.define_nopython_pipeline(self.state).passes:
            if one.__name__ not in self.WITHOUT:
                plain.add_pass(one, why)
        plain.finalize()
        return [plain]


@functools.cache
def dispatcher(native: Native, checked: bool) -> Any:  # noqa: FBT001 - part of the key
    """Numba dispatcher of a native function, with its single signature."""
    # Without Numba's runtime nothing can be allocated and no reference is counted: 5% of a run.
    options = {"nogil": True, "error_model": "numpy", "boundscheck": checked, "_nrt": False}
    passes = _PlainCompiler if native.function.__module__.startswith("dalembert.") else Compiler
    made = nb.njit(
        **options, no_cpython_wrapper=True, no_cfunc_wrapper=True, fastmath=set(native.fastmath), pipeline_class=passes
    )(native.function)
    signature = meaning(native.signature.result)(*map(meaning, native.signature.arguments))

    def compile_once(_types: Any) -> Any:
        if not made.overloads:
            if native.symbol in _ELSEWHERE:
                made.overloads[signature.args] = _declared(native, signature)
            else:
                type(made).compile(made, signature)
            made.disable_compile()
        return made.get_overload(signature)

    made.compile = compile_once  # whatever types Numba asks for, there is the one signature
    return made


def _declared(native: Native, signature: Any) -> Any:
    """Stand-in for a compiled function. Its callers are linked with the symbol later."""
    function = native.function
    described = PythonFunctionDescriptor(
        native=True, modname=function.__module__, qualname=function.__qualname__, unique_name=native.symbol,
        doc=None, typemap={}, restype=signature.return_type, calltypes={}, args=(), kws=(), argtypes=signature.args,
        mangler=lambda *_names, **_tags: native.symbol,
    )  # fmt: skip
    cpu_target.target_context.insert_user_function(function, described)
    return SimpleNamespace(signature=signature, objectmode=False, entry_point=function, fndesc=described, library=None)


@functools.cache
def _definition(declared: Intrinsic) -> Any:
    signature, generate = declared.define(_Here)

    def define(_context: Any, *_arguments: Any) -> Any:
        return signature, generate

    # Numba looks at the parameters of an intrinsic: it needs as many as there are arguments.
    names = ", ".join(f"a{k}" for k in range(len(signature.args)))
    scope: dict[str, Any] = {"define": define}
    exec(f"def {declared.__name__}(context, {names}): return define(context, {names})", scope)  # noqa: S102
    defined = intrinsic(scope[declared.__name__])
    cpu_target.typing_context.refresh()  # take up definitions since the last refresh
    cpu_target.target_context.refresh()
    return defined


class _Here:
    """Names of the compiler that `Intrinsic.define` may use."""

    ir, types, cgutils, f8, i8, Floats, Ints, Places = ir, types, cgutils, f8, i8, Floats, Ints, Places
    meaning, view, check_bounds, hand_on = (
        staticmethod(meaning), staticmethod(view), staticmethod(check_bounds), staticmethod(hand_on),
    )  # fmt: skip


@typeof_impl.register(Native)
def _type_of_native(native: Native, _context: Any) -> Any:
    return types.Dispatcher(dispatcher(native, _CHECKED[0]))


@typeof_impl.register(Intrinsic)
def _type_of_intrinsic(declared: Intrinsic, _context: Any) -> Any:
    return cpu_target.typing_context.resolve_value_type(_definition(declared))


@contextlib.contextmanager
def _unlinked(*, checked: bool) -> Iterator[None]:
    """Context in which Numba translates functions without linking, optimising or loading them."""
    with (
        global_compiler_lock,
        _instead(JITCodeLibrary, finalize=_leave),
        _instead(CPUContext, get_executable=_name),
        _remembered_answers(),
        collection_paused(),  # Numba makes millions of objects and keeps them
    ):
        _CHECKED[0] = checked
        try:
            yield
        finally:
            _CHECKED[0] = False


@contextlib.contextmanager
def _declared_only(elsewhere: Iterable[Native]) -> Iterator[None]:
    """Context in which functions are declared, not translated.

    Earlier and concurrent translations are discarded: of two processes only one may define a function, and a module
    made later, for an extension, has to define all functions it calls.
    """
    _ELSEWHERE.update(native.symbol for native in elsewhere)
    if not _ELSEWHERE:
        yield
        return
    dispatcher.cache_clear()
    try:
        yield
    finally:
        _ELSEWHERE.clear()
        dispatcher.cache_clear()


def _leave(library: Any) -> None:
    library._finalized = True  # noqa: SLF001


def _name(_context: Any, _library: Any, description: Any, environment: Any) -> Any:
    """A key by which callers find the function. There is no function to call."""
    return _dynfunc.make_function(description.lookup_module(), description.qualname, "", 0, environment, ())


@contextlib.contextmanager
def _remembered_answers() -> Iterator[None]:
    """Context in which Numba caches answers it looks up thousands of times: types of calls and sizes of types."""
    call_type, size = types.Function.get_call_type, CPUContext.get_abi_sizeof
    known_types: dict[Any, Any] = {}
    known_sizes: dict[str, int] = {}

    def get_call_type(function: Any, context: Any, arguments: Any, named: Any) -> Any:
        key = id(function), tuple(arguments), tuple(named.items())
        if key not in known_types:  # with the function, so that no other one gets its id
            known_types[key] = call_type(function, context, arguments, named), function
        return known_types[key][0]

    def get_abi_sizeof(context: Any, kind: Any) -> int:
        key = str(kind)
        if key not in known_sizes:
            known_sizes[key] = size(context, kind)
        return known_sizes[key]

    with _instead(types.Function, get_call_type=get_call_type), _instead(CPUContext, get_abi_sizeof=get_abi_sizeof):
        yield


@contextlib.contextmanager
def _instead(owner: Any, **others: Any) -> Iterator[None]:
    """Other methods in a class, for as long as the context lasts."""
    own = {name: vars(owner).get(name) for name in others}
    for name, other in others.items():
        setattr(owner, name, other)
    try:
        yield
    finally:
        for name, before in own.items():
            if before is None:
                delattr(owner, name)
            else:
                setattr(owner, name, before)


def join(modules: Iterable[Any]) -> Any:
    """One module of the translated functions, each also as `c.symbol` for C callers."""
    module = llvm.parse_assembly("")
    for one in modules:
        module.link_in(one)
    own = [function for function in module.functions if function.name in NATIVE]
    if lost := [function.name for function in own if function.is_declaration]:
        raise RuntimeError(f"the compiler lost {', '.join(lost)}: called, and nowhere defined")
    module.link_in(llvm.parse_assembly(_wrappers([function.name for function in own])))
    return module


def translate(natives: Iterable[Native], elsewhere: Iterable[Native], *, checked: bool) -> Any:
    """Module of native functions and of those they call, without those translated `elsewhere`."""
    with _unlinked(checked=checked), _declared_only(elsewhere):
        libraries: dict[int, Any] = {}
        for native in natives:
            made = dispatcher(native, checked)
            made.compile(None)
            _gather(next(iter(made.overloads.values())).library, libraries)
        names: dict[str, str] = {}
        for symbol, native in NATIVE.items():
            for result in dispatcher(native, checked).overloads.values():
                if result.library is not None and id(result.library) in libraries:
                    names[result.fndesc.llvm_func_name] = symbol
    module = llvm.parse_assembly("")
    for library in libraries.values():
        one = llvm.parse_bitcode(library._final_module.as_bitcode())  # noqa: SLF001
        for function in one.functions:
            function.name = names.get(function.name, function.name)
        module.link_in(one)
    for function in module.functions:  # Numba's own, among them unused wrappers for Python
        if not function.is_declaration and function.name not in NATIVE:
            function.linkage = "internal"
    return module


def _gather(library: Any, found: dict[int, Any]) -> None:
    """A library and all it needs to be linked with: Numba's own implementations too, of `max` and the like."""
    if id(library) not in found:
        found[id(library)] = library
        for needed in library._linking_libraries:  # noqa: SLF001
            _gather(needed, found)


_ABI: dict[Any, list[str]] = {
    kinds.f8: ["double"],
    kinds.i8: ["i64"],
    kinds.u8: ["i64"],
    kinds.Floats: ["ptr", "i64"],
    kinds.Ints: ["ptr", "i64"],
    kinds.Places: ["ptr", "i64"],
}


def _wrapper(native: Native) -> str:
    """IR of `c.symbol`: plain arguments - an array is its address and size, a record its address - and the result."""
    if native.signature.result not in _LLVM:
        return ""
    result, outer, inner = _LLVM[native.signature.result], list[str](), list[str]()
    for kind in native.signature.arguments:
        first = len(outer)
        own = _ABI.get(kind, ["ptr"])
        outer += [f"{text} %a{first + k}" for k, text in enumerate(own)]
        if len(own) == 2:  # owner, parent, size, size of an entry, entries, shape, strides
            inner += [
                "ptr null",
                "ptr null",
                f"i64 %a{first + 1}",
                "i64 8",
                f"ptr %a{first}",
                f"i64 %a{first + 1}",
                "i64 8",
            ]
        else:
            inner += outer[first:]
    return f"""
define {result} @c.{native.symbol}({", ".join(outer)}) {{
  %result = alloca {result}
  %error = alloca ptr
  %status = call i32 @{native.symbol}(ptr %result, ptr %error, {", ".join(inner)})
  %failed = icmp ne i32 %status, 0
  br i1 %failed, label %failure, label %done
failure:
  store i32 %status, ptr @native.failure
  br label %done
done:
  %value = load {result}, ptr %result
  ret {result} %value
}}
"""


def _wrappers(symbols: Iterable[str]) -> str:
    """IR of the functions for C callers, and the declarations they need."""
    natives = [NATIVE[symbol] for symbol in symbols]
    declared = []
    for native in natives:
        inner = ["ptr", "ptr"]
        for kind in native.signature.arguments:
            own = _ABI.get(kind, ["ptr"])
            inner += ["ptr", "ptr", "i64", "i64", "ptr", "i64", "i64"] if len(own) == 2 else own
        declared.append(f"declare i32 @{native.symbol}({', '.join(inner)})")
    return "\n".join(["@native.failure = global i32 0", *declared, *map(_wrapper, natives)])


def optimise(module: Any, machine: Any) -> None:
    """All of LLVM's usual passes over a whole module."""
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = True
    options.loop_unrolling = False  # of loops that are short: no faster, and a fifth of the build
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)

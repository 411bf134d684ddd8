"""SUNDIALS' C interface: the functions of IDA and their data, from the library that scikit-sundae brings.

The module of that package for IDA is linked with SUNDIALS, so that its symbols are found through it. Its own classes
call Python for each residual, which takes five times as long as the step itself; called directly, SUNDIALS evaluates
native functions and a run stays in native code.
"""

from __future__ import annotations

import ctypes
import functools
import weakref
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import PairingError

ONE_STEP = 2  # SUNDIALS' name for: make one step, and return
ERROR_TEST_FAILED = -3  # its flag where error tests fail repeatedly
_int, _long, _double, _pointer = ctypes.c_int, ctypes.c_int64, ctypes.c_double, ctypes.c_void_p

# Result and argument types of each function.
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "SUNContext_Create": (_int, _int, _pointer),
    "SUNContext_ClearErrHandlers": (_int, _pointer),
    "SUNContext_Free": (_int, _pointer),
    "N_VNew_Serial": (_pointer, _long, _pointer),
    "N_VGetArrayPointer": (_pointer, _pointer),
    "N_VDestroy": (None, _pointer),
    "SUNDenseMatrix": (_pointer, _long, _long, _pointer),
    "SUNDenseMatrix_Data": (_pointer, _pointer),
    "SUNMatDestroy": (None, _pointer),
    "SUNLinSol_Dense": (_pointer, _pointer, _pointer, _pointer),
    "SUNLinSolFree": (_int, _pointer),
    "IDACreate": (_pointer, _pointer),
    "IDAFree": (None, _pointer),
    "IDAInit": (_int, _pointer, _pointer, _double, _pointer, _pointer),
    "IDAReInit": (_int, _pointer, _double, _pointer, _pointer),
    "IDASVtolerances": (_int, _pointer, _double, _pointer),
    "IDASetUserData": (_int, _pointer, _pointer),
    "IDASetLinearSolver": (_int, _pointer, _pointer, _pointer),
    "IDASetJacFn": (_int, _pointer, _pointer),
    "IDASetId": (_int, _pointer, _pointer),
    "IDASetMaxOrd": (_int, _pointer, _int),
    "IDASetInitStep": (_int, _pointer, _double),
    "IDASetMaxStep": (_int, _pointer, _double),
    "IDASetStopTime": (_int, _pointer, _double),
    "IDASolve": (_int, _pointer, _double, _pointer, _pointer, _pointer, _int),
    "IDAGetDky": (_int, _pointer, _double, _int, _pointer),
    "IDAGetNumResEvals": (_int, _pointer, _pointer),
    "IDAGetNumJacEvals": (_int, _pointer, _pointer),
    "IDAGetNumErrTestFails": (_int, _pointer, _pointer),
    "IDAGetNumStepSolveFails": (_int, _pointer, _pointer),
}
COUNTED = {
    "nfev": "IDAGetNumResEvals", "njev": "IDAGetNumJacEvals",
    "errors": "IDAGetNumErrTestFails", "unsolved": "IDAGetNumStepSolveFails",
}  # fmt: skip


class Sundials:
    """The functions of the library by name, and their addresses for native code."""

    def __init__(self) -> None:
        for name, (result, *arguments) in _FUNCTIONS.items():
            function = _find(name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)

    def address(self, name: str) -> int:
        """Address of a function for native code."""
        return int(ctypes.cast(getattr(self, name), _pointer).value or 0)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"SUNDIALS: {name} is not among the functions declared here")


@functools.cache
def sundials() -> Sundials:
    """SUNDIALS, loaded once."""
    return Sundials()


@functools.cache
def _libraries() -> tuple[ctypes.CDLL, ...]:
    """The module linked with SUNDIALS, then the libraries beside its package: not all systems find them through it."""
    spec = find_spec("sksundae")
    folders = [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []
    modules = [folder / f"_cy_ida{suffix}" for folder in folders for suffix in EXTENSION_SUFFIXES]
    beside = [path for folder in folders for path in sorted(folder.parent.glob("scikit_sundae.libs/*sundials_*"))]
    return tuple(ctypes.CDLL(str(path)) for path in (*(path for path in modules if path.exists()), *beside))


def _find(name: str) -> Any:
    for library in _libraries():
        if hasattr(library, name):
            return getattr(library, name)
    raise PairingError(
        f"IDA needs SUNDIALS, and `{name}` is not in the library of the installed scikit-sundae; install a wheel of "
        "scikit-sundae, or use Radau()"
    )


class IdaSession:
    """IDA's memory for n equations: vectors, dense matrix, linear solver; freed when forgotten.

    `functions` are the addresses of residual and Jacobian in C (`IDAResFn`, `IDALsJacFn`), `data` is what they are
    handed. `differential` (n,) says whose rates occur; first and longest step may be 0: free.
    """

    def __init__(
        self,
        functions: tuple[int, int],
        data: int,
        differential: np.ndarray,
        *,
        first_step: float,
        max_step: float,
        order: int,
    ) -> None:
        s, n = sundials(), len(differential)
        self.lib, self.n, self.context, self.memory = s, n, _pointer(), _pointer()
        self._residual, self._made = functions[0], list[Any]()
        _check("SUNContext_Create", s.SUNContext_Create(0, ctypes.byref(self.context)))
        s.SUNContext_ClearErrHandlers(self.context)  # nothing is printed: flags say it, and `Status` explains them
        self.y, self.ydot, self.interpolated, self._atol, kinds = self._vectors(5)
        self.array(kinds)[:] = differential
        matrix = s.SUNDenseMatrix(n, n, self.context)
        solver = s.SUNLinSol_Dense(self.y, matrix, self.context)
        self._made += [(s.SUNMatDestroy, matrix), (s.SUNLinSolFree, solver)]
        self._options = {
            "IDASetUserData": (data,),
            "IDASetLinearSolver": (solver, matrix),
            "IDASetJacFn": (functions[1],),
            "IDASetId": (kinds,),
            "IDASetMaxOrd": (order,),
            "IDASetInitStep": (first_step,),
            "IDASetMaxStep": (max_step,),
        }
        self.memory.value = s.IDACreate(self.context)
        weakref.finalize(self, _free, s, self.memory, self._made, self.context)
        self._begun = False

    def _vectors(self, count: int) -> list[int]:
        vectors = [self.lib.N_VNew_Serial(self.n, self.context) for _ in range(count)]
        self._made += [(self.lib.N_VDestroy, vector) for vector in vectors]
        return vectors

    def array(self, vector: int) -> np.ndarray:
        """The entries of a vector (n,), on the same memory."""
        entries = (ctypes.c_double * self.n).from_address(self.lib.N_VGetArrayPointer(vector))
        return np.ctypeslib.as_array(entries)

    def begin(self, y: np.ndarray, ydot: np.ndarray, rtol: float, atol: np.ndarray) -> None:
        """Start, or start again, at y and y' (n,) with tolerances (atol (n,)); times are counted from there."""
        self.array(self.y)[:], self.array(self.ydot)[:], self.array(self._atol)[:] = y, ydot, atol
        options = {"IDASVtolerances": (rtol, self._atol)}
        if self._begun:
            _check("IDAReInit", self.lib.IDAReInit(self.memory, 0.0, self.y, self.ydot))
        else:
            _check("IDAInit", self.lib.IDAInit(self.memory, self._residual, 0.0, self.y, self.ydot))
            options |= self._options
        for name, values in options.items():
            _check(name, getattr(self.lib, name)(self.memory, *values))
        self._begun = True

    def counts(self) -> Iterator[tuple[str, int]]:
        """Evaluations of F and of its Jacobian, failed error tests and failed solutions since the last beginning."""
        for name, function in COUNTED.items():
            count = ctypes.c_int64()
            getattr(self.lib, function)(self.memory, ctypes.byref(count))
            yield name, count.value


def _check(name: str, flag: int) -> None:
    if flag < 0:
        raise RuntimeError(f"SUNDIALS: {name} returned {flag}")


def _free(s: Sundials, memory: ctypes.c_void_p, made: list[Any], context: ctypes.c_void_p) -> None:
    s.IDAFree(ctypes.byref(memory))
    for destroy, handle in reversed(made):
        destroy(handle)
    s.SUNContext_Free(ctypes.byref(context))

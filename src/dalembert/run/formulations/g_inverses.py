"""The general solution of Kalaba and Udwadia with inverses of the user: any Python functions, checked, called back."""

from __future__ import annotations

import ctypes
import functools

import numpy as np

from dalembert.errors import OptionError
from dalembert.native.plan import Plan
from dalembert.run.evaluate import finish_rates, load_equations
from dalembert.run.status import Status
from dalembert.solve.general_inverse import Inverse, general_solution, reduced_root

INVERSE_TOLERANCE = 1e-8
# The native signature of `accelerate_type` as C sees it: where the result goes, an error that stays empty, the plan,
# then the array `mem`: two owners, its size and that of an entry, the data, shape and strides.
_ACCELERATE = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.POINTER(ctypes.c_int64), ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p,
    ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64,
)  # fmt: skip


def check_inverses(M: np.ndarray, A: np.ndarray, g_inverse: Inverse, least_squares: Inverse) -> None:
    """Raise `OptionError` saying which defining relation fails, and by how much."""
    D = np.ascontiguousarray(A)
    inverse = _inverse("g_inverse", g_inverse, D)
    _check("g_inverse", "D D^- D = D (20)", D @ inverse @ D - D, D)
    try:
        H = reduced_root(M, D, inverse)
    except np.linalg.LinAlgError as error:
        raise OptionError(
            "g_inverse needs masses and constraints that determine all accelerations, and here they do not: "
            "[M; A] is singular; use UdwadiaKalaba() without inverses of your own, which takes the least ones"
        ) from error
    ls = _inverse("least_squares_inverse", least_squares, H)
    _check("least_squares_inverse", "H H^- H = H (25)", H @ ls @ H - H, H)
    _check("least_squares_inverse", "(H H^-)^T = H H^- (26)", (H @ ls).T - H @ ls, H @ ls)


def _inverse(name: str, function: Inverse, matrix: np.ndarray) -> np.ndarray:
    """Generalised inverse of a matrix by a user's function. Raises `OptionError` if it fails or has a wrong shape."""
    if not callable(function):
        raise OptionError(f"{name}={function!r} is not a function; pass one from a matrix to its inverse")
    try:
        inverse = np.asarray(function(matrix.copy()), dtype=float)
    except Exception as error:
        raise OptionError(
            f"{name} raised {type(error).__name__} for a matrix of shape {matrix.shape}: {error}"
        ) from error
    if inverse.shape != matrix.T.shape:
        raise OptionError(
            f"{name} gave shape {inverse.shape} for a matrix of shape {matrix.shape}; need {matrix.T.shape}"
        )
    return inverse


def _check(what: str, relation: str, left: np.ndarray, scale: np.ndarray) -> None:
    miss = float(np.abs(left).max(initial=0.0)) / max(float(np.abs(scale).max(initial=0.0)), 1e-300)
    if not miss <= INVERSE_TOLERANCE:
        raise OptionError(f"{what} fails its defining relation {relation} by {miss:.1e}")


class Accelerate:
    """The accelerations by these inverses: a Python function that native code calls by its `address`."""

    def __init__(self, g_inverse: Inverse, least_squares: Inverse) -> None:
        self._inverses = g_inverse, least_squares
        self._called = _ACCELERATE(self._accelerate)  # good as long as this object lives
        self.address = int(ctypes.cast(self._called, ctypes.c_void_p).value or 0)

    def _accelerate(self, result: ctypes.Array[ctypes.c_int64], _error: int, place: int, *array: int) -> int:
        """u' and la into mem; NaN and a status in the plan if an inverse raises an error."""
        size, data = array[2], array[4]
        plan = Plan.from_address(place)
        mem = np.ctypeslib.as_array(ctypes.cast(data, ctypes.POINTER(ctypes.c_double)), (size,))
        load_equations.call(place, data, size)
        try:
            self._solve(plan, mem)
        except Exception:  # noqa: BLE001 - whatever the function of the user raises
            mem[plan.udot : plan.udot + plan.nu], plan.unsolved = np.nan, Status.NO_INVERSE
        result[0] = finish_rates.call(place, data, size)
        return 0

    def _solve(self, plan: Plan, mem: np.ndarray) -> None:
        nu, nc = plan.nu, plan.nc
        M = mem[plan.mass : plan.mass + nu * nu].reshape(nu, nu).copy()
        D = mem[plan.jacobian : plan.jacobian + nc * nu].reshape(nc, nu).copy()
        f, b = mem[plan.force : plan.force + nu], mem[plan.bias : plan.bias + nc]
        udot, la = general_solution(M, f, D, b, *self._inverses)
        mem[plan.udot : plan.udot + nu], mem[plan.multiplier : plan.multiplier + nc] = udot, la
        mem[plan.quality] = 1.0


@functools.cache
def accelerate_with(g_inverse: Inverse, least_squares: Inverse) -> Accelerate:
    """The accelerations by these inverses; kept for good, as engines refer to their address."""
    return Accelerate(g_inverse, least_squares)

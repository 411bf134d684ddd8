"""Model kernels against the same equations as C: CasADi's generated code, compiled by the machine's C compiler.

Both are called through a pointer by one loop written in C, over the states of a real motion.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

import casadi as ca
import numpy as np
from benchmarks.measure import Figure, best_in_turns
from benchmarks.models import Problem, appell_hamel, four_bar, pendulum

import dalembert as da
from dalembert.native.kernel import Kernel, compile_kernel

ROWS = 512
FLAGS = ["-O3", "-march=native", "-shared", "-fPIC", "-lm"]

# CasADi's C takes lists of arguments and results; the wrapper costs what any caller of it would pay.
_CALLER = """
void c_kernel(const double* x, double* out) {
  static double w[%d]; static long long int iw[%d];
  const double* arg[%d] = {x}; double* res[%d] = {out};
  %s(arg, res, iw, w, 0);
}
void repeat(void (*kernel)(const double*, double*), const double* xs, long rows, long width, long times, double* out) {
  for (long k = 0; k < times; ++k) for (long row = 0; row < rows; ++row) kernel(xs + row * width, out);
}
"""


def run() -> list[Figure]:
    """A figure for each kernel: our time over that of C."""
    compiler = shutil.which("cc")
    if compiler is None:
        return [Figure("kernel_vs_c", "all", None, "x C", "<= 2", "no C compiler (cc) on this machine")]
    cases = [
        (appell_hamel(), 10.0),
        (four_bar(), 10.0),
        (pendulum(10), 2.0),
    ]
    with tempfile.TemporaryDirectory() as directory:
        return [
            _compare(compiler, Path(directory), problem, function, _inputs(problem, t_end))
            for problem, t_end in cases
            for function in (problem.system.functions["dynamics"], _motion(problem))
        ]


def _motion(problem: Problem) -> ca.Function:
    """The whole right-hand side with its solve unrolled."""
    from dalembert.run.right_hand_side import motion_function

    formulation, system, state = da.LagrangeMultipliers(), problem.system, problem.state
    at = (state.t, state.q, state.u)
    choice = formulation.choose(system, system.mass_matrix(*at), system.constraint_jacobian(*at))
    return motion_function(system, formulation.unroll, choice, None)


def _inputs(problem: Problem, t_end: float) -> np.ndarray:
    """Inputs (t, q, u, p) along a motion, (ROWS, n_in)."""
    times = np.linspace(0.0, t_end, ROWS)
    motion = problem.system.simulate(problem.state, t_end, t_eval=times)
    parameters = np.broadcast_to(problem.system.parameter_values(), (ROWS, len(problem.system.parameters)))
    return np.ascontiguousarray(np.hstack([motion.t[:, None], motion.q, motion.u, parameters]))


def _compare(compiler: str, directory: Path, problem: Problem, function: ca.Function, xs: np.ndarray) -> Figure:
    system, name = problem.system, function.name()
    kernel = compile_kernel(function)
    library = _build(compiler, directory, f"{system.nu}_{name}", function)
    ours, theirs, out = np.zeros(kernel.n_out), np.zeros(function.nnz_out()), np.zeros(kernel.n_out)
    times = max(1, int(0.02 / (ROWS * 1e-10 * kernel.instructions)))
    address = xs.ctypes.data

    def call(pointer: int, rows: int, repeats: int, result: np.ndarray) -> None:
        library.repeat(
            ctypes.c_void_p(pointer), ctypes.c_void_p(address), ctypes.c_long(rows), ctypes.c_long(xs.shape[1]),
            ctypes.c_long(repeats), ctypes.c_void_p(result.ctypes.data),
        )  # fmt: skip

    c_address = ctypes.cast(library.c_kernel, ctypes.c_void_p).value or 0
    call(kernel.address, 1, 1, ours)
    call(c_address, 1, 1, theirs)
    _check_equal(kernel, function, ours, theirs)
    native, c = best_in_turns(
        [lambda: call(kernel.address, ROWS, times, out), lambda: call(c_address, ROWS, times, theirs)], repeats=15
    )
    count = 1e-9 * ROWS * times
    detail = f"{native / count:.0f} ns against {c / count:.0f} ns; {kernel.instructions} instructions"
    return Figure("kernel_vs_c", f"{system.name} {name}", native / c, "x C", "<= 2", detail)


def _build(compiler: str, directory: Path, stem: str, function: ca.Function) -> ctypes.CDLL:
    source = directory / f"k{stem}.c"
    name = function.name()
    generator = ca.CodeGenerator(source.name)
    generator.add(function)
    code = generator.dump()
    sizes = (max(1, function.sz_w()), max(1, function.sz_iw()), max(1, function.sz_arg()), max(1, function.sz_res()))
    source.write_text(code + _CALLER % (*sizes, name))
    target = source.with_suffix(".so")
    subprocess.run([compiler, str(source), "-o", str(target), *FLAGS], check=True)
    return ctypes.CDLL(str(target))


def _check_equal(kernel: Kernel, function: ca.Function, ours: np.ndarray, theirs: np.ndarray) -> None:
    dense = np.zeros(kernel.n_out)
    dense[np.array(function.sparsity_out(0).row(), dtype=int)] = theirs
    if not np.allclose(ours, dense, rtol=1e-10, atol=1e-10):
        raise RuntimeError(f"the kernel and the C code of {function.name()} differ by {np.abs(ours - dense).max():.3g}")

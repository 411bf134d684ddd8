"""Random pushes on mechanisms: narrow functions of time or place, and motions under them without the library.

A `Push` is stated twice: as a SymPy expression for the model, and as plain functions between its kinks. A mechanism in
`push_mechanisms` has equations in minimal coordinates, written by hand; `reference` integrates them by SciPy, in steps
that are short beside the distance to the push, and from kink to kink.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import atan, cos, erf, exp, pi, sin, sqrt, tanh

import numpy as np
import sympy as sp
from scipy.integrate import DOP853, solve_ivp
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq

Function = Callable[[float], float]


@dataclass(frozen=True)
class Push:
    """height * shape((argument - centre) / width); `pieces[k]` is the shape before `kinks[k]`."""

    shape: str
    centre: float
    width: float
    height: float
    kinks: tuple[float, ...]  # of the argument
    pieces: tuple[Function, ...]  # functions of s = (argument - centre) / width
    finest: float  # length of a step across the push, in widths
    end: float  # of the range of the argument

    def value(self, argument: float, piece: int) -> float:
        return self.height * self.pieces[piece]((argument - self.centre) / self.width)

    def piece(self, argument: float) -> int:
        """The piece that holds right of the argument."""
        return int(np.searchsorted(self.kinks, argument, side="right"))

    def longest(self, argument: float) -> float:
        """What a step near this argument may change of it."""
        return max(self.finest * self.width, 0.2 * abs(argument - self.centre))

    def expression(self, argument, model):
        """For the model; tables are added to it."""
        height, s = sp.Float(self.height, 17), (argument - sp.Float(self.centre, 17)) / sp.Float(self.width, 17)
        if not self.shape.endswith(" table"):
            return height * SYMBOLIC[self.shape](s)
        kind = self.shape.split()[0]
        nodes, values = _table(kind, self.end / self.width)
        return height * model.table("push", self.centre + self.width * nodes, values, kind=kind)(argument)


def _table(kind, reach):
    """Nodes in widths and values: zeros on either side as far as `reach`, for splines ever farther apart."""
    nodes, values = [-1.0, -0.5, 0.0, 0.75, 1.0], [0.0, 0.4, 1.0, -0.3, 0.0]
    zeros = [2 * reach + 1] if kind == "linear" else list(2.0 ** np.arange(1, np.log2(reach) + 3))
    aside = [0.0] * len(zeros)
    return np.array([-z for z in zeros[::-1]] + nodes + zeros), np.array(aside + values + aside)


def _bump(s):
    return exp(1 - 1 / (1 - s * s)) if abs(s) < 1 else 0.0


def inside(f):
    """f where |s| < 1, else 0."""
    return lambda s: sp.Piecewise((f(s), (s > -1) & (s < 1)), (0, True))


SYMBOLIC = {
    "bell": lambda s: sp.exp(-(s**2)),
    "tanh ramp": lambda s: (1 + sp.tanh(s)) / 2,
    "tanh pulse": lambda s: (sp.tanh(s + 1) - sp.tanh(s - 1)) / 2,
    "logistic": lambda s: 1 / (1 + sp.exp(-s)),
    "burst": lambda s: sp.cos(9 * s) * sp.exp(-(s**2)),
    "rational": lambda s: 1 / (1 + s**2) ** 4,
    "root ramp": lambda s: (1 + s / sp.sqrt(1 + s**2)) / 2,
    "arc tangent": lambda s: sp.atan(s) / sp.pi + sp.Rational(1, 2),
    "sech": lambda s: 1 / sp.cosh(s),
    "error function": lambda s: (1 + sp.erf(s)) / 2,
    "hat": lambda s: sp.Max(0, 1 - sp.Abs(s)),
    "parabola": lambda s: sp.Max(0, 1 - s**2) ** 2,
    "smooth bump": lambda s: sp.Piecewise((sp.exp(1 - 1 / (1 - s**2)), s**2 < 1), (0, True)),
    "box": inside(lambda _: 1),
    "Heaviside": lambda s: sp.Heaviside(s + 1) - sp.Heaviside(s - 1),
    "step": sp.Heaviside,
    "half sine": inside(lambda s: sp.cos(sp.pi * s / 2)),
    "whole sine": inside(lambda s: sp.sin(sp.pi * s)),
    "ramp": lambda s: sp.Min(sp.Max((s + 1) / 2, 0), 1),
}
SMOOTH = {
    "bell": lambda s: exp(-min(s * s, 700.0)),
    "tanh ramp": lambda s: (1 + tanh(s)) / 2,
    "tanh pulse": lambda s: (tanh(s + 1) - tanh(s - 1)) / 2,
    "logistic": lambda s: (1 + tanh(s / 2)) / 2,
    "burst": lambda s: cos(9 * s) * exp(-min(s * s, 700.0)),
    "rational": lambda s: 1 / (1 + s * s) ** 4,
    "root ramp": lambda s: (1 + s / sqrt(1 + s * s)) / 2,
    "arc tangent": lambda s: atan(s) / pi + 0.5,
    "sech": lambda s: 2 * exp(-abs(s)) / (1 + exp(-2 * abs(s))) if abs(s) < 700 else 0.0,
    "error function": lambda s: (1 + erf(s)) / 2,
}


def zero(_):
    return 0.0


def one(_):
    return 1.0


def _lines(nodes, values):
    slopes = np.diff(values) / np.diff(nodes)
    return [lambda s, a=a, v=v, k=k: v + k * (s - a) for a, v, k in zip(nodes[:-1], values[:-1], slopes, strict=True)]


KINKED = {  # kinks in s, functions between them
    "hat": ((-1.0, 0.0, 1.0), (zero, lambda s: 1 + s, lambda s: 1 - s, zero)),
    "parabola": ((-1.0, 1.0), (zero, lambda s: (1 - s * s) ** 2, zero)),
    "smooth bump": ((-1.0, 1.0), (zero, _bump, zero)),
    "box": ((-1.0, 1.0), (zero, one, zero)),
    "Heaviside": ((-1.0, 1.0), (zero, one, zero)),
    "step": ((0.0,), (zero, one)),
    "half sine": ((-1.0, 1.0), (zero, lambda s: cos(pi * s / 2), zero)),
    "whole sine": ((-1.0, 1.0), (zero, lambda s: sin(pi * s), zero)),
    "ramp": ((-1.0, 1.0), (zero, lambda s: (1 + s) / 2, one)),
}
JUMPS = ("box", "Heaviside", "step")


def push(shape, centre, width, height, end):
    """The push of this shape; `end` is the range of its argument."""
    finest = {"burst": 0.1, "smooth bump": 0.05}.get(shape, 0.25)
    if shape in SMOOTH:
        kinks, pieces = (), (SMOOTH[shape],)
    elif shape in KINKED:
        kinks, pieces = KINKED[shape]
    else:
        kind = shape.split()[0]
        kinks, values = _table(kind, end / width)
        inner = _lines(kinks, values) if kind == "linear" else [CubicSpline(kinks, values)] * (len(kinks) - 1)
        pieces = (zero, *inner, zero)
    kinks = tuple(centre + width * k for k in kinks)
    return Push(shape, centre, width, height, kinks, tuple(pieces), finest, end)


SHAPES = (*SMOOTH, *KINKED, "linear table", "cubic table")


def reference(rates, start, t_end, pushed, argument, rtol=1e-12):
    """States at the end and the largest distance of each from its start; rates(t, z, push), argument(t, z, rate of z).

    Steps are short beside the distance from the push and end on its kinks.
    """
    t, z, far = 0.0, np.array(start, dtype=float), np.zeros(len(start))
    piece = pushed.piece(argument(t, z))
    while t < t_end:

        def derivative(s, y, piece=piece):
            return np.array(rates(s, y, pushed.value(argument(s, y), piece)))

        solver = _solver(derivative, t, z, t_end, pushed, argument, rtol)
        while solver.status == "running":
            solver.max_step = _longest(solver.t, solver.y, derivative, pushed, argument)
            if solver.step():
                raise ArithmeticError("the reference cannot go on")
            side = _side(argument(solver.t, solver.y), pushed.kinks, piece)
            if side:
                t, z = _on_kink(pushed.kinks[piece if side > 0 else piece - 1], solver, derivative, argument, rtol)
                piece += side
                break
            far = np.maximum(far, np.abs(solver.y - start))
        else:
            t, z = solver.t, solver.y
        far = np.maximum(far, np.abs(z - start))
    return z, far


def _solver(derivative, t, z, t_end, pushed, argument, rtol):
    first = min(1e-4, 0.1 * _longest(t, z, derivative, pushed, argument), t_end - t)
    return DOP853(derivative, t, z, t_end, rtol=rtol, atol=1e-4 * rtol, first_step=first)


def _longest(t, z, derivative, pushed, argument):
    """The time in which the argument changes by what a step may change of it."""
    at, step = argument(t, z), 1e-6
    rate = (argument(t + step, z + step * derivative(t, z)) - at) / step
    return pushed.longest(at) / max(abs(rate), 1e-3)


def _side(at, kinks, piece):
    """1 if the argument has passed the upper end of its piece, -1 the lower, else 0."""
    if piece < len(kinks) and at >= kinks[piece]:
        return 1
    return -1 if piece and at < kinks[piece - 1] else 0


def _on_kink(kink, solver, derivative, argument, rtol):
    """Time and state at which the argument reaches the kink, within the last step."""
    dense, low, high = solver.dense_output(), solver.t_old, solver.t

    def beyond(s):
        return argument(s, dense(s)) - kink

    if beyond(low) * beyond(high) >= 0:  # by rounding it began on the wrong side of the kink
        when = high if beyond(high) == 0 else low
    else:
        when = brentq(beyond, low, high, xtol=1e-15, rtol=1e-15)
    if when == low:
        return low, dense(low)
    again = solve_ivp(derivative, (low, when), dense(low), "DOP853", rtol=rtol, atol=1e-4 * rtol)
    return when, again.y[:, -1]

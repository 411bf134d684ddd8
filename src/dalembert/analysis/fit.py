"""`fit`: parameters and start values of a model from measured outputs, by least squares with exact Jacobians.

The residuals (h(t_i) - data_i) / sigma of all experiments, and (theta - mean) / sigma of priors, go to
`scipy.optimize.least_squares` (trust region, bounds, robust losses); their Jacobian is that of the motion, from the
same run (`analysis.sensitivities`). At the optimum covariance = s^2 (J^T J)^-1, with s = 1 if `sigma` is given and
s^2 = sum r^2 / (m - n) if it is not. Directions that J does not see are named instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from dalembert.analysis.fit_result import Fit, covariance_of
from dalembert.analysis.losses import RobustLoss
from dalembert.analysis.measurements import Experiment, label, read_experiments
from dalembert.analysis.sensitivities import all_sensitivities
from dalembert.dataclass import dataclass
from dalembert.equations.naming import finite_number
from dalembert.equations.system import System
from dalembert.errors import DalembertError, OptionError, PairingError, UnknownNameError
from dalembert.initial.request import Wishes
from dalembert.initial.start_derivatives import read_columns
from dalembert.motion.state import State
from dalembert.run.integrators.dop853 import DOP853

# Of the runs of a fit: far below the noise of data, and exact derivatives need no more.
FIT_RTOL, FIT_ATOL = 1e-8, 1e-10


def fit(
    system: System,
    data: Any,
    vary: Any,
    *,
    state: Any,
    bounds: Mapping[Any, tuple[float, float]] | None = None,
    priors: Mapping[Any, tuple[float, float]] | None = None,
    sigma: Any = None,
    loss: RobustLoss | None = None,
    **options: Any,
) -> Fit:
    """The best values, see `System.fit` for the arguments.

    Start values of several experiments are varied in each of them apart: `x` becomes `x[0]`, `x[1]`, ...
    Raises `DalembertError` if the motion from the first values fails.
    """
    from scipy.optimize import least_squares

    if loss is not None and not isinstance(loss, RobustLoss):
        raise PairingError(f"loss={loss!r} is not a loss; pass a value such as da.Huber(3.0)")
    for name in ("t_eval", "sensitivities", "parameters", "events"):
        if name in options:
            raise OptionError(f"fit does not take `{name}`; parameter values are those of the state")
    experiments = read_experiments(data, state, sigma)
    problem = _Problem.of(system, experiments, vary, priors, options)
    low, high = _bounds(problem, bounds)
    chosen: dict[str, Any] = {} if loss is None else {"loss": loss.name, "f_scale": loss.scale}
    problem.evaluate(problem.first)
    found = least_squares(
        problem.residuals, problem.first, jac=problem.jacobian, bounds=(low, high), x_scale="jac", method="trf",
        xtol=1e-10, ftol=1e-10, gtol=1e-10, **chosen,
    )  # fmt: skip
    return _result(problem, found, known=sigma is not None)


def _result(problem: _Problem, found: Any, *, known: bool) -> Fit:
    r, J = problem.evaluate(found.x)
    freedom = max(len(r) - len(found.x), 1)
    doubts = [motion.certificate.verdict for motion in problem.motions if not motion.certificate.ok]
    covariance, blind = covariance_of(J, found.x, problem.names, 1.0 if known else float(r @ r) / freedom)
    return Fit(
        names=problem.names,
        values=dict(zip(problem.names, found.x.tolist(), strict=True)),
        covariance=covariance,
        unidentifiable=blind,
        motions=tuple(problem.motions),
        experiments=tuple(problem.experiments),
        residuals=tuple(problem.differences),
        cost=float(found.cost),
        runs=problem.runs,
        success=bool(found.success) and not doubts,
        message="; ".join([str(found.message), *(f"the fitted motion is {doubt}" for doubt in doubts)]),
    )


@dataclass
class _Problem:
    """Residuals and their Jacobian as functions of theta. The last evaluation is cached."""

    system: System
    experiments: list[Experiment]
    keys: tuple[str, ...]  # names of the varied values
    parameters: int  # how many of them are parameters, the first ones
    names: tuple[str, ...]  # of the entries of theta
    first: np.ndarray
    priors: np.ndarray  # (n, 2) mean and sigma, infinite where there is none
    options: dict[str, Any]
    runs: int = 0
    at: np.ndarray | None = None
    last: tuple[np.ndarray, np.ndarray] | None = None
    motions: list[Any] = field(default_factory=list)
    differences: list[np.ndarray] = field(default_factory=list)

    @classmethod
    def of(
        cls, system: System, experiments: list[Experiment], vary: Any, priors: Any, options: dict[str, Any]
    ) -> _Problem:
        """The problem with every name and number checked."""
        named = dict(vary) if isinstance(vary, Mapping) else dict.fromkeys(_listed(vary))
        keys, columns = read_columns(system, list(named))
        values = dict(zip(keys, named.values(), strict=True))
        order = [k for k, c in zip(keys, columns, strict=True) if c >= 0]
        starts = [k for k, c in zip(keys, columns, strict=True) if c < 0]
        names, first = list(order), [_first(values[k], experiments[0].state, k) for k in order]
        for number, e in enumerate(experiments):
            names += [k if len(experiments) == 1 else f"{k}[{number}]" for k in starts]
            first += [_first(values[k], e.state, k) for k in starts]
        settings = {"integrator": DOP853(rtol=FIT_RTOL, atol=FIT_ATOL), **options}
        theta = np.array(first)
        known = _priors(priors, tuple(names))
        return cls(system, experiments, (*order, *starts), len(order), tuple(names), theta, known, settings)

    def residuals(self, theta: np.ndarray) -> np.ndarray:
        """Residuals; infinite where the motion fails, so that a shorter step is tried."""
        try:
            return self.evaluate(theta)[0]
        except DalembertError:
            if self.last is None:
                raise
            return np.full_like(self.last[0], np.inf)

    def jacobian(self, theta: np.ndarray) -> np.ndarray:
        """The Jacobian, as a rule from the run that gave the residuals."""
        return self.evaluate(theta)[1]

    def evaluate(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Residuals (m,) and their Jacobian (m, n)."""
        if self.last is not None and self.at is not None and np.array_equal(theta, self.at):
            return self.last
        r, J, motions, differences = [], [], [], []
        for number, e in enumerate(self.experiments):
            places = self._places(number)
            motion = self._motion(e, theta[places])
            rows = _rows(motion.t, e.t)
            off = np.column_stack([motion[key][rows] for key in e.outputs]) - e.values
            for k, key in enumerate(e.outputs):
                known = np.isfinite(e.values[:, k])
                kept = slice(None) if known.all() else known
                slope = all_sensitivities(motion, key)[rows, 0][kept]
                block = np.zeros((len(slope), len(theta)))
                block[:, places] = slope / e.sigma[k]
                r.append(off[kept, k] / e.sigma[k])
                J.append(block)
            motions.append(motion)
            differences.append(off)
        held = np.isfinite(self.priors[:, 1])
        r.append((theta - self.priors[:, 0])[held] / self.priors[held, 1])
        J.append((np.eye(len(theta)) / self.priors[:, 1:])[held])
        self.at, self.motions, self.differences = theta.copy(), motions, differences
        self.last = np.concatenate(r), np.vstack(J)
        return self.last

    def _places(self, number: int) -> list[int]:
        """Indices in theta of the parameters and of the start values of one experiment."""
        starts = len(self.keys) - self.parameters
        first = self.parameters + number * starts
        return [*range(self.parameters), *range(first, first + starts)]

    def _motion(self, e: Experiment, values: np.ndarray) -> Any:
        s, count = self.system, self.parameters
        changed = dict(zip(self.keys[:count], values[:count].tolist(), strict=True))
        given = given_of(e.state) | dict(zip(self.keys[count:], values[count:].tolist(), strict=True))
        state = s.initial(given, guess=e.state, parameters=changed)
        self.runs += 1
        motion = s.simulate(state, float(e.t[-1]), t_eval=e.t, sensitivities=self.keys, **self.options)
        if not motion.success or motion.t[-1] != e.t[-1]:
            said = ", ".join(f"{k} = {v:g}" for k, v in zip(self.keys, values, strict=True))
            raise DalembertError(f"the motion fails with {said}: {motion.message}")
        return motion


def _rows(found: np.ndarray, asked: np.ndarray) -> Any:
    """Indices of the samples at the times asked for. Of several samples at one instant, the last counts."""
    if len(found) == len(asked) and (found[1:] > found[:-1]).all() and (found == asked).all():
        return slice(None)
    return np.searchsorted(found, asked, side="right") - 1


def given_of(state: State) -> dict[str, float]:
    """Values that were given to find a state, by name. The state keeps them while parameters vary."""
    s = state.system
    wishes = Wishes() if state.report is None else state.report.wishes
    given = {s.coordinates[k]: v for k, v in wishes.q.items()} | {s.speeds[k]: v for k, v in wishes.u.items()}
    return given | {f"{s.coordinates[k]}'": v for k, v in wishes.rates.items()}


def _listed(vary: Any) -> Sequence[Any]:
    if isinstance(vary, str) or not isinstance(vary, Sequence) or not len(vary):
        raise OptionError(f"vary must be a list of names or a mapping {{name: first value}}, got {vary!r}")
    return vary


def _first(value: Any, state: State, name: str) -> float:
    return float(state[name]) if value is None else finite_number(value, f"first value of `{name}`")


def _entries(names: tuple[str, ...], key: Any) -> list[int]:
    name = label(key)
    found = [k for k, entry in enumerate(names) if entry == name or entry.partition("[")[0] == name]
    if not found:
        raise UnknownNameError(name, names, "what is varied")
    return found


def _bounds(problem: _Problem, bounds: Mapping[Any, tuple[float, float]] | None) -> tuple[np.ndarray, np.ndarray]:
    n = len(problem.first)
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    for key, pair in (bounds or {}).items():
        for k in _entries(problem.names, key):
            low[k], high[k] = _pair(pair, f"bounds of `{label(key)}`", "(lowest, highest)")
            if not low[k] < high[k]:
                raise OptionError(f"bounds of `{label(key)}` are {low[k]:g} .. {high[k]:g}; they must be in order")
            if not low[k] <= problem.first[k] <= high[k]:
                raise OptionError(
                    f"the first value of `{problem.names[k]}`, {problem.first[k]:g}, is outside its bounds "
                    f"{low[k]:g} .. {high[k]:g}; write vary={{{label(key)!r}: value}}"
                )
    return low, high


def _priors(priors: Mapping[Any, tuple[float, float]] | None, names: tuple[str, ...]) -> np.ndarray:
    known = np.column_stack([np.zeros(len(names)), np.full(len(names), np.inf)])
    for key, pair in (priors or {}).items():
        mean, spread = _pair(pair, f"the prior of `{label(key)}`", "(mean, standard deviation)")
        if not spread > 0.0:
            raise OptionError(f"the prior of `{label(key)}` has the standard deviation {spread}; it must be positive")
        known[_entries(names, key)] = mean, spread
    return known


def _pair(pair: Any, what: str, of: str) -> tuple[float, float]:
    try:
        first, second = (float(value) for value in pair)
    except (TypeError, ValueError):
        raise OptionError(f"{what}: give a pair of numbers {of}, got {pair!r}") from None
    return first, second

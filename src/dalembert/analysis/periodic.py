"""`PeriodicMotion`: a motion that repeats, found by shooting with the exact monodromy matrix.

Gauss-Newton steps of least length close the motion (`shooting.Shot`): what is given stays, the rest is nearest to the
guess. Along the motion itself nothing is moved (the phase condition), if the equations do not contain the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.analysis.derivatives import differentiate
from dalembert.analysis.floquet import (
    OrbitalStability,
    check_periodic,
    depends_on_time,
    multipliers_of,
    orbital_stability,
)
from dalembert.analysis.shooting import Shooting, Shot, read_advance, read_held, read_period
from dalembert.analysis.steady_check import STILL_RATE
from dalembert.analysis.tangent_space import tangent_space
from dalembert.analysis.transition import carry, changes_at_end, with_derivatives
from dalembert.analysis.verdict import check_held
from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.errors import Closest, DalembertError, InitialStateError, OptionError
from dalembert.initial.request import Values, key_name
from dalembert.motion.motion import Motion
from dalembert.motion.sequence import MotionSequence
from dalembert.motion.state import State
from dalembert.run.integrators.dop853 import DOP853
from dalembert.run.simulate import pair, run_from
from dalembert.solve.decompositions import least_squares
from dalembert.stages import stage

# Gauss-Newton steps, and how often one is halved where it does not lead closer.
GAUSS_NEWTON_STEPS, STEP_HALVINGS = 40, 10
CLOSED = 1e-9  # largest closure error, relative to the sizes of the variables
SMALLEST_MISS = 1e-13  # of that, at which there is nothing to improve
FREE_ORBIT = 1e-7  # singular value, relative to the largest, below which a direction is free
WEAK, MUCH = (
    (0.3, 1e-2, 1e-4, FREE_ORBIT),
    0.3,
)  # such values that are tried, and the part of what is missing that may be left
CHANGE = 0.3  # largest change of the period in a step, relative to it
AMPLITUDE_SAMPLES = 2001  # from which the amplitude is read
ORBIT_TOLERANCE = 1e-12  # of the integrator where none is chosen


@dataclass(frozen=True, eq=False)
class PeriodicMotion:
    """`motion` over one `period`, from `state` back to it.

    `states` names the independent coordinates and speeds that the `monodromy` matrix (n, n) is written in.
    """

    motion: Motion | MotionSequence
    state: State
    period: float
    problem: Shooting = field(repr=False)

    def __getitem__(self, key: Any) -> np.ndarray:
        """Values along the motion, as `motion[key]`."""
        return self.motion[key]

    def amplitude(self, key: Any) -> float:
        """Half of the range of the quantity `key`. Extremes are those of parabolas through three samples."""
        p, end = self.problem, self.state.t + self.period
        times = np.linspace(self.state.t, end, AMPLITUDE_SAMPLES)
        motion, _ = run_from(p.recipe, self.state, (self.state.t, end), times, p.events, None, known=True)
        values = np.asarray(motion[key])
        return (_highest(values) + _highest(-values)) / 2

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the independent coordinates and speeds."""
        s = self.state.system
        return tuple((*s.coordinates, *s.speeds)[k] for k in self._space.independent)

    @cached_property
    def _space(self) -> Any:
        return tangent_space(differentiate(self.state), self.state, None)[0]

    @cached_property
    def monodromy(self) -> np.ndarray:
        """Monodromy matrix, (n, n): maps a perturbation of the states over one period."""
        p = self.problem
        carried = carry(p.recipe, self.state, self.state.t + self.period, self._space.basis.T, events=p.events)
        return changes_at_end(carried)[:, list(self._space.independent)].T

    @cached_property
    def multipliers(self) -> np.ndarray:
        """Floquet multipliers, the eigenvalues of the monodromy matrix, (n,) complex, the largest first."""
        return multipliers_of(self.monodromy)

    @property
    def exponents(self) -> np.ndarray:
        """Floquet exponents log(multipliers) / period in 1/s, (n,) complex."""
        return np.log(self.multipliers) / self.period

    @property
    def stability(self) -> OrbitalStability:
        """Whether neighbouring motions approach this one, by the multipliers."""
        free = int(np.isnan(self.problem.advance).sum())
        return orbital_stability(self.multipliers, free + (not depends_on_time(self.state.system)))

    def branch(self, key: Any, span: tuple[float, float], *, step: float = 0.05, most: int = 200) -> Any:
        """The periodic motions on the branch of this one along a parameter or a start value, past folds.

        It starts towards larger values and ends at an end of the `span` or after `most` motions. `step` is the first
        arclength, relative to the sizes of the start, the period and the key. See `periodic_branch.PeriodicBranch`.
        """
        return stage("PeriodicMotion.branch")(self, key, span, step=step, most=most)

    def __repr__(self) -> str:
        name = self.state.system.name
        return f"PeriodicMotion of {name!r} with period {self.period:.12g}; {self.stability}"


def _highest(values: np.ndarray) -> float:
    """The top of the parabola through the largest of evenly spaced values and its neighbours."""
    k = int(values.argmax())
    if k in (0, len(values) - 1) and abs(values[0] - values[-1]) > CLOSED * (1.0 + abs(values[0])):
        return float(values[k])  # it advances
    a, b, c = np.take(values[:-1], [k - 1, k, k + 1], mode="wrap")
    bend = a - 2 * b + c
    return float(b - (c - a) ** 2 / (8 * bend)) if bend < 0.0 else float(b)


def find_periodic(
    system: System,
    given: Values | None = None,
    *,
    period: Any,
    guess: Values | State | None = None,
    advance: Mapping[Any, float | None] | None = None,
    parameters: Values | None = None,
    t0: float | None = None,
    events: Iterable[Any] = (),
    formulation: Any = None,
    drift: Any = None,
    integrator: Any = None,
) -> PeriodicMotion:
    """A motion that repeats after a period; see `System.periodic`."""
    chosen = pair(formulation, drift, integrator or DOP853(rtol=ORBIT_TOLERANCE, atol=ORBIT_TOLERANCE))
    start = system.initial(given, guess=guess, t0=t0, parameters=parameters)
    stated = read_period(system, period, unknown=not depends_on_time(system))
    T = stated.at(start.parameters)
    if not T > 0.0:
        raise OptionError(f"the period {T:g} of `{system.name}` is not positive")
    problem = Shooting(
        system, with_derivatives(*chosen), start.t, stated, read_held(system, [key_name(k) for k in given or {}]),
        read_advance(system, advance or {}), tuple(events),
    )  # fmt: skip
    return finished(problem, close(problem.shoot(start, T)))


def close(shot: Shot) -> Shot:
    """The shot that closes nearest to this one; raises `InitialStateError` if there is none."""
    for _ in range(GAUSS_NEWTON_STEPS):
        if np.linalg.norm(shot.F) <= SMALLEST_MISS:
            return shot
        ahead = _closer(shot)
        if ahead is None:  # nothing improves
            break
        shot = ahead
    if not np.abs(shot.F).max(initial=0.0) <= CLOSED:
        raise not_closed(shot)
    return shot


def _closer(shot: Shot) -> Shot | None:
    """A shot with a smaller closure error; None if none is found.

    Directions that hardly close the motion are moved along only if the others do not suffice: in a family of motions
    they lead along it, away from the guess.
    """
    left = np.linalg.norm(shot.F)
    for weak in WEAK:
        ahead = _moved(shot, _step(shot, weak))
        if ahead is not None and np.linalg.norm(ahead.F) <= MUCH * left:
            return ahead
    if left <= CLOSED:
        return None
    change = _step(shot, WEAK[-1])
    for k in range(STEP_HALVINGS):
        ahead = _moved(shot, change * 0.5**k)
        if ahead is not None and np.linalg.norm(ahead.F) < left:
            return ahead
    return None


def _step(shot: Shot, weak: float) -> np.ndarray:
    """The least change of (z, T, p) that closes the linearised motion, across the motion itself.

    Directions with singular values below the part `weak` of the largest are left alone.
    """
    rows, side = shot.J, -shot.F
    if shot.problem.unknown:
        rows, side = np.vstack([rows, shot.phase]), np.append(side, 0.0)
    change = shot.changes @ least_squares(rows, side, weak)
    return change / max(1.0, abs(change[-2]) / (CHANGE * shot.T))


def _moved(shot: Shot, change: np.ndarray) -> Shot | None:
    """The shot after a change of (z, T, p); None without a consistent start, or a motion to the end."""
    try:
        return shot.problem.shoot(*shot.problem.moved(shot, change), shot.key)
    except DalembertError:
        return None


def finished(problem: Shooting, shot: Shot) -> PeriodicMotion:
    """The periodic motion of a shot that closes, checked."""
    s = problem.system
    parts = [np.hstack([part.q, part.u]) for part in shot.motion.segments]
    travel = np.ptp(np.vstack(parts), axis=0) / shot.size
    if not travel.max(initial=0.0) > STILL_RATE and problem.unknown:
        raise InitialStateError(
            f"`{s.name}`: shooting ended in a state of rest, not on a periodic motion; give a guess farther from the "
            "equilibrium, or a value that the motion must have",
            closest=Closest(shot.state.q, shot.state.u),
        )
    try:
        check_periodic(shot.motion)
        check_held(shot.motion, f"the periodic motion with period {shot.T:.6g}")
    except DalembertError as error:
        raise InitialStateError(str(error), closest=Closest(shot.state.q, shot.state.u)) from error
    return PeriodicMotion(_plain(shot.motion), shot.state, shot.T, problem)


def _plain(motion: Motion | MotionSequence) -> Motion | MotionSequence:
    """The motion without carried derivatives."""
    if isinstance(motion, Motion):
        return replace(motion, derivatives=None)
    return replace(motion, segments=tuple(replace(part, derivatives=None) for part in motion.segments))


def not_closed(shot: Shot) -> InitialStateError:
    """Error for a search that found no periodic motion: the closest shot, and how far it is from closing."""
    s, rows = shot.problem.system, shot.problem.rows
    names = (*s.coordinates, *s.speeds)
    left = dict(zip([names[k] for k in rows], np.abs(shot.F * shot.size[rows]).tolist(), strict=True))
    worst = sorted(left.items(), key=lambda item: -item[1])[:3]
    said = ", ".join(f"`{name}` by {value:.3g}" for name, value in worst)
    held = ", ".join(names[k] for k in shot.problem.held)
    return InitialStateError(
        f"`{s.name}`: no periodic motion was found{' with ' + held + ' given' if held else ''}; the closest, with "
        f"period {shot.T:.6g}, does not close: {said}. Release a given value, or give a guess or a period closer to it",
        left,
        closest=Closest(shot.state.q, shot.state.u),
        conflicting=[name for name, _ in worst],
    )

"""Through positions where constraints become dependent: one collocation step with the singular time in its middle.

Through an isolated singular position of position constraints the motion is analytic, and where another branch starts the
motion stays on its own. Evaluations close to the position are worthless: round-off is amplified by the inverse of the
distance. A step of Gauss collocation has no stage close to its middle. Two numbers of stages give its error. Where they
differ, the run comes closer by a regular step and tries again.

Rows of velocities and accelerations, reactions that are not ideal, and states off the constraints cannot be passed: the
run ends there, or goes on and the certificate says that it left the ground it can judge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.run.drift.projection import Projection
from dalembert.run.engine import Engine
from dalembert.run.formulations.lagrange_multipliers import LagrangeMultipliers
from dalembert.run.run_facts import Passage
from dalembert.run.status import DEPENDENT, MORE, OK
from dalembert.run.time_loop.advance import conclude
from dalembert.run.time_loop.collocation import Arc, collocate, interpolate_arc, nothing_to_prepare
from dalembert.run.time_loop.dependence import Dependence, Path, dependent_rows, find_dependence, singular_values
from dalembert.run.time_loop.singular import KEPT

if TYPE_CHECKING:
    from dalembert.run.time_loop.march import March

AHEAD = 1.8  # steps looked ahead for a singular position
NEAR = 1.6  # steps from which it is passed; one further off is approached by the step at hand
STAGES, FEWER = 8, 6
TRIES = 6
STRICT, LOOSE = 10.0, 1e-6  # error allowed at first, in tolerances, and at last, relative
FINEST = 1e-13  # tolerance below which round-off decides
ON = 1e-9  # a state with larger residuals is not on the constraints
LOST = 1e-3  # a smallest singular value that low, with velocity or acceleration rows: there is no motion
CENTRED = 0.03  # of the half-width: how well the singular time must be known


class Passages:
    """What one march does about singular positions."""

    def __init__(self, run: March) -> None:
        self.run, self.engine = run, run.engine
        self.tries, self.first = 0, np.inf
        self.done = -np.inf  # the singular time that was given up
        self._still: Engine | None = None

    def treat(self) -> int:
        """Pass, approach or judge the suspect step at hand; returns a status, MORE to go on."""
        run, clock = self.run, self.run.clock
        t, h = float(clock.t), float(clock.taken)
        path = cubic(t, h, run.z.copy(), run.stages[: run.engine.nz].copy(), run.znew.copy(), run.zdot.copy())
        reach = max(h, KEPT * run.conditioning.longest)
        found = find_dependence(self.engine, path, t, t + AHEAD * reach)
        if found is None or found.t > t + NEAR * reach or abs(found.t - self.done) < 0.5 * reach:
            if found is None and not self._has_motion(t + h):
                return DEPENDENT
            return self._go_on()
        obstacle = self._obstacle(found)
        if obstacle and self._is_fatal(found):
            self.engine.passages.append(Passage(found.t, self._names(found), np.nan, obstacle))
            return DEPENDENT
        if not obstacle:
            arc, error = self._attempt(found)
            if arc is not None:
                self.engine.passages.append(Passage(found.t, self._names(found), error, ""))
                self.tries, self.first = 0, np.inf
                return self._move_along(arc)
            self.tries += 1
            if clock.adaptive and self.tries < TRIES:
                clock.h = 0.5 * (found.t - t)
                return MORE
            obstacle = f"no step over it could be made accurate (error {error:.1e})"
        self.engine.passages.append(Passage(found.t, self._names(found), np.nan, obstacle))
        self.tries, self.done = 0, found.t
        return self._go_on()

    def _names(self, found: Dependence) -> tuple[str, ...]:
        return found.names(self.engine.system.constraint_names)

    def _go_on(self) -> int:
        """Let the step at hand be concluded as it is."""
        followed = self.run.conditioning
        followed.judged = 1
        quality = float(self.engine.mem[self.engine.plan.quality])
        if not quality > followed.floor:
            followed.floor = 0.01 * quality if quality > 0.0 else 0.0
        self.engine.plan.nfev -= 1  # the rates at its end are evaluated again
        return MORE

    def _has_motion(self, t: float) -> bool:
        """Whether rows of velocities or accelerations are independent at the end of the step at hand."""
        system, z = self.engine.system, self.run.znew
        values = singular_values(self.engine, t, z)
        before = singular_values(self.engine, t, self.run.first)
        rank = int((before > 1e-6).sum())
        if not rank or values[rank - 1] > LOST * before[rank - 1]:
            return True
        rows = dependent_rows(self.engine, t, z, rank)
        if max(rows) < system.count("position"):
            return True
        found = Dependence(t, rows)
        self.engine.passages.append(Passage(t, self._names(found), np.nan, NO_MOTION))
        return False

    def _is_fatal(self, found: Dependence) -> bool:
        return max(found.rows) >= self.engine.system.count("position")

    def _obstacle(self, found: Dependence) -> str:
        """Why a position cannot be passed; empty if it can."""
        engine, run = self.engine, self.run
        if self._is_fatal(found):
            return NO_MOTION
        if not engine.system.ideal:
            return "reactions are not ideal, and grow without bound there"
        if not run.method.restarts:
            return f"{run.method.name} cannot pass it by a step of another method"
        off = engine.violation(run.t, run.z[: engine.size])
        if off > ON:
            return f"the state is off the constraints by {off:.1e}; use Projection() to pass it"
        return ""

    @property
    def still(self) -> Engine:
        """The engine that evaluates stages, whatever formulation and drift control the run has."""
        if self._still is None:
            self._still = Engine(self.engine.system, self.engine.parameters, LagrangeMultipliers(), Projection(1e-14))
        return self._still

    def _moved(self, t: float, z: np.ndarray) -> np.ndarray:
        return self.still.corrected(t, z)[0]

    def _attempt(self, found: Dependence) -> tuple[Arc | None, float]:
        """The arc over a singular position with its relative error; None if that is too large."""
        run, t, z = self.run, self.run.t, self._moved(self.run.t, self.run.z)
        half = found.t - t
        guess = self._taylor(t, z, half)
        arc = collocate(self.still.rates, self._moved, guess, t, z, 2.0 * half, STAGES)
        if arc is None:
            return None, np.inf
        again = find_dependence(self.engine, arc.at, t, t + 2.0 * half)
        if again is not None and abs(again.t - found.t) > CENTRED * half:
            half, guess = again.t - t, arc.at
            arc = collocate(self.still.rates, self._moved, guess, t, z, 2.0 * half, STAGES)
        fewer = collocate(self.still.rates, self._moved, arc.at if arc else guess, t, z, 2.0 * half, FEWER)
        if arc is None or fewer is None:
            return None, np.inf
        end = t + 2.0 * half
        gap = np.abs(self._moved(end, arc.at(end)) - self._moved(end, fewer.at(end)))
        error = float(np.max(gap / (0.01 + np.abs(z))))
        tolerance = max(run.method.rtol or 0.0, FINEST) if run.clock.adaptive else 1e-9
        allowed = min(STRICT**(1 + self.tries) * tolerance, max(LOOSE, tolerance))
        return (arc if error <= allowed else None), error

    def _taylor(self, t: float, z: np.ndarray, half: float) -> Path:
        """States ahead by the rates at z and their change behind it."""
        zdot, back = self.still.rates(t, z), 0.1 * half
        bend = (zdot - self.still.rates(t - back, self._moved(t - back, z - back * zdot))) / back
        return lambda at: z + (at - t) * zdot + 0.5 * (at - t) ** 2 * bend

    def _move_along(self, arc: Arc) -> int:
        """Let the arc be the step at hand: look for events in it, store samples, and be at its end."""
        run, engine, clock = self.run, self.engine, self.run.clock
        plan, end = engine.plan, arc.t + arc.length
        if end > run.t_end:
            end, arc = run.t_end, arc.until(run.t_end)
        run.z[:] = arc.z
        run.znew[:], _ = engine.corrected(end, arc.at(end))
        run.zdot[:] = engine.rates(end, run.znew)
        kept = plan.prepare, plan.interpolate
        plan.prepare, plan.interpolate = nothing_to_prepare.address, interpolate_arc.address
        status = conclude(
            plan, engine.mem, clock, arc.length, end, run.z, run.znew, run.zdot, arc.columns, run.t_eval, run.ts, run.zs
        )
        plan.prepare, plan.interpolate = kept
        run.collect()
        if status != OK:
            return status
        run.stages[: engine.nz] = run.zdot
        if not clock.adaptive:
            clock.t_start = clock.t - clock.accepted * clock.h
        run.regauge()
        return MORE


NO_MOTION = (
    "velocity or acceleration constraints are among them, and the accelerations they ask for grow without bound: no "
    "motion goes on from there"
)


def cubic(t: float, h: float, z: np.ndarray, zdot: np.ndarray, znew: np.ndarray, zdotnew: np.ndarray) -> Path:
    """The cubic through both ends of a step and their rates."""
    rise = znew - z

    def at(time: float) -> np.ndarray:
        s = (time - t) / h
        bent = (1.0 - s) * (h * zdot - rise) - s * (h * zdotnew - rise)
        return z + s * (rise + (1.0 - s) * bent)

    return at

"""Through positions where constraints become dependent: one collocation step with the singular time in its middle.

Through an isolated singular position of position constraints the motion is analytic, and where another branch starts
the motion stays on its own. Evaluations close to the position are worthless: round-off is amplified by the inverse of
the distance. A step of Gauss collocation has no stage close to its middle. Two numbers of stages give its error. Where
they differ, the run comes closer by a regular step and tries again.

Rows of velocities and accelerations, reactions that are not ideal, and states off the constraints cannot be passed: the
run ends there, or goes on and the certificate says that it left the ground it can judge.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from dalembert.native.jit import address_of
from dalembert.native.precision import EPSILON
from dalembert.run.drift.projection import Projection
from dalembert.run.engine import Engine
from dalembert.run.evaluate import OFF_CONSTRAINTS
from dalembert.run.formulations.lagrange_multipliers import LagrangeMultipliers
from dalembert.run.run_facts import APPROACHED, AVOIDED, MISSED, NO_MOTION, STARTED, Passage
from dalembert.run.status import DEPENDENT, MORE, OK
from dalembert.run.time_loop.advance import conclude, proceed
from dalembert.run.time_loop.argument_maps import sees
from dalembert.run.time_loop.collocation import MIDDLE_GAP, Arc, collocate, interpolate_arc, nothing_to_prepare
from dalembert.run.time_loop.dependence import (
    INDEPENDENT,
    PATH_SAMPLES,
    Dependence,
    Path,
    are_apart,
    cubic,
    dependent_rows,
    dips,
    find_dependences,
    rank_of,
    rows_of,
)
from dalembert.run.time_loop.singular import REMEMBERED, judge_state
from dalembert.run.time_loop.singular_start import (
    ACCEPTED_ERROR,
    find_singular_start,
    leaving_arc,
    time_of_motion,
)
from dalembert.run.time_loop.underway import Underway
from dalembert.solve.dense import PROXIMAL

LOOK_AHEAD = 1.15  # of the reach: how far to look for a singular position
TRIES_PER_PASSAGE = 6
STEPS_BESIDE = 500  # steps next to a position that was not passed, after which the run ends
SOUGHT = 3.0  # error sought, in tolerances
STRICT = 10.0  # error allowed at first, in tolerances
FIXED_STEP_TOLERANCE = 1e-9  # tolerance where steps are fixed
FINEST = 1e-12  # tolerance below which round-off decides
DEEPER = 0.5  # of the worst quality met: where to look again; between looks further apart a motion may turn away
# Of the smallest singular value at the start: velocity or acceleration rows that come to a zero ahead.
NEARLY_DEPENDENT = 0.05
MOTIONLESS = 1e-3  # a smallest singular value that low, with velocity or acceleration rows: there is no motion
BACKWARDS = 1e-2  # of a step: a position nearer than this to its start is no longer ahead
# The shorter an arc, the fewer sweeps it takes and the more round-off it amplifies. With the tolerance
# APPROACH_TOLERANCE, a position further off than APPROACH_STEPS steps is approached first, by the step at hand; with
# smaller ones it may be as far off in time.
APPROACH_STEPS, APPROACH_TOLERANCE = 1.3, 1e-7
SAME_POSITION = 0.3  # of the reach: positions nearer than this to each other are one
# How far constraints may be from a position where they are dependent, relative to the way past it: for a state on the
# cubic, which is not accurate, and for one on the arc. Further off the motion turns.
ROUGHLY, EXACTLY = 1e-5, 1e-12
ZERO_SIZE = 0.01  # of the size of a variable: the value to use where the variable is zero
STAGE_ROUND_OFF = 1e-14  # largest constraint error of stages, relative to their size
CENTRED = 0.06  # of the half-width: how well the singular time must be known


class Refused(NamedTuple):
    """A position that was not passed: its time, the distance within which positions are the same, and the reason."""

    t: float
    reach: float
    obstacle: str
    found: Dependence


class Passages:
    """Treatment of singular positions in one march."""

    def __init__(self, run: Underway) -> None:
        self.run, self.engine = run, run.engine
        self.tries, self.looks = 0, 0  # attempts to pass the next position, steps looked at next to the one refused
        self.heading = -np.inf  # up to where a step is made to come closer to a position
        self.rank, self.most = 0, 1  # of the constraints, at states on them, and its largest possible value
        self.refused = Refused(-np.inf, 0.0, "", Dependence(-np.inf))
        self.unpassed: list[Refused] = []  # that are there: on an arc that is not accurate, or by a lost solve
        self.rows = rows_of(run.engine, self.still if run.engine.is_sparse else None)
        self._floor = run.conditioning.floor  # of the conditioning, below which steps are suspect

    def treat(self) -> int:
        """Pass, approach or judge the suspect step at hand; returns a status, MORE to go on."""
        run, followed = self.run, self.run.conditioning
        followed.floor = min(followed.floor, self._floor)
        t, h = float(run.clock.t), float(run.clock.taken)
        if t == run.begin and (start := find_singular_start(self)) is not None:
            return self._leave(start)
        path = cubic(t, h, run.z.copy(), run.stages[: run.engine.nz].copy(), run.znew.copy(), run.zdot.copy())
        reach = followed.reach * max(h, REMEMBERED * followed.longest)
        begin, end = t - followed.length if followed.length > BACKWARDS * h else t, t + LOOK_AHEAD * reach
        if self.rank < self.most:  # constraints were independent nowhere so far
            on = (t, run.z) if t > run.begin else (end, self.still.corrected(end, path(np.array([end]))[0])[0])
            values = self.values((run.begin, run.first), on)
            self.rank, self.most = max(self.rank, rank_of(values)), values.shape[1]
        if abs(self.refused.t - t) < 3.0 * self.refused.reach:
            self.looks += 1
            lost = min(followed.now, float(run.engine.mem[run.engine.plan.quality])) < self._floor
            if lost and self.refused.obstacle != AVOIDED and self.refused not in self.unpassed:
                self.unpassed.append(self.refused)  # short steps may go over it, by round-off
            if self.looks > STEPS_BESIDE:
                if not self._knows(self.refused.found, reach):
                    self._note(self.refused.found, self.refused.obstacle)
                return DEPENDENT
            if not dips(self.rows, path, begin, t + h, self.rank):
                return self._go_on()
        found = find_dependences(self.rows, path, begin, end, self.rank)
        fresh = [d for d in found if not self._knows(d, reach)]
        if any(d.t <= t for d in fresh):
            for missed in find_dependences(self.rows, path, begin, t, self.rank):
                if not self._knows(missed, reach):
                    self._note(missed, self.refused.obstacle or MISSED)
        ahead = next((d for d in fresh if d.t > t + BACKWARDS * h), None)
        if ahead is not None and ahead.t <= t + reach:
            return self._meet(ahead, path, reach)
        return self._go_on() if ahead or self._has_motion(t + h) else DEPENDENT

    def _meet(self, ahead: Dependence, path: Path, reach: float) -> int:
        """Pass or approach a position ahead; where neither can be, end the run or let it go on as it is."""
        obstacle, run = self._obstacle(ahead), self.run
        if self._is_fatal(ahead):
            if ahead.t > run.t + run.clock.taken and not self._is_close():  # it may not come to that
                return self._go_on()
            self._note(ahead, obstacle)
            return DEPENDENT
        if not obstacle and abs(self.refused.t - ahead.t) < self.refused.reach:
            obstacle = self.refused.obstacle
        if not obstacle and (ahead.t > run.t + self._short * run.clock.taken or self._is_heading):
            return self._approach(ahead, reach)
        if not obstacle and are_apart(self.rows, ahead.t, path, reach, ROUGHLY):
            obstacle = AVOIDED
        if not obstacle:
            arc, error, crossed, room = self._attempt(ahead, reach)
            if arc is not None:
                return self._pass(arc, error, crossed)
            obstacle = AVOIDED if np.isnan(error) else f"no step over it could be made accurate (error {error:.1e})"
            self.tries += 1
            if np.isfinite(error):
                self.unpassed.append(Refused(ahead.t, SAME_POSITION * reach, obstacle, ahead))
            # An arc that is lost or does not see a function may be much too long; round-off limits how short it can be.
            lost = np.isinf(error) and (ahead.t - run.t) * self.tolerance > EPSILON * time_of_motion(self)
            if run.clock.adaptive and (self.tries < TRIES_PER_PASSAGE or lost) and not np.isnan(error):
                if lost and run.clock.taken <= (0.5 + BACKWARDS) * (ahead.t - run.t):
                    return self._approach(ahead, reach)
                return self._come_closer(ahead, room)
        if not abs(self.refused.t - ahead.t) < self.refused.reach:
            self.looks = 0
        self.tries, self.refused = 0, Refused(ahead.t, SAME_POSITION * reach, obstacle, ahead)
        for sharp in find_dependences(self.rows, path, run.t, run.t + run.clock.taken, self.rank):
            self._note(sharp, obstacle)
        return self._go_on()

    def _leave(self, here: Dependence) -> int:
        """Start from a singular position by an arc."""
        obstacle = self._obstacle(here)
        arc, error = (None, np.nan) if obstacle else leaving_arc(self, TRIES_PER_PASSAGE)
        if arc is not None:
            return self._pass(arc, error, [here])
        self._note(here, obstacle or STARTED)
        return self._go_on()

    def settle(self) -> None:
        """Note the positions that the run has crossed without an arc and that are not noted yet."""
        for t, reach, obstacle, found in self.unpassed:
            if t <= self.run.t and not any(abs(passage.t - t) < reach for passage in self.engine.passages):
                self._note(found, obstacle)
        self.engine.passages.sort(key=lambda passage: passage.t)

    def _knows(self, found: Dependence, reach: float) -> bool:
        """Whether a position was dealt with before."""
        return any(abs(passage.t - found.t) < SAME_POSITION * reach for passage in self.engine.passages[-PATH_SAMPLES:])

    def _note(self, found: Dependence, obstacle: str, error: float = np.nan) -> None:
        if found.t <= self.run.t_end:
            names = found.names(self.engine.system.constraint_names)
            self.engine.passages.append(Passage(found.t, names, error, obstacle))

    def _go_on(self) -> int:
        """Conclude the step at hand as it is."""
        followed = self.run.conditioning
        followed.judged = 1
        quality = min(float(self.engine.mem[self.engine.plan.quality]), followed.now)
        if not quality > followed.floor:
            followed.floor = DEEPER * quality if quality > 0.0 else 0.0
            weak = quality < PROXIMAL and not self.engine.is_sparse
            if weak and all(passage.passed for passage in self.engine.passages):
                self._note_loss()
        self.engine.plan.nfev -= 1  # the rates at its end are evaluated again
        return MORE

    def _note_loss(self) -> None:
        """Note a position so near that its rows are negligible beside the shift of the solve."""
        run = self.run
        before, now = self.values((run.begin, run.first), (run.t, run.z))
        if (before > INDEPENDENT).all() and now[-1] ** 2 < PROXIMAL:
            known = abs(self.refused.t - run.t) < 3.0 * self.refused.reach
            self._note(self.dependence(run.t, run.z, len(before)), self.refused.obstacle if known else APPROACHED)

    def _come_closer(self, ahead: Dependence, room: float) -> int:
        """Repeat the step at hand, up to half the distance. If another position is in `room`, the arc ends halfway."""
        run, near = self.run, 0.5 * min(ahead.t - self.run.t, room)
        self.heading = -np.inf if room == np.inf else ahead.t - near
        run.clock.h = ahead.t - near - run.t
        return MORE

    def _approach(self, ahead: Dependence, reach: float) -> int:
        """Conclude the step at hand, and pass the position from its end.

        If that does not succeed, the next step is examined whatever its conditioning.
        """
        run, clock, accepted = self.run, self.run.clock, self.run.clock.accepted
        self._go_on()
        status = self._conclude(lambda: proceed(self.engine.plan, self.engine.mem, clock, 1))
        if status != MORE:
            return status
        near = run.t < ahead.t < min(run.limit, run.t + self._short * clock.taken)
        if near and clock.accepted > accepted and not self._obstacle(ahead):
            arc, error, crossed, _ = self._attempt(ahead, reach)
            if arc is not None:
                clock.h = min(clock.h, 0.5 * arc.length)  # the planned step would have crossed the position
                return self._pass(arc, error, crossed)
        self._floor, run.conditioning.floor = run.conditioning.floor, np.inf
        return status

    def _conclude(self, step: Callable[[], int]) -> int:
        """Conclude a step and collect its samples, which may take several buffers; returns a status."""
        status = step()
        self.run.collect()
        while self.run.clock.filling:
            status = step()
            self.run.collect()
        return int(status)

    def _pass(self, arc: Arc, error: float, crossed: list[Dependence]) -> int:
        """Go over positions by an arc."""
        self.tries = 0
        for found in crossed:
            self._note(found, "", error)
        return self._move_along(arc)

    def _has_motion(self, t: float) -> bool:
        """Whether rows of velocities or accelerations are independent at the end of the step at hand."""
        z = self.run.znew
        values, before = self.values((t, z), (self.run.begin, self.run.first))
        rank = rank_of(before[None])
        if not rank or values[rank - 1] > MOTIONLESS * max(before[rank - 1], 1.0):
            return True
        found = self.dependence(t, z, rank)
        # Drift control keeps rows of velocities, unlike those of accelerations.
        kept = self.engine.system.count("position") + self.engine.system.count("velocity")
        if not self._is_fatal(found) or (max(found.rows) < kept and values[rank - 1] > MOTIONLESS * before[rank - 1]):
            return True
        self._note(found, NO_MOTION)
        return False

    def dependence(self, t: float, z: np.ndarray, rank: int) -> Dependence:
        """Dependence of the rows at one state. `rank` is the number of independent rows elsewhere."""
        state = z[None, :].copy()
        return Dependence(t, partial(dependent_rows, self.rows, t, lambda _: state, rank))

    def _is_close(self) -> bool:
        """True if the constraints are far less independent than at the start."""
        now, first = self.values((self.run.t, self.run.z), (self.run.begin, self.run.first))
        rank = rank_of(np.maximum(now, first)[None])
        return bool(now[rank - 1] < NEARLY_DEPENDENT * first[rank - 1])

    def values(self, *places: tuple[float, np.ndarray]) -> np.ndarray:
        """The smallest singular values at some times and states, a row each."""
        times, states = zip(*((t, z[: self.engine.size]) for t, z in places), strict=True)
        return self.rows.values(np.array(times), np.array(states))

    def _is_fatal(self, found: Dependence) -> bool:
        system = self.engine.system
        return system.nc > system.count("position") and max(found.rows) >= system.count("position")

    def _obstacle(self, found: Dependence) -> str:
        """Why a position cannot be passed; empty if it can."""
        if self.engine.columns:
            return "derivatives are not carried through singular positions"
        engine, run = self.engine, self.run
        if self._is_fatal(found):
            return NO_MOTION
        if not engine.system.ideal:
            return "reactions are not ideal, and grow without bound there"
        if not run.method.restarts:
            return f"{run.method.name} cannot pass it by a step of another method"
        off = engine.violation(run.t, run.z[: engine.size])
        if off > OFF_CONSTRAINTS:
            remedy = "" if isinstance(engine.drift, Projection) else "; use Projection() to pass it"
            return f"the state is off the constraints by {off:.1e}{remedy}"
        return ""

    @cached_property
    def still(self) -> Engine:
        """Engine that evaluates stages, independent of the formulation and drift control of the run."""
        sizes, first = self._least_sizes(self.engine.size), self.run.first[: self.engine.size]
        reached = max(STAGE_ROUND_OFF, 4.0 * np.finfo(float).eps * float((np.abs(first) / sizes).max()))
        reached = 2.0 ** math.ceil(math.log2(reached))  # engines are told apart by it
        still = Engine(self.engine.system, self.engine.parameters, LagrangeMultipliers(), Projection(reached))
        still.take_scales(self.engine.scales)
        return still

    @property
    def _is_heading(self) -> bool:
        """True if the step at hand was shortened to come closer to a position."""
        t, taken = self.run.t, self.run.clock.taken
        return bool(t < self.heading and t + taken <= self.heading + BACKWARDS * taken)

    def _attempt(self, found: Dependence, reach: float) -> tuple[Arc | None, float, list[Dependence], float]:
        """Arc over a singular position (None if its error is too large), relative error, positions crossed, distance.

        The distance is that of the next position from the first, infinite if there is none in the arc.

        Another position in the arc spoils it if a stage comes close to that position. The error then shows it.
        """
        t, z = self.run.t, self.still.corrected(self.run.t, self.run.z)[0]
        arc, error = self.arc(t, z, 2.0 * (found.t - t))
        if error == np.inf:
            return None, error, [], np.inf
        again = find_dependences(self.rows, arc.at, t, t + arc.length, self.rank)
        room = again[1].t - again[0].t if len(again) > 1 else np.inf
        if not again or (len(again) > 1 and error > STRICT * self.tolerance):  # or the arc went another way
            return None, np.inf, [], room
        if len(again) == 1 and abs(again[0].t - found.t) > CENTRED * (found.t - t):
            arc, error = self.arc(t, z, 2.0 * (again[0].t - t))
        if any(are_apart(self.rows, one.t, arc.at, reach, EXACTLY) for one in again):
            return None, np.nan, [], np.inf
        return (arc if error <= self.allowed else None), error, again, room

    @property
    def allowed(self) -> float:
        """The error that is allowed in the try at hand."""
        return min(STRICT ** (1 + self.tries) * self.tolerance, max(ACCEPTED_ERROR, STRICT * self.tolerance))

    @property
    def tolerance(self) -> float:
        """The relative error of a step."""
        return max(self.run.method.rtol or 0.0, FINEST) if self.run.clock.adaptive else FIXED_STEP_TOLERANCE

    @property
    def _short(self) -> float:
        """Largest distance, in steps, of a position from the arc over it."""
        order = self.run.method.order if self.run.clock.adaptive and self.run.method.stride is None else 0
        return (
            float(APPROACH_STEPS * max(1.0, (APPROACH_TOLERANCE / self.tolerance) ** (1.0 / order)))
            if order
            else np.inf
        )

    def arc(self, t: float, z: np.ndarray, length: float) -> tuple[Arc, float]:
        """The arc from a state over a time, and its error; infinite if functions may hide features from it."""
        still, maps = self.still, self.engine.maps
        guess = Arc(t, length, z, still.rates(t, z)[None, :])
        # Where a singular position is in the middle, the quality falls like the square of the distance to it.
        still.mem[still.plan.quality] = MIDDLE_GAP**2 * judge_state(still.plan, still.mem)
        arc, error = collocate(still, guess, self.sizes(z), SOUGHT * self.tolerance)
        hidden = maps is not None and math.isfinite(error) and not sees(arc, maps, self.run.limit, self.run.clock.h_min)
        return arc, np.inf if hidden else error

    def sizes(self, z: np.ndarray) -> np.ndarray:
        """Size of each variable in a state, (nz,): its absolute value, at least a part of its size in the run."""
        return ZERO_SIZE * self._least_sizes(len(z)) + np.abs(z)

    def _least_sizes(self, count: int) -> np.ndarray:
        """Sizes of the first variables in the run."""
        scales = self.engine.scales
        return np.ones(count) if scales is None else scales.values[:count]

    def _move_along(self, arc: Arc) -> int:
        """Take the arc as the step at hand: locate events in it, store samples, and move to its end."""
        run, engine, clock = self.run, self.engine, self.run.clock
        plan, end = engine.plan, arc.t + arc.length
        if end > run.limit:
            end, arc = run.limit, arc.until(run.limit)
        run.z[:] = arc.z
        run.znew[:], _ = engine.corrected(end, arc.at(np.array(end)))
        run.zdot[:] = engine.rates(end, run.znew)
        columns = arc.columns  # native code reads them where they are
        kept = plan.prepare, plan.interpolate, clock.stages, clock.n_stages
        plan.prepare, plan.interpolate = nothing_to_prepare.address, interpolate_arc.address
        clock.stages, clock.n_stages = address_of(columns), columns.size
        status = self._conclude(lambda: conclude(plan, engine.mem, clock, arc.length, end))
        plan.prepare, plan.interpolate, clock.stages, clock.n_stages = kept
        if engine.maps is not None:
            engine.maps.start(engine.maps.record.reach)
        if status != OK:
            return status
        run.stages[: engine.nz] = run.zdot
        if not clock.adaptive:
            clock.t_start = clock.t - clock.accepted * clock.h
        run.regauge()
        return MORE

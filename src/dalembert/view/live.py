"""Live pages: one HTML file that computes the motion itself, while its sliders move.

The kernels of the system are emitted as JavaScript, the same tapes that become machine code: the right-hand side with
its unrolled solve, the least moves onto the constraints, residuals, energies and the drawing. `pages/solver.js` adds
DOP853 with its tableau, the projection after each step, and consistent initial states; `pages/laws.js` Newton's method
for reactions that are not ideal; `pages/runs.js` events, clocks and instants of tables. Samples of the native engine
are embedded; the page compares its first run with them and says how far they agree.
"""

from __future__ import annotations

import html
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.equations.instants import instants, moving_parameters
from dalembert.equations.quantities import STATED
from dalembert.equations.system import System
from dalembert.errors import DalembertError, OptionError, PairingError
from dalembert.file_writing import write_file
from dalembert.motion.motion import Motion
from dalembert.motion.sequence import MotionSequence
from dalembert.motion.state import State
from dalembert.native.javascript import emit_javascript, emit_tables
from dalembert.native.program import UnsupportedOperationError, read_program
from dalembert.run.drift.projection import Projection, onto_positions, onto_velocities
from dalembert.run.engine import Engine
from dalembert.run.event_checks import check_events
from dalembert.run.events import Event
from dalembert.run.every import Every
from dalembert.run.formulations.lagrange_multipliers import LagrangeMultipliers
from dalembert.run.formulations.law_graphs import with_multipliers
from dalembert.run.integrators.dop853 import DOP853, TABLEAU
from dalembert.run.right_hand_side import motion_function
from dalembert.run.simulate import simulate
from dalembert.view.live_events import Course
from dalembert.view.live_features import short_cells, unseen_features
from dalembert.view.page import embedded_json, fill_page
from dalembert.view.run_points import read_runs, with_varied
from dalembert.view.sliders import Slider, held_values, read_sliders

if TYPE_CHECKING:
    import xarray as xr

FRAMES_PER_SECOND, LIVE_FRAMES = 30, 900  # the page's steps are not longer than a frame
# Native states that are embedded, between the steps of the page; each tenth with its picture.
REFERENCE_STATES, STATES_PER_PICTURE = 61, 10
LARGEST_TABLE = 5_000  # pieces of a table in a page
UNROLLED_IN_PAGE = 12_000  # instructions of an unrolled solve in a page; beyond, the page solves with loops
FINE = DOP853(rtol=1e-12, atol=1e-13)  # of the samples to compare with; the page integrates as finely


def write_live(
    system: System,
    path: str | Path,
    state: State,
    *,
    sliders: Iterable[Any] = (),
    t_end: float = 10.0,
    events: Iterable[Event | Every] = (),
    runs: xr.Dataset | None = None,
) -> Path:
    """The path of the HTML file written: the motion from `state` to `t_end`, computed again while sliders move.

    `sliders` names parameters, coordinates and speeds; a mapping gives ranges as well, `{"m": (0.1, 5.0)}`. Values that
    were given to `System.initial` stay, as far as the constraints allow it; the rest of the start follows from them.
    `events` and clocks change the motion in the page too; their `then` must be a mapping or a System. `runs` are those
    of a sweep from `state` or the values given for it: the page shows them as points, and computes one that is clicked.
    """
    points = None if runs is None else read_runs(system, runs)
    if runs is not None and points is not None:
        sliders, t_end = with_varied(state, sliders, points), float(runs.attrs["t_end"])
    _check(system, state, t_end)
    chosen = read_sliders(system, state, sliders)
    listed = check_events(state, events)
    course = Course.of(system, listed)
    modes = [_functions(mode, state, course) for mode in course.modes]
    kernels = emit_kernels(system, modes)
    motion, frame = _reference(system, state, t_end, listed), float(np.diff(_frames(state, t_end)[:2])[0])
    moving = [_moving(mode, state, chosen, course) for mode in course.modes]
    unseen = [unseen_features(mode, motion, frame, ranges) for mode, ranges in zip(course.modes, moving, strict=True)]
    facts = _facts(system, state, chosen, t_end, sorted({*itertools.chain(*unseen)})) | course.facts() | {
        "modes": [
            _mode(mode, functions, course) | _starts(mode, state, t_end, frame, ranges, course)
            for mode, functions, ranges in zip(course.modes, modes, moving, strict=True)
        ],
        "traces": _traces(system, chosen, course),
        "native": _samples(system, motion, _compared_times(state, t_end)),
        "runs": points,
    }  # fmt: skip
    texts = {"TITLE": html.escape(system.name), "FACTS": embedded_json(facts), "KERNELS": kernels}
    return write_file(path, fill_page("live.html", texts))


def _check(system: System, state: State, t_end: float) -> None:
    if not isinstance(state, State) or state.system is not system:
        raise PairingError(f"live needs a State of `{system.name}`; call system.initial(...) for one")
    if not (math.isfinite(t_end) and t_end > state.t):
        raise OptionError(f"t_end = {t_end:g} is not after t0 = {state.t:g}; motions run forward in time")


def _functions(system: System, state: State, course: Course) -> dict[str, ca.Function]:
    """Functions of a system that the page computes, by name. Those of `Course.functions` read w, the others x."""
    names = ["dynamics", "residual", "assembly", "speeds", "displacement", "energy"]
    names += ["invariant"] if system.invariants else []
    names += ["kinks"] if system.kinks else []
    names += ["followers"] if system.followers else []
    if system is course.modes[0]:
        names += ["drawing", *([STATED] if system.outputs else [])]
    unrolled = {"onto_positions": onto_positions(system), "onto_velocities": onto_velocities(system)}
    if system.ideal:
        engine = Engine(system, state.parameters, LagrangeMultipliers(), Projection())
        engine.choose(state.t, state.z)
        unrolled["motion"] = motion_function(system, LagrangeMultipliers().unroll, engine.choice, None)
    short = {name: f for name, f in unrolled.items() if f is not None and f.n_instructions() <= UNROLLED_IN_PAGE}
    laws = {} if system.ideal else {"iteration": with_multipliers(system.mechanics).function()}
    return {name: system.functions[name] for name in names} | short | laws | course.functions(system)[0]


def emit_kernels(system: System, modes: Sequence[dict[str, ca.Function]]) -> str:
    """JavaScript that defines the list `kernels`, an object of functions for each mode.

    Raises `DalembertError` if something in them cannot be written.
    """
    try:
        programs = {(k, name): read_program(f) for k, functions in enumerate(modes) for name, f in functions.items()}
        texts = [emit_javascript(program, f"kernel_{k}_{name}") for (k, name), program in programs.items()]
    except UnsupportedOperationError as error:
        raise DalembertError(f"`{system.name}` cannot be computed in a page: {error}") from error
    largest = max((len(table.rows) for program in programs.values() for table in program.tables), default=0)
    if largest > LARGEST_TABLE:
        raise DalembertError(
            f"`{system.name}` cannot be computed in a page: a table of {largest:,} points is too long for it (at most "
            f"{LARGEST_TABLE:,}); thin the table out"
        )
    objects = (",".join(f"{name}:kernel_{k}_{name}" for name in functions) for k, functions in enumerate(modes))
    return emit_tables(programs.values()) + "".join(texts) + f"const kernels=[{','.join(f'{{{o}}}' for o in objects)}];"


def _frames(state: State, t_end: float) -> np.ndarray:
    """Times of the pictures."""
    count = int(np.clip((t_end - state.t) * FRAMES_PER_SECOND, 150, LIVE_FRAMES)) + 1
    return np.linspace(state.t, t_end, count)


def _compared_times(state: State, t_end: float) -> np.ndarray:
    return state.t + (t_end - state.t) * (np.arange(REFERENCE_STATES) + 0.5) / REFERENCE_STATES


def _reference(system: System, state: State, t_end: float, events: Sequence[Event | Every]) -> Motion | MotionSequence:
    """The motion that the native engine finds, at the times at which the page is compared with it."""
    times = _compared_times(state, t_end)
    motion = simulate(system, state, (state.t, t_end), t_eval=times, integrator=FINE, events=events)
    if not motion.success:
        raise DalembertError(
            f"`{system.name}` does not run to t = {t_end:g} ({motion.message}); choose an earlier t_end for its page"
        )
    passed = [passage for part in motion.segments for passage in part.passages]
    if passed:
        names = ", ".join(f"`{name}`" for name in passed[0].rows)
        raise DalembertError(
            f"`{system.name}` comes to a singular position at t = {passed[0].t:.4g}, where {names} become dependent; "
            "a page cannot go on there: choose an earlier t_end, or use motion.animate or motion.report"
        )
    return motion


def _samples(system: System, motion: Motion | MotionSequence, times: np.ndarray) -> dict[str, Any]:
    """Times, the states that the native engine finds then, those before a change, and the picture at every tenth."""
    t, places = np.unique(motion.t, return_index=True)
    rows = np.hstack([motion.q, motion.u])[places[np.isin(t, times)]].tolist()
    seen = np.concatenate([system.evaluate("drawing", m.t, m.q, m.u, m.parameters) for m in motion.segments])
    pictures = seen[places[np.isin(t, times)]].tolist()[::STATES_PER_PICTURE]
    return {"t": times[: len(rows)].tolist(), "rows": rows, "pictures": pictures, "every": STATES_PER_PICTURE}


def _facts(system: System, state: State, sliders: list[Slider], t_end: float, unseen: Sequence[str]) -> dict[str, Any]:
    """Numbers and names of a page; `unseen` are functions with features that its steps are not kept to."""
    d, told = system.drawing, ", ".join(unseen)
    weights = TABLEAU.error.rows.tolist() if TABLEAU.error else []
    return {
        "title": system.name,
        "caption": f"computed in this page, t = {state.t:g} .. {t_end:g} s"
        + (f"; steps may go over short features of {told}" if unseen else ""),
        "tableau": {"A": TABLEAU.A.tolist(), "b": TABLEAU.b.tolist(), "c": TABLEAU.c.tolist(), "error": weights},
        "t0": state.t, "t_end": float(t_end), "frames": len(_frames(state, t_end)),
        "z": state.z.tolist(), "p": state.parameters.tolist(),
        "held": held_values(system, state, sliders), "sliders": [asdict(slider) for slider in sliders],
        "drawing": {"points": d.points, "bodies": d.bodies, "lines": d.lines, "planar": d.planar},
    }  # fmt: skip


def _mode(system: System, functions: dict[str, ca.Function], course: Course) -> dict[str, Any]:
    """Sizes and kinds of one of the systems that a motion passes through."""
    return {
        "nq": system.nq, "nu": system.nu, "np": system.count("position"), "nv": system.count("velocity"),
        "nc": system.nc, "ni": len(system.invariants), "parameters": len(system.parameters),
        "ideal": system.ideal, "singular": system.singular_mass, "constraints": list(system.constraint_names),
        "sizes": {name: f.size1_out(0) for name, f in functions.items()},
        "followers": system.followers,
        "kinks": [{"knots": kink.knots.tolist(), "period": kink.period} for kink in system.kinks],
        "watched": course.watched(system), "reads": course.functions(system)[1],
    }  # fmt: skip


def _moving(system: System, state: State, sliders: list[Slider], course: Course) -> dict[str, tuple[float, float]]:
    """Ranges of the parameters that sliders or events change, and of those that follow them."""
    ranges = {s.name: (s.low, s.high) for s in sliders if s.kind == "parameter"}
    ranges |= dict.fromkeys(course.changed_parameters(), (-math.inf, math.inf))
    columns = [system.parameters.index(name) for name in ranges]
    for k in np.flatnonzero(system.parameter_directions(state.parameters, columns).any(axis=1)).tolist():
        ranges.setdefault(system.parameters[k], (-math.inf, math.inf))
    return ranges


def _starts(
    system: System, state: State, t_end: float, frame: float, ranges: dict[str, tuple[float, float]], course: Course
) -> dict[str, Any]:
    """Facts that the page cannot compute itself: zero tolerances of events, and instants at which its steps end.

    An event whose function is within its tolerance at the start counts as zero. The instants are those of crossings,
    and edges of cells of functions of time. Raises `PairingError` if a crossing may move with parameters in `ranges`.
    """
    span = (state.t, float(t_end))
    for k, crossing in enumerate(system.crossings):
        moved = moving_parameters(system, k, state.parameters, span, ranges)
        if moved:
            raise PairingError(
                f"`{system.name}` bends or jumps where `{crossing.argument}` passes a value, at a time that changes "
                f"with `{moved[0]}`; a page cannot find that: leave its slider or event out, or write an argument "
                "that is linear in time"
            )
    found = instants(system, state.parameters, span) if system.crossings else np.zeros(0)
    stops = np.unique(np.concatenate([found, short_cells(system, state, span, frame, ranges)]))
    return {"slacks": course.slacks(system, state, span[1] - span[0]), "instants": stops.tolist()}


def _traces(system: System, sliders: list[Slider], course: Course) -> list[dict[str, Any]]:
    """Plotted quantities: outputs, coordinates (those with sliders, if any), changing parameters, energy, violation."""
    traces = [
        {"name": column, "kind": "output", "index": output.start + k}
        for output in system.outputs
        if not output.reads_rates
        for k, column in enumerate(output.columns)
    ]
    moved = [s.index for s in sliders if s.kind == "coordinate"] or list(range(min(2, system.nq)))
    traces += [{"name": system.coordinates[k], "kind": "state", "index": k} for k in moved]
    set_ = [system.parameters.index(name) for name in course.changed_parameters()]
    traces += [{"name": system.parameters[k], "kind": "parameter", "index": k} for k in set_]
    traces += [{"name": "energy", "kind": "energy", "index": 0}]
    return traces + ([{"name": "violation", "kind": "violation", "index": 0}] if system.nc else [])

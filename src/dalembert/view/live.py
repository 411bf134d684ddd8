"""Live pages: one HTML file that computes the motion itself, while its sliders move.

The kernels of the system are emitted as JavaScript, the same tapes that become machine code: the right-hand side with
its unrolled solve, the least moves onto the constraints, residuals, energies and the drawing. `pages/solver.js` adds
DOP853 with its tableau, the projection after each step, and consistent initial states. Samples of the native engine are
embedded; the page compares its first run with them and says how far they agree.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from dalembert.equations.quantities import STATED
from dalembert.equations.system import System
from dalembert.errors import DalembertError, OptionError, PairingError
from dalembert.motion.state import State
from dalembert.native.javascript import emit_javascript
from dalembert.native.llvm_ir import UnsupportedOperationError, read_program
from dalembert.run.drift.projection import Projection, onto_positions, onto_velocities
from dalembert.run.engine import Engine
from dalembert.run.formulations.lagrange_multipliers import LagrangeMultipliers
from dalembert.run.integrators.dop853 import DOP853, TABLEAU
from dalembert.run.right_hand_side import motion_function
from dalembert.run.simulate import simulate
from dalembert.view.page import embedded_json, fill_page, write_page
from dalembert.view.sliders import Slider, held_values, read_sliders

FRAMES_PER_SECOND, FRAMES = 30, 900
COMPARED = 60  # samples of the native engine that are embedded, about
LONGEST = 12_000  # instructions of an unrolled solve in a page; beyond, the page solves with loops
FINE = DOP853(rtol=1e-12, atol=1e-13)  # of the samples to compare with; the page integrates as finely


def write_live(
    system: System, path: str | Path, state: State, *, sliders: Iterable[Any] = (), t_end: float = 10.0
) -> Path:
    """The path of the HTML file written: the motion from `state` to `t_end`, computed again while sliders move.

    `sliders` names parameters, coordinates and speeds; a mapping gives ranges as well, `{"m": (0.1, 5.0)}`. Values that
    were given to `System.initial` stay, as far as the constraints allow it; the rest of the start follows from them.
    """
    _check(system, state, t_end)
    chosen = read_sliders(system, state, sliders)
    functions = _functions(system, state)
    facts = _facts(system, state, chosen, t_end, functions)
    texts = {
        "TITLE": html.escape(system.name),
        "FACTS": embedded_json(facts),
        "KERNELS": emit_kernels(system, functions),
    }
    return write_page(path, fill_page("live.html", texts))


def _check(system: System, state: State, t_end: float) -> None:
    if not isinstance(state, State) or state.system is not system:
        raise PairingError(f"live needs a State of `{system.name}`; call system.initial(...) for one")
    if not (math.isfinite(t_end) and t_end > state.t):
        raise OptionError(f"t_end = {t_end:g} is not after t0 = {state.t:g}; motions run forward in time")
    if not system.ideal:
        raise PairingError(
            f"`{system.name}` has servo constraints, friction or constraints nonlinear in accelerations; live pages "
            "solve for ideal reactions only. Use motion.animate or motion.report instead"
        )


def _functions(system: System, state: State) -> dict[str, ca.Function]:
    """What the page computes, by name."""
    names = ["dynamics", "residual", "assembly", "speeds", "displacement", "energy", "drawing"]
    names += ["invariant"] if system.invariants else []
    names += [STATED] if system.outputs else []
    engine = Engine(system, state.parameters, LagrangeMultipliers(), Projection())
    engine.choose(state.t, state.z)
    unrolled = {
        "motion": motion_function(system, LagrangeMultipliers().unroll, engine.choice, None),
        "onto_positions": onto_positions(system),
        "onto_velocities": onto_velocities(system),
    }
    short = {name: f for name, f in unrolled.items() if f is not None and f.n_instructions() <= LONGEST}
    return {name: system.functions[name] for name in names} | short


def emit_kernels(system: System, functions: dict[str, ca.Function]) -> str:
    """JavaScript that defines the object `kernels`; raises `DalembertError` if something in them cannot be written."""
    try:
        texts = [emit_javascript(read_program(f), f"kernel_{name}") for name, f in functions.items()]
    except UnsupportedOperationError as error:
        raise DalembertError(f"`{system.name}` cannot be computed in a page: {error}") from error
    return "".join(texts) + f"const kernels={{{','.join(f'{name}:kernel_{name}' for name in functions)}}};"


def _facts(
    system: System, state: State, sliders: list[Slider], t_end: float, functions: dict[str, ca.Function]
) -> dict[str, Any]:
    """All numbers and names of a page."""
    frames = int(np.clip((t_end - state.t) * FRAMES_PER_SECOND, 150, FRAMES)) + 1
    every = max(1, (frames - 1) // COMPARED)
    times = np.linspace(state.t, t_end, frames)[::every]
    motion = simulate(system, state, (state.t, t_end), t_eval=times, integrator=FINE)
    if not motion.success:
        raise DalembertError(
            f"`{system.name}` does not run to t = {t_end:g} ({motion.message}); choose an earlier t_end for its page"
        )
    d = system.drawing
    weights = TABLEAU.error.rows.tolist() if TABLEAU.error else []
    return {
        "title": system.name,
        "caption": f"computed in this page, t = {state.t:g} .. {t_end:g} s",
        "nq": system.nq, "nu": system.nu, "np": system.count("position"), "nv": system.count("velocity"),
        "nc": system.nc, "ni": len(system.invariants), "parameters": len(system.parameters),
        "singular": system.singular_mass, "constraints": list(system.constraint_names),
        "sizes": {name: f.size1_out(0) for name, f in functions.items()},
        "tableau": {
            "A": TABLEAU.A.tolist(), "b": TABLEAU.b.tolist(), "c": TABLEAU.c.tolist(),
            "error": weights,
        },
        "t0": state.t, "t_end": float(t_end), "frames": frames, "z": state.z.tolist(), "p": state.parameters.tolist(),
        "held": held_values(system, state, sliders), "sliders": [asdict(slider) for slider in sliders],
        "drawing": {"points": d.points, "bodies": d.bodies, "lines": d.lines, "planar": d.planar},
        "traces": _traces(system, sliders),
        "native": {"every": every, "rows": np.hstack([motion.q, motion.u]).tolist()},
    }  # fmt: skip


def _traces(system: System, sliders: list[Slider]) -> list[dict[str, Any]]:
    """What is plotted: outputs, coordinates (those with sliders if there are any), energy and violation."""
    traces = [
        {"name": column, "kind": "output", "index": output.start + k}
        for output in system.outputs
        if not output.reads_rates
        for k, column in enumerate(output.columns)
    ]
    moved = [s.index for s in sliders if s.kind == "coordinate"] or list(range(min(2, system.nq)))
    traces += [{"name": system.coordinates[k], "kind": "state", "index": k} for k in moved]
    traces += [{"name": "energy", "kind": "energy", "index": 0}]
    return traces + ([{"name": "violation", "kind": "violation", "index": 0}] if system.nc else [])

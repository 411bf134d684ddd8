"""Modes of a linearisation as animations."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dalembert.motion.state import State
from dalembert.view.animation import Scene, Trace, write_animation
from dalembert.view.overview import drawn

MODE_FRAMES, PERIODS = 240, 2
TIME_CONSTANTS = 5.0  # growth and decay are shown over this many time constants at most


def animate_mode(
    path: str | Path, state: State, shape: np.ndarray, eigenvalue: complex, *, amplitude: float, title: str
) -> Path:
    """Write the HTML animation of q + amplitude Re(shape exp(s t)); `shape` (nq,) complex, its largest entry 1.

    An oscillation is shown for two periods as if it neither grew nor decayed, anything else growing or decaying.
    """
    system = state.system
    turning = abs(eigenvalue.imag) > 1e-9 * max(abs(eigenvalue), 1e-300)
    rate = 1j * eigenvalue.imag if turning else complex(eigenvalue.real)
    span = PERIODS * 2 * np.pi / abs(eigenvalue.imag) if turning else TIME_CONSTANTS / max(abs(rate), 1e-3)
    t = np.linspace(0.0, span, MODE_FRAMES)
    growth = np.exp(rate * t)
    growth = growth / np.abs(growth).max()
    q = state.q + amplitude * np.real(growth[:, None] * shape)
    data = system.evaluate(
        "drawing", state.t + 0.0 * t, q, np.broadcast_to(state.u, (len(t), system.nu)), state.parameters
    )
    tracks, lines = drawn(system.drawing, data)
    traces = tuple(Trace(name, q[:, k]) for k, name in enumerate(system.coordinates) if abs(shape[k]) > 1e-6)
    caption = f"mode with eigenvalue {eigenvalue.real:.4g} {eigenvalue.imag:+.4g}i 1/s, drawn to first order"
    return write_animation(path, Scene(title, t, system.drawing.planar, tracks, lines, traces, caption))

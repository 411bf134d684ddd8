"""Flexible pendulum: a slender beam, pinned at one end, falls from horizontal rest in the plane.

The example of Wu, Zhang, Guo and Li (their figures 2-4: motion of the end point over 1.2 s, an explicit Runge-Kutta
method beside their state-space method). They give no data of the beam. Those here are commonly quoted from Escalona,
Hussien and Shabana for the very flexible pendulum: length 1.2 m, area 0.0018 m^2, second moment 1.215e-8 m^4, density
5540 kg/m^3, E = 0.7e6 Pa. With E = 0.7e11 Pa (the parameter `E`) it bends by a few millimetres only: then the floating
frame with assumed modes is valid too, and the axial vibrations of the cable elements make the equations stiff.
"""

from __future__ import annotations

import numpy as np

from dalembert.model.model import Model
from dalembert.motion.motion import Motion
from dalembert.problems.problem import Problem

LENGTH, AREA, SECOND_MOMENT, DENSITY = 1.2, 0.0018, 1.215e-8, 5540.0
SOFT, STIFF = 0.7e6, 0.7e11
SOURCE = (
    "J. Wu, D. Zhang, X. Guo, L. Li, A state space method for solving differential algebraic equations with "
    "nonholonomic constraints; data: J. L. Escalona, H. A. Hussien, A. A. Shabana, J. Sound Vib. 214 (1998) 833-851"
)


def build(elements: int = 4) -> Model:
    """Absolute nodal coordinates: `elements` cable elements on a hinge."""
    model = Model("flexible pendulum")
    E, g = model.parameters(E=SOFT, g=9.81)
    beam = model.beams.cable(
        "beam", start=[0, 0], end=[LENGTH, 0], elements=elements, density=DENSITY * AREA, axial_stiffness=E * AREA,
        bending_stiffness=E * SECOND_MOMENT,
    )  # fmt: skip
    model.joints.revolute("pin", model.ground, beam.start)
    model.gravity([0, -g])
    return model


def build_floating(modes: int = 3) -> Model:
    """Floating frame that turns about the pin by `beam_a`, with the first modes of a cantilever in it."""
    model = Model("flexible pendulum, floating frame")
    E, g = model.parameters(E=STIFF, g=9.81)
    model.beams.floating(
        "beam", length=LENGTH, modes=modes, density=DENSITY * AREA, bending_stiffness=E * SECOND_MOMENT, position=[0, 0]
    )
    model.gravity([0, -g])
    return model


def end_of(motion: Motion) -> np.ndarray:
    """The end of the beam in the plane, (nt, 2), of either model."""
    drawn = motion.system.evaluate("drawing", motion.t, motion.q, motion.u, motion.parameters)
    return drawn[:, -3:-1]  # the beam is the last line, and its end the last point of it


def deformation_of(motion: Motion) -> np.ndarray:
    """Transverse deformation of the end, (nt,): its distance from the tangent at the pin."""
    floating = "beam_a" in motion.system.coordinates
    angle = motion["beam_a"] if floating else np.arctan2(motion["beam_sy0"], motion["beam_sx0"])
    x, y = end_of(motion).T
    return y * np.cos(angle) - x * np.sin(angle)


PROBLEM = Problem(
    name="flexible_pendulum",
    title="flexible pendulum of ANCF cable elements",
    source=SOURCE,
    build=build,
    given={},
    guess={},
    t_end=1.2,
    note="A beam as soft as rubber: its end lags behind, whips round, and the energy stays to 1e-10 J.",
)

FLOATING = Problem(
    name="flexible_pendulum_floating",
    title="flexible pendulum by assumed modes in a floating frame",
    source=SOURCE,
    build=build_floating,
    given={},
    guess={},
    t_end=1.2,
    note="As stiff as aluminium it bends by 6 mm; with four modes it agrees with eight ANCF elements to 0.02 mm.",
)

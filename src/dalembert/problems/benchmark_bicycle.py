"""The Carvallo-Whipple bicycle of bodies and rolling discs, with the published answers; not in the catalogue.

Data, matrices and eigenvalues of Meijaard, Papadopoulos, Ruina and Schwab, Proc. R. Soc. A 463 (2007) 1955-1982:

    M q'' + v C1 q' + (g K0 + v^2 K2) q = 0,    q = (lean, steer)

Here x points forward, y to the left and z up. As in the paper lean and steer are positive to the right; inertias are
about mass centres with the bicycle upright.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.model.model import Model

STATES = ("lean", "steer", "lean_rate", "steer_rate")
REAR_RADIUS = 0.3

M = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
C1 = np.array([[0.0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]])
K0 = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
K2 = np.array([[0.0, 76.59734589573222], [0.0, 2.65431523794604]])
WEAVE_SPEED, CAPSIZE_SPEED = 4.29238253634111, 6.02426201538837  # m/s, between which the bicycle is stable
AT_REST = (5.53094371765393, 3.13164324790656)  # eigenvalues at v = 0, with their opposites
# Speed, weave (real, imaginary), capsize and castering eigenvalue: table 2.
EIGENVALUES = (
    (1.0, 3.52696170990070, 0.80774027519930, -3.13423125066578, -7.11008014637442),
    (2.0, 2.68234517512745, 1.68066296590675, -3.07158645641514, -8.67387984831735),
    (3.0, 1.70675605663975, 2.31582447384325, -2.63366137253667, -10.35101467245920),
    (4.0, 0.41325331521125, 3.07910818603206, -1.42944427361326, -12.15861426576447),
    (5.0, -0.77534188219585, 4.46486771378823, -0.32286642900409, -14.07838969279822),
    (6.0, -1.52644486584142, 5.87673060598709, -0.00406690076970, -16.08537123098026),
    (7.0, -2.13875644258362, 7.19525913329805, 0.10268170574766, -18.15788466125262),
    (8.0, -2.69348683581097, 8.46037971396931, 0.14327879765713, -20.27940894394569),
    (9.0, -3.21675402252485, 9.69377351531791, 0.15790184030917, -22.43788559040858),
    (10.0, -3.72016840437287, 10.90681139476287, 0.16105338653172, -24.62459635017404),
)


def build() -> Model:
    """Rear frame with rider, front frame and two wheels; x, y, z are those of the rear hub."""
    model = Model("benchmark bicycle")
    x, y, z, yaw, lean, pitch, rear_spin, steer, front_spin = model.coordinates(
        "x y z yaw lean pitch rear_spin steer front_spin"
    )
    model.speeds("vx vy vz yaw_rate lean_rate pitch_rate rear_rate steer_rate front_rate")
    g, base, trail, tilt, rear, front = model.parameters(
        g=9.81, w=1.02, c=0.08, tilt=np.pi / 10, r_R=REAR_RADIUS, r_F=0.35
    )
    model.gravity([0, 0, -g])
    frame = sp.rot_axis3(-yaw) * sp.rot_axis1(-lean) * sp.rot_axis2(-pitch)
    # The fork turns about the steering axis, in whose upright axes (third one along it) the turn is elementary.
    upright = sp.rot_axis2(tilt)
    fork = frame * upright * sp.rot_axis3(steer) * upright.T
    hub = sp.Matrix([x, y, z])
    pivot = hub + frame * sp.Matrix([base + trail, 0, -rear])  # where the steering axis meets the ground
    masses = {"B": 85.0, "H": 4.0, "R": 2.0, "F": 3.0}
    inertias = {
        "B": [[9.2, 0, -2.4], [0, 11.0, 0], [-2.4, 0, 2.8]],
        "H": [[0.05892, 0, 0.00756], [0, 0.06, 0], [0.00756, 0, 0.00708]],
        "R": [[0.0603, 0, 0], [0, 0.12, 0], [0, 0, 0.0603]],
        "F": [[0.1405, 0, 0], [0, 0.28, 0], [0, 0, 0.1405]],
    }
    places: dict[str, Any] = {
        "B": (hub + frame * sp.Matrix([0.3, 0, 0.9 - rear]), frame),
        "H": (pivot + fork * sp.Matrix([0.9 - base - trail, 0, 0.7]), fork),
        "R": (hub, frame * sp.rot_axis2(-rear_spin)),
        "F": (pivot + fork * sp.Matrix([-trail, 0, front]), fork * sp.rot_axis2(-front_spin)),
    }
    bodies = {
        name: model.body(name, mass=masses[name], inertia=inertias[name], position=list(position), rotation=rotation)
        for name, (position, rotation) in places.items()
    }
    for name, radius in (("R", rear), ("F", front)):
        axle = model.marker(bodies[name], [0, 0, 0], axis=[0, 1, 0])
        model.contacts.disc(f"roll_{name}", axle, radius=radius)
    return model


def straight(v: float) -> dict[str, float]:
    """Given values for upright straight running at speed v: `system.steady(straight(5.0), guess=GUESS)`."""
    upright = dict.fromkeys(
        ("x", "y", "yaw", "lean", "steer", "rear_spin", "front_spin", "lean_rate", "steer_rate"), 0.0
    )
    return {**upright, "rear_rate": v / REAR_RADIUS}


GUESS = {"z": REAR_RADIUS}

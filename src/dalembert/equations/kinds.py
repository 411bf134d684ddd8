"""Kinds of coordinates: which are angles, which are lengths, and which the geometry does not depend on.

Nobody states units, but angles show themselves: a full turn leaves constraints, inertia and kinematics as they were.
"""

from __future__ import annotations

import numpy as np

from dalembert.equations.system import System

ANGLE, LENGTH, FREE = range(3)  # components of quaternions count as angles
PERIODIC = 1e-9  # a change by a full turn below this part of other changes is none
ROUND_OFF = 1e-13  # of numbers in which terms may have cancelled, relative to their neighbours


def kinds_of(system: System) -> np.ndarray:
    """The kind of each coordinate, (nq,), found once per system."""
    return system.kept("kinds of coordinates", lambda: _find_kinds(system))


def _find_kinds(system: System) -> np.ndarray:
    """Kinds by what the geometry does at two places when a coordinate is moved a little and by a full turn."""
    rng, nq = np.random.default_rng(11), system.nq
    periodic, present = np.ones(nq, dtype=bool), np.zeros(nq, dtype=bool)
    for _ in range(2):
        x = np.concatenate([rng.uniform(-1.0, 1.0, 1 + nq + system.nu), system.parameter_defaults])
        here, sizes = _geometry(system, x)
        for j in range(nq):
            moved, turned = x.copy(), x.copy()
            moved[1 + j] += 0.7
            turned[1 + j] += 2.0 * np.pi
            change = np.abs(_geometry(system, moved)[0] - here)
            after_a_turn = np.abs(_geometry(system, turned)[0] - here)
            present[j] |= bool((change > ROUND_OFF * sizes).any())
            periodic[j] &= not bool((after_a_turn > PERIODIC * change + ROUND_OFF * sizes).any())
    kinds = np.where(present, np.where(periodic, ANGLE, LENGTH), FREE)
    if system.invariants:
        gradients = system.at("invariant", x)[len(system.invariants) :].reshape(-1, nq)
        kinds[(gradients != 0.0).any(axis=0)] = ANGLE
    return kinds


@np.errstate(all="ignore")  # a place at random may be outside the domain of the model
def _geometry(system: System, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """q', M, A, phi and its gradients in one array, zero where undefined; and the sizes that rounding goes by."""
    out, parts, rows = system.at("dynamics", x), system.parts, system.count("position") + len(system.invariants)
    qdot, M, A = (
        out[parts[name][0]].reshape(parts[name][1])
        for name in ("coordinate_rates", "mass_matrix", "constraint_jacobian")
    )
    phi, G = np.split(system.at("assembly", x), [rows])
    G = G.reshape(rows, system.nq)
    root, largest = np.sqrt(np.abs(M.diagonal())), np.abs(G).max(axis=1, initial=0.0)
    sizes = [
        np.abs(qdot), np.outer(root, root).ravel(), np.repeat(np.abs(A).max(axis=1, initial=0.0), system.nu),
        np.maximum(np.abs(phi), largest), np.repeat(largest, system.nq),
    ]  # fmt: skip
    both = np.concatenate([qdot, M.ravel(), A.ravel(), phi, G.ravel()])
    return np.where(np.isfinite(both), both, 0.0), np.nan_to_num(np.concatenate(sizes))

"""Singular positions of mechanisms in space, with redundant constraints: right to the tolerance.

A parallelogram of equal bars with three hinges and a ball joint moves as the plane one; one of its rows is redundant.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da

G, AXIS = 9.81, [0, 0, 1]


def spatial_parallelogram():
    model = da.Model("parallelogram in space")
    bars = [model.body(name, mass=1.0, inertia=[1e-3, 1 / 12, 1 / 12]) for name in ("c0", "c1", "b")]
    model.gravity([0, -G, 0])

    def at(body, place):
        return model.marker(body, place, axis=AXIS)

    for k, crank in enumerate(bars[:2]):
        model.joints.revolute(f"g{k}", at(model.ground, [k, 0, 0]), at(crank, [-0.5, 0, 0]))
    model.joints.revolute("l", at(bars[0], [0.5, 0, 0]), at(bars[2], [-0.5, 0, 0]))
    model.joints.spherical("r", at(bars[1], [0.5, 0, 0]), at(bars[2], [0.5, 0, 0]))
    return model.compile()


def state_of(system, angle, rate):
    """Cranks at an angle, turning at a rate; quaternions about z."""
    c, s = np.cos(angle), np.sin(angle)
    guess = dict.fromkeys((*system.coordinates, *system.speeds), 0.0)
    for k in (0, 1):
        guess |= {f"c{k}_x": k + c / 2, f"c{k}_y": s / 2, f"c{k}_vx": -s / 2 * rate, f"c{k}_vy": c / 2 * rate}
        guess |= {f"c{k}_e0": np.cos(angle / 2), f"c{k}_e3": np.sin(angle / 2), f"c{k}_wz": rate}
    guess |= {"b_x": 0.5 + c, "b_y": s, "b_vx": -s * rate, "b_vy": c * rate, "b_e0": 1.0}
    return guess


@pytest.mark.parametrize("rtol", [1e-6, 1e-8, 1e-10, 1e-12])
def test_parallelogram_in_space_passes_through_its_positions(rtol):
    system, times = spatial_parallelogram(), np.linspace(0.0, 2.0, 21)
    state = system.initial({}, guess=state_of(system, np.pi / 2, -1.7))
    kappa = G * 2 / (2 / 3 + 1)
    angle = solve_ivp(
        lambda _, z: [z[1], -kappa * np.cos(z[0])], (0.0, 2.0), [np.pi / 2, -1.7], "DOP853", times, rtol=1e-13,
        atol=1e-14,
    ).y[0]  # fmt: skip
    motion = system.simulate(state, 2.0, t_eval=times, integrator=da.DOP853(rtol=rtol, atol=rtol / 100))
    error = np.abs(motion["b_y"] - np.sin(angle)[: len(motion)]).max()
    assert motion.certificate.ok, motion.certificate
    assert error < 10 * rtol
    assert [round(passage.t, 4) for passage in motion.passages] == [0.5558, 1.0502]  # by sin = 0, none stepped over

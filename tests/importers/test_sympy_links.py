"""Models of SymPy's joints are drawn: a line through the joints of each body."""

import joint_models
import numpy as np

import dalembert as da


def drawn(obj, options, parameters, given):
    """The points of each line (k, 3) at a state, by name."""
    system = da.from_sympy(obj, parameters=parameters, **options).compile()
    state = system.initial(given)
    out = system.evaluate("drawing", state.t, state.q, state.u, state.parameters)
    d = system.drawing
    first = 3 * len(d.points) + 9 * len(d.bodies)
    ends = np.cumsum([3 * k for _, k in d.lines])
    blocks = np.split(out[first:], ends[:-1])
    return {name: block.reshape(k, 3) for (name, k), block in zip(d.lines, blocks, strict=True)}, state


def test_links_of_a_four_bar_meet_in_their_joints():
    obj, options, _ = joint_models.four_bar()
    lengths = {"l1": 2.0, "l2": 0.8, "l3": 2.0, "l4": 1.0}
    lines, _ = drawn(obj, options, {**lengths, "rho": 1.0}, {"q1": 1.0, "u1": 0.0})
    assert list(lines) == ["Link2", "Link3", "Link4"]  # the first one is the ground
    np.testing.assert_allclose(lines["Link2"][1], lines["Link3"][0], atol=1e-14)
    np.testing.assert_allclose(lines["Link3"][1], lines["Link4"][0], atol=1e-14)
    for name, length in (("Link2", 0.8), ("Link3", 2.0)):
        np.testing.assert_allclose(np.linalg.norm(np.diff(lines[name], axis=0)), length, rtol=1e-14)
    # The last one has a single joint: it is drawn from there to its mass centre.
    np.testing.assert_allclose(np.linalg.norm(np.diff(lines["Link4"], axis=0)), 0.5, rtol=1e-14)


def test_a_bob_hangs_by_a_line_from_its_pin():
    obj, options, _ = joint_models.cart_pendulum()
    values = {"g": 9.81, "l": 1.0, "mc": 1.0, "mp": 1.0, "k": 0.0}
    lines, state = drawn(obj, options, values, {"qp": 0.3, "qc": 0.2, "up": 0.0, "uc": 0.0})
    pin, bob = lines["bob"]
    np.testing.assert_allclose(pin, [0.2, 0.0, 0.0], atol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(bob - pin), 1.0, rtol=1e-14)
    np.testing.assert_allclose(bob, state.position("bob"), atol=1e-14)

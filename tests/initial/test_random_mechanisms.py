"""Random linkages: all that can be assembled are, all that cannot are refused with the right constraints named."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import cos, sin

import dalembert as da

LOOPS = [(2, 1), (3, 0), (4, 1), (6, 0)]  # links, redundant copies
EXAMPLES = settings(max_examples=50, deadline=None, derandomize=True, database=None)


@functools.cache
def loop(n, copies):
    """n links in a loop closed by gx, gy, a redundant copy of that, and a pendulum that has nothing to do with it."""
    model = da.Model(f"loop of {n}")
    angles = model.coordinates(" ".join(f"a{k}" for k in range(n)))
    px, py = model.coordinates("px py")
    lengths = model.parameters(**{f"l{k}": 1.0 for k in range(n)})
    gx, gy = model.parameters(gx=1.0, gy=0.0)
    x = y = 0
    for k, (a, l) in enumerate(zip(angles, lengths, strict=True)):
        model.body(f"link{k}", mass=1, inertia=0.1, position=[x + l * cos(a) / 2, y + l * sin(a) / 2], rotation=a)
        x, y = x + l * cos(a), y + l * sin(a)
    model.particle("P", mass=1, position=[px, py])
    model.constrain(x - gx, name="loop_x")
    model.constrain(y - gy, name="loop_y")
    if copies:
        model.constrain(2 * (x - gx) - 3 * (y - gy), name="copy")
    model.constrain(px**2 + py**2 - 1, name="rod")
    return model.compile()


@functools.cache
def tripod(dimension):
    """A point in the plane or in space on as many rods as it has coordinates, and one that can be anywhere."""
    model = da.Model(f"tripod in {dimension}")
    names = ("x", "y", "z")[:dimension]
    position = model.coordinates(" ".join(names))
    (free,) = model.coordinates("free")
    model.particle("P", mass=1, position=list(position))
    model.particle("F", mass=1, position=[free, 0])
    for k in range(dimension):
        feet = model.parameters(**{f"f{k}{name}": 0.0 for name in names})
        (l,) = model.parameters(**{f"r{k}": 1.0})
        square = sum((p - f) ** 2 for p, f in zip(position, feet, strict=True))
        model.constrain(square - l**2, name=f"rod{k}")
    return model.compile()


@EXAMPLES
@given(st.sampled_from(LOOPS), st.integers(0, 2**32 - 1))
def test_loops_that_close(checked, kind, seed):
    n, _ = kind
    system, rng = loop(*kind), np.random.default_rng(seed)
    lengths, angles = rng.uniform(0.2, 2.0, n), rng.uniform(-np.pi, np.pi, n)
    end = (lengths * np.exp(1j * angles)).sum()
    parameters = {f"l{k}": l for k, l in enumerate(lengths)} | {"gx": end.real, "gy": end.imag}
    guess = {f"a{k}": a for k, a in enumerate(angles + rng.uniform(-0.8, 0.8, n))} | {"px": 0.3, "py": rng.normal()}
    speeds = dict(zip(system.speeds, rng.normal(size=system.nu), strict=True))
    state = checked(system.initial({}, guess={**guess, **speeds}, parameters=parameters))
    assert state.report.s_p == 3


@EXAMPLES
@given(st.sampled_from([2, 3]), st.integers(0, 2**32 - 1))
def test_tripods_that_stand(checked, dimension, seed):
    system, rng = tripod(dimension), np.random.default_rng(seed)
    point, feet = rng.normal(size=dimension), 2 * rng.normal(size=(dimension, dimension))
    names = ("x", "y", "z")[:dimension]
    parameters = {f"r{k}": float(np.linalg.norm(point - foot)) for k, foot in enumerate(feet)}
    parameters |= {f"f{k}{name}": feet[k, j] for k in range(dimension) for j, name in enumerate(names)}
    guess = dict(zip(names, point + 0.7 * rng.normal(size=dimension), strict=True)) | {"free": 3.0}
    state = checked(system.initial({}, guess=guess, parameters=parameters))
    assert state["free"] == 3.0


@EXAMPLES
@given(st.sampled_from(LOOPS), st.integers(0, 2**32 - 1))
def test_loops_that_cannot_close(kind, seed):
    n, copies = kind
    system, rng = loop(*kind), np.random.default_rng(seed)
    lengths = rng.uniform(0.2, 2.0, n)
    reach = lengths.sum() * rng.uniform(1.05, 3.0)
    direction = rng.uniform(0.2, np.pi / 2 - 0.2) + np.pi / 2 * rng.integers(4)
    parameters = {f"l{k}": l for k, l in enumerate(lengths)}
    parameters |= {"gx": reach * np.cos(direction), "gy": reach * np.sin(direction)}
    guess = {f"a{k}": a for k, a in enumerate(rng.uniform(-np.pi, np.pi, n))} | {"px": 0.3, "py": 0.8}
    with pytest.raises(da.InitialStateError, match="position constraints cannot all be met") as caught:
        system.initial({}, guess=guess, parameters=parameters)
    error = caught.value
    assert set(error.conflicting) <= {"loop_x", "loop_y", "copy"}
    assert len(error.conflicting) >= 2
    gap, least = np.hypot(error.residuals["loop_x"], error.residuals["loop_y"]), reach - lengths.sum()
    if copies:  # counts one direction more than the other
        assert least * (1 - 1e-9) <= gap <= 2.0 * least
    else:  # stretched out towards the pin
        assert gap == pytest.approx(least, rel=1e-6)
    assert "parameter" in str(error)
    assert "would work" in str(error)


@EXAMPLES
@given(st.sampled_from([2, 3]), st.integers(0, 2**32 - 1))
def test_tripods_that_cannot_stand(dimension, seed):
    """Two feet further apart than their rods are long together; in space the third rod fits."""
    system, rng = tripod(dimension), np.random.default_rng(seed)
    names = ("x", "y", "z")[:dimension]
    rods = rng.uniform(0.5, 2.0, 2)
    axis = rng.normal(size=dimension)
    axis /= np.linalg.norm(axis)
    feet = np.zeros((dimension, dimension))
    feet[1] = axis * rods.sum() * rng.uniform(1.1, 2.5)
    parameters = {"r0": rods[0], "r1": rods[1]}
    if dimension == 3:
        feet[2], parameters["r2"] = rng.normal(size=3), 20.0
    parameters |= {f"f{k}{name}": feet[k, j] for k in range(dimension) for j, name in enumerate(names)}
    guess = dict(zip(names, rng.normal(size=dimension), strict=True))
    with pytest.raises(da.InitialStateError) as caught:
        system.initial({}, guess=guess, parameters=parameters)
    assert {"rod0", "rod1"} & set(caught.value.conflicting)
    assert caught.value.closest.q.shape == (dimension + 1,)

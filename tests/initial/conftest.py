"""An independent judge of states: the user's own expressions, differentiated by SymPy, evaluated by NumPy."""

import functools

import numpy as np
import pytest
import sympy as sp

from dalembert.model.instances import explicit


@functools.cache
def residuals_by_sympy(system):
    """A function of (t, q, q', q'', u, u', p) that gives all constraints and kinematics at every level."""
    st = system.statement
    t = st.time
    rows = []
    for constraint in st.constraints:
        e = constraint.expression
        rows += {
            "position": [e, e.diff(t), e.diff(t, 2)],
            "velocity": [e, e.diff(t)],
            "acceleration": [e],
        }[constraint.level.value]
    for e in map(explicit, [*(e for _, e in st.invariants), *st.kinematics]):
        rows += [e, e.diff(t)]
    atoms = [q.diff(t, 2) for q in st.coordinates] + [q.diff(t) for q in st.coordinates]
    atoms += [u.diff(t) for u in st.speeds] + list(st.coordinates) + list(st.speeds)
    names = sp.symbols(f"a0:{len(atoms)}")
    swapped = [sp.sympify(e).subs(dict(zip(atoms, names, strict=True))) for e in rows]
    return sp.lambdify([t, names, list(st.parameters)], swapped, modules="numpy", cse=True)


def check(state):
    """Every residual at most 1e-12, relative to the largest number it is made of where that exceeds 1."""
    s = state.system
    rate = [state[f"{q}'"] for q in s.coordinates]
    second = [state[f"{q}''"] for q in s.coordinates]
    values = np.concatenate([second, rate, state.udot, state.q, state.u])
    found = np.array(residuals_by_sympy(s)(state.t, values, state.parameters), dtype=float)
    scale = max(1.0, np.abs(values).max(), np.abs(state.q).max() ** 2, np.abs([*state.u, *rate]).max() ** 2)
    assert np.abs(found).max() <= 1e-12 * scale, found
    return state


@pytest.fixture(scope="session")
def checked():
    """Passes a state on if the user's own expressions agree with it."""
    return check

"""Models of SymPy's own tests and documentation: u' is that of SymPy's equations, at random consistent states."""

import re

import joint_models
import kane_models
import lagrange_models
import numpy as np
import pytest
import sympy as sm
import sympy.physics.mechanics as me

import dalembert as da

t = me.dynamicsymbols._t


def value_of(name):
    """A positive number that belongs to a name."""
    return 0.4 + (sum(k * ord(c) for k, c in enumerate(str(name), 1)) % 97) / 97


def wanted(obj, options):
    """The names of the constants that need values, as the error lists them."""
    with pytest.raises(da.ModelError) as caught:
        da.from_sympy(obj, **options)
    (fault,) = caught.value.faults
    names = re.findall(r"([^\s,{]+): \.\.\.", fault)
    assert fault.startswith(f"{len(names)} constants have no value")
    return names


def imported(obj, options, seed=0):
    """The system, and a random consistent state at t = 0.3."""
    parameters = {name: value_of(name) for name in wanted(obj, options)}
    system = da.from_sympy(obj, parameters=parameters, **options).compile()
    rng = np.random.default_rng(seed)
    names = [*system.coordinates, *system.speeds]
    guess = dict(zip(names, rng.uniform(0.2, 0.9, len(names)), strict=True))
    return system, system.initial({}, guess=guess, t0=0.3)


def numbers(system, state):
    """Functions of the state, their names as keys, and parameters."""
    values = dict(zip((*system.coordinates, *system.speeds), (*state.q, *state.u), strict=True))
    return values, dict(zip(system.parameters, system.parameter_defaults, strict=True))


def evaluated(matrices, functions, values, parameters, specified):
    """Matrices of SymPy at a state: `functions` maps what stands in them to names of `values`."""
    matrices = [me.msubs(sm.Matrix(m), specified) if specified else sm.Matrix(m) for m in matrices]
    constants = sorted(set().union(*(m.free_symbols for m in matrices)) - {t}, key=str)
    f = sm.lambdify([t, list(functions), constants], matrices, cse=True)
    return f(0.3, [values[name] for name in functions.values()], [parameters.get(c.name, 1.0) for c in constants])


def kane_accelerations(kane, system, state, options):
    """SymPy's u', by name."""
    kane.kanes_equations(options.get("bodies"), options.get("loads"))
    functions = {f: f.func.__name__ for f in (*kane.q, *kane.u)}
    zero = {f: 0 for u in kane._uaux for f in (u.diff(t), u)}
    specified = {**options.get("specified", {}), **zero}
    M, f = evaluated([kane.mass_matrix, kane.forcing], functions, *numbers(system, state), specified)
    udot = np.linalg.solve(M, np.ravel(f))
    return {u.func.__name__: a for u, a in zip(kane.u, udot, strict=True)}


def check(system, state, expected):
    ours = dict(zip(system.speeds, state.udot, strict=True))
    scale = max(1.0, *(abs(a) for a in expected.values()))
    for name, a in expected.items():
        assert ours[name] == pytest.approx(a, rel=0, abs=1e-10 * scale), name


@pytest.mark.parametrize("name", kane_models.MODELS)
def test_kanes_method(name):
    obj, options = kane_models.MODELS[name]()
    system, state = imported(obj, options)
    check(system, state, kane_accelerations(obj, system, state, options))


def lagrange_accelerations(method, system, state, options):
    """SymPy's second derivatives of the coordinates, by the names of our speeds, and its multipliers."""
    method.form_lagranges_equations()
    values, parameters = numbers(system, state)
    functions = {q.diff(t): f"{q.func.__name__}_dot" for q in method.q} | {q: q.func.__name__ for q in method.q}
    specified = options.get("specified", {})
    matrices = [method.mass_matrix_full, method.forcing_full]
    M, f = evaluated(matrices, functions, values, parameters, specified)
    n = len(method.q)
    found = np.linalg.solve(M, np.ravel(f))
    return {f"{q.func.__name__}_dot": a for q, a in zip(method.q, found[n : 2 * n], strict=True)}, found[2 * n :]


@pytest.mark.parametrize("name", lagrange_models.MODELS)
def test_lagranges_method(name):
    obj, options = lagrange_models.MODELS[name]()
    system, state = imported(obj, options)
    expected, multipliers = lagrange_accelerations(obj, system, state, options)
    check(system, state, expected)
    np.testing.assert_allclose(state.multipliers, multipliers, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", joint_models.MODELS)
def test_system_of_joints(name):
    obj, options, method = joint_models.MODELS[name]()
    system, state = imported(obj, options)
    obj.form_eoms(eom_method=method)
    if method is me.LagrangesMethod:
        expected, _ = lagrange_accelerations(obj.eom_method, system, state, options)
    else:
        expected = kane_accelerations(obj.eom_method, system, state, options)
    check(system, state, expected)

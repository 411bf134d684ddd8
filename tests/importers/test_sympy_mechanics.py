"""Models of SymPy's own tests and documentation: u' is that of SymPy's equations, at random consistent states."""

import math
import re
from functools import cache

import joint_models
import kane_models
import lagrange_models
import numpy as np
import pytest
import sympy as sm
import sympy.physics.mechanics as me

import dalembert as da
from dalembert.problems import whipple_bicycle

t = me.dynamicsymbols._t


state_bicycle = cache(whipple_bicycle.state_bicycle)


def value_of(name):
    """A positive number that belongs to a name; default inertias are made ones that a body can have."""
    part = (sum(k * ord(c) for k, c in enumerate(str(name), 1)) % 97) / 97
    if re.search(r"_i(xx|yy|zz)$", str(name)):
        return 1.0 + 0.3 * part
    return 0.1 * part if re.search(r"_i(xy|yz|zx)$", str(name)) else 0.4 + part


def wanted(obj, options):
    """The names of the constants that need values, as the error lists them."""
    with pytest.raises(da.ModelError) as caught:
        da.from_sympy(obj, **options)
    (fault,) = caught.value.faults
    names = re.findall(r"([^\s,{]+): \.\.\.", fault)
    assert fault.startswith(f"{len(names)} constant")
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
    given = {function: values[name] for function, name in functions.items()}
    known = {**given, **{c: parameters[c.name] for e in specified.values() for c in sm.S(e).free_symbols - {t}}, t: 0.3}
    inputs = {F.diff(t, k): sm.S(e).diff(t, k).subs(known) for F, e in specified.items() for k in range(3)}
    given |= {F: float(value) for F, value in inputs.items() if value.is_number}
    value = Evaluation({**given, t: 0.3}, parameters)
    return [np.array([value(e) for e in m], dtype=float).reshape(m.shape) for m in matrices]


class Evaluation:
    """Numbers for expressions, each distinct part once: `lambdify` takes longer than everything else here."""

    def __init__(self, known, parameters):
        self.known, self.parameters, self.done = known, parameters, {}

    def __call__(self, node):
        if id(node) not in self.done:
            self.done[id(node)] = self._evaluate(node), node
        return self.done[id(node)][0]

    def _evaluate(self, node):
        if node in self.known:
            return self.known[node]
        if node.is_Symbol:
            return self.parameters.get(node.name, 1.0)  # those that do not matter are no parameters
        if node.is_number:
            return float(node)
        parts = [self(a) for a in node.args]
        if node.is_Add or node.is_Mul:
            return sum(parts) if node.is_Add else math.prod(parts)
        return parts[0] ** parts[1] if node.is_Pow else getattr(math, node.func.__name__)(*parts)


def kane_accelerations(kane, system, state, options):
    """SymPy's u', by name."""
    kane.kanes_equations(options.get("bodies"), options.get("loads"))
    functions = {f: f.func.__name__ for f in (*kane.q, *kane.u)}
    specified = {**options.get("specified", {}), **dict.fromkeys(kane._uaux, 0)}
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


def test_bicycle():
    """The Whipple bicycle of `test_kane3`, its wheels stated in axes that do not turn with them."""
    bicycle = state_bicycle()
    options = {"bodies": bicycle.bodies, "loads": bicycle.loads}
    system = da.from_sympy(bicycle.kane, parameters=bicycle.parameters, **options).compile()
    assert system.constraint_names == ("holonomic[0]", "velocity[0]", "velocity[1]")  # velocity[2] repeats the first
    assert system.coordinates[-2:] == ("u3_integral", "u6_integral")
    given = {"q1": 0.4, "q2": 0.1, "q5": -0.2, "u2": 0.3, "u3": -12.0, "u5": 0.5}
    state = system.initial(given, t0=0.3)
    check(system, state, kane_accelerations(bicycle.kane, system, state, options))


def test_bicycle_leans_and_steers_as_published():
    """The rates of lean and steer per lean and steer at 5 m/s; the entries of SymPy's linearised matrix."""
    bicycle = state_bicycle()
    system = da.from_sympy(
        bicycle.kane, bodies=bicycle.bodies, loads=bicycle.loads, parameters=bicycle.parameters
    ).compile()
    v, h = 5.0, 1e-5
    rolling = {"u3": v / 0.3, "q1": 0.0}

    def rates(**given):
        moved = {"q2": 0.0, "q5": 0.0, "u2": 0.0, "u5": 0.0, **rolling, **given}
        state = system.initial(moved, guess={"u6": v / 0.35})
        return np.array([state.udot[system.speeds.index(u)] for u in ("u2", "u5")])

    columns = [(rates(**{name: h}) - rates(**{name: -h})) / (2 * h) for name in ("q2", "q5", "u2", "u5")]
    published = [
        [
            9.48977444677355,
            -0.891197738059089 * v**2 - 0.571523173729245,
            -0.105522449805691 * v,
            -0.330515398992311 * v,
        ],
        [11.7194768719633, -1.97171508499972 * v**2 + 30.9087533932407, 3.67680523332152 * v, -3.08486552743311 * v],
    ]
    np.testing.assert_allclose(np.array(columns).T, published, rtol=0, atol=1e-6)


def test_pushed_bicycle_rides_on():
    """At 4.6 m/s it is stable: a push sideways dies out, and its energy ends up in a slightly greater speed."""
    bicycle = state_bicycle()
    options = {"bodies": bicycle.bodies, "loads": bicycle.loads, "parameters": bicycle.parameters}
    system = da.from_sympy(bicycle.kane, **options).compile()
    push = {"q1": 0.0, "q2": 0.0, "q5": 0.0, "u2": 0.5, "u5": 0.0, "u3": 4.6 / 0.3}
    motion = system.simulate(system.initial(push, guess={"u6": 4.6 / 0.35}), 10.0)
    assert motion.certificate.ok, motion.certificate
    lean = np.abs(motion["q2"])
    assert lean[motion.t > 9.0].max() < 0.05 * lean.max()
    assert 4.6 < 0.3 * motion["u3"][-1] < 4.65


def test_aircraft():
    """Seven implicit kinematical equations against SymPy's u' with four explicit ones for the quaternion."""
    obj, options = kane_models.aircraft()
    system, state = imported(obj, options)
    assert system.invariants == ("holonomic[0]",)  # the kinematics keep the norm
    explicit, again = kane_models.aircraft(explicit=True)
    check(system, state, kane_accelerations(explicit, system, state, again))
    other, _ = imported(explicit, again)
    order = [system.coordinates.index(name) for name in other.coordinates]
    rates = other.coordinate_rates(0.3, state.q[order], state.u)
    np.testing.assert_allclose(system.coordinate_rates(0.3, state.q, state.u)[order], rates, rtol=0, atol=1e-12)


def test_disc_has_the_printed_rates():
    """The numbers that `test_kane5` prints, q' and u' of a rolling disc."""
    obj, _ = kane_models.disc_with_slip_constraints()
    system = da.from_sympy(obj, parameters={"g": 9.81, "r": 0.26, "m": 3.43}).compile()
    q = dict(zip(("q1", "q2", "q3", "q4", "q5"), (3.97, -0.28, 8.2, -0.35, 2.27), strict=True))
    state = system.initial({**q, "u1": -0.25, "u2": -2.2, "u3": 0.62})
    qdot = system.coordinate_rates(0.0, state.q, state.u)
    printed = [0.0259159090798597, 0.668041660387416, -2.19283799213811, 0.385441810852219, 0.420109283790573]
    np.testing.assert_allclose(qdot, printed, rtol=0, atol=1e-10)
    printed = [1.45030568179066, -0.0110924422400793, -8.35617840186040, -0.154098542632173, -0.146102664410010]
    np.testing.assert_allclose(state.udot, printed, rtol=0, atol=1e-10)


def test_four_bar_has_the_printed_matrix():
    """The state and mass matrix that SymPy's four-bar of joints is checked at."""
    obj, _, _ = joint_models.four_bar()
    lengths = dict(zip(("l1", "l2", "l3", "l4", "rho"), (0.13, 0.24, 0.21, 0.34, 997.0), strict=True))
    system = da.from_sympy(obj, parameters=lengths).compile()
    state = system.initial({"q1": 2.1, "u1": 0.2}, guess={"q2": 0.6, "q3": 2.5})
    np.testing.assert_allclose(state.q, [2.1, 0.6655470375077588, 2.527408138024188], rtol=0, atol=1e-12)
    np.testing.assert_allclose(state.u, [0.2, -0.17963733938852067, 0.1309060540601612], rtol=0, atol=1e-12)
    printed = [
        [3.452709815256506e01, 7.003948798374735e00, -4.939690970641498e00],
        [-2.203792703880936e-14, 2.071702479957077e-01, 2.842917573033711e-01],
        [-1.300000000000123e-01, -8.836934896046506e-03, 1.864891330060847e-01],
    ]
    expected = np.linalg.solve(printed, [-0.031211821321648, -0.00066022608181, 0.001813559741243])
    np.testing.assert_allclose(state.udot, expected, rtol=0, atol=1e-10)

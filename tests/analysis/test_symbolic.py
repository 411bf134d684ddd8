"""Symbolic equations: the same numbers as the kernels, the equations of the papers, and readable LaTeX."""

import pickle
import re
from functools import cache

import numpy as np
import pytest
import sympy as sp
from sympy import cos, sin

import dalembert as da
from dalembert import problems
from dalembert.analysis.symbolic import mechanics_of
from dalembert.analysis.symbolic_formulations import WRITERS, Case, solve_motion

LONG = (
    "andrews", "car_axis", "closed_chain_5", "flexible_pendulum", "flexible_pendulum_floating", "rattleback",
    "whipple_bicycle",
)  # fmt: skip
SMALL = [p.name for p in problems.all() if p.name not in LONG and p.system().nu <= 12]  # minutes of SymPy otherwise
IDEAL = [name for name in SMALL if name not in ("car", "n_four_bar")]  # a servo constraint; a long wait
KINDS = (da.LagrangeMultipliers, da.UdwadiaKalaba, da.NonminimalKane, da.MinimalKane, da.NullSpace)


@cache
def derived(name):
    """A system and its matrices."""
    system = problems.get(name).system()
    return system, mechanics_of(system)


def numbers(matrix, m, system, t, q, u):
    """A symbolic matrix at numeric values, by SymPy's own evaluation."""
    names = {str(p): p for p in matrix.free_symbols}
    values = {names[n]: v for n, v in zip(system.parameters, system.parameter_values(), strict=True) if n in names}
    values |= dict(zip([*m.q, *m.u], [*q, *u], strict=True)) | {m.time: t}
    function = sp.lambdify(list(values), matrix)
    return np.array(function(*values.values()), dtype=float).reshape(matrix.shape)


def random_state(system, seed=7):
    rng = np.random.default_rng(seed)
    return rng.uniform(0.1, 0.9), rng.uniform(0.2, 1.2, system.nq), rng.uniform(-1.0, 1.0, system.nu)


def is_zero(matrix):
    return all(sp.simplify(entry) == 0 for entry in sp.Matrix(matrix))


def everything():
    """A model in which every kind of statement and every level of constraint appears."""
    model = da.Model("everything")
    x, y, a = model.coordinates("x y a")
    vx, vy, w = (sp.Function(n)(model.t) for n in ("vx", "vy", "w"))
    vx, vy, w = model.speeds("vx vy w", kinematics={x: vx * cos(a) + model.t, y: 2 * vy, a: w + vx})
    e = model.quaternion("e", speeds="wx wy wz")
    m, k = model.parameters(m=2.0, k=3.5)
    P = model.particle("P", mass=m, position=[x * y, sin(a), model.t * x])
    model.particle("V", mass=1.5, velocity=[vx, vy * x, 0])
    planar = model.body("planar", mass=m, inertia=k, position=[x, y], rotation=a * y)
    spatial = model.body("spatial", mass=m, inertia=[1, 2, 3], position=[x, y, a], rotation=e)
    matrix = sp.rot_ccw_axis3(a) * sp.rot_ccw_axis1(x)
    model.body("matrix", mass=m, inertia=[[2, 0.1, 0], [0.1, 3, 0], [0, 0, 4]], position=[0, 0, y], rotation=matrix)
    model.gravity([0.3, -9.81, 1])
    model.force([k * vx, y, 1], at=P)
    model.force([1, x, vy**2], at=[x * a, y, 0])
    model.torque(k * w, on=planar)
    model.torque([x, y, w], on=spatial)
    model.generalized_force({x: -k * x, vy: -(vy**3)})
    model.energy(kinetic=m * (x.diff() ** 2 + x * y.diff() * a.diff() + model.t * y.diff()), potential=k * x**2 * y)
    model.matrices(mass=sp.eye(6) * (2 + x**2), force=[vx, 0, 0, y, 0, 1])
    model.nonideal(force={a: -k * w})
    model.nonideal(vector=[vy, x, 0], at=P)
    model.constrain(x**2 + y * model.t - a, name="position")
    model.constrain(vx**2 + vy * w - y, name="velocity")
    model.constrain(x * w.diff() + vx.diff() + y.diff().diff() - vx * vy, name="acceleration")
    return model.compile()


class TestAgainstKernels:
    def check(self, system, m):
        t, q, u = random_state(system)
        parts = {name: system.evaluate("dynamics", t, q, u)[where] for name, (where, _) in system.parts.items()}
        expected = {
            "qdot": parts["coordinate_rates"],
            "M": parts["mass_matrix"],
            "f": parts["forces"],
            "A": parts["constraint_jacobian"],
            "b": parts["constraint_bias"],
            "W": parts["constraint_jacobian" if system.ideal else "directions"],
        }
        for name, values in expected.items():
            scale = 1.0 + np.abs(values).max(initial=0.0)
            found = numbers(getattr(m, name), m, system, t, q, u).ravel()
            np.testing.assert_allclose(found / scale, values / scale, rtol=0, atol=1e-12, err_msg=name)

    @pytest.mark.parametrize("name", SMALL)
    def test_problems(self, name):
        self.check(*derived(name))

    def test_every_kind_of_statement(self):
        system = everything()
        self.check(system, mechanics_of(system))


def arranged(system, m, kind):
    """What a formulation makes of matrices that are there already."""
    return WRITERS[kind.__name__](Case(system, m, None, kind())).matrices


class TestFormulations:
    @pytest.mark.parametrize("name", ["sliding_particle", "chaplygin_sleigh", "duffing_tracking", "spatial_four_bar"])
    def test_explicit_accelerations_are_those_of_the_engine(self, name):
        system, m = derived(name)
        equations, state = system.equations(), problems.get(name).state(system)
        found = numbers(equations.udot, m, system, state.t, state.q, state.u).ravel()
        np.testing.assert_allclose(found, state.udot, rtol=1e-11, atol=1e-11)
        la = numbers(equations["la"], m, system, state.t, state.q, state.u).ravel()
        np.testing.assert_allclose(la, state.multipliers, rtol=1e-11, atol=1e-11)

    @pytest.mark.parametrize("name", IDEAL)
    def test_arrangements_hold_for_the_accelerations(self, name):
        system, m = derived(name)
        at = random_state(system)
        M, f, A, b = (numbers(matrix, m, system, *at) for matrix in (m.M, m.f, m.A, m.b))
        K = np.block([[M, -A.T], [A, np.zeros((system.nc, system.nc))]])
        udot = np.linalg.solve(K, np.vstack([f, b]))[: system.nu]
        kane, minimal, null = (arranged(system, m, kind) for kind in (da.NonminimalKane, da.MinimalKane, da.NullSpace))
        order = [list(m.u).index(u) for u in (*kane["u_I"], *kane["u_D"])]
        independent = order[: kane["u_I"].rows]

        def check(matrices, left, right, x):
            found, expected = (numbers(matrices[name], m, system, *at) for name in (left, right))
            np.testing.assert_allclose(found @ x, expected, rtol=1e-9, atol=1e-9)

        check(kane, "T", "V", udot[order])
        check(minimal, "reduced_mass", "reduced_force", udot[independent])
        check(null, "DTM", "DTf", udot)
        A1, A2, D = (numbers(matrix, m, system, *at) for matrix in (kane["A1"], kane["A2"], null["D"]))
        np.testing.assert_allclose(A1 @ A2.T, 0, atol=1e-12)
        np.testing.assert_allclose(A @ D, 0, atol=1e-9 * (1 + np.abs(D).max(initial=0)))
        assert np.linalg.matrix_rank(D) == system.nu - system.nc

    def test_unconstrained_system(self):
        model = da.Model("free")
        x, y = model.coordinates("x y")
        k, m = model.parameters(k=2.0, m=3.0)
        model.particle("P", mass=m, position=[x, y])
        model.generalized_force({x: -k * x})
        system = model.compile()
        for kind in KINDS:
            assert is_zero(system.equations(kind()).udot - sp.Matrix([-k * x / m, 0]))

    def test_partition_of_the_user(self):
        system = problems.get("sliding_particle").system()
        equations = system.equations(da.NonminimalKane(u_ind=("u1",)))
        x, u1 = equations.coordinates[0], equations.speeds[0]
        l0, g, m = (sp.Symbol(n) for n in ("l0", "g", "m"))
        assert equations["A1"] == sp.Matrix([[2 * x / l0, 1]])  # (116)
        assert equations["A2"] == sp.Matrix([[1, -2 * x / l0]])
        assert equations["B"] == sp.Matrix([-2 * u1**2 / l0])  # (117)
        unit = {l0: 1, m: 1}
        expected = [-2 * x * (g + 2 * u1**2) / (1 + 4 * x**2), (4 * g * x**2 - 2 * u1**2) / (1 + 4 * x**2)]
        assert is_zero(equations.udot.subs(unit) - sp.Matrix(expected))  # (121), (122)

    def test_redundant_constraints(self):
        model = da.Model("twice")
        x, y = model.coordinates("x y")
        model.particle("P", mass=1, position=[x, y])
        model.constrain(x**2 + y**2 - 1, name="circle")
        model.constrain(2 * x**2 + 2 * y**2 - 2, name="again")
        system = model.compile()
        assert system.equations(da.NonminimalKane())["T"].shape == (2, 2)
        assert system.equations(da.NullSpace())["D"].shape == (2, 1)
        assert system.equations().udot is None


def test_example_1_of_kalaba_and_udwadia_is_equation_38():
    equations = problems.get("kalaba_udwadia_particle").system().equations(da.UdwadiaKalaba()).in_rates()
    x, _, z = equations.coordinates
    t = equations.time
    expected = z.diff(t) * x.diff(t) / (1 + z**2) * sp.Matrix([-z, 1, 0])
    assert sp.simplify(equations.udot) == sp.simplify(expected)
    assert is_zero(equations["constraint_force"] - expected)  # unit mass, no given forces
    assert is_zero(equations["feedback"])
    assert is_zero(equations["feed_forward"] - expected)


def test_feedback_and_feed_forward_of_a_tracking_control():
    """(32): the trajectory enters the feed-forward part alone, which depends on time only."""
    equations = problems.get("duffing_tracking").system().equations(da.UdwadiaKalaba())
    t = equations.time
    m1, m2, A, alpha, omega = (sp.Symbol(n) for n in ("m1", "m2", "A", "alpha", "omega"))
    track = A * sp.exp(-alpha * t) * sin(omega * t)
    expected = m1 * m2 / (m1 + m2) * track.diff(t, 2) * sp.Matrix([1, -1])
    assert is_zero(equations["feed_forward"] - expected)
    assert not equations["feedback"].has(omega)
    assert is_zero(equations["constraint_force"] - equations["feedback"] - equations["feed_forward"])


@pytest.fixture(scope="module")
def appell_hamel():
    return problems.get("appell_hamel").system().equations(da.NonminimalKane(u_ind=("u1", "u2")))


@pytest.fixture(scope="module")
def paper(appell_hamel):
    """Equations (65)-(76), (99), (100) of Bajodah, Hodges and Chen."""
    theta = appell_hamel.coordinates[0]
    u1, u2, u3, u4, _ = appell_hamel.speeds
    a, b, rho, m, M, inertia, g = (sp.Symbol(n) for n in ("a", "b", "rho", "m", "M", "I", "g"))
    c, s = cos(theta), sin(theta)
    n1 = rho**2 * u1 + rho * u3 * s - rho * u4 * c
    n2, n3, n4 = -(a**2) * u2, u3 + rho * u1 * s, u4 - rho * u1 * c
    n5, n6 = n3 * c + n4 * s, u3 * c + u4 * s
    A = sp.Matrix([[-rho * n4 - n1 * c, -n2 * c], [rho * n3 - n1 * s, -n2 * s], [0, -n5 * b]]) / n5  # (71)
    return {
        "J1": sp.Matrix([[n1, n2], [rho, 0], [0, b]]),  # (65)
        "J2": sp.Matrix([[n3, n4, 0], [s, -c, 0], [0, 0, 1]]),  # (66)
        "Amatrix": A,
        "B": n6 / n5 * sp.Matrix([-u1 * (n4 + rho * u1 * c), u1 * (n3 - rho * u1 * s), 0]),  # (72)
        "A1": (-A).row_join(sp.eye(3)),  # (75)
        "A2": sp.eye(2).row_join(A.T),  # (76)
        "Q": sp.Matrix(
            [
                [M * rho**2 + inertia, 0, M * rho * s, -M * rho * c, 0],
                [0, inertia, 0, 0, 0],
                [M * rho * s, 0, M + m, 0, 0],
                [-M * rho * c, 0, 0, M + m, 0],
                [0, 0, 0, 0, m],
            ]
        ),  # (99)
        "P": sp.Matrix([0, 0, -M * rho * u1**2 * c, -M * rho * u1**2 * s, -m * g]),  # (100)
    }


class TestAppellHamel:
    @pytest.mark.parametrize("name", ["Amatrix", "B", "A1", "A2", "Q", "P"])
    def test_entry_by_entry(self, appell_hamel, paper, name):
        assert appell_hamel[name].shape == paper[name].shape
        assert is_zero(appell_hamel[name] - paper[name])

    @pytest.mark.parametrize("name", ["J1", "J2"])
    def test_jacobians(self, appell_hamel, paper, name):
        """Rows here are thread, rolling, skidding; the paper has rolling, halved as in (60), skidding, thread."""
        rows = appell_hamel[name][1:, :].col_join(appell_hamel[name][:1, :])
        assert is_zero(sp.diag(sp.Rational(1, 2), 1, 1) * rows - paper[name])

    def test_system_44(self, appell_hamel, paper):
        assert is_zero(appell_hamel["T"] - paper["A1"].col_join(paper["A2"] * paper["Q"]))
        assert is_zero(appell_hamel["V"] - paper["B"].col_join(paper["A2"] * paper["P"]))
        assert appell_hamel.udot is None


def test_spatial_four_bar_is_equation_3_3():
    equations = problems.get("spatial_four_bar").system().equations()
    (q1, q2), (u1, u2) = equations.coordinates, equations.speeds
    m1, m2, g = (sp.Symbol(n) for n in ("m1", "m2", "g"))
    M11 = 4 * m1 / 3 + m2 * (1 + 4 * sin(q2) ** 2 / 3)
    G = sp.Matrix([[8 * sin(q1) * sin(q2) - 4 * cos(q1), -8 * cos(q1) * cos(q2)]])
    assert is_zero(equations["M"] - sp.Matrix([[M11, m2 * cos(q2)], [m2 * cos(q2), 4 * m2 / 3]]))
    assert is_zero(equations["A"] - G)
    f = [
        m2 * sin(q2) * (u2**2 - 8 * u1 * u2 * cos(q2) / 3),
        -m2 * g * sin(q2) + 4 * m2 * u1**2 * cos(q2) * sin(q2) / 3,
    ]
    assert is_zero(equations["f"] - sp.Matrix(f))
    assert is_zero(equations["saddle"][:2, 2:] + G.T)  # (2.40); (3.3) has the other sign of la


def test_car_is_equations_3_10_and_3_11():
    equations = problems.get("car").system().equations(da.NullSpace())
    _, _, phi, theta = equations.coordinates
    vx, vy, w, _ = equations.speeds
    a, b, m0, I0, inertia, F0, k1, k2 = (sp.Symbol(n) for n in ("a", "b", "m0", "I0", "I", "F0", "k1", "k2"))
    L = a + b
    row = [
        m0 * (L * cos(theta) * cos(phi) - b * sin(theta) * sin(phi)),
        m0 * (L * cos(theta) * sin(phi) + b * sin(theta) * cos(phi)),
        (I0 + inertia) * sin(theta),
        inertia * sin(theta),
    ]
    force = (F0 - k1 * (vx**2 + vy**2)) * L * cos(theta) - k2 * sin(theta) * w**2
    assert is_zero(equations["DTM"] - sp.Matrix([row, [0, 0, inertia, inertia]]))
    assert is_zero(equations["DTf"] - sp.Matrix([force, 0]))
    assert equations["DTE"] == sp.Matrix([0, 1])


def is_balanced(text):
    begins, ends = (re.findall(rf"\\{word}{{(\w+)}}", text) for word in ("begin", "end"))
    return (
        text.count("{") == text.count("}")
        and sorted(begins) == sorted(ends)
        and len(re.findall(r"\\left\b", text)) == len(re.findall(r"\\right\b", text))
    )


class TestDisplay:
    @pytest.mark.parametrize("name", ["knife_edge", "asymmetric_top", "duffing_tracking", "vertical_disk", "car"])
    def test_latex_is_balanced(self, name):
        text = problems.get(name).system().equations(da.NullSpace()).latex()
        assert text.startswith("\\begin{aligned}")
        assert is_balanced(text)
        assert "Derivative" not in text

    @pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
    def test_every_formulation(self, kind):
        equations = problems.get("pendulum").system().equations(kind())
        assert is_balanced(equations.latex())
        assert kind.__name__ in str(equations)
        assert "u' = [" in str(equations)

    def test_dots(self):
        equations = problems.get("kalaba_udwadia_particle").system().equations(da.UdwadiaKalaba()).in_rates()
        assert r"\ddot{x}" in equations.latex()
        assert r"\frac{z \dot{x} \dot{z}}{z^{2} + 1}" in equations.latex()

    def test_implicit_where_too_long(self, appell_hamel):
        assert "left implicit" in str(appell_hamel)
        _, m = derived("four_bar")  # few equations, but a solution of thousands of operations
        assert solve_motion(m) is None


class TestRefusals:
    def test_large_system(self):
        model = da.Model("large")
        q = model.coordinates("q1:14")
        model.matrices(mass=sp.eye(13), force=[0] * 13)
        assert len(q) == 13
        with pytest.raises(da.PairingError, match="has 13 speeds; symbolic equations are for systems of at most 12"):
            model.compile().equations()

    def test_pickled_system(self):
        system = pickle.loads(pickle.dumps(problems.get("pendulum").system()))
        with pytest.raises(da.PairingError, match=r"model.compile\(\)"):
            system.equations()

    def test_unknown_formulation(self):
        with pytest.raises(da.PairingError, match="use one of LagrangeMultipliers"):
            problems.get("pendulum").system().equations("kane")

    @pytest.mark.parametrize("kind", [da.UdwadiaKalaba, da.NonminimalKane, da.MinimalKane])
    def test_servo_constraints(self, kind):
        with pytest.raises(da.PairingError, match="`heading` is enforced by an unknown"):
            problems.get("car").system().equations(kind())

    def test_friction(self):
        model = da.Model("rubbing")
        x, y = model.coordinates("x y")
        P = model.particle("P", mass=1, position=[x, y])
        floor = model.constrain(y, name="floor")
        model.nonideal(floor, friction=0.3, at=P)
        with pytest.raises(da.PairingError, match="friction on `floor`"):
            model.compile().equations()

    def test_constraints_not_linear_in_the_accelerations(self):
        model = da.Model("curved")
        x, y = model.coordinates("x y")
        vx, vy = model.speeds("vx vy")
        model.particle("P", mass=1, position=[x, y])
        model.constrain(vx.diff() ** 2 + vy.diff() ** 2 - 1, name="thrust")
        with pytest.raises(da.PairingError, match="not linear in the accelerations"):
            model.compile().equations()

    def test_partitions_that_cannot_be(self):
        system = problems.get("chaplygin_sleigh").system()
        with pytest.raises(da.UnknownNameError, match="speeds"):
            system.equations(da.NonminimalKane(u_ind=("v", "nothing")))
        with pytest.raises(da.OptionError, match="2 degrees of freedom"):
            system.equations(da.NonminimalKane(u_ind=("v",)))
        with pytest.raises(da.OptionError, match="J2 is singular"):
            system.equations(da.MinimalKane(u_ind=("s", "w")))

    def test_unknown_matrix(self):
        with pytest.raises(da.UnknownNameError, match="LagrangeMultipliers equations"):
            problems.get("pendulum").system().equations()["T"]


def test_later_additions_to_the_model_do_not_reach_the_system():
    model = da.Model("growing")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1, position=[x, y])
    system = model.compile()
    model.particle("Q", mass=1, position=[x, y])
    assert system.equations()["M"] == sp.eye(2)

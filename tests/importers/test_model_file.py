"""Models written in TOML: the same motion as from Python, and every fault told with its place."""

import re
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert import problems

MODELS = Path(__file__).parents[2] / "docs" / "models"

PENDULUM = """
coordinates = ["x", "y"]
speeds = ["vx", "vy"]
gravity = [0, "-g"]
[parameters]
L = 1.0
m = 2.0
g = 9.81
[[particles]]
name = "P"
mass = "m"
position = ["x", "y"]
"""
ROD = '[[constraints]]\nname = "rod"\nexpression = "x**2 + y**2 - L**2"\n'


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "model.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def faults_of(write):
    def faults_of(text):
        with pytest.raises(da.ModelError) as caught:
            da.from_toml(write(text))
        assert "model.toml" in str(caught.value)
        return caught.value.faults

    return faults_of


def started(file):
    system = file.model.compile()
    return system, system.initial(file.given, guess=file.guess)


def expression_of(write, text, declarations=""):
    """What a text is read as, in a file with coordinates x, y, speeds vx, vy and parameters L, m, g."""
    file = da.from_toml(write(f"{PENDULUM}{declarations}\n[[constraints]]\nexpression = '''{text}'''\n"))
    return file.model.statement.constraints[0].expression


# -- motions -----------------------------------------------------------------------------------------------------------


def test_pendulum_of_the_documentation_swings_as_jacobi_says():
    file = da.from_toml(MODELS / "pendulum.toml")
    system, state = started(file)
    motion = system.simulate(state, file.t_end)
    assert motion.certificate.ok
    exact = problems.get("pendulum").exact(motion.t)
    np.testing.assert_allclose(motion["x"], -exact["x"], atol=1e-8)  # released on the other side
    np.testing.assert_allclose(motion["y"], exact["y"], atol=1e-8)
    assert system.rows[0].unit == "m^2"
    assert [name for name, _ in system.drawing.lines] == ["link"]


def test_four_bar_moves_as_that_of_the_catalogue():
    file, problem = da.from_toml(MODELS / "four_bar.toml"), problems.get("four_bar")
    assert file.t_end == problem.t_end
    system, state = started(file)
    motion, expected = system.simulate(state, 5.0), problem.simulate(t_end=5.0)
    for t in np.linspace(0.0, 5.0, 11):
        np.testing.assert_allclose(motion.at(t).q, expected.at(t).q, atol=1e-9)
        np.testing.assert_allclose(motion.at(t).multipliers, expected.at(t).multipliers, atol=1e-8)
    assert system.drawing == expected.system.drawing


def test_servo_constraint_gets_its_moment_from_the_unknown(write):
    file = da.from_toml(
        write("""
        coordinates = ["a"]
        unknowns = ["Md"]
        gravity = [0, "-g"]
        [parameters]
        L = 0.7
        m = 2.0
        g = 9.81
        w = "2*pi"
        [[bodies]]
        name = "rod"
        mass = "m"
        inertia = "m*L**2/12"
        position = ["L/2*sin(a)", "-L/2*cos(a)"]
        rotation = "a"
        [[torques]]
        on = "rod"
        vector = "Md"
        [[constraints]]
        name = "drive"
        expression = "a - sin(w*t)/2"
        servo = "Md"
        unit = "rad"
        """)
    )
    system, state = started(file)
    motion = system.simulate(state, 1.0)
    t, w = motion.t, 2 * np.pi
    a, rate = np.sin(w * t) / 2, -(w**2) * np.sin(w * t) / 2
    moment = 2.0 * 0.7**2 / 3 * rate + 2.0 * 9.81 * 0.35 * np.sin(a)
    np.testing.assert_allclose(motion["a"], a, atol=1e-10)
    np.testing.assert_allclose(motion["Md"], moment, atol=1e-8)


def test_bodies_forces_and_kinematics_balance(write):
    """A sleigh with speeds along and across: F pushes it, the skate bears what would slide."""
    file = da.from_toml(
        write("""
        coordinates = ["x", "y", "a"]
        speeds = ["along", "across", "w"]
        [parameters]
        m = 3.0
        J = 0.4
        F = 1.5
        c = 0.2
        [kinematics]
        x = "along*cos(a) - across*sin(a)"
        y = "along*sin(a) + across*cos(a)"
        a = "w"
        [[bodies]]
        name = "B"
        mass = "m"
        inertia = "J"
        position = ["x", "y"]
        rotation = "a"
        [[forces]]
        at = "B"
        vector = ["F*cos(a)", "F*sin(a)"]
        [[torques]]
        on = "B"
        vector = "F"
        [generalized_forces]
        w = "-c*w"
        [[constraints]]
        name = "skate"
        expression = "across"
        [initial]
        given = { along = 0.5, w = 1.0 }
        """)
    )
    system, state = started(file)
    assert [row.level for row in system.rows] == ["velocity"]
    motion = system.simulate(state, 3.0)
    t = motion.t
    w = 1.5 / 0.2 + (1.0 - 1.5 / 0.2) * np.exp(-0.2 / 0.4 * t)
    np.testing.assert_allclose(motion["along"], 0.5 + 0.5 * t, atol=1e-9)
    np.testing.assert_allclose(motion["w"], w, atol=1e-8)
    np.testing.assert_allclose(motion.multipliers[:, 0], 3.0 * motion["along"] * w, atol=1e-7)


def test_free_body_has_absolute_coordinates_and_an_energy(write):
    file = da.from_toml(
        write("""
        [parameters]
        k = 4.0
        [[bodies]]
        name = "B"
        mass = 1
        inertia = 0.1
        [energy]
        potential = "k*(B_x**2 + B_y**2)/2"
        [[constraints]]
        expression = "B_vy"
        [initial]
        guess = { B_x = 1.0 }
        """)
    )
    assert (file.model.name, file.t_end, file.tolerances) == ("model", 10.0, {})
    system, state = started(file)
    np.testing.assert_allclose(system.simulate(state, 2.0)["B_x"][-1], np.cos(4.0), atol=1e-9)


def test_default_speeds_are_known_by_name(write):
    text = PENDULUM.replace('speeds = ["vx", "vy"]', "").replace(
        "[parameters]", '[generalized_forces]\nx = "-3*x_dot"\n[parameters]'
    )
    file = da.from_toml(write(f"{text}{ROD}[initial]\ngiven = {{x = 0, x_dot = 1.0}}\nguess = {{y = -1}}\n"))
    _, state = started(file)
    assert state["x_dot"] == 1.0
    np.testing.assert_allclose(2.0 * state["x''"], -3.0, atol=1e-12)


def test_free_body_in_space_turns_as_euler_says(write):
    """Torque-free, nearly about its axis of symmetry: wx and wy turn at (J3 - J1) / J1 w3."""
    file = da.from_toml(
        write("""
        [[bodies]]
        name = "B"
        mass = 1.0
        inertia = [1, 1, "3/2"]
        [[lines]]
        points = [[0, 0, 0], "B"]
        [initial]
        given = { B_wx = 0.1, B_wz = 2.0 }
        """)
    )
    system, state = started(file)
    motion = system.simulate(state, 3.0)
    assert system.coordinates[3:] == ("B_e0", "B_e1", "B_e2", "B_e3")
    np.testing.assert_allclose(motion["B_wx"], 0.1 * np.cos(motion.t), atol=1e-9)
    np.testing.assert_allclose(motion["B_wy"], 0.1 * np.sin(motion.t), atol=1e-9)


def test_page_shows_the_file_its_use_and_its_faults(write, monkeypatch):
    page = (MODELS.parent / "model_files.md").read_text(encoding="utf-8")
    blocks = dict(re.findall(r"^```(\w*)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE))
    shown, code, message = blocks["toml"], blocks["python"], blocks[""]
    assert shown == (MODELS / "pendulum.toml").read_text(encoding="utf-8")
    monkeypatch.chdir(MODELS)
    names = {}
    exec(code, names)
    assert names["motion"].certificate.ok
    wrong = shown.replace("y**2", "z**2").replace("unit =", "units =").replace('0], "bob"', '0], "Bob"')
    monkeypatch.chdir(write(wrong).parent)
    with pytest.raises(da.ModelError) as caught:
        da.from_toml("model.toml")
    assert f"error: {caught.value}\n" == message.replace("pendulum.toml", "model.toml")


# -- expressions -------------------------------------------------------------------------------------------------------


def test_expressions_mean_what_sympy_means(write):
    x, y, vx = (sp.Function(name)(sp.Symbol("t")) for name in ("x", "y", "vx"))
    L, t = sp.symbols("L t")
    for text, expected in {
        "-x**2/3 + 2.5*L": -(x**2) / 3 + 2.5 * L,
        "-x**-y": -(x ** (-y)),
        "atan2(y, x) - pi*t": sp.atan2(y, x) - sp.pi * t,
        "sin(x) + cos(x) + tan(x) + asin(x) + acos(x) + atan(x)": sum(
            f(x) for f in (sp.sin, sp.cos, sp.tan, sp.asin, sp.acos, sp.atan)
        ),
        "exp(x) + log(L) + sqrt(L) + sinh(x) + cosh(x) + tanh(x)": (
            sp.exp(x) + sp.log(L) + sp.sqrt(L) + sp.sinh(x) + sp.cosh(x) + sp.tanh(x)
        ),
        "Abs(x) + sign(x) + Min(x, y, 1) + Max(x, L)": sp.Abs(x) + sp.sign(x) + sp.Min(x, y, 1) + sp.Max(x, L),
        "diff(x) + diff(vx) + diff(x*y, 2)": x.diff(t) + vx.diff(t) + (x * y).diff(t, 2),
        "x +\n  y": x + y,
    }.items():
        assert expression_of(write, text) == expected, text


def test_definitions_may_refer_to_each_other_in_any_order(write):
    x, y = (sp.Function(name)(sp.Symbol("t")) for name in ("x", "y"))
    found = expression_of(write, "b + 1", '[definitions]\nb = "2*a"\na = "x + y"')
    assert found == 2 * (x + y) + 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("__import__('os').system('true')", "is not allowed"),
        ("x.__class__", "is not allowed"),
        ("x.diff()", "is not allowed"),
        ("(lambda: x)()", "is not allowed"),
        ("[y for y in x]", "is not allowed"),
        ("'x'", "is not allowed"),
        ("x[0]", "is not allowed"),
        ("1j*x", "is not allowed"),
        ("True*x", "is not allowed"),
        ("x if y else L", "is not allowed"),
        ("x == L", "is not allowed"),
        ("x^2", "a power is written **"),
        ("sin(x, deg=1)", "is not allowed"),
        ("sin(*x)", "is not allowed"),
        ("eval(x)", "`eval` is not known in the functions"),
        ("sine(x)", "did you mean `sin`"),
        ("x**2 +", "is not an expression: invalid syntax at its end"),
        ("2x", "is not an expression"),
        ("", "is not an expression"),
        ("x # radius", "has a comment in it"),
        ("vxx + 1", "did you mean `vx`"),
        ("atan2(x)", "takes 2 arguments, got 1"),
        ("Min(x)", "takes 2 to 30 arguments"),
        ("diff(x, 3)", "reads diff(x) or diff(x, 2)"),
        ("9**9**9**9", "exponent"),
        ("(((2*x)**999)**999)**999", "too many digits"),
        ("(" * 500 + "x" + ")" * 500, "nested"),
        ("+".join(["x"] * 5000), "nested"),
        ("x*" * 20000 + "x", "longer than"),
        ("Min(sqrt(-1), x)", "`I` in `Min(sqrt(-1), x)` is not a real number"),
    ],
)
def test_text_that_is_no_expression_is_refused(faults_of, text, words):
    (fault,) = faults_of(f'{PENDULUM}[[constraints]]\nname = "rod"\nexpression = {text!r}\n')
    assert re.match(r"line \d+, column 14: \[\[constraints]] rod, expression: ", fault)
    assert words in fault


# -- faults ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("coordinates = 3", "`coordinates` must be a list of names"),
        ('coordinates = ["lambda"]', "'lambda' cannot be a name"),
        ('coordinates = ["t"]', "'t' cannot be a name"),
        ('coordinates = ["x", "x"]', "already declared"),
        ('cordinates = ["x"]', "did you mean `coordinates`"),
        ("name = 3", "name must be a string"),
        ('coordinates = ["x"]\ngravity = [0, "-G"]', "gravity[1]: `G` is not known in `-G`"),
        ('coordinates = ["x"]\ngravity = 9.81', "gravity must have 2 or 3 components"),
        ("parameters = 3", "[parameters] must be a table"),
        ('[parameters]\n"a b" = 1', "'a b' cannot be a name"),
        ('[parameters]\nL = "2*x"', "[parameters] L: `x` is not known"),
        ('[parameters]\nL = "t"', "[parameters] L must be a real number"),
        ("[parameters]\nL = true", "an expression is a string or a number, got True"),
        ("[parameters]\nL = inf", "it must be finite"),
        ("[parameters]\nL = 1\n[definitions]\nL = 2", "declared already"),
        ('[definitions]\na = "b"\nb = "a"', "it is given in terms of itself (a -> b)"),
        ('[definitions]\na = "z"', "[definitions] a: `z` is not known"),
        ('coordinates = ["x"]\n[kinematics]\nx = "1"', "name these by `speeds`"),
        ('coordinates = ["angle"]\nspeeds = ["v"]\n[kinematics]\nangel = "v"', "did you mean `angle`"),
        ("particles = 3", "each under [[particles]]"),
        ('[[particles]]\nname = "P"', "[[particles]] P needs `mass`"),
        ('[[particles]]\nname = "P"\n[[forces]]\nat = "P"\nvector = [0, 0]', "[[particles]] P needs `mass`"),
        ('[[particles]]\nname = "P"\nmass = 1', "neither position nor velocity"),
        ('[[particles]]\nname = "P"\nmass = 1\nposition = [0, 0]\nvelocty = [0, 0]', "did you mean `velocity`"),
        ('[[particles]]\nname = "a b"\nmass = 1\nposition = [0, 0]', "'a b' cannot be a name"),
        ("[[bodies]]\nmass = 1", "[[bodies]] 1 needs `name` and `inertia`"),
        ('[[forces]]\nat = "Q"\nvector = [1, 0]', "[[forces]] 1, at: `Q` is not known in the particles and bodies"),
        ('[[torques]]\non = "Q"\nvector = 1', "[[torques]] 1, on: `Q` is not known"),
        ("[[torques]]\non = [0, 0]\nvector = 1", "a torque acts on a body"),
        ('coordinates = ["angle"]\n[generalized_forces]\nangel = 1', "did you mean `angle`"),
        ("[energy]\nkinetik = 1", "did you mean `kinetic`"),
        ('[[constraints]]\nexpression = "1"\nservo = "Md"', "servo `Md` is not among"),
        ('[[constraints]]\nexpression = "1/0"', "must be finite"),
        ('[[constraints]]\nexpression = ["1"]\nunit = 3', "unit must be a string, got 3"),
        ("[[constraints]]\nexpression = 1\nname = [1]", "name must be a string, got [1]"),
        (2 * '[[constraints]]\nexpression = 1\nname = "a"\n', "already declared"),
        ('[[lines]]\npoints = ["a b"]\n[[bodies]]\nname = "a b"\nmass = 1\ninertia = 1', "'a b' cannot be a name"),
        ("[[constraints]]\nexpression = true", "an expression is a string or a number"),
        ("[[lines]]\npoints = 3", "must be a list of points"),
        ('[[lines]]\npoints = ["P"]', "[[lines]] 1, points[0]: `P` is not known"),
        ("[initial]\ngiven = 3", "[initial] given must be a table"),
        ('coordinates = ["angle"]\n[initial]\nguess = {angel = 1}', "did you mean `angle`"),
        ('coordinates = ["x"]\n[initial]\nguess = {x = "one"}', "[initial] guess.x: `one` is not known"),
        ("[run]\nt_end = -1", "[run] t_end is -1; it must be positive"),
        ("[run]\nt_end = nan", "[run] t_end is nan; it must be finite"),
        ("[run]\nrtol = 0", "[run] rtol is 0; it must be positive"),
        ("[run]\ntend = 1", "did you mean `t_end`"),
        ("L = 1\nL = 2\n", "this is not TOML: Cannot overwrite a value (at line 2, column 6)"),
    ],
)  # fmt: skip
def test_fault_is_told_with_its_place_and_a_remedy(faults_of, text, words):
    (fault,) = faults_of(text)
    assert words in fault


def test_all_faults_are_told_at_once(faults_of):
    faults = faults_of(
        PENDULUM
        + ROD.replace("y**2 - L**2", "z**2 - LL**2")
        + '[[forces]]\nat = "Q"\nvector = [1, 0, 0, 0]\n[initial]\ngiven = {vz = 1}\n[runs]\nt_end = 3\n'
    )
    assert len(faults) == 5
    assert sum("rod, expression" in fault for fault in faults) == 2


def test_what_a_model_finds_out_later_is_told_by_compile(write):
    with pytest.raises(da.ModelError, match="nothing has inertia"):
        da.from_toml(write('coordinates = ["x"]')).model.compile()


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(da.ModelError, match=r"nothing\.toml.*\n.*No such file"):
        da.from_toml(tmp_path / "nothing.toml")
    (tmp_path / "latin.toml").write_bytes(b'name = "\xe9"')
    with pytest.raises(da.ModelError, match="not UTF-8"):
        da.from_toml(tmp_path / "latin.toml")

"""Model files beyond the model: parameters of parameters, events, clocks, run settings; and what slips are told."""

from pathlib import Path

import numpy as np
import pytest

import dalembert as da

MODELS = Path(__file__).parents[2] / "docs" / "models"

BALL = """
coordinates = ["y"]
speeds = ["v"]
gravity = [0, "-g"]
[parameters]
g = 9.81
h = "2*k/3"
k = 3
e = 0.5
[[particles]]
name = "ball"
mass = 1
position = [0, "y"]
[initial]
given = { y = "h", v = 0 }
"""
DRIVEN = """
coordinates = ["x"]
speeds = ["v"]
[parameters]
F = 0
[[particles]]
name = "cart"
mass = 2
position = ["x", 0]
[generalized_forces]
x = "F"
[initial]
given = { x = 1, v = 0 }
[run]
t_end = 1
[[clocks]]
dt = 0.1
then = { F = "-4*x - v" }
"""


@pytest.fixture
def read(tmp_path):
    def read(text):
        path = tmp_path / "model.toml"
        path.write_text(text, encoding="utf-8")
        return da.from_toml(path)

    return read


@pytest.fixture
def fault_of(read):
    def fault_of(text):
        with pytest.raises(da.ModelError) as caught:
            read(text)
        (fault,) = caught.value.faults
        return fault

    return fault_of


def moved(file, **changes):
    system = file.model.compile()
    state = system.initial(file.given, guess=file.guess, parameters=changes)
    return system.simulate(state, file.t_end, **file.options)


def test_parameters_follow_those_they_are_given_by(read):
    file = read(BALL.replace('y = "h"', "y = 2"))
    assert {p.name: v for p, v in file.model.statement.parameters.items()} == {"g": 9.81, "h": 2.0, "k": 3.0, "e": 0.5}
    system = file.model.compile()
    state = system.initial(file.given, guess=file.guess, parameters={"k": 6.0})
    assert (state["k"], state["h"]) == (6.0, 4.0)
    assert system.initial(file.given, guess=file.guess, parameters={"k": 6.0, "h": 1.0})["h"] == 1.0


def test_ring_of_parameters_is_named(fault_of):
    fault = fault_of(BALL.replace("k = 3", 'k = "3*h"').replace('y = "h"', "y = 2"))
    assert fault.startswith("line 7, column 5: [parameters] h: it is given in terms of itself (h -> k -> h)")


@pytest.mark.parametrize("value", ["3/0", "sqrt(-2)", "log(k - k)"])
def test_a_parameter_that_is_no_number_is_named(value, fault_of):
    fault = fault_of(BALL.replace("g = 9.81", f'g = "{value}"').replace('y = "h"', "y = 2"))
    assert "[parameters] g: " in fault
    assert f"`{value}` is not a real number" in fault


def test_ball_bounces_as_newton_says(read):
    """Falls 2 m, rebounds with half its speed: impacts at t1 and t1 + 2 e v1 / g."""
    event = '[[events]]\nexpression = "y"\ndirection = -1\nname = "floor"\nthen = { v = "-e*v" }\n'
    motion = moved(read(BALL.replace('y = "h"', "y = 2") + "[run]\nt_end = 1.4\n" + event))
    v1 = np.sqrt(2 * 9.81 * 2)
    first = v1 / 9.81
    times = [occurrence.t for occurrence in motion.events if occurrence.name == "floor"]
    np.testing.assert_allclose(times, [first, first + v1 / 9.81], rtol=1e-9)


def test_clock_samples_a_controller(read):
    """Between ticks the force is constant, so the motion is a parabola from tick to tick."""
    motion = moved(read(DRIVEN))
    x, v = 1.0, 0.0
    for _ in range(10):
        a = (-4 * x - v) / 2
        x, v = x + 0.1 * v + 0.005 * a, v + 0.1 * a
    np.testing.assert_allclose([motion["x"][-1], motion["v"][-1]], [x, v], rtol=1e-9)


def test_run_settings_choose_the_ingredients(read):
    run = (
        '[run]\nt_end = 2\nformulation = "NonminimalKane"\ndrift = { kind = "Baumgarte", gamma1 = 20, gamma2 = 100 }\n'
        'integrator = { kind = "RK4", step = 0.01 }\n'
    )
    file = read(BALL.replace('y = "h"', "y = 2") + run)
    assert file.options["formulation"] == da.NonminimalKane()
    assert file.options["drift"] == da.Baumgarte(20, 100)
    assert file.options["integrator"] == da.RK4(step=0.01)


def test_degrees_are_a_unit(read):
    file = read(BALL.replace('y = "h"', 'y = "30*deg"'))
    assert file.given["y"] == pytest.approx(np.pi / 6, rel=1e-15)


def test_mark_before_the_text_does_no_harm(tmp_path):
    path = tmp_path / "bom.toml"
    path.write_bytes(b"\xef\xbb\xbf" + BALL.replace('y = "h"', "y = 2").replace("=", "\t=\t").encode())
    assert da.from_toml(path).given["y"] == 2.0


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("L = 2*pi", 'line 2, column 6); expressions and names stand in quotes: write L = "2*pi"'),
        ("L = k", 'write L = "k"'),
        ("L = 100 deg", 'write L = "100*deg"'),
        ("L = \u201c2*pi\u201d", "write straight quotes"),
        ("L =", "`L` needs a value"),
        ("L = .5", "write L = 0.5"),
        ("L = 5.", "write L = 5.0"),
        ("L = 0,5", "numbers have a point: write L = 0.5"),
        ("L = 007", "write L = 7"),
        ("L = True", "write L = true"),
        ("L = 3 m/s", "numbers stand without units: write L = 3"),
        ("L = 30\u00b0", 'write L = "30*deg"'),
        ("L = 1 // length", "comments begin with #: write L = 1"),
        ("L = 1; m = 2", "one pair stands in each line, without semicolons: write L = 1"),
        ("L: 1", "line 2, column 2); write L = 1"),
        ("my L = 1", "a name has no blanks: write my_L = ..."),
        ("L = 1\nL = 2", "line 3, column 6); this key is given twice in its table"),
        ("L = 1\n[parameters]", "put all its lines under one heading"),
        ('L = ["x" "y"]', "a list has commas between its entries"),
        ("L = { x = 1, }", "a table in braces stands in one line"),
        ('L = "2', "a text ends in the line in which it begins"),
        ("\u03b1 = 1", 'write "\u03b1" = 1'),
        ("L\u00a0= 1", "there is an unseen character (U+00A0)"),
        ("L = \u22121", "write the minus sign - of the keyboard"),
    ],
)
def test_slip_is_told_with_what_to_write(fault_of, line, words):
    assert words in fault_of(f"[parameters]\n{line}\n")


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("2x - 1", "a product needs its *: write 2*x"),
        ("x = 1", "an expression has no =: write x - (1), which is to be zero"),
        ("x == 1", "an expression has no =: write x - (1), which is to be zero"),
        ("sin x", "write sin(x)"),
        ("x^2", "a power is written **"),
        ("arcsin(x)", "did you mean `asin`"),
    ],
)
def test_slip_in_an_expression_is_told_with_what_to_write(fault_of, expression, words):
    fault = fault_of(f'coordinates = ["x"]\n[[constraints]]\nexpression = "{expression}"\n')
    assert fault.startswith("line 3, column 14: [[constraints]] 1, expression: ")
    assert words in fault


def test_long_lines_and_other_encodings_are_refused_quickly(fault_of, tmp_path):
    assert "not TOML" in fault_of("[parameters]\nL = " + " ;" * 50_000)
    for encoding in ("utf-16", "latin-1"):
        (tmp_path / "other.toml").write_bytes("[parameters]\n\u00e4 = 1\n".encode(encoding))
        with pytest.raises(da.ModelError, match="save it as UTF-8"):
            da.from_toml(tmp_path / "other.toml")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[run]\nintegrator = "Rk4"', "`Rk4` is not known in the choices for `integrator`; did you mean `RK4`?"),
        ('[run]\nintegrator = { kind = "RK4", stp = 1 }', "`stp` is not known in the options of RK4"),
        ('[run]\nintegrator = { kind = "RK4", step = -1 }', "line 2, column 14: [run] integrator: "),
        ('[run]\nintegrator = { kind = "RK4", step = 0.1 }\nrtol = 1e-8', "belong in the table of the integrator"),
        ('[[joints]]\nname = "j"', "`kind` is missing; it says what to build: revolute, prismatic"),
        ('[[joints]]\nkind = "hinge"', "'hinge' is not one of them"),
        ('[[joints]]\nkind = "rod"\nname = "r"\nfirst = "ground"\nsecond = "P"', "needs `length`"),
        (
            '[[joints]]\nkind = "rod"\nname = "r"\nfirst = "ground"\nsecond = "P"\nlength = 1',
            "line 5, column 10: [[joints]] r, second: `P` is not known in the particles and bodies",
        ),
        (
            '[[elements]]\nkind = "spring"\nname = "s"\nfirst = { bod = 1 }\nsecond = "ground"\nstiffness = 1',
            "a marker",
        ),
        ('[[beems]]\nname = "b"', "line 1, column 1: `beems` is not known in the file; did you mean `beams`"),
        ('[[events]]\nexpression = "1"', "is a constant and never crosses zero"),
        (
            '[[tables]]\nname = "f"\ntimes = [0, 1, 1]\nvalues = [0, 1, 2]',
            "line 1, column 1: [[tables]] f: table `f`: times must increase",
        ),
        ('[[tables]]\nname = "f"\ntimes = [0, "b"]\nvalues = [0, 1]', "line 3, column 9: [[tables]] f, times[1]: `b`"),
        ('[[tables]]\nname = "f"\ntimes = [0, 1]\nvalues = [0, 1]\nkind = "square"', "kind is 'square'"),
        (
            'coordinates = ["x"]\n[energy]\npotential = "2*f"\n[[tables]]\nname = "f"\ntimes = [0, 1]\nvalues = [0, 1]',
            "`f` in `2*f` is a table; apply it, as in f(t)",
        ),
    ],
)
def test_fault_of_a_table_is_told_with_its_place(fault_of, text, words):
    assert words in fault_of(text)


def test_slider_crank_of_the_documentation_makes_ten_turns():
    """The motor's work and the spring's end up as kinetic energy; the run stops after ten turns."""
    file = da.from_toml(MODELS / "slider_crank.toml")
    motion = moved(file)
    assert motion.certificate.ok
    assert motion["crank_a"][-1] == pytest.approx(20 * np.pi, rel=1e-12)
    work = 4.0 * (20 * np.pi - np.pi / 3)
    assert motion.energy[-1] - motion.energy[0] == pytest.approx(work, rel=1e-9)
    system = motion.system
    longer = system.parameter_values({"L": 0.4})[system.parameters.index("rod")]
    assert longer == pytest.approx(1.2)


def test_table_is_an_input_of_a_file(read, tmp_path):
    """A cart pushed by a polyline: its speed is the integral of the force, 1/2 after 1 s and 1 after 2 s."""
    table = '[[tables]]\nname = "push"\ntimes = [0, 1, 2]\nvalues = [0, 1, 0]\n'
    text = DRIVEN[: DRIVEN.index("[[clocks]]")].replace('x = "F"', 'x = "2*push(t)"').replace("t_end = 1", "t_end = 2")
    file = read(text + table)
    motion = moved(file)
    assert motion.sample("v", [1.0, 2.0]) == pytest.approx([0.5, 1.0], rel=1e-10)
    again = da.from_toml(file.model.to_toml(tmp_path / "again.toml", given=file.given, t_end=file.t_end))
    np.testing.assert_array_equal(moved(again)["v"], motion["v"])

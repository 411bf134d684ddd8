"""Model files that mean harm, or nothing: told as faults, never a traceback, never a control character printed."""

import os
import threading
import time
from itertools import islice

import pytest
from mutations import MODELS, mutations
from typer.testing import CliRunner

import dalembert as da
from dalembert.cli import app
from dalembert.equations import kernels
from dalembert.native.engine_object import engine
from dalembert.native.kernel import compile_kernel
from dalembert.printable import controls_in

HEAD = 'coordinates = ["x", "y"]\nspeeds = ["vx", "vy"]\n'
PARTICLE = '[[particles]]\nname = "P"\nmass = 1\nposition = ["x", "y"]\n'
COUNT = 300
SEED = 17
HANGS = 2.0  # seconds of processor time after which a user thinks so


def constrained(expression, declarations=""):
    return f'{HEAD}{declarations}{PARTICLE}[[constraints]]\nname = "rod"\nexpression = """{expression}"""\n'


def doubled(first, step, count=60):
    lines = "".join(f'a{k + 1} = "{step.format(f"a{k}")}"\n' for k in range(count))
    return f'[definitions]\na0 = "{first}"\n{lines}'


def nested(opening, closing=")", count=200):
    return opening * count + "x" + closing * count


def check(path):
    """What `dalembert check` does with a file; raises what is no orderly end."""
    result = CliRunner().invoke(app, ["check", str(path)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code in (0, 1)
    assert not controls_in(result.output.replace("\n", ""))
    return result


HOSTILE = {
    "products": (constrained("x*a60", doubled("7**300", "{0}*{0}")), "too many digits"),
    "fractions": (constrained("x + 1/3**400 + 1/7**300 + 1/11**250"), "too many digits"),
    "long number": (constrained("x - " + "9" * 4000), "too many digits"),
    "operations": (constrained("x*a60", doubled("x + y", "sin({0}) + {0}*cos({0})")), "operations when written out"),
    "derivative": (constrained("diff(a5, 2)", doubled("x", "sin({0}) + {0}*cos({0})", 6)), "is taken of more than"),
    "maximum": (constrained(f"Max({', '.join(f'x + {k}*y' for k in range(98))})"), "takes 2 to 30 arguments, got 98"),
    "overflow": (constrained("x - exp(1e300)"), "beyond the range of double precision"),
    "complex": (
        constrained("x - sin((acos(Abs((asin(5))**999)))**(acos(Abs((asin(5))**999))))"),
        "`asin(5)` in `x - sin((acos(Abs((asin(5))**999)))**(acos(Abs((asin(5))**999))))` is not a real number",
    ),
    "root": (constrained("x - (-2)**0.5"), "is not a real number"),
    "parentheses": (constrained(nested("(", count=500)), "nested"),
    "sines": (constrained(nested("sin(")), "nested too deeply"),
    "absolute values": (constrained(nested("Abs(y - ")), "nested too deeply"),
    "definitions": (constrained("a60", doubled("x", "sin({})")), "nested too deeply"),
    "coordinates": (f"coordinates = {[f'x{k}' for k in range(3000)]}", "coordinates has 3,000 entries"),
    "bodies": (
        "".join(f'[[bodies]]\nname = "B{k}"\nmass = 1\ninertia = [1, 1, 1]\n' for k in range(40)),
        "more than 200 coordinates",
    ),
    "constraints": (HEAD + PARTICLE + '[[constraints]]\nexpression = "x"\n' * 1000, "constraints has 1,000 entries"),
    "parameters": ("[parameters]\n" + "".join(f"p{k} = 1\n" for k in range(9000)), "parameters has 9,000 entries"),
    "start": (constrained("x*y - 1") + "[initial]\ngiven = {x = 1e200}\n", "given.x is 1e+200"),
    "parameter": (constrained("x - L", "[parameters]\nL = -1e200\n"), "L is -1e+200"),
    "integer": ("[parameters]\nL = 0x" + "f" * 5000, "more than 300 digits"),
    "decimal": ("[parameters]\nL = " + "9" * 5000, "not TOML"),
    "lists": ("gravity = " + "[" * 5000 + "]" * 5000, "nested more than 12 deep"),
    "tables": ("gravity = " + "{a = " * 300 + "1" + "}" * 300, "nested more than 12 deep"),
    "dotted": (".".join(["a"] * 50_000) + " = 1", "more than 12 parts"),
    "quoted dots": ('"a" . ' * 20_000 + '"a" = 1', "more than 12 parts"),
    "large": ("# " + "x" * 300_000, "larger than 200,000 bytes"),
    "faults": (constrained(" + ".join(f"z{k}" for k in range(900))), "there may be more"),
    "title": ('name = "\\u001b]0;owned\\u0007"\n' + constrained("x"), r"name has the control character \x1b"),
    "key": ('"\\u001b[31mred" = 1', r"the name `\x1b[31mred` has the control character"),
    "unit": (constrained("x") + 'unit = "\\u009b31m"\n', r"constraints[0].unit has the control character \x9b"),
    "right to left": (constrained("x") + 'unit = "\\u202em"\n', r"has the control character \u202e"),
    "two lines": (constrained("x") + 'unit = "m\\nOK"\n', "must be a text of one line"),
    "singular": (
        f'{HEAD}[[bodies]]\nname = "B"\nmass = 1\ninertia = 1\nposition = ["x", "y"]\nrotation = "log(x)"\n',
        "not finite",
    ),
    "flat": (constrained("sign(y)**999"), "constraint `rod` does not restrain any speed"),
    "idle servo": (
        constrained("sin(y)**2 + cos(y)**2 - 1", 'unknowns = ["F"]\n')
        + 'servo = "F"\n[[forces]]\nat = "P"\nvector = ["F", 0]\n',
        "`F(t)` is not determined: constraint `rod` does not depend",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_with_a_reason(name, tmp_path):
    text, words = HOSTILE[name]
    path = tmp_path / "hostile.toml"
    path.write_text(text, encoding="utf-8")
    result = check(path)
    assert result.exit_code == 1
    assert words in result.output.replace("\n", " ")
    assert len(result.output) < 50_000


def test_control_characters_of_a_file_name_are_not_printed(tmp_path):
    for name in ("\x1b[31mred.toml", "\u202etxt.toml"):
        result = check(tmp_path / name)
        assert result.exit_code == 1
        (tmp_path / name).write_text(constrained("x"), encoding="utf-8")
        assert check(tmp_path / name).exit_code == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.toml")
    ended = threading.Event()

    def read():
        with pytest.raises(da.ModelError, match="not a regular file"):
            da.from_toml(tmp_path / "pipe.toml")
        ended.set()

    threading.Thread(target=read, daemon=True).start()
    assert ended.wait(60.0)


def timed_check(path):
    """The exit code of `check`, and the seconds of processor time it took."""
    begin = time.process_time()
    return check(path).exit_code, time.process_time() - begin


def exit_codes(tmp_path, seed, count):
    """What `check` ends with for mutated files, and the most processor time that one of them takes."""
    path, codes, longest = tmp_path / "mutated.toml", set(), 0.0
    for text in islice(mutations(seed), count):
        path.write_text(text, encoding="utf-8", newline="")
        code, taken = timed_check(path)
        codes.add(code)
        longest = max(longest, taken)
    return codes, longest


def test_checking_waits_for_no_long_kernel(tmp_path, monkeypatch):
    """A state and a diagnosis take a few evaluations; machine code of a bicycle would take a second."""
    made = []

    def note(function, **options):
        made.append(compile_kernel(function, **options))
        return made[-1]

    engine()
    monkeypatch.setattr(kernels, "compile_kernel", note)
    monkeypatch.setenv("DALEMBERT_CACHE_DIR", str(tmp_path))  # not met before
    assert check(MODELS / "bicycle.toml").exit_code == 0
    long = [kernel for kernel in made if kernel.instructions > kernels.PROMPT_KERNEL]
    assert long
    assert {kernel.backend for kernel in long} == {"interpreter"}


def test_mutated_files_end_orderly(tmp_path):
    assert exit_codes(tmp_path, SEED, COUNT)[0] == {0, 1}  # some of them are still models


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_ten_thousand_mutated_files_end_orderly(seed, tmp_path, monkeypatch):
    check(tmp_path / "none.toml")  # imports are not part of it
    engine()  # nor what is built once per installation
    monkeypatch.setenv("DALEMBERT_CACHE_DIR", str(tmp_path / "kernels"))  # none of these models was met before
    codes, longest = exit_codes(tmp_path, seed, 1000)
    assert codes == {0, 1}
    assert longest < HANGS


REPEATED = {
    "roots": "sqrt(sqrt({a} + x) + sqrt({a} + 2*x) + sqrt({a} + 3*x))",
    "products of roots": "sqrt({a} + x)*sqrt({a} + 2*x)*sqrt({a} + 3*x)",
    "hyperbolic": "tanh({a}*{a} + x)",
    "larger of two": "Max({a}, sqrt({a} + x))",
    "numbers": "sqrt({a} + 2 - 0*x)*sqrt({a} + 3)",
}


@pytest.mark.parametrize("name", REPEATED)
def test_definitions_that_repeat_each_other_are_read_and_compiled(name, tmp_path, bounded):
    """As many levels as a file may have: a text of less than 1,000 bytes."""
    for levels in range(12, 1, -1):
        texts = [f'a{k} = "{REPEATED[name].format(a=f"a{k - 1}")}"\n' for k in range(1, levels)]
        definitions = "[definitions]\n" + 'a0 = "sqrt(2)"\n' * (name == "numbers") + 'a0 = "x"\n' * (name != "numbers")
        path = tmp_path / "repeated.toml"
        path.write_text(constrained(f"y - a{levels - 1}", definitions + "".join(texts)), encoding="utf-8")
        with bounded(60.0):
            result = check(path)
        if "nested too deeply" not in result.output and "operations when written out" not in result.output:
            break
    assert levels > 4
    assert path.stat().st_size < 1000
    assert result.exit_code == 0, result.output

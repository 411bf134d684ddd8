"""Model files gone wrong: random but repeatable changes of good ones, from slips of the keyboard to bombs."""

import random
import re
from collections.abc import Iterator
from pathlib import Path

MODELS = Path(__file__).parents[2] / "docs" / "models"

SLEIGH = """
coordinates = ["x", "y", "a"]
speeds = ["along", "across", "w"]
unknowns = ["Md"]
[parameters]
m = 3.0
J = 0.4
F = 1.5
[definitions]
c = "cos(a)"
s = "sin(a)"
[kinematics]
x = "along*c - across*s"
y = "along*s + across*c"
a = "w"
[[bodies]]
name = "B"
mass = "m"
inertia = "J"
position = ["x", "y"]
rotation = "a"
[[forces]]
at = "B"
vector = ["F*c", "F*s"]
[[torques]]
on = "B"
vector = "Md"
[generalized_forces]
w = "-0.2*w"
[[constraints]]
name = "skate"
expression = "across"
[[constraints]]
name = "drive"
expression = "w - 1 - sin(t)"
servo = "Md"
[initial]
given = { along = 0.5 }
"""
FREE = """
gravity = [0, 0, -9.81]
[[bodies]]
name = "B"
mass = 1.0
inertia = [1, 1, "3/2"]
[energy]
potential = "2*(B_x**2 + B_y**2)"
[[constraints]]
expression = "B_z - B_x**2"
[[lines]]
points = [[0, 0, 0], "B"]
[initial]
given = { B_wx = 0.1 }
guess = { B_x = 1.0 }
[run]
t_end = 0.1
"""
NUMBERS = [
    "0", "-1", "1e200", "-1e99", "1e-300", "nan", "inf", "-inf", "1e999", "9" * 400, "9" * 5000, "0x" + "f" * 300,
    "true", "1.5", "[1]", "{}", '""', "1979-05-27",
]  # fmt: skip
ATOMS = [
    "x", "y", "a", "t", "pi", "zz", "0", "1/0", "1e300", "exp(1e300)", "10**400", "7**999", "9**9**9", "sqrt(-1)",
    "log(0)", "log(x)", "Abs(x)", "sign(y)", "1/x", "diff(x)", "diff(x, 2)", "diff(diff(x, 2))", "x**x",
    "atan2(0, 0)", "x.y", "x[0]", "tan(pi/2)", "asin(5)",
    "Max(x, y, 1, a)", "Min(x, sqrt(-1))", "(x", "lambda: x", "\\u001b[31m",
    "\x85", "'", "é", "x y",
]  # fmt: skip
WRAPPERS = ["sin({})", "Abs({})", "-({})", "({})**2", "({})**999", "exp({})", "log({})", "sqrt({})", "1/({})",
            "({0})*({0})", "diff({})", "Max({}, 1)", "({})**({})", "acos({})", "({}) + ({})"]  # fmt: skip


def seeds() -> list[str]:
    """Good files."""
    return [*(path.read_text(encoding="utf-8") for path in sorted(MODELS.glob("*.toml"))), SLEIGH, FREE]


def mutations(seed: int) -> Iterator[str]:
    """Changed files without end, always the same for one seed."""
    rng, good = random.Random(seed), seeds()
    while True:
        text = rng.choice(good)
        for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
            text = rng.choice(CHANGES)(rng, text)
        yield text


def _lines(rng: random.Random, text: str) -> str:
    lines = text.split("\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(4):
        case 0:
            del lines[i]
        case 1:
            lines[i], lines[j] = lines[j], lines[i]
        case 2:
            lines[i:i] = [lines[j]] * rng.choice((1, 2, 50))
        case 3:
            del lines[min(i, j) : max(i, j)]
    return "\n".join(lines)


def _characters(rng: random.Random, text: str) -> str:
    i = rng.randrange(len(text) + 1)
    junk = rng.choice(
        ["", "\x00", "\x1b[2J", "\u202e", '"', "[", "]", "{", "=", "'''", ".", "#", "\r", "\ufeff", "\\", "("]
    )
    return text[:i] + junk * rng.choice((1, 1, 3, 500)) + text[i + rng.randrange(4) :]


def _number(rng: random.Random, text: str) -> str:
    return _replaced(rng, text, r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])", lambda _: rng.choice(NUMBERS))


def _name(rng: random.Random, text: str) -> str:
    words = re.findall(r"[A-Za-z_]\w*", text) or ["x"]
    return _replaced(rng, text, r"[A-Za-z_]\w*", lambda _: rng.choice([*words, *ATOMS]))


def _expression(rng: random.Random, text: str) -> str:
    def wrapped(found: str) -> str:
        inside = found[1:-1]
        for _ in range(rng.choice((1, 1, 2, 5, 15, 60))):
            inside = rng.choice(WRAPPERS).format(*[rng.choice((inside, inside, rng.choice(ATOMS)))] * 2)
            if len(inside) > 30_000:
                break
        return f'"{inside}"'

    return _replaced(rng, text, r'"[^"\n]*"', wrapped)


def _atom(rng: random.Random, text: str) -> str:
    return _replaced(rng, text, r'"[^"\n]*"', lambda _: f'"{rng.choice(ATOMS)}"')


def _replaced(rng: random.Random, text: str, pattern: str, change) -> str:
    """One match of a pattern changed."""
    found = [*re.finditer(pattern, text)]
    if not found:
        return text
    match = rng.choice(found)
    return text[: match.start()] + change(match[0]) + text[match.end() :]


CHANGES = (_lines, _characters, _number, _number, _name, _name, _expression, _expression, _atom)

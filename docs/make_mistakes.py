"""Make every mistake of a list and write the message it gets into mistakes.md: python docs/make_mistakes.py."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any, NamedTuple

PAGE = Path(__file__).parent / "mistakes.md"
BEGIN, END = "<!-- made by docs/make_mistakes.py -->\n", "<!-- end of what was made -->\n"

PRELUDE = """
import numpy as np
import sympy as sp
import dalembert as da

model = da.Model("pendulum")
x, y = model.coordinates("x y")
vx, vy = model.speeds("vx vy")
L, m, g = model.parameters(L=1.0, m=2.0, g=9.81)
P = model.particle("P", mass=m, position=[x, y])
model.gravity([0, -g])
model.constrain(x**2 + y**2 - L**2, name="rod")
system = model.compile()
state = system.initial({y: 0, vy: 0}, guess={x: 1})
motion = system.simulate(state, 1.0)

other = da.Model("other")
a, b = other.coordinates("a b")
Q = other.particle("Q", mass=1, position=[a, b])
B = other.body("B", mass=1, inertia=1)
"""


class Mistake(NamedTuple):
    """What someone writes, and words of the message that say what to write instead."""

    code: str
    remedy: str


STATING = (
    Mistake('other.parameters("M")', "model.parameters(M=1.0)"),
    Mistake('other.coordinates(sp.Symbol("q"))', "model.coordinates('q')"),
    Mistake('other.coordinates("a"); other.compile()', "choose another name"),
    Mistake('other.speeds("u1 u2 u3 u4 u5 u6"); other.compile()', "declare its coordinate first"),
    Mistake('z = other.coordinates("z"); other.particle("R", mass=1, position=[z, 0]); other.compile()', "x, ="),
    Mistake('other.particle("R", 1, [a, b])', "model.particle(name, mass, position, velocity)"),
    Mistake('other.particle("R", position=[a, b])', "missing 1 required keyword-only argument: 'mass'"),
    Mistake('other.particle("R", mass=1, position=a); other.compile()', "write them in a list"),
    Mistake('other.particle("R", mass=-1, position=[a, b]); other.compile()', "must not be negative"),
    Mistake('other.body("C", mass=1)', "missing 1 required keyword-only argument: 'inertia'"),
    Mistake('other.body("C", mass=1, inertia=[1, 2]); other.compile()', "three principal moments"),
    Mistake('other.body("B", mass=1, inertia=1); other.compile()', "choose another name"),
    Mistake("other.gravity(9.81); other.compile()", "write them in a list such as [0, 9.81]"),
    Mistake('other.force([1, 0], at="Q"); other.compile()', "`Q` itself and not its name"),
    Mistake("other.force(lambda t: [t, 0], at=Q); other.compile()", "model.table"),
    Mistake("other.torque(1, on=Q); other.compile()", "use model.force for particles"),
    Mistake('k = sp.Symbol("k"); other.generalized_force({a: -k*a}); other.compile()', "k, = model.parameters(k=1.0)"),
    Mistake("other.constrain(a**2 + b**2 == 1); other.compile()", "sympy.Eq(left, right)"),
    Mistake('other.constrain("a**2 + b**2 - 1"); other.compile()', "without quotes"),
    Mistake("other.constrain(3); other.compile()", "contains no coordinate or speed"),
    Mistake('other.constrain(a, servo="F"); other.compile()', "is not among model.unknowns"),
    Mistake("other.joints.hinge('j', other.ground, B)", "model.joints.revolute"),
    Mistake("other.joints.slider('j', other.ground, B)", "model.joints.prismatic"),
    Mistake("other.joints.weld('j', other.ground, B)", "model.joints.fixed"),
    Mistake("other.joints.revolute('j', other.ground, 'B'); other.compile()", "`B` itself and not its name"),
    Mistake("other.joints.revolute(other.ground, B)", "the first argument is its name"),
    Mistake("other.joints.revolute('j', B, B); other.compile()", "give two bodies, or model.ground"),
    Mistake("other.joints.universal('j', other.ground, B); other.compile()", "needs bodies that move in space"),
    Mistake("other.elements.spring('s', other.ground, B)", "missing 1 required keyword-only argument: 'stiffness'"),
    Mistake("other.elements.spring('s', B, B, stiffness=1); other.compile()", "its ends must differ"),
    Mistake("other.spring('s', other.ground, B, stiffness=1)", "model.elements.spring"),
    Mistake("other.add_constraint(a)", "model.constrain"),
    Mistake("da.Model('empty').compile()", "declare some by model.coordinates"),
)
RUNNING = (
    Mistake("model.simulate(state, 1.0)", "a model is compiled first"),
    Mistake("system.initial([1, 0, 0, 0])", "write system.initial({x: 1.0})"),
    Mistake('system.initial({"z": 1})', "known: x, y, vx, vy, rod"),
    Mistake("system.initial({x: 2, y: 2})", "parameter L = 2.82842712475 instead of 1 would work"),
    Mistake("other.constrain([a - 1, a - 2], name='c'); other.compile().initial()", "may contradict each other"),
    Mistake("system.initial({y: 0}, parameters={m: -1})", "must not be negative"),
    Mistake("system.simulate({x: 1}, 1.0)", "call system.initial(...) for one"),
    Mistake("system.simulate(state, -1.0)", "motions run forward in time"),
    Mistake("system.simulate(state, np.linspace(0, 1, 11))", "t_eval=times"),
    Mistake("system.simulate(state, 1.0, t_eval=[0, 2])", "beyond the interval 0 .. 1"),
    Mistake("system.simulate(state, 1.0, method='RK45')", "integrator=da.DOP853()"),
    Mistake("system.simulate(state, 1.0, rtol=1e-8)", "integrator=da.Automatic(rtol=1e-8)"),
    Mistake("system.simulate(state, 1.0, dt=0.01)", "integrator=da.RK4(step=0.01)"),
    Mistake("system.simulate(state, 1.0, t_evals=[0.5])", "did you mean `t_eval`?"),
    Mistake("system.simulate(state, 1.0, integrator='RK45')", "pass a value such as integrator=da.DOP853()"),
    Mistake("system.simulate(state, 1.0, integrator=da.DOP853)", "make a value of it: integrator=da.DOP853()"),
    Mistake("system.simulate(state, 1.0, integrator=da.RK45())", "integrator=da.DOP853()"),
    Mistake("system.simulate(state, 1.0, drift=da.Pojection())", "did you mean `Projection`"),
    Mistake("system.simulate(state, 1.0, formulation='kane')", "formulation=da.LagrangeMultipliers()"),
    Mistake("system.simulate(state, 1.0, drift=False)", "drift=da.NoCorrection()"),
    Mistake("system.simulate(state, 1.0, integrator=da.IDA(), drift=da.Baumgarte(1, 1))", "leave `drift` out"),
    Mistake("system.simulate(state, 1.0, parameters={'k': 1})", "known: L, m, g"),
    Mistake("system.simulate(state, 1.0, events=[da.Event('z')])", "known: x, y, vx, vy, L, m, g, rod, t"),
    Mistake("da.Event(lambda t, y: y[0])", "write the formula with SymPy"),
    Mistake("da.RK4(step=-1)", "it must be positive and finite"),
    Mistake("da.DOP853(rtol=0)", "use at least"),
    Mistake("system.mass_matrix(state)", "system.mass_matrix(state.t, state.q, state.u, state.parameters)"),
)
READING = (
    Mistake('motion["z"]', "known: x, y, vx, vy, rod, L, m, g, t"),
    Mistake("motion[0]", "motion.q[0]"),
    Mistake("motion.x", "write motion['x']"),
    Mistake("motion.y", "motion.q (nt, nq) and motion.u (nt, nu)"),
    Mistake("motion.sol(0.5)", "write motion.at(t)"),
    Mistake("motion.at(np.linspace(0, 1, 5))", "motion.sample('x', times)"),
    Mistake("motion.at(2.0)", "times must lie within the motion"),
    Mistake('motion.plot(["x", "y"])', "motion.plot(names=['x', 'y'])"),
    Mistake('motion.plot("x")', "motion.plot(names=['x'])"),
    Mistake('motion.animate("out.avi")', "motion.animate('out.html')"),
    Mistake('motion.save("out.csv")', "motion.to_csv('out.csv')"),
    Mistake('da.from_sympy("four_bar")', "hand in the KanesMethod, LagrangesMethod or System itself"),
)
CHAPTERS = {"Stating a model": STATING, "Starting and running": RUNNING, "Reading a motion": READING}


def message_of(mistake: Mistake) -> str:
    """The message that the mistake gets, on one line."""
    names: dict[str, Any] = {}
    exec(textwrap.dedent(PRELUDE), names)  # noqa: S102 - our own text
    try:
        exec(mistake.code, names)  # noqa: S102 - our own text
    except Exception as error:  # noqa: BLE001 - every mistake ends in one, of any kind
        return f"{type(error).__name__}: {' '.join(str(error).split())}"
    raise AssertionError(f"no error: {mistake.code}")


def table() -> str:
    """All mistakes and their messages, by chapter."""
    parts = []
    for chapter, mistakes in CHAPTERS.items():
        rows = [f"| `{_cell(mistake.code)}` | {_cell(_plain(message_of(mistake)))} |" for mistake in mistakes]
        parts.append(f"## {chapter}\n\n| you write | you get |\n|---|---|\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _plain(text: str) -> str:
    """Characters that Markdown would read are escaped, addresses of objects left out."""
    text = " ".join(word if not word.startswith("0x") else "...>" for word in text.split())
    for mark in "*_<[":
        text = text.replace(mark, f"\\{mark}")
    return text


def main() -> None:
    """Write the page anew."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{table()}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Mechanisms of every kind that live pages compute beside ideal ones: name -> system, start, events."""

import sympy as sp

import dalembert as da
from dalembert import problems


def servo():
    """The force on a cart lets the middle of its pendulum follow a path in x: it acts on the cart alone."""
    model = da.Model("servo cart")
    x, a = model.coordinates("x a")
    (F,) = model.unknowns("F")
    g, m = model.parameters(g=9.81, m=0.5)
    model.particle("cart", mass=2.0, position=[x, 0])
    model.particle("bob", mass=m, position=[x + sp.sin(a), -sp.cos(a)])
    model.gravity([0, -g])
    model.generalized_force({x: F})
    model.constrain(x + sp.sin(a) / 2 - 0.1 * sp.sin(3 * model.t), name="path", servo=F)
    model.line([[x, 0], [x + sp.sin(a), -sp.cos(a)]], name="rod")
    system = model.compile()
    return system, system.initial({"a": 0.8, "a'": 0.0}), ()


def friction():
    """A bead on a turning rod's parabola with Coulomb friction; the normal force changes its sign."""
    model = da.Model("rubbing bead")
    x, y = model.coordinates("x y")
    mu, g = model.parameters(mu=0.1, g=9.81)
    bead = model.particle("bead", mass=1.0, position=[x, y])
    model.gravity([0, -g])
    wire = model.constrain(y - sp.cos(2 * x), name="wire")
    model.nonideal(wire, friction=mu, at=bead, regularisation=0.05)
    system = model.compile()
    return system, system.initial({"x": 0.4, "x'": 4.0}, guess={"y": 0.7}), ()


def law():
    """Creep that grows with the square root of the normal force."""
    model = da.Model("creeping block")
    x, y = model.coordinates("x y")
    k, g = model.parameters(k=0.4, g=9.81)
    block = model.particle("block", mass=2.0, position=[x, y])
    model.gravity([0, -g])
    floor = model.constrain(y - 0.2 * sp.sin(x), name="floor")
    (T,) = model.unknowns("T")
    model.force([T, 0], at=block)
    model.law(T + k * sp.sqrt(floor.multiplier) * x.diff(), determines=T)
    system = model.compile()
    return system, system.initial({"x": 0.0, "x'": 3.0}), ()


def curved():
    """A plane particle whose acceleration has a given size: a constraint that is not linear in u'."""
    model = da.Model("given acceleration")
    x, y = model.coordinates("x y")
    vx, vy = model.speeds("vx vy")
    c, s = model.parameters(c=1.0, s=4.0)
    model.particle("P", mass=1.0, position=[x, y])
    model.generalized_force({vx: -s * x - 0.3, vy: -s * y})
    model.constrain(vx.diff() ** 2 + vy.diff() ** 2 - c, name="size")
    system = model.compile()
    return system, system.initial({"x": 1.0, "y": 0.5, "vx": 0.0, "vy": 1.0}), ()


def table():
    """A pendulum driven by a periodic table of time and a cubic one of its angle."""
    model = da.Model("driven by tables")
    (a,) = model.coordinates("a")
    g, size = model.parameters(g=9.81, size=2.0)
    push = model.table("push", [0, 0.3, 0.5, 1.1], [0, 1, -0.5, 0], ends="periodic")
    spring = model.table("spring", [-2, -1, 0, 1, 2], [3, 0.5, 0, -0.5, -3], kind="cubic")
    model.particle("bob", mass=1.0, position=[sp.sin(a), -sp.cos(a)])
    model.gravity([0, -g])
    model.generalized_force({a: size * push(model.t) + spring(a) - 0.2 * a.diff()})
    model.line([[0, 0], [sp.sin(a), -sp.cos(a)]], name="rod")
    system = model.compile()
    return system, system.initial({"a": 0.3, "a'": 0.0}), ()


def bounce():
    """A ball in a box that is thrown back by floor and walls, less and less."""
    model = da.Model("ball in a box")
    x, y = model.coordinates("x y")
    vx, vy = model.speeds("vx vy")
    e, g = model.parameters(e=0.95, g=9.81)
    model.particle("ball", mass=0.1, position=[x, y])
    model.gravity([0, -g])
    system = model.compile()
    floor = da.Event(y, direction=-1, then={vy: -e * vy}, name="floor")
    walls = da.Event(x**2 - 1, direction=1, then={vx: -vx}, name="walls")
    top = da.Event(vy, direction=-1, name="top")  # recorded only
    return system, system.initial({x: 0, y: 1, vx: 0.7, vy: 0}), (floor, walls, top)


def stop():
    """A double pendulum whose elbow locks when it is straight: an impact, after which it swings as one."""
    model = da.Model("locking knee")
    a, b = model.coordinates("a b")
    wa, wb = model.speeds("wa wb")
    (g,) = model.parameters(g=9.81)
    knee = [sp.sin(a), -sp.cos(a)]
    model.particle("knee", mass=1.0, position=knee)
    model.particle("foot", mass=0.5, position=[knee[0] + sp.sin(b), knee[1] - sp.cos(b)])
    model.gravity([0, -g])
    model.line([[0, 0], knee, [knee[0] + sp.sin(b), knee[1] - sp.cos(b)]], name="leg")
    free = model.compile()
    model.constrain(a - b, name="lock")
    locked = model.compile()
    lock = da.Event(a - b, direction=1, then=locked, name="lock")
    return free, free.initial({a: 0.5, b: 1.2, wa: 0.0, wb: 0.0}), (lock,)


def lift_off():
    """A hoop on a hump leaves it when the normal force vanishes, and ends its flight on the ground."""
    model = da.Model("over the hump")
    x, y = model.coordinates("x y")
    (g,) = model.parameters(g=9.81)
    model.particle("P", mass=1.0, position=[x, y])
    model.gravity([0, -g])
    free = model.compile()
    model.constrain(x**2 + y**2 - 4, name="hump")
    on = model.compile()
    leave = da.Event("hump", direction=-1, then=free, name="leave")
    land = da.Event(y, direction=-1, terminal=True, name="land")
    return on, on.initial({"x": 0.1, "x'": 0.5}, guess={"y": 2.0}), (leave, land)


def clock():
    """A sampled controller that keeps an inverted pendulum up by moving its cart."""
    model = da.Model("sampled control")
    x, a = model.coordinates("x a")
    kp, kd, F, g = model.parameters(kp=60.0, kd=12.0, F=0.0, g=9.81)
    model.particle("cart", mass=1.0, position=[x, 0])
    model.particle("bob", mass=0.2, position=[x + sp.sin(a), sp.cos(a)])
    model.gravity([0, -g])
    model.generalized_force({x: F})
    model.line([[x, 0], [x + sp.sin(a), sp.cos(a)]], name="rod")
    system = model.compile()
    tick = da.Every(0.02, then={F: kp * a + kd * a.diff()}, name="controller")
    return system, system.initial({"x": 0.0, "a": 0.2, "x'": 0.0, "a'": 0.0}), (tick,)


def hidden():
    """A car that follows its path by steering: the moment acts on the constraint behind the one stated."""
    problem = problems.get("car")
    system = problem.system()
    return system, problem.state(system), ()


def latch():
    """A sampled force throws a mass between two stops; one of them changes a parameter too."""
    model = da.Model("mass between stops")
    (x,) = model.coordinates("x")
    (v,) = model.speeds("v")
    k, F = model.parameters(k=3.0, F=0.0)
    model.particle("P", mass=1.0, position=[x, 0])
    model.generalized_force({x: F})
    system = model.compile()
    tick = da.Every(0.05, then={F: k * sp.cos(5 * model.t) - 0.2 * v}, start=0.02, name="tick")
    left = da.Event(x + 0.1, direction=-1, then={v: -0.5 * v}, name="left")
    right = da.Event(x - 0.1, direction=1, then={v: -0.7 * v, k: 0.98 * k}, name="right")
    return system, system.initial({x: 0.0, v: 0.5}), (tick, left, right)


def plastic():
    """A mass on a spring, kicked once a second against a stop that does not throw it back."""
    model = da.Model("plastic stop")
    (x,) = model.coordinates("x")
    (v,) = model.speeds("v")
    k, e = model.parameters(k=20.0, e=0.0)
    model.particle("P", mass=1.0, position=[x, 0])
    model.generalized_force({x: -k * x - 0.5 * v})
    system = model.compile()
    stop = da.Event(x - 0.1, direction=1, then={v: -e * v}, name="stop")
    kick = da.Every(1.0, then={v: v + 1}, start=0.5, name="kick")
    return system, system.initial({x: -0.3, v: 0.0}), (stop, kick)


def switched():
    """A force that changes its sign at zeros of time functions that are not linear."""
    model = da.Model("switched")
    (x,) = model.coordinates("x")
    (v,) = model.speeds("v")
    (h,) = model.parameters(h=2.0)
    model.particle("P", mass=1.0, position=[x, 0])
    t = model.t
    model.generalized_force({x: sp.sign(t**2 - h) - sp.Heaviside(sp.exp(t / 3) - 5) - x})
    system = model.compile()
    return system, system.initial({x: 0.0, v: 0.0}), ()


KINDS = {
    kind.__name__: kind
    for kind in (servo, hidden, friction, law, curved, table, bounce, stop, lift_off, clock, latch, plastic, switched)
}

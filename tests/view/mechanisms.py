"""The four mechanisms that live pages are tested with: name, system, start."""

from functools import cache

import sympy as sp

import dalembert as da
from dalembert import problems
from dalembert.problems.whipple_bicycle import state_bicycle


@cache
def mechanism(name):
    """A system and its start."""
    if name == "slider_crank":
        return slider_crank()
    if name == "bicycle":
        return bicycle()
    problem = problems.get(name)
    system = problem.system()
    return system, problem.state(system)


def slider_crank():
    """Crank, rod and slider with a loop of two position constraints; an output."""
    model = da.Model("slider-crank")
    alpha, beta, x = model.coordinates("alpha beta x")
    L, R, m, g = model.parameters(L=1.0, R=0.4, m=0.8, g=9.81)
    pin = [R * sp.cos(alpha), R * sp.sin(alpha)]
    middle = [pin[0] + L / 2 * sp.cos(beta), pin[1] + L / 2 * sp.sin(beta)]
    model.body("crank", mass=m, inertia=m * R**2 / 12, position=[c / 2 for c in pin], rotation=alpha)
    model.body("rod", mass=m, inertia=m * L**2 / 12, position=middle, rotation=beta)
    model.particle("piston", mass=m, position=[x, 0])
    model.gravity([0, -g])
    model.constrain([pin[0] + L * sp.cos(beta) - x, pin[1] + L * sp.sin(beta)], name="loop")
    model.line([[0, 0], pin, [x, 0]], name="links")
    model.line([[0, 0], [2, 0]], name="rail")
    model.output("stroke", x - L + R)
    system = model.compile()
    return system, system.initial({"alpha": 1.0, "alpha'": 6.0}, guess={"beta": -0.3, "x": 1.2})


def bicycle():
    """The Whipple bicycle at a stable speed, pushed sideways; nothing of it has a position that can be drawn."""
    bike = state_bicycle()
    system = da.from_sympy(bike.kane, bodies=bike.bodies, loads=bike.loads, parameters=bike.parameters).compile()
    push = {"q1": 0.0, "q2": 0.0, "q5": 0.0, "u2": 0.5, "u5": 0.0, "u3": 4.6 / 0.3}
    return system, system.initial(push, guess={"u6": 4.6 / 0.35})


@cache
def jointed():
    """A slider-crank of bodies and joints with spring and damper, 2 s of it, verified."""
    model = da.Model("jointed <crank> & slider")
    a, b, g = model.parameters(a=0.3, b=0.8, g=9.81)
    crank, rod = model.body("crank", mass=1.2, inertia=0.009), model.body("rod", mass=0.9, inertia=0.048)
    slider = model.body("slider", mass=2.0, inertia=0.01)
    model.gravity([0, -g])
    model.joints.revolute("main", model.ground, model.marker(crank, [-a / 2, 0]))
    model.joints.revolute("big", model.marker(crank, [a / 2, 0]), model.marker(rod, [-b / 2, 0]))
    model.joints.revolute("small", model.marker(rod, [b / 2, 0]), slider)
    rail = model.marker(model.ground, [0, 0], axis=[1, 0])
    model.joints.prismatic("way", rail, model.marker(slider, [0, 0], axis=[1, 0]))
    wall = model.marker(model.ground, [1.6, 0])
    model.elements.spring("spring", wall, slider, stiffness=20.0, length=0.5)
    model.elements.damper("damper", wall, slider, coefficient=0.4)
    system = model.compile()
    state = system.initial({"crank_a": 0.5, "crank_w": 4.0}, guess={"rod_a": -0.2, "slider_x": 1.0})
    return system.simulate(state, 2.0, verify=True)


def bouncing():
    """A ball that is thrown back by an event: a sequence of motions."""
    model = da.Model("ball")
    (z,) = model.coordinates("z")
    (vz,) = model.speeds("vz")
    (g,) = model.parameters(g=9.81)
    model.particle("ball", mass=1.0, position=[0, 0, z])
    model.gravity([0, 0, -g])
    system = model.compile()
    bounce = da.Event(z, direction=-1, name="bounce", then={vz: -0.8 * vz})
    return system.simulate(system.initial({z: 1.0, vz: 0.0}), 1.0, events=[bounce])

"""Coming from SciPy
=================

You have written right-hand sides for ``solve_ivp``. Here you state the mechanism instead, and keep the rest:
``t_eval``, ``rtol``, events, arrays, data frames, and ``scipy.optimize`` around it all.

What to see: a slider-crank with a motor, driven by measured data, by a controller that is sampled, and against a stop;
then its friction is found again from noisy data.
"""

import numpy as np
from scipy.optimize import least_squares

import dalembert as da

# %%
# A slider-crank with a motor
# ---------------------------
# Three bodies and four joints. There is no choice of minimal coordinates to make and no loop equation to solve.

model = da.Model("slider-crank")
g, L, F, c = model.parameters(g=9.81, L=0.1, F=0.0, c=5.0)
crank = model.body("crank", mass=1.0, inertia=L**2 / 12)
rod = model.body("rod", mass=0.6, inertia=0.6 * (3 * L) ** 2 / 12)
slider = model.body("slider", mass=0.5, inertia=0.01)
model.gravity([0, -g])
model.joints.revolute("main", model.ground, model.marker(crank, [-L / 2, 0]))
model.joints.revolute("pin", model.marker(crank, [L / 2, 0]), model.marker(rod, [-1.5 * L, 0]))
model.joints.revolute("wrist", model.marker(rod, [1.5 * L, 0]), slider)
rail = model.marker(model.ground, [0, 0], axis=[1, 0])
model.joints.prismatic("guide", rail, model.marker(slider, [0, 0], axis=[1, 0]))
speed = slider.position[0].diff()

# %%
# A table as an input
# -------------------
# The torque of the motor was measured; SciPy would need an interpolation and ``max_step`` in order not to miss it.
# Steps end on the points of the table. ``F`` is what a controller will add, ``c`` the friction of the slider.

times = np.array([0.0, 0.5, 0.6, 1.5, 1.6, 4.0])
torque = model.table("torque", times, [0.0, 0.0, 0.5, 0.5, -0.2, -0.2])
model.elements.motor("motor", model.ground, crank, torque=torque(model.t) + F)
model.force([-c * speed, 0], at=slider)
model.output("stroke", slider.position[0] - 3 * L)

system = model.compile()
state = system.initial({"main.angle": np.radians(60), "crank_w": 0.0}, guess={"slider_x": 0.3, "rod_a": -0.3})
driven = system.simulate(state, 4.0, t_eval=np.linspace(0.0, 4.0, 401), integrator=da.DOP853(rtol=1e-9))
driven.certificate

# %%
# Arrays by name, and everything as a data frame:

frame = driven.to_pandas("main.angle", "motor.power")
print(frame[["stroke", "crank_w", "main.angle", "motor.power"]].describe().loc[["min", "max"]])

# %%
figure = driven.plot(names=["stroke", "crank_w"])
figure

# %%
# A controller that is sampled
# ----------------------------
# A PD controller reads the crank's angle a hundred times a second and sets the torque F; in between it holds. In SciPy
# that is a loop around ``solve_ivp``. The function may be any Python.

goal, kp, kd = np.radians(120), 6.0, 0.5


def control(state: da.State) -> dict[str, float]:
    """The torque for the next 10 ms."""
    return {"F": kp * (goal - state["crank_a"]) - kd * state["crank_w"]}


clock = da.Every(0.01, then=control, name="controller")
held = system.simulate(state, 3.0, events=[clock])
print(f"crank at {np.degrees(held['crank_a'][-1]):.1f} degrees after {len(held.events['controller'])} ticks")

# %%
# A stop
# ------
# A buffer throws the crank back when its angle falls to -100 degrees; a zero of an expression, as in SciPy, which may
# change the motion instead of only ending it. Each occurrence knows the energy lost and the impulses of the joints.

angle = crank.rotation[0]
stop = da.Event(angle + np.radians(100), direction=-1, then={angle.diff(): -0.3 * angle.diff()}, name="stop")
stopped = system.simulate(state, 1.5, events=[stop])
for event in stopped.events:
    print(f"{event.name} at t = {event.t:.4f} s, energy lost {event.energy_lost:.3g} J")

# %%
# A fit by ``scipy.optimize``
# ---------------------------
# Noisy data of the first second, and a residual that runs the mechanism. One run takes a few milliseconds. (Over four
# seconds the crank turns over or not depending on the friction, and any local search gets stuck at the wrong one.)

rng, places = np.random.default_rng(1), np.linspace(0.0, 1.0, 200)
true = system.simulate(state, 1.0, t_eval=places, parameters={"c": 4.0})
measured = true["stroke"] + 1e-3 * rng.standard_normal(len(places))


def residual(values: np.ndarray) -> np.ndarray:
    """Stroke minus what was measured."""
    motion = system.simulate(state, 1.0, t_eval=places, parameters={"c": values[0]})
    return motion["stroke"] - measured


fit = least_squares(residual, [5.0])
sigma = 1e-3 / np.linalg.norm(fit.jac)
print(f"friction {fit.x[0]:.3f} +- {sigma:.3f} N s/m after {fit.nfev} evaluations (true: 4)")

# %%
# ``system.fit`` does the same with exact derivatives of the motion, and says how certain the values are.

exact = system.fit({"t": places, "stroke": measured}, {"c": 5.0}, state=state, sigma=1e-3)
print(exact)

"""Coming from SymPy
=================

You have models in ``sympy.physics.mechanics``: a cart pendulum, a rolling disc, a four-bar linkage, a bicycle. Hand
them over as they are. Equations of motion need not be formed: ``da.from_sympy`` reads bodies, loads, kinematics and
constraints.

What to see: four models, four certified motions, and values by the names that the models use.
"""

from itertools import pairwise

import numpy as np
import sympy as sm
import sympy.physics.mechanics as me

import dalembert as da
from dalembert.problems.whipple_bicycle import state_bicycle

# %%
# A cart pendulum
# ---------------
# Kane's method, as in SymPy's documentation.

x, a, v, w = me.dynamicsymbols("x a v w")
M, m, L, g = sm.symbols("M m L g")
N, O = me.ReferenceFrame("N"), me.Point("O")
O.set_vel(N, 0)
B = N.orientnew("B", "Axis", [a, N.z])
B.set_ang_vel(N, w * N.z)
P = O.locatenew("P", x * N.x)
P.set_vel(N, v * N.x)
Q = P.locatenew("Q", -L * B.y)
Q.v2pt_theory(P, N, B)
cart, bob = me.Particle("cart", P, M), me.Particle("bob", Q, m)
kinematics = [x.diff() - v, a.diff() - w]
weights = [(P, -M * g * N.y), (Q, -m * g * N.y)]
kane = me.KanesMethod(N, [x, a], [v, w], kinematics, forcelist=weights, bodies=[cart, bob])

# %%
# From here on it is a model like any other; outputs have names.

model = da.from_sympy(kane, parameters={M: 1.0, m: 0.3, L: 0.5, g: 9.81})
model.output("tip", [x + L * sm.sin(a), -L * sm.cos(a)])
system = model.compile()
pendulum = system.simulate(system.initial({x: 0.0, a: 1.0, v: 0.0, w: 0.0}), 5.0)
pendulum.certificate

# %%
# SymPy's own right-hand side says the same, and needs its equations to be formed and solved:

kane.kanes_equations()
values = {M: 1.0, m: 0.3, L: 0.5, g: 9.81, x: 0.0, a: 1.0, v: 0.0, w: 0.0}
by_sympy = np.array(kane.mass_matrix.subs(values).LUsolve(kane.forcing.subs(values)).evalf(), dtype=float).ravel()
print("by SymPy", by_sympy, " here", pendulum.udot[0])

# %%
figure = pendulum.plot(names=["x", "a", "tip"])
figure

# %%
# A rolling disc
# --------------
# The contact point has no velocity; yaw, lean and spin are coordinates, and the speeds are angular velocities.

q1, q2, q3, u1, u2, u3 = me.dynamicsymbols("q1:4 u1:4")
r = sm.Symbol("r")
N, C = me.ReferenceFrame("N"), me.Point("C")
Y = N.orientnew("Y", "Axis", [q1, N.z])
lean = Y.orientnew("L", "Axis", [q2, Y.x])
R = lean.orientnew("R", "Axis", [q3, lean.y])
rates = R.ang_vel_in(N)
R.set_ang_vel(N, u1 * lean.x + u2 * lean.y + u3 * lean.z)
C.set_vel(N, 0)
centre = C.locatenew("centre", r * lean.z)
centre.v2pt_theory(C, N, R)
inertia = me.inertia(lean, m * r**2 / 4, m * r**2 / 2, m * r**2 / 4)
disc = me.RigidBody("disc", centre, R, m, (inertia, centre))
turning = [(R.ang_vel_in(N) - rates).dot(axis) for axis in (lean.x, lean.y, lean.z)]
kane = me.KanesMethod(N, [q1, q2, q3], [u1, u2, u3], turning, bodies=[disc], forcelist=[(centre, -m * g * N.z)])

system = da.from_sympy(kane, parameters={r: 0.5, m: 2.0, g: 9.81}).compile()
rolling = system.simulate(system.initial({q1: 0.0, q2: 0.1, q3: 0.0, u1: 0.0, u2: 8.0, u3: 0.5}), 5.0)
print("lean between", rolling["q2"].min(), "and", rolling["q2"].max(), "rad")

# %%
# A four-bar linkage
# ------------------
# A Lagrangian and two holonomic constraints. SymPy leaves the integration of such a system to you; here the constraints
# hold to round-off, and their multipliers are there by name.

angles = me.dynamicsymbols("th1:4")
lengths, ground = (0.8, 2.0, 1.0), 2.0
joints = [sm.Matrix([0, 0])]
for angle, length in zip(angles, lengths, strict=True):
    joints.append(joints[-1] + length * sm.Matrix([sm.cos(angle), sm.sin(angle)]))
middles = [(p + q) / 2 for p, q in pairwise(joints)]
energy = 0
for place, angle, length in zip(middles, angles, lengths, strict=True):
    speed = place.diff(sm.Symbol("t"))
    energy += m * length * (speed.dot(speed) + length**2 * angle.diff() ** 2 / 12) / 2 - m * length * g * place[1]
closed = list(joints[-1] - sm.Matrix([ground, 0]))
lagrange = me.LagrangesMethod(energy, angles, hol_coneqs=closed)

system = da.from_sympy(lagrange, parameters={m: 1.0, g: 9.81}).compile()
state = system.initial({"th1": 0.5, "th1'": 0.0}, guess={"th2": 0.4, "th3": -1.2})
linkage = system.simulate(state, 5.0)
print("loop closed to", max(np.abs(linkage.violation["position"][name]).max() for name in system.constraint_names))
linkage

# %%
# The bicycle
# -----------
# The Whipple bicycle that SymPy tests itself with has six speeds, three of them dependent. Pushed sideways at 4.6 m/s
# it weaves and rights itself, as the published analysis says of speeds from 4.3 to 6.0 m/s.

bike = state_bicycle()
system = da.from_sympy(bike.kane, bodies=bike.bodies, loads=bike.loads, parameters=bike.parameters).compile()
push = {"q1": 0.0, "q2": 0.0, "q5": 0.0, "u2": 0.5, "u5": 0.0, "u3": 4.6 / 0.3}
riding = system.simulate(system.initial(push, guess={"u6": 4.6 / 0.35}), 5.0)
figure = riding.plot(names=["q2", "q5"])  # lean and steer
figure

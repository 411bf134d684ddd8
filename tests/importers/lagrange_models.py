"""The models of SymPy's own tests and tutorials of Lagrange's method, each as (LagrangesMethod, options)."""

import sympy as sm
import sympy.physics.mechanics as me

t = me.dynamicsymbols._t


def disc_on_an_incline():
    y, theta = me.dynamicsymbols("y theta")
    m, g, R, l, alpha = sm.symbols("m g R l alpha")
    N, centre = me.ReferenceFrame("N"), me.Point("Do")
    A = N.orientnew("A", "Axis", [sm.pi / 2 - alpha, N.z])
    B = A.orientnew("B", "Axis", [-theta, A.z])
    centre.set_vel(N, y.diff(t) * A.x)
    disc = me.RigidBody("D", centre, B, m, (m * R**2 / 2 * me.outer(B.z, B.z), centre))
    disc.potential_energy = m * g * (l - y) * sm.sin(alpha)
    return me.LagrangesMethod(me.Lagrangian(N, disc), [y, theta], hol_coneqs=[y - R * theta]), {}


def pendulums(count):
    """A simple or a double pendulum in absolute angles."""
    q = me.dynamicsymbols(f"q1:{count + 1}")
    l, m, g = sm.symbols("l m g")
    N, point = me.ReferenceFrame("N"), me.Point("O")
    point.set_vel(N, 0)
    bobs, height = [], 0
    for k, angle in enumerate(q):
        A = N.orientnew(f"A{k}", "Axis", [angle, N.z])
        A.set_ang_vel(N, angle.diff(t) * N.z)
        end = point.locatenew(f"P{k}", l * A.x)
        end.v2pt_theory(point, N, A)
        height -= l * sm.cos(angle)
        bobs.append(me.Particle(f"Pa{k}", end, m))
        bobs[-1].potential_energy = m * g * height
        point = end
    return me.LagrangesMethod(me.Lagrangian(N, *bobs), q, bodies=bobs), {}


def nonminimal_pendulum():
    q1, q2 = me.dynamicsymbols("q1:3")
    L, m = sm.symbols("L, m")
    N, O = me.ReferenceFrame("N"), me.Point("N*")
    O.set_vel(N, 0)
    P = O.locatenew("P1", q1 * N.x + q2 * N.y)
    P.set_vel(N, P.pos_from(O).dt(N))
    lagrangian = me.Lagrangian(N, me.Particle("pP", P, m))
    hold = [q1**2 + q2**2 - L**2]
    return me.LagrangesMethod(lagrangian, [q1, q2], hol_coneqs=hold, forcelist=[(P, m * 9.8 * N.x)], frame=N), {}


def rolling_disc():
    q1, q2, q3 = me.dynamicsymbols("q1:4")
    r, m, g = sm.symbols("r m g")
    N, C = me.ReferenceFrame("N"), me.Point("C")
    Y = N.orientnew("Y", "Axis", [q1, N.z])
    L = Y.orientnew("L", "Axis", [q2, Y.x])
    R = L.orientnew("R", "Axis", [q3, L.y])
    C.set_vel(N, 0)
    centre = C.locatenew("Dmc", r * L.z)
    centre.v2pt_theory(C, N, R)
    disc = me.RigidBody("disc", centre, R, m, (me.inertia(L, m / 4 * r**2, m / 2 * r**2, m / 4 * r**2), centre))
    disc.potential_energy = -m * g * r * sm.cos(q2)
    return me.LagrangesMethod(me.Lagrangian(N, disc), [q1, q2, q3]), {}


def two_forces():
    q1, q2, F = me.dynamicsymbols("q1, q2, F")
    m, k, nu = sm.symbols("m, k, nu")
    N, O = me.ReferenceFrame("N"), me.Point("O")
    points = [O.locatenew(f"P{j}", q * N.x) for j, q in enumerate((q1, q2))]
    for point, q in zip(points, (q1, q2), strict=True):
        point.set_vel(N, q.diff(t) * N.x)
    first, second = (me.Particle(f"p{point.name}", point, m) for point in points)
    first.potential_energy, second.potential_energy = k * q1**2 / 2, k * (q1 - q2) ** 2 / 2
    loads = [(points[0], -nu * q1.diff(t) * N.x), (points[1], (F - nu * q2.diff(t)) * N.x)]
    method = me.LagrangesMethod(me.Lagrangian(N, first, second), (q1, q2), forcelist=loads, frame=N)
    return method, {"specified": {F: sm.sin(2 * t)}}


def skate():
    """A nonholonomic constraint, and a torque on a frame."""
    x, y, phi = me.dynamicsymbols("x y phi")
    m, I, c = sm.symbols("m I c", positive=True)
    N, G = me.ReferenceFrame("N"), me.Point("G")
    B = N.orientnew("B", "Axis", [phi, N.z])
    G.set_vel(N, x.diff(t) * N.x + y.diff(t) * N.y)
    body = me.RigidBody("skate", G, B, m, (me.inertia(B, 0, 0, I), G))
    sideways = y.diff(t) * sm.cos(phi) - x.diff(t) * sm.sin(phi)
    method = me.LagrangesMethod(
        me.Lagrangian(N, body), [x, y, phi], nonhol_coneqs=[sideways], forcelist=[(B, -c * phi.diff(t) * B.z)], frame=N
    )
    return method, {}


MODELS = {
    "disc on an incline": disc_on_an_incline,
    "simple pendulum": lambda: pendulums(1),
    "double pendulum": lambda: pendulums(2),
    "non-minimal pendulum": nonminimal_pendulum,
    "rolling disc": rolling_disc,
    "two forces": two_forces,
    "skate": skate,
}

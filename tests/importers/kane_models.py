"""The models of SymPy's own tests and tutorials of Kane's method, each as (KanesMethod, options of `from_sympy`)."""

import sympy as sm
import sympy.physics.mechanics as me
from sympy.physics.mechanics.models import multi_mass_spring_damper, n_link_pendulum_on_cart

t = me.dynamicsymbols._t
CUBIC = 0.7  # of a damper


def rates(*functions):
    return [f.diff(t) for f in functions]


def spring_mass_damper():
    q, u = me.dynamicsymbols("q u")
    m, c, k = sm.symbols("m c k")
    N, P = me.ReferenceFrame("N"), me.Point("P")
    P.set_vel(N, u * N.x)
    return me.KanesMethod(
        N, [q], [u], [q.diff(t) - u], bodies=[me.Particle("pa", P, m)], forcelist=[(P, (-k * q - c * u) * N.x)]
    ), {}


def two_masses():
    """Kinematical equations with arbitrary factors; bodies and loads handed in beside the object."""
    q1, q2, u1, u2 = me.dynamicsymbols("q1 q2 u1 u2")
    m, c1, c2, k1, k2 = sm.symbols("m c1 c2 k1 k2", positive=True)
    N, P1, P2 = me.ReferenceFrame("N"), me.Point("P1"), me.Point("P2")
    P1.set_vel(N, u1 * N.x)
    P2.set_vel(N, (u1 + u2) * N.x)
    kane = me.KanesMethod(N, [q1, q2], [u1, u2], [q1.diff(t) / 2 - u1 / 2, 2 * q2.diff(t) - 2 * u2])
    second = (-k2 * q2 - c2 * u2) * N.x
    loads = [(P1, (-k1 * q1 - c1 * u1) * N.x - second), (P2, second)]
    return kane, {"bodies": [me.Particle("pa1", P1, m), me.Particle("pa2", P2, m)], "loads": loads}


def pendulum():
    q, u = me.dynamicsymbols("q u")
    m, l, g = sm.symbols("m l g")
    N, P = me.ReferenceFrame("N"), me.Point("P")
    P.set_vel(N, -l * u * sm.sin(q) * N.x + l * u * sm.cos(q) * N.y)
    return me.KanesMethod(N, [q], [u], [q.diff(t) - u]), {
        "bodies": [me.Particle("pa", P, m)],
        "loads": [(P, m * g * N.x)],
    }


def rolling_disc(kind="rest"):
    """From the contact point up: it has no velocity, or auxiliary speeds, or speeds that no coordinate belongs to."""
    q1, q2, q3, u1, u2, u3, u4, u5, f1, f2 = me.dynamicsymbols("q1:4 u1:6 f1:3")
    r, m, g = sm.symbols("r m g")
    N = me.ReferenceFrame("N")
    Y = N.orientnew("Y", "Axis", [q1, N.z])
    L = Y.orientnew("L", "Axis", [q2, Y.x])
    R = L.orientnew("R", "Axis", [q3, L.y])
    stated = R.ang_vel_in(N)
    R.set_ang_vel(N, u1 * L.x + u2 * L.y + u3 * L.z)
    C = me.Point("C")
    C.set_vel(N, 0 if kind == "rest" else u4 * L.x + u5 * Y.z.cross(L.x))
    centre = C.locatenew("Dmc", r * L.z)
    centre.v2pt_theory(C, N, R)
    inertia = me.inertia(L, m / 4 * r**2, m / 2 * r**2, m / 4 * r**2)
    kinematics = [(R.ang_vel_in(N) - stated).dot(axis) for axis in (L.x, L.y, L.z)]
    loads = [(centre, -m * g * Y.z)]
    if kind != "rest":
        loads.append((C, f1 * L.x + f2 * Y.z.cross(L.x)))
    more = {"u_auxiliary": [u4, u5]} if kind == "auxiliary" else {}
    speeds = [u1, u2, u3, u4, u5] if kind == "free" else [u1, u2, u3]
    kane = me.KanesMethod(N, [q1, q2, q3], speeds, kinematics, **more)
    given = {"specified": {f1: 0.3 * sm.sin(t), f2: 0.1 * q2}} if kind != "rest" else {}
    return kane, {"bodies": [me.RigidBody("disc", centre, R, m, (inertia, centre))], "loads": loads, **given}


def cart_with_hinged_inertia():
    """The inertia of the pendulum is about its hinge; a spring and a specified force act on the cart."""
    q1, q2, u1, u2, F = me.dynamicsymbols("q1 q2 u1 u2 F")
    g, k, ls, a, mA, mC, Ix, Iy, Iz = sm.symbols("g k ls a mA mC Ix Iy Iz")
    N, A, O = me.ReferenceFrame("N"), me.ReferenceFrame("A"), me.Point("O")
    A.orient(N, "Axis", [-q2, N.z])
    A.set_ang_vel(N, -u2 * N.z)
    C = O.locatenew("C", q1 * N.x)
    Ao = C.locatenew("Ao", a * A.y)
    O.set_vel(N, 0)
    C.set_vel(N, u1 * N.x)
    Ao.v2pt_theory(C, N, A)
    # Iz about the hinge must exceed mA a^2: otherwise there is no such body.
    pole = me.RigidBody("Pendulum", Ao, A, mA, (me.inertia(A, Ix, Iy, Iz + mA * a**2), C))
    loads = [(Ao, -N.y * g * mA), (C, -N.y * g * mC), (C, -N.x * k * (q1 - ls)), (C, N.x * F)]
    kane = me.KanesMethod(N, [q1, q2], [u1, u2], [q1.diff(t) - u1, q2.diff(t) - u2])
    return kane, {
        "bodies": [me.Particle("Cart", C, mC), pole],
        "loads": loads,
        "specified": {F: 2 * sm.cos(3 * t) - 0.5 * u1},
    }


def shaken_pendulum():
    """A support that is moved and turned as specified: first and second derivatives of the inputs appear."""
    q, u, Y, A_ = me.dynamicsymbols("q u Y A")
    m, l, g, d = sm.symbols("m l g d")
    N, O = me.ReferenceFrame("N"), me.Point("O")
    O.set_vel(N, 0)
    table = N.orientnew("T", "Axis", [A_, N.x])
    rod = table.orientnew("B", "Axis", [q, table.z])
    pin = O.locatenew("pin", Y * N.y + d * table.y)
    pin.set_vel(N, pin.pos_from(O).dt(N))
    bob = pin.locatenew("bob", l * rod.x)
    bob.set_vel(N, bob.pos_from(O).dt(N))
    kane = me.KanesMethod(
        N, [q], [u], [q.diff(t) - u], bodies=[me.Particle("P", bob, m)], forcelist=[(bob, m * g * N.x)]
    )
    return kane, {"specified": {Y: sm.sin(2 * t) / 5, A_: t**2}}


def torques_on_frames(kind):
    """Torques on frames that carry no inertia, stated in coordinate rates; two choices of speeds."""
    q1, q2, u1, u2 = me.dynamicsymbols("q1 q2 u1 u2")
    l, m, sig, delta = sm.symbols("l m sigma delta")
    N, O = me.ReferenceFrame("N"), me.Point("O")
    A = N.orientnew("A", "Axis", (q1, N.z))
    B = A.orientnew("B", "Axis", (q2, N.z))
    O.set_vel(N, 0)
    P = O.locatenew("P", l * A.x)
    P.v2pt_theory(O, N, A)
    Q = P.locatenew("Q", l * B.x)
    Q.v2pt_theory(P, N, B)
    q1d, q2d = rates(q1, q2)
    torque = (sig * q2 + delta * q2d + CUBIC * q2d**3) * N.z
    kinematics = [u1 - q1d, u2 - q2d] if kind == "relative" else [u1 - q1d, u2 - (q1d + q2d)]
    bodies = [me.Particle("Ap", P, m), me.Particle("Bp", Q, m)]
    return me.KanesMethod(N, [q1, q2], [u1, u2], kinematics, bodies=bodies, forcelist=[(A, torque), (B, -torque)]), {}


def disc_with_slip_constraints():
    """The disc of `test_kane5`: five coordinates, the contact speeds dependent."""
    q1, q2, q3, q4, q5, u1, u2, u3, u4, u5 = me.dynamicsymbols("q1:6 u1:6")
    g, r, m = sm.symbols("g r m")
    ground, disc, middle = me.RigidBody("ground"), me.RigidBody("disk", mass=m), me.ReferenceFrame("int_frame")
    disc.inertia = (m * r**2 / 4 * me.inertia(disc.frame, 1, 2, 1), disc.masscenter)
    ground.masscenter.set_vel(ground.frame, 0)
    middle.orient_body_fixed(ground.frame, (q1, q2, 0), "zxy")
    disc.frame.orient_axis(middle, middle.y, q3)
    stated = disc.frame.ang_vel_in(ground.frame)
    disc.frame.set_ang_vel(ground.frame, u1 * disc.x + u2 * disc.y + u3 * disc.z)
    contact = ground.masscenter.locatenew("contact_point", q4 * ground.x + q5 * ground.y)
    contact.set_vel(ground.frame, u4 * ground.x + u5 * ground.y)
    disc.masscenter.set_pos(contact, r * middle.z)
    arm = disc.masscenter.pos_from(contact)
    disc.masscenter.set_vel(ground.frame, disc.frame.ang_vel_in(ground.frame).cross(arm))
    kinematics = [stated.dot(axis) - u for axis, u in zip((disc.x, disc.y, disc.z), (u1, u2, u3), strict=True)]
    slip = contact.vel(ground.frame) - disc.frame.ang_vel_in(middle).cross(arm)
    kane = me.KanesMethod(
        ground.frame,
        [q1, q2, q3, q4, q5],
        [u1, u2, u3],
        [*kinematics, q4.diff(t) - u4, q5.diff(t) - u5],
        u_dependent=[u4, u5],
        velocity_constraints=[slip.dot(ground.x), slip.dot(ground.y)],
        bodies=[disc],
        forcelist=[(disc.masscenter, -m * g * ground.z)],
        explicit_kinematics=False,
    )
    return kane, {}


def disc_with_height():
    """The disc of `test_kane2`: one dependent coordinate, three dependent and three auxiliary speeds."""
    q, u, ua = me.dynamicsymbols("q:4"), me.dynamicsymbols("u:6"), me.dynamicsymbols("ua:3")
    r, m, g, I, J, Fx, Fy, Fz = sm.symbols("r m g I J Fx Fy Fz")
    N, P = me.ReferenceFrame("N"), me.Point("P")
    A = N.orientnew("A", "Axis", [q[0], N.z])
    B = A.orientnew("B", "Axis", [q[1], A.x])
    C = B.orientnew("C", "Axis", [q[2], B.y])
    C.set_ang_vel(N, u[0] * B.x + u[1] * B.y + u[2] * B.z)
    P.set_vel(N, ua[0] * A.x + ua[1] * A.y + ua[2] * A.z)
    O = P.locatenew("O", q[3] * A.z + r * sm.sin(q[1]) * A.y)
    O.set_vel(N, u[3] * A.x + u[4] * A.y + u[5] * A.z)
    spin = q[0].diff(t) * A.z + q[1].diff(t) * B.x + q[2].diff(t) * B.y
    arm = O.pos_from(P)
    moved = arm.diff(t, A) + A.ang_vel_in(N).cross(arm)
    kinematics = [(spin - C.ang_vel_in(N)).dot(b) for b in (B.x, B.y, B.z)] + [(moved - O.vel(N)).dot(A.z)]
    slip = O.vel(N) - (P.vel(N) + C.ang_vel_in(N).cross(arm))
    kane = me.KanesMethod(
        N,
        q[:3],
        u[:3],
        kinematics,
        q_dependent=q[3:],
        configuration_constraints=[(-r * B.z).dot(A.z) - q[3]],
        u_dependent=u[3:],
        velocity_constraints=[slip.dot(a).expand() for a in (A.x, A.y, A.z)],
        u_auxiliary=ua,
    )
    loads = [(O, m * g * A.z), (P, Fx * A.x + Fy * A.y + Fz * A.z)]
    return kane, {"bodies": [me.RigidBody("disc", O, C, m, (me.inertia(B, I, J, I), O))], "loads": loads}


def tricycle(kind):
    """Exercises 8.12 and 8.17 of Kane and Levinson: wheels by constraints or by kinematics, inertia about any point."""
    q1, q2, q3, u1, u2, u3, u4, u5 = me.dynamicsymbols("q1:4 u1:6")
    R, M, g, e, f, theta, a, b, mA, mB, IA, J, K = sm.symbols("R M g e f theta a b mA mB IA J K")
    Q1, Q2, Q3, IA22, IA23, IA33 = sm.symbols("Q1 Q2 Q3 IA22 IA23 IA33")
    F = me.ReferenceFrame("F")
    plane = F.orientnew("P", "axis", [-theta, F.y])
    A = plane.orientnew("A", "axis", [q1, plane.x])
    A.set_ang_vel(F, u1 * A.x + u3 * A.z)
    B, C = A.orientnew("B", "axis", [q2, A.z]), A.orientnew("C", "axis", [q3, A.z])
    D = me.Point("D")
    D.set_vel(A, 0)
    D.set_vel(F, u2 * A.y)
    places = {"S*": e * A.y, "Q": f * A.y - R * A.x, "A*": a * A.y, "B*": b * A.z, "C*": -b * A.z}
    points = {name: D.locatenew(name, place) for name, place in places.items()}
    for point in points.values():
        point.v2pt_theory(D, F, A)
    if kind != "kinematics":
        B.set_ang_vel(A, u4 * A.z)
        C.set_ang_vel(A, u5 * A.z)
    touching = []
    for name, wheel in (("B", B), ("C", C)):
        hat = points[f"{name}*"].locatenew(f"{name}^", -R * A.x)
        touching.append(hat.v2pt_theory(points[f"{name}*"], F, wheel).dot(A.y))
    inertias = [me.inertia(A, IA, IA22, IA33, 0, IA23, 0), me.inertia(B, K, K, J), me.inertia(C, K, K, J)]
    bodies = []
    for frame, mass, inertia in zip((A, B, C), (mA, mB, mB), inertias, strict=True):
        centre = points[f"{frame.name}*"]
        about = centre
        if kind == "non-central":
            inertia += me.inertia_of_point_mass(mass, centre.pos_from(D), frame)  # noqa: PLW2901
            about = D
        bodies.append(
            me.RigidBody("" if kind == "non-central" else f"rb{frame.name}", centre, frame, mass, (inertia, about))
        )
    loads = [(points["S*"], -M * g * F.x), (points["Q"], Q1 * A.x + Q2 * A.y + Q3 * A.z)]
    q = [q1, q2, q3]
    if kind == "kinematics":
        kane = me.KanesMethod(F, q, [u1, u2], [*touching, u1 - q1.diff(t)], u_auxiliary=[u3])
    else:
        kinematics = [qi.diff(t) - ui for qi, ui in zip(q, (u1, u4, u5), strict=True)]
        kane = me.KanesMethod(
            F, q, [u1, u2], kinematics, u_dependent=[u4, u5], velocity_constraints=touching, u_auxiliary=[u3]
        )
    return kane, {"bodies": bodies, "loads": loads}


def disc_in_coordinate_rates():
    """Exercise 8.3 of Kane and Levinson, with inertia added: velocities in q' alone, speeds only in the kinematics."""
    q, u = me.dynamicsymbols("q:5"), me.dynamicsymbols("u:5")
    g, m, R = sm.symbols("g m R")
    A, O = me.ReferenceFrame("A"), me.Point("O")
    middle = A.orientnew("B_prime", "Axis", [q[0], A.z])
    B = middle.orientnew("B", "Axis", [sm.pi / 2 - q[1], middle.x])
    C = B.orientnew("C", "Axis", [q[2], B.z])
    O.set_vel(A, 0)
    contact = O.locatenew("R", q[3] * A.x + q[4] * A.y)
    contact.set_vel(A, contact.pos_from(O).diff(t, A))
    hat = contact.locatenew("C^", 0)
    centre = hat.locatenew("C*", R * B.y)
    centre.v2pt_theory(contact, A, B)
    hat.v2pt_theory(centre, A, C)
    speeds = [C.ang_vel_in(A).dot(axis) for axis in (B.x, B.y, B.z)] + rates(*q[3:])
    kane = me.KanesMethod(
        A,
        q,
        u[:3],
        [ui - e for ui, e in zip(u, speeds, strict=True)],
        u_dependent=u[3:],
        velocity_constraints=[hat.vel(A).dot(axis) for axis in (A.x, A.y)],
    )
    inertia = me.inertia(C, m * R**2 / 4, m * R**2 / 4, m * R**2 / 2)
    disc = me.RigidBody("disc", centre, C, m, (inertia, centre))
    return kane, {"bodies": [disc], "loads": [(centre, -m * g * A.z)]}


def disc_in_six_coordinates():
    """The disc of `test_linearize`: one holonomic and three velocity constraints, of which one repeats it."""
    q1, q2, q3, q4, q5, q6 = q = me.dynamicsymbols("q1:7")
    u1, u2, u3, u4, u5, u6 = me.dynamicsymbols("u1:7")
    r, m, g = sm.symbols("r m g")
    N, origin = me.ReferenceFrame("N"), me.Point("NO")
    A = N.orientnew("A", "Axis", [q1, N.z])
    B = A.orientnew("B", "Axis", [q2, A.x])
    C = B.orientnew("C", "Axis", [q3, B.y])
    centre = origin.locatenew("CO", q4 * N.x + q5 * N.y + q6 * N.z)
    spin, moved = C.ang_vel_in(N), centre.pos_from(origin).dt(N)
    C.set_ang_vel(N, u1 * B.x + u2 * B.y + u3 * B.z)
    centre.set_vel(N, u4 * C.x + u5 * C.y + u6 * C.z)
    P = centre.locatenew("P", r * B.z)
    P.v2pt_theory(centre, N, C)
    kinematics = [(spin - C.ang_vel_in(N)).dot(b) for b in (B.x, B.y, B.z)]
    kinematics += [(moved - centre.vel(N)).dot(n) for n in (N.x, N.y, N.z)]
    kane = me.KanesMethod(
        N,
        q[:5],
        [u1, u2, u3],
        kinematics,
        q_dependent=[q6],
        configuration_constraints=[q6 - centre.pos_from(P).dot(N.z)],
        u_dependent=[u4, u5, u6],
        velocity_constraints=[P.vel(N).dot(c) for c in (C.x, C.y, C.z)],
    )
    I = m * r**2 / 4
    disc = me.RigidBody("Disc", centre, C, m, (me.inertia(C, I, 2 * I, I), centre))
    return kane, {"bodies": [disc], "loads": [(centre, m * g * A.z)]}


def nonminimal_pendulum():
    """Holonomic, velocity and acceleration constraints that all say the same."""
    q1, q2, u1, u2 = me.dynamicsymbols("q1:3 u1:3")
    L, m = sm.symbols("L m")
    N, O = me.ReferenceFrame("N"), me.Point("N*")
    O.set_vel(N, 0)
    P = O.locatenew("P1", q1 * N.x + q2 * N.y)
    P.set_vel(N, u1 * N.x + u2 * N.y)
    radial = (q1 * u1 + q2 * u2) / sm.sqrt(q1**2 + q2**2)
    kane = me.KanesMethod(
        N,
        [q2],
        [u2],
        [q1.diff(t) - u1, q2.diff(t) - u2],
        q_dependent=[q1],
        configuration_constraints=[P.pos_from(O).magnitude() - L],
        u_dependent=[u1],
        velocity_constraints=[radial],
        acceleration_constraints=[radial.diff(t)],
        bodies=[me.Particle("pP", P, m)],
        forcelist=[(P, 9.8 * m * N.x)],
    )
    return kane, {}


def aircraft(*, explicit=False):
    """`test_implicit_kinematics`: a unit quaternion with assumptions of its own, seven kinematical equations."""
    attitude, place = me.dynamicsymbols("lambda_0:4", real=True), me.dynamicsymbols("B_x:z")
    P, Q, R, U, V, W, T_z, F_z = me.dynamicsymbols("P Q R U V W T_z F_z")
    mass, g, xx, yy, zz, xz = sm.symbols("M_B g J_xx J_yy J_zz J_xz")
    N, O = me.ReferenceFrame("NED"), me.Point("NED_o")
    O.set_vel(N, 0)
    B = N.orientnew("B", "Quaternion", attitude)
    centre = O.locatenew("B_cm", place[0] * B.x + place[1] * B.y + place[2] * B.z)
    spin = B.ang_vel_in(N)
    B.set_ang_vel(N, P * B.x + Q * B.y + R * B.z)
    moved = centre.vel(N)
    centre.set_vel(N, U * B.x + V * B.y + W * B.z)
    axes = (B.x, B.y, B.z)
    kinematics = [(B.ang_vel_in(N) - spin).dot(b) for b in axes] + [(centre.vel(N) - moved).dot(b) for b in axes]
    kinematics.append(sum(e * e.diff(t) for e in attitude))
    if explicit:
        product = sm.Matrix([[0, -P, -Q, -R], [P, 0, R, -Q], [Q, -R, 0, P], [R, Q, -P, 0]]) * sm.Matrix(attitude) / 2
        x, y, z = place
        moved = sm.Matrix([U - Q * z + R * y, V - R * x + P * z, W - P * y + Q * x])
        kinematics = [f.diff(t) - e for f, e in zip((*attitude, *place), (*product, *moved), strict=True)]
    kane = me.KanesMethod(
        N,
        [*attitude[1:], *place],
        [U, V, W, P, Q, R],
        kinematics,
        q_dependent=[attitude[0]],
        configuration_constraints=[sum(e**2 for e in attitude) - 1],
        explicit_kinematics=False,
    )
    body = me.RigidBody("RB", centre, B, mass, (me.inertia(B, 2 + xx, 2 + yy, 2 + zz, 0, 0, -xz / 4), centre))
    loads = [(centre, mass * g * N.z), (B, T_z * B.z), (centre, F_z * B.z)]
    return kane, {"bodies": [body], "loads": loads, "specified": {T_z: sm.sin(t), F_z: -3.0}}


def masses_in_a_row():
    kane = multi_mass_spring_damper(3, apply_gravity=True, apply_external_forces=True)
    inputs = me.dynamicsymbols("f:3")
    return kane, {"specified": {f: sm.cos(k * t) for k, f in enumerate(inputs)}}


def pendulums_on_a_cart():
    kane = n_link_pendulum_on_cart(3, cart_force=True, joint_torques=True)
    inputs = me.dynamicsymbols("F T1:4")
    return kane, {"specified": {f: sm.sin(t + k) for k, f in enumerate(inputs)}}


MODELS = {
    "spring, mass, damper": spring_mass_damper,
    "two masses": two_masses,
    "pendulum": pendulum,
    "rolling disc": rolling_disc,
    "rolling disc, auxiliary speeds": lambda: rolling_disc("auxiliary"),
    "rolling disc, speeds in excess": lambda: rolling_disc("free"),
    "cart with hinged inertia": cart_with_hinged_inertia,
    "shaken pendulum": shaken_pendulum,
    "torques on frames, relative speeds": lambda: torques_on_frames("relative"),
    "torques on frames, absolute speeds": lambda: torques_on_frames("absolute"),
    "disc with slip constraints": disc_with_slip_constraints,
    "disc with height": disc_with_height,
    "tricycle, wheels by constraints": lambda: tricycle("constraints"),
    "tricycle, inertia about another point": lambda: tricycle("non-central"),
    "tricycle, wheels by kinematics": lambda: tricycle("kinematics"),
    "disc in coordinate rates": disc_in_coordinate_rates,
    "disc in six coordinates": disc_in_six_coordinates,
    "non-minimal pendulum": nonminimal_pendulum,
    "masses in a row": masses_in_a_row,
    "pendulums on a cart": pendulums_on_a_cart,
}

"""Models of SymPy's joints framework, after its tests and tutorials, each as (System, options, method of SymPy)."""

import sympy as sm
import sympy.physics.mechanics as me

t = me.dynamicsymbols._t


def cart_pendulum(*, held=False, lagrange=False):
    """The example of SymPy's `System`: a cart on a rail, a bob, a spring at the pin; the bob may be held sideways."""
    g, l, mc, mp, k = sm.symbols("g l mc mp k")
    F, qp, qc, up, uc = me.dynamicsymbols("F qp qc up uc")
    rail, cart, bob = me.RigidBody("rail"), me.RigidBody("cart", mass=mc), me.Particle("bob", mass=mp)
    if lagrange:
        up, uc = qp.diff(t), qc.diff(t)
    frame = me.ReferenceFrame("bob_frame")
    system = me.System.from_newtonian(rail)
    system.add_joints(
        me.PrismaticJoint("slider", rail, cart, qc, uc, joint_axis=rail.x),
        me.PinJoint("pin", cart, bob, qp, up, joint_axis=cart.z, child_interframe=frame, child_point=l * frame.y),
    )
    if lagrange:
        for body in (cart, bob):
            height = body.masscenter.pos_from(system.fixed_point).dot(system.y)
            body.potential_energy = body.mass * g * height
    else:
        system.apply_uniform_gravity(-g * system.y)
    system.add_loads((cart.masscenter, F * rail.x))
    system.add_actuators(me.TorqueActuator(k * qp, cart.z, frame, cart))
    if held:
        system.add_holonomic_constraints(bob.masscenter.pos_from(rail.masscenter).dot(system.x))
        system.q_ind, system.q_dep = qp, qc
        system.u_ind, system.u_dep = up, uc
    return system, {"specified": {F: 0.5 * sm.cos(t)}}, me.LagrangesMethod if lagrange else me.KanesMethod


def box_on_ground():
    g, m, mu = sm.symbols("g m mu")
    q, u, ua = me.dynamicsymbols("q u ua")
    N, F = me.dynamicsymbols("N F", positive=True)
    box, system = me.Particle("P", mass=m), me.System()
    system.add_bodies(box)
    box.masscenter.set_pos(system.fixed_point, q * system.x)
    box.masscenter.set_vel(system.frame, u * system.x + ua * system.y)
    system.q_ind, system.u_ind, system.u_aux = [q], [u], [ua]
    system.kdes = [q.diff(t) - u]
    system.apply_uniform_gravity(-g * system.y)
    system.add_loads(me.Force(box, N * system.y), me.Force(box, F * system.x - mu * N * system.x))
    return system, {"specified": {N: m * g, F: 7.0}}, me.KanesMethod


def chaos_pendulum():
    mA, mB, lA, lB, IAxx, IBxx, IByy, IBzz, g = sm.symbols("mA, mB, lA, lB, IAxx, IBxx, IByy, IBzz, g")
    theta, phi, omega, alpha = me.dynamicsymbols("theta phi omega alpha")
    A, B, ceiling = me.ReferenceFrame("A"), me.ReferenceFrame("B"), me.RigidBody("C")
    rod, plate = me.RigidBody("rod", mass=mA, frame=A), me.RigidBody("plate", mass=mB, frame=B)
    rod.central_inertia = me.inertia(A, IAxx, IAxx, 0)
    plate.central_inertia = me.inertia(B, IBxx, IByy, IBzz)
    system = me.System.from_newtonian(ceiling)
    system.add_joints(
        me.PinJoint("J1", ceiling, rod, theta, omega, child_point=-lA * rod.z, joint_axis=ceiling.y),
        me.PinJoint("J2", rod, plate, phi, alpha, parent_point=(lB - lA) * rod.z, joint_axis=rod.z),
    )
    system.apply_uniform_gravity(g * ceiling.z)
    return system, {}, me.KanesMethod


def double_pendulum():
    q1, q2, u1, u2 = me.dynamicsymbols("q1 q2 u1 u2")
    m, l, g = sm.symbols("m l g")
    ceiling, first, second = me.RigidBody("C"), me.Particle("P", mass=m), me.Particle("R", mass=m)
    A, B = me.ReferenceFrame("A"), me.ReferenceFrame("B")
    system = me.System.from_newtonian(ceiling)
    system.add_joints(
        me.PinJoint("J1", ceiling, first, q1, u1, child_interframe=A, child_point=-l * A.x, joint_axis=ceiling.z),
        me.PinJoint(
            "J2", first, second, q2, u2, parent_interframe=A, child_interframe=B, child_point=-l * B.x, joint_axis=A.z
        ),
    )
    system.apply_uniform_gravity(g * ceiling.x)
    return system, {}, me.KanesMethod


def four_bar():
    """Four links closed by two holonomic constraints; of the inertias only those about z matter."""
    q1, q2, q3, u1, u2, u3 = me.dynamicsymbols("q1:4, u1:4")
    lengths = sm.symbols("l1:5")
    rho = sm.Symbol("rho")
    N = me.ReferenceFrame("N")
    links = [me.RigidBody(f"Link{k}", frame=N if k == 1 else None, mass=rho * l) for k, l in enumerate(lengths, 1)]
    for link, l in zip(links, lengths, strict=True):
        link.central_inertia = me.inertia(link.frame, 0, 0, rho * l**3 / 12)
    system = me.System.from_newtonian(links[0])
    pairs = zip(links[:3], links[1:], lengths[:3], lengths[1:], (q1, q2, q3), (u1, u2, u3), strict=True)
    for k, (parent, child, a, b, q, u) in enumerate(pairs):
        joint = me.PinJoint(
            f"J{k}",
            parent,
            child,
            q,
            u,
            joint_axis=parent.z,
            parent_point=a / 2 * parent.x,
            child_point=-b / 2 * child.x,
        )
        system.add_joints(joint)
    loop = links[3].masscenter.pos_from(links[0].masscenter) + lengths[0] / 2 * N.x + lengths[3] / 2 * links[3].x
    system.add_holonomic_constraints(loop.dot(N.x), loop.dot(N.y))
    system.q_ind, system.q_dep = [q1], [q2, q3]
    system.u_ind, system.u_dep = [u1], [u2, u3]
    return system, {}, me.KanesMethod


def arm():
    """Spherical and weld joints, default inertias, a spring and a damper between points."""
    l, k, c, g = sm.symbols("l k c g")
    ground, upper, hand = me.RigidBody("ground"), me.RigidBody("upper"), me.Particle("hand")
    system = me.System.from_newtonian(ground)
    system.add_joints(
        me.SphericalJoint("shoulder", ground, upper, child_point=-l * upper.y),
        me.WeldJoint("wrist", upper, hand, parent_point=l * upper.z, child_interframe=me.ReferenceFrame("H")),
    )
    system.apply_uniform_gravity(-g * ground.y)
    path = me.LinearPathway(ground.masscenter, hand.masscenter)
    system.add_actuators(me.LinearSpring(k, path, equilibrium_length=l / 3), me.LinearDamper(c, path))
    return system, {}, me.KanesMethod


def press():
    """Planar and cylindrical joints, a Duffing spring and a torque between two bodies."""
    l, k, c, beta = sm.symbols("l k c beta")
    ground, plate, ram = (me.RigidBody(name) for name in ("ground", "plate", "ram"))
    system = me.System.from_newtonian(ground)
    lead = me.CylindricalJoint("lead", plate, ram, joint_axis=plate.y, parent_point=l * plate.x)
    system.add_joints(me.PlanarJoint("table", ground, plate, parent_point=l * ground.z), lead)
    path = me.LinearPathway(ground.masscenter, ram.masscenter)
    system.add_actuators(
        me.DuffingSpring(beta, k, path, equilibrium_length=l),
        me.TorqueActuator(-c * lead.speeds[0], plate.y, ram.frame, plate.frame),
    )
    return system, {}, me.KanesMethod


MODELS = {
    "cart and pendulum": cart_pendulum,
    "cart and pendulum, held": lambda: cart_pendulum(held=True),
    "cart and pendulum, Lagrange": lambda: cart_pendulum(lagrange=True),
    "box on ground": box_on_ground,
    "chaos pendulum": chaos_pendulum,
    "double pendulum": double_pendulum,
    "four-bar": four_bar,
    "arm": arm,
    "press": press,
}

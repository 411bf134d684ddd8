"""What the tests of `outputs=` and `store=` share."""

import numpy as np

import dalembert as da


def swung_bar():
    """A damped bar on a hinge in space, swung over: work is done, and the angle of its hinge counts turns."""
    model = da.Model("swung over")
    model.gravity([0, 0, -9.81])
    bar = model.body("B", mass=1.0, inertia=[0.1, 0.1, 0.02])
    ends = model.marker(model.ground, [0, 0, 0], axis=[0, 1, 0]), model.marker(bar, [0, 0, 0.5], axis=[0, 1, 0])
    model.joints.revolute("hinge", *ends)
    model.elements.torsion_damper("bearing", model.ground, bar, coefficient=0.02, axis=[0, 1, 0])
    model.output("swing", [bar.position[0], 2 * bar.position[2]])
    system = model.compile()
    return system, system.initial({"B_x": 0.0, "B_wy": 12.0}, guess={"B_z": -0.5})


class Elsewhere:
    """An integrator that goes its own way through time."""

    explicit = True

    def run(self, *_):
        raise NotImplementedError


def stiff_pair():
    """Two particles, one of which follows the other by a stiff spring: `Automatic` changes to Radau."""
    model = da.Model("stiff")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1.0, position=[x, y])
    model.generalized_force({x: -1e6 * (x - y) - 3e3 * x.diff(), y: -y})
    system = model.compile()
    return system, system.initial({x: 1.0, y: 1.0, x.diff(): 0.0, y.diff(): 0.0})


def certificates_agree(kept, whole):
    """To the last digit that is told, and in every number."""
    assert str(kept.certificate) == str(whole.certificate)
    mine, theirs = (one.certificate for one in (kept, whole))
    assert (mine.ok, mine.verdict, mine.dependent, mine.powers) == (
        theirs.ok,
        theirs.verdict,
        theirs.dependent,
        theirs.powers,
    )
    np.testing.assert_equal([tuple(f) for f in _rows(mine)], [tuple(f) for f in _rows(theirs)])
    np.testing.assert_equal((mine.energy_error, mine.condition), (theirs.energy_error, theirs.condition))


def _rows(certificate):
    return [(f.level, f.name, f.worst, f.t, f.allowed, f.size) for f in certificate.findings]

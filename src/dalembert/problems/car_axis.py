"""Car axis: an axle on two springs, one wheel on a flat road, the other on a harmonic one.

Point masses (xl, yl) and (xr, yr), each of mass M eps^2 / 2, joined by an axle of length L. Springs of free length L0
and stiffness 1 join the left one to the origin and the right one to (xb, yb), yb = r sin(w t), xb = sqrt(L^2 - yb^2);
the left spring stays normal to the road between the wheels: xl xb + yl yb = 0, a constraint that depends on time.

The Test Set for IVP Solvers gives values at t = 3 that differ from those in `REFERENCE`, computed with 32 digits, from
the 11th digit on.
"""

from __future__ import annotations

import sympy as sp

from dalembert.model.model import Model
from dalembert.problems.problem import Problem

REFERENCE = {  # at t = 3
    "xl": 0.04934557842752409213, "yl": 0.49698946023000810676, "xr": 1.04174252488542611519,
    "yr": 0.37391102726536581936, "vxl": -0.07705836840359208428, "vyl": 0.00744686659206841649,
    "vxr": 0.01755681575354173662, "vyr": 0.77034104377960106307,
    "normal": -0.00473688659085332652, "axle": -0.00110468033125956584,
}  # fmt: skip


def build() -> Model:
    """Positions of both wheels as coordinates; constraints `normal` and `axle`."""
    model = Model("car axis")
    xl, yl, xr, yr = model.coordinates("xl yl xr yr")
    model.speeds("vxl vyl vxr vyr")
    eps, M, L, L0, r, w, g = model.parameters(eps=1e-2, M=10.0, L=1.0, L0=0.5, r=0.1, w=10.0, g=1.0)
    yb = r * sp.sin(w * model.t)
    xb = sp.sqrt(L**2 - yb**2)
    m = M * eps**2 / 2
    left = model.particle("left_wheel", mass=m, position=[xl, yl])
    right = model.particle("right_wheel", mass=m, position=[xr, yr])
    model.gravity([0, -g])
    for x, y in ((xl, yl), (xr - xb, yr - yb)):
        model.energy(potential=(sp.sqrt(x**2 + y**2) - L0) ** 2 / 2)
    model.constrain(xl * xb + yl * yb, name="normal")
    model.constrain((xl - xr) ** 2 + (yl - yr) ** 2 - L**2, name="axle")
    model.line([left, right], name="axle")
    model.line([[0, 0], left], name="left spring")
    model.line([[xb, yb], right], name="right spring")
    return model


PROBLEM = Problem(
    name="car_axis",
    title="car axis on a flat and a harmonic road",
    source="Test Set for IVP Solvers, car axis; S. Schneider (1994)",
    build=build,
    given={"xl": 0.0, "xr": 1.0, "vxl": -0.5, "vxr": -0.5},
    guess={"yl": 0.5, "yr": 0.5},
    t_end=3.0,
    reference={3.0: REFERENCE},
    tolerance=1e-8,
    note="The wheels are light on stiff springs: they bounce while the axle follows the road.",
)

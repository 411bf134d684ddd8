"""Equations written out by hand, as one who uses no tool would: the same source serves NumPy and Numba.

Each problem is a pair of functions of z = (q, u):

    fill(z, K, r)       [[M, A^T], [A, 0]] and (f, b) of  M u' + A^T x = f,  A u' = b;  position rows of A come first;
                        entries that are always zero are left alone
    violate(z, out)     phi (np), then psi (np + nv): the constraints at position and at velocity level
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, sin, sqrt
from typing import Any

from benchmarks.peers.statements import GROUND_LINK, LINKS, Bars, G

from dalembert.problems.andrews import DRIVE, GROUND, INERTIAS, LENGTHS, MASSES


@dataclass(frozen=True)
class Equations:
    """A pair of functions and the sizes they go with."""

    fill: Callable[[Any, Any, Any], None]
    violate: Callable[[Any, Any], None]
    nq: int
    position: int
    velocity: int

    @property
    def nc(self) -> int:
        return self.position + self.velocity


def appell_hamel() -> Equations:
    """a = 1, b = 0.5, rho = 5, m = 1, M = 5, I = 1; rows: thread, rolling (nonlinear), skidding."""

    def fill(z: Any, K: Any, r: Any) -> None:
        s, c = sin(z[0]), cos(z[0])
        u1, u2, u3, u4 = z[5], z[6], z[7], z[8]
        vx, vy = u3 + 5.0 * u1 * s, u4 - 5.0 * u1 * c
        K[0, 0], K[1, 1], K[2, 2], K[3, 3], K[4, 4] = 126.0, 1.0, 6.0, 6.0, 1.0
        K[0, 2] = K[2, 0] = 25.0 * s
        K[0, 3] = K[3, 0] = -25.0 * c
        r[2], r[3], r[4] = -25.0 * c * u1**2, -25.0 * s * u1**2, -G
        K[5, 1] = K[1, 5] = 0.5
        K[5, 4] = K[4, 5] = 1.0
        K[6, 0] = K[0, 6] = 5.0 * (vx * s - vy * c)
        K[6, 1] = K[1, 6] = -u2
        K[6, 2] = K[2, 6] = vx
        K[6, 3] = K[3, 6] = vy
        K[7, 0] = K[0, 7] = 5.0
        K[7, 2] = K[2, 7] = s
        K[7, 3] = K[3, 7] = -c
        r[6] = -5.0 * u1**2 * (vx * c + vy * s)
        r[7] = -u1 * (u3 * c + u4 * s)

    def violate(z: Any, out: Any) -> None:
        s, c = sin(z[0]), cos(z[0])
        u1, u2, u3, u4, u5 = z[5], z[6], z[7], z[8], z[9]
        out[0] = z[4] + 0.5 * z[1] - 30.0
        out[1] = u5 + 0.5 * u2
        out[2] = 0.5 * ((u3 + 5.0 * u1 * s) ** 2 + (u4 - 5.0 * u1 * c) ** 2 - u2**2)
        out[3] = u3 * s - u4 * c + 5.0 * u1

    return Equations(fill, violate, nq=5, position=1, velocity=2)


def four_bar(bars: Bars) -> Equations:
    """The linkage: first in absolute angles a, where M_ij = k_ij cos(a_i - a_j), then summed to relative ones."""
    (m1, c1, j1), (m2, c2, j2), (m3, c3, j3) = bars
    l1, l2, l3 = LINKS
    k11, k22, k33 = m1 * c1**2 + j1 + (m2 + m3) * l1**2, m2 * c2**2 + j2 + m3 * l2**2, m3 * c3**2 + j3
    k12, k13, k23 = (m2 * c2 + m3 * l2) * l1, m3 * c3 * l1, m3 * c3 * l2
    g1, g2, g3 = G * (m1 * c1 + (m2 + m3) * l1), G * (m2 * c2 + m3 * l2), G * m3 * c3

    def fill(z: Any, K: Any, r: Any) -> None:
        a1 = z[0]
        a2 = a1 + z[1]
        a3 = a2 + z[2]
        w1, w2, w3 = z[3] ** 2, (z[3] + z[4]) ** 2, (z[3] + z[4] + z[5]) ** 2
        x1, y1, x2, y2, x3, y3 = cos(a1), sin(a1), cos(a2), sin(a2), cos(a3), sin(a3)
        m12, s12 = k12 * (x1 * x2 + y1 * y2), k12 * (y1 * x2 - x1 * y2)
        m13, s13 = k13 * (x1 * x3 + y1 * y3), k13 * (y1 * x3 - x1 * y3)
        m23, s23 = k23 * (x2 * x3 + y2 * y3), k23 * (y2 * x3 - x2 * y3)
        f3 = s13 * w1 + s23 * w2 - g3 * x3
        f2 = f3 + s12 * w1 - s23 * w3 - g2 * x2
        f1 = f2 - s12 * w2 - s13 * w3 - g1 * x1
        K[2, 2] = k33
        K[1, 2] = K[2, 1] = k33 + m23
        K[1, 1] = k22 + k33 + 2.0 * m23
        K[0, 2] = K[2, 0] = k33 + m23 + m13
        K[0, 1] = K[1, 0] = k22 + k33 + 2.0 * m23 + m12 + m13
        K[0, 0] = k11 + k22 + k33 + 2.0 * (m12 + m13 + m23)
        r[0], r[1], r[2] = f1, f2, f3
        x1, y1, x2, y2, x3, y3 = l1 * x1, l1 * y1, l2 * x2, l2 * y2, l3 * x3, l3 * y3
        K[3, 2] = K[2, 3] = -y3
        K[3, 1] = K[1, 3] = -y3 - y2
        K[3, 0] = K[0, 3] = -y3 - y2 - y1
        K[4, 2] = K[2, 4] = x3
        K[4, 1] = K[1, 4] = x3 + x2
        K[4, 0] = K[0, 4] = x3 + x2 + x1
        r[3] = x1 * w1 + x2 * w2 + x3 * w3
        r[4] = y1 * w1 + y2 * w2 + y3 * w3

    def violate(z: Any, out: Any) -> None:
        a1 = z[0]
        a2 = a1 + z[1]
        a3 = a2 + z[2]
        w1, w2, w3 = z[3], z[3] + z[4], z[3] + z[4] + z[5]
        x1, y1, x2, y2, x3, y3 = cos(a1), sin(a1), cos(a2), sin(a2), cos(a3), sin(a3)
        out[0] = l1 * x1 + l2 * x2 + l3 * x3 - GROUND_LINK
        out[1] = l1 * y1 + l2 * y2 + l3 * y3
        out[2] = -l1 * y1 * w1 - l2 * y2 * w2 - l3 * y3 * w3
        out[3] = l1 * x1 * w1 + l2 * x2 * w2 + l3 * x3 * w3

    return Equations(fill, violate, nq=3, position=2, velocity=0)


def andrews() -> Equations:
    """Seven angles, six loop equations; the constant coefficients are gathered first."""
    m1, m2, m3, m4, m5, m6, m7 = MASSES.values()
    i1, i2, i3, i4, i5, i6, i7 = INERTIAS.values()
    d, da, e, ea_, rr, ra, ss, sa, sb, sc, sd, ta, tb, u, ua, ub, zf, zt, fa_ = LENGTHS.values()
    xa, ya, xb, yb, xc, yc = GROUND.values()
    c0, l0, mom = DRIVE.values()
    ea, fa = e - ea_, zf - fa_
    k11, k12, k22 = m1 * ra**2 + m2 * (rr**2 + da**2) + i1 + i2, m2 * da**2 + i2, m2 * da * rr
    k33 = m3 * (sa**2 + sb**2) + i3
    k44, k45 = m4 * ea**2 + i4, m4 * zt * ea
    k55 = m4 * (zt**2 + ea**2) + m5 * (ta**2 + tb**2) + i4 + i5
    k66, k67 = m6 * fa**2 + i6, m6 * u * fa
    k77 = m6 * (fa**2 + u**2) + m7 * (ua**2 + ub**2) + i6 + i7

    def fill(z: Any, K: Any, r: Any) -> None:
        be, th, ga, ph, de, om, ep = z[0], z[1], z[2], z[3], z[4], z[5], z[6]
        b1, t1, g1, p1, d1, o1, e1 = z[7], z[8], z[9], z[10], z[11], z[12], z[13]
        st, ct, sp, cp, so, co = sin(th), cos(th), sin(ph), cos(ph), sin(om), cos(om)
        sg, cg, sd_, cd, se, ce = sin(ga), cos(ga), sin(de), cos(de), sin(ep), cos(ep)
        sb_, cb, sbt, cbt = sin(be), cos(be), sin(be + th), cos(be + th)
        spd, cpd, soe, coe = sin(ph + de), cos(ph + de), sin(om + ep), cos(om + ep)
        K[0, 0] = k11 - 2.0 * k22 * ct
        K[0, 1] = K[1, 0] = k12 - k22 * ct
        K[1, 1] = k12
        K[2, 2] = k33
        K[3, 3] = k44
        K[3, 4] = K[4, 3] = k44 + k45 * sp
        K[4, 4] = k55 + 2.0 * k45 * sp
        K[5, 5] = k66
        K[5, 6] = K[6, 5] = k66 - k67 * so
        K[6, 6] = k77 - 2.0 * k67 * so
        lx, ly = sd * cg + sc * sg + xb - xc, sd * sg - sc * cg + yb - yc
        length = sqrt(lx * lx + ly * ly)
        pull = -c0 * (length - l0) / length
        r[0] = mom - k22 * t1 * (t1 + 2.0 * b1) * st
        r[1] = k22 * b1 * b1 * st
        r[2] = pull * (lx * (sc * cg - sd * sg) + ly * (sd * cg + sc * sg))
        r[3] = k45 * d1 * d1 * cp
        r[4] = -k45 * p1 * (p1 + 2.0 * d1) * cp
        r[5] = -k67 * e1 * e1 * co
        r[6] = k67 * o1 * (o1 + 2.0 * e1) * co
        xt, yt = d * sbt, -d * cbt
        bt, pd, oe = (b1 + t1) ** 2, (p1 + d1) ** 2, (o1 + e1) ** 2
        x2 = rr * cb * b1 * b1 - d * cbt * bt
        y2 = rr * sb_ * b1 * b1 - d * sbt * bt
        for k in range(3):
            row = 7 + 2 * k
            K[row, 0] = K[0, row] = xt - rr * sb_
            K[row, 1] = K[1, row] = xt
            K[row + 1, 0] = K[0, row + 1] = yt + rr * cb
            K[row + 1, 1] = K[1, row + 1] = yt
        K[7, 2] = K[2, 7] = -ss * cg
        K[8, 2] = K[2, 8] = -ss * sg
        K[9, 3] = K[3, 9] = -e * cpd
        K[9, 4] = K[4, 9] = -e * cpd + zt * sd_
        K[10, 3] = K[3, 10] = -e * spd
        K[10, 4] = K[4, 10] = -e * spd - zt * cd
        K[11, 5] = K[5, 11] = zf * soe
        K[11, 6] = K[6, 11] = zf * soe - u * ce
        K[12, 5] = K[5, 12] = -zf * coe
        K[12, 6] = K[6, 12] = -zf * coe - u * se
        r[7] = x2 - ss * sg * g1 * g1
        r[8] = y2 + ss * cg * g1 * g1
        r[9] = x2 - e * spd * pd - zt * cd * d1 * d1
        r[10] = y2 + e * cpd * pd - zt * sd_ * d1 * d1
        r[11] = x2 - zf * coe * oe - u * se * e1 * e1
        r[12] = y2 - zf * soe * oe + u * ce * e1 * e1

    def violate(z: Any, out: Any) -> None:
        be, th, ga, ph, de, om, ep = z[0], z[1], z[2], z[3], z[4], z[5], z[6]
        b1, g1, d1, e1 = z[7], z[9], z[11], z[13]
        bt, pd, oe = b1 + z[8], z[10] + d1, z[12] + e1
        x, y = rr * cos(be) - d * cos(be + th), rr * sin(be) - d * sin(be + th)
        x1, y1 = -rr * sin(be) * b1 + d * sin(be + th) * bt, rr * cos(be) * b1 - d * cos(be + th) * bt
        out[0] = x - ss * sin(ga) - xb
        out[1] = y + ss * cos(ga) - yb
        out[2] = x - e * sin(ph + de) - zt * cos(de) - xa
        out[3] = y + e * cos(ph + de) - zt * sin(de) - ya
        out[4] = x - zf * cos(om + ep) - u * sin(ep) - xa
        out[5] = y - zf * sin(om + ep) + u * cos(ep) - ya
        out[6] = x1 - ss * cos(ga) * g1
        out[7] = y1 - ss * sin(ga) * g1
        out[8] = x1 - e * cos(ph + de) * pd + zt * sin(de) * d1
        out[9] = y1 - e * sin(ph + de) * pd - zt * cos(de) * d1
        out[10] = x1 + zf * sin(om + ep) * oe - u * cos(ep) * e1
        out[11] = y1 - zf * cos(om + ep) * oe - u * sin(ep) * e1

    return Equations(fill, violate, nq=7, position=6, velocity=0)

"""The arrangement of M, f, A, b in each formulation: one function per formulation, named in `WRITERS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import sympy as sp
from sympy.polys.matrices.exceptions import DMNonInvertibleMatrixError

from dalembert.analysis.symbolic_mechanics import LEGIBLE, SymbolicMechanics, tidy
from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.errors import OptionError, PairingError, UnknownNameError
from dalembert.solve.pivoting import pivot_columns
from dalembert.solve.tolerances import UNIT_ROW_RANK

EXPLICIT = 6  # nu + nc up to which u' is solved for; its length grows like a factorial
LONGEST_ENTRY = 600  # operations in an entry of the solution beyond which it is left out
HOPELESS = 300  # operations in the matrices beyond which the solution would be longer than that


@dataclass(frozen=True)
class Written:
    """Matrices by name and how they stand together: pairs of sides, each a product of names.

    `directions` (nu, p), rows in the order of the speeds, are those along which a partition leaves the system free.
    """

    matrices: Mapping[str, sp.Matrix]
    relations: tuple[tuple[str, str], ...]
    directions: sp.Matrix | None = None


@dataclass(frozen=True)
class Solution:
    """u' (nu, 1) and the multipliers (nc, 1) in closed form; the multipliers as the parts due to f and due to b."""

    udot: sp.Matrix
    feedback: sp.Matrix
    feed_forward: sp.Matrix

    @property
    def multipliers(self) -> sp.Matrix:
        """la (nc, 1), the unknowns for servo constraints."""
        return tidy(self.feedback + self.feed_forward)


def solve_motion(m: SymbolicMechanics) -> Solution | None:
    """The accelerations and multipliers, the same for every formulation; None if too long to read or not unique."""
    nu, nc = m.M.rows, m.A.rows
    if nu + nc > EXPLICIT:
        return None
    K, sides = _saddle(m), m.f.col_join(sp.zeros(nc, 1)).row_join(sp.zeros(nu, 1).col_join(m.b))
    if sum(entry.count_ops() for entry in K.row_join(sides)) > HOPELESS:
        return None
    found = _solve(K, sides)
    if found is None or max(entry.count_ops() for entry in found) > LONGEST_ENTRY:
        return None
    return Solution(tidy(found[:nu, 0] + found[:nu, 1]), found[nu:, 0], found[nu:, 1])


@dataclass(frozen=True)
class Case:
    """Input of a writer: a system, its matrices, their solution if it is readable (else None), and the formulation."""

    system: System
    mechanics: SymbolicMechanics
    solution: Solution | None
    formulation: Any


@dataclass(frozen=True)
class SymbolicPartition:
    """Independent constraint rows, dependent and independent speeds, as indices."""

    rows: list[int]
    dependent: list[int]
    independent: list[int]


def write_lagrange(case: Case) -> Written:
    """K x = k with x = (u', la): M u' = f + W^T la, A u' = b ([P], eq. 2.42, 2.45)."""
    m = case.mechanics
    matrices = {"saddle": _saddle(m), "x": sp.Matrix([*m.udot, *_multipliers(m)]), "rhs": m.f.col_join(m.b)}
    if case.solution is not None:
        matrices["la"] = case.solution.multipliers
    matrices |= {"M": m.M, "f": m.f, "A": m.A, "b": m.b}
    return Written(matrices, (("saddle x", "rhs"),))


def write_udwadia_kalaba(case: Case) -> Written:
    """u' = a + M^-1 A^T (A M^-1 A^T)^-1 (b - A a) and the constraint force r, with its two parts ([G], eq. 30, 32).

    The parts are -A^T S^-1 A a, feedback, and A^T S^-1 b, feed-forward, with S = A M^-1 A^T and a = M^-1 f: what (32)
    becomes for independent constraints, whichever generalised inverses are used.
    """
    m, solution = case.mechanics, case.solution
    _check_ideal(case)
    matrices = {"M": m.M, "f": m.f, "A": m.A, "b": m.b}
    relations = (
        ("udot", "unconstrained + M^{-1} constraint_force"),
        ("unconstrained", "M^{-1} f"),
        ("constraint_force", "feedback + feed_forward"),
        ("feedback", "- A^T (A M^{-1} A^T)^{-1} A unconstrained"),
        ("feed_forward", "A^T (A M^{-1} A^T)^{-1} b"),
    )
    free = None if solution is None else _solve(m.M, m.f)
    if solution is not None and free is not None:
        matrices |= {
            "unconstrained": free,
            "constraint_force": tidy(m.A.T * solution.multipliers),
            "feedback": tidy(m.A.T * solution.feedback),
            "feed_forward": tidy(m.A.T * solution.feed_forward),
        }
    return Written(matrices, relations)


def write_nonminimal_kane(case: Case) -> Written:
    """T u' = V with T = [A1; A2 Q], V = [B; A2 P] ([K], eq. 44); columns in the order (u_I, u_D)."""
    p = _partition(case)
    kane = _kane(case.mechanics, p)
    T = kane["A1"].col_join(tidy(kane["A2"] * kane["Q"]))
    V = kane["B"].col_join(tidy(kane["A2"] * kane["P"]))
    relations = (("T split", "V"), ("A1 split", "B"), ("A2 Q split", "A2 P"), ("A2 Fstar", "- A2 F"))
    return Written({**kane, "T": T, "V": V}, relations, _ordered_rows(kane["A2"].T, p))


def write_minimal_kane(case: Case) -> Written:
    """A2 Q A2^T u_I' = A2 (P - Q [0; B]) and u_D' = A u_I' + B ([K], eq. 20, 39 and 42)."""
    p = _partition(case)
    kane = _kane(case.mechanics, p)
    A2, Q, P = kane["A2"], kane["Q"], kane["P"]
    padded = sp.zeros(len(p.independent), 1).col_join(kane["B"])
    reduced = {"reduced_mass": tidy(A2 * Q * A2.T), "reduced_force": tidy(A2 * (P - Q * padded))}
    relations = (
        ("reduced_mass udot_I", "reduced_force"), ("udot_D", "Amatrix udot_I + B"), ("A2 Fstar", "- A2 F"),
    )  # fmt: skip
    return Written({**kane, **reduced}, relations, _ordered_rows(A2.T, p))


def write_null_space(case: Case) -> Written:
    """D^T M u' = D^T f, A u' = b with A D = 0 ([P], eq. 2.1-2.3 without the reactions).

    Servo constraints have no reaction of their own: D belongs to the others, and D^T E y joins the forces, where E
    (nu, ny) is how the unknowns act ([P], eq. 2.46 and 3.10-3.11).
    """
    m = case.mechanics
    acting = [k for k in range(len(m.rows)) if k not in case.system.implied]
    D = _null_space(case, [k for k in acting if m.rows[k].law.unknown is None])
    matrices = {"D": D, "DTM": tidy(D.T * m.M), "DTf": tidy(D.T * m.f)}
    relations = [("DTM udot", "DTf"), ("A udot", "b")]
    if m.y.rows:
        matrices["DTE"] = tidy(D.T * m.B)
        relations[0] = ("DTM udot", "DTf + DTE y")
    matrices |= {"A": m.A, "b": m.b, "M": m.M, "f": m.f, "E": m.B, "y": m.y}
    return Written(matrices, tuple(relations))


WRITERS: Mapping[str, Callable[[Case], Written]] = {
    "LagrangeMultipliers": write_lagrange,
    "UdwadiaKalaba": write_udwadia_kalaba,
    "NonminimalKane": write_nonminimal_kane,
    "MinimalKane": write_minimal_kane,
    "MinimalState": write_minimal_kane,
    "NullSpace": write_null_space,
}


def _kane(m: SymbolicMechanics, p: SymbolicPartition) -> dict[str, sp.Matrix]:
    """The matrices of [K], section 2, for a partition; `Amatrix` is its A. Columns are in the order (u_I, u_D)."""
    order = p.independent + p.dependent
    J1, J2 = m.A.extract(p.rows, p.independent), m.A.extract(p.rows, p.dependent)
    solved = _solve(J2, (-J1).row_join(m.b.extract(p.rows, [0])))
    if solved is None:
        names = ", ".join(m.u[k].func.__name__ for k in p.independent)
        raise OptionError(f"u_ind = ({names}) cannot be independent: J2 is singular; choose other speeds or None")
    solved = tidy(solved, LEGIBLE)
    A, B = solved[:, : J1.cols], solved[:, J1.cols :]
    inertia = -m.M * m.udot + m.f - m.active
    return {
        "u_I": m.u.extract(p.independent, [0]), "u_D": m.u.extract(p.dependent, [0]), "J1": J1, "J2": J2,
        "Amatrix": A, "B": B, "A1": (-A).row_join(sp.eye(A.rows)), "A2": sp.eye(A.cols).row_join(A.T),
        "Q": m.M.extract(order, order), "P": m.f.extract(order, [0]),
        "F": m.active.extract(order, [0]), "Fstar": tidy(inertia.extract(order, [0]), LEGIBLE),
    }  # fmt: skip


def _partition(case: Case) -> SymbolicPartition:
    """The speeds `u_ind` names, or those that a pivoted factorisation at a random state leaves."""
    _check_ideal(case)
    system, m, u_ind = case.system, case.mechanics, case.formulation.u_ind
    best = _choose(case, list(range(m.A.rows)))
    if u_ind is None:
        return best
    for name in u_ind:
        if name not in system.speeds:
            raise UnknownNameError(name, system.speeds, f"the speeds of `{system.name}`")
    independent = [system.speeds.index(name) for name in u_ind]
    if len(set(independent)) != len(best.independent):
        raise OptionError(
            f"u_ind has {len(set(independent))} speeds, but `{system.name}` has {len(best.independent)} degrees of "
            "freedom; give as many"
        )
    return SymbolicPartition(best.rows, [k for k in range(system.nu) if k not in independent], independent)


def _choose(case: Case, rows: list[int]) -> SymbolicPartition:
    """Independent rows among `rows` and the speeds they determine best at a random state."""
    system = case.system
    if not rows:
        return SymbolicPartition([], [], list(range(system.nu)))
    rng = np.random.default_rng(1743)
    A = system.constraint_jacobian(0.7, rng.uniform(0.3, 1.3, system.nq), rng.uniform(0.3, 1.3, system.nu))[rows]
    order, size = pivot_columns(A.T)
    rank = int(np.sum(size > UNIT_ROW_RANK * size.max(initial=0.0)))
    kept = sorted(order[:rank])
    dependent = sorted(pivot_columns(A[kept])[0])
    return SymbolicPartition([rows[k] for k in kept], dependent, [k for k in range(system.nu) if k not in dependent])


def _null_space(case: Case, rows: list[int]) -> sp.Matrix:
    """D (nu, nu - rank) with A D = 0 for these rows, free of fractions where that is possible."""
    m, p = case.mechanics, _choose(case, rows)
    if not p.rows:
        return sp.eye(m.M.rows)
    A = _solve(m.A.extract(p.rows, p.dependent), -m.A.extract(p.rows, p.independent))
    if A is None:  # unlikely: regular at a random state
        return sp.Matrix.hstack(*m.A.extract(rows, range(m.M.rows)).nullspace())
    D = _ordered_rows(sp.eye(len(p.independent)).col_join(A), p)
    return sp.Matrix.hstack(*[_without_fractions(D[:, k]) for k in range(D.cols)]) if D.cols else D


def _ordered_rows(matrix: sp.Matrix, p: SymbolicPartition) -> sp.Matrix:
    order = p.independent + p.dependent
    return matrix.extract([order.index(k) for k in range(len(order))], range(matrix.cols))


def _without_fractions(column: sp.Matrix) -> sp.Matrix:
    """A multiple of the column that has no denominators."""
    denominators = [sp.fraction(sp.together(entry))[1] for entry in column]
    return tidy(column * sp.lcm_list(denominators))


def _saddle(m: SymbolicMechanics) -> sp.Matrix:
    return m.M.row_join(-m.W.T).col_join(m.A.row_join(sp.zeros(m.A.rows, m.A.rows)))


def _multipliers(m: SymbolicMechanics) -> list[sp.Expr]:
    return [sp.Symbol(f"lambda_{r.name}") if r.law.unknown is None else m.y[r.law.unknown] for r in m.rows]


def _solve(K: sp.Matrix, k: sp.Matrix) -> sp.Matrix | None:
    """K^-1 k by elimination in a field of rational functions, where zero is recognised; None if K is singular.

    Whatever is not rational - q(t), sin(q), exp(t) - is a generator of that field, so only identities between those
    (sin^2 + cos^2 = 1) can hide that K is singular everywhere.
    """
    if K.rows == 0 or k.cols == 0:
        return sp.zeros(K.cols, k.cols)
    forward = _generators(K.row_join(k))
    left, right = K.xreplace(forward).to_DM().unify(k.xreplace(forward).to_DM())
    try:
        found = left.to_field().to_dense().lu_solve(right.to_field().to_dense()).to_Matrix()
    except DMNonInvertibleMatrixError:
        return None
    backward = {symbol: function for function, symbol in forward.items()}
    return tidy(found.applyfunc(_factored).xreplace(backward))


def _factored(entry: sp.Expr) -> sp.Expr:
    return sp.factor(entry) if entry.count_ops() <= LONGEST_ENTRY else entry


def _generators(matrix: sp.Matrix) -> dict[sp.Expr, sp.Dummy]:
    """A plain symbol for every function and every root in a matrix, outermost first."""
    found = {e for e in matrix.atoms(sp.Function, sp.Pow) if not (e.is_Pow and e.exp.is_Integer)}
    return {e: sp.Dummy(f"g{k}") for k, e in enumerate(sorted(found, key=sp.default_sort_key))}


def _check_ideal(case: Case) -> None:
    servos = [row.name for row in case.system.rows if row.law.unknown is not None]
    if servos:
        raise PairingError(
            f"{type(case.formulation).__name__} needs ideal reactions, but `{servos[0]}` is enforced by an unknown; "
            "use NullSpace() or LagrangeMultipliers()"
        )

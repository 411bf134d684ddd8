"""`SymbolicEquations`: the explicit equations of motion of a small system, in the form a formulation gives them.

Sources: [K] Bajodah, Hodges, Chen (nonminimal Kane), [G] Kalaba, Udwadia (Gauss's principle), [P] Dinh Van Phong
(principle of compatibility).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import sympy as sp
from sympy.physics.vector.printing import VectorStrPrinter, vlatex

from dalembert.analysis.symbolic_formulations import WRITERS, Case, solve_motion
from dalembert.analysis.symbolic_mechanics import SymbolicMechanics, derive_mechanics, tidy
from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.errors import PairingError, UnknownNameError

MOST_SPEEDS = 12

_LATEX = {
    "udot": r"\dot{u}", "udot_I": r"\dot{u}_I", "udot_D": r"\dot{u}_D", "la": r"\lambda", "saddle": "K", "rhs": "k",
    "A1": "A_1", "A2": "A_2", "J1": "J_1", "J2": "J_2", "Amatrix": r"\mathcal{A}", "DTM": "D^T M", "DTf": "D^T f",
    "DTE": "D^T E", "unconstrained": "a", "constraint_force": "r", "feedback": r"r_{\mathrm{feedback}}",
    "feed_forward": r"r_{\mathrm{feed\,forward}}", "reduced_mass": "A_2 Q A_2^T",
    "reduced_force": r"A_2 \left(P - Q \begin{bmatrix} 0 \\ B \end{bmatrix}\right)",
    "Fstar": "F^*", "split": r"\begin{bmatrix} \dot{u}_I \\ \dot{u}_D \end{bmatrix}",
}  # fmt: skip
_PLAIN = {"split": "[udot_I; udot_D]"}


@dataclass(frozen=True)
class SymbolicEquations:
    """Equations of motion as SymPy matrices, by the names their source uses; `equations["T"]` is one of them.

    `relations` say how they stand together, as products of names on each side. `qdot` (nq, 1) are the coordinate
    rates. `udot` (nu, 1), in the order of the system's speeds, is None where the solution would be too long to read.
    `partial_velocities` and `partial_angular_velocities` are by particle and body, in inertial axes: for a formulation
    with a partition those of its independent speeds, (3, p) ([K], eq. 34-35), for the others those of all, (3, nu).
    """

    name: str
    formulation: str
    coordinates: sp.Matrix
    speeds: sp.Matrix
    time: sp.Symbol
    qdot: sp.Matrix
    matrices: Mapping[str, sp.Matrix]
    relations: tuple[tuple[str, str], ...]
    udot: sp.Matrix | None
    partial_velocities: Mapping[str, sp.Matrix]
    partial_angular_velocities: Mapping[str, sp.Matrix]

    def __getitem__(self, name: str) -> sp.Matrix:
        if name not in self.matrices:
            raise UnknownNameError(name, self.matrices, f"the {self.formulation} equations of `{self.name}`")
        return self.matrices[name]

    def in_rates(self) -> SymbolicEquations:
        """The same with speeds written as the coordinate rates they are, where one is plainly the other."""
        pairs = zip(self.coordinates, self.qdot, strict=True)
        rates = {speed: q.diff(self.time) for q, speed in pairs if speed in self.speeds}
        rates |= {speed.diff(self.time): rate.diff(self.time) for speed, rate in rates.items()}
        return replace(
            self,
            speeds=self.speeds.xreplace(rates),
            qdot=self.qdot.xreplace(rates),
            matrices={name: matrix.xreplace(rates) for name, matrix in self.matrices.items()},
            udot=None if self.udot is None else self.udot.xreplace(rates),
            partial_velocities={name: V.xreplace(rates) for name, V in self.partial_velocities.items()},
            partial_angular_velocities={name: V.xreplace(rates) for name, V in self.partial_angular_velocities.items()},
        )

    def latex(self) -> str:
        r"""An `aligned` display: how the matrices stand together, the matrices, and u' where it is explicit."""
        lines = [rf"{vlatex(self.coordinates.diff(self.time))} &= {vlatex(self.qdot)}"]
        lines += [f"{_factors(left)} &= {_factors(right)}" for left, right in self.relations]
        lines += [f"{_LATEX.get(name, name)} &= {vlatex(matrix)}" for name, matrix in self._shown().items()]
        if self.udot is not None:
            lines.append(f"{vlatex(self.speeds.diff(self.time))} &= {vlatex(self.udot)}")
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"

    def _repr_latex_(self) -> str:
        return f"$$\n{self.latex()}\n$$"

    def __str__(self) -> str:
        lines = [f"equations of motion of `{self.name}`, {self.formulation}"]
        lines += [f"  {_words(left)} = {_words(right)}" for left, right in self.relations]
        lines += [f"  {name} = {_plain(matrix)}" for name, matrix in self._shown().items()]
        lines.append(f"  q' = {_plain(self.qdot)}")
        lines.append("  u' is left implicit" if self.udot is None else f"  u' = {_plain(self.udot)}")
        return "\n".join(lines)

    def _shown(self) -> dict[str, sp.Matrix]:
        return {name: matrix for name, matrix in self.matrices.items() if 0 not in matrix.shape}


def write_equations(system: System, formulation: Any = None) -> SymbolicEquations:
    """The equations of motion of `system` as `formulation` arranges them (None: Lagrange multipliers).

    Raises `PairingError` if the system is too large to read, lost its statement, or does not suit the formulation.
    """
    kind = "LagrangeMultipliers" if formulation is None else type(formulation).__name__
    if kind not in WRITERS:
        raise PairingError(f"there are no symbolic equations for {formulation!r}; use one of {', '.join(WRITERS)}")
    hidden = [row.name for row in system.rows if row.behind]
    if hidden:
        raise PairingError(
            f"`{system.name}` has hidden conditions ({', '.join(hidden)}), which were derived on the graph; there are "
            "no symbolic equations for it"
        )
    if system.algebraic:
        raise PairingError(
            f"`{system.name}` has laws, which Newton's method solves with the accelerations; there are no explicit "
            "symbolic equations for it"
        )
    mechanics = mechanics_of(system)
    solution = solve_motion(mechanics)
    written = WRITERS[kind](Case(system, mechanics, solution, formulation))
    return SymbolicEquations(
        name=system.name,
        formulation=kind,
        coordinates=mechanics.q,
        speeds=mechanics.u,
        time=mechanics.time,
        qdot=mechanics.qdot,
        matrices=written.matrices,
        relations=written.relations,
        udot=None if solution is None else solution.udot,
        partial_velocities=_along(mechanics.velocities, written.directions),
        partial_angular_velocities=_along(mechanics.angular_velocities, written.directions),
    )


def mechanics_of(system: System) -> SymbolicMechanics:
    """C, D, M, f, A, b ... of a compiled system. Raises `PairingError` if they cannot be written symbolically."""
    if system.statement is None:
        raise PairingError(
            f"`{system.name}` came out of a pickle, which does not hold its SymPy statement; "
            "ask the system that model.compile() returned for its equations"
        )
    if system.nu > MOST_SPEEDS:
        raise PairingError(
            f"`{system.name}` has {system.nu} speeds; symbolic equations are for systems of at most {MOST_SPEEDS}. "
            "Evaluate system.mass_matrix(...), system.forces(...) and the like instead"
        )
    if system.statement.frictions:
        raise PairingError(
            f"`{system.name}` has friction tied to its multipliers, {system.statement.frictions[0].label}; "
            "no formulation writes that in closed form"
        )
    if system.mechanics.E.nnz():
        raise PairingError(
            f"`{system.name}` has unknowns in masses or nonlinearly in forces; no formulation writes that in closed "
            "form"
        )
    mechanics = derive_mechanics(system.statement, system.rows)
    if mechanics.A.has(*mechanics.udot):
        raise PairingError(
            f"`{system.name}` has constraints that are not linear in the accelerations: A u' = b does not exist"
        )
    return mechanics


def _along(partial: Mapping[str, sp.Matrix], directions: sp.Matrix | None) -> dict[str, sp.Matrix]:
    """Partial velocities by name, for all speeds or along directions."""
    return {name: V if directions is None else tidy(V * directions) for name, V in partial.items()}


def _factors(side: str) -> str:
    """A side such as "A2 Q udot" or "A udot_I + B" in LaTeX."""
    return r" \, ".join(_LATEX.get(word, word) for word in side.split())


def _words(side: str) -> str:
    return " ".join(_PLAIN.get(word, word) for word in side.split())


def _plain(matrix: sp.Matrix) -> str:
    """A matrix as text with primes for derivatives; a column as one list."""
    return str(VectorStrPrinter().doprint(list(matrix) if matrix.cols == 1 else matrix.tolist()))

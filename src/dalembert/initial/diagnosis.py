"""`Diagnosis`: freedom, rank, redundancy, conflict and uniqueness of the constraints of a system in one state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.labels import groups_of
from dalembert.equations.laws import Row
from dalembert.equations.system import System
from dalembert.errors import PairingError
from dalembert.initial.degeneracy import degenerate_rows, describe
from dalembert.initial.dependence import INVOLVED, Scaled, combinations, scale, sparse_basis
from dalembert.initial.hidden_position import SHARE
from dalembert.initial.servo import LeftOpen, left_open
from dalembert.initial.vanished import vanished_rows
from dalembert.motion.state import State
from dalembert.solve.tolerances import UNIT_ROW_RANK
from dalembert.text_tables import html_table

NEAR = 1e-4  # singular values below this are near zero: reactions are then large and the solver damps them
LEVELS = ("position", "velocity", "acceleration")
DISTANCE = 1e-8  # coordinates and speeds closer than this agree
CONFLICT = 1e-6  # accelerations that agree to this fraction of the largest there is do not conflict
NOTHING = LeftOpen()
PRINTED_TERMS = 6  # entries of a list that are printed


@dataclass(frozen=True)
class Hidden:
    """A condition of a level that the servo constraint `behind` hides, and the unknown that enforces it, if any."""

    name: str
    level: str
    behind: str
    unknown: str

    def __str__(self) -> str:
        kept = f"enforced by `{self.unknown}`" if self.unknown else "implied in turn"
        return f"`{self.name}` at {self.level} level, derived from `{self.behind}`, {kept}"


@dataclass(frozen=True)
class Redundancy:
    """A constraint whose gradient is the sum of `combination[other]` times the gradients of others."""

    name: str
    combination: Mapping[str, float]

    def __str__(self) -> str:
        return f"`{self.name}` = {_sum(self.combination)}" if self.combination else f"`{self.name}` has no gradient"


@dataclass(frozen=True)
class Conflict:
    """A redundant constraint that contradicts what the others imply.

    At acceleration level `asked` and `implied` are the two values of A u'; at position and velocity level they are
    the residuals of the constraint and of the combination. `residual` is the difference.
    """

    name: str
    combination: Mapping[str, float]
    level: str
    asked: float
    implied: float

    @property
    def residual(self) -> float:
        """Difference `asked` - `implied`."""
        return self.asked - self.implied

    def __str__(self) -> str:
        if not self.combination:
            what = f"`{self.name}` has no gradient"
        elif list(self.combination.values()) == [1.0]:
            what = f"`{self.name}` repeats `{next(iter(self.combination))}`"
        else:
            what = f"`{self.name}` repeats {_sum(self.combination)}"
        if self.level == "acceleration":
            return f"{what} but asks for {self.asked:.6g} instead of {self.implied:.6g}"
        return f"{what} but its {self.level} residual is {self.asked:.6g} instead of {self.implied:.6g}"


@dataclass(frozen=True)
class Nearness:
    """The smallest singular value that is not zero, the constraints that are almost dependent, and the motion of unit
    size they almost leave free.
    """

    value: float
    constraints: Mapping[str, float]
    motion: Mapping[str, float]


@dataclass(frozen=True)
class Part:
    """Speeds and constraints that neither inertia nor constraints connect with the others, by name."""

    speeds: tuple[str, ...]
    constraints: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{_names(self.speeds)} ({_names(self.constraints)} restrain it)"
            if self.constraints
            else (f"{_names(self.speeds)} (free of constraints)")
        )


@dataclass(frozen=True)
class Diagnosis:
    """Rank, redundancy and conflicts of the constraints in one state, by name; printable.

    `counts` are the constraints stated at each level, `ranks` those of them that are independent of the levels and
    rows before: s_p, s_v, s_a. `singular_values` are those of A with unit rows in the mass metric, so that units do
    not matter. `unique[name]` says whether the reaction of a constraint, or of a group of them stated in one list, is
    unique (the generalised reactions of all together always are). `massless` are motions without inertia that no
    constraint prevents; `determined` says whether accelerations are unique. `deciding` are redundant constraints whose
    reactions are not ideal, where the motion depends on how they share a load, which no equation says. `degenerate` are
    constraints whose gradient vanishes wherever they hold, so that nothing enforces them. `hidden` are the conditions
    that servo constraints of higher index hide and that `compile` derived. `parts` are those that neither inertia nor
    constraints connect, the largest first; large systems are told by them, and of their singular values the smallest.
    """

    title: str
    t: float
    speeds: int
    counts: Mapping[str, int]
    ranks: Mapping[str, int]
    singular_values: np.ndarray
    redundant: tuple[Redundancy, ...]
    conflicting: tuple[Conflict, ...]
    unique: Mapping[str, bool]
    nearest: Nearness | None
    singular_mass: bool
    massless: tuple[Mapping[str, float], ...]
    determined: bool
    degenerate: tuple[str, ...]
    hidden: tuple[Hidden, ...] = ()
    parts: tuple[Part, ...] = ()
    deciding: tuple[str, ...] = ()

    @property
    def rank(self) -> int:
        """Number of independent constraints of all levels."""
        return sum(self.ranks.values())

    @property
    def dof(self) -> int:
        """Degrees of freedom: independent velocities, n_v = n - s_p - s_v."""
        return self.speeds - self.ranks["position"] - self.ranks["velocity"]

    @property
    def position_dof(self) -> int:
        """Independent changes of position, n_p = n - s_p."""
        return self.speeds - self.ranks["position"]

    @property
    def undetermined(self) -> tuple[str, ...]:
        """Motions that neither inertia nor a constraint determines, as sums of speeds."""
        return tuple(_sum(motion) for motion in self.massless)

    @property
    def near_singular(self) -> bool:
        """Whether constraints are almost dependent."""
        return self.nearest is not None and self.nearest.value < NEAR

    @property
    def ok(self) -> bool:
        """Whether accelerations exist, are unique and keep the constraints; redundant constraints are no obstacle."""
        return self.determined and not (self.conflicting or self.massless or self.degenerate)

    def _repr_html_(self) -> str:
        rows = [("" if k else label, text) for label, texts in self._lines() for k, text in enumerate(texts)]
        title = f"diagnosis of {self.title} at t = {self.t:g}: {'OK' if self.ok else 'NOT OK'}"
        return html_table(title, [(("what", "finding"), rows)])

    def __str__(self) -> str:
        return "\n".join(
            [f"diagnosis of `{self.title}` at t = {self.t:g}: {'OK' if self.ok else 'NOT OK'}"]
            + [f"  {'' if k else label:<22}{text}" for label, texts in self._lines() for k, text in enumerate(texts)]
        )

    __repr__ = __str__

    def _lines(self) -> list[tuple[str, list[str]]]:
        counts = ", ".join(f"{self.counts[level]} {level}" for level in LEVELS if self.counts[level]) or "none"
        ranks = " + ".join(f"{self.ranks[level]} {level}" for level in LEVELS if self.counts[level])
        lines = [
            ("degrees of freedom", [f"{self.dof} ({self.position_dof} in position) of {self.speeds} speeds"]),
            ("constraints", [counts + (f"; independent: {ranks}" if ranks else "")]),
            *([("hidden conditions", [str(h) for h in self.hidden])] if self.hidden else []),
            *([("separate parts", _listed([str(p) for p in reversed(self.parts)]))] if len(self.parts) > 1 else []),
        ]
        if self.rank or self.redundant:
            lines += [
                ("singular values", [f"{_values(self.singular_values)} (unit rows, mass metric)"]),
                ("redundant", _listed([str(r) for r in self.redundant])),
                ("conflicting", _listed([str(c) for c in self.conflicting])),
                *([("degenerate", [describe(self.degenerate)])] if self.degenerate else []),
                ("reactions not unique", [_names([n for n, unique in self.unique.items() if not unique])]),
                *(
                    [("motion not unique", [f"it depends on how {_names(self.deciding)} share their load"])]
                    if self.deciding
                    else []
                ),
                ("near a singularity", self._nearness()),
            ]
        return [*lines, ("mass matrix", self._mass())]

    def _nearness(self) -> list[str]:
        if self.nearest is None:
            return ["no"]
        smallest = f"smallest nonzero singular value {self.nearest.value:.1e}, limit {NEAR:.0e}"
        if not self.near_singular:
            return [f"no ({smallest})"]
        return [
            f"yes ({smallest})",
            f"almost dependent: {_sum(self.nearest.constraints)}",
            f"almost free: {_sum(self.nearest.motion)}",
        ]

    def _mass(self) -> list[str]:
        if not self.singular_mass:
            return [
                "regular"
                if self.determined or self.deciding
                else "regular; the unknowns cannot enforce their constraints"
            ]
        if not self.massless:
            return ["singular, but positive definite for every motion the constraints allow"]
        return [f"singular; without inertia or constraint: {describe_motions(self.massless)}"]


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # a state may lie where numbers overflow
def diagnose(system: System, state: State) -> Diagnosis:
    """The diagnosis of the constraints of `system` in `state`, consistent or not."""
    if state.system.speeds != system.speeds:
        raise PairingError(f"the state belongs to `{state.system.name}`, not to `{system.name}`")
    at = (state.t, state.q, state.u, state.parameters)
    A, b, W = system.linearised_rows(*at, more=np.concatenate([state.udot, state.multipliers]))
    rows = [k for k, row in enumerate(system.rows) if row.law.restrains]
    hidden = [row for row in system.rows if row.behind]
    vanished = vanished_rows(state)
    A[vanished], W[vanished] = 0.0, 0.0
    A, b, W, names = A[rows], b[rows], W[rows], tuple(system.constraint_names[k] for k in rows)
    scaled = scale(system.mass_matrix(*at), A, W)
    found = combinations(scaled)
    counts = {level: sum(system.rows[k].level == level for k in rows) for level in LEVELS}
    forces, lost = system.forces(*at), left_open(state) if system.algebraic else NOTHING
    ends = np.cumsum([counts[level] for level in LEVELS])
    ranks = [scaled.rank_of(slice(0, int(end))) for end in ends[:2]] + [scaled.rank]
    return Diagnosis(
        title=system.name,
        t=float(state.t),
        speeds=system.nu,
        counts=counts,
        ranks=dict(zip(LEVELS, np.diff(ranks, prepend=0).tolist(), strict=True)),
        singular_values=scaled.singular_values,
        redundant=tuple(Redundancy(names[k], named_terms(names, terms)) for k, terms in found.items()),
        conflicting=tuple(
            conflicts(
                sides_of(state, {"acceleration": b}, np.array(rows, dtype=int)), scaled, (names, A, forces), found
            )
        ),
        unique=_uniqueness(names, scaled)
        | {system.rows[k].name: True for k in system.implied}
        | {system.rows[k].name: False for k in lost.rows},
        hidden=tuple(Hidden(row.name, row.level, row.behind, _enforcing(system, row)) for row in hidden),
        nearest=_nearest(system, names, scaled),
        singular_mass=not scaled.regular_mass,
        massless=tuple(named_motion(system, row) for row in sparse_basis(scaled.massless)),
        determined=not lost.moves and lost.shared if system.algebraic else scaled.determined,
        deciding=_deciding(system, names, scaled, lost),
        degenerate=degenerate_rows(system, *at),
    )


def _deciding(system: System, names: Sequence[str], scaled: Scaled, lost: LeftOpen) -> tuple[str, ...]:
    """The redundant constraints on whose shares in a load the motion depends."""
    if system.algebraic:
        return tuple(system.rows[k].name for k in lost.rows) if lost.moves and lost.shared else ()
    found = tuple(name for name, decides in zip(names, scaled.deciding, strict=True) if decides)
    normal = {row.name for row in system.rows if row.law.ideal or row.law.rubs}
    return found if normal.issuperset(found) else ()  # else an unknown does not act on its constraint


def _enforcing(system: System, row: Row) -> str:
    """The unknown that enforces a row, empty if there is none."""
    return "" if row.law.unknown is None else system.unknowns[row.law.unknown]


def describe_motions(motions: Sequence[Mapping[str, float]]) -> str:
    """Motions by their speeds, as sums."""
    return "; ".join(_listed([_sum(motion) for motion in motions]))


def sides_of(state: State, known: Mapping[str, np.ndarray], rows: np.ndarray) -> dict[str, np.ndarray]:
    """Right-hand sides of `rows` by level: position and velocity residuals, (n,) each, and those `known` already."""
    t, q, u, p = state.t, state.q, state.u, state.parameters
    sides = dict[str, np.ndarray]()
    for level, values in (
        ("position", state.system.position_residual(t, q, p)),
        ("velocity", state.system.velocity_residual(t, q, u, p)),
    ):
        whole = np.full(state.system.nc, np.nan)
        whole[: len(values)] = values
        sides[level] = whole[rows]
    return sides | dict(known)


def conflicts(
    sides: Mapping[str, np.ndarray],
    scaled: Scaled,
    rows: tuple[Sequence[str], np.ndarray, np.ndarray],
    found: Mapping[int, Mapping[int, float]],
) -> list[Conflict]:
    """Dependent rows whose right-hand sides do not follow from the others, at the lowest level at which that shows.

    `rows` are their names, A as stated and the forces on their speeds.
    """
    names, A, f = rows
    lengths = np.linalg.norm(A, axis=1)
    scaled_b = np.abs(sides["acceleration"] * scaled.rows)
    fastest = max(float(scaled_b.max(initial=0.0)), float(np.linalg.norm(scaled.back.T @ f)), UNIT_ROW_RANK)
    bounds = dict.fromkeys(LEVELS[:2], DISTANCE * lengths) | {"acceleration": CONFLICT * fastest / scaled.rows}
    conflicting = []
    for row, terms in found.items():
        for level, values in sides.items():
            allowed, among = bounds[level], [row, *terms]
            if np.isnan(values[among]).any():
                continue
            implied = float(sum(c * values[k] for k, c in terms.items()))
            if abs(values[row] - implied) > max(allowed[row], *(abs(c) * allowed[k] for k, c in terms.items()), 0.0):
                conflicting.append(Conflict(names[row], named_terms(names, terms), level, float(values[row]), implied))
                break
    return conflicting


def _uniqueness(names: Sequence[str], scaled: Scaled) -> dict[str, bool]:
    """Whether the reaction of each constraint and of each group is unique."""
    change = scaled.open_multipliers
    unique = {name: bool(np.linalg.norm(change[k]) < INVOLVED) for k, name in enumerate(names)}
    for name, rows in groups_of(names).items():
        unique[name] = bool(np.linalg.norm(scaled.W[rows].T @ change[rows]) < INVOLVED)
    return unique


def _nearest(system: System, names: Sequence[str], scaled: Scaled) -> Nearness | None:
    if scaled.rank == 0:
        return None
    left, values, right, rank = scaled.decomposition
    k = rank - 1
    shares = left[:, k] * np.sign(left[np.argmax(np.abs(left[:, k])), k])
    return Nearness(
        float(values[k]),
        {name: float(share) for name, share in zip(names, shares, strict=True) if abs(share) > SHARE},
        named_motion(system, scaled.back @ right[k], least=SHARE),
    )


def named_motion(system: System, direction: np.ndarray, least: float = INVOLVED) -> dict[str, float]:
    """Speeds of a motion by name, the largest 1; those below `least` are left out."""
    relative = direction / direction[np.argmax(np.abs(direction))]
    return {name: float(v) for name, v in zip(system.speeds, relative, strict=True) if abs(v) > least}


def named_terms(names: Sequence[str], terms: Mapping[int, float]) -> dict[str, float]:
    return {names[k]: _tidy(c) for k, c in terms.items()}


def _tidy(c: float) -> float:
    """A coefficient without its round-off, if it is a whole number."""
    return float(round(c)) if abs(c) > 0.5 and abs(c - round(c)) < 1e-12 * abs(c) else c


def _sum(terms: Mapping[str, float]) -> str:
    """2 `base` - `side`."""
    words: list[str] = []
    for name, c in list(terms.items())[:PRINTED_TERMS]:
        size = "" if f"{abs(c):.4g}" == "1" else f"{abs(c):.4g} "
        sign = "-" if c < 0 else ("+" if words else "")
        words.append(f"{sign} {size}`{name}`" if words else f"{sign}{size}`{name}`")
    return " ".join(words) + (f" + {len(terms) - PRINTED_TERMS} more" if len(terms) > PRINTED_TERMS else "")


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - PRINTED_TERMS} more" if len(names) > PRINTED_TERMS else ""
    return ", ".join(f"`{name}`" for name in names[:PRINTED_TERMS]) + more if names else "none"


def _listed(lines: Sequence[str]) -> list[str]:
    return (
        [*lines[:PRINTED_TERMS], f"and {len(lines) - PRINTED_TERMS} more"]
        if len(lines) > PRINTED_TERMS
        else list(lines) or ["none"]
    )


def _values(values: np.ndarray) -> str:
    shown = [f"{v:.3g}" for v in values]
    return ", ".join(shown if len(shown) <= PRINTED_TERMS else [*shown[:3], "...", *shown[-3:]])

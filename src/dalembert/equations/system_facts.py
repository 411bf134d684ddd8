"""Contents of a compiled system: names, rows, sizes and functions; frozen and picklable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import field, fields
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.checks.inertia import Carrier, Inertias
from dalembert.equations.crossings import TimeCrossing
from dalembert.equations.features import Feature
from dalembert.equations.followers import follow, parameter_direction
from dalembert.equations.functions import Functions, Summed
from dalembert.equations.kernels import Kernels, found
from dalembert.equations.kinks import Kinks
from dalembert.equations.laws import Row, are_algebraic, are_ideal, count_curved, have_friction, implied_rows
from dalembert.equations.mechanics import Mechanics
from dalembert.equations.naming import finite_number, name_of
from dalembert.equations.quantities import STATED, Quantity
from dalembert.errors import UnknownNameError
from dalembert.model.statement import Statement
from dalembert.native.kernel import OFTEN, Kernel, Use

Named = Mapping[Any, float]
LARGE_SYSTEM = 500  # speeds and constraints above which equations are sums over kinds of elements, and not one graph


@dataclass(frozen=True)
class Drawing:
    """Drawing data: names of points and bodies with a position, and polylines with their point counts."""

    points: tuple[str, ...]
    bodies: tuple[str, ...]
    lines: tuple[tuple[str, int], ...]
    planar: bool


@dataclass(frozen=True, eq=False)
class SystemFacts:
    """Contents of a system, and facts that follow from them directly.

    Sizes: `nq` coordinates, `nu` speeds, `nc` constraint rows (position first, then velocity, then acceleration).
    `rows` hold the law of each multiplier. `works` is True if something can change the energy, `trivial_kinematics` if
    q' = u, in order. `functions` are the functions of kernels, made of the `mechanics`.
    """

    name: str
    coordinates: tuple[str, ...]
    speeds: tuple[str, ...]
    parameters: tuple[str, ...]
    parameter_defaults: tuple[float, ...]
    unknowns: tuple[str, ...]
    rows: tuple[Row, ...]
    invariants: tuple[str, ...]
    guess: tuple[float, ...]
    works: bool
    singular_mass: bool
    trivial_kinematics: bool
    drawing: Drawing
    particles: tuple[str, ...]
    bodies: tuple[str, ...]
    joints: tuple[str, ...]
    carriers: tuple[Carrier, ...]
    quantities: tuple[Quantity, ...]
    kinks: tuple[Kinks, ...]  # instants known beforehand, in the order of the function "kinks"
    crossings: tuple[TimeCrossing, ...]  # instants to be found, in the order of the functions "crossing k"
    features: tuple[Feature, ...]  # functions whose cells steps are kept to, those of time first
    functions: Functions = field(repr=False)
    statement: Statement | None = field(default=None, repr=False)  # for symbolic equations; not pickled
    followers: tuple[int, ...] = ()  # parameters in terms of others, as the function "followers" has them
    kernels: Kernels = field(init=False, repr=False)  # objects made from it, shared with equal unpickled systems

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernels", Kernels(self.functions))

    # -- sizes -----------------------------------------------------------------------------------------------------

    @cached_property
    def nq(self) -> int:
        """Number of coordinates."""
        return len(self.coordinates)

    @cached_property
    def nu(self) -> int:
        """Number of speeds."""
        return len(self.speeds)

    @cached_property
    def nc(self) -> int:
        """Number of constraint rows."""
        return len(self.rows)

    def count(self, level: str) -> int:
        """Number of constraint rows of a level: "position", "velocity" or "acceleration"."""
        return self._counts[level]

    @cached_property
    def _counts(self) -> Counter[str]:
        return Counter(row.level for row in self.rows)

    @property
    def mechanics(self) -> Mechanics:
        """The graphs of q', M, f, A, b and related quantities, from which all kernels are made."""
        return self.functions.mechanics

    @property
    def structure(self) -> Mechanics | Summed:
        """Patterns of the matrices: of the kinds of elements, or of the graphs."""
        return self.functions.structure

    @cached_property
    def ideal(self) -> bool:
        """True if every multiplier acts along A, known from the state, with no friction: r = A^T la + c."""
        return are_ideal(self.rows)

    @cached_property
    def friction(self) -> bool:
        """Whether one of the reactions rubs."""
        return have_friction(self.rows)

    @cached_property
    def is_driven(self) -> bool:
        """Whether constraints of positions or velocities depend on time."""
        return self.structure.driven

    @cached_property
    def algebraic(self) -> bool:
        """Whether one of the unknowns follows from a law."""
        return are_algebraic(self.rows)

    @cached_property
    def implied(self) -> tuple[int, ...]:
        """The rows without a reaction, which the other equations keep once they hold."""
        return implied_rows(self.rows)

    @cached_property
    def curved(self) -> int:
        """Number of acceleration rows if one of them is not linear in u', else 0; A u' = b needs u' for them."""
        return count_curved(self.rows)

    @cached_property
    def is_large(self) -> bool:
        """Whether matrices of all speeds and constraints are taken by their nonzeros wherever that is possible."""
        return self.nu + self.nc > LARGE_SYSTEM

    @cached_property
    def constraint_names(self) -> tuple[str, ...]:
        """Names of the constraint rows, in the order of the multipliers."""
        return tuple(row.name for row in self.rows)

    # -- names -----------------------------------------------------------------------------------------------------

    def parameter_values(self, changes: Named | None = None, carried: Named | None = None) -> np.ndarray:
        """Parameter values (np,): the defaults, those `carried` from a state, and `changes`, keyed by symbol or name.

        A parameter that is given in terms of others follows these, unless it is among the changes or its value was
        another one before them.
        Raises `OptionError` if they make a mass or an inertia negative, or zero where it is not zero by default.
        """
        before = self._defaults.copy()
        self._put(before, carried)
        values = before.copy()
        changed = self._put(values, changes)
        if changed:
            values = self.followed(before, values, changed)
        if (changes or carried) and any(values[k] != self.parameter_defaults[k] for k in self._weighty):
            inertias = Inertias(self.carriers, self.functions["inertias"], self.parameters)
            inertias.check(self._defaults, values)
        return values

    def followed(self, before: np.ndarray, values: np.ndarray, changed: Collection[int]) -> np.ndarray:
        """Parameter values after some have `changed`, with those that follow them and did so before."""
        if not self.followers:
            return values
        return follow(self.functions["followers"], self.followers, self.parameters, before, values, changed)

    def parameter_direction(self, index: int, held: Collection[int]) -> ca.SX:
        """Direction of all parameters when one changes, (np, 1), as a graph of the mechanics' p.

        Parameters in `held` do not follow it.
        """
        function = self.functions["followers"] if self.followers else None
        return parameter_direction(self.mechanics, function, self.followers, index, held)

    def parameter_directions(self, p: np.ndarray, columns: Sequence[int]) -> np.ndarray:
        """Directions of all parameters when one of `columns` changes, (np, k); zero for a negative column.

        The parameters in `columns` do not follow each other.
        """
        found = np.zeros((len(p), len(columns)))
        for k, index in enumerate(columns):
            if index >= 0 and not self.followers:
                found[index, k] = 1.0
            elif index >= 0:
                graph = self.parameter_direction(index, columns)
                found[:, k] = ca.Function("direction", [self.mechanics.p], [graph])(p).full().ravel()
        return found

    def _put(self, values: np.ndarray, given: Named | None) -> list[int]:
        """Put given values into an array (np,); their places."""
        places = []
        for key, value in (given or {}).items():
            name = name_of(key)
            if name not in self.parameters:
                raise UnknownNameError(name, self.parameters, f"the parameters of `{self.name}`")
            places.append(self.parameters.index(name))
            values[places[-1]] = finite_number(value, f"parameter `{name}`")
        return places

    @cached_property
    def _defaults(self) -> np.ndarray:
        return np.array(self.parameter_defaults, dtype=float)

    @cached_property
    def _weighty(self) -> tuple[int, ...]:
        """Indices of the parameters that masses and inertias depend on."""
        return Inertias(self.carriers, self.functions["inertias"], self.parameters).reads

    @cached_property
    def named_quantities(self) -> dict[str, tuple[Quantity, int | None]]:
        """Quantities that can be read by name besides the variables, each with the component meant (None: all)."""
        parts = {column: (q, k) for q in self.quantities for k, column in enumerate(q.columns)}
        return {**parts, **{q.name: (q, None) for q in self.quantities}}

    @property
    def outputs(self) -> tuple[Quantity, ...]:
        """The outputs stated by `Model.output`."""
        return tuple(q for q in self.quantities if q.group == STATED)

    # -- kernels ---------------------------------------------------------------------------------------------------

    def kernel(self, name: str) -> Kernel:
        """The machine code of one of `functions`, compiled or loaded from the cache when first asked for."""
        return self.kernels.kernel(name)

    def derived_kernel(self, name: str, build: Callable[[], ca.Function]) -> Kernel:
        """Machine code of a function that a later stage makes from this system, cached under `name`.

        The name tells the function from those of other makers: an equal one gives what was kept, not what is built.
        """
        return self.kernels.compiled(name, build)

    def passing_kernel(self, name: str, build: Callable[[], ca.Function | None]) -> Any:
        """Like `derived_kernel`, for an expression of the caller; None if `build` returns none.

        Only some of them stay here. Hold the kernel as long as its address is in use.
        """
        return self.kernels.compiled_lately(name, build)

    def known_kernel(self, name: str) -> Kernel | None:
        """The kernel that `passing_kernel` made under `name`; None if it was not made or is no longer cached."""
        return self.kernels.lately_known(("kernel", name))

    def optional_kernel(self, name: str, build: Callable[[], ca.Function | None], use: Use = OFTEN) -> Kernel | None:
        """Like `derived_kernel`, for a function that may be left out, as too long or without effect; then None."""
        return self.kernels.compiled(name, build, use)

    def kept(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """The cached result of `make`, which a later stage calls once. It must not refer to the system."""
        return self.kernels.kept(key, make)

    # -- pickling --------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """All fields but the statement: deep expressions cannot be pickled."""
        apart = ("functions", "statement", "kernels")
        facts = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in apart}
        return {**facts, "kernels": self.kernels.packed(facts)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        kernels = found(*state["kernels"])
        self.__dict__.update(state, kernels=kernels, functions=kernels.functions, statement=None)

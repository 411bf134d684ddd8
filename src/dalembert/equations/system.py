"""`System`: the compiled equations of motion, frozen, picklable, callable at plain arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, overload

import casadi as ca
import numpy as np

from dalembert.equations.checks.inertia import Carrier, Inertias
from dalembert.equations.functions import Functions
from dalembert.equations.instants import Kinks
from dalembert.equations.kernels import Kernels, found
from dalembert.equations.laws import Row, are_algebraic, are_ideal, count_curved, have_friction, implied_rows
from dalembert.equations.mechanics import Mechanics
from dalembert.equations.naming import finite_number, name_of
from dalembert.equations.quantities import STATED, Quantity
from dalembert.errors import ArrayError, UnknownNameError
from dalembert.guidance import no_attribute, of_arrays, takes
from dalembert.model.statement import Statement
from dalembert.native.along import along
from dalembert.native.kernel import Kernel
from dalembert.stages import stage
from dalembert.text_tables import html_table

if TYPE_CHECKING:
    from pathlib import Path

    import xarray as xr
    from numpy.typing import ArrayLike

    import dalembert as da

Named = Mapping[Any, float]
Bounds = Mapping[Any, tuple[float, float]]
LARGE = 500  # speeds and constraints
PROMPT = 1500  # instructions that compile in an unnoticeable time


@dataclass(frozen=True)
class Drawing:
    """What can be drawn: names of points and bodies with a position, and polylines with their point counts."""

    points: tuple[str, ...]
    bodies: tuple[str, ...]
    lines: tuple[tuple[str, int], ...]
    planar: bool


def _is_column(array: Any, size: int) -> bool:
    return isinstance(array, np.ndarray) and array.shape == (size,)


@dataclass(frozen=True, eq=False)
class System:
    """M(q,t) u' = f(q,u,t) + r with its constraints, as graphs that become native code when first used.

    Sizes: `nq` coordinates, `nu` speeds, `nc` constraint rows (position first, then velocity, then acceleration).
    `rows` tell by which law each multiplier acts. `works` is True if something can change the energy,
    `trivial_kinematics` if q' = u, in order. `functions` are what kernels compute, made of the `mechanics`. Evaluations
    take `(t, q, u)` and optional parameter values; leading axes of q and u are kept.
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
    functions: Functions = field(repr=False)
    statement: Statement | None = field(default=None, repr=False)  # for symbolic equations; not pickled
    kernels: Kernels = field(init=False, repr=False)  # what is made from it, shared with equal systems out of pickles

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernels", Kernels(self.functions))

    # -- sizes -----------------------------------------------------------------------------------------------------

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return len(self.coordinates)

    @property
    def nu(self) -> int:
        """Number of speeds."""
        return len(self.speeds)

    @property
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
        """The graphs of q', M, f, A, b and all that goes with them, of which every kernel is made."""
        return self.functions.mechanics

    @cached_property
    def ideal(self) -> bool:
        """Whether every multiplier acts along A, known from the state, and nothing comes with it: r = A^T la + c."""
        return are_ideal(self.rows)

    @cached_property
    def friction(self) -> bool:
        """Whether one of the reactions rubs."""
        return have_friction(self.rows)

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

    @property
    def is_large(self) -> bool:
        """Whether matrices of all speeds and constraints are taken by their nonzeros wherever that is possible."""
        return self.nu + self.nc > LARGE

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """Names of the constraint rows, in the order of the multipliers."""
        return tuple(row.name for row in self.rows)

    def __repr__(self) -> str:
        levels = ", ".join(f"{self.count(l)} {l}" for l in ("position", "velocity", "acceleration") if self.count(l))
        unknowns = f"\n  unknowns     {', '.join(self.unknowns)}" if self.unknowns else ""
        values = zip(self.parameters, self.parameter_defaults, strict=True)
        return (
            f"System {self.name!r}\n"
            f"  coordinates  {self.nq}: {', '.join(self.coordinates)}\n"
            f"  speeds       {self.nu}: {', '.join(self.speeds)}\n"
            f"  constraints  {self.nc} ({levels or 'none'}): {', '.join(self.constraint_names)}{unknowns}\n"
            f"  parameters   {', '.join(f'{name}={value:g}' for name, value in values)}"
        )

    def _repr_html_(self) -> str:
        values = zip(self.parameters, self.parameter_defaults, strict=True)
        rows = [
            ("coordinates", str(self.nq), ", ".join(self.coordinates)),
            ("speeds", str(self.nu), ", ".join(self.speeds)),
            ("constraints", str(self.nc), ", ".join(f"{row.name} ({row.level})" for row in self.rows)),
            ("unknowns", str(len(self.unknowns)), ", ".join(self.unknowns)),
            ("parameters", str(len(self.parameters)), ", ".join(f"{name} = {value:g}" for name, value in values)),
        ]
        return html_table(f"System {self.name}", [(("what", "count", "names"), rows)])

    # -- names -----------------------------------------------------------------------------------------------------

    def parameter_values(self, changes: Named | None = None) -> np.ndarray:
        """Parameter values (np,): the defaults with `changes`, keyed by symbol or name.

        Raises `OptionError` if they make a mass or an inertia negative, or zero where it is not zero by default.
        """
        values = np.array(self.parameter_defaults, dtype=float)
        for key, value in (changes or {}).items():
            name = name_of(key)
            if name not in self.parameters:
                raise UnknownNameError(name, self.parameters, f"the parameters of `{self.name}`")
            number = finite_number(value, f"parameter `{name}`")
            values[self.parameters.index(name)] = number
        if changes and any(values[k] != self.parameter_defaults[k] for k in self._weighty):
            inertias = Inertias(self.carriers, self.functions["inertias"], self.parameters)
            inertias.check(np.array(self.parameter_defaults, dtype=float), values)
        return values

    @cached_property
    def _weighty(self) -> tuple[int, ...]:
        """Indices of the parameters that masses and inertias depend on."""
        return Inertias(self.carriers, self.functions["inertias"], self.parameters).reads

    @cached_property
    def named_quantities(self) -> dict[str, tuple[Quantity, int | None]]:
        """What can be read by name besides the variables: the quantity, and which component of it (None: all)."""
        parts = {column: (q, k) for q in self.quantities for k, column in enumerate(q.columns)}
        return {**parts, **{q.name: (q, None) for q in self.quantities}}

    @property
    def outputs(self) -> tuple[Quantity, ...]:
        """What `Model.output` named."""
        return tuple(q for q in self.quantities if q.group == STATED)

    # -- evaluation ------------------------------------------------------------------------------------------------

    def kernel(self, name: str) -> Kernel:
        """The machine code of one of `functions`, compiled or loaded from the cache when first asked for."""
        return self.kernels.kernel(name)

    def derived_kernel(self, name: str, build: Callable[[], ca.Function]) -> Kernel:
        """The machine code of a function made from this system by a later stage, kept here under `name`.

        The name tells the function from those of other makers: an equal one gives what was kept, not what is built.
        """
        return self.kernels.compiled(name, build)

    def known_kernel(self, name: str) -> Kernel | None:
        """What `derived_kernel` has kept under `name`; None if nobody had it compiled."""
        return self.kernels.known(("kernel", name))

    def optional_kernel(self, name: str, build: Callable[[], ca.Function | None]) -> Kernel | None:
        """As `derived_kernel`, for a function that is left out where it would be too long or has nothing to do."""
        return self.kernels.compiled(name, build)

    def kept(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What a later stage makes from the content of this system, made once; it must not refer to the system."""
        return self.kernels.kept(key, make)

    def evaluate(
        self, name: str, t: ArrayLike, q: ArrayLike, u: ArrayLike, parameters: Any = None, *, more: Any = ()
    ) -> np.ndarray:
        """All outputs of one kernel in one array, (..., n_out); leading axes as in `q`.

        `more` (..., n) is what a kernel reads besides x = (t, q, u, p).
        """
        sizes = ((q, self.coordinates), (u, self.speeds), (parameters, self.parameters))
        if type(t) is float and not len(more) and all(_is_column(a, len(names)) for a, names in sizes):
            return self._value(name, np.concatenate([(t,), q, u, parameters]))
        q_, u_ = self._checked(q, self.nq, "q"), self._checked(u, self.nu, "u")
        if isinstance(parameters, np.ndarray):
            p = self._checked(parameters, len(self.parameters), "parameters")
        else:
            p = self.parameter_values(parameters)
        try:
            lead = np.broadcast_shapes(q_.shape[:-1], u_.shape[:-1], np.shape(t))
        except ValueError:
            shapes = f"t {np.shape(t)}, q {q_.shape}, u {u_.shape}"
            raise ArrayError(f"the leading axes of t, q and u do not fit together: {shapes}") from None
        pieces = [np.asarray(t, dtype=float)[..., None], q_, u_, p, np.asarray(more, dtype=float)]
        if lead:
            pieces = [np.broadcast_to(piece, (*lead, piece.shape[-1])) for piece in pieces]
        x = np.concatenate(pieces, axis=-1)
        return self._values(name, x.reshape(-1, x.shape[-1])).reshape(*lead, self.functions[name].size1_out(0))

    def _values(self, name: str, x: np.ndarray) -> np.ndarray:
        """One of `functions` at many points x (nt, n_in), (nt, n_out)."""
        if name in self.kernels.native or self.functions[name].n_instructions() <= PROMPT:
            return along(self.kernel(name), x)
        return np.array([self._value(name, row) for row in x])

    def _value(self, name: str, x: np.ndarray) -> np.ndarray:
        """One of `functions` at one point."""
        if name in self.kernels.native:
            return self.kernels.native[name](x)
        function = self.functions[name]
        if function.n_instructions() <= PROMPT:
            return self.kernel(name)(x)
        return np.array(function(x).full().ravel())  # a few values are not worth the wait for machine code

    @of_arrays
    def mass_matrix(self, t: ArrayLike, q: ArrayLike, u: ArrayLike, parameters: Any = None) -> np.ndarray:
        """M, (..., nu, nu)."""
        return self._part("mass_matrix", t, q, u, parameters)

    @of_arrays
    def forces(self, t: ArrayLike, q: ArrayLike, u: ArrayLike, parameters: Any = None) -> np.ndarray:
        """f of M u' = f + r, (..., nu): active forces and the inertia forces for u' = 0."""
        out = self.evaluate("dynamics", t, q, u, parameters)
        return out[..., self.parts["forces"][0]] - out[..., self.parts["prescribed"][0]]

    @of_arrays
    def coordinate_rates(self, t: ArrayLike, q: ArrayLike, u: ArrayLike, parameters: Any = None) -> np.ndarray:
        """q' = C u + D, (..., nq)."""
        return self._part("coordinate_rates", t, q, u, parameters)

    @of_arrays
    def constraint_jacobian(self, t: ArrayLike, q: ArrayLike, u: ArrayLike, parameters: Any = None) -> np.ndarray:
        """A of A u' = b, (..., nc, nu); acceleration rows are empty if one of them is not linear in u'."""
        return self._part("constraint_jacobian", t, q, u, parameters)

    @of_arrays
    def constraint_bias(self, t: ArrayLike, q: ArrayLike, u: ArrayLike, parameters: Any = None) -> np.ndarray:
        """b of A u' = b, (..., nc); acceleration rows are empty if one of them is not linear in u'."""
        return self._part("constraint_bias", t, q, u, parameters)

    @of_arrays
    def directions(
        self,
        t: ArrayLike,
        q: ArrayLike,
        u: ArrayLike,
        parameters: Any = None,
        *,
        udot: ArrayLike | None = None,
        multipliers: ArrayLike | None = None,
    ) -> np.ndarray:
        """W of r = W^T la + c, (..., nc, nu): rows of A, or of what the unknown of a servo constraint acts through.

        Friction is in W if the `multipliers` (..., nc) are given, as it depends on their signs. Acceleration rows that
        are not linear in u' need `udot` (..., nu) too, and are empty without it.
        """
        lead = np.broadcast_shapes(np.shape(t), np.shape(q)[:-1], np.shape(u)[:-1])
        given = ((udot, self.nu), (multipliers, self.nc))
        more = [np.zeros((*lead, n)) if v is None else np.asarray(v, dtype=float) for v, n in given]
        W = self.linearised_rows(t, q, u, parameters, more=np.concatenate(more, axis=-1))[2]
        if udot is None and self.curved:
            W[..., -self.curved :, :] = 0.0
        return W

    def linearised_rows(
        self, t: ArrayLike, q: ArrayLike, u: ArrayLike, parameters: Any, *, more: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A (..., nc, nu), b (..., nc) and W (..., nc, nu), at `more` = (u', la) where they depend on it."""
        out, nc, nu = self.evaluate("linearised", t, q, u, parameters, more=more), self.nc, self.nu
        A, b, W = np.split(out, [nc * nu, nc * nu + nc], axis=-1)
        return A.reshape(*A.shape[:-1], nc, nu), b, W.reshape(*W.shape[:-1], nc, nu)

    @of_arrays
    def prescribed_reaction(self, t: ArrayLike, q: ArrayLike, u: ArrayLike, parameters: Any = None) -> np.ndarray:
        """c of r = W^T la + c, (..., nu): non-ideal parts of the reaction that were prescribed."""
        return self._part("prescribed", t, q, u, parameters)

    @of_arrays
    def position_residual(self, t: ArrayLike, q: ArrayLike, parameters: Any = None) -> np.ndarray:
        """phi(q, t), (..., number of position constraints)."""
        out = self.evaluate("residual", t, q, np.zeros(self.nu), parameters)
        return out[..., : self.count("position")]

    @of_arrays
    def velocity_residual(self, t: ArrayLike, q: ArrayLike, u: ArrayLike, parameters: Any = None) -> np.ndarray:
        """psi(q, u, t), (..., position + velocity rows): rates of the position rows, then the velocity constraints."""
        return self.evaluate("residual", t, q, u, parameters)[..., self.count("position") :]

    @of_arrays
    def energy(self, t: ArrayLike, q: ArrayLike, u: ArrayLike, parameters: Any = None) -> np.ndarray:
        """Kinetic plus potential energy, (...)."""
        return self.evaluate("energy", t, q, u, parameters).sum(axis=-1)

    @cached_property
    def parts(self) -> dict[str, tuple[slice, tuple[int, ...]]]:
        """Where each quantity lies in the output of the "dynamics" kernel, and its shape.

        "forces" includes "prescribed", the non-ideal part of the reaction that is known beforehand. The reaction is
        directions^T la - friction^T |la| + prescribed; directions are those of A if the system is ideal.
        """
        nq, nu, nc = self.nq, self.nu, self.nc
        shapes: dict[str, tuple[int, ...]] = {
            "coordinate_rates": (nq,),
            "mass_matrix": (nu, nu),
            "forces": (nu,),
            "constraint_jacobian": (nc, nu),
            "constraint_bias": (nc,),
            "directions": (0,) if self.ideal else (nc, nu),
            "friction": (nc, nu) if self.friction else (0,),
            "power": (1,),
            "transport": (nu,),
            "prescribed": (nu,),
        }
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])
        return {
            name: (slice(int(end) - int(np.prod(shape)), int(end)), shape)
            for (name, shape), end in zip(shapes.items(), ends, strict=True)
        }

    if not TYPE_CHECKING:
        __getattr__ = no_attribute

    # -- the next stages -------------------------------------------------------------------------------------------

    # fmt: off
    @overload
    def initial(self, given: Named | None = ..., *, guess: Named | da.State | None = ..., weights: Named | None = ...,
                hold: Any = ..., bounds: Bounds | None = ..., t0: float | None = ..., parameters: Named | None = ...,
                all_branches: Literal[False] = ...) -> da.State: ...
    @overload
    def initial(self, given: Named | None = ..., *, guess: Named | da.State | None = ..., weights: Named | None = ...,
                hold: Any = ..., bounds: Bounds | None = ..., t0: float | None = ..., parameters: Named | None = ...,
                all_branches: Literal[True]) -> tuple[da.State, ...]: ...
    def initial(self, given: Named | None = None, *, guess: Named | da.State | None = None,
                weights: Named | None = None, hold: Any = None, bounds: Bounds | None = None, t0: float | None = None,
                parameters: Named | None = None, all_branches: bool = False) -> da.State | tuple[da.State, ...]:
        # fmt: on
        """A state that satisfies every constraint at every level and has the `given` values, nearest to the `guess`.

        `given`, by symbol or name: coordinates, speeds, rates `x.diff()`, accelerations `vx.diff()` or "x''",
        multipliers by constraint, unknowns, generalised reactions "reaction(vx)", values of joints "hinge.angle",
        "hinge.rate", "slide.displacement", "slide.speed". If values at acceleration level are
        given, all levels are solved together. The rest is a local minimum of d^T M d, where d is the change from the
        guess (zero by default) and M the mass matrix there. `weights={x: 10}` makes a change of x count tenfold, `hold`
        names values that stay at their guess, `bounds={x: (lo, hi)}` limits coordinates and speeds. A `State` as guess
        brings its time and parameter values. `all_branches` gives all locally nearest states, sorted by distance.
        Raises `InitialStateError`, which names the conflict and a change that would help.
        """
        options = {"guess": guess, "weights": weights, "hold": hold, "bounds": bounds, "t0": t0}
        return stage("System.initial")(self, given, parameters=parameters, all_branches=all_branches, **options)

    def suggest_independent(self, state: da.State) -> Any:
        """A good set of n_p coordinates and n_v speeds to give in this state, by name."""
        return stage("System.suggest_independent")(self, state)

    # fmt: off
    @overload
    def simulate(self, state: da.State, t_end: float | tuple[float, float], *, events: Iterable[da.Event | da.Every],
                 t_eval: ArrayLike | None = ..., parameters: Named | None = ..., formulation: Any = ...,
                 drift: Any = ..., integrator: Any = ..., verify: bool = ..., sensitivities: Sequence[Any] = ...
                 ) -> da.Motion | da.MotionSequence: ...
    @overload
    def simulate(self, state: da.State, t_end: float | tuple[float, float], *, t_eval: ArrayLike | None = ...,
                 parameters: Named | None = ..., formulation: Any = ..., drift: Any = ..., integrator: Any = ...,
                 verify: bool = ..., sensitivities: Sequence[Any] = ...) -> da.Motion: ...
    @takes("t_eval", "parameters", "formulation", "drift", "integrator", "events", "verify", "sensitivities")
    def simulate(self, state: da.State, t_end: float | tuple[float, float], *, t_eval: ArrayLike | None = None,
                 parameters: Named | None = None, formulation: Any = None, drift: Any = None, integrator: Any = None,
                 events: Iterable[da.Event | da.Every] = (), verify: bool = False, sensitivities: Sequence[Any] = ()
                 ) -> da.Motion | da.MotionSequence:
        # fmt: on
        """The motion from `state` to `t_end`, or over `(t0, t_end)`.

        Samples are taken at the times `t_eval` (increasing), or at every accepted step if it is left out. `parameters`
        changes values that the state carries. The defaults are LagrangeMultipliers, Projection and Automatic, which is
        DOP853 and changes to Radau if the motion turns out to be stiff; the certificate says what was chosen. Numerical
        failure does not raise: the motion holds all samples up to the failure, `success` is False and `message` says
        why. Ctrl-C raises `SimulationInterrupt`, a KeyboardInterrupt whose `.motion` is the motion up to there.

        `events` are located during the run (see `Event`, and `Every` for clocks) and listed in `motion.events`. If an
        event ends the motion, the last sample is taken there. If an event changes anything, the result is a
        `MotionSequence`, which reads like a Motion and has two samples at the time of each change, before and after.
        These samples do not depend on `t_eval`. With `verify=True` a second, independent run estimates the error, see
        `Motion.verify`; the certificate tells it.

        `sensitivities` names parameters, and coordinates and speeds for their start values, in which the motion is
        differentiated: `motion.sensitivity("y", "m")`. The derivatives are exact, those of the consistent start
        included, and are carried over events that change something. Explicit integrators only; `Automatic` is DOP853
        then.
        """
        return stage("System.simulate")(
            self, state, t_end, t_eval=t_eval, parameters=parameters, formulation=formulation, drift=drift,
            integrator=integrator, events=events, verify=verify, sensitivities=sensitivities,
        )  # fmt: skip

    def sweep(self, values: Any, t_end: float | tuple[float, float], **options: Any) -> xr.Dataset:
        """Outputs of many runs with different `values`, labelled; see `dalembert.analysis.sweep.sweep.sweep`."""
        return stage("System.sweep")(self, values, t_end, **options)

    def diagnose(self, state: da.State) -> da.Diagnosis:
        """Degrees of freedom, rank, redundant and conflicting constraints by name, and which reactions are unique."""
        return stage("System.diagnose")(self, state)

    # fmt: off
    @overload
    def equilibrium(self, given: Named | None = ..., *, guess: Named | da.State | None = ..., hold: Any = ...,
                    bounds: Bounds | None = ..., t0: float | None = ..., parameters: Named | None = ...,
                    all_branches: Literal[False] = ...) -> da.State: ...
    @overload
    def equilibrium(self, given: Named | None = ..., *, guess: Named | da.State | None = ..., hold: Any = ...,
                    bounds: Bounds | None = ..., t0: float | None = ..., parameters: Named | None = ...,
                    all_branches: Literal[True]) -> tuple[da.State, ...]: ...
    def equilibrium(self, given: Named | None = None, *, guess: Named | da.State | None = None, hold: Any = None,
                    bounds: Bounds | None = None, t0: float | None = None, parameters: Named | None = None,
                    all_branches: bool = False) -> da.State | tuple[da.State, ...]:
        # fmt: on
        """A state at rest that stays there: u = 0 and u' = 0, with the `given` values, nearest to the `guess`.

        Options are those of `initial`. `all_branches` gives every equilibrium found from many starts, by distance.
        `state.stability` says whether it is stable. Raises `InitialStateError` with what is left over.
        """
        options = {"guess": guess, "hold": hold, "bounds": bounds, "t0": t0, "parameters": parameters}
        return stage("System.equilibrium")(self, given, all_branches=all_branches, **options)

    # fmt: off
    @overload
    def steady(self, given: Named | None = ..., *, guess: Named | da.State | None = ...,
               constant: Sequence[Any] | None = ..., hold: Any = ..., bounds: Bounds | None = ...,
               t0: float | None = ..., parameters: Named | None = ...,
               all_branches: Literal[False] = ...) -> da.State: ...
    @overload
    def steady(self, given: Named | None = ..., *, guess: Named | da.State | None = ...,
               constant: Sequence[Any] | None = ..., hold: Any = ..., bounds: Bounds | None = ...,
               t0: float | None = ..., parameters: Named | None = ...,
               all_branches: Literal[True]) -> tuple[da.State, ...]: ...
    def steady(self, given: Named | None = None, *, guess: Named | da.State | None = None,
               constant: Sequence[Any] | None = None, hold: Any = None, bounds: Bounds | None = None,
               t0: float | None = None, parameters: Named | None = None,
               all_branches: bool = False) -> da.State | tuple[da.State, ...]:
        # fmt: on
        """A state of a motion with constant speeds, u' = 0, with the `given` values, nearest to the `guess`.

        `constant` names the speeds that are constant (None: all); in a circle x' is not. Options are those of
        `initial`. The motion is followed for a while to see that the speeds stay. Raises `InitialStateError`.
        """
        options = {"guess": guess, "hold": hold, "bounds": bounds, "t0": t0, "parameters": parameters}
        return stage("System.steady")(self, given, constant=constant, all_branches=all_branches, **options)

    def linearize(
        self, state: da.State, *, inputs: Sequence[Any] = (), outputs: Sequence[Any] = (),
        states: Sequence[Any] | None = None,
    ) -> da.Linearization:  # fmt: skip
        """x' = A x + B w, y = C x + D w for small changes about the motion through `state`, all constraints kept.

        The derivatives are exact, those of the reactions included. `inputs` are parameters (a force stated as a
        parameter) or unknowns; an unknown that is an input no longer enforces its constraint. `outputs` are names or
        expressions, as in `motion[...]`. `states` names the coordinates and speeds that x stands for (None: chosen by
        pivoting); ignorable ones may be left out. Raises `LinearizationError` if there is no derivative.
        """
        return stage("System.linearize")(self, state, inputs=inputs, outputs=outputs, states=states)

    def gradient(
        self, cost: Any, state: da.State, t_end: float | tuple[float, float], *, to: Sequence[Any], **options: Any
    ) -> da.Gradient:
        """Value and gradient of a `cost` on the motion from `state` to `t_end`, in parameters and start values.

        `cost` is `da.Integral(expression)`, `da.Final(expression)`, or a list of them that is summed. `to` names what
        `sensitivities` of `simulate` would; `options` are those of `simulate`. See `dalembert.analysis.gradient`.
        """
        return stage("System.gradient")(self, cost, state, t_end, to=to, **options)

    # fmt: off
    def fit(self, data: Any, vary: Any, *, state: da.State | Sequence[da.State], bounds: Bounds | None = None,
            priors: Mapping[Any, tuple[float, float]] | None = None, sigma: Any = None, loss: Any = None,
            **options: Any) -> da.Fit:
        # fmt: on
        """Parameters and start values with which the motion from `state` agrees best with measured `data`.

        `data` is a table {"t": times, output: values} or a pandas frame; a list of them are several experiments, with a
        list of states. Missing samples are NaN. `vary` names what is varied, or maps it to first values. `bounds` are
        pairs (lowest, highest), `priors` pairs (mean, standard deviation), `sigma` standard deviations of the data by
        output, `loss` a robust loss such as `da.Huber(3.0)`. `options` are those of `simulate`. See
        `dalembert.analysis.fit`.
        """
        settings = {"bounds": bounds, "priors": priors, "sigma": sigma, "loss": loss}
        return stage("System.fit")(self, data, vary, state=state, **settings, **options)

    # fmt: off
    def kinematics(self, times: ArrayLike, *, guess: Named | da.State | None = None, parameters: Named | None = None
                   ) -> da.DrivenMotion:
        """The motion of a mechanism whose constraints, some of them driving, leave nothing free; nothing is integrated.

        Positions, velocities, accelerations and reactions at each of the `times`, on the branch of the `guess`.
        """
        return stage("System.kinematics")(self, times, guess=guess, parameters=parameters)

    def inverse_dynamics(self, wanted: Mapping[Any, Any], times: ArrayLike, *, actuators: Sequence[Any] | None = None,
                         guess: Named | da.State | None = None, parameters: Named | None = None) -> da.DrivenMotion:
        """The motion in which coordinates are as `wanted`, and the efforts that bring it about.

        `wanted` maps coordinates to expressions of t or tables (times, values). `actuators` are parameters that stand
        for forces, one for each wanted coordinate (None: generalised forces along these, `motion["effort(x)"]`).
        """
        options = {"actuators": actuators, "guess": guess, "parameters": parameters}
        return stage("System.inverse_dynamics")(self, wanted, times, **options)

    def partial_velocities(self, t: ArrayLike, q: ArrayLike, u: ArrayLike, parameters: Any = None, *,
                           u_ind: Iterable[Any] | None = None) -> dict[str, np.ndarray]:
        """Partial velocities of particles and mass centres by name, (..., 3, nu), in inertial axes.

        `u_ind` names independent speeds: the nonholonomic partial velocities for them, (..., 3, p); so in what follows.
        """
        return stage("System.partial_velocities")(self, t, q, u, parameters, u_ind=u_ind)

    def partial_angular_velocities(self, t: ArrayLike, q: ArrayLike, u: ArrayLike, parameters: Any = None, *,
                                   u_ind: Iterable[Any] | None = None) -> dict[str, np.ndarray]:
        """Partial angular velocities of bodies by name, (..., 3, nu), in inertial axes."""
        return stage("System.partial_angular_velocities")(self, t, q, u, parameters, u_ind=u_ind)

    def generalized_active_forces(self, t: ArrayLike, q: ArrayLike, u: ArrayLike, parameters: Any = None, *,
                                  u_ind: Iterable[Any] | None = None) -> np.ndarray:
        """F, (..., nu): active forces; unknowns and prescribed non-ideal parts are reactions and not in it."""
        return stage("System.generalized_active_forces")(self, t, q, u, parameters, u_ind=u_ind)

    def generalized_inertia_forces(self, t: ArrayLike, q: ArrayLike, u: ArrayLike, udot: ArrayLike,
                                   parameters: Any = None, *, u_ind: Iterable[Any] | None = None) -> np.ndarray:
        """F*, (..., nu), at accelerations u'; F + F* = -r at the true ones."""
        return stage("System.generalized_inertia_forces")(self, t, q, u, udot, parameters, u_ind=u_ind)

    def gauss_measure(self, t: ArrayLike, q: ArrayLike, u: ArrayLike, udot: ArrayLike, parameters: Any = None
                      ) -> np.ndarray:
        """Gauss's measure of constraint, (...), at any accelerations; ideal reactions make it least of all."""
        return stage("System.gauss_measure")(self, t, q, u, udot, parameters)
    # fmt: on

    def live(self, path: str | Path, state: da.State, *, sliders: Iterable[Any] = (), t_end: float = 10.0) -> Path:
        """Write one HTML file that computes the motion from `state` itself, again whenever one of its sliders moves.

        `sliders` names parameters, coordinates and speeds; a mapping gives ranges too. The file needs no network; it
        compares its first run with the native engine and says how far they agree. See `dalembert.view.live.write_live`.
        """
        return stage("System.live")(self, path, state, sliders=sliders, t_end=t_end)

    def equations(self, formulation: Any = None) -> Any:
        """The equations of motion in SymPy and LaTeX as a formulation arranges them (None: Lagrange multipliers).

        For small systems; see `dalembert.analysis.symbolic.write_equations`.
        """
        return stage("System.equations")(self, formulation)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _part(self, name: str, t: ArrayLike, q: ArrayLike, u: ArrayLike, parameters: Any) -> np.ndarray:
        where, shape = self.parts[name]
        out = self.evaluate("dynamics", t, q, u, parameters)[..., where]
        return out.reshape(*out.shape[:-1], *shape)

    def _checked(self, values: ArrayLike, size: int, what: str) -> np.ndarray:
        try:
            array = np.asarray(values, dtype=float)
        except (TypeError, ValueError):
            raise ArrayError(f"`{what}` must be an array of numbers, got {type(values).__name__}") from None
        if array.ndim == 0 or array.shape[-1] != size:
            raise ArrayError(f"`{what}` has shape {array.shape}; its last axis must be {size} for `{self.name}`")
        return array

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the statement: deep expressions do not pickle."""
        apart = ("functions", "statement", "kernels")
        facts = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in apart}
        return {**facts, "kernels": self.kernels.packed(facts)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        kernels = found(*state["kernels"])
        self.__dict__.update(state, kernels=kernels, functions=kernels.functions, statement=None)

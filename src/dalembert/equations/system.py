"""`System`: the compiled equations of motion, frozen, picklable, callable at plain arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from dalembert.equations.evaluations import Evaluations
from dalembert.equations.system_facts import Named
from dalembert.guidance import no_attribute, takes
from dalembert.listed import unlisted
from dalembert.stages import stage
from dalembert.text_tables import html_table, names_in_line

if TYPE_CHECKING:
    from pathlib import Path

    import xarray as xr
    from numpy.typing import ArrayLike

    import dalembert as da

Bounds = Mapping[Any, tuple[float, float]]


@unlisted(
    "algebraic carriers count curved derived_kernel directions drawing features functions guess ideal implied "
    "invariants is_large kept kernel kernels kinks known_kernel linearised_rows mechanics named_quantities "
    "optional_kernel parts passing_kernel quantities rows singular_mass statement trivial_kinematics works"
)
class System(Evaluations):
    """M(q,t) u' = f(q,u,t) + r with its constraints, as graphs that become native code when first used.

    Its contents and the sizes `nq`, `nu`, `nc` are in `SystemFacts`, its quantities at arrays in `Evaluations`. This
    class adds the verbs of the later stages.
    """

    def __repr__(self) -> str:
        levels = ", ".join(f"{self.count(l)} {l}" for l in ("position", "velocity", "acceleration") if self.count(l))
        unknowns = f"\n  unknowns     {names_in_line(self.unknowns)}" if self.unknowns else ""
        values = [f"{name}={value:g}" for name, value in zip(self.parameters, self.parameter_defaults, strict=True)]
        kinds = self.functions.kinds
        found = [f"\n  kind         {count:,} x {name}" for count, name in kinds.summary] if kinds else []
        return (
            f"System {self.name!r}\n"
            f"  coordinates  {self.nq}: {names_in_line(self.coordinates)}\n"
            f"  speeds       {self.nu}: {names_in_line(self.speeds)}\n"
            f"  constraints  {self.nc} ({levels or 'none'}): {names_in_line(self.constraint_names)}{unknowns}\n"
            f"  parameters   {names_in_line(values)}{''.join(found)}"
        )

    def _repr_html_(self) -> str:
        values = [f"{name} = {value:g}" for name, value in zip(self.parameters, self.parameter_defaults, strict=True)]
        rows = [
            ("coordinates", str(self.nq), names_in_line(self.coordinates)),
            ("speeds", str(self.nu), names_in_line(self.speeds)),
            ("constraints", str(self.nc), names_in_line([f"{row.name} ({row.level})" for row in self.rows])),
            ("unknowns", str(len(self.unknowns)), names_in_line(self.unknowns)),
            ("parameters", str(len(self.parameters)), names_in_line(values)),
        ]
        return html_table(f"System {self.name}", [(("what", "count", "names"), rows)])

    if not TYPE_CHECKING:
        __getattr__ = no_attribute

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
                 drift: Any = ..., integrator: Any = ..., verify: bool = ..., sensitivities: Sequence[Any] = ...,
                 store: str | Path | None = ..., outputs: None = ...) -> da.Motion | da.MotionSequence: ...
    @overload
    def simulate(self, state: da.State, t_end: float | tuple[float, float], *, t_eval: ArrayLike | None = ...,
                 parameters: Named | None = ..., formulation: Any = ..., drift: Any = ..., integrator: Any = ...,
                 verify: bool = ..., sensitivities: Sequence[Any] = ..., store: str | Path | None = ...,
                 outputs: None = ...) -> da.Motion: ...
    @overload
    def simulate(self, state: da.State, t_end: float | tuple[float, float], *, outputs: Sequence[Any],
                 t_eval: ArrayLike | None = ..., parameters: Named | None = ..., formulation: Any = ...,
                 drift: Any = ..., integrator: Any = ..., events: Iterable[da.Event | da.Every] = ...
                 ) -> da.MotionOutputs: ...
    @takes("t_eval", "parameters", "formulation", "drift", "integrator", "events", "verify", "sensitivities", "store",
           "outputs")
    def simulate(self, state: da.State, t_end: float | tuple[float, float], *, t_eval: ArrayLike | None = None,
                 parameters: Named | None = None, formulation: Any = None, drift: Any = None, integrator: Any = None,
                 events: Iterable[da.Event | da.Every] = (), verify: bool = False, sensitivities: Sequence[Any] = (),
                 store: str | Path | None = None, outputs: Sequence[Any] | None = None
                 ) -> da.Motion | da.MotionSequence | da.MotionOutputs:
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

        `store` is a folder for a motion that does not fit into memory: samples are written there as the run goes on and
        read where they are. `Motion.load` reads it later, also what a run that was killed has left.

        `outputs` are names and expressions, anything that `motion[...]` takes, to keep instead of the samples:
        `outputs=["x", "tip", x + y, "hinge.angle"]`. Samples are read block by block and forgotten, so that memory
        grows by these values and by `t` only. The result is `MotionOutputs`: these by name, the certificate of the
        whole run, tables, plots and the state at the end.
        """
        return stage("System.simulate")(
            self, state, t_end, t_eval=t_eval, parameters=parameters, formulation=formulation, drift=drift,
            integrator=integrator, events=events, verify=verify, sensitivities=sensitivities, store=store,
            outputs=outputs,
        )  # fmt: skip

    def sweep(self, values: Any, t_end: float | tuple[float, float], **options: Any) -> xr.Dataset:
        """Outputs of many runs with different `values`, labelled; see `dalembert.analysis.sweep.sweep.sweep`."""
        return stage("System.sweep")(self, values, t_end, **options)

    def replay(self, run: xr.Dataset, **options: Any) -> da.Motion | da.MotionSequence:
        """The motion of one run of a sweep, `runs.isel(run=17)`; see `dalembert.analysis.sweep.replay.replay`."""
        return stage("System.replay")(self, run, **options)

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

    @overload
    def linearize(self, about: da.State, *, inputs: Sequence[Any] = ..., outputs: Sequence[Any] = ...,
                  states: Sequence[Any] | None = ...) -> da.Linearization: ...  # fmt: skip

    @overload
    def linearize(self, about: da.Motion, *, inputs: Sequence[Any] = ..., outputs: Sequence[Any] = ...,
                  states: Sequence[Any] | None = ...) -> da.LinearizedMotion: ...  # fmt: skip

    def linearize(
        self, about: da.State | da.Motion, *, inputs: Sequence[Any] = (), outputs: Sequence[Any] = (),
        states: Sequence[Any] | None = None,
    ) -> da.Linearization | da.LinearizedMotion:  # fmt: skip
        """x' = A x + B w, y = C x + D w for small changes about the motion through a state, all constraints kept.

        About a motion, A, B, C and D are those at its samples, and its Floquet multipliers follow if it is periodic.

        The derivatives are exact, those of the reactions included. `inputs` are parameters (a force stated as a
        parameter) or unknowns; an unknown that is an input no longer enforces its constraint. `outputs` are names or
        expressions, as in `motion[...]`. `states` names the coordinates and speeds that x stands for (None: chosen by
        pivoting); ignorable ones may be left out. Raises `LinearizationError` if there is no derivative.
        """
        return stage("System.linearize")(self, about, inputs=inputs, outputs=outputs, states=states)

    def modes(self, state: da.State, *, k: int = 6, near: complex = 0.0) -> da.Modes:
        """The k eigenvalues nearest to `near` at an equilibrium, with mode shapes, over nonzeros: for large systems."""
        return stage("System.modes")(self, state, k=k, near=near)

    def periodic(self, given: Named | None = None, *, period: Any, **options: Any) -> da.PeriodicMotion:
        """A motion that repeats, by shooting: what is `given` of its start is held, the rest is nearest to `guess`.

        `period` is a number or an expression of parameters, such as 2*pi/W; if the equations do not contain the time it
        is where the search starts. `advance={th: 2*pi}` is what coordinates gain in a period, None any amount.
        `parameters` and `t0` are those of `initial`, further options those of `simulate`. See
        `dalembert.analysis.periodic`.
        """
        return stage("System.periodic")(self, given, period=period, **options)

    def gradient(
        self, cost: Any, state: da.State, t_end: float | tuple[float, float], *, to: Sequence[Any], **options: Any
    ) -> da.Gradient:
        """Value and gradient of a `cost` on the motion from `state` to `t_end`, in parameters and start values.

        `cost` is `da.Integral(expression)`, `da.Final(expression)`, or a list of them that is summed. `to` names what
        `sensitivities` of `simulate` would; `options` are those of `simulate`. See `dalembert.analysis.gradient`.
        """
        return stage("System.gradient")(self, cost, state, t_end, to=to, **options)

    def function(
        self, outputs: Sequence[Any], state: da.State, t_end: float, *, to: Sequence[Any], **options: Any
    ) -> da.MotionFunction:
        """`outputs` at the end of the motion from `state`, or at `t_eval`, as a function of what `to` names.

        It has an exact Jacobian, and `to_jax()` and `to_torch()` hand it on. `to` names what `sensitivities` of
        `simulate` would; `options` are those of `simulate`. See `dalembert.analysis.motion_function`.
        """
        return stage("System.function")(self, outputs, state, t_end, to=to, **options)

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

    def live(
        self,
        path: str | Path,
        state: da.State,
        *,
        sliders: Iterable[Any] = (),
        t_end: float = 10.0,
        events: Iterable[Any] = (),
        runs: xr.Dataset | None = None,
    ) -> Path:
        """Write one HTML file that computes the motion from `state` itself, again whenever one of its sliders moves.

        `sliders` names parameters, coordinates and speeds; a mapping gives ranges too. `events` are as in `simulate`,
        but without Python functions; `runs` are those of a sweep, to click at. The file needs no network; it compares
        its first run with the native engine and says how far they agree. See `dalembert.view.live.write_live`.
        """
        return stage("System.live")(self, path, state, sliders=sliders, t_end=t_end, events=events, runs=runs)

    def equations(self, formulation: Any = None) -> Any:
        """The equations of motion in SymPy and LaTeX as a formulation arranges them (None: Lagrange multipliers).

        For small systems; see `dalembert.analysis.symbolic.write_equations`.
        """
        return stage("System.equations")(self, formulation)

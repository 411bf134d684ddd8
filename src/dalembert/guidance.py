"""Advice in error messages: replacements for names and calls of other packages, and for misspelt ones."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

_RUN = "system = model.compile(); state = system.initial({...}); motion = system.simulate(state, 10.0)"
_OF_MODEL = {
    "simulate": f"a model is compiled first: {_RUN}",
    "initial": f"a model is compiled first: {_RUN}",
    "diagnose": f"a model is compiled first: {_RUN}",
    "equations": "a model is compiled first: model.compile().equations()",
    "add_constraint": "write model.constrain(expression, name=...)",
    "constraint": "write model.constrain(expression, name=...)",
    "holonomic_constraints": "write model.constrain(expression); its level follows from what it contains",
    "nonholonomic_constraints": "write model.constrain(expression); its level follows from what it contains",
    "add_force": "write model.force([fx, fy], at=P)",
    "add_body": 'write model.body("B", mass=..., inertia=...)',
    "mass": "masses belong to particles and bodies: model.particle(name, mass=..., position=...)",
    "symbols": "write model.parameters(m=1.0) for constants and model.coordinates('x y') for functions of time",
    "variables": "write model.coordinates('x y')",
    "unknown": "write model.unknowns('F')",
    "spring": "write model.elements.spring(...)",
    "damper": "write model.elements.damper(...)",
    "revolute": "write model.joints.revolute(...)",
    "joint": "write model.joints.revolute(...), or another joint of model.joints",
    "lagrangian": "write model.energy(kinetic=T, potential=V)",
    "run": f"write {_RUN}",
}
_OF_JOINTS = {
    "hinge": "write model.joints.revolute(name, first, second)",
    "pin": "write model.joints.revolute(name, first, second)",
    "pinned": "write model.joints.revolute(name, first, second)",
    "slider": "write model.joints.prismatic(name, first, second)",
    "slide": "write model.joints.prismatic(name, first, second)",
    "ball": "write model.joints.spherical(name, first, second)",
    "weld": "write model.joints.fixed(name, first, second)",
    "rigid": "write model.joints.fixed(name, first, second)",
    "cardan": "write model.joints.universal(name, first, second)",
    "distance": "write model.joints.rod(name, first, second, length=L)",
    "spring": "force elements are in model.elements: model.elements.spring(...)",
    "motor": "a prescribed motion is model.joints.drive(...), a torque is model.elements.motor(...)",
    "wheel": "contacts are in model.contacts: model.contacts.wheel(...)",
}
_OF_ELEMENTS = {
    "torque": "write model.elements.motor(name, first, second, torque=...)",
    "force": "write model.elements.actuator(name, first, second, force=...)",
    "spring_damper": "write model.elements.spring(...) and model.elements.damper(...)",
}
_OF_SYSTEM = {
    "run": "write system.simulate(state, 10.0)",
    "solve": "write system.simulate(state, 10.0)",
    "integrate": "write system.simulate(state, 10.0)",
    "rhs": "accelerations are system.initial({...}).udot; parts are system.mass_matrix(t, q, u), system.forces ...",
    "mass_matrix_full": "write system.mass_matrix(t, q, u)",
    "forcing": "write system.generalized_active_forces(t, q, u)",
    "constrain": "constraints are stated on the model, before model.compile()",
    "dof": "write system.diagnose(state).dof",
    "plot": "plots are of motions: system.simulate(state, 10.0).plot()",
    "q": "a system has no state; write state = system.initial({...}), then state.q",
    "u": "a system has no state; write state = system.initial({...}), then state.u",
}
_OF_MOTION = {
    "y": "coordinates and speeds are motion.q (nt, nq) and motion.u (nt, nu), or by name motion['x']",
    "x": "write motion['x']",
    "sol": "write motion.at(t) for a state, motion.sample('x', times) for values",
    "t_events": "write motion.events; each has .name, .t and .state",
    "y_events": "write motion.events; each has .name, .t and .state",
    "nfev": "write motion.stats['nfev']",
    "njev": "write motion.stats",
    "status": "write motion.success and motion.message",
    "ok": "write motion.certificate.ok",
    "error": "write motion.verify() for an estimate of the error",
    "forces": "write motion.reactions, motion.joint_reaction('name') or motion.force('spring')",
    "lambdas": "write motion.multipliers",
    "time": "write motion.t",
    "animation": "write motion.animate('out.html')",
    "show": "write motion.plot() or motion.animate('out.html')",
    "to_csv_file": "write motion.to_csv('motion.csv')",
    "df": "write motion.to_pandas()",
    "positions": "write motion.q, or motion.position(body)",
    "velocities": "write motion.u, or motion.velocity(body)",
}
_OF_STATE = {
    "x": "write state['x']",
    "y": "coordinates and speeds are state.q and state.u, or by name state['x']",
    "simulate": "write system.simulate(state, 10.0)",
}
_OF_PACKAGE = {
    "solve_ivp": f"write {_RUN}",
    "simulate": f"write {_RUN}",
    "RK45": "write integrator=da.DOP853() or integrator=da.Tsit5()",
    "BDF": "write integrator=da.Radau() for stiff systems",
    "LSODA": "write integrator=da.Automatic(), the default, which changes to an implicit method where that pays",
    "KanesMethod": "write da.from_sympy(kane), with a KanesMethod of sympy.physics.mechanics",
    "LagrangesMethod": "write da.from_sympy(lagrange), with a LagrangesMethod of sympy.physics.mechanics",
    "symbols": "write model.parameters(m=1.0) for constants and model.coordinates('x y') for functions of time",
    "load": "write da.Motion.load(path, system) for a motion, da.from_toml(path) for a model",
}
HINTS: Mapping[str, Mapping[str, str]] = {
    "Model": _OF_MODEL,
    "Joints": _OF_JOINTS,
    "Elements": _OF_ELEMENTS,
    "System": _OF_SYSTEM,
    "Motion": _OF_MOTION,
    "MotionSequence": _OF_MOTION,
    "MotionOutputs": _OF_MOTION,
    "State": _OF_STATE,
}
OPTIONS: Mapping[str, str] = {  # of `simulate`
    "method": "an integrator is a value: integrator=da.DOP853(), da.Radau(), da.RK4(step=0.01) ...",
    "solver": "an integrator is a value: integrator=da.DOP853(), da.Radau(), da.RK4(step=0.01) ...",
    "rtol": "tolerances belong to the integrator: integrator=da.Automatic(rtol=1e-8)",
    "atol": "tolerances belong to the integrator: integrator=da.Automatic(atol=1e-10)",
    "max_step": "it belongs to the integrator: integrator=da.Automatic(max_step=0.01)",
    "first_step": "it belongs to the integrator: integrator=da.DOP853(first_step=1e-3)",
    "step": "a fixed step belongs to an integrator: integrator=da.RK4(step=0.01)",
    "dt": "a fixed step belongs to an integrator: integrator=da.RK4(step=0.01); samples: t_eval=",
    "h": "a fixed step belongs to an integrator: integrator=da.RK4(step=0.01)",
    "t_span": "write system.simulate(state, (t0, t_end))",
    "t0": "write system.simulate(state, (t0, t_end))",
    "y0": "the start is a State: system.simulate(system.initial({...}), t_end)",
    "dense_output": "motion.at(t) and motion.sample('x', times) are always there",
    "args": "parameters are by name: parameters={'m': 2.0}",
    "p": "parameters are by name: parameters={'m': 2.0}",
    "event": "write events=[da.Event(...)]",
    "baumgarte": "write drift=da.Baumgarte(20, 100)",
    "stabilization": "write drift=da.Projection() or drift=da.Baumgarte(20, 100)",
}


def no_attribute(self: Any, name: str) -> NoReturn:
    """`__getattr__` of public classes: raises an AttributeError with advice."""
    owner = type(self).__name__
    message = f"'{owner}' object has no attribute '{name}'"
    if not name.startswith("_"):
        hint = HINTS.get(owner, {}).get(name) or _alike(type(self), name)
        message += f"; {hint}" if hint else ""
    raise AttributeError(message, name=name, obj=self)


def no_public_name(name: str, known: Sequence[str]) -> NoReturn:
    """`__getattr__` of the package, for a name that is not among those it has."""
    message = f"module 'dalembert' has no attribute '{name}'"
    hint = _OF_PACKAGE.get(name) or ("" if name.startswith("_") else _close(name, known))
    raise AttributeError(f"{message}; {hint}" if hint else message, name=name)


def _alike(owner: type, name: str) -> str:
    return _close(name, [key for key in dir(owner) if not key.startswith("_")])


def _close(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, known, n=2, cutoff=0.6)
    return f"did you mean {' or '.join(f'`{key}`' for key in close)}?" if close else ""


def takes(*names: str, hints: Mapping[str, str] = OPTIONS) -> Callable[[Function], Function]:
    """A decorator: an option that is not among `names` is refused with advice."""
    known = frozenset(names)

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def called(*arguments: Any, **options: Any) -> Any:
            if not known.issuperset(options):
                name = next(name for name in options if name not in known)
                close = difflib.get_close_matches(name, names, n=1)
                hint = hints.get(name) or (f"did you mean `{close[0]}`?" if close else f"known: {', '.join(names)}")
                raise TypeError(f"{function.__name__}() has no option `{name}`; {hint}")
            return function(*arguments, **options)

        return called  # type: ignore[return-value]

    return decorate


def explain_call(error: TypeError, call: str, first: Any) -> TypeError | None:
    """A better error for a call that Python could not bind, or None if the error comes from inside."""
    trace = error.__traceback__
    if trace is None or trace.tb_next is not None:
        return None
    said = str(error).partition("() ")[2] or str(error)
    named = call.partition("(")[2].startswith("name") and not isinstance(first, str)
    hint = "; the first argument is its name, a string" if named else ""
    return TypeError(f"{call}: {said}{hint}")


def of_arrays(function: Function) -> Function:
    """Decorator: a State given for t, q, u, parameters is split into these."""
    name = function.__name__

    @functools.wraps(function)
    def called(self: Any, *arguments: Any, **options: Any) -> Any:
        if len(arguments) == 1 and hasattr(arguments[0], "multipliers"):
            raise TypeError(
                f"system.{name} takes arrays, also of many states at once: write "
                f"system.{name}(state.t, state.q, state.u, state.parameters)"
            )
        return function(self, *arguments, **options)

    return called  # type: ignore[return-value]

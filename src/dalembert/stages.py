"""The arrows of Model -> System -> State -> Motion: the function that each verb of an earlier stage hands on to.

A noun does not import what comes after it. Its verbs find their functions here, by name, when they are called; this
table is the only place where the pipeline is closed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dalembert.loading import load

ARROWS = {
    "Model.to_toml": "dalembert.importers.model_writing:write_model",
    "ModelFile.choose": "dalembert.run.choices:choose",
    "ModelFile.occasion": "dalembert.run.choices:occasion",
    "Model.compile": "dalembert.equations.compile:compile_statement",
    "System.initial": "dalembert.initial.consistent:find_state",
    "System.suggest_independent": "dalembert.initial.choice:suggest_independent",
    "System.simulate": "dalembert.run.simulate:simulate",
    "System.sweep": "dalembert.analysis.sweep.sweep:sweep",
    "System.replay": "dalembert.analysis.sweep.replay:replay",
    "System.diagnose": "dalembert.initial.diagnosis_choice:diagnose",
    "System.partial_velocities": "dalembert.analysis.kane:partial_velocities",
    "System.partial_angular_velocities": "dalembert.analysis.kane:partial_angular_velocities",
    "System.generalized_active_forces": "dalembert.analysis.kane:generalized_active_forces",
    "System.generalized_inertia_forces": "dalembert.analysis.kane:generalized_inertia_forces",
    "System.gauss_measure": "dalembert.analysis.gauss:gauss_measure",
    "System.live": "dalembert.view.live:write_live",
    "System.equations": "dalembert.analysis.symbolic:write_equations",
    "System.linearize": "dalembert.analysis.linearize:linearize",
    "System.modes": "dalembert.analysis.modes:find_modes",
    "System.equilibrium": "dalembert.analysis.equilibrium:find_equilibrium",
    "System.steady": "dalembert.analysis.equilibrium:find_steady",
    "System.periodic": "dalembert.analysis.periodic:find_periodic",
    "System.function": "dalembert.analysis.motion_function:motion_function",
    "System.gradient": "dalembert.analysis.gradient:gradient",
    "System.fit": "dalembert.analysis.fit:fit",
    "System.kinematics": "dalembert.analysis.inverse_dynamics:driven_kinematics",
    "System.inverse_dynamics": "dalembert.analysis.inverse_dynamics:inverse_dynamics",
    "Linearization.comoving": "dalembert.analysis.comoving:comoving",
    "Linearization.sweep": "dalembert.analysis.root_locus:sweep",
    "PeriodicMotion.branch": "dalembert.analysis.periodic_branch:follow_periodic",
    "State.branch": "dalembert.analysis.branch:follow_branch",
    "State.stability": "dalembert.analysis.stability:stability_of",
    "State.follow": "dalembert.initial.continuation:follow",
    "Motion.load": "dalembert.motion.saved:load_motion",
    "Motion.sensitivity": "dalembert.analysis.sensitivities:sensitivity",
    "Motion.verify": "dalembert.analysis.verify:verify",
    "Motion.plot": "dalembert.view.overview:plot_overview",
    "Motion.animate": "dalembert.view.overview:animate_motion",
    "Motion.report": "dalembert.view.report:write_report",
}


@functools.cache
def stage(verb: str) -> Callable[..., Any]:
    """The function that implements a verb, such as "System.simulate"."""
    module, _, function = ARROWS[verb].partition(":")
    return getattr(load(module), function)

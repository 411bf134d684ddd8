"""State a mechanical system and its constraints, of any kind; get the motion, the reactions, and a certificate.

Model -> System -> State -> (Formulation x Drift x Integrator) -> Motion -> figures, files, reports
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalembert.ingredients import INGREDIENTS as _INGREDIENTS
from dalembert.loading import load as _load

if TYPE_CHECKING:
    __version__: str
    from dalembert.analysis.compare import Comparison, compare
    from dalembert.analysis.driven_motion import DrivenMotion
    from dalembert.analysis.fit_result import Fit
    from dalembert.analysis.gradient import Gradient, Integral
    from dalembert.analysis.linearization import Linearization
    from dalembert.analysis.linearized_motion import LinearizedMotion
    from dalembert.analysis.losses import Cauchy, Huber, SoftL1
    from dalembert.analysis.modes import Modes
    from dalembert.analysis.motion_function import MotionFunction
    from dalembert.analysis.periodic import PeriodicMotion
    from dalembert.analysis.sweep.followed import Followed
    from dalembert.analysis.sweep.reductions import CrossingTime, Final, Maximum, Mean, Minimum
    from dalembert.analysis.sweep.samples import latin_hypercube, monte_carlo
    from dalembert.equations.system import System
    from dalembert.errors import (
        ArrayError,
        DalembertError,
        FileError,
        InconsistentStateError,
        InitialStateError,
        LinearizationError,
        ModelError,
        OptionError,
        OutOfMemoryError,
        PairingError,
        SimulationInterrupt,
        UnknownNameError,
    )
    from dalembert.importers.model_file import ModelFile, from_toml
    from dalembert.importers.sympy_mechanics import from_sympy
    from dalembert.initial.diagnosis import Diagnosis
    from dalembert.model.model import Model
    from dalembert.motion.certificate import Certificate, Tolerances
    from dalembert.motion.motion import Motion
    from dalembert.motion.sequence import MotionSequence
    from dalembert.motion.state import State
    from dalembert.run.drift.baumgarte import Baumgarte
    from dalembert.run.drift.blajer import Blajer
    from dalembert.run.drift.no_correction import NoCorrection
    from dalembert.run.drift.projection import Projection
    from dalembert.run.drift.yoon import Yoon
    from dalembert.run.events import Event, Occurrence
    from dalembert.run.every import Every
    from dalembert.run.formulations.lagrange_multipliers import LagrangeMultipliers
    from dalembert.run.formulations.minimal_kane import MinimalKane
    from dalembert.run.formulations.minimal_state import MinimalState
    from dalembert.run.formulations.nonminimal_kane import NonminimalKane
    from dalembert.run.formulations.null_space import NullSpace
    from dalembert.run.formulations.udwadia_kalaba import UdwadiaKalaba
    from dalembert.run.integrators.automatic import Automatic
    from dalembert.run.integrators.dop853 import DOP853
    from dalembert.run.integrators.generalized_alpha import GeneralizedAlpha
    from dalembert.run.integrators.ida import IDA
    from dalembert.run.integrators.kutta_merson import KuttaMerson
    from dalembert.run.integrators.radau import Radau
    from dalembert.run.integrators.rk4 import RK4
    from dalembert.run.integrators.state_space_svd import StateSpaceSVD
    from dalembert.run.integrators.tsit5 import Tsit5
    from dalembert.run.residuals.gear_gupta_leimkuhler import GearGuptaLeimkuhler
    from dalembert.run.residuals.hiller_anantharaman import HillerAnantharaman
    from dalembert.run.residuals.pseudo_speeds import PseudoSpeeds
    from dalembert.view.envelope import plot_envelope
    from dalembert.view.snapshots import plot_snapshots

__all__ = [
    "DOP853",
    "IDA",
    "RK4",
    "ArrayError",
    "Automatic",
    "Baumgarte",
    "Blajer",
    "Cauchy",
    "Certificate",
    "Comparison",
    "CrossingTime",
    "DalembertError",
    "Diagnosis",
    "DrivenMotion",
    "Event",
    "Every",
    "FileError",
    "Final",
    "Fit",
    "Followed",
    "GearGuptaLeimkuhler",
    "GeneralizedAlpha",
    "Gradient",
    "HillerAnantharaman",
    "Huber",
    "InconsistentStateError",
    "InitialStateError",
    "Integral",
    "KuttaMerson",
    "LagrangeMultipliers",
    "Linearization",
    "LinearizationError",
    "LinearizedMotion",
    "Maximum",
    "Mean",
    "MinimalKane",
    "MinimalState",
    "Minimum",
    "Model",
    "ModelError",
    "ModelFile",
    "Modes",
    "Motion",
    "MotionFunction",
    "MotionSequence",
    "NoCorrection",
    "NonminimalKane",
    "NullSpace",
    "Occurrence",
    "OptionError",
    "OutOfMemoryError",
    "PairingError",
    "PeriodicMotion",
    "Projection",
    "PseudoSpeeds",
    "Radau",
    "SimulationInterrupt",
    "SoftL1",
    "State",
    "StateSpaceSVD",
    "System",
    "Tolerances",
    "Tsit5",
    "UdwadiaKalaba",
    "UnknownNameError",
    "Yoon",
    "compare",
    "from_sympy",
    "from_toml",
    "latin_hypercube",
    "monte_carlo",
    "plot_envelope",
    "plot_snapshots",
]


_PLACES = {
    "ArrayError": "dalembert.errors",
    "Cauchy": "dalembert.analysis.losses",
    "Certificate": "dalembert.motion.certificate",
    "compare": "dalembert.analysis.compare",
    "Comparison": "dalembert.analysis.compare",
    "CrossingTime": "dalembert.analysis.sweep.reductions",
    "DalembertError": "dalembert.errors",
    "Diagnosis": "dalembert.initial.diagnosis",
    "DrivenMotion": "dalembert.analysis.driven_motion",
    "Event": "dalembert.run.events",
    "Every": "dalembert.run.every",
    "FileError": "dalembert.errors",
    "Final": "dalembert.analysis.sweep.reductions",
    "Fit": "dalembert.analysis.fit_result",
    "Followed": "dalembert.analysis.sweep.followed",
    "from_sympy": "dalembert.importers.sympy_mechanics",
    "from_toml": "dalembert.importers.model_file",
    "Gradient": "dalembert.analysis.gradient",
    "Huber": "dalembert.analysis.losses",
    "InconsistentStateError": "dalembert.errors",
    "InitialStateError": "dalembert.errors",
    "Integral": "dalembert.analysis.gradient",
    "latin_hypercube": "dalembert.analysis.sweep.samples",
    "Linearization": "dalembert.analysis.linearization",
    "LinearizationError": "dalembert.errors",
    "LinearizedMotion": "dalembert.analysis.linearized_motion",
    "Maximum": "dalembert.analysis.sweep.reductions",
    "Mean": "dalembert.analysis.sweep.reductions",
    "Minimum": "dalembert.analysis.sweep.reductions",
    "Model": "dalembert.model.model",
    "ModelError": "dalembert.errors",
    "Modes": "dalembert.analysis.modes",
    "ModelFile": "dalembert.importers.model_file",
    "monte_carlo": "dalembert.analysis.sweep.samples",
    "Motion": "dalembert.motion.motion",
    "MotionFunction": "dalembert.analysis.motion_function",
    "MotionSequence": "dalembert.motion.sequence",
    "Occurrence": "dalembert.run.events",
    "OptionError": "dalembert.errors",
    "OutOfMemoryError": "dalembert.errors",
    "PairingError": "dalembert.errors",
    "PeriodicMotion": "dalembert.analysis.periodic",
    "plot_envelope": "dalembert.view.envelope",
    "plot_snapshots": "dalembert.view.snapshots",
    "SimulationInterrupt": "dalembert.errors",
    "SoftL1": "dalembert.analysis.losses",
    "State": "dalembert.motion.state",
    "System": "dalembert.equations.system",
    "Tolerances": "dalembert.motion.certificate",
    "UnknownNameError": "dalembert.errors",
    **_INGREDIENTS,
}


def __getattr__(name: str) -> Any:
    """A public name, imported when it is first asked for."""
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("dalembert")
    elif name in _PLACES:
        value = getattr(_load(_PLACES[name]), name)
    else:
        from dalembert.guidance import no_public_name

        no_public_name(name, __all__)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

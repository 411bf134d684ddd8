"""State a mechanical system and its constraints, of any kind; get the motion, the reactions, and a certificate.

Model -> System -> State -> (Formulation x Drift x Integrator) -> Motion -> figures, files, reports
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from dalembert import ingredients as _ingredients
from dalembert.analysis.compare import Comparison, compare
from dalembert.analysis.driven_motion import DrivenMotion
from dalembert.analysis.fit_result import Fit
from dalembert.analysis.gradient import Final, Gradient, Integral
from dalembert.analysis.linearization import Linearization
from dalembert.analysis.losses import Cauchy, Huber, SoftL1
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
from dalembert.run.events import Event, Occurrence
from dalembert.run.every import Every

if TYPE_CHECKING:
    from dalembert.run.drift.baumgarte import Baumgarte
    from dalembert.run.drift.blajer import Blajer
    from dalembert.run.drift.no_correction import NoCorrection
    from dalembert.run.drift.projection import Projection
    from dalembert.run.drift.yoon import Yoon
    from dalembert.run.formulations.lagrange_multipliers import LagrangeMultipliers
    from dalembert.run.formulations.minimal_kane import MinimalKane
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

__version__ = version("dalembert")

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
    "DalembertError",
    "Diagnosis",
    "DrivenMotion",
    "Event",
    "Every",
    "FileError",
    "Final",
    "Fit",
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
    "MinimalKane",
    "Model",
    "ModelError",
    "ModelFile",
    "Motion",
    "MotionSequence",
    "NoCorrection",
    "NonminimalKane",
    "NullSpace",
    "Occurrence",
    "OptionError",
    "PairingError",
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
]


def __getattr__(name: str) -> Any:
    if name not in _ingredients.INGREDIENTS:
        raise AttributeError(f"module 'dalembert' has no attribute {name!r}")
    return getattr(import_module(_ingredients.INGREDIENTS[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

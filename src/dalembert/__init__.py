"""State a mechanical system and its constraints, of any kind; get the motion, the reactions, and a certificate.

Model -> System -> State -> (Formulation x Drift x Integrator) -> Motion -> figures, files, reports
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from dalembert.analysis.compare import Comparison, compare
from dalembert.certificate import Certificate, Tolerances
from dalembert.equations.system import System
from dalembert.errors import (
    ArrayError,
    DalembertError,
    InconsistentStateError,
    InitialStateError,
    ModelError,
    OptionError,
    PairingError,
    UnknownNameError,
)
from dalembert.events import Event, Occurrence
from dalembert.importers.model_file import ModelFile, from_toml
from dalembert.importers.sympy_mechanics import from_sympy
from dalembert.initial.diagnosis import Diagnosis
from dalembert.model.model import Model
from dalembert.motion import Motion
from dalembert.sequence import MotionSequence
from dalembert.state import State

if TYPE_CHECKING:
    from dalembert.numerics.drift.baumgarte import Baumgarte
    from dalembert.numerics.drift.blajer import Blajer
    from dalembert.numerics.drift.no_correction import NoCorrection
    from dalembert.numerics.drift.projection import Projection
    from dalembert.numerics.drift.yoon import Yoon
    from dalembert.numerics.formulations.lagrange_multipliers import LagrangeMultipliers
    from dalembert.numerics.formulations.minimal_kane import MinimalKane
    from dalembert.numerics.formulations.nonminimal_kane import NonminimalKane
    from dalembert.numerics.formulations.null_space import NullSpace
    from dalembert.numerics.formulations.udwadia_kalaba import UdwadiaKalaba
    from dalembert.numerics.integrators.automatic import Automatic
    from dalembert.numerics.integrators.dop853 import DOP853
    from dalembert.numerics.integrators.generalized_alpha import GeneralizedAlpha
    from dalembert.numerics.integrators.ida import IDA
    from dalembert.numerics.integrators.kutta_merson import KuttaMerson
    from dalembert.numerics.integrators.radau import Radau
    from dalembert.numerics.integrators.rk4 import RK4
    from dalembert.numerics.integrators.state_space_svd import StateSpaceSVD
    from dalembert.numerics.integrators.tsit5 import Tsit5
    from dalembert.numerics.residuals.gear_gupta_leimkuhler import GearGuptaLeimkuhler
    from dalembert.numerics.residuals.hiller_anantharaman import HillerAnantharaman
    from dalembert.numerics.residuals.pseudo_speeds import PseudoSpeeds

__version__ = version("dalembert")

__all__ = [
    "DOP853",
    "IDA",
    "RK4",
    "ArrayError",
    "Automatic",
    "Baumgarte",
    "Blajer",
    "Certificate",
    "Comparison",
    "DalembertError",
    "Diagnosis",
    "Event",
    "GearGuptaLeimkuhler",
    "GeneralizedAlpha",
    "HillerAnantharaman",
    "InconsistentStateError",
    "InitialStateError",
    "KuttaMerson",
    "LagrangeMultipliers",
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

# Ingredients of runs: their modules are imported when they are asked for.
_NATIVE = {
    "Automatic": "dalembert.numerics.integrators.automatic",
    "Baumgarte": "dalembert.numerics.drift.baumgarte",
    "Blajer": "dalembert.numerics.drift.blajer",
    "KuttaMerson": "dalembert.numerics.integrators.kutta_merson",
    "Tsit5": "dalembert.numerics.integrators.tsit5",
    "Yoon": "dalembert.numerics.drift.yoon",
    "DOP853": "dalembert.numerics.integrators.dop853",
    "GeneralizedAlpha": "dalembert.numerics.integrators.generalized_alpha",
    "HillerAnantharaman": "dalembert.numerics.residuals.hiller_anantharaman",
    "IDA": "dalembert.numerics.integrators.ida",
    "PseudoSpeeds": "dalembert.numerics.residuals.pseudo_speeds",
    "LagrangeMultipliers": "dalembert.numerics.formulations.lagrange_multipliers",
    "NoCorrection": "dalembert.numerics.drift.no_correction",
    "Projection": "dalembert.numerics.drift.projection",
    "MinimalKane": "dalembert.numerics.formulations.minimal_kane",
    "NonminimalKane": "dalembert.numerics.formulations.nonminimal_kane",
    "NullSpace": "dalembert.numerics.formulations.null_space",
    "UdwadiaKalaba": "dalembert.numerics.formulations.udwadia_kalaba",
    "RK4": "dalembert.numerics.integrators.rk4",
    "GearGuptaLeimkuhler": "dalembert.numerics.residuals.gear_gupta_leimkuhler",
    "Radau": "dalembert.numerics.integrators.radau",
    "StateSpaceSVD": "dalembert.numerics.integrators.state_space_svd",
}


def __getattr__(name: str) -> Any:
    if name not in _NATIVE:
        raise AttributeError(f"module 'dalembert' has no attribute {name!r}")
    return getattr(import_module(_NATIVE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

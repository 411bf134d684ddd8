"""State a mechanical system and its constraints, of any kind; get the motion, the reactions, and a certificate.

Model -> System -> State -> (Formulation x Drift x Integrator) -> Motion -> figures, files, reports
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

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
from dalembert.initial.diagnosis import Diagnosis
from dalembert.model.model import Model
from dalembert.motion import Motion
from dalembert.state import State

if TYPE_CHECKING:
    from dalembert.numerics.drift.no_correction import NoCorrection
    from dalembert.numerics.drift.projection import Projection
    from dalembert.numerics.formulations.lagrange_multipliers import LagrangeMultipliers
    from dalembert.numerics.formulations.minimal_kane import MinimalKane
    from dalembert.numerics.formulations.nonminimal_kane import NonminimalKane
    from dalembert.numerics.formulations.null_space import NullSpace
    from dalembert.numerics.formulations.udwadia_kalaba import UdwadiaKalaba
    from dalembert.numerics.integrators.dop853 import DOP853
    from dalembert.numerics.integrators.ida import IDA
    from dalembert.numerics.integrators.rk4 import RK4
    from dalembert.numerics.residuals.gear_gupta_leimkuhler import GearGuptaLeimkuhler
    from dalembert.numerics.residuals.hiller_anantharaman import HillerAnantharaman
    from dalembert.numerics.residuals.pseudo_speeds import PseudoSpeeds

__version__ = version("dalembert")

__all__ = [
    "DOP853",
    "IDA",
    "RK4",
    "ArrayError",
    "Certificate",
    "DalembertError",
    "Diagnosis",
    "GearGuptaLeimkuhler",
    "HillerAnantharaman",
    "InconsistentStateError",
    "InitialStateError",
    "LagrangeMultipliers",
    "MinimalKane",
    "Model",
    "ModelError",
    "Motion",
    "NoCorrection",
    "NonminimalKane",
    "NullSpace",
    "OptionError",
    "PairingError",
    "Projection",
    "PseudoSpeeds",
    "State",
    "System",
    "Tolerances",
    "UdwadiaKalaba",
    "UnknownNameError",
]

# Ingredients whose modules hold native code: imported, and on first use compiled, when they are asked for.
_NATIVE = {
    "DOP853": "dalembert.numerics.integrators.dop853",
    "GearGuptaLeimkuhler": "dalembert.numerics.residuals.gear_gupta_leimkuhler",
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
}


def __getattr__(name: str) -> Any:
    if name not in _NATIVE:
        raise AttributeError(f"module 'dalembert' has no attribute {name!r}")
    from dalembert.preparation import prepare

    prepare()
    return getattr(import_module(_NATIVE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

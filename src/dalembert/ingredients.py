"""The ingredients of runs by name, and the modules that hold them: imported when they are asked for."""

from __future__ import annotations

INGREDIENTS = {
    "Automatic": "dalembert.run.integrators.automatic",
    "Baumgarte": "dalembert.run.drift.baumgarte",
    "Blajer": "dalembert.run.drift.blajer",
    "KuttaMerson": "dalembert.run.integrators.kutta_merson",
    "Tsit5": "dalembert.run.integrators.tsit5",
    "Yoon": "dalembert.run.drift.yoon",
    "DOP853": "dalembert.run.integrators.dop853",
    "GeneralizedAlpha": "dalembert.run.integrators.generalized_alpha",
    "HillerAnantharaman": "dalembert.run.residuals.hiller_anantharaman",
    "IDA": "dalembert.run.integrators.ida",
    "PseudoSpeeds": "dalembert.run.residuals.pseudo_speeds",
    "LagrangeMultipliers": "dalembert.run.formulations.lagrange_multipliers",
    "NoCorrection": "dalembert.run.drift.no_correction",
    "Projection": "dalembert.run.drift.projection",
    "MinimalKane": "dalembert.run.formulations.minimal_kane",
    "MinimalState": "dalembert.run.formulations.minimal_state",
    "NonminimalKane": "dalembert.run.formulations.nonminimal_kane",
    "NullSpace": "dalembert.run.formulations.null_space",
    "UdwadiaKalaba": "dalembert.run.formulations.udwadia_kalaba",
    "RK4": "dalembert.run.integrators.rk4",
    "GearGuptaLeimkuhler": "dalembert.run.residuals.gear_gupta_leimkuhler",
    "Radau": "dalembert.run.integrators.radau",
    "StateSpaceSVD": "dalembert.run.integrators.state_space_svd",
}


def every(kind: str) -> list[str]:
    """Names of all "formulations", "drift" controls, "integrators" or "residuals"."""
    return [name for name, module in INGREDIENTS.items() if module.startswith(f"dalembert.run.{kind}.")]
